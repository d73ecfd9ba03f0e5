//! Whether the end of some growing Markdown lies inside an open code fence.
//!
//! Looks at text only when it is asked, and at each byte once.

use crate::find::find;

/// Longest line that is still looked at as a fence: a fence is a few characters and a language.
const MAX_FENCE_LINE: usize = 256;

/// Follows the fences of a text that only grows.
#[derive(Debug, Default)]
pub struct Fences {
    /// The open fence: its character and length.
    open: Option<(u8, usize)>,
    /// Where the current line begins.
    line: usize,
    /// Up to where its end was looked for.
    looked: usize,
}

impl Fences {
    /// Whether the end of `text` is inside a fence. `text` must begin with what was passed before.
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

/// The open fence after one more line.
pub fn after(open: Option<(u8, usize)>, line: &[u8]) -> Option<(u8, usize)> {
    if line.len() > MAX_FENCE_LINE {
        return open;
    }
    // Lists indent their fences, so any indent opens and closes.
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
