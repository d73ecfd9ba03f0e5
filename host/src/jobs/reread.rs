//! Reads a capture through the sandbox once more, in pieces, as its reply was read.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::time::{Duration, Instant};

use super::result::empty;
use crate::engine::answers::{Header, Limits, Mode, Outcome};
use crate::engine::{Engine, SandboxError};

/// Bytes given to the sandbox at a time.
const PIECE: usize = 64 << 10;
/// How long it may take. The largest reply there can be takes less than a second; a component that needs longer than this
/// is not waited for.
const LONGEST: Duration = Duration::from_secs(30);

/// What a capture gave.
pub(super) struct Reread {
    /// The outcome, of as much as could be read.
    pub(super) outcome: Outcome,
    /// Why not all of it could be read, where that is so. The outcome is incomplete then.
    pub(super) unread: Option<String>,
}

impl Reread {
    fn nothing(mode: Mode, why: &dyn std::fmt::Display) -> Self {
        Self {
            outcome: empty(mode),
            unread: Some(why.to_string()),
        }
    }
}

/// The outcome of the first `bytes` of a capture. What the sandbox cannot read is left out, and all that follows.
///
/// # Errors
/// When there is no sandbox to read with: then nothing is known about the capture.
pub(super) fn reread(
    engine: &Engine,
    mode: Mode,
    headers: &[Header],
    capture: &Path,
    bytes: u64,
) -> Result<Reread, SandboxError> {
    let attempt = |bytes| pass(engine, mode, headers, capture, bytes);
    let (good, error) = match attempt(bytes) {
        Ok(outcome) => return Ok(whole(outcome)),
        Err(Failure::Sandbox(error @ SandboxError::Component { .. }, _)) => return Err(error),
        Err(Failure::File(error)) if error.kind() == io::ErrorKind::NotFound => {
            // One that was never made is an empty one: nothing had come.
            return Ok(whole(empty(mode)));
        }
        Err(Failure::File(error)) => return Ok(Reread::nothing(mode, &error)),
        Err(Failure::TooLong) => return Ok(Reread::nothing(mode, &too_long())),
        Err(Failure::Sandbox(error, good)) => (good, error),
    };
    match attempt(good) {
        Ok(mut outcome) if good > 0 => {
            // What follows is missing, whatever the part that was read looks like.
            outcome.complete = false;
            Ok(Reread {
                outcome,
                unread: Some(error.to_string()),
            })
        }
        _ => Ok(Reread::nothing(mode, &error)),
    }
}

const fn whole(outcome: Outcome) -> Reread {
    Reread {
        outcome,
        unread: None,
    }
}

fn too_long() -> String {
    format!("the component needs more than {LONGEST:?} for it")
}

/// Why a pass did not come to its end.
enum Failure {
    File(io::Error),
    /// With the bytes that were read before.
    Sandbox(SandboxError, u64),
    TooLong,
}

fn pass(
    engine: &Engine,
    mode: Mode,
    headers: &[Header],
    capture: &Path,
    bytes: u64,
) -> Result<Outcome, Failure> {
    let begun = Instant::now();
    let mut file = File::open(capture).map_err(Failure::File)?.take(bytes);
    let mut good = 0;
    let sandbox = |good| move |error| Failure::Sandbox(error, good);
    let mut parser = engine.parser(mode, Limits::none()).map_err(sandbox(0))?;
    parser.head(headers).map_err(sandbox(0))?;
    let mut piece = vec![0; PIECE];
    loop {
        let read = file.read(&mut piece).map_err(Failure::File)?;
        if read == 0 {
            break;
        }
        if begun.elapsed() > LONGEST {
            return Err(Failure::TooLong);
        }
        parser
            .push(piece.get(..read).unwrap_or_default())
            .map_err(sandbox(good))?;
        good += read as u64;
    }
    let finished = parser.finish().map_err(sandbox(good))?;
    Ok(finished.outcome)
}
