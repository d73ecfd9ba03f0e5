//! An exchange as the rules look at it.

use crate::message::fields::tag_attributes;
use crate::message::head::{self, Head};
use crate::message::{body, fields, media, url};
use crate::types::{Exchange, Origin, Span};

/// Bytes of a body that the rules look at. What they look for stands near the start of pages.
const BODY: usize = 2 << 20;

/// Tags of a page.
const TAGS: usize = 50_000;

pub(super) struct Page<'a> {
    pub(super) url: &'a str,
    pub(super) origin: Origin,
    pub(super) https: bool,
    pub(super) request: Head,
    pub(super) request_body: Vec<u8>,
    pub(super) response: Head,
    pub(super) body: Vec<u8>,
    pub(super) status: u16,
    pub(super) media_type: String,
    /// The time of the exchange in milliseconds.
    pub(super) time_ms: i64,
    pub(super) tags: Vec<Tag>,
}

/// A start tag of a page.
pub(super) struct Tag {
    /// In lower case.
    pub(super) name: String,
    /// Names in lower case, and values.
    attributes: Vec<(String, String)>,
    pub(super) place: Span,
}

impl Tag {
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

/// A cookie that a response sets.
pub(super) struct SetCookie<'a> {
    pub(super) name: String,
    pub(super) value: &'a str,
    attributes: Vec<(String, String)>,
    pub(super) place: Span,
}

impl SetCookie<'_> {
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

impl<'a> Page<'a> {
    /// Returns `None` where there is no origin or no response.
    pub(super) fn new(exchange: &'a Exchange, now_ms: i64) -> Option<Self> {
        let origin = exchange.origin.clone()?;
        let message = exchange.response.as_ref()?;
        let request = head::request(&exchange.request.bytes);
        let response = head::response(&message.bytes);
        let limits = body::BodyLimits::default();
        let mut decoded = body::decode_with(message, &response, &limits);
        decoded.bytes.truncate(BODY);
        let media_type = response
            .header("content-type")
            .unwrap_or_default()
            .to_owned();
        let tags = if media::is_html(&media_type) {
            tags(&decoded.bytes)
        } else {
            Vec::new()
        };
        Some(Self {
            url: &exchange.url,
            https: matches!(origin.scheme.as_str(), "https" | "wss"),
            request_body: body::decode_with(&exchange.request, &request, &limits).bytes,
            origin,
            request,
            status: exchange.status.or(response.status).unwrap_or(0),
            response,
            body: decoded.bytes,
            media_type,
            time_ms: exchange.time_ms.unwrap_or(now_ms),
            tags,
        })
    }

    pub(super) fn is_2xx(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// An HTML page that a browser shows.
    pub(super) fn is_document(&self) -> bool {
        self.is_2xx()
            && self.status != 204
            && media::is_html(&self.media_type)
            && !self.body.trim_ascii().is_empty()
    }

    /// Whether the request carried credentials.
    pub(super) fn is_authenticated(&self) -> bool {
        self.request.header("cookie").is_some() || self.request.header("authorization").is_some()
    }

    pub(super) fn local(&self) -> bool {
        is_local(&self.origin.host)
    }

    /// The cookies that the response sets and does not delete.
    pub(super) fn cookies(&self) -> Vec<SetCookie<'_>> {
        self.response
            .headers
            .iter()
            .filter(|header| header.name.eq_ignore_ascii_case("set-cookie"))
            .filter_map(|header| {
                let text = header.value.as_bytes();
                let (pair, rest) = fields::set_cookie(text, 0)?;
                let read = |span: Span| header.value.get(span.start as usize..span.end as usize);
                let cookie = SetCookie {
                    name: read(pair.name)?.to_owned(),
                    value: read(pair.value)?,
                    attributes: rest
                        .iter()
                        .filter_map(|pair| {
                            Some((
                                read(pair.name)?.to_ascii_lowercase(),
                                read(pair.value)?.to_owned(),
                            ))
                        })
                        .collect(),
                    place: header.place,
                };
                (!self.deletes(&cookie)).then_some(cookie)
            })
            .collect()
    }

    fn deletes(&self, cookie: &SetCookie<'_>) -> bool {
        if let Some(age) = cookie.attribute("max-age") {
            return age.parse::<i64>().is_ok_and(|age| age <= 0);
        }
        if let Some(expires) = cookie.attribute("expires") {
            return http_date(expires).is_some_and(|time| time < self.time_ms);
        }
        cookie.value.is_empty()
    }

    /// Directives of `Cache-Control`, in lower case.
    pub(super) fn cache_control(&self) -> Vec<String> {
        self.response
            .all("cache-control")
            .flat_map(|value| value.split(','))
            .map(|directive| directive.trim().to_ascii_lowercase())
            .collect()
    }

    /// Parameters of the query, and of the body where it is a form: decoded, with whether they are of the query.
    pub(super) fn parameters(&self) -> Vec<(String, Vec<u8>, bool)> {
        let query = url::split(self.url).query.unwrap_or_default();
        let form = media::is_form(self.request.header("content-type").unwrap_or_default());
        let mut all = Vec::new();
        let mut add = |text: &[u8], query: bool| {
            for pair in fields::pairs(text, 0, b"&") {
                let name = url::decode(pair.name.of(text), true);
                let value = url::decode(pair.value.of(text), true);
                all.push((String::from_utf8_lossy(&name).into_owned(), value, query));
            }
        };
        add(query.as_bytes(), true);
        if form {
            add(&self.request_body, false);
        }
        all
    }
}

pub(super) fn is_local(host: &str) -> bool {
    host == "localhost"
        || host.ends_with(".localhost")
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// The time of `Wed, 21 Oct 2026 07:28:00 GMT` in milliseconds.
fn http_date(text: &str) -> Option<i64> {
    // Both orders of day and month, and hyphens as older servers write them.
    let text = text.replace('-', " ");
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let &[_, day, month, year, time, ..] = words.as_slice() else {
        return None;
    };
    let year = if year.len() == 2 {
        format!("20{year}")
    } else {
        year.to_owned()
    };
    crate::intake::java_date(&format!("x {month} {day} {time} GMT {year}"))
}

/// The start tags of a page, without those in comments.
fn tags(page: &[u8]) -> Vec<Tag> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(open) = memchr::memchr(b'<', page.get(at..).unwrap_or_default()) {
        let start = at + open;
        let rest = page.get(start..).unwrap_or_default();
        if rest.starts_with(b"<!--") {
            at = crate::bytes::find_from(page, b"-->", start).map_or(page.len(), |end| end + 3);
            continue;
        }
        if !rest.get(1).is_some_and(u8::is_ascii_alphabetic) {
            at = start + 1;
            continue;
        }
        let length = tag_length(rest);
        let tag = rest.get(..length).unwrap_or_default();
        let name_end = tag
            .iter()
            .position(|byte| byte.is_ascii_whitespace() || b">/".contains(byte))
            .unwrap_or(tag.len());
        let text = |bytes: &[u8]| crate::bytes::lossy(bytes, 2048);
        found.push(Tag {
            name: text(tag.get(1..name_end).unwrap_or_default()).to_ascii_lowercase(),
            attributes: tag_attributes(tag)
                .into_iter()
                .map(|(name, value)| (text(name.of(tag)).to_ascii_lowercase(), text(value.of(tag))))
                .collect(),
            place: Span::new(start, start + length),
        });
        at = start + length.max(1);
        if found.len() >= TAGS {
            break;
        }
    }
    found
}

/// The length of a tag, quotes respected; at most 8 KiB.
fn tag_length(rest: &[u8]) -> usize {
    const TAG: usize = 8192;
    let mut quote = 0;
    for (at, &byte) in rest.iter().take(TAG).enumerate() {
        match byte {
            _ if quote != 0 => quote = if byte == quote { 0 } else { quote },
            b'"' | b'\'' => quote = byte,
            b'>' => return at + 1,
            _ => {}
        }
    }
    rest.len().min(TAG)
}
