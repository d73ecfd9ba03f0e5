//! Structured content and output schemas: which clients get them, and what is in them.

use glovebox::mcp::CLIENTS;
use serde_json::{Value, json};

use crate::support::each;
use crate::support::server::{Server, Simulator, state, text};

/// The versions that open with a handshake, and whether they have structured content.
const HANDSHAKES: &[(&str, bool)] = &[
    ("2024-11-05", false),
    ("2025-03-26", false),
    ("2025-06-18", true),
    ("2025-11-25", true),
];

/// The most bytes of structured content for a byte of text.
const BAR: f64 = 1.6;

/// The parameters of a request of 2026-07-28 by a client of that name.
fn modern(name: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": name, "version": "1"},
    });
    params
}

/// Checks that schemas and structured content are there, or that neither is.
fn check(server: &mut Server, params: impl Fn(Value) -> Value, expected: bool, case: &str) {
    let listed = server.ask("tools/list", params(json!({})));
    for tool in listed["result"]["tools"].as_array().unwrap() {
        let schema = tool.get("outputSchema").is_some();
        assert_eq!(schema, expected, "{case}: {tool}");
    }
    for (tool, arguments) in [("answers", json!({"query": "q"})), ("status", json!({}))] {
        let call = params(json!({"name": tool, "arguments": arguments}));
        let result = server.ask("tools/call", call)["result"].clone();
        let structured = result.get("structuredContent").is_some();
        assert_eq!(structured, expected, "{case}, {tool}: {result}");
        assert!(text(&result).len() > 100, "{case}, {tool}: {result}");
    }
}

fn names() -> Vec<(String, bool)> {
    let listed = CLIENTS.iter().map(|client| (client.name.to_owned(), true));
    let others = ["test", "opencode", "gemini-cli-mcp-client", "", "fastmcpx"];
    let others = others.map(|name| (name.to_owned(), false));
    // Some clients append the name of the server's entry.
    let appended = ("qwen-cli-mcp-client-glovebox".to_owned(), true);
    listed.chain(others).chain([appended]).collect()
}

#[test]
fn clients_that_show_structured_content_to_a_model_get_the_text_alone() {
    each(&names(), |(name, shows)| {
        let state = state();
        for (version, in_protocol) in HANDSHAKES {
            let mut server = Server::start(state.path(), None, &[]);
            server.initialize_as(name, version);
            let expected = *in_protocol && !shows;
            check(
                &mut server,
                |params| params,
                expected,
                &format!("{name} {version}"),
            );
            server.leave();
        }
        let mut server = Server::start(state.path(), None, &[]);
        let case = format!("{name} 2026-07-28");
        check(&mut server, |params| modern(name, params), !shows, &case);
        server.leave();
    });
}

#[test]
fn structured_content_can_be_asked_for_and_switched_off() {
    let cases: Vec<(&str, &str, bool)> = ["claude-code", "test"]
        .into_iter()
        .flat_map(|name| [(name, "on", true), (name, "off", false)])
        .collect();
    each(&cases, |&(name, flag, wanted)| {
        let state = state();
        let flags = ["--structured", flag];
        for (version, in_protocol) in HANDSHAKES {
            let mut server = Server::start(state.path(), None, &flags);
            server.initialize_as(name, version);
            let case = format!("{flag} {name} {version}");
            check(&mut server, |params| params, wanted && *in_protocol, &case);
            server.leave();
        }
        let mut server = Server::start(state.path(), None, &flags);
        check(&mut server, |params| modern(name, params), wanted, flag);
        server.leave();
    });
}

#[test]
fn the_documentation_has_the_table_of_clients() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/clients.md");
    let page = std::fs::read_to_string(page).unwrap();
    for client in CLIENTS {
        let row = format!("| `{}` | {} |", client.name, client.seen);
        assert!(page.contains(&row), "{row} is not in docs/clients.md");
    }
}

/// Holds a result against its tool's output schema and against what is documented of every structured part.
fn check_part(tools: &Value, tool: &str, result: &Value) {
    let listed = tools.as_array().unwrap();
    let listed = listed.iter().find(|listed| listed["name"] == tool).unwrap();
    let schema = &listed["outputSchema"];
    let part = result["structuredContent"].as_object().unwrap();
    for (key, value) in part {
        let kind = &schema["properties"][key];
        let fits = match kind["type"].as_str() {
            Some("string") => value.is_string(),
            Some("number") => value.is_number(),
            Some("boolean") => value.is_boolean(),
            Some("array") => value.is_array(),
            Some("object") => value.is_object(),
            _ => false,
        };
        assert!(fits, "{tool}: {key} is {value}, and the schema says {kind}");
        assert_eq!(kind.as_object().unwrap().len(), 1, "{tool}: {kind}");
    }
    let said = text(result);
    for sentence in ["next", "progress", "resource"] {
        if let Some(sentence) = part.get(sentence) {
            let sentence = sentence.as_str().unwrap();
            assert!(said.contains(sentence), "{sentence} is not in: {said}");
        }
    }
    let (bytes, bar) = (
        Value::from(part.clone()).to_string().len(),
        BAR * said.len() as f64,
    );
    assert!(
        bytes as f64 <= bar,
        "{tool}: {bytes} bytes for {}: {result}",
        said.len()
    );
}

fn keys(result: &Value) -> Vec<&str> {
    let part = result["structuredContent"].as_object().unwrap();
    part.keys().map(String::as_str).collect()
}

#[test]
fn the_structured_part_is_small_and_says_what_to_do_next() {
    let simulator = Simulator::start("0");
    let state = state();
    let mut server = Server::start(state.path(), Some(&simulator), &[]);
    server.initialize("2025-11-25");
    let tools = server.ask("tools/list", json!({}))["result"]["tools"].clone();
    let mut call = |tool: &str, arguments: Value| {
        let result = server.call(tool, arguments);
        check_part(&tools, tool, &result);
        result
    };
    let question = "How do wasm components share memory, and what does that cost?";
    let answer = call("answers", json!({"query": question}));
    let expected = [
        "answer",
        "complete",
        "cost_usd",
        "research_id",
        "resource",
        "sources",
        "state",
    ];
    assert_eq!(keys(&answer), expected, "{answer}");
    let source = &answer["structuredContent"]["sources"][0];
    assert_eq!(source["number"], 1, "{answer}");
    assert!(
        source["url"].is_string() && source.as_object().unwrap().len() == 2,
        "{source}"
    );

    let stalled = call("research_submit", json!({"query": "sim:stall q"}));
    assert_eq!(
        keys(&stalled),
        ["next", "research_id", "state"],
        "{stalled}"
    );
    let stalled = stalled["structuredContent"]["research_id"].clone();
    let again = call("research_submit", json!({"query": "sim:stall q"}));
    assert_eq!(
        again["structuredContent"]["already_running"], true,
        "{again}"
    );
    for tool in ["research_status", "research_result"] {
        let running = call(tool, json!({"research_id": stalled}));
        let expected = ["next", "progress", "research_id", "state"];
        assert_eq!(keys(&running), expected, "{running}");
    }
    call("research_cancel", json!({"research_id": stalled}));
    let cancelled = call("research_result", json!({"research_id": stalled}));
    let note = cancelled["structuredContent"]["note"].as_str().unwrap();
    assert!(note.starts_with("Cancelled"), "{cancelled}");

    let report = call("research", json!({"query": question}));
    assert!(
        report["structuredContent"]["answer"]
            .as_str()
            .unwrap()
            .len()
            > 100
    );
    let done = report["structuredContent"]["research_id"].clone();
    let status = call("research_status", json!({"research_id": done}));
    assert!(status["structuredContent"]["next"].is_string(), "{status}");
    let listed = call("research_list", json!({}));
    assert_eq!(keys(&listed), ["jobs", "state"], "{listed}");
    let row = listed["structuredContent"]["jobs"][0].as_object().unwrap();
    let row: Vec<&String> = row.keys().collect();
    assert_eq!(
        row,
        ["cost_usd", "created_at", "query", "research_id", "state"]
    );
    call("status", json!({}));
    server.leave();
}
