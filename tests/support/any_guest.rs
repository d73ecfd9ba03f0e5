//! A component of any world, made here: every exported function traps, except those that are given a body.

use std::path::{Path, PathBuf};

use wit_parser::abi::{AbiVariant, WasmType};
use wit_parser::{Function, FunctionKind, Resolve, WorldItem};

use super::guest::encode;

/// A core module of a world, under construction.
#[derive(Default)]
pub struct AnyGuest {
    /// Declares the memory.
    pub memory: String,
    /// Data, functions and a start.
    pub more: String,
    bodies: Vec<(String, String)>,
}

impl AnyGuest {
    /// Gives a function a body. The name is `interface#function`; parameters are `$p0`, `$p1` and so on.
    pub fn with(mut self, name: &str, body: &str) -> Self {
        self.bodies.push((name.to_owned(), body.to_owned()));
        self
    }

    /// Adds data, functions or a start.
    pub fn and(mut self, more: &str) -> Self {
        self.more.push_str(more);
        self
    }

    /// Writes the component of the package in `wit`, to a file of this folder. A constructor that is given no body makes a
    /// resource; a resource is made by `(call $new-NAME (i32.const 1))`.
    pub fn write(&self, wit: &Path, world: &str, folder: &Path) -> PathBuf {
        let mut resolve = Resolve::default();
        let (package, _) = resolve.push_path(wit).unwrap();
        let id = resolve.select_world(&[package], Some(world)).unwrap();
        let (mut imports, mut functions, mut used) = (String::new(), String::new(), 0);
        for (key, item) in &resolve.worlds[id].exports {
            let WorldItem::Interface { id, .. } = item else {
                panic!("a function of its own");
            };
            let interface = resolve.name_world_key(key);
            let short = resolve.interfaces[*id].name.clone().unwrap();
            for function in resolve.interfaces[*id].functions.values() {
                let name = &function.name;
                let given = self
                    .bodies
                    .iter()
                    .find(|(known, _)| *known == format!("{short}#{name}"));
                used += usize::from(given.is_some());
                let mut body = given.map_or("unreachable".to_owned(), |(_, body)| body.clone());
                if let FunctionKind::Constructor(resource) = &function.kind {
                    let resource = resolve.types[*resource].name.clone().unwrap();
                    imports.push_str(&format!(
                        "(import \"[export]{interface}\" \"[resource-new]{resource}\" (func $new-{resource} (param i32) (result i32)))\n"
                    ));
                    if given.is_none() {
                        body = format!("(call $new-{resource} (i32.const 1))");
                    }
                }
                let ty = signature(&resolve, function);
                functions.push_str(&format!(
                    "(func (export \"{interface}#{name}\") {ty} {body})\n"
                ));
            }
        }
        assert_eq!(used, self.bodies.len(), "a body of an unknown function");
        let memory = match self.memory.as_str() {
            "" => "(memory (export \"memory\") 2)",
            memory => memory,
        };
        let more = &self.more;
        // What the host lowers is never read, so all of it may lie in one place.
        let module = format!(
            "(module {imports} {memory}
              (func (export \"cabi_realloc\") (param i32 i32 i32 i32) (result i32) (i32.const 65536))
              {functions} {more})"
        );
        let path = folder.join("guest.wasm");
        std::fs::write(&path, encode(&resolve, package, world, &module)).unwrap();
        path
    }
}

/// The type of a function in the text format, with numbered parameters.
fn signature(resolve: &Resolve, function: &Function) -> String {
    let signature = resolve.wasm_signature(AbiVariant::GuestExport, function);
    let name = |ty: &WasmType| match ty {
        WasmType::I64 | WasmType::PointerOrI64 => "i64",
        WasmType::F32 => "f32",
        WasmType::F64 => "f64",
        _ => "i32",
    };
    let params = signature.params.iter().enumerate();
    let params: String = params
        .map(|(at, ty)| format!("(param $p{at} {})", name(ty)))
        .collect();
    let results: String = signature
        .results
        .iter()
        .map(|ty| format!("(result {})", name(ty)))
        .collect();
    format!("{params}{results}")
}
