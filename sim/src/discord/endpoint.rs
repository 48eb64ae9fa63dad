//! Interactions over HTTP: signed, posted once, answered in the response.
//!
//! As on the platform an address is taken only after it answered a PING and refused one with a bad signature, and while it is
//! set the gateway hears of no interaction. Only plain HTTP on this machine is reached.
//!
//! <https://discord.com/developers/docs/interactions/overview#setting-up-an-endpoint>

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use url::Url;

use super::core::Core;
use super::id::Id;
use super::options::Options;
use super::route::{Route, Target};
use super::{Discord, interactions::FIRST_RESPONSE_WITHIN};

/// The most of an answer that is read.
const ANSWER_MAX: u64 = 64 * 1024;

/// Why an address is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The specified interactions endpoint url could not be verified: {0}")]
pub struct NotVerified(String);

impl Discord {
    /// Posts interactions to this address from now on, if it proves itself.
    ///
    /// # Errors
    ///
    /// [`NotVerified`] where a PING is not answered or one with a bad signature is.
    pub async fn set_endpoint(&self, url: &str) -> Result<(), NotVerified> {
        let refuse = |why: String| NotVerified(why);
        let ping = json!({ "id": "1", "type": 1, "version": 1, "token": "ping", "application_id": "1" }).to_string();
        let good = self.signature(&ping);
        let answer = post(url, &ping, &good).await.map_err(|error| refuse(error.to_string()))?;
        if answer.status != 200 || answer.json.get("type") != Some(&json!(1)) || !answer.is_json {
            return Err(refuse(format!("a PING was answered with {}", answer.status)));
        }
        let bad = Signed { signature: "ab".repeat(64), ..good };
        let answer = post(url, &ping, &bad).await.map_err(|error| refuse(error.to_string()))?;
        if answer.status != 401 {
            return Err(refuse(format!("a bad signature was answered with {}", answer.status)));
        }
        self.core.change(|world| world.endpoint = Some(url.to_owned()));
        Ok(())
    }

    /// Tells interactions to the gateway again.
    pub fn remove_endpoint(&self) {
        self.core.change(|world| world.endpoint = None);
    }

    /// The key that signatures are checked with, in hex.
    #[must_use]
    pub fn public_key(&self) -> String {
        self.core.read(|world| public_key(&world.options))
    }

    /// The headers that prove a body now: the signature and the time it covers.
    #[must_use]
    pub fn proof(&self, body: &str) -> [(&'static str, String); 2] {
        self.proof_at(body, self.now())
    }

    /// The headers that prove a body at some other time, since the Unix epoch.
    #[must_use]
    pub fn proof_at(&self, body: &str, at: Duration) -> [(&'static str, String); 2] {
        let Signed { signature, timestamp } = self.core.read(|world| sign(&world.options, body, at));
        [("x-signature-ed25519", signature), ("x-signature-timestamp", timestamp)]
    }

    fn signature(&self, body: &str) -> Signed {
        let now = self.now();
        self.core.read(|world| sign(&world.options, body, now))
    }
}

struct Signed {
    signature: String,
    timestamp: String,
}

struct Answer {
    status: u16,
    is_json: bool,
    json: Value,
}

/// The public half of the signing key, in hex.
pub(super) fn public_key(options: &Options) -> String {
    hex(SigningKey::from_bytes(&options.signing_key).verifying_key().as_bytes())
}

/// Posts whatever is to be posted, until the server stops.
pub(super) async fn post_all(core: Arc<Core>) {
    let mut changes = core.changes.subscribe();
    loop {
        changes.borrow_and_update();
        let (endpoint, due) = if core.read(|world| world.outbox.is_empty()) {
            (None, Vec::new())
        } else {
            core.change(|world| (world.endpoint.clone(), std::mem::take(&mut world.outbox)))
        };
        if let Some(url) = endpoint {
            for (id, event) in due {
                tokio::spawn(post_one(Arc::clone(&core), url.clone(), id, event.to_string()));
            }
        }
        tokio::select! {
            () = core.stop.cancelled() => return,
            woken = changes.changed() => if woken.is_err() { return },
        }
    }
}

async fn post_one(core: Arc<Core>, url: String, id: Id, body: String) {
    let now = core.now();
    let signed = core.read(|world| sign(&world.options, &body, now));
    // Whatever else is answered: the person sees that the interaction failed, and it never comes again.
    let Ok(Ok(answer)) = tokio::time::timeout(FIRST_RESPONSE_WITHIN, post(&url, &body, &signed)).await else { return };
    if answer.status != 200 || !answer.is_json {
        return;
    }
    let now = core.now();
    core.change(|world| {
        let token = world.state.interactions.get(&id).map(|known| known.token.clone());
        let target = Target { interaction: Some(id), token, ..Target::of(Route::Callback) };
        let empty = Map::new();
        if let Err(refusal) = world.respond(&target, answer.json.as_object().unwrap_or(&empty), now) {
            world.violation(format!("the answer to a posted interaction was refused: {}", refusal.body()));
        }
    });
}

fn sign(options: &Options, body: &str, at: Duration) -> Signed {
    let timestamp = at.as_secs().to_string();
    let signature = SigningKey::from_bytes(&options.signing_key).sign(format!("{timestamp}{body}").as_bytes());
    Signed { signature: hex(&signature.to_bytes()), timestamp }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

async fn post(url: &str, body: &str, signed: &Signed) -> io::Result<Answer> {
    let url = Url::parse(url).map_err(io::Error::other)?;
    let host = url.host_str().unwrap_or_default();
    if url.scheme() != "http" || !matches!(host, "127.0.0.1" | "[::1]") {
        return Err(io::Error::other("only plain HTTP on this machine is reached"));
    }
    let port = url.port_or_known_default().unwrap_or(80);
    let mut stream = TcpStream::connect((host.trim_matches(['[', ']']), port)).await?;
    let Signed { signature, timestamp } = signed;
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         User-Agent: Discord-Interactions/1.0\r\nX-Signature-Ed25519: {signature}\r\n\
         X-Signature-Timestamp: {timestamp}\r\nConnection: close\r\n\r\n",
        &url[url::Position::BeforePath..url::Position::AfterQuery],
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(ANSWER_MAX).read_to_end(&mut answer).await?;
    read(&String::from_utf8_lossy(&answer)).ok_or_else(|| io::Error::other("the answer is not HTTP"))
}

fn read(answer: &str) -> Option<Answer> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.1 ")?.split(' ').next()?.trim().parse().ok()?;
    let is_json = head.to_ascii_lowercase().contains("content-type: application/json");
    Some(Answer { status, is_json, json: serde_json::from_str(body).unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_its_status_and_its_json() {
        let answer = read("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"type\":1}").unwrap();
        assert_eq!((answer.status, answer.is_json, answer.json), (200, true, json!({"type": 1})));
        assert_eq!(read("HTTP/1.1 401 Unauthorized\r\n\r\n").unwrap().status, 401);
        assert!(read("").is_none());
    }
}
