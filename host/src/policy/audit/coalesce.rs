//! Repeated denials of one reason become one event a minute: a peer without a token cannot fill the disk.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::jobs::clock::Millis;

/// How long denials of one reason are counted before they are one event.
pub(super) const WINDOW: Duration = Duration::from_secs(60);

#[derive(Debug)]
struct Counted {
    since: Millis,
    count: u64,
}

/// The denials that wait for their event.
#[derive(Debug, Default)]
pub(super) struct Coalesced(BTreeMap<&'static str, Counted>);

impl Coalesced {
    /// Takes a denial. Returns how many it stands for where it is to be recorded now.
    pub(super) fn take(&mut self, reason: &'static str, now: Millis) -> Option<u64> {
        match self.0.get_mut(reason) {
            Some(counted) if !is_over(counted.since, now) => {
                counted.count += 1;
                None
            }
            Some(counted) => {
                let count = counted.count + 1;
                *counted = Counted {
                    since: now,
                    count: 0,
                };
                Some(count)
            }
            None => {
                self.0.insert(
                    reason,
                    Counted {
                        since: now,
                        count: 0,
                    },
                );
                Some(1)
            }
        }
    }

    /// Returns what waits and is due: everything where `all`, else what waits for a minute.
    pub(super) fn due(&mut self, now: Millis, all: bool) -> Vec<(&'static str, u64)> {
        let mut due = Vec::new();
        self.0.retain(|reason, counted| {
            if !all && !is_over(counted.since, now) {
                return true;
            }
            if counted.count > 0 {
                due.push((*reason, counted.count));
            }
            false
        });
        due
    }
}

fn is_over(since: Millis, now: Millis) -> bool {
    let window = i64::try_from(WINDOW.as_millis()).unwrap_or(i64::MAX);
    // A clock that was set back does not hold events up.
    now < since || now.0 - since.0 >= window
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_event_a_minute_for_each_reason() {
        let mut denials = Coalesced::default();
        let at = |seconds: i64| Millis(seconds * 1000);
        assert_eq!(denials.take("a", at(0)), Some(1));
        assert_eq!(denials.take("b", at(1)), Some(1));
        for second in 2..50 {
            assert_eq!(denials.take("a", at(second)), None);
        }
        assert!(denials.due(at(59), false).is_empty());
        assert_eq!(denials.take("a", at(60)), Some(49));
        assert_eq!(denials.take("a", at(61)), None);
        assert_eq!(denials.due(at(62), true), [("a", 1)]);
        assert_eq!(denials.take("a", at(63)), Some(1));
    }
}
