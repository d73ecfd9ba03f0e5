//! Bodies that are made to exhaust the reader end in a named limit, and the exchanges around them are shown.

use std::io::Write as _;

use base64::Engine as _;
use serde_json::Value;

use super::inspect_bytes;

/// Ten mebibytes of zeros in brotli.
const BROTLI: &str = "y///P/gnAOKxQCD3/i///z/wTwDEYRGA7v0H";
/// The head of a zstd frame with a window of 128 MiB.
const ZSTD_WINDOW: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd, 0x00, 17 << 3, 1, 0, 0];

fn engine() -> base64::engine::GeneralPurpose {
    base64::engine::general_purpose::STANDARD
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

fn item(coding: &str, body: &[u8]) -> String {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: {coding}\r\n\r\n"
    );
    let response = engine().encode([head.as_bytes(), body].concat());
    let request = engine().encode("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n");
    format!(
        "<item><url><![CDATA[https://a.example/]]></url><request base64=\"true\"><![CDATA[{request}]]></request>\
         <response base64=\"true\"><![CDATA[{response}]]></response></item>\n"
    )
}

#[test]
fn compressed_bombs_end_in_a_named_limit() {
    let zeros = vec![0; 64 << 20];
    let thousand = gzip(&zeros);
    assert!(zeros.len() / thousand.len() >= 1000, "{}", thousand.len());
    let brotli = engine().decode(BROTLI).unwrap();
    let cases = [
        ("gzip", gzip(&zeros[..4 << 20]), "ratio-limit"),
        ("gzip", thousand.clone(), "size-limit"),
        ("br", brotli, "ratio-limit"),
        ("zstd", ZSTD_WINDOW.to_vec(), "window-limit"),
        ("gzip, gzip", gzip(&thousand), "ratio-limit"),
        ("gzip, br, gzip, deflate", thousand, "codings-limit"),
        ("identity", b"nothing".to_vec(), ""),
    ];
    let items: String = cases
        .iter()
        .map(|(coding, body, _)| item(coding, body))
        .collect();
    let file =
        format!("<?xml version=\"1.0\"?>\n<items burpVersion=\"2026.1\">\n{items}</items>\n");
    let ran = inspect_bytes(file.as_bytes(), &["--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let value = ran.json();
    for (index, (coding, _, limit)) in cases.iter().enumerate() {
        let warnings = value["exchanges"][index]["warnings"].as_array().unwrap();
        let codes: Vec<&str> = warnings
            .iter()
            .map(|one| one["code"].as_str().unwrap())
            .collect();
        let wanted: Vec<&str> = Some(*limit)
            .filter(|limit| !limit.is_empty())
            .into_iter()
            .collect();
        assert_eq!(codes, wanted, "{coding}");
    }
    // In full, it is cut and says so.
    let one = inspect_bytes(file.as_bytes(), &["--exchange", "0"]);
    assert!(
        one.code == Some(0) && one.out.contains("ratio-limit"),
        "{}",
        one.err
    );
}

/// A HAR file with one entry whose body is this much base64, and a small entry after it.
fn large_body(bytes: usize) -> Vec<u8> {
    let mut file = Vec::with_capacity(bytes + 1000);
    file.extend_from_slice(
        br#"{"log":{"version":"1.2","creator":{"name":"test","version":"1"},"entries":[
{"request":{"method":"GET","url":"https://a.example/large","headers":[]},"response":{"status":200,"headers":[],"content":{"mimeType":"application/octet-stream","encoding":"base64","text":""#,
    );
    file.resize(file.len() + bytes, b'A');
    file.extend_from_slice(
        br#""}}},
{"request":{"method":"GET","url":"https://a.example/small","headers":[]},"response":{"status":204,"headers":[],"content":{}}}]}}"#,
    );
    file
}

#[test]
fn a_large_base64_body_is_cut_and_the_file_goes_on() {
    let ran = inspect_bytes(&large_body(64 << 20), &["--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let value: Value = ran.json();
    let exchanges = value["exchanges"].as_array().unwrap();
    assert_eq!(exchanges.len(), 2, "{value}");
    assert_eq!(exchanges[1]["url"], "https://a.example/small");
    let size = exchanges[0]["response_bytes"].as_u64().unwrap();
    assert!(((8 << 20)..(9 << 20)).contains(&size), "{size}");
    let warnings = value["report"]["warnings"].to_string();
    assert!(warnings.contains("cut"), "{warnings}");
}

#[test]
fn an_exchange_of_nothing_but_secrets_costs_itself_alone() {
    let form = "token=a&".repeat(1 << 20);
    let request = format!(
        "POST / HTTP/1.1\r\nHost: a.example\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\n{form}"
    );
    let hostile = format!(
        "<item><url><![CDATA[https://a.example/]]></url><request base64=\"true\"><![CDATA[{}]]></request></item>\n",
        engine().encode(request)
    );
    let good = item("identity", b"good");
    let file = format!("<items burpVersion=\"2026.1\">\n{good}{hostile}{good}</items>\n");
    let ran = inspect_bytes(file.as_bytes(), &["--json"]);
    let value = ran.json();
    let exchanges = value["exchanges"].as_array().unwrap();
    assert_eq!(exchanges.len(), 3, "{}", ran.err);
    for good in [0, 2] {
        assert_eq!(exchanges[good]["status"], 200, "{}", exchanges[good]);
    }
    // It is shown without its secrets, or named with the bound that it exceeded.
    let kind = exchanges[1]["failed"]["kind"].as_str();
    let bounds = ["sandbox-memory", "sandbox-output", "sandbox-cpu"];
    assert!(kind.is_none_or(|kind| bounds.contains(&kind)), "{kind:?}");
    assert_eq!(ran.code, Some(i32::from(kind.is_some())), "{}", ran.err);
    assert!(!ran.out.contains("token=a"), "a secret is shown");
}
