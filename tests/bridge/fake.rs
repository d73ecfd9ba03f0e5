//! A server that does what a test says, on plain sockets, and remembers all that it was sent. When it is dropped, no
//! `tools/call` may have come twice.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::GENEROUS;

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
    pub connection: usize,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|header| header.0 == name)?;
        Some(&header.1)
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// The JSON-RPC method of its body.
    pub fn rpc(&self) -> String {
        let json = self.json();
        json["method"].as_str().unwrap_or_default().to_owned()
    }

    pub fn is_call(&self) -> bool {
        self.rpc() == "tools/call"
    }
}

/// Any two-way stream.
pub trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// The connection that a request came on.
pub struct Wire<'a> {
    stream: &'a mut dyn Stream,
    pub socket: &'a TcpStream,
    /// Whether the connection goes on after the reply.
    keep: bool,
}

impl Wire<'_> {
    pub fn raw(&mut self, bytes: &[u8]) -> bool {
        self.stream
            .write_all(bytes)
            .and_then(|()| self.stream.flush())
            .is_ok()
    }

    /// A whole reply.
    pub fn reply(&mut self, status: &str, headers: &[(&str, &str)], body: &str) {
        let mut head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        self.raw(format!("{head}\r\n{body}").as_bytes());
        self.keep = true;
    }

    pub fn json(&mut self, value: &Value) {
        self.reply(
            "200 OK",
            &[("content-type", "application/json")],
            &value.to_string(),
        );
    }

    pub fn accepted(&mut self) {
        self.reply("202 Accepted", &[], "");
    }

    /// The head of a stream, which ends with the connection.
    pub fn begin_stream(&mut self) {
        self.raw(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n");
    }

    /// Some bytes of a stream.
    pub fn chunk(&mut self, text: &str) -> bool {
        self.raw(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())
    }

    pub fn event(&mut self, value: &Value) -> bool {
        self.chunk(&format!("event: message\ndata: {value}\n\n"))
    }

    pub fn end_stream(&mut self) {
        self.raw(b"0\r\n\r\n");
    }

    /// Waits until the other side closes the connection.
    pub fn wait_for_close(&mut self) {
        self.socket.set_read_timeout(Some(GENEROUS)).unwrap();
        let mut byte = [0];
        let _ = self.stream.read(&mut byte);
    }
}

type Serve = dyn Fn(&Request, &mut Wire<'_>, &State) + Send + Sync;

/// What was seen, and what a test says to the server.
#[derive(Default)]
pub struct State {
    seen: Mutex<Seen>,
    changed: Condvar,
}

#[derive(Default)]
struct Seen {
    log: Vec<Request>,
    told: Vec<String>,
    connections: usize,
}

impl State {
    /// Waits until something is so, and gives it.
    fn until<T>(&self, what: &str, mut found: impl FnMut(&mut Seen) -> Option<T>) -> T {
        let mut seen = self.seen.lock().unwrap();
        let until = Instant::now() + GENEROUS;
        loop {
            if let Some(found) = found(&mut seen) {
                return found;
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero(),
                "not seen: {what}; the log: {:#?}",
                seen.log
            );
            seen = self.changed.wait_timeout(seen, left).unwrap().0;
        }
    }

    /// Waits for a word of the test, or of another connection.
    pub fn wait(&self, word: &str) {
        self.until(word, |seen| {
            let at = seen.told.iter().position(|told| told == word)?;
            Some(seen.told.remove(at))
        });
    }

    pub fn tell(&self, word: &str) {
        self.seen.lock().unwrap().told.push(word.to_owned());
        self.changed.notify_all();
    }

    /// How many requests like this came, the present one included.
    pub fn count(&self, like: impl Fn(&Request) -> bool) -> usize {
        let seen = self.seen.lock().unwrap();
        seen.log.iter().filter(|request| like(request)).count()
    }
}

/// The server.
pub struct Fake {
    pub port: u16,
    pub url: String,
    pub state: Arc<State>,
}

impl Fake {
    pub fn start(serve: impl Fn(&Request, &mut Wire<'_>, &State) + Send + Sync + 'static) -> Self {
        Self::on(0, None, serve)
    }

    /// A server at a port, with TLS where there is a configuration.
    pub fn on(
        port: u16,
        tls: Option<Arc<rustls::ServerConfig>>,
        serve: impl Fn(&Request, &mut Wire<'_>, &State) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State::default());
        let (shared, serve): (_, Arc<Serve>) = (Arc::clone(&state), Arc::new(serve));
        let scheme = if tls.is_some() { "https" } else { "http" };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (state, serve, tls) = (Arc::clone(&shared), Arc::clone(&serve), tls.clone());
                std::thread::spawn(move || connection(stream, tls, &state, &*serve));
            }
        });
        Self {
            port,
            url: format!("{scheme}://127.0.0.1:{port}/mcp"),
            state,
        }
    }

    pub fn tell(&self, word: &str) {
        self.state.tell(word);
    }

    pub fn wait(&self, word: &str) {
        self.state.wait(word);
    }

    /// Waits for a request.
    pub fn wait_for(&self, what: &str, like: impl Fn(&Request) -> bool) -> Request {
        self.wait_for_some(what, 1, like).pop().unwrap()
    }

    /// Waits for so many requests like this.
    pub fn wait_for_some(
        &self,
        what: &str,
        count: usize,
        like: impl Fn(&Request) -> bool,
    ) -> Vec<Request> {
        self.state.until(what, |seen| {
            let found: Vec<Request> = seen.log.iter().filter(|one| like(one)).cloned().collect();
            (found.len() >= count).then_some(found)
        })
    }

    pub fn log(&self) -> Vec<Request> {
        self.state.seen.lock().unwrap().log.clone()
    }

    pub fn calls(&self) -> usize {
        self.state.count(Request::is_call)
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let mut calls: Vec<String> = self
            .log()
            .iter()
            .filter(|request| request.is_call())
            .map(|request| request.body.clone())
            .collect();
        let all = calls.len();
        calls.sort();
        calls.dedup();
        assert_eq!(calls.len(), all, "a call came twice: {:#?}", self.log());
    }
}

fn connection(
    socket: TcpStream,
    tls: Option<Arc<rustls::ServerConfig>>,
    state: &State,
    serve: &Serve,
) {
    socket.set_nodelay(true).unwrap();
    let number = {
        let mut seen = state.seen.lock().unwrap();
        seen.connections += 1;
        seen.connections
    };
    let raw = socket.try_clone().unwrap();
    let mut stream: Box<dyn Stream> = match tls {
        None => Box::new(socket),
        Some(config) => {
            let session = rustls::ServerConnection::new(config).unwrap();
            Box::new(rustls::StreamOwned::new(session, socket))
        }
    };
    while let Some(mut request) = read_request(&mut *stream) {
        request.connection = number;
        state.seen.lock().unwrap().log.push(request.clone());
        state.changed.notify_all();
        let mut wire = Wire {
            stream: &mut *stream,
            socket: &raw,
            keep: false,
        };
        serve(&request, &mut wire, state);
        if !wire.keep {
            break;
        }
    }
    let _ = raw.shutdown(std::net::Shutdown::Both);
}

fn read_request(stream: &mut dyn Stream) -> Option<Request> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    let mut lines = BufReader::new(&head[..]).lines().map_while(Result::ok);
    let first = lines.next()?;
    let mut words = first.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        })
        .collect();
    let length = headers.iter().find(|header| header.0 == "content-length");
    let mut body = vec![0; length.map_or(0, |header| header.1.parse().unwrap())];
    stream.read_exact(&mut body).ok()?;
    Some(Request {
        method,
        path,
        headers,
        body: String::from_utf8(body).unwrap(),
        connection: 0,
    })
}

/// The answer to a request.
pub fn result(request: &Request, value: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": request.json()["id"], "result": value })
}

/// The answer of a tool that says something.
pub fn said(request: &Request, text: &str) -> Value {
    result(
        request,
        json!({ "content": [{ "type": "text", "text": text }] }),
    )
}

/// What every server of these tests answers to what is not its subject: streamable HTTP with a session, without a
/// stream of its own. Returns whether it answered.
pub fn usual(request: &Request, wire: &mut Wire<'_>, session: &str) -> bool {
    if request.method == "GET" {
        wire.reply("405 Method Not Allowed", &[], "");
        return true;
    }
    if request.method == "DELETE" {
        wire.reply("204 No Content", &[], "");
        return true;
    }
    let json = request.json();
    match request.rpc().as_str() {
        "initialize" => {
            let capabilities = json!({
                "tools": { "listChanged": true }, "resources": { "subscribe": true }, "logging": {},
            });
            let answer = result(
                request,
                json!({
                    "protocolVersion": json["params"]["protocolVersion"],
                    "capabilities": capabilities,
                    "serverInfo": { "name": "fake", "version": "1" },
                }),
            );
            let headers = [
                ("content-type", "application/json"),
                ("mcp-session-id", session),
            ];
            wire.reply("200 OK", &headers, &answer.to_string());
        }
        "ping" | "resources/subscribe" | "resources/unsubscribe" | "logging/setLevel" => {
            wire.json(&result(request, json!({})));
        }
        "tools/list" => wire.json(&result(request, json!({ "tools": [] }))),
        name if name.starts_with("notifications/") || json.get("id").is_none() => wire.accepted(),
        "" => wire.accepted(),
        _ => return false,
    }
    true
}
