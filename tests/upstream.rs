//! The way to the upstream: limits, drops, proxies, certificates.

use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use crate::support::limiter::StoreLimiter;
use crate::support::{GENEROUS, Served, http, read_request};
use glovebox::answers::{Answers, AnswersConfig};
use glovebox::answers::{Failure, FailureKind, Mode, Question};
use glovebox::jobs::clock::WallClock;
use glovebox::jobs::ledger::limiter::DEFAULT_RATE;
use glovebox::jobs::{
    Call, Jobs, JobsConfig, Micros, StateDir, Storage, WorkerCommand, WorkerLogs,
};
use glovebox::sandbox::Sandbox;
use glovebox::simulator::{Options, Record, Simulator};
use glovebox::upstream::{
    ApiKey, CallKind, CallLimits, Client, Header, Origin, Reply, Request, SendLimiter as _,
    Timeouts, UpstreamConfig, UpstreamError,
};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

fn client(url: &str) -> Client {
    Client::new(UpstreamConfig {
        origin: Origin::parse(url).unwrap(),
        key: Ok(ApiKey::simulated()),
        proxy: None,
    })
    .unwrap()
}

fn request(question: &str) -> Request {
    Request {
        method: "POST".to_owned(),
        path: "/res/v1/chat/completions".to_owned(),
        headers: vec![("Content-Type".to_owned(), "application/json".to_owned())],
        body: serde_json::json!({"messages": [{"role": "user", "content": question}]})
            .to_string()
            .into_bytes(),
    }
}

fn limits() -> CallLimits {
    CallLimits::starting_now(CallKind::Answer, &Timeouts::default())
}

fn classify(status: u16, _headers: &[Header], body: &[u8]) -> Failure {
    Failure {
        kind: FailureKind::Unexpected,
        status,
        code: None,
        message: format!("{} bytes", body.len()),
        detail: None,
        fields: Vec::new(),
        retryable: false,
        retry_after_seconds: None,
        id: None,
    }
}

async fn send(
    client: &Client,
    question: &str,
    limits: &CallLimits,
) -> Result<Reply, UpstreamError> {
    client
        .send(&request(question), limits, &StoreLimiter::open(), &classify)
        .await
}

async fn simulator() -> Simulator {
    Simulator::start(Options {
        pace: 0.0,
        ..Options::default()
    })
    .await
    .unwrap()
}

async fn wait_for(simulator: &Simulator, wanted: impl Fn(&[Record]) -> bool) -> Vec<Record> {
    let until = Instant::now() + GENEROUS;
    loop {
        let log = simulator.log();
        if wanted(&log) {
            return log;
        }
        assert!(Instant::now() < until, "not seen in {log:#?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn read_all(mut reply: Reply) -> usize {
    let mut bytes = 0;
    while let Some(chunk) = reply.chunk().await.unwrap() {
        bytes += chunk.len();
    }
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_at_once_keep_to_the_rate_and_all_succeed() {
    let simulator = simulator().await;
    let client = client(&simulator.url());
    let limiter = Arc::new(StoreLimiter::default());
    let limits = CallLimits::starting_now(
        CallKind::Answer,
        &Timeouts {
            answer: Duration::from_secs(120),
            ..Timeouts::default()
        },
    );
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..50 {
        let (client, limiter) = (client.clone(), Arc::clone(&limiter));
        calls.spawn(async move {
            let reply = client
                .send(
                    &request(&format!("number {number}")),
                    &limits,
                    &*limiter,
                    &classify,
                )
                .await;
            read_all(reply.unwrap()).await
        });
    }
    while let Some(bytes) = calls.join_next().await {
        assert!(bytes.unwrap() > 1000);
    }
    assert_rate(&simulator.log());
}

/// The same through the jobs, as every command and tool calls: one limiter in the store.
#[tokio::test(flavor = "multi_thread")]
async fn fifty_asked_of_one_service_keep_to_the_rate_and_all_succeed() {
    let simulator = simulator().await;
    let folder = tempfile::tempdir().unwrap();
    let url = simulator.url();
    let answers = Answers::start(&Sandbox::default(), AnswersConfig::default());
    answers.ready().await.unwrap();
    let jobs = Jobs::new(JobsConfig {
        storage: Storage::opener(folder.path().to_owned()),
        keep: Duration::from_secs(3600),
        budget: None,
        rate: DEFAULT_RATE,
        answers,
        client: Box::new(move || Ok(client(&url))),
        clock: Arc::new(WallClock),
        worker: WorkerCommand::this_program(
            |_| false,
            Vec::new(),
            WorkerLogs::in_folder(StateDir::at(folder.path()).worker_logs()),
        ),
    });
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..50 {
        let jobs = jobs.clone();
        calls.spawn(async move {
            let submitted = jobs.submit(call(number)).await.unwrap();
            let (updates, _) = tokio::sync::mpsc::unbounded_channel();
            jobs.run(&submitted.job.id, CancellationToken::new(), updates)
                .await
                .unwrap()
        });
    }
    while let Some(ended) = calls.join_next().await {
        let ended = ended.unwrap();
        assert!(ended.job.whole, "{:?}", ended.job);
    }
    assert_rate(&simulator.log());
}

fn call(number: u32) -> Call {
    Call {
        tool: "ask".to_owned(),
        mode: Mode::Answer,
        question: question(&format!("number {number}")),
        estimate: Micros(60_000),
        deadline: Duration::from_secs(120),
        idle: None,
        max_usd: None,
        capture: true,
        simulate: None,
        approval: None,
    }
}

fn question(query: &str) -> Question {
    Question {
        model: Some("brave".to_owned()),
        stream: Some(true),
        enable_citations: Some(true),
        ..Question::about(query.to_owned())
    }
}

/// Never three within a second, and all of them.
fn assert_rate(log: &[Record]) {
    let mut times: Vec<u64> = log.iter().map(|record| record.at_ms).collect();
    times.sort_unstable();
    assert_eq!(times.len(), 50);
    for three in times.windows(3) {
        assert!(three[2] - three[0] >= 1000, "three in a second: {times:?}");
    }
}

#[tokio::test]
async fn a_dropped_reply_is_seen_within_half_a_second() {
    let simulator = simulator().await;
    let client = client(&simulator.url());
    let mut reply = send(&client, "sim:stall why?", &limits()).await.unwrap();
    assert!(reply.chunk().await.unwrap().is_some());
    assert_eq!(simulator.log()[0].end, None);
    let dropped = Instant::now();
    drop(reply);
    let log = wait_for(&simulator, |log| log[0].end.is_some()).await;
    assert!(
        dropped.elapsed() < Duration::from_millis(500),
        "{:?}",
        dropped.elapsed()
    );
    assert_eq!(log[0].end, Some("dropped"));
}

#[tokio::test]
async fn a_call_dropped_before_its_reply_closes_the_connection() {
    let (closed, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let (asked, mut received) = tokio::sync::mpsc::unbounded_channel();
    let served = Served::with(move |mut stream| {
        read_request(&mut stream);
        asked.send(()).unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        closed.send(()).unwrap();
    });
    let client = client(&served.url);
    let call = tokio::spawn(async move { send(&client, "why?", &limits()).await.is_ok() });
    timeout(GENEROUS, received.recv()).await.unwrap().unwrap();
    call.abort();
    timeout(Duration::from_millis(500), seen.recv())
        .await
        .expect("the connection stays open")
        .unwrap();
}

#[tokio::test]
async fn a_consumer_that_takes_nothing_never_holds_up_the_upstream() {
    let simulator = simulator().await;
    let client = client(&simulator.url());
    let limits = CallLimits {
        max_bytes: 256 << 20,
        ..limits()
    };
    let reply = send(&client, "sim:huge-line why?", &limits).await.unwrap();
    let log = wait_for(&simulator, |log| log[0].end.is_some()).await;
    assert_eq!(log[0].end, Some("complete"));
    assert_eq!(read_all(reply).await as u64, log[0].bytes_sent);
}

#[tokio::test]
async fn a_reply_over_its_limit_is_stopped() {
    let simulator = simulator().await;
    let client = client(&simulator.url());
    let limits = CallLimits {
        max_bytes: 1 << 20,
        ..limits()
    };
    let mut reply = send(&client, "sim:huge-line why?", &limits).await.unwrap();
    let error = loop {
        match reply.chunk().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("it ended well"),
            Err(error) => break error,
        }
    };
    assert_eq!(error, UpstreamError::TooLarge { limit: 1 << 20 });
    wait_for(&simulator, |log| log[0].end == Some("dropped")).await;
}

#[tokio::test]
async fn the_component_cannot_choose_key_or_origin() {
    let simulator = simulator().await;
    let client = client(&simulator.url());
    let mut request = request("why?");
    for (name, value) in [
        ("X-Subscription-Token", "other"),
        ("Host", "evil.example"),
        ("Authorization", "x"),
        ("Content-Length", "3"),
    ] {
        request.headers.push((name.to_owned(), value.to_owned()));
    }
    let limiter = StoreLimiter::default();
    read_all(
        client
            .send(&request, &limits(), &limiter, &classify)
            .await
            .unwrap(),
    )
    .await;
    let names = &simulator.log()[0].header_names;
    assert_eq!(
        names
            .iter()
            .filter(|name| *name == "x-subscription-token")
            .count(),
        1
    );
    assert!(!names.contains(&"authorization".to_owned()), "{names:?}");
    for path in ["//evil.example/x", "https://evil.example/", "x"] {
        request.path = path.to_owned();
        let error = client
            .send(&request, &limits(), &limiter, &classify)
            .await
            .unwrap_err();
        assert_eq!(error.kind(), "bad-request", "{path}");
    }
    assert_eq!(simulator.log().len(), 1);
}

#[tokio::test]
async fn an_error_body_is_read_up_to_its_cap() {
    let body = "x".repeat(1 << 20);
    let mut reply = http(&body);
    reply.splice(9..12, *b"418");
    let served = Served::start(reply);
    let error = send(&client(&served.url), "why?", &limits())
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), format!("{} bytes", 64 << 10));
}

#[tokio::test]
async fn a_limiter_gives_up_at_the_deadline() {
    let limiter = StoreLimiter::new(1, 60_000);
    let deadline = Instant::now() + Duration::from_millis(50);
    limiter.acquire(deadline).await.unwrap();
    let simulator = simulator().await;
    let limits = CallLimits {
        deadline,
        ..limits()
    };
    let error = client(&simulator.url())
        .send(&request("why?"), &limits, &limiter, &classify)
        .await
        .unwrap_err();
    assert!(
        error.never_sent() && error.kind() == "rate-limited",
        "{error:?}"
    );
    assert_eq!(simulator.log().len(), 0);
}
