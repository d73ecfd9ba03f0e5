//! The `glovebox` binary: see [`glovebox::cli`].

use std::process::ExitCode;

use glovebox::exit::Exit;

fn main() -> ExitCode {
    match glovebox::cli::main() {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprintln!("glovebox: {error:#}");
            Exit::Failed.into()
        }
    }
}
