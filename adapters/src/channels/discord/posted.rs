//! Interactions that Discord posts: proof of where they come from, and the answer in the response itself.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use asks::place::ChannelKind;
use ed25519_dalek::{Signature, VerifyingKey};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::acks::Acks;
use super::failure::{Trouble, failure};
use super::interaction;
use super::limits::CALL;
use super::listen::Counts;
use super::rest::{Call, Rest};
use super::route::Route;
use crate::channel::{Desk, Failure, Headers, Hearing, Inbound, Outbound};
use crate::clock::SharedClock;

/// How far the time of a request may be from ours, either way, in seconds: an older one may be somebody's recording.
const SKEW: u64 = 300;
/// How often it is looked whether the bot can still talk to Discord.
const LOOK_EVERY: Duration = Duration::from_mins(1);
/// The pauses after a failed look.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// How long a refused token waits for its second try, which decides.
const SECOND_TRY: Duration = Duration::from_secs(6);

const SIGNATURE: &str = "x-signature-ed25519";
const TIMESTAMP: &str = "x-signature-timestamp";

/// Knows which requests are Discord's.
pub(super) struct Proof {
    /// `None` for 32 bytes that are no key: then nothing is believed.
    key: Option<VerifyingKey>,
    hex: String,
}

impl fmt::Debug for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proof").field("key", &self.hex).finish()
    }
}

impl Proof {
    /// A proof by the application's public key.
    #[must_use]
    pub(super) fn new(key: &[u8; 32]) -> Self {
        let key_of = VerifyingKey::from_bytes(key).ok().filter(|key| !key.is_weak());
        Self { key: key_of, hex: hex(key) }
    }

    /// Whether the headers have the form of a signed request, made about now.
    #[must_use]
    pub(super) fn admits(headers: &Headers, now: i64) -> bool {
        signed(headers).is_some_and(|(_, at)| {
            let at = std::str::from_utf8(at).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
            let at = at.and_then(|text| text.parse::<i64>().ok());
            at.is_some_and(|at| at.abs_diff(now.div_euclid(1000)) <= SKEW)
        })
    }

    /// Whether the signature is the application's.
    #[must_use]
    pub(super) fn holds(&self, request: &Inbound) -> bool {
        let (Some(key), Some((signature, at))) = (&self.key, signed(&request.headers)) else { return false };
        let message = [at, request.body.as_slice()].concat();
        key.verify_strict(&message, &Signature::from_bytes(&signature)).is_ok()
    }
}

/// The signature and the time that it covers.
fn signed(headers: &Headers) -> Option<([u8; 64], &[u8])> {
    let text = headers.one(SIGNATURE)?;
    let mut signature = [0; 64];
    if text.len() != 2 * signature.len() {
        return None;
    }
    for (byte, digits) in signature.iter_mut().zip(text.chunks_exact(2)) {
        let digits = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()))?;
        *byte = u8::from_str_radix(digits, 16).ok()?;
    }
    Some((signature, headers.one(TIMESTAMP)?))
}

/// What taking a request needs.
#[derive(Debug)]
pub(super) struct Post<'a> {
    pub(super) proof: &'a Proof,
    pub(super) acks: &'a Arc<Acks>,
    pub(super) desk: Option<Arc<dyn Desk>>,
    pub(super) counts: &'a Counts,
}

impl Post<'_> {
    /// Takes one request. What it answers is what the person sees.
    pub(super) async fn take(self, request: &Inbound) -> Outbound {
        if !self.proof.holds(request) {
            return Outbound::status(401);
        }
        let Ok(data) = serde_json::from_slice::<Value>(&request.body) else { return Outbound::status(400) };
        if data.get("type").and_then(Value::as_u64) == Some(1) {
            return json_answer(&json!({ "type": 1 }));
        }
        let Some(desk) = self.desk else { return Outbound::status(503) };
        let seen = self.counts.seen.fetch_add(1, Ordering::Relaxed) + 1;
        match interaction::read(&data) {
            Ok(interaction) => {
                self.counts.handled.fetch_add(1, Ordering::Relaxed);
                self.acks.answer(desk, interaction).await.map_or(Outbound::status(500), |body| json_answer(&body))
            }
            Err(why) => {
                let handled = self.counts.handled.load(Ordering::Relaxed);
                tracing::warn!(why, seen, handled, "an interaction was not handled");
                Outbound::status(400)
            }
        }
    }
}

fn json_answer(body: &Value) -> Outbound {
    Outbound { status: 200, body: Some(body.to_string()) }
}

/// Watches whether the bot can talk to Discord; what it hears comes by itself.
pub(super) struct Watch<'a> {
    pub(super) rest: &'a dyn Rest,
    pub(super) proof: &'a Proof,
    pub(super) url: &'a str,
    pub(super) desk: Arc<dyn Desk>,
    pub(super) clock: SharedClock,
    pub(super) stop: CancellationToken,
}

impl Watch<'_> {
    /// Watches until stopped.
    ///
    /// # Errors
    /// [`Failure::Unauthorised`] when the token is refused twice.
    pub(super) async fn run(self) -> Result<(), Failure> {
        let (mut pause, mut refused, mut told) = (FIRST_PAUSE, false, None);
        loop {
            let Some(looked) = self.stop.run_until_cancelled(self.look()).await else { return Ok(()) };
            let wait = match looked {
                Ok(amiss) => {
                    (pause, refused) = (FIRST_PAUSE, false);
                    if let Some(why) = amiss.as_ref().filter(|_| told != amiss) {
                        tracing::warn!(why, "{why}");
                    }
                    told = amiss;
                    self.hearing(Hearing::Listening);
                    LOOK_EVERY
                }
                Err(Trouble::Unauthorised) if refused => {
                    self.hearing(Hearing::Deaf { why: Failure::Unauthorised.to_string() });
                    return Err(Failure::Unauthorised);
                }
                Err(trouble) => {
                    refused = matches!(trouble, Trouble::Unauthorised);
                    self.hearing(Hearing::Deaf { why: failure(trouble).to_string() });
                    let wait = if refused { SECOND_TRY } else { pause };
                    pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
                    wait
                }
            };
            if self.stop.run_until_cancelled(tokio::time::sleep(wait)).await.is_none() {
                return Ok(());
            }
        }
    }

    /// What is amiss although Discord can be reached. It is told and does not count as deaf: until the gateway is ready,
    /// nobody may reach it, and before it is reached, Discord does not take its address.
    async fn look(&self) -> Result<Option<String>, Trouble> {
        let call = |route| self.rest.call(Call { route, body: None, deadline: self.clock.instant() + CALL });
        call(Route::Me).await?;
        Ok(amiss(&call(Route::Application).await?, self.proof, self.url))
    }

    fn hearing(&self, hearing: Hearing) {
        self.desk.hearing(ChannelKind::Discord, hearing);
    }
}

/// What the application's settings have other than this configuration.
pub(super) fn amiss(application: &Value, proof: &Proof, url: &str) -> Option<String> {
    let text = |name: &str| application.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    if text("verify_key").is_some_and(|key| !key.eq_ignore_ascii_case(&proof.hex)) {
        return Some(
            "discord.public_key is not the application's; copy it from its General Information page".to_owned(),
        );
    }
    match text("interactions_endpoint_url") {
        Some(told) if told.trim_end_matches('/') == url => None,
        Some(_) => Some(format!("Discord posts interactions elsewhere; set the Interactions Endpoint URL to {url}")),
        None => Some(format!("Discord does not post interactions; set the Interactions Endpoint URL to {url}")),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::{Signer as _, SigningKey};

    use super::*;

    const NOW: i64 = 1_700_000_000_000;

    fn request(key: &SigningKey, at: &str, body: &[u8]) -> Inbound {
        let signature = key.sign(&[at.as_bytes(), body].concat());
        let hex = hex(&signature.to_bytes());
        let headers = [("X-Signature-Ed25519", hex.as_str()), ("X-Signature-Timestamp", at)];
        Inbound { headers: headers_of(&headers), body: body.to_vec() }
    }

    fn headers_of(headers: &[(&str, &str)]) -> Headers {
        Headers::new(headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())))
    }

    #[test]
    fn a_request_is_believed_only_whole_and_fresh() {
        let key = SigningKey::from_bytes(&[7; 32]);
        let proof = Proof::new(&key.verifying_key().to_bytes());
        let good = request(&key, "1700000000", b"{}");
        assert!(Proof::admits(&good.headers, NOW) && proof.holds(&good));
        for (at, fresh) in [("1699999700", true), ("1700000300", true), ("1699999699", false), ("1700000301", false)] {
            assert_eq!(Proof::admits(&request(&key, at, b"{}").headers, NOW), fresh, "{at}");
        }
        for at in ["", "-1700000000", "+1700000000", "1700000000 ", "now", "99999999999999999999"] {
            assert!(!Proof::admits(&request(&key, at, b"{}").headers, NOW), "{at}");
        }
        let other = SigningKey::from_bytes(&[8; 32]);
        let mut changed = good.clone();
        changed.body.push(b' ');
        let later = Inbound { headers: request(&key, "1700000001", b"{}").headers, ..good.clone() };
        assert!(proof.holds(&later), "signed for itself");
        let mixed = headers_of(&[
            (SIGNATURE, std::str::from_utf8(good.headers.one(SIGNATURE).unwrap()).unwrap()),
            (TIMESTAMP, "1700000001"),
        ]);
        let mixed = Inbound { headers: mixed, body: good.body.clone() };
        for forged in [request(&other, "1700000000", b"{}"), changed, mixed] {
            assert!(!proof.holds(&forged));
        }
        assert!(!Proof::new(&[0; 32]).holds(&good), "a weak key believes nothing");
    }

    #[test]
    fn malformed_headers_are_refused_before_anything_is_read() {
        let at = ("x-signature-timestamp", "1700000000");
        let whole = "0".repeat(128);
        for headers in [
            vec![],
            vec![at],
            vec![(SIGNATURE, whole.as_str())],
            vec![at, (SIGNATURE, whole.split_at(1).1)],
            vec![at, (SIGNATURE, whole.split_at(2).1)],
            vec![at, at, (SIGNATURE, &whole)],
        ] {
            assert!(!Proof::admits(&headers_of(&headers), NOW), "{}", headers.len());
        }
        for odd in ["g".repeat(128), "+0".repeat(64), "é".repeat(64)] {
            assert!(!Proof::admits(&headers_of(&[at, (SIGNATURE, &odd)]), NOW), "{odd}");
        }
        assert!(Proof::admits(&headers_of(&[at, (SIGNATURE, &whole)]), NOW));
    }

    #[test]
    fn a_wrong_setting_is_named() {
        let proof = Proof::new(&SigningKey::from_bytes(&[7; 32]).verifying_key().to_bytes());
        let url = "https://ask.example.com/discord/interactions";
        let told = |application: Value| amiss(&application, &proof, url);
        assert_eq!(told(json!({"verify_key": proof.hex, "interactions_endpoint_url": url})), None);
        assert!(told(json!({"verify_key": "00", "interactions_endpoint_url": url})).unwrap().contains("public_key"));
        assert!(told(json!({"interactions_endpoint_url": null})).unwrap().contains(url));
        assert!(
            told(json!({"interactions_endpoint_url": "https://else.example.com/x"})).unwrap().contains("elsewhere")
        );
    }
}
