//! Time as a parameter: a wall clock for people and retention, a monotonic one for back-off and deadlines.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Tells the time.
pub trait Clock: Debug + Send + Sync + 'static {
    /// Wall time in milliseconds since 1970. May jump.
    fn unix_millis(&self) -> i64;

    /// Monotonic time. Never jumps.
    fn instant(&self) -> Instant;
}

/// A clock that is shared.
pub type SharedClock = Arc<dyn Clock>;

/// The machine's clocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one file that reads the wall clock")]
    fn unix_millis(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX).saturating_add(faults::clock_offset_millis())
    }

    #[expect(clippy::disallowed_methods, reason = "this is the one file that reads the monotonic clock")]
    fn instant(&self) -> Instant {
        Instant::now()
    }
}
