//! The rate limiter: a fixed window per key, with the headers a client can pace itself by.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::json;

use super::reply::Reply;

/// How many requests a key may make per window. A host's defaults are 600 (`api`) and 20 (`auth`) per 15 min.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Requests per window.
    pub requests: u32,
    /// The window, at least one second.
    pub window: Duration,
}

impl Limit {
    /// The default of the bucket `api`: 600 per 15 min and user.
    pub const API: Self = Self { requests: 600, window: Duration::from_mins(15) };
    /// The default of the bucket `auth`: 20 per 15 min and address.
    pub const AUTH: Self = Self { requests: 20, window: Duration::from_mins(15) };
}

/// The windows that are open.
#[derive(Debug, Default)]
pub(super) struct Buckets {
    windows: HashMap<String, (Duration, u32)>,
}

/// Where a key stands after one more request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Standing {
    limit: Limit,
    remaining: u32,
    reset: u64,
    refused: bool,
}

impl Buckets {
    /// Counts one request.
    pub(super) fn count(&mut self, key: &str, limit: Limit, now: Duration) -> Standing {
        if !self.windows.contains_key(key) {
            self.windows.insert(key.to_owned(), (now, 0));
        }
        let mut fresh = (now, 0);
        let window = self.windows.get_mut(key).unwrap_or(&mut fresh);
        if now.saturating_sub(window.0) >= limit.window {
            *window = (now, 0);
        }
        window.1 = window.1.saturating_add(1);
        let left = (window.0 + limit.window).saturating_sub(now);
        Standing {
            limit,
            remaining: limit.requests.saturating_sub(window.1),
            reset: left.as_secs() + u64::from(left.subsec_nanos() > 0),
            refused: window.1 > limit.requests,
        }
    }

    /// Forgets every window.
    pub(super) fn clear(&mut self) {
        self.windows.clear();
    }
}

impl Standing {
    /// The 429 of a key that is over its limit.
    pub(super) fn refusal(&self) -> Option<Reply> {
        self.refused.then(|| {
            let body = json!({"status": 429, "title": "Too many requests", "code": "rate-limit-exceeded"});
            Reply::bare(429, body).with("Retry-After", self.reset.to_string())
        })
    }

    /// The headers that every limited reply carries.
    pub(super) fn headers(&self) -> [(&'static str, String); 2] {
        [
            ("RateLimit", format!("limit={}, remaining={}, reset={}", self.limit.requests, self.remaining, self.reset)),
            ("RateLimit-Policy", format!("{};w={}", self.limit.requests, self.limit.window.as_secs())),
        ]
    }
}
