//! Measures time on a processor.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Time spent on one figure; the clock of a processor goes in steps of 4 ms.
const LEAST: Duration = Duration::from_millis(20);

/// Seconds that one run takes.
pub fn cost(run: impl Fn()) -> f64 {
    let start = clock();
    let mut runs = 0;
    loop {
        run();
        runs += 1;
        let spent = clock().saturating_sub(start);
        if spent >= LEAST {
            return spent.as_secs_f64() / f64::from(runs);
        }
    }
}

/// Time of this thread on a processor, which unlike the wall's does not count other work; Linux alone has it here.
fn clock() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let busy = text
        .split_whitespace()
        .next()
        .and_then(|text| text.parse().ok());
    busy.map_or_else(|| START.elapsed(), Duration::from_nanos)
}
