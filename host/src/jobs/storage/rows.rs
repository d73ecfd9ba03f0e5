//! The interface of a store of jobs. SQLite implements it. Each method is one transaction and does not depend on how
//! the data is stored, so another database, such as PostgreSQL, can implement it as well.
//!
//! The methods block for less than a millisecond. Async callers run them on a thread for blocking work.

use crate::answers::ResearchProgress;

use super::error::StoreError;
use crate::jobs::clock::Millis;
use crate::jobs::model::{Job, JobFault, JobId, Micros, State};

/// A permission that can be used once, until some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SingleUse {
    /// Its id, which no other has.
    pub id: String,
    /// Until when it can be used.
    pub expires: Millis,
}

/// A job to store.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// The id.
    pub id: JobId,
    /// The name of the tool that makes the call.
    pub tool: String,
    /// The name of the mode.
    pub mode: String,
    /// The question.
    pub query: String,
    /// A value that is equal for calls with the same request.
    pub fingerprint: String,
    /// Whether a running job with the same fingerprint is returned instead of a new job.
    pub dedupe: bool,
    /// Whether the job is listed without [`Filter::all`].
    pub listed: bool,
    /// The data to run the job, in the runner's own format.
    pub payload: String,
    /// The location of the capture, if one is kept.
    pub capture: Option<String>,
    /// The amount to reserve.
    pub reserve: Micros,
    /// Whether the call goes to the simulator. Simulated calls do not count in the budget and in sums of real money.
    pub simulated: bool,
    /// A permission that is used up when the reservation is made, where the call needs one.
    pub approval: Option<SingleUse>,
}

/// The result of inserting a job.
#[derive(Clone, Debug)]
pub enum Inserted {
    /// The job was stored and its cost reserved.
    New(Job),
    /// A job with the same fingerprint is running.
    Running(Job),
    /// The permission was used before, or is too old. Nothing was stored.
    ApprovalSpent,
    /// The call could exceed the budget of the day. Nothing was stored.
    OverBudget {
        /// The amount spent today. Unknown costs count as their reservations.
        spent: Micros,
        /// The amount reserved by running calls.
        reserved: Micros,
    },
}

/// The data to run or recover a job.
#[derive(Clone, Debug)]
pub struct Payload {
    /// The data given with [`NewJob`].
    pub payload: String,
    /// The headers of the reply, if one began, in the runner's own format.
    pub head: Option<String>,
}

/// The settlement of a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// The known cost.
    Cost(Micros),
    /// The cost is unknown and counts as the reservation.
    Unknown,
}

/// An outcome in all stored forms, as written by the component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The outcome as JSON.
    pub json: String,
    /// The outcome as Markdown.
    pub markdown: String,
    /// The outcome as plain text.
    pub plain: String,
}

/// The end of a job.
#[derive(Clone, Debug)]
pub struct End {
    /// The end state.
    pub state: State,
    /// The settlement of the reservation.
    pub settlement: Settlement,
    /// The outcome, complete or partial.
    pub outcome: Option<Rendered>,
    /// Whether the outcome is complete and not truncated.
    pub whole: bool,
    /// Whether there is a capture. It is created when a reply begins.
    pub captured: bool,
    /// The reason why the job did not complete.
    pub error: Option<JobFault>,
    /// A note on the result.
    pub note: Option<String>,
    /// The last progress, if it was not stored before.
    pub progress: Option<ResearchProgress>,
}

/// The result of looking up an id.
#[derive(Clone, Debug)]
pub enum Lookup {
    /// The job.
    Found(Box<Job>),
    /// The job was removed at this time.
    Expired(Millis),
    /// The id was never stored, or its mark was removed.
    Unknown,
}

/// Selects the jobs of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Includes jobs that are not listed by default.
    pub all: bool,
    /// Includes only jobs in this state.
    pub state: Option<State>,
}

/// The amounts of one tool on one day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpendRow {
    /// The UTC day, counted from the epoch.
    pub day: i64,
    /// The name of the tool.
    pub tool: String,
    /// Whether these calls were simulated and cost no real money.
    pub simulated: bool,
    /// The number of calls that were reserved on that day.
    pub calls: i64,
    /// The sum of the known costs.
    pub settled: Micros,
    /// The amount reserved by calls that have not ended.
    pub open: Micros,
    /// The number of calls that ended with an unknown cost.
    pub unknown_calls: i64,
    /// The sum of the reservations of these calls.
    pub unknown: Micros,
}

/// The result of marking a call as sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marked {
    /// The call is marked. The request may be sent.
    Sent,
    /// The job was cancelled. The request must not be sent.
    Cancelled,
    /// The job has ended or was removed. The request must not be sent.
    Ended,
}

/// A rate limit: at most `count` requests in any window of `window_ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// The number of requests.
    pub count: u32,
    /// The length of the window in milliseconds.
    pub window_ms: i64,
}

/// The result of taking a slot of the limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// The slot begins at this time.
    At(Millis),
    /// The next slot begins at this time, which is later than the caller can wait. No slot was taken.
    TooLate(Millis),
}

/// A store of jobs, shared by all processes of a user.
pub trait JobStore: SessionStore + Send + Sync + std::fmt::Debug {
    /// Returns the secret for hashes of values that must not be readable from the store. It is the same for all
    /// processes that share the store.
    ///
    /// # Errors
    /// If it can neither be read nor created.
    fn secret(&self) -> Result<Vec<u8>, StoreError>;

    /// Checks that the store is still where other processes find it. [`JobStore::insert`], [`JobStore::slot`] and
    /// [`JobStore::mark_sent`] check it as well, because other processes would not see amounts that are spent after a
    /// move.
    ///
    /// # Errors
    /// [`StoreError::Moved`] if the store was moved, replaced or removed since it was opened.
    fn in_place(&self) -> Result<(), StoreError>;

    /// Stores a job as `queued` and reserves its cost, unless the same job is running or the cost could exceed the
    /// budget. All in one transaction.
    ///
    /// # Errors
    /// If the store cannot be used.
    fn insert(
        &self,
        job: &NewJob,
        budget: Option<Micros>,
        now: Millis,
    ) -> Result<Inserted, StoreError>;

    /// Changes the state from `queued` to `running`. Returns false if the job was not queued.
    ///
    /// # Errors
    /// If the store cannot be used.
    fn begin(&self, id: &JobId, now: Millis) -> Result<bool, StoreError>;

    /// Marks a request durably as sent, just before it is sent, unless the job has ended or was cancelled. All in one
    /// transaction.
    ///
    /// # Errors
    /// If the store cannot be used.
    fn mark_sent(&self, id: &JobId, now: Millis) -> Result<Marked, StoreError>;

    /// Stores the headers of the reply.
    ///
    /// # Errors
    /// If the store cannot be used.
    fn head(&self, id: &JobId, head: &str) -> Result<(), StoreError>;

    /// Stores the last progress of a running job.
    ///
    /// # Errors
    /// If the store cannot be used.
    fn progress(&self, id: &JobId, progress: &ResearchProgress) -> Result<(), StoreError>;

    /// Ends a job: stores its state, outcome and cost and settles the ledger, in one transaction. Returns false if the
    /// job has already ended.
    ///
    /// # Errors
    /// If the store cannot be used.
    fn finish(&self, id: &JobId, end: &End, now: Millis) -> Result<bool, StoreError>;

    /// Stores a request to cancel a job. Only the first request is stored. Returns false if the job has ended.
    ///
    /// # Errors
    /// If the store cannot be used.
    fn request_cancel(&self, id: &JobId, now: Millis) -> Result<bool, StoreError>;

    /// Looks up a job.
    ///
    /// # Errors
    /// If the store cannot be used.
    fn lookup(&self, id: &JobId) -> Result<Lookup, StoreError>;

    /// Returns ids that begin with a text of hexadecimal digits and hyphens, so many at most.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn ids_beginning_with(&self, text: &str, limit: usize) -> Result<Vec<JobId>, StoreError>;

    /// Returns the data to run a job.
    ///
    /// # Errors
    /// If the store cannot be used.
    fn payload(&self, id: &JobId) -> Result<Option<Payload>, StoreError>;

    /// Returns the outcome of a job, if there is one.
    ///
    /// # Errors
    /// If the store cannot be used.
    fn outcome(&self, id: &JobId) -> Result<Option<Rendered>, StoreError>;

    /// Returns at most `limit` jobs, newest first.
    ///
    /// # Errors
    /// If the store cannot be used.
    fn list(&self, filter: Filter, limit: usize) -> Result<Vec<Job>, StoreError>;

    /// Returns how many jobs of each state are stored; a state without jobs is left out.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn count_by_state(&self) -> Result<Vec<(State, u64)>, StoreError>;

    /// Returns the jobs that have not ended.
    ///
    /// # Errors
    /// If the store cannot be used.
    fn active(&self) -> Result<Vec<JobId>, StoreError>;

    /// Returns at most `limit` jobs that ended before a time, oldest first.
    ///
    /// # Errors
    /// If the store cannot be used.
    fn ended_before(&self, before: Millis, limit: usize) -> Result<Vec<JobId>, StoreError>;

    /// Removes those of the jobs that have ended, and marks their ids as removed. Returns how many jobs were removed.
    ///
    /// # Errors
    /// If the store cannot be used.
    fn remove(&self, ids: &[JobId], now: Millis) -> Result<usize, StoreError>;

    /// Removes the marks of jobs that were removed before `marks`, and ledger entries from before the day of `ledger`.
    ///
    /// # Errors
    /// If the store cannot be used.
    fn forget(&self, marks: Millis, ledger: Millis) -> Result<(), StoreError>;

    /// Returns the amounts since a day, by day and tool.
    ///
    /// # Errors
    /// If the store cannot be used.
    fn spend(&self, since_day: i64) -> Result<Vec<SpendRow>, StoreError>;

    /// Takes the next slot of the limiter for a job, in the order of the calls. A future slot whose job has ended is
    /// reused first. No slot later than `latest` is taken.
    ///
    /// # Errors
    /// If the store cannot be used.
    fn slot(&self, id: &JobId, rate: Rate, now: Millis, latest: Millis)
    -> Result<Slot, StoreError>;

    /// Returns the last revision.
    ///
    /// # Errors
    /// If the store cannot be used.
    fn revision(&self) -> Result<i64, StoreError>;

    /// Returns the jobs that changed after a revision, with their revisions, in order. This is fast if nothing changed.
    ///
    /// # Errors
    /// If the store cannot be used.
    fn changes(&self, since: i64) -> Result<Vec<(JobId, i64)>, StoreError>;
}

/// A stored MCP session over HTTP. A restarted server continues the session, and the client does not notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSession {
    /// The hash of the session id, so that a reader of the store cannot use the session.
    pub key: String,
    /// The client that may use the session, in the transport's own format.
    pub owner: String,
    /// The parameters of `initialize` as JSON, with the negotiated version.
    pub initialize: String,
    /// Requests, as JSON, that restore the state of the session in a new server: subscriptions and log level.
    pub replay: Vec<String>,
}

/// A store of MCP sessions over HTTP.
pub trait SessionStore: Send + Sync {
    /// Stores a session, or replaces its `replay`.
    ///
    /// # Errors
    /// If the store cannot be used.
    fn put_session(&self, session: &StoredSession, now: Millis) -> Result<(), StoreError>;

    /// Returns a session if it was used since a time.
    ///
    /// # Errors
    /// If the store cannot be used.
    fn session(&self, key: &str, used_since: Millis) -> Result<Option<StoredSession>, StoreError>;

    /// Sets the time of last use of sessions.
    ///
    /// # Errors
    /// If the store cannot be used.
    fn touch_sessions(&self, keys: &[String], now: Millis) -> Result<(), StoreError>;

    /// Removes a session. Returns whether it existed.
    ///
    /// # Errors
    /// If the store cannot be used.
    fn remove_session(&self, key: &str) -> Result<bool, StoreError>;

    /// Removes the sessions that were last used before a time. Returns how many were removed.
    ///
    /// # Errors
    /// If the store cannot be used.
    fn expire_sessions(&self, used_before: Millis) -> Result<usize, StoreError>;
}
