//! Compares submit, status and list with 100,000 stored jobs to an empty store. The bar is a factor of 2.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    missing_docs
)]

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use glovebox::jobs::clock::Millis;
use glovebox::jobs::{
    End, Filter, Inserted, JobId, JobStore, Micros, NewJob, Rendered, Settlement, SqliteStore,
    State,
};
use rusqlite::{Connection, ToSql, Transaction};

/// The number of jobs in the full store.
const STORED: usize = 100_000;
/// The number of measurements. The median is compared.
const ROUNDS: usize = 400;
/// The largest allowed factor.
const BAR: f64 = 2.0;

const NOW: Millis = Millis(1_780_000_000_000);

fn job(number: usize) -> NewJob {
    let research = number.is_multiple_of(3);
    NewJob {
        id: JobId::new(),
        tool: if research { "research" } else { "ask" }.to_owned(),
        mode: if research { "research" } else { "answer" }.to_owned(),
        query: format!("a question of usual length, number {number}, about nothing in particular"),
        fingerprint: format!("{number:064x}"),
        dedupe: research,
        listed: research,
        payload: "{\"body\":\"…\"}".repeat(20),
        capture: Some(format!("/state/captures/{number}.sse")),
        reserve: Micros(60_000),
        simulated: false,
        approval: None,
    }
}

fn end() -> End {
    let text = "A sentence of an answer. ".repeat(40);
    End {
        state: State::Done,
        settlement: Settlement::Cost(Micros(47_875)),
        outcome: Some(Rendered {
            json: text.clone(),
            markdown: text.clone(),
            plain: text,
        }),
        whole: true,
        captured: true,
        error: None,
        note: None,
        progress: None,
    }
}

/// Stores one job of each kind through the store, then copies them in one transaction. The store syncs each call, so
/// storing all jobs through it would take half an hour.
fn fill(path: &Path) {
    let store = SqliteStore::open(path).unwrap();
    let kinds: Vec<JobId> = (0..3)
        .map(|number| {
            let job = job(number);
            store.insert(&job, None, NOW).unwrap();
            store.finish(&job.id, &end(), NOW).unwrap();
            job.id
        })
        .collect();
    drop(store);
    let mut database = Connection::open(path).unwrap();
    let copying = database.transaction().unwrap();
    for (kind, id) in kinds.iter().enumerate() {
        for table in TABLES {
            copying
                .execute(
                    &format!(
                        "CREATE TEMP TABLE {table}_{kind} AS SELECT * FROM {table} WHERE id = ?1"
                    ),
                    [id.as_str()],
                )
                .unwrap();
        }
    }
    for number in 0..STORED {
        copy(&copying, number % kinds.len(), number);
    }
    copying
        .execute_batch(
            "UPDATE revision SET last = (SELECT max(revision) FROM job);
             UPDATE spend SET calls = (SELECT count(*) FROM ledger WHERE ledger.tool = spend.tool)",
        )
        .unwrap();
    copying.commit().unwrap();
}

/// The tables with rows of jobs.
const TABLES: [&str; 4] = ["job", "payload", "outcome", "ledger"];

/// Copies a job of a kind.
fn copy(copying: &Transaction<'_>, kind: usize, number: usize) {
    let id = JobId::new();
    let at = NOW.0 + i64::try_from(number).unwrap() * 10;
    let run = |sql: String, values: &[&dyn ToSql]| {
        copying
            .prepare_cached(&sql)
            .unwrap()
            .execute(values)
            .unwrap();
    };
    for table in TABLES {
        run(
            format!("UPDATE temp.{table}_{kind} SET id = ?1"),
            &[&id.as_str()],
        );
        if table == "job" {
            run(
                format!(
                    "UPDATE temp.job_{kind} SET fingerprint = ?1, created = ?2, ended = ?2,
                         revision = (SELECT max(revision) + 1 FROM main.job)"
                ),
                &[&format!("{number:064x}"), &at],
            );
        }
        run(
            format!("INSERT INTO main.{table} SELECT * FROM temp.{table}_{kind}"),
            &[],
        );
    }
}

/// Returns the median duration of many calls.
fn median(mut run: impl FnMut(usize)) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|round| {
            let begun = Instant::now();
            run(round);
            begun.elapsed()
        })
        .collect();
    times.sort_unstable();
    times.get(ROUNDS / 2).copied().unwrap_or_default()
}

struct Figures {
    submit: Duration,
    status: Duration,
    list: Duration,
    list_all: Duration,
}

fn measure(path: &Path) -> Figures {
    let store = SqliteStore::open(path).unwrap();
    let at = NOW.plus(10_000_000);
    let mut last = None;
    let submit = median(|round| {
        let job = job(STORED + round);
        let budget = Some(Micros(1_000_000_000_000));
        let inserted = store.insert(&job, budget, at).unwrap();
        assert!(matches!(inserted, Inserted::New(_)));
        last = Some(job.id);
    });
    let id = last.unwrap();
    let status = median(|_| {
        black_box(store.lookup(&id).unwrap());
    });
    let filter = |all, state| Filter { all, state };
    // As in the service, which settles the jobs of dead owners first.
    let list = median(|_| {
        black_box(store.active().unwrap());
        black_box(store.list(filter(false, None), 20).unwrap());
    });
    let list_all = median(|_| {
        black_box(store.list(filter(true, Some(State::Queued)), 20).unwrap());
    });
    Figures {
        submit,
        status,
        list,
        list_all,
    }
}

fn main() {
    // Use memory if there is such a folder. The latency of a disk is the same for both stores and would hide the
    // difference.
    let shm = Path::new("/dev/shm");
    let dir = if shm.is_dir() {
        tempfile::tempdir_in(shm)
    } else {
        tempfile::tempdir()
    };
    let dir = dir.unwrap();
    let (empty, full) = (dir.path().join("empty.db"), dir.path().join("full.db"));
    println!("storing {STORED} jobs");
    fill(&full);
    let (empty, full) = (measure(&empty), measure(&full));
    let rows = [
        ("submit", empty.submit, full.submit),
        ("status", empty.status, full.status),
        ("list", empty.list, full.list),
        ("list --all --state", empty.list_all, full.list_all),
    ];
    let mut passed = true;
    for (name, empty, full) in rows {
        let ratio = full.as_secs_f64() / empty.as_secs_f64();
        passed &= ratio <= BAR;
        println!("{name:<20} empty {empty:>10.1?}  full {full:>10.1?}  ratio {ratio:.2}");
    }
    assert!(passed, "more than {BAR} times an empty store");
}
