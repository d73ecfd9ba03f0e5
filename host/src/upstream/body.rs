//! The body of a reply, decompressed.

use std::io::{self, Write as _};

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};

/// What a request accepts: all that a [`Body`] can decompress.
pub(crate) const ACCEPTED: &str = "gzip";

/// Compressed bytes that are decompressed at once. Deflate gives at most 1,032 bytes for one, so 8 MiB come of it at
/// most, whatever the upstream sends.
const PIECE_BYTES: usize = 8 << 10;

/// A body that is being read. Every member of a gzip stream is decompressed.
#[derive(Debug)]
pub(crate) struct Body {
    response: reqwest::Response,
    coding: Coding,
    /// What came and was not decompressed yet.
    input: Bytes,
    /// What goes out after what was decompressed before it.
    failed: Option<io::Error>,
}

/// How a body is encoded.
#[derive(Debug)]
enum Coding {
    Identity,
    Gzip(Box<Gzip>),
    Unknown(String),
}

#[derive(Debug)]
struct Gzip {
    decoder: MultiGzDecoder<Vec<u8>>,
    begun: bool,
}

/// Why a body cannot be read to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    /// The connection or the framing failed.
    #[error(transparent)]
    Transfer(#[from] reqwest::Error),
    /// The compressed data is damaged or cut.
    #[error("the compressed data is damaged: {0}")]
    Compression(io::Error),
    /// It is encoded in a way that was not accepted.
    #[error("the encoding {0} was not asked for")]
    Coding(String),
}

impl Body {
    /// Takes the body of a response. Of its headers, those that say how the body travelled are removed from what
    /// [`headers`] returns.
    pub(crate) fn new(response: reqwest::Response) -> Self {
        let coding = Coding::of(response.headers());
        Self {
            response,
            coding,
            input: Bytes::new(),
            failed: None,
        }
    }

    /// Returns the next bytes; `None` at the end. Cancel-safe.
    ///
    /// # Errors
    /// What ended the body early; nothing comes after it.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, BodyError> {
        let gzip = match &mut self.coding {
            Coding::Identity => return Ok(self.response.chunk().await?),
            Coding::Unknown(name) => return Err(BodyError::Coding(name.clone())),
            Coding::Gzip(gzip) => gzip,
        };
        loop {
            if let Some(error) = self.failed.take() {
                return Err(BodyError::Compression(error));
            }
            if self.input.is_empty() {
                match self.response.chunk().await? {
                    Some(bytes) => self.input = bytes,
                    None => {
                        return gzip.end().map(|()| None).map_err(BodyError::Compression);
                    }
                }
            }
            let piece = self.input.split_to(self.input.len().min(PIECE_BYTES));
            let (plain, failed) = gzip.push(&piece);
            self.failed = failed;
            if !plain.is_empty() {
                return Ok(Some(plain));
            }
        }
    }
}

impl Coding {
    fn of(headers: &HeaderMap) -> Self {
        let Some(coding) = headers.get(CONTENT_ENCODING) else {
            return Self::Identity;
        };
        let name = String::from_utf8_lossy(coding.as_bytes()).to_ascii_lowercase();
        match name.trim() {
            "" | "identity" => Self::Identity,
            "gzip" | "x-gzip" => Self::Gzip(Box::new(Gzip {
                decoder: MultiGzDecoder::new(Vec::new()),
                begun: false,
            })),
            _ => Self::Unknown(name),
        }
    }
}

impl Gzip {
    /// Returns all that can be decompressed so far, and what went wrong after it.
    fn push(&mut self, piece: &[u8]) -> (Bytes, Option<io::Error>) {
        self.begun |= !piece.is_empty();
        let pushed = self
            .decoder
            .write_all(piece)
            .and_then(|()| self.decoder.flush());
        let plain = std::mem::take(self.decoder.get_mut());
        (plain.into(), pushed.err())
    }

    /// Checks that the last member is whole. A body without a byte is an empty one.
    fn end(&mut self) -> io::Result<()> {
        if self.begun {
            self.decoder.try_finish()
        } else {
            Ok(())
        }
    }
}

/// Returns a response's headers without those that say how its body travelled.
pub(crate) fn headers(response: &reqwest::Response) -> HeaderMap {
    let mut headers = response.headers().clone();
    if headers.remove(CONTENT_ENCODING).is_some() {
        headers.remove(CONTENT_LENGTH);
    }
    headers
}
