//! Approvals of costly calls that travel through the client.
//!
//! In 2026-07-28 the server cannot wait for an answer: it hands the client a sealed state, and the client sends it back
//! with the person's answer and the same call. The seal binds the state to who makes the call, the tool, the arguments,
//! the cost and a time. That it is used once is the job store's work: it is consumed when the cost is reserved.

use std::fmt;
use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;
use thiserror::Error;

use super::caller::{Caller, Client};
use crate::jobs::SingleUse;
use crate::jobs::clock::Millis;
use crate::money::Micros;

/// How long an approval can be used. A person has to read a question and answer it.
pub const LIFETIME: Duration = Duration::from_secs(120);

/// The version of the sealed text. It is part of what is sealed.
const VERSION: &str = "a1";
/// Bytes of the random id of an approval.
const ID_BYTES: usize = 16;

/// What an approval is bound to.
#[derive(Clone, Copy, Debug)]
pub struct Binding<'a> {
    /// Who makes the call.
    pub caller: &'a Caller,
    /// The client's own words about itself.
    pub client: &'a Client,
    /// The name of the tool.
    pub tool: &'a str,
    /// The arguments, in one form for all that mean the same.
    pub arguments: &'a str,
    /// The most that the call may cost.
    pub worst_cost: Micros,
}

/// Why an approval cannot be used.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum InvalidApproval {
    /// The text is none that this server made, or it was made for another call or another client.
    #[error("it was not given for this call by this client")]
    Mismatch,
    /// It is too old.
    #[error("it is older than 2 minutes")]
    Expired,
}

impl InvalidApproval {
    /// Returns the reason as a text.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Mismatch => "it was not given for this call by this client",
            Self::Expired => "it is older than 2 minutes",
        }
    }
}

/// Seals and opens approvals.
#[derive(Clone)]
pub struct Approvals {
    key: Hmac<Sha256>,
}

impl fmt::Debug for Approvals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Approvals(…)")
    }
}

impl Approvals {
    /// Makes the approvals of a secret, which all processes of a store share. `None` where the secret cannot be a key.
    #[must_use]
    pub fn new(secret: &[u8]) -> Option<Self> {
        let mut key = Hmac::<Sha256>::new_from_slice(secret).ok()?;
        key.update(b"glovebox approval key");
        let key = key.finalize().into_bytes();
        let key = Hmac::new_from_slice(&key).ok()?;
        Some(Self { key })
    }

    /// Returns a sealed state for a call that a person is asked about now. `None` where the system gives no random bytes.
    #[must_use]
    pub fn seal(&self, binding: &Binding<'_>, now: Millis) -> Option<String> {
        let mut id = [0; ID_BYTES];
        getrandom::fill(&mut id).ok()?;
        let id = super::audit::hex(&id);
        let expires = now.plus(i64::try_from(LIFETIME.as_millis()).unwrap_or(i64::MAX));
        let seal = self.mac(&id, expires, binding);
        Some(format!("{VERSION}.{id}.{}.{seal}", expires.0))
    }

    /// Opens a state that a client sent back.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn open(
        &self,
        state: &str,
        binding: &Binding<'_>,
        now: Millis,
    ) -> Result<SingleUse, InvalidApproval> {
        let mut parts = state.split('.');
        let (Some(VERSION), Some(id), Some(expires), Some(seal), None) = (
            parts.next(),
            parts.next(),
            parts.next(),
            parts.next(),
            parts.next(),
        ) else {
            return Err(InvalidApproval::Mismatch);
        };
        let expires = Millis(expires.parse().map_err(|_| InvalidApproval::Mismatch)?);
        let expected = self.mac(id, expires, binding);
        if !bool::from(expected.as_bytes().ct_eq(seal.as_bytes())) {
            return Err(InvalidApproval::Mismatch);
        }
        if expires < now {
            return Err(InvalidApproval::Expired);
        }
        Ok(SingleUse {
            id: id.to_owned(),
            expires,
        })
    }

    /// Each part is preceded by its length, so that no two bindings have the same bytes.
    fn mac(&self, id: &str, expires: Millis, binding: &Binding<'_>) -> String {
        let mut mac = self.key.clone();
        let (expires, cost) = (expires.0.to_string(), binding.worst_cost.0.to_string());
        let caller = binding.caller;
        for part in [
            VERSION,
            id,
            &expires,
            caller.transport,
            &caller.principal,
            caller.session.as_deref().unwrap_or_default(),
            &binding.client.name,
            &binding.client.version,
            binding.tool,
            binding.arguments,
            &cost,
        ] {
            mac.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            mac.update(part.as_bytes());
        }
        super::audit::hex(&mac.finalize().into_bytes())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_state_opens_for_its_call_alone_and_for_two_minutes() {
        let approvals = Approvals::new(b"a secret of the store").unwrap();
        let caller = Caller::stdio();
        let client = Client::new("c", "1");
        let binding = Binding {
            caller: &caller,
            client: &client,
            tool: "research",
            arguments: r#"{"query":"q"}"#,
            worst_cost: Micros(500_000),
        };
        let now = Millis(1_000_000);
        let state = approvals.seal(&binding, now).unwrap();
        let grant = approvals.open(&state, &binding, now).unwrap();
        assert_eq!(grant.expires, now.plus(120_000));
        assert!(approvals.open(&state, &binding, now.plus(120_000)).is_ok());
        let late = approvals.open(&state, &binding, now.plus(120_001));
        assert_eq!(late, Err(InvalidApproval::Expired));
        let other = Caller::stdio();
        let (new, name) = (Client::new("c", "2"), Client::new("d", "1"));
        for binding in [
            Binding {
                caller: &other,
                ..binding
            },
            Binding {
                client: &new,
                ..binding
            },
            Binding {
                client: &name,
                ..binding
            },
            Binding {
                tool: "answers",
                ..binding
            },
            Binding {
                arguments: r#"{"query":"r"}"#,
                ..binding
            },
            Binding {
                worst_cost: Micros(500_001),
                ..binding
            },
        ] {
            let opened = approvals.open(&state, &binding, now);
            assert_eq!(opened, Err(InvalidApproval::Mismatch));
        }
        let others = Approvals::new(b"another secret").unwrap();
        assert_eq!(
            others.open(&state, &binding, now),
            Err(InvalidApproval::Mismatch)
        );
        let later = state.replacen(&grant.expires.0.to_string(), "99999999999999", 1);
        for forged in [later.as_str(), "", "a1", "a1...", "a1.x.1.y", "a1.x.1.y.z"] {
            let opened = approvals.open(forged, &binding, now);
            assert_eq!(opened, Err(InvalidApproval::Mismatch), "{forged}");
        }
    }
}
