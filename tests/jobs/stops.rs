//! A stop reaches a call whatever its reply does: who asks, when, how the reply is cut, and whether data is always there.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use glovebox::answers::{Answers, AnswersConfig, Mode};
use glovebox::jobs::clock::WallClock;
use glovebox::jobs::ledger::limiter::DEFAULT_RATE;
use glovebox::jobs::{
    Call, Ended, Jobs, JobsConfig, Micros, Rate, State, StateDir, Storage, Submitted, Update,
    WorkerCommand, WorkerLogs,
};
use glovebox::sandbox::{Bounds, Sandbox};
use glovebox::simulator::{Options, Simulator};
use glovebox::upstream::{ApiKey, Client, Origin, UpstreamConfig};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use crate::jobs::store::call;
use crate::support::guest::{BODY, Guest, ONE_EVENT};
use crate::support::machine::{Machine, Simulator as OtherSimulator, json, kill, until, words};

/// A stop is heard within this on a machine that has other things to do. A flood lasts longer.
const HEARD_WITHIN: Duration = Duration::from_secs(4);
/// A deadline that comes in the middle of a reply.
const DEADLINE: Duration = Duration::from_secs(2);
/// The same for a reply whose data comes as fast as it can: the limit of its size is some seconds away.
const SOON: Duration = Duration::from_millis(300);
/// Matrix cases that run at once.
const AT_ONCE: usize = 3;

/// Who asks for the stop.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Who {
    Caller,
    Process,
    AnotherProcess,
    Deadline,
}

/// One cell of the matrix.
#[derive(Clone, Debug)]
struct Case {
    scenario: &'static str,
    mode: Mode,
    who: Who,
    /// From the first event to the stop.
    after: Duration,
}

async fn simulator() -> Simulator {
    Simulator::start(Options {
        pace: 0.0,
        ..Options::default()
    })
    .await
    .unwrap()
}

fn jobs(folder: &Path, url: &str, answers: &Answers) -> Jobs {
    with_rate(folder, url, answers, DEFAULT_RATE)
}

fn with_rate(folder: &Path, url: &str, answers: &Answers, rate: Rate) -> Jobs {
    let config = UpstreamConfig {
        origin: Origin::parse(url).unwrap(),
        key: Ok(ApiKey::simulated()),
        proxy: None,
    };
    Jobs::new(JobsConfig {
        storage: Storage::opener(folder.to_owned()),
        keep: Duration::from_secs(3600),
        budget: None,
        rate,
        answers: answers.clone(),
        client: Box::new(move || Client::new(config.clone())),
        clock: Arc::new(WallClock),
        worker: WorkerCommand::this_program(
            |_| false,
            Vec::new(),
            WorkerLogs::in_folder(StateDir::at(folder).worker_logs()),
        ),
    })
}

fn asked(scenario: &str, mode: Mode, deadline: Duration) -> Call {
    let mut call = call(&format!("sim:{scenario} what lasts"));
    call.mode = mode;
    call.deadline = deadline;
    if mode == Mode::Research {
        call.question.enable_citations = None;
        call.question.enable_research = Some(true);
        call.estimate = Micros(1_600_000);
    }
    call
}

async fn first_event(updates: &mut UnboundedReceiver<Update>) {
    while let Some(update) = updates.recv().await {
        if matches!(update, Update::Events(_)) {
            return;
        }
    }
}

/// Runs a call and stops it. Gives its end and how long that took from the stop.
async fn stopped(case: &Case, jobs: &Jobs, other: &Jobs, job: &Submitted) -> (Ended, Duration) {
    let id = job.job.id.clone();
    let cancel = CancellationToken::new();
    let (sender, mut updates) = tokio::sync::mpsc::unbounded_channel();
    let running = {
        let (jobs, id, cancel) = (jobs.clone(), id.clone(), cancel.clone());
        tokio::spawn(async move { jobs.run(&id, cancel, sender).await.unwrap() })
    };
    first_event(&mut updates).await;
    let mut from = Instant::now();
    if case.who != Who::Deadline {
        // A moment in the flood is what is tested.
        tokio::time::sleep(case.after).await;
        from = Instant::now();
    }
    match case.who {
        Who::Caller => cancel.cancel(),
        Who::Process => jobs.stop(),
        Who::AnotherProcess => drop(other.cancel(&id).await.unwrap()),
        Who::Deadline => {}
    }
    let ended = running.await.unwrap();
    (ended, from.elapsed())
}

async fn check(case: Case, answers: Answers) {
    let simulator = simulator().await;
    let folder = tempfile::tempdir().unwrap();
    let owner = jobs(folder.path(), &simulator.url(), &answers);
    let other = jobs(folder.path(), &simulator.url(), &answers);
    let deadline = match case.who {
        Who::Deadline if case.scenario == "endless" => SOON,
        Who::Deadline => DEADLINE,
        _ => Duration::from_secs(120),
    };
    let submitted = owner
        .submit(asked(case.scenario, case.mode, deadline))
        .await
        .unwrap();
    let (ended, took) = stopped(&case, &owner, &other, &submitted).await;
    let wanted = match case.who {
        Who::Caller | Who::AnotherProcess => State::Cancelled,
        Who::Process => State::Interrupted,
        Who::Deadline => State::Failed,
    };
    assert_eq!(ended.job.state, wanted, "{case:?}: {:?}", ended.job);
    if case.who == Who::Deadline {
        assert_eq!(ended.job.error.as_ref().unwrap().kind, "time-out");
    }
    let bound = match case.who {
        Who::Deadline => DEADLINE + HEARD_WITHIN,
        _ => HEARD_WITHIN,
    };
    assert!(took < bound, "{case:?}: {took:?}");
    assert_eq!(ended.job.cost, None, "{case:?}: it may be billed");
    let until = Instant::now() + HEARD_WITHIN;
    while simulator.log()[0].end.is_none() {
        assert!(Instant::now() < until, "{case:?}: the connection stays");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(simulator.log()[0].end, Some("dropped"), "{case:?}");
}

/// Cuts × stops × moments, with data always there or soon.
#[tokio::test(flavor = "multi_thread")]
async fn a_stop_is_neither_lost_nor_starved() {
    let answers = Answers::start(&Sandbox::default(), AnswersConfig::default());
    answers.ready().await.unwrap();
    let mut random = fastrand::Rng::with_seed(9);
    let mut cases = Vec::new();
    for scenario in ["flood", "flood+split", "flood+gzip", "endless", "stall"] {
        for mode in [Mode::Answer, Mode::Research] {
            for who in [Who::Caller, Who::Process, Who::Deadline] {
                cases.push((scenario, mode, who));
            }
            // This one was lost in half of the tries.
            cases.extend([(scenario, mode, Who::AnotherProcess); 3]);
        }
    }
    let cases: Vec<Case> = cases
        .into_iter()
        .map(|(scenario, mode, who)| Case {
            scenario,
            mode,
            who,
            after: Duration::from_micros(random.u64(0..300_000)),
        })
        .collect();
    for group in cases.chunks(AT_ONCE) {
        let mut running = tokio::task::JoinSet::new();
        for case in group {
            running.spawn(check(case.clone(), answers.clone()));
        }
        while let Some(checked) = running.join_next().await {
            checked.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_that_is_slow_is_stopped_at_the_deadline() {
    let folder = tempfile::tempdir().unwrap();
    // Some tenths of a second a push, and thousands of pushes.
    let slow = "(local.set $at (i32.const 300000000))
         (loop $more
           (local.set $at (i32.sub (local.get $at) (i32.const 1)))
           (br_if $more (local.get $at)))
         (i32.const 1024)";
    let guest = Guest::default()
        .asking(BODY)
        .with("[method]parser.push", slow)
        .and(ONE_EVENT);
    let config = AnswersConfig {
        component: Some(guest.write(folder.path())),
        bounds: Bounds {
            cpu: Duration::from_secs(60),
            ..Bounds::default()
        },
    };
    let answers = Answers::start(&Sandbox::default(), config);
    let simulator = Simulator::start(Options {
        pace: 0.0,
        scenario: "flood".parse().unwrap(),
        ..Options::default()
    })
    .await
    .unwrap();
    let jobs = jobs(&folder.path().join("state"), &simulator.url(), &answers);
    for who in [Who::Deadline, Who::Caller, Who::AnotherProcess] {
        let case = Case {
            scenario: "flood",
            mode: Mode::Answer,
            who,
            after: Duration::from_millis(500),
        };
        let deadline = match who {
            Who::Deadline => DEADLINE,
            _ => Duration::from_secs(120),
        };
        let submitted = jobs
            .submit(asked("flood", Mode::Answer, deadline))
            .await
            .unwrap();
        let (ended, took) = stopped(&case, &jobs, &jobs, &submitted).await;
        let wanted = match who {
            Who::Deadline => State::Failed,
            _ => State::Cancelled,
        };
        assert_eq!(ended.job.state, wanted, "{:?}", ended.job);
        assert!(took < DEADLINE + 3 * HEARD_WITHIN, "{who:?}: {took:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_once_a_cancellation_is_stored() {
    let answers = Answers::start(&Sandbox::default(), AnswersConfig::default());
    let simulator = simulator().await;
    let folder = tempfile::tempdir().unwrap();
    let owner = jobs(folder.path(), &simulator.url(), &answers);
    let other = jobs(folder.path(), &simulator.url(), &answers);
    for round in 0..5 {
        let submitted = owner
            .submit(asked("auto", Mode::Research, Duration::from_secs(60)))
            .await
            .unwrap();
        let id = submitted.job.id.clone();
        // Stored before anybody runs it; the wait for its end is given up at once.
        let asked = tokio::spawn({
            let (other, id) = (other.clone(), id.clone());
            async move { other.cancel(&id).await.unwrap() }
        });
        while other.job(&id).await.unwrap().cancel.is_none() {
            tokio::task::yield_now().await;
        }
        let (updates, _) = tokio::sync::mpsc::unbounded_channel();
        let ended = owner
            .run(&id, CancellationToken::new(), updates)
            .await
            .unwrap();
        assert_eq!(ended.job.state, State::Cancelled, "round {round}");
        assert_eq!(ended.job.cost, Some(Micros(0)), "round {round}");
        assert_eq!(asked.await.unwrap().state, State::Cancelled);
    }
    assert!(simulator.log().is_empty());
}

#[test]
fn a_cancellation_and_an_interrupt_reach_a_flood_from_outside() {
    let simulator = OtherSimulator::start("0");
    let machine = Machine::new(&simulator.url);
    let begun = |query: &str| {
        until("the request", || simulator.asked(query));
    };
    let dropped = |query: &str| {
        let end = until("the end of the request", || {
            simulator.asked(query)?["end"].as_str().map(str::to_owned)
        });
        assert_eq!(end, "dropped", "{query}");
    };
    for round in 0..5 {
        let query = format!("sim:flood round {round}");
        let id = machine.detach(&query);
        begun(&query);
        let job = json(&machine.run(&["jobs", "cancel", &id, "--json"]));
        assert_eq!(job["state"], "cancelled", "{job:#}");
        dropped(&query);

        let query = format!("sim:flood interrupted in round {round}");
        let asking = machine.command(&["ask", &query]).spawn().unwrap();
        begun(&query);
        kill(i32::try_from(asking.id()).unwrap(), "INT");
        let output = asking.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", words(&output));
        dropped(&query);
    }
}

/// A call that is cancelled while it is being sent has cost nothing only where the upstream never saw it.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_cancelled_at_once_is_free_only_if_nothing_was_sent() {
    let answers = Answers::start(&Sandbox::default(), AnswersConfig::default());
    answers.ready().await.unwrap();
    let simulator = simulator().await;
    let folder = tempfile::tempdir().unwrap();
    let url = simulator.url();
    let jobs = unlimited(folder.path(), &url, &answers);
    let (mut sent, mut unsent) = (0, 0);
    for (number, micros) in [0, 50, 200, 500, 1_000, 2_000, 3_000, 5_000, 10_000, 20_000]
        .repeat(4)
        .into_iter()
        .enumerate()
    {
        let query = format!("cancelled {number}");
        let submitted = jobs.submit(call(&format!("sim:stall {query}"))).await;
        let (id, cancel) = (submitted.unwrap().job.id, CancellationToken::new());
        let (sender, _receiver) = tokio::sync::mpsc::unbounded_channel();
        let running = {
            let (jobs, id, cancel) = (jobs.clone(), id.clone(), cancel.clone());
            tokio::spawn(async move { jobs.run(&id, cancel, sender).await.unwrap() })
        };
        // The moment of the cancellation is what is tested.
        tokio::time::sleep(Duration::from_micros(micros)).await;
        cancel.cancel();
        let ended = running.await.unwrap();
        assert_eq!(ended.job.state, State::Cancelled, "{:?}", ended.job);
        // What was on its way to the simulator has arrived before the reply to a later call.
        let later = jobs.submit(call("a later call")).await.unwrap();
        let (sender, _receiver) = tokio::sync::mpsc::unbounded_channel();
        jobs.run(&later.job.id, CancellationToken::new(), sender)
            .await
            .unwrap();
        let arrived = simulator
            .log()
            .iter()
            .any(|record| record.body.to_string().contains(&format!("{query}\"")));
        if arrived {
            sent += 1;
            assert_eq!(ended.job.cost, None, "{micros} µs: it may be billed");
        } else {
            unsent += 1;
        }
    }
    assert!(sent > 0 && unsent > 0, "{sent} sent, {unsent} not sent");
}

fn unlimited(folder: &Path, url: &str, answers: &Answers) -> Jobs {
    with_rate(
        folder,
        url,
        answers,
        Rate {
            count: 10_000,
            window_ms: 1,
        },
    )
}
