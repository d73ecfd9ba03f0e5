//! `glovebox completions` and `glovebox man`: what is generated from the command line's own description.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::{Cli, output};
use crate::exit::Exit;

/// Print shell completions
///
/// Examples:
///   glovebox completions bash > ~/.local/share/bash-completion/completions/glovebox
///   glovebox completions zsh > ~/.zfunc/_glovebox
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    /// Runs the command.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub fn run(self) -> anyhow::Result<Exit> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "glovebox", &mut script);
        output::line(&String::from_utf8_lossy(&script).trim_end())?;
        Ok(Exit::Done)
    }
}

/// Write the manual pages, one per command
#[derive(Args, Debug)]
pub struct Man {
    /// The folder to write them to, made where it is missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Man {
    /// Runs the command.
    ///
    /// # Errors
    /// When a page cannot be written.
    pub fn run(self) -> anyhow::Result<Exit> {
        let folder = self.folder.display().to_string();
        std::fs::create_dir_all(&self.folder)
            .and_then(|()| clap_mangen::generate_to(Cli::command(), &self.folder))
            .with_context(|| format!("the manual pages cannot be written to {folder}"))?;
        output::line(&format_args!(
            "wrote the manual pages to {folder}; read one with `man -l {folder}/glovebox.1`"
        ))?;
        Ok(Exit::Done)
    }
}
