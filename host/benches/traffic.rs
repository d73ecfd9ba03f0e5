//! The traffic component in the sandbox against the same library run natively, in one run on one machine.
//!
//! `cargo bench -p glovebox --bench traffic`. Throughput in MB of input a second, the best of some rounds. The files are made while
//! they are read and are never in memory as a whole. `-- --large` reads files of 1 GB instead of 64 MB, once; a word after `--` runs
//! the cases whose name has it. `GLOVEBOX_TEST_TRAFFIC` names another component.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    missing_docs
)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use base64::Engine as _;
use glovebox::sandbox::{Component, ComponentSource, Held, Sandbox, Session, World};
use glovebox::traffic::{
    COMPONENT, Exchange, Format, Item, Mode, Traffic, TrafficConfig, TrafficWorld, bounds,
};
use wasmtime::Store;
use wasmtime::component::{ComponentType, Instance, InstancePre, Lift, Lower, ResourceAny};

/// Bytes of a file.
const FILE: usize = 64_000_000;
/// Bytes of a file with `--large`.
const LARGE: usize = 1_000_000_000;
/// Bytes of one read.
const CHUNK: usize = 64 << 10;
/// Rounds of a case. The best counts: it is the one that other programs disturbed least.
const ROUNDS: usize = 3;
/// Exchanges that are searched, redacted and checked.
const EXCHANGES: usize = 400;

/// How often the bodies are searched in one round: once takes less than the clock tells apart.
const SEARCHES: usize = 20;

/// What a file holds.
#[derive(Clone, Copy)]
enum Kind {
    Har,
    BurpRaw,
    BurpBase64,
}

/// A file that is made item by item.
struct Made {
    kind: Kind,
    left: usize,
    number: usize,
    ended: bool,
}

impl Made {
    const fn new(kind: Kind, bytes: usize) -> Self {
        Self {
            kind,
            left: bytes,
            number: 0,
            ended: false,
        }
    }
}

impl Iterator for Made {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        if self.ended {
            return None;
        }
        let mut out = String::new();
        if self.number == 0 {
            out.push_str(match self.kind {
                Kind::Har => {
                    "{\"log\":{\"version\":\"1.2\",\"creator\":{\"name\":\"bench\",\"version\":\"1\"},\"entries\":["
                }
                Kind::BurpRaw | Kind::BurpBase64 => {
                    "<?xml version=\"1.0\"?>\n<items burpVersion=\"2026.1\">\n"
                }
            });
        }
        match self.kind {
            Kind::Har => har_entry(&mut out, self.number),
            Kind::BurpRaw => burp_item(&mut out, self.number, false),
            Kind::BurpBase64 => burp_item(&mut out, self.number, true),
        }
        self.number += 1;
        self.left = self.left.saturating_sub(out.len());
        if self.left == 0 {
            self.ended = true;
            out.push_str(match self.kind {
                Kind::Har => "]}}",
                Kind::BurpRaw | Kind::BurpBase64 => "</items>\n",
            });
        }
        Some(out)
    }
}

fn page(number: usize) -> String {
    let mut text = String::from("<!doctype html>\n<title>Shop</title>\n");
    for line in 0..400 {
        let _ = writeln!(
            text,
            "<p class=\"row\">Item {line} of {number}: the quick brown fox jumps over \"lazy\" dogs &amp; {}</p>",
            line * 7919 % 1000
        );
    }
    text
}

fn har_entry(out: &mut String, number: usize) {
    let headers: Vec<String> = (0..20)
        .map(|at| format!("{{\"name\":\"header-{at}\",\"value\":\"some value of {at}\"}}"))
        .collect();
    let _ = write!(
        out,
        "{0}{{\"startedDateTime\":\"2026-01-01T10:00:00.000Z\",\"time\":12.5,\"request\":{{\"method\":\"GET\",\"url\":\"https://shop.example/items/{number}?page=2\",\"httpVersion\":\"http/2.0\",\"headers\":[{1},{{\"name\":\"cookie\",\"value\":\"sid=abcdef0123456789abcd{number}\"}}]}},\"response\":{{\"status\":200,\"statusText\":\"OK\",\"httpVersion\":\"http/2.0\",\"headers\":[{1}],\"content\":{{\"size\":1,\"mimeType\":\"text/html\",\"text\":{2}}}}},\"timings\":{{\"send\":0,\"wait\":1,\"receive\":2}}}}",
        if number == 0 { "" } else { ",\n" },
        headers.join(","),
        serde_json::to_string(&page(number)).unwrap()
    );
}

fn burp_item(out: &mut String, number: usize, encoded: bool) {
    let request = format!(
        "GET /items/{number}?page=2 HTTP/1.1\r\nHost: shop.example\r\nCookie: sid=abcdef0123456789abcd{number}; theme=dark\r\nUser-Agent: Mozilla/5.0\r\nAccept: text/html\r\n\r\n"
    );
    let response = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nSet-Cookie: sid=abcdef0123456789abcd{number}; HttpOnly\r\n\r\n{}",
        page(number)
    );
    let engine = base64::engine::general_purpose::STANDARD;
    let write = |text: String| if encoded { engine.encode(text) } else { text };
    let _ = writeln!(
        out,
        "<item><time>Thu Jan 01 13:28:43 UTC 2026</time><url><![CDATA[https://shop.example/items/{number}?page=2]]></url><host>shop.example</host><port>443</port><protocol>https</protocol><request base64=\"{encoded}\"><![CDATA[{}]]></request><response base64=\"{encoded}\"><![CDATA[{}]]></response><comment></comment></item>",
        write(request),
        write(response)
    );
}

/// Gives a file in chunks, and measures what `each` takes of it: making the file is not counted.
fn feed(kind: Kind, bytes: usize, mut each: impl FnMut(&[u8])) -> (usize, Duration) {
    let (mut buffer, mut total, mut spent) = (Vec::with_capacity(2 * CHUNK), 0, Duration::ZERO);
    let mut push = |chunk: &[u8]| {
        total += chunk.len();
        let start = now();
        each(chunk);
        spent += now().saturating_sub(start);
    };
    for piece in Made::new(kind, bytes) {
        buffer.extend_from_slice(piece.as_bytes());
        let whole = buffer.len() - buffer.len() % CHUNK;
        buffer
            .get(..whole)
            .unwrap()
            .chunks(CHUNK)
            .for_each(&mut push);
        buffer.drain(..whole);
    }
    push(&buffer);
    (total, spent)
}

/// Time that this thread was on a processor, where the system tells; else time that passed. What other programs do
/// at the same time then counts less.
fn now() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    let on_processor = std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split(' ').next()?.parse().ok());
    match on_processor {
        Some(nanoseconds) => Duration::from_nanos(nanoseconds),
        None => START.get_or_init(Instant::now).elapsed(),
    }
}

/// The most memory that this process has had, in MB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.unwrap_or_default() / 1000
}

/// What was asked for on the command line.
struct Wanted {
    large: bool,
    word: Option<String>,
}

impl Wanted {
    fn has(&self, name: &str) -> bool {
        self.word
            .as_ref()
            .is_none_or(|word| name.contains(word.as_str()))
    }

    /// Prints a case: the best of some rounds, in the sandbox and natively.
    fn row(
        &self,
        name: &str,
        mut sandboxed: impl FnMut() -> (usize, Duration),
        mut native: impl FnMut() -> (usize, Duration),
    ) {
        if !self.has(name) {
            return;
        }
        let rounds = if self.large { 1 } else { ROUNDS };
        let best = |run: &mut dyn FnMut() -> (usize, Duration)| {
            let speed =
                |(bytes, spent): (usize, Duration)| bytes as f64 / 1e6 / spent.as_secs_f64();
            (0..rounds).map(|_| speed(run())).fold(0.0, f64::max)
        };
        let (sandboxed, native) = (best(&mut sandboxed), best(&mut native));
        println!(
            "{name:<28} {sandboxed:>9.0} {native:>9.0} {:>7.2} {:>9}",
            sandboxed / native,
            peak()
        );
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wanted = Wanted {
        large: arguments.iter().any(|one| one == "--large"),
        word: arguments.into_iter().find(|one| !one.starts_with("--")),
    };
    let config = TrafficConfig {
        component: std::env::var_os("GLOVEBOX_TEST_TRAFFIC").map(Into::into),
        ..TrafficConfig::default()
    };
    let sandbox = Sandbox::default();
    let traffic = Traffic::new(&sandbox, config.clone());
    let begin = Instant::now();
    drop(traffic.import(Format::Har).unwrap());
    println!("compiled in {} ms", begin.elapsed().as_millis());
    let begin = Instant::now();
    drop(traffic.import(Format::Har).unwrap());
    println!("one more session in {} µs\n", begin.elapsed().as_micros());
    println!(
        "{:<28} {:>9} {:>9} {:>7} {:>9}",
        "MB/s", "sandbox", "native", "ratio", "peak MB"
    );
    imports(&wanted, &traffic);
    analysis(&wanted, &traffic);
    searches(&wanted, &sandbox);
}

fn imports(wanted: &Wanted, traffic: &Traffic) {
    let bytes = if wanted.large { LARGE } else { FILE };
    for (name, kind, format) in [
        ("import of HAR", Kind::Har, Format::Har),
        ("import of Burp, raw", Kind::BurpRaw, Format::BurpXml),
        ("import of Burp, base64", Kind::BurpBase64, Format::BurpXml),
    ] {
        let sandboxed = || {
            let mut import = traffic.import(format).unwrap();
            let read = feed(kind, bytes, |chunk| {
                drop(black_box(import.push(chunk).unwrap()))
            });
            let report = import.finish().unwrap().report;
            assert!(report.complete && report.skipped == 0);
            read
        };
        let native = || {
            let format = match format {
                Format::Har => traffic::intake::Format::Har,
                Format::BurpXml => traffic::intake::Format::BurpXml,
            };
            let mut reader =
                traffic::intake::Reader::new(format, traffic::intake::Limits::default());
            let read = feed(kind, bytes, |chunk| drop(black_box(reader.push(chunk))));
            let (_, report) = reader.finish();
            assert!(report.complete && report.skipped == 0);
            read
        };
        wanted.row(name, sandboxed, native);
    }
}

/// The same exchanges for the sandbox and natively.
fn exchanges(traffic: &Traffic) -> (Vec<Exchange>, Vec<traffic::Exchange>, usize) {
    let mut import = traffic.import(Format::BurpXml).unwrap();
    let mut reader = traffic::intake::Reader::new(
        traffic::intake::Format::BurpXml,
        traffic::intake::Limits::default(),
    );
    let (mut sandboxed, mut native) = (Vec::new(), Vec::new());
    for piece in Made::new(Kind::BurpRaw, usize::MAX).take(EXCHANGES) {
        sandboxed.extend(
            import
                .push(piece.as_bytes())
                .unwrap()
                .into_iter()
                .filter_map(|item| match item {
                    Item::Exchange(exchange) => Some(exchange),
                    Item::Skip(_) => None,
                }),
        );
        native.extend(reader.push(piece.as_bytes()).items.into_iter().filter_map(
            |item| match item {
                traffic::intake::Item::Exchange(exchange) => Some(*exchange),
                traffic::intake::Item::Skip(_) => None,
            },
        ));
    }
    let size = native.iter().map(|one| {
        one.request.bytes.len()
            + one
                .response
                .as_ref()
                .map_or(0, |message| message.bytes.len())
    });
    let size = size.sum();
    assert!(sandboxed.len() == native.len() && !native.is_empty());
    (sandboxed, native, size)
}

fn timed(bytes: usize, run: impl FnOnce()) -> (usize, Duration) {
    let start = now();
    run();
    (bytes, now().saturating_sub(start))
}

fn analysis(wanted: &Wanted, traffic: &Traffic) {
    let (sandboxed, native, size) = exchanges(traffic);
    for (name, mode, native_mode) in [
        (
            "redaction, balanced",
            Mode::Balanced,
            traffic::redact::Mode::Balanced,
        ),
        (
            "redaction, strict",
            Mode::Strict,
            traffic::redact::Mode::Strict,
        ),
    ] {
        let mut redactor = traffic.redactor(mode, b"key", b"key", &[]).unwrap();
        let own = traffic::redact::Redactor::new(native_mode, b"key".to_vec(), Vec::new(), &[]);
        wanted.row(
            name,
            || {
                timed(size, || {
                    for exchange in &sandboxed {
                        black_box(redactor.exchange(exchange).unwrap());
                    }
                })
            },
            || {
                timed(size, || {
                    for exchange in &native {
                        black_box(own.exchange(exchange));
                    }
                })
            },
        );
    }
    wanted.row(
        "checks",
        || {
            let mut checker = traffic.checker(b"key", 0).unwrap();
            timed(size, || {
                for exchange in &sandboxed {
                    black_box(checker.push(exchange).unwrap());
                }
            })
        },
        || {
            let mut checker = traffic::checks::Checker::new(b"key".to_vec(), 0);
            timed(size, || {
                for exchange in &native {
                    black_box(checker.push(exchange));
                }
            })
        },
    );
}

/// The world with its exports found by name: the search has no typed face in the host yet.
struct Search;

impl World for Search {
    const NAME: &'static str = TrafficWorld::NAME;
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

#[derive(Clone, Copy, ComponentType, Lift, Lower)]
#[component(record)]
struct Span {
    start: u32,
    end: u32,
}

#[derive(Clone, Copy, ComponentType, Lift, Lower)]
#[component(record)]
struct Mask {
    place: Span,
    shown: u32,
}

#[derive(Clone, Copy, ComponentType, Lift, Lower)]
#[component(record)]
struct Match {
    place: Span,
    shown: Span,
}

#[derive(Clone, ComponentType, Lift, Lower)]
#[component(record)]
struct Matches {
    total: u32,
    matches: Vec<Match>,
}

fn func<P, R>(
    store: &mut Store<Held<()>>,
    instance: &Instance,
    name: &str,
) -> wasmtime::Result<wasmtime::component::TypedFunc<P, R>>
where
    P: wasmtime::component::ComponentNamedList + Lower,
    R: wasmtime::component::ComponentNamedList + Lift,
{
    let inside = instance.get_export_index(&mut *store, None, "glovebox:traffic/search@0.1.0");
    let index = instance
        .get_export_index(&mut *store, inside.as_ref(), name)
        .unwrap();
    instance.get_typed_func(&mut *store, index)
}

fn searches(wanted: &Wanted, sandbox: &Sandbox) {
    let component: Component<Search> =
        Component::start(sandbox, ComponentSource::Embedded(COMPONENT), bounds());
    let mut session: Session<Search> = component.open(()).unwrap();
    let bodies: Vec<Vec<u8>> = (0..EXCHANGES)
        .map(|number| page(number).into_bytes())
        .collect();
    let size = SEARCHES * bodies.iter().map(Vec::len).sum::<usize>();
    let masks: Vec<Mask> = (0..20)
        .map(|at| Mask {
            place: Span {
                start: at * 1000,
                end: at * 1000 + 20,
            },
            shown: 40,
        })
        .collect();
    let native_masks: Vec<traffic::search::Mask> = masks
        .iter()
        .map(|mask| traffic::search::Mask {
            place: traffic::Span {
                start: mask.place.start,
                end: mask.place.end,
            },
            shown: mask.shown,
        })
        .collect();
    for (name, text, literal) in [
        ("search, word", "zebra", true),
        ("search, expression", "[0-9]+ of [a-z]+", false),
        ("search, no case", "(?i)LAZY.*cats", false),
        ("search, alternatives", "password|secret|token", false),
    ] {
        let pattern: ResourceAny = session
            .call(|store, instance| {
                let compile = func::<_, (Result<ResourceAny, String>,)>(
                    store,
                    instance,
                    "[static]pattern.compile",
                )?;
                let (compiled,) = compile.call(&mut *store, (text, literal, false))?;
                Ok(compiled.unwrap())
            })
            .unwrap();
        let own = traffic::search::Pattern::new(text, literal, false).unwrap();
        let session = &mut session;
        wanted.row(
            name,
            || {
                timed(size, || {
                    for body in bodies.iter().cycle().take(SEARCHES * bodies.len()) {
                        let found = session.call(|store, instance| {
                            let find = func::<(ResourceAny, &[u8], &[Mask], u32), (Matches,)>(
                                store,
                                instance,
                                "[method]pattern.find",
                            )?;
                            find.call(&mut *store, (pattern, body, &masks, 10))
                        });
                        let (found,) = found.unwrap();
                        black_box((found.total, found.matches.len()));
                    }
                })
            },
            || {
                timed(size, || {
                    for body in bodies.iter().cycle().take(SEARCHES * bodies.len()) {
                        black_box(own.find(body, &native_masks, 10));
                    }
                })
            },
        );
    }
}
