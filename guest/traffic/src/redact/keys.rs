//! Which names carry secrets. Words count as a whole, between separators and at camel-case edges: `auth_token` and `X-Session-Id` do,
//! `keyboard_layout` and `sidebar` do not.

/// Bytes of a name that are looked at.
const NAME: usize = 128;

/// Words that make a name secret wherever they stand in it.
const WORDS: &[&str] = &[
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "passcode",
    "secret",
    "secrets",
    "token",
    "tokens",
    "credential",
    "credentials",
    "apikey",
    "apitoken",
    "apisecret",
    "accesstoken",
    "accesskey",
    "authtoken",
    "authkey",
    "sessionid",
    "sessid",
    "sessiontoken",
    "session",
    "sid",
    "jwt",
    "csrf",
    "xsrf",
    "csrftoken",
    "xsrftoken",
    "csrfmiddlewaretoken",
    "bearer",
    "authorization",
    "jsessionid",
    "phpsessid",
    "otp",
    "totp",
    "privatekey",
    "secretkey",
    "clientsecret",
    "refreshtoken",
    "idtoken",
    "signature",
    "cookie",
    "cookies",
    "passwords",
    "samlresponse",
    "samlrequest",
    "authenticity",
];

/// Words that make `key` secret when they stand right before it.
const BEFORE_KEY: &[&str] = &[
    "api",
    "access",
    "private",
    "secret",
    "client",
    "encryption",
    "signing",
    "auth",
    "master",
    "service",
    "shared",
    "license",
    "session",
    "account",
    "subscription",
    "storage",
    "app",
    "consumer",
];

/// Words that make `code` secret when they stand right before it.
const BEFORE_CODE: &[&str] = &[
    "auth",
    "authorization",
    "access",
    "verification",
    "reset",
    "invite",
    "security",
    "pass",
    "recovery",
    "backup",
    "device",
    "magic",
    "login",
    "mfa",
];

/// Names that are secret as a whole.
const WHOLE: &[&str] = &[
    "auth",
    "pass",
    "pin",
    "sig",
    "ticket",
    "assertion",
    "cvv",
    "cvc",
    "remember_me",
    "connect.sid",
];

/// Names that are secret as a whole in queries, fragments and forms, where they carry keys and authorization codes.
const WHOLE_IN_QUERY: &[&str] = &["key", "code"];

/// Last words of names that describe a secret rather than carry it, such as `token_type`.
const ABOUT: &[&str] = &[
    "type",
    "endpoint",
    "expires",
    "expiry",
    "expiration",
    "ttl",
    "lifetime",
    "enabled",
    "required",
    "policy",
    "length",
    "count",
    "header",
    "algorithm",
    "in",
    "at",
    "url",
    "uri",
    "name",
    "timeout",
    "duration",
    "limit",
    "age",
    "status",
];

/// Whether a value of that name is a secret. `query`: the name stands in a query, a fragment or a form.
pub(crate) fn is_secret(name: &[u8], query: bool) -> bool {
    if name.is_empty() || name.len() > NAME {
        return false;
    }
    let lower = name.to_ascii_lowercase();
    let lower = String::from_utf8_lossy(&lower);
    if WHOLE.contains(&lower.as_ref()) || (query && WHOLE_IN_QUERY.contains(&lower.as_ref())) {
        return true;
    }
    let words = words(name);
    if words.len() > 1
        && let Some(last) = words.last()
        && ABOUT.contains(&last.as_str())
    {
        return false;
    }
    let pair = |last: &str, before: &[&str]| {
        words.windows(2).any(|pair| {
            matches!(pair, [first, second] if second == last && before.contains(&first.as_str()))
        })
    };
    words.iter().any(|word| WORDS.contains(&word.as_str()))
        || pair("key", BEFORE_KEY)
        || pair("code", BEFORE_CODE)
        || pair("id", &["session", "sess"])
}

/// The words of a name, in lower case.
fn words(name: &[u8]) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = 0_u8;
    for (at, &byte) in name.iter().enumerate() {
        let next = name.get(at + 1).copied().unwrap_or(0);
        if !byte.is_ascii_alphanumeric() {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
        } else {
            // aB, and the B of ABc.
            let edge = byte.is_ascii_uppercase()
                && (before.is_ascii_lowercase()
                    || before.is_ascii_digit()
                    || (before.is_ascii_uppercase() && next.is_ascii_lowercase()));
            if edge && !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            word.push(char::from(byte.to_ascii_lowercase()));
        }
        before = byte;
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Whether a path segment announces that the next one is a secret.
pub(crate) fn announces(segment: &[u8]) -> bool {
    const SEGMENTS: &[&str] = &[
        "reset",
        "verify",
        "confirm",
        "invite",
        "invitation",
        "magic",
        "activate",
        "unsubscribe",
        "share",
    ];
    if is_secret(segment, false) {
        return true;
    }
    words(segment)
        .iter()
        .any(|word| SEGMENTS.contains(&word.as_str()))
}

/// Whether a value looks made by a machine: long enough, without spaces, of letters and digits.
pub(crate) fn looks_random(value: &[u8], least: usize) -> bool {
    let plain = value
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_.~+/=%".contains(byte));
    value.len() >= least
        && plain
        && value.iter().any(u8::is_ascii_digit)
        && value.iter().any(u8::is_ascii_alphabetic)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn words_count_as_a_whole() {
        for name in [
            "password",
            "auth_token",
            "X-Session-Id",
            "accessToken",
            "JSESSIONID",
            "csrf-token",
            "API_KEY",
            "apiKey",
            "clientSecret",
            "user[password]",
            "ASP.NET_SessionId",
            "x-api-key",
            "XSRF-TOKEN",
            "private_key",
            "reset_code",
        ] {
            assert!(is_secret(name.as_bytes(), false), "{name}");
        }
        for name in [
            "keyboard_layout",
            "sidebar",
            "made",
            "monkey",
            "tokenize",
            "author",
            "key",
            "code",
            "country_code",
            "primary_key",
            "token_type",
            "passenger",
            "compass",
            "sessions_enabled",
            "",
        ] {
            assert!(!is_secret(name.as_bytes(), false), "{name}");
        }
        assert!(is_secret(b"code", true) && is_secret(b"key", true));
    }
}
