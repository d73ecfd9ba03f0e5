//! `glovebox traffic`: captured HTTP traffic.

mod inspect;
mod json;
mod output;
mod summary;
mod text;

use clap::{Args, Subcommand};

use crate::exit::Exit;

/// Work with captured HTTP traffic
#[derive(Args, Debug)]
pub struct Traffic {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show the exchanges, findings and secrets of a HAR or Burp XML file
    Inspect(inspect::Inspect),
}

impl Traffic {
    /// Runs the command.
    ///
    /// # Errors
    /// When standard output cannot be written to.
    pub fn run(self) -> anyhow::Result<Exit> {
        match self.action {
            Action::Inspect(inspect) => inspect.run(),
        }
    }
}
