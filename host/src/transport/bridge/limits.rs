//! What the bridge holds and how long it waits: each limit with its reason.

use std::time::Duration;

/// The longest message in either direction, in bytes. Tool results with pictures have some MiB.
pub const MESSAGE: usize = 32 << 20;
/// Bytes of messages that may wait for the client before the server's streams are no longer read.
pub const OUTGOING: usize = 8 << 20;
/// Requests of the client at once. A client has a few; more are refused, so that cancellations are still read.
pub const REQUESTS: usize = 1024;
/// The bytes of those requests, which are kept until they are answered.
pub const REQUEST_BYTES: usize = 64 << 20;
/// Requests of the server that the client has not answered; the oldest are forgotten.
pub const SERVER_REQUESTS: usize = 1024;
/// Notifications and replies of the client on their way to a slow server; then the client is not read on.
pub const TELLING: usize = 64;
/// The bytes of an unsuccessful reply that are read: an error message with its data, or the start of a page.
pub const ERROR_BODY: usize = 1 << 20;
/// The characters of a reply that an error message quotes.
pub const QUOTED: usize = 200;
/// The bytes of the address in an `endpoint` event.
pub const ENDPOINT: usize = 8 << 10;
/// The pages of a list of tools that is asked for to learn its headers: 50 pages of 20 tools, and no endless list.
pub const TOOL_PAGES: usize = 50;
/// Redirects of one request.
pub const REDIRECTS: usize = 5;
/// Subscriptions that are repeated in a new session.
pub const SUBSCRIPTIONS: usize = 1024;

/// For a TCP and TLS connection.
pub const CONNECT: Duration = Duration::from_secs(10);
/// How long an unused connection is kept. Node and uvicorn close one after 5 s; a call that is written to a connection
/// while the server closes it may or may not have been read, and cannot be repeated.
pub const POOL_IDLE: Duration = Duration::from_secs(4);
/// How often an idle connection is probed: routers forget silent ones after minutes.
pub const KEEPALIVE: Duration = Duration::from_secs(30);
/// How long a dead peer may leave a probe unanswered.
pub const KEEPALIVE_ANSWER: Duration = Duration::from_secs(20);
/// How long the server may be silent where nothing else is set: more than the time-outs of clients (60 s to 5 min).
pub const SILENCE: Duration = Duration::from_secs(10 * 60);
/// How long a server that cannot be reached is waited for. Some clients give up a server that does not answer
/// `initialize` within 10 s.
pub const PATIENCE: Duration = Duration::from_secs(8);
/// How long a broken stream is tried to be resumed, without any event from it. A restart takes seconds.
pub const RESUME: Duration = Duration::from_secs(60);
/// For the answer to `initialize`, and the first event of the older transport.
pub const OPENING: Duration = Duration::from_secs(30);
/// How long the order of messages is kept by waiting for the server to take a notification. Some servers accept one
/// only when its handler returned.
pub const IN_ORDER: Duration = Duration::from_secs(5);
/// How long a stream is read on after its answer came, so that its connection can be used again.
pub const AFTER_ANSWER: Duration = Duration::from_secs(1);
/// The first wait before another attempt; doubled each time.
pub const FIRST_WAIT: Duration = Duration::from_millis(200);
/// The longest wait before another attempt: with its jitter less than [`PATIENCE`], so that a request which waits for
/// the server sees at least one attempt.
pub const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// The longest wait that a server may ask for with `Retry-After` before its refusal is passed on.
pub const ASKED_WAIT: Duration = Duration::from_secs(10);
/// Waits are lengthened by up to this part, so that many clients do not return together.
pub const JITTER: f64 = 0.5;
/// How often a request is repeated that was sent and may be repeated.
pub const REPEATS: u32 = 3;
/// How long calls may go on after the end of the input.
pub const DRAIN: Duration = Duration::from_secs(5);
/// For the end of the session, which the server is told as a courtesy.
pub const GOODBYE: Duration = Duration::from_secs(1);

/// The waits that depend on how the bridge was started.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    /// How long the server may be silent.
    pub silence: Duration,
    /// See [`PATIENCE`].
    pub patience: Duration,
    /// See [`RESUME`].
    pub resume: Duration,
    /// See [`OPENING`].
    pub opening: Duration,
}

impl Waits {
    /// Returns waits of which none is longer than `silence`.
    #[must_use]
    pub fn of(silence: Duration) -> Self {
        Self {
            silence,
            patience: PATIENCE.min(silence),
            resume: RESUME.min(silence),
            opening: OPENING.min(silence),
        }
    }
}

/// Waits that grow, with jitter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backoff(u32);

impl Backoff {
    /// Returns the next wait.
    pub fn next(&mut self) -> Duration {
        let wait = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(self.0));
        self.0 = self.0.saturating_add(1);
        jittered(wait.min(LONGEST_WAIT))
    }
}

/// Returns a wait, lengthened by a random part.
#[must_use]
pub fn jittered(wait: Duration) -> Duration {
    wait.mul_f64(1.0 + JITTER * fastrand::f64())
}
