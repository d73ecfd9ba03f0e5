//! Finds bytes that are often near.

use memchr::memchr;

/// Number of bytes that are compared one by one first. Starting a vector search takes about as long, which adds up where
/// lines or runs of backticks are short.
const NEAR: usize = 8;

/// Returns the index of the first occurrence of the byte.
pub(crate) fn find(byte: u8, bytes: &[u8]) -> Option<usize> {
    let near = bytes.iter().take(NEAR).position(|&other| other == byte);
    near.or_else(|| Some(NEAR + memchr(byte, bytes.get(NEAR..)?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_and_far() {
        for length in 0..40 {
            let mut bytes = vec![b'x'; length];
            assert_eq!(find(b'y', &bytes), None);
            bytes.extend(b"yxy");
            assert_eq!(find(b'y', &bytes), Some(length));
        }
    }
}
