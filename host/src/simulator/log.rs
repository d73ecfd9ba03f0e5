//! The log of requests and of how their replies ended.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde::Serialize;

/// The most records to keep. The oldest are dropped, because a simulator can run for days.
const MAX_RECORDS: usize = 1000;

/// A request and its reply.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Record {
    /// The number of the request, from 1.
    pub number: u64,
    /// Milliseconds since the start of the simulator.
    pub at_ms: u64,
    /// The method.
    pub method: String,
    /// The path.
    pub path: String,
    /// The names of the headers. Values are not recorded, because the key is one of them.
    pub header_names: Vec<String>,
    /// Whether the request had a key.
    pub key_seen: bool,
    /// The body as JSON, or as text if it is not JSON.
    pub body: serde_json::Value,
    /// The scenario of the reply.
    pub scenario: String,
    /// Oddities that the API accepts silently, such as unknown fields.
    pub notes: Vec<String>,
    /// The status of the reply.
    pub status: u16,
    /// The number of body bytes that were passed to the connection.
    pub bytes_sent: u64,
    /// `complete`, `dropped` by the client, `reset` by the scenario, or null while the reply is running.
    pub end: Option<&'static str>,
    /// When the reply ended or its drop was noticed, in milliseconds since the start.
    pub ended_ms: Option<u64>,
}

/// The log of one simulator.
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
    /// Returns a copy of the records, oldest first.
    pub fn records(&self) -> Vec<Record> {
        self.lock().1.clone()
    }

    /// Adds a record for a new request.
    pub fn begin(self: &Arc<Self>, mut record: Record) -> RecordHandle {
        let mut records = self.lock();
        records.0 += 1;
        let number = records.0;
        record.number = number;
        record.at_ms = self.now();
        if records.1.len() == MAX_RECORDS {
            records.1.remove(0);
        }
        records.1.push(record);
        drop(records);
        RecordHandle {
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

/// The record of a running request. Dropping it before [`RecordHandle::end`] records that the client disconnected.
#[derive(Debug)]
pub struct RecordHandle {
    log: Arc<Log>,
    number: u64,
    ended: bool,
}

impl RecordHandle {
    /// Changes the record.
    pub fn note(&self, change: impl FnOnce(&mut Record)) {
        self.log.change(self.number, change);
    }

    /// Adds to the number of body bytes sent.
    pub fn sent(&self, bytes: usize) {
        self.note(|record| record.bytes_sent += bytes as u64);
    }

    /// Records the end of the reply.
    pub fn end(&mut self, how: &'static str) {
        self.ended = true;
        let now = self.log.now();
        self.note(|record| {
            record.end = Some(how);
            record.ended_ms = Some(now);
        });
    }
}

impl Drop for RecordHandle {
    fn drop(&mut self) {
        if !self.ended {
            self.end("dropped");
        }
    }
}
