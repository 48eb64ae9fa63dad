//! When sessions were begun, so that the thousand a day that Discord allows a bot last for the day.
//!
//! A bot that uses them up has its token reset. Pure: the time is a parameter.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The shortest time between two new sessions; Discord allows one in five seconds.
const BETWEEN: Duration = Duration::from_millis(5_200);
/// How many may begin in one [`WINDOW`]: 960 a day, and enough for any bad half hour.
const MOST: usize = 20;
const WINDOW: Duration = Duration::from_mins(30);

/// The last sessions that were begun.
#[derive(Debug, Default)]
pub(super) struct Begun(VecDeque<Instant>);

impl Begun {
    /// How long the next one has to wait.
    pub(super) fn wait(&self, now: Instant) -> Duration {
        let rest = |since: Option<&Instant>, span: Duration| {
            since.map_or(Duration::ZERO, |since| span.saturating_sub(now.saturating_duration_since(*since)))
        };
        let oldest = self.0.front().filter(|_| self.0.len() >= MOST);
        rest(self.0.back(), BETWEEN).max(rest(oldest, WINDOW))
    }

    /// One begins now.
    pub(super) fn note(&mut self, now: Instant) {
        self.0.push_back(now);
        while self.0.len() > MOST {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock, SystemClock};

    #[test]
    fn a_session_that_never_holds_uses_up_no_day() {
        let start = SystemClock.instant();
        let (mut begun, mut now, mut count) = (Begun::default(), start, 0);
        while now.duration_since(start) < Duration::from_hours(24) {
            begun.note(now);
            count += 1;
            assert!(begun.wait(now) >= BETWEEN);
            now += begun.wait(now);
            assert_eq!(begun.wait(now), Duration::ZERO);
        }
        assert!((900..1000).contains(&count), "{count}");
    }

    #[test]
    fn one_that_is_lost_now_and_then_begins_anew_at_once() {
        let start = SystemClock.instant();
        let mut begun = Begun::default();
        for round in 0..100 {
            let now = start + Duration::from_mins(2) * round;
            assert_eq!(begun.wait(now), Duration::ZERO, "{round}");
            begun.note(now);
        }
    }
}
