//! Advice, where a person and a model read it.

use serde_json::{Value, json};

use super::client::{Place, Session};
use crate::support::server::text;

#[test]
fn the_same_advice_is_in_doctor_status_and_the_start_of_serve() {
    let place = Place::new();
    std::fs::create_dir_all(place.path().join("state")).unwrap();
    std::fs::write(place.path().join("state/token"), "short\n").unwrap();
    let key = place.path().join("audit-key");
    std::fs::write(&key, "0123456789abcdef0123456789abcdef").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    place.configure(&format!("audit_key_file = {key:?}\n"));
    let serve = place.serve(&[]);
    let mut session = Session::http(serve.port, json!({}));
    let status = session.call("status", json!({}));
    serve.signal("TERM");
    let started = serve.wait().err;
    for expected in ["can be guessed", "are made up", "can read"] {
        assert!(text(&status).contains(expected), "{expected}: {status}");
        assert!(started.contains(expected), "{expected}: {started}");
    }
    // For a model, no flag of a command line that it does not have.
    assert!(!text(&status).contains("--simulate"), "{status}");
    let doctor = place
        .command(&["doctor", "--offline", "--json"])
        .output()
        .unwrap();
    let doctor: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let checks = doctor["checks"].as_array().unwrap();
    let advice = checks
        .iter()
        .find(|check| check["check"] == "readable-key")
        .unwrap();
    assert_eq!(advice["verdict"], "advice");
    let settings = doctor["settings"].as_array().unwrap();
    let key_file = settings
        .iter()
        .find(|setting| setting["name"] == "audit_key_file")
        .unwrap();
    assert!(
        key_file["from"]
            .as_str()
            .unwrap()
            .ends_with("glovebox.toml"),
        "{key_file}"
    );
    assert!(
        checks
            .iter()
            .any(|check| check["check"] == "policy" && check["verdict"] == "ok")
    );
}

#[test]
fn doctor_finds_a_setting_that_names_no_tool() {
    let place = Place::new();
    place.configure("[tools]\ndisable = [\"ansers\"]\n");
    let ran = place.command(&["doctor", "--offline"]).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert_eq!(ran.status.code(), Some(1));
    assert!(
        said.contains("PROBLEM  policy") && said.contains("ansers"),
        "{said}"
    );
}
