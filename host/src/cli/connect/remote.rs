//! The configuration of a client for a running `glovebox serve`, instead of for a server that the client starts.

use std::path::PathBuf;

use serde_json::{Value, json};
use url::Url;

use super::clients::{Client, Entry};

/// The server's address where none is given.
pub const DEFAULT_URL: &str = "http://127.0.0.1:9876/mcp";
/// The variable with the bearer token where none is named.
pub const TOKEN: &str = "GLOVEBOX_TOKEN";

/// The server that clients reach over HTTP.
#[derive(Debug)]
pub struct Remote {
    /// Its address.
    pub url: Url,
    /// The variable in the client's environment that holds the bearer token; `None` where none is needed.
    pub bearer_env: Option<String>,
    /// The certificate authority that clients must trust beside the system's, where it is known.
    pub ca: Option<PathBuf>,
    /// This program, for clients that only start servers.
    pub program: String,
}

/// Reads the address of a server.
///
/// # Errors
/// What is wrong with it.
pub fn url(text: &str) -> Result<Url, String> {
    let url: Url = text.parse().map_err(|error| format!("{error}"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err("it must begin with http:// or https:// and name a host".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it must hold no user name or password".to_owned());
    }
    if url.scheme() == "http" && !is_loopback(&url) {
        return Err("other machines are reached over https:// only".to_owned());
    }
    Ok(url)
}

pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

impl Remote {
    /// Returns what a client's file is to hold.
    pub fn entry(&self, client: Client) -> Entry {
        let mut entry = client.empty_entry();
        entry.members = self.members(client);
        entry.replaces = true;
        if entry.members.iter().any(|(name, _)| *name == "command") {
            entry.notes.push(
                "This client starts its servers itself, so glovebox bridge connects it to the running one."
                    .to_owned(),
            );
        } else if let Some(ca) = &self.ca {
            entry.notes.push(format!(
                "The client must trust {}: Node clients are started with NODE_EXTRA_CA_CERTS={0}, others take it from the system's certificates.",
                ca.display()
            ));
        }
        if let Some(variable) = &self.bearer_env {
            entry.notes.push(format!(
                "The token comes from {variable} in the environment of the client; glovebox token show prints it. It is not in the file."
            ));
        }
        entry
    }

    fn members(&self, client: Client) -> Vec<(&'static str, Value)> {
        let url = json!(self.url.as_str());
        let variable = self.bearer_env.as_deref();
        let header = |reference: &str| {
            variable.map(|name| {
                let value = format!("Bearer {}", reference.replace("NAME", name));
                ("headers", json!({ "Authorization": value }))
            })
        };
        let (mut members, headers) = match client {
            Client::Opencode => (
                // Without `oauth` it would look for an OAuth server first.
                vec![
                    ("type", json!("remote")),
                    ("url", url),
                    ("enabled", json!(true)),
                    ("oauth", json!(false)),
                ],
                header("{env:NAME}"),
            ),
            Client::ClaudeCode => (
                vec![("type", json!("http")), ("url", url)],
                header("${NAME}"),
            ),
            Client::Copilot => (
                vec![
                    ("type", json!("http")),
                    ("url", url),
                    ("tools", json!(["*"])),
                ],
                header("${NAME}"),
            ),
            Client::Cursor => (vec![("url", url)], header("${env:NAME}")),
            Client::Vscode => (
                vec![("type", json!("http")), ("url", url)],
                header("${env:NAME}"),
            ),
            Client::Gemini | Client::Qwen => (vec![("httpUrl", url)], header("${NAME}")),
            Client::Codex => (
                vec![("url", url)],
                variable.map(|name| ("bearer_token_env_var", json!(name))),
            ),
            // It cannot refer to a variable in a header.
            Client::Zed if variable.is_none() && self.ca.is_none() => (vec![("url", url)], None),
            Client::Zed => (
                vec![
                    ("source", json!("custom")),
                    ("command", json!(self.program)),
                    ("args", self.bridge()),
                ],
                None,
            ),
            Client::Cline => (
                vec![
                    ("type", json!("stdio")),
                    ("command", json!(self.program)),
                    ("args", self.bridge()),
                ],
                None,
            ),
            Client::ClaudeDesktop => (
                vec![("command", json!(self.program)), ("args", self.bridge())],
                None,
            ),
        };
        members.extend(headers);
        members.extend(client.limits());
        members
    }

    /// Returns the arguments of the bridge.
    fn bridge(&self) -> Value {
        let mut args = vec!["bridge".to_owned(), self.url.to_string()];
        if let Some(variable) = &self.bearer_env {
            args.extend(["--bearer-env".to_owned(), variable.clone()]);
        }
        if let Some(ca) = &self.ca {
            args.extend(["--ca".to_owned(), ca.display().to_string()]);
        }
        json!(args)
    }
}
