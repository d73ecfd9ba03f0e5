//! Results are bounded as a whole, whatever the upstream sends, and say how much was left out.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::support::server::{Server, Simulator, state, text};
use crate::support::{KEY, Ran, Served, World, stream};

const LATEST: &str = "2025-11-25";
/// From the least that can be set to the default.
const LIMITS: [usize; 3] = [1024, 8192, 65536];

fn assert_within(result: &Value, limit: usize) {
    let shown = text(result).len();
    assert!(shown <= limit, "{shown} bytes of text of {limit}");
    let structured = result["structuredContent"].to_string().len();
    assert!(
        structured <= limit,
        "{structured} bytes of structured content of {limit}"
    );
}

/// An answer that cites many sources, each with a snippet.
fn many_sources(count: usize) -> Served {
    let citations: Vec<String> = (1..=count)
        .map(|number| {
            format!(
                r#"word <citation>{{\"start_index\": 0, \"end_index\": 4, \"number\": {number}, \"url\": \"https://example.org/{}/{number}\", \"snippet\": \"{}\"}}</citation>"#,
                "path".repeat(20),
                "s".repeat(200)
            )
        })
        .collect();
    Served::start(stream(
        &citations.iter().map(String::as_str).collect::<Vec<_>>(),
    ))
}

#[test]
fn ten_thousand_sources_stay_within_the_limit() {
    let served = many_sources(10_000);
    for limit in LIMITS {
        let state = state();
        let flag = limit.to_string();
        let mut server = Server::against(state.path(), &served.url, &["--max-output", &flag]);
        server.initialize(LATEST);
        let result = server.call("answers", json!({"query": "q"}));
        assert_within(&result, limit);
        assert!(
            text(&result).contains("more lines are left out"),
            "{}",
            text(&result)
        );
        let structured = result["structuredContent"].to_string();
        if limit > 1024 {
            assert!(
                structured.contains("sources: ") && structured.contains("of 10000"),
                "{structured}"
            );
        }
        assert_eq!(result["structuredContent"]["state"], "done");
        server.leave();
    }
}

#[test]
fn a_list_of_long_questions_stays_within_the_limit() {
    let simulator = Simulator::start("0");
    let state = state();
    for (round, limit) in LIMITS.into_iter().enumerate() {
        let flag = limit.to_string();
        let mut server = Server::start(state.path(), Some(&simulator), &["--max-output", &flag]);
        server.initialize(LATEST);
        for number in 0..4 {
            let question = format!("{limit} {number} {}", "long \"question\"\n".repeat(1500));
            let begun = server.call("research_submit", json!({"query": question}));
            assert_within(&begun, limit);
            let id = begun["structuredContent"]["research_id"].clone();
            assert!(id.is_string(), "{begun}");
            for tool in ["research_status", "research_result"] {
                assert_within(&server.call(tool, json!({"research_id": id})), limit);
            }
        }
        let listed = server.call("research_list", json!({}));
        assert_within(&listed, limit);
        assert_within(&server.call("status", json!({})), limit);
        // A list that is not whole says so.
        let part = &listed["structuredContent"];
        if part["jobs"].as_array().map_or(0, Vec::len) < 4 * (round + 1) {
            let note = part["note"].as_str().unwrap();
            assert!(note.contains("jobs") || limit == 1024, "{note}");
        }
        server.leave();
    }
}

/// An error body that goes on and on, in many lines, and repeats the key in escapes.
fn refusal() -> Served {
    let mut escaped = String::new();
    for letter in KEY.chars() {
        let _ = write!(escaped, "\\u{:04x}", u32::from(letter));
    }
    let long = format!("{escaped} line\\n\\u001b[31m\\u2028").repeat(300);
    let field = format!(r#"{{"loc": ["body", "{long}", "{long}"]}}"#);
    let fields = vec![field; 50].join(",");
    let body = format!(
        r#"{{"error": {{"id": "{long}", "code": "{long}", "detail": "{long}", "meta": {{"errors": [{fields}]}}}}}}"#
    );
    let reply = format!(
        "HTTP/1.1 422 Unprocessable\r\ncontent-type: application/json\r\ncontent-length: {}\r\nx-key: {KEY}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    Served::start(reply.into_bytes())
}

#[test]
fn an_error_body_is_told_briefly_on_one_line_and_without_the_key() {
    let world = World::new();
    let served = refusal();
    let mut command = world.command(&["ask", "why?"]);
    command
        .env("GLOVEBOX_UPSTREAM", &served.url)
        .env("BRAVE_ANSWERS_KEY", KEY);
    let ran = Ran::of(command.output().unwrap());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.len() < 4096, "{} bytes", ran.err.len());
    assert!(ran.err.lines().count() <= 2, "{ran:?}");
    assert!(ran.err.contains("[key] line"), "{ran:?}");
    let stored = world.run(&["jobs", "list", "--all", "--json"]);
    let message = stored.json()[0]["error"]["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        message.len() < 4096 && !message.contains(['\n', '\u{1b}', '\u{2028}']),
        "{message:?}"
    );
    for said in [&ran.err, &stored.out] {
        assert!(!said.contains(KEY), "{said}");
    }
    let state = state();
    let mut server = Server::against(state.path(), &served.url, &[]);
    server.initialize(LATEST);
    let refused = server.call("answers", json!({"query": "q"}));
    assert_eq!(refused["isError"], true);
    assert!(
        text(&refused).len() < 4096 && !text(&refused).contains(KEY),
        "{refused}"
    );
    server.leave();
}
