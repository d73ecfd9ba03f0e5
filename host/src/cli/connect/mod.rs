//! `glovebox connect CLIENT`: prints the configuration of a client, merges it into its file, or removes it.

mod arguments;
mod clients;
mod lines;
mod merge;
mod remote;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde_json::json;
use url::Url;

use super::output;
use super::runtime::hold_signals;
use super::server::{StructuredArg, output_bytes};
use crate::exit::Exit;
use crate::files;
use crate::secrets;
use crate::settings::Flags;
pub use clients::Client;
use clients::{Entry, Format, Launch, Places, Scope};
use remote::{DEFAULT_URL, Remote, TOKEN};

/// What an agent reads to use the tools well.
const SKILL: &str = include_str!("skill.md");
/// What a person has to do after the client's file changed.
const RESTART: &str = "Restart the client to load the change.";

/// Print or write the configuration of an MCP client
///
/// Without a client, the clients and their files are listed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  glovebox connect                                            list the clients
  glovebox connect codex                                      print the entry
  glovebox connect claude-code --write --budget-usd-per-day 5
  glovebox connect cursor --remove
  glovebox connect --skill > SKILL.md")]
pub struct Connect {
    /// The client
    #[arg(value_enum)]
    pub client: Option<Client>,
    /// Merge the entry into the client's file; a backup is kept
    #[arg(long)]
    pub write: bool,
    /// Remove the entry from the client's file; a backup is kept
    #[arg(long, conflicts_with = "write", requires = "client")]
    pub remove: bool,
    /// Print a SKILL.md that teaches an agent the tools
    #[arg(long, conflicts_with_all = ["client", "write", "remove"])]
    pub skill: bool,
    /// Use this file instead of the client's usual one
    #[arg(long, value_name = "FILE")]
    pub path: Option<PathBuf>,
    /// Refer to the key by this environment variable; its value is written for clients that know no references
    #[arg(long, value_name = "NAME")]
    pub key_env: Option<String>,
    /// Write the configuration of the user or of the project (Claude Code)
    #[arg(long, value_enum, value_name = "SCOPE")]
    pub scope: Option<Scope>,
    /// Connect to a running `glovebox serve` at this address
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = DEFAULT_URL, value_parser = remote::url)]
    pub http: Option<Url>,
    /// With --http, read the bearer token from this variable; GLOVEBOX_TOKEN for an https URL
    #[arg(long, value_name = "NAME", requires = "http")]
    pub bearer_env: Option<String>,
    /// With --http, trust this certificate authority; by default that of this machine's server
    #[arg(long, value_name = "FILE", requires = "http")]
    pub ca: Option<PathBuf>,
    /// Start the server with this --structured
    #[arg(long, value_enum)]
    pub structured: Option<StructuredArg>,
    /// Start the server with this --max-output
    #[arg(long, value_name = "BYTES", value_parser = output_bytes)]
    pub max_output: Option<usize>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl Connect {
    /// Runs the command. The server is started with the flags that were given here. With `simulate`, from
    /// wherever that was set, the client is connected to the built-in simulator: no key, no cost.
    ///
    /// # Errors
    /// Where the file cannot be read, understood or written; nothing is changed then.
    pub fn run(&self, flags: &Flags, simulate: bool, state_dir: &Path) -> anyhow::Result<Exit> {
        if self.skill {
            output::line(&SKILL.trim_end())?;
            return Ok(Exit::Done);
        }
        let Some(client) = self.client else {
            return self.list();
        };
        if let Some(variable) = self.bearer_env.as_deref()
            && (!is_variable(variable) || is_key(variable))
        {
            output::message(
                &"glovebox: --bearer-env takes the name of a variable, such as GLOVEBOX_TOKEN, and not the token; nothing was written",
            );
            return Ok(Exit::Usage);
        }
        if self
            .key_env
            .as_deref()
            .is_some_and(|name| !is_variable(name) || is_key(name))
        {
            // What was given may be the key itself, so it is not shown.
            output::message(
                &"glovebox: --key-env takes the name of a variable, such as BRAVE_ANSWERS_KEY, and not the key; nothing was written",
            );
            return Ok(Exit::Usage);
        }
        if self.scope.is_some() && !client.has_scopes() {
            output::message(&format_args!(
                "glovebox: --scope is for claude-code; this client has one configuration; nothing was written"
            ));
            return Ok(Exit::Usage);
        }
        let entry = match &self.http {
            Some(url) => self.remote(url, state_dir)?.entry(client),
            None => client.entry(&self.launch(flags, simulate)?),
        };
        let path = match &self.path {
            Some(path) => path.clone(),
            None => {
                let scope = self.scope.unwrap_or_default();
                client.file(scope, &Places::of_this_machine()?)
            }
        };
        if self.remove {
            self.remove(&entry, &path)
        } else if self.write {
            self.merge(&entry, &path)
        } else {
            let snippet = merge::merged("", &entry)?;
            self.show(&entry, &path, &snippet)
        }
    }

    fn remote(&self, url: &Url, state_dir: &Path) -> anyhow::Result<Remote> {
        let https = url.scheme() == "https";
        let own_ca = || Some(super::serve::ca_file(state_dir)).filter(|ca| ca.exists());
        Ok(Remote {
            url: url.clone(),
            bearer_env: self
                .bearer_env
                .clone()
                .or_else(|| https.then(|| TOKEN.to_owned())),
            ca: self
                .ca
                .clone()
                .or_else(|| own_ca().filter(|_| https && remote::is_loopback(url))),
            program: program()?,
        })
    }

    fn launch(&self, flags: &Flags, simulate: bool) -> anyhow::Result<Launch> {
        let program = program()?;
        let mut args = vec!["stdio".to_owned()];
        args.extend(flags.arguments()?);
        if simulate && !flags.simulate {
            args.push("--simulate".to_owned());
        }
        if let Some(structured) = self.structured.and_then(|value| value.to_possible_value()) {
            args.extend(["--structured".to_owned(), structured.get_name().to_owned()]);
        }
        if let Some(bytes) = self.max_output {
            args.extend(["--max-output".to_owned(), bytes.to_string()]);
        }
        Ok(Launch {
            program,
            args,
            key: (!simulate).then(|| self.key_env.clone()),
            scope: self.scope.unwrap_or_default(),
            surroundings: clients::surroundings(),
        })
    }

    fn show(&self, entry: &Entry, path: &Path, snippet: &str) -> anyhow::Result<Exit> {
        if self.json {
            output::json(&json!({
                "client": self.client.map(name),
                "path": path.display().to_string(),
                "format": match entry.format { Format::Json => "json", Format::Toml => "toml" },
                "snippet": snippet,
                "notes": entry.notes,
            }))?;
            return Ok(Exit::Done);
        }
        output::line(&snippet.trim_end())?;
        output::message(&"");
        output::message(&format_args!(
            "Put this into {}, or let --write merge it.",
            path.display()
        ));
        for note in &entry.notes {
            output::message(note);
        }
        Ok(Exit::Done)
    }

    fn merge(&self, entry: &Entry, path: &Path) -> anyhow::Result<Exit> {
        let left = || format!("{} was left as it is", path.display());
        let present = files::read(path).with_context(left)?;
        let before = match &present {
            Some((bytes, _)) => Some(std::str::from_utf8(bytes).with_context(left)?),
            None => None,
        };
        let after = merge::merged(before.unwrap_or_default(), entry).with_context(left)?;
        let changed = before != Some(after.as_str());
        let mut backup = None;
        if changed {
            hold_signals();
            if let Some((bytes, mode)) = &present {
                backup = Some(files::back_up(path, bytes, mode).with_context(left)?);
            }
            files::write(path, after.as_bytes()).with_context(left)?;
        }
        if self.json {
            output::json(&json!({
                "path": path.display().to_string(),
                "changed": changed,
                "backup": backup.as_ref().map(|backup| backup.display().to_string()),
                "notes": entry.notes,
            }))?;
            return Ok(Exit::Done);
        }
        match (&backup, before.is_some()) {
            (Some(backup), _) => output::line(&format!(
                "wrote glovebox to {}; the file as it was is kept in {}",
                path.display(),
                backup.display()
            ))?,
            (None, true) => output::line(&format!("{} is up to date", path.display()))?,
            (None, false) => output::line(&format!("wrote {}", path.display()))?,
        }
        for note in &entry.notes {
            output::message(note);
        }
        if changed {
            output::message(&RESTART);
        }
        Ok(Exit::Done)
    }

    /// Removes our entry from the client's file.
    fn remove(&self, entry: &Entry, path: &Path) -> anyhow::Result<Exit> {
        let left = || format!("{} was left as it is", path.display());
        let present = files::read(path).with_context(left)?;
        let after = match &present {
            Some((bytes, _)) => {
                let before = std::str::from_utf8(bytes).with_context(left)?;
                merge::without_entry(before, entry).with_context(left)?
            }
            None => None,
        };
        let mut backup = None;
        if let (Some(after), Some((bytes, mode))) = (&after, &present) {
            hold_signals();
            backup = Some(files::back_up(path, bytes, mode).with_context(left)?);
            files::write(path, after.as_bytes()).with_context(left)?;
        }
        if self.json {
            output::json(&json!({
                "path": path.display().to_string(),
                "changed": after.is_some(),
                "backup": backup.as_ref().map(|backup| backup.display().to_string()),
            }))?;
            return Ok(Exit::Done);
        }
        match backup {
            None => output::line(&format!("{} has no entry for glovebox", path.display()))?,
            Some(backup) => {
                output::line(&format!(
                    "removed glovebox from {}; the file as it was is kept in {}",
                    path.display(),
                    backup.display()
                ))?;
                output::message(&RESTART);
            }
        }
        Ok(Exit::Done)
    }

    /// Lists the clients and their files.
    fn list(&self) -> anyhow::Result<Exit> {
        let places = Places::of_this_machine()?;
        let scope = self.scope.unwrap_or_default();
        let clients = Client::value_variants().iter();
        let files: Vec<(String, PathBuf)> = clients
            .map(|client| (name(*client), client.file(scope, &places)))
            .collect();
        if self.json {
            let list: Vec<_> = files
                .iter()
                .map(|(client, path)| {
                    let path = path.display().to_string();
                    json!({ "client": client, "path": path })
                })
                .collect();
            output::json(&serde_json::Value::Array(list))?;
            return Ok(Exit::Done);
        }
        let width = files.iter().map(|(client, _)| client.len()).max();
        let width = width.unwrap_or_default();
        for (client, path) in &files {
            output::line(&format!("{client:<width$}  {}", path.display()))?;
        }
        output::message(&"");
        output::message(
            &"glovebox connect CLIENT prints the entry for one of them; --write merges it into the file.",
        );
        Ok(Exit::Done)
    }
}

/// Returns the name of a client on the command line.
fn name(client: Client) -> String {
    let name = client.to_possible_value();
    name.map_or_else(String::new, |name| name.get_name().to_owned())
}

/// Returns the path of this program.
fn program() -> anyhow::Result<String> {
    let program = std::env::current_exe().context("this program does not know its own path")?;
    let program = program
        .to_str()
        .context("the path of this program is not UTF-8, which no client's file can hold")?;
    Ok(program.to_owned())
}

/// Whether a name looks like a key and is not that of a variable.
fn is_key(name: &str) -> bool {
    secrets::looks_like_key(name) && std::env::var_os(name).is_none()
}

fn is_variable(text: &str) -> bool {
    let fits = |char: char| char.is_ascii_alphanumeric() || char == '_';
    text.chars().all(fits) && text.starts_with(|char: char| fits(char) && !char.is_ascii_digit())
}
