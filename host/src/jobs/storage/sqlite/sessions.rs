//! The HTTP sessions in SQLite.

use rusqlite::{OptionalExtension as _, Transaction};

use super::{Durability, SqliteStore};
use crate::jobs::clock::Millis;
use crate::jobs::storage::error::StoreError;
use crate::jobs::storage::rows::{SessionStore, StoredSession};

impl SessionStore for SqliteStore {
    fn put_session(&self, session: &StoredSession, now: Millis) -> Result<(), StoreError> {
        // Only this program writes the list, so it can always be serialized.
        let replay = serde_json::to_string(&session.replay).unwrap_or_default();
        self.write(Durability::Lazy, |tx| {
            tx.prepare_cached(
                "INSERT INTO http_session (key, owner, initialize, replay, used) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (key) DO UPDATE SET replay = excluded.replay, used = excluded.used",
            )?
            .execute((
                &session.key,
                &session.owner,
                &session.initialize,
                &replay,
                now.0,
            ))?;
            Ok(())
        })
    }

    fn session(&self, key: &str, used_since: Millis) -> Result<Option<StoredSession>, StoreError> {
        self.read(|tx| find(tx, key, used_since))
    }

    fn touch_sessions(&self, keys: &[String], now: Millis) -> Result<(), StoreError> {
        self.write(Durability::Lazy, |tx| {
            let mut touch =
                tx.prepare_cached("UPDATE http_session SET used = ?2 WHERE key = ?1")?;
            for key in keys {
                touch.execute((key, now.0))?;
            }
            Ok(())
        })
    }

    fn remove_session(&self, key: &str) -> Result<bool, StoreError> {
        self.write(Durability::Lazy, |tx| {
            let removed = tx
                .prepare_cached("DELETE FROM http_session WHERE key = ?1")?
                .execute([key])?;
            Ok(removed > 0)
        })
    }

    fn expire_sessions(&self, used_before: Millis) -> Result<usize, StoreError> {
        self.write(Durability::Lazy, |tx| {
            tx.prepare_cached("DELETE FROM http_session WHERE used < ?1")?
                .execute([used_before.0])
        })
    }
}

fn find(
    tx: &Transaction<'_>,
    key: &str,
    used_since: Millis,
) -> rusqlite::Result<Option<StoredSession>> {
    tx.prepare_cached(
        "SELECT owner, initialize, replay FROM http_session WHERE key = ?1 AND used >= ?2",
    )?
    .query_row((key, used_since.0), |row| {
        let replay: String = row.get(2)?;
        Ok(StoredSession {
            key: key.to_owned(),
            owner: row.get(0)?,
            initialize: row.get(1)?,
            replay: serde_json::from_str(&replay).unwrap_or_default(),
        })
    })
    .optional()
}
