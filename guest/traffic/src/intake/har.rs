//! Finds the entries of a HAR file in a stream of bytes. The structure alone is followed here; values are read later.

use super::{Bad, Limits};

/// Bytes of `creator` and `browser`.
const WRITER: usize = 64 << 10;

/// Bytes of a key that is compared with the names of the format.
const KEY: usize = 32;

/// The JSON text of one entry.
pub(super) struct Entry {
    pub(super) json: Vec<u8>,
    /// Bytes of long strings that were left out.
    pub(super) cut: u64,
    /// Why the text is not the whole entry.
    pub(super) broken: Option<(&'static str, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Entry,
    Version,
    Creator,
}

struct Capture {
    what: What,
    out: Vec<u8>,
    /// The depth that the value is at.
    depth: u32,
    /// Bytes of the string that is open.
    string: usize,
    /// Where in `out` the last escape begins.
    escape: usize,
    cut: u64,
    values: u32,
    broken: Option<(&'static str, String)>,
}

pub(super) struct Scanner {
    chunk: Vec<u8>,
    at: usize,
    consumed: u64,
    depth: u32,
    string: bool,
    escaped: bool,
    /// Whether the string that is open is a key at the first two levels.
    in_key: bool,
    expects_key: bool,
    key: Vec<u8>,
    in_log: bool,
    in_entries: bool,
    saw_log: bool,
    saw_entries: bool,
    done: bool,
    capture: Option<Capture>,
    version: String,
    creator: String,
    limits: Limits,
}

impl Scanner {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            chunk: Vec::new(),
            at: 0,
            consumed: 0,
            depth: 0,
            string: false,
            escaped: false,
            in_key: false,
            expects_key: false,
            key: Vec::new(),
            in_log: false,
            in_entries: false,
            saw_log: false,
            saw_entries: false,
            done: false,
            capture: None,
            version: String::new(),
            creator: String::new(),
            limits,
        }
    }

    pub(super) fn feed(&mut self, chunk: &[u8]) {
        self.chunk.clear();
        self.chunk.extend_from_slice(chunk);
        self.at = 0;
    }

    pub(super) fn offset(&self) -> u64 {
        self.consumed
    }

    pub(super) fn complete(&self) -> bool {
        self.done
    }

    pub(super) fn version(&self) -> String {
        self.version.clone()
    }

    pub(super) fn writer(&self) -> String {
        self.creator.clone()
    }

    /// Returns the next entry, or `None` where more bytes are needed.
    pub(super) fn next(&mut self, ended: bool) -> Result<Option<Entry>, Bad> {
        let chunk = std::mem::take(&mut self.chunk);
        let found = self.run(&chunk);
        self.chunk = chunk;
        match found {
            Ok(None) if ended => self.end(),
            other => other,
        }
    }

    fn end(&mut self) -> Result<Option<Entry>, Bad> {
        if let Some(capture) = self.capture.take()
            && capture.what == What::Entry
        {
            return Ok(Some(Entry {
                json: Vec::new(),
                cut: 0,
                broken: Some(("truncated", "the file ends inside this entry".into())),
            }));
        }
        if self.saw_entries {
            return Ok(None);
        }
        Err(Bad::new(
            "not-the-format",
            if self.saw_log {
                "the file is no HAR: \"log\" has no list \"entries\""
            } else {
                "the file is no HAR: it has no member \"log\""
            },
        ))
    }

    fn run(&mut self, chunk: &[u8]) -> Result<Option<Entry>, Bad> {
        while let Some(rest) = chunk.get(self.at..).filter(|rest| !rest.is_empty()) {
            let found = if self.string {
                self.string(rest)
            } else {
                self.structure(rest)?
            };
            if let Some(capture) = found
                && let Some(entry) = self.captured(capture)
            {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    fn advance(&mut self, bytes: usize) {
        self.at += bytes;
        self.consumed += bytes as u64;
    }

    /// The inside of a string, up to its end, an escape or the end of the chunk.
    fn string(&mut self, rest: &[u8]) -> Option<Capture> {
        if self.escaped {
            self.escaped = false;
            self.keep_string(rest.get(..1).unwrap_or_default());
            self.advance(1);
            return None;
        }
        let at = memchr::memchr2(b'"', b'\\', rest);
        let run = rest.get(..at.unwrap_or(rest.len())).unwrap_or_default();
        self.keep_string(run);
        self.advance(run.len());
        match at.and_then(|at| rest.get(at)) {
            Some(b'\\') => {
                self.escaped = true;
                if let Some(capture) = &mut self.capture {
                    capture.escape = capture.out.len();
                }
                self.keep_string(b"\\");
                self.advance(1);
                None
            }
            Some(_) => {
                self.string = false;
                self.in_key = false;
                self.advance(1);
                self.end_string()
            }
            None => None,
        }
    }

    fn keep_string(&mut self, bytes: &[u8]) {
        if self.in_key {
            let room = KEY.saturating_sub(self.key.len()).min(bytes.len());
            self.key
                .extend_from_slice(bytes.get(..room).unwrap_or_default());
            return;
        }
        let limits = self.limits;
        let Some(capture) = &mut self.capture else {
            return;
        };
        let most = match capture.what {
            // As base64 a body is a third longer.
            What::Entry => (limits.body as usize).saturating_add(limits.item as usize) / 3 * 4 + 4,
            _ => WRITER,
        };
        let room = if capture.broken.is_some() || capture.cut_open() {
            0
        } else {
            most.saturating_sub(capture.string).min(bytes.len())
        };
        capture.string += room;
        capture
            .out
            .extend_from_slice(bytes.get(..room).unwrap_or_default());
        if room < bytes.len() {
            capture.close_cut((bytes.len() - room) as u64);
        }
        // Two bodies and what is around them.
        if capture.out.len() > most.saturating_mul(2).saturating_add(limits.item as usize) {
            capture.breaks(
                "entry-too-large",
                "the entry is larger than an entry may be",
            );
        }
    }

    fn end_string(&mut self) -> Option<Capture> {
        let capture = self.capture.as_mut()?;
        capture.string = 0;
        if capture.broken.is_none() {
            capture.out.push(b'"');
        }
        // A string that is the whole value.
        if capture.depth == self.depth {
            return self.capture.take();
        }
        None
    }

    /// What is outside of strings, up to the next string, the end of a value or of the chunk.
    fn structure(&mut self, rest: &[u8]) -> Result<Option<Capture>, Bad> {
        let mut from = 0;
        for (at, &byte) in rest.iter().enumerate() {
            let here = self.depth;
            if self.done {
                break;
            }
            if here == 0 {
                match self.opens(byte) {
                    Ok(true) => {}
                    Ok(false) => continue,
                    Err(bad) => {
                        self.advance(at);
                        return Err(bad);
                    }
                }
            }
            if let Some(capture) = &mut self.capture {
                // A number or a literal ends before what follows it.
                if capture.depth == here && matches!(byte, b',' | b']' | b'}') {
                    let run = rest.get(from..at).unwrap_or_default().to_vec();
                    capture.keep(&run);
                    self.advance(at);
                    return Ok(self.capture.take());
                }
            } else {
                self.begins(byte, at, &mut from);
            }
            match byte {
                b'"' => {
                    self.string = true;
                    self.open_string(rest.get(from..=at).unwrap_or_default());
                    self.advance(at + 1);
                    return Ok(None);
                }
                b'{' | b'[' => {
                    self.depth = here.saturating_add(1);
                    self.expects_key = byte == b'{';
                    self.count();
                }
                b'}' | b']' => {
                    self.depth = here.saturating_sub(1);
                    if let Some(capture) = &mut self.capture {
                        if capture.depth == self.depth {
                            let run = rest.get(from..=at).unwrap_or_default().to_vec();
                            capture.keep(&run);
                            self.advance(at + 1);
                            return Ok(self.capture.take());
                        }
                    } else {
                        self.closes();
                    }
                }
                b',' => {
                    self.expects_key = true;
                    self.count();
                }
                b':' => self.expects_key = false,
                _ => {}
            }
        }
        if let Some(capture) = &mut self.capture {
            let run = rest.get(from..).unwrap_or_default().to_vec();
            capture.keep(&run);
        }
        self.advance(rest.len());
        Ok(None)
    }

    /// Whether the file begins here. White space and a byte order mark may stand before.
    fn opens(&self, byte: u8) -> Result<bool, Bad> {
        match byte {
            b'{' => Ok(true),
            b' ' | b'\t' | b'\r' | b'\n' | 0xef | 0xbb | 0xbf => Ok(false),
            _ => Err(Bad::new(
                "not-the-format",
                "the file is no HAR: it does not begin with {",
            )),
        }
    }

    /// Whether a value that is wanted begins with this byte.
    fn begins(&mut self, byte: u8, at: usize, from: &mut usize) {
        if matches!(
            byte,
            b' ' | b'\t' | b'\r' | b'\n' | b',' | b':' | b']' | b'}'
        ) {
            return;
        }
        if self.depth == 3 && self.in_entries {
            *from = at;
            self.capture = Some(Capture::new(What::Entry, 3));
            return;
        }
        if self.expects_key {
            return;
        }
        if self.depth == 1 && self.key == b"log" && byte == b'{' {
            self.in_log = true;
            self.saw_log = true;
        } else if self.depth == 2 && self.in_log {
            match self.key.as_slice() {
                b"entries" if byte == b'[' => {
                    self.in_entries = true;
                    self.saw_entries = true;
                }
                b"version" => {
                    *from = at;
                    self.capture = Some(Capture::new(What::Version, 2));
                }
                b"creator" => {
                    *from = at;
                    self.capture = Some(Capture::new(What::Creator, 2));
                }
                _ => {}
            }
        }
    }

    fn open_string(&mut self, run: &[u8]) {
        if let Some(capture) = &mut self.capture {
            capture.keep(run);
            return;
        }
        self.in_key = self.expects_key && self.depth <= 2;
        if self.in_key {
            self.key.clear();
        }
    }

    fn count(&mut self) {
        let most = self.limits.values;
        if let Some(capture) = &mut self.capture {
            capture.values = capture.values.saturating_add(1);
            if capture.values > most {
                capture.breaks(
                    "too-many-values",
                    "the entry has more JSON values than an entry may have",
                );
            }
        }
    }

    fn closes(&mut self) {
        match self.depth {
            2 => self.in_entries = false,
            1 => self.in_log = false,
            0 => self.done = true,
            _ => {}
        }
    }

    fn captured(&mut self, capture: Capture) -> Option<Entry> {
        match capture.what {
            What::Entry => Some(Entry {
                json: capture.out,
                cut: capture.cut,
                broken: capture.broken,
            }),
            What::Version => {
                if let Ok(serde_json::Value::String(version)) = serde_json::from_slice(&capture.out)
                {
                    self.version = version.chars().take(32).collect();
                }
                None
            }
            What::Creator => {
                if let Ok(creator) = serde_json::from_slice::<serde_json::Value>(&capture.out) {
                    let field = |name: &str| -> String {
                        let text = creator.get(name).and_then(serde_json::Value::as_str);
                        text.unwrap_or_default().chars().take(64).collect()
                    };
                    self.creator = format!("{} {}", field("name"), field("version"))
                        .trim()
                        .to_owned();
                }
                None
            }
        }
    }
}

impl Capture {
    fn new(what: What, depth: u32) -> Self {
        Self {
            what,
            out: Vec::new(),
            depth,
            string: 0,
            escape: 0,
            cut: 0,
            values: 0,
            broken: None,
        }
    }

    fn keep(&mut self, run: &[u8]) {
        if self.broken.is_none() {
            self.out.extend_from_slice(run);
        }
    }

    /// Whether the string that is open was cut already.
    fn cut_open(&self) -> bool {
        self.string == usize::MAX
    }

    /// Leaves out the rest of the string that is open; an escape that was begun goes too.
    fn close_cut(&mut self, bytes: u64) {
        self.cut += bytes;
        if !self.cut_open() {
            self.string = usize::MAX;
            if self.out.len().saturating_sub(self.escape) < 6
                && self.out.get(self.escape) == Some(&b'\\')
            {
                self.out.truncate(self.escape);
            }
        }
    }

    fn breaks(&mut self, code: &'static str, reason: &str) {
        if self.broken.is_none() {
            self.broken = Some((code, reason.to_owned()));
            self.out = Vec::new();
        }
    }
}
