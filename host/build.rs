//! Builds the crate again when a file was added to what it embeds: the macro that embeds them sees only those that were there.

fn main() {
    println!("cargo::rerun-if-changed=../fixtures/answers");
    println!("cargo::rerun-if-changed=../fixtures/traffic");
    println!("cargo::rerun-if-changed=../web");
}
