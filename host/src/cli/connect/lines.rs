//! Line ends: an editor of TOML or JSON may know only its own, so the text is edited with plain ones, and every
//! line that the edit left alone is taken from the original.

/// The text with `\n` as its line end.
#[must_use]
pub fn plain(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// The edited text, with the lines before and after the edit as they are in the original, and the others with the
/// line end that the original has most.
///
/// `edited` was made from [`plain`] of `original`.
#[must_use]
pub fn restored(original: &str, edited: &str) -> String {
    let before: Vec<&str> = original.split_inclusive('\n').collect();
    let after: Vec<&str> = edited.split_inclusive('\n').collect();
    let shorter = before.len().min(after.len());
    let head = equal(before.iter().zip(&after)).min(shorter);
    let tail = equal(before.iter().rev().zip(after.iter().rev())).min(shorter - head);
    let end = usual_end(&before);
    let mut text: String = before.iter().take(head).copied().collect();
    for line in after.iter().take(after.len() - tail).skip(head) {
        match line.strip_suffix('\n') {
            Some(line) => {
                text.push_str(line);
                text.push_str(end);
            }
            None => text.push_str(line),
        }
    }
    text.extend(before.iter().skip(before.len() - tail).copied());
    text
}

/// How many pairs from the start are the same line.
fn equal<'a>(pairs: impl Iterator<Item = (&'a &'a str, &'a &'a str)>) -> usize {
    pairs
        .take_while(|(before, after)| plain(before) == **after)
        .count()
}

fn usual_end(lines: &[&str]) -> &'static str {
    let windows = lines.iter().filter(|line| line.ends_with("\r\n")).count();
    let all = lines.iter().filter(|line| line.ends_with('\n')).count();
    if windows * 2 > all { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_edited_keeps_its_line_ends() {
        for (original, edited, expected) in [
            ("a\r\nb\r\n", "a\nb\n", "a\r\nb\r\n"),
            ("a\r\nb\r\n", "a\nx\nb\n", "a\r\nx\r\nb\r\n"),
            ("a\nb\r\nc", "a\nb\nc\nx\n", "a\nb\r\nc\nx\n"),
            ("a\r\nb\nc\r\n", "x\na\nb\nc\n", "x\r\na\r\nb\nc\r\n"),
            ("a\r\na\r\n", "a\n", "a\r\n"),
            ("", "x\n", "x\n"),
        ] {
            assert_eq!(restored(original, edited), expected, "{original:?}");
        }
    }
}
