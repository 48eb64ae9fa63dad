//! `[telegram]`: the bot that shows asks in Telegram.

use url::Url;

use crate::problem::Reported;
use crate::reader::{Flaw, Section};
use crate::secret::Secret;
use crate::values;

/// Where the Bot API is.
const API_URL: &str = "https://api.telegram.org";

/// The Telegram bot.
#[derive(Debug, Clone)]
pub struct TelegramConfig {
    /// The bot's token. It stands in the path of every request, so those addresses are secrets too.
    pub token: Secret,
    /// Where the Bot API is.
    pub api_url: Url,
    /// What the platform will send along with webhooks. Not used while the bot polls.
    pub webhook_secret: Option<Secret>,
}

impl TelegramConfig {
    pub(crate) fn validate(section: &Section<'_>) -> Result<Self, Reported> {
        let token = section.secret("token", token_shape);
        let api_url = values::address_or(section, "api_url", API_URL);
        let mode = section.or("mode", (), |item| values::one_of(item, &[("polling", ())], &["webhook"]));
        let webhook_secret = section.secret("webhook_secret", values::bearer);
        let token = token?
            .ok_or_else(|| section.report("token", "is missing", "add token or token_file, as BotFather gave it"))?;
        let usual = token
            .expose()
            .split_once(':')
            .is_some_and(|(id, rest)| !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()) && !rest.is_empty());
        if !usual {
            section.warn("token", "does not look like a bot's token", "copy it whole, digits and colon included");
        }
        mode?;
        Ok(Self { token, api_url: api_url?, webhook_secret: webhook_secret? })
    }
}

/// The token becomes a part of a path. Nothing more is known about its shape for certain.
fn token_shape(text: &str) -> Result<(), Flaw> {
    if text.chars().any(|c| c.is_whitespace() || c.is_control() || matches!(c, '/' | '\\' | '?' | '#')) {
        return Err(Flaw::new("has white space or a slash in it", "give the token alone, as BotFather gave it"));
    }
    Ok(())
}
