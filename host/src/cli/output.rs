//! Writes to standard output and standard error: what reaches a terminal is filtered, and a reader that is gone is no
//! reason to panic.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};

use super::terminal::{harmless, harmless_json, one_line};
use crate::secrets;

/// Writes a line of text to standard output, filtered where that is a terminal. A reader that left early, such as `head`,
/// is no error.
///
/// # Errors
/// What else goes wrong with standard output.
pub fn line(text: &impl Display) -> io::Result<()> {
    let text = text.to_string();
    if io::stdout().is_terminal() {
        write(&harmless(&text))
    } else {
        write(&text)
    }
}

/// Writes JSON to standard output; on a terminal, with everything escaped that could command it.
///
/// # Errors
/// As [`line`].
pub fn json(text: &impl Display) -> io::Result<()> {
    let text = text.to_string();
    if io::stdout().is_terminal() {
        write(&harmless_json(&text))
    } else {
        write(&text)
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(io::Error::new(
            error.kind(),
            format!("cannot write to standard output: {error}"),
        )),
        Ok(()) => Ok(()),
    }
}

/// Writes a message to standard error, on one line, filtered, and without anything that looks like a key. Where nobody
/// reads it, it is dropped.
pub fn message(text: &impl Display) {
    let text = one_line(&text.to_string());
    let _ = writeln!(io::stderr().lock(), "{}", secrets::masked(&text));
}

/// Standard error for diagnostics, through the same filter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Diagnostics;

impl io::Write for Diagnostics {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = harmless(&String::from_utf8_lossy(bytes));
        io::stderr().lock().write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().lock().flush()
    }
}
