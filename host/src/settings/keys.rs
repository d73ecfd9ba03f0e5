//! Where the key is looked for.

use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use secrecy::{ExposeSecret, SecretString};

use super::layers::Environment;
use crate::secrets;
use crate::upstream::{ApiKey, KeyError};

/// The variables, in the order in which they count: each pair a key and a file that holds one.
const VARIABLES: [(&str, Option<&str>); 3] = [
    ("BRAVE_ANSWERS_KEY", Some("BRAVE_ANSWERS_KEY_FILE")),
    ("BRAVE_API_KEY", Some("BRAVE_API_KEY_FILE")),
    // What Brave's own tools for the Search API read: its plan may not include answers.
    ("BRAVE_SEARCH_API_KEY", None),
];
/// A key is some tens of bytes; a file beyond this is another file.
const KEY_FILE_BYTES: u64 = 4096;

/// What the environment says about the key. Files are read when the key is needed.
#[derive(Clone, Debug, Default)]
pub struct KeySources {
    found: Vec<Source>,
    /// The variables that hold the text of a placeholder.
    placeholders: Vec<&'static str>,
}

#[derive(Clone, Debug)]
enum Source {
    Value(&'static str, SecretString),
    File(&'static str, KeyFile),
}

/// A file that holds a key.
#[derive(Clone, Debug)]
struct KeyFile {
    path: String,
    /// What a pipe gave: it gives it only once.
    piped: Arc<OnceLock<Result<SecretString, String>>>,
}

impl KeyFile {
    fn is_pipe(&self) -> bool {
        self.piped.get().is_some()
            || std::fs::metadata(&self.path)
                .is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
    }

    fn text(&self) -> Result<SecretString, String> {
        if self.is_pipe() {
            self.piped.get_or_init(|| read_text(&self.path)).clone()
        } else {
            read_text(&self.path)
        }
    }
}

/// The key, where it came from, and what is odd about that.
#[derive(Clone, Debug)]
pub struct KeyReport {
    /// The key, or why there is none.
    pub key: Result<ApiKey, KeyError>,
    /// The variable that it came from.
    pub origin: Option<&'static str>,
    /// What is odd and does no harm yet.
    pub warning: Option<String>,
}

impl KeySources {
    pub(super) fn of(environment: &Environment) -> Self {
        let mut found = Vec::new();
        for (value, file) in VARIABLES {
            if let Some(text) = environment.get(value) {
                found.push(Source::Value(value, SecretString::from(text)));
            }
            if let Some((file, path)) = file.and_then(|file| Some((file, environment.get(file)?))) {
                let file_of_key = KeyFile {
                    path: path.to_owned(),
                    piped: Arc::default(),
                };
                found.push(Source::File(file, file_of_key));
            }
        }
        let names = VARIABLES
            .into_iter()
            .flat_map(|(value, file)| [Some(value), file])
            .flatten();
        let placeholders = names
            .filter(|name| environment.holds_placeholder(name))
            .collect();
        Self {
            found,
            placeholders,
        }
    }

    /// The first source decides, also where it is bad: another key than the one meant must not be used.
    pub(super) fn read(&self) -> KeyReport {
        let mut report = self.first();
        let ignored = self.placeholders.iter().map(|name| {
            format!(
                "{name} holds the text of a placeholder and counts as not set: the program that starts glovebox does \
                 not replace it"
            )
        });
        let warnings: Vec<String> = ignored.chain(report.warning.take()).collect();
        // Without a key the error says it.
        if report.origin.is_some() && !warnings.is_empty() {
            report.warning = Some(warnings.join("; "));
        }
        report
    }

    fn first(&self) -> KeyReport {
        match self.found.first() {
            None => KeyReport {
                key: Err(match self.placeholders.first() {
                    Some(name) => KeyError::Placeholder {
                        source_name: (*name).to_owned(),
                    },
                    None => KeyError::Missing,
                }),
                origin: None,
                warning: None,
            },
            Some(Source::Value(name, text)) => KeyReport {
                key: ApiKey::parse(text.expose_secret(), name),
                origin: Some(name),
                warning: None,
            },
            Some(Source::File(name, file)) => read_file(name, file),
        }
    }

    /// The key that a pipe gave, and the variable that is looked at first.
    pub(super) fn piped(&self) -> Option<(&'static str, SecretString)> {
        match self.found.first() {
            Some(Source::File(_, file)) if file.is_pipe() => {
                let (first, _) = VARIABLES.first()?;
                file.text().ok().map(|key| (*first, key))
            }
            _ => None,
        }
    }
}

fn read_file(variable: &'static str, file: &KeyFile) -> KeyReport {
    let path = &file.path;
    if may_be_the_key(path) {
        return KeyReport {
            key: Err(KeyError::NoFileName {
                variable: variable.to_owned(),
            }),
            origin: Some(variable),
            warning: None,
        };
    }
    // Some other part of the path may still look like one.
    let shown = secrets::masked(path).into_owned();
    let mode = others_may(Path::new(path));
    let key = match mode {
        Others::Write => Err(KeyError::Writable {
            variable: variable.to_owned(),
            path: shown.clone(),
        }),
        Others::Read | Others::Nothing => file
            .text()
            .map_err(|reason| KeyError::Unreadable {
                variable: variable.to_owned(),
                path: shown.clone(),
                reason,
            })
            .and_then(|text| {
                ApiKey::parse(
                    text.expose_secret(),
                    &format!("the file {shown} (named by {variable})"),
                )
            }),
    };
    let warning = matches!(mode, Others::Read)
        .then(|| format!("the key file {shown} can be read by other users: run chmod 600 {shown}"));
    KeyReport {
        key,
        origin: Some(variable),
        warning,
    }
}

/// Whether the name of a file may be the key itself: there is no such file, and it looks like a key or is one word.
fn may_be_the_key(path: &str) -> bool {
    let one_word = !path.contains(['/', '\\', '.']);
    (one_word || secrets::looks_like_key(path)) && !Path::new(path).exists()
}

fn read_text(path: &str) -> Result<SecretString, String> {
    let metadata = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if metadata.is_dir() {
        return Err("it is a folder".to_owned());
    }
    if metadata.len() > KEY_FILE_BYTES {
        return Err(format!(
            "it is larger than {KEY_FILE_BYTES} bytes, so it is no key file"
        ));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(KEY_FILE_BYTES).read_to_end(&mut bytes))
        .map_err(|error| error.to_string())?;
    String::from_utf8(bytes)
        .map(SecretString::from)
        .map_err(|_| "it is not text".to_owned())
}

#[derive(Clone, Copy)]
enum Others {
    Nothing,
    Read,
    Write,
}

#[cfg(unix)]
fn others_may(path: &Path) -> Others {
    use std::os::unix::fs::PermissionsExt;
    // Advice on the mode of a folder, a device or a pipe could do harm; reading says what is wrong with it.
    let mode = match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => metadata.permissions().mode(),
        _ => 0,
    };
    if mode & 0o022 != 0 {
        Others::Write
    } else if mode & 0o044 != 0 {
        Others::Read
    } else {
        Others::Nothing
    }
}

#[cfg(not(unix))]
fn others_may(_path: &Path) -> Others {
    Others::Nothing
}
