//! `glovebox spend`: shows what was spent, by day and by tool, and what is left of the budget.

use clap::Args;

use super::{jobs, jobs_setup, output};
use crate::exit::Exit;
use crate::jobs::ledger::budget::{BudgetLeft, SpendReport, Sums};
use crate::settings::Settings;

/// Characters of the bar of the budget.
const BAR: usize = 40;

/// Show what was spent and what is left of the budget
///
/// By day (UTC) and by tool. Simulated calls cost nothing and have a line of their own.
#[derive(Args, Debug)]
pub struct Spend {
    /// Show this many days, today included
    #[arg(long, value_name = "NUMBER", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    days: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Spend {
    /// Runs the command.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub async fn run(self, settings: &Settings) -> anyhow::Result<Exit> {
        let jobs = jobs_setup::stored(settings);
        let done = async {
            let report = jobs.spend(self.days).await?;
            if self.json {
                output::json(&format_args!("{:#}", report.to_json()))?;
            } else {
                for line in lines(&report) {
                    output::line(&line)?;
                }
            }
            Ok(Exit::Done)
        };
        jobs::report_error(done.await)
    }
}

fn lines(report: &SpendReport) -> Vec<String> {
    let mut lines = Vec::new();
    if report.days.is_empty() {
        lines.push("Nothing was spent in this time.".to_owned());
    } else {
        lines.extend(table("DAY (UTC)", &report.days));
        lines.push(String::new());
        lines.extend(table("TOOL", &report.tools));
        lines.push(String::new());
        lines.push(total(report.total));
    }
    if report.simulated.calls > 0 {
        lines.push(String::new());
        lines.push(format!(
            "Simulated calls, no real money: {} (simulated)",
            total(report.simulated)
        ));
    }
    lines.push(String::new());
    match report.budget {
        Some(budget) => lines.extend(budget_lines(&report.today, budget)),
        None => lines.push("No daily budget is set; --budget-usd-per-day sets one.".to_owned()),
    }
    lines
}

fn table(name: &str, rows: &[(String, Sums)]) -> Vec<String> {
    let width = rows
        .iter()
        .map(|(row, _)| row.chars().count())
        .chain([name.len()])
        .max()
        .unwrap_or(0);
    let head = format!(
        "{name:<width$}  {:>6}  {:>10}  {:>10}  {:>16}",
        "CALLS", "COST", "RESERVED", "UNKNOWN"
    );
    let row = |(name, sums): &(String, Sums)| {
        let unknown = match sums.unknown_calls {
            0 => "-".to_owned(),
            calls => format!("{calls} at {}", sums.unknown.to_cents()),
        };
        let reserved = match sums.reserved.0 {
            0 => "-".to_owned(),
            _ => sums.reserved.to_cents(),
        };
        format!(
            "{name:<width$}  {:>6}  {:>10}  {reserved:>10}  {unknown:>16}",
            sums.calls,
            sums.spent.to_cents(),
        )
    };
    std::iter::once(head).chain(rows.iter().map(row)).collect()
}

fn total(sums: Sums) -> String {
    let calls = if sums.calls == 1 { "call" } else { "calls" };
    let mut line = format!("{} in {} {calls}", sums.spent.to_cents(), sums.calls);
    if sums.unknown_calls > 0 {
        line.push_str(&format!(
            "; the cost of {} is unknown, counted at {}",
            sums.unknown_calls,
            sums.unknown.to_cents()
        ));
    }
    if sums.reserved.0 > 0 {
        line.push_str(&format!(
            "; {} reserved by running calls",
            sums.reserved.to_cents()
        ));
    }
    line
}

fn budget_lines(today: &str, budget: BudgetLeft) -> Vec<String> {
    let used = budget.spent.plus(budget.reserved);
    vec![
        format!("Budget of {today} (UTC): {} a day", budget.limit.to_cents()),
        format!(
            "{}  {} spent, {} reserved, {} left",
            jobs::bar(used, budget.limit, BAR),
            budget.spent.to_cents(),
            budget.reserved.to_cents(),
            budget.left.to_cents()
        ),
    ]
}
