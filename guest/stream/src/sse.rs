//! Cuts bytes into server-sent events as WHATWG defines them.
//!
//! Lines end in LF, CR or CRLF; a CRLF may be cut between reads. A blank line ends an event. So does
//! the end of the stream, which the standard does not allow. Only `data` matters here; `event`, `id` and `retry` are
//! known and skipped, any other field is unknown and skipped. Bytes are never decoded here.
//!
//! An event ends with the first byte of its blank line's end (so after the CR of a CRLF): it is
//! delivered at once, and its offset does not depend on how the stream was cut.

use memchr::memchr2;

/// The data of one event.
pub(crate) struct Frame<'a> {
    /// The lines of its data, joined by LF.
    pub data: &'a [u8],
    /// Byte offset of its end.
    pub at: u64,
}

/// A line or an event is longer than the limit. Holds the offset at which that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong(pub u64);

/// Cuts a stream into events.
#[derive(Debug)]
pub(crate) struct Framer {
    limit: usize,
    /// The number of bytes read.
    offset: u64,
    /// The beginning of a line whose end has not come.
    line: Vec<u8>,
    /// The data so far of an event that has not ended.
    data: Vec<u8>,
    /// Whether the event has a data field at all.
    has_data: bool,
    /// Whether the last byte was a CR that ended a line, so that an LF now belongs to it.
    after_cr: bool,
    first_line: bool,
    /// Whether a known field or a comment was seen: the stream is one of events.
    pub recognised: bool,
}

/// Most memory in bytes that is kept for the data of the next event. Most events have some hundred bytes.
const KEPT_BYTES: usize = 64 << 10;

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

const BOM: &[u8] = b"\xEF\xBB\xBF";

impl Framer {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            offset: 0,
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            after_cr: false,
            first_line: true,
            recognised: false,
        }
    }

    /// Returns the number of bytes read.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns whether the next byte begins an event. Then a caller may read a whole event itself and [`Framer::skip`] it.
    pub(crate) fn at_event(&self) -> bool {
        self.line.is_empty() && !self.has_data && !self.after_cr && !self.first_line
    }

    /// Skips whole events of this many bytes, which the caller read.
    pub(crate) fn skip(&mut self, bytes: usize) {
        self.offset += bytes as u64;
        self.recognised = true;
    }

    /// Reads from `chunk` up to the end of an event or of the chunk. Returns the number of bytes read, and the event.
    pub(crate) fn next<'a>(
        &'a mut self,
        chunk: &'a [u8],
    ) -> Result<(usize, Option<Frame<'a>>), TooLong> {
        self.clear_delivered();
        let mut used = 0;
        // Data that is complete in this chunk is not copied.
        let mut direct: Option<&'a [u8]> = None;
        loop {
            let rest = chunk.get(used..).unwrap_or_default();
            let Some(&first) = rest.first() else { break };
            if self.after_cr {
                self.after_cr = false;
                if first == b'\n' {
                    used += 1;
                    self.offset += 1;
                    continue;
                }
            }
            // Blank lines between events, of which there can be any number.
            if !self.has_data && !self.first_line && self.line.is_empty() && is_line_end(first) {
                let blank = rest.iter().take_while(|&&byte| is_line_end(byte)).count();
                let last = rest.get(blank - 1);
                self.after_cr = last == Some(&b'\r');
                used += blank;
                self.offset += blank as u64;
                continue;
            }
            let end = memchr2(b'\n', b'\r', rest);
            let part = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
            if self.line.len() + part.len() > self.limit {
                let room = self.limit - self.line.len();
                self.data.extend_from_slice(direct.unwrap_or_default());
                return Err(TooLong(self.offset + room as u64));
            }
            let Some(end) = end else {
                self.line.extend_from_slice(part);
                used += part.len();
                self.offset += part.len() as u64;
                break;
            };
            self.after_cr = rest.get(end) == Some(&b'\r');
            used += end + 1;
            self.offset += end as u64 + 1;
            if self.line.is_empty() {
                let part = self.strip_bom(part);
                if part.is_empty() {
                    if self.has_data {
                        self.has_data = false;
                        let frame = Frame {
                            data: direct.unwrap_or(&self.data),
                            at: self.offset,
                        };
                        return Ok((used, Some(frame)));
                    }
                } else if let Some(value) = self.field(part) {
                    direct = self.add(value, direct)?;
                }
            } else {
                self.line.extend_from_slice(part);
                self.end_line(&mut direct)?;
            }
        }
        if let Some(data) = direct {
            self.data.extend_from_slice(data);
        }
        Ok((used, None))
    }

    /// Returns the data so far of the event that has not ended.
    pub(crate) fn open_data(&self) -> &[u8] {
        if self.has_data { &self.data } else { &[] }
    }

    /// Reads the end of the stream: ends the open line and the open event.
    pub(crate) fn finish(&mut self) -> Result<Option<Frame<'_>>, TooLong> {
        self.clear_delivered();
        if !self.line.is_empty() {
            self.end_line(&mut None)?;
        }
        let at = self.offset;
        Ok(self.has_data.then_some(Frame {
            data: &self.data,
            at,
        }))
    }

    /// Ends a line that came in pieces.
    fn end_line(&mut self, direct: &mut Option<&[u8]>) -> Result<(), TooLong> {
        let mut line = std::mem::take(&mut self.line);
        let stripped = self.strip_bom(&line);
        let Some(value) = self.field(stripped) else {
            self.line = line;
            self.line.clear();
            return Ok(());
        };
        if self.has_data {
            if let Some(data) = direct.take() {
                self.data.extend_from_slice(data);
            }
            return self.append(value);
        }
        // The first line of an event becomes its data without a copy, since it can be as long as the limit.
        let before = line.len() - value.len();
        line.drain(..before);
        self.has_data = true;
        self.data = line;
        Ok(())
    }

    /// Clears the data of the event that the last call returned, and frees the memory of a large one.
    fn clear_delivered(&mut self) {
        if self.has_data {
            return;
        }
        self.data.clear();
        if self.data.capacity() > KEPT_BYTES {
            self.data = Vec::new();
        }
    }

    fn strip_bom<'a>(&mut self, line: &'a [u8]) -> &'a [u8] {
        let first = std::mem::take(&mut self.first_line);
        match line.strip_prefix(BOM) {
            Some(rest) if first => rest,
            _ => line,
        }
    }

    /// Returns the value if the line is a `data` field.
    fn field<'a>(&mut self, line: &'a [u8]) -> Option<&'a [u8]> {
        if let Some(rest) = line.strip_prefix(b"data") {
            match rest.first() {
                None => {
                    self.recognised = true;
                    return Some(rest);
                }
                Some(b':') => {
                    self.recognised = true;
                    let value = rest.get(1..).unwrap_or_default();
                    return Some(value.strip_prefix(b" ").unwrap_or(value));
                }
                Some(_) => return None,
            }
        }
        let known = [&b":"[..], b"event:", b"id:", b"retry:"]
            .iter()
            .any(|field| line.starts_with(field));
        self.recognised |= known;
        None
    }

    /// Adds a line of data. The first line of an event is returned instead, and stays in the chunk.
    fn add<'a>(
        &mut self,
        value: &'a [u8],
        direct: Option<&'a [u8]>,
    ) -> Result<Option<&'a [u8]>, TooLong> {
        if !self.has_data {
            self.has_data = true;
            return Ok(Some(value));
        }
        if let Some(data) = direct {
            self.data.extend_from_slice(data);
        }
        self.append(value)?;
        Ok(None)
    }

    fn append(&mut self, value: &[u8]) -> Result<(), TooLong> {
        if self.has_data {
            self.data.push(b'\n');
        }
        self.has_data = true;
        if self.data.len() + value.len() > self.limit {
            return Err(TooLong(self.offset));
        }
        self.data.extend_from_slice(value);
        Ok(())
    }
}
