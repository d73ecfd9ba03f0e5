//! The limiter's clock: slot i is at `max(now, slot[i - count] + window)`, in the order of asking, whichever
//! process asks. A caller that ends while it waits leaves its slot to the next who asks.

use rusqlite::{OptionalExtension, Transaction};

use crate::jobs::clock::Millis;
use crate::jobs::model::JobId;
use crate::jobs::storage::rows::{Rate, Slot};

/// A last question so far in the future means that the clock was set back. What was given before counts no
/// more then, or all callers would wait for as long as the clock went back.
const CLOCK_SET_BACK_MS: i64 = 5_000;

/// Takes the next slot, unless it is later than the caller can wait.
pub(super) fn take(
    tx: &Transaction<'_>,
    id: &JobId,
    rate: Rate,
    now: Millis,
    latest: Millis,
) -> rusqlite::Result<Slot> {
    if let Some(at) = left_over(tx, id, now, latest)? {
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
    // The one just before keeps the order where there is no earlier one of the same window.
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
    // Those that are still to come stay, for they may be left over.
    tx.prepare_cached("DELETE FROM slot WHERE number <= ?1 AND at <= ?2")?
        .execute([number - count, now.0])?;
    Ok(Slot::At(Millis(at)))
}

/// Takes over the first slot to come whose job has ended or is gone: it cannot be used any more.
fn left_over(
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
