//! `glovebox traffic inspect`: shows what is in a saved file.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context as _;
use clap::{Args, ValueEnum};

use super::json::JsonOutput;
use super::output::Output;
use super::summary::Summary;
use super::text::TextOutput;
use crate::cli::{jobs_setup, output};
use crate::exit::Exit;
use crate::jobs::clock::Millis;
use crate::sandbox::{CHUNK_BYTES, SandboxError};
use crate::traffic::{
    Detection, Inspected, InspectionOptions, Mode, Redactor, Report, Traffic, TrafficConfig,
};

/// Bytes of the key of the placeholders: as many as the hash under it has.
const KEY_BYTES: usize = 32;

/// Show the exchanges, findings and secrets of a HAR or Burp XML file
///
/// The file is read in the sandbox, in bounded memory whatever its size. Prints a line for each exchange, then what the passive
/// checks found, what was redacted, and the report of the import. A secret is shown as a placeholder; equal values have equal
/// placeholders within one run.
///
/// The exit status is 6 where the file ends before its proper end, and 1 where it cannot be read, is no traffic file, is
/// damaged, or reached a limit of the sandbox. Skipped items do not change it; the report counts them.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  glovebox traffic inspect capture.har
  glovebox traffic inspect capture.har --exchange 12
  zcat items.xml.gz | glovebox traffic inspect - --redaction strict --json")]
pub struct Inspect {
    /// Read this file; - reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Replace nothing, secrets, or secrets and host names, e-mail and IP addresses
    #[arg(long, value_enum, default_value_t = Redaction::Balanced, value_name = "MODE")]
    redaction: Redaction,
    /// Show one exchange in full, by its number in the list
    #[arg(long, value_name = "NUMBER")]
    exchange: Option<u64>,
    /// Use another traffic component instead of the embedded one
    #[arg(long, value_name = "FILE")]
    traffic_component: Option<PathBuf>,
}

/// The redaction mode as a word of the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Redaction {
    /// Replace nothing
    Off,
    /// Replace secrets
    Balanced,
    /// Replace secrets, host names, e-mail and IP addresses
    Strict,
}

impl From<Redaction> for Mode {
    fn from(redaction: Redaction) -> Self {
        match redaction {
            Redaction::Off => Self::Off,
            Redaction::Balanced => Self::Balanced,
            Redaction::Strict => Self::Strict,
        }
    }
}

impl Inspect {
    /// Runs the command.
    ///
    /// # Errors
    /// When standard output cannot be written to, or the system gives no random bytes.
    pub fn run(self) -> anyhow::Result<Exit> {
        let mut source = match Source::open(&self.file) {
            Ok(source) => source,
            Err(error) => {
                output::message(&format_args!("glovebox: {error:#}"));
                return Ok(Exit::Failed);
            }
        };
        let config = TrafficConfig {
            component: self.traffic_component.clone(),
            ..TrafficConfig::default()
        };
        let traffic = Traffic::new(&jobs_setup::sandbox(), config);
        // Compiles while the first bytes are read.
        traffic.start();
        let mut key = vec![0; KEY_BYTES];
        getrandom::fill(&mut key).context("the system gives no random bytes")?;
        let options = InspectionOptions {
            mode: self.redaction.into(),
            key,
            now_ms: Millis::of(SystemTime::now()).0,
            only: self.exchange,
        };
        let name = source.name.clone();
        let output: Box<dyn Output> = if self.json {
            Box::new(JsonOutput::new(&name, options.mode))
        } else {
            Box::new(TextOutput::new(options.mode))
        };
        let mut run = Run {
            name,
            output,
            traffic,
            mode: options.mode,
            key: options.key.clone(),
            scrubber: None,
            summary: Summary::default(),
            wanted: self.exchange,
            scrubbed: 0,
        };
        let ended = run.read(&mut source, options)?;
        run.end(ended)
    }
}

/// One run of the command.
struct Run {
    name: String,
    output: Box<dyn Output>,
    traffic: Traffic,
    summary: Summary,
    wanted: Option<u64>,
    mode: Mode,
    key: Vec<u8>,
    scrubber: Option<Redactor>,
    /// Secrets that were replaced in finished lines only. There should be none.
    scrubbed: usize,
}

/// How the reading of a file ended.
enum Ended {
    /// The file was read to its end.
    Report(Report),
    /// The exchange that was asked for was printed.
    Shown,
    /// The file is no traffic file.
    Unknown(Detection),
    /// The component failed; so many bytes were read.
    Sandbox(SandboxError, u64),
    /// The file cannot be read on after so many bytes.
    Unreadable(io::Error, u64),
}

impl Run {
    /// Reads the file, and prints its items as they come.
    fn read(&mut self, source: &mut Source, options: InspectionOptions) -> anyhow::Result<Ended> {
        let mut chunk = match source.next() {
            Ok(chunk) => chunk,
            Err(error) => return Ok(Ended::Unreadable(error, 0)),
        };
        let (detection, inspection) = match self.traffic.inspection(&chunk, options) {
            Ok(begun) => begun,
            Err(error) => return Ok(Ended::Sandbox(error, 0)),
        };
        let Some(mut inspection) = inspection else {
            return Ok(Ended::Unknown(detection));
        };
        if self.wanted.is_none() {
            match self.output.begin(&detection) {
                Ok(lines) => self.print(lines)?,
                Err(error) => return Ok(Ended::Sandbox(error, 0)),
            }
        }
        while !chunk.is_empty() {
            match inspection.push(&chunk) {
                Ok(items) => {
                    if let Some(ended) = self.take(&items, inspection.consumed())? {
                        return Ok(ended);
                    }
                }
                Err(error) => return Ok(Ended::Sandbox(error, inspection.consumed())),
            }
            chunk = match source.next() {
                Ok(chunk) => chunk,
                Err(error) => return Ok(Ended::Unreadable(error, inspection.consumed())),
            };
        }
        match inspection.finish() {
            Ok(finished) => {
                let ended = self.take(&finished.last, inspection.consumed())?;
                Ok(ended.unwrap_or(Ended::Report(finished.report)))
            }
            Err(error) => Ok(Ended::Sandbox(error, inspection.consumed())),
        }
    }

    /// Takes items over into the summary and prints them. Returns an end where the exchange that was asked for is there.
    fn take(&mut self, items: &[Inspected], consumed: u64) -> anyhow::Result<Option<Ended>> {
        for item in items {
            self.summary.add(item);
            let Some(wanted) = self.wanted else {
                let lines = self.output.item(item);
                self.print(lines)?;
                continue;
            };
            match item {
                Inspected::Exchange(exchange) if exchange.exchange.index == wanted => {
                    return match self.output.exchange(&self.traffic, exchange) {
                        Ok(lines) => {
                            self.print(lines)?;
                            Ok(Some(Ended::Shown))
                        }
                        Err(error) => Ok(Some(Ended::Sandbox(error, consumed))),
                    };
                }
                Inspected::Failed { index, error } if *index == wanted => {
                    return Ok(Some(Ended::Sandbox(error.clone(), consumed)));
                }
                Inspected::Skip(skip) if skip.index == wanted => {
                    self.summary.wanted_skip = Some(skip.clone());
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// Prints lines that were scanned once more for secrets of known shapes.
    fn print(&mut self, lines: Vec<String>) -> anyhow::Result<()> {
        for line in lines {
            let (line, count) = self.scrubber()?.scrub(&line)?;
            self.scrubbed += count;
            if self.output.is_json() {
                output::json(&line)?;
            } else {
                output::line(&line)?;
            }
        }
        Ok(())
    }

    /// Returns the redactor of finished lines. It has a session of its own, so it works where the inspection failed.
    fn scrubber(&mut self) -> Result<&mut Redactor, SandboxError> {
        let scrubber = match self.scrubber.take() {
            Some(scrubber) => scrubber,
            None => self
                .traffic
                .redactor(self.mode, &self.key, &self.key, &[])?,
        };
        Ok(self.scrubber.insert(scrubber))
    }

    /// Prints the summary and reports how it ended.
    fn end(mut self, ended: Ended) -> anyhow::Result<Exit> {
        let name = self.name.clone();
        let name = &name;
        let taken = self.summary.taken;
        let (exit, problem) = match &ended {
            Ended::Shown => (Exit::Done, None),
            Ended::Report(report) => match &report.error {
                Some(failure) => (
                    Exit::Failed,
                    Some(format!("{name}: {} (byte {})", failure.message, failure.at)),
                ),
                None if !report.complete => (
                    Exit::Incomplete,
                    Some(format!(
                        "{name} ends before its proper end: {taken} exchanges were read. Save it again, or read what is there"
                    )),
                ),
                None => (self.summary.exit(), self.summary.problem(name)),
            },
            Ended::Unknown(detection) => {
                (Exit::Failed, Some(format!("{name}: {}", detection.message)))
            }
            Ended::Sandbox(error, bytes) => (
                Exit::Failed,
                Some(format!(
                    "{}: {error}. {name} was read up to byte {bytes}; the {taken} exchanges before were shown",
                    error.kind()
                )),
            ),
            Ended::Unreadable(error, bytes) => (
                Exit::Failed,
                Some(format!(
                    "{name} cannot be read after byte {bytes}: {error}. The {taken} exchanges before were shown"
                )),
            ),
        };
        let report = match &ended {
            Ended::Report(report) => Ok(report),
            _ => Err(problem.as_deref().unwrap_or_default()),
        };
        let missing = self.wanted.filter(|_| !matches!(ended, Ended::Shown));
        if !matches!(ended, Ended::Shown) && (missing.is_none() || self.output.is_json()) {
            let lines = self.output.end(&self.summary, report);
            self.print(lines)?;
        }
        if let Some(problem) = problem {
            output::message(&format_args!("glovebox: {problem}"));
        }
        if let (Some(wanted), Ended::Report(_)) = (missing, &ended) {
            output::message(&format_args!(
                "glovebox: {}",
                self.summary.missing(wanted, name)
            ));
            return Ok(Exit::Failed);
        }
        if self.scrubbed > 0 {
            output::message(&format_args!(
                "glovebox: {} values of a secret's shape were found in the finished output and replaced there; please report it",
                self.scrubbed
            ));
        }
        Ok(exit)
    }
}

/// Where the bytes come from.
struct Source {
    name: String,
    from: Box<dyn Read>,
}

impl Source {
    fn open(path: &Path) -> anyhow::Result<Self> {
        if path == Path::new("-") {
            if io::stdin().is_terminal() {
                output::message(&"glovebox: reading a HAR or Burp XML file from standard input");
            }
            return Ok(Self {
                name: "standard input".to_owned(),
                from: Box::new(io::stdin()),
            });
        }
        let name = path.display().to_string();
        let file = File::open(path).with_context(|| format!("{name} cannot be read"))?;
        anyhow::ensure!(
            !file.metadata().is_ok_and(|meta| meta.is_dir()),
            "{name} is a folder; give the file of the saved traffic"
        );
        Ok(Self {
            name,
            from: Box::new(file),
        })
    }

    /// Returns the next bytes, as many as one call of the component takes; fewer at the end alone, and none after it.
    fn next(&mut self) -> io::Result<Vec<u8>> {
        let mut chunk = Vec::with_capacity(CHUNK_BYTES);
        self.from
            .by_ref()
            .take(CHUNK_BYTES as u64)
            .read_to_end(&mut chunk)?;
        Ok(chunk)
    }
}
