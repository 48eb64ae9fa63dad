//! Rate-limit buckets, the global limit, and the ban that too many invalid requests end in.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use serde_json::json;

use super::{
    fault::Canned,
    options::{Allowance, Limits},
    route::{Route, Target},
};

/// The window in which invalid requests are counted.
const INVALID_WINDOW: Duration = Duration::from_mins(10);

/// The counters behind one server's limits.
#[derive(Debug, Default)]
pub(super) struct Buckets {
    routes: HashMap<(&'static str, String), Bucket>,
    global: Bucket,
    invalid: VecDeque<Duration>,
    banned_until: Option<Duration>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    used: u32,
    reset: Duration,
}

/// What the limits say about one request.
#[derive(Debug)]
pub(super) enum Passage {
    /// It may go on; its answer carries these headers.
    Free(Vec<(String, String)>),
    /// It is answered with this 429.
    Stopped(Canned),
}

impl Buckets {
    /// Counts one request and says whether it may go on.
    pub(super) fn pass(&mut self, limits: &Limits, target: &Target, now: Duration) -> Passage {
        if !limits.enabled {
            return Passage::Free(Vec::new());
        }
        if !target.route.carries_its_token() {
            let allowance = Allowance { requests: limits.global_per_second, window: Duration::from_secs(1) };
            if !self.global.take(allowance, now) {
                return Passage::Stopped(stopped(self.global.reset.saturating_sub(now), "global", Vec::new()));
            }
        }
        let Some((name, key, allowance)) = bucket_of(limits, target) else { return Passage::Free(Vec::new()) };
        let bucket = self.routes.entry((name, key)).or_default();
        let free = bucket.take(allowance, now);
        let headers = bucket.headers(name, allowance, now);
        if free {
            Passage::Free(headers)
        } else {
            Passage::Stopped(stopped(bucket.reset.saturating_sub(now), "user", headers))
        }
    }

    /// Counts the answer towards the ban.
    pub(super) fn answered(&mut self, limits: &Limits, status: u16, shared: bool, now: Duration) {
        if !matches!(status, 401 | 403 | 429) || shared {
            return;
        }
        self.invalid.push_back(now);
        while self.invalid.front().is_some_and(|at| now.saturating_sub(*at) > INVALID_WINDOW) {
            self.invalid.pop_front();
        }
        if self.invalid.len() >= limits.invalid_before_ban as usize && self.banned_until.is_none() {
            self.banned_until = Some(now + INVALID_WINDOW);
        }
    }

    /// Whether the client's address is banned.
    pub(super) fn banned(&mut self, now: Duration) -> bool {
        if self.banned_until.is_some_and(|until| until <= now) {
            self.banned_until = None;
            self.invalid.clear();
        }
        self.banned_until.is_some()
    }

    /// Answers 401, 403 and 429 of the last ten minutes.
    pub(super) fn invalid(&self) -> usize {
        self.invalid.len()
    }
}

impl Bucket {
    fn take(&mut self, allowance: Allowance, now: Duration) -> bool {
        // A reset far ahead comes from a clock that was set back: the window starts anew.
        if self.reset <= now || self.reset > now + allowance.window {
            *self = Self { used: 0, reset: now + allowance.window };
        }
        if self.used >= allowance.requests {
            return false;
        }
        self.used += 1;
        true
    }

    fn headers(self, name: &str, allowance: Allowance, now: Duration) -> Vec<(String, String)> {
        let left = allowance.requests.saturating_sub(self.used);
        [
            ("x-ratelimit-bucket", format!("sim-{name}")),
            ("x-ratelimit-limit", allowance.requests.to_string()),
            ("x-ratelimit-remaining", left.to_string()),
            ("x-ratelimit-reset", format!("{:.3}", self.reset.as_secs_f64())),
            ("x-ratelimit-reset-after", format!("{:.3}", self.reset.saturating_sub(now).as_secs_f64())),
        ]
        .map(|(header, value)| (header.to_owned(), value))
        .into()
    }
}

fn stopped(wait: Duration, scope: &str, headers: Vec<(String, String)>) -> Canned {
    let body = json!({
        "message": "You are being rate limited.",
        "retry_after": wait.as_secs_f64(),
        "global": scope == "global",
    });
    let mut canned = Canned::json(429, &body);
    canned.headers.extend(headers);
    let whole = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    canned.headers.push(("retry-after".to_owned(), whole.to_string()));
    canned.headers.push(("x-ratelimit-scope".to_owned(), scope.to_owned()));
    if scope == "global" {
        canned.headers.push(("x-ratelimit-global".to_owned(), "true".to_owned()));
    }
    canned
}

fn bucket_of(limits: &Limits, target: &Target) -> Option<(&'static str, String, Allowance)> {
    let channel = || target.channel.map(|id| id.to_string()).unwrap_or_default();
    let token = || target.token.clone().unwrap_or_default();
    match target.route {
        Route::CreateMessage => Some(("create", channel(), limits.create)),
        Route::EditMessage => Some(("edit", channel(), limits.edit)),
        Route::DeleteMessage => Some(("delete", channel(), limits.delete)),
        Route::OpenDm => Some(("open-dm", String::new(), limits.open_dm)),
        Route::FollowUp | Route::EditResponse | Route::DeleteResponse | Route::GetResponse => {
            Some(("webhook", token(), limits.webhook))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discord::id::Id;

    fn create_in(channel: u64) -> Target {
        Target { channel: Some(Id::new(channel)), ..Target::of(Route::CreateMessage) }
    }

    #[test]
    fn a_bucket_is_per_channel_and_opens_again_after_its_window() {
        let (limits, mut buckets) = (Limits::platform(), Buckets::default());
        let start = Duration::from_secs(1000);
        for _ in 0..5 {
            assert!(matches!(buckets.pass(&limits, &create_in(1), start), Passage::Free(_)));
        }
        let Passage::Stopped(canned) = buckets.pass(&limits, &create_in(1), start + Duration::from_millis(1500)) else {
            panic!("the sixth in five seconds must be stopped");
        };
        assert_eq!(canned.status, 429);
        assert!(canned.body.contains("\"retry_after\":3.5"), "{}", canned.body);
        assert!(canned.headers.contains(&("retry-after".to_owned(), "4".to_owned())));
        assert!(canned.headers.contains(&("x-ratelimit-scope".to_owned(), "user".to_owned())));
        assert!(matches!(buckets.pass(&limits, &create_in(2), start), Passage::Free(_)));
        assert!(matches!(buckets.pass(&limits, &create_in(1), start + Duration::from_secs(5)), Passage::Free(_)));
    }

    #[test]
    fn the_global_limit_leaves_interactions_alone() {
        let (limits, mut buckets) = (Limits::platform(), Buckets::default());
        let now = Duration::from_secs(1000);
        for _ in 0..50 {
            assert!(matches!(buckets.pass(&limits, &Target::of(Route::Me), now), Passage::Free(_)));
        }
        let Passage::Stopped(canned) = buckets.pass(&limits, &Target::of(Route::Me), now) else {
            panic!("the 51st in a second must be stopped");
        };
        assert!(canned.body.contains("\"global\":true"));
        assert!(matches!(buckets.pass(&limits, &Target::of(Route::Callback), now), Passage::Free(_)));
    }

    #[test]
    fn too_many_invalid_requests_end_in_a_ban_of_ten_minutes() {
        let limits = Limits { invalid_before_ban: 3, ..Limits::platform() };
        let (mut buckets, now) = (Buckets::default(), Duration::from_secs(1000));
        buckets.answered(&limits, 429, true, now);
        buckets.answered(&limits, 401, false, now);
        buckets.answered(&limits, 403, false, now);
        assert!(!buckets.banned(now));
        buckets.answered(&limits, 429, false, now);
        assert!(buckets.banned(now));
        assert!(!buckets.banned(now + INVALID_WINDOW));
    }
}
