//! The tool `status`: version, key, limits, spending, running jobs and advice.

use std::fmt::Write as _;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::super::Service;
use super::super::agent_text::without_flags;
use super::super::args::Args;
use super::super::reply::{Reply, ToolResult, error_text};
use super::super::service::KeyState;
use super::super::structured_part::Row;
use super::super::tool_call::ToolCall;
use super::jobs;
use crate::jobs::{Filter, Job, JobsError, State};
use crate::policy::Advice;

/// The version of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The most running jobs that are listed.
const SHOWN: usize = 20;

/// Runs the tool.
pub fn status<'a>(service: &'a Service, _args: Args, _call: &'a ToolCall) -> BoxFuture<'a, Reply> {
    async move { status_result(service).await.into() }.boxed()
}

async fn status_result(service: &Service) -> ToolResult {
    let config = service.config();
    let found = (config.key)();
    let (mut state, key) = match &found.key {
        Ok(key) => ("ready", key.as_str()),
        Err(_) => ("no-key", "missing"),
    };
    let bounds = &config.answers.bounds;
    let mut text = format!(
        "glovebox {VERSION}, reached by {}\nKey: {key}\nSandbox: {} MiB of memory a stream, {} ms of CPU a call, {} MiB of output a call",
        config.address,
        bounds.memory_bytes >> 20,
        bounds.cpu.as_millis(),
        bounds.output_bytes >> 20,
    );
    let stored = stored(service, &mut text).await.unwrap_or_else(|error| {
        let _ = write!(text, "\nJobs and spend: {}", error_text(&error));
        state = "no-store";
        json!({})
    });
    let advice = advice(&found, service.advice());
    for advice in &advice {
        let _ = write!(text, "\nAdvice: {advice}");
    }
    let mut part = json!({
        "state": state,
        "version": VERSION,
        "key": key,
        "sandbox": {
            "memory_bytes": bounds.memory_bytes,
            "cpu_ms": u64::try_from(bounds.cpu.as_millis()).unwrap_or(u64::MAX),
            "output_bytes": bounds.output_bytes,
        },
        "advice": advice,
    });
    if let (Some(part), Value::Object(stored)) = (part.as_object_mut(), stored) {
        part.extend(stored);
    }
    ToolResult::new(text, part)
}

/// Returns the advice, the missing key first.
fn advice(found: &KeyState, advice: Vec<Advice>) -> Vec<String> {
    let missing = found.key.as_ref().err();
    let texts: Vec<String> = advice.into_iter().map(|advice| advice.text).collect();
    let all = missing.into_iter().chain(&found.advice).chain(&texts);
    all.map(|advice| without_flags(advice)).collect()
}

/// Adds spending and jobs to the text, and returns their members of the structured content.
async fn stored(service: &Service, text: &mut String) -> Result<Value, JobsError> {
    let spend = service.jobs().spend(1).await?;
    let total = &spend.total;
    let mut sums = Map::new();
    sums.insert("calls".into(), json!(total.calls));
    sums.insert("cost_usd".into(), json!(total.spent.usd()));
    let _ = write!(
        text,
        "\nSpent today (UTC): {} in {} calls",
        total.spent, total.calls
    );
    if total.unknown_calls > 0 {
        let (calls, counted) = (total.unknown_calls, total.unknown);
        sums.insert("unknown_counted_usd".into(), json!(counted.usd()));
        let _ = write!(
            text,
            ", and {calls} calls of unknown cost counted at {counted}"
        );
    }
    if spend.simulated.calls > 0 {
        let _ = write!(
            text,
            " (beside {} simulated calls, which cost nothing)",
            spend.simulated.calls
        );
    }
    match &spend.budget {
        Some(budget) => {
            sums.insert("left_usd".into(), json!(budget.left.usd()));
            let _ = write!(
                text,
                "; {} left of the budget of {}",
                budget.left, budget.limit
            );
        }
        None => text.push_str("; no budget set"),
    }
    let running = running(service).await?;
    let _ = write!(text, "\nRunning: {}", running.len());
    for job in &running {
        let _ = write!(text, "\n- {}", jobs::line(job));
    }
    let rows: Vec<Row<'_>> = running.iter().map(Row::of).collect();
    Ok(json!({ "spend": sums, "jobs": rows }))
}

async fn running(service: &Service) -> Result<Vec<Job>, JobsError> {
    let mut running = Vec::new();
    for state in [State::Running, State::Queued] {
        let filter = Filter {
            all: true,
            state: Some(state),
        };
        running.extend(service.jobs().list(filter, SHOWN).await?);
    }
    Ok(running)
}
