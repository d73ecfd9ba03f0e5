//! `glovebox web`: the page that shows how an answer was made, served from the binary.

mod files;
mod server;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use clap::Args;
use tokio::net::TcpListener;

use self::server::{Page, Reply};
use super::exit_status::ExitStatus as _;
use super::{jobs_setup, output};
use crate::exit::Exit;
use crate::jobs::JobsError;
use crate::settings::Settings;

/// Serve the page that shows how an answer was made: text, sources, searches, cost
///
/// The first line on standard output is the page's URL. The page works without a network: what is put into it is read in
/// the browser and sent nowhere.
///
/// Examples:
///   glovebox web --open
///   glovebox web latest --open
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub struct Web {
    /// Show the captured stream of this job: an id, a unique beginning of it, or `latest`
    #[arg(value_name = "JOB")]
    job: Option<String>,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
    /// The port to listen on, on 127.0.0.1; 0 takes a free one
    #[arg(long, value_name = "PORT", conflicts_with = "listen")]
    port: Option<u16>,
    /// The loopback address to listen on; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS")]
    listen: SocketAddr,
}

impl Web {
    /// Runs the command.
    ///
    /// # Errors
    /// When standard output or the server fails.
    pub async fn run(self, settings: &Settings) -> anyhow::Result<Exit> {
        let address = match self.port {
            Some(port) => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port),
            None => self.listen,
        };
        if !address.ip().is_loopback() {
            output::message(&format_args!(
                "glovebox: --listen {address} can be reached from other machines; give a loopback address such as 127.0.0.1:8080"
            ));
            return Ok(Exit::Usage);
        }
        let reply = match &self.job {
            None => None,
            Some(id) => match captured(settings, id).await {
                Ok(Some(reply)) => Some(reply),
                Ok(None) => {
                    output::message(&format_args!(
                        "glovebox: the job {id} has no captured stream: no reply had begun, or it was run with --no-capture"
                    ));
                    return Ok(Exit::Failed);
                }
                Err(error) => {
                    output::message(&format_args!("glovebox: {error}"));
                    return Ok(error.exit());
                }
            },
        };
        let listener = match TcpListener::bind(address).await {
            Ok(listener) => listener,
            Err(error) => {
                output::message(&format_args!(
                    "glovebox: cannot listen on {address}: {error}; --port 0 takes a free port"
                ));
                return Ok(Exit::Failed);
            }
        };
        let page = Page::new(listener.local_addr()?, reply);
        let url = page.url();
        output::line(&url)?;
        output::message(&"glovebox: serving the page; press Ctrl-C to stop");
        if self.open
            && let Err(error) = open::that_detached(&url)
        {
            output::message(&format_args!(
                "glovebox: no browser could be started ({error}); open {url} yourself"
            ));
        }
        tokio::select! {
            served = page.serve(listener) => served?,
            interrupted = tokio::signal::ctrl_c() => interrupted?,
        }
        Ok(Exit::Done)
    }
}

/// Returns the captured reply of a job, as far as it has come.
async fn captured(settings: &Settings, id: &str) -> Result<Option<Reply>, JobsError> {
    let jobs = jobs_setup::stored(settings);
    let id = jobs.find(id).await?;
    let Some(body) = jobs.stream_capture(&id).await? else {
        return Ok(None);
    };
    let headers = jobs.reply_headers(&id).await?;
    let headers = headers
        .iter()
        .map(|header| format!("{}: {}\n", header.name, header.value));
    Ok(Some(Reply {
        name: format!("{id}.sse"),
        headers: headers.collect(),
        body: body.into(),
    }))
}
