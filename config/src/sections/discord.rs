//! `[discord]`: the application whose bot shows asks in Discord.

use url::Url;

use super::Outline;
use crate::problem::Reported;
use crate::reader::{Item, Section};
use crate::secret::Secret;
use crate::values;

/// What stands before `/api/v10`.
const API_URL: &str = "https://discord.com";

/// How taps arrive from Discord.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiscordMode {
    /// Over the gateway's socket.
    Gateway,
    /// Discord posts them to `server.public_url`.
    Interactions,
}

/// The Discord application.
#[derive(Debug, Clone)]
pub struct DiscordConfig {
    /// The bot's token, without `Bot` before it.
    pub token: Secret,
    /// The application's id; Discord tells it too.
    pub application_id: Option<u64>,
    /// The Ed25519 key that signs interactions. Not used while events come from the gateway.
    pub public_key: Option<[u8; 32]>,
    /// What stands before `/api/v10`.
    pub api_url: Url,
    /// How taps arrive. With `Interactions` there are a `public_key` and a `server.public_url`.
    pub mode: DiscordMode,
}

impl DiscordConfig {
    pub(crate) fn validate(section: &Section<'_>, outline: &Outline) -> Result<Self, Reported> {
        let token = section.secret("token", values::bearer);
        let application_id = section.optional("application_id", id);
        let public_key = section.optional("public_key", public_key);
        let api_url = values::address_or(section, "api_url", API_URL);
        let mode = section.or("mode", DiscordMode::Gateway, |item| {
            values::one_of(item, &[("gateway", DiscordMode::Gateway), ("interactions", DiscordMode::Interactions)], &[])
        });
        let mut reachable = Ok(());
        if mode == Ok(DiscordMode::Interactions) {
            if !outline.public_url {
                let what = "is \"interactions\", and there is no address for Discord to call";
                reachable = Err(section.report("mode", what, "add public_url to [server], or write \"gateway\""));
            }
            if public_key == Ok(None) {
                let fix = "add the 64 digits from the application's General Information page";
                reachable = Err(section.report("public_key", "is missing, so nobody's taps could be believed", fix));
            }
        }
        let token = token?.ok_or_else(|| {
            section.report("token", "is missing", "add token or token_file, from the application's Bot page")
        })?;
        reachable?;
        Ok(Self { token, application_id: application_id?, public_key: public_key?, api_url: api_url?, mode: mode? })
    }
}

fn id(item: &Item<'_>) -> Result<u64, Reported> {
    let id = item.number().filter(|id| *id > 0);
    id.ok_or_else(|| item.report("is no Discord id", "copy the digits from the application's page, in quotes"))
}

fn public_key(item: &Item<'_>) -> Result<[u8; 32], Reported> {
    let digits = item.text()?.as_bytes();
    let mut key = [0; 32];
    let mut fits = digits.len() == 2 * key.len();
    for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
        let value = pair.iter().try_fold(0_u32, |value, digit| Some(value * 16 + char::from(*digit).to_digit(16)?));
        match value.and_then(|value| u8::try_from(value).ok()) {
            Some(value) => *byte = value,
            None => fits = false,
        }
    }
    if fits {
        return Ok(key);
    }
    Err(item.report("is not the hex of 32 bytes", "copy the 64 digits from the application's General Information page"))
}
