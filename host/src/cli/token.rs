//! `glovebox token`: the bearer token of `glovebox serve`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{output, serve};
use crate::exit::Exit;
use crate::settings::Settings;

/// Show or replace the bearer token of `glovebox serve`
#[derive(Args, Debug)]
pub struct Token {
    #[command(subcommand)]
    action: Action,
    /// The token's file, instead of the one in the state folder
    #[arg(long, global = true, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print the token; one is made where there is none
    Show,
    /// Replace the token and print the new one; a running server takes it at once, and clients of the old one are refused
    New,
}

impl Token {
    /// Runs the command.
    ///
    /// # Errors
    /// When the token's file cannot be used.
    pub fn run(&self, settings: &Settings) -> anyhow::Result<Exit> {
        let file = serve::token_file(settings, self.token_file.as_ref());
        let token = match self.action {
            Action::Show => file.read_or_make()?,
            Action::New => file.renew()?,
        };
        output::line(&token.expose())?;
        Ok(Exit::Done)
    }
}
