//! A simulator of the Brave Answers API on loopback, for offline use and for tests.
//!
//! It checks requests in the order of the API (first the header with the key, then the body), sends the reply that the
//! scenario describes with realistic delays, and returns a log of requests and replies at `GET /__sim/log`.
//!
//! - Without a scenario it replies with an answer or a research result on the question.
//! - The options select a scenario, or the prefix `sim:NAME` of a question. See [`scenario::Scenario`].

mod content;
mod events;
mod log;
mod python_json;
mod refusal;
mod research;
pub mod scenario;
mod server;
mod steps;
mod transform;
mod validation;
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
/// The path of the API.
pub const CALL_PATH: &str = "/res/v1/chat/completions";

/// The options of a simulator.
#[derive(Clone, Debug)]
pub struct Options {
    /// The loopback address to listen on. Port 0 selects a free port.
    pub listen: SocketAddr,
    /// The scenario of questions without a `sim:` prefix.
    pub scenario: Scenario,
    /// The factor on all delays: 1 for measured delays, 0 for none.
    pub pace: f64,
    /// The seed of random choices.
    pub seed: u64,
    /// Whether more than two requests per second are refused, as by the API.
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

/// A running simulator. It stops when it is dropped.
#[derive(Debug)]
pub struct Simulator {
    address: SocketAddr,
    log: Arc<Log>,
    _server: AbortOnDropHandle<()>,
}

impl Simulator {
    /// Starts a simulator.
    ///
    /// # Errors
    /// If the address is not a loopback address or cannot be bound.
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

    /// Returns the address on which the simulator listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the origin of the simulator as a URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the records of all requests so far.
    #[must_use]
    pub fn log(&self) -> Vec<Record> {
        self.log.records()
    }
}
