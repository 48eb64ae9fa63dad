//! Randomness for back-off, so that processes that failed together do not come back together.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rand::Rng;
use rand::rngs::StdRng;

/// Spreads waiting times; the generator is a parameter.
#[derive(Debug)]
pub(super) struct Jitter(Mutex<StdRng>);

impl Jitter {
    /// Draws from this generator.
    pub(super) fn new(rng: StdRng) -> Self {
        Self(Mutex::new(rng))
    }

    /// A time from `least` to `most`.
    pub(super) fn between(&self, least: Duration, most: Duration) -> Duration {
        let mut rng = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rng.random_range(least..=most.max(least))
    }

    /// One second, doubled with every failure up to eight, less up to a quarter.
    pub(super) fn backoff(&self, failures: u32) -> Duration {
        let whole = Duration::from_secs(1).saturating_mul(1 << failures.min(3));
        self.between(whole * 3 / 4, whole)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn backoff_doubles_to_eight_seconds() {
        let jitter = Jitter::new(StdRng::seed_from_u64(1));
        for (failures, most) in [(0, 1000), (1, 2000), (2, 4000), (3, 8000), (4, 8000), (u32::MAX, 8000)] {
            let wait = jitter.backoff(failures).as_millis();
            assert!(wait >= most * 3 / 4 && wait <= most, "{failures}: {wait}");
        }
    }
}
