//! The rows of jobs. Each function runs in a transaction of its caller.

use rusqlite::{OptionalExtension, Row, Transaction, named_params};

use super::ledger;
use crate::answers::ResearchProgress;
use crate::jobs::clock::Millis;
use crate::jobs::model::{Job, JobFault, JobId, Micros, State};
use crate::jobs::storage::rows::{
    End, Filter, Inserted, Lookup, Marked, NewJob, Payload, Rendered, Settlement, SingleUse,
};

/// The columns of a [`Job`], in the order in which [`job_of`] reads them.
const COLUMNS: &str = "id, tool, mode, query, state, created, started, ended, sent, cancel, progress, cost, \
     reserved, capture, error_kind, error_message, note, revision, whole, simulated";

fn bad(column: usize, error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}

fn id_of(row: &Row<'_>, column: usize) -> rusqlite::Result<JobId> {
    let text: String = row.get(column)?;
    text.parse().map_err(|error| bad(column, error))
}

fn millis(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Millis>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(Millis))
}

fn job_of(row: &Row<'_>) -> rusqlite::Result<Job> {
    let state: String = row.get(4)?;
    let progress: Option<String> = row.get(10)?;
    let kind: Option<String> = row.get(14)?;
    let message: Option<String> = row.get(15)?;
    Ok(Job {
        id: id_of(row, 0)?,
        tool: row.get(1)?,
        mode: row.get(2)?,
        query: row.get(3)?,
        state: state
            .parse()
            .map_err(|error: String| bad(4, std::io::Error::other(error)))?,
        created: Millis(row.get(5)?),
        started: millis(row, 6)?,
        ended: millis(row, 7)?,
        sent: millis(row, 8)?,
        cancel: millis(row, 9)?,
        progress: progress
            .map(|text| serde_json::from_str(&text))
            .transpose()
            .map_err(|error| bad(10, error))?,
        cost: row.get::<_, Option<i64>>(11)?.map(Micros),
        reserved: Micros(row.get(12)?),
        capture: row.get::<_, Option<String>>(13)?,
        error: kind.map(|kind| JobFault::new(kind, message.unwrap_or_default())),
        note: row.get(16)?,
        revision: row.get(17)?,
        whole: row.get(18)?,
        simulated: row.get::<_, Option<bool>>(19)?.unwrap_or(false),
    })
}

/// Returns the next revision.
fn revision(tx: &Transaction<'_>) -> rusqlite::Result<i64> {
    tx.prepare_cached("UPDATE revision SET last = last + 1 RETURNING last")?
        .query_row([], |row| row.get(0))
}

fn get(tx: &Transaction<'_>, id: &JobId) -> rusqlite::Result<Option<Job>> {
    tx.prepare_cached(&format!("SELECT {COLUMNS} FROM job WHERE id = ?1"))?
        .query_row([id.as_str()], job_of)
        .optional()
}

pub(super) fn insert(
    tx: &Transaction<'_>,
    job: &NewJob,
    budget: Option<Micros>,
    now: Millis,
) -> rusqlite::Result<Inserted> {
    if job.dedupe
        && let Some(running) = find_running(tx, &job.fingerprint)?
    {
        return Ok(Inserted::Running(running));
    }
    if let Some(budget) = budget
        && !job.simulated
    {
        let (spent, reserved) = ledger::counted(tx, now.day())?;
        if spent.plus(reserved).plus(job.reserve) > budget {
            return Ok(Inserted::OverBudget { spent, reserved });
        }
    }
    if let Some(approval) = &job.approval
        && !use_up(tx, approval, now)?
    {
        return Ok(Inserted::ApprovalSpent);
    }
    let revision = revision(tx)?;
    tx.prepare_cached(
        "INSERT INTO job (id, revision, tool, mode, query, fingerprint, listed, state, created, capture, reserved, simulated)
         VALUES (:id, :revision, :tool, :mode, :query, :fingerprint, :listed, :state, :created, :capture, :reserved, :simulated)",
    )?
    .execute(named_params! {
        ":id": job.id.as_str(), ":revision": revision, ":tool": job.tool, ":mode": job.mode,
        ":query": job.query, ":fingerprint": job.fingerprint, ":listed": job.listed,
        ":state": State::Queued.as_str(), ":created": now.0, ":capture": job.capture,
        ":reserved": job.reserve.0, ":simulated": job.simulated.then_some(true),
    })?;
    tx.prepare_cached("INSERT INTO payload (id, payload) VALUES (?1, ?2)")?
        .execute((job.id.as_str(), &job.payload))?;
    ledger::reserve(
        tx,
        &job.id,
        now.day(),
        &job.tool,
        job.simulated,
        job.reserve,
    )?;
    get(tx, &job.id)?
        .map(Inserted::New)
        .ok_or(rusqlite::Error::QueryReturnedNoRows)
}

/// Uses a permission up. Returns whether it could be used.
fn use_up(tx: &Transaction<'_>, approval: &SingleUse, now: Millis) -> rusqlite::Result<bool> {
    tx.prepare_cached("DELETE FROM used_approval WHERE expires < ?1")?
        .execute([now.0])?;
    if approval.expires < now {
        return Ok(false);
    }
    let inserted = tx
        .prepare_cached("INSERT OR IGNORE INTO used_approval (id, expires) VALUES (?1, ?2)")?
        .execute((&approval.id, approval.expires.0))?;
    Ok(inserted == 1)
}

/// Returns a running job with the same fingerprint, unless its cancellation was requested.
fn find_running(tx: &Transaction<'_>, fingerprint: &str) -> rusqlite::Result<Option<Job>> {
    tx.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM job WHERE fingerprint = ?1 AND ended IS NULL AND cancel IS NULL
         ORDER BY created LIMIT 1"
    ))?
    .query_row([fingerprint], job_of)
    .optional()
}

pub(super) fn begin(tx: &Transaction<'_>, id: &JobId, now: Millis) -> rusqlite::Result<bool> {
    let revision = revision(tx)?;
    let changed = tx
        .prepare_cached(
            "UPDATE job SET state = 'running', started = ?2, revision = ?3 WHERE id = ?1 AND state = 'queued'",
        )?
        .execute((id.as_str(), now.0, revision))?;
    Ok(changed == 1)
}

pub(super) fn mark_sent(tx: &Transaction<'_>, id: &JobId, now: Millis) -> rusqlite::Result<Marked> {
    let revision = revision(tx)?;
    let changed = tx
        .prepare_cached(
            "UPDATE job SET sent = ?2, revision = ?3 WHERE id = ?1 AND ended IS NULL AND cancel IS NULL",
        )?
        .execute((id.as_str(), now.0, revision))?;
    if changed == 1 {
        return Ok(Marked::Sent);
    }
    Ok(match get(tx, id)? {
        Some(job) if job.ended.is_none() => Marked::Cancelled,
        _ => Marked::Ended,
    })
}

pub(super) fn head(tx: &Transaction<'_>, id: &JobId, head: &str) -> rusqlite::Result<()> {
    tx.prepare_cached("UPDATE payload SET head = ?2 WHERE id = ?1")?
        .execute((id.as_str(), head))?;
    Ok(())
}

pub(super) fn progress(
    tx: &Transaction<'_>,
    id: &JobId,
    progress: &ResearchProgress,
) -> rusqlite::Result<()> {
    let revision = revision(tx)?;
    tx.prepare_cached(
        "UPDATE job SET progress = ?2, revision = ?3 WHERE id = ?1 AND ended IS NULL",
    )?
    .execute((id.as_str(), json(progress), revision))?;
    Ok(())
}

fn json(progress: &ResearchProgress) -> String {
    serde_json::to_string(progress).unwrap_or_default()
}

pub(super) fn finish(
    tx: &Transaction<'_>,
    id: &JobId,
    end: &End,
    now: Millis,
) -> rusqlite::Result<bool> {
    let revision = revision(tx)?;
    let cost = match end.settlement {
        Settlement::Cost(cost) => Some(cost.0),
        Settlement::Unknown => None,
    };
    let changed = tx
        .prepare_cached(
            "UPDATE job SET state = :state, ended = :now, revision = :revision, cost = :cost,
                 progress = coalesce(:progress, progress), error_kind = :kind, error_message = :message, note = :note,
                 whole = :whole, capture = iif(:captured, capture, NULL)
             WHERE id = :id AND ended IS NULL",
        )?
        .execute(named_params! {
            ":state": end.state.as_str(), ":now": now.0, ":revision": revision, ":cost": cost,
            ":progress": end.progress.as_ref().map(json),
            ":kind": end.error.as_ref().map(|error| &error.kind),
            ":message": end.error.as_ref().map(|error| &error.message),
            ":note": end.note, ":whole": end.whole, ":captured": end.captured, ":id": id.as_str(),
        })?;
    if changed == 0 {
        return Ok(false);
    }
    if let Some(outcome) = &end.outcome {
        tx.prepare_cached(
            "INSERT INTO outcome (id, json, markdown, plain) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute((
            id.as_str(),
            &outcome.json,
            &outcome.markdown,
            &outcome.plain,
        ))?;
    }
    ledger::settle(tx, id, end.settlement)?;
    Ok(true)
}

pub(super) fn request_cancel(
    tx: &Transaction<'_>,
    id: &JobId,
    now: Millis,
) -> rusqlite::Result<bool> {
    let revision = revision(tx)?;
    let changed = tx
        .prepare_cached(
            "UPDATE job SET cancel = coalesce(cancel, ?2), revision = ?3 WHERE id = ?1 AND ended IS NULL",
        )?
        .execute((id.as_str(), now.0, revision))?;
    Ok(changed == 1)
}

pub(super) fn lookup(tx: &Transaction<'_>, id: &JobId) -> rusqlite::Result<Lookup> {
    if let Some(job) = get(tx, id)? {
        return Ok(Lookup::Found(Box::new(job)));
    }
    let removed: Option<i64> = tx
        .prepare_cached("SELECT removed FROM tombstone WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))
        .optional()?;
    Ok(removed.map_or(Lookup::Unknown, |at| Lookup::Expired(Millis(at))))
}

pub(super) fn ids_beginning_with(
    tx: &Transaction<'_>,
    text: &str,
    limit: usize,
) -> rusqlite::Result<Vec<JobId>> {
    /// Sorts after every character of an id.
    const AFTER: char = 'g';
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    tx.prepare_cached("SELECT id FROM job WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3")?
        .query_map((text, format!("{text}{AFTER}"), limit), |row| id_of(row, 0))?
        .collect()
}

pub(super) fn payload(tx: &Transaction<'_>, id: &JobId) -> rusqlite::Result<Option<Payload>> {
    tx.prepare_cached("SELECT payload, head FROM payload WHERE id = ?1")?
        .query_row([id.as_str()], |row| {
            Ok(Payload {
                payload: row.get(0)?,
                head: row.get(1)?,
            })
        })
        .optional()
}

pub(super) fn outcome(tx: &Transaction<'_>, id: &JobId) -> rusqlite::Result<Option<Rendered>> {
    tx.prepare_cached("SELECT json, markdown, plain FROM outcome WHERE id = ?1")?
        .query_row([id.as_str()], |row| {
            Ok(Rendered {
                json: row.get(0)?,
                markdown: row.get(1)?,
                plain: row.get(2)?,
            })
        })
        .optional()
}

pub(super) fn list(
    tx: &Transaction<'_>,
    filter: Filter,
    limit: usize,
) -> rusqlite::Result<Vec<Job>> {
    // Each combination has an index with this order, so no query reads more rows than the limit.
    let (condition, state) = match (filter.all, filter.state) {
        (true, None) => ("?1 = ''", ""),
        (false, None) => ("listed = 1 AND ?1 = ''", ""),
        (true, Some(state)) => ("state = ?1", state.as_str()),
        (false, Some(state)) => ("state = ?1 AND listed = 1", state.as_str()),
    };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    tx.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM job WHERE {condition} ORDER BY created DESC, id DESC LIMIT ?2"
    ))?
    .query_map((state, limit), job_of)?
    .collect()
}

pub(super) fn count_by_state(tx: &Transaction<'_>) -> rusqlite::Result<Vec<(State, u64)>> {
    tx.prepare_cached("SELECT state, count(*) FROM job GROUP BY state")?
        .query_map([], |row| {
            let state: String = row.get(0)?;
            let state = state
                .parse()
                .map_err(|error: String| bad(0, std::io::Error::other(error)))?;
            let count: i64 = row.get(1)?;
            Ok((state, u64::try_from(count).unwrap_or_default()))
        })?
        .collect()
}

/// The query names the index, because the query planner would otherwise scan all jobs in the order of their creation.
pub(super) fn active(tx: &Transaction<'_>) -> rusqlite::Result<Vec<JobId>> {
    tx.prepare_cached("SELECT id FROM job INDEXED BY job_active WHERE ended IS NULL")?
        .query_map([], |row| id_of(row, 0))?
        .collect()
}

pub(super) fn ended_before(
    tx: &Transaction<'_>,
    before: Millis,
    limit: usize,
) -> rusqlite::Result<Vec<JobId>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    tx.prepare_cached(
        "SELECT id FROM job WHERE ended IS NOT NULL AND ended < ?1 ORDER BY ended LIMIT ?2",
    )?
    .query_map((before.0, limit), |row| id_of(row, 0))?
    .collect()
}

pub(super) fn remove(tx: &Transaction<'_>, ids: &[JobId], now: Millis) -> rusqlite::Result<usize> {
    let mut removed = 0;
    for id in ids {
        let deleted = tx
            .prepare_cached("DELETE FROM job WHERE id = ?1 AND ended IS NOT NULL")?
            .execute([id.as_str()])?;
        if deleted == 0 {
            continue;
        }
        removed += deleted;
        tx.prepare_cached("DELETE FROM payload WHERE id = ?1")?
            .execute([id.as_str()])?;
        tx.prepare_cached("DELETE FROM outcome WHERE id = ?1")?
            .execute([id.as_str()])?;
        tx.prepare_cached("INSERT OR REPLACE INTO tombstone (id, removed) VALUES (?1, ?2)")?
            .execute((id.as_str(), now.0))?;
    }
    Ok(removed)
}

pub(super) fn forget(tx: &Transaction<'_>, before: Millis) -> rusqlite::Result<()> {
    tx.prepare_cached("DELETE FROM tombstone WHERE removed < ?1")?
        .execute([before.0])?;
    Ok(())
}

pub(super) fn last_revision(tx: &Transaction<'_>) -> rusqlite::Result<i64> {
    tx.prepare_cached("SELECT last FROM revision")?
        .query_row([], |row| row.get(0))
}

pub(super) fn changes(tx: &Transaction<'_>, since: i64) -> rusqlite::Result<Vec<(JobId, i64)>> {
    tx.prepare_cached("SELECT id, revision FROM job WHERE revision > ?1 ORDER BY revision")?
        .query_map([since], |row| Ok((id_of(row, 0)?, row.get(1)?)))?
        .collect()
}
