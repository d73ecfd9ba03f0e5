//! Tells whether the end of a growing Markdown text is inside an open code fence. Reads each byte once, and only when asked.

use crate::find::find;

/// Longest line in bytes that can be a fence: a fence is a few characters and a language.
const MAX_FENCE_LINE: usize = 256;

/// The code fences of a growing text.
#[derive(Debug, Default)]
pub struct Fences {
    /// The character and length of the open fence.
    open: Option<(u8, usize)>,
    /// Where the current line begins.
    line: usize,
    /// Up to where its end was searched for.
    looked: usize,
}

impl Fences {
    /// Returns whether the end of `text` is inside a fence. `text` must begin with the text of the last call.
    pub fn is_inside(&mut self, text: &str) -> bool {
        let bytes = text.as_bytes();
        while let Some(found) = find(b'\n', bytes.get(self.looked..).unwrap_or_default()) {
            let end = self.looked + found;
            self.open = after(self.open, bytes.get(self.line..end).unwrap_or_default());
            self.line = end + 1;
            self.looked = end + 1;
        }
        self.looked = bytes.len();
        // A line that has no end yet can close a fence, but opens one only when it ends.
        let rest = bytes.get(self.line..).unwrap_or_default();
        self.open.is_some() && after(self.open, rest).is_some()
    }
}

/// Returns the open fence after one more line.
pub fn after(open: Option<(u8, usize)>, line: &[u8]) -> Option<(u8, usize)> {
    if line.len() > MAX_FENCE_LINE {
        return open;
    }
    // Fences in lists are indented, so any indent is allowed.
    let indent = line.iter().take_while(|&&byte| byte == b' ').count();
    let line = line.get(indent..).unwrap_or_default();
    let Some(&mark @ (b'`' | b'~')) = line.first() else {
        return open;
    };
    let length = line.iter().take_while(|&&byte| byte == mark).count();
    if length < 3 {
        return open;
    }
    let info = line.get(length..).unwrap_or_default();
    match open {
        None if mark == b'~' || !info.contains(&b'`') => Some((mark, length)),
        Some((opened, least))
            if opened == mark && length >= least && info.trim_ascii_end().is_empty() =>
        {
            None
        }
        _ => open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(text: &str) -> bool {
        let mut growing = Fences::default();
        let mut last = false;
        for (end, _) in text.char_indices().chain([(text.len(), ' ')]) {
            last = growing.is_inside(text.get(..end).unwrap_or_default());
        }
        assert_eq!(last, Fences::default().is_inside(text), "{text}");
        last
    }

    #[test]
    fn fences_open_and_close() {
        assert!(!inside("a ``` b"));
        assert!(!inside("```rust"));
        assert!(inside("```rust\n"));
        assert!(inside("```rust\nlet x;"));
        assert!(!inside("```rust\nlet x;\n```"));
        assert!(inside("```rust\nlet x;\n```x"));
        assert!(inside("````\n```\n"));
        assert!(!inside("~~~\n```\n~~~\n"));
        assert!(!inside("``` a`b\n"));
        assert!(inside("- x\n  ```\n  y\n"));
    }
}
