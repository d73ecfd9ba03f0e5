//! The rules: code, title, CWE, OWASP category, severity, what to do.

use super::Severity;
use Severity::{High, Info, Low, Medium};

/// A rule.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// A stable, hyphenated code.
    pub code: &'static str,
    /// What it finds.
    pub title: &'static str,
    /// The CWE number, where one fits.
    pub cwe: Option<u32>,
    /// The category of the OWASP Top 10 of 2021.
    pub owasp: &'static str,
    /// How bad it mostly is.
    pub severity: Severity,
    /// What to do.
    pub remedy: &'static str,
}

const fn entry(
    code: &'static str,
    title: &'static str,
    cwe: u32,
    owasp: &'static str,
    severity: Severity,
    remedy: &'static str,
) -> Rule {
    Rule {
        code,
        title,
        cwe: if cwe == 0 { None } else { Some(cwe) },
        owasp,
        severity,
        remedy,
    }
}

const RULES: &[Rule] = &[
    entry(
        "hsts",
        "Strict-Transport-Security is missing, disabled or short",
        319,
        "A05",
        Low,
        "Send Strict-Transport-Security with a max-age of at least a year.",
    ),
    entry(
        "csp-missing",
        "Content-Security-Policy is missing",
        693,
        "A05",
        Low,
        "Send a Content-Security-Policy that restricts scripts.",
    ),
    entry(
        "csp-weak",
        "Content-Security-Policy allows inline or arbitrary scripts",
        693,
        "A05",
        Low,
        "Use nonces or hashes in script-src, and no wildcard or data: sources.",
    ),
    entry(
        "clickjacking",
        "The page may be framed by any site",
        1021,
        "A05",
        Low,
        "Send frame-ancestors in the Content-Security-Policy, or X-Frame-Options.",
    ),
    entry(
        "nosniff-missing",
        "X-Content-Type-Options is not nosniff",
        693,
        "A05",
        Low,
        "Send X-Content-Type-Options: nosniff.",
    ),
    entry(
        "content-type-missing",
        "The response has a body but no Content-Type",
        345,
        "A05",
        Info,
        "Send a Content-Type with every body.",
    ),
    entry(
        "cookie-httponly",
        "A session cookie can be read by scripts",
        1004,
        "A05",
        Low,
        "Set HttpOnly on the cookie.",
    ),
    entry(
        "cookie-secure",
        "A cookie of an HTTPS site is sent over HTTP too",
        614,
        "A05",
        Low,
        "Set Secure on the cookie.",
    ),
    entry(
        "cookie-samesite",
        "A cookie has no or a wrong SameSite",
        1275,
        "A05",
        Low,
        "Set SameSite to Lax or Strict, or to None with Secure.",
    ),
    entry(
        "cookie-prefix",
        "A cookie breaks the rules of its name prefix",
        565,
        "A05",
        Low,
        "Set Secure, Path=/ and no Domain for __Host-, and Secure for __Secure-.",
    ),
    entry(
        "cookie-domain",
        "A session cookie is sent to sibling hosts",
        565,
        "A05",
        Info,
        "Leave out Domain, so that the cookie belongs to one host.",
    ),
    entry(
        "cors-reflected",
        "Any origin may read responses with credentials",
        942,
        "A05",
        High,
        "Allow a fixed list of origins only.",
    ),
    entry(
        "cors-null",
        "The null origin may read responses with credentials",
        942,
        "A05",
        Medium,
        "Do not allow the origin null.",
    ),
    entry(
        "cors-vary",
        "A response that depends on Origin may be cached for all",
        524,
        "A05",
        Low,
        "Send Vary: Origin.",
    ),
    entry(
        "cacheable-private",
        "A response to an authenticated request may be cached",
        525,
        "A05",
        Low,
        "Send Cache-Control: no-store or private.",
    ),
    entry(
        "cacheable-cookie",
        "A response that sets a cookie may be kept by shared caches",
        524,
        "A05",
        Medium,
        "Do not send public or s-maxage together with Set-Cookie.",
    ),
    entry(
        "secret-in-url",
        "A secret is part of a URL",
        598,
        "A02",
        Medium,
        "Send secrets in headers or bodies, not in URLs.",
    ),
    entry(
        "secret-in-referer",
        "A secret was sent to another site in Referer",
        598,
        "A02",
        Medium,
        "Keep secrets out of URLs, and send Referrer-Policy.",
    ),
    entry(
        "secret-in-body",
        "A response holds a secret",
        200,
        "A02",
        Medium,
        "Do not send secrets to clients that do not need them.",
    ),
    entry(
        "stack-trace",
        "A response holds a stack trace or a debug error",
        1295,
        "A05",
        Medium,
        "Show a plain error page and log the details.",
    ),
    entry(
        "path-disclosed",
        "An error page shows a path of the server",
        209,
        "A05",
        Low,
        "Show a plain error page and log the details.",
    ),
    entry(
        "directory-listing",
        "A directory is listed",
        548,
        "A05",
        Medium,
        "Turn directory listings off.",
    ),
    entry(
        "version-banner",
        "A header names the version of the software",
        497,
        "A05",
        Info,
        "Leave versions out of Server and X-Powered-By.",
    ),
    entry(
        "debug-header",
        "A debug header is sent",
        489,
        "A05",
        Low,
        "Turn debug mode off in production.",
    ),
    entry(
        "private-address",
        "A response shows a private IP address",
        497,
        "A05",
        Info,
        "Do not show internal addresses.",
    ),
    entry(
        "mixed-content",
        "An HTTPS page loads content over HTTP",
        311,
        "A02",
        Medium,
        "Load everything over HTTPS.",
    ),
    entry(
        "insecure-form",
        "A form or a password goes over HTTP",
        319,
        "A02",
        Medium,
        "Serve and submit forms over HTTPS.",
    ),
    entry(
        "basic-over-http",
        "Basic authentication over HTTP",
        319,
        "A02",
        Medium,
        "Use HTTPS.",
    ),
    entry(
        "sri-missing",
        "A script or style of another site has no integrity",
        345,
        "A08",
        Info,
        "Add the integrity attribute, or serve the file yourself.",
    ),
    entry(
        "polyfill-cdn",
        "A script is loaded from a CDN known for injecting code",
        829,
        "A08",
        High,
        "Remove the script.",
    ),
    entry(
        "jwt-weak",
        "A JSON Web Token is weak",
        347,
        "A02",
        Low,
        "Use a fixed algorithm, an expiry, and no key references in the header.",
    ),
    entry(
        "open-redirect",
        "A redirect goes where a parameter says",
        601,
        "A01",
        Low,
        "Redirect to a fixed list of targets.",
    ),
    entry(
        "source-map",
        "The source map of a script is served",
        540,
        "A05",
        Info,
        "Do not publish source maps.",
    ),
    entry(
        "exposed-file",
        "A file that is not meant for the public is served",
        538,
        "A05",
        High,
        "Remove the file from the web root.",
    ),
    entry(
        "java-serialized",
        "A serialised Java object is sent",
        502,
        "A08",
        Medium,
        "Use a data format without code.",
    ),
    entry(
        "viewstate-unsigned",
        "A view state has no signature",
        642,
        "A08",
        Low,
        "Turn view state MACs on.",
    ),
    entry(
        "csrf-token-absent",
        "A form has no token against forged requests",
        352,
        "A01",
        Info,
        "Add an anti-forgery token, or SameSite to the session cookie.",
    ),
    entry(
        "api-docs",
        "A description of the API is served",
        200,
        "A05",
        Info,
        "Restrict API descriptions where the API is not public.",
    ),
];

/// Returns all rules.
#[must_use]
pub fn rules() -> &'static [Rule] {
    RULES
}

pub(super) fn rule(code: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.code == code)
}
