//! A plain HTTP/1.1 client that sends what it is told to, and one for HTTP/2 without TLS.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};

use crate::support::GENEROUS;

/// What every request of 2026-07-28 says.
pub fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// A JSON-RPC request.
pub fn request(id: u64, method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

/// A call of a tool.
pub fn call(id: u64, tool: &str, arguments: Value) -> String {
    request(
        id,
        "tools/call",
        json!({ "name": tool, "arguments": arguments }),
    )
}

/// A notification.
pub fn notification(method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

/// A reply's head.
#[derive(Clone, Debug)]
pub struct Head {
    pub status: u16,
    pub headers: Vec<(String, String)>,
}

impl Head {
    pub fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|(other, _)| other == name)?;
        Some(&header.1)
    }

    pub fn is_stream(&self) -> bool {
        self.header("content-type") == Some("text/event-stream")
    }
}

/// A connection, with TLS or without.
pub struct Connection {
    stream: BufReader<Box<dyn Stream>>,
    socket: TcpStream,
    port: u16,
    chunk: usize,
}

pub trait Stream: std::io::Read + std::io::Write + Send {}

impl<T: std::io::Read + std::io::Write + Send> Stream for T {}

/// The configuration of a TLS client that trusts the certificates of a file and offers these protocols.
pub fn trusting(ca: &Path, protocols: &[&str]) -> Arc<rustls::ClientConfig> {
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(ca).unwrap() {
        roots.add(certificate.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols
        .iter()
        .map(|name| name.as_bytes().to_vec())
        .collect();
    Arc::new(config)
}

impl Connection {
    pub fn open(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(GENEROUS)).unwrap();
        stream.set_write_timeout(Some(GENEROUS)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            socket: stream.try_clone().unwrap(),
            stream: BufReader::new(Box::new(stream)),
            port,
            chunk: 0,
        }
    }

    /// Opens a connection over TLS.
    pub fn tls(port: u16, config: &Arc<rustls::ClientConfig>) -> Self {
        let mut connection = Self::open(port);
        let name = ServerName::try_from("localhost").unwrap();
        let client = rustls::ClientConnection::new(Arc::clone(config), name).unwrap();
        let socket = connection.socket.try_clone().unwrap();
        let stream = rustls::StreamOwned::new(client, socket);
        connection.stream = BufReader::new(Box::new(stream));
        connection
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
        self.stream.get_mut().flush().unwrap();
    }

    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Sends a request with a Host, and with a JSON body where there is one.
    pub fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) {
        let mut text = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\n",
            self.port
        );
        if !body.is_empty() {
            text += &format!(
                "content-type: application/json\r\ncontent-length: {}\r\n",
                body.len()
            );
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        text += "\r\n";
        text += body;
        self.raw(text.as_bytes());
    }

    /// Posts bytes as they are and reads a reply that is no stream.
    pub fn post_bytes(
        &mut self,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> (Head, String) {
        let length = body.len().to_string();
        let mut all = vec![
            ("content-type", "application/json"),
            ("content-length", &length),
        ];
        all.extend_from_slice(headers);
        self.send("POST", path, &all, "");
        self.raw(body);
        let head = self.head();
        let body = self.body(&head);
        (head, body)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        line.trim_end_matches(['\r', '\n']).to_owned()
    }

    /// The head of the next reply.
    pub fn head(&mut self) -> Head {
        let status = self.line();
        let status = status.split(' ').nth(1);
        let status = status
            .unwrap_or_else(|| panic!("the connection ended"))
            .parse()
            .unwrap();
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            let Some((name, value)) = line.split_once(": ") else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        self.chunk = 0;
        Head { status, headers }
    }

    /// The whole body of a reply.
    pub fn body(&mut self, head: &Head) -> String {
        if let Some(length) = head.header("content-length") {
            let mut body = vec![0; length.parse().unwrap()];
            self.stream.read_exact(&mut body).unwrap();
            return String::from_utf8(body).unwrap();
        }
        if head.header("transfer-encoding").is_none() {
            return String::new();
        }
        let mut body = String::new();
        while let Some(line) = self.stream_line() {
            body += &line;
            body.push('\n');
        }
        body
    }

    /// The next line of a chunked body; `None` at its end.
    fn stream_line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        loop {
            if self.chunk == 0 {
                let mut size = String::new();
                if self.stream.read_line(&mut size).ok()? == 0 {
                    return None;
                }
                self.chunk = usize::from_str_radix(size.trim(), 16).unwrap();
                if self.chunk == 0 {
                    self.line();
                    return None;
                }
            }
            let mut byte = [0];
            self.stream.read_exact(&mut byte).ok()?;
            self.chunk -= 1;
            if self.chunk == 0 {
                self.line();
            }
            if byte[0] == b'\n' {
                return Some(String::from_utf8(line).unwrap());
            }
            line.push(byte[0]);
        }
    }

    /// The next event of a stream, comments too; `None` at the stream's end.
    pub fn event(&mut self) -> Option<Event> {
        let mut event = Event::default();
        loop {
            let line = self.stream_line()?;
            if line.is_empty() {
                return Some(event);
            }
            if let Some(comment) = line.strip_prefix(':') {
                event.comment = Some(comment.trim().to_owned());
            } else if let Some((field, value)) = line.split_once(':') {
                let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
                match field {
                    "id" => event.id = Some(value),
                    "event" => event.name = Some(value),
                    "data" => event.data = Some(value),
                    "retry" => event.retry = Some(value),
                    _ => panic!("what is {line}"),
                }
            } else if line == "data" {
                event.data = Some(String::new());
            }
        }
    }

    /// The next message of a stream.
    pub fn message(&mut self) -> Option<(Option<String>, Value)> {
        loop {
            let event = self.event()?;
            if let Some(data) = event.data.filter(|data| !data.is_empty()) {
                return Some((event.id, serde_json::from_str(&data).unwrap()));
            }
        }
    }

    /// Sends a request and reads a reply that is no stream.
    pub fn exchange(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (Head, String) {
        self.send(method, path, headers, body);
        let head = self.head();
        let body = self.body(&head);
        (head, body)
    }
}

/// An event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    pub id: Option<String>,
    pub name: Option<String>,
    pub data: Option<String>,
    pub retry: Option<String>,
    pub comment: Option<String>,
}

/// One exchange in a connection of its own.
pub fn exchange(
    port: u16,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> (Head, String) {
    Connection::open(port).exchange(method, path, headers, body)
}

/// Posts a message of a session to `/mcp`.
pub fn post(port: u16, session: &str, body: &str) -> (Head, String) {
    exchange(port, "POST", "/mcp", &[("mcp-session-id", session)], body)
}

/// Begins a session of a revision. Gives its id.
pub fn begin(port: u16, version: &str, headers: &[(&str, &str)]) -> String {
    let params = json!({
        "protocolVersion": version,
        "capabilities": { "elicitation": {}, "sampling": {}, "roots": {} },
        "clientInfo": { "name": "test", "version": "1" },
    });
    let (head, body) = exchange(
        port,
        "POST",
        "/mcp",
        headers,
        &request(0, "initialize", params),
    );
    assert_eq!(head.status, 200, "{body}");
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(answer["result"]["protocolVersion"], version);
    let session = head.header("mcp-session-id").unwrap().to_owned();
    let mut all = headers.to_vec();
    all.push(("mcp-session-id", &session));
    let initialized = notification("notifications/initialized", json!({}));
    let (head, _) = exchange(port, "POST", "/mcp", &all, &initialized);
    assert_eq!(head.status, 202);
    session
}

/// The answer in a reply's body, whether that is JSON or a stream.
pub fn answer_of(body: &str) -> Value {
    let mut events = body.lines().filter_map(|line| line.strip_prefix("data: "));
    let last = events.next_back().unwrap_or(body);
    serde_json::from_str(last.trim()).unwrap_or_else(|error| panic!("{error}: {body}"))
}

/// The headers of a call of 2026-07-28.
pub const fn modern<'a>(method: &'a str, name: &'a str) -> [(&'a str, &'a str); 3] {
    [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", method),
        ("mcp-name", name),
    ]
}

/// A call of a tool as 2026-07-28 has it.
pub fn modern_call(id: u64, tool: &str, arguments: Value) -> String {
    let params = json!({ "_meta": meta(), "name": tool, "arguments": arguments });
    request(id, "tools/call", params)
}

/// A connection of HTTP/2 without TLS, as a client opens one that knows the server.
pub async fn h2(port: u16) -> hyper::client::conn::http2::SendRequest<Full<Bytes>> {
    let stream = tokio::net::TcpStream::connect(("127.0.0.1", port))
        .await
        .unwrap();
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
    tokio::spawn(connection);
    sender
}

/// A connection of HTTP/2 over TLS.
pub async fn h2_tls(
    port: u16,
    config: &Arc<rustls::ClientConfig>,
) -> hyper::client::conn::http2::SendRequest<Full<Bytes>> {
    let stream = tokio::net::TcpStream::connect(("127.0.0.1", port))
        .await
        .unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let connector = tokio_rustls::TlsConnector::from(Arc::clone(config));
    let stream = connector.connect(name, stream).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
    tokio::spawn(connection);
    sender
}

/// One exchange over HTTP/2. The body is read where its length is known.
pub async fn h2_exchange(
    port: u16,
    request: http::Request<Full<Bytes>>,
) -> Result<(u16, String), String> {
    h2_send(h2(port).await, request).await
}

/// Sends a request in a connection of HTTP/2. The body is read where its length is known.
pub async fn h2_send(
    mut sender: hyper::client::conn::http2::SendRequest<Full<Bytes>>,
    request: http::Request<Full<Bytes>>,
) -> Result<(u16, String), String> {
    let response = sender
        .send_request(request)
        .await
        .map_err(|error| error.to_string())?;
    let status = response.status().as_u16();
    if !response.headers().contains_key("content-length") {
        return Ok((status, String::new()));
    }
    let body = response.into_body().collect().await.unwrap().to_bytes();
    Ok((status, String::from_utf8(body.to_vec()).unwrap()))
}
