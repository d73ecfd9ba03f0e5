//! Search, views, issues, codecs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

mod common;

use common::{exchanges, sample};
use traffic::checks::{Confidence, Severity};
use traffic::intake::Format;
use traffic::issues::{Issue, ReportFormat, key, normalize, report};
use traffic::search::{Mask, Pattern};
use traffic::view::{ViewOptions, view, visible};
use traffic::{Span, codec};

#[test]
fn a_match_that_touches_a_redacted_place_does_not_exist() {
    let part = b"token=SECRETVALUE; next=SECRET; end";
    let masks = [
        Mask {
            place: Span::new(6, 17),
            shown: 30,
        },
        Mask {
            place: Span::new(24, 30),
            shown: 30,
        },
    ];
    for pattern in [
        "SECRET",
        "SECRET.*",
        "token=.",
        "=S",
        "T; end",
        "(?s).*VALUE.*",
        "[A-Z]+",
        "SECRETVALUE|SECRET",
    ] {
        let found = Pattern::new(pattern, false, false)
            .unwrap()
            .find(part, &masks, 10);
        assert_eq!(found.total, 0, "{pattern}: {found:?}");
    }
    // Whether a guess is right changes nothing that can be seen.
    let count = |pattern: &str| {
        Pattern::new(pattern, false, false)
            .unwrap()
            .find(part, &masks, 10)
    };
    assert_eq!(count("^token=S|next"), count("^token=X|next"));
    assert_eq!(
        count("(token=SECRETV|token=)"),
        count("(token=SECRETX|token=)")
    );
    let found = count("end");
    assert_eq!(found.matches[0].place, Span::new(32, 35));
    assert_eq!(
        found.matches[0].shown,
        Span::new(32 + 19 + 24, 35 + 19 + 24)
    );
    assert_eq!(
        Pattern::new("a.b", true, true)
            .unwrap()
            .find(b"A.B axb", &[], 10)
            .total,
        1
    );
    assert_eq!(
        Pattern::new("", false, false)
            .unwrap()
            .find(b"", &[], 10)
            .total,
        1
    );
    assert!(
        Pattern::new("e", false, false)
            .unwrap()
            .is_match(part, &masks)
    );
    assert!(
        !Pattern::new("VALUE", false, false)
            .unwrap()
            .is_match(part, &masks)
    );
}

#[test]
fn a_pattern_that_is_wrong_or_too_large_is_refused() {
    for pattern in ["(", "a{1000}{1000}{10}", "[z-a]", "(?=x)", "\\1"] {
        let error = Pattern::new(pattern, false, false)
            .err()
            .unwrap_or_else(|| panic!("{pattern}"));
        assert!(
            error.starts_with("the pattern") && !error.contains('\n'),
            "{error}"
        );
    }
    assert!(Pattern::new(&"a".repeat(5000), false, false).is_err());
}

#[test]
fn a_view_fits_its_budget_and_walks_the_body() {
    let mut exchange = exchanges(Format::BurpXml, &sample("burp-base64.xml")).remove(0);
    let body: String = (0..20_000)
        .map(|number| format!("{number} é\u{7}\"\\\n"))
        .collect();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Long: ";
    exchange.response.as_mut().unwrap().bytes =
        format!("{head}{}\r\n\r\n{body}", "y".repeat(5000)).into_bytes();
    exchange.url = "u".repeat(5000);
    for json in [false, true] {
        for budget in [0, 512, 700, 2000, 24_000] {
            let view = view(
                &exchange,
                &ViewOptions {
                    json,
                    budget,
                    ..ViewOptions::default()
                },
            );
            let allowed = (budget as usize).max(512);
            assert!(
                view.text.len() <= allowed,
                "{} of {allowed}, json {json}",
                view.text.len()
            );
            assert!(view.cut && view.next_response_offset.is_some());
            if json {
                let value: serde_json::Value = serde_json::from_str(&view.text).unwrap();
                assert!(value["response"].is_object());
            }
        }
        let mut walked = String::new();
        let mut offset = 0;
        loop {
            let options = ViewOptions {
                json: true,
                budget: 9000,
                request: false,
                response_offset: offset,
                ..ViewOptions::default()
            };
            let view = view(&exchange, &options);
            let value: serde_json::Value = serde_json::from_str(&view.text).unwrap();
            walked.push_str(value["response"]["body"]["text"].as_str().unwrap());
            match view.next_response_offset {
                Some(next) if next > offset => offset = next,
                Some(next) => panic!("{next} after {offset}"),
                None => break,
            }
        }
        assert_eq!(walked, visible(&body));
    }
}

#[test]
fn binary_bodies_are_described_and_control_characters_shown() {
    let mut exchange = exchanges(Format::BurpXml, &sample("burp-base64.xml")).remove(0);
    exchange.response.as_mut().unwrap().bytes = [
        &b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nX: a\x1b[31m\xe2\x80\xaeb\r\n\r\n"[..],
        &[0x89; 1_000_000],
    ]
    .concat();
    let text = view(&exchange, &ViewOptions::default()).text;
    assert!(
        text.contains("[binary, image/png: 1000000 bytes, SHA-256 ") && text.len() < 1500,
        "{text}"
    );
    assert!(text.contains("a\\u{1b}[31m\\u{202e}b"), "{text}");
    let response = text.find("Response").unwrap();
    assert!(response < text.find("Request").unwrap());
}

fn issue(name: &str, url: &str) -> Issue {
    Issue {
        name: name.into(),
        detail: "It *is* `so`.".into(),
        base_url: url.into(),
        severity: Severity::Medium,
        confidence: Confidence::Firm,
        remediation: "Do not.".into(),
        background: String::new(),
        cwe: Some(79),
        count: 2,
        exchanges: vec!["12".into()],
    }
}

#[test]
fn issues_that_are_the_same_have_one_key() {
    let first = key(&issue(
        "[AI] Stored  XSS",
        "HTTPS://Shop.example:443/users/17/?a=b#c",
    ));
    for (name, url) in [
        ("stored xss", "https://shop.example/users/99"),
        (
            "[AI Passive] [x] Stored XSS",
            "https://shop.example./users/1/",
        ),
    ] {
        assert_eq!(key(&issue(name, url)), first);
    }
    for (name, url) in [
        ("stored xss", "https://shop.example:8443/users/99"),
        ("stored xss", "http://shop.example/users/99"),
        ("xss", "https://shop.example/users/1"),
    ] {
        assert_ne!(key(&issue(name, url)), first);
    }
}

#[test]
fn every_wrong_field_is_named() {
    let mut bad = issue(" ", "ftp://x");
    bad.detail = String::new();
    let wrong = normalize(bad).unwrap_err();
    let fields: Vec<&str> = wrong.iter().map(|field| field.field.as_str()).collect();
    assert_eq!(fields, ["name", "detail", "base_url"]);
    let good = normalize(issue("  a   b ", "HTTP://u:p@H.example/x?y#z")).unwrap();
    assert_eq!(
        (
            good.name.as_str(),
            good.base_url.as_str(),
            good.detail.as_str()
        ),
        ("a b", "http://h.example/x?y", "It *is* `so`.")
    );
}

#[test]
fn reports_are_whole() {
    let all = [
        issue("B | c", "https://a.example/"),
        issue("A", "https://a.example/`x`"),
    ];
    let markdown = report(&all, ReportFormat::Markdown, "1.0");
    assert!(
        markdown.contains("| Medium | B \\| c |")
            && markdown.contains("It *is* `so`.")
            && markdown.contains("CWE-79")
    );
    let sarif: serde_json::Value =
        serde_json::from_str(&report(&all, ReportFormat::Sarif, "1.0")).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    assert_eq!(sarif["runs"][0]["results"].as_array().unwrap().len(), 2);
    assert_eq!(sarif["runs"][0]["results"][0]["level"], "warning");
    assert!(report(&[], ReportFormat::Markdown, "1.0").contains("no issues"));
}

#[test]
fn codecs_convert() {
    assert_eq!(codec::url_encode("a b/é~"), "a%20b%2F%C3%A9~");
    assert_eq!(codec::url_decode("a+b%2F%c3%a9%zz"), "a b/é%zz");
    assert_eq!(codec::base64_encode(b"\xff\xfe"), "//4=");
    assert_eq!(codec::base64_decode(" __4 "), Ok(vec![0xff, 0xfe]));
    assert!(codec::base64_decode("a*").is_err());
    for (name, hash) in [
        ("MD5", "900150983cd24fb0d6963f7d28e17f72"),
        ("SHA1", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (
            "sha-256",
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        ),
    ] {
        assert_eq!(codec::hash(b"abc", name).unwrap(), hash);
    }
    assert!(codec::hash(b"", "crc").unwrap_err().contains("SHA-256"));
    assert_eq!(
        codec::decode_as("H4sIAAAAAAAAA8tIzcnJBwCGphA2BQAAAA==", "gzip"),
        Ok(b"hello".to_vec())
    );
    assert!(
        codec::decode_as("aGVsbG8=", "gzip").is_err()
            && codec::decode_as("aGVsbG8=", "lzma").is_err()
    );
    assert_eq!(
        codec::random_string(4, "ab", &[0, 1, 2, 3]).unwrap(),
        "abab"
    );
    // 255 would favour the first of three characters.
    assert!(codec::random_string(2, "abc", &[255, 255, 1]).is_err());
    assert!(codec::random_string(1, "", &[0]).is_err());
}
