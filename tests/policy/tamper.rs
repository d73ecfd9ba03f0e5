//! Whatever is done to a log, the check finds it and names its line.

use std::path::{Path, PathBuf};

use glovebox::policy::audit::{AuditDir, ChainKey, Expected, Fault, Finding, LineHash, verify};
use proptest::prelude::*;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::audit::{event, open};

/// A log of several files.
struct Log {
    state: tempfile::TempDir,
    files: Vec<PathBuf>,
}

impl Log {
    fn new(events: u64, key: Option<&Path>) -> Self {
        let state = tempfile::tempdir().unwrap();
        let log = open(state.path(), key, 4 << 10).unwrap();
        for number in 0..events {
            log.append(&event(number)).unwrap();
        }
        let dir = AuditDir::of_state(state.path());
        let mut files: Vec<PathBuf> = std::fs::read_dir(dir.path())
            .unwrap()
            .flatten()
            .map(|file| file.path())
            .filter(|path| path.to_string_lossy().contains("audit-"))
            .collect();
        files.sort();
        files.push(dir.current());
        Self { state, files }
    }

    fn check(&self) -> Option<Fault> {
        verify(&AuditDir::of_state(self.state.path()), None, None)
            .unwrap()
            .err()
    }

    /// Every line with its file, oldest first.
    fn lines(&self) -> Vec<(usize, String)> {
        let mut lines = Vec::new();
        for (index, file) in self.files.iter().enumerate() {
            let text = std::fs::read_to_string(file).unwrap();
            lines.extend(text.lines().map(|line| (index, line.to_owned())));
        }
        lines
    }

    fn write(&self, lines: &[(usize, String)]) {
        for (index, file) in self.files.iter().enumerate() {
            let of_file = lines.iter().filter(|(of, _)| *of == index);
            let text: String = of_file.map(|(_, line)| format!("{line}\n")).collect();
            std::fs::write(file, text).unwrap();
        }
    }

    /// The place of a line as the check names it.
    fn place(&self, lines: &[(usize, String)], at: usize) -> (PathBuf, u64) {
        let file = lines[at].0;
        let before = lines[..at].iter().filter(|(of, _)| *of == file).count();
        (self.files[file].clone(), before as u64 + 1)
    }
}

const EVENTS: usize = 40;

/// What is done to a log, at a line.
#[derive(Clone, Debug)]
enum Tampering {
    /// One byte is another.
    Byte(usize, u8),
    /// A member has another value, in a line that is still JSON.
    Member(usize),
    Remove(usize),
    Duplicate(usize),
    /// An invented line with the right number and the right hash of the line before it.
    Invent,
    Swap,
}

fn tampering() -> impl Strategy<Value = (usize, Tampering)> {
    let what = prop_oneof![
        (any::<usize>(), 1_u8..=255).prop_map(|(at, with)| Tampering::Byte(at, with)),
        (0_usize..6).prop_map(Tampering::Member),
        (1_usize..4).prop_map(Tampering::Remove),
        (0_usize..EVENTS).prop_map(Tampering::Duplicate),
        Just(Tampering::Invent),
        Just(Tampering::Swap),
    ];
    (0_usize..EVENTS, what)
}

fn hash(line: &str) -> String {
    glovebox::policy::audit::hex(&Sha256::digest(line))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn whatever_is_done_is_found_and_named((at, what) in tampering()) {
        let log = Log::new(EVENTS as u64, None);
        let before = log.lines();
        prop_assert_eq!(before.len(), EVENTS);
        let mut lines = before.clone();
        let named = match &what {
            Tampering::Byte(byte, with) => {
                let mut bytes = lines[at].1.clone().into_bytes();
                let byte = byte % bytes.len();
                bytes[byte] ^= with;
                // A new end of line would be an insertion.
                prop_assume!(bytes[byte] != b'\n');
                let file = log.files[lines[at].0].clone();
                let number = log.place(&lines, at).1 as usize - 1;
                let mut content: Vec<Vec<u8>> = std::fs::read_to_string(&file).unwrap().lines().map(|line| line.as_bytes().to_vec()).collect();
                content[number] = bytes;
                let mut content = content.join(&b'\n');
                content.push(b'\n');
                std::fs::write(&file, content).unwrap();
                log.place(&before, at)
            }
            Tampering::Member(which) => {
                let mut value: Value = serde_json::from_str(&lines[at].1).unwrap();
                let name = ["seq", "time", "decision", "prev", "tool", "pid"][*which];
                value[name] = match name {
                    "seq" => (at as u64 + 7).into(),
                    "pid" => 1.into(),
                    "prev" => "0".repeat(63).into(),
                    _ => "other".into(),
                };
                lines[at].1 = value.to_string();
                log.write(&lines);
                log.place(&before, at)
            }
            Tampering::Remove(count) => {
                let end = (at + count).min(EVENTS);
                lines.drain(at..end);
                log.write(&lines);
                if at == lines.len() {
                    // Its end was removed: no line is left to be named.
                    let fault = log.check().unwrap();
                    prop_assert_eq!(fault.finding, Finding::Shortened(EVENTS as u64));
                    return Ok(());
                }
                let fault = log.check().unwrap();
                prop_assert_eq!(&fault.finding, &Finding::Removed(at as u64 + 1, end as u64));
                log.place(&lines, at)
            }
            Tampering::Duplicate(of) => {
                let line = (before[at].0, before[*of].1.clone());
                lines.insert(at, line);
                log.write(&lines);
                // A copy of a line at its own place: nobody can tell which of the two is the copy.
                if *of == at || *of + 1 == at {
                    let fault = log.check().unwrap();
                    let places = [log.place(&lines, *of), log.place(&lines, *of + 1)];
                    prop_assert!(places.contains(&(fault.file.clone(), fault.line)), "{}", fault);
                    return Ok(());
                }
                log.place(&lines, at)
            }
            Tampering::Invent => {
                let prev = at.checked_sub(1).map_or_else(|| "0".repeat(64), |at| hash(&before[at].1));
                let line = format!("{{\"seq\":{},\"event\":\"tool_start\",\"prev\":\"{prev}\"}}", at + 1);
                lines.insert(at, (before[at].0, line));
                log.write(&lines);
                log.place(&lines, at)
            }
            Tampering::Swap => {
                prop_assume!(at + 1 < EVENTS && before[at].0 == before[at + 1].0);
                lines.swap(at, at + 1);
                log.write(&lines);
                log.place(&lines, at)
            }
        };
        let fault = log.check();
        prop_assert!(fault.is_some(), "nothing was found");
        let fault = fault.unwrap();
        prop_assert_eq!((fault.file.clone(), fault.line), named, "{}", fault);
    }
}

/// Writes the chain anew, as whoever can write the files and knows this program could.
fn rechain(log: &Log, lines: &mut [(usize, String)]) {
    let mut prev = "0".repeat(64);
    for (seq, (_, line)) in lines.iter_mut().enumerate() {
        let mut value: Value = serde_json::from_str(line).unwrap();
        value["prev"] = prev.clone().into();
        value["seq"] = (seq as u64 + 1).into();
        *line = value.to_string();
        prev = hash(line);
    }
    log.write(lines);
}

fn write_head(log: &Log, lines: &[(usize, String)]) {
    let (_, last) = lines.last().unwrap();
    let head =
        serde_json::json!({ "seq": lines.len(), "hash": hash(last), "first": 1, "bytes": 0 });
    std::fs::write(
        AuditDir::of_state(log.state.path()).head(),
        head.to_string(),
    )
    .unwrap();
}

#[test]
fn a_log_and_a_head_that_were_both_set_back_are_found_by_what_the_operator_noted() {
    let log = Log::new(EVENTS as u64, None);
    let dir = AuditDir::of_state(log.state.path());
    let noted = verify(&dir, None, None).unwrap().unwrap();
    let expected: Expected = format!("{}:{}", noted.last, noted.hash).parse().unwrap();
    assert!(verify(&dir, None, Some(expected)).unwrap().is_ok());
    // Set back by some lines, the head too.
    let mut lines = log.lines();
    lines.truncate(EVENTS - 3);
    log.write(&lines);
    write_head(&log, &lines);
    assert!(verify(&dir, None, None).unwrap().is_ok());
    let fault = verify(&dir, None, Some(expected)).unwrap().unwrap_err();
    assert_eq!(fault.finding, Finding::ExpectedMissing(EVENTS as u64));
    // Written anew, with as many lines.
    let log = Log::new(EVENTS as u64, None);
    let mut lines = log.lines();
    lines[3].1 = lines[3].1.replace("answers", "status");
    rechain(&log, &mut lines);
    write_head(&log, &lines);
    let dir = AuditDir::of_state(log.state.path());
    assert!(verify(&dir, None, None).unwrap().is_ok());
    let fault = verify(&dir, None, Some(expected)).unwrap().unwrap_err();
    assert_eq!(fault.finding, Finding::ExpectedDiffers(EVENTS as u64));
    assert!("40".parse::<Expected>().is_err() && "40:zz".parse::<Expected>().is_err());
}

#[test]
fn with_a_key_a_chain_that_was_written_anew_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    std::fs::write(&path, "a key of more than sixteen bytes").unwrap();
    let key = ChainKey::read(&path).unwrap();
    let log = Log::new(EVENTS as u64, Some(&path));
    let dir = AuditDir::of_state(log.state.path());
    assert!(verify(&dir, Some(&key), None).unwrap().is_ok());
    let mut lines = log.lines();
    lines[3].1 = lines[3].1.replace("answers", "status");
    rechain(&log, &mut lines);
    write_head(&log, &lines);
    let fault = verify(&dir, Some(&key), None).unwrap().unwrap_err();
    assert!(matches!(fault.finding, Finding::Changed), "{fault}");
    // Without the key's id in it, a file is not taken for one without a key.
    let mut lines = Log::new(EVENTS as u64, Some(&path)).lines();
    for (_, line) in &mut lines {
        let mut value: Value = serde_json::from_str(line).unwrap();
        value.as_object_mut().unwrap().remove("key");
        *line = value.to_string();
    }
    let first = lines[0].0;
    let mixed: Vec<_> = log
        .lines()
        .into_iter()
        .filter(|(file, _)| *file == first)
        .chain(lines.into_iter().filter(|(file, _)| *file != first))
        .collect();
    log.write(&mixed);
    let fault = verify(&dir, Some(&key), None).unwrap().unwrap_err();
    assert!(
        matches!(fault.finding, Finding::KeyDropped | Finding::Changed),
        "{fault}"
    );
}

#[test]
fn a_head_that_is_gone_and_lines_that_were_cut_before_new_ones_came_are_found() {
    let log = Log::new(EVENTS as u64, None);
    let dir = AuditDir::of_state(log.state.path());
    let mut lines = log.lines();
    lines.truncate(EVENTS - 2);
    log.write(&lines);
    // The next writer does not hide the gap.
    open(log.state.path(), None, 4 << 10)
        .unwrap()
        .append(&event(0))
        .unwrap();
    let fault = log.check().unwrap();
    assert_eq!(
        fault.finding,
        Finding::Removed(EVENTS as u64 - 1, EVENTS as u64),
        "{fault}"
    );
    let log = Log::new(3, None);
    std::fs::remove_file(AuditDir::of_state(log.state.path()).head()).unwrap();
    assert_eq!(log.check().unwrap().finding, Finding::NoHead);
    let none = tempfile::tempdir().unwrap();
    let verified = verify(&AuditDir::of_state(none.path()), None, None)
        .unwrap()
        .unwrap();
    assert_eq!((verified.events, verified.hash), (0, LineHash::START));
    drop(dir);
}
