//! A parser that fails in the middle of a stream, as an MCP client sees it: its call ends with an error that names
//! the failure, the output stays clean, and the server goes on.

use std::path::{Path, PathBuf};

use crate::support::server::{Server, Simulator, state, text};
use serde_json::{Value, json};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// What the guest asks for, whatever it is asked.
const BODY: &str = r#"{"model":"brave","stream":true,"messages":[{"role":"user","content":"q"}]}"#;

/// A guest of the world that builds one request and fails on the first bytes of its reply.
fn guest() -> String {
    let interface = "glovebox:answers";
    let body = BODY.replace('"', "\\\"");
    let length = format!("\\{:02x}\\00\\00\\00", BODY.len());
    format!(
        r#"(module
  (import "[export]{interface}/reply@0.2.0" "[resource-new]parser" (func $new (param i32) (result i32)))
  (memory (export "memory") 2)
  ;; At 1024 an ok of method, path, no headers, body.
  (data (i32.const 1024) "\00\00\00\00\00\08\00\00\04\00\00\00\00\09\00\00\18\00\00\00\00\00\00\00\00\00\00\00\00\0a\00\00{length}")
  (data (i32.const 2048) "POST")
  (data (i32.const 2304) "/res/v1/chat/completions")
  (data (i32.const 2560) "{body}")
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 65536))
  (func (export "{interface}/request@0.2.0#build") (param i32) (result i32) (i32.const 1024))
  (func (export "{interface}/reply@0.2.0#[constructor]parser")
    (param i32 i32 i32 i32 i32 i32 i32 i32 i64) (result i32) (call $new (i32.const 1)))
  (func (export "{interface}/reply@0.2.0#[method]parser.head") (param i32 i32 i32))
  (func (export "{interface}/reply@0.2.0#[method]parser.push") (param i32 i32 i32) (result i32) unreachable)
  (func (export "{interface}/reply@0.2.0#[static]parser.finish") (param i32) (result i32) unreachable)
  (func (export "{interface}/reply@0.2.0#parse-all") (param i32 i32 i32 i32 i32) (result i32) unreachable)
  (func (export "{interface}/reply@0.2.0#infer-mode") (param i32 i32) (result i32) unreachable)
  (func (export "{interface}/reply@0.2.0#failure") (param i32 i32 i32 i32 i32) (result i32) unreachable)
  (func (export "{interface}/normalize@0.2.0#render") (param i32) (result i32) unreachable)
  (func (export "{interface}/normalize@0.2.0#spans") (param i32 i32 i32) (result i32) unreachable)
)"#
    )
}

fn component(folder: &Path) -> PathBuf {
    let mut resolve = Resolve::default();
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit/answers");
    let (package, _) = resolve.push_path(wit).unwrap();
    let world = resolve.select_world(&[package], Some("answers")).unwrap();
    let mut module = wat::parse_str(guest()).unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8, false).unwrap();
    let component = ComponentEncoder::default()
        .module(&module)
        .unwrap()
        .encode()
        .unwrap();
    let path = folder.join("guest.wasm");
    std::fs::write(&path, component).unwrap();
    path
}

#[test]
fn a_trap_ends_its_call_alone_and_leaves_the_output_clean() {
    let simulator = Simulator::start("0");
    let state = state();
    let guest = component(state.path());
    let flags = ["--component", guest.to_str().unwrap()];
    let mut server = Server::unread(
        state.path(),
        Some(&simulator),
        &flags,
        &[("RUST_LOG", "trace"), ("RUST_BACKTRACE", "1")],
    );
    // Every line that is read is checked to be a message.
    server.read();
    server.initialize("2025-11-25");
    for tool in ["answers", "research"] {
        let failed = server.call(tool, json!({"query": "q"}));
        assert_eq!(failed["isError"], true, "{tool}: {failed}");
        assert!(text(&failed).contains("unreachable"), "{tool}: {failed}");
        assert!(failed.get("structuredContent").is_none());
    }
    assert_eq!(simulator.log().len(), 2);
    let status = server.call("status", json!({}));
    assert_eq!(status["structuredContent"]["state"], "ready", "{status}");
    let errors: Vec<Value> = server
        .settled()
        .into_iter()
        .filter(|message| message.get("error").is_some())
        .collect();
    assert_eq!(errors, Vec::<Value>::new());
    server.leave();
}
