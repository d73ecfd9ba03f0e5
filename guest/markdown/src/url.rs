//! Checks URLs.

/// Returns whether it is an http or https URL with something after the scheme, and no white space or control
/// character in it.
pub fn is_web(url: &str) -> bool {
    let rest = scheme_length(url.as_bytes()).and_then(|length| url.get(length..));
    rest.is_some_and(|rest| {
        !rest.is_empty()
            && !rest.starts_with('/')
            && !url.bytes().any(|byte| byte <= b' ' || byte == 127)
    })
}

/// Returns the length of `http://` or `https://` at the start, in either case.
pub fn scheme_length(bytes: &[u8]) -> Option<usize> {
    ["http://", "https://"].into_iter().find_map(|scheme| {
        let head = bytes.get(..scheme.len())?;
        head.eq_ignore_ascii_case(scheme.as_bytes())
            .then_some(scheme.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_web() {
        assert!(is_web("https://a.example/x"));
        assert!(is_web("HTTP://a"));
        for url in [
            "javascript:alert(1)",
            "https://",
            "https:///x",
            "//a.example",
            "ftp://a",
            "http://a b",
            "http://a\n",
        ] {
            assert!(!is_web(url), "{url}");
        }
    }
}
