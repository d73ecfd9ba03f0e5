//! The schema, grown by numbered steps. `user_version` says how many were taken.

use rusqlite::{Connection, TransactionBehavior};

use super::{SqliteStore, StoreError};

/// Every step, in order; a step that was released is never changed.
const STEPS: &[&str] = &[include_str!("migrations/0001_jobs.sql")];

/// What a look at the schema gave.
enum Schema {
    Current,
    Older,
    Newer(i64),
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
        Schema::Older => store
            .retry(step)?
            .map_or(Ok(()), |found| Err(newer(store, found))),
    }
}

fn newer(store: &SqliteStore, found: i64) -> StoreError {
    StoreError::Newer {
        path: store.path.clone(),
        found,
        known: known(),
    }
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn look(connection: &Connection) -> rusqlite::Result<Schema> {
    let found = version(connection)?;
    Ok(match found.cmp(&known()) {
        std::cmp::Ordering::Equal => Schema::Current,
        std::cmp::Ordering::Less => Schema::Older,
        std::cmp::Ordering::Greater => Schema::Newer(found),
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
