//! The data that a process needs to run a call, as stored with the job: the request that the component built, without
//! origin and key.

use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::error::JobsError;
use crate::answers::{Header, HttpRequest, Mode};
use crate::upstream::{self, CallKind, CallLimits, Client, Request, Timeouts};

/// The simulator that a detached worker starts and calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Simulate {
    /// The scenario, if one was named.
    pub scenario: Option<String>,
    /// The factor on the delays of the simulator, if one was set.
    pub pace: Option<f64>,
}

/// A call that is ready to be sent.
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

    /// Returns a value that is equal for calls with the same request, origin and key. Time-outs are not included. It is
    /// an HMAC with the secret of the storage, so it does not reveal the key. `account` is the client that would send
    /// the call; `None` for a simulated call.
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

    /// Returns the time limits of a call that starts now.
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

/// Serializes the headers of a reply, so that recovery can read its capture.
pub(super) fn head_text(headers: &[upstream::Header]) -> String {
    serde_json::to_string(headers).unwrap_or_default()
}

/// Parses stored headers. Returns an empty list if no headers were stored.
pub(super) fn headers_of(head: Option<&str>) -> Vec<Header> {
    let pairs: Vec<upstream::Header> = head
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    guest_headers(&pairs)
}

/// Converts headers for the component.
pub(super) fn guest_headers(pairs: &[upstream::Header]) -> Vec<Header> {
    pairs
        .iter()
        .map(|(name, value)| Header {
            name: name.clone(),
            value: value.clone(),
        })
        .collect()
}
