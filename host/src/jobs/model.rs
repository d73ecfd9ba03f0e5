//! What a job is: its id, its states, what it cost, and its JSON.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use serde_json::{Value, json};
use uuid::{NoContext, Timestamp, Uuid};

use super::clock::{self, Millis};
use crate::answers::ResearchProgress;

pub use crate::money::Micros;

/// The kind of fault of a reply that ended early without an error.
pub const INCOMPLETE: &str = "incomplete";

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
    /// The last progress of a research.
    pub progress: Option<ResearchProgress>,
    /// What it cost, once known.
    pub cost: Option<Micros>,
    /// What was set aside for it.
    pub reserved: Micros,
    /// Whether the simulator took the upstream's place: no real money.
    pub simulated: bool,
    /// Where its raw stream is kept.
    pub capture: Option<String>,
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
            "capture": self.capture,
            "error": self.error,
        });
        if let Some(object) = job.as_object_mut() {
            if self.simulated {
                object.insert("simulated".to_owned(), Value::Bool(true));
            }
            if let Some(note) = &self.note {
                object.insert("note".to_owned(), Value::String(note.clone()));
            }
        }
        job
    }

    /// An amount of this job for a person: marked where it is no real money.
    #[must_use]
    pub fn amount(&self, amount: Micros) -> String {
        if self.simulated {
            format!("{amount} (simulated)")
        } else {
            amount.to_string()
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
    fn an_id_is_a_uuid_or_nothing() {
        assert!("../../etc/passwd".parse::<JobId>().is_err());
        let id = JobId::new();
        assert_eq!(id.as_str().to_uppercase().parse::<JobId>().unwrap(), id);
    }
}
