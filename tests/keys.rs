//! The key appears nowhere: not on a stream, not in a log at trace level, not in a file, not at the simulator.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::server::{Server, state};
use crate::support::{KEY, Ran, Served, Simulated, World, each, stream};

/// Every scenario that is no vector, and some that are.
const SCENARIOS: [&str; 24] = [
    "auto",
    "citations+gzip",
    "research-3",
    "length",
    "no-answer",
    "reset",
    "stall",
    "huge-line",
    "gzip",
    "error-midstream",
    "error-400-plan",
    "error-402+docs",
    "error-403",
    "error-404",
    "error-422-key",
    "error-422-validation",
    "error-422-option",
    "error-429-rate",
    "error-429-quota",
    "error-500",
    "error-503",
    "html-502",
    "redirect",
    "html-200",
];

fn loudly(command: &mut Command) -> Ran {
    command
        .env("RUST_LOG", "trace")
        .env("RUST_BACKTRACE", "full");
    Ran::of(command.output().unwrap())
}

fn assert_clean(what: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let hex: String = KEY.bytes().map(|byte| format!("{byte:02x}")).collect();
    // As it is, in hexadecimal, in base64.
    for secret in [KEY, &hex, "QlNBcXRlc3RrZXkw"] {
        assert!(!text.contains(secret), "the key is in {what}");
    }
}

fn assert_files_clean(folder: &Path) -> usize {
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files += assert_files_clean(&path);
        } else if let Ok(bytes) = std::fs::read(&path) {
            assert_clean(&path.display().to_string(), &bytes);
            files += 1;
        }
    }
    files
}

#[test]
fn the_key_appears_nowhere() {
    let world = World::new();
    let simulator = Simulated::start(&world, &["--pace", "0"]);
    let cases: Vec<(&str, &str)> = SCENARIOS
        .iter()
        .flat_map(|scenario| [("ask", *scenario), ("research", *scenario)])
        .collect();
    each(&cases, |(command, scenario)| {
        try_scenario(&simulator, command, scenario)
    });
    for args in [
        &["doctor"][..],
        &["doctor", "--json"],
        &["ask", "--dry-run", "why?"],
        &["ask", "why?"],
        &["jobs", "list", "--all"],
        &["spend"],
    ] {
        let ran = loudly(&mut world.calling(&simulator, args));
        assert_clean(&format!("{args:?}"), format!("{ran:?}").as_bytes());
    }
    let log = simulator.log_text();
    assert!(log.contains("\"key_seen\":true"));
    assert_clean("the simulator's log", log.as_bytes());
    assert_files_clean(world.path());
}

/// In a state folder of its own, so that calls do not wait for each other.
fn try_scenario(simulator: &Simulated, command: &str, scenario: &str) {
    let world = World::new();
    let question = format!("sim:{scenario} why?");
    let ran =
        loudly(&mut world.calling(simulator, &[command, "--timeout-idle", "300ms", &question]));
    assert!(
        ran.code.is_some_and(|code| code < 100),
        "{scenario}: {ran:?}"
    );
    assert!(
        command == "research" || ran.err.contains("TRACE"),
        "no trace: {ran:?}"
    );
    assert_clean(
        &format!("{command} {scenario}: standard output"),
        ran.out.as_bytes(),
    );
    assert_clean(
        &format!("{command} {scenario}: standard error"),
        ran.err.as_bytes(),
    );
    assert!(
        assert_files_clean(world.path()) > 0,
        "{command} {scenario}: nothing was stored"
    );
}

#[test]
fn a_key_that_cannot_be_used_is_not_shown_either() {
    let world = World::new();
    for bad in [
        format!("{KEY} {KEY}"),
        format!("\"{KEY}\""),
        format!("{KEY}\u{e9}"),
        format!("{KEY}\n{KEY}"),
    ] {
        for args in [&["ask", "why?"][..], &["doctor", "--offline"]] {
            let ran = loudly(world.command(args).env("BRAVE_ANSWERS_KEY", &bad));
            assert!(ran.code == Some(3) || ran.code == Some(1), "{ran:?}");
            assert!(format!("{ran:?}").contains("BRAVE_ANSWERS_KEY"));
            assert_clean(&format!("{args:?}"), format!("{ran:?}").as_bytes());
        }
    }
}

/// The same for a server: a call that fails and one that does not, and the status.
#[test]
fn a_server_does_not_show_the_key() {
    let world = World::new();
    let simulator = Simulated::start(&world, &["--pace", "0"]);
    let mut child = world
        .calling(&simulator, &["stdio"])
        .env("RUST_LOG", "trace")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(world.path().join("stderr")).unwrap())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut replies = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut ask = |id: u32, method: &str, params: serde_json::Value| {
        let request =
            serde_json::json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(input, "{request}").unwrap();
        loop {
            let line = replies.next().expect("the server went away").unwrap();
            assert_clean(method, line.as_bytes());
            if line.contains(&format!("\"id\":{id}")) {
                return line;
            }
        }
    };
    let client = serde_json::json!({"name": "test", "version": "1"});
    let hello = serde_json::json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    ask(1, "initialize", hello);
    let call = |name: &str, arguments: serde_json::Value| serde_json::json!({"name": name, "arguments": arguments});
    let good = ask(
        2,
        "tools/call",
        call("answers", serde_json::json!({"query": "why?"})),
    );
    assert!(good.contains("Cost:") || good.contains("cost"), "{good}");
    ask(
        3,
        "tools/call",
        call(
            "answers",
            serde_json::json!({"query": "sim:error-422-key why?"}),
        ),
    );
    ask(4, "tools/call", call("status", serde_json::json!({})));
    drop(input);
    assert!(child.wait().unwrap().success());
    assert!(assert_files_clean(world.path()) > 1);
}

/// Every setting that a person may put the key into by mistake.
const SETTINGS: [&str; 14] = [
    "GLOVEBOX_STATE_DIR",
    "GLOVEBOX_UPSTREAM",
    "GLOVEBOX_COMPONENT",
    "GLOVEBOX_KEEP",
    "GLOVEBOX_CAPTURE",
    "GLOVEBOX_BUDGET_USD_PER_DAY",
    "GLOVEBOX_TIMEOUT_ANSWER",
    "GLOVEBOX_TIMEOUT_IDLE",
    "GLOVEBOX_REQUESTS_PER_SECOND",
    "GLOVEBOX_SIMULATE",
    "GLOVEBOX_PACE",
    "BRAVE_ANSWERS_KEY_FILE",
    "BRAVE_API_KEY_FILE",
    "RUST_LOG",
];

/// The places in a value that a key gets into.
fn places() -> Vec<String> {
    vec![
        KEY.to_owned(),
        format!(" {KEY}"),
        format!("https://{KEY}@api.example.org"),
        format!("https://user:{KEY}@api.example.org"),
        format!("https://api.example.org/?key={KEY}"),
        format!("https://api.example.org/{KEY}"),
        format!("https://api.example.org/#{KEY}"),
        format!("https://{KEY}/"),
        format!("{KEY}@api.example.org"),
        format!("/nowhere/{KEY}"),
        format!("./{KEY}.txt"),
        format!("BRAVE_ANSWERS_KEY={KEY}"),
    ]
}

/// In its own case, and in that of a host's name.
fn assert_unseen(what: &str, ran: &Ran) {
    let all = format!("{}{}", ran.out, ran.err).to_lowercase();
    assert!(!all.contains(&KEY.to_lowercase()), "{what}: {ran:?}");
}

#[test]
fn a_key_in_the_wrong_setting_is_not_repeated() {
    let world = World::new();
    let mut cases = Vec::new();
    for setting in SETTINGS {
        for place in places() {
            for args in [
                &["doctor", "--offline", "--json"][..],
                &["doctor", "--offline"],
                &["ask", "why?"],
                &["ask", "--dry-run", "why?"],
            ] {
                cases.push((setting, place.clone(), args));
            }
        }
    }
    each(&cases, |(setting, place, args)| {
        let mut command = world.command(args);
        let ran = Ran::of(command.env(setting, place).output().unwrap());
        assert!(
            ran.code.is_some_and(|code| code < 100),
            "{setting}={place}: {ran:?}"
        );
        assert_unseen(&format!("{args:?} with {setting}={place}"), &ran);
        if *setting != "RUST_LOG" && *args == ["ask", "why?"] {
            // It names what is wrong all the same.
            let named = ran.err.contains(setting) || ran.err.contains("BRAVE_ANSWERS_KEY");
            assert!(named && ran.code != Some(0), "{setting}={place}: {ran:?}");
        }
    });
    // No file or folder has it as its name either.
    let mut folders = vec![world.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            assert!(!path.to_string_lossy().contains(KEY), "{path:?}");
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
}

#[test]
fn a_key_among_the_arguments_is_not_repeated() {
    let world = World::new();
    let random = "q7R2mZ9xK4vB8nT1wL6pY3cD";
    for key in [KEY, random] {
        let equals = format!("--max-usd={key}");
        let cases: &[&[&str]] = &[
            &[key],
            &["--keep", key, "doctor"],
            &["--upstream", key, "doctor"],
            &["--component", key, "doctor"],
            &["--state-dir", key, "doctor"],
            &["ask", "--max-usd", key, "why?"],
            &["ask", &equals, "why?"],
            &["jobs", key],
            &["jobs", "list", "--state", key],
            &["jobs", "list", "--limit", key],
            &["run", "--max-seconds", key, "x.wasm"],
            &["connect", key],
            &["connect", "cursor", "--key-env", key],
            &["simulate", "--scenario", key],
            &["simulate", "--listen", key],
        ];
        for args in cases {
            let ran = world.run(args);
            assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
            let all = format!("{}{}", ran.out, ran.err);
            assert!(!all.contains(key), "{args:?}: {ran:?}");
        }
    }
}

#[test]
fn a_secret_of_any_shape_in_an_address_is_not_repeated() {
    let world = World::new();
    for address in [
        "https://me:hunter2@api.example.org",
        "https://hunter2@api.example.org",
        "https://api.example.org?token=hunter2",
        "https://api.example.org/#hunter2",
        "me:hunter2@api.example.org",
        "ftp://me:hunter2/@x@api.example.org",
    ] {
        for args in [&["doctor", "--json"][..], &["ask", "why?"]] {
            let mut command = world.command(args);
            let ran = Ran::of(command.env("GLOVEBOX_UPSTREAM", address).output().unwrap());
            assert_eq!(ran.code, Some(2), "{ran:?}");
            assert!(ran.err.contains("GLOVEBOX_UPSTREAM"), "{ran:?}");
            assert!(!format!("{ran:?}").contains("hunter2"), "{ran:?}");
        }
    }
}

/// To the model: the status of a server whose key is in the wrong place.
#[test]
fn a_server_tells_no_model_a_key_in_the_wrong_place() {
    for place in places() {
        let state = state();
        let mut server = Server::configured(
            state.path(),
            &[("BRAVE_ANSWERS_KEY_FILE", &place), ("GLOVEBOX_KEEPS", KEY)],
        );
        server.initialize("2025-11-25");
        for (tool, arguments) in [
            ("status", serde_json::json!({})),
            ("answers", serde_json::json!({"query": "why?"})),
            (
                "answers",
                serde_json::json!({"query": "why?", "country": KEY}),
            ),
            ("research_list", serde_json::json!({"state": KEY})),
        ] {
            let said = server.call(tool, arguments).to_string();
            assert!(!said.contains(KEY), "{place}: {tool}: {said}");
        }
        server.close();
        assert_eq!(server.wait(), Some(0));
        assert!(!server.said().contains(KEY));
    }
}

/// An upstream that repeats what it was sent, in the escapes of whatever it writes.
#[test]
fn a_key_that_comes_back_in_escapes_is_taken_out() {
    let spell = |way: usize| -> String {
        KEY.chars()
            .map(|letter| match way {
                0 => format!("\\u{:04x}", u32::from(letter)),
                1 => format!("%{:02x}", u32::from(letter)),
                2 => format!("&#{};", u32::from(letter)),
                _ => format!("\\\\u{:04X}", u32::from(letter)),
            })
            .collect()
    };
    for way in 0..4 {
        let escaped = spell(way);
        let error = format!(
            r#"{{"error": {{"id": "{escaped}", "code": "SUBSCRIPTION_TOKEN_INVALID", "detail": "bad token {escaped}"}}}}"#
        );
        let refusal = format!(
            "HTTP/1.1 422 No\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{error}",
            error.len()
        );
        let answer = stream(&[&format!("the token {escaped} works")]);
        for reply in [refusal.into_bytes(), answer] {
            let world = World::new();
            let served = Served::start(reply);
            for args in [&["ask", "why?"][..], &["ask", "--json", "why?"]] {
                let mut command = world.command(args);
                command
                    .env("GLOVEBOX_UPSTREAM", &served.url)
                    .env("BRAVE_ANSWERS_KEY", KEY);
                let ran = loudly(&mut command);
                assert!(
                    ran.err.contains("[key]") || ran.out.contains("[key]"),
                    "{ran:?}"
                );
                assert_clean(&format!("{way} {args:?}"), format!("{ran:?}").as_bytes());
                assert!(!ran.out.contains(&escaped), "{ran:?}");
            }
            assert!(assert_files_clean(world.path()) > 0);
        }
    }
}
