//! One request: a deadline, a cap on what is read, and errors that hold neither address nor token.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use reqwest::Method;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use url::Url;

use super::credential::Secret;
use super::pace::RateLimit;

/// Why a source cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// The address has no path to add to.
    #[error("the source's `url` is no web address; write one such as https://api.example.com")]
    Address,
    /// A header cannot be sent.
    #[error(
        "the source's header {0:?} cannot be sent; use letters, digits and - in its name and visible ASCII in its value"
    )]
    Header(String),
}

/// One request. Its body may hold a password, hence no `Debug`.
pub(super) struct Call<'a> {
    /// Its method.
    pub(super) method: Method,
    /// Its path below the source's address, by segment, not encoded.
    pub(super) path: &'a [&'a str],
    /// Its JSON.
    pub(super) body: Option<Vec<u8>>,
    /// How long it may take, to the last byte of the reply.
    pub(super) within: Duration,
    /// The most that is read of the reply, in bytes.
    pub(super) most: usize,
}

/// One reply. Its body may hold a token, hence no `Debug`.
#[derive(Default)]
pub(super) struct Reply {
    /// Its status.
    pub(super) status: u16,
    /// Its bytes. Empty when they could not be read and the status is none of success.
    pub(super) body: Vec<u8>,
    /// What its headers say about the pace.
    pub(super) rate_limit: RateLimit,
    /// `set-auth-token`, where Better Auth puts a session.
    pub(super) auth_token: Option<String>,
}

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The request never left.
    NotSent {
        /// What happened.
        why: String,
    },
    /// The request may have arrived.
    Lost {
        /// What happened.
        why: String,
    },
    /// A conversation's id that no path can hold.
    NoSuchPath,
}

/// Sends requests to one source.
pub(super) struct Transport {
    http: reqwest::Client,
    base: Url,
    headers: HeaderMap,
}

impl Transport {
    /// Prepares the address and the headers of every request.
    ///
    /// # Errors
    /// When one of them cannot be used.
    pub(super) fn new(http: reqwest::Client, mut base: Url, headers: &[(String, Secret)]) -> Result<Self, Unusable> {
        base.set_query(None);
        base.set_fragment(None);
        if !matches!(base.scheme(), "http" | "https") || base.cannot_be_a_base() {
            return Err(Unusable::Address);
        }
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let unusable = || Unusable::Header(name.clone());
            let mut value = HeaderValue::from_str(value.expose()).map_err(|_| unusable())?;
            value.set_sensitive(true);
            map.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| unusable())?, value);
        }
        map.insert(ACCEPT, HeaderValue::from_static("application/json"));
        Ok(Self { http, base, headers: map })
    }

    /// Sends one request and reads its reply.
    ///
    /// # Errors
    /// See [`Trouble`].
    pub(super) async fn send(&self, call: &Call<'_>, bearer: Option<&str>) -> Result<Reply, Trouble> {
        let mut headers = self.headers.clone();
        if let Some(token) = bearer {
            let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| Trouble::NotSent {
                why: "the account's token has a character that no header can carry; put in a new one".to_owned(),
            })?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let mut request = self.http.request(call.method.clone(), self.url(call.path)?).timeout(call.within);
        if let Some(body) = &call.body {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            request = request.body(body.clone());
        }
        // `headers` replaces what `header` would only add to.
        let mut response = request.headers(headers).send().await.map_err(|error| trouble(&error, call.within))?;
        let mut reply = Reply {
            status: response.status().as_u16(),
            body: Vec::new(),
            rate_limit: RateLimit::read(response.headers()),
            auth_token: response.headers().get("set-auth-token").and_then(|v| v.to_str().ok()).map(str::to_owned),
        };
        match read(&mut response, call).await {
            Ok(body) => reply.body = body,
            // A refusal's status says enough; only a success must be whole.
            Err(_) if !response.status().is_success() => {}
            Err(trouble) => return Err(trouble),
        }
        Ok(reply)
    }

    fn url(&self, path: &[&str]) -> Result<Url, Trouble> {
        // Dots would climb, and an empty segment would name another route.
        if path.iter().any(|segment| matches!(*segment, "" | "." | "..")) {
            return Err(Trouble::NoSuchPath);
        }
        let mut url = self.base.clone();
        url.path_segments_mut().map_err(|()| Trouble::NoSuchPath)?.pop_if_empty().extend(path);
        Ok(url)
    }
}

async fn read(response: &mut reqwest::Response, call: &Call<'_>) -> Result<Vec<u8>, Trouble> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| cut_short(&error, call.within))? {
        if body.len().saturating_add(chunk.len()) > call.most {
            return Err(Trouble::Lost { why: format!("the reply is larger than {} MiB", call.most >> 20) });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn trouble(error: &reqwest::Error, within: Duration) -> Trouble {
    if error.is_connect() || error.is_builder() {
        let what = if error.is_timeout() { "it took too long".to_owned() } else { cause(error) };
        return Trouble::NotSent { why: format!("no connection ({what})") };
    }
    cut_short(error, within)
}

fn cut_short(error: &reqwest::Error, within: Duration) -> Trouble {
    if error.is_timeout() {
        return Trouble::Lost { why: format!("no whole reply within {within:?}") };
    }
    Trouble::Lost { why: format!("the connection broke ({})", cause(error)) }
}

/// The kind of the innermost I/O error, in words that cannot hold an address.
fn cause(error: &reqwest::Error) -> String {
    let mut inner = error.source();
    let mut found = None;
    while let Some(error) = inner {
        found = error.downcast_ref::<io::Error>().map(|io| io.kind().to_string()).or(found);
        inner = error.source();
    }
    found.unwrap_or_else(|| "protocol error".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transport(base: &str) -> Result<Transport, Unusable> {
        Transport::new(crate::http::client().unwrap(), base.parse().unwrap(), &[])
    }

    #[test]
    fn a_segment_stays_one_segment() {
        let cases = [
            ("https://a.example", "6b1f", "https://a.example/gpt/6b1f"),
            ("https://a.example/", "a/b?c#d%2e", "https://a.example/gpt/a%2Fb%3Fc%23d%252e"),
            ("https://a.example/api/?q#f", "\u{e9}", "https://a.example/api/gpt/%C3%A9"),
        ];
        for (base, id, url) in cases {
            assert_eq!(transport(base).unwrap().url(&["gpt", id]).unwrap().as_str(), url);
        }
        for id in ["", ".", ".."] {
            assert_eq!(transport("https://a.example").unwrap().url(&["gpt", id, "turn"]), Err(Trouble::NoSuchPath));
        }
    }

    #[test]
    fn what_cannot_be_used_is_refused_without_its_value() {
        assert_eq!(transport("mailto:me@example.com").err(), Some(Unusable::Address));
        let headers = [("x-key".to_owned(), Secret::new("hunter2\n"))];
        let refused =
            Transport::new(crate::http::client().unwrap(), "http://a.example".parse().unwrap(), &headers).err();
        let said = refused.unwrap().to_string();
        assert!(said.contains("x-key") && !said.contains("hunter2"), "{said}");
    }
}
