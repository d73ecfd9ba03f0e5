//! Checks the chain from its oldest line to its newest.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::str::FromStr;

use serde::Deserialize;

use super::chain::{ChainKey, LineHash, hash};
use super::error::AuditError;
use super::files::{AuditDir, private};
use super::head::Head;
use super::writer::key_of;

/// A line that the operator noted, to find out whether the whole log was set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The number of the line.
    pub seq: u64,
    /// Its hash.
    pub hash: LineHash,
}

impl FromStr for Expected {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once(':').and_then(|(seq, hash)| {
            let (seq, hash) = (seq.parse().ok()?, hash.parse().ok()?);
            Some(Self { seq, hash })
        });
        parsed.ok_or_else(|| "give SEQ:HASH as `glovebox audit verify` prints it".to_owned())
    }
}

/// What was found wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The line is not as it was written.
    Changed,
    /// Lines before this one were removed: the numbers from the first to the last.
    Removed(u64, u64),
    /// The line was not written there.
    Inserted,
    /// The line and the next one are in the wrong order.
    Swapped,
    /// The log ends before the line with this number, which `head.json` names.
    Shortened(u64),
    /// `head.json` is missing, or says nothing that can be read.
    NoHead,
    /// The expected line is not there: the log ends before it, or begins after it.
    ExpectedMissing(u64),
    /// The expected line has another hash.
    ExpectedDiffers(u64),
    /// The file is kept with a key that was not given: its id.
    Key(String),
    /// A file without a key follows one with a key.
    KeyDropped,
}

/// The first line that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its file.
    pub file: PathBuf,
    /// Its number in the file, from 1; 0 where it is about no line.
    pub line: u64,
    /// Its sequence number, where that can be told.
    pub seq: Option<u64>,
    /// What was found.
    pub finding: Finding,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if let Some(seq) = self.seq {
            write!(f, " (event {seq})")?;
        }
        match &self.finding {
            Finding::Changed => f.write_str(": this line was changed"),
            Finding::Removed(first, last) if first == last => {
                write!(f, ": the event {first} before this line was removed")
            }
            Finding::Removed(first, last) => {
                write!(
                    f,
                    ": the events {first} to {last} before this line were removed"
                )
            }
            Finding::Inserted => f.write_str(": this line was inserted"),
            Finding::Swapped => f.write_str(": this line and the next were swapped"),
            Finding::Shortened(seq) => {
                write!(
                    f,
                    ": the log ends before event {seq}, which head.json names: its end was removed"
                )
            }
            Finding::NoHead => f.write_str(
                ": the file is missing or unreadable, so that a removed end cannot be found",
            ),
            Finding::ExpectedMissing(seq) => {
                write!(f, ": the expected event {seq} is not in the log")
            }
            Finding::ExpectedDiffers(seq) => {
                write!(
                    f,
                    ": the event {seq} is not the expected one: the log was set back or replaced"
                )
            }
            Finding::Key(id) => {
                write!(
                    f,
                    ": the file is kept with the key {id}; give that key with --audit-key-file"
                )
            }
            Finding::KeyDropped => {
                f.write_str(": the file is kept without the key of the file before it")
            }
        }
    }
}

/// A log without a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// How many events there are.
    pub events: u64,
    /// The number of the oldest.
    pub first: u64,
    /// The number of the newest.
    pub last: u64,
    /// The hash of the newest.
    pub hash: LineHash,
}

/// The members of a line that matter to the chain.
#[derive(Deserialize)]
struct Link {
    seq: u64,
    event: String,
    prev: String,
    torn_bytes: Option<usize>,
    torn_hash: Option<String>,
}

/// A line with its place.
struct Line {
    file: usize,
    number: u64,
    bytes: usize,
    hash: LineHash,
    ended: bool,
    link: Option<Link>,
}

/// A file of the log, as far as it was written when the check began.
struct Part {
    path: PathBuf,
    reader: BufReader<io::Take<File>>,
    keyed: bool,
    lines: u64,
}

/// The files of a log, opened at one moment.
struct OpenLog {
    /// The files with lines, oldest first.
    parts: Vec<Part>,
    /// What `head.json` says.
    head: Option<Head>,
}

/// Checks a log. `Ok(Ok(_))` is one without a fault; a log that does not exist has no events.
///
/// # Errors
/// When a file cannot be read.
pub fn verify(
    dir: &AuditDir,
    key: Option<&ChainKey>,
    expected: Option<Expected>,
) -> Result<Result<Verified, Fault>, AuditError> {
    let Some(OpenLog { parts, head }) = open(dir)? else {
        return Ok(missing(dir, expected));
    };
    let head_seq = head.as_ref().map_or(0, |head| head.seq);
    let mut check = Check::new(parts, key, expected, head_seq);
    if let Some(fault) = check.check_keys()? {
        return Ok(Err(fault));
    }
    if let Some(fault) = check.lines(head.as_ref())? {
        return Ok(Err(fault));
    }
    Ok(check.finish(dir, head.as_ref()))
}

fn missing(dir: &AuditDir, expected: Option<Expected>) -> Result<Verified, Fault> {
    match expected {
        Some(expected) => Err(Fault {
            file: dir.current(),
            line: 0,
            seq: None,
            finding: Finding::ExpectedMissing(expected.seq),
        }),
        None => Ok(Verified {
            events: 0,
            first: 0,
            last: 0,
            hash: LineHash::START,
        }),
    }
}

/// Opens all files at one moment, under the lock, so that writers are held up for that moment alone.
fn open(dir: &AuditDir) -> Result<Option<OpenLog>, AuditError> {
    if !dir.lock().exists() && !dir.current().exists() {
        return Ok(None);
    }
    let lock = private(&dir.lock(), false)?;
    lock.lock_shared()
        .map_err(|error| AuditError::file(&dir.lock(), error))?;
    let mut paths = dir.older_files()?;
    if dir.current().exists() {
        paths.push(dir.current());
    }
    let mut parts = Vec::new();
    for path in paths {
        let failed = |error| AuditError::file(&path, error);
        let file = File::open(&path).map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        parts.push(Part {
            reader: BufReader::new(file.take(bytes)),
            path,
            keyed: false,
            lines: 0,
        });
    }
    let head = match File::open(dir.head()) {
        Ok(file) => Head::read(&file).map_err(|error| AuditError::file(&dir.head(), error))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(AuditError::file(&dir.head(), error)),
    };
    Ok(Some(OpenLog { parts, head }))
}

struct Check<'a> {
    parts: Vec<Part>,
    key: Option<&'a ChainKey>,
    expected: Option<Expected>,
    expected_seen: Option<LineHash>,
    /// The number of the line that the head names, and that line's hash and place.
    head_seq: u64,
    head_seen: Option<(LineHash, usize, u64)>,
    at: usize,
    /// The last line that follows from those before it, and its sequence number.
    last: Option<(u64, LineHash)>,
    first: u64,
    events: u64,
}

impl<'a> Check<'a> {
    fn new(
        parts: Vec<Part>,
        key: Option<&'a ChainKey>,
        expected: Option<Expected>,
        head_seq: u64,
    ) -> Self {
        Self {
            parts,
            key,
            expected,
            expected_seen: None,
            head_seq,
            head_seen: None,
            at: 0,
            last: None,
            first: 0,
            events: 0,
        }
    }

    /// Finds out which files are kept with a key. Once there is one, all later files must have it.
    fn check_keys(&mut self) -> Result<Option<Fault>, AuditError> {
        let mut keyed = false;
        for part in &mut self.parts {
            let start = part
                .reader
                .fill_buf()
                .map_err(|error| AuditError::file(&part.path, error))?;
            let line = start
                .split(|byte| *byte == b'\n')
                .next()
                .unwrap_or_default();
            let is_empty = start.is_empty();
            let fault = |finding| Fault {
                file: part.path.clone(),
                line: 1,
                seq: None,
                finding,
            };
            match (key_of(line), self.key) {
                (None, _) if keyed && !is_empty => return Ok(Some(fault(Finding::KeyDropped))),
                (None, _) => {}
                (Some(id), Some(key)) if id == key.id() => {
                    part.keyed = true;
                    keyed = true;
                }
                (Some(id), _) => return Ok(Some(fault(Finding::Key(id)))),
            }
        }
        Ok(None)
    }

    /// Goes through the lines, with one line of look-ahead: which of two lines is wrong shows in the one after them.
    fn lines(&mut self, head: Option<&Head>) -> Result<Option<Fault>, AuditError> {
        let mut before: Option<Line> = None;
        let mut line = self.next()?;
        while let Some(this) = line {
            let next = self.next()?;
            if let Some(fault) = self.step(before.as_ref(), &this, next.as_ref(), head) {
                return Ok(Some(fault));
            }
            before = Some(this);
            line = next;
        }
        Ok(None)
    }

    fn step(
        &mut self,
        before: Option<&Line>,
        this: &Line,
        next: Option<&Line>,
        head: Option<&Head>,
    ) -> Option<Fault> {
        // A line that was left unfinished and closed by the next writer is no event, even if only its end is missing.
        if closes(next, this) {
            return None;
        }
        let Some(link) = &this.link else {
            let is_unfinished = next.is_none() && !this.ended;
            return (!is_unfinished).then(|| self.fault(this, Finding::Changed));
        };
        let Some((last_seq, last_hash)) = self.last else {
            // The oldest line that is kept. Its hash of the line before it can be checked for a whole chain alone.
            let first = head.map_or(1, |head| head.first);
            if link.seq > first {
                return Some(self.fault(this, Finding::Removed(first, link.seq - 1)));
            }
            let follows_nothing = link.prev == LineHash::START.to_string();
            if link.seq < first || (link.seq == 1) != follows_nothing {
                return Some(self.fault(this, Finding::Changed));
            }
            self.first = link.seq;
            self.accept(this, link.seq);
            return None;
        };
        let closes_one = link.event == "recovered";
        let closed = before.is_some_and(|before| closes(Some(this), before));
        if closes_one != closed {
            return Some(self.fault(this, Finding::Changed));
        }
        if link.prev == last_hash.to_string() {
            if link.seq == last_seq + 1 {
                self.accept(this, link.seq);
                return None;
            }
            return Some(self.fault(this, Finding::Changed));
        }
        Some(self.broken(before, this, link, next, head, last_seq))
    }

    /// Says what is wrong where a line does not follow from the one before it.
    fn broken(
        &self,
        before: Option<&Line>,
        this: &Line,
        link: &Link,
        next: Option<&Line>,
        head: Option<&Head>,
        last_seq: u64,
    ) -> Fault {
        let expected = last_seq + 1;
        // Whether what follows takes this line for whole.
        let whole = match next {
            Some(next) => next
                .link
                .as_ref()
                .is_some_and(|next| next.prev == this.hash.to_string()),
            None => head.is_some_and(|head| head.hash == this.hash.to_string()),
        };
        let next_seq = next
            .and_then(|next| next.link.as_ref())
            .map(|next| next.seq);
        if link.seq > expected {
            if next_seq == Some(expected) {
                return self.fault(this, Finding::Swapped);
            }
            return self.fault(this, Finding::Removed(expected, link.seq - 1));
        }
        match before {
            // The line before was accepted by its own link, and this one is whole but follows from another.
            Some(before) if whole && link.seq == expected => self.fault(before, Finding::Changed),
            Some(before) if whole && link.seq < expected => self.fault(before, Finding::Inserted),
            _ if link.seq < expected => self.fault(this, Finding::Inserted),
            _ if next_seq.is_some_and(|seq| seq <= link.seq) => self.fault(this, Finding::Inserted),
            _ => self.fault(this, Finding::Changed),
        }
    }

    fn accept(&mut self, line: &Line, seq: u64) {
        self.last = Some((seq, line.hash));
        self.events += 1;
        if self.expected.is_some_and(|expected| expected.seq == seq) {
            self.expected_seen = Some(line.hash);
        }
        if self.head_seq == seq {
            self.head_seen = Some((line.hash, line.file, line.number));
        }
    }

    /// Compares the end with what `head.json` and the operator say.
    fn finish(self, dir: &AuditDir, head: Option<&Head>) -> Result<Verified, Fault> {
        let fault = |file: PathBuf, finding| Fault {
            file,
            line: 0,
            seq: None,
            finding,
        };
        let (last, hash) = self.last.unwrap_or((0, LineHash::START));
        let Some(head) = head else {
            if self.last.is_none() {
                return missing(dir, self.expected);
            }
            return Err(fault(dir.head(), Finding::NoHead));
        };
        if head.seq > last {
            return Err(fault(dir.current(), Finding::Shortened(head.seq)));
        }
        // A process that died between a line and the head leaves the head one line behind.
        if let Some((seen, file, line)) = self.head_seen
            && head.hash != seen.to_string()
        {
            return Err(Fault {
                file: self
                    .parts
                    .get(file)
                    .map(|part| part.path.clone())
                    .unwrap_or_default(),
                line,
                seq: Some(head.seq),
                finding: Finding::Changed,
            });
        }
        match (self.expected, self.expected_seen) {
            (Some(expected), None) => {
                return Err(fault(dir.current(), Finding::ExpectedMissing(expected.seq)));
            }
            (Some(expected), Some(seen)) if seen != expected.hash => {
                return Err(fault(dir.current(), Finding::ExpectedDiffers(expected.seq)));
            }
            _ => {}
        }
        Ok(Verified {
            events: self.events,
            first: self.first,
            last,
            hash,
        })
    }

    fn fault(&self, line: &Line, finding: Finding) -> Fault {
        Fault {
            file: self
                .parts
                .get(line.file)
                .map(|part| part.path.clone())
                .unwrap_or_default(),
            line: line.number,
            seq: line.link.as_ref().map(|link| link.seq),
            finding,
        }
    }

    fn next(&mut self) -> Result<Option<Line>, AuditError> {
        while let Some(part) = self.parts.get_mut(self.at) {
            let mut bytes = Vec::new();
            let read = part.reader.read_until(b'\n', &mut bytes);
            if read.map_err(|error| AuditError::file(&part.path, error))? == 0 {
                self.at += 1;
                continue;
            }
            part.lines += 1;
            let ended = bytes.last() == Some(&b'\n');
            if ended {
                bytes.pop();
            }
            let key = self.key.filter(|_| part.keyed);
            return Ok(Some(Line {
                file: self.at,
                number: part.lines,
                bytes: bytes.len(),
                hash: hash(key, &bytes),
                ended,
                link: serde_json::from_slice(&bytes).ok().filter(|_| ended),
            }));
        }
        Ok(None)
    }
}

/// Returns whether a line is the event that closes an unfinished one.
fn closes(line: Option<&Line>, unfinished: &Line) -> bool {
    let link = line.and_then(|line| line.link.as_ref());
    link.is_some_and(|link| {
        link.event == "recovered"
            && link.torn_bytes == Some(unfinished.bytes)
            && link.torn_hash.as_deref() == Some(unfinished.hash.to_string().as_str())
    })
}
