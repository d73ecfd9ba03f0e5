//! The data of a job: id, state, cost, and its JSON form.

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

/// Returns a new time-ordered UUID (version 7). `Uuid::now_v7` panics if the clock is before 1970; this function uses
/// the epoch then.
#[allow(clippy::disallowed_methods)]
fn time_ordered() -> Uuid {
    if clock::now().0 < 0 {
        Uuid::new_v7(Timestamp::from_unix(NoContext, 0, 0))
    } else {
        Uuid::now_v7()
    }
}

/// The id of a job. It is part of file names, so it can only be created from a valid UUID.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct JobId(String);

impl JobId {
    /// Creates a new id. Ids sort by their creation time.
    #[must_use]
    pub fn new() -> Self {
        Self(time_ordered().hyphenated().to_string())
    }

    /// Returns the id as text.
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

/// The state of a job. The last four are end states, which are final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The job is stored and not started.
    Queued,
    /// A process works on the job.
    Running,
    /// The reply is complete.
    Done,
    /// The call failed or its reply ended early.
    Failed,
    /// The job was cancelled.
    Cancelled,
    /// The process that worked on the job died or was stopped.
    Interrupted,
}

impl State {
    /// All states, in the order in which a job can enter them.
    pub const ALL: [Self; 6] = [
        Self::Queued,
        Self::Running,
        Self::Done,
        Self::Failed,
        Self::Cancelled,
        Self::Interrupted,
    ];

    /// Returns the name of the state.
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

    /// Returns whether this is an end state.
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

/// The reason why a job did not complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobFault {
    /// The hyphenated kind of the fault.
    pub kind: String,
    /// What happened, what was kept and what to do next.
    pub message: String,
}

impl JobFault {
    /// Creates a fault.
    pub fn new(kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            message: message.into(),
        }
    }
}

/// A job as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The id.
    pub id: JobId,
    /// The name of the tool that made the call.
    pub tool: String,
    /// The name of the mode in which the reply is read.
    pub mode: String,
    /// The question.
    pub query: String,
    /// The state.
    pub state: State,
    /// When the job was stored.
    pub created: Millis,
    /// When a process started to work on the job.
    pub started: Option<Millis>,
    /// When the job ended.
    pub ended: Option<Millis>,
    /// When the request was marked as sent. Before this time nothing can have been billed.
    pub sent: Option<Millis>,
    /// When a cancellation was requested.
    pub cancel: Option<Millis>,
    /// The last progress of a research.
    pub progress: Option<ResearchProgress>,
    /// The cost, if it is known.
    pub cost: Option<Micros>,
    /// The amount that was reserved.
    pub reserved: Micros,
    /// Whether the call went to the simulator and cost no real money.
    pub simulated: bool,
    /// The location of the capture, if there is one.
    pub capture: Option<String>,
    /// The reason why the job did not complete.
    pub error: Option<JobFault>,
    /// Whether the outcome is complete and not truncated.
    pub whole: bool,
    /// A note on the result, such as an unknown cost or a capture that is incomplete.
    pub note: Option<String>,
    /// The revision of the job. Every change in the store increases it.
    pub revision: i64,
}

impl Job {
    /// Returns the documented JSON form of the job.
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

    /// Formats an amount of this job, marked as simulated if the call was.
    #[must_use]
    pub fn amount(&self, amount: Micros) -> String {
        if self.simulated {
            format!("{amount} (simulated)")
        } else {
            amount.to_string()
        }
    }

    /// Returns how long the job ran, or has been running at `now`, in milliseconds.
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
