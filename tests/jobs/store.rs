//! The store: concurrent use of one file, the ledger, the slots of the limiter, retention.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use glovebox::answers::Mode;
use glovebox::answers::{Answers, AnswersConfig};
use glovebox::jobs::clock::{Clock, Millis, SetClock};
use glovebox::jobs::{
    End, Inserted, JobId, JobStore, Jobs, JobsConfig, JobsError, Lookup, Marked, Micros, NewJob,
    Rate, Settlement, Slot, SqliteStore, State, StateDir, Storage, StoreError, WorkerCommand,
    WorkerLogs,
};
use glovebox::sandbox::Sandbox;
use glovebox::simulator::{Options, Simulator};
use glovebox::upstream::{ApiKey, Client, Origin, UpstreamConfig};
use tokio_util::sync::CancellationToken;

use crate::support::machine::Machine;

const NOW: Millis = Millis(1_780_000_000_000);

fn new_job(reserve: i64) -> NewJob {
    NewJob {
        id: JobId::new(),
        tool: "ask".to_owned(),
        mode: "answer".to_owned(),
        query: "q".to_owned(),
        fingerprint: "f".to_owned(),
        dedupe: false,
        listed: false,
        payload: "{}".to_owned(),
        capture: None,
        reserve: Micros(reserve),
        simulated: false,
        approval: None,
    }
}

fn end(state: State, settlement: Settlement) -> End {
    End {
        state,
        settlement,
        outcome: None,
        whole: false,
        captured: true,
        error: None,
        note: None,
        progress: None,
    }
}

fn open_stores(path: &Path, count: usize) -> Vec<SqliteStore> {
    (0..count)
        .map(|_| SqliteStore::open(path).unwrap())
        .collect()
}

/// Calls a function with each store concurrently on separate threads.
fn concurrently<T: Send>(
    stores: &[SqliteStore],
    run: impl Fn(usize, &SqliteStore) -> T + Sync,
) -> Vec<T> {
    let gate = std::sync::Barrier::new(stores.len());
    std::thread::scope(|scope| {
        let threads: Vec<_> = stores
            .iter()
            .enumerate()
            .map(|(number, store)| {
                let (gate, run) = (&gate, &run);
                scope.spawn(move || {
                    gate.wait();
                    run(number, store)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    })
}

#[test]
fn concurrent_opens_of_a_new_store_succeed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("jobs.db");
    let gate = std::sync::Barrier::new(12);
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                gate.wait();
                let store = SqliteStore::open(&path).unwrap();
                assert!(matches!(
                    store.insert(&new_job(1), None, NOW).unwrap(),
                    Inserted::New(_)
                ));
            });
        }
    });
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(store.active().unwrap().len(), 12);
}

#[test]
fn only_the_first_of_two_ends_is_stored() {
    let dir = tempfile::tempdir().unwrap();
    let stores = open_stores(&dir.path().join("jobs.db"), 8);
    for round in 0..20 {
        let job = new_job(60_000);
        stores[0].insert(&job, None, NOW).unwrap();
        stores[0].begin(&job.id, NOW).unwrap();
        let ends = concurrently(&stores, |number, store| {
            let state = if number % 2 == 0 {
                State::Done
            } else {
                State::Cancelled
            };
            let cost = i64::try_from(number).unwrap() + 1;
            store
                .finish(&job.id, &end(state, Settlement::Cost(Micros(cost))), NOW)
                .unwrap()
        });
        let winner = ends.iter().position(|won| *won).unwrap();
        assert_eq!(ends.iter().filter(|won| **won).count(), 1, "round {round}");
        let Lookup::Found(found) = stores[0].lookup(&job.id).unwrap() else {
            panic!("lost");
        };
        let cost = Micros(i64::try_from(winner).unwrap() + 1);
        assert_eq!(found.cost, Some(cost));
        assert_eq!(found.state == State::Done, winner % 2 == 0);
        stores[0].remove(&[job.id], NOW).unwrap();
    }
    let rows = stores[0].spend(NOW.day()).unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].calls, rows[0].open), (20, Micros(0)));
}

#[test]
fn a_budget_holds_for_concurrent_stores() {
    let dir = tempfile::tempdir().unwrap();
    let stores = open_stores(&dir.path().join("jobs.db"), 8);
    let budget = Some(Micros(300_000));
    let taken: usize = concurrently(&stores, |_, store| {
        (0..5)
            .filter(|_| {
                matches!(
                    store.insert(&new_job(60_000), budget, NOW).unwrap(),
                    Inserted::New(_)
                )
            })
            .count()
    })
    .into_iter()
    .sum();
    assert_eq!(taken, 5);
    // A settlement below the reservation frees budget. An unknown cost does not.
    let ids = stores[0].active().unwrap();
    let done = |id: &JobId, settlement| {
        stores[1]
            .finish(id, &end(State::Done, settlement), NOW)
            .unwrap()
    };
    assert!(done(&ids[0], Settlement::Unknown));
    assert!(matches!(
        stores[2].insert(&new_job(60_000), budget, NOW).unwrap(),
        Inserted::OverBudget {
            spent: Micros(60_000),
            reserved: Micros(240_000)
        }
    ));
    assert!(done(&ids[1], Settlement::Cost(Micros(0))));
    assert!(matches!(
        stores[2].insert(&new_job(60_000), budget, NOW).unwrap(),
        Inserted::New(_)
    ));
    // The next day has a new budget.
    let tomorrow = NOW.plus(86_400_000);
    assert!(matches!(
        stores[2]
            .insert(&new_job(300_000), budget, tomorrow)
            .unwrap(),
        Inserted::New(_)
    ));
}

const RATE: Rate = Rate {
    count: 2,
    window_ms: 1100,
};
const FAR: Millis = Millis(i64::MAX);

/// Stores a job that waits for a slot.
fn insert_waiting(store: &SqliteStore) -> JobId {
    let job = new_job(1);
    store.insert(&job, None, NOW).unwrap();
    job.id
}

#[test]
fn the_slot_of_a_job_that_ended_while_waiting_is_reused() {
    let store = SqliteStore::in_memory().unwrap();
    let take = |now| {
        let id = insert_waiting(&store);
        let Slot::At(at) = store.slot(&id, RATE, now, FAR).unwrap() else {
            panic!("the slot is too late");
        };
        (id, (at.0 - NOW.0) / RATE.window_ms)
    };
    let taken: Vec<(JobId, i64)> = (0..8).map(|_| take(NOW)).collect();
    let windows: Vec<i64> = taken.iter().map(|(_, window)| *window).collect();
    assert_eq!(windows, [0, 0, 1, 1, 2, 2, 3, 3]);
    let dead = |number: usize| {
        let end = end(State::Interrupted, Settlement::Cost(Micros(0)));
        store.finish(&taken[number].0, &end, NOW).unwrap();
    };
    // The slots of the first two may have been used.
    for number in [0, 1, 5, 3] {
        dead(number);
    }
    let again: Vec<i64> = (0..3).map(|_| take(NOW).1).collect();
    assert_eq!(again, [1, 2, 4], "slots are not reused in order");
    dead(6);
    let late = NOW.plus(3 * RATE.window_ms + 1);
    assert!(take(late).1 >= 4, "a past slot was reused");
}

#[test]
fn slots_are_in_order_and_no_window_holds_three() {
    let dir = tempfile::tempdir().unwrap();
    let stores = open_stores(&dir.path().join("jobs.db"), 5);
    let mut slots: Vec<i64> = concurrently(&stores, |_, store| {
        let mine: Vec<i64> = (0..10)
            .map(
                |_| match store.slot(&insert_waiting(store), RATE, NOW, FAR).unwrap() {
                    Slot::At(at) => at.0,
                    Slot::TooLate(_) => panic!("the slot is too late"),
                },
            )
            .collect();
        assert!(mine.is_sorted(), "slots are not in the order of the calls");
        mine
    })
    .into_iter()
    .flatten()
    .collect();
    slots.sort_unstable();
    assert_eq!(slots.len(), 50);
    for window in slots.windows(3) {
        assert!(window[2] - window[0] >= RATE.window_ms, "{window:?}");
    }
    assert_eq!(
        slots[49],
        NOW.0 + 24 * RATE.window_ms,
        "a slot was left out"
    );
}

#[test]
fn a_slot_beyond_the_deadline_is_not_taken() {
    let store = SqliteStore::in_memory().unwrap();
    for _ in 0..2 {
        let slot = store.slot(&insert_waiting(&store), RATE, NOW, NOW).unwrap();
        assert_eq!(slot, Slot::At(NOW));
    }
    let next = NOW.plus(RATE.window_ms);
    assert_eq!(
        store
            .slot(&insert_waiting(&store), RATE, NOW, NOW.plus(500))
            .unwrap(),
        Slot::TooLate(next)
    );
    let slot = store.slot(&insert_waiting(&store), RATE, NOW, FAR).unwrap();
    assert_eq!(slot, Slot::At(next));
}

#[test]
fn a_clock_that_was_set_back_delays_no_caller() {
    let store = SqliteStore::in_memory().unwrap();
    for _ in 0..4 {
        store.slot(&insert_waiting(&store), RATE, NOW, FAR).unwrap();
    }
    let hour_back = NOW.plus(-3_600_000);
    assert_eq!(
        store
            .slot(&insert_waiting(&store), RATE, hour_back, FAR)
            .unwrap(),
        Slot::At(hour_back)
    );
}

#[test]
fn only_the_owner_can_read_the_state() {
    let machine = Machine::new("https://upstream.invalid");
    machine.run(&["ask", "--simulate", "--pace", "0", "who reads this"]);
    let _open = SqliteStore::open(&machine.state().join("jobs.db")).unwrap();
    let mut seen = 0;
    let mut folders = vec![machine.state()];
    while let Some(folder) = folders.pop() {
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                seen += 1;
                assert_eq!(mode(&entry.path()), 0o600, "{}", entry.path().display());
            }
        }
    }
    assert!(seen >= 2, "a file is missing");
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Returns jobs and a simulator in this process, with a clock that the test controls.
pub async fn jobs(dir: &Path, clock: Arc<dyn Clock>, budget: Option<Micros>) -> (Jobs, Simulator) {
    let simulator = Simulator::start(Options {
        pace: 0.0,
        ..Options::default()
    })
    .await
    .unwrap();
    let config = UpstreamConfig {
        origin: Origin::parse(&simulator.url()).unwrap(),
        key: Ok(ApiKey::simulated()),
        proxy: None,
    };
    let jobs = Jobs::new(JobsConfig {
        storage: Storage::opener(dir.to_owned()),
        keep: Duration::from_secs(24 * 3600),
        budget,
        rate: RATE,
        answers: Answers::start(&Sandbox::default(), AnswersConfig::default()),
        client: Box::new(move || Client::new(config.clone())),
        clock,
        worker: WorkerCommand {
            program: "/nonexistent/glovebox".into(),
            env: Vec::new(),
            late_env: None,
            logs: WorkerLogs::in_folder(StateDir::at(dir).worker_logs()),
        },
    });
    (jobs, simulator)
}

pub fn call(query: &str) -> glovebox::jobs::Call {
    let question = glovebox::answers::Question {
        model: Some("brave".to_owned()),
        stream: Some(true),
        enable_citations: Some(true),
        ..glovebox::answers::Question::about(query.to_owned())
    };
    glovebox::jobs::Call {
        tool: "ask".to_owned(),
        mode: Mode::Answer,
        question,
        estimate: Micros(60_000),
        deadline: Duration::from_secs(60),
        idle: None,
        max_usd: None,
        capture: true,
        simulate: None,
        approval: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_expires_with_its_capture_after_the_retention() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(SetClock::new(NOW));
    let (jobs, _simulator) = jobs(dir.path(), clock.clone(), None).await;
    let (updates, _) = tokio::sync::mpsc::unbounded_channel();
    let submitted = jobs.submit(call("a day")).await.unwrap();
    let id = submitted.job.id.clone();
    let ended = jobs
        .run(&id, CancellationToken::new(), updates)
        .await
        .unwrap();
    assert_eq!(ended.job.state, State::Done);
    let capture = ended.job.capture.clone().unwrap();
    assert_eq!(
        std::fs::read(&capture).unwrap(),
        jobs.stream_capture(&id).await.unwrap().unwrap()
    );
    assert!(
        !dir.path().join(format!("locks/{id}.lock")).exists(),
        "the lock of an ended job remains"
    );

    clock.advance(24 * 3600 * 1000);
    assert_eq!(jobs.prune().await.unwrap(), 0, "a job was removed early");
    let other = jobs.submit(call("another")).await.unwrap().job.id;
    let (updates, _) = tokio::sync::mpsc::unbounded_channel();
    jobs.run(&other, CancellationToken::new(), updates)
        .await
        .unwrap();
    clock.advance(1);
    // A reader gets an expired job as removed before it is pruned.
    assert!(matches!(
        jobs.job(&id).await,
        Err(JobsError::Expired { .. })
    ));
    assert!(!Path::new(&capture).exists());
    clock.advance(24 * 3600 * 1000);
    assert_eq!(jobs.prune().await.unwrap(), 1);
    assert!(matches!(
        jobs.job(&other).await,
        Err(JobsError::Expired { .. })
    ));
    assert!(matches!(
        jobs.job(&id).await,
        Err(JobsError::Expired { .. })
    ));
    assert!(matches!(
        jobs.outcome(&id).await,
        Err(JobsError::Expired { .. })
    ));
    assert!(matches!(
        jobs.job(&JobId::new()).await,
        Err(JobsError::Unknown(_))
    ));
    // The ledger still has the cost. After a month the mark of the id is removed.
    let spend = jobs.spend(7).await.unwrap();
    assert_eq!(spend.total.calls, 2);
    clock.advance(31 * 24 * 3600 * 1000);
    jobs.prune().await.unwrap();
    assert!(matches!(jobs.job(&id).await, Err(JobsError::Unknown(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_owner_dies_before_it_starts_costs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(SetClock::new(NOW));
    let (owner, _simulator) = jobs(dir.path(), clock.clone(), None).await;
    let (reader, simulator) = jobs(dir.path(), clock.clone(), None).await;
    let id = owner.submit(call("too early")).await.unwrap().job.id;
    let insert_waiting = reader.job(&id).await.unwrap();
    assert_eq!(
        insert_waiting.state,
        State::Queued,
        "a job with a live owner was settled"
    );
    assert_eq!(
        reader.spend(1).await.unwrap().total.reserved,
        Micros(60_000)
    );
    // When a process dies, it loses its lock.
    drop(owner);
    let job = reader.job(&id).await.unwrap();
    assert_eq!((job.state, job.cost), (State::Interrupted, Some(Micros(0))));
    assert!(job.capture.is_none() && job.note.is_none());
    let total = reader.spend(1).await.unwrap().total;
    assert_eq!((total.reserved, total.spent), (Micros(0), Micros(0)));
    assert!(simulator.log().is_empty(), "the job was started again");
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_stored_once_a_second_at_most_and_reported_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(SetClock::new(NOW));
    let (jobs, _simulator) = jobs(dir.path(), clock, None).await;
    let mut research = call("how often");
    research.mode = Mode::Research;
    research.question.enable_citations = None;
    research.question.enable_research = Some(true);
    let id = jobs.submit(research).await.unwrap().job.id;
    let (updates, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let begun = std::time::Instant::now();
    let ended = jobs
        .run(&id, CancellationToken::new(), updates)
        .await
        .unwrap();
    let seconds = i64::try_from(begun.elapsed().as_secs()).unwrap();
    let mut frames = 0;
    while let Some(update) = heard.recv().await {
        if let glovebox::jobs::Update::Events(events) = update {
            frames += events
                .iter()
                .filter(|event| matches!(event.kind, glovebox::answers::EventKind::Progress(_)))
                .count();
        }
    }
    assert!(frames > 2, "{frames}");
    // The job is stored, started, sent and ended. All other changes of the store are progress.
    let store = SqliteStore::open(&dir.path().join("jobs.db")).unwrap();
    let stored = store.revision().unwrap() - 4;
    assert!(stored <= seconds + 1, "{stored} in {seconds} s");
    let last = ended.outcome.progress.last().unwrap().iteration;
    assert_eq!(ended.job.progress.unwrap().iteration, last);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_ended_jobs_can_be_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(SetClock::new(NOW));
    let (jobs, _simulator) = jobs(dir.path(), clock.clone(), None).await;
    let id = jobs.submit(call("not yet")).await.unwrap().job.id;
    assert!(matches!(
        jobs.delete(&id).await,
        Err(JobsError::NotEnded { .. })
    ));
    let cancel = CancellationToken::new();
    cancel.cancel();
    let (updates, _) = tokio::sync::mpsc::unbounded_channel();
    let ended = jobs.run(&id, cancel, updates).await.unwrap();
    assert_eq!(ended.job.state, State::Cancelled);
    assert_eq!(ended.job.cost, Some(Micros(0)), "an unsent call has a cost");
    jobs.delete(&id).await.unwrap();
    assert!(matches!(
        jobs.job(&id).await,
        Err(JobsError::Expired { .. })
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_call_is_refused_before_anything_is_stored() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(SetClock::new(NOW));
    let (jobs, simulator) = jobs(dir.path(), clock, Some(Micros(100_000))).await;
    let mut bad = call(" ");
    bad.question.country = Some("nowhere".to_owned());
    let Err(JobsError::Invalid(fields)) = jobs.submit(bad).await else {
        panic!("taken in");
    };
    assert_eq!(
        fields.len(),
        2,
        "not all invalid fields are listed: {fields:?}"
    );
    let mut dear = call("dear");
    dear.max_usd = Some(0.01);
    assert!(matches!(
        jobs.submit(dear).await,
        Err(JobsError::OverMax { .. })
    ));
    jobs.submit(call("one")).await.unwrap();
    let refused = jobs.submit(call("two")).await.unwrap_err();
    assert_eq!(
        glovebox::cli::exit_status::ExitStatus::exit(&refused),
        glovebox::exit::Exit::Money
    );
    let text = refused.to_string();
    assert!(text.contains("$0.06") && text.contains("$0.10"), "{text}");
    assert!(simulator.log().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_cannot_start_is_reported_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(SetClock::new(NOW));
    let (jobs, _simulator) = jobs(dir.path(), clock, None).await;
    let error = jobs.detach(call("no program")).await.unwrap_err();
    assert!(matches!(error, JobsError::Worker { .. }), "{error}");
    let jobs = jobs
        .list(
            glovebox::jobs::Filter {
                all: true,
                state: None,
            },
            10,
        )
        .await
        .unwrap();
    assert_eq!(
        (jobs[0].state, jobs[0].cost),
        (State::Interrupted, Some(Micros(0)))
    );
}

#[test]
fn times_are_formatted() {
    assert_eq!(
        SetClock::new(NOW).now().rfc3339(),
        "2026-05-28T20:26:40.000Z"
    );
}

#[test]
fn a_cancelled_job_is_not_marked_as_sent() {
    let store = SqliteStore::in_memory().unwrap();
    let mark = |job: &NewJob| store.mark_sent(&job.id, NOW).unwrap();
    let (cancelled, ended, running) = (new_job(1), new_job(1), new_job(1));
    for job in [&cancelled, &ended, &running] {
        store.insert(job, None, NOW).unwrap();
        store.begin(&job.id, NOW).unwrap();
    }
    assert!(store.request_cancel(&cancelled.id, NOW).unwrap());
    store
        .finish(&ended.id, &end(State::Failed, Settlement::Unknown), NOW)
        .unwrap();
    assert_eq!(mark(&cancelled), Marked::Cancelled);
    assert_eq!(mark(&ended), Marked::Ended);
    assert_eq!(mark(&new_job(1)), Marked::Ended, "a missing job was marked");
    assert_eq!(mark(&running), Marked::Sent);
    let Lookup::Found(job) = store.lookup(&cancelled.id).unwrap() else {
        panic!("lost");
    };
    assert_eq!(job.sent, None);
}

#[test]
fn a_value_that_the_tables_refuse_is_not_reported_as_damage() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("jobs.db");
    let store = SqliteStore::open(&path).unwrap();
    let job = new_job(60_000);
    store.insert(&job, None, NOW).unwrap();
    let twice = store.insert(&job, None, NOW).unwrap_err();
    let overflow = {
        let huge = Settlement::Cost(Micros(i64::MAX));
        let (first, second) = (new_job(1), new_job(1));
        for job in [&first, &second] {
            store.insert(job, None, NOW).unwrap();
        }
        store
            .finish(&first.id, &end(State::Done, huge), NOW)
            .unwrap();
        store
            .finish(&second.id, &end(State::Done, huge), NOW)
            .unwrap_err()
    };
    let other = rusqlite::Connection::open(&path).unwrap();
    other
        .execute("UPDATE job SET state = 'unheard-of'", [])
        .unwrap();
    let unreadable = store.lookup(&job.id).unwrap_err();
    for error in [twice, overflow, unreadable] {
        assert!(matches!(error, StoreError::Value { .. }), "{error:?}");
        let text = error.to_string();
        assert!(
            !text.contains("damaged") && text.contains("report"),
            "{text}"
        );
    }
}

#[test]
fn sums_that_an_absurd_cost_broke_are_rebuilt() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("jobs.db");
    let (good, bad) = (new_job(60_000), new_job(60_000));
    {
        let store = SqliteStore::open(&path).unwrap();
        for (job, cost) in [(&good, 47_875), (&bad, i64::MAX - 50_000)] {
            store.insert(job, None, NOW).unwrap();
            let cost = Settlement::Cost(Micros(cost));
            store.finish(&job.id, &end(State::Done, cost), NOW).unwrap();
        }
    }
    // The state that an earlier version left.
    let old = rusqlite::Connection::open(&path).unwrap();
    old.execute_batch(
        "ALTER TABLE job DROP COLUMN simulated; ALTER TABLE ledger DROP COLUMN simulated;
         ALTER TABLE spend DROP COLUMN simulated; ALTER TABLE slot DROP COLUMN job;
         DROP TABLE http_session; DROP TABLE used_approval; PRAGMA user_version = 1;",
    )
    .unwrap();
    drop(old);
    let store = SqliteStore::open(&path).unwrap();
    let rows = store.spend(NOW.day()).unwrap();
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    assert_eq!((row.calls, row.settled), (2, Micros(47_875)), "{row:?}");
    assert_eq!((row.unknown_calls, row.unknown), (1, Micros(60_000)));
    assert!(!row.simulated);
    let Lookup::Found(job) = store.lookup(&bad.id).unwrap() else {
        panic!("lost");
    };
    assert_eq!(job.cost, None);
}

#[test]
fn simulated_calls_count_in_no_budget_and_no_sum() {
    let store = SqliteStore::in_memory().unwrap();
    let budget = Some(Micros(100_000));
    let simulated = |reserve| NewJob {
        simulated: true,
        ..new_job(reserve)
    };
    let first = simulated(1_600_000);
    for job in [&first, &simulated(60_000)] {
        let inserted = store.insert(job, budget, NOW).unwrap();
        assert!(
            matches!(&inserted, Inserted::New(job) if job.simulated),
            "{inserted:?}"
        );
    }
    let cost = Settlement::Cost(Micros(500_000));
    store
        .finish(&first.id, &end(State::Done, cost), NOW)
        .unwrap();
    let real = store.insert(&new_job(60_000), budget, NOW).unwrap();
    assert!(matches!(&real, Inserted::New(job) if !job.simulated));
    let over = store.insert(&new_job(60_000), budget, NOW).unwrap();
    assert!(
        matches!(
            over,
            Inserted::OverBudget {
                spent: Micros(0),
                reserved: Micros(60_000)
            }
        ),
        "{over:?}"
    );
    let rows = store.spend(NOW.day()).unwrap();
    let told: Vec<_> = rows
        .iter()
        .map(|row| (row.tool.as_str(), row.simulated, row.calls, row.settled))
        .collect();
    assert_eq!(
        told,
        [
            ("ask", false, 1, Micros(0)),
            ("ask", true, 2, Micros(500_000))
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn origin_and_key_are_part_of_the_fingerprint() {
    let dir = tempfile::tempdir().unwrap();
    let answers = Answers::start(&Sandbox::default(), AnswersConfig::default());
    let key = |text: &str| ApiKey::parse(text, "a test").unwrap();
    let at = |origin: &str, key: ApiKey| {
        let config = UpstreamConfig {
            origin: Origin::parse(origin).unwrap(),
            key: Ok(key),
            proxy: None,
        };
        Jobs::new(JobsConfig {
            storage: Storage::opener(dir.path().to_owned()),
            keep: Duration::from_secs(24 * 3600),
            budget: None,
            rate: RATE,
            answers: answers.clone(),
            client: Box::new(move || Client::new(config.clone())),
            clock: Arc::new(SetClock::new(NOW)),
            worker: WorkerCommand::this_program(
                |_| false,
                Vec::new(),
                WorkerLogs::in_folder(StateDir::at(dir.path()).worker_logs()),
            ),
        })
    };
    let first = at("http://127.0.0.1:1", key("BSAfirstkey0123456789"));
    let same = at("http://127.0.0.1:1", key("BSAfirstkey0123456789"));
    let other_key = at("http://127.0.0.1:1", key("BSAotherkey0123456789"));
    let other_origin = at("http://127.0.0.1:2", key("BSAfirstkey0123456789"));
    let mut research = call("who is asked, and by whom");
    research.mode = Mode::Research;
    research.question.enable_citations = None;
    research.question.enable_research = Some(true);
    let mut ids = Vec::new();
    for (jobs, already) in [
        (&first, false),
        (&same, true),
        (&other_key, false),
        (&other_origin, false),
        (&first, true),
    ] {
        let submitted = jobs.submit(research.clone()).await.unwrap();
        assert_eq!(submitted.already_running, already);
        ids.push(submitted.job.id);
    }
    assert_eq!((&ids[1], &ids[4]), (&ids[0], &ids[0]));
    assert!(ids[2] != ids[0] && ids[3] != ids[0] && ids[2] != ids[3]);
    let kept: Vec<u8> = ["jobs.db", "jobs.db-wal", "secret"]
        .iter()
        .flat_map(|name| std::fs::read(dir.path().join(name)).unwrap_or_default())
        .collect();
    for part in [&b"BSAfirstkey"[..], b"BSAotherkey"] {
        assert!(
            !kept.windows(part.len()).any(|window| window == part),
            "a key is in the state folder"
        );
    }
}
