//! Approval of costly calls: asked of the person through the client, bound to the call, used once.

use std::time::Duration;

use glovebox::jobs::Micros;
use glovebox::mcp::FAMILIES;
use glovebox::policy::Rules;
use serde_json::{Value, json};

use super::client::{Place, Session, modern_params, post};
use super::unsafe_tools::{InProcess, Pipes, rules};
use crate::http::client::{Connection, exchange, modern as modern_headers, request};
use crate::support::server::{Server, Simulator, text};

/// Above a single answer's worst cost nothing is; a research costs more than this.
const LIMIT: [&str; 2] = ["--confirm-over-usd", "0.01"];

fn elicits() -> Value {
    json!({ "elicitation": { "form": {} } })
}

fn query(text: &str) -> Value {
    json!({ "query": format!("sim:plain {text}") })
}

fn yes() -> Value {
    json!({ "approval": { "action": "accept", "content": { "approve": true } } })
}

/// How many paid calls the upstream saw.
fn paid(simulator: &Simulator) -> usize {
    simulator.log().len()
}

/// A call of 2026-07-28, perhaps with an answer.
fn call(server: &mut Server, arguments: Value, answer: Option<(&str, Value)>) -> Value {
    let mut params = modern_params(elicits(), "answers", arguments);
    if let Some((state, responses)) = answer {
        params["requestState"] = json!(state);
        params["inputResponses"] = responses;
    }
    let reply = server.ask("tools/call", params);
    reply
        .get("result")
        .unwrap_or_else(|| panic!("{reply}"))
        .clone()
}

fn state(asked: &Value) -> String {
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    asked["requestState"].as_str().unwrap().to_owned()
}

#[test]
fn an_approval_buys_one_call_and_nothing_else() {
    let simulator = Simulator::start("0");
    let place = Place::with_upstream(&simulator.url);
    let mut flags = LIMIT.to_vec();
    flags.push("--audit");
    let mut server = place.stdio(&flags);
    let asked = call(&mut server, query("one"), None);
    let question = &asked["inputRequests"]["approval"];
    assert_eq!(question["method"], "elicitation/create", "{asked}");
    let message = question["params"]["message"].as_str().unwrap();
    assert!(
        message.contains("answers") && message.contains("sim:plain one") && message.contains('$'),
        "{message}"
    );
    let approved = state(&asked);
    assert_eq!(paid(&simulator), 0);

    let denied = |result: &Value, why: &str| {
        assert_eq!(result["isError"], true, "{result}");
        let said = text(result);
        assert!(
            said.starts_with("Denied: ") && said.contains(why) && said.contains("confirm_over_usd"),
            "{said}"
        );
    };
    // For other arguments, another tool, from another session, or without a yes: nothing.
    denied(
        &call(&mut server, query("two"), Some((&approved, yes()))),
        "not given for this call",
    );
    let mut other = modern_params(elicits(), "research_submit", query("one"));
    other["requestState"] = json!(approved);
    other["inputResponses"] = yes();
    denied(
        &server.ask("tools/call", other)["result"],
        "not given for this call",
    );
    let mut elsewhere = place.stdio(&flags);
    denied(
        &call(&mut elsewhere, query("one"), Some((&approved, yes()))),
        "not given for this call",
    );
    for refusal in [
        json!({}),
        json!({ "approval": { "action": "decline" } }),
        json!({ "approval": { "action": "accept", "content": { "approve": false } } }),
        json!({ "other": { "action": "accept", "content": { "approve": true } } }),
    ] {
        denied(
            &call(&mut server, query("one"), Some((&approved, refusal))),
            "did not approve",
        );
    }
    for forged in [
        "",
        "a1.00.99999999999999.00",
        &approved[..approved.len() - 1],
    ] {
        denied(
            &call(&mut server, query("one"), Some((forged, yes()))),
            "not given for this call",
        );
    }
    assert_eq!(paid(&simulator), 0);

    // The same arguments in another spelling are the same call.
    let mut spelled = query("one");
    spelled["enable_citations"] = json!("true");
    let bought = call(&mut server, spelled, Some((&approved, yes())));
    assert_ne!(bought["isError"], true, "{bought}");
    assert_eq!(paid(&simulator), 1);
    for _ in 0..3 {
        let replayed = call(&mut server, query("one"), Some((&approved, yes())));
        assert_eq!(replayed["isError"], true, "{replayed}");
        assert!(text(&replayed).contains("was used before"), "{replayed}");
    }
    assert_eq!(paid(&simulator), 1);
    let events = place.events();
    let approvals = events
        .iter()
        .filter(|event| event["decision"] == "approved");
    // Those of the replays run into the store, which knows that the approval was used.
    assert_eq!(approvals.count(), 4, "{events:#?}");
}

#[test]
fn replays_at_the_same_moment_buy_one_call() {
    let simulator = Simulator::start("0");
    let place = Place::with_upstream(&simulator.url);
    let serve = place.serve(&LIMIT);
    let call = |responses: Option<(&str, Value)>| {
        let mut params = modern_params(elicits(), "answers", query("at once"));
        if let Some((state, responses)) = responses {
            params["requestState"] = json!(state);
            params["inputResponses"] = responses;
        }
        let body = request(1, "tools/call", params);
        let headers = modern_headers("tools/call", "answers");
        post(serve.port, &headers, &body)["result"].clone()
    };
    let approved = state(&call(None));
    let results: Vec<Value> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|_| scope.spawn(|| call(Some((&approved, yes())))))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let bought = results.iter().filter(|result| result["isError"] != true);
    assert_eq!(bought.count(), 1, "{results:#?}");
    assert_eq!(paid(&simulator), 1);
}

#[test]
fn with_a_bearer_another_token_cannot_use_an_approval() {
    let simulator = Simulator::start("0");
    let place = Place::with_upstream(&simulator.url);
    let mut flags = LIMIT.to_vec();
    flags.push("--require-token");
    let serve = place.serve(&flags);
    let token = || {
        let token = std::fs::read_to_string(place.path().join("state/token")).unwrap();
        format!("Bearer {}", token.trim())
    };
    let call = |bearer: &str, state: Option<&str>| {
        let mut params = modern_params(elicits(), "answers", query("mine"));
        if let Some(state) = state {
            params["requestState"] = json!(state);
            params["inputResponses"] = yes();
        }
        let mut headers = modern_headers("tools/call", "answers").to_vec();
        headers.push(("authorization", bearer));
        post(serve.port, &headers, &request(1, "tools/call", params))["result"].clone()
    };
    let approved = state(&call(&token(), None));
    let renewed = place.command(&["token", "new"]).output().unwrap();
    assert!(renewed.status.success());
    let refused = call(&token(), Some(&approved));
    assert!(
        text(&refused).contains("not given for this call by this client"),
        "{refused}"
    );
    assert_eq!(paid(&simulator), 0);
}

/// Answers the question that a call of the older era brings about.
fn answered(pipes: &mut Pipes, answer: Option<Value>) -> Value {
    let id = pipes.request(
        "tools/call",
        json!({ "name": "answers", "arguments": query("older") }),
    );
    loop {
        let message = pipes.message();
        if message["method"] == "elicitation/create" {
            assert!(
                message["params"]["message"]
                    .as_str()
                    .unwrap()
                    .contains("sim:plain older")
            );
            if let Some(answer) = &answer {
                pipes.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": answer }));
            }
        } else if message["id"] == id {
            return message["result"].clone();
        }
    }
}

fn costly() -> Rules {
    Rules {
        confirm_over: Some(Micros(10_000)),
        ..rules("answers")
    }
}

#[test]
fn in_the_older_era_the_call_waits_for_the_answer() {
    let server = InProcess::start(FAMILIES, &costly(), Duration::from_secs(60));
    let mut pipes = server.pipes();
    pipes.initialize(elicits());
    let approved = answered(&mut pipes, Some(yes()["approval"].clone()));
    assert_ne!(approved["isError"], true, "{approved}");
    assert_eq!(server.simulator.log().len(), 1);
    for refusal in [
        json!({ "action": "decline" }),
        json!({ "action": "accept", "content": {} }),
    ] {
        let refused = answered(&mut pipes, Some(refusal));
        assert!(text(&refused).contains("did not approve"), "{refused}");
    }
    assert_eq!(server.simulator.log().len(), 1);
    let reasons: Vec<Value> = server
        .events()
        .iter()
        .filter(|event| event["event"] == "tool_denied")
        .map(|event| event["reason"].clone())
        .collect();
    assert_eq!(
        reasons,
        [json!("approval_refused"), json!("approval_refused")]
    );
}

#[test]
fn an_answer_that_does_not_come_in_time_buys_nothing_and_neither_does_one_that_comes_late() {
    let server = InProcess::start(FAMILIES, &costly(), Duration::from_millis(300));
    let mut pipes = server.pipes();
    pipes.initialize(elicits());
    let id = pipes.request(
        "tools/call",
        json!({ "name": "answers", "arguments": query("older") }),
    );
    let mut question = Value::Null;
    let result = loop {
        let message = pipes.message();
        match message["method"].as_str() {
            Some("elicitation/create") => question = message["id"].clone(),
            Some(_) => {}
            None if message["id"] == id => break message["result"].clone(),
            None => {}
        }
    };
    assert!(text(&result).contains("nobody approved"), "{result}");
    pipes.send(&json!({ "jsonrpc": "2.0", "id": question, "result": yes()["approval"] }));
    assert!(pipes.ask("ping", json!({})).get("result").is_some());
    assert!(server.simulator.log().is_empty());
}

#[test]
fn a_client_that_vanishes_before_it_answers_buys_nothing() {
    let server = InProcess::start(FAMILIES, &costly(), Duration::from_secs(60));
    let mut pipes = server.pipes();
    pipes.initialize(elicits());
    pipes.request(
        "tools/call",
        json!({ "name": "answers", "arguments": query("older") }),
    );
    while pipes.message()["method"] != "elicitation/create" {}
    drop(pipes);
    let until = std::time::Instant::now() + crate::support::GENEROUS;
    while !server
        .events()
        .iter()
        .any(|event| event["event"] == "tool_denied")
    {
        assert!(std::time::Instant::now() < until, "{:#?}", server.events());
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(server.simulator.log().is_empty());
}

#[test]
fn over_streamable_http_the_question_comes_on_the_stream_of_its_call() {
    let simulator = Simulator::start("0");
    let place = Place::with_upstream(&simulator.url);
    let serve = place.serve(&LIMIT);
    let Session::Http(session) = Session::http(serve.port, elicits()) else {
        unreachable!()
    };
    let headers = [
        ("mcp-session-id", session.id.as_str()),
        ("accept", "application/json, text/event-stream"),
    ];
    let mut stream = Connection::open(serve.port);
    let params = json!({ "name": "answers", "arguments": query("streamed") });
    stream.send("POST", "/mcp", &headers, &request(7, "tools/call", params));
    assert!(stream.head().is_stream());
    let (_, question) = stream.message().unwrap();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": yes()["approval"] });
    assert_eq!(
        exchange(serve.port, "POST", "/mcp", &headers, &answer.to_string())
            .0
            .status,
        202
    );
    let (_, result) = stream.message().unwrap();
    assert_eq!(result["id"], 7);
    assert_ne!(result["result"]["isError"], true, "{result}");
    assert_eq!(paid(&simulator), 1);
}

#[test]
fn what_costs_less_is_not_asked_about() {
    let simulator = Simulator::start("0");
    let place = Place::with_upstream(&simulator.url);
    let mut server = place.stdio(&["--confirm-over-usd", "1"]);
    assert_ne!(
        call(&mut server, query("cheap"), None)["resultType"],
        "input_required"
    );
    let params = modern_params(elicits(), "research_submit", query("dear"));
    let asked = server.ask("tools/call", params);
    state(&asked["result"]);
    let mut few = query("few");
    few["research_maximum_number_of_queries"] = json!(1);
    few["research_maximum_number_of_iterations"] = json!(1);
    let params = modern_params(elicits(), "research_submit", few);
    let submitted = server.ask("tools/call", params);
    assert_ne!(submitted["result"]["isError"], true, "{submitted}");
}
