//! Clients that mean no good, or are many: the others notice nothing. And how the server stops.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use bytes::Bytes;
use glovebox::transport::http::limits::Limits;
use http_body_util::Full;
use serde_json::json;

use super::client::{
    Connection, answer_of, begin, call, exchange, h2, modern, modern_call, post, request,
};
use super::fixture::{Options, Server};
use super::program::Serve;
use crate::support::{GENEROUS, World};

/// A server that is short of patience.
fn impatient() -> Server {
    let limits = Limits {
        // Long enough for a client of this machine that is scheduled late.
        first_head: Duration::from_secs(2),
        body_idle: Duration::from_secs(1),
        body_total: Duration::from_secs(5),
        write_stall: Duration::from_millis(500),
        connections: 50,
        max_body: 64 << 10,
        ..Limits::default()
    };
    Server::start(Options {
        limits,
        ..Options::default()
    })
}

/// More than a kernel holds of what one end wrote and the other did not read, with the largest buffers in use.
const IN_THE_KERNEL: usize = 256 << 20;

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(GENEROUS)).unwrap();
    stream
}

/// Whether the server ended the connection; what it said before counts for nothing.
fn ended(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => true,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

fn is_served(port: u16) {
    let headers = modern("tools/call", "echo");
    let (head, body) = exchange(
        port,
        "POST",
        "/mcp",
        &headers,
        &modern_call(1, "echo", json!({})),
    );
    assert_eq!(head.status, 200, "{body}");
}

#[test]
fn a_slow_head_ends_its_connection_whatever_it_begins_like() {
    let server = impatient();
    let open = [
        "",
        "G",
        "PRI * HT",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET /mcp HTTP/1.1\r\nhost: ",
        "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nx: ",
    ]
    .map(|begun| {
        let mut stream = connect(server.port);
        stream.write_all(begun.as_bytes()).unwrap();
        (begun, stream)
    });
    is_served(server.port);
    for (begun, mut stream) in open {
        assert!(ended(&mut stream), "{begun:?}");
    }
}

#[test]
fn a_slow_body_is_refused() {
    let server = impatient();
    let mut connection = Connection::open(server.port);
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{{",
        server.port
    );
    connection.raw(head.as_bytes());
    let head = connection.head();
    assert_eq!(head.status, 408);
    assert!(connection.body(&head).contains("body_slow"));
}

#[test]
fn a_body_over_the_limit_is_refused_and_not_read() {
    let server = impatient();
    let host = format!(
        "host: 127.0.0.1:{}\r\ncontent-type: application/json\r\n",
        server.port
    );
    let mut announced = Connection::open(server.port);
    announced
        .raw(format!("POST /mcp HTTP/1.1\r\n{host}content-length: 1073741824\r\n\r\n").as_bytes());
    let head = announced.head();
    assert_eq!(head.status, 413);
    let body = announced.body(&head);
    assert!(
        body.contains("65536 bytes") && body.contains("--max-body"),
        "{body}"
    );
    // One that does not say how long it is.
    let mut endless = connect(server.port);
    endless
        .write_all(
            format!("POST /mcp HTTP/1.1\r\n{host}transfer-encoding: chunked\r\n\r\n").as_bytes(),
        )
        .unwrap();
    let chunk = format!("4000\r\n{}\r\n", " ".repeat(0x4000));
    let mut sent = 0;
    while sent < 1 << 30 && endless.write_all(chunk.as_bytes()).is_ok() {
        sent += chunk.len();
    }
    assert!(sent < IN_THE_KERNEL, "{sent} bytes were taken");
    is_served(server.port);
}

#[test]
fn endless_headers_end_the_connection() {
    let server = impatient();
    let mut stream = connect(server.port);
    stream.write_all(b"GET /mcp HTTP/1.1\r\n").unwrap();
    let line = format!("x-more: {}\r\n", "y".repeat(1000));
    let mut sent = 0;
    while sent < 1 << 30 && stream.write_all(line.as_bytes()).is_ok() {
        sent += line.len();
    }
    assert!(sent < IN_THE_KERNEL, "{sent} bytes were taken");
    // Many short ones.
    let mut short = connect(server.port);
    let mut head = "GET /__mcp/health HTTP/1.1\r\n".to_owned();
    for at in 0..200 {
        head += &format!("x-{at}: y\r\n");
    }
    short.write_all(head.as_bytes()).unwrap();
    short.write_all(b"\r\n").unwrap();
    let mut reply = String::new();
    let _ = short.read_to_string(&mut reply);
    assert!(reply.starts_with("HTTP/1.1 431"), "{reply}");
    is_served(server.port);
}

#[test]
fn idle_connections_give_way_to_busy_ones() {
    let limits = Limits {
        connections: 20,
        ..Limits::default()
    };
    let server = Server::start(Options {
        limits,
        ..Options::default()
    });
    let session = begin(server.port, "2025-11-25", &[]);
    let mut stream = Connection::open(server.port);
    stream.send("GET", "/mcp", &[("mcp-session-id", &session)], "");
    assert!(stream.head().is_stream());
    let idle: Vec<_> = (0..100).map(|_| connect(server.port)).collect();
    for _ in 0..5 {
        is_served(server.port);
    }
    server.until("idle connections gave way", |http| {
        http.metrics().connections() <= 21
    });
    // The stream was busy all the time, and is still there.
    server.http.stopping().cancel();
    assert!(stream.event().is_some());
    drop(idle);
}

#[test]
fn idle_connections_cost_little() {
    cost_little(connect);
}

#[test]
fn idle_sse_clients_cost_little() {
    cost_little(|port| {
        let mut stream = Connection::open(port);
        stream.send("GET", "/sse", &[], "");
        assert!(stream.head().is_stream());
        let path = stream.event().unwrap().data.unwrap();
        let params = json!({
            "protocolVersion": "2024-11-05", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let (head, _) = exchange(port, "POST", &path, &[], &request(0, "initialize", params));
        assert_eq!(head.status, 202);
        assert_eq!(stream.message().unwrap().1["id"], 0);
        stream
    });
}

#[test]
fn idle_streamable_clients_cost_little() {
    cost_little(|port| {
        let session = begin(port, "2025-11-25", &[]);
        let mut stream = Connection::open(port);
        stream.send("GET", "/mcp", &[("mcp-session-id", &session)], "");
        assert!(stream.head().is_stream());
        stream
    });
}

/// Opens 5,000 clients that then do nothing, or as many as this process may have file handles for.
fn cost_little<T>(open: impl Fn(u16) -> T) {
    let world = World::new();
    let server = Serve::start(&world, &[]);
    is_up(server.port);
    let before = resident(server.pid);
    let count = 5_000.min(most_handles() / 3);
    assert!(count >= 300, "this process may have too few file handles");
    let idle: Vec<_> = (0..count).map(|_| open(server.port)).collect();
    let began = std::time::Instant::now();
    is_up(server.port);
    let taken = began.elapsed();
    let each = resident(server.pid).saturating_sub(before) / idle.len();
    eprintln!("{count} clients, {each} bytes each, another is served in {taken:?}");
    assert!(each < 64 << 10, "{each} bytes each");
    assert!(taken < Duration::from_secs(5), "{taken:?}");
}

/// How many file handles this process may have, and with it those that it starts.
fn most_handles() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().nth(3));
    soft.and_then(|soft| soft.parse().ok()).unwrap_or(1024)
}

/// How many file handles a process has.
fn handles(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .count()
}

#[test]
fn no_handle_of_the_system_is_left_behind_by_clients_that_are_gone() {
    let world = World::new();
    let server = Serve::start(&world, &[]);
    let port = server.port;
    // What is opened once and kept, such as the store, is open then.
    let session = begin(port, "2025-11-25", &[]);
    assert_eq!(
        post(port, &session, &call(1, "status", json!({}))).0.status,
        200
    );
    let before = handles(server.pid);
    for round in 0..3 {
        let clients: Vec<_> = (0..60)
            .map(|client| {
                let mut connection = Connection::open(port);
                match client % 3 {
                    0 => connection.send("GET", "/sse", &[], ""),
                    1 => connection.send(
                        "GET",
                        "/mcp",
                        &[("mcp-session-id", &begin(port, "2025-11-25", &[]))],
                        "",
                    ),
                    _ => connection.raw(b"POST /mcp HTTP/1.1\r\nhost: "),
                }
                if client % 3 < 2 {
                    assert!(connection.head().is_stream());
                }
                // Half of them are cut instead of closed.
                if client % 2 == 0 {
                    let socket = socket2::SockRef::from(connection.socket());
                    socket.set_linger(Some(Duration::ZERO)).unwrap();
                }
                connection
            })
            .collect();
        assert!(handles(server.pid) >= before + 40, "round {round}");
        drop(clients);
        crate::support::machine::until("the handles are closed", || {
            (handles(server.pid) <= before).then_some(())
        });
    }
}

fn is_up(port: u16) {
    assert_eq!(
        exchange(port, "GET", "/__mcp/health", &[], "").0.status,
        200
    );
}

/// The resident memory of a process, in bytes.
fn resident(pid: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS"))
        .unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<usize>()
        .unwrap()
        << 10
}

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Writes the same again and again until the server ends the connection. Gives the bytes it took.
fn flood(port: u16, first: &[u8], mut next: impl FnMut(u32) -> Vec<u8>) -> usize {
    let mut stream = connect(port);
    stream.set_nonblocking(false).unwrap();
    stream.write_all(PREFACE).unwrap();
    stream.write_all(&frame(4, 0, 0, &[])).unwrap();
    stream.write_all(first).unwrap();
    let mut reader = stream.try_clone().unwrap();
    let reading = std::thread::spawn(move || {
        let mut bytes = [0; 64 << 10];
        while reader.read(&mut bytes).is_ok_and(|count| count > 0) {}
    });
    let mut sent = 0;
    for at in 0..200_000 {
        let bytes = next(at);
        if stream.write_all(&bytes).is_err() {
            break;
        }
        sent += bytes.len();
    }
    let _ = stream.shutdown(Shutdown::Both);
    reading.join().unwrap();
    sent
}

#[test]
fn http_2_resets_and_settings_without_end_harm_nobody() {
    let world = World::new();
    let server = Serve::start(&world, &[]);
    is_up(server.port);
    let before = resident(server.pid);
    // :method GET, :scheme http, :path /, :authority as a literal.
    let mut head = vec![0x82, 0x86, 0x84, 0x41];
    let host = format!("127.0.0.1:{}", server.port);
    head.push(u8::try_from(host.len()).unwrap());
    head.extend(host.as_bytes());
    let resets = flood(server.port, &[], |at| {
        let stream = 2 * at + 1;
        let mut bytes = frame(1, 5, stream, &head);
        bytes.extend(frame(3, 0, stream, &8_u32.to_be_bytes()));
        bytes
    });
    let settings = flood(server.port, &[], |_| frame(4, 0, 0, &[0, 3, 0, 0, 0, 1]));
    let pings = flood(server.port, &[], |_| frame(6, 0, 0, &[0; 8]));
    is_up(server.port);
    let grown = resident(server.pid).saturating_sub(before);
    assert!(
        grown < 48 << 20,
        "{grown} bytes for {resets}, {settings}, {pings} bytes"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn many_calls_in_one_http_2_connection() {
    let world = World::new();
    let server = Serve::start(&world, &[]);
    let sender = h2(server.port).await;
    let calls = (0..200).map(|id| {
        let mut sender = sender.clone();
        let mut request = http::Request::builder()
            .method("POST")
            .uri(format!("http://127.0.0.1:{}/mcp", server.port))
            .header("content-type", "application/json");
        for (name, value) in modern("tools/call", "status") {
            request = request.header(name, value);
        }
        let body = modern_call(id, "status", json!({}));
        let request = request.body(Full::new(Bytes::from(body))).unwrap();
        async move {
            sender.ready().await.unwrap();
            sender
                .send_request(request)
                .await
                .unwrap()
                .status()
                .as_u16()
        }
    });
    let statuses = futures_util::future::join_all(calls).await;
    assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
}

/// Fixes the receive buffer. An answer of 12 MiB is then larger than everything that the kernel holds for both ends (4 MiB
/// for the sender), so that its writer stands still however the threads are scheduled.
fn small_buffer(connection: &Connection) {
    let socket = socket2::SockRef::from(connection.socket());
    socket.set_recv_buffer_size(64 << 10).unwrap();
}

#[test]
fn a_writer_that_nobody_reads_is_given_up() {
    let server = impatient();
    let session = begin(server.port, "2025-11-25", &[]);
    let mut stalled = Vec::new();
    for id in 0..3 {
        let mut connection = Connection::open(server.port);
        small_buffer(&connection);
        connection.send(
            "POST",
            "/mcp",
            &[("mcp-session-id", &session)],
            &call(id, "bulk", json!({ "bytes": 12 << 20 })),
        );
        stalled.push(connection);
    }
    server.until("stalled connections end", |http| {
        http.metrics().connections() == 0 && http.metrics().streams() == 0
    });
    let (head, _) = post(server.port, &session, &call(9, "echo", json!({})));
    assert_eq!(head.status, 200);
}

#[test]
fn twenty_clients_some_killed_and_some_stalled_leave_nothing_behind() {
    let server = impatient();
    is_served(server.port);
    server.until("it rests", |http| http.metrics().connections() == 0);
    std::thread::scope(|scope| {
        for client in 0..20 {
            let server = &server;
            scope.spawn(move || {
                let session = begin(server.port, "2025-11-25", &[]);
                let name = format!("client {client}");
                let headers = [("mcp-session-id", session.as_str())];
                let mut connection = Connection::open(server.port);
                match client {
                    // Killed in the middle of a stream.
                    0..5 => {
                        let body = call(1, "wait", json!({ "name": name }));
                        connection.send("POST", "/mcp", &headers, &body);
                        assert!(connection.head().is_stream());
                        let socket = connection.socket().try_clone().unwrap();
                        socket2::SockRef::from(&socket)
                            .set_linger(Some(Duration::ZERO))
                            .unwrap();
                        server.control.tell(&format!("{name} may end"));
                    }
                    // Stops reading an answer that is more than the kernel holds.
                    5..8 => {
                        small_buffer(&connection);
                        let bulk = call(1, "bulk", json!({ "bytes": 12 << 20 }));
                        connection.send("POST", "/mcp", &headers, &bulk);
                        server.wait("bulk is made");
                        server.until("the stalled connection ends", |http| {
                            http.metrics().connections() < 3
                        });
                    }
                    _ => {
                        for id in 0..30 {
                            let (head, body) = connection.exchange(
                                "POST",
                                "/mcp",
                                &headers,
                                &call(id, "echo", json!({ "client": name })),
                            );
                            assert_eq!(head.status, 200);
                            assert!(body.contains(&name), "{body}");
                        }
                    }
                }
                let (head, _) = exchange(server.port, "DELETE", "/mcp", &headers, "");
                assert_eq!(head.status, 204);
            });
        }
    });
    server.until("nothing is left", |http| {
        let metrics = http.metrics();
        http.session_count() == 0
            && http.service_count() == 0
            && metrics.streams() == 0
            && metrics.connections() == 0
    });
}

#[test]
fn all_sessions_busy_is_said_and_an_idle_one_gives_way() {
    let limits = Limits {
        sessions: 2,
        ..Limits::default()
    };
    let server = Server::start(Options {
        limits,
        ..Options::default()
    });
    let first = begin(server.port, "2025-11-25", &[]);
    let second = begin(server.port, "2025-11-25", &[]);
    let open = |session: &str| {
        let mut stream = Connection::open(server.port);
        stream.send("GET", "/mcp", &[("mcp-session-id", session)], "");
        assert!(stream.head().is_stream());
        stream
    };
    let _second = open(&second);
    let third = begin(server.port, "2025-11-25", &[]);
    let _third = open(&third);
    assert_eq!(server.http.session_count(), 2);
    let initialize = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    });
    let (head, _) = exchange(
        server.port,
        "POST",
        "/mcp",
        &[],
        &request(0, "initialize", initialize),
    );
    assert_eq!(
        (head.status, head.header("retry-after").is_some()),
        (503, true)
    );
    // The one that gave way is in the store still, for when there is room again.
    let (head, _) = post(server.port, &first, &call(1, "echo", json!({})));
    assert_eq!(head.status, 503);
}

#[test]
fn a_stopped_server_ends_streams_finishes_calls_and_its_research() {
    let world = World::new();
    let mut command = world.command(&[
        "serve",
        "--json",
        "--simulate",
        "--pace",
        "0.02",
        "--listen",
        ":0",
    ]);
    command.env("RUST_LOG", "off");
    let server = Serve::spawn(command);
    let port = server.port;
    let session = begin(port, "2025-11-25", &[]);
    let mut common = Connection::open(port);
    common.send("GET", "/mcp", &[("mcp-session-id", &session)], "");
    assert!(common.head().is_stream());
    let mut pair = Connection::open(port);
    pair.send("GET", "/sse", &[], "");
    assert!(pair.head().is_stream());
    let (_, body) = post(
        port,
        &session,
        &call(1, "research_submit", json!({ "query": "What goes on?" })),
    );
    let submitted = answer_of(&body);
    let id = submitted["result"]["structuredContent"]["research_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut waiting = Connection::open(port);
    let result = call(
        2,
        "research_result",
        json!({ "research_id": id, "wait_seconds": 50 }),
    );
    waiting.send("POST", "/mcp", &[("mcp-session-id", &session)], &result);
    assert!(waiting.head().is_stream());
    server.signal("TERM");
    // What waits is told how things are; streams end; nobody new is taken.
    let answer = waiting.message().unwrap().1;
    assert_eq!(answer["id"], 2);
    while common.event().is_some() {}
    while pair.event().is_some() {}
    let ran = server.wait();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    let job = world.run(&["jobs", "status", &id, "--json"]).json();
    assert_eq!(job["state"], "done", "{job}");
}

#[test]
fn five_hundred_researches_at_once_are_all_done() {
    let world = World::new();
    let server = Serve::start(&world, &["--requests-per-second", "50"]);
    let headers = modern("tools/call", "research_submit");
    let submit = |at: usize| {
        let query = json!({ "query": format!("Question number {at}?") });
        let body = modern_call(1, "research_submit", query);
        let (head, body) = exchange(server.port, "POST", "/mcp", &headers, &body);
        assert_eq!(head.status, 200, "{body}");
        let answer = answer_of(&body);
        let id = answer["result"]["structuredContent"]["research_id"].as_str();
        id.unwrap_or_else(|| panic!("{body}")).to_owned()
    };
    submit(0);
    let before = resident(server.pid);
    let ids: Vec<String> = std::thread::scope(|scope| {
        let submit = &submit;
        let threads: Vec<_> = (0..10)
            .map(|thread| {
                scope.spawn(move || {
                    (0..50)
                        .map(|at| submit(1 + thread * 50 + at))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(ids.len(), 500);
    let mut most = 0;
    let headers = modern("tools/call", "research_result");
    for id in ids {
        let query = json!({ "research_id": id, "wait_seconds": 50 });
        let body = modern_call(1, "research_result", query);
        let (_, body) = exchange(server.port, "POST", "/mcp", &headers, &body);
        let result = answer_of(&body);
        assert_eq!(
            result["result"]["structuredContent"]["state"], "done",
            "{result}"
        );
        most = most.max(resident(server.pid));
    }
    let each = most.saturating_sub(before) / 500;
    assert!(each < 1 << 20, "{each} bytes each");
}

#[cfg(unix)]
#[test]
fn without_file_handles_the_server_waits_for_some_and_goes_on() {
    let world = World::new();
    let serve = world.command(&["serve", "--json", "--simulate", "--listen", ":0"]);
    let mut command = world.command(&[]);
    command = {
        let mut shell = std::process::Command::new("sh");
        shell.env_clear().envs(
            command
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        shell
            .args(["-c", "ulimit -n 80; exec \"$0\" \"$@\""])
            .arg(serve.get_program());
        shell.args(serve.get_args()).current_dir(world.path());
        shell
    };
    let server = Serve::spawn(command);
    is_up(server.port);
    let many: Vec<_> = (0..200).map(|_| connect(server.port)).collect();
    // It waits in the queue of the system until there is a handle.
    let mut waiting = Connection::open(server.port);
    waiting.send("GET", "/__mcp/health", &[], "");
    drop(many);
    assert_eq!(waiting.head().status, 200);
    is_up(server.port);
}

#[test]
fn standard_input_is_served_too_and_its_end_stops_nothing() {
    let world = World::new();
    // Where both are served, standard output belongs to the protocol; the address is said on standard error.
    let mut child = world
        .command(&["serve", "--stdio", "--simulate", "--listen", ":0"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    use std::io::BufRead as _;
    let mut said = String::new();
    std::io::BufReader::new(child.stderr.as_mut().unwrap())
        .read_line(&mut said)
        .unwrap();
    let port = said
        .split("127.0.0.1:")
        .nth(1)
        .and_then(|rest| rest.split('/').next());
    let port: u16 = port.unwrap_or_else(|| panic!("{said}")).parse().unwrap();
    let initialize = request(
        1,
        "initialize",
        json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        }),
    );
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{initialize}").unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert!(
        line.contains("\"id\":1") && line.contains("serverInfo"),
        "{line}"
    );
    drop(input);
    // The end of its output says that the server is done with it.
    begin(port, "2025-11-25", &[]);
    let stopped = std::process::Command::new("kill")
        .arg(child.id().to_string())
        .status();
    assert!(stopped.unwrap().success());
    assert_eq!(crate::support::finish(child).code, Some(0));
}

#[test]
fn what_cannot_be_served_is_said() {
    let world = World::new();
    let server = Serve::start(&world, &[]);
    let taken = format!("127.0.0.1:{}", server.port);
    // Another user's server: its token is not known here.
    let ran = World::new().run(&["serve", "--simulate", "--listen", &taken]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("cannot listen"), "{ran:?}");
    for (args, code, said) in [
        (&["--listen", "0.0.0.0:0"][..], 2, "--external"),
        (&["--listen", "nonsense"], 2, "HOST:PORT"),
        (&["--allowed-origin", "app.example"], 2, "http://"),
        (&["--allowed-origin", "https://app.example/path"], 2, "path"),
        (&["--max-body", "5"], 2, "32768"),
        (&["--token-file", "/dev/null/token"], 1, "/dev/null/token"),
    ] {
        let mut all = vec!["serve", "--simulate"];
        all.extend(args);
        let ran = world.run(&all);
        assert_eq!(ran.code, Some(code), "{args:?}: {ran:?}");
        assert!(ran.err.contains(said), "{args:?}: {ran:?}");
    }
    let (_, body) = exchange(
        server.port,
        "POST",
        "/mcp",
        &modern("tools/call", "status"),
        &modern_call(1, "status", json!({})),
    );
    assert!(body.contains(&format!("HTTP at {taken}")), "{body}");
    let doctor = world.run(&["doctor", "--offline"]).out;
    assert!(
        doctor.contains("token: in ") && doctor.contains("serve: "),
        "{doctor}"
    );
}
