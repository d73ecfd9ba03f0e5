//! What was found in one part.

use serde::Serialize;

use super::shapes;
use crate::types::Span;

/// What carries a secret. A placeholder goes back only into the carrier that its value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carrier {
    /// The user information of a URL.
    Userinfo,
    /// A segment of a path.
    Path,
    /// A parameter of a query.
    Query,
    /// A parameter of a fragment.
    Fragment,
    /// A header.
    Header,
    /// A cookie, in `Cookie` or `Set-Cookie`.
    Cookie,
    /// A field of a form.
    Form,
    /// A JSON member.
    Json,
    /// A part of a multipart body.
    Multipart,
    /// An element or attribute of XML.
    Xml,
    /// Free text.
    Text,
}

/// One find.
#[derive(Clone, Debug)]
pub(super) struct Find {
    pub(super) span: Span,
    pub(super) carrier: Carrier,
    pub(super) name: String,
    /// The kind where it is not told by the value.
    pub(super) kind: Option<&'static str>,
    /// Whether the placeholder needs quotes: a JSON number has none.
    pub(super) quote: bool,
    /// The value without the encoding of its place.
    pub(super) value: Vec<u8>,
    /// Whether the value is a secret wherever else it stands.
    pub(super) spreads: bool,
}

/// Collects the finds of one part.
pub(super) struct Finds<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) all: Vec<Find>,
    /// Values that do not stand here as they are, but are secrets elsewhere.
    pub(super) also: Vec<Vec<u8>>,
}

impl<'a> Finds<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            all: Vec::new(),
            also: Vec::new(),
        }
    }

    /// A secret as it stands.
    pub(super) fn value(&mut self, carrier: Carrier, name: &str, span: Span) {
        let value = span.of(self.bytes).to_vec();
        self.add(carrier, name, span, value, true);
    }

    /// A secret with the value that its place encodes.
    pub(super) fn add(
        &mut self,
        carrier: Carrier,
        name: &str,
        span: Span,
        value: Vec<u8>,
        spreads: bool,
    ) {
        if span.start >= span.end {
            return;
        }
        self.all.push(Find {
            span,
            carrier,
            name: name.to_owned(),
            kind: None,
            quote: false,
            value,
            spreads,
        });
    }

    /// A value that is no secret but must not leave in this mode.
    pub(super) fn kind(&mut self, kind: &'static str, span: Span, value: Vec<u8>) {
        self.all.push(Find {
            span,
            carrier: Carrier::Text,
            name: String::new(),
            kind: Some(kind),
            quote: false,
            value,
            spreads: false,
        });
    }

    /// Secrets that are known by their shape, anywhere.
    pub(super) fn shapes(&mut self, carrier: Carrier) {
        let bytes = self.bytes;
        shapes::scan(bytes, &mut |shaped| {
            let value = shaped.span.of(bytes).to_vec();
            self.add(carrier, shaped.kind, shaped.span, value, true);
        });
    }

    /// Sorts, and joins what overlaps: the outer place wins.
    pub(super) fn settle(&mut self) {
        self.all
            .sort_by_key(|find| (find.span.start, std::cmp::Reverse(find.span.end)));
        let mut kept: Vec<Find> = Vec::with_capacity(self.all.len());
        for find in self.all.drain(..) {
            match kept.last_mut() {
                Some(last) if find.span.start < last.span.end => {
                    if find.span.end > last.span.end {
                        last.span.end = find.span.end;
                        last.value = last.span.of(self.bytes).to_vec();
                    }
                }
                _ => kept.push(find),
            }
        }
        self.all = kept;
    }
}
