//! What a delta gains in age on its way from the upstream to whoever asked, and what five hundred researches at
//! once cost.
//!
//! `cargo bench -p glovebox --bench streams`. The way is the real one: a socket, the HTTP client, the sandboxed
//! parser. The upstream of the first part stamps each delta as it writes it; that of the second is
//! `glovebox simulate` in a process of its own, so that the memory measured is the client's alone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    missing_docs
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use glovebox::engine::answers::{EventKind, Failure, FailureKind, Header, Limits, Mode, Outcome};
use glovebox::engine::{Engine, EngineConfig};
use glovebox::upstream::{
    self, ApiKey, CallKind, CallLimits, Client, Origin, Reply, Request, SlidingWindow, Timeouts,
    UpstreamConfig,
};

/// Deltas measured, and the pause between them: slower than they are handled, so that none waits for another.
const DELTAS: usize = 1000;
const PAUSE: Duration = Duration::from_millis(3);
/// The bar for the median of what a delta gains in age.
const DELTA_BAR: Duration = Duration::from_millis(1);

/// Researches at once.
const STREAMS: usize = 500;
/// The bar for what one more holds, in kilobytes.
const STREAM_BAR: u64 = 1 << 10;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let engine = Engine::start(EngineConfig::default());
        engine.ready().await.unwrap();
        delta(&engine).await;
        many(&engine).await;
    });
}

async fn delta(engine: &Engine) {
    let (stamps, stamped) = mpsc::channel();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || stamp(listener.accept().unwrap().0, &stamps));
    let mut reply = send(&client(&url), "why?").await;
    let mut parser = parser(engine, Mode::Answer, &reply);
    let mut ages: Vec<Duration> = Vec::with_capacity(DELTAS);
    while let Some(bytes) = reply.chunk().await.unwrap() {
        for event in parser.push(&bytes).unwrap().events {
            if matches!(event.kind, EventKind::Text(_)) {
                let written: Instant = stamped.recv().unwrap();
                ages.push(written.elapsed());
            }
        }
    }
    assert_eq!(ages.len(), DELTAS);
    ages.sort_unstable();
    let at = |part: usize| ages[DELTAS * part / 100];
    println!(
        "a delta: median {:?} (bar {DELTA_BAR:?}), 95 of 100 under {:?}, 99 under {:?}",
        at(50),
        at(95),
        at(99)
    );
}

/// Writes deltas, each with the time just before.
fn stamp(mut stream: TcpStream, stamps: &mpsc::Sender<Instant>) {
    stream.set_nodelay(true).unwrap();
    let mut some = [0; 4096];
    let _ = stream.read(&mut some).unwrap();
    stream
        .write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
        )
        .unwrap();
    let delta = b"data: {\"choices\":[{\"delta\":{\"content\":\"some words \"}}]}\n\n";
    for _ in 0..DELTAS {
        std::thread::sleep(PAUSE);
        stamps.send(Instant::now()).unwrap();
        stream.write_all(delta).unwrap();
    }
    stream.write_all(b"data: [DONE]\n\n").unwrap();
}

async fn many(engine: &Engine) {
    let mut simulator = Command::new(env!("CARGO_BIN_EXE_glovebox"))
        .args(["simulate", "--pace", "0.1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(simulator.stdout.take().unwrap())
        .read_line(&mut url)
        .unwrap();
    let client = client(url.trim());
    let before = peak();
    let begun = Instant::now();
    let mut streams = tokio::task::JoinSet::new();
    for number in 0..STREAMS {
        let (client, engine) = (client.clone(), engine.clone());
        streams.spawn(async move { research(&client, &engine, number).await });
    }
    let mut whole = 0;
    while let Some(outcome) = streams.join_next().await {
        let outcome = outcome.unwrap();
        assert!(
            outcome.complete && outcome.error.is_none() && outcome.progress.len() == 3,
            "{outcome:?}"
        );
        whole += 1;
    }
    let each = (peak() - before) / STREAMS as u64;
    println!(
        "{STREAMS} researches at once: {whole} whole in {:.1} s; one more holds {each} KB at the peak (bar {STREAM_BAR} KB)",
        begun.elapsed().as_secs_f64()
    );
    simulator.kill().unwrap();
    simulator.wait().unwrap();
}

async fn research(client: &Client, engine: &Engine, number: usize) -> Outcome {
    let mut reply = send(client, &format!("question {number}")).await;
    let mut parser = parser(engine, Mode::Research, &reply);
    while let Some(bytes) = reply.chunk().await.unwrap() {
        parser.push(&bytes).unwrap();
    }
    parser.finish().unwrap().outcome
}

fn parser(engine: &Engine, mode: Mode, reply: &Reply) -> glovebox::engine::Parser {
    let limits = Limits {
        line_bytes: None,
        tag_bytes: None,
        text_bytes: None,
        stream_bytes: None,
    };
    let mut parser = engine.parser(mode, limits).unwrap();
    let headers: Vec<Header> = reply
        .headers()
        .iter()
        .map(|(name, value)| Header {
            name: name.clone(),
            value: value.clone(),
        })
        .collect();
    parser.head(&headers).unwrap();
    parser
}

fn client(url: &str) -> Client {
    let config = UpstreamConfig {
        origin: Origin::parse(url).unwrap(),
        key: Ok(ApiKey::simulated()),
        proxy: None,
    };
    Client::new(config).unwrap()
}

async fn send(client: &Client, question: &str) -> Reply {
    let body = serde_json::json!({
        "messages": [{"role": "user", "content": question}],
        "enable_research": true,
    });
    let request = Request {
        method: "POST".to_owned(),
        path: "/res/v1/chat/completions".to_owned(),
        headers: Vec::new(),
        body: body.to_string().into_bytes(),
    };
    let limits = CallLimits::starting_now(CallKind::Research, &Timeouts::default());
    let unlimited = SlidingWindow::new(STREAMS * 2, Duration::from_secs(1));
    client
        .send(&request, &limits, &unlimited, &refused)
        .await
        .unwrap()
}

fn refused(status: u16, _headers: &[upstream::Header], body: &[u8]) -> Failure {
    Failure {
        kind: FailureKind::Unexpected,
        status,
        code: None,
        message: String::from_utf8_lossy(body).into_owned(),
        detail: None,
        fields: Vec::new(),
        retryable: false,
        retry_after_seconds: None,
        id: None,
    }
}

/// The most memory that this process ever held, in kilobytes; 0 where the system does not say.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap_or("0");
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}
