//! Finds a byte that may be near.

use memchr::memchr;

/// Bytes that are looked at one by one first. Starting a vector search takes about as long, which adds up where lines or
/// runs of backticks are short.
const NEAR: usize = 8;

/// Returns where the byte occurs first.
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
