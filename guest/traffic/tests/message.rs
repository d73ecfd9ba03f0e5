//! Messages: bodies within limits, parameters, tokens, differences, endpoints.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

use std::io::Write as _;

use base64::Engine as _;
use traffic::message::body::{BodyLimits, Decoded, decode};
use traffic::message::parameters::ParameterKind;
use traffic::message::{cookies, diff, endpoints, head, jwt, parameters};
use traffic::{Exchange, Message, Origin, Provenance};

fn message(bytes: impl AsRef<[u8]>) -> Message {
    Message {
        bytes: bytes.as_ref().to_vec(),
        provenance: Provenance::Wire,
        decoded: false,
    }
}

fn response(headers: &str, body: &[u8]) -> Message {
    let mut bytes = format!("HTTP/1.1 200 OK\r\n{headers}\r\n").into_bytes();
    bytes.extend_from_slice(body);
    message(bytes)
}

fn decoded(headers: &str, body: &[u8]) -> Decoded {
    decode(&response(headers, body), false, &BodyLimits::default())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    gzip_at(flate2::Compression::best(), bytes)
}

fn gzip_at(level: flate2::Compression, bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), level);
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

fn base64(text: &str) -> Vec<u8> {
    base64::engine::general_purpose::STANDARD
        .decode(text)
        .unwrap()
}

/// 10 MiB of zeros.
const BROTLI_BOMB: &str = "y///P/gnAOKxQCD3/i///z/wTwDEYRGA7v0H";

/// `hello brotli hello brotli`.
const BROTLI_SMALL: &str = "GxgA+B2pU5+7cC1WhiYnQdjoki3tLYKKBpYZvwA=";

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn every_coding_is_removed() {
    let text = b"hello hello hello";
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    zlib.write_all(text).unwrap();
    let mut raw = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    raw.write_all(text).unwrap();
    let two = [gzip(b"hello hello"), gzip(b" hello")].concat();
    for (coding, body) in [
        ("gzip", gzip(text)),
        ("x-gzip", two),
        ("deflate", zlib.finish().unwrap()),
        ("deflate", raw.finish().unwrap()),
        ("gzip, gzip", gzip(&gzip(text))),
        ("identity", text.to_vec()),
    ] {
        let out = decoded(
            &format!("Content-Encoding: {coding}\r\nContent-Type: text/plain\r\n"),
            &body,
        );
        assert_eq!(
            (out.bytes.as_slice(), out.complete, out.warnings.len()),
            (text.as_slice(), true, 0),
            "{coding}"
        );
    }
    assert_eq!(
        decoded("Content-Encoding: br\r\n", &base64(BROTLI_SMALL)).bytes,
        b"hello brotli hello brotli"
    );
    let two = [zstd(b"hello zstd "), zstd(b"hello zstd")].concat();
    assert_eq!(
        decoded("Content-Encoding: zstd\r\n", &two).bytes,
        b"hello zstd hello zstd"
    );
    let chunked = decoded(
        "Transfer-Encoding: chunked\r\n",
        b"5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nX: y\r\n\r\n",
    );
    assert_eq!(
        (chunked.bytes.as_slice(), chunked.complete),
        (b"hello world".as_slice(), true)
    );
}

#[test]
fn a_damaged_body_keeps_what_came() {
    let text: Vec<u8> = (0..20_000_u32)
        .flat_map(|number| number.to_string().into_bytes())
        .collect();
    let packed = gzip(&text);
    let out = decoded("Content-Encoding: gzip\r\n", &packed[..packed.len() / 2]);
    assert!(!out.complete && text.starts_with(&out.bytes) && out.bytes.len() > 1000);
    let none = decoded("Content-Encoding: gzip\r\n", b"plain");
    assert_eq!(
        (none.bytes.as_slice(), none.warnings[0].code.as_str()),
        (b"plain".as_slice(), "not-encoded")
    );
    let plain = decoded("Transfer-Encoding: chunked\r\n", b"no chunks here");
    assert_eq!(
        (plain.bytes.as_slice(), plain.warnings[0].code.as_str()),
        (b"no chunks here".as_slice(), "not-chunked")
    );
}

#[test]
fn bombs_end_in_a_named_limit() {
    let zeros = vec![0; 16 << 20];
    let packed = gzip(&zeros);
    assert_eq!(
        decoded("Content-Encoding: gzip\r\n", &packed).limit,
        "ratio"
    );
    let large: Vec<u8> = (0..1_400_000_u32)
        .flat_map(|number| number.to_le_bytes().into_iter().chain([b' '; 4]))
        .collect();
    let out = decoded(
        "Content-Encoding: gzip\r\n",
        &gzip_at(flate2::Compression::fast(), &large),
    );
    assert_eq!(out.limit, "size");
    assert!(out.bytes.len() <= 8 << 20 && !out.complete && large.starts_with(&out.bytes));
    let small = decoded("Content-Encoding: gzip\r\n", &gzip(&vec![0; 1 << 20]));
    assert_eq!(small.limit, "ratio");
    let brotli = decoded("Content-Encoding: br\r\n", &base64(BROTLI_BOMB));
    assert_eq!(brotli.limit, "ratio");
    let twice = decoded("Content-Encoding: gzip, gzip\r\n", &gzip(&packed));
    assert_eq!(twice.limit, "ratio");
    let blocks = decoded("Content-Encoding: zstd\r\n", &zstd(&zeros));
    assert!(
        blocks.limit == "ratio" || blocks.limit == "size",
        "{}",
        blocks.limit
    );
    // A window of 128 MiB.
    let window = decoded(
        "Content-Encoding: zstd\r\n",
        &[0x28, 0xb5, 0x2f, 0xfd, 0x00, 17 << 3, 1, 0, 0],
    );
    assert_eq!(window.limit, "window");
    let stacked = decoded("Content-Encoding: gzip, br, gzip, deflate\r\n", &packed);
    assert_eq!(stacked.limit, "codings");
}

#[test]
fn text_becomes_utf8() {
    for (kind, body, charset) in [
        (
            "text/plain; charset=iso-8859-1",
            b"caf\xe9".to_vec(),
            "windows-1252",
        ),
        (
            "text/plain",
            b"\xff\xfec\0a\0f\0\xe9\0".to_vec(),
            "UTF-16LE",
        ),
        (
            "text/html",
            b"<meta charset=\"windows-1252\">caf\xe9".to_vec(),
            "windows-1252",
        ),
        ("text/plain", "\u{feff}café".as_bytes().to_vec(), "UTF-8"),
    ] {
        let out = decoded(&format!("Content-Type: {kind}\r\n"), &body);
        assert!(
            out.text && out.bytes.ends_with("café".as_bytes()),
            "{kind}: {out:?}"
        );
        assert_eq!(out.charset, charset);
    }
    assert!(!decoded("Content-Type: image/png\r\n", b"abc").text);
}

#[test]
fn odd_heads_are_read_and_marked() {
    let head = head::request(b"GET /a b HTTP/1.1\r\nHost : x\r\n folded\r\nno colon\r\n: empty\r\nB@d: y\r\nOk: z\n\nbody");
    assert_eq!(
        (
            head.method.as_str(),
            head.target.as_str(),
            head.version.as_str()
        ),
        ("GET", "/a b", "HTTP/1.1")
    );
    let odd: Vec<&str> = head
        .headers
        .iter()
        .map(|header| header.odd.as_str())
        .collect();
    assert_eq!(
        odd,
        [
            "space-before-colon",
            "folded",
            "no-colon",
            "empty-name",
            "bad-name",
            ""
        ]
    );
    assert_eq!(
        (
            head.line_ends.as_str(),
            head.complete,
            head.strict.is_empty()
        ),
        ("mixed", true, false)
    );
    assert_eq!(head.header("ok"), Some("z"));
    assert!(
        head::request(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            .strict
            .is_empty()
    );
    for bytes in [
        &b""[..],
        b"\r\n",
        b"\0",
        b"GET",
        b"HTTP/1.1",
        b"\xff\xfe: x\r\n\r\n",
    ] {
        let _ = (head::request(bytes), head::response(bytes));
    }
}

#[test]
fn parameters_have_their_kinds_and_places() {
    let request = message(
        "POST /a/7?x=1&y=a%20b HTTP/1.1\r\nCookie: sid=abc; t=\"q\"\r\nContent-Type: application/json\r\n\r\n{\"a\":{\"b\":[1,\"two\"]}}",
    );
    let found = parameters::parameters(&request);
    let all: Vec<(ParameterKind, &str, &str)> = found
        .iter()
        .map(|one| (one.kind, one.name.as_str(), one.value.as_str()))
        .collect();
    assert_eq!(
        all,
        [
            (ParameterKind::Query, "x", "1"),
            (ParameterKind::Query, "y", "a b"),
            (ParameterKind::Cookie, "sid", "abc"),
            (ParameterKind::Cookie, "t", "q"),
            (ParameterKind::Json, "/a/b/0", "1"),
            (ParameterKind::Json, "/a/b/1", "two"),
        ]
    );
    for one in &found {
        let raw = String::from_utf8_lossy(one.place.of(&request.bytes)).into_owned();
        assert_eq!(raw.replace("%20", " "), one.value);
    }
    let points = parameters::insertion_points(&request, false);
    assert_eq!(points[1].place.of(&request.bytes), b"7");
    let after = parameters::insertion_points(&request, true);
    assert!(after.iter().all(|one| one.place.start == one.place.end));
    let form = message(
        "POST / HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=B\r\n\r\n--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"n.txt\"\r\n\r\nv\r\n--B--",
    );
    let kinds: Vec<ParameterKind> = parameters::parameters(&form)
        .iter()
        .map(|one| one.kind)
        .collect();
    assert_eq!(kinds, [ParameterKind::Multipart, ParameterKind::FileName]);
}

#[test]
fn reflected_values_are_found() {
    let request = message("GET /?q=%3Cb%3Ehi&n=zz&one=x HTTP/1.1\r\n\r\n");
    let found = parameters::reflected(
        &request,
        &response("Content-Type: text/html\r\n", b"x <b>hi &lt;b&gt;hi"),
    );
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].name.as_str(), found[0].count, found[0].raw),
        ("q", 2, true)
    );
}

#[test]
fn tokens_are_decoded_and_not_verified() {
    let token = jwt::decode("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxIiwiaWF0IjoxfQ.c2ln")
        .unwrap();
    assert_eq!(
        (token.header.as_str(), token.payload.as_str()),
        (
            "{\"alg\":\"HS256\",\"typ\":\"JWT\"}",
            "{\"sub\":\"1\",\"iat\":1}"
        )
    );
    assert_eq!(
        (
            token.algorithm.as_str(),
            token.issued,
            token.expires,
            token.signed
        ),
        ("HS256", Some(1), None, true)
    );
    for text in ["", "a.b", "eyJ.eyJ.x", "...."] {
        assert_eq!(jwt::decode(text), None, "{text}");
    }
}

#[test]
fn differences_are_structural() {
    let first = response(
        "A: 1\r\nB: 2\r\nContent-Type: application/json\r\n",
        b"{\"a\":1,\"b\":{\"c\":[1,2]}}",
    );
    let second = response(
        "B: 2\r\nC: 3\r\nContent-Type: application/json\r\n",
        b"{\"b\":{\"c\":[1,3]},\"a\":1}",
    );
    let found = diff::diff(&first, &second, false);
    let all: Vec<(diff::Place, &str)> = found
        .changes
        .iter()
        .map(|change| (change.place, change.name.as_str()))
        .collect();
    assert_eq!(
        all,
        [
            (diff::Place::Header, "a"),
            (diff::Place::Header, "c"),
            (diff::Place::Json, "/b/c/1")
        ]
    );
    let lines = diff::diff(
        &response("", b"a\nb\nc\n"),
        &response("", b"a\nc\nd\n"),
        false,
    );
    let all: Vec<(&str, bool)> = lines
        .changes
        .iter()
        .map(|change| (change.name.as_str(), change.before.is_some()))
        .collect();
    assert_eq!(all, [("2", true), ("3", false)]);
    assert!(diff::diff(&first, &first, false).changes.is_empty());
}

fn exchange(method: &str, url: &str, headers: &str) -> Exchange {
    let path = url.splitn(4, '/').nth(3).unwrap();
    Exchange {
        index: 0,
        time_ms: None,
        time_text: String::new(),
        origin: Some(Origin {
            scheme: "https".into(),
            host: "a.example".into(),
            port: 443,
        }),
        url: url.into(),
        method: method.into(),
        status: Some(200),
        http_version: "HTTP/1.1".into(),
        request: message(format!("{method} /{path} HTTP/1.1\r\n{headers}\r\n")),
        response: Some(response(
            "Content-Type: application/json\r\nSet-Cookie: sid=x; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=5\r\n",
            b"{}",
        )),
        server_address: String::new(),
        mime_label: String::new(),
        duration_ms: None,
        error: None,
        note: String::new(),
        colour: String::new(),
        web_socket: Vec::new(),
        extra: String::new(),
        warnings: Vec::new(),
    }
}

#[test]
fn endpoints_are_gathered_by_template() {
    let mut all = endpoints::Endpoints::default();
    all.push(&exchange(
        "GET",
        "https://a.example/users/7/posts?page=1",
        "Authorization: Bearer x\r\n",
    ));
    all.push(&exchange(
        "GET",
        "https://a.example/users/8/posts?page=2&q=hi",
        "Cookie: sid=1\r\n",
    ));
    all.push(&exchange(
        "DELETE",
        "https://a.example/users/0b6c1d0e-1111-4222-8333-444455556666",
        "",
    ));
    let (found, left_out) = all.finish();
    assert_eq!(left_out, 0);
    let one = found.iter().find(|one| one.method == "GET").unwrap();
    assert_eq!((one.path.as_str(), one.count), ("/users/{id}/posts", 2));
    assert_eq!(one.authentication, ["bearer", "cookie"]);
    let names: Vec<(&str, &str)> = one
        .parameters
        .iter()
        .map(|shape| (shape.name.as_str(), shape.values.as_str()))
        .collect();
    assert_eq!(names, [("page", "integer"), ("q", "string")]);
    assert!(found.iter().any(|one| one.path == "/users/{uuid}"));
    let jar = cookies::cookies(&exchange("GET", "https://a.example/", "Cookie: b=c\r\n"));
    assert_eq!(
        (
            jar.len(),
            jar[1].name.as_str(),
            jar[1].http_only,
            jar[1].max_age.as_str()
        ),
        (2, "sid", true, "5")
    );
}
