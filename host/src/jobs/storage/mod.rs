//! Where jobs are kept: rows and ledger, leases, captures and change notices, in one bundle.
//!
//! [`Storage`] is passed to the jobs, which know nothing else of where things are kept. On one machine the rows are a SQLite
//! file, the leases are file locks and the captures are files, all in the state folder.

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
