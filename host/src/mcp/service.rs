//! What all connections of a process share: the jobs, the operator's control, and the configuration of the tools.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OnceCell, broadcast};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::structured::Structured;
use crate::answers::{AnswersConfig, Question};
use crate::jobs::clock;
use crate::jobs::{Job, Jobs, JobsError, Simulate, SingleUse, Submitted};
use crate::policy::{Advice, Approvals, Control, Situation, advice};

/// Notices of new jobs that wait for a slow listener. A missed notice does no harm: the next one leads to the same list.
const NOTICES: usize = 16;

/// Where research jobs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// In processes of their own, which outlive this one.
    Detached,
    /// In this process.
    Here,
}

/// Whether there is a key, for messages. The key itself is not part of it.
#[derive(Clone, Debug)]
pub struct KeyState {
    /// Where it comes from, or why there is none.
    pub key: Result<String, String>,
    /// A warning about where the key was looked for.
    pub advice: Option<String>,
}

/// Looks for the key.
pub type KeyCheck = Arc<dyn Fn() -> KeyState + Send + Sync>;

/// The configuration of the tools.
#[derive(Clone)]
pub struct Config {
    /// Which clients get structured content and output schemas.
    pub structured: Structured,
    /// The most bytes of text in one result, and of structured content.
    pub output_bytes: usize,
    /// The longest time of an answer.
    pub answer_deadline: Duration,
    /// The longest time of a research job.
    pub research_deadline: Duration,
    /// The longest silence of the upstream.
    pub idle: Option<Duration>,
    /// How long a job is kept after its end.
    pub keep: Duration,
    /// Whether raw streams are kept.
    pub capture: bool,
    /// The simulator that detached workers start.
    pub simulate: Option<Simulate>,
    /// Where research jobs run.
    pub runs: Runs,
    /// The answers component and its bounds, for `status`.
    pub answers: AnswersConfig,
    /// How clients reach the server, for `status`.
    pub address: String,
    /// Returns whether there is a key.
    pub key: KeyCheck,
    /// What the advice depends on, as far as it does not change while the server runs.
    pub situation: Situation,
    /// How long a person may take to approve a call where the server waits for the answer.
    pub ask_within: Duration,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("structured", &self.structured)
            .field("output_bytes", &self.output_bytes)
            .field("runs", &self.runs)
            .finish_non_exhaustive()
    }
}

/// What all connections share. A clone is cheap and is the same service.
#[derive(Clone, Debug)]
pub struct Service {
    jobs: Jobs,
    control: Arc<Control>,
    approvals: Arc<OnceCell<Approvals>>,
    config: Arc<Config>,
    new_jobs: broadcast::Sender<()>,
    work: TaskTracker,
}

impl Service {
    /// Returns a service under this control.
    #[must_use]
    pub fn new(jobs: Jobs, control: Arc<Control>, config: Config) -> Self {
        Self {
            jobs,
            control,
            approvals: Arc::default(),
            config: Arc::new(config),
            new_jobs: broadcast::channel(NOTICES).0,
            work: TaskTracker::new(),
        }
    }

    /// Returns the job service.
    #[must_use]
    pub const fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    /// Returns the operator's control.
    #[must_use]
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// Returns what seals approvals: with the secret of the store, so that any process of it can open them.
    ///
    /// # Errors
    /// When the store cannot be used.
    pub async fn approvals(&self) -> Result<&Approvals, JobsError> {
        let made = self.approvals.get_or_try_init(|| async {
            let secret = self.jobs.secret().await?;
            Approvals::new(&secret)
                .ok_or_else(|| JobsError::Defect("the store's secret is no key".to_owned()))
        });
        made.await
    }

    /// Returns the advice of this moment.
    #[must_use]
    pub fn advice(&self) -> Vec<Advice> {
        let mut situation = self.config.situation.clone();
        situation.settings_problem = self.control.settings_problem();
        situation.allows_unsafe = self.control.policy().allows_unsafe();
        situation.is_audited = self.control.audit().is_some();
        situation.events_lost = self.control.audit().map_or(0, |audit| audit.lost());
        advice(&situation)
    }

    /// Returns the configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the tasks that still run. A process waits for them before it ends.
    #[must_use]
    pub const fn work(&self) -> &TaskTracker {
        &self.work
    }

    /// Returns a receiver of a notice for each research job that this process starts.
    #[must_use]
    pub fn new_jobs(&self) -> broadcast::Receiver<()> {
        self.new_jobs.subscribe()
    }

    /// Starts a research job, which goes on when its caller ends.
    ///
    /// # Errors
    /// When the question is wrong, or the job cannot be started.
    pub async fn start(
        &self,
        question: Question,
        approval: Option<SingleUse>,
    ) -> Result<Submitted, JobsError> {
        let call = self.research(question, approval);
        let submitted = match self.config.runs {
            Runs::Detached => self.jobs.detach(call).await?,
            Runs::Here => self.start_here(call).await?,
        };
        // It is no error that nobody listens.
        let _ = self.new_jobs.send(());
        Ok(submitted)
    }

    async fn start_here(&self, call: crate::jobs::Call) -> Result<Submitted, JobsError> {
        let submitted = self.jobs.submit(call).await?;
        if !submitted.already_running {
            let (jobs, id) = (self.jobs.clone(), submitted.job.id.clone());
            self.work.spawn(async move {
                let (unheard, _) = tokio::sync::mpsc::unbounded_channel();
                if let Err(error) = jobs.run(&id, CancellationToken::new(), unheard).await {
                    tracing::warn!(%id, %error, "a research ended at once");
                }
            });
        }
        Ok(submitted)
    }

    /// Returns the seconds that a job ran, or has been running.
    #[must_use]
    pub fn elapsed(&self, job: &Job) -> u64 {
        self.run_time(job).as_secs()
    }

    /// Returns how long a job ran, or has been running.
    #[must_use]
    pub fn run_time(&self, job: &Job) -> Duration {
        Duration::from_millis(u64::try_from(job.elapsed_ms(clock::now())).unwrap_or_default())
    }
}
