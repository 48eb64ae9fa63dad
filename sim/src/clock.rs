//! The time of the simulated platforms: deadlines, token lives and rate-limit windows follow it.
//!
//! A test that wants to see what happens "three seconds too late" turns a [`ManualClock`] instead of waiting.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// A source of the current time.
pub trait Clock: Send + Sync + 'static {
    /// The time since the Unix epoch.
    fn now(&self) -> Duration;
}

/// The machine's own clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

/// A clock that stands still until it is told to move; clones show the same time.
#[derive(Clone, Debug)]
pub struct ManualClock {
    millis: Arc<AtomicU64>,
}

impl ManualClock {
    /// A clock that shows `now`, in whole milliseconds.
    #[must_use]
    pub fn at(now: Duration) -> Self {
        Self { millis: Arc::new(AtomicU64::new(whole_millis(now))) }
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        self.millis.fetch_add(whole_millis(by), Ordering::SeqCst);
    }

    /// Sets the clock, also backwards.
    pub fn set(&self, now: Duration) {
        self.millis.store(whole_millis(now), Ordering::SeqCst);
    }
}

impl Default for ManualClock {
    /// The first second of December 2026, UTC.
    fn default() -> Self {
        Self::at(Duration::from_hours(498_912))
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Duration {
        Duration::from_millis(self.millis.load(Ordering::SeqCst))
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        #[expect(clippy::disallowed_methods, reason = "this file is the one place that reads the wall clock")]
        let now = std::time::SystemTime::now();
        now.duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
    }
}

fn whole_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
