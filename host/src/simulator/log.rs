//! What was asked, and what became of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde::Serialize;

/// Requests kept; the oldest go first, for a simulator may run for days.
const RECORDS: usize = 1000;

/// One request.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Record {
    /// From 1.
    pub number: u64,
    /// Milliseconds since the simulator's start.
    pub at_ms: u64,
    /// The method.
    pub method: String,
    /// The path.
    pub path: String,
    /// The names of the headers; no values, so no key.
    pub header_names: Vec<String>,
    /// Whether there was a key.
    pub key_seen: bool,
    /// The body as JSON, or as text where it is none.
    pub body: serde_json::Value,
    /// The scenario that was played.
    pub scenario: String,
    /// What the API would not have said but is odd, such as unknown names.
    pub notes: Vec<String>,
    /// The status of the reply.
    pub status: u16,
    /// Bytes of the body given to the connection.
    pub bytes_sent: u64,
    /// `complete`, `dropped` (by the client), `reset` (by the scenario), or null while it goes on.
    pub end: Option<&'static str>,
    /// When it ended or the drop was noticed, in milliseconds since the start.
    pub ended_ms: Option<u64>,
}

/// All requests of one simulator.
#[derive(Debug)]
pub struct Log {
    start: Instant,
    records: Mutex<(u64, Vec<Record>)>,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            start: Instant::now(),
            records: Mutex::new((0, Vec::new())),
        }
    }
}

impl Log {
    /// A copy of the records, oldest first.
    pub fn records(&self) -> Vec<Record> {
        self.lock().1.clone()
    }

    /// Notes a request that just came.
    pub fn begin(self: &Arc<Self>, mut record: Record) -> Entry {
        let mut records = self.lock();
        records.0 += 1;
        let number = records.0;
        record.number = number;
        record.at_ms = self.now();
        if records.1.len() == RECORDS {
            records.1.remove(0);
        }
        records.1.push(record);
        drop(records);
        Entry {
            log: Arc::clone(self),
            number,
            ended: false,
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn lock(&self) -> MutexGuard<'_, (u64, Vec<Record>)> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, number: u64, change: impl FnOnce(&mut Record)) {
        if let Some(record) = self
            .lock()
            .1
            .iter_mut()
            .find(|record| record.number == number)
        {
            change(record);
        }
    }
}

/// A request that is being answered. Dropping it before its end means that the client went away.
#[derive(Debug)]
pub struct Entry {
    log: Arc<Log>,
    number: u64,
    ended: bool,
}

impl Entry {
    /// Notes what is known by now.
    pub fn note(&self, change: impl FnOnce(&mut Record)) {
        self.log.change(self.number, change);
    }

    /// Notes bytes of the body.
    pub fn sent(&self, bytes: usize) {
        self.note(|record| record.bytes_sent += bytes as u64);
    }

    /// Notes the end.
    pub fn end(&mut self, how: &'static str) {
        self.ended = true;
        let now = self.log.now();
        self.note(|record| {
            record.end = Some(how);
            record.ended_ms = Some(now);
        });
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if !self.ended {
            self.end("dropped");
        }
    }
}
