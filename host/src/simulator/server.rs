//! The server: checks in the API's order, then plays a scenario.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::response::Response;
use axum::routing::get;
use axum::serve::ListenerExt;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::check::{Asked, Rejected, check};
use super::content::{Piece, answer, blocking, prose};
use super::frames::{Frames, TOTAL_COST, Usage, number};
use super::log::{Entry, Log, Record};
use super::refusal::{Refused, detail, reply};
use super::research::research;
use super::scenario::{Play, Scenario};
use super::steps::{Step, Steps, play};
use super::variants::Variants;
use super::{CALL_PATH, LOG_PATH, Options, effects, vectors};
use crate::jobs::clock;

/// Bytes of a request that are read.
const REQUEST_BYTES: usize = 4 << 20;
/// The API's limit: so many requests in any second.
const RATE: (usize, Duration) = (2, Duration::from_secs(1));
/// To the first word, as measured.
const FIRST_WORD: Duration = Duration::from_secs(3);
/// From one delta to the next, as measured: some 130 deltas in 12 s.
const BETWEEN: Duration = Duration::from_millis(90);
/// The longest delta in characters, as recorded.
const DELTA: usize = 24;
/// Events before a fault.
const BEFORE_FAULT: usize = 12;
/// Deltas of the scenario `flood`, several seconds of them.
const FLOOD: usize = 20_000;
/// So many come together, and then a pause: one each 0.2 to 0.4 ms.
const FLOOD_TOGETHER: usize = 5;
/// The pause, the shortest that the timer knows.
const FLOOD_PAUSE: Duration = Duration::from_millis(1);
/// Between two comments of the scenario `open-end-comments`.
const BETWEEN_COMMENTS: Duration = Duration::from_secs(1);
/// One line of the scenario `huge-line`: beyond any limit that a reader may have.
const HUGE_LINE: usize = 64 << 20;
/// A part of it.
const HUGE_PART: &[u8] = &[b'x'; 64 << 10];

struct Shared {
    options: Options,
    log: Arc<Log>,
    /// When the last requests came, for the real limit.
    recent: Mutex<VecDeque<Instant>>,
    /// Questions that were refused and will be answered when they come again.
    refused: Mutex<HashSet<String>>,
}

/// Serves until it is dropped.
pub async fn run(listener: TcpListener, options: Options, log: Arc<Log>) {
    let shared = Shared {
        options,
        log,
        recent: Mutex::default(),
        refused: Mutex::default(),
    };
    let router = Router::new()
        .route(LOG_PATH, get(show_log))
        .fallback(call)
        .with_state(Arc::new(shared));
    let listener = listener.tap_io(|connection| {
        // Paced deltas are small and must leave at once.
        let _ = connection.set_nodelay(true);
    });
    // It ends only where the listener fails for good, and then there is nobody to tell.
    let _ = axum::serve(listener, router).await;
}

async fn show_log(State(shared): State<Arc<Shared>>) -> Response {
    let records = serde_json::to_string(&shared.log.records()).unwrap_or_default();
    reply(200, "application/json", records)
}

async fn call(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, REQUEST_BYTES).await.unwrap_or_default();
    let key_seen = has_key(&head.headers);
    let mut entry = shared.log.begin(Record {
        method: head.method.to_string(),
        path: head.uri.path().to_owned(),
        header_names: head.headers.keys().map(ToString::to_string).collect(),
        key_seen,
        body: body_for_log(&body),
        ..Record::default()
    });
    if head.uri.path() != CALL_PATH {
        return finish(&mut entry, reply(404, "text/plain", "Not Found".to_owned()));
    }
    if head.method != Method::POST {
        return finish(
            &mut entry,
            reply(405, "text/plain", "Method Not Allowed".to_owned()),
        );
    }
    if !key_seen {
        let meta = json!({ "errors": [{ "type": "missing", "loc": ["header", "x-subscription-token"], "msg": "Field required", "input": null }] });
        return finish(
            &mut entry,
            Refused::Validation.response(Variants::default(), meta),
        );
    }
    if head.headers.contains_key("api-version") {
        return finish(
            &mut entry,
            detail(404, "requested product api version is not found"),
        );
    }
    if shared.options.enforce_rate && shared.too_many() {
        return finish(
            &mut entry,
            Refused::Rate.response(Variants::default(), Value::Null),
        );
    }
    checked(&shared, &body, takes_gzip(&head.headers), entry)
}

fn checked(shared: &Shared, body: &Bytes, gzip: bool, mut entry: Entry) -> Response {
    let parsed: Value = serde_json::from_slice(body).unwrap_or_default();
    let (asked, notes) = match check(&parsed) {
        Ok(accepted) => accepted,
        Err(Rejected::Fields(meta)) => {
            return finish(
                &mut entry,
                Refused::Validation.response(Variants::default(), meta),
            );
        }
        Err(Rejected::Options(text)) => return finish(&mut entry, detail(422, text)),
    };
    let (mut scenario, question) = match Scenario::of_question(&asked.question) {
        Ok((scenario, question)) => (
            scenario.unwrap_or_else(|| shared.options.scenario.clone()),
            question.to_owned(),
        ),
        Err(unknown) => return finish(&mut entry, detail(422, &unknown.to_string())),
    };
    // Compressed only for those who say that they can read it.
    scenario.variants.gzip &= gzip;
    entry.note(|record| {
        record.scenario = scenario.to_string();
        record.notes = notes;
    });
    if let Play::Refuse(refused) = scenario.play {
        let passes = (refused.passes() && !scenario.variants.always) || scenario.variants.once;
        if !passes || shared.first_time(&asked.question) {
            return finish(&mut entry, refused.response(scenario.variants, Value::Null));
        }
    }
    respond(shared, &scenario, &question, &asked, entry)
}

fn respond(
    shared: &Shared,
    scenario: &Scenario,
    question: &str,
    asked: &Asked,
    mut entry: Entry,
) -> Response {
    let mut rng = fastrand::Rng::with_seed(shared.options.seed ^ entry_seed(question));
    if let Play::Vector(name) = &scenario.play
        && let Some(vector) = vectors::find(name)
    {
        return stream(
            shared,
            scenario.variants,
            Box::new(vector.steps()),
            vector.headers(),
            rng,
            entry,
        );
    }
    let created = u64::try_from(clock::now().0 / 1000).unwrap_or_default();
    let cost = match &scenario.play {
        Play::Cost(cost) => Some(cost.as_str()),
        _ => None,
    };
    if !asked.stream {
        let mut response = blocking_reply(question, created, cost, &mut rng);
        *response.status_mut() = scenario.variants.status();
        return finish(&mut entry, response);
    }
    let frames = Frames::new(scenario.variants, created, &mut rng);
    let flood = frames.clone();
    let steps = if asked.research {
        research_steps(question, asked, cost, frames)
    } else {
        answer_steps(question, asked, cost, frames, &mut rng)
    };
    let steps = faulty(steps, &scenario.play, flood);
    stream(
        shared,
        scenario.variants,
        steps,
        std::iter::empty(),
        rng,
        entry,
    )
}

fn stream<'a>(
    shared: &Shared,
    variants: Variants,
    mut steps: Steps,
    headers: impl Iterator<Item = (&'a str, &'a str)>,
    rng: fastrand::Rng,
    entry: Entry,
) -> Response {
    if variants.gzip {
        steps = effects::gzip(steps);
    }
    if variants.split {
        steps = effects::split(steps, rng);
    }
    let status = variants.status();
    entry.note(|record| record.status = status.as_u16());
    let mut response = Response::new(Body::from_stream(play(steps, shared.options.pace, entry)));
    *response.status_mut() = status;
    let reply = response.headers_mut();
    reply.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream; charset=utf-8"),
    );
    reply.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if variants.gzip {
        reply.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            reply.insert(name, value);
        }
    }
    response
}

fn answer_steps(
    question: &str,
    asked: &Asked,
    cost: Option<&str>,
    mut frames: Frames,
    rng: &mut fastrand::Rng,
) -> Steps {
    let pieces = answer(question, asked.citations);
    let usage = answer_usage(&prose(&pieces));
    let mut steps = vec![Step::Wait(FIRST_WORD)];
    for piece in &pieces {
        match piece {
            Piece::Text(text) => {
                for delta in cut(text, rng) {
                    steps.extend([Step::Wait(BETWEEN), Step::Send(frames.delta(&delta))]);
                }
            }
            Piece::Citation(tag) => steps.push(Step::Send(frames.delta(tag))),
        }
    }
    steps.extend(ending(&mut frames, &usage, cost));
    Box::new(steps.into_iter())
}

fn research_steps(question: &str, asked: &Asked, cost: Option<&str>, mut frames: Frames) -> Steps {
    let (deltas, usage) = research(question, asked);
    let mut steps = Vec::new();
    for (wait, delta) in deltas {
        steps.extend([Step::Wait(wait), Step::Send(frames.delta(&delta))]);
    }
    steps.extend(ending(&mut frames, &usage, cost));
    Box::new(steps.into_iter())
}

fn ending(frames: &mut Frames, usage: &Usage, cost: Option<&str>) -> [Step; 3] {
    [
        Step::Send(frames.delta(&usage.tag(cost))),
        Step::Send(frames.stop("stop", usage)),
        Step::Send(frames.done()),
    ]
}

/// Breaks a reply as the scenario says, after some of its events.
fn faulty(steps: Steps, play: &Play, frames: Frames) -> Steps {
    let begun = |steps: Steps| steps.take(BEFORE_FAULT * 2);
    match play {
        Play::Reset => Box::new(begun(steps).chain([Step::Reset])),
        Play::Stall => Box::new(begun(steps).chain([Step::Stall])),
        Play::Endless => {
            let steps: Vec<Step> = begun(steps).collect();
            Box::new(steps.into_iter().cycle())
        }
        Play::HugeLine => {
            let line = std::iter::repeat_n(
                Step::Send(Bytes::from_static(HUGE_PART)),
                HUGE_LINE / HUGE_PART.len(),
            );
            Box::new(
                begun(steps)
                    .chain([Step::Send(Bytes::from_static(b"data: "))])
                    .chain(line),
            )
        }
        Play::Flood => Box::new(flood(frames).chain(steps)),
        Play::OpenEnd { comments: false } => Box::new(steps.chain([Step::Stall])),
        Play::OpenEnd { comments: true } => {
            let comment = [
                Step::Pause(BETWEEN_COMMENTS),
                Step::Send(Bytes::from_static(b": still here\n\n")),
            ];
            Box::new(steps.chain(comment.into_iter().cycle()))
        }
        Play::Auto | Play::Vector(_) | Play::Refuse(_) | Play::Cost(_) => steps,
    }
}

/// Deltas of a word each, in small groups with the shortest of pauses.
fn flood(mut frames: Frames) -> impl Iterator<Item = Step> + Send {
    (0..FLOOD).flat_map(move |number| {
        let word = Step::Send(frames.delta("flood "));
        let pause = (number % FLOOD_TOGETHER == 0).then_some(Step::Pause(FLOOD_PAUSE));
        std::iter::once(word).chain(pause)
    })
}

fn blocking_reply(
    question: &str,
    created: u64,
    cost: Option<&str>,
    rng: &mut fastrand::Rng,
) -> Response {
    let text = prose(&answer(question, false));
    let usage = answer_usage(&text);
    let id = uuid::Builder::from_random_bytes(rng.u128(..).to_be_bytes())
        .into_uuid()
        .to_string();
    let mut response = reply(
        200,
        "application/json",
        blocking(&id, created, &text, &usage.object()),
    );
    for (name, value) in usage.members() {
        let value = match cost {
            Some(cost) if name == TOTAL_COST => cost.to_owned(),
            _ => number(value),
        };
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

fn answer_usage(text: &str) -> Usage {
    Usage {
        queries: 1,
        tokens_in: 8625,
        tokens_out: (text.len() / 5) as u64,
    }
}

/// Cuts text anywhere, mid-word too.
fn cut(text: &str, rng: &mut fastrand::Rng) -> Vec<String> {
    let mut letters = text.chars().peekable();
    let mut deltas = Vec::new();
    while letters.peek().is_some() {
        let length = rng.usize(1..=DELTA);
        deltas.push(letters.by_ref().take(length).collect());
    }
    deltas
}

fn finish(entry: &mut Entry, response: Response) -> Response {
    entry.note(|record| record.status = response.status().as_u16());
    entry.end("complete");
    response
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT_ENCODING);
    accepted.is_some_and(|value| value.to_str().is_ok_and(|text| text.contains("gzip")))
}

fn has_key(headers: &HeaderMap) -> bool {
    let given = |name: &str| headers.get(name).is_some_and(|value| !value.is_empty());
    given("x-subscription-token") || given("authorization")
}

/// The body as JSON; a text that is none is shortened, for it may be anything.
fn body_for_log(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|_| {
        Value::String(String::from_utf8_lossy(body).chars().take(1000).collect())
    })
}

fn entry_seed(question: &str) -> u64 {
    question.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl Shared {
    fn too_many(&self) -> bool {
        let now = Instant::now();
        let (most, window) = RATE;
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        while recent
            .front()
            .is_some_and(|first| now.duration_since(*first) >= window)
        {
            recent.pop_front();
        }
        let too_many = recent.len() >= most;
        if !too_many {
            recent.push_back(now);
        }
        too_many
    }

    /// Whether a question comes for the first time; every second time it is forgotten again.
    fn first_time(&self, question: &str) -> bool {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.remove(question) {
            return false;
        }
        refused.insert(question.to_owned())
    }
}
