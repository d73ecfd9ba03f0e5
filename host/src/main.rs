//! The `glovebox` program. See [`glovebox::cli`].

use std::process::ExitCode;

use glovebox::exit::Exit;

fn main() -> ExitCode {
    match glovebox::cli::main() {
        Ok(exit) => exit.into(),
        Err(error) => {
            glovebox::cli::message(&format_args!("glovebox: {error:#}"));
            Exit::Failed.into()
        }
    }
}
