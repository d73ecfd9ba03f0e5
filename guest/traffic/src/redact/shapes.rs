//! Secrets that are known by how they begin: provider keys, JWTs, private key blocks.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::bytes::find_from;
use crate::types::Span;

/// Bytes that may follow a prefix.
#[derive(Clone, Copy)]
enum Set {
    /// Capital letters and digits.
    Upper,
    /// Letters and digits.
    Alphanumeric,
    /// Letters, digits, `-` and `_`.
    Word,
    /// The same and `.`.
    Dotted,
    /// The same and `/`.
    Path,
    /// Hexadecimal digits.
    Hexadecimal,
}

impl Set {
    fn has(self, byte: u8) -> bool {
        match self {
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_',
            Self::Dotted => Self::Word.has(byte) || byte == b'.',
            Self::Path => Self::Dotted.has(byte) || byte == b'/',
            Self::Hexadecimal => byte.is_ascii_hexdigit(),
        }
    }
}

struct Shape {
    prefix: &'static str,
    kind: &'static str,
    set: Set,
    /// Bytes after the prefix, at least.
    least: usize,
}

const fn shape(prefix: &'static str, kind: &'static str, set: Set, least: usize) -> Shape {
    Shape {
        prefix,
        kind,
        set,
        least,
    }
}

const SHAPES: &[Shape] = &[
    shape("AKIA", "aws", Set::Upper, 16),
    shape("ASIA", "aws", Set::Upper, 16),
    shape("ghp_", "github", Set::Alphanumeric, 30),
    shape("gho_", "github", Set::Alphanumeric, 30),
    shape("ghu_", "github", Set::Alphanumeric, 30),
    shape("ghs_", "github", Set::Alphanumeric, 30),
    shape("ghr_", "github", Set::Alphanumeric, 30),
    shape("github_pat_", "github", Set::Word, 40),
    shape("glpat-", "gitlab", Set::Word, 20),
    shape("xoxa-", "slack", Set::Word, 20),
    shape("xoxb-", "slack", Set::Word, 20),
    shape("xoxp-", "slack", Set::Word, 20),
    shape("xoxr-", "slack", Set::Word, 20),
    shape("xoxs-", "slack", Set::Word, 20),
    shape("xapp-", "slack", Set::Word, 20),
    shape("hooks.slack.com/services/", "slack", Set::Path, 20),
    shape("sk_live_", "stripe", Set::Alphanumeric, 16),
    shape("rk_live_", "stripe", Set::Alphanumeric, 16),
    shape("sk_test_", "stripe", Set::Alphanumeric, 16),
    shape("whsec_", "stripe", Set::Alphanumeric, 24),
    shape("AIza", "google", Set::Word, 35),
    shape("ya29.", "google", Set::Dotted, 20),
    shape("GOCSPX-", "google", Set::Word, 20),
    shape("SG.", "sendgrid", Set::Dotted, 40),
    shape("npm_", "npm", Set::Alphanumeric, 36),
    shape("pypi-", "pypi", Set::Word, 50),
    shape("dop_v1_", "digitalocean", Set::Hexadecimal, 64),
    shape("shpat_", "shopify", Set::Hexadecimal, 32),
    shape("shpss_", "shopify", Set::Hexadecimal, 32),
    shape("hf_", "huggingface", Set::Alphanumeric, 30),
    shape("sk-ant-", "anthropic", Set::Word, 20),
    shape("sk-proj-", "openai", Set::Word, 20),
    shape("sk-or-", "openrouter", Set::Word, 20),
    shape("EAACEdEose0cBA", "facebook", Set::Alphanumeric, 10),
    shape("AGE-SECRET-KEY-1", "age", Set::Upper, 50),
    shape("key-", "mailgun", Set::Hexadecimal, 32),
];

/// The order of the automaton: the shapes, then these.
const JWT: &str = "eyJ";
const PEM: &str = "-----BEGIN ";

static PREFIXES: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let prefixes = SHAPES.iter().map(|shape| shape.prefix).chain([JWT, PEM]);
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(prefixes)
        .ok()
});

/// A secret that was known by its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shaped {
    pub(crate) span: Span,
    pub(crate) kind: &'static str,
}

/// Calls `found` with every secret of a known shape, in order.
pub(crate) fn scan(bytes: &[u8], found: &mut dyn FnMut(Shaped)) {
    let Some(prefixes) = PREFIXES.as_ref() else {
        return;
    };
    let mut last = 0;
    for matched in prefixes.find_iter(bytes) {
        let start = matched.start();
        if start < last || !begins_token(bytes, start) {
            continue;
        }
        let end = match SHAPES.get(matched.pattern().as_usize()) {
            Some(shape) => provider(bytes, matched.end(), shape).map(|end| (end, shape.kind)),
            None if matched.pattern().as_usize() == SHAPES.len() => {
                jwt(bytes, start).map(|end| (end, "jwt"))
            }
            None => pem(bytes, start).map(|end| (end, "private-key")),
        };
        if let Some((end, kind)) = end {
            last = end;
            found(Shaped {
                span: Span::new(start, end),
                kind,
            });
        }
    }
}

/// The kind of a value that has a known shape as a whole.
pub(crate) fn kind_of(value: &[u8]) -> Option<&'static str> {
    let mut kind = None;
    scan(value, &mut |shaped| {
        if shaped.span.start == 0 && shaped.span.end as usize == value.len() {
            kind = Some(shaped.kind);
        }
    });
    kind
}

/// Whether a token may begin here: after a letter or a digit none does, unless that is part of an escape such as `%3D` or `\n`.
pub(crate) fn begins_token(bytes: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).and_then(|before| bytes.get(before)) else {
        return true;
    };
    if !before.is_ascii_alphanumeric() && *before != b'_' {
        return true;
    }
    let escape = |back: usize, sign: u8| {
        at.checked_sub(back)
            .and_then(|from| bytes.get(from))
            .is_some_and(|byte| *byte == sign)
    };
    escape(3, b'%') || escape(2, b'\\') || (escape(6, b'\\') && escape(5, b'u'))
}

fn run(bytes: &[u8], from: usize, set: Set) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest
        .iter()
        .position(|&byte| !set.has(byte))
        .unwrap_or(rest.len())
}

fn provider(bytes: &[u8], from: usize, shape: &Shape) -> Option<usize> {
    let mut end = run(bytes, from, shape.set);
    // A sentence may end right after the secret.
    while end > from && bytes.get(end - 1) == Some(&b'.') {
        end -= 1;
    }
    if end - from < shape.least {
        return None;
    }
    // A key id has an exact length: longer runs of capitals are something else.
    (shape.kind != "aws" || end - from == shape.least).then_some(end)
}

/// Three parts of base64url between dots; the signature may be empty.
fn jwt(bytes: &[u8], start: usize) -> Option<usize> {
    let header = run(bytes, start, Set::Word);
    if header - start < 10 || bytes.get(header) != Some(&b'.') {
        return None;
    }
    let payload = run(bytes, header + 1, Set::Word);
    if payload - header < 5 || bytes.get(payload) != Some(&b'.') {
        return None;
    }
    let mut end = run(bytes, payload + 1, Set::Word);
    // An encrypted token has five parts.
    for _ in 0..2 {
        if bytes.get(end) == Some(&b'.') && run(bytes, end + 1, Set::Word) > end + 1 {
            end = run(bytes, end + 1, Set::Word);
        }
    }
    Some(end)
}

/// A private key block; one without an end goes to the end of the text.
fn pem(bytes: &[u8], start: usize) -> Option<usize> {
    /// Bytes of the label.
    const LABEL: usize = 64;
    let from = start + PEM.len();
    let window = bytes.get(from..(from + LABEL).min(bytes.len()))?;
    let label = memchr::memmem::find(window, b"-----")?;
    let name = window.get(..label)?;
    memchr::memmem::find(name, b"PRIVATE KEY")?;
    let Some(end) = find_from(bytes, b"-----END ", from) else {
        return Some(bytes.len());
    };
    let tail = end + b"-----END ".len();
    let window = bytes.get(tail..(tail + LABEL).min(bytes.len()))?;
    Some(memchr::memmem::find(window, b"-----").map_or(tail, |label| tail + label + 5))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(&'static str, String)> {
        let mut all = Vec::new();
        scan(text.as_bytes(), &mut |shaped| {
            let value = String::from_utf8_lossy(shaped.span.of(text.as_bytes())).into_owned();
            all.push((shaped.kind, value));
        });
        all
    }

    #[test]
    fn every_provider_is_known_by_its_shape() {
        for shape in SHAPES {
            let tail = match shape.set {
                Set::Upper => "A1B2".repeat(20),
                Set::Hexadecimal => "a1b2".repeat(20),
                _ => "aB1c".repeat(20),
            };
            let length = if shape.kind == "aws" {
                16
            } else {
                64.max(shape.least)
            };
            let secret = format!("{}{}", shape.prefix, &tail[..length]);
            assert_eq!(
                found(&format!("x {secret}, y")),
                [(shape.kind, secret.clone())]
            );
            // Too short, and inside of a word.
            assert_eq!(
                found(&format!("x {}{}", shape.prefix, &tail[..3])),
                [],
                "{}",
                shape.prefix
            );
            if shape.kind != "slack" {
                assert_eq!(found(&format!("abc{secret}")), [], "{}", shape.prefix);
            }
        }
    }

    #[test]
    fn tokens_and_key_blocks_are_found() {
        let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl";
        assert_eq!(found(&format!("a={jwt}&b")), [("jwt", jwt.to_owned())]);
        assert_eq!(found(&format!("a%3D{jwt}")), [("jwt", jwt.to_owned())]);
        assert_eq!(found("eyJhbGciOiJIUzI1NiJ9 eyJ.eyJ.x"), []);
        let block = "-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----";
        assert_eq!(
            found(&format!("k {block} z")),
            [("private-key", block.to_owned())]
        );
        assert_eq!(
            found("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"),
            []
        );
    }
}
