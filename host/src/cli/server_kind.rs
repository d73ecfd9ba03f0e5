//! What tells a server over stdio from one over HTTP.

use crate::mcp::Runs;
use crate::policy::Reach;
use crate::transport::http::token::TokenFile;

/// What tells one kind of server from another.
#[derive(Debug)]
pub struct ServerKind {
    /// Where researches run.
    pub runs: Runs,
    /// How clients reach the server, in words.
    pub address: String,
    /// How many foreground calls run at once where nothing else is set.
    pub places: usize,
    /// Whether there is an audit log where nothing else is set.
    pub is_audited: bool,
    /// Who can reach the server.
    pub reach: Reach,
    /// The file of the bearer token, where the server has one.
    pub token: Option<TokenFile>,
}
