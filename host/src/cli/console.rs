//! The console of `glovebox run`: a guest commands no terminal, and its lines are told from the host's.
//!
//! Every line that begins with the name of this program is the host's. Where a guest writes such a line to standard error,
//! or to a terminal, it gets [`GUEST`] before it. Standard output that is no terminal is passed on as it is.

use std::io::{self, IsTerminal as _, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::terminal::Filter;
use super::{output, stderr};
use crate::wasi::{Console, Stream};

/// What the host's messages begin with.
const HOST: &str = "glovebox run: ";
/// The word that no line of a guest begins with.
const NAME: &[u8] = b"glovebox";
/// What comes before such a line of a guest.
const GUEST: &[u8] = b"component: ";

/// Both streams of a guest, and the host's messages between them.
#[derive(Debug)]
pub struct RunConsole(Mutex<Streams>);

#[derive(Debug)]
struct Streams {
    out: Guest,
    err: Guest,
}

impl RunConsole {
    /// Over the streams of this process.
    #[must_use]
    pub fn of_process() -> Self {
        Self(Mutex::new(Streams {
            out: Guest::new(io::stdout().is_terminal()),
            err: Guest::new(io::stderr().is_terminal()),
        }))
    }

    /// Writes what was held back, at the end of the guest.
    pub fn finish(&self) {
        let mut streams = self.lock();
        let (out, err) = (streams.out.finish(), streams.err.finish());
        // Nobody may be there to read it.
        let _ = io::stdout().write_all(&out);
        let _ = io::stdout().flush();
        stderr::write(&err);
    }

    fn lock(&self) -> MutexGuard<'_, Streams> {
        // Nothing panics while it is held; at worst a line is not marked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Console for RunConsole {
    fn write(&self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        let mut streams = self.lock();
        match stream {
            Stream::Out => {
                let bytes = if streams.out.terminal {
                    streams.out.push(bytes)
                } else {
                    bytes.to_vec()
                };
                let mut stdout = io::stdout().lock();
                stdout.write_all(&bytes)?;
                stdout.flush()
            }
            Stream::Err => {
                stderr::write(&streams.err.push(bytes));
                Ok(())
            }
        }
    }

    fn is_terminal(&self, stream: Stream) -> bool {
        let streams = self.lock();
        match stream {
            Stream::Out => streams.out.terminal,
            Stream::Err => streams.err.terminal,
        }
    }

    fn report(&self, text: &str) {
        let mut streams = self.lock();
        // On a terminal both streams are seen as one.
        let both = streams.out.terminal && streams.err.terminal;
        if streams.err.is_midway() || (both && streams.out.is_midway()) {
            output::message(&"");
            streams.err.begin_line();
            streams.out.begin_line();
        }
        output::message(&format_args!("{HOST}{text}"));
    }
}

/// What a guest wrote to one stream.
#[derive(Debug)]
struct Guest {
    terminal: bool,
    filter: Filter,
    /// The start of a character whose other bytes have not come.
    cut: Vec<u8>,
    line: Line,
}

/// How far the present line is.
#[derive(Debug)]
enum Line {
    /// Nothing but space, then so many bytes of the name, which are held back.
    Start(Vec<u8>),
    /// Something else.
    Midway,
}

impl Guest {
    const fn new(terminal: bool) -> Self {
        Self {
            terminal,
            filter: Filter::new(),
            cut: Vec::new(),
            line: Line::Start(Vec::new()),
        }
    }

    fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        if self.terminal {
            let text = self.text(bytes);
            let text = self.filter.push(&text);
            self.mark(text.as_bytes())
        } else {
            self.mark(bytes)
        }
    }

    fn finish(&mut self) -> Vec<u8> {
        let text = self.filter.finish();
        let mut rest = self.mark(text.as_bytes());
        if let Line::Start(held) = &mut self.line {
            rest.append(held);
        }
        rest
    }

    /// The bytes as text, without the start of a character at their end.
    fn text(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.cut);
        all.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&all) {
            // `None` says that more bytes could make it valid.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => all.len(),
        };
        self.cut = all.split_off(whole);
        String::from_utf8_lossy(&all).into_owned()
    }

    /// Puts [`GUEST`] before every line that begins with the name.
    fn mark(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut marked = Vec::with_capacity(bytes.len());
        for &byte in bytes {
            if matches!(byte, b'\n' | b'\r') {
                if let Line::Start(held) = &mut self.line {
                    marked.append(held);
                }
                marked.push(byte);
                self.begin_line();
                continue;
            }
            let Line::Start(held) = &mut self.line else {
                marked.push(byte);
                continue;
            };
            if held.is_empty() && byte.is_ascii_whitespace() {
                marked.push(byte);
                continue;
            }
            held.push(byte);
            let begins = NAME
                .get(..held.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(held));
            if begins && held.len() < NAME.len() {
                continue;
            }
            if begins {
                marked.extend_from_slice(GUEST);
            }
            marked.append(held);
            self.line = Line::Midway;
        }
        marked
    }

    /// Whether something stands in the present line.
    const fn is_midway(&self) -> bool {
        matches!(self.line, Line::Midway)
    }

    fn begin_line(&mut self) {
        self.line = Line::Start(Vec::new());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(terminal: bool, text: &str, step: usize) -> String {
        let mut guest = Guest::new(terminal);
        let mut bytes = Vec::new();
        for piece in text.as_bytes().chunks(step) {
            bytes.extend(guest.push(piece));
        }
        bytes.extend(guest.finish());
        String::from_utf8_lossy(&bytes).into_owned()
    }

    #[test]
    fn a_guest_s_line_is_never_taken_for_the_host_s() {
        let text = "glovebox run: a\nx glovebox\r\n \tGloveBox: b\nglove\nglovebo";
        let expected =
            "component: glovebox run: a\nx glovebox\r\n \tcomponent: GloveBox: b\nglove\nglovebo";
        for step in 1..=text.len() {
            assert_eq!(written(false, text, step), expected, "step {step}");
            let without_return = expected.replace('\r', "");
            assert_eq!(written(true, text, step), without_return, "step {step}");
        }
        // Nor by what a terminal does not show.
        for hidden in [
            "\u{1b}[1m",
            "\u{200e}",
            "x\r",
            "\u{1b}]0;t\u{7}",
            "\u{2028}",
        ] {
            let shown = written(true, &format!("{hidden}glovebox run: a"), 1);
            let line = shown.lines().last().unwrap_or_default();
            assert!(!line.starts_with("glovebox"), "{shown:?}");
        }
    }

    #[test]
    fn a_terminal_gets_whole_characters_and_no_command() {
        let text = "é\u{1b}[31m漢\u{9b}2J\u{202e}b\u{1b}]0;t\u{7}";
        for step in 1..=text.len() {
            assert_eq!(written(true, text, step), "é漢b", "step {step}");
            assert_eq!(written(false, text, step), text);
        }
    }
}
