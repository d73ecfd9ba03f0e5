//! What an owner needs to carry out a call, as it is kept with the job: the request that the component built,
//! without origin and key.

use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::error::JobsError;
use crate::answers::{Header, HttpRequest, Mode};
use crate::upstream::{self, CallKind, CallLimits, Client, Request, Timeouts};

/// A built-in simulator that a detached worker is to run for itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Simulate {
    /// The scenario, where one was named.
    pub scenario: Option<String>,
    /// The pace, where one was named.
    pub pace: Option<f64>,
}

/// A call, ready to be sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredRequest {
    research: bool,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: String,
    deadline_ms: u64,
    idle_ms: Option<u64>,
    simulate: Option<Simulate>,
}

impl StoredRequest {
    pub(super) fn new(
        mode: Mode,
        request: HttpRequest,
        deadline: Duration,
        idle: Option<Duration>,
        simulate: Option<Simulate>,
    ) -> Result<Self, JobsError> {
        let body = String::from_utf8(request.body).map_err(|_| {
            JobsError::Defect("the component built a body that is no text".to_owned())
        })?;
        Ok(Self {
            research: mode == Mode::Research,
            method: request.method,
            path: request.path,
            headers: request
                .headers
                .into_iter()
                .map(|header| (header.name, header.value))
                .collect(),
            body,
            deadline_ms: whole_ms(deadline),
            idle_ms: idle.map(whole_ms),
            simulate,
        })
    }

    pub(super) fn parse(text: &str) -> Result<Self, JobsError> {
        serde_json::from_str(text)
            .map_err(|error| JobsError::Defect(format!("a stored call cannot be read: {error}")))
    }

    pub(super) fn to_text(&self) -> Result<String, JobsError> {
        serde_json::to_string(self)
            .map_err(|error| JobsError::Defect(format!("a call cannot be stored: {error}")))
    }

    /// Returns what is equal for calls that would be answered and billed alike: the same request to the same origin with
    /// the same key. Time-outs are not part of it. It is hashed with a secret of the state folder, so it tells nobody else
    /// which key was used. `account` is the client that would send it; none where the simulator answers.
    pub(super) fn fingerprint(
        &self,
        secret: &[u8],
        account: Option<&Client>,
    ) -> Result<String, JobsError> {
        let mut hash = Hmac::<Sha256>::new_from_slice(secret)
            .map_err(|error| JobsError::Defect(error.to_string()))?;
        let mut part = |bytes: &[u8]| {
            hash.update(&bytes.len().to_le_bytes());
            hash.update(bytes);
        };
        for text in [&self.method, &self.path, &self.body] {
            part(text.as_bytes());
        }
        part(format!("{:?}", self.simulate).as_bytes());
        if let Some(client) = account {
            client.identify(&mut part);
        }
        let bytes = hash.finalize().into_bytes();
        Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    pub(super) const fn mode(&self) -> Mode {
        if self.research {
            Mode::Research
        } else {
            Mode::Answer
        }
    }

    pub(super) const fn simulate(&self) -> Option<&Simulate> {
        self.simulate.as_ref()
    }

    pub(super) const fn deadline(&self) -> Duration {
        Duration::from_millis(self.deadline_ms)
    }

    pub(super) fn request(&self) -> Request {
        Request {
            method: self.method.clone(),
            path: self.path.clone(),
            headers: self.headers.clone(),
            body: self.body.clone().into_bytes(),
        }
    }

    /// The limits of the call, if it starts now.
    pub(super) fn limits(&self) -> CallLimits {
        let kind = if self.research {
            CallKind::Research
        } else {
            CallKind::Answer
        };
        let timeouts = Timeouts {
            answer: self.deadline(),
            research: self.deadline(),
            idle: self.idle_ms.map(Duration::from_millis),
        };
        CallLimits::starting_now(kind, &timeouts)
    }
}

fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The headers of a reply, kept so that its capture can be read again after a crash.
pub(super) fn head_text(headers: &[upstream::Header]) -> String {
    serde_json::to_string(headers).unwrap_or_default()
}

/// The headers of a stored head; none where there was none.
pub(super) fn headers_of(head: Option<&str>) -> Vec<Header> {
    let pairs: Vec<upstream::Header> = head
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    guest_headers(&pairs)
}

/// Headers as the component takes them.
pub(super) fn guest_headers(pairs: &[upstream::Header]) -> Vec<Header> {
    pairs
        .iter()
        .map(|(name, value)| Header {
            name: name.clone(),
            value: value.clone(),
        })
        .collect()
}
