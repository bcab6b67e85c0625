//! The `annals` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    annals::cli::main(std::env::args_os())
}
