//! Encryption, authorities, proxies.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Value, json};

use super::fake::{Fake, said, usual};
use super::{bridge_with, call, open, own_error};
use crate::support::{Ran, Served};

/// An authority, its file, and a server's certificate from it.
struct Authority {
    _folder: tempfile::TempDir,
    file: PathBuf,
    server: Arc<rustls::ServerConfig>,
}

fn authority() -> Authority {
    authority_for("127.0.0.1")
}

fn authority_for(name: &str) -> Authority {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let names = vec![name.to_owned()];
    let leaf = CertificateParams::new(names)
        .unwrap()
        .signed_by(&key, &issuer)
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, issuer.pem()).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let server = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key)
        .unwrap();
    Authority {
        _folder: folder,
        file,
        server: Arc::new(server),
    }
}

fn serve(authority: &Authority) -> Fake {
    Fake::on(
        0,
        Some(Arc::clone(&authority.server)),
        |request, wire, _| {
            if !usual(request, wire, "s") {
                wire.json(&said(request, "well"));
            }
        },
    )
}

fn first(url: &str, args: &[&str], variables: &[(&str, &str)]) -> Value {
    bridge_with(url, args, variables).ask("initialize", json!({ "protocolVersion": "2025-11-25" }))
}

#[test]
fn authorities_are_accepted_beside_the_systems_or_alone() {
    let (one, other) = (authority(), authority());
    let fake = serve(&one);
    let token = [("TOKEN", "a-token-for-the-bridge-1")];
    for option in ["--ca", "--ca-only"] {
        let args = [option, one.file.to_str().unwrap(), "--bearer-env", "TOKEN"];
        let mut server = bridge_with(&fake.url, &args, &token);
        open(&mut server);
        assert_eq!(call(&mut server, "a", json!({ "with": option })), "well");
    }
    let served = fake.log().len();
    for args in [
        &[][..],
        &["--ca", other.file.to_str().unwrap()],
        &["--ca-only", other.file.to_str().unwrap()],
    ] {
        let (kind, sent, text) = own_error(&first(&fake.url, args, &[]));
        assert_eq!((kind.as_str(), sent.as_str()), ("configuration", "no"));
        assert!(
            text.contains("certificate") && text.contains("--ca FILE"),
            "{text}"
        );
    }
    // No byte of a request went to a server that was not accepted.
    assert_eq!(fake.log().len(), served);
}

#[test]
fn a_certificate_for_another_name_is_refused() {
    let one = authority_for("other.test");
    let fake = serve(&one);
    let (kind, _, text) = own_error(&first(
        &fake.url,
        &["--ca", one.file.to_str().unwrap()],
        &[],
    ));
    assert_eq!(kind, "configuration");
    assert!(text.contains("it is for another name"), "{text}");
    assert!(fake.log().is_empty());
}

#[test]
fn plain_http_where_tls_is_expected_and_the_other_way_round() {
    let tls = serve(&authority());
    let plain = Served::with(|mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let reply = first(&plain.url.replace("http://", "https://"), &[], &[]);
    let (kind, sent, text) = own_error(&reply);
    assert_eq!((kind.as_str(), sent.as_str()), ("configuration", "no"));
    assert!(text.contains("TLS with https://"), "{text}");
    let reply = first(&tls.url.replace("https://", "http://"), &[], &[]);
    own_error(&reply);
    assert!(tls.log().is_empty());
}

#[test]
fn proxies_are_used_but_for_loopback() {
    let proxy = Fake::start(|request, wire, _| {
        if request.method == "CONNECT" {
            wire.reply("403 Forbidden", &[], "");
        } else {
            usual(request, wire, "s");
        }
    });
    let address = format!(" http://127.0.0.1:{} ", proxy.port);
    // For plain http the proxy is asked for the whole address.
    let reply = first("http://mcp.test/mcp", &[], &[("HTTP_PROXY", &address)]);
    assert!(reply.get("result").is_some(), "{reply}");
    assert_eq!(proxy.log()[0].path, "http://mcp.test/mcp");
    let token = ("TOKEN", "a-token-for-the-bridge-1");
    let reply = first(
        "https://mcp.test/mcp",
        &["--bearer-env", "TOKEN"],
        &[("https_proxy", &address), token],
    );
    assert!(own_error(&reply).2.contains("the proxy refused"), "{reply}");
    let tunnel = proxy.wait_for("it", |request| request.method == "CONNECT");
    assert_eq!(
        (tunnel.path.as_str(), tunnel.header("authorization")),
        ("mcp.test:443", None)
    );
    let before = proxy.log().len();
    let exempt = [("HTTP_PROXY", address.as_str()), ("NO_PROXY", "mcp.test")];
    let reply = first("http://mcp.test/mcp", &["--timeout", "1"], &exempt);
    assert_eq!(own_error(&reply).0, "unreachable", "{reply}");
    let direct = Fake::start(|request, wire, _| {
        usual(request, wire, "s");
    });
    let all = [("HTTP_PROXY", address.as_str()), ("ALL_PROXY", &address)];
    assert!(first(&direct.url, &[], &all).get("result").is_some());
    assert_eq!(proxy.log().len(), before);
    let mut bad = super::command(
        "http://mcp.test/mcp",
        &[],
        &[("HTTP_PROXY", "socks5://u:hunter2@x")],
    );
    let ran = Ran::of(bad.output().unwrap());
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.err.contains("HTTP_PROXY") && !ran.err.contains("hunter2"),
        "{ran:?}"
    );
}
