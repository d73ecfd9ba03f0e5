//! The way to the upstream: limits, drops, proxies, certificates.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    dead_code
)]

mod support;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use glovebox::engine::answers::{Failure, FailureKind, Mode, Question};
use glovebox::engine::{Engine, EngineConfig};
use glovebox::exit::Exit;
use glovebox::jobs::clock::WallClock;
use glovebox::jobs::{Call, Desk, DeskConfig, Micros, WorkerCommand};
use glovebox::policy::limiter::DEFAULT_RATE;
use glovebox::simulator::{Options, Record, Simulator};
use glovebox::upstream::{
    ApiKey, CallKind, CallLimits, Client, Header, Limiter as _, Origin, Reply, Request,
    SlidingWindow, Timeouts, UpstreamConfig, UpstreamError,
};
use support::{GENEROUS, KEY, Ran, Served, World, http, read_request, stream};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

fn client(url: &str) -> Client {
    Client::new(UpstreamConfig {
        origin: Origin::parse(url).unwrap(),
        key: Ok(ApiKey::simulated()),
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
        .send(
            &request(question),
            limits,
            &SlidingWindow::new(1000, Duration::from_secs(1)),
            &classify,
        )
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
    let limiter = Arc::new(SlidingWindow::default());
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

/// The same through the desk, as every command and tool calls: one limiter in the store.
#[tokio::test(flavor = "multi_thread")]
async fn fifty_asked_at_one_desk_keep_to_the_rate_and_all_succeed() {
    let simulator = simulator().await;
    let folder = tempfile::tempdir().unwrap();
    let url = simulator.url();
    let engine = Engine::start(EngineConfig::default());
    engine.ready().await.unwrap();
    let desk = Desk::new(DeskConfig {
        state_dir: folder.path().to_owned(),
        keep: Duration::from_secs(3600),
        budget: None,
        rate: DEFAULT_RATE,
        engine,
        client: Box::new(move || Ok(client(&url))),
        clock: Arc::new(WallClock),
        worker: WorkerCommand::this_program(|_| false, Vec::new()),
    });
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..50 {
        let desk = desk.clone();
        calls.spawn(async move {
            let submitted = desk.submit(call(number)).await.unwrap();
            let (updates, _) = tokio::sync::mpsc::unbounded_channel();
            desk.run(&submitted.job.id, CancellationToken::new(), updates)
                .await
                .unwrap()
        });
    }
    while let Some(ended) = calls.join_next().await {
        let ended = ended.unwrap();
        assert_eq!(ended.exit, Exit::Done, "{:?}", ended.job);
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
    }
}

fn question(query: &str) -> Question {
    Question {
        query: query.to_owned(),
        model: Some("brave".to_owned()),
        stream: Some(true),
        country: None,
        language: None,
        safesearch: None,
        max_completion_tokens: None,
        metadata: None,
        seed: None,
        enable_citations: Some(true),
        enable_entities: None,
        enable_research: None,
        research_allow_thinking: None,
        research_maximum_number_of_tokens_per_query: None,
        research_maximum_number_of_queries: None,
        research_maximum_number_of_iterations: None,
        research_maximum_number_of_seconds: None,
        research_maximum_number_of_results_per_query: None,
        search_context_size: None,
        user_location: None,
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
    let limiter = SlidingWindow::default();
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
    let limiter = SlidingWindow::new(1, Duration::from_secs(60));
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

/// Runs `ask` with an upstream and an environment.
fn ask(world: &World, upstream: &str, environment: &[(&str, &str)]) -> Ran {
    let mut command = world.command(&["ask", "why?"]);
    command
        .env("GLOVEBOX_UPSTREAM", upstream)
        .env("BRAVE_API_KEY", KEY)
        .envs(environment.iter().copied());
    Ran::of(command.output().unwrap())
}

#[test]
fn an_upstream_that_is_not_there() {
    // Bound and let go: nobody listens there.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let ran = ask(&World::new(), &format!("http://127.0.0.1:{port}"), &[]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(
        ran.err.contains("cannot connect to http://127.0.0.1")
            && ran.err.contains("nothing was sent"),
        "{ran:?}"
    );
}

#[test]
fn an_upstream_that_hangs_up_is_not_asked_again() {
    let served = Served::with(|mut stream| {
        read_request(&mut stream);
    });
    let ran = ask(&World::new(), &served.url, &[]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.err.contains("broke after 0 bytes"), "{ran:?}");
    assert_eq!(served.connections(), 1);
}

/// An HTTPS server of its own authority, for one name.
struct Secure {
    served: Served,
    authority: String,
}

impl Secure {
    fn start(name: &str) -> Self {
        let mut authority = rcgen::CertificateParams::new(Vec::new()).unwrap();
        let own_name = format!("Authority of {name}");
        authority
            .distinguished_name
            .push(rcgen::DnType::CommonName, own_name);
        authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let authority_key = rcgen::KeyPair::generate().unwrap();
        let authority = rcgen::CertifiedIssuer::self_signed(authority, authority_key).unwrap();
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::new(vec![name.to_owned()])
            .unwrap()
            .signed_by(&key, &authority)
            .unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        let config = Arc::new(config);
        let served = Served::with(move |mut stream| {
            let mut connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut secure = rustls::Stream::new(&mut connection, &mut stream);
            if read_request(&mut secure).is_empty() {
                return;
            }
            let _ = secure.write_all(&stream_of_one());
            connection.send_close_notify();
            let _ = connection.write_tls(&mut stream);
        });
        Self {
            served,
            authority: authority.pem(),
        }
    }

    fn authority_file(&self, world: &World) -> String {
        let path = world.path().join("authority.pem");
        std::fs::write(&path, &self.authority).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

fn stream_of_one() -> Vec<u8> {
    stream(&["All is well."])
}

#[test]
fn a_certificate_must_verify_and_the_authority_can_be_named() {
    let (world, secure, other) = (
        World::new(),
        Secure::start("localhost"),
        Secure::start("elsewhere.example"),
    );
    let authority = secure.authority_file(&world);
    let url = format!("https://localhost:{}", secure.served.port);
    let ran = ask(&world, &url, &[("SSL_CERT_FILE", &authority)]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("All is well."));
    let strange = other.authority_file(&world);
    let ran = ask(&world, &url, &[("SSL_CERT_FILE", &strange)]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(
        ran.err.contains("its issuer is unknown") && ran.err.contains("SSL_CERT_FILE"),
        "{ran:?}"
    );
    let ran = ask(
        &world,
        &format!("https://localhost:{}", other.served.port),
        &[("SSL_CERT_FILE", &strange)],
    );
    assert!(
        ran.code == Some(5) && ran.err.contains("another name"),
        "{ran:?}"
    );
    // Plain HTTP where TLS is expected.
    let plain = Served::with(|mut stream| {
        let mut hello = [0; 16];
        let _ = stream.read_exact(&mut hello);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
    });
    let ran = ask(
        &world,
        &format!("https://localhost:{}", plain.port),
        &[("SSL_CERT_FILE", &authority)],
    );
    assert!(
        ran.code == Some(5) && ran.err.contains("no TLS connection"),
        "{ran:?}"
    );
}

/// A proxy that notes what it was asked for.
fn proxy(reply: &'static str, target: Option<u16>) -> (Served, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&asked);
    let served = Served::with(move |mut stream| {
        let head = read_request(&mut stream);
        noted
            .lock()
            .unwrap()
            .push(head.lines().next().unwrap_or_default().to_owned());
        stream.write_all(reply.as_bytes()).unwrap();
        if let Some(port) = target {
            tunnel(stream, TcpStream::connect(("127.0.0.1", port)).unwrap());
        }
    });
    (served, asked)
}

fn tunnel(near: TcpStream, far: TcpStream) {
    let (mut from, mut to) = (near.try_clone().unwrap(), far.try_clone().unwrap());
    std::thread::spawn(move || std::io::copy(&mut from, &mut to));
    let (mut from, mut to) = (far, near);
    let _ = std::io::copy(&mut from, &mut to);
}

#[test]
fn a_proxy_is_used_and_its_refusal_explained() {
    let world = World::new();
    let secure = Secure::start("answers.example");
    let authority = secure.authority_file(&world);
    let upstream = "https://answers.example";
    let (open, asked) = proxy(
        "HTTP/1.1 200 Connection established\r\n\r\n",
        Some(secure.served.port),
    );
    let environment = |url: &str| {
        [
            ("SSL_CERT_FILE".to_owned(), authority.clone()),
            ("HTTPS_PROXY".to_owned(), url.to_owned()),
        ]
    };
    let run = |environment: &[(String, String)]| {
        let pairs: Vec<(&str, &str)> = environment
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        ask(&world, upstream, &pairs)
    };
    let ran = run(&environment(&open.url));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        *asked.lock().unwrap(),
        ["CONNECT answers.example:443 HTTP/1.1"]
    );
    for (reply, expected) in [
        (
            "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n",
            "does not allow this host",
        ),
        (
            "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n",
            "user name and password",
        ),
    ] {
        let (closed, _) = proxy(reply, None);
        let ran = run(&environment(&closed.url));
        assert_eq!(ran.code, Some(5), "{ran:?}");
        assert!(
            ran.err.contains("the proxy refused") && ran.err.contains(expected),
            "{ran:?}"
        );
    }
    let mut exempt = environment(&open.url).to_vec();
    exempt.push(("NO_PROXY".to_owned(), "answers.example".to_owned()));
    let ran = run(&exempt);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert_eq!(
        asked.lock().unwrap().len(),
        1,
        "the proxy was asked in spite of NO_PROXY"
    );
}

#[test]
fn doctor_tells_what_is_in_place_and_what_is_not() {
    let world = World::new();
    let served = Served::start(http(""));
    let doctor = |key: Option<&str>, upstream: &str| {
        let mut command = world.command(&["doctor", "--json"]);
        command
            .env("GLOVEBOX_UPSTREAM", upstream)
            .envs(key.map(|key| ("BRAVE_API_KEY", key)));
        let ran = Ran::of(command.output().unwrap());
        let report = ran.json();
        let verdict = |name: &str| {
            let checks = report["checks"].as_array().unwrap();
            checks.iter().find(|check| check["check"] == name).unwrap()["verdict"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        (
            ran.code,
            verdict("key"),
            verdict("upstream"),
            verdict("component"),
            report,
        )
    };
    let (code, key, upstream, component, report) = doctor(Some(KEY), &served.url);
    assert_eq!(
        (code, key.as_str(), upstream.as_str(), component.as_str()),
        (Some(0), "ok", "ok", "ok"),
        "{report}"
    );
    let setting = report["settings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|setting| setting["name"] == "upstream")
        .unwrap();
    assert_eq!(
        (setting["value"].as_str(), setting["from"].as_str()),
        (Some(&*served.url), Some("GLOVEBOX_UPSTREAM"))
    );
    let (code, key, ..) = doctor(None, &served.url);
    assert_eq!((code, key.as_str()), (Some(1), "problem"));
    let (code, _, upstream, ..) = doctor(Some(KEY), "http://127.0.0.1:1");
    assert_eq!((code, upstream.as_str()), (Some(1), "problem"));
}
