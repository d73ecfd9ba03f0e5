//! The page that `glovebox web` serves, in real Chromium; and what the server says over the wire.
//!
//! `tests/examples/prepare` installs the driver, and Chromium is Debian's. Where one of them is missing the page's
//! test says so and passes, unless GLOVEBOX_REQUIRE_CLIENTS=1.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::{GENEROUS, Ran, World};
use serde_json::Value;

/// Checks that browser.mjs makes; one that stops early must not pass.
const CHECKS: usize = 19;
/// Checks that traffic_browser.mjs makes.
const TRAFFIC_CHECKS: usize = 5;

/// `glovebox web` as a process.
struct Page {
    child: Child,
    url: String,
}

impl Page {
    fn start(world: &World) -> Self {
        Self::with(world, &[])
    }

    fn with(world: &World, arguments: &[&str]) -> Self {
        let mut child = world
            .command(&[&["web"], arguments].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut url)
            .unwrap();
        Self {
            child,
            url: url.trim().to_owned(),
        }
    }

    fn address(&self) -> &str {
        self.url
            .strip_prefix("http://")
            .unwrap()
            .split('/')
            .next()
            .unwrap()
    }

    /// One raw exchange.
    fn get(&self, method: &str, path: &str, host: &str) -> String {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(GENEROUS)).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
        )
        .unwrap();
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).unwrap();
        String::from_utf8_lossy(&reply).into_owned()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_page_in_chromium() {
    in_chromium("browser.mjs", "answers", CHECKS);
}

#[test]
fn the_page_of_traffic_in_chromium() {
    in_chromium("traffic_browser.mjs", "traffic", TRAFFIC_CHECKS);
}

/// Runs a script that makes so many checks of the page.
fn in_chromium(script: &str, fixtures: &str, wanted: usize) {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/examples");
    let chromium = std::env::var("CHROMIUM").unwrap_or_else(|_| "/usr/bin/chromium".to_owned());
    for needed in [
        examples.join("node_modules/playwright-core"),
        chromium.into(),
    ] {
        if !needed.exists() {
            let missing = format!(
                "{} is not there: tests/examples/prepare and the package chromium bring it",
                needed.display()
            );
            assert!(
                std::env::var_os("GLOVEBOX_REQUIRE_CLIENTS").is_none(),
                "{missing}"
            );
            eprintln!("skipped: {missing}");
            return;
        }
    }
    let world = World::new();
    let page = Page::start(&world);
    let output = Command::new("node")
        .arg(examples.join(script))
        .arg(&page.url)
        .arg(examples.join("../../fixtures").join(fixtures))
        .output();
    let ran = Ran::of(output.unwrap());
    let checks: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let failed: Vec<&Value> = checks
        .iter()
        .filter(|check| !check["problem"].is_null())
        .collect();
    assert!(
        failed.is_empty() && ran.code == Some(0),
        "{failed:#?}\n{}",
        ran.err
    );
    assert_eq!(checks.len(), wanted, "{ran:?}");
    eprintln!("{}", ran.err);
}

#[test]
fn the_server_serves_this_machine_alone_and_says_what_the_page_may_do() {
    let world = World::new();
    let page = Page::start(&world);
    let own = page.address().to_owned();
    let reply = page.get("GET", "/", &own);
    assert!(
        reply.starts_with("HTTP/1.1 200") && reply.contains("text/html"),
        "{reply}"
    );
    for policy in [
        "default-src 'none'",
        "script-src 'self' 'wasm-unsafe-eval';",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    ] {
        assert!(reply.contains(policy), "{policy} is missing: {reply}");
    }
    assert!(reply.contains("x-content-type-options: nosniff"), "{reply}");
    assert!(
        !reply.contains("unsafe-inline") && !reply.contains("'unsafe-eval'"),
        "{reply}"
    );
    let (_, port) = own.rsplit_once(':').unwrap();
    assert!(
        page.get("GET", "/", &format!("localhost:{port}"))
            .starts_with("HTTP/1.1 200")
    );
    for foreign in [
        "evil.example",
        &format!("evil.example:{port}"),
        &format!("127.0.0.1.evil.example:{port}"),
        "127.0.0.1:1",
        "127.0.0.1",
    ] {
        assert!(
            page.get("GET", "/", foreign).starts_with("HTTP/1.1 403"),
            "{foreign}"
        );
    }
    assert!(page.get("POST", "/", &own).starts_with("HTTP/1.1 405"));
    assert!(
        page.get("GET", "/../host/Cargo.toml", &own)
            .starts_with("HTTP/1.1 404")
    );
    assert!(
        page.get("GET", "/answers/component/answers.core.wasm", &own)
            .contains("application/wasm")
    );
    assert!(
        page.get("GET", "/vectors/plain.sse", &own)
            .contains("application/octet-stream")
    );
}

#[test]
fn the_stream_of_a_job_is_served_and_no_other() {
    let world = World::new();
    let ran = world.run(&["ask", "--simulate", "--json", "why?"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let jobs = world.run(&["jobs", "list", "--all", "--json"]);
    let jobs: Value = serde_json::from_str(&jobs.out).unwrap();
    let job = &jobs.as_array().or(jobs["jobs"].as_array()).unwrap()[0];
    let id = job["research_id"].as_str().unwrap();
    let capture = std::fs::read_to_string(job["capture"].as_str().unwrap()).unwrap();
    let page = Page::with(&world, &[id]);
    let own = page.address().to_owned();
    assert!(
        page.url.ends_with(&format!("/?job={id}.sse")),
        "{}",
        page.url
    );
    let stream = page.get("GET", &format!("/job/{id}.sse"), &own);
    assert!(stream.ends_with(&capture), "{stream}");
    let headers = page.get("GET", "/job/headers", &own);
    assert!(
        headers.contains("content-type: text/event-stream"),
        "{headers}"
    );
    assert!(
        page.get("GET", "/job/other.sse", &own)
            .starts_with("HTTP/1.1 404")
    );
    assert!(
        page.get("GET", &format!("/job/{id}.sse"), "evil.example")
            .starts_with("HTTP/1.1 403")
    );
    let unknown = world.run(&["web", "0192f0c1-7a3e-7c55-9f4e-0d2b6a1e8c11"]);
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    assert!(unknown.err.contains("no job has the id"), "{unknown:?}");
}

#[test]
fn what_is_large_is_sent_compressed() {
    let world = World::new();
    let page = Page::start(&world);
    let mut stream = TcpStream::connect(page.address()).unwrap();
    stream.set_read_timeout(Some(GENEROUS)).unwrap();
    write!(
        stream,
        "GET /answers/component/answers.core.wasm HTTP/1.1\r\nhost: {}\r\naccept-encoding: gzip\r\nconnection: close\r\n\r\n",
        page.address()
    )
    .unwrap();
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).unwrap();
    assert!(reply.len() < 200_000, "{} bytes", reply.len());
    let head = String::from_utf8_lossy(&reply[..1_000.min(reply.len())]).into_owned();
    assert!(head.contains("content-encoding: gzip"), "{head}");
}

#[test]
fn it_listens_on_loopback_only() {
    let ran = World::new().run(&["web", "--listen", "0.0.0.0:0"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("loopback"), "{ran:?}");
}
