//! The clients: where each keeps its configuration, in which shape, and how it refers to a variable.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::ValueEnum;
use etcetera::BaseStrategy as _;
use serde_json::{Value, json};

/// Seconds that Codex is told to wait for a tool. A single answer may take 60, which is also what Codex
/// waits by itself, so the two would race.
const CODEX_TOOL_TIMEOUT: u64 = 120;

/// The variable that holds the key, where the user names no other.
const KEY: &str = "BRAVE_ANSWERS_KEY";

/// A client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Client {
    /// opencode (user configuration).
    Opencode,
    /// Claude Code (this project's .mcp.json).
    ClaudeCode,
    /// Claude Desktop.
    ClaudeDesktop,
    /// Codex, its CLI and its editor extension.
    Codex,
    /// Cursor (user configuration).
    Cursor,
    /// Visual Studio Code (user profile).
    Vscode,
    /// Gemini CLI (user configuration).
    Gemini,
    /// Zed.
    Zed,
}

/// How a client's file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON, comments allowed.
    Json,
    /// TOML.
    Toml,
}

/// What is to be in the client's file.
#[derive(Debug)]
pub struct Entry {
    /// The file's format.
    pub format: Format,
    /// The keys down to the map of servers.
    pub servers: Vec<&'static str>,
    /// The members of this server's entry, in order.
    pub members: Vec<(&'static str, Value)>,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// How the server is to be started.
#[derive(Debug)]
pub struct Launch {
    /// The program, by its whole path: clients with a window seldom have the shell's search path.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Whether a key is needed, and the variable the user named for it.
    pub key: Option<Option<String>>,
}

/// The folders that clients keep files in.
#[derive(Debug)]
pub struct Places {
    home: PathBuf,
    /// The platform's own folder for configuration.
    config: PathBuf,
    /// The folder for configuration of programs that follow the XDG rules everywhere.
    xdg: PathBuf,
}

impl Places {
    /// As this machine and user have them.
    ///
    /// # Errors
    /// Where there is no home folder.
    pub fn of_this_machine() -> anyhow::Result<Self> {
        let home = etcetera::home_dir()
            .ok()
            .filter(|home| !home.as_os_str().is_empty())
            .context("there is no home folder; set HOME, or name the file with --path")?;
        let xdg = etcetera::base_strategy::Xdg::new()?.config_dir();
        let config = if cfg!(target_os = "macos") {
            home.join("Library/Application Support")
        } else {
            etcetera::choose_base_strategy()?.config_dir()
        };
        Ok(Self { home, config, xdg })
    }
}

/// A variable of the environment; an empty one counts as not set.
fn set(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

impl Client {
    /// The file that the client reads.
    pub fn file(self, places: &Places) -> PathBuf {
        let Places { home, config, xdg } = places;
        match self {
            Self::Opencode => {
                let commented = xdg.join("opencode/opencode.jsonc");
                if commented.exists() {
                    commented
                } else {
                    xdg.join("opencode/opencode.json")
                }
            }
            Self::ClaudeCode => PathBuf::from(".mcp.json"),
            Self::ClaudeDesktop => config.join("Claude/claude_desktop_config.json"),
            Self::Codex => set("CODEX_HOME")
                .map_or_else(|| home.join(".codex"), PathBuf::from)
                .join("config.toml"),
            Self::Cursor => home.join(".cursor/mcp.json"),
            Self::Vscode => config.join("Code/User/mcp.json"),
            Self::Gemini => home.join(".gemini/settings.json"),
            Self::Zed if cfg!(windows) => config.join("Zed/settings.json"),
            Self::Zed => xdg.join("zed/settings.json"),
        }
    }

    /// What its file is to hold.
    pub fn entry(self, launch: &Launch) -> Entry {
        let mut notes = Vec::new();
        let environment = self.environment(launch, &mut notes);
        Entry {
            format: if self == Self::Codex {
                Format::Toml
            } else {
                Format::Json
            },
            servers: vec![match self {
                Self::Opencode => "mcp",
                Self::Codex => "mcp_servers",
                Self::Vscode => "servers",
                Self::Zed => "context_servers",
                Self::ClaudeCode | Self::ClaudeDesktop | Self::Cursor | Self::Gemini => {
                    "mcpServers"
                }
            }],
            members: self.members(launch, environment),
            notes,
        }
    }

    fn members(self, launch: &Launch, environment: Option<Value>) -> Vec<(&'static str, Value)> {
        let program = json!(launch.program);
        let mut members = match self {
            Self::Opencode => {
                let mut command = vec![launch.program.clone()];
                command.extend(launch.args.iter().cloned());
                vec![
                    ("type", json!("local")),
                    ("command", json!(command)),
                    ("enabled", json!(true)),
                ]
            }
            Self::ClaudeCode | Self::Cursor | Self::Vscode => vec![
                ("type", json!("stdio")),
                ("command", program),
                ("args", json!(launch.args)),
            ],
            Self::Zed => vec![
                ("source", json!("custom")),
                ("command", program),
                ("args", json!(launch.args)),
            ],
            Self::ClaudeDesktop | Self::Codex | Self::Gemini => {
                vec![("command", program), ("args", json!(launch.args))]
            }
        };
        if let Some(environment) = environment {
            members.push((self.environment_name(), environment));
        }
        if self == Self::Codex {
            members.push(("tool_timeout_sec", json!(CODEX_TOOL_TIMEOUT)));
        }
        members
    }

    const fn environment_name(self) -> &'static str {
        match self {
            Self::Opencode => "environment",
            Self::Codex => "env_vars",
            _ => "env",
        }
    }

    /// How the key comes to the server; what cannot be written is said.
    fn environment(self, launch: &Launch, notes: &mut Vec<String>) -> Option<Value> {
        let named = launch.key.as_ref()?;
        let variable = named.as_deref().unwrap_or(KEY);
        let reference = match self {
            Self::Opencode => format!("{{env:{variable}}}"),
            Self::ClaudeCode | Self::Gemini => format!("${{{variable}}}"),
            Self::Cursor | Self::Vscode => format!("${{env:{variable}}}"),
            // Codex passes variables on by name, and only by the name they have.
            Self::Codex => {
                notes.push(format!(
                    "The key comes from {variable} in the environment of Codex."
                ));
                return Some(json!([variable]));
            }
            Self::ClaudeDesktop | Self::Zed => return self.literal(named.as_deref(), notes),
        };
        notes.push(format!(
            "The key comes from {variable} in the environment of the client; it is not in the file."
        ));
        Some(json!({ KEY: reference }))
    }

    /// For clients that know no references.
    fn literal(self, named: Option<&str>, notes: &mut Vec<String>) -> Option<Value> {
        let value = named.and_then(|name| set(name)?.into_string().ok());
        match (named, value) {
            (Some(_), Some(value)) => {
                notes
                    .push("The key itself is in the file, as asked: keep the file private.".into());
                Some(json!({ KEY: value }))
            }
            (Some(name), None) => {
                notes.push(format!("{name} is not set, so no key was written."));
                None
            }
            (None, _) => {
                notes.push(format!(
                    "This client cannot refer to a variable. Put the key into a file that only you can read and \
                     add \"env\": {{\"{KEY}_FILE\": \"/path/to/it\"}} to the entry, or set {KEY} where the client \
                     is started; --key-env NAME writes the key into the file."
                ));
                None
            }
        }
    }
}
