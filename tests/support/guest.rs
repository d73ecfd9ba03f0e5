//! Components of the world `answers` made of a few lines of core WebAssembly: they build one request, whatever they are
//! asked, and do with its reply what a test wants.

use std::path::{Path, PathBuf};

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// What such a guest asks for.
const BODY: &str = r#"{"model":"brave","stream":true,"messages":[{"role":"user","content":"q"}]}"#;
/// The address of a batch of one event, a text, and no error.
pub const BATCH: &str = "(i32.const 3072)";

/// A guest whose `push` does this. The locals are `$this`, `$bytes`, `$length` and `$at`; the result is the address of a
/// batch. Its other exports fail where they are called.
pub fn guest(push: &str) -> String {
    let interface = "glovebox:answers";
    let body = BODY.replace('"', "\\\"");
    let length = format!("\\{:02x}\\00\\00\\00", BODY.len());
    format!(
        r#"(module
  (import "[export]{interface}/reply@0.1.0" "[resource-new]parser" (func $new (param i32) (result i32)))
  (memory (export "memory") 3)
  ;; At 1024 an ok of method, path, no headers, body.
  (data (i32.const 1024) "\00\00\00\00\00\08\00\00\04\00\00\00\00\09\00\00\18\00\00\00\00\00\00\00\00\00\00\00\00\0a\00\00{length}")
  (data (i32.const 2048) "POST")
  (data (i32.const 2304) "/res/v1/chat/completions")
  (data (i32.const 2560) "{body}")
  ;; At 3072 a batch of one event, at 3328; its text is at 3840.
  (data (i32.const 3072) "\00\0d\00\00\01\00\00\00\00")
  (data (i32.const 3328) "\07\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\0f\00\00\02\00\00\00")
  (data (i32.const 3840) "ok")
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 65536))
  (func (export "{interface}/request@0.1.0#build") (param i32) (result i32) (i32.const 1024))
  (func (export "{interface}/reply@0.1.0#[constructor]parser")
    (param i32 i32 i32 i32 i32 i32 i32 i32 i64) (result i32) (call $new (i32.const 1)))
  (func (export "{interface}/reply@0.1.0#[method]parser.head") (param i32 i32 i32))
  (func (export "{interface}/reply@0.1.0#[method]parser.push")
    (param $this i32) (param $bytes i32) (param $length i32) (result i32) (local $at i32)
    {push})
  (func (export "{interface}/reply@0.1.0#[static]parser.finish") (param i32) (result i32) unreachable)
  (func (export "{interface}/reply@0.1.0#parse-all") (param i32 i32 i32 i32 i32) (result i32) unreachable)
  (func (export "{interface}/reply@0.1.0#infer-mode") (param i32 i32) (result i32) unreachable)
  (func (export "{interface}/reply@0.1.0#failure") (param i32 i32 i32 i32 i32) (result i32) unreachable)
  (func (export "{interface}/normalize@0.1.0#render") (param i32) (result i32) unreachable)
)"#
    )
}

/// The component of a core module, in a file of this folder.
pub fn component(folder: &Path, module: &str) -> PathBuf {
    let mut resolve = Resolve::default();
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit");
    let (package, _) = resolve.push_path(wit).unwrap();
    let world = resolve.select_world(&[package], Some("answers")).unwrap();
    let mut module = wat::parse_str(module).unwrap();
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
