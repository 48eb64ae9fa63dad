//! The command line: one file for each command.
//!
//! Exit codes: 0 fine, 1 failed while running, 2 wrong use or configuration.

mod accounts;
mod asks;
mod check;
#[cfg(feature = "demo")]
mod demo;
mod doctor;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod healthcheck;
mod logging;
mod out;
mod preview;
mod serve;
mod store;
mod validate;

use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::config::Loaded;
use clap::{Args, Parser, Subcommand};

/// Brings an AI agent's waiting questions to Discord and Telegram as buttons, and carries the tapped answer back.
#[derive(Debug, Parser)]
#[command(name = "askgate", version, about, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the whole thing on simulated platforms; no account needed.
    #[cfg(feature = "demo")]
    Demo(demo::Demo),
    /// Run the service.
    Serve(ConfigFile),
    /// Print every problem of the configuration at once, with the key and the fix; nothing is contacted.
    Check(check::Check),
    /// Reach each platform and source, and say what is wrong and how to fix it.
    Doctor(ConfigFile),
    /// Show the card of an ask, and what each channel would show of it.
    Preview(preview::Preview),
    /// Check asks, answers, files and buttons by the rules of the specification.
    Validate(validate::Validate),
    /// List the known accounts and where their asks are shown; link people and forget them.
    Accounts(accounts::Accounts),
    /// List what waits; with --all or --audit, also how it ended.
    Asks(asks::Asks),
    /// Look after the store while the service is stopped.
    Store(store::Store),
    /// Ask the running service whether it is alive; for Docker.
    Healthcheck(healthcheck::Healthcheck),
}

/// Where the configuration is.
#[derive(Debug, Args)]
struct ConfigFile {
    /// The configuration file.
    #[arg(short, long, value_name = "FILE", default_value = "askgate.toml")]
    config: PathBuf,
}

/// How a command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    Fine,
    Failed,
    WrongUse,
}

/// Runs the program.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let ended = match cli.command {
        #[cfg(feature = "demo")]
        Command::Demo(demo) => demo.run(),
        Command::Serve(file) => serve::run(&file.config),
        Command::Check(check) => check.run(),
        Command::Doctor(file) => doctor::run(&file.config),
        Command::Preview(preview) => preview.run(),
        Command::Validate(validate) => validate.run(),
        Command::Accounts(accounts) => accounts.run(),
        Command::Asks(asks) => asks.run(),
        Command::Store(store) => store.run(),
        Command::Healthcheck(healthcheck) => healthcheck.run(),
    };
    match ended {
        Ok(Exit::Fine) => ExitCode::SUCCESS,
        Ok(Exit::Failed) => ExitCode::from(1),
        Ok(Exit::WrongUse) => ExitCode::from(2),
        Err(error) => {
            out::error(&format!("askgate: {error:#}"));
            ExitCode::from(1)
        }
    }
}

/// Loads the configuration, or prints every reason why not.
fn load(path: &Path) -> Result<Loaded, Exit> {
    #[expect(clippy::disallowed_methods, reason = "the binary's edge: the one place that reads the environment")]
    let environment =
        std::env::vars_os().filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)));
    ::config::load(path, environment).map_err(|refused| {
        for problem in &refused.problems {
            out::error(&problem.to_string());
        }
        let count = refused.problems.len();
        out::error(&format!(
            "askgate: {count} {} in {}",
            if count == 1 { "problem" } else { "problems" },
            path.display()
        ));
        Exit::WrongUse
    })
}

/// Runs async work on a runtime of its own.
fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(workers()).build()?.block_on(work)
}

/// As many threads as there are cores, up to four: the work is waiting, not computing.
fn workers() -> usize {
    std::thread::available_parallelism().map_or(2, std::num::NonZero::get).clamp(2, 4)
}
