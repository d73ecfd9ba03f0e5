//! Writing to standard output without a panic where the reader is gone.

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
        result => result,
    }
}
