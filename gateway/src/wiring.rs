//! Building the parts from the configuration. The one place that knows every source and channel by name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use adapters::channel::Channel;
use adapters::channels::discord::{DiscordChannel, DiscordOptions, InteractionsOptions};
use adapters::channels::ntfy::{NtfyChannel, NtfyOptions};
use adapters::channels::telegram::{BotToken, TelegramChannel, TelegramOptions, WebhookOptions};
use adapters::clock::SharedClock;
use adapters::source::{Keeper, Source};
use adapters::sources::terreno::{self, TerrenoOptions, TerrenoSource};
use anyhow::Context as _;
use asks::place::{ChannelKind, Place};
use config::{Config, Credential, DiscordMode, Secret, SignIn, SourceConfig, SourceKind, TelegramMode};
use rand::rngs::StdRng;
use rand::{RngCore as _, SeedableRng as _};
use store::ledger::Ledger;
use tokio::sync::{Notify, Semaphore};
use tokio_util::task::TaskTracker;

use crate::accounts::{self, Accounts};
use crate::announce::Queues;
use crate::answer::{self, once_more::OnceMore};
use crate::board::{Board, channel_part, source_part};
use crate::hub::{Hub, SourceEntry, Stop};
use crate::link::Linking;
use crate::links::Links;
use crate::poll::{Calendar, Subjects};
use crate::words;

/// What the parts are built with.
pub struct Tools {
    /// Time.
    pub clock: SharedClock,
    /// Randomness.
    pub random: StdRng,
    /// The HTTP client that all adapters share.
    pub http: reqwest::Client,
}

impl Tools {
    /// The machine's own clock, randomness and network.
    ///
    /// # Errors
    /// If the system's TLS library cannot be set up.
    #[expect(clippy::disallowed_methods, reason = "the binary's edge: everything below takes its randomness from here")]
    pub fn system() -> anyhow::Result<Self> {
        Ok(Self {
            clock: Arc::new(adapters::clock::SystemClock),
            random: StdRng::from_rng(&mut rand::rng()),
            http: adapters::http::client()
                .context("the system's TLS library cannot be set up; is OpenSSL installed?")?,
        })
    }
}

/// Puts the hub together.
///
/// # Errors
/// If what the ledger remembers of moved places and linked accounts cannot be read.
pub async fn hub(config: &Config, ledger: Arc<dyn Ledger>, tools: &mut Tools, stop: Stop) -> anyhow::Result<Arc<Hub>> {
    let links = Links::from_config(config);
    for (name, to) in ledger.recall_all("moved/").await? {
        let from = name.trim_start_matches("moved/").parse::<Place>();
        if let (Ok(from), Ok(to)) = (from, to.parse::<Place>()) {
            links.moved(&from, &to);
        }
    }
    let board = Board::default();
    board.expect("store");
    let channels = channels(config, tools);
    for kind in channels.keys() {
        board.expect(channel_part(*kind));
    }
    let accounts = Accounts::new(&config.secrets);
    let mut sources = BTreeMap::new();
    let addresses = Addresses::default();
    for section in &config.sources {
        let part = source_part(&section.name);
        if config.accounts.iter().any(|account| account.key.source == section.name) {
            board.expect(&part);
        }
        let built = source(config, section, tools, &addresses, Some(accounts.keeper()))?;
        let entry =
            SourceEntry { port: built, config: section.clone(), part, look_ups: Semaphore::new(answer::LOOK_UPS) };
        sources.insert(section.name.clone(), entry);
    }
    let hub = Arc::new(Hub {
        keys: ledger.token_key(),
        ledger,
        sources,
        channels,
        links,
        accounts,
        linking: Linking::new(config.discord.as_ref().and_then(|discord| discord.application_id)),
        board,
        public_url: config.server.public_url.clone().filter(|_| config.web.enabled),
        clock: Arc::clone(&tools.clock),
        queues: Queues::default(),
        calendar: Calendar::new(tools.random.next_u64()),
        in_flight: Mutex::default(),
        vanishing: Mutex::default(),
        once_more: OnceMore::default(),
        voting: tokio::sync::Mutex::default(),
        random: Mutex::new(StdRng::from_rng(&mut tools.random)),
        subjects: Subjects::default(),
        tasks: TaskTracker::new(),
        progress: Notify::new(),
        stop,
    });
    accounts::load(&hub).await?;
    Ok(hub)
}

/// The channels that the configuration has a section for.
#[must_use]
pub fn channels(config: &Config, tools: &mut Tools) -> BTreeMap<ChannelKind, Arc<dyn Channel>> {
    let mut channels: BTreeMap<ChannelKind, Arc<dyn Channel>> = BTreeMap::new();
    if let Some(telegram) = &config.telegram {
        let channel = TelegramChannel::new(TelegramOptions {
            token: BotToken::new(telegram.token.expose()),
            api_url: telegram.api_url.clone(),
            http: tools.http.clone(),
            clock: Arc::clone(&tools.clock),
            jitter: StdRng::from_rng(&mut tools.random),
            pace: adapters::channels::telegram::Pace::default(),
            timing: adapters::channels::telegram::Timing::default(),
            commands: words::offers(),
            webhook: match (telegram.mode, &telegram.webhook_secret, &config.server.public_url) {
                (TelegramMode::Webhook, Some(secret), Some(public_url)) => {
                    Some(WebhookOptions { public_url: public_url.clone(), secret: secret.expose().to_owned() })
                }
                _ => None,
            },
        });
        channels.insert(ChannelKind::Telegram, Arc::new(channel));
    }
    if let Some(discord) = &config.discord {
        let channel = DiscordChannel::new(DiscordOptions {
            token: discord.token.expose().to_owned(),
            application_id: discord.application_id,
            api_url: discord.api_url.clone(),
            http: tools.http.clone(),
            clock: Arc::clone(&tools.clock),
            rng: StdRng::from_rng(&mut tools.random),
            commands: words::offers(),
            interactions: match (discord.mode, discord.public_key, &config.server.public_url) {
                (DiscordMode::Interactions, Some(public_key), Some(public_url)) => {
                    Some(InteractionsOptions { public_key, public_url: public_url.clone() })
                }
                _ => None,
            },
        });
        channels.insert(ChannelKind::Discord, Arc::new(channel));
    }
    // Without an address that phones reach there is nothing that an action could call; the configuration says so.
    if let (Some(ntfy), Some(public_url)) = (&config.ntfy, &config.server.public_url) {
        let channel = NtfyChannel::new(NtfyOptions {
            url: ntfy.url.clone(),
            token: ntfy.token.as_ref().map(|token| token.expose().to_owned()),
            public_url: public_url.clone(),
            http: tools.http.clone(),
        });
        channels.insert(ChannelKind::Ntfy, Arc::new(channel));
    }
    channels
}

/// What the sources at one address share: the host counts sign-ins by where they come from.
#[derive(Debug, Default)]
pub struct Addresses(Mutex<BTreeMap<String, Arc<terreno::Address>>>);

impl Addresses {
    fn of(&self, url: &url::Url) -> Arc<terreno::Address> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(url.origin().ascii_serialization()).or_default())
    }
}

/// One source, with all of its accounts.
///
/// # Errors
/// When its address or a header cannot be used.
pub fn source(
    config: &Config,
    section: &SourceConfig,
    tools: &Tools,
    addresses: &Addresses,
    keeper: Option<Arc<dyn Keeper>>,
) -> anyhow::Result<Arc<dyn Source>> {
    let accounts = config.accounts.iter().filter(|account| account.key.source == section.name);
    match section.kind {
        SourceKind::Terreno => {
            let source = TerrenoSource::new(TerrenoOptions {
                url: section.url.clone(),
                auth: match section.auth {
                    SignIn::Auto => terreno::Auth::Auto,
                    SignIn::Terreno => terreno::Auth::Terreno,
                    SignIn::BetterAuth => terreno::Auth::BetterAuth,
                },
                surface: section.surface,
                headers: section.headers.iter().map(|(name, value)| (name.clone(), secret(value))).collect(),
                turn_timeout: section.turn_timeout,
                http: tools.http.clone(),
                clock: Arc::clone(&tools.clock),
                address: addresses.of(&section.url),
                keeper,
                accounts: accounts.map(|account| (account.key.clone(), credential(&account.credential))).collect(),
            });
            let source = source.with_context(|| format!("the source {} cannot be used", section.name))?;
            Ok(Arc::new(source))
        }
    }
}

fn credential(credential: &Credential) -> terreno::Credential {
    match credential {
        Credential::Password { email, password } => {
            terreno::Credential::Password { email: email.clone(), password: secret(password) }
        }
        Credential::Token { token, refresh_token } => {
            terreno::Credential::Token { token: secret(token), refresh_token: refresh_token.as_ref().map(secret) }
        }
    }
}

/// A secret that is read again from its file when it is refused.
fn secret(secret: &Secret) -> terreno::Secret {
    if secret.file().is_none() {
        return terreno::Secret::new(secret.expose());
    }
    let file = secret.clone();
    terreno::Secret::rereadable(secret.expose(), move || {
        let read = config::reread(&file).ok().flatten()?;
        Some(read.expose().to_owned())
    })
}
