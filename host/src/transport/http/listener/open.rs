//! The open connections: which are busy, and which give way where there are too many.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// One connection.
#[derive(Debug)]
pub struct Connection {
    began: Instant,
    /// Milliseconds from its begin to when it was last busy.
    used: AtomicU64,
    busy: AtomicUsize,
    /// Notified of the first request.
    pub first: Notify,
    /// Cancelled when it is to end at once.
    pub close: CancellationToken,
}

impl Connection {
    /// Marks a request or its reply as under way, until the mark is dropped.
    #[must_use]
    pub fn busy(self: &Arc<Self>) -> Busy {
        if self.busy.fetch_add(1, Ordering::AcqRel) == 0 {
            self.first.notify_one();
        }
        Busy(Arc::clone(self))
    }

    fn used(&self) -> Instant {
        self.began + std::time::Duration::from_millis(self.used.load(Ordering::Acquire))
    }
}

/// Marks a connection as busy.
#[derive(Debug)]
pub struct Busy(Arc<Connection>);

impl Drop for Busy {
    fn drop(&mut self) {
        let used = self.0.began.elapsed().as_millis();
        let used = u64::try_from(used).unwrap_or(u64::MAX);
        self.0.used.store(used, Ordering::Release);
        self.0.busy.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The open connections.
#[derive(Debug)]
pub struct OpenConnections {
    most: usize,
    next: AtomicU64,
    open: Mutex<HashMap<u64, Arc<Connection>>>,
}

impl OpenConnections {
    /// No connections yet, and no more than so many.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            most,
            next: AtomicU64::new(0),
            open: Mutex::default(),
        }
    }

    /// Adds a connection, in the place of the one that has been idle for longest where there is none left. `None`
    /// where all are busy.
    #[must_use]
    pub fn add(self: &Arc<Self>) -> Option<(Arc<Connection>, Entry)> {
        let mut open = self.lock();
        if open.len() >= self.most {
            let idle = open
                .iter()
                .filter(|(_, one)| one.busy.load(Ordering::Acquire) == 0);
            let (key, longest) = idle.min_by_key(|(_, one)| one.used())?;
            longest.close.cancel();
            let key = *key;
            open.remove(&key);
        }
        let connection = Arc::new(Connection {
            began: Instant::now(),
            used: AtomicU64::new(0),
            busy: AtomicUsize::new(0),
            first: Notify::new(),
            close: CancellationToken::new(),
        });
        let key = self.next.fetch_add(1, Ordering::Relaxed);
        open.insert(key, Arc::clone(&connection));
        let entry = Entry(key, Arc::clone(self));
        Some((connection, entry))
    }

    /// Ends all connections at once.
    pub fn close(&self) {
        for connection in self.lock().values() {
            connection.close.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<Connection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection's place. Dropped, it is free.
#[derive(Debug)]
pub struct Entry(u64, Arc<OpenConnections>);

impl Drop for Entry {
    fn drop(&mut self) {
        self.1.lock().remove(&self.0);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_idle_gives_way_and_a_busy_one_never() {
        let open = Arc::new(OpenConnections::new(2));
        let (first, _first) = open.add().unwrap();
        let (second, second_place) = open.add().unwrap();
        let busy = first.busy();
        let (third, third_place) = open.add().unwrap();
        assert!(second.close.is_cancelled() && !first.close.is_cancelled());
        drop(second_place);
        let _also = third.busy();
        assert!(open.add().is_none(), "a busy connection gave way");
        drop(busy);
        let (_fourth, _fourth_place) = open.add().unwrap();
        assert!(first.close.is_cancelled() && !third.close.is_cancelled());
        drop(third_place);
        assert!(open.add().is_some());
    }
}
