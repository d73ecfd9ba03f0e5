# The tasks of a contributor. `just` lists them; each is one command that can be typed without `just` as well.

# List the tasks
default:
    @just --list

# Build the program
build:
    cargo build --release

# Run all tests, as the README says
test *arguments:
    cargo test --release --workspace {{arguments}}

# Check format, lints and documentation
check:
    cargo fmt --all --check
    cargo clippy --release --workspace --all-targets -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --release --no-deps --workspace

# Rebuild guest/dist from source (needs `rustup target add wasm32-unknown-unknown wasm32-wasip2`)
components *arguments:
    cargo components {{arguments}}

# Rewrite the golden vectors' expectations that differ, and print the differences
bless:
    BLESS=1 cargo test --release -p answers --test vectors

# Install the MCP clients, runtimes and browser that some tests need
prepare:
    for script in tests/*/prepare; do "$script"; done

# Run a benchmark: parse, launch, streams, jobs
bench name:
    cargo bench -p glovebox --bench {{name}}

# Check licences and sources of all dependencies (needs `cargo install cargo-deny`)
deny:
    cargo deny check licenses bans sources

# Run what continuous integration runs
ci:
    .ci/run

# Drive real agent clients through whole turns on loopback (installs 2 GB of packages; not in CI)
agents *arguments:
    tests/agents/run {{arguments}}
