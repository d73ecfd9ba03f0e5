//! Writes server-sent events, either as recorded or as the documentation of the API shows them.

use bytes::Bytes;
use serde_json::json;

use super::variants::Variants;

/// The usage of a call. Its cost follows the published prices.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// The number of queries.
    pub queries: u64,
    /// The number of tokens read.
    pub tokens_in: u64,
    /// The number of tokens written.
    pub tokens_out: u64,
}

/// The name of the field with the total cost.
pub const TOTAL_COST: &str = "X-Request-Total-Cost";

const USD_PER_QUERY: f64 = 0.004;
const USD_PER_TOKEN: f64 = 5e-6;

impl Usage {
    /// Returns the `X-Request-*` fields in the order of the API.
    #[allow(clippy::cast_precision_loss)] // token counts stay far below 2^52
    pub fn members(&self) -> [(&'static str, f64); 9] {
        let queries = self.queries as f64 * USD_PER_QUERY;
        let tokens_in = self.tokens_in as f64 * USD_PER_TOKEN;
        let tokens_out = self.tokens_out as f64 * USD_PER_TOKEN;
        [
            ("X-Request-Requests", 1.0),
            ("X-Request-Queries", self.queries as f64),
            ("X-Request-Tokens-In", self.tokens_in as f64),
            ("X-Request-Tokens-Out", self.tokens_out as f64),
            ("X-Request-Requests-Cost", 0.0),
            ("X-Request-Queries-Cost", queries),
            ("X-Request-Tokens-In-Cost", tokens_in),
            ("X-Request-Tokens-Out-Cost", tokens_out),
            (TOTAL_COST, queries + tokens_in + tokens_out),
        ]
    }

    /// Returns the usage tag. `total` replaces the total cost.
    pub fn tag(&self, total: Option<&str>) -> String {
        let value = |name: &str, value: f64| match total {
            Some(total) if name == TOTAL_COST => total.to_owned(),
            _ => number(value),
        };
        let members: Vec<String> = self
            .members()
            .iter()
            .map(|(name, figure)| format!("\"{name}\": {}", value(name, *figure)))
            .collect();
        format!("<usage>{{{}}}</usage>", members.join(", "))
    }

    /// Returns the `usage` object of the last chunk and of a reply that is not streamed.
    pub fn object(&self) -> serde_json::Value {
        json!({
            "prompt_tokens": self.tokens_in,
            "completion_tokens": self.tokens_out,
            "total_tokens": self.tokens_in + self.tokens_out,
            "completion_tokens_details": {"reasoning_tokens": 0},
        })
    }
}

/// Formats a number as JSON. Integers have no decimal point.
pub fn number(value: f64) -> String {
    serde_json::to_string(&value).map_or_else(
        |_| "null".to_owned(),
        |text| text.trim_end_matches(".0").to_owned(),
    )
}

/// Writes the events of one reply.
#[derive(Clone, Debug)]
pub struct EventWriter {
    variants: Variants,
    id: String,
    created: u64,
    begun: bool,
}

impl EventWriter {
    /// Creates a writer with new ids for a reply with these variants.
    pub fn new(variants: Variants, created: u64, rng: &mut fastrand::Rng) -> Self {
        let id = uuid::Builder::from_random_bytes(rng.u128(..).to_be_bytes()).into_uuid();
        let id = if variants.openai {
            format!("chatcmpl-{}", id.simple())
        } else {
            id.to_string()
        };
        Self {
            variants,
            id,
            created,
            begun: false,
        }
    }

    /// Returns the event of a content delta.
    pub fn delta(&mut self, content: &str) -> Bytes {
        let content = json!(content);
        let data = if self.variants.openai {
            let role = if self.begun {
                ""
            } else {
                "\"role\":\"assistant\","
            };
            self.openai(&format!("{{{role}\"content\":{content}}}"), "null", "null")
        } else {
            self.recorded(&content.to_string(), "null", "null")
        };
        self.event(&data)
    }

    /// Returns the event of the last chunk.
    pub fn stop(&mut self, reason: &str, usage: &Usage) -> Bytes {
        let (reason, usage) = (format!("\"{reason}\""), usage.object().to_string());
        let data = if self.variants.openai {
            self.openai("{}", &reason, &usage)
        } else {
            self.recorded("\"\"", &reason, &usage)
        };
        self.event(&data)
    }

    /// Returns the `[DONE]` event.
    pub fn done(&mut self) -> Bytes {
        self.event("[DONE]")
    }

    fn recorded(&self, content: &str, reason: &str, usage: &str) -> String {
        format!(
            "{{\"model\":\"brave-pro\",\"system_fingerprint\":\"\",\"choices\":[{{\"delta\":{{\"role\":\"assistant\",\"content\":{content}}},\"finish_reason\":{reason}}}],\"created\":{},\"id\":\"{}\",\"object\":\"chat.completion.chunk\",\"usage\":{usage}}}",
            self.created, self.id
        )
    }

    fn openai(&self, delta: &str, reason: &str, usage: &str) -> String {
        format!(
            "{{\"id\":\"{}\",\"object\":\"chat.completion.chunk\",\"created\":{},\"model\":\"brave-pro\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{reason}}}],\"usage\":{usage}}}",
            self.id, self.created
        )
    }

    fn event(&mut self, data: &str) -> Bytes {
        let end = self.variants.line_end();
        let space = if self.variants.no_space { "" } else { " " };
        let mut text = String::new();
        if self.variants.bom && !self.begun {
            text.push('\u{feff}');
        }
        if self.variants.comments {
            text.push_str(": keep-alive");
            text.push_str(end);
        }
        self.begun = true;
        text.push_str("data:");
        text.push_str(space);
        text.push_str(data);
        text.push_str(end);
        text.push_str(end);
        Bytes::from(text)
    }
}
