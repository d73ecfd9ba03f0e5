//! `glovebox doctor`: checks the installation.

use std::io::{self, ErrorKind, IsTerminal as _};
use std::path::Path;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{jobs_setup, operator, output, serve, stderr};
use crate::answers::{Answers, Mode, Question, cost};
use crate::exit::Exit;
use crate::jobs::Call;
use crate::mcp::FAMILIES;
use crate::policy::{self, DEFAULT_PLACES, Policy};
use crate::sandbox::Sandbox;
use crate::settings::{PolicyFlags, PolicySettings, Settings, SettingsError};
use crate::transport::http::token::TokenError;
use crate::upstream::Client;

/// How long a server of this machine may take to say who it is, and how much.
const ANSWER_WITHIN: Duration = Duration::from_millis(500);
const LONGEST_ANSWER: u64 = 4096;
/// Long enough for a slow network, short enough for a person.
const REACH_WITHIN: Duration = Duration::from_secs(10);

/// Check the key, the settings, the state folder and the way to the upstream
///
/// Nothing is sent that could be billed, but with --live. The exit status is 1 where something has to be done.
#[derive(Args, Debug)]
pub struct Doctor {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Do not try to reach the upstream
    #[arg(long)]
    offline: bool,
    /// Ask one question, for about $0.05, after asking you
    #[arg(long, conflicts_with = "offline")]
    live: bool,
    /// Do not ask before --live sends its question
    #[arg(long, requires = "live")]
    yes: bool,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum CheckResult {
    Ok,
    Advice,
    Problem,
}

#[derive(Debug, Serialize)]
struct Check {
    check: &'static str,
    verdict: CheckResult,
    text: String,
}

#[derive(Debug, Serialize)]
struct Report {
    version: &'static str,
    ok: bool,
    checks: Vec<Check>,
    settings: Vec<Value>,
}

#[derive(Debug, Serialize)]
struct Value {
    name: &'static str,
    value: String,
    from: String,
}

impl Doctor {
    /// Runs the command.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub async fn run(self, settings: &Settings) -> anyhow::Result<Exit> {
        let mut checks = vec![
            config_file(settings),
            key(settings),
            state_folder(&settings.state_dir.value),
        ];
        checks.extend(store(settings).await);
        checks.push(component(settings).await);
        checks.push(if self.offline {
            skipped()
        } else {
            upstream(settings).await
        });
        if self.live {
            checks.push(live(settings, self.yes).await);
        }
        checks.push(token(settings));
        checks.push(serving().await);
        let policy = settings.policy(&PolicyFlags::default());
        checks.push(policy_check(policy.as_ref()));
        checks.extend(advice(settings));
        let ok = checks
            .iter()
            .all(|check| check.verdict != CheckResult::Problem);
        let settings = settings
            .table()
            .into_iter()
            .chain(policy.map(|policy| policy.table()).unwrap_or_default())
            .map(|(name, value, from)| Value { name, value, from })
            .collect();
        let report = Report {
            version: env!("CARGO_PKG_VERSION"),
            ok,
            checks,
            settings,
        };
        if self.json {
            output::json(&serde_json::to_string_pretty(&report)?)?;
        } else {
            print(&report)?;
        }
        Ok(if ok { Exit::Done } else { Exit::Failed })
    }
}

fn print(report: &Report) -> anyhow::Result<()> {
    output::line(&format!("glovebox {}", report.version))?;
    for check in &report.checks {
        let mark = match check.verdict {
            CheckResult::Ok => "ok     ",
            CheckResult::Advice => "advice ",
            CheckResult::Problem => "PROBLEM",
        };
        output::line(&format!("{mark}  {}: {}", check.check, check.text))?;
    }
    output::line(&"\nsettings")?;
    let width = report
        .settings
        .iter()
        .map(|setting| setting.name.len())
        .max()
        .unwrap_or_default();
    for Value { name, value, from } in &report.settings {
        output::line(&format!("  {name:width$}  {value}  ({from})"))?;
    }
    Ok(())
}

const fn good(check: &'static str, text: String) -> Check {
    Check {
        check,
        verdict: CheckResult::Ok,
        text,
    }
}

const fn bad(check: &'static str, text: String) -> Check {
    Check {
        check,
        verdict: CheckResult::Problem,
        text,
    }
}

const fn hint(check: &'static str, text: String) -> Check {
    Check {
        check,
        verdict: CheckResult::Advice,
        text,
    }
}

fn config_file(settings: &Settings) -> Check {
    let (path, present) = &settings.config_file;
    let state = if *present {
        ""
    } else {
        " (none, which is fine)"
    };
    good("config file", format!("{}{state}", path.display()))
}

fn key(settings: &Settings) -> Check {
    let report = settings.key_report();
    match (report.key, report.warning) {
        (Err(_), _) if settings.simulate.value => {
            good("key", "not needed with --simulate".to_owned())
        }
        (Err(error), _) => bad("key", error.to_string()),
        (Ok(_), Some(warning)) => hint("key", warning),
        (Ok(_), None) => good("key", format!("from {}", report.origin.unwrap_or_default())),
    }
}

fn state_folder(folder: &Path) -> Check {
    const NAME: &str = "state folder";
    let shown = folder.display();
    if !folder.exists() {
        return match nearest(folder) {
            Some(parent) if writable(parent) => {
                good(NAME, format!("{shown} (made at the first call)"))
            }
            _ => bad(
                NAME,
                format!("{shown} cannot be made: choose another with --state-dir"),
            ),
        };
    }
    if !writable(folder) {
        return bad(
            NAME,
            format!("{shown} cannot be written: choose another with --state-dir"),
        );
    }
    match open_to_others(folder) {
        true => hint(
            NAME,
            format!("{shown} can be read by other users: run chmod 700 {shown}"),
        ),
        false => good(NAME, shown.to_string()),
    }
}

/// What is stored in the folder, where there is something: a damaged store refuses all but plain answers.
async fn store(settings: &Settings) -> Option<Check> {
    const NAME: &str = "job store";
    let path = settings.state_dir.value.join("jobs.db");
    if !path.exists() {
        return None;
    }
    Some(match jobs_setup::stored(settings).spend(1).await {
        Ok(_) => good(NAME, format!("{} can be read and written", path.display())),
        Err(error) => bad(NAME, error.to_string()),
    })
}

fn nearest(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|ancestor| ancestor.is_dir())
}

fn writable(folder: &Path) -> bool {
    tempfile::Builder::new()
        .prefix(".glovebox-doctor")
        .tempfile_in(folder)
        .is_ok()
}

#[cfg(unix)]
fn open_to_others(folder: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(folder).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn open_to_others(_folder: &Path) -> bool {
    false
}

async fn component(settings: &Settings) -> Check {
    const NAME: &str = "component";
    let start = Instant::now();
    // Without kept code, so that compiling is tried too.
    let answers = Answers::start(&Sandbox::default(), jobs_setup::answers_config(settings));
    if let Err(error) = answers.ready().await {
        return bad(NAME, error.to_string());
    }
    let compiled = start.elapsed();
    let tried =
        tokio::task::spawn_blocking(move || answers.build(&Question::about("?".to_owned()))).await;
    match tried {
        Ok(Ok(Ok(_))) => good(
            NAME,
            format!(
                "compiled in {} ms and builds requests",
                compiled.as_millis()
            ),
        ),
        Ok(Ok(Err(_))) => bad(
            NAME,
            "it refuses a valid question: it is not the one for this version".to_owned(),
        ),
        Ok(Err(error)) => bad(NAME, error.to_string()),
        Err(error) => bad(NAME, error.to_string()),
    }
}

async fn upstream(settings: &Settings) -> Check {
    const NAME: &str = "upstream";
    if settings.simulate.value {
        return good(NAME, "the simulator takes its place".to_owned());
    }
    let config = settings.upstream_config();
    let shown = config.origin.to_string();
    match Client::new(config) {
        Err(error) => bad(NAME, error.to_string()),
        Ok(client) => match client.reach(REACH_WITHIN).await {
            Ok(status) => good(
                NAME,
                format!("{shown} can be reached (HTTP status {status} without a key)"),
            ),
            Err(error) => bad(NAME, error.to_string()),
        },
    }
}

/// Makes one paid call, after a person has agreed to it.
async fn live(settings: &Settings, agreed: bool) -> Check {
    const NAME: &str = "live call";
    const QUESTION: &str = "What is the capital of France?";
    let price = cost::answer_price!();
    if !agreed && !confirmed(&format!("Send one question, which costs {price}? [y/N] ")) {
        return hint(NAME, "not made: nothing was sent".to_owned());
    }
    let answer = async {
        let jobs = jobs_setup::open(settings).await?;
        let question = Question::asking(QUESTION.to_owned(), None, None).with_citations(true);
        let call = Call {
            tool: "doctor".to_owned(),
            mode: Mode::Answer,
            question,
            estimate: cost::ANSWER,
            deadline: settings.timeout_answer.value,
            idle: settings.timeout_idle.value,
            max_usd: None,
            capture: settings.capture.value,
            simulate: jobs.simulate.clone(),
            approval: None,
        };
        let submitted = jobs.jobs.submit(call).await?;
        let (updates, _) = tokio::sync::mpsc::unbounded_channel();
        let id = submitted.job.id;
        let ended = jobs
            .jobs
            .run(&id, CancellationToken::new(), updates)
            .await?;
        anyhow::Ok(ended.job)
    };
    match answer.await {
        Err(error) => bad(NAME, error.to_string()),
        Ok(job) => match (&job.error, job.cost) {
            (Some(error), _) => bad(NAME, error.message.clone()),
            (None, Some(cost)) => good(NAME, format!("answered for {}", job.amount(cost))),
            (None, None) => hint(NAME, "answered; its cost is unknown".to_owned()),
        },
    }
}

/// Asks a person. Where standard input is no terminal, the answer is no.
fn confirmed(question: &str) -> bool {
    if !io::stdin().is_terminal() {
        output::message(&"glovebox: --live asks on a terminal; --yes agrees without being asked");
        return false;
    }
    stderr::write(question.as_bytes());
    let mut line = String::new();
    io::stdin().read_line(&mut line).is_ok() && line.trim().eq_ignore_ascii_case("y")
}

fn skipped() -> Check {
    good("upstream", "not checked (--offline)".to_owned())
}

fn advice(settings: &Settings) -> Vec<Check> {
    let situation = operator::situation_of_doctor(settings);
    let advice = policy::advice(&situation).into_iter();
    let mut checks: Vec<Check> = advice.map(|advice| hint(advice.id, advice.text)).collect();
    if settings.budget_per_day.value.is_none() && !settings.simulate.value {
        let text =
            "no budget is set; --budget-usd-per-day stops calls that could pass it".to_owned();
        checks.push(hint("budget", text));
    }
    checks
}

/// Checks the settings about tools against the tools there are.
fn policy_check(policy: Result<&PolicySettings, &SettingsError>) -> Check {
    const NAME: &str = "policy";
    let rules = match policy {
        Ok(policy) => policy.rules(DEFAULT_PLACES),
        Err(error) => return bad(NAME, error.to_string()),
    };
    match Policy::new(&FAMILIES.facts(), &rules) {
        Ok(policy) => good(NAME, format!("{} tools are listed", policy.listed().len())),
        Err(error) => bad(NAME, error.to_string()),
    }
}

/// Looks at the bearer token of `glovebox serve`.
fn token(settings: &Settings) -> Check {
    let file = serve::token_file(settings, None);
    let path = file.path().display().to_string();
    match file.read() {
        Err(TokenError::File { source, .. }) if source.kind() == ErrorKind::NotFound => good(
            "token",
            "none yet: glovebox serve makes one at its first start".to_owned(),
        ),
        Err(error) => bad("token", error.to_string()),
        Ok(_) if file.is_readable_by_others() => Check {
            check: "token",
            verdict: CheckResult::Advice,
            text: format!(
                "others of this machine can read {path}: chmod 600 it, then glovebox token new"
            ),
        },
        Ok(_) => good("token", format!("in {path}, which only you can read")),
    }
}

/// Looks who is at the default address of `glovebox serve`.
async fn serving() -> Check {
    let address = serve::DEFAULT_ADDRESS;
    let text = match timeout(ANSWER_WITHIN, TcpStream::connect(address)).await {
        Ok(Ok(mut stream)) => {
            let request = format!(
                "GET /__mcp/health HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"
            );
            let mut reply = Vec::new();
            let exchange = async {
                stream.write_all(request.as_bytes()).await?;
                stream.take(LONGEST_ANSWER).read_to_end(&mut reply).await
            };
            let answered = matches!(timeout(ANSWER_WITHIN, exchange).await, Ok(Ok(_)));
            let reply = String::from_utf8_lossy(&reply).to_ascii_lowercase();
            if answered && reply.contains("x-glovebox: mcp") {
                format!("glovebox is running at {address}")
            } else {
                format!(
                    "another program uses {address}; give glovebox serve another address with --listen"
                )
            }
        }
        _ => format!("no server is running at {address}"),
    };
    good("serve", text)
}
