//! Unusual environments: existing folders, paths and variables that are not valid UTF-8, a key from a pipe.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{KEY, Ran, Simulator, World};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn an_existing_state_folder_keeps_its_mode() {
    let world = World::new();
    let folder = world.path().join("shared");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    let state = folder.to_str().unwrap();
    for args in [
        &["jobs", "list"][..],
        &["spend"],
        &["doctor", "--offline"],
        &["ask", "--simulate", "--pace", "0", "why?"],
    ] {
        let ran = Ran::of(
            world
                .command(args)
                .env("GLOVEBOX_STATE_DIR", state)
                .output()
                .unwrap(),
        );
        assert_ne!(ran.code, Some(2), "{args:?}: {ran:?}");
        assert_eq!(mode(&folder), 0o755, "{args:?}");
    }
    let mut seen = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path) & 0o077, 0, "{}", path.display());
        seen += 1;
    }
    assert!(seen > 1);
}

#[test]
fn a_path_that_is_not_utf8_does_not_panic() {
    let world = World::new();
    let odd = world.path().join(OsStr::from_bytes(b"odd\xff"));
    std::fs::create_dir(&odd).unwrap();
    let at_home = |args: &[&str], state: Option<&Path>| {
        let mut command = world.command(args);
        command
            .env("HOME", &odd)
            .env_remove("XDG_STATE_HOME")
            .env_remove("XDG_CONFIG_HOME")
            .envs(state.map(|folder| ("GLOVEBOX_STATE_DIR", folder)))
            .current_dir(&odd);
        Ran::of(command.output().unwrap())
    };
    let state = world.path().join("state");
    for args in [
        &["connect", "claude-code", "--json"][..],
        &["connect", "codex", "--json", "--write"],
        &["connect", "codex", "--json", "--write"],
        &["ask", "--simulate", "--pace", "0", "--json", "why?"],
        &["jobs", "list", "--all", "--json"],
        &["doctor", "--offline", "--simulate", "--json"],
        &["doctor", "--offline", "--simulate"],
    ] {
        let ran = at_home(args, Some(&state));
        assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
        // The path of the state cannot be printed.
        let refused = at_home(args, None);
        assert_eq!(refused.code, Some(2), "{args:?}: {refused:?}");
        assert!(
            refused.err.contains("GLOVEBOX_STATE_DIR"),
            "{args:?}: {refused:?}"
        );
    }
}

#[test]
fn a_setting_that_is_not_utf8_is_refused_by_name() {
    let world = World::new();
    for name in [
        "GLOVEBOX_STATE_DIR",
        "GLOVEBOX_KEEP",
        "HTTPS_PROXY",
        "no_proxy",
        "XDG_CONFIG_HOME",
        "XDG_STATE_HOME",
    ] {
        let mut command = world.command(&["jobs", "list"]);
        let ran = Ran::of(
            command
                .env(name, OsStr::from_bytes(b"/tmp/\xff"))
                .output()
                .unwrap(),
        );
        assert!(
            ran.code == Some(2) && ran.err.contains(name),
            "{name}: {ran:?}"
        );
    }
    for flag in ["--state-dir", "--component"] {
        let mut command = world.command(&["jobs", "list", flag]);
        let ran = Ran::of(
            command
                .arg(OsStr::from_bytes(b"/tmp/\xff"))
                .output()
                .unwrap(),
        );
        assert!(
            ran.code == Some(2) && ran.err.contains(flag),
            "{flag}: {ran:?}"
        );
    }
}

/// Gives a command a pipe as its key file, as process substitution of a shell does.
fn with_piped_key(mut command: Command) -> (Command, std::io::PipeReader) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    writeln!(writer, "{KEY}").unwrap();
    // A shell starts the program and leaves the pipe open at this file descriptor.
    let program = command.get_program().to_owned();
    let arguments: Vec<OsString> = command.get_args().map(OsStr::to_owned).collect();
    let mut shell = Command::new("sh");
    for (name, value) in command.get_envs() {
        shell.env(name, value.unwrap());
    }
    shell
        .args(["-c", "exec 9<&0; unset BRAVE_ANSWERS_KEY; BRAVE_ANSWERS_KEY_FILE=/dev/fd/9 exec \"$@\" </dev/null", "sh"])
        .arg(program)
        .args(arguments)
        .stdin(Stdio::from(reader.try_clone().unwrap()));
    let _ = (command.stdin(Stdio::null()), reader.as_raw_fd());
    (shell, reader)
}

#[test]
fn a_key_from_a_pipe_is_read_once_and_reaches_the_worker() {
    let world = World::new();
    let simulator = Simulator::start("0");
    for args in [&["ask", "why?"][..], &["research", "why?"]] {
        let (mut command, _reader) = with_piped_key(world.calling(&simulator, args));
        let ran = Ran::of(command.output().unwrap());
        assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
        assert!(!format!("{ran:?}").contains(KEY));
    }
    let keys: Vec<Value> = simulator
        .log()
        .iter()
        .map(|record| record["key_seen"].clone())
        .collect();
    assert_eq!(keys, [true, true]);
}
