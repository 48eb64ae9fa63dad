//! Failures that a test orders in advance: what goes wrong, where, and how often.

use std::time::Duration;

use serde_json::json;

use super::{
    id::Id,
    route::{Route, Target},
};

/// What happens to a request instead of, or beside, its normal handling.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Answered with this, without any effect.
    Answer(Canned),
    /// Takes effect, and is then answered with this.
    AnswerAfter(Canned),
    /// Handled normally after a wait.
    Delay(Duration),
    /// Takes effect at once, but the answer waits.
    DelayAnswer(Duration),
    /// Read and never answered, without any effect.
    Hang,
    /// The connection is cut without any effect.
    DropBefore,
    /// Takes effect; the connection is cut instead of an answer.
    DropAfter,
}

/// An answer written word for word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canned {
    /// The HTTP status.
    pub status: u16,
    /// Headers beside the length.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

/// Which requests a fault is for; an absent part matches all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Where {
    /// The endpoint.
    pub route: Option<Route>,
    /// The channel in the path; on interaction endpoints the channel the interaction came from.
    pub channel: Option<Id>,
    /// The interaction the request belongs to.
    pub interaction: Option<Id>,
}

/// A fault that still waits for its requests.
#[derive(Debug)]
pub(super) struct Scripted {
    at: Where,
    left: u32,
    fault: Fault,
}

/// The faults of one server, oldest first.
#[derive(Debug, Default)]
pub(super) struct Faults {
    waiting: Vec<Scripted>,
}

impl Fault {
    /// A JSON error as the API writes it.
    #[must_use]
    pub fn error(status: u16, code: u32, message: &str) -> Self {
        Self::Answer(Canned::json(status, &json!({ "message": message, "code": code })))
    }

    /// A 429 with its body and headers; `scope` is `user`, `shared` or `global`.
    #[must_use]
    pub fn rate_limited(retry_after: Duration, scope: &str) -> Self {
        let global = scope == "global";
        let mut canned = Canned::json(
            429,
            &json!({
                "message": "You are being rate limited.",
                "retry_after": retry_after.as_secs_f64(),
                "global": global,
            }),
        );
        let whole = retry_after.as_secs() + u64::from(retry_after.subsec_nanos() > 0);
        canned.headers.push(("retry-after".to_owned(), whole.to_string()));
        canned.headers.push(("x-ratelimit-scope".to_owned(), scope.to_owned()));
        if global {
            canned.headers.push(("x-ratelimit-global".to_owned(), "true".to_owned()));
        }
        Self::Answer(canned)
    }

    /// The page that stands before the API when an address is banned: 429, HTML, none of the API's headers.
    #[must_use]
    pub fn cloudflare() -> Self {
        Self::Answer(Canned::cloudflare())
    }
}

impl Canned {
    /// A JSON answer.
    #[must_use]
    pub fn json(status: u16, body: &serde_json::Value) -> Self {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        Self { status, headers, body: body.to_string() }
    }

    /// An HTML answer, as proxies before the API give it.
    #[must_use]
    pub fn html(status: u16, body: &str) -> Self {
        let headers = vec![("content-type".to_owned(), "text/html; charset=UTF-8".to_owned())];
        Self { status, headers, body: body.to_owned() }
    }

    pub(super) fn cloudflare() -> Self {
        Self::html(
            429,
            "<!doctype html><html lang=\"en-US\"><head><title>Access denied | discord.com used Cloudflare to restrict \
             access</title></head><body><h1>Error 1015</h1><p>You are being rate limited.</p></body></html>",
        )
    }
}

impl Where {
    /// Every request.
    #[must_use]
    pub fn anywhere() -> Self {
        Self::default()
    }

    /// Requests to one endpoint.
    #[must_use]
    pub fn route(route: Route) -> Self {
        Self { route: Some(route), ..Self::default() }
    }

    /// The same, but only for one channel.
    #[must_use]
    pub fn in_channel(self, channel: Id) -> Self {
        Self { channel: Some(channel), ..self }
    }

    /// The same, but only for one interaction.
    #[must_use]
    pub fn of_interaction(self, interaction: Id) -> Self {
        Self { interaction: Some(interaction), ..self }
    }

    fn matches(self, target: &Target) -> bool {
        self.route.is_none_or(|route| route == target.route)
            && self.channel.is_none_or(|channel| Some(channel) == target.channel)
            && self.interaction.is_none_or(|interaction| Some(interaction) == target.interaction)
    }
}

impl Faults {
    pub(super) fn add(&mut self, at: Where, times: u32, fault: Fault) {
        self.waiting.push(Scripted { at, left: times, fault });
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// The fault for this request, if one waits; it is used up once.
    pub(super) fn take(&mut self, target: &Target) -> Option<Fault> {
        let place = self.waiting.iter().position(|scripted| scripted.at.matches(target))?;
        let scripted = self.waiting.get_mut(place)?;
        let fault = scripted.fault.clone();
        scripted.left = scripted.left.saturating_sub(1);
        if scripted.left == 0 {
            self.waiting.remove(place);
        }
        Some(fault)
    }
}
