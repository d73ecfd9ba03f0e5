//! The schema, grown by numbered steps. `user_version` says how many were taken.

use std::cmp::Ordering;

use rusqlite::{Connection, TransactionBehavior};

use super::SqliteStore;
use crate::jobs::storage::error::StoreError;

/// Every step, in order; a step that was released is never changed.
const STEPS: &[&str] = &[
    include_str!("migrations/0001_jobs.sql"),
    include_str!("migrations/0002_simulated.sql"),
    include_str!("migrations/0003_sessions.sql"),
];

/// What a look at the schema gave.
enum Schema {
    Current,
    Older,
    Newer(i64),
    /// Tables, but none of ours.
    Foreign,
}

/// The newest schema known here.
fn known() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// Brings the schema up to date, whichever process comes first.
pub(super) fn run(store: &SqliteStore) -> Result<(), StoreError> {
    let schema = store.retry(|connection| look(connection))?;
    match schema {
        Schema::Current => Ok(()),
        Schema::Newer(found) => Err(newer(store, found)),
        Schema::Foreign => Err(StoreError::Corrupt {
            store: store.name(),
            detail: "it is the database of another program".to_owned(),
        }),
        Schema::Older => store
            .retry(step)?
            .map_or(Ok(()), |found| Err(newer(store, found))),
    }
}

fn newer(store: &SqliteStore, found: i64) -> StoreError {
    StoreError::Newer {
        store: store.name(),
        found,
        known: known(),
    }
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// One statement, so that both are seen at the same moment: another process may be making the tables.
fn look(connection: &Connection) -> rusqlite::Result<Schema> {
    let (found, tables): (i64, bool) = connection.query_row(
        "SELECT user_version, EXISTS (SELECT 1 FROM sqlite_schema) FROM pragma_user_version",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    Ok(match found.cmp(&known()) {
        Ordering::Equal => Schema::Current,
        Ordering::Less if found == 0 && tables => Schema::Foreign,
        Ordering::Less => Schema::Older,
        Ordering::Greater => Schema::Newer(found),
    })
}

/// Takes the steps that are missing, in one transaction. Gives the version where it is newer than known.
fn step(connection: &mut Connection) -> rusqlite::Result<Option<i64>> {
    // The journal mode is kept in the file and cannot be changed inside a transaction.
    connection.pragma_update(None, "journal_mode", "WAL")?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Exclusive)?;
    let found = version(&transaction)?;
    if found > known() {
        return Ok(Some(found));
    }
    let taken = usize::try_from(found).unwrap_or(0);
    for sql in STEPS.iter().skip(taken) {
        transaction.execute_batch(sql)?;
    }
    transaction.pragma_update(None, "user_version", known())?;
    transaction.commit()?;
    Ok(None)
}
