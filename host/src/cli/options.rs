//! The options that asking commands share, and what is made of them.

use std::io::{self, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use super::confirm::Confirm;
use super::runtime::hold_signals;
use super::{jobs_setup, output};
use crate::answers::{InvalidField, Mode, Question, cost};
use crate::exit::Exit;
use crate::files;
use crate::jobs::{Call, JobsError, Micros, Simulate};
use crate::settings::Settings;
use crate::upstream::{KEY_HEADER, KeyError};

/// A question read from standard input: more text than this is not a question but a mistake.
const STDIN_BYTES: u64 = 1 << 20;

/// What is asked, and how the result is given.
#[derive(Args, Debug)]
pub struct QuestionOptions {
    /// Ask this; - reads the question from standard input
    #[arg(required = true, num_args = 1.., value_name = "QUESTION")]
    question: Vec<String>,
    /// Prefer results from this country: two letters, or ALL
    #[arg(long, value_name = "CODE")]
    country: Option<String>,
    /// Prefer results in this language, such as en or pt-br
    #[arg(long, value_name = "CODE")]
    language: Option<String>,
    /// Print the outcome as JSON
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,
    /// Print the outcome as Markdown
    #[arg(long)]
    pub markdown: bool,
    /// Write the outcome to a file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Show the request and what it could cost at most; send nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Send nothing that could cost more than this amount
    #[arg(long, value_name = "USD", value_parser = usd, allow_negative_numbers = true)]
    max_usd: Option<f64>,
    #[command(flatten)]
    confirm: Confirm,
}

fn usd(text: &str) -> Result<f64, String> {
    crate::settings::parse_usd(text)?;
    text.trim_start_matches('$')
        .trim()
        .parse()
        .map_err(|_| "is no amount".to_owned())
}

impl QuestionOptions {
    /// The question as it was typed or piped.
    ///
    /// # Errors
    /// When there is none, in words for a person.
    pub fn query(&self) -> Result<String, String> {
        let text = match self.question.as_slice() {
            [dash] if dash == "-" => from_stdin()?,
            words => words.join(" "),
        };
        let text = text.trim();
        if text.is_empty() {
            return Err(
                "the question is empty; give one, or - to read it from standard input".to_owned(),
            );
        }
        Ok(text.to_owned())
    }

    /// The part of a question that all calls share.
    #[must_use]
    pub fn question(&self, query: String) -> Question {
        Question::asking(query, self.country.clone(), self.language.clone())
    }

    /// The call of a question.
    #[must_use]
    pub fn call(
        &self,
        settings: &Settings,
        mode: Mode,
        question: Question,
        estimate: Micros,
    ) -> Call {
        let (tool, deadline) = match mode {
            Mode::Answer => ("ask", settings.timeout_answer.value),
            Mode::Research => ("research", settings.timeout_research.value),
        };
        Call {
            tool: tool.to_owned(),
            mode,
            question,
            estimate,
            deadline,
            idle: settings.timeout_idle.value,
            max_usd: self.max_usd,
            capture: settings.capture.value,
            simulate: settings.simulate.value.then_some(Simulate {
                scenario: None,
                pace: settings.pace.value,
            }),
            approval: None,
        }
    }

    /// Asks the person before a costly call.
    ///
    /// # Errors
    /// Why the call is not to be made, in words for a person.
    pub async fn confirm(&self, settings: &Settings, call: &Call) -> Result<(), String> {
        self.confirm.ask(settings, call.estimate).await
    }

    /// The file that the outcome is to be in, where one is named.
    ///
    /// # Errors
    /// Why it cannot be written, in words for a person.
    pub fn target(&self) -> Result<Option<Target>, String> {
        let target = self.output.as_deref().map(Target::prepare).transpose();
        target.map_err(|why| format!("{why}; nothing was sent"))
    }

    /// Shows the request of a call instead of sending it.
    ///
    /// # Errors
    /// When the sandbox fails or standard output cannot be written.
    pub async fn show(&self, settings: &Settings, call: &Call) -> anyhow::Result<Exit> {
        let answers = jobs_setup::answers(settings);
        answers.ready().await?;
        let request = match answers.build(&call.question)? {
            Ok(request) => request,
            Err(fields) => return Ok(super::ask::say(&wrong(&fields), Exit::Usage)),
        };
        let url = if settings.simulate.value {
            format!("(the simulator){}", request.path)
        } else {
            settings
                .upstream
                .value
                .join(&request.path)
                .map_or_else(|| request.path.clone(), String::from)
        };
        let body = String::from_utf8_lossy(&request.body);
        let mut headers: Vec<(String, String)> = request
            .headers
            .into_iter()
            .map(|header| (header.name, header.value))
            .collect();
        headers.push((KEY_HEADER.to_owned(), masked_key(settings)));
        if self.json {
            let headers: serde_json::Map<String, serde_json::Value> = headers
                .into_iter()
                .map(|(name, value)| (name, value.into()))
                .collect();
            let body: serde_json::Value = serde_json::from_str(&body).unwrap_or_default();
            output::json(&serde_json::json!({
                "method": request.method, "url": url, "headers": headers, "body": body,
                "worst_cost_usd": call.estimate.usd(),
            }))?;
        } else {
            output::line(&format!("{} {url}", request.method))?;
            for (name, value) in headers {
                output::line(&format!("{name}: {value}"))?;
            }
            output::line(&format!(
                "\n{body}\n\nThis call could cost {} at most. Nothing was sent.",
                call.estimate
            ))?;
        }
        Ok(Exit::Done)
    }
}

/// Why a call was not made, with bad fields by the names that a shell knows them by.
#[must_use]
pub fn refusal(error: &JobsError) -> String {
    match error {
        JobsError::Invalid(fields) => wrong(fields),
        JobsError::OverMax { estimate, max } => format!("{error}{}", fitting(*estimate, *max)),
        error => error.to_string(),
    }
}

/// Returns which research would fit an amount, if this is about a research and one would.
fn fitting(estimate: Micros, max: Micros) -> String {
    let queries = max.0 / cost::RESEARCH_QUERY.0;
    if estimate < cost::RESEARCH_QUERY || queries == 0 {
        return String::new();
    }
    format!(". --queries {queries} would fit")
}

fn wrong(fields: &[InvalidField]) -> String {
    let told = fields
        .iter()
        .map(|bad| format!("{} {}", flag(&bad.field), bad.problem));
    told.collect::<Vec<_>>().join("; ")
}

/// The flag that fills a field of the request.
fn flag(field: &str) -> &str {
    match field {
        "query" => "the question",
        "country" => "--country",
        "language" => "--language",
        "research_maximum_number_of_iterations" => "--iterations",
        "research_maximum_number_of_seconds" => "--seconds",
        "research_maximum_number_of_queries" => "--queries",
        "research_maximum_number_of_tokens_per_query" => "--tokens-per-query",
        "research_maximum_number_of_results_per_query" => "--results-per-query",
        other => other,
    }
}

fn masked_key(settings: &Settings) -> String {
    if settings.simulate.value {
        return "(none is needed)".to_owned();
    }
    let report = settings.key_report();
    match (report.key, report.origin) {
        (Ok(_), Some(origin)) => format!("(from {origin})"),
        (Ok(_), None) => "(set)".to_owned(),
        (Err(KeyError::Missing), _) => "(no key is set)".to_owned(),
        (Err(error), _) => format!("({error})"),
    }
}

fn from_stdin() -> Result<String, String> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        output::message(&"glovebox: type the question, then Ctrl-D");
    }
    let mut bytes = Vec::new();
    stdin
        .lock()
        .take(STDIN_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("cannot read the question from standard input: {error}"))?;
    if bytes.len() as u64 > STDIN_BYTES {
        return Err(format!(
            "the question on standard input is longer than {STDIN_BYTES} bytes; shorten it"
        ));
    }
    String::from_utf8(bytes)
        .map_err(|_| "the question on standard input is not UTF-8 text".to_owned())
}

/// Whether a call can be sent at all, before anything is stored for it.
///
/// # Errors
/// Why there is no key, in words for a person.
pub fn need_key(settings: &Settings) -> Result<(), String> {
    if settings.simulate.value {
        return Ok(());
    }
    let report = settings.key_report();
    if let Some(warning) = report.warning {
        output::message(&format_args!("glovebox: {warning}"));
    }
    report.key.map(|_| ()).map_err(|error| error.to_string())
}

/// A file for the outcome, found to be usable before the call is paid for and written after it.
#[derive(Debug)]
pub struct Target(files::Target, PathBuf);

impl Target {
    /// Makes sure that the file can be written.
    fn prepare(path: &Path) -> Result<Self, String> {
        let target = files::Target::prepare(path);
        let target = target.map_err(|why| format!("cannot write {}: {why}", path.display()))?;
        Ok(Self(target, path.to_owned()))
    }

    /// Whether it is a terminal, and the text has to be fit for one.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.0.is_terminal()
    }

    /// Writes the text. A signal to end waits until that is done, so that no temporary file is left.
    ///
    /// # Errors
    /// When the disk is full, or the folder or the reader went away.
    pub fn fill(self, text: &str) -> anyhow::Result<()> {
        let Self(target, path) = self;
        if target.cannot_block() {
            hold_signals();
        }
        let bytes = format!("{text}\n");
        target
            .write(bytes.as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))?;
        output::message(&format_args!(
            "glovebox: wrote {} bytes to {}",
            bytes.len(),
            path.display()
        ));
        Ok(())
    }
}
