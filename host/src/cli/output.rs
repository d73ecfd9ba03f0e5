//! Writes to standard output and standard error: what reaches a terminal is filtered, and a reader that is gone is no
//! reason to panic.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

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

/// Standard output written by a thread of its own, so that a terminal that was stopped or closed holds up no work.
#[derive(Debug, Default)]
pub struct Background(Option<(mpsc::Sender<String>, JoinHandle<()>)>);

impl Background {
    /// Writes text without waiting for it. Where nobody reads it, it is dropped.
    pub fn write(&mut self, text: String) {
        if self.0.is_none() {
            let (sender, texts) = mpsc::channel();
            let thread = thread::Builder::new().name("stdout".to_owned());
            match thread.spawn(move || write_texts(&texts)) {
                Ok(thread) => self.0 = Some((sender, thread)),
                Err(error) => tracing::warn!(%error, "standard output cannot be written"),
            }
        }
        if let Some((sender, _)) = &self.0 {
            // An error says that the reader is gone.
            let _ = sender.send(text);
        }
    }

    /// Waits until all of it is written, or the reader is gone.
    pub fn finish(&mut self) {
        if let Some((sender, thread)) = self.0.take() {
            drop(sender);
            // A panic was reported where it happened.
            let _ = thread.join();
        }
    }
}

fn write_texts(texts: &mpsc::Receiver<String>) {
    while let Ok(text) = texts.recv() {
        let mut stdout = io::stdout().lock();
        let written = stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush());
        if let Err(error) = written {
            tracing::debug!(%error, "standard output is closed");
            return;
        }
    }
}

/// Writes a message to standard error, on one line, filtered, and without anything that looks like a key. Where nobody
/// reads it, it is dropped.
pub fn message(text: &impl Display) {
    let text = one_line(&text.to_string());
    stderr::write(format!("{}\n", secrets::masked(&text)).as_bytes());
}
