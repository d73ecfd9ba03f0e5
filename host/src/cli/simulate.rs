//! `glovebox simulate`: the upstream simulator as a process of its own.

use std::net::SocketAddr;

use clap::Args;

use super::output;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::simulator::scenario::Scenario;
use crate::simulator::{LOG_PATH, Options, Simulator};

/// Run the simulator of the upstream until it is interrupted
///
/// The first line on standard output is its URL: give that to --upstream or GLOVEBOX_UPSTREAM, with any key.
#[derive(Args, Debug)]
pub struct Simulate {
    /// Listen on this loopback address; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS")]
    listen: SocketAddr,
    /// Play this scenario, unless a question begins with sim:NAME; NAME+VARIANT adds variants
    #[arg(long, default_value = "auto", value_name = "NAME")]
    scenario: Scenario,
    /// Start the random choices from this number
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    seed: u64,
    /// Refuse more than two requests a second, as the API does
    #[arg(long)]
    enforce_rate: bool,
    /// Print the names of all scenarios
    #[arg(long)]
    list: bool,
}

impl Simulate {
    /// Runs the command.
    ///
    /// # Errors
    /// When the address cannot be used.
    pub async fn run(self, settings: &Settings) -> anyhow::Result<Exit> {
        if self.list {
            for name in Scenario::names() {
                output::line(&name)?;
            }
            return Ok(Exit::Done);
        }
        if !self.listen.ip().is_loopback() {
            let problem = format!(
                "--listen {} is not a loopback address; use 127.0.0.1:PORT",
                self.listen
            );
            return Ok(super::ask::say(&problem, Exit::Usage));
        }
        let simulator = Simulator::start(Options {
            listen: self.listen,
            scenario: self.scenario,
            pace: settings.pace.value.unwrap_or(1.0),
            seed: self.seed,
            enforce_rate: self.enforce_rate,
        })
        .await?;
        output::line(&simulator.url())?;
        output::message(&format_args!(
            "glovebox: simulating until interrupted; the log is at {}{LOG_PATH}",
            simulator.url()
        ));
        tokio::signal::ctrl_c().await?;
        Ok(Exit::Done)
    }
}
