//! What the policy adds to a call: the time of a tool that does nothing, with and without the audit log, and the time of the
//! decision and its two events alone. The bar: under 50 µs at the median.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    missing_docs
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use glovebox::answers::{Answers, AnswersConfig};
use glovebox::jobs::clock::WallClock;
use glovebox::jobs::{Jobs, JobsConfig, Rate, StateDir, Storage, WorkerCommand, WorkerLogs};
use glovebox::mcp::{
    Args, Config, Families, Family, Guarded, Hints, KeyState, Reply, ResultBounds, Runs, Server,
    Service, Structured, Tool, ToolCall, ToolResult,
};
use glovebox::policy::audit::{
    AuditConfig, AuditDir, AuditLog, Event, Kind, OnFailure, ROTATE_BYTES, Recorder,
};
use glovebox::policy::{
    Approval, CallFacts, Caller, Control, Policy, Rules, Safety, Situation, ToolFlags, decide,
};
use glovebox::sandbox::Sandbox;
use glovebox::transport::stdio::Stdio;
use glovebox::upstream::{ApiKey, Client, Origin, UpstreamConfig};
use rmcp::ServiceExt as _;
use serde_json::json;

/// The bar.
const MOST: Duration = Duration::from_micros(50);
const CALLS: usize = 5_000;
const ROUNDS: usize = 5;

fn nothing<'a>(_: &'a Service, _: Args, _: &'a ToolCall) -> BoxFuture<'a, Reply> {
    async { ToolResult::new("done", json!({ "state": "done" })).into() }.boxed()
}

const FAMILY: Family = Family {
    name: "bench",
    instructions: "",
    tools: &[Tool {
        name: "nothing",
        title: "Nothing",
        description: "Does nothing",
        groups: &[],
        params: &[],
        output: &[],
        hints: Hints {
            read_only: true,
            destructive: false,
            idempotent: true,
            open_world: false,
        },
        flags: ToolFlags {
            spends: false,
            foreground: true,
            other_hosts: false,
            changes: false,
            safety: Safety::Safe,
        },
        spending: None,
        run: nothing,
    }],
    bounds: ResultBounds {
        kept: &["state"],
        cut_first: &[],
    },
    has_research: false,
};

fn policy() -> Policy {
    let rules = Rules {
        select: vec!["all".to_owned()],
        toggles: Vec::new(),
        allow_unsafe: false,
        allow_unsafe_tools: Vec::new(),
        confirm_over: None,
        max_concurrent: 4,
    };
    Policy::new(&Families(&[FAMILY]).facts(), &rules).unwrap()
}

fn recorder(folder: &Path) -> Recorder {
    let log = AuditLog::open(AuditConfig {
        dir: AuditDir::of_state(folder),
        key_file: None,
        rotate_bytes: ROTATE_BYTES,
        clock: Arc::new(WallClock),
    });
    Recorder::new(log.unwrap(), Arc::new(WallClock), OnFailure::Deny)
}

fn service(folder: &Path, audit: Option<Recorder>) -> Service {
    let upstream = UpstreamConfig {
        origin: Origin::parse("http://127.0.0.1:9").unwrap(),
        key: Ok(ApiKey::simulated()),
        proxy: None,
    };
    let jobs = Jobs::new(JobsConfig {
        storage: Storage::opener(folder.to_owned()),
        keep: Duration::from_secs(3600),
        budget: None,
        rate: Rate {
            count: 1,
            window_ms: 1000,
        },
        answers: Answers::start(&Sandbox::default(), AnswersConfig::default()),
        client: Box::new(move || Client::new(upstream.clone())),
        clock: Arc::new(WallClock),
        worker: WorkerCommand {
            program: "/nonexistent/glovebox".into(),
            env: Vec::new(),
            late_env: None,
            logs: WorkerLogs::in_folder(StateDir::at(folder).worker_logs()),
        },
    });
    let config = Config {
        structured: Structured::Auto,
        output_bytes: 64 << 10,
        answer_deadline: Duration::from_secs(60),
        research_deadline: Duration::from_secs(60),
        idle: None,
        keep: Duration::from_secs(3600),
        capture: false,
        simulate: None,
        runs: Runs::Here,
        answers: AnswersConfig::default(),
        address: "a benchmark".to_owned(),
        key: Arc::new(|| KeyState {
            key: Ok("none".to_owned()),
            advice: None,
        }),
        situation: Situation::default(),
        ask_within: Duration::from_secs(1),
    };
    let control = Arc::new(Control::new(policy(), audit));
    Service::new(jobs, control, config)
}

/// The times of calls over a pipe.
fn calls(runtime: &tokio::runtime::Runtime, service: &Service) -> Vec<Duration> {
    let (theirs, mut input) = std::io::pipe().unwrap();
    let (output, ours) = std::io::pipe().unwrap();
    let transport = Stdio::over(BufReader::new(theirs), ours).unwrap();
    let server = Server::new(
        service.clone(),
        Families(&[FAMILY]),
        Caller::stdio(),
        transport.ended(),
    );
    runtime.spawn(async move {
        Guarded(server)
            .serve(transport)
            .await
            .unwrap()
            .waiting()
            .await
    });
    let mut output = BufReader::new(output);
    let mut ask = |message: serde_json::Value| {
        writeln!(input, "{message}").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        line
    };
    ask(
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "bench", "version": "1" },
    } }),
    );
    let mut times = Vec::with_capacity(CALLS);
    for id in 1..=CALLS {
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "nothing", "arguments": {} } });
        let began = Instant::now();
        let reply = ask(call);
        times.push(began.elapsed());
        assert!(reply.contains("done"), "{reply}");
    }
    times
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// The times of the decision, two HMACs and two events.
fn alone(runtime: &tokio::runtime::Runtime, recorder: &Recorder) -> Vec<Duration> {
    let (policy, tool) = (policy(), FAMILY.tools[0].facts());
    let facts = CallFacts {
        wrong_arguments: &[],
        missing: None,
        worst_cost: None,
        approval: Approval::NotAsked,
        can_ask: false,
    };
    let event = |kind, of: &str| Event {
        transport: Some("http"),
        session: Some("0123456789abcdef".to_owned()),
        client: Some("a client".to_owned()),
        client_version: Some("1.2.3".to_owned()),
        tool: Some("nothing"),
        call: Some(1),
        decision: Some("allowed"),
        arguments_hmac: Some(recorder.log().mac(of.as_bytes())),
        arguments_bytes: Some(of.len()),
        ..Event::new(kind)
    };
    runtime.block_on(async {
        let mut times = Vec::with_capacity(CALLS);
        for _ in 0..CALLS {
            let began = Instant::now();
            std::hint::black_box(decide(&policy, &tool, &facts));
            recorder
                .require(event(Kind::ToolStart, "{\"query\":\"what\"}"))
                .await
                .unwrap();
            recorder
                .record(event(Kind::ToolEnd, "an answer of some length"))
                .await;
            times.push(began.elapsed());
        }
        times
    })
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let recorder = recorder(folder.path());
    let _guard = runtime.enter();
    let without = service(folder.path(), None);
    let with = service(folder.path(), Some(recorder.clone()));
    let (mut plain, mut audited, mut own) = (Vec::new(), Vec::new(), Vec::new());
    // In turn, so that what else the machine does falls on all of them.
    for _ in 0..ROUNDS {
        plain.extend(calls(&runtime, &without));
        audited.extend(calls(&runtime, &with));
        own.extend(alone(&runtime, &recorder));
    }
    let (plain, audited, own) = (median(plain), median(audited), median(own));
    println!("a call without the audit log: {plain:?} at the median");
    println!(
        "a call with it: {audited:?}, {:?} more",
        audited.saturating_sub(plain)
    );
    println!("the decision and both events alone: {own:?}");
    assert!(own < MOST, "the bar of {MOST:?} is passed");
}
