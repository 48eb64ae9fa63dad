//! What the rate-limit headers ask for: slower while little is left, nothing while nothing is.

use std::time::{Duration, Instant};

use reqwest::header::HeaderMap;

/// The wait after a 429 that names none.
const DEFAULT_WAIT: Duration = Duration::from_secs(10);
/// The longest wait that is believed. Terreno's window is 15 minutes by default.
const LONGEST_WAIT: Duration = Duration::from_hours(1);
/// The shortest wait after a 429: zero would mean a loop.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);
/// Requests that polling leaves over, at least, so that an answer still gets through before the window ends.
const RESERVE: u64 = 2;
/// From how many left over on requests are spread when the limit itself is not told.
const FEW: u64 = 20;

/// The rate-limit headers of one reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RateLimit {
    /// `Retry-After`, in seconds. A date there is not believed, since it needs two clocks to agree.
    retry_after: Option<Duration>,
    /// How many requests a window has.
    limit: Option<u64>,
    /// How many are left.
    remaining: Option<u64>,
    /// When the window ends, from now.
    reset: Option<Duration>,
}

/// When the next request may be sent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Gate {
    /// A poll waits until then; an answer need not.
    spread: Option<Instant>,
    /// Nothing is sent before.
    closed: Option<Instant>,
}

impl RateLimit {
    /// Reads `Retry-After` (Better Auth writes `X-Retry-After`), `RateLimit: limit=8, remaining=0, reset=60` or its later form
    /// `"name";r=0;t=60`, and the earlier `RateLimit-Limit`, `-Remaining` and `-Reset`.
    #[must_use]
    pub(super) fn read(headers: &HeaderMap) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let mut found = Self {
            retry_after: text("retry-after").or_else(|| text("x-retry-after")).and_then(seconds),
            limit: text("ratelimit-limit").and_then(count),
            remaining: text("ratelimit-remaining").and_then(count),
            reset: text("ratelimit-reset").and_then(seconds),
        };
        for part in text("ratelimit").unwrap_or_default().split([',', ';']) {
            let Some((key, value)) = part.split_once('=') else { continue };
            match key.trim() {
                "limit" => found.limit = count(value),
                "remaining" | "r" => found.remaining = count(value),
                "reset" | "t" => found.reset = seconds(value),
                _ => {}
            }
        }
        if found.limit.is_none() {
            found.limit = text("ratelimit-policy").and_then(policy);
        }
        found
    }

    /// How long a 429 means.
    #[must_use]
    pub(super) fn after(&self) -> Duration {
        self.retry_after.or(self.reset).unwrap_or(DEFAULT_WAIT).clamp(SHORTEST_WAIT, LONGEST_WAIT)
    }
}

impl Gate {
    /// Takes in a reply.
    pub(super) fn heard(&mut self, status: u16, said: &RateLimit, now: Instant) {
        if status == 429 {
            self.closed = self.closed.max(Some(now + said.after()));
            return;
        }
        if status == 503
            && let Some(after) = said.retry_after
        {
            self.spread = Some(now + after.min(LONGEST_WAIT));
            return;
        }
        let Some(remaining) = said.remaining else { return };
        let reset = said.reset.unwrap_or(DEFAULT_WAIT).min(LONGEST_WAIT);
        if remaining == 0 {
            self.closed = self.closed.max(Some(now + reset));
        }
        self.spread = spread(said.limit, remaining, reset).map(|wait| now + wait);
    }

    /// How long nothing may be sent.
    #[must_use]
    pub(super) fn closed(&self, now: Instant) -> Option<Duration> {
        left(self.closed, now)
    }

    /// How long a poll waits.
    #[must_use]
    pub(super) fn wait(&self, now: Instant) -> Option<Duration> {
        left(self.closed.max(self.spread), now)
    }
}

/// The wait that makes what is left last until the window ends. Polls keep a tenth of the window for answers.
fn spread(limit: Option<u64>, remaining: u64, reset: Duration) -> Option<Duration> {
    if remaining > limit.map_or(FEW, |limit| limit / 2) {
        return None;
    }
    let reserve = limit.map_or(RESERVE, |limit| (limit / 10).max(RESERVE));
    let usable = u32::try_from(remaining.saturating_sub(reserve)).unwrap_or(u32::MAX);
    Some(reset.checked_div(usable).unwrap_or(reset))
}

fn left(until: Option<Instant>, now: Instant) -> Option<Duration> {
    until.map(|until| until.saturating_duration_since(now)).filter(|wait| !wait.is_zero())
}

fn count(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.trim().parse().ok()?).ok()
}

/// The limit in `8;w=60` or `"name";q=8;w=60`.
fn policy(text: &str) -> Option<u64> {
    let mut parts = text.split([',', ';']);
    count(parts.next()?).or_else(|| parts.find_map(|part| count(part.trim().strip_prefix("q=")?)))
}

#[cfg(test)]
mod tests;
