//! The golden vectors of the traffic component in the sandbox. A vector is a trial, `traffic::NAME`, so that one that fails is
//! named; `guest/traffic/tests/vectors.rs` runs the same natively.
//!
//! The calls are made by name and their results read by their types, so that every member of every record is compared.
//! `GLOVEBOX_TEST_TRAFFIC` names another component, such as one that was just rebuilt.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use base64::Engine as _;
use glovebox::sandbox::{Component, ComponentSource, Held, Sandbox, Session, World};
use glovebox::traffic::{COMPONENT, bounds};
use libtest_mimic::Trial;
use serde_json::{Map, Value, json};
use wasmtime::Store;
use wasmtime::component::{Instance, InstancePre, Type, Val};

/// The version of the WIT package.
const VERSION: &str = "0.1.0";
/// The key of every vector, and that of the call.
const KEY: &[u8] = b"the key of the golden vectors";
const CALL_KEY: &[u8] = b"the key of the call";
/// The time of the checks, in milliseconds since the Unix epoch.
const NOW_MS: i64 = 1_767_225_600_000;

/// The world with its exports found by name.
struct AnyTraffic;

impl World for AnyTraffic {
    const NAME: &'static str = "glovebox:traffic/traffic";
    type Data = ();
    type Indices = ();
    type Exports = Instance;

    fn find(_: &InstancePre<Held<()>>) -> wasmtime::Result<()> {
        Ok(())
    }

    fn load((): &(), _: &mut Store<Held<()>>, instance: &Instance) -> wasmtime::Result<Instance> {
        Ok(*instance)
    }
}

/// One trial a vector.
pub fn trials() -> Vec<Trial> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder().join("vectors"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    assert!(paths.len() >= 100, "only {} vectors", paths.len());
    let trials = paths.into_iter().map(|path| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        Trial::test(format!("traffic::{name}"), move || {
            gives_what_it_says(&path);
            Ok(())
        })
    });
    trials.collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/traffic")
}

fn component() -> &'static Component<AnyTraffic> {
    static COMPONENT_OF_ALL: OnceLock<Component<AnyTraffic>> = OnceLock::new();
    COMPONENT_OF_ALL.get_or_init(|| {
        let source = match std::env::var_os("GLOVEBOX_TEST_TRAFFIC") {
            Some(path) => ComponentSource::File(path.into()),
            None => ComponentSource::Embedded(COMPONENT),
        };
        Component::start(&Sandbox::default(), source, bounds())
    })
}

fn gives_what_it_says(path: &Path) {
    let vector: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let input = match (vector.get("file"), vector.get("text")) {
        (Some(file), _) => fs::read(folder().join(file.as_str().unwrap())).unwrap(),
        (None, Some(text)) => text.as_str().unwrap().as_bytes().to_vec(),
        (None, None) => Vec::new(),
    };
    let mut guest = Guest(component().open(()).unwrap());
    let found = guest.run(
        vector["call"].as_str().unwrap(),
        &input,
        vector.get("options").unwrap_or(&Value::Null),
    );
    assert_eq!(found, vector["expect"]);
}

/// One session, called by names.
struct Guest(Session<AnyTraffic>);

/// A value with its type, which tells bytes from an empty list.
struct Typed(Val, Type);

impl Typed {
    fn json(&self) -> Value {
        to_json(&self.0, &self.1)
    }

    /// A member of a record.
    fn member(&self, name: &str) -> Self {
        let (Val::Record(members), Type::Record(ty)) = (&self.0, &self.1) else {
            panic!("{:?} is no record", self.0);
        };
        let (_, value) = members.iter().find(|(known, _)| known == name).unwrap();
        let ty = ty.fields().find(|field| field.name == name).unwrap().ty;
        Self(value.clone(), ty)
    }

    fn list(self) -> Vec<Val> {
        match self.0 {
            Val::List(list) => list,
            other => panic!("{other:?} is no list"),
        }
    }
}

impl Guest {
    fn call(&mut self, interface: &str, name: &str, arguments: &[Val]) -> Option<Typed> {
        let called = self.0.call(|store, instance| {
            let interface = format!("glovebox:traffic/{interface}@{VERSION}");
            let inside = instance.get_export_index(&mut *store, None, &interface);
            let index = instance.get_export_index(&mut *store, inside.as_ref(), name);
            let func = instance.get_func(&mut *store, index.unwrap()).unwrap();
            let ty = func.ty(&*store).results().next();
            let mut results = vec![Val::Bool(false); usize::from(ty.is_some())];
            func.call(&mut *store, arguments, &mut results)?;
            Ok(results.pop().zip(ty))
        });
        called.unwrap().map(|(value, ty)| Typed(value, ty))
    }

    fn value(&mut self, interface: &str, name: &str, arguments: &[Val]) -> Typed {
        self.call(interface, name, arguments).unwrap()
    }

    /// All items of a file, then the report.
    fn read(&mut self, format: Val, input: &[u8]) -> (Vec<Val>, Type, Typed) {
        let limits = self.value("intake", "default-limits", &[]).0;
        let reader = self
            .value("intake", "[constructor]reader", &[format, limits])
            .0;
        let pushed = self.value(
            "intake",
            "[method]reader.push",
            &[reader.clone(), bytes(input)],
        );
        let finished = self.value("intake", "[static]reader.finish", &[reader]);
        let items = pushed.member("items");
        let ty = items.1.clone();
        let mut items = items.list();
        items.extend(finished.member("last").member("items").list());
        (items, ty, finished.member("report"))
    }

    fn format(&mut self, input: &[u8]) -> Val {
        match self
            .value("intake", "detect", &[bytes(input)])
            .member("format")
            .0
        {
            Val::Option(Some(format)) => *format,
            other => panic!("no format: {other:?}"),
        }
    }

    fn exchanges(&mut self, input: &[u8]) -> Vec<Val> {
        let format = self.format(input);
        let items = self.read(format, input).0.into_iter();
        items
            .filter_map(|item| match item {
                Val::Variant(tag, Some(exchange)) if tag == "exchange" => Some(*exchange),
                _ => None,
            })
            .collect()
    }

    fn each(&mut self, input: &[u8], mut run: impl FnMut(&mut Self, Val) -> Value) -> Value {
        let exchanges = self.exchanges(input);
        exchanges
            .into_iter()
            .map(|exchange| run(self, exchange))
            .collect()
    }

    fn redactor(&mut self, options: &Value) -> Val {
        let mode = options["mode"].as_str().unwrap_or("balanced").to_owned();
        let arguments = [
            Val::Enum(mode),
            bytes(KEY),
            bytes(CALL_KEY),
            Val::List(Vec::new()),
        ];
        self.value("redact", "[constructor]redactor", &arguments).0
    }

    /// Makes one call of a vector.
    fn run(&mut self, call: &str, input: &[u8], options: &Value) -> Value {
        let flag = |name: &str| Val::Bool(options[name] == true);
        let word = |name: &str| Val::String(options[name].as_str().unwrap().to_owned());
        let text = || Val::String(String::from_utf8(input.to_vec()).unwrap());
        match call {
            "detect" => self.value("intake", "detect", &[bytes(input)]).json(),
            "intake" => {
                let format = match options["format"].as_str() {
                    Some(format) => Val::Enum(format.to_owned()),
                    None => self.format(input),
                };
                let (items, ty, report) = self.read(format, input);
                json!({ "items": to_json(&Val::List(items), &ty), "report": report.json() })
            }
            "redact" => {
                let redactor = self.redactor(options);
                self.each(input, |guest, exchange| {
                    let arguments = [redactor.clone(), exchange];
                    guest
                        .value("redact", "[method]redactor.exchange", &arguments)
                        .json()
                })
            }
            "redact-text" => {
                let redactor = self.redactor(options);
                let arguments = [redactor, text(), flag("supplied")];
                self.value("redact", "[method]redactor.text", &arguments)
                    .json()
            }
            "checks" => {
                let arguments = [bytes(KEY), Val::S64(NOW_MS)];
                let checker = self.value("checks", "[constructor]checker", &arguments).0;
                let found = self.each(input, |guest, exchange| {
                    let arguments = [checker.clone(), exchange];
                    guest
                        .value("checks", "[method]checker.push", &arguments)
                        .json()
                });
                flat(found)
            }
            "endpoints" => {
                let endpoints = self.value("message", "[constructor]endpoints", &[]).0;
                for exchange in self.exchanges(input) {
                    let arguments = [endpoints.clone(), exchange];
                    self.call("message", "[method]endpoints.push", &arguments);
                }
                self.value("message", "[static]endpoints.finish", &[endpoints])
                    .json()
            }
            "har" => {
                let version = Val::String("1".to_owned());
                let head = self.value("har", "head", &[version]).json();
                let entries = self.each(input, |guest, exchange| {
                    guest.value("har", "entry", &[exchange]).json()
                });
                let tail = self.value("har", "tail", &[]).json();
                let entries: Vec<&str> = strings(&entries);
                let [head, tail] = [&head, &tail].map(|text| text.as_str().unwrap());
                json!(format!("{head}{}{tail}", entries.join(",\n")))
            }
            "view" => self.each(input, |guest, exchange| {
                let budget = options["budget"].as_u64().unwrap_or(16_384);
                let options = record(&[
                    ("json", Val::Bool(options["json"] == true)),
                    ("budget", Val::U32(u32::try_from(budget).unwrap())),
                    ("request", Val::Bool(true)),
                    ("response", Val::Bool(true)),
                    ("bodies", Val::Bool(true)),
                    ("request-offset", Val::U32(0)),
                    ("response-offset", Val::U32(0)),
                ]);
                guest.value("view", "render", &[exchange, options]).json()
            }),
            "parameters" => self.value("message", "parameters", &[wire(input)]).json(),
            "insertion-points" => {
                let arguments = [wire(input), flag("append")];
                self.value("message", "insertion-points", &arguments).json()
            }
            "parse-request" | "parse-response" => {
                self.value("message", call, &[bytes(input)]).json()
            }
            "decode-body" => {
                let limits = self.value("message", "default-body-limits", &[]).0;
                let arguments = [wire(input), flag("request"), limits];
                self.value("message", "decode-body", &arguments).json()
            }
            "cookies" => {
                let found = self.each(input, |guest, exchange| {
                    guest.value("message", "cookies", &[exchange]).json()
                });
                flat(found)
            }
            "decode-jwt" => self.value("message", "decode-jwt", &[text()]).json(),
            "search" => {
                let arguments = [word("pattern"), Val::Bool(false), flag("ignoreCase")];
                match self
                    .value("search", "[static]pattern.compile", &arguments)
                    .0
                {
                    Val::Result(Ok(Some(pattern))) => {
                        let arguments =
                            [*pattern, bytes(input), Val::List(Vec::new()), Val::U32(10)];
                        self.value("search", "[method]pattern.find", &arguments)
                            .json()
                    }
                    Val::Result(Err(Some(error))) => match *error {
                        Val::String(error) => json!({ "error": error }),
                        other => panic!("{other:?}"),
                    },
                    other => panic!("{other:?}"),
                }
            }
            "frame" => self.frame(options),
            "hash" => {
                let arguments = [bytes(input), word("algorithm")];
                match self.value("codec", "hash", &arguments).0 {
                    Val::Result(Ok(Some(hash))) => to_json(&hash, &Type::String),
                    other => panic!("{other:?}"),
                }
            }
            "websocket" => self.websocket(options),
            other => panic!("unknown call {other}"),
        }
    }

    fn frame(&mut self, options: &Value) -> Value {
        let limits = record(&[("body", Val::U32(8 << 20)), ("pipeline", Val::U32(1000))]);
        let framer = self.value("h1", "[constructor]framer", &[limits]).0;
        let mut events = Vec::new();
        for (method, side) in [
            ("push", "client"),
            ("push", "server"),
            ("finish", "client"),
            ("finish", "server"),
        ] {
            let mut arguments = vec![framer.clone(), Val::Enum(side.to_owned())];
            if method == "push" {
                arguments.push(bytes(options[side].as_str().unwrap().as_bytes()));
            }
            let name = format!("[method]framer.{method}");
            events.push(self.value("h1", &name, &arguments).json());
        }
        flat(Value::Array(events))
    }

    /// Frames in base64, whole, of one direction; `response` is the head that agreed about compression.
    fn websocket(&mut self, options: &Value) -> Value {
        let response = options["response"].as_str().unwrap_or_default();
        let deflate = self.value("websocket", "deflate-of", &[bytes(response.as_bytes())]);
        let (agreed, resets) = match &deflate.0 {
            Val::Option(Some(deflate)) => match &**deflate {
                Val::Record(members) => (true, members[0].1 == Val::Bool(true)),
                other => panic!("{other:?}"),
            },
            _ => (false, false),
        };
        let limit = options["limit"].as_u64().unwrap_or(1 << 20);
        let limit = Val::U32(u32::try_from(limit).unwrap());
        let arguments = [Val::Bool(agreed), Val::Bool(resets), limit];
        let decoder = self
            .value("websocket", "[constructor]decoder", &arguments)
            .0;
        let engine = base64::engine::general_purpose::STANDARD;
        let frames = engine.decode(options["frames"].as_str().unwrap()).unwrap();
        let arguments = [decoder, bytes(&frames)];
        let found = self
            .value("websocket", "[method]decoder.push", &arguments)
            .json();
        json!({ "deflate": deflate.json(), "frames": found })
    }
}

fn bytes(bytes: &[u8]) -> Val {
    Val::List(bytes.iter().map(|&byte| Val::U8(byte)).collect())
}

fn record(members: &[(&str, Val)]) -> Val {
    let members = members.iter();
    Val::Record(
        members
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect(),
    )
}

fn wire(input: &[u8]) -> Val {
    record(&[
        ("bytes", bytes(input)),
        ("provenance", Val::Enum("wire".to_owned())),
        ("decoded", Val::Bool(false)),
    ])
}

fn flat(lists: Value) -> Value {
    let Value::Array(lists) = lists else {
        panic!("{lists} is no list");
    };
    let lists = lists.into_iter();
    lists
        .flat_map(|list| list.as_array().unwrap().clone())
        .collect()
}

fn strings(list: &Value) -> Vec<&str> {
    let list = list.as_array().unwrap().iter();
    list.map(|text| text.as_str().unwrap()).collect()
}

/// A value as the vectors write it: `upstream-number` is `upstreamNumber`, and bytes are text where they are UTF-8.
fn to_json(value: &Val, ty: &Type) -> Value {
    match (value, ty) {
        (Val::List(list), Type::List(of)) if of.ty() == Type::U8 => {
            let bytes = list.iter().map(|byte| match byte {
                Val::U8(byte) => *byte,
                other => panic!("{other:?}"),
            });
            bytes_to_json(bytes.collect())
        }
        (Val::List(list), Type::List(of)) => {
            list.iter().map(|value| to_json(value, &of.ty())).collect()
        }
        (Val::Record(members), Type::Record(ty)) => {
            let members = members.iter().zip(ty.fields());
            let members =
                members.map(|((name, value), field)| (camel(name), to_json(value, &field.ty)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        (Val::Variant(tag, value), Type::Variant(ty)) => {
            let case = ty.cases().find(|case| case.name == tag).unwrap();
            let value = value.as_ref().zip(case.ty.as_ref());
            json!({ "tag": tag, "val": value.map(|(value, ty)| to_json(value, ty)) })
        }
        (Val::Option(value), Type::Option(ty)) => value
            .as_ref()
            .map_or(Value::Null, |value| to_json(value, &ty.ty())),
        (Val::Enum(name) | Val::String(name), _) => json!(name),
        (Val::Bool(value), _) => json!(value),
        (Val::U8(value), _) => json!(value),
        (Val::U16(value), _) => json!(value),
        (Val::U32(value), _) => json!(value),
        (Val::U64(value), _) => json!(value),
        (Val::S64(value), _) => json!(value),
        (Val::Float64(value), _) => json!(value),
        (value, _) => panic!("{value:?} is in no vector"),
    }
}

fn bytes_to_json(bytes: Vec<u8>) -> Value {
    match String::from_utf8(bytes) {
        Ok(text) if !text.starts_with("base64:") => json!(text),
        Ok(text) => json!(base64_of(text.as_bytes())),
        Err(error) => json!(base64_of(error.as_bytes())),
    }
}

fn base64_of(bytes: &[u8]) -> String {
    let engine = base64::engine::general_purpose::STANDARD;
    format!("base64:{}", engine.encode(bytes))
}

fn camel(name: &str) -> String {
    let mut words = name.split('-');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        camel.push_str(&word[..1].to_uppercase());
        camel.push_str(&word[1..]);
    }
    camel
}
