//! The layers that settings come from.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use figment::providers::{Format, Toml};
use figment::value::{Dict, Map, Value};
use figment::{Error as FigmentError, Figment, Metadata, Profile, Provider};

use super::error::SettingsError;
use super::flags::Flags;
use crate::secrets;
use crate::upstream::is_placeholder;
use crate::upstream::{EXEMPT_VARIABLES, PROXY_VARIABLES};

/// A value and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Where it came from.
    pub origin: Origin,
}

/// The settings there are: the name in `glovebox.toml` and the environment variable.
pub const NAMES: [(&str, &str); 21] = [
    ("state_dir", "GLOVEBOX_STATE_DIR"),
    ("upstream", "GLOVEBOX_UPSTREAM"),
    ("component", "GLOVEBOX_COMPONENT"),
    ("keep", "GLOVEBOX_KEEP"),
    ("capture", "GLOVEBOX_CAPTURE"),
    ("budget_usd_per_day", "GLOVEBOX_BUDGET_USD_PER_DAY"),
    ("timeout_answer", "GLOVEBOX_TIMEOUT_ANSWER"),
    ("timeout_research", "GLOVEBOX_TIMEOUT_RESEARCH"),
    ("timeout_idle", "GLOVEBOX_TIMEOUT_IDLE"),
    ("requests_per_second", "GLOVEBOX_REQUESTS_PER_SECOND"),
    ("simulate", "GLOVEBOX_SIMULATE"),
    ("pace", "GLOVEBOX_PACE"),
    ("tools.select", "GLOVEBOX_TOOLS"),
    ("tools.disable", "GLOVEBOX_DISABLE_TOOLS"),
    ("tools.enable", "GLOVEBOX_ENABLE_TOOLS"),
    ("tools.allow_unsafe", "GLOVEBOX_ALLOW_UNSAFE"),
    ("tools.allow_unsafe_tools", "GLOVEBOX_ALLOW_UNSAFE_TOOLS"),
    ("confirm_over_usd", "GLOVEBOX_CONFIRM_OVER_USD"),
    ("max_concurrent", "GLOVEBOX_MAX_CONCURRENT"),
    ("audit", "GLOVEBOX_AUDIT"),
    ("audit_key_file", "GLOVEBOX_AUDIT_KEY_FILE"),
];

/// The settings that are lists: an array in `glovebox.toml`, elsewhere words with commas between them.
const LISTS: [&str; 4] = [
    "tools.select",
    "tools.disable",
    "tools.enable",
    "tools.allow_unsafe_tools",
];

/// The table of `glovebox.toml` that has the settings whose names begin with its name.
const TABLE: &str = "tools";

const FLAG_LAYER: &str = "flag";
const ENVIRONMENT_LAYER: &str = "environment";

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A flag.
    Flag(String),
    /// An environment variable.
    Environment(String),
    /// The config file.
    File(PathBuf),
    /// Nobody set it.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => out.write_str(flag),
            Self::Environment(name) => out.write_str(name),
            Self::File(path) => write!(out, "{}", path.display()),
            Self::Default => out.write_str("default"),
        }
    }
}

/// Variables of others that are read as text, beside the settings.
const FOREIGN: [&str; 2] = ["XDG_CONFIG_HOME", "XDG_STATE_HOME"];

/// The environment variables that matter here.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    /// Names of those whose values are not UTF-8.
    unreadable: BTreeSet<String>,
}

impl Environment {
    /// This process's.
    #[must_use]
    pub fn of_process() -> Self {
        let text = |text: &std::ffi::OsStr| text.to_string_lossy().into_owned();
        let mut environment = Self::default();
        for (name, value) in std::env::vars_os() {
            let name = text(&name);
            if value.to_str().is_none() {
                environment.unreadable.insert(name.clone());
            }
            environment.variables.insert(name, text(&value));
        }
        environment
    }

    /// Refuses variables that are settings and not UTF-8: what is read of them would be something else. (A key is
    /// refused where it is needed.)
    pub(super) fn refuse_unreadable(&self) -> Result<(), SettingsError> {
        let settings = NAMES.iter().map(|known| known.1);
        let proxies = PROXY_VARIABLES.into_iter().chain(EXEMPT_VARIABLES);
        let mut read = settings.chain(proxies).chain(FOREIGN);
        match read.find(|name| self.unreadable.contains(*name)) {
            None => Ok(()),
            Some(name) => Err(SettingsError(format!(
                "{name} (from the environment) is not UTF-8 text; set it anew, or unset it"
            ))),
        }
    }

    /// A variable; an empty one counts as not set, and so does the text of a placeholder that the program which
    /// starts this one passes on as it stands.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty() && !is_placeholder(value))
    }

    /// Whether a variable holds the text of a placeholder.
    #[must_use]
    pub fn holds_placeholder(&self, name: &str) -> bool {
        self.variables
            .get(name)
            .is_some_and(|value| is_placeholder(value))
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str)
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Environment {
    fn from(pairs: [(&str, &str); N]) -> Self {
        let variables = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        Self {
            variables,
            unreadable: BTreeSet::new(),
        }
    }
}

/// Texts under their settings' names.
struct Texts {
    layer: &'static str,
    texts: BTreeMap<&'static str, String>,
}

impl Provider for Texts {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.layer)
    }

    fn data(&self) -> Result<Map<Profile, Dict>, FigmentError> {
        let (mut dict, mut table) = (Dict::new(), Dict::new());
        for (name, text) in &self.texts {
            let value = Value::from(text.clone());
            match name.split_once('.') {
                Some((_, name)) => table.insert(name.to_owned(), value),
                None => dict.insert((*name).to_owned(), value),
            };
        }
        if !table.is_empty() {
            dict.insert(TABLE.to_owned(), table.into());
        }
        Ok(Map::from([(Profile::Default, dict)]))
    }
}

/// All layers, merged.
pub(super) struct Layers {
    figment: Figment,
    /// The layers one by one, the one that wins first.
    single: [Figment; 3],
    flags: BTreeMap<&'static str, &'static str>,
    file: PathBuf,
}

/// A flag that was given: the name of the setting, the flag, its text.
pub(super) type Given = (&'static str, &'static str, String);

impl Layers {
    pub(super) fn read(
        flags: &Flags,
        environment: &Environment,
        file: &Path,
    ) -> Result<Self, SettingsError> {
        flags.refuse_unreadable()?;
        Self::of_given(flags.given(), environment, file)
    }

    /// Reads all layers with these flags.
    pub(super) fn of_given(
        given: Vec<Given>,
        environment: &Environment,
        file: &Path,
    ) -> Result<Self, SettingsError> {
        refuse_lost_limits(environment)?;
        let from_flags: BTreeMap<_, _> = given
            .iter()
            .map(|(name, _, text)| (*name, text.clone()))
            .collect();
        let from_environment: BTreeMap<_, _> = NAMES
            .into_iter()
            .filter_map(|(name, variable)| {
                environment
                    .get(variable)
                    .map(|text| (name, text.to_owned()))
            })
            .collect();
        let from_file = read_file(file)?;
        let environment = Figment::from(Texts {
            layer: ENVIRONMENT_LAYER,
            texts: from_environment,
        });
        let from_flags = Figment::from(Texts {
            layer: FLAG_LAYER,
            texts: from_flags,
        });
        let in_file = Figment::from(Toml::string(&from_file));
        let layers = Self {
            figment: in_file.clone().merge(&environment).merge(&from_flags),
            single: [from_flags, environment, in_file],
            flags: given
                .into_iter()
                .map(|(name, flag, _)| (name, flag))
                .collect(),
            file: file.to_owned(),
        };
        layers.refuse_unknown(&from_file)?;
        Ok(layers)
    }

    /// A setting that always has a value.
    pub(super) fn required<T>(
        &self,
        name: &'static str,
        default: impl FnOnce() -> Result<T, SettingsError>,
        check: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Setting<T>, SettingsError> {
        match self.find(name)? {
            Some((text, origin)) => checked(name, &text, origin, check),
            None => Ok(Setting {
                value: default()?,
                origin: Origin::Default,
            }),
        }
    }

    /// A setting that may be absent.
    pub(super) fn optional<T>(
        &self,
        name: &'static str,
        check: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Setting<Option<T>>, SettingsError> {
        self.required(name, || Ok(None), |text| check(text).map(Some))
    }

    /// All that was set, under the names of the environment.
    pub(super) fn given(&self) -> Result<Vec<(&'static str, String)>, SettingsError> {
        let mut given = Vec::new();
        for (name, variable) in NAMES {
            if let Some((text, _)) = self.find(name)? {
                given.push((variable, text));
            }
        }
        Ok(given)
    }

    /// Variables that are ignored: those that look like settings and are none, since one may be misspelt, and those
    /// that hold the text of a placeholder.
    pub(super) fn advice(&self, environment: &Environment) -> Vec<String> {
        let known = |name: &str| NAMES.iter().any(|known| known.1 == name);
        let ours = environment
            .names()
            .filter(|name| name.starts_with("GLOVEBOX_"));
        ours.filter_map(|name| match known(name) {
            false => Some(format!(
                "{name} is set in the environment but is no setting of glovebox"
            )),
            true if environment.holds_placeholder(name) => Some(format!(
                "{name} holds the text of a placeholder and counts as not set: the program that starts glovebox does \
                 not replace it"
            )),
            true => None,
        })
        .collect()
    }

    fn find(&self, name: &'static str) -> Result<Option<(String, Origin)>, SettingsError> {
        self.find_in(&self.figment, name)
    }

    /// What each layer says about a list, the one that wins first.
    pub(super) fn each_list(
        &self,
        name: &'static str,
    ) -> Result<Vec<(Vec<String>, Origin)>, SettingsError> {
        let mut all = Vec::new();
        for layer in &self.single {
            if let Some((text, origin)) = self.find_in(layer, name)? {
                all.push((words(&text), origin));
            }
        }
        Ok(all)
    }

    fn find_in(
        &self,
        layer: &Figment,
        name: &'static str,
    ) -> Result<Option<(String, Origin)>, SettingsError> {
        let Ok(value) = layer.find_value(name) else {
            return Ok(None);
        };
        let origin = self.origin(layer, name, &value);
        let (text, must) = if LISTS.contains(&name) {
            (list_text(&value), "a list of names")
        } else {
            (text(&value), "a single value, not a table or list")
        };
        match text {
            Some(text) => Ok(Some((text, origin))),
            None => Err(SettingsError(format!(
                "{name} (from {origin}) must be {must}"
            ))),
        }
    }

    fn origin(&self, layer: &Figment, name: &'static str, value: &Value) -> Origin {
        let layer = layer
            .get_metadata(value.tag())
            .map(|metadata| metadata.name.clone());
        match layer.as_deref() {
            Some(FLAG_LAYER) => {
                Origin::Flag(self.flags.get(name).copied().unwrap_or_default().to_owned())
            }
            Some(ENVIRONMENT_LAYER) => {
                let variable = NAMES
                    .iter()
                    .find(|known| known.0 == name)
                    .map(|known| known.1);
                Origin::Environment(variable.unwrap_or_default().to_owned())
            }
            _ => Origin::File(self.file.clone()),
        }
    }

    fn refuse_unknown(&self, from_file: &str) -> Result<(), SettingsError> {
        let keys: toml_edit::DocumentMut =
            from_file.parse().map_err(|error: toml_edit::TomlError| {
                SettingsError(format!(
                    "{} is not valid TOML: {}",
                    self.file.display(),
                    error.message()
                ))
            })?;
        let names = |table: &str, item: &toml_edit::Item| -> Vec<String> {
            match item.as_table_like() {
                Some(within) if table == TABLE => within
                    .iter()
                    .map(|(name, _)| format!("{table}.{name}"))
                    .collect(),
                _ => vec![table.to_owned()],
            }
        };
        for key in keys.iter().flat_map(|(key, item)| names(key, item)) {
            if NAMES.iter().any(|known| known.0 == key) {
                continue;
            }
            if key.contains("key") || key.contains("token") {
                return Err(SettingsError(format!(
                    "{} holds {:?}: keys do not belong there; use BRAVE_ANSWERS_KEY or BRAVE_ANSWERS_KEY_FILE",
                    self.file.display(),
                    secrets::shown(&key)
                )));
            }
            let names: Vec<&str> = NAMES.iter().map(|known| known.0).collect();
            return Err(SettingsError(format!(
                "{} holds {:?}, which is no setting; there are: {}",
                self.file.display(),
                secrets::shown(&key),
                names.join(", ")
            )));
        }
        Ok(())
    }
}

/// The settings that hold back spending or tools. Where one is lost on its way here, that is an error.
const LIMITS: [&str; 5] = [
    "GLOVEBOX_BUDGET_USD_PER_DAY",
    "GLOVEBOX_CONFIRM_OVER_USD",
    "GLOVEBOX_TOOLS",
    "GLOVEBOX_DISABLE_TOOLS",
    "GLOVEBOX_AUDIT",
];

fn refuse_lost_limits(environment: &Environment) -> Result<(), SettingsError> {
    match LIMITS
        .into_iter()
        .find(|name| environment.holds_placeholder(name))
    {
        Some(name) => Err(SettingsError(format!(
            "{name} holds the text of a placeholder, not {}: the program that starts glovebox does not replace \
             it; give {}, or remove the variable",
            if name.ends_with("_USD") || name.contains("_USD_") {
                "an amount"
            } else {
                "a value"
            },
            if name.ends_with("_USD") || name.contains("_USD_") {
                "US dollars as a number such as 2.50"
            } else {
                "a value"
            }
        ))),
        None => Ok(()),
    }
}

fn read_file(file: &Path) -> Result<String, SettingsError> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(SettingsError(format!(
            "cannot read {}: {error}",
            file.display()
        ))),
    }
}

fn text(value: &Value) -> Option<String> {
    if let Some(text) = value.as_str() {
        return Some(text.to_owned());
    }
    if let Some(on) = value.to_bool() {
        return Some(on.to_string());
    }
    if let Some(number) = value.to_i128() {
        return Some(number.to_string());
    }
    value.to_f64().map(|number| number.to_string())
}

/// Returns the text of a list: its words with commas between them.
fn list_text(value: &Value) -> Option<String> {
    match value.as_array() {
        Some(array) => {
            let words: Option<Vec<&str>> = array.iter().map(Value::as_str).collect();
            Some(words?.join(","))
        }
        None => value.as_str().map(str::to_owned),
    }
}

/// Returns the words of a list.
pub(super) fn words(text: &str) -> Vec<String> {
    let words = text.split(',').map(str::trim);
    words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

fn checked<T>(
    name: &str,
    text: &str,
    origin: Origin,
    check: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Setting<T>, SettingsError> {
    let text = text.trim();
    if secrets::holds_key(text) {
        return Err(SettingsError(format!(
            "{name} (from {origin}) holds what looks like a key, so its value is not shown and not used: a key belongs into BRAVE_ANSWERS_KEY, or into a file that BRAVE_ANSWERS_KEY_FILE names"
        )));
    }
    match check(text) {
        Ok(value) => Ok(Setting { value, origin }),
        Err(problem) => Err(SettingsError(format!(
            "{name} = {:?} (from {origin}) {problem}",
            secrets::shown(text)
        ))),
    }
}
