//! Fuzzing: one plain function over bytes for everything that reads what comes from outside.
//!
//! The same functions run in two ways. `cargo test -p tests --test fuzz` feeds them changed examples for a bounded time with any
//! compiler (`ASKGATE_FUZZ_SECONDS=600` for longer; the seed is printed, `ASKGATE_FUZZ_SEED` repeats it). With a nightly compiler
//! and `cargo install cargo-fuzz`, `cargo +nightly fuzz run TARGET` in this repository is guided by coverage.
//!
//! What made a target fail is kept in `tests/fuzz/TARGET/` and is tried first from then on.

mod limits;
mod mutate;
mod runner;
#[expect(clippy::unnecessary_wraps, reason = "some of the lists read files, and all have one type")]
mod seeds;
#[expect(clippy::expect_used, clippy::panic, reason = "a target says with a panic what does not hold")]
mod targets;

pub use runner::run;
pub use targets::{TARGETS, Target};

/// Runs a target on one input, for cargo-fuzz. Unknown names do nothing.
///
/// # Panics
/// If what the target asserts does not hold.
pub fn one(name: &str, bytes: &[u8]) {
    if let Some(target) = TARGETS.iter().find(|target| target.name == name) {
        (target.run)(bytes);
    }
}
