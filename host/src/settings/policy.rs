//! The settings about tools and the audit log: those of a server, and read again while it runs.

use std::path::{Path, PathBuf};

use clap::Args;

use super::check;
use super::error::SettingsError;
use super::flags::Flags;
use super::layers::{Environment, Given, Layers, Origin, Setting, words};
use crate::money::Micros;
use crate::policy::{MOST_PLACES, Rules, Toggle};

/// The tools that are selected where nothing else is said.
const DEFAULT_SELECTION: &str = "answers";

/// The flags of a command that serves tools.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Policy")]
pub struct PolicyFlags {
    /// Serve these tools: answers, traffic-core, traffic, all, or names, with commas between them [env: GLOVEBOX_TOOLS]
    #[arg(long, value_name = "LIST")]
    pub tools: Option<String>,
    /// Turn a tool off; may be given more than once [env: GLOVEBOX_DISABLE_TOOLS]
    #[arg(long, value_name = "NAME")]
    pub disable_tool: Vec<String>,
    /// Turn on a tool that glovebox.toml turns off; may be given more than once [env: GLOVEBOX_ENABLE_TOOLS]
    #[arg(long, value_name = "NAME")]
    pub enable_tool: Vec<String>,
    /// Allow unsafe tools, except those that must be named [env: GLOVEBOX_ALLOW_UNSAFE=true]
    #[arg(long)]
    pub allow_unsafe: bool,
    /// Allow an unsafe tool by its name; may be given more than once [env: GLOVEBOX_ALLOW_UNSAFE_TOOLS]
    #[arg(long, value_name = "NAME")]
    pub allow_unsafe_tool: Vec<String>,
    /// Run at most this many calls at once that wait for the network: 1 to 256 [default: 4, serve: 32] [env: GLOVEBOX_MAX_CONCURRENT]
    #[arg(long, value_name = "NUMBER")]
    pub max_concurrent: Option<String>,
    /// Record every call in the audit log, and refuse calls that cannot be recorded [env: GLOVEBOX_AUDIT=true]
    #[arg(long, conflicts_with = "no_audit")]
    pub audit: bool,
    /// Record nothing [env: GLOVEBOX_AUDIT=false]
    #[arg(long)]
    pub no_audit: bool,
    /// Protect the chain of the audit log with the key in this file [env: GLOVEBOX_AUDIT_KEY_FILE]
    #[arg(long, value_name = "FILE")]
    pub audit_key_file: Option<PathBuf>,
}

impl PolicyFlags {
    fn given(&self) -> Vec<Given> {
        let list = |names: &[String]| (!names.is_empty()).then(|| names.join(","));
        let switch = |on: bool, text: &str| on.then(|| text.to_owned());
        let key_file = self.audit_key_file.as_ref();
        let given = [
            ("tools.select", "--tools", self.tools.clone()),
            ("tools.disable", "--disable-tool", list(&self.disable_tool)),
            ("tools.enable", "--enable-tool", list(&self.enable_tool)),
            (
                "tools.allow_unsafe",
                "--allow-unsafe",
                switch(self.allow_unsafe, "true"),
            ),
            (
                "tools.allow_unsafe_tools",
                "--allow-unsafe-tool",
                list(&self.allow_unsafe_tool),
            ),
            (
                "max_concurrent",
                "--max-concurrent",
                self.max_concurrent.clone(),
            ),
            ("audit", "--audit", switch(self.audit, "true")),
            ("audit", "--no-audit", switch(self.no_audit, "false")),
            (
                "audit_key_file",
                "--audit-key-file",
                key_file.map(|path| path.to_string_lossy().into_owned()),
            ),
        ];
        let given = given.into_iter();
        given
            .filter_map(|(name, flag, text)| Some((name, flag, text?)))
            .collect()
    }
}

/// The settings about tools and the audit log, checked as far as that can be done without knowing the tools.
#[derive(Clone, Debug)]
pub struct PolicySettings {
    /// Groups and names of the tools that are selected.
    pub select: Setting<Vec<String>>,
    /// What is turned on and off, the layer that wins first.
    pub toggles: Vec<Toggle>,
    /// Whether unsafe tools are allowed that need not be named.
    pub allow_unsafe: Setting<bool>,
    /// Unsafe tools that are allowed by name.
    pub allow_unsafe_tools: Setting<Vec<String>>,
    /// The cost above which a person is asked before a call, in millionths of a US dollar.
    pub confirm_over: Setting<Option<u64>>,
    /// How many foreground calls may run at once.
    pub max_concurrent: Setting<Option<usize>>,
    /// Whether there is an audit log.
    pub audit: Setting<Option<bool>>,
    /// The file with the key of the audit log's chain.
    pub audit_key_file: Setting<Option<PathBuf>>,
}

impl PolicySettings {
    /// Reads all layers.
    pub(super) fn load(
        flags: &Flags,
        policy: &PolicyFlags,
        environment: &Environment,
        file: &Path,
    ) -> Result<Self, SettingsError> {
        let mut given = flags.given();
        given.extend(policy.given());
        let layers = Layers::of_given(given, environment, file)?;
        let list = |text: &str| Ok(words(text));
        Ok(Self {
            select: layers.required("tools.select", || Ok(words(DEFAULT_SELECTION)), list)?,
            toggles: toggles(&layers)?,
            allow_unsafe: layers.required("tools.allow_unsafe", || Ok(false), check::switch)?,
            allow_unsafe_tools: layers.required(
                "tools.allow_unsafe_tools",
                || Ok(Vec::new()),
                list,
            )?,
            confirm_over: layers.optional("confirm_over_usd", check::usd)?,
            max_concurrent: layers.optional("max_concurrent", places)?,
            audit: layers.optional("audit", check::switch)?,
            audit_key_file: layers.optional("audit_key_file", check::file_path)?,
        })
    }

    /// Returns the rules of a server that runs so many foreground calls where nothing else is said.
    #[must_use]
    pub fn rules(&self, default_places: usize) -> Rules {
        let micros = |value| Micros(i64::try_from(value).unwrap_or(i64::MAX));
        Rules {
            select: self.select.value.clone(),
            toggles: self.toggles.clone(),
            allow_unsafe: self.allow_unsafe.value,
            allow_unsafe_tools: self.allow_unsafe_tools.value.clone(),
            confirm_over: self.confirm_over.value.map(micros),
            max_concurrent: self.max_concurrent.value.unwrap_or(default_places),
        }
    }

    /// Returns every setting for a person: name, value, origin.
    #[must_use]
    pub fn table(&self) -> Vec<(&'static str, String, String)> {
        let list = |names: &Vec<String>| match names.is_empty() {
            true => "none".to_owned(),
            false => names.join(", "),
        };
        let toggled = |on| {
            let names = self.toggles.iter().filter(|toggle| toggle.on == on);
            list(&names.map(|toggle| toggle.tool.clone()).collect())
        };
        let origin = |on| {
            let first = self.toggles.iter().find(|toggle| toggle.on == on);
            first.map_or_else(
                || Origin::Default.to_string(),
                |toggle| toggle.source.clone(),
            )
        };
        let set = |audit: &Option<bool>| match audit {
            Some(true) => "on, required".to_owned(),
            Some(false) => "off".to_owned(),
            None => "on in serve, off on stdio".to_owned(),
        };
        vec![
            row("tools.select", &self.select, list),
            ("tools.disable", toggled(false), origin(false)),
            ("tools.enable", toggled(true), origin(true)),
            row(
                "tools.allow_unsafe",
                &self.allow_unsafe,
                ToString::to_string,
            ),
            row("tools.allow_unsafe_tools", &self.allow_unsafe_tools, list),
            row("max_concurrent", &self.max_concurrent, |places| {
                places.map_or_else(
                    || "4, and 32 in serve".to_owned(),
                    |places| places.to_string(),
                )
            }),
            row("audit", &self.audit, set),
            row("audit_key_file", &self.audit_key_file, |path| {
                path.as_ref()
                    .map_or_else(|| "none".to_owned(), |path| path.display().to_string())
            }),
        ]
    }
}

fn row<T>(
    name: &'static str,
    setting: &Setting<T>,
    text: impl Fn(&T) -> String,
) -> (&'static str, String, String) {
    (name, text(&setting.value), setting.origin.to_string())
}

fn places(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if (1..=MOST_PLACES).contains(&count) => Ok(count),
        _ => Err(format!(
            "is no number of calls; give one from 1 to {MOST_PLACES}"
        )),
    }
}

/// Returns what is turned on and off by all layers. One layer that turns a tool both on and off is an error.
fn toggles(layers: &Layers) -> Result<Vec<Toggle>, SettingsError> {
    let (off, on) = (
        layers.each_list("tools.disable")?,
        layers.each_list("tools.enable")?,
    );
    let rank = |origin: &Origin| match origin {
        Origin::Flag(_) => 0,
        Origin::Environment(_) => 1,
        Origin::File(_) | Origin::Default => 2,
    };
    for (names, origin) in &off {
        let same = on.iter().find(|(_, other)| rank(other) == rank(origin));
        let both = names
            .iter()
            .find(|name| same.is_some_and(|(on, _)| on.contains(name)));
        if let Some(name) = both {
            return Err(SettingsError(format!(
                "tools.disable (from {origin}) and tools.enable both name {name:?}; remove it from one of them"
            )));
        }
    }
    let mut all = Vec::new();
    for (on, lists) in [(false, off), (true, on)] {
        for (names, origin) in lists {
            let toggles = names.into_iter().map(|tool| Toggle {
                tool,
                on,
                source: origin.to_string(),
            });
            all.push((rank(&origin), toggles.collect::<Vec<_>>()));
        }
    }
    all.sort_by_key(|(rank, _)| *rank);
    Ok(all.into_iter().flat_map(|(_, toggles)| toggles).collect())
}
