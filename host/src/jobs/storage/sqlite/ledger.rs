//! The ledger: a reservation when a call is stored, a settlement when it ends, and the sums of each day.

use rusqlite::{OptionalExtension, Transaction, named_params};

use crate::jobs::model::{JobId, Micros};
use crate::jobs::storage::rows::{Settlement, SpendRow};

/// The suffix of the tool name in the rows of simulated calls.
const SIMULATED: &str = " (simulated)";

/// Returns what counts against the budget of a day: the amount spent, with unknown costs at their reservations, and the
/// amount reserved. Simulated calls do not count.
pub(super) fn counted(tx: &Transaction<'_>, day: i64) -> rusqlite::Result<(Micros, Micros)> {
    let mut statement = tx.prepare_cached(
        "SELECT settled, unknown, open FROM spend WHERE day = ?1 AND simulated IS NULL",
    )?;
    let mut rows = statement.query([day])?;
    let (mut spent, mut open) = (Micros(0), Micros(0));
    // Add the amounts here, because the sum in SQLite fails on overflow instead of saturating.
    while let Some(row) = rows.next()? {
        spent = spent.plus(Micros(row.get(0)?)).plus(Micros(row.get(1)?));
        open = open.plus(Micros(row.get(2)?));
    }
    Ok((spent, open))
}

/// Returns the name of a tool in the daily sums. Simulated calls have their own rows, so that an older version, which
/// does not know simulated calls, settles them in the same row.
fn row_name(tool: &str, simulated: bool) -> String {
    if simulated {
        format!("{tool}{SIMULATED}")
    } else {
        tool.to_owned()
    }
}

/// Reserves an amount.
pub(super) fn reserve(
    tx: &Transaction<'_>,
    id: &JobId,
    day: i64,
    tool: &str,
    simulated: bool,
    amount: Micros,
) -> rusqlite::Result<()> {
    let tool = row_name(tool, simulated);
    let simulated = simulated.then_some(true);
    tx.prepare_cached(
        "INSERT INTO ledger (id, day, tool, reserved, status, simulated) VALUES (?1, ?2, ?3, ?4, 'open', ?5)",
    )?
    .execute((id.as_str(), day, &tool, amount.0, simulated))?;
    tx.prepare_cached(
        "INSERT INTO spend (day, tool, calls, open, simulated) VALUES (?1, ?2, 1, ?3, ?4)
         ON CONFLICT (day, tool) DO UPDATE SET calls = calls + 1, open = open + excluded.open",
    )?
    .execute((day, &tool, amount.0, simulated))?;
    Ok(())
}

/// Settles a reservation. A second settlement of the same call changes nothing.
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

/// Returns the sums since a day.
pub(super) fn spend(tx: &Transaction<'_>, since_day: i64) -> rusqlite::Result<Vec<SpendRow>> {
    tx.prepare_cached(
        "SELECT day, tool, calls, settled, open, unknown_calls, unknown, simulated FROM spend
         WHERE day >= ?1 ORDER BY day DESC, tool",
    )?
    .query_map([since_day], |row| {
        let tool: String = row.get(1)?;
        Ok(SpendRow {
            day: row.get(0)?,
            tool: tool.strip_suffix(SIMULATED).unwrap_or(&tool).to_owned(),
            simulated: row.get::<_, Option<bool>>(7)?.unwrap_or(false),
            calls: row.get(2)?,
            settled: Micros(row.get(3)?),
            open: Micros(row.get(4)?),
            unknown_calls: row.get(5)?,
            unknown: Micros(row.get(6)?),
        })
    })?
    .collect()
}

/// Removes the entries from before a day. The sums remain.
pub(super) fn forget(tx: &Transaction<'_>, before_day: i64) -> rusqlite::Result<()> {
    tx.prepare_cached("DELETE FROM ledger WHERE day < ?1 AND status <> 'open'")?
        .execute([before_day])?;
    Ok(())
}
