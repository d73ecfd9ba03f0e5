//! Decisions of the gate over real sockets: each kind of request on each route, over HTTP/1.1 and HTTP/2.

use bytes::Bytes;
use http_body_util::Full;
use serde_json::Value;

use super::client::{Connection, h2_exchange};
use super::program::Serve;
use crate::support::World;

/// Each route, with the status of a request to it that the gate lets through.
const ROUTES: [(&str, &str, u16); 10] = [
    ("POST", "/mcp", 400),
    ("POST", "/mcp/", 400),
    ("GET", "/mcp", 400),
    ("GET", "/sse", 200),
    ("POST", "/message?sessionId=none", 404),
    ("GET", "/__mcp/health", 200),
    ("GET", "/__mcp/ready", 200),
    ("GET", "/__mcp/metrics", 200),
    ("GET", "/.well-known/oauth-authorization-server", 404),
    ("GET", "/elsewhere", 404),
];

const MOZILLA: &str = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";

/// What a request says beside its route, and why it is denied.
type Case = (
    &'static [(&'static str, &'static str)],
    Option<&'static str>,
);

/// What a request says beside its route, `PORT` standing for the server's, and why it is denied.
const CASES: &[Case] = &[
    // Clients that are no browser.
    (&[("host", "127.0.0.1:PORT")], None),
    (&[("host", "localhost:PORT")], None),
    (&[("host", "LOCALHOST:PORT")], None),
    (&[("host", "[::1]:PORT")], None),
    (&[("host", "[0:0:0:0:0:0:0:1]:PORT")], None),
    (
        &[
            ("host", "127.0.0.1:PORT"),
            ("user-agent", "node"),
            ("sec-fetch-mode", "cors"),
        ],
        None,
    ),
    (
        &[
            ("host", "127.0.0.1:PORT"),
            ("user-agent", "python-httpx/0.28"),
        ],
        None,
    ),
    (
        &[
            ("host", "127.0.0.1:PORT"),
            ("authorization", "Bearer anything at all"),
        ],
        None,
    ),
    (
        &[
            ("host", "127.0.0.1:PORT"),
            (
                "user-agent",
                "Mozilla/5.0 Chrome/140 Electron/38.0.0 Safari/537.36",
            ),
            ("sec-fetch-site", "none"),
        ],
        None,
    ),
    // Pages of an origin that is allowed.
    (
        &[
            ("host", "127.0.0.1:PORT"),
            ("origin", "http://127.0.0.1:PORT"),
            ("user-agent", MOZILLA),
            ("sec-fetch-site", "same-origin"),
        ],
        None,
    ),
    (
        &[("host", "localhost:PORT"), ("origin", "http://[::1]:PORT")],
        None,
    ),
    (
        &[
            ("host", "127.0.0.1:PORT"),
            ("origin", "https://app.example"),
            ("sec-fetch-site", "cross-site"),
            ("referer", "https://app.example/page"),
        ],
        None,
    ),
    (
        &[
            ("host", "127.0.0.1:PORT"),
            ("origin", "https://APP.example:443"),
        ],
        None,
    ),
    (
        &[
            ("host", "127.0.0.1:PORT"),
            ("referer", "http://localhost:PORT/x?y#z"),
        ],
        None,
    ),
    // Pages of others.
    (
        &[
            ("host", "127.0.0.1:PORT"),
            ("origin", "http://evil.example"),
        ],
        Some("origin_not_allowed"),
    ),
    (
        &[("host", "127.0.0.1:PORT"), ("origin", "null")],
        Some("origin_not_allowed"),
    ),
    (
        &[("host", "127.0.0.1:PORT"), ("origin", "")],
        Some("origin_not_allowed"),
    ),
    (
        &[
            ("host", "127.0.0.1:PORT"),
            ("origin", "http://localhost:3000"),
        ],
        Some("origin_not_allowed"),
    ),
    (
        &[("host", "127.0.0.1:PORT"), ("origin", "http://localhost")],
        Some("origin_not_allowed"),
    ),
    (
        &[
            ("host", "127.0.0.1:PORT"),
            ("origin", "https://localhost:PORT"),
        ],
        Some("origin_not_allowed"),
    ),
    (
        &[("host", "127.0.0.1:PORT"), ("origin", "http://app.example")],
        Some("origin_not_allowed"),
    ),
    (
        &[
            ("host", "127.0.0.1:PORT"),
            ("origin", "https://app.example.evil.example"),
        ],
        Some("origin_not_allowed"),
    ),
    (
        &[
            ("host", "127.0.0.1:PORT"),
            ("origin", "https://app.example/"),
        ],
        Some("origin_not_allowed"),
    ),
    (
        &[
            ("host", "127.0.0.1:PORT"),
            ("origin", "chrome-extension://abcdef"),
        ],
        Some("origin_not_allowed"),
    ),
    (
        &[
            ("host", "127.0.0.1:PORT"),
            ("origin", "http://127.0.0.1:PORT"),
            ("origin", "http://evil.example"),
        ],
        Some("origin_not_allowed"),
    ),
    // Browsers without an origin.
    (
        &[("host", "127.0.0.1:PORT"), ("sec-fetch-site", "cross-site")],
        Some("cross_site_without_origin"),
    ),
    (
        &[("host", "127.0.0.1:PORT"), ("sec-fetch-site", "same-site")],
        Some("cross_site_without_origin"),
    ),
    (
        &[
            ("host", "127.0.0.1:PORT"),
            ("sec-fetch-site", "same-origin"),
        ],
        Some("cross_site_without_origin"),
    ),
    (
        &[
            ("host", "127.0.0.1:PORT"),
            ("sec-fetch-site", "none"),
            ("user-agent", MOZILLA),
        ],
        Some("browser_without_origin"),
    ),
    (
        &[("host", "127.0.0.1:PORT"), ("user-agent", "Opera/9.80")],
        Some("browser_without_origin"),
    ),
    (
        &[
            ("host", "127.0.0.1:PORT"),
            ("user-agent", "a Browser of sorts"),
        ],
        Some("browser_without_origin"),
    ),
    (
        &[
            ("host", "127.0.0.1:PORT"),
            ("sec-fetch-site", "cross-site"),
            ("user-agent", "Electron/38"),
        ],
        Some("cross_site_without_origin"),
    ),
    // Names that are rebound.
    (&[("host", "evil.example:PORT")], Some("host_not_loopback")),
    (&[("host", "evil.example")], Some("host_not_loopback")),
    (
        &[("host", "localhost.evil.example:PORT")],
        Some("host_not_loopback"),
    ),
    (
        &[("host", "127.0.0.1.nip.io:PORT")],
        Some("host_not_loopback"),
    ),
    (&[("host", "0.0.0.0:PORT")], Some("host_not_loopback")),
    (&[("host", "127.0.0.2:PORT")], Some("host_not_loopback")),
    (
        &[("host", "[::ffff:127.0.0.1]:PORT")],
        Some("host_not_loopback"),
    ),
    (&[("host", "192.168.1.1:PORT")], Some("host_not_loopback")),
    // The same with an origin that fits.
    (
        &[
            ("host", "evil.example:PORT"),
            ("origin", "http://127.0.0.1:PORT"),
        ],
        Some("host_not_loopback"),
    ),
    (
        &[
            ("host", "evil.example:PORT"),
            ("origin", "https://app.example"),
        ],
        Some("host_not_loopback"),
    ),
    // Other ports.
    (&[("host", "127.0.0.1")], Some("host_port_mismatch")),
    (&[("host", "localhost:1")], Some("host_port_mismatch")),
    (&[("host", "[::1]")], Some("host_port_mismatch")),
    // Pages that say where they are.
    (
        &[
            ("host", "127.0.0.1:PORT"),
            ("referer", "http://evil.example/"),
        ],
        Some("referer_not_allowed"),
    ),
    (
        &[
            ("host", "127.0.0.1:PORT"),
            ("referer", "http://localhost:3000/"),
        ],
        Some("referer_not_allowed"),
    ),
    (
        &[("host", "127.0.0.1:PORT"), ("referer", "about:blank")],
        Some("referer_not_allowed"),
    ),
];

/// Hosts that only HTTP/1.1 can say: a client of HTTP/2 has no such `:authority`.
const ONLY_H1: &[Case] = &[
    (&[], Some("host_missing")),
    (&[("host", "")], Some("host_malformed")),
    (&[("host", "::1")], Some("host_port_mismatch")),
    (&[("host", "localhost:")], Some("host_malformed")),
    (&[("host", "localhost:0")], Some("host_malformed")),
    (&[("host", "localhost:70000")], Some("host_malformed")),
    (&[("host", "[::1]:99999")], Some("host_malformed")),
    (&[("host", "localhost:PORTx")], Some("host_malformed")),
    (&[("host", "localhost:+PORT")], Some("host_malformed")),
    (&[("host", "localhost:0PORT")], Some("host_malformed")),
    (&[("host", "evil@localhost:PORT")], Some("host_malformed")),
    (&[("host", "[::1")], Some("host_malformed")),
    (&[("host", "[localhost]:PORT")], Some("host_malformed")),
    (
        &[("host", "localhost:PORT, evil.example")],
        Some("host_malformed"),
    ),
    (&[("host", "local host:PORT")], Some("host_malformed")),
    (
        &[("host", "127.0.0.1:PORT"), ("host", "127.0.0.1:PORT")],
        Some("host_ambiguous"),
    ),
    (
        &[("host", "127.0.0.1:PORT"), ("host", "evil.example")],
        Some("host_ambiguous"),
    ),
];

fn server(world: &World) -> Serve {
    Serve::start(world, &["--allowed-origin", "https://app.example"])
}

/// A decision that was not as it should be.
type Wrong = String;

/// Checks one decision. `body` is empty where the reply is a stream.
fn check(
    status: u16,
    body: &str,
    route: (&str, &str, u16),
    expected: Option<&str>,
    case: &str,
) -> Result<(), Wrong> {
    let (method, path, allowed) = route;
    let case = format!("{method} {path} {case}: {status} {body}");
    let Some(reason) = expected else {
        return if status == allowed { Ok(()) } else { Err(case) };
    };
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let described = body["error_description"].as_str().unwrap_or_default();
    if status == 403 && body["reason"] == reason && described.len() > 20 {
        Ok(())
    } else {
        Err(format!("{case}, not {reason}"))
    }
}

/// All decisions of a table at once, so that a gate that does nothing shows every one that it gets wrong.
fn judge(decisions: &[Result<(), Wrong>], denials: usize) {
    let wrong: Vec<_> = decisions
        .iter()
        .filter_map(|one| one.as_ref().err())
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {} decisions are wrong, of which {denials} are denials: {:#?}",
        wrong.len(),
        decisions.len(),
        wrong.iter().take(10).collect::<Vec<_>>(),
    );
}

fn h1(port: u16, method: &str, target: &str, headers: &[(&str, &str)]) -> (u16, String) {
    let mut text = format!("{method} {target} HTTP/1.1\r\nconnection: close\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {}\r\n", value.replace("PORT", &port.to_string()));
    }
    if method == "POST" {
        text += "content-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
    } else {
        text += "\r\n";
    }
    let mut connection = Connection::open(port);
    connection.raw(text.as_bytes());
    let head = connection.head();
    let body = if head.is_stream() {
        String::new()
    } else {
        connection.body(&head)
    };
    (head.status, body)
}

#[test]
fn decisions_over_http_1() {
    let world = World::new();
    let server = server(&world);
    let (mut decisions, mut denials) = (Vec::new(), 0);
    for (headers, expected) in CASES.iter().chain(ONLY_H1) {
        for route in ROUTES {
            let (status, body) = h1(server.port, route.0, route.1, headers);
            denials += usize::from(expected.is_some());
            let case = format!("{headers:?}");
            decisions.push(check(status, &body, route, *expected, &case));
        }
    }
    assert!(decisions.len() >= 600, "{}", decisions.len());
    judge(&decisions, denials);
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_over_http_2() {
    let world = World::new();
    let server = server(&world);
    let port = server.port.to_string();
    let (mut decisions, mut denials) = (Vec::new(), 0);
    for (headers, expected) in CASES {
        for route in ROUTES {
            let fill = |text: &str| text.replace("PORT", &port);
            let host = headers.iter().find(|(name, _)| *name == "host").unwrap();
            let mut request = http::Request::builder().method(route.0).uri(format!(
                "http://{}{}",
                fill(host.1),
                route.1
            ));
            for (name, value) in headers.iter().filter(|(name, _)| *name != "host") {
                request = request.header(*name, fill(value));
            }
            let body = if route.0 == "POST" { "{}" } else { "" };
            if route.0 == "POST" {
                request = request.header("content-type", "application/json");
            }
            let request = request.body(Full::new(Bytes::from(body))).unwrap();
            let (status, body) = h2_exchange(server.port, request).await.unwrap();
            denials += usize::from(expected.is_some());
            let case = format!("{headers:?}");
            decisions.push(check(status, &body, route, *expected, &case));
        }
    }
    judge(&decisions, denials);
}

#[test]
fn two_authorities_that_differ_are_denied_and_two_that_agree_are_not() {
    let world = World::new();
    let server = server(&world);
    let port = server.port;
    for (target, host, expected) in [
        (
            "http://evil.example/__mcp/health",
            "127.0.0.1:PORT",
            Some("host_ambiguous"),
        ),
        (
            "http://127.0.0.1:PORT/__mcp/health",
            "evil.example",
            Some("host_ambiguous"),
        ),
        (
            "http://localhost:PORT/__mcp/health",
            "127.0.0.1:PORT",
            Some("host_ambiguous"),
        ),
        ("http://127.0.0.1:PORT/__mcp/health", "127.0.0.1:PORT", None),
    ] {
        let full = target.replace("PORT", &port.to_string());
        let (status, body) = h1(port, "GET", &full, &[("host", host)]);
        check(status, &body, ("GET", target, 200), expected, host).unwrap();
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for (host, expected) in [
        ("evil.example".to_owned(), Some("host_ambiguous")),
        (format!("localhost:{port}"), Some("host_ambiguous")),
        (format!("127.0.0.1:{port}"), None),
    ] {
        let request = http::Request::builder()
            .uri(format!("http://127.0.0.1:{port}/__mcp/health"))
            .header("host", &host)
            .body(Full::default())
            .unwrap();
        let (status, body) = runtime.block_on(h2_exchange(port, request)).unwrap();
        check(
            status,
            &body,
            ("GET", "/__mcp/health", 200),
            expected,
            &host,
        )
        .unwrap();
    }
}

#[test]
fn preflights_are_answered_for_allowed_origins_alone() {
    let world = World::new();
    let server = server(&world);
    let port = server.port;
    let own = format!("http://localhost:{port}");
    let asked = [
        ("access-control-request-method", "POST"),
        (
            "access-control-request-headers",
            "content-type, mcp-param-region",
        ),
    ];
    for (origin, allowed) in [
        ("https://app.example", true),
        (own.as_str(), true),
        ("http://evil.example", false),
        ("null", false),
    ] {
        let headers = [&[("origin", origin)][..], &asked].concat();
        let (head, body) = Connection::open(port).exchange("OPTIONS", "/mcp", &headers, "");
        assert_eq!(
            head.status,
            if allowed { 204 } else { 403 },
            "{origin}: {body}"
        );
        let shared = head.header("access-control-allow-origin");
        assert_eq!(shared, allowed.then_some(origin));
        if allowed {
            let headers = head.header("access-control-allow-headers").unwrap();
            assert!(headers.contains("mcp-param-region") && headers.contains("Mcp-Session-Id"));
            assert_eq!(head.header("access-control-allow-private-network"), None);
        }
        assert_eq!(head.header("vary"), Some("Origin"));
    }
    // Without the header that makes it one, it is a request like any other.
    let (head, _) = Connection::open(port).exchange(
        "OPTIONS",
        "/mcp",
        &[("origin", "https://app.example")],
        "",
    );
    assert_eq!(head.status, 405);
    // A page that may read replies is told so on each, and nobody else is.
    for (headers, shared) in [
        (
            &[("origin", "https://app.example")][..],
            Some("https://app.example"),
        ),
        (&[], None),
    ] {
        let (head, _) = Connection::open(port).exchange("GET", "/__mcp/health", headers, "");
        assert_eq!(head.header("access-control-allow-origin"), shared);
        assert_eq!(head.header("x-content-type-options"), Some("nosniff"));
    }
}

#[test]
fn a_post_is_json_or_nothing() {
    let world = World::new();
    let server = server(&world);
    for (kind, allowed) in [
        ("application/json", true),
        ("application/json; charset=utf-8", true),
        ("Application/JSON", true),
        ("text/plain", false),
        ("application/x-www-form-urlencoded", false),
        ("multipart/form-data; boundary=application/json", false),
        ("application/jsonp", false),
        ("", false),
    ] {
        for path in ["/mcp", "/message?sessionId=x"] {
            let head = format!(
                "POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\ncontent-type: {kind}\r\ncontent-length: 2\r\n\r\n{{}}",
                server.port
            );
            let mut connection = Connection::open(server.port);
            connection.raw(head.as_bytes());
            let status = connection.head().status;
            assert_eq!(status != 415, allowed, "{kind} {path}: {status}");
        }
    }
}

#[test]
fn a_token_is_asked_for_where_it_is_required_and_to_stop() {
    let world = World::new();
    let server = Serve::start(&world, &["--require-token"]);
    let token = world.run(&["token", "show"]).out;
    let token = token.trim();
    let right = format!("Bearer {token}");
    let lower = format!("bearer {token}");
    let long = format!("Bearer {token}x");
    for (headers, challenge) in [
        (&[][..], Some(r#"Bearer realm="glovebox""#)),
        (
            &[("authorization", "")],
            Some(r#"Bearer realm="glovebox", error="invalid_token""#),
        ),
        (
            &[("authorization", "Bearer ")],
            Some(r#"Bearer realm="glovebox", error="invalid_token""#),
        ),
        (
            &[("authorization", lower.as_str())],
            Some(r#"Bearer realm="glovebox", error="invalid_token""#),
        ),
        (
            &[("authorization", long.as_str())],
            Some(r#"Bearer realm="glovebox", error="invalid_token""#),
        ),
        (
            &[
                ("authorization", right.as_str()),
                ("authorization", right.as_str()),
            ],
            Some(r#"Bearer realm="glovebox", error="invalid_token""#),
        ),
        (&[("authorization", right.as_str())], None),
    ] {
        for (method, path) in [
            ("GET", "/mcp"),
            ("GET", "/__mcp/metrics"),
            ("POST", "/message"),
            ("GET", "/elsewhere"),
        ] {
            let (head, body) = Connection::open(server.port).exchange(method, path, headers, "");
            assert_eq!(
                head.header("www-authenticate"),
                challenge,
                "{headers:?} {method} {path}"
            );
            assert_eq!(
                head.status == 401,
                challenge.is_some(),
                "{headers:?} {method} {path} {body}"
            );
        }
    }
    // Probes carry no token, and clients that look for an OAuth server must hear that there is none.
    for (method, path, status) in [
        ("GET", "/__mcp/health", 200),
        ("GET", "/__mcp/ready", 200),
        ("GET", "/.well-known/oauth-protected-resource", 404),
        ("GET", "/.well-known/oauth-protected-resource/mcp", 404),
        ("GET", "/mcp/.well-known/openid-configuration", 404),
        ("POST", "/register", 404),
        ("GET", "/authorize", 404),
        ("POST", "/token", 404),
    ] {
        let (head, body) = Connection::open(server.port).exchange(method, path, &[], "");
        assert_eq!(
            (head.status, head.header("www-authenticate")),
            (status, None),
            "{path}"
        );
        if status == 404 {
            let body: Value = serde_json::from_str(&body).unwrap();
            assert_eq!(body["error"], "not_found");
        }
    }
    // A new token counts at once, and the old one no longer.
    let renewed = world.run(&["token", "new"]).out;
    let (head, _) =
        Connection::open(server.port).exchange("GET", "/mcp", &[("authorization", &right)], "");
    assert_eq!(head.status, 401);
    let right = format!("Bearer {}", renewed.trim());
    for (headers, status) in [(&[][..], 401), (&[("authorization", right.as_str())], 200)] {
        let (head, body) =
            Connection::open(server.port).exchange("POST", "/__mcp/shutdown", headers, "");
        assert_eq!(head.status, status, "{body}");
    }
    let ran = server.wait();
    assert_eq!(ran.code, Some(0));
    assert!(!ran.err.contains(token) && !ran.err.contains(renewed.trim()));
}
