//! The webhook: set at the start, looked at again and again, and taken away when the bot polls again.
//!
//! A webhook at another address than ours is somebody else's. It is reported and never touched: whoever set it would lose
//! taps without a word.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use asks::place::ChannelKind;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use teloxide::payloads::{DeleteWebhook, GetWebhookInfo, SetWebhook};
use teloxide::requests::Payload;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::super::client::Trouble;
use super::super::{EXAMINE, TelegramChannel, limits};
use super::{Ear, FAREWELL, Failures, HEARD, Then, UPDATES, pause};
use crate::channel::{Desk, Failure, Headers, Hearing, Inbound, Outbound};

/// The name the address of a webhook of ours is remembered under.
const SET: &str = "telegram.webhook";
/// How long the platform is believed to have the webhook still.
const CHECK_EVERY: Duration = Duration::from_mins(3);
/// How many updates may be on their way at once.
const CONNECTIONS: u8 = 40;
/// What carries the secret.
const HEADER: &str = "x-telegram-bot-api-secret-token";

/// Where Telegram is to post updates, and how they are known to be its own.
#[derive(Clone)]
pub(in super::super) struct Hook {
    pub(in super::super) url: Url,
    secret: String,
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hook").field("url", &self.url.as_str()).finish_non_exhaustive()
    }
}

impl Hook {
    /// A webhook below `public_url`.
    #[must_use]
    pub(in super::super) fn new(public_url: &Url, secret: String) -> Self {
        let mut url = public_url.clone();
        url.set_query(None);
        url.set_fragment(None);
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["telegram", "webhook"]);
        }
        Self { url, secret }
    }

    /// Whether a request carries the secret. Hashes have one length, so the comparison tells nothing about the secret's.
    #[must_use]
    pub(in super::super) fn admits(&self, headers: &Headers) -> bool {
        let sent = headers.one(HEADER).unwrap_or_default();
        Sha256::digest(sent).ct_eq(&Sha256::digest(self.secret.as_bytes())).into()
    }
}

/// What the platform says about the webhook.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    None,
    Ours { complete: bool },
    Foreign { host: String },
}

/// Reads `getWebhookInfo`. `earlier` is an address of ours from before the configuration was changed.
fn found(info: &Value, url: &str, earlier: Option<&str>) -> Found {
    let told = info.get("url").and_then(Value::as_str).unwrap_or_default();
    if told.is_empty() {
        return Found::None;
    }
    if told == url {
        let kinds = info.get("allowed_updates").and_then(Value::as_array);
        let wanted = ["message", "callback_query", "my_chat_member"];
        let complete = kinds.is_some_and(|kinds| wanted.iter().all(|kind| kinds.iter().any(|told| told == kind)));
        return Found::Ours { complete };
    }
    if earlier == Some(told) {
        return Found::Ours { complete: false };
    }
    // The address may hold a secret in its path; the host says enough to find whose it is.
    let host = Url::parse(told).ok().and_then(|url| url.host_str().map(str::to_owned));
    Found::Foreign { host: host.unwrap_or_else(|| "an unreadable address".to_owned()) }
}

/// Keeps the webhook set until `stop`.
///
/// # Errors
/// [`Failure::Unauthorised`] when the token is not accepted.
pub(in super::super) async fn keep(
    channel: Arc<TelegramChannel>,
    hook: Hook,
    desk: Arc<dyn Desk>,
    stop: CancellationToken,
) -> Result<(), Failure> {
    let ear = Arc::new(Ear::new(Arc::clone(&channel), Arc::clone(&desk)).await);
    channel.hear_with(Some(Arc::clone(&ear)));
    let mut keeper = Keeper { channel: Arc::clone(&channel), hook, desk, failures: Failures::default(), begun: false };
    let outcome = keeper.keep_until(&stop).await;
    // From now on updates are refused for a moment, so that they come again after the next start.
    channel.hear_with(None);
    ear.finish(FAREWELL).await;
    if outcome.is_ok() {
        keeper.note().await;
    }
    outcome
}

struct Keeper {
    channel: Arc<TelegramChannel>,
    hook: Hook,
    desk: Arc<dyn Desk>,
    failures: Failures,
    /// Whether it was set by this process.
    begun: bool,
}

impl Keeper {
    async fn keep_until(&mut self, stop: &CancellationToken) -> Result<(), Failure> {
        while !stop.is_cancelled() {
            let looked = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                looked = self.look() => looked,
            };
            let length = match looked {
                Ok(None) => {
                    self.failures = Failures::default();
                    self.desk.hearing(ChannelKind::Telegram, Hearing::Listening);
                    CHECK_EVERY
                }
                Ok(Some(host)) => {
                    let why = format!(
                        "a webhook that is not askgate's is set for this bot, at {host}; remove it (deleteWebhook) if it \
                         is not in use, or give askgate a bot of its own"
                    );
                    tracing::warn!(why, "not hearing Telegram");
                    self.desk.hearing(ChannelKind::Telegram, Hearing::Deaf { why });
                    self.channel.timing.longest_wait
                }
                Err(trouble) => match self.failures.after(&trouble, &self.channel.timing) {
                    Then::Stop => {
                        let why = "the bot's token is not accepted; put a valid one into [telegram] token".to_owned();
                        self.desk.hearing(ChannelKind::Telegram, Hearing::Deaf { why });
                        return Err(Failure::Unauthorised);
                    }
                    Then::Wait { pause, told } => {
                        self.trouble(&trouble, told);
                        self.channel.jittered(pause)
                    }
                    Then::WaitExactly { pause, told } => {
                        self.trouble(&trouble, told);
                        pause
                    }
                },
            };
            self.pause(length, stop).await;
        }
        Ok(())
    }

    fn trouble(&self, trouble: &Trouble, told: Option<String>) {
        tracing::debug!(?trouble, "the webhook could not be looked at");
        if let Some(why) = told {
            // A refusal with words of its own, such as for an address that Telegram cannot reach, is the operator's to read.
            let why = match trouble {
                Trouble::Refused(refusal) if refusal.code == 400 => {
                    format!("Telegram does not take the webhook: {}", refusal.description)
                }
                _ => why,
            };
            if self.failures.count <= 2 {
                tracing::warn!(why, "not hearing Telegram");
            }
            self.desk.hearing(ChannelKind::Telegram, Hearing::Deaf { why });
        }
    }

    /// Makes sure of the webhook; names the host of one that is not ours.
    async fn look(&mut self) -> Result<Option<String>, Trouble> {
        let info: Value = self.channel.client.call(GetWebhookInfo::NAME, &GetWebhookInfo::new(), EXAMINE).await?;
        let url = self.hook.url.as_str();
        let earlier = self.desk.recall(SET).await;
        let seen = found(&info, url, earlier.as_deref());
        if let Some(why) = info.get("last_error_message").and_then(Value::as_str)
            && info.get("pending_update_count").and_then(Value::as_u64).is_some_and(|waiting| waiting > 0)
        {
            let why: String = why.chars().take(200).collect();
            tracing::warn!(why, "updates wait at Telegram, because it cannot deliver them");
        }
        match seen {
            Found::Foreign { host } => return Ok(Some(host)),
            // Set at every start all the same: the secret may be another one, and is told by nobody.
            Found::Ours { complete: true } if self.begun => return Ok(None),
            Found::None if self.begun => tracing::warn!("the webhook was removed by somebody; it is set again"),
            _ => {}
        }
        if earlier.as_deref() != Some(url) {
            // Before it is set: what is set and not remembered would be nobody's later.
            self.desk.remember(SET, Some(url.to_owned())).await;
        }
        let mut body = SetWebhook::new(self.hook.url.clone());
        body.max_connections = Some(CONNECTIONS);
        body.allowed_updates = Some(UPDATES.to_vec());
        body.secret_token = Some(self.hook.secret.clone());
        self.channel.client.call::<_, Value>(SetWebhook::NAME, &body, EXAMINE).await?;
        if !self.begun {
            tracing::info!(url, "the webhook is set");
            self.lost().await;
        }
        self.begun = true;
        Ok(None)
    }

    /// Taps that were made while nothing was there to take them are gone.
    async fn lost(&self) {
        let last = self.desk.recall(HEARD).await.and_then(|millis| millis.parse::<i64>().ok());
        let away = last.map_or(0, |last| self.channel.clock.unix_millis().saturating_sub(last));
        if u128::try_from(away).is_ok_and(|away| away > limits::KEEPS_PRESSES.as_millis()) {
            tracing::warn!(seconds = away / 1000, "away for longer than Telegram keeps taps; some may be lost");
            self.desk.taps_may_be_lost(ChannelKind::Telegram).await;
        }
        self.note().await;
    }

    async fn note(&self) {
        let now = self.channel.clock.unix_millis();
        self.desk.remember(HEARD, Some(now.to_string())).await;
    }

    /// Waits, and writes down meanwhile that this process was here.
    async fn pause(&self, length: Duration, stop: &CancellationToken) {
        let mut left = length;
        while !left.is_zero() && !stop.is_cancelled() {
            let part = left.min(self.channel.timing.note_every);
            pause(part, stop).await;
            left = left.saturating_sub(part);
            if self.begun && self.failures.count == 0 {
                self.note().await;
            }
        }
    }
}

/// Removes the webhook if it is one that askgate set, and says whether the bot can poll now.
pub(super) async fn remove_ours(channel: &TelegramChannel, desk: &Arc<dyn Desk>) -> bool {
    let Some(ours) = desk.recall(SET).await else { return false };
    let info = match channel.client.call::<_, Value>(GetWebhookInfo::NAME, &GetWebhookInfo::new(), EXAMINE).await {
        Ok(info) => info,
        Err(trouble) => {
            tracing::debug!(?trouble, "the webhook could not be looked at");
            return false;
        }
    };
    match found(&info, &ours, None) {
        Found::Foreign { .. } => return false,
        Found::None => {}
        Found::Ours { .. } => {
            let removed = channel.client.call::<_, Value>(DeleteWebhook::NAME, &DeleteWebhook::new(), EXAMINE).await;
            if let Err(trouble) = removed {
                tracing::debug!(?trouble, "the webhook could not be removed");
                return false;
            }
            tracing::info!("the webhook that askgate had set was removed, because the bot polls now");
        }
    }
    desk.remember(SET, None).await;
    true
}

/// Takes one update that Telegram posted; 200 only when what it says is durable.
pub(in super::super) async fn receive(ear: Option<Arc<Ear>>, request: Inbound) -> Outbound {
    let Some(ear) = ear else {
        // Telegram tries again soon, and nothing is lost meanwhile.
        return Outbound::status(503);
    };
    match serde_json::from_slice::<Value>(&request.body) {
        Ok(update) => drop(ear.take(vec![update]).await),
        // Refusing it would bring it again for a day, and hold up that chat.
        Err(_) => ear.count_unreadable(None, "json"),
    }
    Outbound::status(200)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_whole_secret_once_is_admitted() {
        let hook = Hook::new(&Url::parse("https://ask.example.com/base/").unwrap(), "s3cret".to_owned());
        assert_eq!(hook.url.as_str(), "https://ask.example.com/base/telegram/webhook");
        assert!(!format!("{hook:?}").contains("s3cret"));
        let with = |headers: &[(&str, &str)]| {
            hook.admits(&Headers::new(
                headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())),
            ))
        };
        let name = "X-Telegram-Bot-Api-Secret-Token";
        assert!(with(&[(name, "s3cret")]) && with(&[(HEADER, "s3cret"), ("host", "x")]));
        for forged in [
            &[][..],
            &[(name, "")],
            &[(name, "S3CRET")],
            &[(name, "s3cre")],
            &[(name, "s3cret ")],
            &[(name, "s3cret"), (name, "s3cret")],
            &[("x-telegram-bot-api-secret", "s3cret")],
        ] {
            assert!(!with(forged), "{forged:?}");
        }
    }

    #[test]
    fn a_webhook_is_ours_by_its_address_only() {
        let kinds = json!(["message", "callback_query", "my_chat_member"]);
        let ours = "https://ask.example.com/telegram/webhook";
        for (info, expected) in [
            (json!({"url": ""}), Found::None),
            (json!({}), Found::None),
            (json!({"url": ours, "allowed_updates": kinds}), Found::Ours { complete: true }),
            (json!({"url": ours, "allowed_updates": ["message"]}), Found::Ours { complete: false }),
            (json!({"url": ours}), Found::Ours { complete: false }),
            (json!({"url": "https://old.example.com/x"}), Found::Ours { complete: false }),
            (
                json!({"url": "https://else.example.com/hook-s3cret"}),
                Found::Foreign { host: "else.example.com".into() },
            ),
            (json!({"url": "odd"}), Found::Foreign { host: "an unreadable address".into() }),
        ] {
            assert_eq!(found(&info, ours, Some("https://old.example.com/x")), expected, "{info}");
        }
    }
}
