//! The reasons for a denial, and the reply for each.

use http::{HeaderValue, Response, StatusCode, header};
use serde_json::json;

use super::super::reply::{Body, full};

/// Why a request was denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// Its web origin is not allowed.
    Origin,
    /// A browser sent it for a page, without naming the page's origin.
    FetchSite,
    /// A browser sent it, without an origin.
    Browser,
    /// It names no host.
    NoHost,
    /// It names two hosts.
    HostTwice,
    /// The host it names is malformed.
    HostMalformed,
    /// The host it names is not this machine's loopback.
    Host,
    /// The port it names is not this server's.
    HostPort,
    /// The page it was sent from is not of an allowed origin.
    Referer,
    /// Its content is not JSON.
    ContentType,
    /// It needs the token and there is none.
    NoToken,
    /// It has no token.
    TokenMissing,
    /// It has another token.
    WrongToken,
    /// Its proof of takeover is not one for this server and this time.
    WrongProof,
}

impl Reason {
    /// Returns the reason's name, for logs, metrics and programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Origin => "origin_not_allowed",
            Self::FetchSite => "cross_site_without_origin",
            Self::Browser => "browser_without_origin",
            Self::NoHost => "host_missing",
            Self::HostTwice => "host_ambiguous",
            Self::HostMalformed => "host_malformed",
            Self::Host => "host_not_loopback",
            Self::HostPort => "host_port_mismatch",
            Self::Referer => "referer_not_allowed",
            Self::ContentType => "content_type",
            Self::NoToken => "blank_token",
            Self::TokenMissing => "unauthorized",
            Self::WrongToken => "invalid_token",
            Self::WrongProof => "invalid_proof",
        }
    }

    /// Returns a sentence that says what is wrong and how to correct it.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Origin => {
                "this web origin may not use the server; --allowed-origin ORIGIN allows one"
            }
            Self::FetchSite => {
                "a web page sent this without its origin; --allowed-origin ORIGIN allows pages of an origin that send one"
            }
            Self::Browser => {
                "browsers may only send requests with an allowed Origin; --allowed-origin ORIGIN allows one"
            }
            Self::NoHost => "the request names no host; send a Host header",
            Self::HostTwice => "the request names two hosts; send one Host header",
            Self::HostMalformed => "the Host header is malformed; send host:port",
            Self::Host => {
                "in local mode the server answers to localhost, 127.0.0.1 and [::1] only; --external serves other names"
            }
            Self::HostPort => {
                "the Host header names another port than the one the server listens on; --listen sets it"
            }
            Self::Referer => {
                "a page of another origin sent this; --allowed-origin ORIGIN allows one"
            }
            Self::ContentType => "a POST needs the header Content-Type: application/json",
            Self::NoToken => {
                "the server has no token, so that nothing that needs one is allowed; glovebox token new makes one, --token-file names its file"
            }
            Self::TokenMissing => {
                "set the header Authorization: Bearer TOKEN; glovebox token show prints the token"
            }
            Self::WrongToken => {
                "the bearer token is not the server's; glovebox token show prints the right one"
            }
            Self::WrongProof => {
                "the proof is not one of this server's token, address and time; to stop the server by hand, set the header Authorization: Bearer TOKEN"
            }
        }
    }

    const fn status(self) -> StatusCode {
        match self {
            Self::NoToken | Self::TokenMissing | Self::WrongToken | Self::WrongProof => {
                StatusCode::UNAUTHORIZED
            }
            Self::ContentType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            _ => StatusCode::FORBIDDEN,
        }
    }
}

/// A denial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The status of the reply.
    pub status: StatusCode,
    /// Why.
    pub reason: Reason,
}

impl Denial {
    /// Returns the denial for a reason.
    #[must_use]
    pub const fn of(reason: Reason) -> Self {
        Self {
            status: reason.status(),
            reason,
        }
    }

    /// Returns the reply: the status and one line of JSON.
    #[must_use]
    pub fn response(self) -> Response<Body> {
        let text = json!({
            "error": self.error(),
            "reason": self.reason.name(),
            "error_description": self.reason.text(),
        });
        let mut response = full(self.status, "application/json", format!("{text}\n"));
        if self.status == StatusCode::UNAUTHORIZED {
            let challenge = if self.reason == Reason::WrongToken {
                r#"Bearer realm="glovebox", error="invalid_token""#
            } else {
                r#"Bearer realm="glovebox""#
            };
            response.headers_mut().insert(
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static(challenge),
            );
        }
        response
    }

    const fn error(self) -> &'static str {
        match self.reason {
            Reason::WrongToken => "invalid_token",
            Reason::NoToken | Reason::TokenMissing | Reason::WrongProof => "unauthorized",
            Reason::ContentType => "unsupported_media_type",
            _ => "forbidden",
        }
    }
}
