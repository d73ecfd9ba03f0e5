//! Answers and reports on a terminal: the component's styled blocks, wrapped to its width.

mod blocks;
mod screen;
mod table;
mod words;

pub use self::blocks::Renderer;
pub use self::screen::Screen;

use std::io;

use super::runtime::no_colour;
use super::table::width;

/// Lines are no longer than this however wide the terminal is: longer ones are hard to read.
const WIDEST: usize = 100;
/// A narrower terminal gets lines of this width.
const NARROWEST: usize = 20;

/// What the terminal can show.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// The characters of a line.
    pub width: usize,
    /// Whether text may be styled.
    pub styles: bool,
    /// Whether it knows hyperlinks (OSC 8).
    pub links: bool,
}

impl Terminal {
    /// Returns the terminal that standard output is; `None` where it is none, or one that can only show lines.
    #[must_use]
    pub fn of_stdout() -> Option<Self> {
        let width = width()?;
        if std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
            return None;
        }
        let styles = !no_colour();
        Some(Self {
            width: width.clamp(NARROWEST, WIDEST),
            styles,
            links: styles && supports_hyperlinks::supports_hyperlinks(),
        })
    }
}

/// Returns the lines of the terminal that standard output is.
#[must_use]
pub fn height() -> usize {
    /// Where the terminal does not say: the least that terminals have.
    const LINES: usize = 24;
    terminal_size::terminal_size_of(io::stdout()).map_or(LINES, |(_, height)| usize::from(height.0))
}
