//! Resource limits of the HTTP transport, each with its reason.

use std::time::Duration;

/// From accepting a connection to the head of its first request. Clients send it at once.
/// hyper-util's builder has no such limit while it detects the version.
pub const FIRST_HEAD: Duration = Duration::from_secs(10);
/// The same once the server stops: a request that a client has sent already is served, and a connection without one does
/// not delay the end.
pub const LAST_HEAD: Duration = Duration::from_millis(250);
/// Between two requests of an HTTP/1.1 connection, the second's head included: longer than the pools of common
/// clients keep a connection (4 to 60 s), so that it is the client that closes it.
pub const NEXT_HEAD: Duration = Duration::from_secs(75);
/// Between two pieces of a request's body.
pub const BODY_IDLE: Duration = Duration::from_secs(10);
/// For a request's whole body: 2 MiB at 35 KB a second.
pub const BODY_TOTAL: Duration = Duration::from_secs(60);
/// The most bytes of a request's body where nothing else is set.
pub const MAX_BODY: usize = 2 << 20;
/// The least that `--max-body` may be set to: a question with its options fits.
pub const LEAST_MAX_BODY: usize = 32 << 10;
/// The most that `--max-body` may be set to: a body is held in memory.
pub const MOST_MAX_BODY: usize = 100 << 20;
/// The bytes of a request's head. Clients send 1 KiB; a token or a proxy adds some.
pub const HEAD_BYTES: usize = 64 << 10;
/// The headers of a request.
pub const HEADERS: usize = 100;
/// Connections at once. An idle one takes some KiB and a file handle.
pub const CONNECTIONS: usize = 8_192;
/// Connections at once from one address in external mode, where clients are not trusted. A load balancer is one address
/// and needs a higher limit.
pub const CONNECTIONS_PER_ADDRESS: usize = 256;
/// For a TLS handshake: two round trips, even on a slow network.
pub const TLS_HANDSHAKE: Duration = Duration::from_secs(10);
/// The interval of checks whether a certificate is due for renewal or its file has changed.
pub const CERTIFICATE_CHECK: Duration = Duration::from_secs(1);
/// Concurrent HTTP/2 streams of a connection. More calls in flight would only queue up.
pub const H2_STREAMS: u32 = 128;
/// HTTP/2 streams that a client opened and reset at once before the connection ends (CVE-2023-44487).
pub const H2_PENDING_RESETS: usize = 32;
/// HTTP/2 streams that the server reset because of a client's errors before the connection ends (CVE-2025-8671).
pub const H2_LOCAL_RESETS: usize = 256;
/// The interval of HTTP/2 pings, and how long the answer may take.
pub const H2_PING: (Duration, Duration) = (Duration::from_secs(20), Duration::from_secs(10));
/// How long a write may make no progress because the client does not read. Its connection is then closed; the stream can
/// be resumed.
pub const WRITE_STALL: Duration = Duration::from_secs(60);
/// How long accepting pauses when there are no file handles left, so that connections can end.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The interval of comments on a silent stream. Proxies cut a silent one after 60 s, undici after 300 s.
pub const KEEPALIVE: Duration = Duration::from_secs(15);
/// How long the first message of a reply is waited for before the reply begins as a stream. Most calls take less;
/// a longer one has to send something, and give a client of a session an event id to resume from.
pub const ANSWER_AS_JSON: Duration = Duration::from_millis(500);
/// The pause before a client should reconnect a stream that ended, in milliseconds.
pub const RETRY_MS: u64 = 1_000;
/// Notifications of a stream that are kept for a client that does not read.
pub const STREAM_EVENTS: usize = 256;
/// The same in bytes.
pub const STREAM_BYTES: usize = 256 << 10;
/// Bytes of unread answers after which a stream is ended; a session of the SSE pair ends with it.
pub const UNREAD_BYTES: usize = 16 << 20;
/// How long a finished answer is kept for a client that lost its stream.
pub const ANSWER_KEPT: Duration = Duration::from_secs(5 * 60);
/// Answers of one session that are kept so; the oldest are dropped.
pub const ANSWERS_KEPT: usize = 32;
/// The same in bytes.
pub const ANSWERS_KEPT_BYTES: usize = 4 << 20;
/// How long a session without an open stream or a running call is kept.
pub const SESSION_IDLE: Duration = Duration::from_secs(30 * 60);
/// Sessions at once; the longest idle are ended for new ones.
pub const SESSIONS: usize = 8_192;
/// The `Retry-After` of a reply when no session can be created, in seconds.
pub const RETRY_AFTER: &str = "10";
/// The interval at which idle sessions are ended and the last use of others is stored.
pub const SWEEP: Duration = Duration::from_secs(30);
/// The interval at which the token file is checked, to end streams that an earlier token opened. Each request checks it
/// too.
pub const TOKEN_CHECK: Duration = Duration::from_secs(1);
/// Messages of one session that are queued for its service.
pub const INCOMING: usize = 64;
/// How long calls may go on after the server was told to stop.
pub const DRAIN: Duration = Duration::from_secs(10);

/// The limits of one server. The defaults are the constants of this module; tests shorten some.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// See [`FIRST_HEAD`].
    pub first_head: Duration,
    /// See [`BODY_IDLE`].
    pub body_idle: Duration,
    /// See [`BODY_TOTAL`].
    pub body_total: Duration,
    /// See [`MAX_BODY`].
    pub max_body: usize,
    /// See [`CONNECTIONS`].
    pub connections: usize,
    /// See [`CONNECTIONS_PER_ADDRESS`]; `None` for no limit.
    pub connections_per_address: Option<usize>,
    /// See [`TLS_HANDSHAKE`].
    pub tls_handshake: Duration,
    /// See [`WRITE_STALL`].
    pub write_stall: Duration,
    /// See [`KEEPALIVE`].
    pub keepalive: Duration,
    /// See [`ANSWER_KEPT`].
    pub answer_kept: Duration,
    /// See [`SESSION_IDLE`].
    pub session_idle: Duration,
    /// See [`SESSIONS`].
    pub sessions: usize,
    /// See [`SWEEP`].
    pub sweep: Duration,
    /// See [`DRAIN`].
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            first_head: FIRST_HEAD,
            body_idle: BODY_IDLE,
            body_total: BODY_TOTAL,
            max_body: MAX_BODY,
            connections: CONNECTIONS,
            connections_per_address: None,
            tls_handshake: TLS_HANDSHAKE,
            write_stall: WRITE_STALL,
            keepalive: KEEPALIVE,
            answer_kept: ANSWER_KEPT,
            session_idle: SESSION_IDLE,
            sessions: SESSIONS,
            sweep: SWEEP,
            drain: DRAIN,
        }
    }
}
