//! `glovebox audit`: check and read the audit log.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tokio::time::interval;

use super::terminal::{escape_for_terminal, escape_json_for_terminal};
use super::{output, signals};
use crate::exit::Exit;
use crate::policy::audit::{AuditDir, ChainKey, Expected, Follow, Query, newest, verify};
use crate::settings::{PolicyFlags, Settings};

/// How often a followed log is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Check or read the audit log.
#[derive(Args, Debug)]
pub struct Audit {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Check that no line was changed, removed, inserted or moved. Exit status 1 where one was.
    Verify(Verify),
    /// Print the newest events.
    Tail(Tail),
}

#[derive(Args, Debug)]
struct Verify {
    /// Check that this event is in the log; the command prints the newest in this form
    #[arg(long, value_name = "SEQ:HASH")]
    expect: Option<Expected>,
    /// The key of the chain [env: GLOVEBOX_AUDIT_KEY_FILE]
    #[arg(long, value_name = "FILE")]
    audit_key_file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
struct Tail {
    /// How many events
    #[arg(long, short = 'n', value_name = "NUMBER", default_value_t = 20)]
    lines: usize,
    /// Go on printing new events until interrupted
    #[arg(long, short)]
    follow: bool,
    /// Only events of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Print the events as JSON, one a line
    #[arg(long)]
    json: bool,
}

impl Audit {
    /// Runs the command.
    ///
    /// # Errors
    /// When the log cannot be read or standard output cannot be written.
    pub async fn run(self, settings: &Settings) -> anyhow::Result<Exit> {
        let dir = AuditDir::of_state(&settings.state_dir.value);
        match self.action {
            Action::Verify(check) => check.run(settings, &dir),
            Action::Tail(tail) => tail.run(dir).await,
        }
    }
}

impl Verify {
    fn run(self, settings: &Settings, dir: &AuditDir) -> anyhow::Result<Exit> {
        let policy = settings.policy(&PolicyFlags::default())?;
        let path = self.audit_key_file.or(policy.audit_key_file.value);
        let key = path.map(|path| {
            ChainKey::read(&path)
                .with_context(|| format!("the audit key file {} cannot be used", path.display()))
        });
        let key = key.transpose()?;
        match verify(dir, key.as_ref(), self.expect)? {
            Ok(log) if self.json => output::json(&json!({
                "ok": true, "events": log.events, "first": log.first, "last": log.last,
                "hash": log.hash.to_string(),
            }))?,
            Ok(log) if log.events == 0 => {
                output::line(&format!("{} has no events", dir.path().display()))?;
            }
            Ok(log) => output::line(&format!(
                "{} events, {} to {}, unchanged\nto check later that the log was not set back: glovebox audit verify --expect {}:{}",
                log.events, log.first, log.last, log.last, log.hash
            ))?,
            Err(fault) => {
                if self.json {
                    output::json(&json!({
                        "ok": false, "file": fault.file, "line": fault.line, "seq": fault.seq,
                        "problem": fault.to_string(),
                    }))?;
                } else {
                    output::message(&format_args!("glovebox: {fault}"));
                }
                return Ok(Exit::Failed);
            }
        }
        Ok(Exit::Done)
    }
}

impl Tail {
    async fn run(self, dir: AuditDir) -> anyhow::Result<Exit> {
        let query = Query {
            count: self.lines,
            tool: self.tool.clone(),
            decision: None,
        };
        // Before the newest are read, so that none between is missed; some may then be seen twice.
        let follow = self
            .follow
            .then(|| Follow::from_end(dir.clone()))
            .transpose()?;
        let mut last = 0;
        for event in newest(&dir, &query)?.iter().rev() {
            last = event.get("seq").and_then(Value::as_u64).unwrap_or(last);
            if !self.print(event)? {
                return Ok(Exit::Done);
            }
        }
        let Some(mut follow) = follow else {
            return Ok(Exit::Done);
        };
        let mut looks = interval(LOOK_EVERY);
        let ended = signals::terminated();
        tokio::pin!(ended);
        loop {
            tokio::select! {
                _ = looks.tick() => {}
                () = &mut ended => return Ok(Exit::Interrupted),
            }
            for line in follow.lines()? {
                let Ok(event) = serde_json::from_str::<Value>(&line) else {
                    continue;
                };
                let seq = event.get("seq").and_then(Value::as_u64).unwrap_or(u64::MAX);
                if seq > last && query.fits(&event) && !self.print(&event)? {
                    return Ok(Exit::Done);
                }
            }
        }
    }

    /// Prints an event. Returns whether somebody reads.
    fn print(&self, event: &Value) -> io::Result<bool> {
        let mut stdout = io::stdout().lock();
        let is_terminal = stdout.is_terminal();
        let text = match (self.json, is_terminal) {
            (true, true) => escape_json_for_terminal(&event.to_string()),
            (true, false) => event.to_string(),
            (false, _) => escape_for_terminal(&line(event)),
        };
        match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            written => written.map(|()| true),
        }
    }
}

/// An event in a line for a person.
fn line(event: &Value) -> String {
    let text = |name: &str| {
        event
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or("-")
            .to_owned()
    };
    let mut line = format!("{} {:14}", text("time"), text("event"));
    for name in ["tool", "decision", "reason", "transport", "client"] {
        if event.get(name).is_some() {
            line.push(' ');
            line.push_str(&text(name));
        }
    }
    for (name, unit) in [
        ("duration_ms", " ms"),
        ("cost_usd", " USD"),
        ("count", " times"),
    ] {
        if let Some(number) = event.get(name) {
            line.push_str(&format!(" {number}{unit}"));
        }
    }
    line
}
