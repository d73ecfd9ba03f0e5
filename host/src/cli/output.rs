//! Writes to standard output and standard error: what reaches a terminal is filtered, and a reader that is gone is no
//! reason to panic.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};

use super::stderr;
use super::terminal::{escape_for_terminal, escape_json_for_terminal, one_line};
use crate::secrets;

/// Writes a line of text to standard output, filtered where that is a terminal. A reader that left early, such as `head`,
/// is no error.
///
/// # Errors
/// What else goes wrong with standard output.
pub fn line(text: &impl Display) -> io::Result<()> {
    let text = text.to_string();
    if io::stdout().is_terminal() {
        write(&escape_for_terminal(&text))
    } else {
        write(&text)
    }
}

/// Writes a line to standard output as it is: text that was filtered, or that carries styles of our own.
///
/// # Errors
/// As [`line`].
pub fn raw_line(text: &str) -> io::Result<()> {
    write(text)
}

/// Writes JSON to standard output; on a terminal, with everything escaped that could command it.
///
/// # Errors
/// As [`line`].
pub fn json(text: &impl Display) -> io::Result<()> {
    let text = text.to_string();
    if io::stdout().is_terminal() {
        write(&escape_json_for_terminal(&text))
    } else {
        write(&text)
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Err(error) if is_gone(&error) => Ok(()),
        Err(error) => Err(io::Error::new(
            error.kind(),
            format!("cannot write to standard output: {error}"),
        )),
        Ok(()) => Ok(()),
    }
}

/// Returns whether nobody is there to read standard output any more: a pipe that is closed, or a terminal that is.
fn is_gone(error: &io::Error) -> bool {
    /// What reading and writing give on a terminal that hung up.
    const INPUT_OUTPUT_ERROR: i32 = 5;
    let hung_up = error.raw_os_error() == Some(INPUT_OUTPUT_ERROR);
    error.kind() == io::ErrorKind::BrokenPipe || (hung_up && io::stdout().is_terminal())
}

/// Writes a message to standard error, on one line, filtered, and without anything that looks like a key. Where nobody
/// reads it, it is dropped.
pub fn message(text: &impl Display) {
    let text = one_line(&text.to_string());
    stderr::write(format!("{}\n", secrets::masked(&text)).as_bytes());
}

/// Writes a message of several lines to standard error, each filtered as [`message`] does it.
pub fn messages(lines: &str) {
    for line in lines.lines() {
        message(&line);
    }
}
