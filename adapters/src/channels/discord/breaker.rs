//! What keeps the bot's address from being banned.
//!
//! Discord bans an address after 10,000 refused requests in ten minutes, and its front answers a banned one with a web
//! page. So refused requests are counted and stop everything long before; and a page in place of an answer stops
//! everything for a minute at first, longer each time. Pure: the time is a parameter.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::limits::{REFUSED, REFUSED_ACKS, REFUSED_WINDOW};

const FIRST_PAUSE: Duration = Duration::from_mins(1);
const LONGEST_PAUSE: Duration = Duration::from_hours(1);

/// Counts what goes wrong and says when to be silent.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    refused: VecDeque<Instant>,
    open: bool,
    paused_until: Option<Instant>,
    pauses: u32,
}

/// Why nothing may be sent, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hold {
    /// For how long.
    pub(super) after: Duration,
    /// Why, in a sentence that says what to do.
    pub(super) why: &'static str,
}

impl Breaker {
    /// A request was refused in a way that counts towards the ban.
    pub(super) fn refused(&mut self, now: Instant) {
        self.forget(now);
        self.refused.push_back(now);
        while self.refused.len() > REFUSED_ACKS {
            self.refused.pop_front();
        }
        self.open |= self.refused.len() >= REFUSED;
    }

    /// A page came in place of an answer. Says how long everything pauses.
    pub(super) fn page(&mut self, now: Instant, asked: Option<Duration>) -> Duration {
        if let Some(until) = self.paused_until.filter(|until| *until > now) {
            return until.duration_since(now);
        }
        let grown = FIRST_PAUSE.saturating_mul(1 << self.pauses.min(6));
        let pause = grown.max(asked.unwrap_or_default()).min(LONGEST_PAUSE);
        self.pauses = self.pauses.saturating_add(1);
        self.paused_until = now.checked_add(pause);
        pause
    }

    /// Discord itself answered.
    pub(super) fn well(&mut self, now: Instant) {
        if self.paused_until.is_none_or(|until| until <= now) {
            self.paused_until = None;
            self.pauses = 0;
        }
    }

    /// Whether a request has to be held back.
    pub(super) fn hold(&mut self, now: Instant) -> Option<Hold> {
        if let Some(until) = self.paused_until.filter(|until| *until > now) {
            return Some(Hold {
                after: until.duration_since(now),
                why: "Discord's front answers with a page instead of data, as it does to a banned address; \
                      everything pauses. If it stays so, look who else uses this address",
            });
        }
        self.forget(now);
        if self.open && self.refused.len() <= REFUSED / 2 {
            self.open = false;
        }
        let enough_forgotten = self.refused.get(self.refused.len().saturating_sub(REFUSED / 2 + 1));
        enough_forgotten.filter(|_| self.open).map(|at| Hold {
            after: REFUSED_WINDOW.saturating_sub(now.saturating_duration_since(*at)),
            why: "Discord refused too many requests in ten minutes and would ban this address; everything pauses. \
                  Look for what was refused in the log",
        })
    }

    /// Whether an acknowledgement has to be held back.
    pub(super) fn holds_acks(&mut self, now: Instant) -> bool {
        self.forget(now);
        self.refused.len() >= REFUSED_ACKS
    }

    fn forget(&mut self, now: Instant) {
        while self.refused.front().is_some_and(|at| now.saturating_duration_since(*at) >= REFUSED_WINDOW) {
            self.refused.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock, SystemClock};

    #[test]
    fn refusals_at_five_per_second_stop_before_five_hundred() {
        let mut breaker = Breaker::default();
        let start = SystemClock.instant();
        let at = |request: u32| start + Duration::from_millis(200) * request;
        let mut sent = 0;
        for request in 0..5 * 300 {
            if breaker.hold(at(request)).is_none() {
                breaker.refused(at(request));
                sent += 1;
            }
        }
        assert_eq!(sent, REFUSED);
        let hold = breaker.hold(at(5 * 300)).expect("still open");
        assert!(hold.after > Duration::from_mins(5) && hold.after < Duration::from_mins(6), "{hold:?}");
        assert_eq!(breaker.hold(at(5 * 300) + hold.after), None);
    }

    #[test]
    fn acknowledgements_go_on_for_longer_but_not_for_ever() {
        let mut breaker = Breaker::default();
        let now = SystemClock.instant();
        for _ in 0..REFUSED {
            breaker.refused(now);
        }
        assert!(breaker.hold(now).is_some() && !breaker.holds_acks(now));
        for _ in REFUSED..REFUSED_ACKS {
            breaker.refused(now);
        }
        assert!(breaker.holds_acks(now) && !breaker.holds_acks(now + REFUSED_WINDOW));
    }

    #[test]
    fn pages_pause_for_a_minute_and_then_longer() {
        let mut breaker = Breaker::default();
        let mut now = SystemClock.instant();
        for expected in [60, 120, 240, 480, 960, 1920, 3600, 3600] {
            assert_eq!(breaker.page(now, None).as_secs(), expected);
            assert_eq!(breaker.page(now, None).as_secs(), expected, "answers still on their way add nothing");
            breaker.well(now);
            assert!(breaker.hold(now + Duration::from_secs(expected - 1)).is_some());
            now += Duration::from_secs(expected);
            assert_eq!(breaker.hold(now), None);
        }
        breaker.well(now);
        assert_eq!(breaker.page(now, Some(Duration::from_secs(90))).as_secs(), 90);
    }
}
