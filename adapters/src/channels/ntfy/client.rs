//! One publish: a deadline, a size cap, and errors that hold neither the topic nor the token.

use std::fmt;
use std::time::Duration;

use reqwest::header::RETRY_AFTER;
use url::Url;

use super::failure::{self, Trouble};
use super::render::Publish;
use crate::channel::Failure;

/// How long one request may take.
const WITHIN: Duration = Duration::from_secs(8);
/// The most of an answer that is read, in bytes.
const ANSWER_BYTES: usize = 64 << 10;
/// The longest wait that a server is believed to mean.
const LONGEST_WAIT: Duration = Duration::from_hours(24);

/// Publishes to one server.
pub(super) struct Client {
    http: reqwest::Client,
    root: Url,
    token: Option<String>,
}

impl Client {
    pub(super) fn new(http: reqwest::Client, root: &Url, token: Option<String>) -> Self {
        let mut root = root.clone();
        if !root.path().ends_with('/') {
            let path = format!("{}/", root.path());
            root.set_path(&path);
        }
        Self { http, root, token }
    }

    /// Publishes one message. JSON goes to the root: a topic in an address would stand in every proxy's log.
    ///
    /// # Errors
    /// See [`Failure`].
    pub(super) async fn publish(&self, message: &Publish) -> Result<(), Failure> {
        let mut request = self.http.post(self.root.clone()).json(message).timeout(WITHIN);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        self.answer(request).await.map_err(failure::of_publish)
    }

    /// Looks whether the server is up.
    ///
    /// # Errors
    /// See [`Failure`].
    pub(super) async fn health(&self) -> Result<(), Failure> {
        let address =
            self.root.join("v1/health").map_err(|_| Failure::Refused { why: "the address has no path".into() })?;
        self.answer(self.http.get(address).timeout(WITHIN)).await.map_err(failure::of_health)
    }

    async fn answer(&self, request: reqwest::RequestBuilder) -> Result<(), Trouble> {
        let mut answer = request.send().await.map_err(|error| self.transport(error))?;
        let status = answer.status().as_u16();
        let seconds = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let retry_after = seconds.map(|seconds| Duration::from_secs(seconds).min(LONGEST_WAIT));
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| self.transport(error))? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > ANSWER_BYTES {
                break;
            }
        }
        if (200..300).contains(&status) {
            return Ok(());
        }
        let said: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let code = said.get("code").and_then(serde_json::Value::as_u64).unwrap_or_default();
        let words = said.get("error").and_then(serde_json::Value::as_str).unwrap_or_default();
        Err(Trouble::Refused { status, code, words: self.scrub(words), retry_after })
    }

    fn transport(&self, error: reqwest::Error) -> Trouble {
        let sent = !(error.is_connect() || error.is_builder());
        let why = self.scrub(&error.without_url().to_string());
        if sent { Trouble::NoAnswer { why } } else { Trouble::NotSent { why } }
    }

    /// Takes the token out of words from outside, and cuts them to a line of a log.
    fn scrub(&self, said: &str) -> String {
        let clean = match &self.token {
            Some(token) if !token.is_empty() => said.replace(token, "<token>"),
            _ => said.to_owned(),
        };
        clean.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("root", &self.root.origin().ascii_serialization()).finish_non_exhaustive()
    }
}
