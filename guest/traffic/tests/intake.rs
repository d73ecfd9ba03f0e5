//! Import: every sample, cut anywhere, and what an import promises.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

mod common;

use common::{exchanges, format, read, sample, samples};
use traffic::Provenance;
use traffic::intake::{self, Format, Item, Limits};

#[test]
fn every_cut_of_every_sample_gives_the_same() {
    for name in samples() {
        let bytes = sample(&name);
        let format = format(&name, &bytes);
        let whole = read(format, &bytes, usize::MAX, Limits::default());
        for chunk in [1, 2, 3, 5, 7, 13, 64, 511] {
            assert_eq!(
                read(format, &bytes, chunk, Limits::default()),
                whole,
                "{name} in chunks of {chunk}"
            );
        }
    }
}

#[test]
fn every_prefix_of_every_sample_gives_a_report() {
    for name in samples() {
        let bytes = sample(&name);
        let format = format(&name, &bytes);
        for length in 0..bytes.len() {
            let (items, report) = read(format, &bytes[..length], usize::MAX, Limits::default());
            assert_eq!(
                items.len() as u64,
                report.taken + report.skipped,
                "{name} cut at {length}"
            );
            let _ = intake::detect(&bytes[..length]);
        }
    }
}

#[test]
fn a_cut_file_says_so() {
    let bytes = sample("burp-base64.xml");
    let (_, whole) = read(Format::BurpXml, &bytes, usize::MAX, Limits::default());
    assert!(whole.complete);
    let (_, cut) = read(
        Format::BurpXml,
        &bytes[..bytes.len() / 2],
        usize::MAX,
        Limits::default(),
    );
    assert!(!cut.complete);
    assert_eq!(cut.skips[0].code, "truncated");
    let (_, har) = read(
        Format::Har,
        &sample("har-truncated.har"),
        usize::MAX,
        Limits::default(),
    );
    assert!(!har.complete);
    assert_eq!(har.skips[0].code, "truncated");
}

#[test]
fn raw_bytes_of_a_burp_file_survive() {
    let all = exchanges(Format::BurpXml, &sample("burp-raw.xml"));
    assert_eq!(all.len(), 2);
    let body = &all[0].response.as_ref().unwrap().bytes;
    let wanted = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\r\nA\x00B\xff\xfe line\nbare lf\r\n<responselength>9</responselength> ]]> ]]></response> ]]></response>\n<b>not a sibling</b> <item> </item> &amp; end";
    assert_eq!(body.as_slice(), wanted.as_slice());
    assert_eq!(
        all[0].response.as_ref().unwrap().provenance,
        Provenance::Wire
    );
    assert!(
        all[1]
            .response
            .as_ref()
            .unwrap()
            .bytes
            .ends_with(b"split ]]> here")
    );
}

#[test]
fn the_document_type_is_not_processed() {
    let all = exchanges(Format::BurpXml, &sample("burp-entities.xml"));
    assert_eq!(all[0].note, "&x;&b;\0A");
}

#[test]
fn what_is_no_traffic_is_named() {
    for (name, word) in [
        ("burp-issues.xml", "scanner issues"),
        ("burp-project.bin", "project file"),
        ("report.html", "HTML"),
        ("logger.csv", "CSV"),
        ("flows.mitm", "mitmproxy"),
        ("har.zhar", "compressed"),
        ("json-other.json", "without the HAR member"),
        ("har-no-entries.json", "HAR"),
    ] {
        let bytes = sample(name);
        assert!(
            intake::detect(&bytes).message.contains(word),
            "{name}: {}",
            intake::detect(&bytes).message
        );
        for format in [Format::BurpXml, Format::Har] {
            let (items, report) = read(format, &bytes, usize::MAX, Limits::default());
            let error = report
                .error
                .unwrap_or_else(|| panic!("{name} as {format:?}"));
            assert!(items.is_empty() && !report.complete, "{name}");
            assert!(!error.message.is_empty());
        }
    }
}

#[test]
fn exchanges_written_as_har_are_read_as_they_were() {
    for name in samples() {
        let bytes = sample(&name);
        let Some(format) = intake::detect(&bytes).format else {
            continue;
        };
        let all = exchanges(format, &bytes);
        let mut har = intake::har_head("1.0");
        for (at, exchange) in all.iter().enumerate() {
            if at > 0 {
                har.push_str(",\n");
            }
            har.push_str(&intake::har_entry(exchange));
        }
        har.push_str(&intake::har_tail());
        let (items, report) = read(Format::Har, har.as_bytes(), 1000, Limits::default());
        assert_eq!(
            (report.taken, report.skipped, report.complete),
            (all.len() as u64, 0, true),
            "{name}"
        );
        for (item, mut wanted) in items.into_iter().zip(all) {
            let Item::Exchange(mut exchange) = item else {
                panic!()
            };
            exchange.index = 0;
            wanted.index = 0;
            assert_eq!(*exchange, wanted, "{name}");
        }
    }
}

#[test]
fn a_body_over_the_limit_is_cut_and_reported() {
    let limits = Limits {
        body: 1000,
        item: 10_000,
        ..Limits::default()
    };
    let body = "x".repeat(50_000);
    let har = format!(
        "{{\"log\":{{\"entries\":[{{\"request\":{{\"method\":\"GET\",\"url\":\"https://a.example/\"}},\"response\":{{\"status\":200,\"content\":{{\"text\":\"{body}\"}}}}}}]}}}}"
    );
    let burp = format!(
        "<items><item><request>GET / HTTP/1.1\r\nHost: a.example\r\n\r\n</request><response><![CDATA[HTTP/1.1 200 OK\r\n\r\n{body}]]></response></item></items>"
    );
    for (format, text) in [(Format::Har, har), (Format::BurpXml, burp)] {
        let (items, report) = read(format, text.as_bytes(), 777, limits);
        let Item::Exchange(exchange) = &items[0] else {
            panic!("{items:?}")
        };
        assert!(
            exchange.response.as_ref().unwrap().bytes.len() <= 1000 + 30,
            "{format:?}"
        );
        assert_eq!(report.warnings[0].code, "body-cut");
    }
}

#[test]
fn an_entry_of_too_many_values_is_skipped_and_the_next_is_taken() {
    let limits = Limits {
        values: 1000,
        ..Limits::default()
    };
    let zeros = "0,".repeat(5000);
    let entry = "{\"request\":{\"method\":\"GET\",\"url\":\"https://a.example/\"},\"response\":{}}";
    let har = format!("{{\"log\":{{\"entries\":[{{\"x\":[{zeros}0]}},{entry}]}}}}");
    let (items, report) = read(Format::Har, har.as_bytes(), 100, limits);
    assert!(matches!(&items[0], Item::Skip(skip) if skip.code == "too-many-values"));
    assert_eq!((report.taken, report.skipped), (1, 1));
}

#[test]
fn too_many_items_end_the_import_by_name() {
    let limits = Limits {
        items: 3,
        ..Limits::default()
    };
    let item = "<item><request>GET / HTTP/1.1\r\nHost: a.example\r\n\r\n</request></item>";
    let (items, report) = read(
        Format::BurpXml,
        format!("<items>{}</items>", item.repeat(5)).as_bytes(),
        10,
        limits,
    );
    assert_eq!(items.len(), 3);
    assert_eq!(report.error.unwrap().code, "too-many-items");
}

#[test]
fn deep_json_is_skipped() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let har = format!("{{\"log\":{{\"entries\":[{{\"x\":{deep}}}]}}}}");
    let (items, _) = read(Format::Har, har.as_bytes(), 4096, Limits::default());
    assert!(matches!(&items[0], Item::Skip(skip) if skip.code == "bad-json"));
}
