//! Changes of `glovebox.toml` reach running servers and their clients.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Place, Session};
use crate::http::client::{Connection, meta, modern, request};
use crate::support::server::text;

const CHANGED: &str = "notifications/tools/list_changed";
/// From the change of the file to the notice.
const WITHIN: Duration = Duration::from_secs(2);

/// A client of 2026-07-28 that listens, as a stream of its own.
fn listen(port: u16) -> Connection {
    let params = json!({ "notifications": { "toolsListChanged": true }, "_meta": meta() });
    let mut headers = modern("subscriptions/listen", "").to_vec();
    headers.pop();
    headers.push(("accept", "text/event-stream"));
    let mut stream = Connection::open(port);
    stream.send(
        "POST",
        "/mcp",
        &headers,
        &request(1, "subscriptions/listen", params),
    );
    assert!(stream.head().is_stream());
    // The first message says that the subscription is there.
    let (_, acknowledged) = stream.message().unwrap();
    assert!(
        acknowledged.to_string().contains("toolsListChanged"),
        "{acknowledged}"
    );
    stream
}

fn changed(stream: &mut Connection) {
    loop {
        let (_, message) = stream.message().unwrap();
        if message["method"] == CHANGED {
            return;
        }
    }
}

#[test]
fn a_change_reaches_clients_of_both_eras_and_no_session_is_lost() {
    let place = Place::new();
    place.configure("[tools]\ndisable = [\"research\"]\n");
    let serve = place.serve(&[]);
    let mut sessions = vec![
        Session::stdio(place.stdio(&[]), json!({})),
        Session::http(serve.port, json!({})),
        Session::sse(serve.port, json!({})),
    ];
    let mut listening = listen(serve.port);
    for session in &mut sessions {
        let listed = session.listed();
        assert!(listed.contains(&"answers".to_owned()) && !listed.contains(&"research".to_owned()));
    }
    for (text, answers) in [
        ("[tools]\ndisable = [\"answers\"]\n", false),
        ("", true),
        ("[tools]\nselect = [\"research_list\", \"status\"]\n", false),
    ] {
        let at = Instant::now();
        place.configure(text);
        for session in &mut sessions {
            session.notice(CHANGED);
        }
        changed(&mut listening);
        assert!(at.elapsed() < WITHIN, "{:?}", at.elapsed());
        for session in &mut sessions {
            assert_eq!(
                session.listed().contains(&"answers".to_owned()),
                answers,
                "{text}"
            );
            let said = session.call("answers", json!({ "query": "sim:plain q" }));
            assert_eq!(said["isError"] == true, !answers, "{said}");
        }
    }
    let events = place.events();
    let changes = events
        .iter()
        .filter(|event| event["event"] == "policy_changed");
    assert_eq!(
        changes
            .filter(|event| event["decision"] == "allowed")
            .count(),
        3,
        "{events:#?}"
    );
}

#[test]
fn a_file_that_cannot_be_used_changes_nothing_and_is_said() {
    let place = Place::new();
    place.configure("[tools]\ndisable = [\"research\"]\n");
    let serve = place.serve(&[]);
    let mut session = Session::http(serve.port, json!({}));
    let before = session.listed();
    let mut expected = 0;
    for (broken, names) in [
        ("[tools", "TOML"),
        ("[tools]\ndisable = [\"no_such_tool\"]\n", "no_such_tool"),
        ("[tools]\ndisable = 3\n", "tools.disable"),
        ("[tools]\ndisabel = [\"answers\"]\n", "disabel"),
    ] {
        place.configure(broken);
        expected += 1;
        let refused =
            |event: &Value| event["event"] == "policy_changed" && event["decision"] == "denied";
        place.wait_for_events(expected, refused);
        assert_eq!(session.listed(), before, "{broken}");
        let status = session.call("status", json!({}));
        assert!(
            text(&status).contains("not in force") && text(&status).contains(names),
            "{broken}: {status}"
        );
    }
    place.configure("");
    session.notice(CHANGED);
    assert!(!text(&session.call("status", json!({}))).contains("not in force"));
    serve.signal("TERM");
    let ran = serve.wait();
    assert!(
        ran.err.contains("no_such_tool") && ran.err.contains("stay as they were"),
        "{ran:?}"
    );
}

#[test]
fn a_flag_wins_over_the_file_and_the_environment_lies_between() {
    let place = Place::new();
    place.configure("[tools]\ndisable = [\"answers\", \"research\", \"research_list\"]\n");
    let mut command = place.command(&["stdio", "--enable-tool", "answers"]);
    command.env("GLOVEBOX_ENABLE_TOOLS", "research");
    let server = crate::support::server::Server::spawn(command);
    let mut session = Session::stdio(server, json!({}));
    let listed = session.listed();
    assert!(listed.contains(&"answers".to_owned()) && listed.contains(&"research".to_owned()));
    assert!(!listed.contains(&"research_list".to_owned()));
    let denied = session.call("research_list", json!({}));
    assert!(text(&denied).contains("glovebox.toml"), "{denied}");
}

#[test]
fn settings_that_name_no_tool_are_refused_at_the_start() {
    let place = Place::new();
    for (flags, names) in [
        (&["--tools", "answer"][..], "answer"),
        (&["--disable-tool", "research_kill"], "research_kill"),
        (&["--allow-unsafe-tool", "status"], "not an unsafe tool"),
        (
            &["--enable-tool", "status", "--disable-tool", "status"],
            "both name",
        ),
        (&["--max-concurrent", "0"], "max_concurrent"),
        (&["--max-concurrent", "257"], "max_concurrent"),
    ] {
        let mut command = place.command(&["stdio"]);
        let output = command.args(flags).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {said}");
        assert!(said.contains(names), "{flags:?}: {said}");
        assert!(output.stdout.is_empty());
    }
    let mut command = place.command(&["stdio"]);
    command.env("GLOVEBOX_DISABLE_TOOLS", "${TOOLS}");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
