//! Ends what an earlier bearer token opened once the token file holds another one.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Response;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt as _;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::reply::Body;
use super::token::{Digest, TokenFile};

/// The token that is valid now, and what is cancelled when it no longer is.
#[derive(Debug, Default)]
pub struct Rotation {
    current: Mutex<Option<(Digest, CancellationToken)>>,
}

impl Rotation {
    /// Reads the token file. If it holds another token than before, cancels what the earlier one opened and returns
    /// the digest of the new one. A file that cannot be read now changes nothing: no new request passes the gate.
    pub fn check(&self, file: &TokenFile) -> Option<Digest> {
        let digest = file.read().ok()?.digest();
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        match &*current {
            Some((known, _)) if *known == digest => return None,
            Some((_, valid)) => valid.cancel(),
            None => {}
        }
        *current = Some((digest, CancellationToken::new()));
        Some(digest)
    }

    /// Returns what is cancelled when the token with this digest is no longer valid. It is cancelled already if
    /// another token is valid now.
    pub fn valid(&self, file: &TokenFile, digest: Digest) -> CancellationToken {
        self.check(file);
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        match &*current {
            Some((known, valid)) if *known == digest => valid.clone(),
            _ => {
                let ended = CancellationToken::new();
                ended.cancel();
                ended
            }
        }
    }
}

/// Returns a reply whose body ends when `valid` is cancelled.
pub fn until_invalid(response: Response<Body>, valid: CancellationToken) -> Response<Body> {
    response.map(|body| {
        let body = UntilInvalid {
            body,
            invalid: Box::pin(valid.cancelled_owned()),
        };
        body.boxed_unsync()
    })
}

struct UntilInvalid {
    body: Body,
    invalid: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl HttpBody for UntilInvalid {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.invalid.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
