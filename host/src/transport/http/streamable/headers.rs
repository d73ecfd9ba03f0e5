//! The headers that repeat parts of a request of 2026-07-28, so that proxies can route by them (SEP-2243). They must match
//! the request.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::HeaderMap;
use rmcp::model::JsonObject;
use serde_json::Value;

use crate::rpc::Envelope;

/// The header with the protocol version.
pub const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
const PARAM: &str = "mcp-param-";

/// Checks that the headers repeat the request. `schema` is the input schema of the tool that is called.
///
/// # Errors
/// Which header is missing or does not match.
pub fn check(
    headers: &HeaderMap,
    request: &Envelope,
    schema: Option<&JsonObject>,
) -> Result<(), String> {
    let Some(method) = request.method() else {
        return Ok(());
    };
    match one(headers, METHOD)? {
        None => return Err("the header Mcp-Method is missing".to_owned()),
        Some(value) if value != method => {
            return Err(format!(
                "the header Mcp-Method is `{value}`, the method is `{method}`"
            ));
        }
        Some(_) => {}
    }
    if let Some(name) = name_of(method, request) {
        let value = one(headers, NAME)?.ok_or("the header Mcp-Name is missing")?;
        let value = decode(value).ok_or("the header Mcp-Name is no valid base64")?;
        if value != name {
            return Err(format!(
                "the header Mcp-Name is `{value}`, the request says `{name}`"
            ));
        }
    }
    match schema {
        Some(schema) if method == "tools/call" => check_params(headers, request, schema),
        _ => Ok(()),
    }
}

/// Returns the one value of a header.
///
/// # Errors
/// When there are two, since a proxy could use the other one, or the value is not ASCII.
pub fn one<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, String> {
    let mut values = headers.get_all(name).iter();
    let (value, more) = (values.next(), values.next());
    if more.is_some() {
        return Err(format!("the header {name} is there twice"));
    }
    value
        .map(|value| value.to_str().map(str::trim))
        .transpose()
        .map_err(|_| format!("the header {name} has characters that no header may have"))
}

fn name_of<'a>(method: &str, request: &'a Envelope) -> Option<&'a str> {
    let key = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    request.param(key)?.as_str()
}

fn check_params(
    headers: &HeaderMap,
    request: &Envelope,
    schema: &JsonObject,
) -> Result<(), String> {
    let mut annotated = Vec::new();
    collect(schema, &mut Vec::new(), &mut annotated);
    for (path, header) in annotated {
        let name = format!("{PARAM}{}", header.to_ascii_lowercase());
        let given = one(headers, &name)?;
        let mut steps = path.iter();
        let argument = request
            .param("arguments")
            .and_then(|arguments| steps.try_fold(arguments, |value, key| value.get(key)))
            .and_then(text);
        let path = path.join(".");
        match (given, argument) {
            (None, None) => {}
            (Some(_), None) => {
                return Err(format!(
                    "the header Mcp-Param-{header} is there, the argument {path} is not"
                ));
            }
            (None, Some(_)) => {
                return Err(format!(
                    "the header Mcp-Param-{header} of the argument {path} is missing"
                ));
            }
            (Some(given), Some(argument)) => {
                let given = decode(given)
                    .ok_or_else(|| format!("the header Mcp-Param-{header} is no valid base64"))?;
                if given != argument {
                    return Err(format!(
                        "the header Mcp-Param-{header} is `{given}`, the argument {path} is `{argument}`"
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Collects the properties with a header, by their path from the root through properties alone.
fn collect<'a>(
    schema: &'a JsonObject,
    path: &mut Vec<&'a str>,
    into: &mut Vec<(Vec<&'a str>, &'a str)>,
) {
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return;
    };
    for (name, property) in properties {
        let Some(property) = property.as_object() else {
            continue;
        };
        path.push(name);
        if let Some(Value::String(header)) = property.get("x-mcp-header")
            && !header.is_empty()
        {
            into.push((path.clone(), header));
        }
        collect(property, path, into);
        path.pop();
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Decodes a header value: as it is, or the content of `=?base64?…?=`.
fn decode(value: &str) -> Option<String> {
    let inside = value
        .strip_prefix("=?base64?")
        .and_then(|value| value.strip_suffix("?="));
    match inside {
        Some(inside) => String::from_utf8(BASE64_STANDARD.decode(inside).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use http::{HeaderName, HeaderValue};
    use serde_json::json;

    use super::*;

    fn result(pairs: &[(&str, &str)], params: &Value, properties: Value) -> Result<(), String> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_bytes(value.as_bytes()).unwrap(),
            );
        }
        let request =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let request = Envelope::read(request.to_string().as_bytes())
            .unwrap()
            .unwrap();
        let schema = json!({ "type": "object", "properties": properties });
        check(&headers, &request, schema.as_object())
    }

    const CALL: [(&str, &str); 2] = [("Mcp-Method", "tools/call"), ("Mcp-Name", "deploy")];

    #[test]
    fn method_and_name_are_repeated_once() {
        let params = json!({ "name": "deploy" });
        for (pairs, good) in [
            (&CALL[..], true),
            (
                &[
                    ("Mcp-Method", "tools/call"),
                    ("Mcp-Name", "=?base64?ZGVwbG95?="),
                ],
                true,
            ),
            (
                &[("Mcp-Method", "tools/call"), ("Mcp-Name", " deploy ")],
                true,
            ),
            (
                &[("Mcp-Method", "tools/list"), ("Mcp-Name", "deploy")],
                false,
            ),
            (&[("Mcp-Name", "deploy")], false),
            (&[("Mcp-Method", "tools/call")], false),
            (
                &[("Mcp-Method", "tools/call"), ("Mcp-Name", "other")],
                false,
            ),
            (
                &[("Mcp-Method", "tools/call"), ("Mcp-Name", "=?base64?***?=")],
                false,
            ),
            (&[CALL[0], CALL[0], CALL[1]], false),
            (&[CALL[0], CALL[1], ("Mcp-Name", "other")], false),
            (&[CALL[0], ("Mcp-Name", "\u{e9}")], false),
        ] {
            assert_eq!(result(pairs, &params, json!({})).is_ok(), good, "{pairs:?}");
        }
    }

    #[test]
    fn annotated_arguments_are_repeated() {
        let flat = json!({ "region": { "type": "string", "x-mcp-header": "Region" } });
        let nested = json!({ "place": { "type": "object", "properties": flat } });
        let with = |more: &[(&'static str, &'static str)]| [&CALL[..], more].concat();
        let region = [("Mcp-Param-Region", "eu")];
        for (properties, arguments, pairs, good) in [
            (&flat, json!({ "region": "eu" }), with(&region), true),
            (&flat, json!({ "region": "us" }), with(&region), false),
            (&flat, json!({ "region": "eu" }), with(&[]), false),
            (&flat, json!({}), with(&[]), true),
            (&flat, json!({ "region": null }), with(&[]), true),
            (&flat, json!({}), with(&region), false),
            (&flat, json!({ "region": null }), with(&region), false),
            (
                &flat,
                json!({ "region": 5 }),
                with(&[("Mcp-Param-Region", "5")]),
                true,
            ),
            (
                &flat,
                json!({ "region": true }),
                with(&[("mcp-param-region", "true")]),
                true,
            ),
            (
                &flat,
                json!({ "region": "eu" }),
                with(&[region[0], region[0]]),
                false,
            ),
            (&flat, json!({}), with(&[region[0], region[0]]), false),
            (
                &nested,
                json!({ "place": { "region": "eu" } }),
                with(&region),
                true,
            ),
            (
                &nested,
                json!({ "place": { "region": "eu" } }),
                with(&[]),
                false,
            ),
            (&nested, json!({ "region": "eu" }), with(&[]), true),
        ] {
            let params = json!({ "name": "deploy", "arguments": arguments });
            let result = result(&pairs, &params, properties.clone());
            assert_eq!(result.is_ok(), good, "{params} {pairs:?}: {result:?}");
        }
    }
}
