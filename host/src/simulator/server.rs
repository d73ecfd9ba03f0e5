//! The HTTP server: checks a request in the order of the API, then sends the reply of the scenario.

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

use super::content::{AnswerPart, answer, blocking, prose};
use super::events::{EventWriter, TOTAL_COST, Usage, number};
use super::log::{Log, Record, RecordHandle};
use super::refusal::{Refusal, detail, reply};
use super::research::research;
use super::scenario::{ReplyKind, Scenario};
use super::steps::{Step, Steps, play};
use super::validation::{InvalidBody, RequestFields, check};
use super::variants::Variants;
use super::{CALL_PATH, LOG_PATH, Options, transform, vectors};
use crate::jobs::clock;

/// The most bytes to read of a request body.
const MAX_REQUEST_BYTES: usize = 4 << 20;
/// The rate limit of the API: the number of requests in a time.
const RATE: (usize, Duration) = (2, Duration::from_secs(1));
/// The measured delay before the first delta.
const FIRST_DELTA_DELAY: Duration = Duration::from_secs(3);
/// The measured delay between deltas: about 130 deltas in 12 s.
const DELTA_DELAY: Duration = Duration::from_millis(90);
/// The longest delta in characters, as recorded.
const MAX_DELTA_CHARS: usize = 24;
/// The events before a fault.
const EVENTS_BEFORE_FAULT: usize = 12;
/// The deltas of the scenario `flood`, which take several seconds.
const FLOOD_DELTAS: usize = 20_000;
/// The deltas between two pauses, about one per 0.2 to 0.4 ms.
const FLOOD_GROUP: usize = 5;
/// The pause, which is the resolution of the timer.
const FLOOD_PAUSE: Duration = Duration::from_millis(1);
/// The delay between comments of the scenario `open-end-comments`.
const COMMENT_DELAY: Duration = Duration::from_secs(1);
/// The length of the line of the scenario `huge-line`, longer than the limit of any reader.
const HUGE_LINE_BYTES: usize = 64 << 20;
/// One part of the line.
const HUGE_PART: &[u8] = &[b'x'; 64 << 10];

struct Shared {
    options: Options,
    log: Arc<Log>,
    /// The times of the last requests, for the rate limit.
    recent: Mutex<VecDeque<Instant>>,
    /// Questions that were refused and are answered when they are repeated.
    refused: Mutex<HashSet<String>>,
}

/// Serves requests until the future is dropped.
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
        // Deltas are small and must be sent without delay.
        let _ = connection.set_nodelay(true);
    });
    // It returns only if the listener fails permanently.
    let _ = axum::serve(listener, router).await;
}

async fn show_log(State(shared): State<Arc<Shared>>) -> Response {
    let records = serde_json::to_string(&shared.log.records()).unwrap_or_default();
    reply(200, "application/json", records)
}

async fn call(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, MAX_REQUEST_BYTES).await.unwrap_or_default();
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
            Refusal::Validation.response(Variants::default(), meta),
        );
    }
    if head.headers.contains_key("api-version") {
        return finish(
            &mut entry,
            detail(404, "requested product api version is not found"),
        );
    }
    if shared.options.enforce_rate && shared.exceeds_rate() {
        return finish(
            &mut entry,
            Refusal::Rate.response(Variants::default(), Value::Null),
        );
    }
    reply_to_body(&shared, &body, takes_gzip(&head.headers), entry)
}

fn reply_to_body(shared: &Shared, body: &Bytes, gzip: bool, mut entry: RecordHandle) -> Response {
    let parsed: Value = serde_json::from_slice(body).unwrap_or_default();
    let (fields, notes) = match check(&parsed) {
        Ok(accepted) => accepted,
        Err(InvalidBody::Fields(meta)) => {
            return finish(
                &mut entry,
                Refusal::Validation.response(Variants::default(), meta),
            );
        }
        Err(InvalidBody::Options(text)) => return finish(&mut entry, detail(422, text)),
    };
    let (mut scenario, question) = match Scenario::of_question(&fields.question) {
        Ok((scenario, question)) => (
            scenario.unwrap_or_else(|| shared.options.scenario.clone()),
            question.to_owned(),
        ),
        Err(unknown) => return finish(&mut entry, detail(422, &unknown.to_string())),
    };
    // Compress only if the client accepts gzip.
    scenario.variants.gzip &= gzip;
    entry.note(|record| {
        record.scenario = scenario.to_string();
        record.notes = notes;
    });
    if let ReplyKind::Refuse(refused) = scenario.reply {
        let is_temporary =
            (refused.is_temporary() && !scenario.variants.always) || scenario.variants.once;
        if !is_temporary || shared.first_time(&fields.question) {
            return finish(&mut entry, refused.response(scenario.variants, Value::Null));
        }
    }
    respond(shared, &scenario, &question, &fields, entry)
}

fn respond(
    shared: &Shared,
    scenario: &Scenario,
    question: &str,
    fields: &RequestFields,
    mut entry: RecordHandle,
) -> Response {
    let mut rng = fastrand::Rng::with_seed(shared.options.seed ^ entry_seed(question));
    if let ReplyKind::Vector(name) = &scenario.reply
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
    let cost = match &scenario.reply {
        ReplyKind::Cost(cost) => Some(cost.as_str()),
        _ => None,
    };
    if !fields.stream {
        let mut response = blocking_reply(question, created, cost, &mut rng);
        *response.status_mut() = scenario.variants.status();
        return finish(&mut entry, response);
    }
    let events = EventWriter::new(scenario.variants, created, &mut rng);
    let flood = events.clone();
    let steps = if fields.research {
        research_steps(question, fields, cost, events)
    } else {
        answer_steps(question, fields, cost, events, &mut rng)
    };
    let steps = apply_fault(steps, &scenario.reply, flood);
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
    entry: RecordHandle,
) -> Response {
    if variants.gzip {
        steps = transform::gzip(steps);
    }
    if variants.split {
        steps = transform::split(steps, rng);
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
    fields: &RequestFields,
    cost: Option<&str>,
    mut events: EventWriter,
    rng: &mut fastrand::Rng,
) -> Steps {
    let pieces = answer(question, fields.citations);
    let usage = answer_usage(&prose(&pieces));
    let mut steps = vec![Step::Wait(FIRST_DELTA_DELAY)];
    for piece in &pieces {
        match piece {
            AnswerPart::Text(text) => {
                for delta in cut(text, rng) {
                    steps.extend([Step::Wait(DELTA_DELAY), Step::Send(events.delta(&delta))]);
                }
            }
            AnswerPart::Citation(tag) => steps.push(Step::Send(events.delta(tag))),
        }
    }
    steps.extend(ending(&mut events, &usage, cost));
    Box::new(steps.into_iter())
}

fn research_steps(
    question: &str,
    fields: &RequestFields,
    cost: Option<&str>,
    mut events: EventWriter,
) -> Steps {
    let (deltas, usage) = research(question, fields);
    let mut steps = Vec::new();
    for (wait, delta) in deltas {
        steps.extend([Step::Wait(wait), Step::Send(events.delta(&delta))]);
    }
    steps.extend(ending(&mut events, &usage, cost));
    Box::new(steps.into_iter())
}

fn ending(events: &mut EventWriter, usage: &Usage, cost: Option<&str>) -> [Step; 3] {
    [
        Step::Send(events.delta(&usage.tag(cost))),
        Step::Send(events.stop("stop", usage)),
        Step::Send(events.done()),
    ]
}

/// Applies the fault of a scenario after some events.
fn apply_fault(steps: Steps, play: &ReplyKind, events: EventWriter) -> Steps {
    let begun = |steps: Steps| steps.take(EVENTS_BEFORE_FAULT * 2);
    match play {
        ReplyKind::Reset => Box::new(begun(steps).chain([Step::Reset])),
        ReplyKind::Stall => Box::new(begun(steps).chain([Step::Stall])),
        ReplyKind::Endless => {
            let steps: Vec<Step> = begun(steps).collect();
            Box::new(steps.into_iter().cycle())
        }
        ReplyKind::HugeLine => {
            let line = std::iter::repeat_n(
                Step::Send(Bytes::from_static(HUGE_PART)),
                HUGE_LINE_BYTES / HUGE_PART.len(),
            );
            Box::new(
                begun(steps)
                    .chain([Step::Send(Bytes::from_static(b"data: "))])
                    .chain(line),
            )
        }
        ReplyKind::Flood => Box::new(flood(events).chain(steps)),
        ReplyKind::OpenEnd { comments: false } => Box::new(steps.chain([Step::Stall])),
        ReplyKind::OpenEnd { comments: true } => {
            let comment = [
                Step::Pause(COMMENT_DELAY),
                Step::Send(Bytes::from_static(b": still here\n\n")),
            ];
            Box::new(steps.chain(comment.into_iter().cycle()))
        }
        ReplyKind::Auto | ReplyKind::Vector(_) | ReplyKind::Refuse(_) | ReplyKind::Cost(_) => steps,
    }
}

/// Returns deltas of one word each, in small groups with a short pause between them.
fn flood(mut events: EventWriter) -> impl Iterator<Item = Step> + Send {
    (0..FLOOD_DELTAS).flat_map(move |number| {
        let word = Step::Send(events.delta("flood "));
        let pause = (number % FLOOD_GROUP == 0).then_some(Step::Pause(FLOOD_PAUSE));
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

/// Splits text at any character, also inside words.
fn cut(text: &str, rng: &mut fastrand::Rng) -> Vec<String> {
    let mut letters = text.chars().peekable();
    let mut deltas = Vec::new();
    while letters.peek().is_some() {
        let length = rng.usize(1..=MAX_DELTA_CHARS);
        deltas.push(letters.by_ref().take(length).collect());
    }
    deltas
}

fn finish(entry: &mut RecordHandle, response: Response) -> Response {
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

/// Returns the body as JSON, or as shortened text if it is not JSON.
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
    fn exceeds_rate(&self) -> bool {
        let now = Instant::now();
        let (most, window) = RATE;
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        while recent
            .front()
            .is_some_and(|first| now.duration_since(*first) >= window)
        {
            recent.pop_front();
        }
        let exceeds_rate = recent.len() >= most;
        if !exceeds_rate {
            recent.push_back(now);
        }
        exceeds_rate
    }

    /// Returns whether a question is fields for the first time. The second call for a question forgets it.
    fn first_time(&self, question: &str) -> bool {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.remove(question) {
            return false;
        }
        refused.insert(question.to_owned())
    }
}
