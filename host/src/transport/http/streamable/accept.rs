//! The `Accept` header: which kinds of reply a client accepts.

use http::{HeaderMap, header};

/// The kinds of reply that a client accepts. Real clients name one or both types, a wildcard, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accept {
    /// `application/json`.
    pub json: bool,
    /// `text/event-stream`.
    pub events: bool,
}

impl Accept {
    /// Reads the `Accept` headers. Without one, everything is accepted.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Self {
        let mut accept = Self {
            json: false,
            events: false,
        };
        let mut any = false;
        for value in headers.get_all(header::ACCEPT) {
            any = true;
            let text = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
            for range in text.split(',') {
                let (range, refused) = weighed(range);
                let all = range == "*/*";
                let takes = |kind: &str, family: &str| {
                    (range == kind || range == family || all) && !refused
                };
                accept.json |= takes("application/json", "application/*");
                accept.events |= takes("text/event-stream", "text/*");
            }
        }
        if any {
            accept
        } else {
            Self {
                json: true,
                events: true,
            }
        }
    }

    /// Returns whether no reply of this server is accepted.
    #[must_use]
    pub const fn is_nothing(self) -> bool {
        !self.json && !self.events
    }
}

/// Returns a media range, and whether its weight is 0, which means that it is not accepted.
fn weighed(range: &str) -> (&str, bool) {
    let mut parts = range.split(';').map(str::trim);
    let range = parts.next().unwrap_or_default();
    let refused = parts.any(|part| {
        let weight = part
            .strip_prefix("q=")
            .and_then(|weight| weight.parse::<f32>().ok());
        weight == Some(0.0)
    });
    (range, refused)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_real_clients_send_is_taken() {
        let accept = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::ACCEPT, value.parse().unwrap());
            }
            let accept = Accept::of(&headers);
            (accept.json, accept.events)
        };
        for (values, expected) in [
            (&[][..], (true, true)),
            (&["*/*"], (true, true)),
            (&["application/json, text/event-stream"], (true, true)),
            (&["application/json", "text/event-stream"], (true, true)),
            (&["Application/JSON"], (true, false)),
            (&["text/event-stream;q=0.9"], (false, true)),
            (&["text/*, application/json;q=0"], (false, true)),
            (&["text/html"], (false, false)),
            (&["text/html, application/*;q=0.5"], (true, false)),
        ] {
            assert_eq!(accept(values), expected, "{values:?}");
        }
    }
}
