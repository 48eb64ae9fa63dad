//! What the server saw: requests, carelessness, counts.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::discord::{id::Id, route::Route};

/// One request the server saw.
#[derive(Clone, Debug, Serialize)]
pub struct Request {
    /// Counts up from 1.
    pub number: u64,
    /// When it arrived, since the Unix epoch.
    pub at: Duration,
    /// The endpoint.
    pub route: Route,
    /// The endpoint's path as the published specification writes it.
    pub template: &'static str,
    /// The channel in the path.
    pub channel: Option<Id>,
    /// The HTTP method.
    pub method: String,
    /// The path as it came, without the query.
    pub path: String,
    /// The query, without the question mark.
    pub query: Option<String>,
    /// The headers, lower case; the value of `authorization` is replaced by `***`.
    pub headers: Vec<(String, String)>,
    /// The body as it came.
    pub body: String,
    /// The answer's status; `None` while there is none (hanging, cut).
    pub status: Option<u16>,
    /// The answer's body.
    pub answer: Option<String>,
}

/// Something the platform lets pass but a careful client does not do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The number of the request, 0 for the gateway.
    pub request: u64,
    /// What was wrong, with the place.
    pub what: String,
}

/// Counters since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// REST requests.
    pub requests: u64,
    /// Gateway connections that were accepted.
    pub gateway_connections: u64,
    /// Gateway connections that were turned away.
    pub gateway_refused: u64,
    /// IDENTIFYs with a good token.
    pub identifies: u64,
    /// RESUMEs, successful or not.
    pub resumes: u64,
    /// Heartbeats received.
    pub heartbeats: u64,
    /// Gateway sessions connected now and READY.
    pub ready: usize,
    /// Answers 401, 403 and 429 (not shared) of the last ten minutes.
    pub invalid_requests: usize,
}

impl Request {
    /// The body as JSON.
    #[must_use]
    pub fn json(&self) -> Option<Value> {
        serde_json::from_str(&self.body).ok()
    }

    /// A header's value; the name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}
