//! A Brave Answers upstream on loopback, as faithful and as nasty as is known: for use offline and for tests.
//!
//! It checks a request as the API does (the key's header first, then the body), streams what a scenario
//! says at a pace, and logs what was asked and what became of it under `GET /__sim/log`.
//!
//! - Without a scenario the reply is about the question asked, cited or in research as the request says.
//! - A scenario is named by the options or as `sim:NAME` in front of a question; see [`scenario::Scenario`].

mod check;
mod content;
mod effects;
mod frames;
mod log;
mod python_json;
mod refusal;
mod research;
pub mod scenario;
mod server;
mod steps;
mod variants;
pub mod vectors;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use log::Log;
pub use log::Record;
use scenario::Scenario;

/// The path of the log.
pub const LOG_PATH: &str = "/__sim/log";
/// The path that calls go to.
pub const CALL_PATH: &str = "/res/v1/chat/completions";

/// How the simulator behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it listens; loopback only. Port 0 takes a free one.
    pub listen: SocketAddr,
    /// What it replies where a question does not say.
    pub scenario: Scenario,
    /// Its pace: 1 as measured, 0 at once.
    pub pace: f64,
    /// What random choices start from.
    pub seed: u64,
    /// Whether more than two requests in a second are refused, as the API does.
    pub enforce_rate: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            scenario: Scenario::default(),
            pace: 1.0,
            seed: 1,
            enforce_rate: false,
        }
    }
}

/// A simulator that runs until it is dropped.
#[derive(Debug)]
pub struct Simulator {
    address: SocketAddr,
    log: Arc<Log>,
    _server: AbortOnDropHandle<()>,
}

impl Simulator {
    /// Starts one.
    ///
    /// # Errors
    /// Where the address is not loopback or is taken.
    pub async fn start(options: Options) -> io::Result<Self> {
        if !options.listen.ip().is_loopback() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "{} is not a loopback address; use 127.0.0.1:PORT",
                    options.listen
                ),
            ));
        }
        let listener = TcpListener::bind(options.listen).await?;
        let address = listener.local_addr()?;
        let log = Arc::new(Log::default());
        let server = server::run(listener, options, Arc::clone(&log));
        Ok(Self {
            address,
            log,
            _server: AbortOnDropHandle::new(tokio::spawn(server)),
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its origin as a URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it was asked so far.
    #[must_use]
    pub fn log(&self) -> Vec<Record> {
        self.log.records()
    }
}
