//! The tools of this program, as the HTTP transport serves them.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rmcp::model::JsonObject;
use tokio_util::sync::CancellationToken;

use crate::jobs::State;
use crate::jobs::ledger::limiter;
use crate::mcp::{FAMILIES, Guarded, Server, Service};
use crate::transport::http::{Channel, Endpoint, Start, run};

/// The tools of this program.
#[derive(Debug)]
pub struct Tools {
    service: Service,
    schemas: HashMap<&'static str, Arc<JsonObject>>,
}

impl Tools {
    /// The tools of a service.
    #[must_use]
    pub fn new(service: Service) -> Self {
        let tools = FAMILIES.tools();
        let schemas = tools
            .map(|(_, tool)| (tool.name, tool.listed(false).input_schema))
            .collect();
        Self { service, schemas }
    }
}

impl Endpoint for Tools {
    fn serve(
        &self,
        channel: Channel,
        start: Start,
        leaving: CancellationToken,
        stop: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let caller = channel.caller().clone();
        let server = Guarded(Server::new(self.service.clone(), FAMILIES, caller, leaving));
        run(server, channel, start, stop).boxed()
    }

    fn gate_denied(&self, reason: &'static str) {
        if let Some(audit) = self.service.control().audit() {
            audit.gate_denied("http", reason);
        }
    }

    fn input_schema(&self, tool: &str) -> Option<Arc<JsonObject>> {
        self.schemas.get(tool).cloned()
    }

    fn unready(&self) -> BoxFuture<'_, Option<String>> {
        async move {
            let store = self.service.jobs().session_store().await;
            store.err().map(|error| error.to_string())
        }
        .boxed()
    }

    fn metrics(&self) -> BoxFuture<'_, String> {
        async move {
            let mut text = String::new();
            let jobs = self.service.jobs();
            let _ = writeln!(text, "# TYPE glovebox_jobs gauge");
            if let Ok(counts) = jobs.count_by_state().await {
                for state in State::ALL {
                    let name = state.as_str();
                    let of_state = counts.iter().find(|(counted, _)| *counted == state);
                    let count = of_state.map_or(0, |(_, count)| *count);
                    let _ = writeln!(text, "glovebox_jobs{{state=\"{name}\"}} {count}");
                }
            }
            if let Ok(spend) = jobs.spend(1).await {
                let spent = spend.total.spent.0;
                let calls = spend.total.calls;
                let _ = writeln!(
                    text,
                    "# TYPE glovebox_spend_today_microdollars gauge\nglovebox_spend_today_microdollars {spent}\n\
                     # TYPE glovebox_upstream_calls_today gauge\nglovebox_upstream_calls_today {calls}"
                );
            }
            let waits = limiter::waits();
            for (name, value) in [
                ("glovebox_limiter_waits_total", waits.count.to_string()),
                (
                    "glovebox_limiter_wait_seconds_total",
                    format!("{:.3}", waits.total.as_secs_f64()),
                ),
                ("glovebox_limiter_refusals_total", waits.refused.to_string()),
            ] {
                let _ = writeln!(text, "# TYPE {name} counter\n{name} {value}");
            }
            text
        }
        .boxed()
    }
}
