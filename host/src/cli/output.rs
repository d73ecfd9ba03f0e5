//! Writes to standard output and standard error without a panic where the reader is gone.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use super::display::harmless;
use super::stderr;

/// Writes a line. A reader that left early, such as `head`, is no error.
///
/// # Errors
/// What else goes wrong with standard output.
pub fn line(text: &impl Display) -> io::Result<()> {
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

/// Writes a message to standard error, on one line, filtered. Where nobody reads it, it is dropped.
pub fn message(text: &impl Display) {
    let text = harmless(&text.to_string()).replace('\n', " ");
    stderr::message(&format!("{text}\n"));
}

/// Text from elsewhere as a terminal may have it: control characters, which could move the cursor or change
/// the title, become U+FFFD. Line ends and tabs stay.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    let harmful = |char: char| char.is_control() && char != '\n' && char != '\t';
    if text.contains(harmful) {
        Cow::Owned(text.replace(harmful, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}
