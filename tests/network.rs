//! The network between: hosts that are not there, certificates, proxies, and what is said about each.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use crate::support::{KEY, Ran, Served, World, http, read_request, stream};

/// Runs `ask` with an upstream and an environment.
fn ask(world: &World, upstream: &str, environment: &[(&str, &str)]) -> Ran {
    let mut command = world.command(&["ask", "why?"]);
    command
        .env("GLOVEBOX_UPSTREAM", upstream)
        .env("BRAVE_API_KEY", KEY)
        .envs(environment.iter().copied());
    Ran::of(command.output().unwrap())
}

#[test]
fn an_upstream_that_is_not_there() {
    // Bound and let go: nobody listens there.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let ran = ask(&World::new(), &format!("http://127.0.0.1:{port}"), &[]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(
        ran.err.contains("cannot connect to http://127.0.0.1")
            && ran.err.contains("nothing was sent"),
        "{ran:?}"
    );
}

#[test]
fn an_upstream_that_hangs_up_is_not_asked_again() {
    let served = Served::with(|mut stream| {
        read_request(&mut stream);
    });
    let ran = ask(&World::new(), &served.url, &[]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.err.contains("broke after 0 bytes"), "{ran:?}");
    assert_eq!(served.connections(), 1);
}

/// An HTTPS server of its own authority, for one name.
struct Secure {
    served: Served,
    authority: String,
}

impl Secure {
    fn start(name: &str) -> Self {
        let mut authority = rcgen::CertificateParams::new(Vec::new()).unwrap();
        let own_name = format!("Authority of {name}");
        authority
            .distinguished_name
            .push(rcgen::DnType::CommonName, own_name);
        authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let authority_key = rcgen::KeyPair::generate().unwrap();
        let authority = rcgen::CertifiedIssuer::self_signed(authority, authority_key).unwrap();
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::new(vec![name.to_owned()])
            .unwrap()
            .signed_by(&key, &authority)
            .unwrap();
        Self {
            served: secure(&certificate, &key),
            authority: authority.pem(),
        }
    }

    /// A server whose certificate is that of an authority, as careless tools make them.
    fn careless(name: &str) -> Self {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut own = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
        own.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let certificate = own.self_signed(&key).unwrap();
        Self {
            served: secure(&certificate, &key),
            authority: certificate.pem(),
        }
    }

    fn authority_file(&self, world: &World) -> String {
        let path = world.path().join("authority.pem");
        std::fs::write(&path, &self.authority).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

/// Serves one answer over TLS.
fn secure(certificate: &rcgen::Certificate, key: &rcgen::KeyPair) -> Served {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    let config = Arc::new(config);
    Served::with(move |mut stream| {
        let mut connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut secure = rustls::Stream::new(&mut connection, &mut stream);
        if read_request(&mut secure).is_empty() {
            return;
        }
        let _ = secure.write_all(&stream_of_one());
        connection.send_close_notify();
        let _ = connection.write_tls(&mut stream);
    })
}

fn stream_of_one() -> Vec<u8> {
    stream(&["All is well."])
}

#[test]
fn a_certificate_must_verify_and_the_authority_can_be_named() {
    let (world, secure, other) = (
        World::new(),
        Secure::start("localhost"),
        Secure::start("elsewhere.example"),
    );
    let authority = secure.authority_file(&world);
    let url = format!("https://localhost:{}", secure.served.port);
    let ran = ask(&world, &url, &[("SSL_CERT_FILE", &authority)]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("All is well."));
    let strange = other.authority_file(&world);
    let ran = ask(&world, &url, &[("SSL_CERT_FILE", &strange)]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(
        ran.err.contains("its issuer is unknown") && ran.err.contains("SSL_CERT_FILE"),
        "{ran:?}"
    );
    let ran = ask(
        &world,
        &format!("https://localhost:{}", other.served.port),
        &[("SSL_CERT_FILE", &strange)],
    );
    assert!(
        ran.code == Some(5) && ran.err.contains("another name"),
        "{ran:?}"
    );
    let careless = Secure::careless("localhost");
    let own = careless.authority_file(&world);
    let url = format!("https://localhost:{}", careless.served.port);
    let ran = ask(&world, &url, &[("SSL_CERT_FILE", &own)]);
    assert!(
        ran.code == Some(5) && ran.err.contains("an authority's own"),
        "{ran:?}"
    );
    let authority = secure.authority_file(&world);
    // Plain HTTP where TLS is expected.
    let plain = Served::with(|mut stream| {
        let mut hello = [0; 16];
        let _ = stream.read_exact(&mut hello);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
    });
    let ran = ask(
        &world,
        &format!("https://localhost:{}", plain.port),
        &[("SSL_CERT_FILE", &authority)],
    );
    assert!(
        ran.code == Some(5) && ran.err.contains("no TLS connection"),
        "{ran:?}"
    );
}

#[test]
fn an_empty_certificate_variable_counts_as_not_set() {
    let world = World::new();
    let secure = Secure::start("localhost");
    let url = format!("https://localhost:{}", secure.served.port);
    let without = ask(&world, &url, &[]);
    assert_eq!(without.code, Some(5), "{without:?}");
    for empty in [
        &[("SSL_CERT_FILE", "")][..],
        &[("SSL_CERT_DIR", "")],
        &[("SSL_CERT_FILE", ""), ("SSL_CERT_DIR", "")],
    ] {
        let ran = ask(&world, &url, empty);
        assert_eq!(
            (ran.code, &ran.err),
            (without.code, &without.err),
            "{empty:?}"
        );
    }
    let authority = secure.authority_file(&world);
    let ran = ask(
        &world,
        &url,
        &[("SSL_CERT_FILE", &authority), ("SSL_CERT_DIR", "")],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_proxy_variable_is_read_as_it_was_meant_or_refused() {
    let world = World::new();
    let secure = Secure::start("answers.example");
    let authority = secure.authority_file(&world);
    let upstream = "https://answers.example";
    let (open, asked) = proxy(
        "HTTP/1.1 200 Connection established\r\n\r\n",
        Some(secure.served.port),
    );
    let run = |pairs: &[(&str, &str)]| {
        let mut all = vec![("SSL_CERT_FILE", authority.as_str())];
        all.extend(pairs);
        ask(&world, upstream, &all)
    };
    let bare = open.url.strip_prefix("http://").unwrap();
    for (count, pairs) in [
        [
            ("HTTPS_PROXY", format!("{} ", open.url)),
            ("NO_PROXY", String::new()),
        ],
        [
            ("HTTPS_PROXY", format!("\"{}\"", open.url)),
            ("NO_PROXY", "other.example".to_owned()),
        ],
        [
            ("https_proxy", format!("'{}'\r\n", open.url)),
            ("HTTPS_PROXY", String::new()),
        ],
        [
            ("ALL_PROXY", format!("\t{bare}")),
            ("HTTPS_PROXY", " ".to_owned()),
        ],
    ]
    .iter()
    .enumerate()
    {
        let pairs: Vec<(&str, &str)> = pairs
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let ran = run(&pairs);
        assert_eq!(ran.code, Some(0), "{pairs:?}: {ran:?}");
        assert_eq!(
            asked.lock().unwrap().len(),
            count + 1,
            "{pairs:?} went past the proxy"
        );
    }
    let quoted = format!("\"{}\" ", "answers.example");
    let ran = run(&[("HTTPS_PROXY", &open.url), ("NO_PROXY", &quoted)]);
    assert_eq!(
        (ran.code, asked.lock().unwrap().len()),
        (Some(5), 4),
        "{ran:?}"
    );
    for bad in [
        "http://me:secret@proxy example",
        "socks5://secret@proxy:1",
        "http://secret@proxy:port",
    ] {
        let ran = run(&[("HTTPS_PROXY", bad)]);
        assert_eq!(ran.code, Some(2), "{bad}: {ran:?}");
        assert!(
            ran.err.contains("HTTPS_PROXY") && !ran.err.contains("secret"),
            "{ran:?}"
        );
    }
    assert_eq!(secure.served.connections(), 4);
    // What is not used may be anything.
    let ran = world
        .command(&["ask", "--simulate", "--pace", "0", "why?"])
        .env("HTTPS_PROXY", "::")
        .output()
        .unwrap();
    assert!(ran.status.success());
}

/// A proxy that notes what it was asked for.
fn proxy(reply: &'static str, target: Option<u16>) -> (Served, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&asked);
    let served = Served::with(move |mut stream| {
        let head = read_request(&mut stream);
        noted
            .lock()
            .unwrap()
            .push(head.lines().next().unwrap_or_default().to_owned());
        stream.write_all(reply.as_bytes()).unwrap();
        if let Some(port) = target {
            tunnel(stream, TcpStream::connect(("127.0.0.1", port)).unwrap());
        }
    });
    (served, asked)
}

fn tunnel(near: TcpStream, far: TcpStream) {
    let (mut from, mut to) = (near.try_clone().unwrap(), far.try_clone().unwrap());
    std::thread::spawn(move || std::io::copy(&mut from, &mut to));
    let (mut from, mut to) = (far, near);
    let _ = std::io::copy(&mut from, &mut to);
}

#[test]
fn a_proxy_is_used_and_its_refusal_explained() {
    let world = World::new();
    let secure = Secure::start("answers.example");
    let authority = secure.authority_file(&world);
    let upstream = "https://answers.example";
    let (open, asked) = proxy(
        "HTTP/1.1 200 Connection established\r\n\r\n",
        Some(secure.served.port),
    );
    let environment = |url: &str| {
        [
            ("SSL_CERT_FILE".to_owned(), authority.clone()),
            ("HTTPS_PROXY".to_owned(), url.to_owned()),
        ]
    };
    let run = |environment: &[(String, String)]| {
        let pairs: Vec<(&str, &str)> = environment
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        ask(&world, upstream, &pairs)
    };
    let ran = run(&environment(&open.url));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        *asked.lock().unwrap(),
        ["CONNECT answers.example:443 HTTP/1.1"]
    );
    for (reply, expected) in [
        (
            "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n",
            "does not allow this host",
        ),
        (
            "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n",
            "user name and password",
        ),
    ] {
        let (closed, _) = proxy(reply, None);
        let ran = run(&environment(&closed.url));
        assert_eq!(ran.code, Some(5), "{ran:?}");
        assert!(
            ran.err.contains("the proxy refused") && ran.err.contains(expected),
            "{ran:?}"
        );
    }
    let ran = run(&environment("http://127.0.0.1:1"));
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(
        ran.err.contains("whether the proxy") && !ran.err.contains("the proxy refused"),
        "a proxy that is not there: {ran:?}"
    );
    let mut exempt = environment(&open.url).to_vec();
    exempt.push(("NO_PROXY".to_owned(), "answers.example".to_owned()));
    let ran = run(&exempt);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert_eq!(
        asked.lock().unwrap().len(),
        1,
        "the proxy was asked in spite of NO_PROXY"
    );
}

#[test]
fn doctor_tells_what_is_in_place_and_what_is_not() {
    let world = World::new();
    let served = Served::start(http(""));
    let doctor = |key: Option<&str>, upstream: &str| {
        let mut command = world.command(&["doctor", "--json"]);
        command
            .env("GLOVEBOX_UPSTREAM", upstream)
            .envs(key.map(|key| ("BRAVE_API_KEY", key)));
        let ran = Ran::of(command.output().unwrap());
        let report = ran.json();
        let verdict = |name: &str| {
            let checks = report["checks"].as_array().unwrap();
            checks.iter().find(|check| check["check"] == name).unwrap()["verdict"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        (
            ran.code,
            verdict("key"),
            verdict("upstream"),
            verdict("component"),
            report,
        )
    };
    let (code, key, upstream, component, report) = doctor(Some(KEY), &served.url);
    assert_eq!(
        (code, key.as_str(), upstream.as_str(), component.as_str()),
        (Some(0), "ok", "ok", "ok"),
        "{report}"
    );
    let setting = report["settings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|setting| setting["name"] == "upstream")
        .unwrap();
    assert_eq!(
        (setting["value"].as_str(), setting["from"].as_str()),
        (Some(&*served.url), Some("GLOVEBOX_UPSTREAM"))
    );
    let (code, key, ..) = doctor(None, &served.url);
    assert_eq!((code, key.as_str()), (Some(1), "problem"));
    let (code, _, upstream, ..) = doctor(Some(KEY), "http://127.0.0.1:1");
    assert_eq!((code, upstream.as_str()), (Some(1), "problem"));
    let state = world.path().join("state/glovebox");
    std::fs::create_dir_all(&state).unwrap();
    std::fs::write(state.join("jobs.db"), [7; 4096]).unwrap();
    let (code, .., report) = doctor(Some(KEY), &served.url);
    assert_eq!(code, Some(1), "{report}");
    assert!(report.to_string().contains("is damaged"), "{report}");
}

#[test]
fn an_upstream_that_says_nothing_is_given_up() {
    let served = Served::with(|mut stream| {
        read_request(&mut stream);
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    });
    let ran = ask(
        &World::new(),
        &served.url,
        &[("GLOVEBOX_TIMEOUT_IDLE", "300ms")],
    );
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(
        ran.err.contains("did not begin to reply within 0.3 s"),
        "{ran:?}"
    );
    assert_eq!(served.connections(), 1);
}

/// What is sent can come back: from an error page, a debugging proxy, a model that repeats its input.
#[test]
fn an_upstream_that_repeats_the_key_does_not_make_it_appear() {
    let answer = stream(&[&format!("you sent {KEY}!")]);
    let refusal = |body: String| {
        let mut reply = http(&body);
        reply.splice(9..12, *b"422");
        reply
    };
    let json = format!(
        r#"{{"type":"ErrorResponse","error":{{"code":"VALIDATION","detail":"bad {KEY}","status":422}}}}"#
    );
    for reply in [answer, refusal(json), refusal(format!("bad token {KEY}"))] {
        let (served, world) = (Served::start(reply), World::new());
        let ran = ask(&world, &served.url, &[("RUST_LOG", "trace")]);
        let said = format!("{ran:?}");
        assert!(said.contains("[key]"), "{said}");
        assert!(!said.contains(KEY), "{said}");
        for file in files(world.path()) {
            let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
            assert!(!text.contains(KEY), "{}", file.display());
        }
    }
}

fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}
