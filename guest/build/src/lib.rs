//! Which components there are, what each is made of, and whether `guest/dist` is what the sources say.
//!
//! The built components are committed, so that a user of the host needs no WebAssembly target. Each has a
//! [`Record`] beside it with the hash of its sources; a source that changed without a rebuild shows.

mod lock;
mod sources;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

pub use crate::sources::hash as sources_hash;

/// What a component may import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Imports {
    /// Nothing at all.
    None,
    /// Interfaces of this namespace, such as `wasi:`.
    Only(&'static str),
}

/// How a component is made.
#[derive(Clone, Copy, Debug)]
pub struct Component {
    /// Its name: `guest/dist/NAME.wasm`.
    pub name: &'static str,
    /// The package that is built.
    pub package: &'static str,
    /// The folder of the workspace it belongs to, from the repository's root.
    pub workspace: &'static str,
    /// The folder of the WIT package whose one world it implements, from the repository's root. `None` for a command: its
    /// target's linker encodes it.
    pub wit: Option<&'static str>,
    /// The target.
    pub target: &'static str,
    /// The cargo profile.
    pub profile: &'static str,
    /// The crates whose sources and dependencies it is made of, from the repository's root.
    pub crates: &'static [&'static str],
    /// Further files and folders it is made of.
    pub others: &'static [&'static str],
    /// Compiler flags.
    pub flags: &'static [&'static str],
    /// The most bytes it may have.
    pub max_bytes: usize,
    /// What it may import.
    pub imports: Imports,
}

/// Every component of the repository.
pub const COMPONENTS: &[Component] = &[ANSWERS, TRAFFIC, ASK];

/// Flags of every component for `wasm32-unknown-unknown`. SIMD makes the scans for line ends and tags three times as
/// fast; browsers and runtimes have had it since 2021.
const SIMD: &str = "-Ctarget-feature=+simd128,+bulk-memory";

/// A stack of 256 KiB: no parser here recurses deeper than its own bound, and an instance is smaller by the rest of the
/// default of 1 MiB.
const STACK: &str = "-Clink-arg=-zstack-size=262144";

const ANSWERS: Component = Component {
    name: "answers",
    package: "answers-component",
    workspace: ".",
    wit: Some("wit/answers"),
    target: "wasm32-unknown-unknown",
    profile: "component",
    crates: &[
        "guest/answers",
        "guest/markdown",
        "guest/stream",
        "guest/components/answers",
    ],
    others: &["wit/answers", "rust-toolchain.toml"],
    flags: &[SIMD, STACK],
    max_bytes: 320 * 1024,
    imports: Imports::None,
};

const TRAFFIC: Component = Component {
    name: "traffic",
    package: "traffic-component",
    workspace: ".",
    wit: Some("wit/traffic"),
    target: "wasm32-unknown-unknown",
    profile: "component-traffic",
    crates: &["guest/traffic", "guest/components/traffic"],
    others: &["wit/traffic", "rust-toolchain.toml"],
    flags: &[SIMD, STACK],
    // The regular expressions, the text encodings, the decompressors and the differ are most of it.
    max_bytes: 2_000_000,
    imports: Imports::None,
};

const ASK: Component = Component {
    name: "ask",
    package: "ask",
    workspace: "guest/ask",
    wit: None,
    target: "wasm32-wasip2",
    profile: "release",
    crates: &[
        "guest/answers",
        "guest/markdown",
        "guest/stream",
        "guest/ask",
    ],
    others: &["rust-toolchain.toml"],
    flags: &[],
    // The parser, the standard library's formatting and the bindings of wasi:http; a runtime compiles it in a second.
    max_bytes: 600 * 1024,
    imports: Imports::Only("wasi:"),
};

/// What is known of a built component, as `guest/dist/NAME.json`.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Record {
    /// Its name.
    pub name: String,
    /// Its size.
    pub bytes: usize,
    /// SHA-256 of the component.
    pub sha256: String,
    /// SHA-256 of what it was made of.
    pub sources: String,
    /// SHA-256 of the target's standard library: where it differs, so may the component's bytes.
    pub standard_library: String,
}

impl Component {
    /// Where the built component is.
    #[must_use]
    pub fn wasm_path(&self, root: &Path) -> PathBuf {
        root.join("guest/dist").join(format!("{}.wasm", self.name))
    }

    /// Where its record is.
    #[must_use]
    pub fn record_path(&self, root: &Path) -> PathBuf {
        root.join("guest/dist").join(format!("{}.json", self.name))
    }

    /// The committed record.
    ///
    /// # Errors
    /// When it is missing or is no record.
    pub fn record(&self, root: &Path) -> anyhow::Result<Record> {
        let path = self.record_path(root);
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        serde_json::from_str(&text).with_context(|| path.display().to_string())
    }

    /// Whether the committed component is the recorded one and was made of the sources as they are now.
    ///
    /// # Errors
    /// When it is not, with what to do.
    pub fn check(&self, root: &Path) -> anyhow::Result<()> {
        let record = self.record(root)?;
        let path = self.wasm_path(root);
        let wasm = fs::read(&path).with_context(|| path.display().to_string())?;
        anyhow::ensure!(
            record.sha256 == hex(&wasm),
            "{} is not the component that its record describes: run `cargo components`",
            path.display()
        );
        anyhow::ensure!(
            record.sources == sources_hash(self, root)?,
            "the sources of {} have changed since it was built: run `cargo components`",
            path.display()
        );
        Ok(())
    }
}

/// SHA-256 in hexadecimal.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    to_hex(Sha256::digest(bytes).as_slice())
}

pub(crate) fn to_hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
