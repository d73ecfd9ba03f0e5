//! One call of a tool: how it is cancelled, and to whom it reports.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::jobs::SingleUse;

/// The least time between two reports of one call.
const APART: Duration = Duration::from_millis(250);

/// The most time between two reports. Clients that reset their clock on progress do so for spans of 30
/// seconds and more; well under that, one lost report does no harm.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// A call of a tool.
#[derive(Debug)]
pub struct ToolCall {
    /// Cancelled when the client no longer wants the result.
    pub cancel: CancellationToken,
    /// Cancelled when the client closed its end: what merely waits should then come to an end.
    pub leaving: CancellationToken,
    /// Whether the client follows tasks, as it says on this very request.
    pub follows_tasks: bool,
    /// A person's approval, which the call uses up when it reserves its cost.
    pub approval: Option<SingleUse>,
    began: Instant,
    report: Option<(Peer<RoleServer>, ProgressToken)>,
}

impl ToolCall {
    /// Returns the call that a request makes.
    #[must_use]
    pub fn of(
        context: &RequestContext<RoleServer>,
        leaving: CancellationToken,
        approval: Option<SingleUse>,
    ) -> Self {
        let token = context.meta.get_progress_token();
        // Only what this very request says counts, never the handshake of the older era.
        let follows_tasks = context
            .meta
            .client_capabilities()
            .is_some_and(|capabilities| capabilities.supports_tasks());
        Self {
            cancel: context.ct.clone(),
            leaving,
            follows_tasks,
            approval,
            began: Instant::now(),
            report: token.map(|token| (context.peer.clone(), token)),
        }
    }

    /// When the call began.
    #[must_use]
    pub const fn began(&self) -> Instant {
        self.began
    }

    /// Waits for the future and reports meanwhile, if the client asked for reports. `news` is asked for
    /// a message whenever it says that there is something new, and at the latest by the heartbeat.
    ///
    /// A client that does not read holds up the reports and nothing else: the future goes on.
    pub async fn reporting<T>(&self, future: impl Future<Output = T>, news: impl News) -> T {
        tokio::select! {
            biased;
            done = future => done,
            never = self.report_forever(news) => match never {},
        }
    }

    async fn report_forever(&self, mut news: impl News) -> std::convert::Infallible {
        let Some((peer, token)) = &self.report else {
            return std::future::pending().await;
        };
        let mut last = 0.0_f64;
        loop {
            let _ = tokio::time::timeout(HEARTBEAT, news.next()).await;
            if self.leaving.is_cancelled() {
                return std::future::pending().await;
            }
            // Tenths of a second, and always more than before, as the protocol wants it.
            let tenths = (news.elapsed().as_secs_f64() * 10.0).round() / 10.0;
            last = if tenths > last { tenths } else { last + 0.1 };
            let progress =
                ProgressNotificationParam::new(token.clone(), last).with_message(news.message());
            if peer.notify_progress(progress).await.is_err() {
                return std::future::pending().await;
            }
            tokio::time::sleep(APART).await;
        }
    }
}

/// Where reports come from.
pub trait News: Send {
    /// Ends when there is something new. Never ends where nothing will be.
    fn next(&mut self) -> impl Future<Output = ()> + Send;

    /// How things are, for a person.
    fn message(&self) -> String;

    /// How long the job has run, which is what a report counts.
    fn elapsed(&self) -> Duration;
}
