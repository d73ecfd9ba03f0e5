//! Redaction: what must not leave, and what must stay.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

mod common;

use common::exchanges;
use traffic::intake::Format;
use traffic::redact::{Mode, Redactor};
use traffic::{Exchange, intake};

const KEY: &[u8] = b"the key of a store, 32 bytes long";

fn redactor(mode: Mode) -> Redactor {
    Redactor::new(mode, KEY.to_vec(), b"of a call".to_vec(), &[])
}

/// An exchange as a Burp file holds it.
fn exchange(url: &str, request: &str, response: &str) -> Exchange {
    let xml = format!(
        "<items><item><url><![CDATA[{url}]]></url><request base64=\"false\"><![CDATA[{request}]]></request><response base64=\"false\"><![CDATA[{response}]]></response></item></items>"
    );
    exchanges(Format::BurpXml, xml.as_bytes()).remove(0)
}

/// Everything of an exchange that can leave, as one text.
fn everything(exchange: &Exchange) -> String {
    let mut text = serde_json::to_string(exchange).unwrap();
    text.push_str(&intake::har_entry(exchange));
    text.push_str(&String::from_utf8_lossy(&exchange.request.bytes));
    if let Some(response) = &exchange.response {
        text.push_str(&String::from_utf8_lossy(&response.bytes));
    }
    for message in &exchange.web_socket {
        text.push_str(&String::from_utf8_lossy(&message.payload));
    }
    text
}

const SECRET: &str = "Zq7xP2mK9vR4tL8wB3nH";

/// The 12 places, each with the secret alone in it.
fn planted() -> Vec<(&'static str, Exchange)> {
    let get = |target: &str, headers: &str, reply: &str, body: &str| {
        exchange(
            &format!("https://shop.example{target}"),
            &format!("GET {target} HTTP/1.1\r\nHost: shop.example\r\n{headers}\r\n"),
            &format!("HTTP/1.1 200 OK\r\n{reply}\r\n{body}"),
        )
    };
    let post = |kind: &str, body: &str| {
        exchange(
            "https://shop.example/p",
            &format!(
                "POST /p HTTP/1.1\r\nHost: shop.example\r\nContent-Type: {kind}\r\n\r\n{body}"
            ),
            "HTTP/1.1 204 No Content\r\n\r\n",
        )
    };
    let s = SECRET;
    let mut socket = get("/ws", "", "", "");
    socket.web_socket.push(traffic::WebSocketMessage {
        direction: traffic::Direction::Sent,
        time_ms: None,
        opcode: 1,
        payload: format!("{{\"op\":\"auth\",\"token\":\"{s}\"}}").into_bytes(),
    });
    vec![
        (
            "query",
            get(&format!("/a?x=1&access_token={s}"), "", "", ""),
        ),
        ("path", get(&format!("/reset-password/{s}"), "", "", "")),
        (
            "fragment",
            get(&format!("/cb#access_token={s}&x=1"), "", "", ""),
        ),
        (
            "referer",
            get(
                "/a",
                &format!("Referer: https://o.example/x?token={s}\r\n"),
                "",
                "",
            ),
        ),
        (
            "location",
            get(
                "/a",
                "",
                &format!("Location: https://o.example/cb?code={s}\r\n"),
                "",
            ),
        ),
        (
            "cookie",
            get("/a", &format!("Cookie: theme=dark; sid={s}\r\n"), "", ""),
        ),
        (
            "set-cookie",
            get(
                "/a",
                "",
                &format!("Set-Cookie: sid={s}; Path=/; Secure\r\n"),
                "",
            ),
        ),
        (
            "authorization",
            get("/a", &format!("Authorization: Bearer {s}\r\n"), "", ""),
        ),
        (
            "json",
            post(
                "application/json",
                &format!("{{\"a\":{{\"b\":[{{\"clientSecret\":\"{s}\"}}]}}}}"),
            ),
        ),
        (
            "form",
            post(
                "application/x-www-form-urlencoded",
                &format!("user=ann&password={s}&x=1"),
            ),
        ),
        (
            "multipart",
            post(
                "multipart/form-data; boundary=B",
                &format!(
                    "--B\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n{s}\r\n--B--\r\n"
                ),
            ),
        ),
        ("websocket", socket),
        (
            "xml",
            post(
                "application/xml",
                &format!("<l><Password>{s}</Password></l>"),
            ),
        ),
        ("header", get("/a", &format!("X-Api-Key: {s}\r\n"), "", "")),
        (
            "html",
            get(
                "/a",
                "",
                "Content-Type: text/html\r\n",
                &format!("<input type=hidden name=csrf_token value='{s}'>"),
            ),
        ),
        (
            "script",
            get(
                "/a",
                "",
                "Content-Type: text/javascript\r\n",
                &format!("var c = {{apiKey: \"{s}\"}};"),
            ),
        ),
        (
            "json response",
            get(
                "/a",
                "",
                "Content-Type: application/json\r\n",
                &format!("{{\"access_token\":\"{s}\",\"token_type\":\"bearer\"}}"),
            ),
        ),
        (
            "userinfo",
            get(
                "/a",
                &format!("Referer: https://ann:{s}@o.example/\r\n"),
                "",
                "",
            ),
        ),
        (
            "nested query",
            get(
                &format!("/a?next=https%3A%2F%2Fo.example%2F%3Ftoken%3D{s}"),
                "",
                "",
                "",
            ),
        ),
        (
            "json in json",
            post(
                "application/json",
                &format!("{{\"payload\":\"{{\\\"password\\\":\\\"{s}\\\"}}\"}}"),
            ),
        ),
    ]
}

#[test]
fn a_secret_in_any_place_does_not_leave() {
    for mode in [Mode::Balanced, Mode::Strict] {
        for (place, exchange) in planted() {
            assert!(
                everything(&exchange).contains(SECRET),
                "{place}: the test itself"
            );
            let redacted = redactor(mode).exchange(&exchange);
            assert!(
                !everything(&redacted.exchange).contains(SECRET),
                "{place} in {mode:?}: {}",
                everything(&redacted.exchange)
            );
            assert!(
                !serde_json::to_string(&redacted.replaced)
                    .unwrap()
                    .contains(SECRET),
                "{place}"
            );
        }
    }
}

#[test]
fn the_same_value_gives_the_same_placeholder_everywhere() {
    let mut seen = std::collections::BTreeSet::new();
    for (place, exchange) in planted() {
        let redacted = redactor(Mode::Balanced).exchange(&exchange);
        assert!(!redacted.replaced.is_empty(), "{place}");
        if place != "nested query" {
            seen.extend(
                redacted
                    .replaced
                    .iter()
                    .filter(|one| one.name != "theme")
                    .map(|one| one.placeholder.clone()),
            );
        }
    }
    assert_eq!(seen.len(), 1, "{seen:?}");
    let other = Redactor::new(Mode::Balanced, b"another key".to_vec(), Vec::new(), &[]);
    let (_, first) = planted().remove(0);
    assert!(!seen.contains(&other.exchange(&first).replaced[0].placeholder));
}

#[test]
fn the_places_of_the_replacements_are_right() {
    for (place, exchange) in planted() {
        let redacted = redactor(Mode::Balanced).exchange(&exchange);
        for one in &redacted.replaced {
            let shown = match one.part {
                traffic::Part::Url => redacted.exchange.url.as_bytes()
                    [one.shown.start as usize..one.shown.end as usize]
                    .to_vec(),
                traffic::Part::WebSocket => one
                    .shown
                    .of(&redacted.exchange.web_socket[one.index as usize].payload)
                    .to_vec(),
                traffic::Part::RequestHead => {
                    one.shown.of(&redacted.exchange.request.bytes).to_vec()
                }
                traffic::Part::ResponseHead => one
                    .shown
                    .of(&redacted.exchange.response.as_ref().unwrap().bytes)
                    .to_vec(),
                _ => continue,
            };
            assert_eq!(String::from_utf8_lossy(&shown), one.placeholder, "{place}");
        }
    }
}

#[test]
fn a_value_that_is_a_secret_elsewhere_is_one_everywhere() {
    let encoded = "se%2Fcret%2Bvalue9";
    let exchange = exchange(
        &format!("https://shop.example/a?x={encoded}"),
        "GET /a HTTP/1.1\r\nHost: shop.example\r\nCookie: sid=se/cret+value9\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nYour value se/cret+value9 and \"se\\/cret+value9\" but not xse/cret+value9",
    );
    let redacted = redactor(Mode::Balanced).exchange(&exchange);
    let text = everything(&redacted.exchange);
    assert!(
        !text.contains(encoded) && !text.contains("value se/cret"),
        "{text}"
    );
    // Short of 20 characters, a value inside of a longer word is another word.
    assert!(text.contains("xse/cret+value9"), "{text}");
}

#[test]
fn what_is_no_secret_stays() {
    let body = "{\"keyboard_layout\":\"de\",\"made\":\"in made de\",\"token_type\":\"bearer\",\"sidebar\":true,\"code\":404,\"author\":\"ann\",\"country_code\":\"DE\",\"key\":\"name\"}";
    let exchange = exchange(
        "https://shop.example/keyboards/made-of-tokens?lang=de&layout=dvorak",
        "GET /keyboards/made-of-tokens?lang=de&layout=dvorak HTTP/1.1\r\nHost: shop.example\r\nCookie: lang=de\r\nUser-Agent: Chrome/120.0.0.0\r\n\r\n",
        &format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nAccess-Control-Allow-Credentials: true\r\nETag: \"33a64df551425fcc55e4d42a148795d9\"\r\n\r\n{body}"
        ),
    );
    let redacted = redactor(Mode::Balanced).exchange(&exchange);
    let response = String::from_utf8(redacted.exchange.response.unwrap().bytes).unwrap();
    assert!(response.ends_with(body), "{response}");
    assert!(
        response.contains("Access-Control-Allow-Credentials: true")
            && response.contains("33a64df5")
    );
    assert_eq!(redacted.exchange.url, exchange.url);
    assert_eq!(redacted.replaced.len(), 1, "{:?}", redacted.replaced);
    let prose = "The token: it is described below. Basic rules apply to bearer instruments; a password is a word, see key = value.";
    assert_eq!(redactor(Mode::Balanced).text(prose, false).text, prose);
    let script =
        "fetch(u,{credentials:\"same-origin\"});x.withCredentials=!0;i.token = function() {}";
    assert_eq!(redactor(Mode::Balanced).text(script, false).text, script);
}

#[test]
fn json_stays_json() {
    let body = "{\"password\":\"a\\\"b\",\"pin\":123456,\"tokens\":[\"aaaa\",null,true],\"session\":{\"id\":\"x1\",\"user\":\"ann\"}}";
    let exchange = exchange(
        "https://a.example/",
        &format!(
            "POST / HTTP/1.1\r\nHost: a.example\r\nContent-Type: application/json\r\n\r\n{body}"
        ),
        "HTTP/1.1 200 OK\r\n\r\n",
    );
    let redacted = redactor(Mode::Balanced).exchange(&exchange);
    let text = String::from_utf8(redacted.exchange.request.bytes).unwrap();
    let value: serde_json::Value =
        serde_json::from_str(text.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    for place in ["/password", "/pin", "/tokens/0", "/session/id"] {
        assert!(
            value
                .pointer(place)
                .unwrap()
                .as_str()
                .unwrap()
                .starts_with("{{secret:"),
            "{place} in {value}"
        );
    }
    assert_eq!(value["tokens"][1], serde_json::Value::Null);
    assert_eq!(value["session"]["user"], "ann");
}

#[test]
fn placeholder_syntax_in_captured_text_is_escaped() {
    let real = redactor(Mode::Balanced)
        .exchange(&planted().remove(0).1)
        .replaced[0]
        .placeholder
        .clone();
    let exchange = exchange(
        &format!("https://a.example/?q={real}"),
        &format!("GET /?q={real} HTTP/1.1\r\nHost: a.example\r\nX-Note: {real}\r\n\r\n"),
        &format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n{real} and {{{{secret:"),
    );
    for mode in [Mode::Off, Mode::Balanced, Mode::Strict] {
        let redacted = redactor(mode).exchange(&exchange);
        assert!(!everything(&redacted.exchange).contains(&real), "{mode:?}");
        assert!(!redactor(mode).text(&real, false).text.contains(&real));
    }
    // An agent's own use of a placeholder stays.
    let request = format!("GET /?access_token={real} HTTP/1.1");
    assert_eq!(redactor(Mode::Balanced).text(&request, true).text, request);
}

#[test]
fn guesses_of_an_agent_confirm_nothing() {
    let stored = redactor(Mode::Balanced)
        .exchange(&planted().remove(0).1)
        .replaced[0]
        .placeholder
        .clone();
    let guess = redactor(Mode::Balanced).text(&format!("access_token={SECRET}"), true);
    assert_eq!(guess.replaced.len(), 1);
    assert!(!guess.text.contains(&stored) && !guess.text.contains(SECRET));
}

#[test]
fn strict_hides_hosts_and_addresses() {
    let exchange = exchange(
        "https://intra.corp-name.example:8443/a?to=ann@corp-name.example",
        "GET /a?to=ann@corp-name.example HTTP/1.1\r\nHost: intra.corp-name.example:8443\r\nReferer: https://other.corp-name.example/x\r\nOrigin: https://intra.corp-name.example:8443\r\n\r\n",
        "HTTP/1.1 200 OK\r\nLocation: https://db.corp-name.example/\r\nSet-Cookie: a=b; Domain=corp-name.example\r\nContent-Type: text/html\r\n\r\n<a href='//cdn.corp-name.example/x.js'>10.1.2.3</a> [fe80::1] file.name.txt bob@corp-name.example main.rs 127.0.0.1",
    );
    let strict = everything(&redactor(Mode::Strict).exchange(&exchange).exchange);
    for gone in ["corp-name", "10.1.2.3", "fe80::1", "ann@", "bob@"] {
        assert!(!strict.contains(gone), "{gone} in {strict}");
    }
    for stays in ["file.name.txt", "main.rs", "127.0.0.1", ":8443"] {
        assert!(strict.contains(stays), "{stays} in {strict}");
    }
    let balanced = everything(&redactor(Mode::Balanced).exchange(&exchange).exchange);
    assert!(balanced.contains("intra.corp-name.example") && balanced.contains("10.1.2.3"));
}

#[test]
fn a_compressed_body_is_read() {
    use std::io::Write as _;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer
        .write_all(format!("{{\"access_token\":\"{SECRET}\"}}").as_bytes())
        .unwrap();
    let packed = packer.finish().unwrap();
    let mut exchange = planted().remove(0).1;
    let response = exchange.response.as_mut().unwrap();
    response.bytes =
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n\r\n"
            .to_vec();
    response.bytes.extend(packed);
    let redacted = redactor(Mode::Balanced).exchange(&exchange);
    let text = everything(&redacted.exchange);
    assert!(
        !text.contains(SECRET) && text.contains("access_token"),
        "{text}"
    );
}

#[test]
fn words_of_the_operator_are_replaced() {
    let redactor = Redactor::new(
        Mode::Balanced,
        KEY.to_vec(),
        Vec::new(),
        &["Project Falcon".into(), "x".into()],
    );
    let out = redactor.text("about project falcon and x", false);
    assert!(
        !out.text.to_lowercase().contains("falcon") && out.text.ends_with("and x"),
        "{}",
        out.text
    );
}

#[test]
fn what_leaves_is_scanned_once_more() {
    let key = format!("ghp_{}", "a1B2".repeat(9));
    let out = redactor(Mode::Balanced).scrub(&format!("x {key} deadbeefdeadbeefdeadbeefdeadbeef"));
    assert!(!out.text.contains(&key) && out.text.contains("deadbeef"));
    assert_eq!(out.replaced.len(), 1);
}

#[test]
fn what_a_decoder_lost_is_said_of_the_redacted_exchange() {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&vec![b'a'; 4 << 20]).unwrap();
    let bomb = encoder.finish().unwrap();
    let mut exchange = exchange(
        "https://a.example/",
        "GET / HTTP/1.1\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n",
    );
    let mut bytes = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n".to_vec();
    bytes.extend(bomb);
    exchange.response.as_mut().unwrap().bytes = bytes;
    let redacted = redactor(Mode::Balanced).exchange(&exchange).exchange;
    let codes: Vec<&str> = redacted
        .warnings
        .iter()
        .map(|warning| warning.code.as_str())
        .collect();
    assert_eq!(codes, ["ratio-limit"]);
    assert!(redacted.response.unwrap().bytes.len() < 1 << 20);
}
