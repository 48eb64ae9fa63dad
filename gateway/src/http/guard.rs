//! What every page and POST is protected by: whose request it is, how many there may be, and that it comes from our own page.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, header};
use config::Network;

/// How many each of many may do: so many at once, then one every so often.
///
/// At most `most` keys are known at a time. One that is known keeps its place until its time is over; while all places are
/// taken new ones are refused, so that a flood of strangers costs neither memory nor anybody's limit.
#[derive(Debug)]
pub struct Limit<K> {
    at_once: u32,
    every: Duration,
    most: usize,
    /// When each key will have nothing to make up for any more.
    free_at: Mutex<HashMap<K, Instant>>,
}

impl<K: Eq + Hash> Limit<K> {
    /// A limit that nobody has used.
    #[must_use]
    pub fn new(at_once: u32, every: Duration, most: usize) -> Self {
        Self { at_once, every, most, free_at: Mutex::default() }
    }

    /// Takes one.
    ///
    /// # Errors
    /// How long to wait.
    pub fn take(&self, key: K, now: Instant) -> Result<(), Duration> {
        let mut all = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= self.most && !all.contains_key(&key) {
            all.retain(|_, free_at| *free_at > now);
            if all.len() >= self.most {
                return Err(self.every);
            }
        }
        let free_at = all.get(&key).copied().unwrap_or(now).max(now);
        let room = self.every.saturating_mul(self.at_once.saturating_sub(1));
        let owed = free_at.saturating_duration_since(now);
        if owed > room {
            return Err(owed.saturating_sub(room));
        }
        all.insert(key, free_at + self.every);
        Ok(())
    }
}

/// Whose request it is: the peer, or whom a trusted proxy names. IPv6 counts by network, because one machine has many.
#[must_use]
pub fn address(peer: SocketAddr, headers: &HeaderMap, trusted: &[Network]) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(address));
    let mut address = peer.ip();
    let named: Vec<&str> = headers
        .get_all("x-forwarded-for")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .collect();
    // From the nearest on: what stands before a proxy that is not ours may be made up.
    for text in named.iter().rev() {
        if !is_trusted(address) {
            break;
        }
        let Ok(next) = text.trim().parse() else { break };
        address = next;
    }
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)),
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// Whether a POST may come from a page of ours: no browser lets another page claim so.
///
/// A browser that is told to send no referrer sends `Origin: null` with our own forms; then only [`proof`] decides.
#[must_use]
pub fn is_own(headers: &HeaderMap, public_url: Option<&url::Url>) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let site = text("sec-fetch-site").is_none_or(|site| site == "same-origin");
    let host = text(header::HOST.as_str()).unwrap_or_default();
    let origin = text(header::ORIGIN.as_str()).is_none_or(|origin| {
        origin == "null"
            || public_url.is_some_and(|url| url.origin().ascii_serialization() == origin)
            || origin.split_once("://").is_some_and(|(_, from)| from == host)
    });
    site && origin
}

/// The value of a cookie.
#[must_use]
pub fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|value| value.split(';')).find_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
}

/// What a form carries to show that it was drawn for the browser with this cookie, and for this page.
#[must_use]
pub fn proof(cookie: &str, page: &str) -> String {
    crate::link::digest(&format!("form\n{cookie}\n{page}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "any moment will do")]
    fn now() -> Instant {
        Instant::now()
    }

    #[test]
    fn a_limit_lets_some_through_and_then_one_at_a_time() {
        let (limit, now) = (Limit::new(2, Duration::from_secs(10), 10), now());
        assert_eq!([limit.take(1, now), limit.take(1, now)], [Ok(()), Ok(())]);
        assert_eq!(limit.take(1, now), Err(Duration::from_secs(10)));
        assert_eq!(limit.take(2, now), Ok(()));
        assert_eq!(limit.take(1, now + Duration::from_secs(10)), Ok(()));
    }

    #[test]
    fn a_million_strangers_cost_bounded_memory_and_nobody_elses_limit() {
        let (limit, now) = (Limit::new(1, Duration::from_secs(10), 100), now());
        assert_eq!(limit.take(0, now), Ok(()));
        let through = (1..1_000_000).filter(|key| limit.take(*key, now).is_ok()).count();
        assert_eq!((through, limit.free_at.lock().unwrap().len()), (99, 100));
        assert!(limit.take(0, now).is_err(), "a known key is not forgotten for them");
        assert_eq!(limit.take(5_000_000, now + Duration::from_secs(11)), Ok(()));
    }

    #[test]
    fn only_trusted_proxies_name_addresses() {
        let trusted = ["10.0.0.0/8".parse().unwrap()];
        let mut headers = HeaderMap::new();
        headers.insert("x-forwarded-for", "1.1.1.1, 203.0.113.9, 10.0.0.2".parse().unwrap());
        let of = |peer: &str| address(peer.parse().unwrap(), &headers, &trusted).to_string();
        assert_eq!(of("10.0.0.1:1"), "203.0.113.9");
        assert_eq!(of("198.51.100.1:1"), "198.51.100.1");
        assert_eq!(of("[2001:db8::1:2]:1"), "2001:db8::");
    }

    #[test]
    fn other_pages_are_refused() {
        let url = "https://ask.example.com/x".parse().unwrap();
        let own = |pairs: &[(&'static str, &str)]| {
            let headers = pairs.iter().map(|(name, value)| {
                (header::HeaderName::from_static(name), header::HeaderValue::from_str(value).unwrap())
            });
            is_own(&headers.collect(), Some(&url))
        };
        assert!(own(&[("origin", "https://ask.example.com")]));
        assert!(own(&[("origin", "null"), ("sec-fetch-site", "same-origin")]));
        assert!(!own(&[("origin", "https://evil.example"), ("host", "ask.example.com")]));
        assert!(!own(&[("origin", "null"), ("sec-fetch-site", "cross-site")]));
        assert!(!own(&[("sec-fetch-site", "none")]));
    }
}
