//! The one request, over `wasi:http`.

use answers::{Header, HttpRequest};
use wstd::http::body::Bytes;
use wstd::http::body::util::combinators::UnsyncBoxBody;
use wstd::http::{Body, BodyExt as _, Client, Error, Request};

const ORIGIN: &str = "https://api.search.brave.com";
const KEY_HEADER: &str = "x-subscription-token";
/// Bytes of an unsuccessful reply that are read to understand it.
const ERROR_BODY_BYTES: usize = 64 << 10;

/// A reply whose head has come.
pub(crate) struct Reply {
    /// Its headers.
    pub(crate) headers: Vec<Header>,
    /// What broke it off.
    pub(crate) broken: Option<String>,
    body: UnsyncBoxBody<Bytes, Error>,
}

/// The origin: https, or this machine.
pub(crate) fn origin(given: Option<&str>) -> Result<String, String> {
    let origin = given.unwrap_or(ORIGIN).trim_end_matches('/');
    let host = origin
        .strip_prefix("http://")
        .map(|rest| match rest.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => rest,
        });
    match host {
        None if origin.starts_with("https://") => Ok(origin.to_owned()),
        Some(host)
            if host == "localhost"
                || host == "[::1]"
                || host.starts_with("127.")
                    && host
                        .bytes()
                        .all(|byte| byte == b'.' || byte.is_ascii_digit()) =>
        {
            Ok(origin.to_owned())
        }
        _ => Err(format!(
            "the upstream is {origin}; it must be https, or http to this machine, so that the key is not shown to the network"
        )),
    }
}

/// Sends the request. A status that is no success becomes the library's sentence for it.
pub(crate) async fn send(origin: &str, key: &str, request: HttpRequest) -> Result<Reply, String> {
    let mut builder = Request::builder()
        .method(request.method.as_str())
        .uri(format!("{origin}{}", request.path))
        .header(KEY_HEADER, key)
        .header("content-length", request.body.len());
    for header in &request.headers {
        builder = builder.header(&header.name, &header.value);
    }
    let request = builder
        .body(Body::from(request.body))
        .map_err(|_| "the key or the origin does not fit a request: check both".to_owned())?;
    let reply = Client::new()
        .send(request)
        .await
        .map_err(|error| format!("no reply from {origin}: {error:#}"))?;
    let status = reply.status().as_u16();
    let headers = reply
        .headers()
        .iter()
        .map(|(name, value)| Header {
            name: name.as_str().to_owned(),
            value: String::from_utf8_lossy(value.as_bytes()).into_owned(),
        })
        .collect();
    let mut reply = Reply {
        headers,
        broken: None,
        body: reply.into_body().into_boxed_body(),
    };
    if (200..300).contains(&status) {
        return Ok(reply);
    }
    let mut body = Vec::new();
    while body.len() < ERROR_BODY_BYTES {
        let Some(chunk) = reply.next().await? else {
            break;
        };
        body.extend_from_slice(&chunk);
    }
    Err(answers::failure(status, &reply.headers, &body).message)
}

impl Reply {
    /// The next bytes; `None` at the end, which may be one before its time.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, String> {
        loop {
            match self.body.frame().await {
                None => return Ok(None),
                Some(Err(error)) => {
                    self.broken = Some(format!("{error:#}"));
                    return Ok(None);
                }
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }
}
