//! A question in, a cited answer out: a WASI 0.2 command over `wasi:http` and the same library as everywhere.
//!
//! The answer streams to the standard output; sources, cost and what went wrong go to the standard error. The
//! key comes from `BRAVE_ANSWERS_KEY` or `BRAVE_API_KEY`, the origin from `GLOVEBOX_UPSTREAM`. WASI knows two exit
//! statuses: 0 for a complete answer, 1 for anything else.

mod arguments;
mod call;
mod show;

use std::process::ExitCode;

use arguments::Wanted;

const USAGE: &str = "\
usage: ask [OPTIONS] QUESTION…   (a single - reads the question from the standard input)

  --research               deep research: minutes, and about $0.07 a query
  --json                   the outcome as JSON instead of text
  --country CC             two letters, or ALL
  --language LL            such as en or pt-br
  --model NAME             brave or brave-pro
  --upstream ORIGIN        another origin than GLOVEBOX_UPSTREAM says
  --no-citations           without inline citations
  --iterations N           research: 1 to 5
  --queries N              research: 1 to 50
  --seconds N              research: 1 to 300

environment: BRAVE_ANSWERS_KEY or BRAVE_API_KEY; GLOVEBOX_UPSTREAM for another origin";

fn main() -> ExitCode {
    let wanted = match arguments::read(std::env::args().skip(1)) {
        Ok(Some(wanted)) => wanted,
        Ok(None) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("ask: {problem}\n\n{USAGE}");
            return ExitCode::FAILURE;
        }
    };
    match wstd::runtime::block_on(run(&wanted)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("ask: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// Whether the answer came complete.
async fn run(wanted: &Wanted) -> Result<bool, String> {
    let mode = if wanted.question.enable_research == Some(true) {
        answers::Mode::Research
    } else {
        answers::Mode::Answer
    };
    let request = answers::build(&wanted.question).map_err(|fields| {
        let all: Vec<String> = fields
            .iter()
            .map(|field| format!("{} {}", field.field, field.problem))
            .collect();
        format!("nothing was sent: {}", all.join("; "))
    })?;
    let key = variable("BRAVE_ANSWERS_KEY")
        .or_else(|| variable("BRAVE_API_KEY"))
        .ok_or(
            "no key: set BRAVE_ANSWERS_KEY for this component (glovebox run does so by itself)",
        )?;
    let origin = call::origin(
        wanted
            .upstream
            .clone()
            .or_else(|| variable("GLOVEBOX_UPSTREAM"))
            .as_deref(),
    )?;
    let mut reply = call::send(&origin, &key, request).await?;
    let mut parser = answers::Parser::new(mode, answers::Limits::default());
    parser.head(&reply.headers);
    let mut screen = show::Screen::new(mode, wanted.json);
    while let Some(chunk) = reply.next().await? {
        let batch = parser.push(&chunk);
        screen.events(&batch.events)?;
        if batch.error.is_some() {
            break;
        }
    }
    let finished = parser.finish();
    screen.events(&finished.last.events)?;
    screen.end(&finished.outcome)?;
    // What failed in mid-air is told by the outcome, with what had come before it.
    if let Some(broken) = reply.broken {
        return Err(format!(
            "the reply broke off ({broken}); what came before is above"
        ));
    }
    let outcome = finished.outcome;
    Ok(outcome.error.is_none() && outcome.complete && !outcome.truncated)
}

fn variable(name: &str) -> Option<String> {
    let value = std::env::var(name).ok()?;
    let value = value.trim();
    (!value.is_empty()).then(|| value.to_owned())
}
