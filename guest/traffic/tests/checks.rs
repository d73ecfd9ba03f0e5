//! Every check: what it finds, and what is close and must not be found.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs
)]

mod common;

use base64::Engine as _;
use common::exchanges;
use traffic::Exchange;
use traffic::checks::{Checker, Finding, rules};
use traffic::intake::Format;

/// 2026-01-01.
const NOW: i64 = 1_767_225_600_000;

fn exchange(url: &str, request: &str, response: &str) -> Exchange {
    let path = url.splitn(4, '/').nth(3).unwrap_or_default();
    let (host, method) = (
        url.split('/').nth(2).unwrap(),
        if request.contains("\r\n\r\n") {
            "POST"
        } else {
            "GET"
        },
    );
    let (head, body) = request.split_once("\r\n\r\n").unwrap_or((request, ""));
    let end = if head.is_empty() { "" } else { "\r\n" };
    let encode = |text: String| base64::engine::general_purpose::STANDARD.encode(text);
    let request = encode(format!(
        "{method} /{path} HTTP/1.1\r\nHost: {host}\r\n{head}{end}\r\n{body}"
    ));
    let response = encode(response.to_owned());
    let xml = format!(
        "<items><item><url><![CDATA[{url}]]></url><request base64=\"true\">{request}</request><response base64=\"true\">{response}</response></item></items>"
    );
    exchanges(Format::BurpXml, xml.as_bytes()).remove(0)
}

fn findings(exchange: &Exchange) -> Vec<Finding> {
    Checker::new(b"key".to_vec(), NOW).push(exchange)
}

/// URL, headers of the request (and after a blank line its body), response.
type Case = (&'static str, &'static str, &'static str);

const S: &str = "https://shop.example/";
const H: &str = "http://shop.example/";
const DOC: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>x";

/// A rule, a case that it finds, and cases that it must not find.
fn cases() -> Vec<(&'static str, Vec<Case>, Vec<Case>)> {
    let html = |headers: &str, body: &str| -> &'static str {
        leak(format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{headers}\r\n{body}"
        ))
    };
    let typed = |kind: &str, body: &str| -> &'static str {
        leak(format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n{body}"
        ))
    };
    let status = |code: &str, body: &str| -> &'static str {
        leak(format!(
            "HTTP/1.1 {code} X\r\nContent-Type: text/html\r\n\r\n{body}"
        ))
    };
    let jwt = |header: &str, payload: &str| -> String {
        let encode = |text: &str| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text);
        format!("{}.{}.c2lnbmF0dXJl", encode(header), encode(payload))
    };
    let bearer = |token: String| -> &'static str { leak(format!("Authorization: Bearer {token}")) };
    let good = r#"{"alg":"HS256","typ":"JWT"}"#;
    let short = r#"{"sub":"1","iat":1700000000,"exp":1700003600}"#;
    vec![
        (
            "hsts",
            vec![
                (S, "", DOC),
                (S, "", html("Strict-Transport-Security: max-age=0\r\n", "x")),
                (
                    S,
                    "",
                    html("Strict-Transport-Security: max-age=60\r\n", "x"),
                ),
            ],
            vec![
                (
                    S,
                    "",
                    html("Strict-Transport-Security: max-age=31536000\r\n", "x"),
                ),
                (H, "", DOC),
                ("https://203.0.113.7/", "", DOC),
                (S, "", status("302", "x")),
            ],
        ),
        (
            "csp-missing",
            vec![
                (S, "", DOC),
                (
                    S,
                    "",
                    html(
                        "Content-Security-Policy-Report-Only: default-src 'self'\r\n",
                        "x",
                    ),
                ),
            ],
            vec![
                (
                    S,
                    "",
                    html("Content-Security-Policy: default-src 'self'\r\n", "x"),
                ),
                (
                    S,
                    "",
                    html(
                        "",
                        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'self'\">",
                    ),
                ),
                (S, "", typed("text/plain", "x")),
            ],
        ),
        (
            "csp-weak",
            vec![
                (
                    S,
                    "",
                    html(
                        "Content-Security-Policy: script-src 'self' 'unsafe-inline'\r\n",
                        "x",
                    ),
                ),
                (
                    S,
                    "",
                    html("Content-Security-Policy: default-src *\r\n", "x"),
                ),
                (
                    S,
                    "",
                    html("Content-Security-Policy: img-src 'self'\r\n", "x"),
                ),
            ],
            vec![
                (
                    S,
                    "",
                    html(
                        "Content-Security-Policy: script-src 'nonce-abc' 'unsafe-inline'\r\n",
                        "x",
                    ),
                ),
                (
                    S,
                    "",
                    html(
                        "Content-Security-Policy: script-src 'self' *.shop.example\r\n",
                        "x",
                    ),
                ),
                (
                    S,
                    "",
                    html("Content-Security-Policy: frame-ancestors 'none'\r\n", "x"),
                ),
            ],
        ),
        (
            "clickjacking",
            vec![
                (S, "", DOC),
                (
                    S,
                    "",
                    html("Content-Security-Policy: frame-ancestors *\r\n", "x"),
                ),
            ],
            vec![
                (S, "", html("X-Frame-Options: DENY\r\n", "x")),
                (
                    S,
                    "",
                    html("Content-Security-Policy: frame-ancestors 'self'\r\n", "x"),
                ),
            ],
        ),
        (
            "nosniff-missing",
            vec![(S, "", DOC), (S, "", typed("text/javascript", "x"))],
            vec![
                (S, "", html("X-Content-Type-Options: nosniff\r\n", "x")),
                (S, "", typed("image/png", "x")),
                (S, "", typed("text/html", "")),
            ],
        ),
        (
            "content-type-missing",
            vec![(S, "", "HTTP/1.1 200 OK\r\n\r\nx")],
            vec![(S, "", "HTTP/1.1 200 OK\r\n\r\n"), (S, "", DOC)],
        ),
        (
            "cookie-httponly",
            vec![(S, "", html("Set-Cookie: sessionid=abc; Secure\r\n", "x"))],
            vec![
                (
                    S,
                    "",
                    html("Set-Cookie: sessionid=abc; Secure; HttpOnly\r\n", "x"),
                ),
                (S, "", html("Set-Cookie: theme=dark\r\n", "x")),
                (S, "", html("Set-Cookie: sessionid=; Max-Age=0\r\n", "x")),
                (S, "", html("Set-Cookie: csrftoken=abc\r\n", "x")),
                (
                    S,
                    "",
                    html(
                        "Set-Cookie: sessionid=x; Expires=Thu, 01 Jan 1970 00:00:00 GMT\r\n",
                        "x",
                    ),
                ),
            ],
        ),
        (
            "cookie-secure",
            vec![(S, "", html("Set-Cookie: theme=dark\r\n", "x"))],
            vec![
                (S, "", html("Set-Cookie: theme=dark; secure\r\n", "x")),
                (H, "", html("Set-Cookie: theme=dark\r\n", "x")),
            ],
        ),
        (
            "cookie-samesite",
            vec![
                (S, "", html("Set-Cookie: a=b; SameSite=None\r\n", "x")),
                (S, "", html("Set-Cookie: sid=b; Secure\r\n", "x")),
            ],
            vec![
                (
                    S,
                    "",
                    html("Set-Cookie: a=b; SameSite=None; Secure\r\n", "x"),
                ),
                (S, "", html("Set-Cookie: sid=b; SameSite=Lax\r\n", "x")),
                (S, "", html("Set-Cookie: theme=b\r\n", "x")),
            ],
        ),
        (
            "cookie-prefix",
            vec![
                (
                    S,
                    "",
                    html(
                        "Set-Cookie: __Host-a=b; Secure; Path=/; Domain=shop.example\r\n",
                        "x",
                    ),
                ),
                (S, "", html("Set-Cookie: __Secure-a=b\r\n", "x")),
            ],
            vec![
                (
                    S,
                    "",
                    html("Set-Cookie: __Host-a=b; Secure; Path=/\r\n", "x"),
                ),
                (S, "", html("Set-Cookie: __Secure-a=b; Secure\r\n", "x")),
            ],
        ),
        (
            "cookie-domain",
            vec![(
                "https://a.shop.example/",
                "",
                html("Set-Cookie: sid=b; Domain=.shop.example\r\n", "x"),
            )],
            vec![
                (
                    S,
                    "",
                    html("Set-Cookie: sid=b; Domain=shop.example\r\n", "x"),
                ),
                (
                    "https://a.shop.example/",
                    "",
                    html("Set-Cookie: theme=b; Domain=shop.example\r\n", "x"),
                ),
                (
                    "https://a.shop.example/",
                    "",
                    html("Set-Cookie: sid=b; Domain=hop.example\r\n", "x"),
                ),
            ],
        ),
        (
            "cors-reflected",
            vec![(
                S,
                "Origin: https://evil.example",
                "HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: https://evil.example\r\nAccess-Control-Allow-Credentials: true\r\n\r\n",
            )],
            vec![
                (
                    S,
                    "Origin: https://evil.example",
                    "HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\nAccess-Control-Allow-Credentials: true\r\n\r\n",
                ),
                (
                    S,
                    "Origin: https://shop.example",
                    "HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: https://shop.example\r\nAccess-Control-Allow-Credentials: true\r\n\r\n",
                ),
                (
                    S,
                    "Origin: https://evil.example",
                    "HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: https://evil.example\r\nAccess-Control-Allow-Credentials: True\r\n\r\n",
                ),
            ],
        ),
        (
            "cors-null",
            vec![(
                S,
                "Origin: null",
                "HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: null\r\nAccess-Control-Allow-Credentials: true\r\n\r\n",
            )],
            vec![(
                S,
                "Origin: null",
                "HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: null\r\n\r\n",
            )],
        ),
        (
            "cors-vary",
            vec![(
                S,
                "Origin: https://o.example",
                "HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: https://o.example\r\n\r\nx",
            )],
            vec![
                (
                    S,
                    "Origin: https://o.example",
                    "HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: https://o.example\r\nVary: Accept, Origin\r\n\r\nx",
                ),
                (
                    S,
                    "Origin: https://o.example",
                    "HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: https://o.example\r\nCache-Control: no-store\r\n\r\nx",
                ),
            ],
        ),
        (
            "cacheable-private",
            vec![(S, "Cookie: a=b", DOC)],
            vec![
                (S, "", DOC),
                (S, "Cookie: a=b", html("Cache-Control: private\r\n", "x")),
                (S, "Cookie: a=b", typed("image/png", "x")),
            ],
        ),
        (
            "cacheable-cookie",
            vec![(
                S,
                "",
                html("Cache-Control: public\r\nSet-Cookie: a=b\r\n", "x"),
            )],
            vec![
                (
                    S,
                    "",
                    html(
                        "Cache-Control: public\r\nSet-Cookie: a=; Max-Age=0\r\n",
                        "x",
                    ),
                ),
                (
                    S,
                    "",
                    html("Cache-Control: s-maxage=0\r\nSet-Cookie: a=b\r\n", "x"),
                ),
                (S, "", html("Set-Cookie: a=b\r\n", "x")),
            ],
        ),
        (
            "secret-in-url",
            vec![("https://shop.example/a?access_token=abcdefgh1", "", DOC)],
            vec![
                ("https://shop.example/a?access_token=abc", "", DOC),
                ("https://shop.example/a?token_hint=abcdefgh1", "", DOC),
            ],
        ),
        (
            "secret-in-referer",
            vec![(S, "Referer: https://o.example/a?api_key=abcdefgh1", DOC)],
            vec![
                (S, "Referer: https://shop.example/a?api_key=abcdefgh1", DOC),
                (S, "Referer: https://o.example/a?q=abcdefgh1", DOC),
            ],
        ),
        (
            "secret-in-body",
            vec![
                (S, "", typed("text/plain", "key AKIAABCDEFGHIJKLMNOP end")),
                (
                    S,
                    "",
                    typed(
                        "text/plain",
                        "-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----",
                    ),
                ),
            ],
            vec![
                (
                    S,
                    "",
                    typed("text/plain", "key AKIAABCDEFGHIJKLMNOPQRS end"),
                ),
                (
                    S,
                    "X-Own: AKIAABCDEFGHIJKLMNOP",
                    typed("text/plain", "AKIAABCDEFGHIJKLMNOP"),
                ),
                (S, "", "HTTP/1.1 404 X\r\n\r\nAKIAABCDEFGHIJKLMNOP"),
            ],
        ),
        (
            "stack-trace",
            vec![
                (
                    S,
                    "",
                    status(
                        "500",
                        "Traceback (most recent call last):\n  File \"/srv/app.py\", line 3, in f\n",
                    ),
                ),
                (
                    S,
                    "",
                    status("200", "at a.B.c(D.java:3)\nat a.B.d(D.java:4)"),
                ),
                (S, "", status("500", "ORA-00942: table")),
                (S, "", status("500", "SQLSTATE[42S02]")),
            ],
            vec![
                (S, "", status("200", "Write File \"x.py\", line 3 to see")),
                (S, "", status("500", "at the office (D.java is a file)")),
                (S, "", status("500", "ORA-12")),
            ],
        ),
        (
            "path-disclosed",
            vec![(S, "", status("500", "error in /var/www/shop/index.php"))],
            vec![
                (S, "", status("200", "see /var/www/shop/index.php")),
                (S, "", status("500", "error in /var/")),
            ],
        ),
        (
            "directory-listing",
            vec![(
                S,
                "",
                status(
                    "200",
                    "<title>Index of /files</title><a href='../'>Parent Directory</a>",
                ),
            )],
            vec![
                (
                    S,
                    "",
                    status("200", "<title>Index of /files</title> an article"),
                ),
                (
                    S,
                    "",
                    status("404", "<title>Index of /files</title>Parent Directory"),
                ),
            ],
        ),
        (
            "version-banner",
            vec![(S, "", html("Server: Apache/2.4.1\r\n", "x"))],
            vec![
                (S, "", html("Server: Apache\r\n", "x")),
                (S, "", html("X-Other: 2.4.1\r\n", "x")),
            ],
        ),
        (
            "debug-header",
            vec![(S, "", html("X-Debug-Token: abc\r\n", "x"))],
            vec![(S, "", html("X-Debugger: abc\r\n", "x"))],
        ),
        (
            "private-address",
            vec![
                (S, "", html("X-Backend: 10.1.2.3\r\n", "x")),
                (S, "", html("", "on 192.168.0.9.")),
            ],
            vec![
                (
                    S,
                    "",
                    html("", "version 10.1.2.3.4 or v10.1.2.3 or lib/10.1.2.3"),
                ),
                ("http://10.0.0.1/", "", html("", "10.1.2.3")),
                (S, "", html("", "172.15.0.1 127.0.0.1")),
            ],
        ),
        (
            "mixed-content",
            vec![
                (
                    S,
                    "",
                    html("", "<script src=\"http://cdn.example/a.js\"></script>"),
                ),
                (S, "", html("", "<img src=http://cdn.example/a.png>")),
            ],
            vec![
                (
                    S,
                    "",
                    html("", "<!-- <script src=\"http://cdn.example/a.js\"> -->"),
                ),
                (
                    S,
                    "",
                    html("", "<img data-src=\"http://cdn.example/a.png\">"),
                ),
                (S, "", html("", "<a href=\"http://o.example/\">")),
                (H, "", html("", "<script src=\"http://cdn.example/a.js\">")),
            ],
        ),
        (
            "insecure-form",
            vec![
                (S, "", html("", "<form action=\"http://o.example/\">")),
                (H, "", html("", "<input type=password>")),
                (
                    H,
                    "Content-Type: application/x-www-form-urlencoded\r\n\r\npassword=x",
                    DOC,
                ),
            ],
            vec![
                (S, "", html("", "<form action=\"/x\"><input type=password>")),
                ("http://localhost/", "", html("", "<input type=password>")),
                (
                    H,
                    "Content-Type: application/x-www-form-urlencoded\r\n\r\nq=x",
                    DOC,
                ),
            ],
        ),
        (
            "basic-over-http",
            vec![
                (H, "Authorization: Basic YTpi", DOC),
                (
                    H,
                    "",
                    "HTTP/1.1 401 X\r\nWWW-Authenticate: Basic realm=x\r\n\r\n",
                ),
            ],
            vec![
                (S, "Authorization: Basic YTpi", DOC),
                (H, "Authorization: Bearer x", DOC),
                ("http://localhost/", "Authorization: Basic YTpi", DOC),
            ],
        ),
        (
            "sri-missing",
            vec![(
                S,
                "",
                html("", "<script src=\"https://cdn.example/a.js\"></script>"),
            )],
            vec![
                (
                    S,
                    "",
                    html(
                        "",
                        "<script src=\"https://cdn.example/a.js\" integrity=\"sha384-x\"></script>",
                    ),
                ),
                (S, "", html("", "<script src=\"/a.js\"></script>")),
                (
                    S,
                    "",
                    html("", "<script src=\"https://shop.example/a.js\"></script>"),
                ),
            ],
        ),
        (
            "polyfill-cdn",
            vec![(
                S,
                "",
                html("", "<script src=\"//cdn.polyfill.io/v3/p.js\"></script>"),
            )],
            vec![
                (
                    S,
                    "",
                    html("", "<script src=\"//notpolyfill.io/p.js\"></script>"),
                ),
                (S, "", html("", "<a href=\"//polyfill.io/\">")),
            ],
        ),
        (
            "jwt-weak",
            vec![
                (S, bearer(jwt(r#"{"alg":"None"}"#, short)), DOC),
                (S, bearer(jwt(good, r#"{"sub":"1"}"#)), DOC),
                (
                    S,
                    bearer(jwt(r#"{"alg":"RS256","jku":"https://x"}"#, short)),
                    DOC,
                ),
                (
                    S,
                    bearer(jwt(good, r#"{"iat":1700000000,"exp":1800000000}"#)),
                    DOC,
                ),
            ],
            vec![(S, bearer(jwt(good, short)), DOC)],
        ),
        (
            "open-redirect",
            vec![(
                "https://shop.example/go?to=https%3A%2F%2Fevil.example%2Fx",
                "",
                "HTTP/1.1 302 X\r\nLocation: https://evil.example/x\r\n\r\n",
            )],
            vec![
                (
                    "https://shop.example/go?to=https%3A%2F%2Fshop.example%2Fx",
                    "",
                    "HTTP/1.1 302 X\r\nLocation: https://shop.example/x\r\n\r\n",
                ),
                (
                    "https://shop.example/go?to=%2Fx",
                    "",
                    "HTTP/1.1 302 X\r\nLocation: https://login.example/x\r\n\r\n",
                ),
            ],
        ),
        (
            "exposed-file",
            vec![
                (
                    "https://shop.example/.git/config",
                    "",
                    typed("text/plain", "[core]\n\tbare = false"),
                ),
                (
                    "https://shop.example/.env",
                    "",
                    typed("text/plain", "A_KEY=1\nB_KEY=2\n"),
                ),
                (
                    "https://shop.example/info.php",
                    "",
                    html("", "<title>phpinfo()</title>"),
                ),
                (
                    "https://shop.example/.htpasswd",
                    "",
                    typed("text/plain", "a:$apr1$x"),
                ),
                (
                    "https://shop.example/actuator/env",
                    "",
                    typed("application/json", "{\"propertySources\":[]}"),
                ),
            ],
            vec![
                (
                    "https://shop.example/.git/config",
                    "",
                    html("", "[core] not found"),
                ),
                (
                    "https://shop.example/.env",
                    "",
                    typed("text/plain", "A_KEY=1\n"),
                ),
                (
                    "https://shop.example/blog/phpinfo",
                    "",
                    html("", "how to use phpinfo()"),
                ),
            ],
        ),
        (
            "java-serialized",
            vec![
                ("https://shop.example/a?s=rO0ABXNy", "", DOC),
                (S, "X: y\r\n\r\nrO0ABXNy", DOC),
            ],
            vec![("https://shop.example/a?s=xrO0ABXNy", "", DOC)],
        ),
        (
            "viewstate-unsigned",
            vec![(
                S,
                "",
                html(
                    "",
                    "<input type=hidden name=__VIEWSTATE value=\"/wEPBQNhYmNk\">",
                ),
            )],
            vec![(
                S,
                "",
                html(
                    "",
                    "<input type=hidden name=__VIEWSTATE value=\"/wEPBQNhYmNkAAECAwQFBgcICQoLDA0ODw==\">",
                ),
            )],
        ),
        (
            "csrf-token-absent",
            vec![(
                S,
                "Cookie: sid=x",
                html("", "<form method=post action=/pay><input name=a></form>"),
            )],
            vec![
                (
                    S,
                    "Cookie: sid=x",
                    html(
                        "",
                        "<form method=post><input type=hidden name=csrf_token value=x></form>",
                    ),
                ),
                (S, "", html("", "<form method=post>")),
                (S, "Cookie: sid=x", html("", "<form method=get>")),
                (
                    S,
                    "Cookie: sid=x",
                    html("Set-Cookie: sid=y; SameSite=Lax\r\n", "<form method=post>"),
                ),
            ],
        ),
        (
            "api-docs",
            vec![(S, "", typed("application/json", "{\"openapi\":\"3.0.0\"}"))],
            vec![
                (
                    S,
                    "",
                    typed("application/json", "{\"info\":{\"openapi\":\"3\"}}"),
                ),
                (S, "", typed("text/plain", "{\"openapi\":\"3\"}")),
            ],
        ),
    ]
}

fn leak(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

#[test]
fn every_rule_finds_its_case_and_leaves_the_near_miss() {
    let mut tested = vec!["source-map".to_owned()];
    for (code, positive, misses) in cases() {
        tested.push(code.to_owned());
        for (url, request, response) in positive {
            let found = findings(&exchange(url, request, response));
            let one = found.iter().find(|finding| finding.code == code);
            let one = one.unwrap_or_else(|| {
                panic!("{code} does not find {url} {request:?} {response:?}: {found:?}")
            });
            assert!(
                !one.title.is_empty() && !one.evidence.is_empty() && one.key.starts_with(code),
                "{one:?}"
            );
        }
        for (url, request, response) in misses {
            let found = findings(&exchange(url, request, response));
            assert!(
                found.iter().all(|finding| finding.code != code),
                "{code} finds {url} {request:?} {response:?}: {found:?}"
            );
        }
    }
    for rule in rules() {
        assert!(
            tested.iter().any(|code| code == rule.code),
            "{} has no test",
            rule.code
        );
    }
    assert_eq!(rules().len(), 38);
}

#[test]
fn a_source_map_is_found_when_both_were_seen() {
    let script = exchange(
        "https://shop.example/js/app.js",
        "",
        "HTTP/1.1 200 OK\r\nContent-Type: text/javascript\r\n\r\nx()\n//# sourceMappingURL=app.js.map\n",
    );
    let map = exchange(
        "https://shop.example/js/app.js.map",
        "",
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"version\":3,\"sources\":[],\"mappings\":\"\"}",
    );
    let missing = exchange(
        "https://shop.example/js/app.js.map",
        "",
        "HTTP/1.1 404 X\r\n\r\n{\"version\":3,\"sources\":[],\"mappings\":\"\"}",
    );
    for order in [[&script, &map], [&map, &script]] {
        let mut checker = Checker::new(Vec::new(), NOW);
        let found: Vec<Finding> = order
            .into_iter()
            .flat_map(|exchange| checker.push(exchange))
            .collect();
        assert_eq!(
            found
                .iter()
                .filter(|finding| finding.code == "source-map")
                .count(),
            1
        );
    }
    let mut checker = Checker::new(Vec::new(), NOW);
    let found: Vec<Finding> = [&script, &missing]
        .into_iter()
        .flat_map(|exchange| checker.push(exchange))
        .collect();
    assert!(found.iter().all(|finding| finding.code != "source-map"));
}

#[test]
fn no_finding_holds_a_secret() {
    let secret = "Zq7xP2mK9vR4tL8wB3nH";
    let key = "AKIAABCDEFGHIJKLMNOP";
    let found = findings(&exchange(
        &format!("http://shop.example/a?access_token={secret}"),
        &format!(
            "Cookie: sid={secret}\r\nAuthorization: Basic {secret}\r\nReferer: https://o.example/?api_key={secret}"
        ),
        &format!(
            "HTTP/1.1 500 X\r\nSet-Cookie: sid={secret}\r\nServer: Apache/2.4.1 token={secret}\r\nContent-Type: text/html\r\n\r\n{key} File \"/home/x/{secret}.py\", line 3\n"
        ),
    ));
    assert!(found.len() > 4);
    let text = serde_json::to_string(&found).unwrap();
    for (place, _) in text.match_indices(secret) {
        // A file name is no secret by itself; whatever is named as one is.
        assert!(text[..place].ends_with("/home/x/"), "{text}");
    }
    assert!(!text.contains(key));
}
