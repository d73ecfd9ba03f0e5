//! The shape of an API, gathered from exchanges: one entry for each method and path template.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::parameters::{ParameterKind, parameters};
use super::{head, media, url};
use crate::types::Exchange;

/// Endpoints that are gathered. Sites with more have segments that are values but do not look like it.
const ENDPOINTS: usize = 20_000;

/// Parameters of one endpoint.
const PARAMETERS: usize = 200;

/// A parameter of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Shape {
    /// Where it stands.
    pub kind: ParameterKind,
    /// The name; array positions in JSON pointers are `*`.
    pub name: String,
    /// `integer`, `number`, `boolean`, `uuid`, `email`, `url`, `date`, `string`, or `mixed`.
    pub values: String,
}

/// An endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    /// The method.
    pub method: String,
    /// The origin, as a URL.
    pub origin: String,
    /// The path with `{id}`, `{uuid}`, `{oid}` or `{token}` for segments that are values.
    pub path: String,
    /// Exchanges that were gathered.
    pub count: u32,
    /// Parameters.
    pub parameters: Vec<Shape>,
    /// Statuses of the responses.
    pub statuses: Vec<u16>,
    /// Media types of the responses.
    pub types: Vec<String>,
    /// Kinds of authentication: `bearer`, `basic`, `cookie`, `header` or another scheme in lower case.
    pub authentication: Vec<String>,
}

#[derive(Default)]
struct Gathered {
    count: u32,
    parameters: BTreeMap<(ParameterKind, String), &'static str>,
    statuses: BTreeSet<u16>,
    types: BTreeSet<String>,
    authentication: BTreeSet<String>,
}

/// Gathers endpoints.
#[derive(Default)]
pub struct Endpoints {
    all: BTreeMap<(String, String, String), Gathered>,
    /// Exchanges whose endpoint had no room.
    left_out: u64,
}

impl Endpoints {
    /// Adds an exchange.
    pub fn push(&mut self, exchange: &Exchange) {
        let origin = exchange
            .origin
            .as_ref()
            .map_or(String::new(), crate::Origin::to_url);
        let path = template(url::split(&exchange.url).path);
        let key = (origin, path, exchange.method.clone());
        if self.all.len() >= ENDPOINTS && !self.all.contains_key(&key) {
            self.left_out += 1;
            return;
        }
        let entry = self.all.entry(key).or_default();
        entry.count = entry.count.saturating_add(1);
        for one in parameters(&exchange.request) {
            if one.kind == ParameterKind::Cookie {
                continue;
            }
            let name = if one.kind == ParameterKind::Json {
                any_index(&one.name)
            } else {
                one.name
            };
            let values = kind_of(&one.value);
            if entry.parameters.len() < PARAMETERS
                || entry.parameters.contains_key(&(one.kind, name.clone()))
            {
                entry
                    .parameters
                    .entry((one.kind, name))
                    .and_modify(|known| {
                        if *known != values {
                            *known = "mixed";
                        }
                    })
                    .or_insert(values);
            }
        }
        entry.statuses.extend(exchange.status);
        if let Some(response) = &exchange.response {
            let head = head::response(&response.bytes);
            let kind = media::essence(head.header("content-type").unwrap_or_default());
            if !kind.is_empty() && entry.types.len() < 16 {
                entry.types.insert(kind);
            }
        }
        entry
            .authentication
            .extend(authentication(&exchange.request.bytes));
    }

    /// Returns the endpoints by origin, path and method, and the number of exchanges that had no room.
    #[must_use]
    pub fn finish(self) -> (Vec<Endpoint>, u64) {
        let all = self
            .all
            .into_iter()
            .map(|((origin, path, method), gathered)| Endpoint {
                method,
                origin,
                path,
                count: gathered.count,
                parameters: gathered
                    .parameters
                    .into_iter()
                    .map(|((kind, name), values)| Shape {
                        kind,
                        name,
                        values: values.to_owned(),
                    })
                    .collect(),
                statuses: gathered.statuses.into_iter().collect(),
                types: gathered.types.into_iter().collect(),
                authentication: gathered.authentication.into_iter().collect(),
            })
            .collect();
        (all, self.left_out)
    }
}

/// Returns a path with placeholders for segments that are values.
pub(crate) fn template(path: &str) -> String {
    let segments: Vec<String> = path.split('/').map(segment).collect();
    segments.join("/")
}

fn segment(text: &str) -> String {
    let bytes = text.as_bytes();
    let hexadecimal =
        |length: usize| text.len() == length && bytes.iter().all(u8::is_ascii_hexdigit);
    if !text.is_empty() && bytes.iter().all(u8::is_ascii_digit) {
        "{id}".into()
    } else if is_uuid(text) {
        "{uuid}".into()
    } else if hexadecimal(24) {
        "{oid}".into()
    } else if crate::redact::keys::looks_random(bytes, 20)
        && !text.contains('.')
        && !text.contains('-')
    {
        "{token}".into()
    } else {
        text.chars().take(200).collect()
    }
}

fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    lengths == [8, 4, 4, 4, 12]
        && groups
            .iter()
            .all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn any_index(pointer: &str) -> String {
    let segments: Vec<&str> = pointer
        .split('/')
        .map(|segment| {
            let index = !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit());
            if index { "*" } else { segment }
        })
        .collect();
    segments.join("/")
}

fn kind_of(value: &str) -> &'static str {
    if value.parse::<i64>().is_ok() {
        "integer"
    } else if value.parse::<f64>().is_ok() && value.bytes().any(|byte| byte.is_ascii_digit()) {
        "number"
    } else if matches!(value, "true" | "false") {
        "boolean"
    } else if is_uuid(value) {
        "uuid"
    } else if value.contains("://") {
        "url"
    } else if value.contains('@') && value.contains('.') && !value.contains(' ') {
        "email"
    } else if value.len() >= 10
        && value.as_bytes().get(4) == Some(&b'-')
        && value.as_bytes().get(7) == Some(&b'-')
    {
        "date"
    } else {
        "string"
    }
}

fn authentication(request: &[u8]) -> Vec<String> {
    let head = head::request(request);
    let mut kinds = Vec::new();
    if let Some(value) = head.header("authorization") {
        let scheme = value
            .split(' ')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase();
        let known = scheme.len() <= 24 && value.contains(' ');
        kinds.push(if known { scheme } else { "header".into() });
    }
    let is_session = |name: &str| crate::redact::keys::is_secret(name.as_bytes(), false);
    for value in head.all("cookie") {
        let names = value.split(';').filter_map(|pair| pair.split_once('='));
        if names.into_iter().any(|(name, _)| is_session(name.trim())) {
            kinds.push("cookie".into());
        }
    }
    let other = head.headers.iter().any(|header| {
        let name = header.name.to_ascii_lowercase();
        !matches!(name.as_str(), "authorization" | "cookie")
            && is_session(&name)
            && !name.contains("csrf")
            && !name.contains("xsrf")
    });
    if other {
        kinds.push("header".into());
    }
    kinds
}
