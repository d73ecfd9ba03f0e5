//! `glovebox replay`: prints the answer of a captured stream.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, ValueEnum};

use super::exit_status::ExitStatus as _;
use super::render::Terminal;
use super::terminal::escape_for_terminal;
use super::{ending, jobs_setup, output};
use crate::answers::{Answers, Format, Mode, Outcome, Read, StreamErrorKind, unrendered};
use crate::exit::Exit;
use crate::sandbox::SandboxError;
use crate::settings::Settings;

/// Pieces that are pushed unless `--chunk` says otherwise: what a socket gives at most.
const CHUNK_BYTES: usize = 64 << 10;

/// The most that is read of a file. A stream ends with an error at its own limit, which is lower.
const FILE_BYTES: u64 = 512 << 20;

/// How much of a stream is looked at to find out its mode. Research shows its first tag within a kilobyte.
const INFER_BYTES: usize = 4 << 20;

/// Print the answer of a captured stream
///
/// The exit status is 6 where the stream is incomplete or has no answer, 5 where the upstream ended it with an error, and 1
/// where the file cannot be read, is no captured stream, or reached a limit of the sandbox.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  glovebox replay capture.sse
  glovebox replay --json - < capture.sse")]
pub struct Replay {
    /// Read this file; - reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Read the stream as this; inferred from its tags unless given
    #[arg(long, value_enum)]
    mode: Option<ReplayMode>,
    /// Print the outcome as JSON
    #[arg(long)]
    json: bool,
    /// Push this many bytes at a time
    #[arg(long, value_name = "BYTES", default_value_t = CHUNK_BYTES, value_parser = at_least_one)]
    chunk: usize,
}

/// The mode as a word of the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ReplayMode {
    /// A single cited answer
    Answer,
    /// Deep research
    Research,
}

impl From<ReplayMode> for Mode {
    fn from(mode: ReplayMode) -> Self {
        match mode {
            ReplayMode::Answer => Self::Answer,
            ReplayMode::Research => Self::Research,
        }
    }
}

impl Replay {
    /// Runs the command.
    ///
    /// # Errors
    /// When standard output cannot be written to.
    pub fn run(self, settings: &Settings) -> anyhow::Result<Exit> {
        // Compiles while the file is read.
        let answers = jobs_setup::answers(settings);
        let bytes = match read(&self.file) {
            Ok(bytes) => bytes,
            Err(error) => {
                output::message(&format_args!("glovebox: {error:#}"));
                return Ok(Exit::Failed);
            }
        };
        let read = match self.read(&answers, &bytes) {
            Ok(read) => read,
            Err(error) => return Ok(failed(&error)),
        };
        let outcome = read.outcome;
        if is_foreign(&outcome) {
            output::message(&format_args!(
                "glovebox: {} is not a captured Brave Answers stream; captures are .sse files, and `glovebox jobs status ID` shows where one is kept",
                self.file.display()
            ));
            return Ok(Exit::Failed);
        }
        let mut broken = read.broken;
        let rendered = answers.render(&outcome, self.format());
        let text = rendered.unwrap_or_else(|error| {
            let text = unrendered(&outcome, self.format(), &error);
            broken.get_or_insert(error);
            text
        });
        match Terminal::of_stdout().filter(|_| !self.json) {
            Some(terminal) => print_styled(&outcome.answer, &text, terminal, &answers)?,
            None if self.json => output::json(&text)?,
            None => output::line(&escape_for_terminal(&text))?,
        }
        if let Some(error) = &broken {
            return Ok(failed(error));
        }
        Ok(outcome.exit())
    }

    const fn format(&self) -> Format {
        if self.json {
            Format::Json
        } else {
            Format::Plain
        }
    }

    fn read(&self, answers: &Answers, bytes: &[u8]) -> Result<Read, SandboxError> {
        let mode = match self.mode {
            Some(mode) => mode.into(),
            None => answers.infer_mode(bytes.get(..INFER_BYTES).unwrap_or(bytes))?,
        };
        answers.read(mode, Vec::new(), bytes, self.chunk)
    }
}

/// Whether what was read is neither a stream nor a reply.
fn is_foreign(outcome: &Outcome) -> bool {
    let error = outcome.error.as_ref();
    error.is_some_and(|error| error.kind == StreamErrorKind::NotAReply.name())
}

/// Prints an answer with styles, then its sources and its cost.
fn print_styled(answer: &str, text: &str, terminal: Terminal, answers: &Answers) -> io::Result<()> {
    for line in ending::styled(answer, terminal, answers) {
        output::raw_line(&line)?;
    }
    let rest = text.strip_prefix(answer.trim_end()).unwrap_or(text);
    output::line(&rest)
}

/// Reports a failure of the sandbox.
fn failed(error: &SandboxError) -> Exit {
    output::message(&format_args!("glovebox: {}: {error}", error.kind()));
    Exit::Failed
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("a stream is pushed in pieces of at least one byte".to_owned()),
        Ok(bytes) => Ok(bytes),
        Err(_) => Err("a number of bytes, such as 4096".to_owned()),
    }
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        io::stdin()
            .lock()
            .take(FILE_BYTES)
            .read_to_end(&mut bytes)
            .context("standard input cannot be read")?;
        return Ok(bytes);
    }
    File::open(path)
        .and_then(|file| file.take(FILE_BYTES).read_to_end(&mut bytes))
        .with_context(|| format!("{} cannot be read", path.display()))?;
    Ok(bytes)
}
