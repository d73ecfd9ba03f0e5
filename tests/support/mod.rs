//! Helpers that the tests share. [`process`] starts the program, and the others build on it: [`World`] runs commands in a
//! home folder, [`machine::Machine`] runs jobs with workers, and [`server::Server`] is a client of `glovebox stdio`.

pub mod any_guest;
pub mod command;
pub mod guest;
pub mod limiter;
pub mod machine;
pub mod process;
pub mod server;
pub mod simulator;
pub mod upstream;
pub mod world;

use std::sync::atomic::{AtomicUsize, Ordering};

pub use self::process::{GENEROUS, KEY, Ran, finish};
pub use self::simulator::{Simulated, Simulator};
pub use self::upstream::{Served, http, post, read_request, stream};
pub use self::world::World;

/// Runs `check` for all cases on four threads.
pub fn each<T: Sync>(cases: &[T], check: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    check(case);
                }
            });
        }
    });
}
