//! Jobs: every call has a row, a ledger entry and, if wanted, a capture of its raw stream; a research outlives
//! the client that asked for it, the process that began it, and a crash.
//!
//! [`Jobs`] is the one thing that others talk to. Its contract:
//!
//! - A job is worked on by whoever holds its lease, a lock that the kernel takes back when its holder dies.
//!   Whoever reads a job whose lease is free settles it first, by what its capture holds.
//! - Ends are final. The end, the outcome, the cost and the ledger entry are one transaction.
//! - A call that is not marked as sent cannot have been billed; one that is, may have been.
//! - Nothing is ever sent again by itself.

mod blocking;
mod capture_writer;
pub mod clock;
mod error;
mod external_calls;
pub mod ledger;
mod model;
mod recovery;
mod reply_reader;
mod result;
mod runner;
mod sending;
mod service;
mod stop;
pub mod storage;
mod stored_request;
mod update;
mod worker;

pub use self::error::JobsError;
pub use self::external_calls::{ExternalCall, ExternalCalls};
pub use self::model::{INCOMPLETE, Job, JobFault, JobId, Micros, State};
pub use self::runner::Ended;
pub use self::service::{Adopted, Call, Jobs, JobsConfig, MakeClient, Submitted, Watch};
pub use self::storage::error::StoreError;
pub use self::storage::folder::state_dir::StateDir;
pub use self::storage::rows::{
    End, Filter, Inserted, JobStore, Lookup, Marked, NewJob, Payload, Rate, Rendered, SessionStore,
    Settlement, Slot, SpendRow, StoredSession,
};
pub use self::storage::sqlite::SqliteStore;
pub use self::storage::{Storage, StorageOpener};
pub use self::stored_request::Simulate;
pub use self::update::{Phase, Update};
pub use self::worker::{LateEnvironment, WorkerCommand, WorkerLogs, start_apart};
