//! Runs one call: waits for a slot of the limiter, sends the request, reads the reply, and settles the job.

use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::blocking::blocking;
use super::error::JobsError;
use super::ledger::limiter::{Limiter, LimiterError};
use super::model::{Job, JobId};
use super::reply_reader::{Batch, CapturePlace, ReplyReader};
use super::result::{
    Cause, JobEnd, decide_end, fault, last_progress, render, render_without_component,
    sandbox_fault, upstream_fault, whole,
};
use super::sending::{CallAdmission, classify};
use super::stop::Stop;
use super::storage::Storage;
use super::storage::error::StoreError;
use super::storage::rows::{End, Lookup, Rate, Rendered, Settlement};
use super::stored_request::{StoredRequest, guest_headers, head_text};
use super::update::{CallPhase, Update};
use crate::answers::{Answers, Event, EventKind, Mode, Outcome, ResearchProgress, empty};
use crate::sandbox::SandboxError;
use crate::upstream::{self, CallLimits, Client, Reply, UpstreamError};

/// The shortest time between two writes of the progress to the store. Receivers of [`Update`] get every progress event.
const PROGRESS_STORE_INTERVAL: Duration = Duration::from_secs(1);
/// The most bytes to read from a reply that is already available before the component is called.
const MAX_READ_BYTES: usize = 64 << 10;

/// The end of a call.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The job at its end.
    pub job: Job,
    /// The outcome, complete or partial. It is empty if no reply arrived.
    pub outcome: Outcome,
    /// The outcome in all stored forms.
    pub rendered: Rendered,
    /// What could not be stored.
    pub warnings: Vec<String>,
    /// Whether the end is stored.
    pub(super) stored: bool,
}

/// Runs one job.
pub(super) struct Runner {
    pub(super) id: JobId,
    pub(super) storage: Storage,
    pub(super) answers: Answers,
    pub(super) rate: Rate,
    /// Whether a daily budget is set. It depends on what is stored.
    pub(super) budgeted: bool,
    pub(super) cancel: CancellationToken,
    pub(super) stopping: CancellationToken,
    pub(super) updates: UnboundedSender<Update>,
}

/// The part of a reply that was read, and why reading ended.
struct ReadReply {
    outcome: Outcome,
    cause: Cause,
    lost: Option<String>,
}

impl Runner {
    /// Runs the job from `queued` to an end state.
    pub(super) async fn run(
        self,
        client: impl FnOnce() -> Result<Client, JobsError>,
    ) -> Result<Ended, JobsError> {
        let (storage, id) = (self.storage.clone(), self.id.clone());
        let mut stop = Stop::new(storage, id, self.cancel.clone(), self.stopping.clone()).await?;
        let (request, begun) = self.begin().await?;
        if !begun {
            return Err(JobsError::NotOwner(self.id.clone()));
        }
        let unsent = |cause| ReadReply {
            outcome: empty(request.mode()),
            cause,
            lost: None,
        };
        let read = match stop.until(self.ready(client)).await {
            Ok(Ok(client)) => self.call(&request, &client, &mut stop).await?,
            Ok(Err(error)) => unsent(fault(error.kind(), &error.to_string(), true)),
            Err(cause) => unsent(cause),
        };
        self.end(read).await
    }

    async fn begin(&self) -> Result<(StoredRequest, bool), JobsError> {
        let id = self.id.clone();
        self.blocking(move |storage| {
            let payload = storage
                .rows
                .payload(&id)?
                .ok_or_else(|| JobsError::Unknown(id.to_string()))?;
            let begun = storage.rows.begin(&id, storage.clock.now())?;
            Ok((StoredRequest::parse(&payload.payload)?, begun))
        })
        .await
    }

    /// Waits for the component and creates the client.
    async fn ready(
        &self,
        client: impl FnOnce() -> Result<Client, JobsError>,
    ) -> Result<Client, JobsError> {
        self.answers.ready().await?;
        client()
    }

    /// Sends the request and reads the reply until it ends or the call must stop.
    async fn call(
        &self,
        request: &StoredRequest,
        client: &Client,
        stop: &mut Stop,
    ) -> Result<ReadReply, JobsError> {
        let mut reader = ReplyReader::new(self.capture_place().await?);
        let limits = request.limits();
        stop.limit(&limits);
        let cause = match self.send(request, client, &limits, stop).await {
            Ok(reply) => self.read(request, reply, &mut reader, stop).await?,
            Err(cause) => cause,
        };
        self.finish(request, reader, cause).await
    }

    async fn send(
        &self,
        request: &StoredRequest,
        client: &Client,
        limits: &CallLimits,
        stop: &mut Stop,
    ) -> Result<Reply, Cause> {
        self.report(Update::Phase(CallPhase::Waiting));
        let (request, limiter) = (request.request(), self.limiter(request));
        let classify = |status: u16, headers: &[upstream::Header], body: &[u8]| {
            classify(&self.answers, status, headers, body)
        };
        let sending = client.send(&request, limits, &limiter, &classify);
        match stop.until(sending).await? {
            Ok(reply) => Ok(reply),
            // The limiter refused. Any earlier attempt was refused by the upstream and is free.
            Err(error) => Err(match limiter.not_sent() {
                Some(LimiterError::Cancelled) => Cause::Cancelled { free: true },
                Some(LimiterError::Store(error)) => {
                    fault(error.kind(), &format!("nothing was sent: {error}"), true)
                }
                _ => upstream_fault(&error),
            }),
        }
    }

    fn limiter(&self, request: &StoredRequest) -> CallAdmission {
        CallAdmission {
            limiter: Limiter::new(self.storage.clone(), self.rate),
            id: self.id.clone(),
            updates: self.updates.clone(),
            lenient: request.mode() == Mode::Answer && !self.budgeted,
            not_sent: Mutex::default(),
        }
    }

    async fn read(
        &self,
        request: &StoredRequest,
        mut reply: Reply,
        reader: &mut ReplyReader,
        stop: &mut Stop,
    ) -> Result<Cause, JobsError> {
        self.report(Update::Phase(CallPhase::Reading));
        let headers = reply.headers().to_vec();
        self.keep_head(&headers).await;
        match self
            .answers
            .reading(request.mode(), guest_headers(&headers))
        {
            Ok(reading) => reader.begin(reading),
            Err(error) => return Ok(sandbox_fault(&error)),
        }
        let mut progress = Progress::new();
        loop {
            let bytes = match stop.until(reply.chunk()).await {
                Ok(Ok(Some(bytes))) => bytes,
                Ok(Ok(None)) => return Ok(Cause::End),
                Ok(Err(error)) => return Ok(upstream_fault(&error)),
                Err(cause) => return Ok(cause),
            };
            let (more, over) = take_ready(bytes, &mut reply);
            let batch = reader.push(more, stop.check()).await?;
            let ended = batch.as_ref().is_ok_and(|batch| batch.ended);
            if let Some(cause) = self.pass_on(batch, &mut progress, stop).await {
                if ended && over.is_none() {
                    reply.leave();
                }
                return Ok(cause);
            }
            match over {
                None => {}
                Some(Ok(())) => return Ok(Cause::End),
                Some(Err(error)) => return Ok(upstream_fault(&error)),
            }
        }
    }

    /// Reports what was read. Returns the reason to stop reading, if there is one.
    async fn pass_on(
        &self,
        batch: Result<Batch, SandboxError>,
        progress: &mut Progress,
        stop: &mut Stop,
    ) -> Option<Cause> {
        let batch = match batch {
            Ok(batch) => batch,
            Err(error) => return Some(sandbox_fault(&error)),
        };
        let frame = progress.due(&batch.events);
        if !batch.events.is_empty() {
            self.report(Update::Events(batch.events));
        }
        // The outcome contains the parser's own error. More input would not change it.
        if batch.over {
            return Some(Cause::End);
        }
        // A slow store must not delay the call beyond its deadline.
        match frame {
            Some(frame) => stop.until(self.keep_progress(frame)).await.err(),
            None => None,
        }
        .or(batch.stopped)
    }

    async fn finish(
        &self,
        request: &StoredRequest,
        reader: ReplyReader,
        cause: Cause,
    ) -> Result<ReadReply, JobsError> {
        let (finished, lost) = reader.finish(request.mode()).await?;
        let (mut cause, mut outcome) = (cause, finished.outcome);
        if let Some(error) = finished.broken {
            // Report the first cause.
            if matches!(cause, Cause::End) {
                cause = sandbox_fault(&error);
            } else {
                outcome.error = None;
            }
        }
        if !finished.events.is_empty() {
            self.report(Update::Events(finished.events));
        }
        Ok(ReadReply {
            outcome,
            cause,
            lost,
        })
    }

    /// Settles the job in the store. If this fails, the caller still gets the result, and the capture remains for
    /// recovery.
    async fn end(&self, read: ReadReply) -> Result<Ended, JobsError> {
        let ReadReply {
            mut outcome,
            cause,
            lost,
        } = read;
        let (id, answers) = (self.id.clone(), self.answers.clone());
        self.blocking(move |storage| {
            let before = job_of(&storage, &id)?;
            let job_end = decide_end(&cause, &mut outcome, before.sent.is_some());
            let rendered = render(&answers, &outcome)
                .unwrap_or_else(|error| render_without_component(&outcome, &error));
            let mut warnings: Vec<String> = lost.into_iter().collect();
            let captured = before.capture.is_some() && storage.captures.exists(&id);
            let end = end_of(&job_end, &outcome, &rendered, &warnings, captured);
            let finished = storage.rows.finish(&id, &end, storage.clock.now());
            let stored = finished.is_ok();
            let job = match finished {
                Ok(_) => job_of(&storage, &id)?,
                Err(error) => {
                    warnings.push(not_stored(&error));
                    ended_by(before, &end, &storage)
                }
            };
            Ok(Ended {
                job,
                outcome,
                rendered,
                warnings,
                stored,
            })
        })
        .await
    }

    async fn capture_place(&self) -> Result<Option<CapturePlace>, JobsError> {
        let id = self.id.clone();
        self.blocking(move |storage| {
            let kept = job_of(&storage, &id)?.capture.is_some();
            let captures = storage.captures;
            Ok(kept.then_some(CapturePlace { captures, id }))
        })
        .await
    }

    /// Stores the headers of the reply. Only recovery needs them, so a failure does not end the call.
    async fn keep_head(&self, headers: &[upstream::Header]) {
        let (id, text) = (self.id.clone(), head_text(headers));
        let kept = self.blocking(move |storage| Ok(storage.rows.head(&id, &text)?));
        if let Err(error) = kept.await {
            tracing::warn!(%error, "the head of the reply is not stored");
        }
    }

    async fn keep_progress(&self, progress: ResearchProgress) {
        let id = self.id.clone();
        let kept = self.blocking(move |storage| Ok(storage.rows.progress(&id, &progress)?));
        if let Err(error) = kept.await {
            tracing::warn!(%error, "the progress is not stored");
        }
    }

    fn report(&self, update: Update) {
        // The receiver may be closed.
        let _ = self.updates.send(update);
    }

    async fn blocking<T: Send + 'static>(
        &self,
        call: impl FnOnce(Storage) -> Result<T, JobsError> + Send + 'static,
    ) -> Result<T, JobsError> {
        let storage = self.storage.clone();
        blocking(move || call(storage)).await
    }
}

/// Returns `first` and the further bytes that are available without waiting, and how the reply ended if it did.
fn take_ready(
    first: bytes::Bytes,
    reply: &mut Reply,
) -> (Vec<bytes::Bytes>, Option<Result<(), UpstreamError>>) {
    let mut size = first.len();
    let mut all = vec![first];
    while size < MAX_READ_BYTES {
        match futures_util::FutureExt::now_or_never(reply.chunk()) {
            None => break,
            Some(Ok(Some(bytes))) => {
                size += bytes.len();
                all.push(bytes);
            }
            Some(Ok(None)) => return (all, Some(Ok(()))),
            Some(Err(error)) => return (all, Some(Err(error))),
        }
    }
    (all, None)
}

/// Decides when progress is written to the store.
struct Progress {
    last: Option<ResearchProgress>,
    stored: Option<Instant>,
}

impl Progress {
    const fn new() -> Self {
        Self {
            last: None,
            stored: None,
        }
    }

    /// Returns the newest progress if there is one and the last write is old enough. The outcome contains any progress
    /// that is not written here.
    fn due(&mut self, events: &[Event]) -> Option<ResearchProgress> {
        for event in events {
            if let EventKind::Progress(progress) = &event.kind {
                self.last = Some(progress.into());
            }
        }
        let recent = |at: Instant| at.elapsed() < PROGRESS_STORE_INTERVAL;
        if self.last.is_none() || self.stored.is_some_and(recent) {
            return None;
        }
        self.stored = Some(Instant::now());
        self.last.take()
    }
}

fn job_of(storage: &Storage, id: &JobId) -> Result<Job, JobsError> {
    match storage.rows.lookup(id)? {
        Lookup::Found(job) => Ok(*job),
        Lookup::Expired(at) => Err(JobsError::Expired { id: id.clone(), at }),
        Lookup::Unknown => Err(JobsError::Unknown(id.to_string())),
    }
}

fn end_of(
    job_end: &JobEnd,
    outcome: &Outcome,
    rendered: &Rendered,
    lost: &[String],
    captured: bool,
) -> End {
    let notes: Vec<&str> = job_end
        .note
        .iter()
        .chain(lost)
        .map(String::as_str)
        .collect();
    End {
        state: job_end.state,
        settlement: job_end.settlement,
        outcome: Some(rendered.clone()),
        whole: whole(outcome),
        captured,
        error: job_end.error.clone(),
        note: (!notes.is_empty()).then(|| notes.join("; ")),
        progress: last_progress(outcome),
    }
}

/// Returns the job as it would be in the store.
fn ended_by(mut job: Job, end: &End, storage: &Storage) -> Job {
    job.state = end.state;
    job.ended = Some(storage.clock.now());
    job.error.clone_from(&end.error);
    job.note.clone_from(&end.note);
    job.whole = end.whole;
    job.capture = job.capture.filter(|_| end.captured);
    job.cost = match end.settlement {
        Settlement::Cost(cost) => Some(cost),
        Settlement::Unknown => None,
    };
    job
}

fn not_stored(error: &StoreError) -> String {
    format!("the end of this call could not be stored: {error}")
}
