//! A newer instance takes the port over from an older one, with real processes.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use glovebox::jobs::clock::{Clock as _, Millis, WallClock};
use glovebox::transport::http::gate::Host;
use glovebox::transport::http::gate::proof::{PROOF, ProofAddress, proof};
use glovebox::transport::http::token::Token;
use serde_json::{Value, json};

use super::client::{Connection, answer_of, begin, call, exchange, post, trusting};
use super::program::Serve;
use crate::support::machine::until;
use crate::support::{Simulated, World, finish, read_request};

/// A port that nobody has.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

/// Starts a server at a port, over a simulator.
fn serve(world: &World, simulator: &Simulated, port: u16, args: &[&str]) -> Serve {
    Serve::spawn(serving(world, simulator, port, args))
}

fn serving(
    world: &World,
    simulator: &Simulated,
    port: u16,
    args: &[&str],
) -> std::process::Command {
    let listen = format!("127.0.0.1:{port}");
    let mut all = vec!["serve", "--json", "--listen", &listen];
    all.extend(args);
    world.calling(simulator, &all)
}

fn structured(body: &str) -> Value {
    answer_of(body)["result"]["structuredContent"].clone()
}

#[test]
fn a_client_in_the_middle_of_a_research_keeps_its_session_and_the_research() {
    let world = World::new();
    let simulator = Simulated::start(&world, &["--pace", "0.1"]);
    let port = free_port();
    let older = serve(&world, &simulator, port, &[]);
    let session = begin(port, "2025-11-25", &[]);
    let mut stream = Connection::open(port);
    stream.send("GET", "/mcp", &[("mcp-session-id", &session)], "");
    assert!(stream.head().is_stream());
    let submit = call(1, "research_submit", json!({ "query": "What is kept?" }));
    let (_, body) = post(port, &session, &submit);
    let id = structured(&body)["research_id"]
        .as_str()
        .unwrap()
        .to_owned();
    simulator.wait_for("the research runs", |log| !log.is_empty());
    let newer = serve(&world, &simulator, port, &[]);
    // Its stream ended, with a time to come back after; the session is the same one.
    let mut retry = false;
    while let Some(event) = stream.event() {
        retry |= event.retry.is_some();
    }
    assert!(retry);
    let status = call(2, "research_status", json!({ "research_id": id }));
    let (head, body) = post(port, &session, &status);
    assert_eq!(head.status, 200, "{body}");
    let mut stream = Connection::open(port);
    stream.send("GET", "/mcp", &[("mcp-session-id", &session)], "");
    assert!(stream.head().is_stream());
    let result = call(
        3,
        "research_result",
        json!({ "research_id": id, "wait_seconds": 50 }),
    );
    let (_, body) = post(port, &session, &result);
    assert_eq!(structured(&body)["state"], "done", "{body}");
    let ran = older.wait();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(simulator.log().len(), 1, "it was billed again");
    newer.signal("TERM");
    assert_eq!(newer.wait().code, Some(0));
}

/// Answers each connection of a port with the same head, and keeps what it was sent.
struct Recorder {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Recorder {
    fn start(reply: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&heads);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                stream
                    .set_read_timeout(Some(Duration::from_secs(5)))
                    .unwrap();
                let head = read_request(&mut stream);
                if !head.is_empty() {
                    kept.lock().unwrap().push(head);
                }
                let _ = stream.write_all(reply.as_bytes());
            }
        });
        Self { port, heads }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn try_to_serve(world: &World, port: u16, args: &[&str]) -> crate::support::Ran {
    let listen = format!("127.0.0.1:{port}");
    let mut all = vec!["serve", "--simulate", "--listen", &listen];
    all.extend(args);
    world.run(&all)
}

#[test]
fn a_stranger_is_asked_who_it_is_and_sent_nothing_else() {
    let world = World::new();
    for (reply, seen) in [
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
            "it does not say so",
        ),
        (
            "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
            "status 404",
        ),
        (
            "HTTP/1.1 500 No\r\nx-glovebox: mcp\r\ncontent-length: 0\r\n\r\n",
            "status 500",
        ),
        (
            "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\nx-glovebox: mcp\r\n\r\n",
            "status 302",
        ),
        ("SSH-2.0-OpenSSH_9.9\r\n", "does not speak HTTP"),
        ("", "HTTP"),
    ] {
        let stranger = Recorder::start(reply);
        let ran = try_to_serve(&world, stranger.port, &[]);
        assert_eq!(ran.code, Some(1), "{reply}: {ran:?}");
        assert!(ran.err.contains(seen), "{reply}: {ran:?}");
        assert!(ran.err.contains("--listen"), "{ran:?}");
        // This process is the stranger.
        assert!(
            ran.err
                .contains(&format!("(process {})", std::process::id())),
            "{ran:?}"
        );
        let heads = stranger.heads();
        assert_eq!(heads.len(), 1, "{heads:?}");
        assert!(
            heads[0].starts_with("GET /__mcp/health HTTP/1.1\r\n"),
            "{heads:?}"
        );
        assert!(
            !heads[0].to_ascii_lowercase().contains("authorization"),
            "{heads:?}"
        );
    }
}

#[test]
fn a_squatter_that_echoes_the_marker_gets_proofs_and_never_the_token() {
    let world = World::new();
    let squatter =
        Recorder::start("HTTP/1.1 200 OK\r\nx-glovebox: mcp\r\ncontent-length: 2\r\n\r\nok");
    let ran = try_to_serve(&world, squatter.port, &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("agreed to stop 3 times"), "{ran:?}");
    let token = std::fs::read_to_string(world.path().join("state/glovebox/token")).unwrap();
    let token = Token::parse(&token).unwrap();
    let heads = squatter.heads();
    let stops: Vec<_> = heads
        .iter()
        .filter(|head| head.starts_with("POST /__mcp/shutdown"))
        .collect();
    assert_eq!((heads.len(), stops.len()), (6, 3), "{heads:?}");
    let now = WallClock.now();
    let address = ProofAddress::new(&Host::parse("localhost").unwrap(), squatter.port);
    let proofs: Vec<_> = (0..3)
        .map(|window| proof(&token, &address, now.plus(-10_000 * window)))
        .collect();
    for head in stops {
        let sent = head
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{PROOF}: ")))
            .unwrap();
        assert!(proofs.iter().any(|proof| proof == sent), "{sent}");
    }
    for head in heads {
        assert!(
            !head.contains(token.expose()) && !head.to_ascii_lowercase().contains("authorization"),
            "{head}"
        );
    }
}

#[test]
fn a_listener_that_hangs_is_not_waited_for() {
    let world = World::new();
    let hanging = TcpListener::bind("127.0.0.1:0").unwrap();
    let ran = try_to_serve(&world, hanging.local_addr().unwrap().port(), &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("did not answer within 800 ms"), "{ran:?}");
}

#[test]
fn another_token_stops_nobody() {
    let (world, other) = (World::new(), World::new());
    let simulator = Simulated::start(&world, &["--pace", "0"]);
    let port = free_port();
    let _older = serve(&world, &simulator, port, &[]);
    let ran = try_to_serve(&other, port, &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.err.contains("did not stop (status 401") && ran.err.contains("--token-file"),
        "{ran:?}"
    );
    begin(port, "2025-11-25", &[]);
}

#[test]
fn over_tls_only_this_installation_is_taken_over() {
    let (world, other) = (World::new(), World::new());
    let simulator = Simulated::start(&world, &["--pace", "0"]);
    let port = free_port();
    let older = serve(&world, &simulator, port, &["--external"]);
    let token_file = world.path().join("state/glovebox/token");
    // The token is the same, the certificate authority is not.
    let ran = try_to_serve(
        &other,
        port,
        &["--external", "--token-file", token_file.to_str().unwrap()],
    );
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("not this installation's"), "{ran:?}");
    // In local mode it is nobody that is known.
    let ran = try_to_serve(&world, port, &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let ca = older.ca.clone().unwrap();
    let config = trusting(&ca, &[]);
    let bearer = format!("Bearer {}", older.token(&world));
    let session = begin_tls(port, &config, &bearer);
    let newer = serve(&world, &simulator, port, &["--external"]);
    assert_eq!(older.wait().code, Some(0));
    let headers = [
        ("authorization", bearer.as_str()),
        ("mcp-session-id", session.as_str()),
    ];
    let (head, body) = Connection::tls(port, &config).exchange(
        "POST",
        "/mcp",
        &headers,
        &call(1, "status", json!({})),
    );
    assert_eq!(head.status, 200, "{body}");
    drop(newer);
}

fn begin_tls(port: u16, config: &Arc<rustls::ClientConfig>, bearer: &str) -> String {
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
    } });
    let headers = [("authorization", bearer)];
    let (head, body) =
        Connection::tls(port, config).exchange("POST", "/mcp", &headers, &initialize.to_string());
    assert_eq!(head.status, 200, "{body}");
    head.header("mcp-session-id").unwrap().to_owned()
}

#[test]
fn with_own_certificates_the_key_is_what_counts() {
    let world = World::new();
    let simulator = Simulated::start(&world, &["--pace", "0"]);
    let port = free_port();
    let (certificate, key) = (world.path().join("cert.pem"), world.path().join("key.pem"));
    let make = |key_pair: &rcgen::KeyPair| {
        let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        std::fs::write(&certificate, params.self_signed(key_pair).unwrap().pem()).unwrap();
        std::fs::write(&key, key_pair.serialize_pem()).unwrap();
    };
    let kept = rcgen::KeyPair::generate().unwrap();
    make(&kept);
    let args = [
        "--external",
        "--tls-cert",
        certificate.to_str().unwrap(),
        "--tls-key",
        key.to_str().unwrap(),
    ];
    let older = serve(&world, &simulator, port, &args);
    // Renewed under the same key.
    make(&kept);
    let newer = serve(&world, &simulator, port, &args);
    assert_eq!(older.wait().code, Some(0));
    let (other_certificate, other_key) = (world.path().join("c2.pem"), world.path().join("k2.pem"));
    let other = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    std::fs::write(
        &other_certificate,
        params.self_signed(&other).unwrap().pem(),
    )
    .unwrap();
    std::fs::write(&other_key, other.serialize_pem()).unwrap();
    let args = [
        "--external",
        "--tls-cert",
        other_certificate.to_str().unwrap(),
        "--tls-key",
        other_key.to_str().unwrap(),
    ];
    let ran = try_to_serve(&world, port, &args);
    assert!(
        ran.code == Some(1) && ran.err.contains("not this installation's"),
        "{ran:?}"
    );
    drop(newer);
}

#[test]
fn a_proof_is_for_this_server_and_this_moment() {
    let world = World::new();
    let server = Serve::start(&world, &["--listen", "localhost:0"]);
    let token = Token::parse(&server.token(&world)).unwrap();
    let address = |host: &str, port| ProofAddress::new(&Host::parse(host).unwrap(), port);
    let here = address("127.0.0.1", server.port);
    let now = WallClock.now();
    let stop =
        |headers: &[(&str, &str)]| exchange(server.port, "POST", "/__mcp/shutdown", headers, "");
    let other = Token::parse("another").unwrap();
    let late = proof(&token, &here, now.plus(-30_000));
    let early = proof(&token, &here, now.plus(30_000));
    let elsewhere = proof(
        &token,
        &address("localhost", server.port.wrapping_add(1)),
        now,
    );
    let other_host = proof(&token, &address("box.example", server.port), now);
    let foreign = proof(&other, &here, now);
    for wrong in [
        &late,
        &early,
        &elsewhere,
        &other_host,
        &foreign,
        "",
        "x",
        token.expose(),
    ] {
        let (head, body) = stop(&[(PROOF, wrong)]);
        assert_eq!(head.status, 401, "{wrong}: {body}");
        assert!(body.contains("invalid_proof"), "{body}");
    }
    let fresh = || proof(&token, &here, WallClock.now());
    let (head, _) = stop(&[(PROOF, &fresh()), ("authorization", "Bearer wrong")]);
    assert_eq!(head.status, 401);
    let (head, _) = stop(&[(PROOF, &fresh()), (PROOF, &fresh())]);
    assert_eq!(head.status, 401);
    let (head, _) = stop(&[(PROOF, &fresh()), ("origin", "https://evil.example")]);
    assert_eq!(head.status, 403);
    // It opens no other path.
    let (head, _) = exchange(
        server.port,
        "GET",
        "/__mcp/shutdown",
        &[(PROOF, &fresh())],
        "",
    );
    assert_eq!(head.status, 405);
    let (head, body) = stop(&[(PROOF, &fresh())]);
    assert_eq!(head.status, 200, "{body}");
    let ran = server.wait();
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_stop_by_hand_takes_the_bearer_token() {
    let world = World::new();
    let server = Serve::start(&world, &[]);
    let bearer = format!("Bearer {}", server.token(&world));
    let (head, _) = exchange(
        server.port,
        "POST",
        "/__mcp/shutdown",
        &[("authorization", &bearer)],
        "",
    );
    assert_eq!(head.status, 200);
    assert_eq!(server.wait().code, Some(0));
}

/// Processes that are killed at the end of a test.
struct Processes(Vec<Child>);

impl Drop for Processes {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn of_three_contenders_one_serves_in_the_end() {
    let world = World::new();
    let simulator = Simulated::start(&world, &["--pace", "0"]);
    let port = free_port();
    let older = serve(&world, &simulator, port, &[]);
    let session = begin(port, "2025-11-25", &[]);
    let contenders = (0..3).map(|_| {
        let mut command = serving(&world, &simulator, port, &[]);
        command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    });
    let mut contenders = Processes(contenders.collect());
    assert_eq!(older.wait().code, Some(0));
    // All but one end, well or because they were told why they cannot have the port.
    until("one is left", || {
        let ended = contenders
            .0
            .iter_mut()
            .filter_map(|child| child.try_wait().unwrap())
            .count();
        assert!(ended < 3, "none is left");
        (ended == 2).then_some(())
    });
    // It may be about to listen still.
    let status = call(1, "status", json!({}));
    let (status, body) = insist(port, &session, &status, &AtomicUsize::new(0));
    assert_eq!(status, 200, "{body}");
    for child in std::mem::take(&mut contenders.0) {
        let mut child = child;
        if child.try_wait().unwrap().is_none() {
            let _ = child.kill();
            let _ = child.wait();
            continue;
        }
        let ran = finish(child);
        let told = ran.err.contains("in use");
        assert!(
            ran.code == Some(0) || ran.code == Some(1) && told,
            "{ran:?}"
        );
    }
}

/// Sends a message of a session until there is a reply. A connection that was refused or reset before its reply did not
/// reach a server: the counts of the simulator show whether that is so.
fn insist(port: u16, session: &str, body: &str, retries: &AtomicUsize) -> (u16, String) {
    loop {
        if let Some(reply) = attempt(port, session, body) {
            return reply;
        }
        retries.fetch_add(1, Ordering::Relaxed);
        std::thread::yield_now();
    }
}

fn attempt(port: u16, session: &str, body: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream
        .set_read_timeout(Some(crate::support::GENEROUS))
        .ok()?;
    let text = format!(
        "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\ncontent-type: application/json\r\nmcp-session-id: {session}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(text.as_bytes()).ok()?;
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).ok()?;
    let reply = String::from_utf8(reply).ok()?;
    let status = reply.split(' ').nth(1)?.parse().ok()?;
    Some((status, reply))
}

#[test]
fn twenty_restarts_and_takeovers_under_load_lose_nothing() {
    let world = World::new();
    let simulator = Simulated::start(&world, &["--pace", "0.01"]);
    let port = free_port();
    let args = ["--requests-per-second", "50"];
    let mut server = serve(&world, &simulator, port, &args);
    let sessions: Vec<String> = (0..10).map(|_| begin(port, "2025-11-25", &[])).collect();
    let (over, retries, calls) = (
        AtomicBool::new(false),
        AtomicUsize::new(0),
        AtomicUsize::new(0),
    );
    let jobs = Mutex::new(Vec::new());
    let mut older = Vec::new();
    std::thread::scope(|scope| {
        for (client, session) in sessions.iter().enumerate() {
            let (over, retries, calls, jobs) = (&over, &retries, &calls, &jobs);
            scope.spawn(move || {
                for turn in 0.. {
                    if over.load(Ordering::Acquire) {
                        break;
                    }
                    let query = format!("Question {turn} of client {client}?");
                    let tool = if turn % 5 == 0 {
                        "research_submit"
                    } else {
                        "answers"
                    };
                    let body = call(turn, tool, json!({ "query": query }));
                    let (status, reply) = insist(port, session, &body, retries);
                    assert_eq!(status, 200, "{reply}");
                    assert!(!reply.contains("\"isError\":true"), "{reply}");
                    calls.fetch_add(1, Ordering::Relaxed);
                    if tool == "research_submit" {
                        let id = reply.split("research_id\":\"").nth(1).unwrap();
                        jobs.lock()
                            .unwrap()
                            .push(id.split('"').next().unwrap().to_owned());
                    }
                }
            });
        }
        for round in 0..20 {
            let before = calls.load(Ordering::Relaxed);
            until("calls are made", || {
                (calls.load(Ordering::Relaxed) >= before + 10).then_some(())
            });
            if round % 2 == 0 {
                let newer = serve(&world, &simulator, port, &args);
                older.push(std::mem::replace(&mut server, newer));
            } else {
                server.signal("TERM");
                until("it no longer listens", || {
                    TcpStream::connect(("127.0.0.1", port))
                        .is_err()
                        .then_some(())
                });
                let newer = serve(&world, &simulator, port, &args);
                older.push(std::mem::replace(&mut server, newer));
            }
        }
        over.store(true, Ordering::Release);
    });
    for server in older {
        let ran = server.wait();
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let jobs = jobs.into_inner().unwrap();
    for id in &jobs {
        let result = call(
            1,
            "research_result",
            json!({ "research_id": id, "wait_seconds": 50 }),
        );
        let (_, body) = post(port, &sessions[0], &result);
        assert_eq!(structured(&body)["state"], "done", "{body}");
    }
    // Each question was sent upstream once, and each is a job that is done.
    let mut asked: HashMap<String, usize> = HashMap::new();
    for record in simulator.log() {
        let query = record["body"]["messages"][0]["content"]
            .as_str()
            .unwrap()
            .to_owned();
        *asked.entry(query).or_default() += 1;
    }
    let calls = calls.into_inner();
    let again: Vec<_> = asked.iter().filter(|(_, count)| **count > 1).collect();
    assert!(again.is_empty(), "billed again: {again:?}");
    assert_eq!(asked.len(), calls, "{} retries", retries.into_inner());
    let all = world.run(&["jobs", "list", "--all", "--json", "--limit", "100000"]);
    let states: Vec<_> = all
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|job| job["state"].clone())
        .collect();
    assert!(states.iter().all(|state| state == "done"), "{states:?}");
    let _ = Millis(0);
}
