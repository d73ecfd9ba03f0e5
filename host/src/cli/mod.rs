//! The command line: one file a command. Commands parse, call the layers below, print, and return an [`Exit`].

mod ask;
mod audit;
mod bridge;
mod component;
mod confirm;
mod connect;
mod console;
mod display;
mod doctor;
mod ending;
mod environment;
pub mod exit_status;
mod jobs;
mod jobs_setup;
mod manual;
mod operator;
mod options;
mod output;
mod render;
mod replay;
mod research;
mod run;
mod run_admission;
mod runtime;
mod serve;
mod server;
mod server_kind;
mod signals;
mod simulate;
mod spend;
mod stderr;
mod stdio;
mod streamed_text;
mod table;
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

/// Examples and where a key comes from, below the help of the program.
const AFTER_HELP: &str = "\
Examples:
  glovebox ask \"why is the sky blue?\"
  glovebox research \"solid-state batteries in 2026\"
  glovebox research --simulate \"anything\"     try it without a key
  glovebox connect claude-code --write

Key: set BRAVE_ANSWERS_KEY, or BRAVE_ANSWERS_KEY_FILE to a file that holds it.
Create one at https://api-dashboard.search.brave.com. An answer costs about
$0.05, a research about $0.07 a query: usually under $1, and planned at most
$1.60 unless --queries says otherwise.";

/// Ask for cited answers and deep research, at the shell and from AI agents
///
/// Without a command, glovebox serves MCP over standard input and output.
#[derive(Debug, Parser)]
#[command(name = "glovebox", version, about, after_help = AFTER_HELP, propagate_version = true)]
pub struct Cli {
    /// The settings.
    #[command(flatten)]
    pub flags: Flags,
    /// What to do; without a command, MCP over stdio.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The commands, in the order of use.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Ask a question and print the cited answer
    Ask(ask::Ask),
    /// Research a question for minutes and print a report
    Research(research::Research),
    /// List research jobs, show one, print its result, cancel or delete it
    Jobs(jobs::JobsArguments),
    /// Show what was spent and what is left of the budget
    Spend(spend::Spend),
    /// Print or write the configuration of an MCP client
    Connect(connect::Connect),
    /// Check the key, the settings, the state folder and the way to the upstream
    Doctor(doctor::Doctor),
    /// Serve MCP over HTTP
    Serve(serve::Serve),
    /// Serve MCP over standard input and output in front of a remote MCP server
    Bridge(bridge::BridgeCommand),
    /// Show or replace the bearer token of `glovebox serve`
    Token(token::Token),
    /// Work with captured HTTP traffic
    Traffic(traffic::Traffic),
    /// Check or read the audit log
    Audit(audit::Audit),
    /// Print the answer of a captured stream
    Replay(replay::Replay),
    /// Serve the page that shows how an answer was made
    Web(web::Web),
    /// Run a WASI 0.2 command component in the sandbox
    Run(run::Run),
    /// Run the simulator of the upstream
    Simulate(simulate::Simulate),
    /// Show an embedded component or write it to a file
    Component(component::Component),
    /// Serve MCP over standard input and output
    Stdio(stdio::Stdio),
    /// Print shell completions
    Completions(manual::Completions),
    /// Write the manual pages
    Man(manual::Man),
    /// Start the worker of a job that was handed over.
    #[command(hide = true)]
    StartWorker(worker::StartWorker),
    /// Carry out a job that was handed over.
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
        Some(Command::Bridge(bridge)) => runtime::block_on(bridge.run())?,
        Some(Command::Component(component)) => runtime::block_on(async { component.run() })?,
        Some(Command::Ask(ask)) => runtime::block_on(ask.run(&settings))?,
        Some(Command::Audit(audit)) => runtime::block_on(audit.run(&settings))?,
        Some(Command::Connect(connect)) => runtime::block_on(async {
            connect.run(
                &cli.flags,
                settings.simulate.value,
                &settings.state_dir.value,
            )
        })?,
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
        Some(Command::Completions(completions)) => completions.run(),
        Some(Command::Man(man)) => man.run(),
        Some(Command::Web(web)) => runtime::block_on(web.run(&settings))?,
        None => runtime::block_on(stdio::Stdio::default().run(&settings))?,
    }
}
