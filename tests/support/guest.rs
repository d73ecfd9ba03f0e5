//! Components for tests, built from text modules and a WIT world.

use std::path::{Path, PathBuf};

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// The folder of the WIT of the answers component, and the version of its package.
const ANSWERS_WIT: (&str, &str) = ("../wit/answers", "0.2.0");

/// The body of a request that a guest builds.
pub const BODY: &str =
    r#"{"model":"brave","stream":true,"messages":[{"role":"user","content":"q"}]}"#;

/// Encodes a text module as a component of a world.
pub fn encode(
    resolve: &Resolve,
    package: wit_parser::PackageId,
    world: &str,
    module: &str,
) -> Vec<u8> {
    let world = resolve.select_world(&[package], Some(world)).unwrap();
    let mut module = wat::parse_str(module).unwrap();
    embed_component_metadata(&mut module, resolve, world, StringEncoding::UTF8, false).unwrap();
    ComponentEncoder::default()
        .module(&module)
        .unwrap()
        .encode()
        .unwrap()
}

/// A component of the world `answers`. Functions without a body trap.
pub struct Guest {
    /// The declaration of the memory.
    pub memory: String,
    /// Additional data, functions and a start function.
    pub more: String,
    /// The names of functions of the world and their bodies.
    functions: Vec<(&'static str, String)>,
}

/// The functions of the world: interface, name, and type with named parameters.
const FUNCTIONS: [(&str, &str, &str); 10] = [
    ("request", "build", "(param $question i32) (result i32)"),
    (
        "reply",
        "[constructor]parser",
        "(param i32 i32 i32 i32 i32 i32 i32 i32 i64) (result i32)",
    ),
    ("reply", "[method]parser.head", "(param i32 i32 i32)"),
    (
        "reply",
        "[method]parser.push",
        "(param $this i32) (param $bytes i32) (param $length i32) (result i32) (local $at i32)",
    ),
    (
        "reply",
        "[static]parser.finish",
        "(param $this i32) (result i32)",
    ),
    (
        "reply",
        "parse-all",
        "(param i32 i32 i32 i32 i32) (result i32)",
    ),
    ("reply", "infer-mode", "(param i32 i32) (result i32)"),
    (
        "reply",
        "failure",
        "(param i32 i32 i32 i32 i32) (result i32)",
    ),
    ("normalize", "render", "(param $outcome i32) (result i32)"),
    ("normalize", "spans", "(param i32 i32 i32) (result i32)"),
];

impl Default for Guest {
    fn default() -> Self {
        Self {
            memory: "(memory (export \"memory\") 2)".to_owned(),
            more: String::new(),
            functions: Vec::new(),
        }
        .with("[constructor]parser", "(call $new (i32.const 1))")
        .with("[method]parser.head", "")
    }
}

impl Guest {
    /// Sets the body of a function of the world.
    pub fn with(mut self, name: &'static str, body: impl Into<String>) -> Self {
        assert!(FUNCTIONS.iter().any(|(_, known, _)| *known == name));
        self.functions.retain(|(known, _)| *known != name);
        self.functions.push((name, body.into()));
        self
    }

    /// Adds data, functions and a start function.
    pub fn and(mut self, more: impl AsRef<str>) -> Self {
        self.more.push_str(more.as_ref());
        self
    }

    /// Makes the guest build a request with this body for every question.
    pub fn asking(self, body: &str) -> Self {
        const PATH: &str = "/res/v1/chat/completions";
        let number = |number: usize| {
            let bytes = u32::try_from(number).unwrap().to_le_bytes();
            bytes.map(|byte| format!("\\{byte:02x}")).concat()
        };
        // An ok result with method, path, no headers and body.
        let request = [0, 3072, 4, 3136, PATH.len(), 0, 0, 3200, body.len()].map(number);
        let (request, body) = (request.concat(), body.replace('"', "\\\""));
        self.with("build", "(i32.const 1536)").and(format!(
            r#"
  (data (i32.const 1536) "{request}")
  (data (i32.const 3072) "POST")
  (data (i32.const 3136) "{PATH}")
  (data (i32.const 3200) "{body}")"#
        ))
    }

    fn module(&self) -> String {
        let version = ANSWERS_WIT.1;
        let memory = &self.memory;
        let functions: String = FUNCTIONS
            .iter()
            .map(|(interface, name, ty)| {
                let given = self.functions.iter().find(|(known, _)| known == name);
                let body = given.map_or("unreachable", |(_, body)| body);
                format!("(func (export \"glovebox:answers/{interface}@{version}#{name}\") {ty} {body})\n")
            })
            .collect();
        let more = &self.more;
        format!(
            r#"(module
  (import "[export]glovebox:answers/reply@{version}" "[resource-new]parser" (func $new (param i32) (result i32)))
  {memory}
  (global $top (mut i32) (i32.const 65536))
  (func $align (param $at i32) (param $to i32) (result i32)
    (i32.and
      (i32.sub (i32.add (local.get $at) (local.get $to)) (i32.const 1))
      (i32.sub (i32.const 0) (local.get $to))))
  ;; What the host lowers lies one after the other and is never freed; past the end of the memory it starts again.
  (func (export "cabi_realloc") (param $old i32) (param $was i32) (param $to i32) (param $size i32) (result i32)
    (local $at i32)
    (local.set $at (call $align (global.get $top) (local.get $to)))
    (if (i32.gt_u (i32.add (local.get $at) (local.get $size)) (i32.mul (memory.size) (i32.const 65536)))
      (then (local.set $at (i32.const 65536))))
    (global.set $top (i32.add (local.get $at) (local.get $size)))
    (local.get $at))
  {functions}
  {more})"#
        )
    }

    /// Writes the component to a file in a folder and returns its path.
    pub fn write(&self, folder: &Path) -> PathBuf {
        let mut resolve = Resolve::default();
        let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join(ANSWERS_WIT.0);
        let (package, _) = resolve.push_path(wit).unwrap();
        let path = folder.join("guest.wasm");
        std::fs::write(&path, encode(&resolve, package, "answers", &self.module())).unwrap();
        path
    }
}

/// Data for a `push` that returns `(i32.const 1024)`: a batch with one event, the text `ok` at offset 7, and no error.
pub const ONE_EVENT: &str = r#"
  (data (i32.const 1024) "\00\05\00\00\01\00\00\00\00")
  (data (i32.const 1280) "\07\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\08\00\00\02\00\00\00")
  (data (i32.const 2048) "ok")"#;

/// Returns the body of a `push` that runs `deed` if its first byte is `!`, and otherwise returns [`ONE_EVENT`].
pub fn push(deed: &str) -> String {
    format!(
        r#"(if (i32.eqz (local.get $length)) (then (return (i32.const 1024))))
    (if (i32.ne (i32.load8_u (local.get $bytes)) (i32.const 33)) (then (return (i32.const 1024))))
    {deed}"#
    )
}
