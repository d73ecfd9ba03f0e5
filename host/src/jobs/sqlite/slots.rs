//! The limiter's clock: slot i is at `max(now, slot[i - count] + window)`, in the order of asking, whichever
//! process asks.

use rusqlite::{OptionalExtension, Transaction};

use crate::jobs::clock::Millis;
use crate::jobs::store::{Rate, Slot};

/// A last question so far in the future means that the clock was set back. What was given before counts no
/// more then, or all callers would wait for as long as the clock went back.
const CLOCK_SET_BACK_MS: i64 = 5_000;

/// Takes the next slot, unless it is later than the caller can wait.
pub(super) fn take(
    tx: &Transaction<'_>,
    rate: Rate,
    now: Millis,
    latest: Millis,
) -> rusqlite::Result<Slot> {
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
    tx.prepare_cached("INSERT INTO slot (number, at, asked) VALUES (?1, ?2, ?3)")?
        .execute((number, at, now.0))?;
    tx.prepare_cached("DELETE FROM slot WHERE number <= ?1")?
        .execute([number - count])?;
    Ok(Slot::At(Millis(at)))
}
