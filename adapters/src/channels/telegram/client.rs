//! The transport: one JSON POST per call, with a deadline, and errors without the token.
//!
//! The library's own client is not used: it sleeps ten seconds inside a call on any 5xx, compares whole error texts that
//! the servers have changed since, and hides `retry_after` from its caller.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::header::RETRY_AFTER;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

/// The most of an answer that is read. A hundred updates with long texts stay far below it.
const ANSWER_BYTES: usize = 32 << 20;
/// The most of a server's words that is passed on, in characters.
const WORDS: usize = 300;

/// The longest wait that a server is believed to mean.
const LONGEST_WAIT: Duration = Duration::from_hours(24);

/// A bot's token, which never prints.
#[derive(Clone, PartialEq, Eq)]
pub struct BotToken(String);

impl BotToken {
    /// Wraps a token as it is written in the configuration.
    #[must_use]
    pub fn new(token: impl Into<String>) -> Self {
        Self(token.into())
    }
}

impl fmt::Debug for BotToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BotToken(..)")
    }
}

/// Why a call did not bring its result. No variant holds an address or a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// There was no connection, so the request never left.
    NotSent {
        /// What the transport said.
        why: String,
    },
    /// The request left, and no whole answer came.
    NoAnswer {
        /// What the transport said.
        why: String,
    },
    /// An answer that is none of the Bot API's, such as a proxy's page.
    Unreadable {
        /// Its HTTP status.
        status: u16,
        /// Its `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// The Bot API said no.
    Refused(Refusal),
}

/// The Bot API's no.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Refusal {
    /// `error_code`, or the HTTP status where it is missing.
    pub(super) code: i64,
    /// `description`, cut to a sensible length.
    pub(super) description: String,
    /// At most a day: `parameters.retry_after`, or the `Retry-After` header.
    pub(super) retry_after: Option<Duration>,
    /// `parameters.migrate_to_chat_id`.
    pub(super) migrate_to: Option<i64>,
}

/// Calls the Bot API.
#[derive(Clone)]
pub(super) struct Client {
    http: reqwest::Client,
    base: String,
    token: BotToken,
    /// Whether something has listened through it.
    listened: Arc<AtomicBool>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("base", &self.base).finish_non_exhaustive()
    }
}

impl Client {
    /// A client for the server at `api_url`.
    #[must_use]
    pub(super) fn new(http: reqwest::Client, api_url: &Url, token: BotToken) -> Self {
        Self { http, base: api_url.as_str().trim_end_matches('/').to_owned(), token, listened: Arc::default() }
    }

    /// A client for one listener. Every listener after the first gets connections of its own, since the one before may have
    /// ended because those that were there did not work.
    #[must_use]
    pub(super) fn for_listening(&self) -> Self {
        let mut own = self.clone();
        if self.listened.swap(true, Ordering::Relaxed)
            && let Ok(http) = crate::http::client()
        {
            own.http = http;
        }
        own
    }

    /// Calls `method` and reads its result, within a deadline.
    ///
    /// # Errors
    /// See [`Trouble`].
    pub(super) async fn call<B, T>(&self, method: &str, body: &B, within: Duration) -> Result<T, Trouble>
    where
        B: Serialize + Sync + ?Sized,
        T: DeserializeOwned,
    {
        let url = format!("{}/bot{}/{method}", self.base, self.token.0);
        let request = self.http.post(url).json(body).timeout(within);
        let mut answer = request.send().await.map_err(|error| self.transport(error))?;
        let status = answer.status().as_u16();
        let retry_after = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let retry_after = retry_after.and_then(wait);
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| self.cut_short(error))? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > ANSWER_BYTES {
                return Err(Trouble::Unreadable { status, retry_after });
            }
        }
        self.read(status, retry_after, &bytes)
    }

    /// Reads an answer's envelope.
    ///
    /// # Errors
    /// [`Trouble::Refused`] if the Bot API said no, [`Trouble::Unreadable`] if it is none of its answers.
    pub(super) fn read<T: DeserializeOwned>(
        &self,
        status: u16,
        retry_after: Option<Duration>,
        bytes: &[u8],
    ) -> Result<T, Trouble> {
        let unreadable = || Trouble::Unreadable { status, retry_after };
        let mut envelope: Value = serde_json::from_slice(bytes).map_err(|_| unreadable())?;
        match envelope.get("ok").and_then(Value::as_bool) {
            Some(true) => {
                let result = envelope.get_mut("result").map_or(Value::Null, Value::take);
                serde_json::from_value(result).map_err(|_| unreadable())
            }
            Some(false) => Err(Trouble::Refused(self.refusal(&envelope, status, retry_after))),
            None => Err(unreadable()),
        }
    }

    fn refusal(&self, envelope: &Value, status: u16, retry_after: Option<Duration>) -> Refusal {
        let number = |path: &str| envelope.pointer(path).and_then(Value::as_i64);
        let said = envelope.get("description").and_then(Value::as_str).unwrap_or_default();
        let seconds = envelope.pointer("/parameters/retry_after").and_then(Value::as_f64);
        Refusal {
            code: number("/error_code").unwrap_or_else(|| i64::from(status)),
            description: self.scrub(said),
            retry_after: seconds.and_then(wait).or(retry_after),
            migrate_to: number("/parameters/migrate_to_chat_id"),
        }
    }

    fn transport(&self, error: reqwest::Error) -> Trouble {
        if error.is_connect() || error.is_builder() {
            Trouble::NotSent { why: self.words(error) }
        } else {
            Trouble::NoAnswer { why: self.words(error) }
        }
    }

    fn cut_short(&self, error: reqwest::Error) -> Trouble {
        Trouble::NoAnswer { why: self.words(error) }
    }

    fn words(&self, error: reqwest::Error) -> String {
        let error = error.without_url();
        let mut said = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            said.push_str(": ");
            said.push_str(&inner.to_string());
            cause = inner.source();
        }
        self.scrub(&said)
    }

    /// Takes the token out of words that come from outside, and cuts them to a length for one line of a log.
    fn scrub(&self, said: &str) -> String {
        let clean = if self.token.0.is_empty() { said.to_owned() } else { said.replace(&self.token.0, "<token>") };
        clean.chars().map(|c| if c.is_control() { ' ' } else { c }).take(WORDS).collect()
    }
}

/// Seconds from outside, with a fraction or without, as a wait that can be added to any instant.
fn wait(seconds: f64) -> Option<Duration> {
    (seconds >= 0.0).then(|| Duration::try_from_secs_f64(seconds).map_or(LONGEST_WAIT, |wait| wait.min(LONGEST_WAIT)))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use serde_json::json;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    /// A server that does the same with every connection.
    async fn serve<F>(talk: impl Fn(TcpStream) -> F + Send + 'static) -> Url
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(talk(stream));
            }
        });
        url
    }

    fn client(url: &Url) -> Client {
        Client::new(crate::http::client().unwrap(), url, BotToken::new("1:s3cret"))
    }

    async fn ask(client: &Client, within: Duration) -> Result<Value, Trouble> {
        client.call("GetMe", &json!({}), within).await
    }

    #[tokio::test]
    async fn an_answer_that_comes_byte_by_byte_ends_at_the_deadline() {
        let url = serve(|mut stream| async move {
            let _read = stream.read(&mut [0; 4096]).await;
            let _sent = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{").await;
            while stream.write_all(b" ").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
        let client = client(&url);
        let asked = ask(&client, Duration::from_millis(300));
        let answer = tokio::time::timeout(Duration::from_secs(5), asked).await.expect("it has an end");
        assert!(matches!(&answer, Err(Trouble::NoAnswer { why }) if !why.contains("s3cret")), "{answer:?}");
    }

    #[tokio::test]
    async fn a_listener_that_is_begun_anew_has_connections_of_its_own() {
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        let url = serve(move |mut stream| {
            count.fetch_add(1, Ordering::SeqCst);
            async move {
                while stream.read(&mut [0; 4096]).await.is_ok_and(|length| length > 0) {
                    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 23\r\n\r\n{\"ok\":true,\"result\":{}}";
                    let _sent = stream.write_all(answer).await;
                }
            }
        })
        .await;
        let client = client(&url);
        let mut opened = Vec::new();
        for own in [&client, &client.for_listening(), &client, &client.for_listening(), &client] {
            ask(own, Duration::from_secs(5)).await.unwrap();
            opened.push(connections.load(Ordering::SeqCst));
        }
        assert_eq!(opened, [1, 1, 1, 2, 2]);
    }

    #[test]
    fn waits_are_believed_up_to_a_day() {
        let (day, none) = (Some(LONGEST_WAIT), None);
        for (seconds, expected) in [
            (0.0, Some(Duration::ZERO)),
            (1.25, Some(Duration::from_millis(1_250))),
            (56.0, Some(Duration::from_secs(56))),
            (1e300, day),
            (f64::INFINITY, day),
            (-1.0, none),
            (f64::NAN, none),
        ] {
            assert_eq!(wait(seconds), expected, "{seconds}");
        }
    }
}
