//! What a hundred thousand stored jobs cost: submit, status and list beside an empty store. The bar is 2.
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

/// Jobs of the full store.
const STORED: usize = 100_000;
/// Times that each thing is done; the median counts.
const ROUNDS: usize = 400;
/// What may not be passed.
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
        capture: Some(format!("/state/captures/{number}.sse").into()),
        reserve: Micros(60_000),
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
        error: None,
        note: None,
        progress: None,
    }
}

fn fill(path: &Path) {
    let store = SqliteStore::open(path).unwrap();
    for number in 0..STORED {
        let job = job(number);
        let at = NOW.plus(i64::try_from(number).unwrap() * 10);
        store.insert(&job, None, at).unwrap();
        store.finish(&job.id, &end(), at).unwrap();
    }
}

/// The median of a thing that is done many times.
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
    active: Duration,
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
    let list = median(|_| {
        black_box(store.list(filter(false, None), 20).unwrap());
    });
    let list_all = median(|_| {
        black_box(store.list(filter(true, Some(State::Queued)), 20).unwrap());
    });
    let active = median(|_| {
        black_box(store.active().unwrap());
    });
    Figures {
        submit,
        status,
        list,
        list_all,
        active,
    }
}

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let (empty, full) = (dir.path().join("empty.db"), dir.path().join("full.db"));
    println!("storing {STORED} jobs");
    fill(&full);
    let (empty, full) = (measure(&empty), measure(&full));
    let rows = [
        ("submit", empty.submit, full.submit),
        ("status", empty.status, full.status),
        ("list", empty.list, full.list),
        ("list --all --state", empty.list_all, full.list_all),
        ("who is alive", empty.active, full.active),
    ];
    let mut passed = true;
    for (name, empty, full) in rows {
        let ratio = full.as_secs_f64() / empty.as_secs_f64();
        passed &= ratio <= BAR;
        println!("{name:<20} empty {empty:>10.1?}  full {full:>10.1?}  ratio {ratio:.2}");
    }
    assert!(passed, "beyond {BAR} times an empty store");
}
