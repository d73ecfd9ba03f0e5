//! No secret of a file is in any output, wherever it stands.

use base64::Engine as _;
use serde_json::{Value, json};

use super::{har, inspect_bytes};

/// A value that is a secret by its place alone: it has no known shape.
const SECRET: &str = "zq8Xw3rT5yU7iO9pL1kJ";

/// What is planted: the place, and the exchange.
fn planted() -> Vec<(&'static str, Value)> {
    let entry = |url: &str, headers: Value, reply: Value, body: &str| {
        json!({
            "startedDateTime": "2026-01-01T00:00:00Z",
            "request": { "method": "GET", "url": url, "httpVersion": "HTTP/1.1", "headers": headers },
            "response": {
                "status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1", "headers": reply,
                "content": { "mimeType": "application/json", "text": body },
            },
        })
    };
    let header = |name: &str, value: String| json!([{ "name": name, "value": value }]);
    let post = |kind: &str, body: String| {
        let mut entry = entry(
            "https://shop.example/p",
            header("Content-Type", kind.to_owned()),
            json!([]),
            "",
        );
        entry["request"]["method"] = "POST".into();
        entry["request"]["postData"] = json!({ "mimeType": kind, "text": body });
        entry
    };
    let none = json!([]);
    let url = |path: String| {
        entry(
            &format!("https://shop.example{path}"),
            none.clone(),
            none.clone(),
            "",
        )
    };
    let with = |name: &str, value: String| {
        entry(
            "https://shop.example/",
            header(name, value),
            none.clone(),
            "",
        )
    };
    let reply = |name: &str, value: String| {
        entry(
            "https://shop.example/",
            none.clone(),
            header(name, value),
            "",
        )
    };
    let s = SECRET;
    let mut socket = url("/ws".to_owned());
    socket["response"]["status"] = 101.into();
    socket["_webSocketMessages"] = json!([{ "type": "send", "time": 1.5, "opcode": 1, "data": format!("{{\"token\":\"{s}\"}}") }]);
    vec![
        ("query", url(format!("/a?x=1&access_token={s}"))),
        ("path", url(format!("/reset-password/{s}"))),
        ("fragment", url(format!("/cb#access_token={s}&x=1"))),
        (
            "referer",
            with("Referer", format!("https://o.example/x?token={s}")),
        ),
        (
            "location",
            reply("Location", format!("https://o.example/cb?code={s}")),
        ),
        ("cookie", with("Cookie", format!("theme=dark; sid={s}"))),
        (
            "set-cookie",
            reply("Set-Cookie", format!("sid={s}; Path=/")),
        ),
        (
            "authorization",
            with("Authorization", format!("Bearer {s}")),
        ),
        (
            "json",
            entry(
                "https://shop.example/",
                none.clone(),
                none.clone(),
                &format!("{{\"a\":[{{\"password\":\"{s}\"}}]}}"),
            ),
        ),
        (
            "form",
            post(
                "application/x-www-form-urlencoded",
                format!("user=a&password={s}"),
            ),
        ),
        (
            "multipart",
            post(
                "multipart/form-data; boundary=B",
                format!(
                    "--B\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n{s}\r\n--B--\r\n"
                ),
            ),
        ),
        ("websocket", socket),
    ]
}

/// The same exchanges in Burp's XML, as far as it has them.
fn burp(entries: &[(&str, Value)]) -> Vec<u8> {
    let engine = base64::engine::general_purpose::STANDARD;
    let mut out = String::from("<?xml version=\"1.0\"?>\n<items burpVersion=\"2026.1\">\n");
    for (_, entry) in entries {
        let headers = |message: &Value| -> String {
            let headers = message["headers"].as_array().unwrap().iter();
            headers
                .map(|header| {
                    format!(
                        "{}: {}\r\n",
                        header["name"].as_str().unwrap(),
                        header["value"].as_str().unwrap()
                    )
                })
                .collect()
        };
        let (request, response) = (&entry["request"], &entry["response"]);
        let url = request["url"].as_str().unwrap();
        let target = url
            .trim_start_matches("https://shop.example")
            .split('#')
            .next()
            .unwrap();
        let body = request["postData"]["text"].as_str().unwrap_or_default();
        let sent = format!(
            "{} {target} HTTP/1.1\r\nHost: shop.example\r\n{}\r\n{body}",
            request["method"].as_str().unwrap(),
            headers(request)
        );
        let came = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{}\r\n{}",
            headers(response),
            response["content"]["text"].as_str().unwrap()
        );
        out.push_str(&format!(
            "<item><url><![CDATA[{url}]]></url><host>shop.example</host><port>443</port><protocol>https</protocol>\
             <request base64=\"true\"><![CDATA[{}]]></request><response base64=\"true\"><![CDATA[{}]]></response></item>\n",
            engine.encode(sent),
            engine.encode(came)
        ));
    }
    out.push_str("</items>\n");
    out.into_bytes()
}

#[test]
fn a_secret_in_any_place_is_in_no_output() {
    let planted = planted();
    assert_eq!(planted.len(), 12);
    let entries: Vec<Value> = planted.iter().map(|(_, entry)| entry.clone()).collect();
    for (kind, file) in [("HAR", har(&entries)), ("Burp", burp(&planted[..11]))] {
        let count = if kind == "HAR" { 12 } else { 11 };
        for mode in ["balanced", "strict"] {
            for json in [&[][..], &["--json"]] {
                let list = inspect_bytes(&file, &[&["--redaction", mode], json].concat());
                assert_eq!(list.code, Some(0), "{list:?}");
                assert!(
                    !list.out.contains(SECRET) && !list.err.contains(SECRET),
                    "{kind} {mode}: {list:?}"
                );
                for (index, (place, _)) in planted[..count].iter().enumerate() {
                    let number = index.to_string();
                    let arguments = [&["--redaction", mode, "--exchange", &number], json].concat();
                    let one = inspect_bytes(&file, &arguments);
                    assert_eq!(one.code, Some(0), "{one:?}");
                    assert!(!one.out.contains(SECRET), "{kind} {mode} {place}: {one:?}");
                    assert!(
                        one.out.contains("{{secret:"),
                        "{kind} {mode} {place}: {one:?}"
                    );
                }
            }
        }
        // With redaction off each of them is there, so the check above can fail.
        for (index, (place, _)) in planted[..count].iter().enumerate() {
            let number = index.to_string();
            let shown = inspect_bytes(&file, &["--redaction", "off", "--exchange", &number]);
            assert!(shown.out.contains(SECRET), "{kind} {place}: {shown:?}");
        }
    }
}

#[test]
fn equal_values_have_equal_placeholders_and_another_key_in_another_run() {
    let entries: Vec<Value> = planted().into_iter().map(|(_, entry)| entry).collect();
    let file = har(&entries);
    let digits = || {
        let value = inspect_bytes(&file, &["--json"]).json();
        let mut found: Vec<String> = Vec::new();
        for exchange in value["exchanges"].as_array().unwrap() {
            for one in exchange["redacted"].as_array().unwrap() {
                // Every cookie is taken for a secret; this one has a value of its own.
                if one["name"] == "theme" {
                    continue;
                }
                let placeholder = one["placeholder"].as_str().unwrap();
                let digits = placeholder
                    .trim_end_matches('}')
                    .rsplit(':')
                    .next()
                    .unwrap();
                found.push(digits.to_owned());
            }
        }
        assert!(found.len() >= 12, "{value}");
        found.sort();
        found.dedup();
        found
    };
    let (first, second) = (digits(), digits());
    assert_eq!(first.len(), 1, "{first:?}");
    assert_ne!(first, second);
}

#[test]
fn modes_replace_what_they_say() {
    let file = har(&[json!({
        "request": {
            "method": "GET", "url": "https://inner.shop.example/made?lang=de&token=de&keyboard_layout=de", "httpVersion": "HTTP/1.1",
            "headers": [{ "name": "X-Mail", "value": "eve@shop.example" }, { "name": "X-Forwarded-For", "value": "203.0.113.9" }],
        },
        "response": { "status": 200, "headers": [{ "name": "Server", "value": "nginx/1.2.3" }], "content": {} },
    })]);
    let shown = |mode: &str, more: &[&str]| {
        let ran = inspect_bytes(&file, &[&["--redaction", mode], more].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.out
    };
    for more in [
        &[][..],
        &["--json"],
        &["--exchange", "0"],
        &["--exchange", "0", "--json"],
    ] {
        let (off, balanced, strict) = (
            shown("off", more),
            shown("balanced", more),
            shown("strict", more),
        );
        assert!(
            off.contains("token=de&") && !off.contains("{{secret"),
            "{off}"
        );
        // A short secret is replaced in its place, and nowhere else.
        for text in [&balanced, &strict] {
            assert!(
                !text.contains("token=de&") && text.contains("/made?lang=de"),
                "{text}"
            );
            assert!(text.contains("keyboard_layout=de"), "{text}");
        }
        assert!(balanced.contains("inner.shop.example"), "{balanced}");
        for hidden in ["shop.example", "eve@", "203.0.113.9"] {
            assert!(!strict.contains(hidden), "{hidden}: {strict}");
        }
        assert!(
            strict.contains("nginx/1.2.3") || more.is_empty() || !balanced.contains("nginx/1.2.3")
        );
    }
}

#[test]
fn placeholder_syntax_in_a_file_is_never_a_placeholder() {
    let fake = "{{secret:session:7f3a91c2b04d5e6f8a91}}";
    let file = har(&[json!({
        "request": { "method": "GET", "url": "https://a.example/", "headers": [{ "name": "X-Note", "value": fake }] },
        "response": { "status": 200, "headers": [], "content": { "mimeType": "text/plain", "text": fake } },
    })]);
    for more in [
        &["--exchange", "0"][..],
        &["--exchange", "0", "--json"],
        &["--json"],
    ] {
        let ran = inspect_bytes(&file, more);
        assert!(ran.code == Some(0) && !ran.out.contains(fake), "{ran:?}");
    }
}
