//! What a client may take of the server: each limit with its reason.

use std::time::Duration;

/// From accepting a connection to the head of its first request. A client sends it at once; only one that means to
/// occupy the server does not. hyper-util's builder has no such limit while it detects the version.
pub const FIRST_HEAD: Duration = Duration::from_secs(10);
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
/// HTTP/2 streams at once in a connection: a client with so many calls in flight has others waiting anyway.
pub const H2_STREAMS: u32 = 128;
/// HTTP/2 streams that a client opened and reset at once before the connection ends (CVE-2023-44487).
pub const H2_PENDING_RESETS: usize = 32;
/// HTTP/2 streams that the server reset because of a client's errors before the connection ends (CVE-2025-8671).
pub const H2_LOCAL_RESETS: usize = 256;
/// How often an HTTP/2 connection is asked whether it is there, and how long the answer may take.
pub const H2_PING: (Duration, Duration) = (Duration::from_secs(20), Duration::from_secs(10));
/// How long a write may stand still because the client does not read. Its stream is lost, and can be resumed.
pub const WRITE_STALL: Duration = Duration::from_secs(60);
/// How long accepting pauses when there are no file handles left: connections end meanwhile.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How often a stream without news gets a comment. Proxies cut a silent one after 60 s, undici after 300 s.
pub const KEEPALIVE: Duration = Duration::from_secs(15);
/// How long the first message of a reply is waited for before the reply begins as a stream. Most calls take less;
/// a longer one must show signs of life, and give a legacy client something to resume by.
pub const ANSWER_AS_JSON: Duration = Duration::from_millis(500);
/// The pause before a client should reconnect a stream that ended, in milliseconds.
pub const RETRY_MS: u64 = 1_000;
/// Notifications that wait for a client to read them. What it has not read of so many is of no use to it.
pub const STREAM_EVENTS: usize = 256;
/// The same in bytes.
pub const STREAM_BYTES: usize = 256 << 10;
/// Bytes of answers that nobody reads before their stream ends, and with it a session that is nothing but its stream.
pub const UNREAD_BYTES: usize = 16 << 20;
/// How long a finished answer waits for a client that lost its stream.
pub const ANSWER_KEPT: Duration = Duration::from_secs(5 * 60);
/// Answers of one session that wait so; the oldest give way.
pub const ANSWERS_KEPT: usize = 32;
/// The same in bytes.
pub const ANSWERS_KEPT_BYTES: usize = 4 << 20;
/// How long a session without an open stream or a running call is kept.
pub const SESSION_IDLE: Duration = Duration::from_secs(30 * 60);
/// Sessions at once; the longest idle give way.
pub const SESSIONS: usize = 8_192;
/// What a client should wait when there is no place for a session, in seconds.
pub const RETRY_AFTER: &str = "10";
/// How often sessions are looked through, and their last use stored.
pub const SWEEP: Duration = Duration::from_secs(30);
/// How often the token file is looked at, for streams that an earlier token opened. Each request looks at it too.
pub const TOKEN_CHECK: Duration = Duration::from_secs(1);
/// Messages of one session that may wait for its handler.
pub const INCOMING: usize = 64;
/// How long calls may go on after the server was told to stop.
pub const DRAIN: Duration = Duration::from_secs(10);

/// The limits that a server is run with: the constants of this module, but where a test shortens a time.
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
