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

mod capture;
mod change_notices;
pub mod clock;
mod error;
mod external_calls;
mod lease;
pub mod ledger;
mod model;
mod reader;
mod recovery;
mod result;
mod runner;
mod sending;
mod service;
mod sqlite;
mod state_dir;
mod stop;
mod storage;
mod store;
mod stored_request;
mod update;
mod worker;

pub use self::error::JobsError;
pub use self::external_calls::{ExternalCall, ExternalCalls};
pub use self::model::{Job, JobFault, JobId, Micros, State};
pub use self::runner::Ended;
pub use self::service::{Adopted, Call, Jobs, JobsConfig, MakeClient, Submitted, Watch};
pub use self::sqlite::SqliteStore;
pub use self::state_dir::StateDir;
pub use self::store::{
    End, Filter, Inserted, JobStore, Lookup, Marked, NewJob, Payload, Rate, Rendered, SessionStore,
    Settlement, Slot, SpendRow, StoreError, StoredSession,
};
pub use self::stored_request::Simulate;
pub use self::update::{Phase, Update};
pub use self::worker::{LateEnvironment, WorkerCommand, start_apart};
