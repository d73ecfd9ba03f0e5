//! `glovebox component`: the component that is built into this binary, for use in another runtime.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use serde_json::Value;

use super::output;
use super::runtime::hold_signals;
use crate::answers::{COMPONENT, COMPONENT_RECORD, WIT};
use crate::exit::Exit;
use crate::files;

/// Show an embedded component or write it to a file
#[derive(Args, Debug)]
pub struct Component {
    /// Write the component to this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["wit", "hash"])]
    out: Option<PathBuf>,
    /// Print its contract as WIT
    #[arg(long, conflicts_with = "hash")]
    wit: bool,
    /// Print its SHA-256
    #[arg(long)]
    hash: bool,
    /// Print its name, size and hashes as JSON
    #[arg(long, conflicts_with_all = ["wit", "hash", "out"])]
    json: bool,
}

impl Component {
    /// Runs the command.
    ///
    /// # Errors
    /// When the file or standard output cannot be written to.
    pub fn run(self) -> anyhow::Result<Exit> {
        let record: Value =
            serde_json::from_str(COMPONENT_RECORD).context("the component's record")?;
        let hash = record
            .get("sha256")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if let Some(path) = &self.out {
            files::Target::prepare(path)
                .and_then(|target| {
                    if target.cannot_block() {
                        hold_signals();
                    }
                    target.write(COMPONENT)
                })
                .with_context(|| format!("{} cannot be written", path.display()))?;
        } else if self.wit {
            output::line(&wit().trim_end())?;
        } else if self.hash {
            output::line(&hash)?;
        } else if self.json {
            output::json(&record)?;
        } else {
            let bytes = COMPONENT.len();
            output::line(&format!(
                "glovebox:answers/answers@0.2.0, {bytes} bytes, no imports, SHA-256 {hash}"
            ))?;
        }
        Ok(Exit::Done)
    }
}

/// The contract as one file: one `package` line, then what both files have below theirs.
fn wit() -> String {
    let [types, world] = WIT;
    let world = world.split_once(PACKAGE).map_or(world, |(_, rest)| rest);
    format!("{types}{world}")
}

/// The line that both files have and one file must have once.
const PACKAGE: &str = "package glovebox:answers@0.2.0;\n";
