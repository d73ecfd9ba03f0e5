//! `glovebox bridge` from outside: the real process between a client on pipes and servers of every kind on loopback.

mod ends;
mod fake;
mod hostile;
mod older;
mod passing;
mod peers;
mod secrets;
mod sessions;
mod stateless;
mod streams;
mod tls;

use std::process::Command;

use serde_json::{Value, json};

use crate::support::server::{Server, program};

/// A bridge to an address, with its options and variables.
pub fn bridge_with(url: &str, args: &[&str], variables: &[(&str, &str)]) -> Server {
    Server::spawn(command(url, args, variables))
}

/// A bridge to an address.
pub fn bridge(url: &str) -> Server {
    bridge_with(url, &[], &[])
}

/// The command line of a bridge, with nothing of this machine's settings.
pub fn command(url: &str, args: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut command = program(&std::env::temp_dir());
    command.args(["bridge", url]).args(args);
    command.envs(variables.iter().copied());
    command
}

/// Opens a conversation with every capability of a client.
pub fn open(server: &mut Server) -> Value {
    open_as(server, "2025-11-25")
}

/// Opens a conversation of a protocol version.
pub fn open_as(server: &mut Server, version: &str) -> Value {
    let reply = server.ask(
        "initialize",
        json!({
            "protocolVersion": version,
            "capabilities": { "elicitation": {}, "sampling": {}, "roots": { "listChanged": true } },
            "clientInfo": { "name": "test", "version": "1" },
        }),
    );
    assert!(reply.get("result").is_some(), "{reply}");
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    reply
}

/// Calls a tool and gives the text of its result.
pub fn call(server: &mut Server, tool: &str, arguments: Value) -> String {
    let result = server.call(tool, arguments);
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

/// The bridge's own error in a reply.
pub fn own_error(reply: &Value) -> (String, String, String) {
    let error = &reply["error"];
    assert_eq!(error["data"]["source"], "glovebox bridge", "{reply}");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (
        text(&error["data"]["kind"]),
        text(&error["data"]["sent"]),
        text(&error["message"]),
    )
}
