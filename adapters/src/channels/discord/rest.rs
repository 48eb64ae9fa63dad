//! The few REST calls, through one small client of our own.
//!
//! Why not serenity's client: with its rate limiter on it ignores the address it was given (`proxy`) and talks to the real
//! Discord; with the limiter off it drops `retry_after` and the headers of a 429. It has no time-outs, and its errors hold
//! the address, which contains the interaction's token. The bodies are serenity's builders' all the same, and everything
//! else in this channel knows only the trait [`Rest`], behind which another library could stand.
//!
//! Every request here may be repeated: messages carry an enforced nonce, edits and the rest are idempotent. So a request
//! without an answer is tried again within its deadline. Acknowledgements stand outside the queue and the limits.

use std::fmt::{self, Debug};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, USER_AGENT};
use serde_json::Value;
use url::Url;

use super::breaker::{Breaker, Hold};
use super::failure::{Refusal, Trouble};
use super::jitter::Jitter;
use super::limits::TRY;
use super::pace::{Pace, Permit, Window};
use super::route::Route;
use crate::clock::SharedClock;

/// Discord blocks clients that do not name themselves in this form.
const AGENT: &str = concat!("DiscordBot (https://askgate.example, ", env!("CARGO_PKG_VERSION"), ")");
/// The most of an answer that is read, in bytes.
const MOST_BODY: usize = 1 << 20;
/// For how long a refused token is not tried again.
const UNAUTHORISED: Duration = Duration::from_secs(5);
/// How long one try of an acknowledgement may take, so that there is time for a second.
const ACK_TRY: Duration = Duration::from_millis(1_200);

/// Discord's REST API, as far as this channel needs it.
#[async_trait]
pub(super) trait Rest: Debug + Send + Sync {
    /// Makes one call and gives its answer; `Null` where the answer is empty.
    async fn call(&self, call: Call) -> Result<Value, Trouble>;

    /// Why nothing may be sent at the moment, if so.
    fn hold(&self) -> Option<Hold>;

    /// Waits until a call to this endpoint would go at once, as far as can be known.
    ///
    /// # Errors
    /// How long it has to wait still, when that is later than the deadline.
    async fn ready(&self, _route: &Route, _deadline: Instant) -> Result<(), Duration> {
        Ok(())
    }
}

/// One call.
#[derive(Debug)]
pub(super) struct Call {
    /// The endpoint.
    pub(super) route: Route,
    /// The JSON body.
    pub(super) body: Option<Value>,
    /// When the answer must be there, second tries included.
    pub(super) deadline: Instant,
}

/// [`Rest`] over HTTP.
pub(super) struct HttpRest {
    http: reqwest::Client,
    base: Url,
    authorization: Option<HeaderValue>,
    clock: SharedClock,
    jitter: Jitter,
    pace: Pace,
    breaker: Mutex<Breaker>,
    unauthorised_until: Mutex<Option<Instant>>,
}

impl HttpRest {
    /// A client of the API at `base`, without its `/api/v10`.
    pub(super) fn new(http: reqwest::Client, base: Url, token: &str, clock: SharedClock, jitter: Jitter) -> Self {
        let authorization = HeaderValue::from_str(&format!("Bot {token}")).ok().map(|mut value| {
            value.set_sensitive(true);
            value
        });
        let pace = Pace::new(clock.clone());
        let (breaker, unauthorised_until) = (Mutex::default(), Mutex::default());
        Self { http, base, authorization, clock, jitter, pace, breaker, unauthorised_until }
    }

    async fn attempt(&self, call: &Call) -> Result<Value, Trouble> {
        let route = &call.route;
        let permit = if route.is_interaction() {
            if lock(&self.breaker).holds_acks(self.clock.instant()) {
                let why = "too many refused requests in ten minutes".to_owned();
                return Err(Trouble::Held { after: Duration::from_mins(1), why });
            }
            None
        } else {
            self.may_send()?;
            let permit = self.pace.permit(route, call.deadline).await?;
            // What came in while it waited counts too.
            self.may_send()?;
            Some(permit)
        };
        let (status, headers, body) = self.send(call).await?;
        self.judge(route, permit.as_ref(), status, &headers, &body)
    }

    fn may_send(&self) -> Result<(), Trouble> {
        let now = self.clock.instant();
        if lock(&self.unauthorised_until).is_some_and(|until| until > now) {
            return Err(Trouble::Unauthorised);
        }
        match lock(&self.breaker).hold(now) {
            Some(Hold { after, why }) => Err(Trouble::Held { after, why: why.to_owned() }),
            None => Ok(()),
        }
    }

    async fn send(&self, call: &Call) -> Result<(u16, HeaderMap, Vec<u8>), Trouble> {
        let route = &call.route;
        let left = call.deadline.saturating_duration_since(self.clock.instant());
        let one_try = if route.is_interaction() { ACK_TRY } else { TRY };
        let mut request = self
            .http
            .request(route.method(), route.url(&self.base))
            .header(USER_AGENT, AGENT)
            .timeout(left.min(one_try).max(Duration::from_millis(50)));
        if !route.is_interaction() {
            let Some(authorization) = &self.authorization else { return Err(Trouble::Unauthorised) };
            request = request.header(AUTHORIZATION, authorization);
        }
        if let Some(body) = &call.body {
            request = request.json(body);
        }
        let mut response = request.send().await.map_err(no_answer)?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| Trouble::Unanswered { why: told(error) })? {
            if body.len() + chunk.len() > MOST_BODY {
                return Err(Trouble::Unanswered { why: "the answer is larger than 1 MiB".to_owned() });
            }
            body.extend_from_slice(&chunk);
        }
        Ok((status, headers, body))
    }

    fn judge(
        &self,
        route: &Route,
        permit: Option<&Permit>,
        status: u16,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Value, Trouble> {
        let now = self.clock.instant();
        if let Some(permit) = permit {
            permit.learn(window(headers));
        }
        if (200..300).contains(&status) {
            lock(&self.breaker).well(now);
            return answer(body);
        }
        if (300..400).contains(&status) {
            return Err(Trouble::Unanswered {
                why: format!("HTTP {status}: something between us and Discord answered"),
            });
        }
        let wait = wait(status, headers, body);
        let refusal = Refusal::read(status, body, wait);
        let from_discord = serde_json::from_slice::<Value>(body).is_ok_and(|json| json.is_object());
        let shared = header(headers, "x-ratelimit-scope") == Some("shared");
        if matches!(status, 401 | 403 | 429) && !shared {
            lock(&self.breaker).refused(now);
        }
        match status {
            429 if !from_discord => return Err(self.page(now, wait, status)),
            403 if !from_discord && body.trim_ascii_start().starts_with(b"<") => {
                return Err(self.page(now, wait, status));
            }
            429 => {
                let wait = wait.unwrap_or(Duration::from_secs(1));
                let global = is_global(headers, body);
                tracing::warn!(route = route.name(), ?wait, global, shared, "Discord asks to slow down");
                match permit {
                    Some(_) if global => self.pace.close(wait),
                    Some(permit) => permit.close(wait),
                    None => {}
                }
                return Err(Trouble::Refused(Refusal { after: Some(wait), ..refusal }));
            }
            401 if !route.is_interaction() => {
                *lock(&self.unauthorised_until) = Some(now + UNAUTHORISED);
                return Err(Trouble::Unauthorised);
            }
            ..500 => lock(&self.breaker).well(now),
            _ => {}
        }
        Err(Trouble::Refused(refusal))
    }

    fn page(&self, now: Instant, asked: Option<Duration>, status: u16) -> Trouble {
        let pause = lock(&self.breaker).page(now, asked);
        tracing::warn!(?pause, status, "a page in place of Discord's answer; the channel pauses");
        Trouble::Held {
            after: pause,
            why: "a page came in place of Discord's answer, as to a banned address".to_owned(),
        }
    }

    /// How long to wait before the next try, if there is to be one.
    fn again(&self, trouble: &Trouble, tries: u32) -> Option<Duration> {
        let soon = || {
            let whole = Duration::from_millis(if tries < 2 { 500 } else { 2_000 });
            self.jitter.between(whole * 3 / 4, whole)
        };
        match trouble {
            Trouble::Refused(Refusal { status: 429, after: Some(after), .. }) => (tries < 4).then_some(*after),
            Trouble::Refused(Refusal { status: 408 | 500.., after, .. }) => {
                (tries < 3).then(|| after.unwrap_or_default().max(soon()))
            }
            Trouble::Unanswered { .. } => (tries < 3).then(soon),
            Trouble::Unsent { .. } => (tries < 2).then(soon),
            Trouble::Refused(_) | Trouble::Held { .. } | Trouble::Unauthorised => None,
        }
    }
}

#[async_trait]
impl Rest for HttpRest {
    async fn call(&self, call: Call) -> Result<Value, Trouble> {
        let mut tries = 1;
        loop {
            let trouble = match self.attempt(&call).await {
                Ok(answer) => return Ok(answer),
                Err(trouble) => trouble,
            };
            let Some(wait) = self.again(&trouble, tries) else { return Err(trouble) };
            if self.clock.instant() + wait >= call.deadline {
                return Err(trouble);
            }
            tracing::debug!(route = call.route.name(), ?trouble, tries, "trying again");
            tokio::time::sleep(wait).await;
            tries += 1;
        }
    }

    fn hold(&self) -> Option<Hold> {
        lock(&self.breaker).hold(self.clock.instant())
    }

    async fn ready(&self, route: &Route, deadline: Instant) -> Result<(), Duration> {
        if let Some(Hold { after, .. }) = self.hold() {
            return Err(after);
        }
        self.pace.ready(route, deadline).await
    }
}

impl Debug for HttpRest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpRest").field("base", &self.base.as_str()).field("pace", &self.pace).finish_non_exhaustive()
    }
}

fn answer(body: &[u8]) -> Result<Value, Trouble> {
    if body.trim_ascii().is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(body).map_err(|_| Trouble::Unanswered { why: "the answer is not JSON".to_owned() })
}

fn no_answer(error: reqwest::Error) -> Trouble {
    if error.is_connect() || error.is_builder() {
        Trouble::Unsent { why: told(error) }
    } else {
        Trouble::Unanswered { why: told(error) }
    }
}

/// What a transport error says, without its address: that may hold an interaction's token.
fn told(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(inner) = source {
        text = inner.to_string();
        source = inner.source();
    }
    format!("Discord could not be reached: {text}")
}

pub(super) fn window(headers: &HeaderMap) -> Option<Window> {
    Some(Window {
        limit: header(headers, "x-ratelimit-limit")?.parse().ok()?,
        left: header(headers, "x-ratelimit-remaining")?.parse().ok()?,
        reset_after: seconds(header(headers, "x-ratelimit-reset-after")?)?,
    })
}

/// How long an answer asks to wait: its body is finer than its headers.
pub(super) fn wait(status: u16, headers: &HeaderMap, body: &[u8]) -> Option<Duration> {
    let json = serde_json::from_slice::<Value>(body).unwrap_or_default();
    let named = json.get("retry_after").and_then(Value::as_f64).filter(|_| status == 429);
    named
        .and_then(duration)
        .or_else(|| header(headers, "retry-after").and_then(seconds))
        .or_else(|| header(headers, "x-ratelimit-reset-after").filter(|_| status == 429).and_then(seconds))
}

pub(super) fn is_global(headers: &HeaderMap, body: &[u8]) -> bool {
    let json = serde_json::from_slice::<Value>(body).unwrap_or_default();
    json.get("global").and_then(Value::as_bool) == Some(true)
        || header(headers, "x-ratelimit-scope") == Some("global")
        || header(headers, "x-ratelimit-global") == Some("true")
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn seconds(text: &str) -> Option<Duration> {
    text.trim().parse().ok().and_then(duration)
}

/// Discord's waits are seconds with a fraction. More than a day is taken for a day.
fn duration(seconds: f64) -> Option<Duration> {
    (seconds >= 0.0).then(|| Duration::try_from_secs_f64(seconds.min(86_400.0)).unwrap_or_default())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn waits_are_read_wherever_they_stand() {
        for (status, pairs, body, expected) in [
            (429, &[("retry-after", "4")][..], r#"{"retry_after": 3.25}"#, Some(3250)),
            (429, &[("retry-after", "4")][..], "<html>", Some(4000)),
            (429, &[("x-ratelimit-reset-after", "0.5")][..], "", Some(500)),
            (503, &[("retry-after", "2")][..], "", Some(2000)),
            (503, &[("x-ratelimit-reset-after", "2")][..], "", None),
            (429, &[("retry-after", "soon")][..], r#"{"retry_after": "x"}"#, None),
            (429, &[][..], r#"{"retry_after": -1}"#, None),
            (429, &[][..], r#"{"retry_after": 1e300}"#, Some(86_400_000)),
        ] {
            let wait = wait(status, &headers(pairs), body.as_bytes());
            assert_eq!(wait.map(|wait| wait.as_millis()), expected, "{status} {pairs:?} {body}");
        }
    }

    #[test]
    fn windows_are_read_or_left_alone() {
        let all = [("x-ratelimit-limit", "5"), ("x-ratelimit-remaining", "4"), ("x-ratelimit-reset-after", "1.5")];
        let expected = Window { limit: 5, left: 4, reset_after: Duration::from_millis(1500) };
        assert_eq!(window(&headers(&all)), Some(expected));
        assert_eq!(window(&headers(&all[..2])), None);
        assert_eq!(window(&headers(&[("x-ratelimit-limit", "five"), all[1], all[2]])), None);
    }
}
