//! The crash machine: many people, many taps, `kill -9`, and a count of what was lost, doubled or left behind.
//!
//! | module | subject |
//! | --- | --- |
//! | [`crowd`] | people with accounts of their own, what they see, what they press, what they were told |
//! | [`peers`] | the scenario every comparable program was measured with: 300 taps in flight, one kill |
//! | [`random`] | a random workload with kills at random points |
//! | [`points`] | a kill at one named point |
//! | [`elsewhere`] | how long it takes until all copies know of an answer given in the app |
//! | [`check`] | what must hold when all is quiet: a pure function over what host, platforms and ledger say |
//! | [`dice`] | randomness that a seed repeats |

pub mod check;
pub mod crowd;
pub mod dice;
pub mod elsewhere;
pub mod peers;
pub mod points;
pub mod random;

use std::time::Duration;

/// The value at a fraction of a sorted list, in seconds; zero for an empty list.
#[must_use]
pub fn percentile(sorted: &[Duration], percent: usize) -> f64 {
    let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(at).copied().unwrap_or_default().as_secs_f64()
}

/// Keeps a log for whoever looks for the reason, and says where.
///
/// # Errors
/// If it cannot be written.
pub fn keep(log: &str) -> anyhow::Result<String> {
    let (_, path) = tempfile::Builder::new().prefix("askgate-crash-").suffix(".log").tempfile()?.keep()?;
    std::fs::write(&path, log)?;
    Ok(path.display().to_string())
}
