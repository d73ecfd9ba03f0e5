//! Appends lines to the chain, as one process among several. Everything here is done while the folder's lock is held.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use serde_json::Value;

use super::chain::{ChainKey, LineHash, hash};
use super::error::AuditError;
use super::event::{Event, Kind, Line};
use super::files::{AuditDir, FILES_KEPT, private};
use super::head::Head;

/// The longest line: what is cut off after so many bytes is no line of this log.
const LINE_BYTES: u64 = 64 << 10;

/// The end of the chain, as this process saw it last.
#[derive(Debug)]
struct End {
    file: File,
    /// The identity of the file and its length: another process may have appended or begun a new one.
    stamp: Stamp,
    seq: u64,
    hash: LineHash,
    /// The number of the oldest line that is kept.
    first: u64,
    /// Whether the lines of the file are hashed with the key.
    keyed: bool,
    /// A last line without an end: its bytes and its hash.
    torn: Option<(usize, LineHash)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    file: u64,
    bytes: u64,
    regular: bool,
}

impl Stamp {
    fn of(meta: &Metadata) -> Self {
        #[cfg(unix)]
        let file = std::os::unix::fs::MetadataExt::ino(meta);
        #[cfg(not(unix))]
        let file = 0;
        let regular = meta.is_file();
        Self {
            file,
            // A device has no length.
            bytes: if regular { meta.len() } else { 0 },
            regular,
        }
    }
}

impl End {
    /// Goes on after the line that the head names, where that is a later one: lines were removed, and the gap must stay to be
    /// found.
    fn follow(&mut self, head: Option<&Head>) {
        if let Some((head, hash)) = head.and_then(|head| Some((head, head.line_hash()?)))
            && head.seq > self.seq
        {
            (self.seq, self.hash) = (head.seq, hash);
        }
    }
}

/// The writer of one process.
#[derive(Debug)]
pub(super) struct Writer {
    dir: AuditDir,
    key: Option<ChainKey>,
    rotate_bytes: u64,
    head: File,
    end: Option<End>,
}

impl Writer {
    /// Opens the log and makes what is missing.
    pub(super) fn open(
        dir: AuditDir,
        key: Option<ChainKey>,
        rotate_bytes: u64,
    ) -> Result<Self, AuditError> {
        let head = private(&dir.head(), false)?;
        let mut writer = Self {
            dir,
            key,
            rotate_bytes,
            head,
            end: None,
        };
        writer.end()?;
        Ok(writer)
    }

    /// Appends an event. Returns the number of its line.
    pub(super) fn append(&mut self, event: &Event, time: &str) -> Result<u64, AuditError> {
        if let Some((bytes, torn)) = self.end()?.torn {
            let mut recovered = Event::new(Kind::Recovered);
            recovered.torn_bytes = Some(bytes);
            recovered.torn_hash = Some(torn.to_string());
            self.write(&recovered, time, b"\n")?;
        }
        self.write(event, time, b"")
    }

    /// Brings what was written to the disk.
    pub(super) fn sync(&self) -> Result<(), AuditError> {
        match &self.end {
            Some(end) if end.stamp.regular => {
                let synced = end.file.sync_data();
                synced.map_err(|error| AuditError::file(&self.dir.current(), error))
            }
            _ => Ok(()),
        }
    }

    /// Writes a line after `before`, which ends a line that was left unfinished.
    fn write(&mut self, event: &Event, time: &str, before: &[u8]) -> Result<u64, AuditError> {
        let mut line = self.line(event, time)?;
        let (rotate_bytes, has_key) = (self.rotate_bytes, self.key.is_some());
        let end = self.end()?;
        let new_bytes = end.stamp.bytes + (before.len() + line.len()) as u64 + 1;
        let is_full = new_bytes > rotate_bytes || end.keyed != has_key;
        if is_full && end.stamp.bytes > 0 && before.is_empty() {
            self.rotate()?;
            // The first line of a file names the key.
            line = self.line(event, time)?;
        }
        let keyed = self.end()?.keyed;
        let hash = hash(self.key_of_file(keyed), &line);
        let mut bytes = before.to_vec();
        bytes.extend_from_slice(&line);
        bytes.push(b'\n');
        let path = self.dir.current();
        let end = self.end()?;
        if let Err(error) = end.file.write_all(&bytes) {
            // A part of a line is taken back, so that the chain stays whole.
            if end.stamp.regular {
                let _ = end.file.set_len(end.stamp.bytes);
            }
            self.end = None;
            return Err(AuditError::file(&path, error));
        }
        end.seq += 1;
        end.hash = hash;
        end.torn = None;
        if end.stamp.regular {
            end.stamp.bytes += bytes.len() as u64;
        }
        let head = Head {
            seq: end.seq,
            hash: hash.to_string(),
            first: end.first,
            bytes: end.stamp.bytes,
        };
        let seq = end.seq;
        if let Err(error) = head.write(&self.head) {
            tracing::warn!(%error, "head.json of the audit log cannot be written");
        }
        Ok(seq)
    }

    fn line(&mut self, event: &Event, time: &str) -> Result<Vec<u8>, AuditError> {
        let key = self.key.clone();
        let end = self.end()?;
        let line = Line {
            seq: end.seq + 1,
            time,
            pid: std::process::id(),
            event,
            key: key
                .as_ref()
                .map(ChainKey::id)
                .filter(|_| end.stamp.bytes == 0),
            prev: &end.hash.to_string(),
        };
        serde_json::to_vec(&line).map_err(|error| AuditError::Defect(error.to_string()))
    }

    /// Returns the end of the chain, read again where another process went on.
    fn end(&mut self) -> Result<&mut End, AuditError> {
        let path = self.dir.current();
        let stamp = match fs::metadata(&path) {
            Ok(meta) => Some(Stamp::of(&meta)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(AuditError::file(&path, error)),
        };
        let known = self.end.as_ref().map(|end| end.stamp);
        if stamp.is_none() || known != stamp {
            self.end = None;
            let end = self.find_end(&path)?;
            return Ok(self.end.insert(end));
        }
        self.end
            .as_mut()
            .ok_or_else(|| AuditError::Defect("no end of the log".to_owned()))
    }

    fn find_end(&self, path: &Path) -> Result<End, AuditError> {
        let failed = |error| AuditError::file(path, error);
        let file = private(path, true)?;
        let stamp = Stamp::of(&file.metadata().map_err(failed)?);
        let head =
            Head::read(&self.head).map_err(|error| AuditError::file(&self.dir.head(), error))?;
        let mut end = End {
            file,
            stamp,
            seq: 0,
            hash: LineHash::START,
            first: head.as_ref().map_or(1, |head| head.first),
            keyed: self.key.is_some(),
            torn: None,
        };
        if stamp.bytes == 0 {
            self.continue_older(&mut end, head.as_ref())?;
            return Ok(end);
        }
        end.keyed = self.check_key(path, &end.file)?;
        let named = head.as_ref().filter(|head| head.bytes == stamp.bytes);
        if let Some((head, hash)) = named.and_then(|head| Some((head, head.line_hash()?)))
            && ends_a_line(&end.file, stamp.bytes).map_err(failed)?
        {
            (end.seq, end.hash) = (head.seq, hash);
            return Ok(end);
        }
        self.read_end(&mut end, head.as_ref()).map_err(failed)?;
        Ok(end)
    }

    /// Goes on after the newest of the older files, or after what the head names.
    fn continue_older(&self, end: &mut End, head: Option<&Head>) -> Result<(), AuditError> {
        if let Some(newest) = self.dir.older_files()?.last() {
            let failed = |error| AuditError::file(newest, error);
            let content = fs::read(newest).map_err(failed)?;
            let keyed = self.keyed_by(newest, first_line(&content))?;
            if let Some(line) = content
                .trim_ascii_end()
                .rsplit(|byte| *byte == b'\n')
                .next()
            {
                end.seq = seq_of(line).unwrap_or_default();
                end.hash = hash(self.key_of_file(keyed), line);
            }
        }
        end.follow(head);
        Ok(())
    }

    /// Finds the last line by reading the end of the file.
    fn read_end(&self, end: &mut End, head: Option<&Head>) -> io::Result<()> {
        let from = end.stamp.bytes.saturating_sub(2 * LINE_BYTES);
        let mut tail = Vec::new();
        (&end.file).seek(SeekFrom::Start(from))?;
        (&end.file).take(2 * LINE_BYTES).read_to_end(&mut tail)?;
        let whole = tail
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let (lines, torn) = tail.split_at_checked(whole).unwrap_or((&tail, &[]));
        if !torn.is_empty() {
            end.torn = Some((torn.len(), hash(self.key_of_file(end.keyed), torn)));
        }
        if let Some(lines) = lines.strip_suffix(b"\n") {
            let line = lines
                .rsplit(|byte| *byte == b'\n')
                .next()
                .unwrap_or_default();
            end.hash = hash(self.key_of_file(end.keyed), line);
            end.seq = seq_of(line)
                .or_else(|| head.map(|head| head.seq))
                .unwrap_or_default();
        }
        end.follow(head);
        Ok(())
    }

    fn key_of_file(&self, keyed: bool) -> Option<&ChainKey> {
        self.key.as_ref().filter(|_| keyed)
    }

    /// Returns whether a file is kept with the key of this process.
    fn check_key(&self, path: &Path, mut file: &File) -> Result<bool, AuditError> {
        let failed = |error| AuditError::file(path, error);
        let mut start = Vec::new();
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        file.take(LINE_BYTES)
            .read_to_end(&mut start)
            .map_err(failed)?;
        self.keyed_by(path, first_line(&start))
    }

    /// Returns whether a file with this first line is kept with the key of this process. One without a key may be there from
    /// before there was one; one with another key is an error.
    fn keyed_by(&self, path: &Path, first_line: &[u8]) -> Result<bool, AuditError> {
        let given = self.key.as_ref().map(ChainKey::id);
        match key_of(first_line) {
            None => Ok(false),
            Some(needed) if Some(needed.as_str()) == given => Ok(true),
            Some(needed) => Err(AuditError::Key {
                path: path.to_owned(),
                needed,
                given: given.map_or_else(
                    || ", and none is given".to_owned(),
                    |given| format!(", and {given} is given"),
                ),
            }),
        }
    }

    /// Gives the written file its final name and removes the oldest. The next line begins a new file.
    fn rotate(&mut self) -> Result<(), AuditError> {
        self.sync()?;
        let current = self.dir.current();
        let (last, hash, first) = {
            let end = self.end()?;
            (end.seq, end.hash, end.first)
        };
        let older = self.dir.older(last);
        fs::rename(&current, &older).map_err(|error| AuditError::file(&older, error))?;
        let mut files = self.dir.older_files()?;
        let excess = files.len().saturating_sub(FILES_KEPT);
        for file in files.drain(..excess) {
            fs::remove_file(&file).map_err(|error| AuditError::file(&file, error))?;
        }
        let first = match files.first() {
            Some(oldest) if excess > 0 => first_seq(oldest)?.unwrap_or(first),
            _ => first,
        };
        let file = private(&current, true)?;
        let stamp = Stamp::of(
            &file
                .metadata()
                .map_err(|error| AuditError::file(&current, error))?,
        );
        self.end = Some(End {
            file,
            stamp,
            seq: last,
            hash,
            first,
            keyed: self.key.is_some(),
            torn: None,
        });
        Ok(())
    }
}

fn ends_a_line(mut file: &File, bytes: u64) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::Start(bytes - 1))?;
    file.read_exact(&mut last)?;
    Ok(last == [b'\n'])
}

fn member(line: &[u8], name: &str) -> Option<Value> {
    serde_json::from_slice::<Value>(line)
        .ok()?
        .get_mut(name)
        .map(Value::take)
}

fn seq_of(line: &[u8]) -> Option<u64> {
    member(line, "seq")?.as_u64()
}

/// Returns the id of the key that a file's first line names.
pub(super) fn key_of(line: &[u8]) -> Option<String> {
    member(line, "key")?.as_str().map(str::to_owned)
}

fn first_line(content: &[u8]) -> &[u8] {
    content
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default()
}

fn first_seq(path: &Path) -> Result<Option<u64>, AuditError> {
    let failed = |error| AuditError::file(path, error);
    let mut start = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(LINE_BYTES)
        .read_to_end(&mut start)
        .map_err(failed)?;
    // The first line may be one that was left unfinished.
    Ok(start.split(|byte| *byte == b'\n').find_map(seq_of))
}
