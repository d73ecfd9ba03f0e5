//! Prints an answer on a terminal as it comes.
//!
//! A thread of its own renders and writes, so that a terminal that was stopped or closed does not hold up the call.

use std::io::{self, Write as _};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use super::render::{Renderer, Screen, Terminal, height};
use super::terminal::Filter;
use crate::answers::{Answers, Event, EventKind};

/// An answer that is being printed.
#[derive(Debug)]
pub struct StreamedText {
    answers: Answers,
    begun: bool,
    last_mark: Option<(u32, u32)>,
    printer: Option<(Sender<String>, JoinHandle<()>)>,
}

impl StreamedText {
    /// Prints nothing yet. The component renders the text.
    #[must_use]
    pub const fn new(answers: Answers) -> Self {
        Self {
            answers,
            begun: false,
            last_mark: None,
            printer: None,
        }
    }

    /// Returns whether anything was printed.
    #[must_use]
    pub const fn begun(&self) -> bool {
        self.begun
    }

    /// Prints the text and the citation marks of events, without waiting for the terminal.
    pub fn show(&mut self, events: &[Event]) {
        let mut text = String::new();
        for event in events {
            match &event.kind {
                EventKind::Text(piece) => text.push_str(piece),
                EventKind::Citation(citation) => {
                    let mark = (citation.position, citation.number);
                    if self.last_mark.replace(mark) != Some(mark) {
                        text.push_str(&format!("[{}]", citation.number));
                    }
                }
                _ => {}
            }
        }
        if text.is_empty() {
            return;
        }
        self.begun = true;
        if self.printer.is_none() {
            self.printer = start(self.answers.clone());
        }
        if let Some((sender, _)) = &self.printer {
            // An error says that the terminal is gone.
            let _ = sender.send(text);
        }
    }

    /// Waits until all of it is printed, or the terminal is gone.
    pub fn end(&mut self) {
        if let Some((sender, thread)) = self.printer.take() {
            drop(sender);
            // A panic was reported where it happened.
            let _ = thread.join();
        }
    }
}

fn start(answers: Answers) -> Option<(Sender<String>, JoinHandle<()>)> {
    let (sender, texts) = mpsc::channel();
    let printing = thread::Builder::new().name("stdout".to_owned());
    let printer = Printer::new(answers);
    match printing.spawn(move || printer.print(&texts)) {
        Ok(thread) => Some((sender, thread)),
        Err(error) => {
            tracing::warn!(%error, "standard output cannot be written");
            None
        }
    }
}

/// Renders text on the terminal that standard output is.
struct Printer {
    answers: Answers,
    /// The text that is not closed yet.
    text: String,
    way: Way,
}

/// How text is shown.
enum Way {
    /// As styled blocks.
    Styled(Renderer, Screen),
    /// As it comes, for a terminal that can only show lines, or after the component failed.
    Plain(Filter, bool),
}

impl Printer {
    fn new(answers: Answers) -> Self {
        let way = match Terminal::of_stdout() {
            Some(terminal) => Way::Styled(Renderer::new(terminal), Screen::default()),
            None => Way::Plain(Filter::new(), false),
        };
        Self {
            answers,
            text: String::new(),
            way,
        }
    }

    fn print(mut self, texts: &Receiver<String>) {
        while let Ok(text) = texts.recv() {
            self.text.push_str(&text);
            // What came meanwhile is rendered together.
            self.text.extend(texts.try_iter());
            if self.render(false).is_err() {
                return;
            }
        }
        // An error says that the terminal is gone.
        let _ = self.render(true);
    }

    fn render(&mut self, last: bool) -> io::Result<()> {
        loop {
            let Way::Styled(renderer, screen) = &mut self.way else {
                return self.plain(last);
            };
            let styled = match self.answers.spans(&self.text, last) {
                Ok(styled) => styled,
                Err(error) => {
                    tracing::warn!(%error, "the answer is shown without styles");
                    // The lines that are open are written again as they came.
                    write(&screen.update(&[], Vec::new(), height()))?;
                    self.way = Way::Plain(Filter::new(), false);
                    continue;
                }
            };
            let closed = renderer.lines(&styled.closed);
            let open = renderer.clone().lines(&styled.open);
            write(&screen.update(&closed, open, height()))?;
            let used = styled.used as usize;
            self.text.drain(..self.text.floor_char_boundary(used));
            if used == 0 || self.text.is_empty() {
                return Ok(());
            }
        }
    }

    fn plain(&mut self, last: bool) -> io::Result<()> {
        let Way::Plain(filter, line_open) = &mut self.way else {
            return Ok(());
        };
        let mut text = filter.push(&std::mem::take(&mut self.text));
        if last {
            text.push_str(&filter.finish());
        }
        if !text.is_empty() {
            *line_open = !text.ends_with('\n');
        }
        if last && *line_open {
            text.push('\n');
        }
        write(&text)
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
