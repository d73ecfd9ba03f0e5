//! Writing to standard output without a panic where the reader is gone.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Write as _};

/// Writes a line. A reader that left early, such as `head`, is no error.
///
/// # Errors
/// What else goes wrong with standard output.
pub fn line(text: &impl Display) -> io::Result<()> {
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
