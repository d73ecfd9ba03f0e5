//! Measures the delay that the client adds to each delta, and the memory of five hundred concurrent research streams.
//!
//! Run it with `cargo bench -p glovebox --bench streams`. It uses real sockets, the HTTP client and the sandboxed
//! parser. The upstream of the first part records the time at which it writes each delta. The upstream of the second
//! part is `glovebox simulate` in its own process, so that only the memory of the client is measured.

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

use glovebox::answers::{Answers, AnswersConfig};
use glovebox::answers::{EventKind, Failure, FailureKind, Header, Limits, Mode, Outcome};
use glovebox::sandbox::Sandbox;
use glovebox::upstream::{
    self, ApiKey, CallKind, CallLimits, Client, Origin, Reply, Request, SendLimiter, SlotFuture,
    Timeouts, UpstreamConfig,
};

/// The number of deltas and the pause between them, which is longer than their processing time.
const DELTAS: usize = 1000;
const PAUSE: Duration = Duration::from_millis(3);
/// The bar for the median delay.
const DELTA_BAR: Duration = Duration::from_millis(1);

/// The number of concurrent research streams.
const STREAMS: usize = 500;
/// The bar for the memory of one more stream, in kilobytes.
const STREAM_BAR: u64 = 1 << 10;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let answers = Answers::start(&Sandbox::default(), AnswersConfig::default());
        answers.ready().await.unwrap();
        delta(&answers).await;
        many(&answers).await;
    });
}

async fn delta(answers: &Answers) {
    let (stamps, stamped) = mpsc::channel();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || stamp(listener.accept().unwrap().0, &stamps));
    let mut reply = send(&client(&url), "why?").await;
    let mut parser = parser(answers, Mode::Answer, &reply);
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

/// Writes deltas and records the time before each.
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

async fn many(answers: &Answers) {
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
        let (client, answers) = (client.clone(), answers.clone());
        streams.spawn(async move { research(&client, &answers, number).await });
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

async fn research(client: &Client, answers: &Answers, number: usize) -> Outcome {
    let mut reply = send(client, &format!("question {number}")).await;
    let mut parser = parser(answers, Mode::Research, &reply);
    while let Some(bytes) = reply.chunk().await.unwrap() {
        parser.push(&bytes).unwrap();
    }
    parser.finish().unwrap().outcome
}

fn parser(answers: &Answers, mode: Mode, reply: &Reply) -> glovebox::answers::Parser {
    let limits = Limits {
        line_bytes: None,
        tag_bytes: None,
        text_bytes: None,
        stream_bytes: None,
    };
    let mut parser = answers.parser(mode, limits).unwrap();
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

/// Allows every request at once, because the rate limit is not measured.
struct Unlimited;

impl SendLimiter for Unlimited {
    fn acquire(&self, _: tokio::time::Instant) -> SlotFuture<'_> {
        Box::pin(async { Ok(()) })
    }
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
    client
        .send(&request, &limits, &Unlimited, &refused)
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

/// Returns the peak memory of this process in kilobytes, or 0 if the system does not report it.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap_or("0");
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}
