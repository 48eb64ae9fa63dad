//! The measures: askgate beside the bare thing, in one run, on loopback, against the simulated platforms.
//!
//! `cargo build --release -p gateway --bins && cargo build --release -p adapters --example bare_teloxide`, then
//! `cargo bench -p tests`, or one part of it: `cargo bench -p tests -- taps`, `polls` or `memory`; `rounds=N` for other than three
//! rounds. It prints one table. The simulations share the machine with what is measured, so read the ratios.

use std::process::ExitCode;

use anyhow::Context as _;

#[path = "measures/memory.rs"]
mod memory;
#[path = "measures/polls.rs"]
mod polls;
#[path = "measures/process.rs"]
mod process;
#[path = "measures/scene.rs"]
mod scene;
#[path = "measures/stats.rs"]
mod stats;
#[path = "measures/taps.rs"]
mod taps;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.split_first() {
        Some((word, rest)) if word == polls::BARE => polls::bare(rest),
        _ => measure(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            stats::say(&format!("the measures were not taken: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &[String]) -> anyhow::Result<()> {
    let wanted = |part: &str| {
        let mut named = arguments.iter().filter(|word| matches!(word.as_str(), "taps" | "polls" | "memory")).peekable();
        named.peek().is_none() || named.any(|word| word == part)
    };
    let rounds = match arguments.iter().find_map(|word| word.strip_prefix("rounds=")) {
        Some(rounds) => rounds.parse::<usize>().context("rounds= takes a number")?.max(1),
        None => 3,
    };
    process::built(&["askgate", "examples/bare_teloxide"])?;
    let runtime = tokio::runtime::Runtime::new()?;
    let mut rows = Vec::new();
    if wanted("polls") {
        rows.extend(runtime.block_on(polls::measure(rounds))?);
    }
    if wanted("memory") {
        rows.extend(runtime.block_on(memory::measure())?);
    }
    if wanted("taps") {
        rows.extend(runtime.block_on(taps::measure(rounds))?);
    }
    stats::print(&rows, rounds, arguments)
}
