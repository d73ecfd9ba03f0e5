#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use super::*;

fn flags(list: &[&str]) -> Flags {
    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        flags: Flags,
    }
    let list = std::iter::once("test").chain(list.iter().copied());
    <Command as clap::Parser>::try_parse_from(list)
        .unwrap()
        .flags
}

fn folder_with(config: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join(APP)).unwrap();
    std::fs::write(folder.path().join(APP).join(CONFIG_FILE), config).unwrap();
    folder
}

#[test]
fn each_layer_wins_over_the_next() {
    let folder =
        folder_with("keep = \"2h\"\nbudget_usd_per_day = 2.5\npace = 1\ncapture = false\n");
    let home = folder.path().to_str().unwrap();
    let environment = Environment::from([
        ("XDG_CONFIG_HOME", home),
        ("XDG_STATE_HOME", home),
        ("GLOVEBOX_KEEP", "3h"),
        ("GLOVEBOX_PACE", "0.5"),
    ]);
    let settings = Settings::load_from(&flags(&["--pace", "0"]), &environment).unwrap();
    assert_eq!(settings.pace.value, Some(0.0));
    assert_eq!(settings.pace.origin, ValueOrigin::Flag("--pace".to_owned()));
    assert_eq!(settings.keep.value, Duration::from_secs(3 * 3600));
    assert_eq!(
        settings.keep.origin,
        ValueOrigin::Environment("GLOVEBOX_KEEP".to_owned())
    );
    assert_eq!(settings.budget_per_day.value, Some(2_500_000));
    assert!(matches!(
        settings.budget_per_day.origin,
        ValueOrigin::File(_)
    ));
    assert!(!settings.capture.value);
    assert_eq!(settings.timeout_answer.origin, ValueOrigin::Default);
    assert_eq!(settings.state_dir.value, folder.path().join(APP));
    let shown: Vec<&str> = settings.table().into_iter().map(|row| row.0).collect();
    for (name, _) in NAMES {
        // The settings of the policy are shown by its own check.
        let of_policy = name.starts_with("tools.")
            || matches!(name, "max_concurrent" | "audit" | "audit_key_file");
        assert_eq!(shown.contains(&name), !of_policy, "{name}");
    }
    let given = settings.as_environment();
    for (variable, value) in [
        ("GLOVEBOX_PACE", "0"),
        ("GLOVEBOX_KEEP", "3h"),
        ("GLOVEBOX_CAPTURE", "false"),
    ] {
        assert!(given.contains(&(variable, value.to_owned())), "{given:?}");
    }
}

#[test]
fn a_bad_value_is_named_with_its_origin() {
    let folder = folder_with("");
    let home = folder.path().to_str().unwrap();
    for (variable, value, expected) in [
        (
            "GLOVEBOX_UPSTREAM",
            "http://example.org",
            "plain http to another machine",
        ),
        ("GLOVEBOX_UPSTREAM", "nonsense", "not a URL"),
        ("GLOVEBOX_KEEP", "1s", "out of range"),
        ("GLOVEBOX_KEEP", "long", "no length of time"),
        ("GLOVEBOX_CAPTURE", "maybe", "neither true nor false"),
        ("GLOVEBOX_BUDGET_USD_PER_DAY", "-1", "no amount"),
        ("GLOVEBOX_BUDGET_USD_PER_DAY", "NaN", "no amount"),
        ("GLOVEBOX_PACE", "fast", "no pace"),
        ("GLOVEBOX_COMPONENT", "/nowhere.wasm", "is not a file"),
        ("GLOVEBOX_TIMEOUT_IDLE", "0", "out of range"),
        ("GLOVEBOX_REQUESTS_PER_SECOND", "0", "no rate"),
        ("GLOVEBOX_REQUESTS_PER_SECOND", "many", "no rate"),
    ] {
        let environment = Environment::from([("XDG_CONFIG_HOME", home), (variable, value)]);
        let error = Settings::load_from(&Flags::default(), &environment)
            .unwrap_err()
            .to_string();
        for part in [variable, value, expected] {
            assert!(error.contains(part), "{part} is not in: {error}");
        }
    }
}

#[test]
fn the_file_is_closed() {
    for (config, expected) in [
        ("kepp = \"1h\"", "no setting"),
        ("api_key = \"secret\"", "keys do not belong there"),
        ("keep = ", "not valid TOML"),
        ("keep = [1]", "single value"),
    ] {
        let folder = folder_with(config);
        let environment = Environment::from([("XDG_CONFIG_HOME", folder.path().to_str().unwrap())]);
        let error = Settings::load_from(&Flags::default(), &environment)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(expected) && !error.contains("secret"),
            "{error}"
        );
    }
}

#[test]
fn the_key_by_its_rules() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder_with("");
    let home = folder.path().to_str().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, "filekey\n").unwrap();
    let mode =
        |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o600);
    let path = file.to_str().unwrap();
    let report = |pairs: [(&str, &str); 2]| {
        let environment = Environment::from([("XDG_CONFIG_HOME", home), pairs[0], pairs[1]]);
        Settings::load_from(&Flags::default(), &environment)
            .unwrap()
            .key_report()
    };
    let nothing = ("X", "x");
    assert_eq!(
        report([nothing, nothing]).key.unwrap_err(),
        KeyError::Missing
    );
    assert_eq!(
        report([("BRAVE_API_KEY", "a"), ("BRAVE_ANSWERS_KEY_FILE", path)]).origin,
        Some("BRAVE_ANSWERS_KEY_FILE")
    );
    assert_eq!(
        report([("BRAVE_API_KEY", "a"), ("BRAVE_API_KEY_FILE", path)]).origin,
        Some("BRAVE_API_KEY")
    );
    for literal in ["${KEY}", "{env:KEY}", "${KEY:-}", " ${KEY} "] {
        let alone = report([("BRAVE_ANSWERS_KEY", literal), nothing]);
        assert!(matches!(alone.key, Err(KeyError::Placeholder { .. })));
        let hidden = report([
            ("BRAVE_ANSWERS_KEY", literal),
            ("BRAVE_ANSWERS_KEY_FILE", path),
        ]);
        assert_eq!(hidden.origin, Some("BRAVE_ANSWERS_KEY_FILE"));
        let warning = hidden.warning.unwrap();
        assert!(warning.contains("BRAVE_ANSWERS_KEY holds"), "{warning}");
    }
    mode(0o644);
    let readable = report([("BRAVE_ANSWERS_KEY_FILE", path), nothing]);
    assert!(readable.key.is_ok() && readable.warning.unwrap().contains("chmod 600"));
    mode(0o666);
    let writable = report([("BRAVE_ANSWERS_KEY_FILE", path), nothing]);
    assert!(matches!(writable.key, Err(KeyError::Writable { .. })));
    let absent = report([("BRAVE_ANSWERS_KEY_FILE", "/nowhere"), nothing]);
    assert!(matches!(absent.key, Err(KeyError::Unreadable { .. })));
    let folder_named = report([("BRAVE_ANSWERS_KEY_FILE", home), nothing]);
    assert!(folder_named.key.is_err());
}

#[test]
fn a_placeholder_counts_as_not_set_but_never_takes_a_limit_away() {
    let folder = folder_with("");
    let home = folder.path().to_str().unwrap();
    let load = |variable: &str| {
        let environment = Environment::from([
            ("XDG_CONFIG_HOME", home),
            ("XDG_STATE_HOME", home),
            (variable, "${UNSET}"),
        ]);
        Settings::load_from(&Flags::default(), &environment)
    };
    let settings = load("GLOVEBOX_STATE_DIR").unwrap();
    assert_eq!(settings.state_dir.value, folder.path().join(APP));
    assert!(settings.advice[0].starts_with("GLOVEBOX_STATE_DIR holds"));
    let error = load("GLOVEBOX_BUDGET_USD_PER_DAY").unwrap_err().to_string();
    assert!(error.contains("GLOVEBOX_BUDGET_USD_PER_DAY"), "{error}");
}

#[test]
fn lengths_of_time_both_ways() {
    for (text, seconds) in [
        ("24h", 86400),
        ("90", 90),
        ("90s", 90),
        ("1.5m", 90),
        ("2d", 172_800),
    ] {
        let duration = parse_duration(text).unwrap();
        assert_eq!(duration, Duration::from_secs(seconds));
        assert_eq!(parse_duration(&duration_text(duration)).unwrap(), duration);
    }
    assert_eq!(
        parse_duration("1.5s").map(duration_text).unwrap(),
        "1s 500ms"
    );
    for bad in ["", "h", "1x", "-1s", "1e400s", "NaN", "é"] {
        assert!(parse_duration(bad).is_err(), "{bad}");
    }
}
