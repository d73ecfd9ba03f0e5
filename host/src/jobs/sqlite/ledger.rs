//! Money: a reservation when a call is stored, a settlement when it ends, and the sums of each day.

use rusqlite::{OptionalExtension, Transaction, named_params};

use crate::jobs::model::{JobId, Micros};
use crate::jobs::store::{Settlement, SpendRow};

/// What counts against a day's budget: known and unknown costs, and what is set aside.
pub(super) fn counted(tx: &Transaction<'_>, day: i64) -> rusqlite::Result<(Micros, Micros)> {
    tx.prepare_cached(
        "SELECT coalesce(sum(settled + unknown), 0), coalesce(sum(open), 0) FROM spend WHERE day = ?1",
    )?
    .query_row([day], |row| Ok((Micros(row.get(0)?), Micros(row.get(1)?))))
}

/// Sets an amount aside.
pub(super) fn reserve(
    tx: &Transaction<'_>,
    id: &JobId,
    day: i64,
    tool: &str,
    amount: Micros,
) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "INSERT INTO ledger (id, day, tool, reserved, status) VALUES (?1, ?2, ?3, ?4, 'open')",
    )?
    .execute((id.as_str(), day, tool, amount.0))?;
    tx.prepare_cached(
        "INSERT INTO spend (day, tool, calls, open) VALUES (?1, ?2, 1, ?3)
         ON CONFLICT (day, tool) DO UPDATE SET calls = calls + 1, open = open + excluded.open",
    )?
    .execute((day, tool, amount.0))?;
    Ok(())
}

/// Settles a reservation; a second settlement of the same call changes nothing.
pub(super) fn settle(
    tx: &Transaction<'_>,
    id: &JobId,
    settlement: Settlement,
) -> rusqlite::Result<()> {
    let entry = tx
        .prepare_cached(
            "UPDATE ledger SET status = ?2, cost = ?3 WHERE id = ?1 AND status = 'open'
             RETURNING day, tool, reserved",
        )?
        .query_row(
            match settlement {
                Settlement::Cost(cost) => (id.as_str(), "settled", Some(cost.0)),
                Settlement::Unknown => (id.as_str(), "unknown", None),
            },
            |row| {
                Ok((
                    row.get::<_, i64>(0)?,
                    row.get::<_, String>(1)?,
                    row.get::<_, i64>(2)?,
                ))
            },
        )
        .optional()?;
    let Some((day, tool, reserved)) = entry else {
        return Ok(());
    };
    let (settled, unknown_calls, unknown) = match settlement {
        Settlement::Cost(cost) => (cost.0, 0, 0),
        Settlement::Unknown => (0, 1, reserved),
    };
    tx.prepare_cached(
        "UPDATE spend SET open = open - :reserved, settled = settled + :settled,
             unknown_calls = unknown_calls + :calls, unknown = unknown + :unknown
         WHERE day = :day AND tool = :tool",
    )?
    .execute(named_params! {
        ":reserved": reserved, ":settled": settled, ":calls": unknown_calls,
        ":unknown": unknown, ":day": day, ":tool": tool,
    })?;
    Ok(())
}

/// The sums since a day.
pub(super) fn spend(tx: &Transaction<'_>, since_day: i64) -> rusqlite::Result<Vec<SpendRow>> {
    tx.prepare_cached(
        "SELECT day, tool, calls, settled, open, unknown_calls, unknown FROM spend
         WHERE day >= ?1 ORDER BY day DESC, tool",
    )?
    .query_map([since_day], |row| {
        Ok(SpendRow {
            day: row.get(0)?,
            tool: row.get(1)?,
            calls: row.get(2)?,
            settled: Micros(row.get(3)?),
            open: Micros(row.get(4)?),
            unknown_calls: row.get(5)?,
            unknown: Micros(row.get(6)?),
        })
    })?
    .collect()
}

/// Drops entries of days before this one; the sums stay.
pub(super) fn forget(tx: &Transaction<'_>, before_day: i64) -> rusqlite::Result<()> {
    tx.prepare_cached("DELETE FROM ledger WHERE day < ?1 AND status <> 'open'")?
        .execute([before_day])?;
    Ok(())
}
