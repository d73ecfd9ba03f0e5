//! What a job is: its id, its states, what it cost, and its JSON.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::Serialize;
use serde_json::{Value, json};
use uuid::{NoContext, Timestamp, Uuid};

use super::clock::{self, Millis};
use crate::exit::Exit;
use crate::upstream::exit_of;

/// The kind of fault of a reply that ended early without an error.
pub(super) const INCOMPLETE: &str = "incomplete";

/// Money in whole micro-dollars, so that sums are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Micros(pub i64);

/// Micro-dollars in a dollar.
const MICROS_A_DOLLAR: f64 = 1_000_000.0;

impl Micros {
    /// Dollars, rounded up to the next micro-dollar: money is never counted short.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn from_usd(usd: f64) -> Self {
        // A cost such as 0.043125000000000004 carries binary noise far below a micro-dollar.
        const NOISE: f64 = 1e-6;
        Self((usd * MICROS_A_DOLLAR - NOISE).ceil().max(0.0) as i64)
    }

    /// As dollars.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn usd(self) -> f64 {
        self.0 as f64 / MICROS_A_DOLLAR
    }

    /// The sum; saturates.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, never below zero.
    #[must_use]
    pub fn less(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0).max(0))
    }
}

impl fmt::Display for Micros {
    /// Four decimals, as prices are of that order: `$0.0479`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${:.4}", self.usd())
    }
}

/// Returns a new UUID that begins with the time. The library's own panics before 1970, where it is the epoch instead.
#[allow(clippy::disallowed_methods)]
fn time_ordered() -> Uuid {
    if clock::now().0 < 0 {
        Uuid::new_v7(Timestamp::from_unix(NoContext, 0, 0))
    } else {
        Uuid::now_v7()
    }
}

/// A job's id. It names files, so it is only ever made from a valid UUID.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct JobId(String);

impl JobId {
    /// A new id. Ids sort by the time they were made.
    #[must_use]
    pub fn new() -> Self {
        Self(time_ordered().hyphenated().to_string())
    }

    /// The id's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for JobId {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for JobId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(Uuid::parse_str(text.trim())?.hyphenated().to_string()))
    }
}

/// Where a job is. The last four are ends, and ends are final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Stored, not begun.
    Queued,
    /// An owner works on it.
    Running,
    /// Ended well.
    Done,
    /// Ended by an error or too early, with its owner alive.
    Failed,
    /// Ended because somebody asked for it.
    Cancelled,
    /// Its owner died.
    Interrupted,
}

impl State {
    /// All of them, in the order of a life.
    pub const ALL: [Self; 6] = [
        Self::Queued,
        Self::Running,
        Self::Done,
        Self::Failed,
        Self::Cancelled,
        Self::Interrupted,
    ];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }

    /// Whether this is an end.
    #[must_use]
    pub const fn ended(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for State {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| {
                let names: Vec<_> = Self::ALL.iter().map(|state| state.as_str()).collect();
                format!("`{text}` is no state; one of {}", names.join(", "))
            })
    }
}

/// Why a job did not end well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobFault {
    /// Hyphenated kind.
    pub kind: String,
    /// What happened, what was kept, what to do next.
    pub message: String,
}

impl JobFault {
    /// A fault of a kind, with its message.
    pub fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            message: message.into(),
        }
    }
}

/// A job, as any process sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its id.
    pub id: JobId,
    /// The tool that asked for it.
    pub tool: String,
    /// How the reply is read: the mode's name.
    pub mode: String,
    /// The question, for people.
    pub query: String,
    /// Where it is.
    pub state: State,
    /// When it was stored.
    pub created: Millis,
    /// When its owner began.
    pub started: Option<Millis>,
    /// When it ended.
    pub ended: Option<Millis>,
    /// When the request left; nothing can have been billed before.
    pub sent: Option<Millis>,
    /// When somebody asked for it to stop.
    pub cancel: Option<Millis>,
    /// The last progress frame.
    pub progress: Option<Value>,
    /// What it cost, once known.
    pub cost: Option<Micros>,
    /// What was set aside for it.
    pub reserved: Micros,
    /// Where its raw stream is kept.
    pub capture: Option<PathBuf>,
    /// Why it did not end well.
    pub error: Option<JobFault>,
    /// Whether the outcome is complete and not cut short.
    pub whole: bool,
    /// Something to know beside the result: what the bill may hold, what could not be kept.
    pub note: Option<String>,
    /// Grows with every change in the store.
    pub revision: i64,
}

impl Job {
    /// The documented JSON of a job.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut job = json!({
            "research_id": self.id,
            "tool": self.tool,
            "query": self.query,
            "state": self.state,
            "created_at": self.created.rfc3339(),
            "started_at": self.started.map(Millis::rfc3339),
            "ended_at": self.ended.map(Millis::rfc3339),
            "progress": self.progress,
            "cost_usd": self.cost.map(Micros::usd),
            "capture": self.capture.as_ref().map(|path| path.display().to_string()),
            "error": self.error,
        });
        if let (Some(note), Some(object)) = (&self.note, job.as_object_mut()) {
            object.insert("note".to_owned(), Value::String(note.clone()));
        }
        job
    }

    /// The exit status of a command that ends with this job.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match (self.state, &self.error) {
            (State::Queued | State::Running, _) => Exit::Running,
            (State::Cancelled, _) => Exit::Interrupted,
            (State::Interrupted, _) => Exit::Incomplete,
            (_, Some(error)) if error.kind == INCOMPLETE => Exit::Incomplete,
            (_, Some(error)) => exit_of(&error.kind),
            (_, None) if self.whole => Exit::Done,
            (_, None) => Exit::Incomplete,
        }
    }

    /// How long it ran, or has been running by `now`.
    #[must_use]
    pub fn elapsed_ms(&self, now: Millis) -> i64 {
        let from = self.started.unwrap_or(self.created);
        (self.ended.unwrap_or(now).0 - from.0).max(0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn money_is_exact_and_never_short() {
        assert_eq!(Micros::from_usd(0.047_875), Micros(47_875));
        assert_eq!(Micros::from_usd(0.043_125_000_000_000_004), Micros(43_125));
        assert_eq!(Micros::from_usd(0.000_000_4), Micros(1));
        assert_eq!(Micros::from_usd(-1.0), Micros(0));
        assert_eq!(Micros(47_875).to_string(), "$0.0479");
    }

    #[test]
    fn an_id_is_a_uuid_or_nothing() {
        assert!("../../etc/passwd".parse::<JobId>().is_err());
        let id = JobId::new();
        assert_eq!(id.as_str().to_uppercase().parse::<JobId>().unwrap(), id);
    }
}
