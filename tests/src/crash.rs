//! The crash machine: many people, many taps, `kill -9`, and a count of what was lost, doubled or left behind.
//!
//! | module | subject |
//! | --- | --- |
//! | [`crowd`] | people with accounts of their own, what they see, what they press, what they were told |
//! | [`peers`] | the scenario every comparable program was measured with: 300 taps in flight, one kill |
//! | [`random`] | a random workload with kills at random points |
//! | [`check`] | what must hold when all is quiet: a pure function over what host, platforms and ledger say |
//! | [`dice`] | randomness that a seed repeats |

pub mod check;
pub mod crowd;
pub mod dice;
pub mod peers;
pub mod random;

use std::time::Duration;

/// The value at a fraction of a sorted list, in seconds; zero for an empty list.
#[must_use]
pub fn percentile(sorted: &[Duration], percent: usize) -> f64 {
    let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(at).copied().unwrap_or_default().as_secs_f64()
}
