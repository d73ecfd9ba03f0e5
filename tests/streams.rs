//! Standard output and standard error that are closed or never read. Neither changes the exit status.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use crate::support::server::{program, state};
use crate::support::{Ran, World, finish};
use serde_json::{Value, json};

/// Returns a pipe without a reader.
fn closed() -> Stdio {
    let (_, writer) = std::io::pipe().unwrap();
    writer.into()
}

#[test]
fn a_closed_stream_changes_no_exit_status() {
    let world = World::new();
    let run = |args: &[&str]| {
        let mut command = world.command(args);
        command.env("RUST_LOG", "debug");
        command
    };
    for (args, code) in [
        (&["ask", "--simulate", "--pace", "0", "why?"][..], 0),
        (&["ask", "--simulate", "--pace", "0", "--json", "why?"], 0),
        (&["ask", "--simulate", "--pace", "0", "sim:length why?"], 6),
        (
            &["ask", "--simulate", "--pace", "0", "sim:error-402 why?"],
            4,
        ),
        (&["ask", "--simulate", "--dry-run", "why?"], 0),
        (&["ask", ""], 2),
        (&["ask", "why?"], 3),
        (&["research", "--simulate", "--pace", "0", "why?"], 0),
        (
            &[
                "research",
                "--simulate",
                "--pace",
                "0",
                "--detach",
                "why not?",
            ],
            0,
        ),
        (&["jobs", "list", "--all"], 0),
        (&["jobs", "status", "nonsense"], 1),
        (&["spend"], 0),
        (&["component"], 0),
        (&["replay", "missing.sse"], 1),
        (&["ask", "--no-such-flag"], 2),
        (&["--pace", "fast", "spend"], 2),
        (&["--help"], 0),
        (&["--version"], 0),
    ] {
        let open = Ran::of(run(args).output().unwrap());
        assert_eq!(open.code, Some(code), "{args:?}: {open:?}");
        let piped = Stdio::piped;
        for (name, out, err) in [
            ("standard output", closed(), piped()),
            ("standard error", piped(), closed()),
            ("both", closed(), closed()),
        ] {
            let child = run(args).stdout(out).stderr(err).spawn().unwrap();
            let ran = finish(child);
            assert_eq!(ran.code, open.code, "{args:?} with {name} closed: {ran:?}");
            assert!(!ran.err.contains("panicked"), "{args:?}: {ran:?}");
        }
    }
}

/// Runs a server with several hundred requests. Returns the number of replies and the exit status.
fn serve(mut command: Command) -> (usize, Option<i32>) {
    const REQUESTS: usize = 500;
    let mut child = command
        .arg("stdio")
        .args(["--simulate", "--pace", "0"])
        .env("RUST_LOG", "trace")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let initialize = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    let mut text = format!(
        "{}\n",
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize})
    );
    for id in 1..REQUESTS {
        let (method, params) = match id % 3 {
            0 => ("tools/call", json!({"name": "status"})),
            1 => ("tools/list", json!({})),
            _ => ("ping", json!({})),
        };
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        text.push_str(&format!("{request}\n"));
    }
    let sending = std::thread::spawn(move || input.write_all(text.as_bytes()).unwrap());
    let mut replies = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut replies)
        .unwrap();
    sending.join().unwrap();
    let answered = replies
        .lines()
        .filter(|line| {
            serde_json::from_str::<Value>(line)
                .unwrap()
                .get("result")
                .is_some()
        })
        .count();
    assert_eq!(answered, REQUESTS);
    (answered, finish(child).code)
}

#[test]
fn a_server_with_a_closed_standard_error_continues() {
    let state = state();
    let mut command = program(state.path());
    command.stderr(closed());
    assert_eq!(serve(command), (500, Some(0)));
}

#[test]
fn a_server_with_an_unread_standard_error_continues() {
    let state = state();
    let (_unread, writer) = std::io::pipe().unwrap();
    let mut command = program(state.path());
    command.stderr(writer);
    assert_eq!(serve(command), (500, Some(0)));
}

#[test]
fn a_command_with_an_unread_standard_error_exits() {
    let world = World::new();
    let (_unread, writer) = std::io::pipe().unwrap();
    let mut command = world.command(&["ask", "--simulate", "--pace", "0", "why?"]);
    command
        .env("RUST_LOG", "trace")
        .stdout(Stdio::piped())
        .stderr(writer);
    let ran = finish(command.spawn().unwrap());
    assert_eq!(ran.code, Some(0));
    assert!(ran.out.contains("Sources"), "{ran:?}");
}

#[test]
fn the_last_log_line_is_written() {
    let world = World::new();
    for _ in 0..20 {
        let ran = world.run(&["--pace", "fast", "spend"]);
        assert!(ran.err.contains("is no pace"), "{ran:?}");
    }
    let ran = Ran::of(
        world
            .command(&["spend"])
            .env("RUST_LOG", "=/=")
            .output()
            .unwrap(),
    );
    assert!(
        ran.code == Some(0) && ran.err.contains("RUST_LOG"),
        "{ran:?}"
    );
}
