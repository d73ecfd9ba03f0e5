//! The headers that repeat what a request of 2026-07-28 says (SEP-2243). Those of a tool's arguments are learned from
//! the server's list of tools.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::message::{CALL, Message};
use super::session::VERSION;

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const PARAM: &str = "mcp-param-";

/// The arguments of a tool that are repeated in headers: the path of each through the properties, and its header.
type Annotated = Vec<(Vec<String>, HeaderName)>;

/// What was learned of the server's tools.
#[derive(Debug, Default)]
pub struct Tools(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    tools: HashMap<String, Annotated>,
    /// Whether the whole list was read.
    complete: bool,
}

impl Tools {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the list has to be read before this request can be sent.
    #[must_use]
    pub fn must_learn(&self, request: &Message) -> bool {
        let known = self.known();
        request.method() == CALL
            && !known.complete
            && !tool_of(request).is_some_and(|tool| known.tools.contains_key(&tool))
    }

    /// Learns from an answer to `tools/list`. Returns where the list goes on.
    pub fn learn(&self, answer: &Message) -> Option<String> {
        let result: Map<String, Value> = serde_json::from_str(answer.raw_result()?).ok()?;
        let mut known = self.known();
        for tool in result.get("tools")?.as_array()? {
            let Some(name) = tool.get("name").and_then(Value::as_str) else {
                continue;
            };
            let mut annotated = Vec::new();
            if let Some(schema) = tool.get("inputSchema") {
                collect(schema, &mut Vec::new(), &mut annotated);
            }
            known.tools.insert(name.to_owned(), annotated);
        }
        Some(result.get("nextCursor")?.as_str()?.to_owned())
    }

    /// Notes that the whole list was read.
    pub fn learned_all(&self) {
        self.known().complete = true;
    }

    /// Forgets the tools: they have changed.
    pub fn forget(&self) {
        *self.known() = Known::default();
    }

    /// Returns the headers of a request that names its version itself.
    #[must_use]
    pub fn headers(&self, request: &Message, version: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let mut insert = |name: HeaderName, text: &str| {
            if let Ok(value) = HeaderValue::from_str(&encode(text)) {
                headers.insert(name, value);
            }
        };
        insert(VERSION, version);
        insert(METHOD, request.method());
        let params = request.params();
        if let Some(name) = name_of(request.method(), &params) {
            insert(NAME, name);
        }
        if request.method() == CALL
            && let Some(tool) = params.get("name").and_then(Value::as_str)
            && let Some(annotated) = self.known().tools.get(tool)
        {
            for (path, header) in annotated {
                let arguments = params.get("arguments");
                let argument = path
                    .iter()
                    .try_fold(arguments, |value, key| value.map(|value| value.get(key)));
                if let Some(text) = argument.flatten().and_then(text) {
                    insert(header.clone(), &text);
                }
            }
        }
        headers
    }
}

/// Returns the tool that a call names.
#[must_use]
pub fn tool_of(request: &Message) -> Option<String> {
    Some(request.params().get("name")?.as_str()?.to_owned())
}

fn name_of<'a>(method: &str, params: &'a Map<String, Value>) -> Option<&'a str> {
    let key = match method {
        CALL | "prompts/get" => "name",
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    params.get(key)?.as_str()
}

/// Collects the properties with a header.
fn collect(schema: &Value, path: &mut Vec<String>, into: &mut Annotated) {
    /// Deeper than any schema of a tool.
    const DEEPEST: usize = 64;
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return;
    };
    if path.len() >= DEEPEST {
        return;
    }
    for (name, property) in properties {
        path.push(name.clone());
        if let Some(header) = property.get("x-mcp-header").and_then(Value::as_str)
            && let Ok(header) = HeaderName::try_from(format!("{PARAM}{header}"))
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

/// Returns a value as a header may have it: itself, or inside `=?base64?…?=`.
fn encode(text: &str) -> String {
    let plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && text.trim() == text
        && !text.starts_with("=?base64?");
    if plain {
        text.to_owned()
    } else {
        format!("=?base64?{}?=", BASE64_STANDARD.encode(text))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(value: &Value) -> Message {
        Message::read(value.to_string().into())
            .unwrap()
            .pop()
            .unwrap()
    }

    #[test]
    fn headers_repeat_the_request() {
        let tools = Tools::default();
        let call = |arguments: Value| {
            message(
                &json!({ "id": 1, "method": "tools/call", "params": { "name": "déploy", "arguments": arguments } }),
            )
        };
        assert!(tools.must_learn(&call(json!({}))));
        let properties = json!({
            "region": { "type": "string", "x-mcp-header": "Region" },
            "size": { "type": "object", "properties": { "count": { "x-mcp-header": "Count" } } },
            "bad": { "x-mcp-header": "no header" },
        });
        let list = json!({ "id": 2, "result": { "nextCursor": "2", "tools": [
            { "name": "déploy", "inputSchema": { "properties": properties } }
        ] } });
        assert_eq!(tools.learn(&message(&list)).as_deref(), Some("2"));
        let request = call(json!({ "region": " eu", "size": { "count": 5 }, "bad": "x" }));
        assert!(!tools.must_learn(&request));
        let headers = tools.headers(&request, "2026-07-28");
        let pairs: Vec<_> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
            .collect();
        for pair in [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "=?base64?ZMOpcGxveQ==?="),
            ("mcp-param-region", "=?base64?IGV1?="),
            ("mcp-param-count", "5"),
        ] {
            assert!(pairs.contains(&pair), "{pair:?} in {pairs:?}");
        }
        assert_eq!(pairs.len(), 5);
        // An argument that is absent has no header.
        assert_eq!(tools.headers(&call(json!({})), "2026-07-28").len(), 3);
        let other = message(&json!({ "id": 1, "method": "tools/call", "params": { "name": "x" } }));
        assert!(tools.must_learn(&other));
        tools.learned_all();
        assert!(!tools.must_learn(&other));
        tools.forget();
        assert!(tools.must_learn(&request));
    }
}
