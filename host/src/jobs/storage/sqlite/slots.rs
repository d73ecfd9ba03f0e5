//! The slots of the rate limiter. Slot i begins at `max(now, slot[i - count] + window)`. Slots are taken in the order
//! of the calls from all processes. The slot of a job that ended while it waited is reused.

use rusqlite::{OptionalExtension, Transaction};

use crate::jobs::clock::Millis;
use crate::jobs::model::JobId;
use crate::jobs::storage::rows::{Rate, Slot};

/// If the last call is later than this in the future, the clock was set back. Earlier slots are then ignored, because
/// calls would otherwise wait for as long as the clock was set back.
const CLOCK_SET_BACK_MS: i64 = 5_000;

/// Takes the next slot, unless it is later than `latest`.
pub(super) fn take(
    tx: &Transaction<'_>,
    id: &JobId,
    rate: Rate,
    now: Millis,
    latest: Millis,
) -> rusqlite::Result<Slot> {
    if let Some(at) = reuse_abandoned(tx, id, now, latest)? {
        return Ok(Slot::At(at));
    }
    let last: Option<(i64, i64)> = tx
        .prepare_cached("SELECT number, asked FROM slot ORDER BY number DESC LIMIT 1")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let mut number = 1;
    if let Some((last, asked)) = last {
        if asked > now.0.saturating_add(CLOCK_SET_BACK_MS) {
            tx.execute("DELETE FROM slot", [])?;
        }
        number = last + 1;
    }
    let count = i64::from(rate.count.max(1));
    let earlier: Option<i64> = tx
        .prepare_cached("SELECT at FROM slot WHERE number = ?1")?
        .query_row([number - count], |row| row.get(0))
        .optional()?;
    // The previous slot, to keep the order if there is no slot in the same window.
    let before: Option<i64> = tx
        .prepare_cached("SELECT at FROM slot WHERE number = ?1")?
        .query_row([number - 1], |row| row.get(0))
        .optional()?;
    let free = earlier.map_or(i64::MIN, |at| at.saturating_add(rate.window_ms));
    let at = now.0.max(free).max(before.unwrap_or(i64::MIN));
    if at > latest.0 {
        return Ok(Slot::TooLate(Millis(at)));
    }
    tx.prepare_cached("INSERT INTO slot (number, at, asked, job) VALUES (?1, ?2, ?3, ?4)")?
        .execute((number, at, now.0, id.as_str()))?;
    // Keep future slots, because they may be reused.
    tx.prepare_cached("DELETE FROM slot WHERE number <= ?1 AND at <= ?2")?
        .execute([number - count, now.0])?;
    Ok(Slot::At(Millis(at)))
}

/// Takes over the first future slot whose job has ended or was removed.
fn reuse_abandoned(
    tx: &Transaction<'_>,
    id: &JobId,
    now: Millis,
    latest: Millis,
) -> rusqlite::Result<Option<Millis>> {
    tx.prepare_cached(
        "UPDATE slot SET job = ?1 WHERE number = (
             SELECT number FROM slot
             WHERE at > ?2 AND at <= ?3 AND job IS NOT NULL
                 AND NOT EXISTS (SELECT 1 FROM job WHERE job.id = slot.job AND ended IS NULL)
             ORDER BY number LIMIT 1)
         RETURNING at",
    )?
    .query_row((id.as_str(), now.0, latest.0), |row| row.get(0))
    .optional()
    .map(|at| at.map(Millis))
}
