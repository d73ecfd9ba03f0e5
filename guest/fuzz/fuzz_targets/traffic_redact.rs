//! A secret of a known shape leaves no text, whatever stands around it.
//!
//! ```text
//! cargo fuzz run --sanitizer none --fuzz-dir guest/fuzz traffic_redact -- -max_len=20000 -max_total_time=600
//! ```

#![no_main]

use libfuzzer_sys::fuzz_target;
use traffic::redact::{Mode, Redactor};

fuzz_target!(|bytes: &[u8]| redact(bytes));

/// A secret between any bytes that end its token does not leave.
fn redact(bytes: &[u8]) {
    const SECRET: &str = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    let text = String::from_utf8_lossy(bytes);
    let text = format!("{text} {SECRET} {text}");
    for mode in [Mode::Balanced, Mode::Strict] {
        let redactor = Redactor::new(mode, b"key".to_vec(), b"call".to_vec(), &[]);
        assert!(!redactor.text(&text, false).text.contains(SECRET));
        assert!(!redactor.text(&text, true).text.contains(SECRET));
    }
}
