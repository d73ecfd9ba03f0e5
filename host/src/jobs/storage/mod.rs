//! The storage of the jobs: rows and ledger, leases, captures and change notices.
//!
//! The jobs use a [`Storage`] and do not know where it keeps its data. On one machine the rows are in a SQLite file,
//! the leases are file locks and the captures are files, all in the state folder.

pub mod bundle;
pub mod captures;
pub mod error;
pub mod folder;
pub mod leases;
pub mod memory;
pub mod notices;
pub mod rows;
pub mod sqlite;

pub use self::bundle::{Storage, StorageOpener};
