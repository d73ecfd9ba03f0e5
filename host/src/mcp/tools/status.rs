//! The tool `status`: what this server is, what it may do, and what it is doing.

use std::fmt::Write as _;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::super::Service;
use super::super::args::Args;
use super::super::call::ToolCall;
use super::super::reply::{Reply, Told};
use super::jobs;
use crate::jobs::{Filter, Job, JobsError, State};

/// The most running jobs that are named.
const SHOWN: usize = 20;

/// The tool.
pub fn status<'a>(service: &'a Service, _args: Args, _call: &'a ToolCall) -> BoxFuture<'a, Reply> {
    async move { told(service).await.into() }.boxed()
}

async fn told(service: &Service) -> Told {
    let config = service.config();
    let version = env!("CARGO_PKG_VERSION");
    let (ready, key) = match (config.key)() {
        Ok(key) => ("ready", key),
        Err(missing) => ("no-key", format!("missing: {missing}")),
    };
    let sandbox = &config.sandbox;
    let mut text = format!(
        "glovebox {version}, reached by {}\nKey: {key}\nSandbox: {} MiB of memory a stream, {} ms of CPU a call, {} MiB of output a call",
        config.reached,
        sandbox.memory_bytes >> 20,
        sandbox.cpu.as_millis(),
        sandbox.output_bytes >> 20,
    );
    let sandbox = json!({
        "memory_bytes": sandbox.memory_bytes,
        "cpu_ms_per_call": u64::try_from(sandbox.cpu.as_millis()).unwrap_or(u64::MAX),
        "output_bytes_per_call": sandbox.output_bytes,
        "component": sandbox.component,
    });
    let (state, spend, running) = match stored(service, &mut text).await {
        Ok((spend, running)) => (ready, spend, running),
        Err(error) => {
            let _ = write!(text, "\nJobs and spend: {error}");
            ("no-store", json!({}), Vec::new())
        }
    };
    for advice in &config.advice {
        let _ = write!(text, "\nAdvice: {advice}");
    }
    Told::new(
        text,
        json!({ "state": state, "version": version, "reached": config.reached, "key": key, "sandbox": sandbox, "spend": spend, "jobs": running, "advice": config.advice }),
    )
}

async fn stored(service: &Service, text: &mut String) -> Result<(Value, Vec<Value>), JobsError> {
    let spend = service.desk().spend(1).await?;
    let _ = write!(
        text,
        "\nSpent today (UTC): {} in {} calls",
        spend.total.spent, spend.total.calls
    );
    if spend.total.unknown_calls > 0 {
        let (calls, counted) = (spend.total.unknown_calls, spend.total.unknown);
        let _ = write!(
            text,
            ", and {calls} calls of unknown cost counted at {counted}"
        );
    }
    match &spend.budget {
        Some(budget) => {
            let _ = write!(
                text,
                "; {} left of the budget of {}",
                budget.left, budget.limit
            );
        }
        None => text.push_str("; no budget set"),
    }
    let mut running = Vec::new();
    for state in [State::Running, State::Queued] {
        let filter = Filter {
            all: true,
            state: Some(state),
        };
        running.extend(service.desk().list(filter, SHOWN).await?);
    }
    let _ = write!(text, "\nRunning: {}", running.len());
    for job in &running {
        let _ = write!(text, "\n- {}", jobs::line(job));
    }
    Ok((spend.to_json(), running.iter().map(Job::to_json).collect()))
}
