//! The command line: one file a command. Commands parse, call the layers below, print, and return an [`Exit`].

mod ask;
mod component;
mod connect;
mod console;
mod display;
mod doctor;
mod ending;
mod environment;
mod jobs;
mod jobs_setup;
mod options;
mod output;
mod replay;
mod research;
mod run;
mod run_admission;
mod runtime;
mod serve;
mod server;
mod signals;
mod simulate;
mod spend;
mod stderr;
mod stdio;
mod terminal;
mod token;
mod traffic;
mod web;
mod worker;

use std::fmt::Display;

use clap::{Parser, Subcommand};

use crate::exit::Exit;
use crate::secrets;
use crate::settings::{Flags, Settings};

/// A sandboxed MCP server for cited answers and deep research.
#[derive(Debug, Parser)]
#[command(name = "glovebox", version, about, propagate_version = true)]
pub struct Cli {
    /// The settings.
    #[command(flatten)]
    pub flags: Flags,
    /// What to do; without a command, MCP over stdio.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Shows the embedded component, or writes it to a file for another runtime.
    Component(component::Component),
    /// Asks a question; the answer is cited and streamed.
    Ask(ask::Ask),
    /// Prints or writes the configuration of an MCP client.
    Connect(connect::Connect),
    /// Is everything in place, in words.
    Doctor(doctor::Doctor),
    /// What was asked, how far it is, what came of it.
    Jobs(jobs::JobsArguments),
    /// A captured stream through the component.
    Replay(replay::Replay),
    /// Deep research, with a live progress display.
    Research(research::Research),
    /// What was spent, and what is left of the budget.
    Spend(spend::Spend),
    /// Runs a WASI 0.2 command component in the same sandbox.
    Run(run::Run),
    /// Serve MCP over HTTP on this machine's loopback
    Serve(serve::Serve),
    /// The upstream simulator, on loopback.
    Simulate(simulate::Simulate),
    /// MCP over standard input and output; what runs without a command.
    Stdio(stdio::Stdio),
    /// Show or replace the bearer token of `glovebox serve`
    Token(token::Token),
    /// Work with captured HTTP traffic
    Traffic(traffic::Traffic),
    /// The browser demo, served from the binary on loopback.
    Web(web::Web),
    /// Start the worker of a job that was handed over.
    #[command(hide = true)]
    StartWorker(worker::StartWorker),
    /// Carries out a job that was handed over.
    #[command(hide = true)]
    Worker(worker::Worker),
}

/// Prints a command line's help, or what is wrong with it. What looks like a key is not repeated.
fn refused(error: &clap::Error) -> Exit {
    let text = error.render().to_string();
    let mut clean = secrets::masked(&terminal::escape_for_terminal(&text)).into_owned();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    for part in arguments.iter().flat_map(|argument| argument.split('=')) {
        if secrets::looks_like_key(part) {
            clean = clean.replace(part, secrets::HIDDEN);
        }
    }
    if !error.use_stderr() {
        // Help, or the version. A reader that left early is no error.
        let _ = error.print();
        return Exit::Done;
    }
    stderr::message(&clean);
    Exit::Usage
}

/// Prints a message on standard error: filtered, on one line, without anything that looks like a key.
pub fn message(text: &impl Display) {
    output::message(text);
}

/// Runs the command line that this process was given, and gives its diagnostics a moment to be read.
///
/// # Errors
/// What no command could turn into a message of its own.
pub fn main() -> anyhow::Result<Exit> {
    environment::without_empty_variables();
    let ended = run();
    stderr::flush();
    ended
}

fn run() -> anyhow::Result<Exit> {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return Ok(refused(&error)),
    };
    runtime::start_log();
    let settings = match Settings::load(&cli.flags) {
        Ok(settings) => settings,
        Err(error) => {
            output::message(&format_args!("glovebox: {error}"));
            return Ok(Exit::Usage);
        }
    };
    match cli.command {
        Some(Command::Component(component)) => runtime::block_on(async { component.run() })?,
        Some(Command::Ask(ask)) => runtime::block_on(ask.run(&settings))?,
        Some(Command::Connect(connect)) => {
            runtime::block_on(async { connect.run(&cli.flags, settings.simulate.value) })?
        }
        Some(Command::Doctor(doctor)) => runtime::block_on(doctor.run(&settings))?,
        Some(Command::Jobs(jobs)) => runtime::block_on(jobs.run(&settings))?,
        Some(Command::Replay(replay)) => replay.run(&settings),
        Some(Command::Spend(spend)) => runtime::block_on(spend.run(&settings))?,
        Some(Command::StartWorker(start)) => start.run(),
        Some(Command::Worker(worker)) => runtime::block_on(worker.run(&settings))?,
        Some(Command::Research(research)) => runtime::block_on(research.run(&settings))?,
        Some(Command::Run(run)) => runtime::block_on(run.run(&settings))?,
        Some(Command::Simulate(simulate)) => runtime::block_on(simulate.run(&settings))?,
        Some(Command::Serve(serve)) => runtime::block_on(serve.run(&settings))?,
        Some(Command::Token(token)) => token.run(&settings),
        Some(Command::Traffic(traffic)) => traffic.run(),
        Some(Command::Stdio(stdio)) => runtime::block_on(stdio.run(&settings))?,
        Some(Command::Web(web)) => runtime::block_on(web.run())?,
        None => runtime::block_on(stdio::Stdio::default().run(&settings))?,
    }
}
