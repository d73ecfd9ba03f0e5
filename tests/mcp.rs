//! The protocol on the wire: framing, tools and their arguments, against real processes.

use std::collections::HashMap;

use crate::support::server::{Server, Simulator, state, text};
use serde_json::{Value, json};

const LATEST: &str = "2025-11-25";

fn ready() -> (tempfile::TempDir, Server) {
    let state = state();
    let mut server = Server::start(state.path(), None, &[]);
    server.initialize(LATEST);
    (state, server)
}

#[test]
fn a_thousand_pipelined_requests_are_all_answered() {
    let (_state, mut server) = ready();
    let mut blob = String::new();
    let methods = [
        "ping",
        "tools/list",
        "prompts/list",
        "resources/templates/list",
        "tools/call",
    ];
    for id in 0..1000 {
        let method = methods[id % methods.len()];
        let params = if method == "tools/call" {
            json!({"name": "status"})
        } else {
            json!({})
        };
        let message =
            json!({"jsonrpc": "2.0", "id": format!("r{id}"), "method": method, "params": params});
        blob.push_str(&format!("{message}\n"));
    }
    server.send_raw(blob.as_bytes());
    let mut seen = HashMap::new();
    while seen.len() < 1000 {
        let message = server.message();
        assert!(message.get("result").is_some(), "{message}");
        let id = message["id"].as_str().unwrap().to_owned();
        assert_eq!(seen.insert(id, ()), None, "{message}");
    }
    server.leave();
}

#[test]
fn an_id_in_use_is_not_used_twice() {
    let simulator = Simulator::start("1");
    let state = state();
    let mut server = Server::start(state.path(), Some(&simulator), &[]);
    server.initialize(LATEST);
    let id = server.request(
        "tools/call",
        json!({"name": "answers", "arguments": {"query": "sim:stall q"}}),
    );
    server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
    assert_eq!(server.reply(id)["error"]["code"], -32600);
    assert!(server.ask("ping", json!({})).get("result").is_some());
}

/// What common clients and model providers cannot take in an input schema.
const FORBIDDEN: [&str; 14] = [
    "$schema",
    "$ref",
    "$defs",
    "$id",
    "definitions",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "const",
    "format",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "pattern",
];

fn check_schema(schema: &Value, place: &str, depth: usize) {
    let object = schema
        .as_object()
        .unwrap_or_else(|| panic!("{place} is no object"));
    for (key, value) in object {
        assert!(!FORBIDDEN.contains(&key.as_str()), "{place} has {key}");
        match key.as_str() {
            "type" => assert!(value.is_string(), "{place} has a union of types"),
            "properties" => {
                assert!(depth == 0, "{place} is nested");
                for (name, inner) in value.as_object().unwrap() {
                    check_schema(inner, &format!("{place}.{name}"), depth + 1);
                }
            }
            _ => {}
        }
    }
}

#[test]
fn the_list_of_tools_is_small_flat_and_closed() {
    let (_state, mut server) = ready();
    let reply = server.ask("tools/list", json!({}));
    assert!(
        reply.to_string().len() < 8 << 10,
        "{} bytes",
        reply.to_string().len()
    );
    let tools = reply["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    let expected = [
        "answers",
        "research_submit",
        "research_status",
        "research_result",
        "research",
        "research_cancel",
        "research_list",
        "status",
    ];
    assert_eq!(names, expected);
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        let input = &tool["inputSchema"];
        assert_eq!(input["type"], "object", "{name}");
        assert_eq!(input["additionalProperties"], false, "{name}");
        check_schema(input, name, 0);
        let output = &tool["outputSchema"];
        assert_eq!(output["required"], json!(["state"]), "{name}");
        for (key, property) in output["properties"].as_object().unwrap() {
            assert_eq!(
                property.as_object().unwrap().len(),
                1,
                "{name}.{key} says more than a type"
            );
        }
        for hint in [
            "readOnlyHint",
            "destructiveHint",
            "idempotentHint",
            "openWorldHint",
        ] {
            assert!(
                tool["annotations"][hint].is_boolean(),
                "{name} has no {hint}"
            );
        }
    }
    server.leave();
}

#[test]
fn the_arguments_that_people_have_are_taken() {
    let simulator = Simulator::start("0");
    let state = state();
    let mut server = Server::start(state.path(), Some(&simulator), &[]);
    server.initialize(LATEST);
    let answer = server.call(
        "answers",
        json!({"query": "old q", "country": "de", "language": "de", "enable_citations": "true"}),
    );
    assert_eq!(answer["structuredContent"]["state"], "done", "{answer}");
    assert!(
        text(&answer).contains("Sources") && text(&answer).contains("$0."),
        "{answer}"
    );
    let submitted = server.call(
        "research_submit",
        json!({
            "query": "old research", "country": "", "language": null,
            "research_maximum_number_of_iterations": "2", "research_maximum_number_of_seconds": 60.0,
            "research_allow_thinking": "false", "research_maximum_number_of_queries": 3,
            "research_maximum_number_of_tokens_per_query": "2048", "research_maximum_number_of_results_per_query": 10,
        }),
    );
    let id = submitted["structuredContent"]["research_id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(text(&submitted).contains(&id));
    let result = server.call(
        "research_result",
        json!({"research_id": id, "wait_seconds": "50"}),
    );
    assert_eq!(result["structuredContent"]["state"], "done", "{result}");
    assert!(
        result["structuredContent"]["outcome"]["answer"]
            .as_str()
            .unwrap()
            .len()
            > 100
    );
    let status = server.call("research_status", json!({"research_id": id}));
    assert!(
        text(&status).contains("is done") && text(&status).contains('$'),
        "{status}"
    );

    let log = simulator.log();
    let answer = &log[0]["body"];
    assert_eq!(
        (&answer["country"], &answer["enable_citations"]),
        (&json!("de"), &json!(true)),
        "{answer}"
    );
    let research = &log[1]["body"];
    for (name, value) in [
        ("enable_research", json!(true)),
        ("research_maximum_number_of_iterations", json!(2)),
        ("research_maximum_number_of_seconds", json!(60)),
        ("research_allow_thinking", json!(false)),
        ("research_maximum_number_of_queries", json!(3)),
        ("research_maximum_number_of_tokens_per_query", json!(2048)),
        ("research_maximum_number_of_results_per_query", json!(10)),
        ("model", json!("brave")),
    ] {
        assert_eq!(research[name], value, "{name} in {research}");
    }
    assert!(
        research.get("country").is_none() && research.get("language").is_none(),
        "{research}"
    );
    server.leave();
}

#[test]
fn arguments_that_clients_add_to_every_call_are_ignored() {
    let simulator = Simulator::start("0");
    let state = state();
    let mut server = Server::start(state.path(), Some(&simulator), &[]);
    server.initialize(LATEST);
    let added =
        json!({"wait_for_previous": true, "task_progress": "- [x] look", "_trace": {"id": 1}});
    for tool in server.ask("tools/list", json!({}))["result"]["tools"]
        .as_array()
        .unwrap()
    {
        let mut arguments = added.clone();
        for name in tool["inputSchema"]["required"]
            .as_array()
            .into_iter()
            .flatten()
        {
            arguments[name.as_str().unwrap()] = json!("no-such-thing");
        }
        let name = tool["name"].as_str().unwrap();
        let result = server.call(name, arguments);
        assert!(
            !text(&result).contains("is not an argument"),
            "{name}: {result}"
        );
    }
    let answer = server.call(
        "answers",
        json!({"query": "q", "language": "en_US", "country": "null", "wait_for_previous": false}),
    );
    assert_eq!(answer["structuredContent"]["state"], "done", "{answer}");
    let sent = simulator.wait_for(|record| record["body"]["language"] == "en-us");
    assert!(sent["body"].get("country").is_none(), "{sent}");
    server.leave();
}

#[test]
fn documented_defaults_are_sent() {
    let simulator = Simulator::start("0");
    let state = state();
    let mut server = Server::start(state.path(), Some(&simulator), &[]);
    server.initialize(LATEST);
    let done = server.call("research", json!({"query": "q"}));
    assert_eq!(done["structuredContent"]["state"], "done", "{done}");
    let body = &simulator.log()[0]["body"];
    for (name, value) in [
        ("research_maximum_number_of_iterations", json!(4)),
        ("research_maximum_number_of_seconds", json!(180)),
        ("research_allow_thinking", json!(true)),
        ("research_maximum_number_of_queries", json!(20)),
        ("research_maximum_number_of_tokens_per_query", json!(8192)),
        ("research_maximum_number_of_results_per_query", json!(60)),
    ] {
        assert_eq!(body[name], value, "{name} in {body}");
    }
    server.leave();
}

#[test]
fn all_wrong_arguments_are_named_and_nothing_is_sent() {
    let simulator = Simulator::start("0");
    let state = state();
    let mut server = Server::start(state.path(), Some(&simulator), &[]);
    server.initialize(LATEST);
    let refused = server.call(
        "research_submit",
        json!({"query": " ", "country": "xyz", "research_maximum_number_of_iterations": 6, "depth": "deep", "research_allow_thinking": 3}),
    );
    assert_eq!(refused["isError"], true);
    assert!(refused.get("structuredContent").is_none());
    for name in [
        "query",
        "country",
        "research_maximum_number_of_iterations",
        "depth",
        "research_allow_thinking",
    ] {
        assert!(
            text(&refused).contains(&format!("`{name}`")),
            "{name} in {refused}"
        );
    }
    for (tool, arguments) in [
        ("status", json!({"verbose": true})),
        ("research_status", json!({})),
        ("research_status", json!({"research_id": "nonsense"})),
        (
            "research_result",
            json!({"research_id": "01a22d01-84a2-755f-8e0a-933edb4a3d7b"}),
        ),
        (
            "research_cancel",
            json!({"research_id": "01a22d01-84a2-755f-8e0a-933edb4a3d7b"}),
        ),
        (
            "research_status",
            json!({"research_id": "01a22d01-84a2-755f-8e0a-933edb4a3d7b", "wait_seconds": 51}),
        ),
        ("research_list", json!({"state": "lost"})),
    ] {
        let refused = server.call(tool, arguments.clone());
        assert_eq!(refused["isError"], true, "{tool} {arguments}: {refused}");
        assert!(text(&refused).len() > 20 && !text(&refused).contains("glovebox jobs"));
    }
    assert_eq!(simulator.log(), Vec::<Value>::new());
    server.leave();
}

#[test]
fn results_are_shaped_as_documented() {
    let (_state, mut server) = ready();
    let answer = server.call("answers", json!({"query": "q"}));
    let content = &answer["structuredContent"];
    let outcome = content["outcome"].as_object().unwrap();
    for absent in ["text", "draft", "thinking"] {
        assert!(!outcome.contains_key(absent), "{absent}");
    }
    for present in ["answer", "sources", "usage", "warnings", "complete"] {
        assert!(outcome.contains_key(present), "{present}");
    }
    assert_eq!(content["job"]["state"], "done");
    assert_eq!(content["research_id"], content["job"]["research_id"]);
    let listed = server.call("research_list", json!({"limit": "5"}));
    assert_eq!(
        listed["structuredContent"]["jobs"],
        json!([]),
        "single answers are no research: {listed}"
    );
    let status = server.call("status", json!({}));
    assert_eq!(
        status["structuredContent"]["version"],
        env!("CARGO_PKG_VERSION")
    );
    assert!(text(&status).contains("simulator"), "{status}");
    let failed = server.call("answers", json!({"query": "sim:error-402 q"}));
    assert_eq!(failed["isError"], true);
    assert!(failed.get("structuredContent").is_none());
    assert!(!text(&failed).contains('<'), "{failed}");
    server.leave();
}

#[test]
fn structured_content_can_be_switched_off() {
    let state = state();
    let mut server = Server::start(state.path(), None, &["--structured", "off"]);
    server.initialize(LATEST);
    for tool in server.ask("tools/list", json!({}))["result"]["tools"]
        .as_array()
        .unwrap()
    {
        assert!(tool.get("outputSchema").is_none(), "{tool}");
    }
    let answer = server.call("answers", json!({"query": "q"}));
    assert!(answer.get("structuredContent").is_none(), "{answer}");
    assert!(text(&answer).contains("Sources"));
    server.leave();
}

#[test]
fn a_large_result_is_cut_and_says_where_the_whole_is() {
    let state = state();
    let mut server = Server::start(state.path(), None, &["--max-output", "1024"]);
    server.initialize(LATEST);
    let report = server.call("research", json!({"query": "q"}));
    let shown = text(&report);
    assert!(shown.len() <= 1024, "{} bytes", shown.len());
    let uri = shown
        .split_whitespace()
        .find(|word| word.starts_with("research://"))
        .unwrap();
    let uri = uri.trim_end_matches(".]");
    let whole = server.ask("resources/read", json!({"uri": uri}));
    let contents = whole["result"]["contents"].as_array().unwrap();
    assert!(
        contents[0]["text"].as_str().unwrap().len() > 1024,
        "{whole}"
    );
    let outcome: Value = serde_json::from_str(contents[1]["text"].as_str().unwrap()).unwrap();
    assert!(outcome["thinking"].is_array());
    server.leave();
}

#[test]
fn without_a_key_nothing_is_begun_and_the_way_to_one_is_told() {
    let state = state();
    let mut server = Server::keyless(state.path());
    server.initialize(LATEST);
    for tool in ["answers", "research_submit", "research"] {
        let refused = server.call(tool, json!({"query": "q"}));
        assert_eq!(refused["isError"], true, "{tool}: {refused}");
        assert!(text(&refused).contains("BRAVE_ANSWERS_KEY"), "{refused}");
    }
    let listed = server.call("research_list", json!({}));
    assert_eq!(listed["structuredContent"]["jobs"], json!([]), "{listed}");
    let status = server.call("status", json!({}));
    assert_eq!(status["structuredContent"]["state"], "no-key", "{status}");
    server.leave();
}

#[test]
fn status_tells_what_is_odd_about_the_settings() {
    let state = state();
    let mut server = Server::unread(state.path(), None, &[], &[("GLOVEBOX_KEEPS", "1h")]);
    server.read();
    server.initialize(LATEST);
    let status = server.call("status", json!({}));
    assert!(text(&status).contains("Advice: GLOVEBOX_KEEPS"), "{status}");
    assert_eq!(
        status["structuredContent"]["advice"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    server.leave();
}
