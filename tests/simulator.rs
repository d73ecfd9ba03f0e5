//! The simulator: its validation, its replies and its log.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::support::{GENEROUS, KEY, Simulator, World, post};
use serde_json::{Value, json};

fn setup() -> (World, Simulator) {
    let world = World::new();
    let simulator = Simulator::start("0");
    (world, simulator)
}

fn body(question: &str, extra: Value) -> String {
    let mut body = json!({"messages": [{"role": "user", "content": question}], "model": "brave"});
    for (name, value) in extra.as_object().unwrap() {
        body[name] = value.clone();
    }
    body.to_string()
}

fn status(reply: &str) -> u16 {
    reply.split(' ').nth(1).unwrap().parse().unwrap()
}

fn json_body(reply: &str) -> Value {
    serde_json::from_str(reply.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[test]
fn the_key_is_checked_before_the_body() {
    let (_world, simulator) = setup();
    let reply = simulator.send(&post("nonsense", ""));
    assert_eq!(status(&reply), 422);
    let body = json_body(&reply);
    assert_eq!(body["error"]["code"], "VALIDATION");
    assert_eq!(
        body["error"]["meta"]["errors"][0]["loc"],
        json!(["header", "x-subscription-token"])
    );
    let bearer = simulator.send(&post(&body_ok(), "authorization: Bearer k\r\n"));
    assert_eq!(status(&bearer), 200);
    let version = simulator.send(&post(
        &body_ok(),
        "x-subscription-token: k\r\napi-version: 2020-01-01\r\n",
    ));
    assert_eq!(status(&version), 404);
}

fn body_ok() -> String {
    body("why?", json!({}))
}

#[test]
fn ranges_exclusions_and_messages_are_checked() {
    let (_world, simulator) = setup();
    for (extra, expected) in [
        (
            json!({"research_maximum_number_of_queries": 51}),
            "research_maximum_number_of_queries",
        ),
        (
            json!({"research_maximum_number_of_seconds": 0}),
            "research_maximum_number_of_seconds",
        ),
        (json!({"messages": []}), "messages"),
        (json!({"stream": "yes"}), "stream"),
        (
            json!({"stream": false, "enable_citations": true}),
            "enable_citations",
        ),
        (
            json!({"enable_research": true, "enable_citations": true}),
            "enable_citations",
        ),
        (
            json!({"enable_research": true, "enable_entities": true}),
            "enable_entities",
        ),
    ] {
        let reply = simulator.post(&body("why?", extra.clone()));
        assert_eq!(status(&reply), 422, "{extra}");
        assert!(reply.contains(expected), "{extra}: {reply}");
    }
    let reply = simulator.post(&body("why?", json!({"maxQueries": 3})));
    assert_eq!(status(&reply), 200);
    let log = simulator.log();
    assert_eq!(
        log.last().unwrap()["notes"],
        json!(["unknown field maxQueries: ignored"])
    );
}

#[test]
fn every_refusal_has_its_format() {
    let (_world, simulator) = setup();
    for (scenario, expected, code) in [
        ("error-400-plan", 400, "OPTION_NOT_IN_PLAN"),
        ("error-402", 402, "USAGE_LIMIT_EXCEEDED"),
        ("error-403", 403, "RESOURCE_NOT_ALLOWED"),
        ("error-404", 404, "SUBSCRIPTION_NOT_FOUND"),
        ("error-422-key", 422, "SUBSCRIPTION_TOKEN_INVALID"),
        ("error-422-validation", 422, "VALIDATION"),
        ("error-429-quota", 429, "QUOTA_LIMITED"),
        ("error-500", 500, "INTERNAL"),
        ("error-503", 503, "UNAVAILABLE"),
    ] {
        let ask = |variant: &str| {
            let reply = simulator.post(&body(&format!("sim:{scenario}{variant} why?"), json!({})));
            assert_eq!(status(&reply), expected, "{scenario}{variant}");
            reply
        };
        assert_eq!(json_body(&ask(""))["error"]["code"], code);
        assert_eq!(json_body(&ask("+docs"))["errors"][0]["code"], code);
        assert!(json_body(&ask("+detail"))["detail"].is_string());
        assert!(ask("+text").contains("text/plain"));
    }
    assert!(
        json_body(&simulator.post(&body("sim:error-422-option why?", json!({}))))["detail"]
            .is_string()
    );
    let html = simulator.post(&body("sim:html-502 why?", json!({})));
    assert!(html.contains("text/html") && html.contains("<html>") && status(&html) == 502);
    let redirect = simulator.post(&body("sim:redirect why?", json!({})));
    assert!(redirect.contains("location: https://elsewhere.example/") && status(&redirect) == 302);
}

#[test]
fn the_rate_scenario_refuses_once_and_enforce_rate_always() {
    let (_world, simulator) = setup();
    let question = body("sim:error-429-rate why?", json!({}));
    assert_eq!(status(&simulator.post(&question)), 429);
    assert_eq!(status(&simulator.post(&question)), 200);
    let strict = Simulator::with_args(&["--pace", "0", "--enforce-rate"]);
    let statuses: Vec<u16> = (0..5).map(|_| status(&strict.post(&body_ok()))).collect();
    assert_eq!(&statuses[..2], [200, 200]);
    assert!(statuses.contains(&429), "{statuses:?}");
}

#[test]
fn research_stays_within_its_limits() {
    let (_world, simulator) = setup();
    let reply = simulator.post(&body(
        "What is new?",
        json!({"enable_research": true, "research_maximum_number_of_iterations": 2,
               "research_maximum_number_of_queries": 2, "research_allow_thinking": false}),
    ));
    assert!(
        reply.contains(r#"\"number_of_iterations\": 2"#)
            && !reply.contains(r#"\"number_of_iterations\": 3"#)
    );
    assert!(reply.contains(r#"\"X-Request-Queries\": 2,"#), "{reply}");
    assert!(!reply.contains("<thinking>") && reply.contains("<answer>"));
}

#[test]
fn vectors_are_sent_byte_for_byte() {
    let (_world, simulator) = setup();
    let vector = include_bytes!("../fixtures/answers/citations.sse");
    for scenario in ["citations", "fixture/citations", "citations+split"] {
        let reply = simulator.send_bytes(&post(
            &body(&format!("sim:{scenario} why?"), json!({})),
            "x-subscription-token: k\r\n",
        ));
        assert_eq!(unchunked(&reply), vector, "{scenario}");
    }
    let compressed = body("sim:citations+gzip why?", json!({}));
    let reply = simulator.send_bytes(&post(&compressed, "x-subscription-token: k\r\n"));
    assert_eq!(
        unchunked(&reply),
        vector,
        "compressed for one who does not take it"
    );
    let headers = "x-subscription-token: k\r\naccept-encoding: gzip\r\n";
    let reply = simulator.send_bytes(&post(&compressed, headers));
    let mut decoded = Vec::new();
    flate2::read::GzDecoder::new(&*unchunked(&reply))
        .read_to_end(&mut decoded)
        .unwrap();
    assert_eq!(decoded, vector);
}

/// Returns the body of a chunked reply.
fn unchunked(reply: &[u8]) -> Vec<u8> {
    let start = reply
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .unwrap()
        + 4;
    let (mut rest, mut body) = (&reply[start..], Vec::new());
    loop {
        let end = rest
            .windows(2)
            .position(|window| window == b"\r\n")
            .unwrap();
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            return body;
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 2 + size + 2..];
    }
}

#[test]
fn a_disconnect_is_logged_within_half_a_second_even_while_nothing_is_sent() {
    let (_world, simulator) = setup();
    let mut stream = TcpStream::connect(simulator.address()).unwrap();
    stream.set_read_timeout(Some(GENEROUS)).unwrap();
    stream
        .write_all(
            post(
                &body("sim:stall why?", json!({})),
                "x-subscription-token: k\r\n",
            )
            .as_bytes(),
        )
        .unwrap();
    let mut some = [0; 64];
    stream.read_exact(&mut some).unwrap();
    let before = simulator.log();
    assert_eq!(before[0]["end"], Value::Null);
    let gone = std::time::Instant::now();
    drop(stream);
    let log = simulator.wait_for_log("the end", |log| !log[0]["end"].is_null());
    assert!(
        gone.elapsed() < Duration::from_millis(500),
        "{:?}",
        gone.elapsed()
    );
    assert_eq!(log[0]["end"], "dropped");
    assert_eq!(log[0]["status"], 200);
}

#[test]
fn the_log_contains_no_key_and_only_loopback_is_served() {
    let (world, simulator) = setup();
    simulator.send(&post(
        &body_ok(),
        &format!("x-subscription-token: {KEY}\r\n"),
    ));
    let log = simulator.log_text();
    assert!(log.contains("\"key_seen\":true") && !log.contains(KEY));
    let refused = world.run(&["simulate", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.err.contains("not a loopback address"),
        "{refused:?}"
    );
    let unknown = world.run(&["simulate", "--scenario", "nonsense"]);
    assert_eq!(unknown.code, Some(2));
}
