//! External mode: decisions of the gate over TLS, certificates, and the token.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use serde_json::{Value, json};

use super::client::{
    Connection, Head, answer_of, h2_send, h2_tls, modern, modern_call, request, trusting,
};
use super::program::Serve;
use crate::support::machine::until;
use crate::support::{Ran, World, finish};

/// Each route, with the status of a request to it that the gate lets through, and whether it needs no token.
const ROUTES: [(&str, &str, u16, bool); 12] = [
    ("POST", "/mcp", 400, false),
    ("POST", "/mcp/", 400, false),
    ("GET", "/mcp", 400, false),
    ("GET", "/sse", 200, false),
    ("POST", "/message?sessionId=none", 404, false),
    ("GET", "/__mcp/health", 200, true),
    ("GET", "/__mcp/ready", 200, true),
    ("GET", "/__mcp/metrics", 200, false),
    ("GET", "/.well-known/oauth-authorization-server", 404, true),
    (
        "GET",
        "/.well-known/oauth-protected-resource/mcp",
        404,
        true,
    ),
    ("POST", "/register", 404, true),
    ("GET", "/elsewhere", 404, false),
];

/// What a request says beside its route, `TOKEN` and `PORT` standing for the server's, and why it is denied where the
/// route needs the token.
type Case = (
    &'static [(&'static str, &'static str)],
    Option<(u16, &'static str)>,
);

const GOOD: (&str, &str) = ("authorization", "Bearer TOKEN");
const HERE: (&str, &str) = ("host", "localhost:PORT");

const CASES: &[Case] = &[
    // With the token, whoever asks and by whatever name.
    (&[HERE, GOOD], None),
    (&[("host", "127.0.0.1:PORT"), GOOD], None),
    (&[("host", "box.example"), GOOD], None),
    (&[("host", "box.example:8443"), GOOD], None),
    (&[("host", "[2001:db8::1]:443"), GOOD], None),
    (
        &[HERE, GOOD, ("user-agent", "Mozilla/5.0 Chrome/140")],
        None,
    ),
    (&[HERE, GOOD, ("sec-fetch-site", "cross-site")], None),
    (&[HERE, GOOD, ("referer", "https://evil.example/")], None),
    (&[HERE, GOOD, ("origin", "https://app.example")], None),
    (&[HERE, GOOD, ("origin", "https://APP.example:443")], None),
    // Without it.
    (&[HERE], Some((401, "unauthorized"))),
    (&[HERE, ("authorization", "")], Some((401, "invalid_token"))),
    (
        &[HERE, ("authorization", "Bearer")],
        Some((401, "invalid_token")),
    ),
    (
        &[HERE, ("authorization", "Bearer wrong")],
        Some((401, "invalid_token")),
    ),
    (
        &[HERE, ("authorization", "Bearer TOKENx")],
        Some((401, "invalid_token")),
    ),
    (
        &[HERE, ("authorization", "Bearer  TOKEN")],
        Some((401, "invalid_token")),
    ),
    (
        &[HERE, ("authorization", "bearer TOKEN")],
        Some((401, "invalid_token")),
    ),
    (
        &[HERE, ("authorization", "Basic TOKEN")],
        Some((401, "invalid_token")),
    ),
    (
        &[HERE, ("authorization", "TOKEN")],
        Some((401, "invalid_token")),
    ),
    (
        &[HERE, GOOD, ("authorization", "Bearer wrong")],
        Some((401, "invalid_token")),
    ),
    (&[HERE, GOOD, GOOD], Some((401, "invalid_token"))),
    (
        &[HERE, ("x-authorization", "Bearer TOKEN")],
        Some((401, "unauthorized")),
    ),
    (
        &[HERE, ("cookie", "token=TOKEN")],
        Some((401, "unauthorized")),
    ),
    (
        &[HERE, ("origin", "https://app.example")],
        Some((401, "unauthorized")),
    ),
    // Pages of origins that are not allowed, with the token or without.
    (
        &[HERE, GOOD, ("origin", "https://evil.example")],
        Some((403, "origin_not_allowed")),
    ),
    (
        &[HERE, GOOD, ("origin", "http://app.example")],
        Some((403, "origin_not_allowed")),
    ),
    (
        &[HERE, GOOD, ("origin", "https://localhost:PORT")],
        Some((403, "origin_not_allowed")),
    ),
    (
        &[HERE, GOOD, ("origin", "null")],
        Some((403, "origin_not_allowed")),
    ),
    (
        &[HERE, ("origin", "https://evil.example")],
        Some((403, "origin_not_allowed")),
    ),
    (
        &[
            HERE,
            GOOD,
            ("origin", "https://app.example"),
            ("origin", "https://evil.example"),
        ],
        Some((403, "origin_not_allowed")),
    ),
];

/// Hosts that are wrong on every route, and that only HTTP/1.1 can say.
const WRONG_HOSTS: [(&[(&str, &str)], &str); 5] = [
    (&[GOOD], "host_missing"),
    (&[("host", ""), GOOD], "host_malformed"),
    (&[("host", "localhost:70000"), GOOD], "host_malformed"),
    (&[("host", "evil@localhost"), GOOD], "host_malformed"),
    (&[HERE, ("host", "evil.example"), GOOD], "host_ambiguous"),
];

fn start(world: &World, args: &[&str]) -> Serve {
    let mut all = vec!["--external", "--listen", "127.0.0.1:0"];
    all.extend(args);
    Serve::start(world, &all)
}

fn ca(serve: &Serve) -> &Path {
    serve.ca.as_deref().unwrap()
}

fn wrong(status: u16, body: &str, expected: Result<u16, (u16, &str)>) -> bool {
    match expected {
        Ok(allowed) => status != allowed,
        Err((denied, reason)) => {
            let body: Value = serde_json::from_str(body).unwrap_or_default();
            let described = body["error_description"].as_str().unwrap_or_default();
            status != denied || body["reason"] != reason || described.len() <= 20
        }
    }
}

fn expected(
    route: (&str, &str, u16, bool),
    denied: Option<(u16, &'static str)>,
) -> Result<u16, (u16, &'static str)> {
    match denied {
        Some(denied) if !route.3 => Err(denied),
        _ => Ok(route.2),
    }
}

fn judge(decisions: &[Option<String>], least: usize) {
    assert!(decisions.len() >= least, "{}", decisions.len());
    let wrong: Vec<_> = decisions.iter().flatten().collect();
    assert!(
        wrong.is_empty(),
        "{} of {} decisions are wrong: {:#?}",
        wrong.len(),
        decisions.len(),
        wrong.iter().take(10).collect::<Vec<_>>(),
    );
}

struct Filled {
    token: String,
    port: String,
}

impl Filled {
    fn of(&self, text: &str) -> String {
        text.replace("TOKEN", &self.token)
            .replace("PORT", &self.port)
    }
}

#[test]
fn decisions_over_tls_and_http_1() {
    let world = World::new();
    let serve = start(&world, &["--allowed-origin", "https://app.example"]);
    let config = trusting(ca(&serve), &["http/1.1"]);
    let filled = Filled {
        token: serve.token(&world),
        port: serve.port.to_string(),
    };
    let decide = |method: &str, path: &str, headers: &[(&str, &str)]| {
        let mut text = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        for (name, value) in headers {
            text += &format!("{name}: {}\r\n", filled.of(value));
        }
        text += if method == "POST" {
            "content-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
        } else {
            "\r\n"
        };
        let mut connection = Connection::tls(serve.port, &config);
        connection.raw(text.as_bytes());
        let head = connection.head();
        let body = if head.is_stream() {
            String::new()
        } else {
            connection.body(&head)
        };
        (head.status, body)
    };
    let mut decisions = Vec::new();
    for (headers, denied) in CASES {
        for route in ROUTES {
            let (status, body) = decide(route.0, route.1, headers);
            let wrong = wrong(status, &body, expected(route, *denied));
            decisions.push(
                wrong.then(|| format!("{} {} {headers:?}: {status} {body}", route.0, route.1)),
            );
        }
    }
    for (headers, reason) in WRONG_HOSTS {
        for route in ROUTES {
            let (status, body) = decide(route.0, route.1, headers);
            let wrong = wrong(status, &body, Err((403, reason)));
            decisions.push(
                wrong.then(|| format!("{} {} {headers:?}: {status} {body}", route.0, route.1)),
            );
        }
    }
    judge(&decisions, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_over_tls_and_http_2() {
    let world = World::new();
    let serve = start(&world, &["--allowed-origin", "https://app.example"]);
    let config = trusting(ca(&serve), &["h2"]);
    let filled = Filled {
        token: serve.token(&world),
        port: serve.port.to_string(),
    };
    let sender = h2_tls(serve.port, &config).await;
    let mut decisions = Vec::new();
    for (headers, denied) in CASES {
        for route in ROUTES {
            let host = headers.iter().find(|(name, _)| *name == "host").unwrap();
            let mut request = http::Request::builder().method(route.0).uri(format!(
                "https://{}{}",
                filled.of(host.1),
                route.1
            ));
            for (name, value) in headers.iter().filter(|(name, _)| *name != "host") {
                request = request.header(*name, filled.of(value));
            }
            let body = if route.0 == "POST" {
                request = request.header("content-type", "application/json");
                "{}"
            } else {
                ""
            };
            let request = request.body(Full::new(Bytes::from(body))).unwrap();
            let (status, body) = h2_send(sender.clone(), request).await.unwrap();
            let wrong = wrong(status, &body, expected(route, *denied));
            decisions.push(
                wrong.then(|| format!("{} {} {headers:?}: {status} {body}", route.0, route.1)),
            );
        }
    }
    judge(&decisions, 350);
}

fn tls_exchange(
    port: u16,
    config: &Arc<rustls::ClientConfig>,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> (Head, String) {
    Connection::tls(port, config).exchange(method, path, headers, body)
}

#[test]
fn what_probes_and_clients_without_a_token_are_told() {
    let world = World::new();
    let serve = start(&world, &[]);
    let config = trusting(ca(&serve), &[]);
    let get = |path: &str| tls_exchange(serve.port, &config, "GET", path, &[], "");
    let (head, body) = get("/__mcp/health");
    assert_eq!((head.status, body.as_str()), (200, "ok"));
    assert_eq!(
        head.header("x-glovebox"),
        None,
        "the marker shows who is here"
    );
    let (head, body) = get("/mcp");
    assert_eq!(head.status, 401);
    let challenge = head.header("www-authenticate").unwrap();
    assert_eq!(challenge, r#"Bearer realm="glovebox""#);
    assert!(body.contains("Authorization: Bearer TOKEN"), "{body}");
    for path in [
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server/mcp",
        "/.well-known/openid-configuration",
        "/mcp/.well-known/openid-configuration",
        "/authorize?client_id=x",
        "/token",
    ] {
        let (head, body) = get(path);
        assert_eq!(head.status, 404, "{path}");
        assert_eq!(head.header("content-type"), Some("application/json"));
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["error"], "not_found", "{path}");
    }
    let origin = ("origin", "https://evil.example");
    let asks = ("access-control-request-method", "POST");
    let (head, _) = tls_exchange(serve.port, &config, "OPTIONS", "/mcp", &[origin, asks], "");
    assert_eq!(head.status, 403);
    assert_eq!(head.header("access-control-allow-origin"), None);
}

#[test]
fn a_blank_token_refuses_everything_but_what_is_open() {
    let world = World::new();
    let serve = start(&world, &[]);
    let config = trusting(ca(&serve), &[]);
    let bearer = format!("Bearer {}", serve.token(&world));
    let file = world.path().join("state/glovebox/token");
    for blank in ["", "\n", "   \n"] {
        std::fs::write(&file, blank).unwrap();
        for authorization in [bearer.as_str(), "Bearer ", "Bearer", ""] {
            let headers = [("authorization", authorization)];
            for (method, path) in [
                ("GET", "/mcp"),
                ("POST", "/mcp"),
                ("GET", "/sse"),
                ("POST", "/__mcp/shutdown"),
            ] {
                let body = if method == "POST" { "{}" } else { "" };
                let (head, body) = tls_exchange(serve.port, &config, method, path, &headers, body);
                assert_eq!(head.status, 401, "{path}: {body}");
                assert!(body.contains("blank_token"), "{path}: {body}");
            }
        }
        let (head, _) = tls_exchange(serve.port, &config, "GET", "/__mcp/health", &[], "");
        assert_eq!(head.status, 200);
    }
}

fn status_of(port: u16, config: &Arc<rustls::ClientConfig>, bearer: &str) -> u16 {
    let authorization = format!("Bearer {bearer}");
    let mut headers = modern("tools/call", "status").to_vec();
    headers.push(("authorization", &authorization));
    let body = modern_call(1, "status", json!({}));
    tls_exchange(port, config, "POST", "/mcp", &headers, &body)
        .0
        .status
}

#[test]
fn a_new_token_takes_effect_without_a_restart() {
    let world = World::new();
    let serve = start(&world, &[]);
    let config = trusting(ca(&serve), &[]);
    let old = serve.token(&world);
    assert_eq!(status_of(serve.port, &config, &old), 200);
    let new = world.run(&["token", "new"]).out.trim().to_owned();
    assert_ne!(new, old);
    assert_eq!(status_of(serve.port, &config, &old), 401);
    assert_eq!(status_of(serve.port, &config, &new), 200);
}

/// An authority and a leaf that it signed, in files of their own.
struct Made {
    ca: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
}

fn make(folder: &Path, name: &str, days: i64) -> Made {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
    std::fs::create_dir_all(folder).unwrap();
    let ca_key = KeyPair::generate().unwrap();
    let mut ca_params = CertificateParams::default();
    ca_params
        .distinguished_name
        .push(rcgen::DnType::CommonName, name);
    ca_params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = ca_params.self_signed(&ca_key).unwrap();
    let issuer = Issuer::new(ca_params, ca_key);
    let key = KeyPair::generate().unwrap();
    let mut params =
        CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    let day = std::time::Duration::from_secs(24 * 60 * 60);
    params.not_before = epoch + now - 100 * day;
    params.not_after = if days >= 0 {
        epoch + now + u32::try_from(days).unwrap() * day
    } else {
        epoch + now - u32::try_from(-days).unwrap() * day
    };
    let leaf = params.signed_by(&key, &issuer).unwrap();
    let made = Made {
        ca: folder.join("ca.pem"),
        certificate: folder.join("cert.pem"),
        key: folder.join("key.pem"),
    };
    std::fs::write(&made.ca, ca.pem()).unwrap();
    std::fs::write(&made.certificate, leaf.pem()).unwrap();
    std::fs::write(&made.key, key.serialize_pem()).unwrap();
    made
}

/// Whether a client that trusts an authority gets through.
fn trusts(port: u16, ca: &Path) -> bool {
    let config = trusting(ca, &[]);
    let socket = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    let name = rustls::pki_types::ServerName::try_from("localhost").unwrap();
    let client = rustls::ClientConnection::new(config, name).unwrap();
    let mut stream = rustls::StreamOwned::new(client, socket);
    use std::io::{Read as _, Write as _};
    let request = format!(
        "GET /__mcp/health HTTP/1.1\r\nhost: localhost:{port}\r\nconnection: close\r\n\r\n"
    );
    if stream.write_all(request.as_bytes()).is_err() {
        return false;
    }
    let mut reply = String::new();
    let _ = stream.read_to_string(&mut reply);
    reply.starts_with("HTTP/1.1 200")
}

#[test]
fn changed_certificate_files_are_picked_up_and_broken_ones_are_not() {
    let world = World::new();
    let first = make(&world.path().join("first"), "first", 30);
    let second = make(&world.path().join("second"), "second", 30);
    let (certificate, key) = (
        first.certificate.to_str().unwrap(),
        first.key.to_str().unwrap(),
    );
    let serve = start(&world, &["--tls-cert", certificate, "--tls-key", key]);
    assert_eq!(
        serve.ca, None,
        "its clients trust the operator's certificate"
    );
    assert!(trusts(serve.port, &first.ca) && !trusts(serve.port, &second.ca));
    // A connection of before goes on.
    let config = trusting(&first.ca, &[]);
    let mut open = Connection::tls(serve.port, &config);
    let (head, _) = open.exchange("GET", "/__mcp/health", &[], "");
    assert_eq!(head.status, 200);
    // Half of a change: the key does not fit, so the certificate of before is used.
    std::fs::copy(&second.certificate, &first.certificate).unwrap();
    assert!(trusts(serve.port, &first.ca));
    std::fs::copy(&second.key, &first.key).unwrap();
    until("the new certificate is used", || {
        trusts(serve.port, &second.ca).then_some(())
    });
    let (head, _) = open.exchange("GET", "/__mcp/health", &[], "");
    assert_eq!(head.status, 200);
    std::fs::write(&first.certificate, "nonsense").unwrap();
    std::fs::remove_file(&first.key).unwrap();
    assert!(trusts(serve.port, &second.ca));
}

#[test]
fn the_local_authority_is_kept_private_and_signs_for_this_machine_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    let serve = start(&world, &[]);
    let ca = ca(&serve).to_owned();
    let folder = ca.parent().unwrap();
    for name in ["ca.pem", "ca-key.pem"] {
        let mode = std::fs::metadata(folder.join(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    assert_eq!(
        std::fs::read_dir(folder).unwrap().count(),
        2,
        "the server's own key is in no file"
    );
    // The same authority after a restart, so that clients need not be told again.
    drop(serve);
    let serve = start(&world, &[]);
    assert!(trusts(serve.port, &ca));
    // With its key one cannot sign for another site.
    let key =
        rcgen::KeyPair::from_pem(&std::fs::read_to_string(folder.join("ca-key.pem")).unwrap())
            .unwrap();
    let mut params = rcgen::CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
        .distinguished_name
        .push(rcgen::DnType::CommonName, "Glovebox local CA");
    let issuer = rcgen::Issuer::new(params, key);
    let verify = |name: &str| {
        let key = rcgen::KeyPair::generate().unwrap();
        let leaf = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
        let leaf = leaf.signed_by(&key, &issuer).unwrap();
        let mut roots = rustls::RootCertStore::empty();
        use rustls::pki_types::pem::PemObject as _;
        roots
            .add(rustls::pki_types::CertificateDer::from_pem_file(&ca).unwrap())
            .unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier =
            rustls::client::WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
                .build()
                .unwrap();
        use rustls::client::danger::ServerCertVerifier as _;
        let server = rustls::pki_types::ServerName::try_from(name.to_owned()).unwrap();
        let now = rustls::pki_types::UnixTime::now();
        verifier
            .verify_server_cert(leaf.der(), &[], &server, &[], now)
            .map(|_| ())
    };
    assert_eq!(verify("localhost"), Ok(()));
    for name in ["bank.example", "192.0.2.1", "10.0.0.1"] {
        let error = verify(name).unwrap_err().to_string();
        assert!(error.contains("onstraint"), "{name}: {error}");
    }
}

#[test]
fn certificates_that_cannot_be_used_are_said() {
    let world = World::new();
    let good = make(&world.path().join("good"), "good", 30);
    let other = make(&world.path().join("other"), "other", 30);
    let old = make(&world.path().join("old"), "old", -2);
    let nonsense = world.path().join("nonsense.pem");
    std::fs::write(&nonsense, "nonsense").unwrap();
    let run = |args: &[&str]| -> Ran {
        let mut all = vec!["serve", "--simulate"];
        all.extend(args);
        world.run(&all)
    };
    let with = |certificate: &Path, key: &Path| {
        run(&[
            "--external",
            "--listen",
            "127.0.0.1:0",
            "--tls-cert",
            certificate.to_str().unwrap(),
            "--tls-key",
            key.to_str().unwrap(),
        ])
    };
    for (ran, said) in [
        (with(&good.certificate, &other.key), "does not belong"),
        (with(&old.certificate, &old.key), "expired at 20"),
        (with(&nonsense, &good.key), "no certificate"),
        (with(&good.certificate, &nonsense), "no private key"),
        (
            with(&good.certificate, Path::new("/nowhere/key")),
            "/nowhere/key",
        ),
    ] {
        assert_eq!(ran.code, Some(1), "{said}: {ran:?}");
        assert!(ran.err.contains(said), "{said}: {ran:?}");
        assert!(!ran.err.contains("PRIVATE KEY"), "{ran:?}");
    }
    let (certificate, key) = (
        good.certificate.to_str().unwrap(),
        good.key.to_str().unwrap(),
    );
    for args in [
        &["--external"][..],
        &["--tls-cert", certificate, "--tls-key", key],
        &["--external", "--listen", ":0", "--tls-cert", certificate],
        &["--external", "--listen", ":0", "--tls-key", key],
        &["--max-connections-per-address", "5"],
        &[
            "--external",
            "--listen",
            ":0",
            "--max-connections-per-address",
            "0",
        ],
    ] {
        assert_eq!(run(args).code, Some(2), "{args:?}");
    }
    // An authority whose key was replaced.
    drop(start(&world, &[]));
    let folder = world.path().join("state/glovebox/tls");
    std::fs::copy(&other.key, folder.join("ca-key.pem")).unwrap();
    let ran = run(&["--external", "--listen", ":0"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("does not belong"), "{ran:?}");
}

#[test]
fn plain_http_at_a_port_with_tls_gets_nothing() {
    let world = World::new();
    let serve = start(&world, &[]);
    let mut plain = std::net::TcpStream::connect(("127.0.0.1", serve.port)).unwrap();
    use std::io::{Read as _, Write as _};
    plain
        .write_all(b"GET /__mcp/health HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .unwrap();
    let mut reply = Vec::new();
    let _ = plain.read_to_end(&mut reply);
    assert!(!reply.starts_with(b"HTTP"), "{reply:?}");
}

#[test]
fn a_handshake_that_does_not_come_ends_the_connection() {
    let world = World::new();
    let serve = start(&world, &[]);
    let config = trusting(ca(&serve), &[]);
    use std::io::{Read as _, Write as _};
    // Nothing, the begin of a handshake, and a handshake without a request.
    let mut open: Vec<_> = [&b""[..], b"\x16\x03\x01\x02\x00"]
        .iter()
        .map(|begun| {
            let mut stream = std::net::TcpStream::connect(("127.0.0.1", serve.port)).unwrap();
            stream.write_all(begun).unwrap();
            stream
        })
        .collect();
    let silent = Connection::tls(serve.port, &config);
    open.push(silent.socket().try_clone().unwrap());
    for mut stream in open {
        stream
            .set_read_timeout(Some(crate::support::GENEROUS))
            .unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    }
    let (head, _) = tls_exchange(serve.port, &config, "GET", "/__mcp/health", &[], "");
    assert_eq!(head.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn reqwest_reaches_it_with_the_authority_over_both_versions() {
    // Another test may have done so already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let world = World::new();
    let serve = start(&world, &[]);
    let pem = std::fs::read(ca(&serve)).unwrap();
    let token = serve.token(&world);
    for http_1 in [true, false] {
        let builder = reqwest::Client::builder()
            .tls_certs_only([reqwest::Certificate::from_pem(&pem).unwrap()])
            .no_proxy();
        let client = if http_1 {
            builder.http1_only()
        } else {
            builder
        }
        .build()
        .unwrap();
        let mut request = client
            .post(format!("https://localhost:{}/mcp", serve.port))
            .bearer_auth(&token)
            .header("content-type", "application/json")
            .body(modern_call(1, "status", json!({})));
        for (name, value) in modern("tools/call", "status") {
            request = request.header(name, value);
        }
        let response = request.send().await.unwrap();
        let version = if http_1 {
            http::Version::HTTP_11
        } else {
            http::Version::HTTP_2
        };
        assert_eq!(
            (response.status().as_u16(), response.version()),
            (200, version)
        );
        let body = response.text().await.unwrap();
        assert!(body.contains("HTTPS at 127.0.0.1"), "{body}");
    }
    let untrusting = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("https://localhost:{}/__mcp/health", serve.port);
    assert!(untrusting.get(url).send().await.is_err());
}

#[test]
fn neither_token_nor_key_is_in_logs_errors_metrics_or_the_process_list() {
    let world = World::new();
    let mut command = world.command(&[
        "serve",
        "--json",
        "--simulate",
        "--pace",
        "0",
        "--external",
        "--listen",
        "127.0.0.1:0",
    ]);
    command.env("RUST_LOG", "trace");
    let serve = Serve::spawn(command);
    let config = trusting(ca(&serve), &[]);
    let token = serve.token(&world);
    let bearer = format!("Bearer {token}");
    let authorized = ("authorization", bearer.as_str());
    assert_eq!(status_of(serve.port, &config, &token), 200);
    // The library of HTTP/2 has a log of its own.
    let h2 = trusting(ca(&serve), &["h2"]);
    let url = format!("https://localhost:{}/__mcp/metrics", serve.port);
    let request_of_h2 = http::Request::get(url).header("authorization", &bearer);
    let request_of_h2 = request_of_h2.body(Full::default()).unwrap();
    let sent = async { h2_send(h2_tls(serve.port, &h2).await, request_of_h2).await };
    let sent = tokio::runtime::Runtime::new().unwrap().block_on(sent);
    assert_eq!(sent.unwrap().0, 200);
    let mut said = String::new();
    for (method, path, headers, body) in [
        ("GET", "/__mcp/metrics", vec![authorized], String::new()),
        (
            "GET",
            "/mcp",
            vec![("authorization", "Bearer wrong")],
            String::new(),
        ),
        (
            "GET",
            "/mcp",
            vec![authorized, ("origin", "null")],
            String::new(),
        ),
        (
            "POST",
            "/mcp",
            vec![authorized],
            request(1, "no/such", json!({})),
        ),
        ("POST", "/mcp", vec![authorized], "{".to_owned()),
    ] {
        let (head, body) = tls_exchange(serve.port, &config, method, path, &headers, &body);
        said += &format!("{head:?}{body}");
    }
    let mut headers = modern("tools/call", "status").to_vec();
    headers.push(authorized);
    let (_, status) = tls_exchange(
        serve.port,
        &config,
        "POST",
        "/mcp",
        &headers,
        &modern_call(1, "status", json!({})),
    );
    said += &answer_of(&status).to_string();
    for entry in ["cmdline", "environ", "comm"] {
        let path = format!("/proc/{}/{entry}", serve.pid);
        said += &String::from_utf8_lossy(&std::fs::read(path).unwrap());
    }
    let key = std::fs::read_to_string(world.path().join("state/glovebox/tls/ca-key.pem")).unwrap();
    serve.signal("TERM");
    let ran = serve.wait();
    assert!(
        ran.err.len() > 1000,
        "there is no log to look through: {ran:?}"
    );
    said += &ran.out;
    said += &ran.err;
    // What other commands show.
    for args in [
        &["doctor", "--offline"][..],
        &["jobs", "list", "--all", "--json"],
        &["spend", "--json"],
    ] {
        let ran = world.run(args);
        said += &format!("{}{}", ran.out, ran.err);
    }
    assert!(!said.contains(&token), "the token is shown");
    let secret = key.lines().nth(1).unwrap();
    assert!(!said.contains(secret), "the key is shown");
    // Nor in the store.
    for file in std::fs::read_dir(world.path().join("state/glovebox"))
        .unwrap()
        .flatten()
    {
        if file.file_name() == "token" || file.path().is_dir() {
            continue;
        }
        let bytes = std::fs::read(file.path()).unwrap();
        let held = |text: &str| {
            bytes
                .windows(text.len())
                .any(|window| window == text.as_bytes())
        };
        assert!(!held(&token) && !held(secret), "{:?}", file.path());
    }
}

#[test]
fn it_says_what_clients_need() {
    let world = World::new();
    let child = world
        .command(&[
            "serve",
            "--simulate",
            "--external",
            "--listen",
            "127.0.0.1:0",
        ])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let ca = world.path().join("state/glovebox/tls/ca.pem");
    until("the server runs", || ca.exists().then_some(()));
    let mut child = child;
    use std::io::{BufRead as _, BufReader};
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let said: Vec<_> = lines.by_ref().take(3).map(Result::unwrap).collect();
    let said = said.join("\n");
    assert!(
        said.contains("https://127.0.0.1:") && said.contains("glovebox token show"),
        "{said}"
    );
    assert!(
        said.contains("NODE_EXTRA_CA_CERTS") && said.contains(ca.to_str().unwrap()),
        "{said}"
    );
    let stopped = std::process::Command::new("kill")
        .arg(child.id().to_string())
        .status();
    assert!(stopped.unwrap().success());
    drop(lines);
    assert_eq!(finish(child).code, Some(0));
}
