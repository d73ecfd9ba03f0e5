//! What a proxy must dial for a request, and the head as the server expects it.

use serde::Serialize;

use crate::message::head;
use crate::message::url;
use crate::types::{Origin, Warning};

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Target {
    /// The origin to dial.
    pub origin: Origin,
    /// Whether it is a CONNECT.
    pub connect: bool,
    /// The head in origin form, without the headers that are meant for the proxy; empty for a CONNECT.
    #[serde(with = "crate::bytes")]
    pub head: Vec<u8>,
    /// What is odd, such as a `Host` that differs from the target.
    pub warnings: Vec<Warning>,
}

/// Returns the target of a request head. `tunnel` is the origin of the tunnel that it came through, if it came through one.
///
/// # Errors
/// One sentence: why there is nothing to dial.
pub fn target(message: &[u8], tunnel: Option<&Origin>) -> Result<Target, String> {
    let head = head::request(message);
    let mut warnings = Vec::new();
    if head.method.eq_ignore_ascii_case("CONNECT") {
        let (host, port) = url::host_and_port(&head.target);
        if port.is_empty() {
            return Err("a CONNECT must name host and port".into());
        }
        let origin = url::origin_of("https", host, port)
            .ok_or_else(|| format!("the target {:.100?} is no host and port", head.target))?;
        return Ok(Target {
            origin,
            connect: true,
            head: Vec::new(),
            warnings,
        });
    }
    let pieces = url::split(&head.target);
    let absolute = !pieces.scheme.is_empty();
    if !pieces.user.is_empty() {
        return Err("the target holds user information, which must not be sent".into());
    }
    let origin = match (absolute, tunnel) {
        (true, _) => url::origin(&head.target).ok_or_else(|| {
            format!(
                "the target {:.100?} has no usable scheme, host and port",
                head.target
            )
        })?,
        (false, Some(origin)) => origin.clone(),
        (false, None) => {
            let host = head
                .header("host")
                .ok_or("the request has neither an absolute target nor a Host")?;
            let (host, port) = url::host_and_port(host);
            url::origin_of("http", host, port)
                .ok_or_else(|| format!("the Host {host:.100?} is no host"))?
        }
    };
    if let Some(host) = head.header("host") {
        let (name, port) = url::host_and_port(host);
        let named = url::origin_of(&origin.scheme, name, port);
        if named.is_none_or(|named| named != origin) {
            warnings.push(Warning::new(
                "host-differs",
                "Host names another origin than the one that is dialled",
            ));
        }
    }
    if tunnel.is_some_and(|tunnel| *tunnel != origin) {
        warnings.push(Warning::new(
            "target-differs",
            "the target names another origin than the tunnel",
        ));
    }
    let path = if absolute {
        let mut path = if pieces.path.is_empty() {
            "/".to_owned()
        } else {
            pieces.path.to_owned()
        };
        if let Some(query) = pieces.query {
            path.push('?');
            path.push_str(query);
        }
        path
    } else {
        head.target.clone()
    };
    Ok(Target {
        origin,
        connect: false,
        head: rewrite(message, &head, absolute.then_some(&path)),
        warnings,
    })
}

/// The head with another target and without `Proxy-Connection` and `Proxy-Authorization`; all else byte for byte.
fn rewrite(message: &[u8], head: &head::Head, target: Option<&String>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 0;
    let mut keep = |out: &mut Vec<u8>, to: usize, next: usize| {
        out.extend_from_slice(message.get(at..to).unwrap_or_default());
        at = next;
    };
    if let Some(target) = target {
        keep(
            &mut out,
            head.target_place.start as usize,
            head.target_place.end as usize,
        );
        out.extend_from_slice(target.as_bytes());
    }
    for header in &head.headers {
        let name = header.name.to_ascii_lowercase();
        if matches!(name.as_str(), "proxy-connection" | "proxy-authorization") {
            keep(
                &mut out,
                header.line.start as usize,
                header.line.end as usize,
            );
        }
    }
    keep(&mut out, head.span.end as usize, head.span.end as usize);
    out
}
