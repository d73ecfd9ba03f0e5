//! The clients: where each keeps its configuration, in which shape, and how it refers to a variable.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::ValueEnum;
use etcetera::BaseStrategy as _;
use serde_json::{Map, Value, json};

/// Seconds that Codex is told to wait for a tool. A single answer may take 60, which is also what Codex
/// waits by itself, so the two would race.
const CODEX_TOOL_TIMEOUT: u64 = 120;

/// The variable that holds the key, where the user names no other.
const KEY: &str = "BRAVE_ANSWERS_KEY";

/// The program as a shared file names it: found by the search path, since a path of one machine is of no use there.
const SHARED_PROGRAM: &str = "glovebox";

/// Variables that Codex is always told to pass on: it gives a server almost nothing of its environment.
const PASSED_BY_CODEX: [&str; 7] = [
    "BRAVE_ANSWERS_KEY_FILE",
    "GLOVEBOX_BUDGET_USD_PER_DAY",
    "GLOVEBOX_STATE_DIR",
    "HTTPS_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// Variables, beside the program's own, that decide where it finds its files and how it reaches the upstream.
const SURROUNDINGS: [&str; 14] = [
    "BRAVE_ANSWERS_KEY_FILE",
    "BRAVE_API_KEY_FILE",
    "XDG_STATE_HOME",
    "XDG_CONFIG_HOME",
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// A client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Client {
    /// opencode (user configuration).
    Opencode,
    /// Claude Code (user configuration, or a project's .mcp.json).
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
    /// GitHub Copilot CLI (user configuration).
    Copilot,
    /// Qwen Code (user configuration).
    Qwen,
    /// Cline CLI.
    Cline,
    /// Zed.
    Zed,
}

/// Whose configuration is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Scope {
    /// The user's, for all projects.
    #[default]
    User,
    /// That of the project in the present folder, which others may share.
    Project,
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
    /// The member of this server's entry that holds the members, where they are not in the entry itself.
    pub within: Option<&'static str>,
    /// The members of this server's entry, in order.
    pub members: Vec<(&'static str, Value)>,
    /// Whether members that start a server or name its address, and are not in `members`, are removed: an entry is for
    /// one of both.
    pub replaces: bool,
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
    /// Whose configuration is written.
    pub scope: Scope,
    /// The variables that are set here and that the server needs as they are here.
    pub surroundings: Vec<&'static str>,
}

/// The variables that are set here and that a server needs as they are here. The key is not among them.
pub fn surroundings() -> Vec<&'static str> {
    let settings = crate::settings::NAMES.iter().map(|(_, variable)| *variable);
    let all = settings.chain(SURROUNDINGS);
    all.filter(|name| set(name).is_some()).collect()
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
    /// Whether the client has a configuration for a project beside the user's.
    pub fn has_scopes(self) -> bool {
        self == Self::ClaudeCode
    }

    /// The file that the client reads.
    pub fn file(self, scope: Scope, places: &Places) -> PathBuf {
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
            Self::ClaudeCode if scope == Scope::Project => PathBuf::from(".mcp.json"),
            Self::ClaudeCode => set("CLAUDE_CONFIG_DIR")
                .map_or_else(|| home.clone(), PathBuf::from)
                .join(".claude.json"),
            Self::ClaudeDesktop => config.join("Claude/claude_desktop_config.json"),
            Self::Codex => set("CODEX_HOME")
                .map_or_else(|| home.join(".codex"), PathBuf::from)
                .join("config.toml"),
            Self::Cursor => home.join(".cursor/mcp.json"),
            Self::Vscode => config.join("Code/User/mcp.json"),
            Self::Gemini => home.join(".gemini/settings.json"),
            Self::Copilot => set("COPILOT_HOME")
                .map_or_else(|| home.join(".copilot"), PathBuf::from)
                .join("mcp-config.json"),
            Self::Qwen => home.join(".qwen/settings.json"),
            Self::Cline => home.join(".cline/data/settings/cline_mcp_settings.json"),
            Self::Zed if cfg!(windows) => config.join("Zed/settings.json"),
            Self::Zed => xdg.join("zed/settings.json"),
        }
    }

    /// What its file is to hold.
    pub fn entry(self, launch: &Launch) -> Entry {
        let mut notes = Vec::new();
        let environment = self.environment(launch, &mut notes);
        if launch.scope == Scope::Project {
            notes.push(format!(
                "The file may be shared, so it names the program as {SHARED_PROGRAM}, which must be on the search path."
            ));
        }
        notes.extend(self.before_the_first_call(launch.scope).map(str::to_owned));
        Entry {
            members: self.members(launch, environment),
            notes,
            ..self.empty_entry()
        }
    }

    /// Returns an entry without members, at its place in the client's file.
    pub fn empty_entry(self) -> Entry {
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
                Self::ClaudeCode
                | Self::ClaudeDesktop
                | Self::Cursor
                | Self::Gemini
                | Self::Copilot
                | Self::Qwen
                | Self::Cline => "mcpServers",
            }],
            within: (self == Self::Cline).then_some("transport"),
            members: Vec::new(),
            replaces: true,
            notes: Vec::new(),
        }
    }

    fn members(self, launch: &Launch, environment: Option<Value>) -> Vec<(&'static str, Value)> {
        let program = match launch.scope {
            Scope::User => json!(launch.program),
            Scope::Project => json!(SHARED_PROGRAM),
        };
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
            Self::Copilot => vec![
                ("type", json!("local")),
                ("command", program),
                ("args", json!(launch.args)),
                ("tools", json!(["*"])),
            ],
            Self::ClaudeCode | Self::Cursor | Self::Vscode | Self::Cline => vec![
                ("type", json!("stdio")),
                ("command", program),
                ("args", json!(launch.args)),
            ],
            Self::Zed => vec![
                ("source", json!("custom")),
                ("command", program),
                ("args", json!(launch.args)),
            ],
            Self::ClaudeDesktop | Self::Codex | Self::Gemini | Self::Qwen => {
                vec![("command", program), ("args", json!(launch.args))]
            }
        };
        if let Some(environment) = environment {
            members.push((self.environment_name(), environment));
        }
        members.extend(self.limits());
        members
    }

    /// Returns the members that say what the client lets the server do, however it is reached.
    pub fn limits(self) -> Vec<(&'static str, Value)> {
        if self != Self::Codex {
            return Vec::new();
        }
        // What stops spending needs no approval.
        let tools = json!({ "research_cancel": { "approval_mode": "approve" } });
        vec![
            ("tool_timeout_sec", json!(CODEX_TOOL_TIMEOUT)),
            ("tools", tools),
        ]
    }

    const fn environment_name(self) -> &'static str {
        match self {
            Self::Opencode => "environment",
            Self::Codex => "env_vars",
            _ => "env",
        }
    }

    /// What the server finds in its environment; what cannot be written is said.
    fn environment(self, launch: &Launch, notes: &mut Vec<String>) -> Option<Value> {
        if self == Self::Codex {
            return Some(Self::passed_by_codex(launch, notes));
        }
        let mut environment = self.key(launch, notes).unwrap_or_default();
        // These two leave out variables that look like secrets or change how a program connects.
        if matches!(self, Self::Gemini | Self::Qwen) {
            for name in &launch.surroundings {
                environment.insert((*name).to_owned(), json!(format!("${{{name}}}")));
            }
        }
        (!environment.is_empty()).then_some(Value::Object(environment))
    }

    /// Codex passes variables on by name, and only by the name they have.
    fn passed_by_codex(launch: &Launch, notes: &mut Vec<String>) -> Value {
        let mut names: Vec<&str> = Vec::new();
        if let Some(named) = &launch.key {
            let variable = named.as_deref().unwrap_or(KEY);
            names.push(variable);
            notes.push(format!(
                "The key comes from {variable} in the environment of Codex, or from the file that BRAVE_ANSWERS_KEY_FILE names."
            ));
        }
        for name in PASSED_BY_CODEX.iter().chain(&launch.surroundings) {
            if !names.contains(name) {
                names.push(name);
            }
        }
        json!(names)
    }

    /// How the key comes to the server.
    fn key(self, launch: &Launch, notes: &mut Vec<String>) -> Option<Map<String, Value>> {
        let named = launch.key.as_ref()?;
        let variable = named.as_deref().unwrap_or(KEY);
        let reference = match self {
            Self::Opencode => format!("{{env:{variable}}}"),
            // Without the default an unset variable would come as this text itself.
            Self::ClaudeCode | Self::Copilot => format!("${{{variable}:-}}"),
            Self::Gemini | Self::Qwen => format!("${{{variable}}}"),
            Self::Cursor | Self::Vscode => format!("${{env:{variable}}}"),
            Self::Codex | Self::ClaudeDesktop | Self::Zed | Self::Cline => {
                return self.literal(named.as_deref(), notes);
            }
        };
        notes.push(format!(
            "The key comes from {variable} in the environment of the client; it is not in the file."
        ));
        Some(Map::from_iter([(KEY.to_owned(), json!(reference))]))
    }

    /// What a person has to approve or trust before the first call.
    fn before_the_first_call(self, scope: Scope) -> Option<&'static str> {
        Some(match self {
            Self::ClaudeCode if scope == Scope::Project => {
                "Claude Code starts a project's servers once they are approved in /mcp."
            }
            Self::ClaudeCode => {
                "Claude Code asks before each call; the permission mcp__glovebox allows all of them."
            }
            Self::Codex => {
                "Codex asks before calls that cost money; approval_mode = \"approve\" under [mcp_servers.glovebox.tools.TOOL] allows a tool."
            }
            Self::Gemini => "Gemini CLI starts servers in trusted folders only: see /permissions.",
            Self::Qwen => {
                "Qwen Code asks before each call; where folders have to be trusted, it starts servers in trusted ones only."
            }
            Self::Copilot => {
                "Copilot CLI asks before each call; --allow-tool glovebox allows all of them."
            }
            Self::Vscode => {
                "Visual Studio Code asks whether to trust the server at its first start."
            }
            Self::Cursor => {
                "Cursor asks before each call, and may ask to enable the server in its settings."
            }
            Self::Opencode | Self::ClaudeDesktop | Self::Cline | Self::Zed => return None,
        })
    }

    /// For clients that know no references.
    fn literal(self, named: Option<&str>, notes: &mut Vec<String>) -> Option<Map<String, Value>> {
        let value = named.and_then(|name| set(name)?.into_string().ok());
        match (named, value) {
            (Some(_), Some(value)) => {
                notes
                    .push("The key itself is in the file, as asked: keep the file private.".into());
                Some(Map::from_iter([(KEY.to_owned(), json!(value))]))
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
