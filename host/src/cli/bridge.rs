//! `glovebox bridge`: a stdio server in front of a remote MCP server.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::{Args, ValueEnum};

use super::{output, signals};
use crate::exit::Exit;
use crate::secrets;
use crate::transport::bridge::{
    Bearer, Bridge, Config, Credentials, End, Extra, Mode, SILENCE, Secret, Trust, names_secret,
    parse_url,
};
use crate::upstream::{EXEMPT_VARIABLES, PLAIN_PROXY_VARIABLES, PROXY_VARIABLES, Proxy};

/// The longest time that `--timeout` takes, in seconds: a day.
const LONGEST_TIMEOUT: u64 = 24 * 60 * 60;

/// Serve MCP over standard input and output in front of a remote MCP server
///
/// All messages are passed both ways as they come. A token or a secret header comes from the environment or a file.
///
/// Examples:
///   glovebox bridge http://127.0.0.1:9876/mcp
///   glovebox bridge https://mcp.example.com/mcp --bearer-env EXAMPLE_TOKEN
#[derive(Args, Clone, Debug)]
#[command(verbatim_doc_comment)]
pub struct BridgeCommand {
    /// The server's address, such as http://127.0.0.1:9876/mcp
    #[arg(value_name = "URL")]
    url: String,
    /// Take the bearer token from this environment variable
    #[arg(long, value_name = "VARIABLE", conflicts_with = "bearer_file")]
    bearer_env: Option<String>,
    /// Take the bearer token from this file, which is read again when it changes
    #[arg(long, value_name = "FILE")]
    bearer_file: Option<PathBuf>,
    /// Send this header with every request; for a secret use --header-env
    #[arg(long, value_name = "NAME=VALUE")]
    header: Vec<String>,
    /// Send a header with the value of an environment variable
    #[arg(long, value_name = "NAME=VARIABLE")]
    header_env: Vec<String>,
    /// Accept certificates of the authorities in this file too
    #[arg(long, value_name = "FILE", conflicts_with = "ca_only")]
    ca: Option<PathBuf>,
    /// Accept certificates of the authorities in this file alone
    #[arg(long, value_name = "FILE")]
    ca_only: Option<PathBuf>,
    /// The server's transport
    #[arg(long, value_enum, default_value_t = Transport::Auto)]
    transport: Transport,
    /// How many seconds the server may be silent
    #[arg(long, value_name = "SECONDS", default_value_t = SILENCE.as_secs(), value_parser = clap::value_parser!(u64).range(1..=LONGEST_TIMEOUT))]
    timeout: u64,
    /// Report errors alone on standard error
    #[arg(long)]
    quiet: bool,
}

/// The server's transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Transport {
    /// Find out: streamable HTTP first, then HTTP with SSE
    Auto,
    /// Streamable HTTP
    Http,
    /// HTTP with SSE, the transport of 2024-11-05
    Sse,
}

impl BridgeCommand {
    /// Runs the command, until the client closes its end or a signal comes.
    ///
    /// # Errors
    /// What cannot be written to standard error as a sentence of its own.
    pub async fn run(self) -> anyhow::Result<Exit> {
        let bridge = match self
            .config()
            .and_then(|config| Bridge::on_stdio(config).map_err(anyhow::Error::from))
        {
            Ok(bridge) => bridge,
            Err(error) => {
                output::message(&format_args!("glovebox bridge: {error:#}"));
                return Ok(Exit::Usage);
            }
        };
        Ok(match bridge.run(signals::terminated()).await {
            End::Client => Exit::Done,
            End::Told => Exit::Interrupted,
        })
    }

    fn config(&self) -> anyhow::Result<Config> {
        let url = parse_url(&self.url)?;
        if url
            .query_pairs()
            .any(|(name, value)| names_secret(&name) || secrets::looks_like_key(&value))
        {
            warn(
                "the address seems to hold a secret, which every process of this machine can see; use --bearer-env or --header-env if the server takes it in a header",
            );
        }
        let quiet = self.quiet;
        Ok(Config {
            mode: match self.transport {
                Transport::Auto => Mode::Probe,
                Transport::Http => Mode::Streamable,
                Transport::Sse => Mode::Older,
            },
            credentials: Credentials::new(self.bearer()?, self.headers()?),
            trust: self.trust()?,
            proxy: proxy(url.scheme() == "https")?,
            silence: Duration::from_secs(self.timeout),
            report: Arc::new(move |text| {
                if !quiet {
                    output::message(&format_args!("glovebox bridge: {text}"));
                }
            }),
            url,
        })
    }

    fn bearer(&self) -> anyhow::Result<Bearer> {
        if let Some(name) = &self.bearer_env {
            return Ok(Bearer::Fixed(from_variable(name)?));
        }
        Ok(match &self.bearer_file {
            Some(path) => Bearer::File(path.clone()),
            None => Bearer::None,
        })
    }

    fn headers(&self) -> anyhow::Result<Vec<Extra>> {
        let mut headers = Vec::new();
        for given in &self.header {
            let (name, value) = split(given, "--header NAME=VALUE")?;
            if names_secret(name) || secrets::looks_like_key(value) {
                warn(&format!(
                    "--header {name}=… seems to hold a secret, which every process of this machine can see; use --header-env {name}=VARIABLE"
                ));
            }
            let value = Secret::parse(value, &format!("--header {name}"))?;
            headers.push(Extra::new(name, value, false)?);
        }
        for given in &self.header_env {
            let (name, variable) = split(given, "--header-env NAME=VARIABLE")?;
            headers.push(Extra::new(name, from_variable(variable)?, true)?);
        }
        let twice = headers
            .iter()
            .any(|header| header.name() == "authorization");
        if twice && (self.bearer_env.is_some() || self.bearer_file.is_some()) {
            return Err(anyhow!(
                "a header Authorization and a bearer token cannot both be sent; give one of them"
            ));
        }
        Ok(headers)
    }

    fn trust(&self) -> anyhow::Result<Trust> {
        let Some(path) = self.ca.as_ref().or(self.ca_only.as_ref()) else {
            return Ok(Trust::default());
        };
        Ok(Trust {
            authorities: certificates(path)?,
            only: self.ca_only.is_some(),
        })
    }
}

fn warn(text: &str) {
    output::message(&format_args!("glovebox bridge: warning: {text}"));
}

fn split<'a>(given: &'a str, form: &str) -> anyhow::Result<(&'a str, &'a str)> {
    let parts = given.split_once('=');
    parts.ok_or_else(|| anyhow!("a header must have the form {form}"))
}

fn from_variable(name: &str) -> anyhow::Result<Secret> {
    // A name that is no name may be the secret itself.
    let shown = secrets::shown(name);
    let shown = format!("the variable {shown}");
    let value = match variable(name) {
        Ok(value) => value.unwrap_or_default(),
        Err(error) => return Err(error),
    };
    Ok(Secret::parse(&value, &shown)?)
}

/// Returns a variable of the environment; `None` where it is not set.
fn variable(name: &str) -> anyhow::Result<Option<String>> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(anyhow!(
            "`{}` is no name of a variable",
            secrets::shown(name)
        ));
    }
    match env::var(name) {
        Ok(value) => Ok(Some(value)),
        Err(env::VarError::NotPresent) => Ok(None),
        Err(env::VarError::NotUnicode(_)) => Err(anyhow!(
            "{name} (from the environment) is not UTF-8 text; set it anew, or unset it"
        )),
    }
}

fn certificates(path: &Path) -> anyhow::Result<Vec<reqwest::Certificate>> {
    let shown = path.display();
    let pem = std::fs::read(path).with_context(|| format!("the file {shown} cannot be read"))?;
    let read = reqwest::Certificate::from_pem_bundle(&pem);
    let read = read.map_err(|_| anyhow!("the file {shown} holds no certificates as PEM"))?;
    if read.is_empty() {
        return Err(anyhow!("the file {shown} holds no certificates as PEM"));
    }
    Ok(read)
}

fn proxy(tls: bool) -> anyhow::Result<Option<Proxy>> {
    let names = if tls {
        PROXY_VARIABLES
    } else {
        PLAIN_PROXY_VARIABLES
    };
    let mut values = Vec::new();
    for name in names.into_iter().chain(EXEMPT_VARIABLES) {
        values.push((name, variable(name)?.unwrap_or_default()));
    }
    let get = |name: &str| {
        let found = values.iter().find(|(other, _)| *other == name);
        found
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    };
    Ok(Proxy::read_from(&names, get)?)
}
