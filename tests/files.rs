//! Files that commands write: what is kept of each kind of existing file.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{Ran, Simulator, World, finish};

const QUICK: [&str; 5] = ["ask", "--simulate", "--pace", "0", "--output"];

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn ask_into(world: &World, path: &Path) -> Ran {
    let path = path.to_str().unwrap();
    world.run(&[&QUICK[..], &[path, "tides"]].concat())
}

/// Returns an empty folder in the world.
fn folder(world: &World) -> PathBuf {
    let folder = world.path().join("here");
    fs::create_dir(&folder).unwrap();
    folder
}

fn answered(path: &Path) -> bool {
    fs::read_to_string(path).unwrap().contains("Cost: $")
}

#[test]
fn a_regular_file_keeps_its_mode_and_nothing_else_is_left() {
    let world = World::new();
    let folder = folder(&world);
    let file = folder.join("answer.md");
    for bits in [0o600, 0o640, 0o664] {
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(bits)).unwrap();
        let ran = ask_into(&world, &file);
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{ran:?}");
        assert!(answered(&file) && mode(&file) == bits, "{:o}", mode(&file));
        assert_eq!(names(&folder), ["answer.md"]);
    }
}

#[test]
fn a_link_remains_and_its_target_is_written_even_if_missing() {
    let world = World::new();
    let folder = folder(&world);
    let elsewhere = world.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("real"), "old").unwrap();
    fs::set_permissions(elsewhere.join("real"), fs::Permissions::from_mode(0o640)).unwrap();
    let link = folder.join("link");
    let chain = folder.join("chain");
    let dangling = folder.join("dangling");
    symlink("../elsewhere/real", &link).unwrap();
    symlink("link", &chain).unwrap();
    symlink("../elsewhere/new", &dangling).unwrap();
    for (path, target) in [(&link, "real"), (&chain, "real"), (&dangling, "new")] {
        let ran = ask_into(&world, path);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(fs::symlink_metadata(path).unwrap().is_symlink());
        assert!(answered(&elsewhere.join(target)), "{target}");
        fs::write(elsewhere.join(target), "old").unwrap();
    }
    assert_eq!(mode(&elsewhere.join("real")), 0o640);
    assert_eq!(names(&folder), ["chain", "dangling", "link"]);
    assert_eq!(names(&elsewhere), ["new", "real"]);
    let circle = folder.join("circle");
    symlink("circle", &circle).unwrap();
    let ran = ask_into(&world, &circle);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("nothing was sent"), "{ran:?}");
}

#[test]
fn all_hard_links_have_the_new_content() {
    let world = World::new();
    let folder = folder(&world);
    let (first, second) = (folder.join("first"), folder.join("second"));
    fs::write(&first, "old ".repeat(100_000)).unwrap();
    fs::hard_link(&first, &second).unwrap();
    let ran = ask_into(&world, &first);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(answered(&second));
    assert_eq!(fs::metadata(&first).unwrap().nlink(), 2);
    assert_eq!(fs::read(&first).unwrap(), fs::read(&second).unwrap());
}

#[test]
fn a_pipe_is_written_in_place() {
    let world = World::new();
    let folder = folder(&world);
    let pipe = folder.join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let child = world
        .command(&[&QUICK[..], &[pipe.to_str().unwrap(), "tides"]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut text = String::new();
    fs::File::open(&pipe)
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    let ran = finish(child);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(text.contains("Cost: $"), "{text}");
    assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    assert_eq!(names(&folder), ["pipe"]);
}

/// A device of the test, so that a fault does not replace one of the system. Only root can create it.
#[test]
fn a_device_remains_a_device() {
    let world = World::new();
    let folder = folder(&world);
    let device = folder.join("null");
    let made = Command::new("mknod")
        .arg(&device)
        .args(["c", "1", "3"])
        .stderr(Stdio::null())
        .status();
    if !made.is_ok_and(|status| status.success()) || fs::write(&device, "x").is_err() {
        return;
    }
    let ran = ask_into(&world, &device);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let kind = fs::symlink_metadata(&device).unwrap().file_type();
    assert!(kind.is_char_device());
    assert_eq!(names(&folder), ["null"]);
}

#[test]
fn signals_leave_no_temporary_file() {
    for signal in ["TERM", "INT", "HUP", "KILL"] {
        let world = World::new();
        let simulator = Simulator::start("0");
        let folder = folder(&world);
        let file = folder.join("answer");
        let arguments = [
            "--timeout-idle",
            "2s",
            "ask",
            "--output",
            file.to_str().unwrap(),
            "sim:stall why?",
        ];
        let child = world
            .calling(&simulator, &arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        world.wait_for_captures(1, 1);
        assert!(names(&folder).is_empty(), "{:?}", names(&folder));
        let id = child.id().to_string();
        let killed = Command::new("kill").args(["-s", signal, &id]).status();
        assert!(killed.unwrap().success());
        let ran = finish(child);
        // An interrupt keeps the partial result, and a closed terminal does not end the call.
        let left = names(&folder);
        assert!(
            left.is_empty() || ["INT", "HUP"].contains(&signal) && left == ["answer"],
            "{signal}: {left:?} {ran:?}"
        );
    }
}

#[test]
fn a_component_is_written_in_the_same_way() {
    let world = World::new();
    let folder = folder(&world);
    fs::write(folder.join("real"), "old").unwrap();
    symlink("real", folder.join("link")).unwrap();
    let link = folder.join("link");
    let ran = world.run(&["component", "--out", link.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read(folder.join("real")).unwrap().starts_with(b"\0asm"));
    assert_eq!(names(&folder), ["link", "real"]);
}
