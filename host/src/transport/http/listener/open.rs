//! The open connections, and which of them are closed when there are too many.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// One connection.
#[derive(Debug)]
pub struct Connection {
    began: Instant,
    /// When it was last busy, in milliseconds since it began.
    used: AtomicU64,
    busy: AtomicUsize,
    address: IpAddr,
    /// Notified of the first request.
    pub first: Notify,
    /// Cancelled to close it at once.
    pub close: CancellationToken,
}

impl Connection {
    /// Marks the connection as busy until the returned value is dropped.
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

/// Keeps a connection marked as busy.
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
    /// The most of one address.
    of_address: Option<usize>,
    next: AtomicU64,
    open: Mutex<HashMap<u64, Arc<Connection>>>,
}

impl OpenConnections {
    /// Creates the list, with limits for all connections and for those of one address.
    #[must_use]
    pub fn new(most: usize, of_address: Option<usize>) -> Self {
        Self {
            most,
            of_address,
            next: AtomicU64::new(0),
            open: Mutex::default(),
        }
    }

    /// Adds a connection. At a limit, closes the connection that has been idle for longest. Returns `None` if all of them
    /// are busy.
    #[must_use]
    pub fn add(self: &Arc<Self>, address: IpAddr) -> Option<(Arc<Connection>, Entry)> {
        let mut open = self.lock();
        if let Some(most) = self.of_address {
            let same = |one: &Connection| one.address == address;
            let count = open.values().filter(|one| same(one)).count();
            if count >= most {
                close_idle(&mut open, same)?;
            }
        }
        if open.len() >= self.most {
            close_idle(&mut open, |_| true)?;
        }
        let connection = Arc::new(Connection {
            began: Instant::now(),
            used: AtomicU64::new(0),
            busy: AtomicUsize::new(0),
            address,
            first: Notify::new(),
            close: CancellationToken::new(),
        });
        let key = self.next.fetch_add(1, Ordering::Relaxed);
        open.insert(key, Arc::clone(&connection));
        let entry = Entry(key, Arc::clone(self));
        Some((connection, entry))
    }

    /// Closes all connections at once.
    pub fn close(&self) {
        for connection in self.lock().values() {
            connection.close.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<Connection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes the connection that has been idle for longest, of those that `may_be` selects. Returns `None` if all of them
/// are busy.
fn close_idle(
    open: &mut HashMap<u64, Arc<Connection>>,
    may_be: impl Fn(&Connection) -> bool,
) -> Option<()> {
    let idle = open
        .iter()
        .filter(|(_, one)| one.busy.load(Ordering::Acquire) == 0 && may_be(one));
    let (key, longest) = idle.min_by_key(|(_, one)| one.used())?;
    longest.close.cancel();
    let key = *key;
    open.remove(&key);
    Some(())
}

/// A connection's entry in the list, which is removed when this is dropped.
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
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn the_longest_idle_gives_way_and_a_busy_one_never() {
        let open = Arc::new(OpenConnections::new(2, None));
        let add = || open.add(Ipv4Addr::LOCALHOST.into());
        let (first, _first) = add().unwrap();
        let (second, second_place) = add().unwrap();
        let busy = first.busy();
        let (third, third_place) = add().unwrap();
        assert!(second.close.is_cancelled() && !first.close.is_cancelled());
        drop(second_place);
        let _also = third.busy();
        assert!(add().is_none(), "a busy connection gave way");
        drop(busy);
        let (_fourth, _fourth_place) = add().unwrap();
        assert!(first.close.is_cancelled() && !third.close.is_cancelled());
        drop(third_place);
        assert!(add().is_some());
    }

    #[test]
    fn an_address_with_too_many_connections_takes_its_own_places() {
        let open = Arc::new(OpenConnections::new(10, Some(2)));
        let (one, other) = (Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2));
        let (others, _others) = open.add(other.into()).unwrap();
        let (first, first_place) = open.add(one.into()).unwrap();
        let (second, _second) = open.add(one.into()).unwrap();
        let _second = second.busy();
        let (third, _third) = open.add(one.into()).unwrap();
        assert!(first.close.is_cancelled() && !others.close.is_cancelled());
        drop(first_place);
        let _third = third.busy();
        assert!(open.add(one.into()).is_none(), "a busy connection gave way");
        assert!(open.add(other.into()).is_some());
    }
}
