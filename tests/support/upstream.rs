//! Upstreams other than the simulator, and raw requests and replies.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns a raw request of the API. Each of the `headers` ends with CRLF.
pub fn post(body: &str, headers: &str) -> String {
    format!(
        "POST /res/v1/chat/completions HTTP/1.1\r\nhost: sim\r\nconnection: close\r\n{headers}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Returns a streamed HTTP reply with text deltas. The deltas must be escaped for JSON.
pub fn stream(deltas: &[&str]) -> Vec<u8> {
    let mut body = String::new();
    for delta in deltas {
        body.push_str(&format!(
            "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{delta}\"}},\"finish_reason\":null}}],\"object\":\"chat.completion.chunk\"}}\n\n"
        ));
    }
    body.push_str("data: [DONE]\n\n");
    http(&body)
}

/// Returns an HTTP reply with a body.
pub fn http(body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// An HTTP server that sends the same bytes on each connection and closes it.
pub struct Served {
    pub url: String,
    pub port: u16,
    pub connections: Arc<AtomicUsize>,
}

impl Served {
    /// Starts a server that sends `reply` after it has read a request.
    pub fn start(reply: Vec<u8>) -> Self {
        Self::with(move |mut stream| {
            read_request(&mut stream);
            let _ = stream.write_all(&reply);
        })
    }

    /// Starts a server that calls `serve` with each connection. Its thread ends with the process.
    pub fn with(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&connections);
        let serve = Arc::new(serve);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                seen.fetch_add(1, Ordering::SeqCst);
                let serve = Arc::clone(&serve);
                std::thread::spawn(move || serve(stream));
            }
        });
        Self {
            url: format!("http://127.0.0.1:{port}"),
            port,
            connections,
        }
    }

    /// Returns the number of connections so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Reads a request with its body and returns its head.
pub fn read_request(stream: &mut impl std::io::Read) -> String {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
        bytes.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let length = head
        .lines()
        .find_map(|line| {
            line.to_ascii_lowercase()
                .strip_prefix("content-length:")
                .map(|length| length.trim().parse().unwrap())
        })
        .unwrap_or(0);
    let mut body = vec![0; length];
    let _ = stream.read_exact(&mut body);
    head
}
