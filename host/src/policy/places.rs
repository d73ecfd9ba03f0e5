//! The places for foreground calls: how many may wait for the network at once, over all sessions of a process.

use std::time::Duration;

use tokio::sync::watch;

/// Places where one client is served over standard input and output: more calls of one model at once help nobody.
pub const DEFAULT_PLACES: usize = 4;
/// Places of an HTTP server, which has several clients.
pub const SERVE_PLACES: usize = 32;
/// The most places that can be set. A call holds a connection to the upstream.
pub const MOST_PLACES: usize = 256;
/// How long a call waits for a place: longer than it takes one call to follow another, and too short for a client to
/// notice.
const WAIT: Duration = Duration::from_millis(250);

/// The places of a process.
#[derive(Debug)]
pub(super) struct Places(watch::Sender<usize>);

/// A place that is taken until this value is dropped.
#[derive(Debug)]
pub struct Place(watch::Sender<usize>);

impl Default for Places {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl Places {
    /// Takes one of so many places, and waits a moment for one. Returns `None` where none becomes free.
    pub(super) async fn take(&self, limit: usize) -> Option<Place> {
        if let Some(place) = self.try_take(limit) {
            return Some(place);
        }
        let mut changes = self.0.subscribe();
        let waiting = async {
            loop {
                if let Some(place) = self.try_take(limit) {
                    return Some(place);
                }
                changes.changed().await.ok()?;
            }
        };
        tokio::time::timeout(WAIT, waiting).await.ok().flatten()
    }

    fn try_take(&self, limit: usize) -> Option<Place> {
        let mut taken = false;
        self.0.send_if_modified(|count| {
            taken = *count < limit;
            *count += usize::from(taken);
            taken
        });
        taken.then(|| Place(self.0.clone()))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_place_that_becomes_free_is_taken_and_no_more_than_there_are() {
        let places = Places::default();
        let first = places.take(2).await.unwrap();
        let _second = places.take(2).await.unwrap();
        assert!(places.take(2).await.is_none());
        let (third, ()) = tokio::join!(places.take(2), async {
            tokio::time::sleep(WAIT / 2).await;
            drop(first);
        });
        assert!(third.is_some());
        assert!(places.take(2).await.is_none());
        assert!(places.take(3).await.is_some());
    }
}
