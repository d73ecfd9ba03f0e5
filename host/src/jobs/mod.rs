//! Durable jobs. Each call has a row, a ledger entry and, on request, a capture of its raw stream. A research job
//! continues when its client disconnects or the process that started it exits. After a crash it is settled from its
//! capture.
//!
//! [`Jobs`] is the entry point for other modules. It guarantees:
//!
//! - Only the process that holds the lease of a job works on it. The kernel releases the lease when that process dies.
//!   A process that reads a job with a free lease first settles the job from its capture.
//! - End states are final. The end, the outcome, the cost and the ledger entry are written in one transaction.
//! - A call that is not marked as sent was not billed. A call that is marked as sent may have been billed.
//! - A job that was interrupted is not started again automatically.

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
    Settlement, SingleUse, Slot, SpendRow, StoredSession,
};
pub use self::storage::sqlite::SqliteStore;
pub use self::storage::{Storage, StorageOpener};
pub use self::stored_request::Simulate;
pub use self::update::{CallPhase, Update};
pub use self::worker::{LateEnvironment, WorkerCommand, WorkerLogs, start_apart};
