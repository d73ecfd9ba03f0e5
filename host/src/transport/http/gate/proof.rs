//! The proof by which a newer instance asks an older one to stop: it shows that both know the token and holds for one
//! address and for less than 20 seconds. The token itself is not sent.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq as _;

use super::authority::Host;
use crate::jobs::clock::Millis;
use crate::transport::http::token::Token;

/// The header that carries the proof.
pub const PROOF: &str = "x-mcp-takeover-proof";
/// What the proof is about, and its version.
const LABEL: &str = "glovebox/mcp-takeover|v1|";
/// How long a window is, in milliseconds. A proof of the window before is accepted too.
const WINDOW_MS: i64 = 10_000;
/// Stands for every loopback address, so that `localhost` and 127.0.0.1 agree.
const LOOPBACK: &str = "loopback";

/// The address that a proof is for: the one that was to be listened on, as both instances name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProofAddress {
    host: String,
    port: u16,
}

impl ProofAddress {
    /// Returns the address for a host that is listened on, and a port.
    #[must_use]
    pub fn new(host: &Host, port: u16) -> Self {
        let host = if host.is_loopback() {
            LOOPBACK.to_owned()
        } else {
            host.to_string()
        };
        Self { host, port }
    }

    fn message(&self, window: i64) -> String {
        format!("{LABEL}{}:{}|{window}", self.host, self.port)
    }
}

/// Returns the proof for a moment.
#[must_use]
pub fn proof(token: &Token, address: &ProofAddress, now: Millis) -> String {
    let window = now.0.div_euclid(WINDOW_MS);
    BASE64_URL_SAFE_NO_PAD.encode(token.sign(&address.message(window)))
}

/// Returns whether a proof is one of this window or of the one before. Its time tells nothing about the right one.
#[must_use]
pub fn is_proof(token: &Token, address: &ProofAddress, now: Millis, given: &[u8]) -> bool {
    let matches = |at| proof(token, address, at).as_bytes().ct_eq(given);
    bool::from(matches(now) | matches(now.plus(-WINDOW_MS)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn address(host: &str, port: u16) -> ProofAddress {
        ProofAddress::new(&Host::parse(host).unwrap(), port)
    }

    #[test]
    fn a_proof_is_the_mac_of_the_address_and_the_window() {
        // Computed with another implementation (Python's hmac).
        let token = Token::parse("test-token").unwrap();
        let at = Millis(1_700_000_000_000);
        for (host, expected) in [
            ("127.0.0.1", "x3135-W7R6Exn6raeC8HBNOLCSawS39PtzYqmrGL7-A"),
            ("0.0.0.0", "fWHM_7RoeUBlXTDLQiNYMo1cpOO_Sln0unE_NvNXEa0"),
            ("Box.Example", "Hany0ez0XCL6kP4ncGLl3Qj36BiepIn9vBLNVYflavY"),
            (
                "[2001:db8::1]",
                "GNpEhtdLIbenwcwfdvX78GomQ_t19QFNN_Quzdcyd_E",
            ),
        ] {
            assert_eq!(proof(&token, &address(host, 9876), at), expected, "{host}");
        }
    }

    #[test]
    fn a_proof_holds_for_its_window_and_the_next_one() {
        let token = Token::parse("test-token").unwrap();
        let here = address("localhost", 9876);
        let made = proof(&token, &here, Millis(20_000));
        for (at, expected) in [
            (10_000, false),
            (19_999, false),
            (20_000, true),
            (29_999, true),
            (39_999, true),
            (40_000, false),
        ] {
            let holds = is_proof(&token, &here, Millis(at), made.as_bytes());
            assert_eq!(holds, expected, "{at}");
        }
    }

    #[test]
    fn a_proof_is_for_one_address_and_one_token() {
        let token = Token::parse("test-token").unwrap();
        let now = Millis(20_000);
        let made = proof(&token, &address("localhost", 9876), now);
        let holds = |token: &str, host: &str, port| {
            let token = Token::parse(token).unwrap();
            is_proof(&token, &address(host, port), now, made.as_bytes())
        };
        assert!(holds("test-token", "::1", 9876));
        assert!(!holds("test-token", "localhost", 9877));
        assert!(!holds("test-token", "0.0.0.0", 9876));
        assert!(!holds("test-tokem", "localhost", 9876));
        let here = address("localhost", 9876);
        for given in ["", "x", &made[1..], &format!("{made}=")] {
            assert!(!is_proof(&token, &here, now, given.as_bytes()), "{given}");
        }
    }
}
