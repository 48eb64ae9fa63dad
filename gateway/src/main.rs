//! The binary `askgate`.

use std::process::ExitCode;

fn main() -> ExitCode {
    gateway::cli::main()
}
