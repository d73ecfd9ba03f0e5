//! Lines between two threads and the tasks of a transport: one reads the input, one writes the output, so that a blocked
//! read or write blocks no task.

use std::io::{self, BufRead, Write};
use std::thread;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::lines::{Line, Lines};
use crate::rpc::outgoing::{Outgoing, OutgoingReader, queue};

/// Lines that may lie between the reading thread and the handler's loop. Small: what matters is that the reader is
/// ahead, not by how much, and each may be of the longest length.
const READ_AHEAD: usize = 16;

/// The lines of an input and the queue to an output.
#[derive(Debug)]
pub struct Pipes {
    /// The lines that were read. Closed at the end of the input.
    pub lines: mpsc::Receiver<Line>,
    /// The queue of what is to be written. Closed when the output is.
    pub outgoing: Outgoing,
    /// Cancelled at the end of the input, even while lines that came before it wait to be taken.
    pub ended: CancellationToken,
}

impl Pipes {
    /// Starts both threads. `longest` bounds a line and `queued` what waits to be written, in bytes.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub fn over(
        input: impl BufRead + Send + 'static,
        output: impl Write + Send + 'static,
        longest: usize,
        queued: usize,
    ) -> io::Result<Self> {
        let (sender, lines) = mpsc::channel(READ_AHEAD);
        let (outgoing, replies) = queue(queued);
        let ended = CancellationToken::new();
        thread::Builder::new()
            .name("stdout".into())
            .spawn(move || write_all(output, replies))?;
        let at_end = ended.clone().drop_guard();
        thread::Builder::new().name("stdin".into()).spawn(move || {
            let _at_end = at_end;
            read_all(Lines::new(input, longest), &sender);
        })?;
        Ok(Self {
            lines,
            outgoing,
            ended,
        })
    }
}

fn read_all(mut lines: Lines<impl BufRead>, sender: &mpsc::Sender<Line>) {
    loop {
        match lines.next_line() {
            Ok(Some(line)) => {
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(%error, "standard input cannot be read");
                return;
            }
        }
    }
}

fn write_all(mut output: impl Write, mut replies: OutgoingReader) {
    while let Some(reply) = replies.blocking_next() {
        // Written at once and whole: what a reader sees of a line never waits for the next one.
        if let Err(error) = output
            .write_all(reply.bytes())
            .and_then(|()| output.flush())
        {
            tracing::debug!(%error, "the client closed its end of the output");
            return;
        }
        reply.sent();
    }
}
