//! What a store of jobs must do. SQLite is the one there is; another for many machines (PostgreSQL, say) can
//! stand beside it, since every method is one transaction and says nothing of how it is kept.
//!
//! The methods are plain blocking calls of well under a millisecond; callers on an async runtime move them to
//! a blocking thread.

use crate::answers::ResearchProgress;

use super::error::StoreError;
use crate::jobs::clock::Millis;
use crate::jobs::model::{Job, JobFault, JobId, Micros, State};

/// A job to be stored.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// Its id.
    pub id: JobId,
    /// The tool that asks.
    pub tool: String,
    /// The name of the mode.
    pub mode: String,
    /// The question, for people.
    pub query: String,
    /// Equal for calls that ask for the very same thing.
    pub fingerprint: String,
    /// Whether a running job with the same fingerprint takes its place.
    pub dedupe: bool,
    /// Whether lists show it without being asked for everything.
    pub listed: bool,
    /// What an owner needs to carry it out, in words of the runner's own.
    pub payload: String,
    /// Where its raw stream will be, if it is kept.
    pub capture: Option<String>,
    /// What is set aside for it.
    pub reserve: Micros,
    /// Whether the simulator takes the upstream's place: then it counts in no budget and in no sum of real money.
    pub simulated: bool,
}

/// What became of an attempt to store a job.
#[derive(Clone, Debug)]
pub enum Inserted {
    /// Stored, and its reservation made.
    New(Job),
    /// The same is running already.
    Running(Job),
    /// It could pass the day's budget. Nothing was stored.
    OverBudget {
        /// Spent or counted today.
        spent: Micros,
        /// Set aside for what runs now.
        reserved: Micros,
    },
}

/// What an owner needs to carry out a job, or to recover it.
#[derive(Clone, Debug)]
pub struct Payload {
    /// As it was given with [`NewJob`].
    pub payload: String,
    /// The head of the reply, once one came, in words of the runner's own.
    pub head: Option<String>,
}

/// How a job's cost is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// This much.
    Cost(Micros),
    /// Unknown: counted at the reservation.
    Unknown,
}

/// An outcome in every form that is kept, all written by the component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// JSON.
    pub json: String,
    /// Markdown.
    pub markdown: String,
    /// Plain text.
    pub plain: String,
}

/// An end.
#[derive(Clone, Debug)]
pub struct End {
    /// One of the ends.
    pub state: State,
    /// What it cost.
    pub settlement: Settlement,
    /// The outcome, whole or partial.
    pub outcome: Option<Rendered>,
    /// Whether the outcome is complete and not cut short.
    pub whole: bool,
    /// Whether there is a capture: none is made before a reply begins.
    pub captured: bool,
    /// Why it did not end well.
    pub error: Option<JobFault>,
    /// Something to know beside the result.
    pub note: Option<String>,
    /// The last progress frame, if one came since the last that was stored.
    pub progress: Option<ResearchProgress>,
}

/// What is known of an id.
#[derive(Clone, Debug)]
pub enum Lookup {
    /// The job.
    Found(Box<Job>),
    /// It was there and was removed at this time.
    Expired(Millis),
    /// Never heard of, or forgotten.
    Unknown,
}

/// Which jobs a list shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Every call, not only those that are listed.
    pub all: bool,
    /// Only those in this state.
    pub state: Option<State>,
}

/// The money of one tool on one day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpendRow {
    /// The UTC day, from the epoch.
    pub day: i64,
    /// The tool.
    pub tool: String,
    /// Whether these calls were simulated: no real money.
    pub simulated: bool,
    /// Calls that were reserved that day.
    pub calls: i64,
    /// Known costs.
    pub settled: Micros,
    /// Set aside for calls that have not ended.
    pub open: Micros,
    /// Calls that ended with their cost unknown.
    pub unknown_calls: i64,
    /// What these count as: their reservations.
    pub unknown: Micros,
}

/// What became of an attempt to mark a call as sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marked {
    /// It is marked: the request may leave.
    Sent,
    /// A cancellation is stored: nothing may be sent.
    Cancelled,
    /// The job has ended or is gone: nothing may be sent.
    Ended,
}

/// How often something may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// So many times…
    pub count: u32,
    /// …in any window of so many milliseconds.
    pub window_ms: i64,
}

/// The moment at which a caller may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Then.
    At(Millis),
    /// Not before the caller's limit; nothing was taken.
    TooLate(Millis),
}

/// A store of jobs, shared by all processes of a user.
pub trait JobStore: SessionStore + Send + Sync + std::fmt::Debug {
    /// Returns the secret that keys hashes of what must not be readable from the store. It is the same for everybody who
    /// shares the store.
    ///
    /// # Errors
    /// When it can neither be read nor made.
    fn secret(&self) -> Result<Vec<u8>, StoreError>;

    /// Checks that this is still the store that other processes find. [`JobStore::insert`], [`JobStore::slot`] and
    /// [`JobStore::mark_sent`] check it as well: what is spent after a move would count for nobody else.
    ///
    /// # Errors
    /// [`StoreError::Moved`] where the store was moved, replaced or removed since it was storage.
    fn in_place(&self) -> Result<(), StoreError>;

    /// Stores a job as `queued` and makes its reservation, unless the same runs already or it could pass the
    /// budget; all in one transaction.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn insert(
        &self,
        job: &NewJob,
        budget: Option<Micros>,
        now: Millis,
    ) -> Result<Inserted, StoreError>;

    /// From `queued` to `running`. False where it was not queued.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn begin(&self, id: &JobId, now: Millis) -> Result<bool, StoreError>;

    /// Marks, durably, that the request is about to leave, unless the job has ended or was cancelled; all in one
    /// transaction.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn mark_sent(&self, id: &JobId, now: Millis) -> Result<Marked, StoreError>;

    /// Keeps the head of the reply.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn head(&self, id: &JobId, head: &str) -> Result<(), StoreError>;

    /// Keeps the last progress frame of a running job.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn progress(&self, id: &JobId, progress: &ResearchProgress) -> Result<(), StoreError>;

    /// Ends a job that has not ended: state, outcome, cost and ledger in one transaction. False where it has.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn finish(&self, id: &JobId, end: &End, now: Millis) -> Result<bool, StoreError>;

    /// Asks the owner of a job to stop. The first to ask is kept; false where the job has ended.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn request_cancel(&self, id: &JobId, now: Millis) -> Result<bool, StoreError>;

    /// What is known of an id.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn lookup(&self, id: &JobId) -> Result<Lookup, StoreError>;

    /// What an owner needs to carry the job out.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn payload(&self, id: &JobId) -> Result<Option<Payload>, StoreError>;

    /// The outcome, once there is one.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn outcome(&self, id: &JobId) -> Result<Option<Rendered>, StoreError>;

    /// The newest jobs first.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn list(&self, filter: Filter, limit: usize) -> Result<Vec<Job>, StoreError>;

    /// Returns how many jobs of each state are stored; a state without jobs is left out.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn count_by_state(&self) -> Result<Vec<(State, u64)>, StoreError>;

    /// Those that have not ended.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn active(&self) -> Result<Vec<JobId>, StoreError>;

    /// Those that ended before a moment; the oldest first.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn ended_before(&self, before: Millis, limit: usize) -> Result<Vec<JobId>, StoreError>;

    /// Removes ended jobs, leaving a mark that they were there. Those that have not ended stay. Gives how many went.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn remove(&self, ids: &[JobId], now: Millis) -> Result<usize, StoreError>;

    /// Forgets marks of removed jobs and ledger entries that are older than these moments.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn forget(&self, marks: Millis, ledger: Millis) -> Result<(), StoreError>;

    /// The money since a day, by day and tool.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn spend(&self, since_day: i64) -> Result<Vec<SpendRow>, StoreError>;

    /// Takes the next free slot of a limiter for a job, in order of asking. A slot that is still to come, of a job that has
    /// ended meanwhile, is given away first.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn slot(&self, id: &JobId, rate: Rate, now: Millis, latest: Millis)
    -> Result<Slot, StoreError>;

    /// The last revision.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn revision(&self) -> Result<i64, StoreError>;

    /// The ids and revisions that changed after a revision, oldest first. Cheap where nothing did.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn changes(&self, since: i64) -> Result<Vec<(JobId, i64)>, StoreError>;
}

/// A stored MCP session over HTTP, from which a restarted server goes on: a client that never noticed goes on too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSession {
    /// A digest of the session's id: whoever reads the store cannot use the session.
    pub key: String,
    /// Who may use it, in the transport's words.
    pub owner: String,
    /// The parameters of `initialize` as JSON, with the version that was agreed on.
    pub initialize: String,
    /// The requests as JSON that bring a new server into the session's state: its subscriptions, its log level.
    pub replay: Vec<String>,
}

/// A store of MCP sessions over HTTP.
pub trait SessionStore: Send + Sync {
    /// Stores a session, or what changed in it.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn put_session(&self, session: &StoredSession, now: Millis) -> Result<(), StoreError>;

    /// Returns a session that was used since a moment.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn session(&self, key: &str, used_since: Millis) -> Result<Option<StoredSession>, StoreError>;

    /// Notes that sessions are in use.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn touch_sessions(&self, keys: &[String], now: Millis) -> Result<(), StoreError>;

    /// Removes a session. Returns whether there was one.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn remove_session(&self, key: &str) -> Result<bool, StoreError>;

    /// Removes the sessions that were last used before a moment.
    ///
    /// # Errors
    /// When the store cannot be used.
    fn expire_sessions(&self, used_before: Millis) -> Result<usize, StoreError>;
}
