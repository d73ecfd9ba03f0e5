//! A traffic component that fails ends the part that it fails in, and what came before is kept.

use std::path::{Path, PathBuf};

use glovebox::sandbox::{Sandbox, SandboxError};
use glovebox::traffic::{
    Format, Inspected, Inspection, InspectionOptions, Mode, Traffic, TrafficConfig,
};

use super::fed;
use crate::support::World;
use crate::support::any_guest::AnyGuest;

/// A place in the guests' memory with nothing but zeros: an exchange without content, an empty text, an empty list.
const ZEROS: &str = "(i32.const 4096)";

/// A guest that gives one exchange for each push and traps for `!`; what is given no body here traps too.
fn guest() -> AnyGuest {
    AnyGuest::default()
        .with("intake#default-limits", ZEROS)
        .with(
            "intake#[method]reader.push",
            "(if (i32.eq (i32.load8_u (local.get $p1)) (i32.const 33)) (then unreachable)) (i32.const 1024)",
        )
        .with("intake#[static]reader.finish", ZEROS)
        // A file that can be imported as HAR: some format, the second.
        .with("intake#detect", "(i32.const 3072)")
        .with("redact#[method]redactor.text", ZEROS)
        .with("message#parse-response", ZEROS)
        .and(
            r#"(data (i32.const 1024) "\00\10\00\00\01\00\00\00\00")
               (data (i32.const 3072) "\01\01\01")"#,
        )
}

fn written(guest: &AnyGuest, folder: &Path) -> PathBuf {
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit/traffic");
    guest.write(&wit, "traffic", folder)
}

fn inspection(guest: &AnyGuest) -> Inspection {
    let folder = tempfile::tempdir().unwrap();
    let config = TrafficConfig {
        component: Some(written(guest, folder.path())),
        ..TrafficConfig::default()
    };
    let traffic = Traffic::new(&Sandbox::default(), config);
    let options = InspectionOptions {
        mode: Mode::Balanced,
        key: Vec::new(),
        now_ms: 0,
        only: None,
    };
    Inspection::begin(&traffic, Format::Har, options).unwrap()
}

#[test]
fn a_redactor_that_fails_costs_one_exchange_and_many_end_the_file() {
    let mut inspection = inspection(&guest());
    for number in 0..8 {
        let items = inspection.push(b".").unwrap();
        let [Inspected::Failed { index: 0, error }] = &items[..] else {
            panic!("{number}: {items:?}");
        };
        assert_eq!(error.kind(), "sandbox-trap");
    }
    let error = inspection.push(b".").unwrap_err();
    assert_eq!(error.kind(), "sandbox-trap");
    assert_eq!(inspection.consumed(), 9);
}

#[test]
fn checks_that_fail_leave_the_exchange() {
    let mut inspection = inspection(&guest().with("redact#[method]redactor.exchange", ZEROS));
    for _ in 0..3 {
        let items = inspection.push(b".").unwrap();
        let [Inspected::Exchange(exchange)] = &items[..] else {
            panic!("{items:?}");
        };
        assert!(exchange.findings.is_empty(), "{exchange:?}");
        let unchecked = exchange.unchecked.as_ref().map(SandboxError::kind);
        assert_eq!(unchecked, Some("sandbox-trap"));
    }
    let finished = inspection.finish().unwrap();
    assert!(finished.last.is_empty() && finished.report.error.is_none());
}

#[test]
fn a_reader_that_fails_ends_the_file_and_says_where() {
    let guest = guest()
        .with("redact#[method]redactor.exchange", ZEROS)
        .with("redact#[method]redactor.scrub", ZEROS)
        .with("checks#[method]checker.push", ZEROS);
    let mut inspection = inspection(&guest);
    assert_eq!(inspection.push(b".").unwrap().len(), 1);
    let error = inspection.push(b"!").unwrap_err();
    assert_eq!(error.kind(), "sandbox-trap");
    assert_eq!(inspection.push(b".").unwrap_err(), error);
    assert_eq!(inspection.consumed(), 1);
    // The command says the same.
    let world = World::new();
    let component = written(&guest, world.path());
    let command = world.command(&[
        "traffic",
        "inspect",
        "-",
        "--traffic-component",
        component.to_str().unwrap(),
    ]);
    let ran = fed(command, b"!");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for part in [
        "sandbox-trap",
        "standard input was read up to byte 0",
        "0 exchanges before",
    ] {
        assert!(ran.err.contains(part), "{part}: {ran:?}");
    }
    let unusable = world.run(&[
        "traffic",
        "inspect",
        component.to_str().unwrap(),
        "--traffic-component",
        "missing.wasm",
    ]);
    assert_eq!(unusable.code, Some(1), "{unusable:?}");
    assert!(
        unusable.err.contains(
            "missing.wasm cannot be used as a component of the world glovebox:traffic/traffic"
        ),
        "{unusable:?}"
    );
}
