//! When a request may go: Discord's limits as its own answers tell them.
//!
//! One bucket per route and channel, learned from the `X-RateLimit-*` headers (Discord forbids to hard-code them); all of
//! them together stay under the global limit; a 429 closes its bucket, or everything. Waiters of one bucket go in the order
//! in which they came. Until a bucket is known, one request at a time finds out.

use std::collections::HashMap;
use std::fmt::{self, Debug};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use governor::clock::Clock as GovernorClock;
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use tokio::sync::Notify;

use super::failure::Trouble;
use super::limits::{BURST, PER_SECOND};
use super::route::Route;
use crate::clock::SharedClock;

/// Added to what Discord names, against rounding.
const MARGIN: Duration = Duration::from_millis(20);
/// Buckets kept; idle ones go when there are more, and an idle bucket knows nothing worth keeping.
const MOST_BUCKETS: usize = 4096;

/// The limits of one bot.
pub(super) struct Pace {
    clock: SharedClock,
    buckets: Mutex<HashMap<Key, Arc<Lane>>>,
    global: RateLimiter<NotKeyed, InMemoryState, OurClock, NoOpMiddleware<Instant>>,
    closed_until: Mutex<Option<Instant>>,
}

/// What an answer's headers say about its bucket.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Window {
    /// Requests per window.
    pub(super) limit: u32,
    /// Requests left in this one.
    pub(super) left: u32,
    /// When it ends.
    pub(super) reset_after: Duration,
}

/// A place in a bucket, given back when the answer came or will never come.
#[derive(Debug)]
pub(super) struct Permit {
    lane: Arc<Lane>,
    clock: SharedClock,
}

type Key = (&'static str, u64);

#[derive(Debug, Default)]
struct Lane {
    /// Held by the one that waits at the head; a fair lock, so the others queue behind it.
    turn: tokio::sync::Mutex<()>,
    bucket: Mutex<Bucket>,
    landed: Notify,
}

#[derive(Debug, Default)]
struct Bucket {
    limit: Option<u32>,
    left: u32,
    reset: Option<Instant>,
    closed_until: Option<Instant>,
    /// Answers come without headers: there is no limit to keep until a 429 says so.
    unlimited: bool,
    flying: u32,
}

#[derive(Debug, PartialEq)]
enum Turn {
    Go,
    At(Instant),
    AfterAnswer,
}

#[derive(Debug, Clone)]
struct OurClock(SharedClock);

impl GovernorClock for OurClock {
    type Instant = Instant;

    fn now(&self) -> Instant {
        self.0.instant()
    }
}

impl Pace {
    /// Knows nothing yet.
    pub(super) fn new(clock: SharedClock) -> Self {
        let per_second = NonZeroU32::new(PER_SECOND).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::per_second(per_second).allow_burst(NonZeroU32::new(BURST).unwrap_or(NonZeroU32::MIN));
        Self {
            global: RateLimiter::direct_with_clock(quota, OurClock(clock.clone())),
            clock,
            buckets: Mutex::default(),
            closed_until: Mutex::default(),
        }
    }

    /// Waits until a request to this route may go, at most until `deadline`.
    ///
    /// # Errors
    /// [`Trouble::Held`] if its turn comes later than that.
    pub(super) async fn permit(&self, route: &Route, deadline: Instant) -> Result<Permit, Trouble> {
        let lane = self.lane(route);
        let left = deadline.saturating_duration_since(self.clock.instant());
        let Ok(turn) = tokio::time::timeout(left, lane.turn.lock()).await else {
            return Err(held(Duration::from_millis(500), route));
        };
        loop {
            let now = self.clock.instant();
            match self.next(&lane, now) {
                Turn::Go => break,
                Turn::At(at) if at > deadline => return Err(held(at.duration_since(now), route)),
                Turn::At(at) => tokio::time::sleep(at.saturating_duration_since(now)).await,
                Turn::AfterAnswer => {
                    let left = deadline.saturating_duration_since(now);
                    if tokio::time::timeout(left, lane.landed.notified()).await.is_err() {
                        return Err(held(Duration::from_millis(500), route));
                    }
                }
            }
        }
        drop(turn);
        Ok(Permit { lane, clock: self.clock.clone() })
    }

    /// Waits until a request to this route may go, at most until `deadline`, and takes nothing.
    ///
    /// # Errors
    /// How long its turn is away, if it comes later than that.
    pub(super) async fn ready(&self, route: &Route, deadline: Instant) -> Result<(), Duration> {
        let lane = self.lane(route);
        loop {
            let now = self.clock.instant();
            let closed = lock(&self.closed_until).filter(|until| *until > now);
            let turn = closed.map_or_else(|| lock(&lane.bucket).turn(now), Turn::At);
            match turn {
                Turn::At(at) if at > deadline => return Err(at.saturating_duration_since(now)),
                Turn::At(at) => tokio::time::sleep(at.saturating_duration_since(now)).await,
                // What waits for another's answer waits inside its own call.
                Turn::Go | Turn::AfterAnswer => return Ok(()),
            }
        }
    }

    /// Discord said 429 for everything.
    pub(super) fn close(&self, wait: Duration) {
        let until = self.clock.instant() + wait + MARGIN;
        let mut closed = lock(&self.closed_until);
        *closed = Some(closed.map_or(until, |before| before.max(until)));
    }

    fn next(&self, lane: &Lane, now: Instant) -> Turn {
        if let Some(until) = lock(&self.closed_until).filter(|until| *until > now) {
            return Turn::At(until);
        }
        let mut bucket = lock(&lane.bucket);
        match bucket.turn(now) {
            Turn::Go => {}
            later => return later,
        }
        // The bucket is asked first: what waits for its bucket must not use up the others' share.
        if let Err(not_until) = self.global.check() {
            return Turn::At(now + not_until.wait_time_from(now).max(Duration::from_millis(1)));
        }
        bucket.take();
        Turn::Go
    }

    fn lane(&self, route: &Route) -> Arc<Lane> {
        let mut buckets = lock(&self.buckets);
        if buckets.len() >= MOST_BUCKETS {
            let now = self.clock.instant();
            buckets.retain(|_, lane| Arc::strong_count(lane) > 1 || !lock(&lane.bucket).is_idle(now));
        }
        buckets.entry((route.name(), route.major())).or_default().clone()
    }
}

impl Debug for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pace").field("buckets", &lock(&self.buckets).len()).finish_non_exhaustive()
    }
}

impl Permit {
    /// An answer came, with what its headers say; `None` if they say nothing.
    pub(super) fn learn(&self, window: Option<Window>) {
        let mut bucket = lock(&self.lane.bucket);
        match window {
            Some(window) => bucket.learn(window, self.clock.instant()),
            None => bucket.unlimited = bucket.limit.is_none(),
        }
    }

    /// Discord said 429 for this bucket.
    pub(super) fn close(&self, wait: Duration) {
        let until = self.clock.instant() + wait + MARGIN;
        let mut bucket = lock(&self.lane.bucket);
        bucket.closed_until = Some(bucket.closed_until.map_or(until, |before| before.max(until)));
        bucket.unlimited = false;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut bucket = lock(&self.lane.bucket);
        bucket.flying = bucket.flying.saturating_sub(1);
        drop(bucket);
        self.lane.landed.notify_one();
    }
}

impl Bucket {
    fn turn(&mut self, now: Instant) -> Turn {
        if let Some(until) = self.closed_until {
            if until > now {
                return Turn::At(until);
            }
            self.closed_until = None;
        }
        let Some(limit) = self.limit else {
            return if self.unlimited || self.flying == 0 { Turn::Go } else { Turn::AfterAnswer };
        };
        if self.reset.is_none_or(|reset| reset <= now) {
            // A window over: those still under way may fall into the next one.
            self.left = limit.saturating_sub(self.flying);
            self.reset = None;
        }
        match (self.left, self.reset) {
            (1.., _) => Turn::Go,
            (0, Some(reset)) => Turn::At(reset),
            (0, None) => Turn::AfterAnswer,
        }
    }

    fn take(&mut self) {
        self.left = self.left.saturating_sub(1);
        self.flying += 1;
    }

    /// The one that learns is still counted as flying.
    fn learn(&mut self, window: Window, now: Instant) {
        let others = self.flying.saturating_sub(1);
        self.limit = Some(window.limit.max(1));
        self.unlimited = false;
        self.left = window.left.saturating_sub(others);
        self.reset = Some(now + window.reset_after + MARGIN);
    }

    fn is_idle(&self, now: Instant) -> bool {
        self.flying == 0
            && self.reset.is_none_or(|reset| reset <= now)
            && self.closed_until.is_none_or(|until| until <= now)
    }
}

fn held(after: Duration, route: &Route) -> Trouble {
    let why = format!("Discord's rate limit for `{}` is used up", route.name());
    Trouble::Held { after: after.max(Duration::from_millis(250)), why }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
