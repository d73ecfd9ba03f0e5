//! One call of a tool: its cancellation and its progress reports.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::jobs::SingleUse;

/// The least time between two progress reports of one call.
const APART: Duration = Duration::from_millis(250);

/// The most time between two progress reports. Clients that extend their time-out on progress wait 30 seconds or more, so
/// one lost report does no harm.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// A call of a tool.
#[derive(Debug)]
pub struct ToolCall {
    /// Cancelled when the client no longer wants the result.
    pub cancel: CancellationToken,
    /// Cancelled when the client closed its end: calls that only wait then end.
    pub leaving: CancellationToken,
    /// Whether the client supports tasks, by the capabilities in this request.
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
        // The capabilities of a handshake do not count.
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

    /// Returns when the call began.
    #[must_use]
    pub const fn began(&self) -> Instant {
        self.began
    }

    /// Waits for the future and reports progress meanwhile, where the client asked for that: whenever `source` has something
    /// new, and at the latest after the heartbeat.
    ///
    /// A client that does not read delays the reports only. The future goes on.
    pub async fn reporting<T>(
        &self,
        future: impl Future<Output = T>,
        source: impl ProgressSource,
    ) -> T {
        tokio::select! {
            biased;
            done = future => done,
            never = self.report_forever(source) => match never {},
        }
    }

    async fn report_forever(&self, mut source: impl ProgressSource) -> std::convert::Infallible {
        let Some((peer, token)) = &self.report else {
            return std::future::pending().await;
        };
        let mut last = 0.0_f64;
        loop {
            let _ = tokio::time::timeout(HEARTBEAT, source.next()).await;
            if self.leaving.is_cancelled() {
                return std::future::pending().await;
            }
            // Tenths of a second. The protocol requires that each value is larger than the one before.
            let tenths = (source.elapsed().as_secs_f64() * 10.0).round() / 10.0;
            last = if tenths > last { tenths } else { last + 0.1 };
            let progress =
                ProgressNotificationParam::new(token.clone(), last).with_message(source.message());
            if peer.notify_progress(progress).await.is_err() {
                return std::future::pending().await;
            }
            tokio::time::sleep(APART).await;
        }
    }
}

/// The source of the progress reports of a call.
pub trait ProgressSource: Send {
    /// Waits until there is something new. Never ends where nothing new can come.
    fn next(&mut self) -> impl Future<Output = ()> + Send;

    /// Returns the progress as a message for a person.
    fn message(&self) -> String;

    /// Returns how long the job has run, which is the value of a report.
    fn elapsed(&self) -> Duration;
}
