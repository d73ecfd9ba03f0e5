//! The migrations of the schema. `user_version` is the number of applied migrations.

use std::cmp::Ordering;

use rusqlite::{Connection, TransactionBehavior};

use super::SqliteStore;
use crate::jobs::storage::error::StoreError;

/// All migrations, in order. A released migration must not be changed.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_jobs.sql"),
    include_str!("migrations/0002_simulated.sql"),
    include_str!("migrations/0003_sessions.sql"),
    include_str!("migrations/0004_approvals.sql"),
];

/// The schema of a database.
enum Schema {
    Current,
    Older,
    Newer(i64),
    /// The database has tables of another program.
    Foreign,
}

/// Returns the newest schema version that this program supports.
fn known() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Applies the missing migrations. Several processes may do this at the same time.
pub(super) fn run(store: &SqliteStore) -> Result<(), StoreError> {
    let schema = store.retry(|connection| read_schema(connection))?;
    match schema {
        Schema::Current => Ok(()),
        Schema::Newer(found) => Err(newer(store, found)),
        Schema::Foreign => Err(StoreError::Corrupt {
            store: store.name(),
            detail: "it is the database of another program".to_owned(),
        }),
        Schema::Older => store
            .retry(apply_missing)?
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

/// Reads version and tables in one statement, because another process may be creating the tables.
fn read_schema(connection: &Connection) -> rusqlite::Result<Schema> {
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

/// Applies the missing migrations in one transaction. Returns the version if it is newer than this program supports.
fn apply_missing(connection: &mut Connection) -> rusqlite::Result<Option<i64>> {
    // The journal mode is stored in the file and cannot be changed in a transaction.
    connection.pragma_update(None, "journal_mode", "WAL")?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Exclusive)?;
    let found = version(&transaction)?;
    if found > known() {
        return Ok(Some(found));
    }
    let taken = usize::try_from(found).unwrap_or(0);
    for sql in MIGRATIONS.iter().skip(taken) {
        transaction.execute_batch(sql)?;
    }
    transaction.pragma_update(None, "user_version", known())?;
    transaction.commit()?;
    Ok(None)
}
