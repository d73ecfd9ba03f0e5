//! `glovebox replay`: a captured stream through the component.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, ValueEnum};

use super::{desk, output};
use crate::engine::answers::{Format, Limits, Mode, Outcome};
use crate::engine::{Engine, SandboxError};
use crate::exit::Exit;
use crate::settings::Settings;

/// Pieces that are pushed unless `--chunk` says otherwise: what a socket gives at most.
const CHUNK_BYTES: usize = 64 << 10;

/// The most that is read of a file. A stream ends with an error at its own limit, which is lower.
const FILE_BYTES: u64 = 512 << 20;

/// How much of a stream is looked at to find out its mode. Research shows its first tag within a kilobyte.
const INFER_BYTES: usize = 4 << 20;

/// Reads a captured stream and prints the cited answer.
///
/// Exit status 6 where the stream is incomplete or truncated, 5 where the upstream ended it with an error, 1 where a
/// limit of the sandbox did, 2 where the file cannot be read.
#[derive(Args, Debug)]
pub struct Replay {
    /// The stream; - reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// How the stream was made; inferred from its tags unless given
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
        let engine = Engine::start(desk::engine_config(settings));
        let bytes = match read(&self.file) {
            Ok(bytes) => bytes,
            Err(error) => {
                output::message(&format_args!("glovebox: {error:#}"));
                return Ok(Exit::Usage);
            }
        };
        let printed = self
            .outcome(&engine, &bytes)
            .and_then(|outcome| Ok((engine.render(&outcome, self.format())?, outcome)));
        let (text, outcome) = match printed {
            Ok(printed) => printed,
            Err(error) => {
                output::message(&format_args!("glovebox: {}: {error}", error.kind()));
                return Ok(Exit::Failed);
            }
        };
        if self.json {
            output::line(&text)?;
        } else {
            output::line(&output::printable(&text))?;
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

    fn outcome(&self, engine: &Engine, bytes: &[u8]) -> Result<Outcome, SandboxError> {
        let mode = match self.mode {
            Some(mode) => mode.into(),
            None => engine.infer_mode(bytes.get(..INFER_BYTES).unwrap_or(bytes))?,
        };
        let mut parser = engine.parser(mode, Limits::default())?;
        for piece in bytes.chunks(self.chunk) {
            parser.push(piece)?;
        }
        Ok(parser.finish()?.outcome)
    }
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
