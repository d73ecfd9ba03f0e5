//! The gate decides whether an HTTP request may reach a route.
//!
//! [`decide`] is a pure function of a request's head and of [`Rules`], a snapshot of the settings. It runs before
//! routing, on every request.
//!
//! Local mode trusts every process of this machine and no web page: it checks headers that a page cannot forge.
//! External mode trusts clients with the bearer token.

mod authority;
mod denial;
mod facts;
mod origin;
pub mod proof;

use http::{HeaderValue, Method};

pub use authority::{Authority, AuthorityError, Host};
pub use denial::{Denial, Reason};
pub use facts::Facts;
use proof::{PROOF, ProofAddress, is_proof};

pub use origin::{Origin, OriginError, Scheme};

use super::token::{Digest, Token};
use crate::jobs::clock::Millis;
use crate::policy::Caller;

/// The path of the liveness probe.
pub const HEALTH: &str = "/__mcp/health";
/// The path of the readiness probe.
pub const READY: &str = "/__mcp/ready";
/// The path that stops the server.
pub const SHUTDOWN: &str = "/__mcp/shutdown";

/// Parts of user agents that browsers have, in lower case.
const BROWSERS: [&str; 9] = [
    "mozilla/", "chrome/", "safari/", "webkit/", "gecko/", "firefox/", "edge/", "opera/", "browser",
];
/// What applications built on Electron have in their user agent. A page cannot put it into its own without a preflight.
const ELECTRON: &str = "electron/";

/// Who may reach the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Processes of this machine.
    Local {
        /// Whether they need the token too.
        require_token: bool,
    },
    /// Clients with the token, from any machine.
    External,
}

/// The settings that the gate decides by.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Who may reach the server.
    pub mode: Mode,
    /// How it is reached.
    pub scheme: Scheme,
    /// The port it listens on.
    pub port: u16,
    /// The address that a proof of takeover must be for.
    pub address: ProofAddress,
    /// The time, for such a proof.
    pub now: Millis,
    /// Web origins that may use it, beside its own in local mode.
    pub allowed_origins: Vec<Origin>,
    /// The bearer token. Without one, requests that need it are denied.
    pub token: Option<Token>,
}

/// Who makes a request, as far as sessions are concerned.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Principal {
    /// Some process of this machine.
    Local,
    /// Whoever has the token with this digest.
    Bearer(Digest),
}

impl Principal {
    /// Returns who makes a call over a transport, in a session where there is one.
    #[must_use]
    pub fn caller(&self, transport: &'static str, session: Option<String>) -> Caller {
        Caller {
            transport,
            principal: match self {
                Self::Local => "local".to_owned(),
                Self::Bearer(digest) => format!("bearer:{}", digest.hex()),
            },
            session,
        }
    }
}

/// The gate's decision on a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is allowed. `origin` is the web origin that may read the reply, as it was sent.
    Allow {
        /// Who makes it.
        principal: Principal,
        /// The web origin that may read the reply.
        origin: Option<HeaderValue>,
    },
    /// It is a CORS preflight of this allowed origin, and is answered without reaching a route.
    Preflight(HeaderValue),
    /// It is denied.
    Deny(Denial),
}

/// Decides about a request.
#[must_use]
pub fn decide(facts: &Facts<'_>, rules: &Rules) -> Decision {
    match rules.mode {
        Mode::Local { require_token } => local(facts, rules, require_token),
        Mode::External => external(facts, rules),
    }
    .unwrap_or_else(Decision::Deny)
}

fn local(facts: &Facts<'_>, rules: &Rules, require_token: bool) -> Result<Decision, Denial> {
    let origin = facts.origin()?;
    if let Some((origin, _)) = &origin {
        check_origin(origin, rules)?;
    }
    check_host(facts, rules)?;
    if let Some(preflight) = preflight(facts, origin.as_ref()) {
        return Ok(preflight);
    }
    if origin.is_none() {
        check_no_page(facts)?;
    }
    check_referer(facts, rules)?;
    let principal = if facts.path == SHUTDOWN {
        check_stop(facts, rules)?
    } else if require_token && !is_open(facts) {
        check_token(facts, rules)?
    } else {
        Principal::Local
    };
    check_content_type(facts)?;
    Ok(allowed(principal, origin))
}

fn external(facts: &Facts<'_>, rules: &Rules) -> Result<Decision, Denial> {
    // Any host is allowed, since the token is required, but it must be unambiguous: a proxy could route by another one.
    facts.authority()?;
    if is_open(facts) {
        return Ok(allowed(Principal::Local, None));
    }
    let origin = facts.origin()?;
    if let Some((origin, _)) = &origin
        && !rules.allowed_origins.contains(origin)
    {
        return Err(Denial::of(Reason::Origin));
    }
    if let Some(preflight) = preflight(facts, origin.as_ref()) {
        return Ok(preflight);
    }
    let principal = if facts.path == SHUTDOWN {
        check_stop(facts, rules)?
    } else {
        check_token(facts, rules)?
    };
    check_content_type(facts)?;
    Ok(allowed(principal, origin))
}

fn allowed(principal: Principal, origin: Option<(Origin, HeaderValue)>) -> Decision {
    Decision::Allow {
        principal,
        origin: origin.map(|(_, value)| value),
    }
}

/// Returns whether the path needs no token: probes send none, and clients that look for an OAuth server must learn that
/// there is none.
fn is_open(facts: &Facts<'_>) -> bool {
    matches!(facts.path, HEALTH | READY) || is_oauth_probe(facts.path)
}

/// Returns whether a client that asks for this path looks for an OAuth server.
#[must_use]
pub fn is_oauth_probe(path: &str) -> bool {
    matches!(path, "/register" | "/authorize" | "/token")
        || path.starts_with("/.well-known/")
        || path.starts_with("/mcp/.well-known/")
        || path.starts_with("/sse/.well-known/")
}

fn preflight(facts: &Facts<'_>, origin: Option<&(Origin, HeaderValue)>) -> Option<Decision> {
    let asks = facts.method == Method::OPTIONS
        && facts.headers.contains_key("access-control-request-method");
    let (_, value) = origin?;
    asks.then(|| Decision::Preflight(value.clone()))
}

/// Returns whether the origin is this server's own, under any of its loopback names.
fn is_own(origin: &Origin, rules: &Rules) -> bool {
    origin.scheme == rules.scheme && origin.host.is_loopback() && origin.port == rules.port
}

fn check_origin(origin: &Origin, rules: &Rules) -> Result<(), Denial> {
    if is_own(origin, rules) || rules.allowed_origins.contains(origin) {
        Ok(())
    } else {
        Err(Denial::of(Reason::Origin))
    }
}

fn check_host(facts: &Facts<'_>, rules: &Rules) -> Result<(), Denial> {
    let authority = facts.authority()?;
    if !authority.host.is_loopback() {
        return Err(Denial::of(Reason::Host));
    }
    if authority.port_or(rules.scheme.default_port()) != rules.port {
        return Err(Denial::of(Reason::HostPort));
    }
    Ok(())
}

/// Denies what a web page sends without an `Origin`: navigations, and what it loads in `no-cors` mode.
fn check_no_page(facts: &Facts<'_>) -> Result<(), Denial> {
    let mut sites = facts.headers.get_all("sec-fetch-site").iter();
    if sites.any(|site| site != "none") {
        return Err(Denial::of(Reason::FetchSite));
    }
    let mut agents = facts.headers.get_all("user-agent").iter();
    if agents.any(is_browser) {
        return Err(Denial::of(Reason::Browser));
    }
    Ok(())
}

fn is_browser(agent: &HeaderValue) -> bool {
    let agent = String::from_utf8_lossy(agent.as_bytes()).to_ascii_lowercase();
    BROWSERS.iter().any(|part| agent.contains(part)) && !agent.contains(ELECTRON)
}

fn check_referer(facts: &Facts<'_>, rules: &Rules) -> Result<(), Denial> {
    for referer in facts.headers.get_all("referer") {
        let origin = referer
            .to_str()
            .ok()
            .and_then(|text| Origin::of_url(text).ok());
        match origin {
            Some(origin) if check_origin(&origin, rules).is_ok() => {}
            _ => return Err(Denial::of(Reason::Referer)),
        }
    }
    Ok(())
}

fn check_token(facts: &Facts<'_>, rules: &Rules) -> Result<Principal, Denial> {
    let Some(token) = &rules.token else {
        return Err(Denial::of(Reason::NoToken));
    };
    let given = facts.bearer()?;
    if token.is(given) {
        Ok(Principal::Bearer(token.digest()))
    } else {
        Err(Denial::of(Reason::WrongToken))
    }
}

/// Checks who stops the server: a newer instance with a proof, or whoever has the token.
fn check_stop(facts: &Facts<'_>, rules: &Rules) -> Result<Principal, Denial> {
    let mut proofs = facts.headers.get_all(PROOF).iter();
    let Some(given) = proofs.next() else {
        return check_token(facts, rules);
    };
    let Some(token) = &rules.token else {
        return Err(Denial::of(Reason::NoToken));
    };
    let one = proofs.next().is_none() && !facts.headers.contains_key("authorization");
    if one && is_proof(token, &rules.address, rules.now, given.as_bytes()) {
        Ok(Principal::Bearer(token.digest()))
    } else {
        Err(Denial::of(Reason::WrongProof))
    }
}

/// A page may send a POST of three other types without a preflight, so only this one is taken.
fn check_content_type(facts: &Facts<'_>) -> Result<(), Denial> {
    if facts.method != Method::POST || facts.path == SHUTDOWN || is_open(facts) {
        return Ok(());
    }
    let mut types = facts.headers.get_all("content-type").iter();
    match (types.next(), types.next()) {
        (Some(kind), None) if is_json(kind) => Ok(()),
        _ => Err(Denial::of(Reason::ContentType)),
    }
}

fn is_json(kind: &HeaderValue) -> bool {
    let essence = kind.to_str().ok().and_then(|text| text.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}
