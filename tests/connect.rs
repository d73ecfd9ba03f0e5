//! `glovebox connect`: what it prints for each client, and that merging leaves a user's file as it was.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

const KEY: &str = "BSA-secret-of-the-user";

fn connect(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_glovebox"))
        .env_clear()
        .env("HOME", folder)
        .env("BRAVE_ANSWERS_KEY", KEY)
        .current_dir(folder)
        .arg("connect")
        .args(arguments)
        .output()
        .unwrap()
}

fn write(folder: &Path, client: &str, file: &Path, more: &[&str]) -> Output {
    let mut arguments = vec![client, "--write", "--path", file.to_str().unwrap()];
    arguments.extend(more);
    connect(folder, &arguments)
}

fn listing(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// For each client: its usual file, where its servers are, how it writes the command and the key.
fn shapes() -> Vec<(&'static str, &'static str, &'static str, Value)> {
    let program = env!("CARGO_BIN_EXE_glovebox");
    let key = |reference: &str| json!({"BRAVE_ANSWERS_KEY": reference});
    vec![
        (
            "opencode",
            ".config/opencode/opencode.json",
            "/mcp",
            json!({"type": "local", "command": [program, "stdio"], "enabled": true, "environment": key("{env:BRAVE_ANSWERS_KEY}")}),
        ),
        (
            "claude-code",
            ".claude.json",
            "/mcpServers",
            json!({"type": "stdio", "command": program, "args": ["stdio"], "env": key("${BRAVE_ANSWERS_KEY:-}")}),
        ),
        (
            "claude-desktop",
            if cfg!(target_os = "macos") {
                "Library/Application Support/Claude/claude_desktop_config.json"
            } else {
                ".config/Claude/claude_desktop_config.json"
            },
            "/mcpServers",
            json!({"command": program, "args": ["stdio"]}),
        ),
        (
            "cursor",
            ".cursor/mcp.json",
            "/mcpServers",
            json!({"type": "stdio", "command": program, "args": ["stdio"], "env": key("${env:BRAVE_ANSWERS_KEY}")}),
        ),
        (
            "vscode",
            if cfg!(target_os = "macos") {
                "Library/Application Support/Code/User/mcp.json"
            } else {
                ".config/Code/User/mcp.json"
            },
            "/servers",
            json!({"type": "stdio", "command": program, "args": ["stdio"], "env": key("${env:BRAVE_ANSWERS_KEY}")}),
        ),
        (
            "gemini",
            ".gemini/settings.json",
            "/mcpServers",
            json!({"command": program, "args": ["stdio"], "env": key("${BRAVE_ANSWERS_KEY}")}),
        ),
        (
            "copilot",
            ".copilot/mcp-config.json",
            "/mcpServers",
            json!({"type": "local", "command": program, "args": ["stdio"], "tools": ["*"], "env": key("${BRAVE_ANSWERS_KEY:-}")}),
        ),
        (
            "qwen",
            ".qwen/settings.json",
            "/mcpServers",
            json!({"command": program, "args": ["stdio"], "env": key("${BRAVE_ANSWERS_KEY}")}),
        ),
        (
            "cline",
            ".cline/data/settings/cline_mcp_settings.json",
            "/mcpServers",
            json!({"transport": {"type": "stdio", "command": program, "args": ["stdio"]}}),
        ),
        (
            "zed",
            ".config/zed/settings.json",
            "/context_servers",
            json!({"source": "custom", "command": program, "args": ["stdio"]}),
        ),
    ]
}

#[test]
fn every_client_gets_its_own_shape_in_its_own_file() {
    for (client, file, servers, entry) in shapes() {
        let home = tempfile::tempdir().unwrap();
        let printed = connect(home.path(), &[client]);
        assert!(printed.status.success(), "{client}");
        let printed: Value = serde_json::from_slice(&printed.stdout).unwrap();
        assert_eq!(
            printed.pointer(servers).unwrap()["glovebox"],
            entry,
            "{client}"
        );
        assert_eq!(
            listing(home.path()),
            Vec::<String>::new(),
            "{client} only prints"
        );
        let written = connect(home.path(), &[client, "--write"]);
        assert!(written.status.success(), "{client}: {written:?}");
        let text = fs::read_to_string(home.path().join(file)).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value, printed, "{client}");
        assert!(!text.contains(KEY), "{client} was given the key");
    }
}

#[test]
fn codex_gets_toml_and_keeps_its_comments() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(".codex/config.toml");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let before = "# my settings\nmodel = \"x\" # the best\n\n[mcp_servers.other]\ncommand = \"other\"\n\n[profiles.fast]\nmodel = \"y\"\n";
    fs::write(&file, before).unwrap();
    assert!(connect(home.path(), &["codex", "--write"]).status.success());
    let after = fs::read_to_string(&file).unwrap();
    for line in before.lines() {
        assert!(after.contains(line), "{line} is gone from {after}");
    }
    assert!(after.contains("[mcp_servers.glovebox]"), "{after}");
    assert!(
        after.contains("env_vars = [\"BRAVE_ANSWERS_KEY\", \"BRAVE_ANSWERS_KEY_FILE\", "),
        "{after}"
    );
    let cancel = "[mcp_servers.glovebox.tools.research_cancel]\napproval_mode = \"approve\"\n";
    assert!(after.contains(cancel), "{after}");
    assert!(!after.contains(KEY));
    assert_eq!(
        fs::read_to_string(file.with_extension("toml.bak")).unwrap(),
        before
    );
    // A user's own limit stays; what starts the server is brought up to date.
    let changed = after
        .replace("tool_timeout_sec = 120", "tool_timeout_sec = 7")
        .replace("\"stdio\"", "\"old\"");
    fs::write(&file, changed).unwrap();
    assert!(connect(home.path(), &["codex", "--write"]).status.success());
    let last = fs::read_to_string(&file).unwrap();
    assert!(
        last.contains("tool_timeout_sec = 7") && last.contains("args = [\"stdio\"]"),
        "{last}"
    );
}

const SETTINGS: &str = r#"// My settings
{
    "theme": "dark", // always
    /* servers that I use */
    "mcpServers": {
        "other": { "command": "other", "args": [] }, // keep
    },
    "last": [1,   2]
}
"#;

#[test]
fn the_rest_of_a_file_stays_to_the_letter_and_a_second_time_changes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("mcp.json");
    fs::write(&file, SETTINGS).unwrap();
    assert!(write(home.path(), "cursor", &file, &[]).status.success());
    let after = fs::read_to_string(&file).unwrap();
    for line in SETTINGS.lines() {
        assert!(after.contains(line), "{line:?} is gone from {after}");
    }
    assert!(after.contains("\"glovebox\""));
    assert_eq!(listing(home.path()), ["mcp.json", "mcp.json.bak"]);
    assert_eq!(
        fs::read_to_string(home.path().join("mcp.json.bak")).unwrap(),
        SETTINGS
    );
    let again = write(home.path(), "cursor", &file, &["--json"]);
    let report: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(report["changed"], false);
    assert_eq!(fs::read_to_string(&file).unwrap(), after);
    assert_eq!(listing(home.path()), ["mcp.json", "mcp.json.bak"]);
    // An earlier backup is not written over.
    fs::write(&file, SETTINGS.replace("dark", "light")).unwrap();
    assert!(write(home.path(), "cursor", &file, &[]).status.success());
    assert_eq!(
        listing(home.path()),
        ["mcp.json", "mcp.json.bak", "mcp.json.bak.1"]
    );
}

#[test]
fn an_entry_that_is_there_is_brought_up_to_date_and_keeps_what_its_user_added() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("mcp.json");
    let mine = r#"{"mcpServers": {"glovebox": {"command": "/old/path", "env": {"BRAVE_ANSWERS_KEY": "mine", "X": "1"}, "disabled": true}}}"#;
    fs::write(&file, mine).unwrap();
    assert!(
        write(home.path(), "claude-code", &file, &[])
            .status
            .success()
    );
    let after: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let entry = &after["mcpServers"]["glovebox"];
    assert_eq!(entry["command"], env!("CARGO_BIN_EXE_glovebox"));
    assert_eq!(entry["env"], json!({"BRAVE_ANSWERS_KEY": "mine", "X": "1"}));
    assert_eq!(entry["disabled"], true);
}

#[test]
fn arguments_that_a_person_added_stay() {
    let home = tempfile::tempdir().unwrap();
    let flags = ["--budget-usd-per-day", "2", "--structured", "on"];
    for (client, file, list) in [
        ("cursor", "cursor.json", "/mcpServers/glovebox/args"),
        ("opencode", "opencode.json", "/mcp/glovebox/command"),
        ("cline", "cline.json", "/mcpServers/glovebox/transport/args"),
    ] {
        let file = home.path().join(file);
        assert!(
            write(home.path(), client, &file, &["--keep", "1h"])
                .status
                .success()
        );
        let text = fs::read_to_string(&file).unwrap();
        let added = text.replace("\"1h\"", "\"1h\", \"--max-output\", \"4096\"");
        assert_ne!(added, text);
        fs::write(&file, added).unwrap();
        assert!(write(home.path(), client, &file, &flags).status.success());
        let after: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        let arguments = after.pointer(list).unwrap().as_array().unwrap();
        let at = arguments
            .iter()
            .position(|argument| argument == "stdio")
            .unwrap();
        let expected = json!([
            "--budget-usd-per-day",
            "2",
            "--structured",
            "on",
            "--keep",
            "1h",
            "--max-output",
            "4096"
        ]);
        assert_eq!(json!(arguments[at + 1..]), expected, "{client}");
    }
    let codex = home.path().join("config.toml");
    assert!(
        write(home.path(), "codex", &codex, &["--keep", "1h"])
            .status
            .success()
    );
    let text = fs::read_to_string(&codex).unwrap();
    fs::write(&codex, text.replace("\"NO_PROXY\"", "\"MINE\"")).unwrap();
    assert!(write(home.path(), "codex", &codex, &flags).status.success());
    let after = fs::read_to_string(&codex).unwrap();
    assert!(
        after.contains("\"--keep\", \"1h\"") && after.contains("\"on\""),
        "{after}"
    );
    assert!(
        after.contains("\"MINE\"") && after.contains("\"NO_PROXY\""),
        "{after}"
    );
}

#[test]
fn clients_that_strip_the_environment_are_told_what_the_server_needs() {
    let home = tempfile::tempdir().unwrap();
    let set = [
        ("BRAVE_ANSWERS_KEY_FILE", "/keys/brave"),
        ("GLOVEBOX_BUDGET_USD_PER_DAY", "2"),
        ("HTTPS_PROXY", "http://user:secret@127.0.0.1:3128"),
        ("SSL_CERT_FILE", "/certs/company.pem"),
    ];
    let shown = |client: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_glovebox"))
            .env_clear()
            .env("HOME", home.path())
            .envs(set)
            .args(["connect", client])
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    for client in ["gemini", "qwen"] {
        let entry: Value = serde_json::from_str(&shown(client)).unwrap();
        let environment = &entry["mcpServers"]["glovebox"]["env"];
        for (name, _) in set {
            assert_eq!(environment[name], format!("${{{name}}}"), "{client}");
        }
        assert!(environment.get("NO_PROXY").is_none(), "{client}: {entry}");
    }
    let codex = shown("codex");
    for (name, _) in set {
        assert!(codex.contains(&format!("\"{name}\"")), "{name} in {codex}");
    }
    // The others pass their environment on as it is.
    assert!(!shown("opencode").contains("SSL_CERT_FILE"));
    for client in ["gemini", "qwen", "codex"] {
        assert!(!shown(client).contains("secret"), "{client}");
    }
}

#[test]
fn claude_code_has_a_user_and_a_project_configuration() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("project");
    fs::create_dir(&folder).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_glovebox"));
        command
            .env_clear()
            .env("HOME", home.path())
            .current_dir(&folder);
        command.arg("connect").args(arguments).output().unwrap()
    };
    assert!(run(&["claude-code", "--write"]).status.success());
    assert!(home.path().join(".claude.json").is_file());
    assert_eq!(listing(&folder), [""; 0]);
    let shared = run(&["claude-code", "--write", "--scope", "project"]);
    assert!(shared.status.success());
    let said = String::from_utf8_lossy(&shared.stderr);
    assert!(
        said.contains("approved") && said.contains("search path"),
        "{said}"
    );
    let entry = fs::read_to_string(folder.join(".mcp.json")).unwrap();
    let entry: Value = serde_json::from_str(&entry).unwrap();
    // The path of one machine does not belong in a file that is shared.
    assert_eq!(entry["mcpServers"]["glovebox"]["command"], "glovebox");
    let refused = run(&["cursor", "--scope", "project"]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn opencode_s_newer_nesting_is_followed() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("opencode.json");
    fs::write(
        &file,
        r#"{"mcp": {"servers": {"other": {"type": "local", "command": ["x"]}}}}"#,
    )
    .unwrap();
    assert!(write(home.path(), "opencode", &file, &[]).status.success());
    let after: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(
        after["mcp"]["servers"]["glovebox"]["type"], "local",
        "{after}"
    );
    assert!(after["mcp"].get("glovebox").is_none());
}

#[test]
fn a_file_that_is_broken_is_refused_and_left() {
    let home = tempfile::tempdir().unwrap();
    for (client, name, broken) in [
        ("cursor", "a.json", "{\"mcpServers\": {"),
        ("cursor", "b.json", "{\"mcpServers\": 5}"),
        ("cursor", "c.json", "[]"),
        ("cursor", "d.json", "{\"a\": 1 \"b\": 2}"),
        (
            "zed",
            "e.json",
            "{\"context_servers\": {\"glovebox\": \"text\"}}",
        ),
        ("codex", "f.toml", "[mcp_servers\n"),
        ("codex", "g.toml", "mcp_servers = 3\n"),
    ] {
        let folder = home.path().join(name.replace('.', "-"));
        fs::create_dir(&folder).unwrap();
        let file = folder.join(name);
        fs::write(&file, broken).unwrap();
        let refused = write(home.path(), client, &file, &[]);
        assert!(!refused.status.success(), "{broken}");
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(
            said.contains("left as it is") && said.contains(name),
            "{broken}: {said}"
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), broken);
        assert_eq!(listing(&folder), [name]);
    }
}

#[test]
fn the_key_is_written_only_where_it_is_asked_for_and_no_reference_serves() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("c.json");
    assert!(
        write(
            home.path(),
            "claude-desktop",
            &file,
            &["--key-env", "BRAVE_ANSWERS_KEY"]
        )
        .status
        .success()
    );
    assert!(fs::read_to_string(&file).unwrap().contains(KEY));
    let file = home.path().join("d.json");
    assert!(
        write(home.path(), "cursor", &file, &["--key-env", "MY_KEY"])
            .status
            .success()
    );
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("${env:MY_KEY}") && !text.contains(KEY),
        "{text}"
    );
    let file = home.path().join("e.json");
    assert!(
        write(home.path(), "cursor", &file, &["--simulate"])
            .status
            .success()
    );
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("--simulate") && !text.contains("BRAVE"),
        "{text}"
    );
}

#[test]
fn the_flags_given_are_those_the_server_starts_with() {
    let home = tempfile::tempdir().unwrap();
    let flags = [
        "--budget-usd-per-day",
        "2",
        "--state-dir",
        "kept here",
        "--no-capture",
        "--keep",
        "1h",
    ];
    let shown = connect(home.path(), &[&["cursor"][..], &flags].concat());
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    let state = home.path().canonicalize().unwrap().join("kept here");
    assert_eq!(
        shown["mcpServers"]["glovebox"]["args"],
        json!([
            "stdio",
            "--state-dir",
            state,
            "--keep",
            "1h",
            "--no-capture",
            "--budget-usd-per-day",
            "2"
        ])
    );
}

#[test]
fn a_key_in_the_place_of_its_variable_is_refused_and_not_shown() {
    let home = tempfile::tempdir().unwrap();
    let refused = connect(home.path(), &["cursor", "--write", "--key-env", KEY]);
    let err = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{err}");
    assert!(err.contains("name of a variable"), "{err}");
    assert!(!err.contains(KEY), "{err}");
    assert_eq!(listing(home.path()), [""; 0]);
}

#[cfg(unix)]
#[test]
fn permissions_and_links_survive_and_a_new_file_is_private() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let home = tempfile::tempdir().unwrap();
    let real = home.path().join("dotfiles.json");
    fs::write(&real, "{}").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    let link = home.path().join("link.json");
    symlink(&real, &link).unwrap();
    assert!(write(home.path(), "cursor", &link, &[]).status.success());
    assert!(
        fs::symlink_metadata(&link)
            .unwrap()
            .file_type()
            .is_symlink()
    );
    assert_eq!(mode(&real), 0o640);
    assert!(fs::read_to_string(&real).unwrap().contains("glovebox"));
    let fresh = home.path().join("new/folder/mcp.json");
    assert!(write(home.path(), "cursor", &fresh, &[]).status.success());
    assert_eq!(mode(&fresh), 0o600);
}

/// The clients and where their servers are.
const CLIENTS: [(&str, &str); 8] = [
    ("opencode", "mcp"),
    ("claude-code", "mcpServers"),
    ("claude-desktop", "mcpServers"),
    ("codex", "mcp_servers"),
    ("cursor", "mcpServers"),
    ("vscode", "servers"),
    ("gemini", "mcpServers"),
    ("zed", "context_servers"),
];

/// A file with another server in it, in the client's format, with comments.
fn other_server(client: &str, servers: &str) -> String {
    if client == "codex" {
        return format!(
            "# mine\nmodel = \"x\"   # the best\n\n[{servers}.other]\ncommand = \"other\"\n\n[profiles.fast]\nmodel = \"y\"\n"
        );
    }
    format!(
        "// mine\n{{\n  \"theme\":   \"dark\", // always\n  \"{servers}\": {{\n    \"other\": {{ \"command\": \"other\" }}\n  }},\n  \"last\": [1,   2]\n}}\n"
    )
}

/// The lines of a text with their line ends, each once for every time it is there.
fn lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Whether every line of `before` is in `after` to the letter, but for the comma that a further entry needs after it.
fn keeps(before: &str, after: &str) -> bool {
    let mut left = lines(after);
    lines(before).iter().all(|line| {
        let end = line.trim_end_matches(['\r', '\n']);
        let with_comma = format!("{end},{}", &line[end.len()..]);
        let found = left
            .iter()
            .position(|other| other == line || *other == with_comma);
        found.map(|at| left.remove(at)).is_some()
    })
}

#[cfg(unix)]
#[test]
fn every_kind_of_file_stays_what_it_is_for_every_client() {
    use std::os::unix::fs::{MetadataExt as _, symlink};
    for (client, servers) in CLIENTS {
        let plain = other_server(client, servers);
        let windows = plain.replace('\n', "\r\n");
        let mixed = plain.replacen('\n', "\r\n", 2);
        let texts = [
            plain.clone(),
            windows.clone(),
            mixed,
            format!("\u{feff}{plain}"),
            format!("\u{feff}{windows}"),
            plain.trim_end().to_owned(),
        ];
        for (text, link) in texts.iter().flat_map(|text| [(text, false), (text, true)]) {
            let what = format!("{client} {link} {text:?}");
            let home = tempfile::tempdir().unwrap();
            let folder = home.path().join("dots");
            fs::create_dir(&folder).unwrap();
            let real = folder.join("real");
            fs::write(&real, text).unwrap();
            let path = if link {
                let path = home.path().join("link");
                symlink("dots/real", &path).unwrap();
                path
            } else {
                real.clone()
            };
            let written = write(home.path(), client, &path, &[]);
            assert!(written.status.success(), "{what}: {written:?}");
            let after = fs::read_to_string(&real).unwrap();
            let end = if text.ends_with('\n') { "" } else { "\n" };
            assert!(
                keeps(text, &after) || keeps(&format!("{text}{end}"), &after),
                "{what}: {after:?}"
            );
            assert_eq!(after.starts_with('\u{feff}'), text.starts_with('\u{feff}'));
            if *text == windows {
                assert_eq!(
                    after.replace("\r\n", "").matches('\n').count(),
                    0,
                    "{what}: {after:?}"
                );
            }
            if !text.contains('\r') {
                assert!(!after.contains('\r'), "{what}: {after:?}");
            }
            assert_eq!(fs::symlink_metadata(&path).unwrap().is_symlink(), link);
            assert_eq!(
                fs::read_to_string(folder.join("real.bak")).unwrap(),
                *text,
                "{what}"
            );
            assert_eq!(listing(&folder), ["real", "real.bak"], "{what}");
            // What is up to date is not written again.
            let seen = |path: &Path| {
                let found = fs::metadata(path).unwrap();
                (found.ino(), found.mtime_nsec(), found.ctime_nsec())
            };
            let before = seen(&real);
            assert!(write(home.path(), client, &path, &[]).status.success());
            assert_eq!(seen(&real), before, "{what}");
            assert_eq!(listing(&folder), ["real", "real.bak"], "{what}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_link_to_nothing_stays_a_link_and_its_target_is_made() {
    use std::os::unix::fs::symlink;
    for (client, servers) in CLIENTS {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("link");
        symlink("new/folder/real", &path).unwrap();
        assert!(write(home.path(), client, &path, &[]).status.success());
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
        let text = fs::read_to_string(home.path().join("new/folder/real")).unwrap();
        assert!(
            text.contains(servers) && text.contains("glovebox"),
            "{text}"
        );
        assert_eq!(listing(home.path()), ["link", "new"]);
    }
}

#[cfg(unix)]
#[test]
fn a_backup_follows_no_link_that_was_put_there() {
    use std::os::unix::fs::symlink;
    for (client, servers) in CLIENTS {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join("project");
        let secret = home.path().join("ssh");
        fs::create_dir(&project).unwrap();
        fs::create_dir(&secret).unwrap();
        fs::write(secret.join("there"), "as it was").unwrap();
        let file = project.join("mcp");
        let text = other_server(client, servers);
        fs::write(&file, &text).unwrap();
        symlink("../ssh/authorized_keys", project.join("mcp.bak")).unwrap();
        symlink("../ssh/there", project.join("mcp.bak.1")).unwrap();
        fs::create_dir(project.join("mcp.bak.2")).unwrap();
        let written = write(home.path(), client, &file, &["--json"]);
        assert!(written.status.success(), "{client}: {written:?}");
        assert_eq!(listing(&secret), ["there"], "{client}");
        assert_eq!(
            fs::read_to_string(secret.join("there")).unwrap(),
            "as it was"
        );
        assert_eq!(fs::read_to_string(project.join("mcp.bak.3")).unwrap(), text);
        let report: Value = serde_json::from_slice(&written.stdout).unwrap();
        assert!(report["backup"].as_str().unwrap().ends_with("mcp.bak.3"));
    }
}

#[test]
fn of_duplicate_members_the_last_is_changed_which_readers_take() {
    for (client, servers) in CLIENTS.iter().filter(|(client, _)| *client != "codex") {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        let text = format!(
            r#"{{"{servers}": {{"first": {{}}}}, "{servers}": {{"glovebox": {{"command": "a"}}, "glovebox": {{"command": "b", "command": "c", "mine": 1}}}}}}"#
        );
        fs::write(&file, &text).unwrap();
        assert!(write(home.path(), client, &file, &[]).status.success());
        let after = fs::read_to_string(&file).unwrap();
        // This reader takes the last one, as those of the clients do.
        let value: Value = serde_json::from_str(&after).unwrap();
        let entry = &value[servers]["glovebox"];
        assert!(
            entry["command"]
                .to_string()
                .contains(env!("CARGO_BIN_EXE_glovebox")),
            "{after}"
        );
        assert_eq!(entry["mine"], 1, "{after}");
        for kept in [r#""first": {}"#, r#"{"command": "a"}"#, r#""command": "b""#] {
            assert!(
                after.contains(kept),
                "{client}: {kept} is gone from {after}"
            );
        }
    }
}

#[test]
fn an_empty_variable_counts_as_not_set() {
    let home = tempfile::tempdir().unwrap();
    let run = |client: &str, home_variable: &Path| {
        let work = tempfile::tempdir().unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_glovebox"))
            .env_clear()
            .env("HOME", home_variable)
            .env("XDG_STATE_HOME", home.path())
            .envs(["CODEX_HOME", "XDG_CONFIG_HOME", "MY_KEY"].map(|name| (name, "")))
            .env("GLOVEBOX_STATE_DIR", home.path().join("state"))
            .current_dir(work.path())
            .args(["connect", client, "--write", "--key-env", "MY_KEY"])
            .output()
            .unwrap();
        (output, listing(work.path()))
    };
    for (client, file) in [
        ("codex", ".codex/config.toml"),
        ("zed", ".config/zed/settings.json"),
        (
            "claude-desktop",
            ".config/Claude/claude_desktop_config.json",
        ),
    ] {
        if cfg!(target_os = "macos") && client == "claude-desktop" {
            continue;
        }
        let (output, left) = run(client, home.path());
        assert!(output.status.success(), "{client}: {output:?}");
        assert_eq!(left, [""; 0], "{client}");
        let text = fs::read_to_string(home.path().join(file)).unwrap();
        assert!(
            client == "codex" || !text.contains("BRAVE_ANSWERS_KEY"),
            "{text}"
        );
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let pipe = home.path().join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    for (client, _) in CLIENTS {
        for path in [pipe.as_path(), home.path()] {
            let refused = write(home.path(), client, path, &[]);
            let said = String::from_utf8_lossy(&refused.stderr).into_owned();
            assert_eq!(refused.status.code(), Some(1), "{client}: {said}");
            assert!(
                said.contains("not a regular file") && said.contains("left as it is"),
                "{said}"
            );
        }
    }
    assert_eq!(listing(home.path()), ["pipe"]);
}

#[test]
fn a_key_of_letters_in_the_place_of_its_variable_is_refused_too() {
    let home = tempfile::tempdir().unwrap();
    let key = "BSAqtestkey0123456789zyxw";
    for (client, _) in CLIENTS {
        for more in [&["--write"][..], &[], &["--json"]] {
            let refused = connect(home.path(), &[&[client, "--key-env", key], more].concat());
            assert_eq!(refused.status.code(), Some(2), "{refused:?}");
            let said = [refused.stdout, refused.stderr].concat();
            assert!(!String::from_utf8_lossy(&said).contains(key));
        }
    }
    assert_eq!(listing(home.path()), [""; 0]);
}
