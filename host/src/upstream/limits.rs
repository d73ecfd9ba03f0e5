//! How long each part of a call may take, and what may be tried again.

use std::time::Duration;

use tokio::time::Instant;

/// A TCP and TLS handshake beyond this is a network that does not answer.
pub const CONNECT: Duration = Duration::from_secs(10);
/// A whole single answer: 10–30 s were measured.
pub const ANSWER_TOTAL: Duration = Duration::from_secs(60);
/// A whole research: 312 s were measured against a budget of 240 s, and the cap of that budget is 300 s.
pub const RESEARCH_TOTAL: Duration = Duration::from_secs(600);
/// Silence in an answer: its text comes word by word.
pub const ANSWER_IDLE: Duration = Duration::from_secs(30);
/// Silence in research: longer than a minute may be normal, three are not.
pub const RESEARCH_IDLE: Duration = Duration::from_secs(180);
/// Bytes of one reply after decompression: a research of 100 pages stays under 2 MB; what a
/// consumer has not yet taken is held in memory up to this.
pub const REPLY_BYTES: u64 = 64 << 20;
/// Bytes of an unsuccessful reply that are read to classify it: error envelopes are under 4 KB, and HTML
/// pages say nothing new after this.
pub const ERROR_BODY_BYTES: usize = 64 << 10;
/// Retries of one call, beside the first attempt.
pub const RETRIES: u32 = 3;

/// What kind of call it is; its limits follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// A single answer.
    Answer,
    /// Deep research: billed by the query, so a server's failure is never tried again.
    Research,
}

/// Time-outs as configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// A whole answer.
    pub answer: Duration,
    /// A whole research.
    pub research: Duration,
    /// Silence of the upstream; where absent, by the kind of call.
    pub idle: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            answer: ANSWER_TOTAL,
            research: RESEARCH_TOTAL,
            idle: None,
        }
    }
}

/// What may be tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How often, beside the first attempt.
    pub retries: u32,
    /// Whether a 5xx is among it.
    pub server_errors: bool,
}

/// The limits of one call, over all its attempts.
#[derive(Clone, Copy, Debug)]
pub struct CallLimits {
    /// When it must have ended.
    pub deadline: Instant,
    /// The length that the deadline was made from, for messages.
    pub total: Duration,
    /// From the request to the reply's headers.
    pub first_byte: Duration,
    /// From one part of the body to the next.
    pub idle: Duration,
    /// Bytes of the body, after decompression.
    pub max_bytes: u64,
    /// What may be tried again.
    pub retry: RetryPolicy,
}

impl CallLimits {
    /// The limits of a call that starts now.
    #[must_use]
    pub fn starting_now(kind: CallKind, timeouts: &Timeouts) -> Self {
        let (total, idle, server_errors) = match kind {
            CallKind::Answer => (timeouts.answer, ANSWER_IDLE, true),
            CallKind::Research => (timeouts.research, RESEARCH_IDLE, false),
        };
        let idle = timeouts.idle.unwrap_or(idle);
        Self {
            deadline: Instant::now() + total,
            total,
            first_byte: idle,
            idle,
            max_bytes: REPLY_BYTES,
            retry: RetryPolicy {
                retries: RETRIES,
                server_errors,
            },
        }
    }
}
