//! The flags that every command shares.

use std::io;
use std::path::{self, PathBuf};

use clap::Args;

use super::error::SettingsError;

/// Flags shared by all commands; each wins over its environment variable and its entry in `glovebox.toml`.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Settings")]
pub struct Flags {
    /// Keep jobs, captures and the ledger in this folder [env: GLOVEBOX_STATE_DIR]
    #[arg(long, global = true, value_name = "FOLDER")]
    pub state_dir: Option<PathBuf>,
    /// Send calls to this origin, https or loopback [env: GLOVEBOX_UPSTREAM]
    #[arg(long, global = true, value_name = "ORIGIN")]
    pub upstream: Option<String>,
    /// Use this component instead of the embedded one [env: GLOVEBOX_COMPONENT]
    #[arg(long, global = true, value_name = "FILE")]
    pub component: Option<PathBuf>,
    /// Keep results this long after their end, such as 24h or 30m [env: GLOVEBOX_KEEP]
    #[arg(long, global = true, value_name = "TIME")]
    pub keep: Option<String>,
    /// Do not capture the raw streams [env: GLOVEBOX_CAPTURE=false]
    #[arg(long, global = true)]
    pub no_capture: bool,
    /// Refuse calls that could bring the costs of a UTC day above this [env: GLOVEBOX_BUDGET_USD_PER_DAY]
    #[arg(long, global = true, value_name = "USD", allow_negative_numbers = true)]
    pub budget_usd_per_day: Option<String>,
    /// Ask before a call that could cost more than this [env: GLOVEBOX_CONFIRM_OVER_USD]
    #[arg(long, global = true, value_name = "USD")]
    pub confirm_over_usd: Option<String>,
    /// End an answer after this time [env: GLOVEBOX_TIMEOUT_ANSWER]
    #[arg(long, global = true, value_name = "TIME")]
    pub timeout_answer: Option<String>,
    /// End a research after this time [env: GLOVEBOX_TIMEOUT_RESEARCH]
    #[arg(long, global = true, value_name = "TIME")]
    pub timeout_research: Option<String>,
    /// End a call after this time without data from upstream [env: GLOVEBOX_TIMEOUT_IDLE]
    #[arg(long, global = true, value_name = "TIME")]
    pub timeout_idle: Option<String>,
    /// Send this many requests a second at most, over all processes [env: GLOVEBOX_REQUESTS_PER_SECOND]
    #[arg(long, global = true, value_name = "NUMBER")]
    pub requests_per_second: Option<String>,
    /// Call a simulator on this machine instead of the upstream [env: GLOVEBOX_SIMULATE=true]
    #[arg(long, global = true)]
    pub simulate: bool,
    /// Set the simulator's pace: 1 as measured, 0 at once [env: GLOVEBOX_PACE]
    #[arg(
        long,
        global = true,
        value_name = "FACTOR",
        allow_negative_numbers = true
    )]
    pub pace: Option<String>,
}

impl Flags {
    /// The flags that were given, as another start of this program has to be given them; folders and files by
    /// their whole path, since it may start elsewhere.
    ///
    /// # Errors
    /// When the present folder is not known.
    pub fn arguments(&self) -> io::Result<Vec<String>> {
        let mut arguments = Vec::new();
        for (name, flag, text) in self.given() {
            arguments.push(flag.to_owned());
            match name {
                "capture" | "simulate" => {}
                "state_dir" | "component" => {
                    arguments.push(path::absolute(text)?.to_string_lossy().into_owned());
                }
                _ => arguments.push(text),
            }
        }
        Ok(arguments)
    }

    /// Refuses paths that are not UTF-8: what another process or a configuration would be told is something else.
    pub(super) fn refuse_unreadable(&self) -> Result<(), SettingsError> {
        let paths = [
            ("--state-dir", &self.state_dir),
            ("--component", &self.component),
        ];
        let unreadable =
            |path: &Option<PathBuf>| path.as_ref().is_some_and(|path| path.to_str().is_none());
        match paths.iter().find(|(_, path)| unreadable(path)) {
            None => Ok(()),
            Some((flag, _)) => Err(SettingsError(format!(
                "the path given with {flag} is not UTF-8 text; give another, such as a symbolic link to it"
            ))),
        }
    }

    /// The flags that were given: name of the setting, the flag, its text.
    pub(super) fn given(&self) -> Vec<(&'static str, &'static str, String)> {
        let path = |path: &Option<PathBuf>| {
            path.as_ref()
                .map(|path| path.to_string_lossy().into_owned())
        };
        let switch = |on: bool, text: &str| on.then(|| text.to_owned());
        [
            ("state_dir", "--state-dir", path(&self.state_dir)),
            ("upstream", "--upstream", self.upstream.clone()),
            ("component", "--component", path(&self.component)),
            ("keep", "--keep", self.keep.clone()),
            ("capture", "--no-capture", switch(self.no_capture, "false")),
            (
                "budget_usd_per_day",
                "--budget-usd-per-day",
                self.budget_usd_per_day.clone(),
            ),
            (
                "confirm_over_usd",
                "--confirm-over-usd",
                self.confirm_over_usd.clone(),
            ),
            (
                "timeout_answer",
                "--timeout-answer",
                self.timeout_answer.clone(),
            ),
            (
                "timeout_research",
                "--timeout-research",
                self.timeout_research.clone(),
            ),
            ("timeout_idle", "--timeout-idle", self.timeout_idle.clone()),
            (
                "requests_per_second",
                "--requests-per-second",
                self.requests_per_second.clone(),
            ),
            ("simulate", "--simulate", switch(self.simulate, "true")),
            ("pace", "--pace", self.pace.clone()),
        ]
        .into_iter()
        .filter_map(|(name, flag, text)| text.map(|text| (name, flag, text)))
        .collect()
    }
}
