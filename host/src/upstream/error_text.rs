//! What the upstream said of a failure, as far as it may be repeated: without the key, on one line, and bounded. It comes
//! from a body that anyone on the way may have written.

use super::KeyFilter;
use crate::answers::Failure;

/// Code points of a message or a detail: enough for every documented one.
const TEXT_CHARS: usize = 500;
/// Code points of a code, an id or the name of a field: documented ones have at most 60.
const WORD_CHARS: usize = 100;
/// Fields that are named; a request has fewer than twice as many.
const FIELDS: usize = 12;

/// Makes a failure fit to be shown and stored.
pub(super) fn tidy(mut failure: Failure, strip: &KeyFilter) -> Failure {
    let clean = |text: &str, most: usize| bounded(&strip.text(text), most);
    failure.message = clean(&failure.message, TEXT_CHARS);
    failure.detail = failure.detail.map(|text| clean(&text, TEXT_CHARS));
    failure.code = failure.code.map(|text| clean(&text, WORD_CHARS));
    failure.id = failure.id.map(|text| clean(&text, WORD_CHARS));
    let named = failure.fields.len();
    failure.fields.truncate(FIELDS);
    for field in &mut failure.fields {
        *field = clean(field, WORD_CHARS);
    }
    if named > FIELDS {
        failure.fields.push(format!("and {} more", named - FIELDS));
    }
    failure
}

/// The text on one line, cut where it is too long.
fn bounded(text: &str, most: usize) -> String {
    let breaks = |letter: char| letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}');
    let mut line: String = text
        .chars()
        .take(most)
        .map(|letter| if breaks(letter) { ' ' } else { letter })
        .collect();
    if text.chars().nth(most).is_some() {
        line.push('…');
    }
    line
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::answers::FailureKind;

    #[test]
    fn all_that_was_said_is_bounded_and_on_one_line() {
        let long = "a\nb\r\n\u{2028}\u{9b}c".repeat(1000);
        let failure = Failure {
            kind: FailureKind::InvalidRequest,
            status: 422,
            code: Some(long.clone()),
            message: long.clone(),
            detail: Some(long.clone()),
            fields: vec![long.clone(); 40],
            retryable: false,
            retry_after_seconds: None,
            id: Some(long),
        };
        let tidied = tidy(failure, &KeyFilter::nothing());
        let texts = [&tidied.message, tidied.detail.as_ref().unwrap()];
        let words = [tidied.code.as_ref().unwrap(), tidied.id.as_ref().unwrap()];
        for (texts, most) in [(texts, TEXT_CHARS), (words, WORD_CHARS)] {
            for text in texts {
                assert_eq!(text.chars().count(), most + 1, "{text}");
                assert!(!text.contains(['\n', '\r', '\u{2028}', '\u{9b}']), "{text}");
            }
        }
        assert_eq!(tidied.fields.len(), FIELDS + 1);
        assert_eq!(tidied.fields.last().unwrap(), "and 28 more");
        assert!(
            tidied
                .fields
                .iter()
                .all(|field| field.chars().count() <= WORD_CHARS + 1)
        );
    }

    #[test]
    fn a_key_that_decoding_brought_out_is_taken_out() {
        let failure = Failure {
            kind: FailureKind::BadKey,
            status: 422,
            code: Some("BSAkeyBSA1".to_owned()),
            message: "no".to_owned(),
            detail: Some("the key BSAkeyBSA1 is bad".to_owned()),
            fields: vec!["header.BSAkeyBSA1".to_owned()],
            retryable: false,
            retry_after_seconds: None,
            id: Some("%42SAkeyBSA1".to_owned()),
        };
        let tidied = tidy(failure, &KeyFilter::new(b"BSAkeyBSA1", "[key]"));
        assert_eq!(tidied.code.unwrap(), "[key]");
        assert_eq!(tidied.detail.unwrap(), "the key [key] is bad");
        assert_eq!(tidied.fields, ["header.[key]"]);
        assert_eq!(tidied.id.unwrap(), "[key]");
    }
}
