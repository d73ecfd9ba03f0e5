//! The command line: one file a command. Commands parse, call the layers below, print, and return an [`Exit`].

mod connect;
mod output;

use clap::{Parser, Subcommand};

use crate::exit::Exit;

/// A sandboxed MCP server for cited answers and deep research.
#[derive(Debug, Parser)]
#[command(name = "glovebox", version, about, propagate_version = true)]
pub struct Cli {
    /// What to do; without a command, MCP over stdio.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Prints or writes the configuration of an MCP client.
    Connect(connect::Connect),
}

/// Runs the command line that this process was given.
///
/// # Errors
/// What no command could turn into a message of its own.
pub fn main() -> anyhow::Result<Exit> {
    let cli = Cli::parse();
    match cli.command {
        Some(Command::Connect(connect)) => connect.run(),
        None => Ok(Exit::Usage),
    }
}
