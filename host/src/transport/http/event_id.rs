//! Ids of server-sent events: the stream within the session, and the position in that stream.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A stream of a session. Numbers keep increasing across restarts of the server, so that an old id never refers to a
/// different stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StreamId {
    /// The stream that belongs to no request, since one start of the server.
    Common(u64),
    /// The stream of a request.
    Call(u64),
}

/// The id of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventId {
    /// Its stream.
    pub stream: StreamId,
    /// Its position in the stream, from 1; 0 is before the first.
    pub seq: u64,
}

/// The error for a string that is not an event id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("Last-Event-ID is no id of an event of this server")]
pub struct NoEventId;

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, number) = match self.stream {
            StreamId::Common(number) => ('g', number),
            StreamId::Call(number) => ('p', number),
        };
        write!(f, "{kind}{number}-{}", self.seq)
    }
}

impl FromStr for EventId {
    type Err = NoEventId;

    fn from_str(text: &str) -> Result<Self, NoEventId> {
        let number = |text: &str| match text.bytes().all(|byte| byte.is_ascii_digit()) {
            true => text.parse::<u64>().map_err(|_| NoEventId),
            false => Err(NoEventId),
        };
        let (stream, seq) = text.split_once('-').ok_or(NoEventId)?;
        let stream = match (stream.strip_prefix('g'), stream.strip_prefix('p')) {
            (Some(common), _) => StreamId::Common(number(common)?),
            (None, Some(call)) => StreamId::Call(number(call)?),
            (None, None) => return Err(NoEventId),
        };
        Ok(Self {
            stream,
            seq: number(seq)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_was_written_and_nothing_else_is_one() {
        for text in ["g0-0", "p17-3", "g1764547200000-18446744073709551615"] {
            let read = text.parse::<EventId>().map(|id| id.to_string());
            assert_eq!(read.as_deref(), Ok(text));
        }
        for text in [
            "",
            "-",
            "g-1",
            "p1-",
            "1-1",
            "x1-1",
            "p1",
            "p+1-1",
            "p1--1",
            "p99999999999999999999-1",
        ] {
            assert_eq!(text.parse::<EventId>(), Err(NoEventId), "{text}");
        }
    }
}
