//! Tokens and secret headers reach the server, and nothing else.

use serde_json::json;

use super::fake::{Fake, said, usual};
use super::{bridge_with, command, open, own_error};
use crate::support::Ran;

const TOKEN: &str = "tok-9f8e7d6c5b4a39281706";
const HEADER: &str = "hdr-0a1b2c3d4e5f60718293";

fn run(url: &str, args: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = command(url, args, variables);
    Ran::of(command.stdin(std::process::Stdio::null()).output().unwrap())
}

#[test]
fn secrets_reach_the_server_alone() {
    let fake = Fake::start(|request, wire, _| {
        assert_eq!(
            request.header("authorization"),
            Some(format!("Bearer {TOKEN}").as_str())
        );
        assert_eq!(request.header("x-api-key"), Some(HEADER));
        assert_eq!(request.header("x-tenant"), Some("acme"));
        match request.json()["params"]["name"].as_str() {
            Some("reflect") => wire.json(&said(request, &format!("you sent {TOKEN} and {HEADER}"))),
            Some("refuse") => wire.reply(
                "403 Forbidden",
                &[("content-type", "text/plain")],
                &format!("not with {TOKEN}"),
            ),
            Some("page") => wire.reply("200 OK", &[("content-type", "text/plain")], HEADER),
            Some("move") => {
                wire.reply("302 Found", &[("location", &format!("/other/{TOKEN}"))], "")
            }
            _ => {
                usual(request, wire, "s");
            }
        }
    });
    let variables = [("TOKEN", TOKEN), ("KEY", HEADER), ("RUST_LOG", "trace")];
    let args = [
        "--bearer-env",
        "TOKEN",
        "--header-env",
        "X-Api-Key=KEY",
        "--header",
        "X-Tenant=acme",
    ];
    let mut server = bridge_with(&fake.url, &args, &variables);
    open(&mut server);
    let command_line = std::fs::read_to_string(format!("/proc/{}/cmdline", server.pid())).unwrap();
    let mut texts = vec![command_line];
    for name in ["reflect", "refuse", "page", "move"] {
        texts.push(
            server
                .ask("tools/call", json!({ "name": name }))
                .to_string(),
        );
    }
    assert!(
        texts[1].contains("you sent [secret] and [secret]"),
        "{texts:?}"
    );
    server.close();
    assert_eq!(server.wait(), Some(0));
    let log = server.said();
    assert!(
        log.contains("TRACE") && !log.contains("warning"),
        "no log at all"
    );
    texts.push(log);
    for text in texts {
        assert!(!text.contains(TOKEN) && !text.contains(HEADER), "{text}");
    }
}

#[test]
fn what_cannot_be_used_is_named_and_not_shown() {
    let url = "http://127.0.0.1:9/mcp";
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("bad.pem");
    std::fs::write(&bad, TOKEN).unwrap();
    let bad = bad.to_str().unwrap();
    let cases: [(&str, &[&str], &[(&str, &str)], &str); 15] = [
        (url, &["--bearer-env", "TOKEN"], &[], "TOKEN is not set"),
        (
            url,
            &["--bearer-env", "TOKEN"],
            &[("TOKEN", "")],
            "TOKEN is not set",
        ),
        (
            url,
            &["--bearer-env", "TOKEN"],
            &[("TOKEN", "${TOKEN}")],
            "placeholder",
        ),
        (
            url,
            &["--bearer-env", "TOKEN"],
            &[("TOKEN", "tok-9f8e7d6c5b4a\ntok-39281706")],
            "a line end",
        ),
        (url, &["--bearer-env", TOKEN], &[], "is not set"),
        (url, &["--header", "X-Only-A-Name"], &[], "NAME=VALUE"),
        (
            url,
            &["--header", "Host=example.org"],
            &[],
            "set by the bridge itself",
        ),
        (url, &["--header-env", "X-Key=NONE"], &[], "NONE is not set"),
        (
            url,
            &["--bearer-env", "TOKEN", "--header", "Authorization=x"],
            &[("TOKEN", TOKEN)],
            "give one of them",
        ),
        (
            url,
            &["--ca", "/nowhere.pem"],
            &[],
            "/nowhere.pem cannot be read",
        ),
        (url, &["--ca", bad], &[], "holds no certificates"),
        (
            "http://example.org/mcp",
            &["--bearer-env", "TOKEN"],
            &[("TOKEN", TOKEN)],
            "not sent over plain http",
        ),
        (
            "http://example.org/mcp",
            &["--header-env", "X-A=TOKEN"],
            &[("TOKEN", TOKEN)],
            "not sent over plain http",
        ),
        (
            "https://user:tok-9f8e7d6c5b4a39281706@example.org/mcp",
            &[],
            &[],
            "user name or password",
        ),
        ("ftp://example.org/tok", &[], &[], "must begin with http"),
    ];
    for (url, args, variables, part) in cases {
        let ran = run(url, args, variables);
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
        assert!(ran.err.contains(part), "{part}: {ran:?}");
        assert!(!ran.err.contains("9f8e7d6c5b4a"), "{ran:?}");
        assert_eq!(ran.out, "");
    }
}

#[test]
fn a_secret_on_the_command_line_is_warned_of() {
    for args in [
        ["--header", "Authorization=Bearer tok-9f8e7d6c5b4a39281706"],
        ["--header", "X-Api-Key=abc"],
        ["--header", "X-Plain=tok9f8e7d6c5b4a39281706ab"],
    ] {
        let ran = run("http://127.0.0.1:9/mcp", &args, &[]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(
            ran.err.contains("warning") && ran.err.contains("--header-env"),
            "{ran:?}"
        );
        assert!(!ran.err.contains("9f8e7d6c5b4a"), "{ran:?}");
    }
    let ran = run(
        "http://127.0.0.1:9/mcp?apiKey=tok9f8e7d6c5b4a39281706ab",
        &[],
        &[],
    );
    assert!(
        ran.err.contains("warning") && !ran.err.contains("9f8e7d6c5b4a"),
        "{ran:?}"
    );
    let ran = run(
        "http://127.0.0.1:9/mcp?profile=a",
        &["--header", "X-Tenant=acme"],
        &[],
    );
    assert!(!ran.err.contains("warning"), "{ran:?}");
}

#[test]
fn a_file_that_is_missing_is_said_with_each_request() {
    let fake = Fake::start(|request, wire, _| {
        usual(request, wire, "s");
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    let mut server = bridge_with(&fake.url, &["--bearer-file", file.to_str().unwrap()], &[]);
    let (kind, sent, text) =
        own_error(&server.ask("initialize", json!({ "protocolVersion": "2025-11-25" })));
    assert_eq!((kind.as_str(), sent.as_str()), ("configuration", "no"));
    assert!(text.contains("cannot be read"), "{text}");
    assert!(fake.log().is_empty());
    std::fs::write(&file, TOKEN).unwrap();
    open(&mut server);
    server.settled();
    assert!(
        fake.log()
            .iter()
            .all(|request| request.header("authorization").is_some())
    );
}
