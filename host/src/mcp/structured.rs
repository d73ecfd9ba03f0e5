//! Which clients get output schemas and structured content.
//!
//! The text of a result stands alone. Several clients show a model the structured content instead of the text or in
//! addition to it, so that the model reads JSON, or reads everything twice. They get the text alone.

use rmcp::model::{Implementation, ProtocolVersion};

/// When tools have an output schema and results have structured content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Structured {
    /// Where the protocol has them and the client is not one of [`CLIENTS`].
    #[default]
    Auto,
    /// Where the protocol has them.
    On,
    /// Never.
    Off,
}

impl Structured {
    /// Returns whether a client gets them, by the protocol version in use and the name that the client gives itself.
    #[must_use]
    pub fn applies(
        self,
        version: Option<&ProtocolVersion>,
        client: Option<&Implementation>,
    ) -> bool {
        let in_protocol = version.is_some_and(|version| *version >= ProtocolVersion::V_2025_06_18);
        match self {
            Self::Off => false,
            Self::On => in_protocol,
            Self::Auto => in_protocol && !client.is_some_and(|client| listed(&client.name)),
        }
    }
}

/// What a client puts before its model where a result has text and structured content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// The structured content instead of the text.
    StructuredOnly,
    /// The text and the structured content.
    Both,
}

/// A client that gets the text alone by default.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// The name in its `clientInfo`. A name that continues after a hyphen is the same client: some append the name
    /// of the server's entry.
    pub name: &'static str,
    /// The product and the version in which `shows` was seen, by tests/agents.
    pub seen: &'static str,
    /// What it does with structured content.
    pub shows: Shows,
}

/// The clients that get the text alone by default.
pub const CLIENTS: &[Client] = &[
    Client {
        name: "claude-code",
        seen: "Claude Code 2.1.332",
        shows: Shows::StructuredOnly,
    },
    Client {
        name: "codex-mcp-client",
        seen: "Codex 0.171.0",
        shows: Shows::StructuredOnly,
    },
    // The name of the library below pydantic-ai, which gives itself none.
    Client {
        name: "fastmcp",
        seen: "pydantic-ai 2.68.0 with fastmcp 4.2.3",
        shows: Shows::StructuredOnly,
    },
    Client {
        name: "copilot-cli",
        seen: "Copilot CLI 1.0.102",
        shows: Shows::Both,
    },
    Client {
        name: "qwen-cli-mcp-client",
        seen: "Qwen Code 0.24.4",
        shows: Shows::Both,
    },
    Client {
        name: "@cline/core",
        seen: "Cline CLI 3.0.65",
        shows: Shows::Both,
    },
];

fn listed(name: &str) -> bool {
    CLIENTS.iter().any(|client| {
        name.strip_prefix(client.name)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    })
}
