use proptest::prelude::*;
use reqwest::header::{HeaderName, HeaderValue};

use super::*;
use crate::clock::{Clock as _, SystemClock};

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let pair =
        |(name, value): &(&'static str, &str)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
    pairs.iter().map(pair).collect()
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn every_form_of_the_headers_is_read() {
    let all = RateLimit { retry_after: None, limit: Some(8), remaining: Some(0), reset: Some(secs(60)) };
    let cases: [&[(&'static str, &str)]; 4] = [
        &[("ratelimit", "limit=8, remaining=0, reset=60"), ("ratelimit-policy", "8;w=60")],
        &[("ratelimit", "\"default\";r=0;t=60"), ("ratelimit-policy", "\"default\";q=8;w=60")],
        &[("ratelimit-limit", "8"), ("ratelimit-remaining", "0"), ("ratelimit-reset", "60")],
        &[("ratelimit", "remaining=0, reset=60"), ("ratelimit-policy", "8;w=60")],
    ];
    for pairs in cases {
        assert_eq!(RateLimit::read(&headers(pairs)), all, "{pairs:?}");
    }
    let nothing = headers(&[("ratelimit", "soon"), ("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")]);
    assert_eq!(RateLimit::read(&nothing), RateLimit::default());
}

#[test]
fn a_429_names_its_wait_or_gets_ours() {
    let cases: [(&[(&'static str, &str)], u64); 6] = [
        (&[("retry-after", "60"), ("ratelimit", "limit=8, remaining=0, reset=7")], 60),
        (&[("ratelimit", "limit=8, remaining=0, reset=7")], 7),
        (&[("x-retry-after", "4")], 4),
        (&[], 10),
        (&[("retry-after", "0")], 1),
        (&[("retry-after", "99999999999")], 3600),
    ];
    for (pairs, after) in cases {
        assert_eq!(RateLimit::read(&headers(pairs)).after(), secs(after), "{pairs:?}");
    }
}

#[test]
fn polls_slow_down_and_stop_while_answers_pass_until_nothing_is_left() {
    let now = SystemClock.instant();
    let cases = [
        (Some(600), 599, 900, None, None),
        (Some(600), 301, 450, None, None),
        (Some(600), 300, 480, Some(2), None),
        (Some(600), 60, 100, Some(100), None),
        (Some(8), 4, 60, Some(30), None),
        (Some(8), 0, 60, Some(60), Some(60)),
        (None, 21, 60, None, None),
        (None, 12, 60, Some(6), None),
    ];
    for (limit, remaining, reset, wait, closed) in cases {
        let mut gate = Gate::default();
        let said = RateLimit { retry_after: None, limit, remaining: Some(remaining), reset: Some(secs(reset)) };
        gate.heard(200, &said, now);
        let case = (limit, remaining, reset);
        assert_eq!((gate.wait(now), gate.closed(now)), (wait.map(secs), closed.map(secs)), "{case:?}");
        assert_eq!(gate.wait(now + secs(reset)), None, "{case:?}");
    }
}

#[test]
fn an_older_reply_does_not_open_what_a_429_closed() {
    let now = SystemClock.instant();
    let mut gate = Gate::default();
    gate.heard(429, &RateLimit { retry_after: Some(secs(60)), ..RateLimit::default() }, now);
    gate.heard(200, &RateLimit { remaining: Some(500), limit: Some(600), ..RateLimit::default() }, now + secs(1));
    assert_eq!(gate.closed(now + secs(1)), Some(secs(59)));
    gate.heard(200, &RateLimit::default(), now + secs(2));
    assert_eq!(gate.closed(now + secs(61)), None);
}

#[test]
fn a_503_that_names_a_wait_is_obeyed_by_polls() {
    let now = SystemClock.instant();
    let mut gate = Gate::default();
    gate.heard(503, &RateLimit { retry_after: Some(secs(5)), ..RateLimit::default() }, now);
    assert_eq!((gate.wait(now), gate.closed(now)), (Some(secs(5)), None));
}

proptest! {
    #[test]
    fn any_header_is_survived(limit in ".{0,40}", retry in "[ -~]{0,20}", status in 100u16..600) {
        let mut map = HeaderMap::new();
        for (name, value) in [("ratelimit", &limit), ("ratelimit-policy", &limit), ("retry-after", &retry)] {
            if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
                map.insert(name, value);
            }
        }
        let now = SystemClock.instant();
        let mut gate = Gate::default();
        gate.heard(status, &RateLimit::read(&map), now);
        prop_assert!(gate.wait(now).unwrap_or_default() <= LONGEST_WAIT);
    }
}
