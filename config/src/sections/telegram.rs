//! `[telegram]`: the bot that shows asks in Telegram.

use url::Url;

use super::Outline;
use crate::problem::Reported;
use crate::reader::{Flaw, Section};
use crate::secret::Secret;
use crate::values;

/// Where the Bot API is.
const API_URL: &str = "https://api.telegram.org";

/// How taps arrive from Telegram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TelegramMode {
    /// We ask for them.
    Polling,
    /// Telegram posts them to `server.public_url`.
    Webhook,
}

/// The Telegram bot.
#[derive(Debug, Clone)]
pub struct TelegramConfig {
    /// The bot's token. It stands in the path of every request, so those addresses are secrets too.
    pub token: Secret,
    /// Where the Bot API is.
    pub api_url: Url,
    /// How taps arrive. With `Webhook` there are a `webhook_secret` and a `server.public_url`.
    pub mode: TelegramMode,
    /// What the platform sends along with webhooks: 1 to 256 letters, digits, `-` and `_`. Not used while the bot polls.
    pub webhook_secret: Option<Secret>,
}

impl TelegramConfig {
    pub(crate) fn validate(section: &Section<'_>, outline: &Outline) -> Result<Self, Reported> {
        let token = section.secret("token", token_shape);
        let api_url = values::address_or(section, "api_url", API_URL);
        let mode = section.or("mode", TelegramMode::Polling, |item| {
            values::one_of(item, &[("polling", TelegramMode::Polling), ("webhook", TelegramMode::Webhook)], &[])
        });
        let webhook_secret = section.secret("webhook_secret", webhook_secret_shape);
        let mut reachable = Ok(());
        if mode == Ok(TelegramMode::Webhook) {
            if !outline.public_url {
                let what = "is \"webhook\", and there is no address for Telegram to call";
                reachable = Err(section.report("mode", what, "add public_url to [server], or write \"polling\""));
            }
            if matches!(webhook_secret, Ok(None)) {
                let fix = "add webhook_secret or webhook_secret_file; make one with `openssl rand -hex 32`";
                reachable = Err(section.report("webhook_secret", "is missing, so anybody could send taps", fix));
            }
        }
        let token = token?
            .ok_or_else(|| section.report("token", "is missing", "add token or token_file, as BotFather gave it"))?;
        let usual = token
            .expose()
            .split_once(':')
            .is_some_and(|(id, rest)| !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()) && !rest.is_empty());
        if !usual {
            section.warn("token", "does not look like a bot's token", "copy it whole, digits and colon included");
        }
        reachable?;
        Ok(Self { token, api_url: api_url?, mode: mode?, webhook_secret: webhook_secret? })
    }
}

/// The token becomes a part of a path. Nothing more is known about its shape for certain.
fn token_shape(text: &str) -> Result<(), Flaw> {
    if text.chars().any(|c| c.is_whitespace() || c.is_control() || matches!(c, '/' | '\\' | '?' | '#')) {
        return Err(Flaw::new("has white space or a slash in it", "give the token alone, as BotFather gave it"));
    }
    Ok(())
}

/// What `setWebhook` takes as `secret_token`.
fn webhook_secret_shape(text: &str) -> Result<(), Flaw> {
    if text.len() <= 256 && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_')) {
        return Ok(());
    }
    let fix = "write 1 to 256 letters, digits, - and _; make one with `openssl rand -hex 32`";
    Err(Flaw::new("is no secret that Telegram takes", fix))
}
