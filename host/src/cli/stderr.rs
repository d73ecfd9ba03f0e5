//! Standard error, which never decides what becomes of the program: whatever is written here is dropped before it blocks
//! or fails. A thread of its own writes; the rest of the program only fills its buffer.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io;
use std::mem;
use std::panic;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::terminal::escape_for_terminal;

/// Bytes that may wait for a reader. A burst of diagnostics at trace level fits; what a client that never reads costs is
/// bounded.
const BUFFER: usize = 1 << 20;

/// How long a message waits to be written before what follows it, once. It keeps the order between standard error and
/// standard output on a terminal.
const PATIENCE: Duration = Duration::from_millis(250);

/// Writes bytes as they are, without waiting for a reader that does not read.
pub fn write(bytes: &[u8]) {
    let writer = writer();
    writer.put(bytes);
    writer.flush();
}

/// Writes text as [`write`] does.
pub fn message(text: &str) {
    write(text.as_bytes());
}

/// Waits until what was written is read, or the patience is over.
pub fn flush() {
    writer().flush();
}

/// Reports panics here instead of writing to standard error directly, which could block the thread that panics.
pub fn report_panics() {
    panic::set_hook(Box::new(|panic| {
        let thread = thread::current();
        let name = thread.name().unwrap_or("unnamed");
        let backtrace = Backtrace::capture();
        let backtrace = match backtrace.status() {
            BacktraceStatus::Captured => format!("{backtrace}"),
            _ => String::new(),
        };
        message(&format!("glovebox: the thread {name} {panic}\n{backtrace}"));
    }));
}

/// Standard error for diagnostics: a write never waits and never fails.
#[derive(Clone, Copy, Debug, Default)]
pub struct Diagnostics;

impl io::Write for Diagnostics {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A log repeats foreign text.
        let text = escape_for_terminal(&String::from_utf8_lossy(bytes));
        writer().put(text.as_bytes());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The buffer between the program and the thread that writes.
#[derive(Debug, Default)]
struct Writer {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<u8>,
    /// Whether the thread is writing what it took.
    writing: bool,
    /// Writes that did not fit.
    dropped: u64,
    /// Whether a message waited in vain; none waits again until something was read.
    unread: bool,
    /// Whether nobody can read any more.
    closed: bool,
}

impl State {
    const fn is_idle(&self) -> bool {
        self.waiting.is_empty() && !self.writing
    }
}

impl Writer {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, bytes: &[u8]) {
        let mut state = self.lock();
        if state.closed {
            return;
        }
        if state.waiting.len().saturating_add(bytes.len()) > BUFFER {
            state.dropped += 1;
        } else {
            state.waiting.extend_from_slice(bytes);
            self.changed.notify_all();
        }
    }

    fn flush(&self) {
        let until = Instant::now() + PATIENCE;
        let mut state = self.lock();
        while !state.closed && !state.unread && !state.is_idle() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                state.unread = true;
                return;
            }
            state = match self.changed.wait_timeout(state, left) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    /// Takes all that is waiting, with a word about what was dropped; waits for there to be some.
    fn take(&self) -> Vec<u8> {
        let mut state = self.lock();
        while state.waiting.is_empty() {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.writing = true;
        let mut taken = mem::take(&mut state.waiting);
        let dropped = mem::take(&mut state.dropped);
        if dropped > 0 {
            let note = format!("glovebox: {dropped} diagnostics were dropped: nobody read them\n");
            taken.extend_from_slice(note.as_bytes());
        }
        taken
    }

    fn write_all(&self, mut output: impl io::Write) {
        loop {
            let written = output.write_all(&self.take());
            let mut state = self.lock();
            state.writing = false;
            state.unread = false;
            state.closed = written.is_err();
            self.changed.notify_all();
            if state.closed {
                return;
            }
        }
    }
}

fn writer() -> &'static Writer {
    static WRITER: OnceLock<Writer> = OnceLock::new();
    static THREAD: OnceLock<bool> = OnceLock::new();
    let writer = WRITER.get_or_init(Writer::default);
    let runs = THREAD.get_or_init(|| {
        let thread = thread::Builder::new().name("stderr".to_owned());
        thread.spawn(|| writer.write_all(io::stderr())).is_ok()
    });
    if !runs {
        writer.lock().closed = true;
    }
    writer
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc;

    use super::*;

    /// Output that takes one write each time it is allowed to.
    struct Gated(mpsc::Receiver<()>, mpsc::Sender<Vec<u8>>);

    impl io::Write for Gated {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.recv().map_err(io::Error::other)?;
            self.1.send(bytes.to_vec()).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn gated() -> (Arc<Writer>, mpsc::Sender<()>, mpsc::Receiver<Vec<u8>>) {
        let (allow, allowed) = mpsc::channel();
        let (wrote, written) = mpsc::channel();
        let writer = Arc::new(Writer::default());
        let of_thread = Arc::clone(&writer);
        thread::spawn(move || of_thread.write_all(Gated(allowed, wrote)));
        (writer, allow, written)
    }

    #[test]
    fn what_does_not_fit_is_dropped_and_counted() {
        let (writer, allow, written) = gated();
        writer.put(b"first");
        while !writer.lock().writing {
            thread::yield_now();
        }
        let line = vec![b'x'; BUFFER / 4];
        for _ in 0..6 {
            writer.put(&line);
        }
        assert_eq!(writer.lock().dropped, 2);
        allow.send(()).ok();
        allow.send(()).ok();
        assert_eq!(written.recv().ok().as_deref(), Some(&b"first"[..]));
        let rest = written.recv().unwrap_or_default();
        let note = String::from_utf8_lossy(rest.get(BUFFER..).unwrap_or_default()).into_owned();
        assert!(note.contains("2 diagnostics were dropped"), "{note}");
    }

    #[test]
    fn nobody_waits_twice_for_a_reader_that_does_not_read() {
        let (writer, _allow, _written) = gated();
        writer.put(b"stuck");
        let begun = Instant::now();
        writer.flush();
        assert!(begun.elapsed() >= PATIENCE);
        let begun = Instant::now();
        for _ in 0..1000 {
            writer.put(b"more");
            writer.flush();
        }
        assert!(begun.elapsed() < PATIENCE);
    }

    #[test]
    fn a_closed_output_takes_everything() {
        let (writer, allow, _) = gated();
        drop(allow);
        writer.put(b"lost");
        writer.flush();
        assert!(writer.lock().closed);
        writer.put(b"lost too");
        assert!(writer.lock().waiting.is_empty());
        writer.flush();
    }
}
