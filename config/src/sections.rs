//! The sections of the file, one module each, and what one section has to know of the others.
//!
//! An [`Outline`] is taken of the raw tables first. So a cross-check stands where its key is read, with the key in hand, and
//! a source with a wrong address still counts as a source: one mistake makes one message.

pub(crate) mod account;
pub(crate) mod discord;
pub(crate) mod group;
pub(crate) mod handoff;
pub(crate) mod log;
pub(crate) mod ntfy;
pub(crate) mod proxies;
pub(crate) mod secrets;
pub(crate) mod server;
pub(crate) mod source;
pub(crate) mod store;
pub(crate) mod telegram;
mod twins;
pub(crate) mod web;

use std::collections::BTreeSet;
use std::slice;

use asks::ids::{AccountName, SourceName};
use asks::place::ChannelKind;
use toml::{Table, Value};

use crate::problem::Reported;
use crate::reader::{Context, Section};
use account::AccountConfig;
use discord::DiscordConfig;
use group::GroupConfig;
use log::LogConfig;
use ntfy::NtfyConfig;
use secrets::SecretsConfig;
use server::ServerConfig;
use source::SourceConfig;
use store::StoreConfig;
use telegram::TelegramConfig;
use web::WebConfig;

/// The channels whose places a file can name. A browser names its own.
const CHANNELS: [ChannelKind; 3] = [ChannelKind::Telegram, ChannelKind::Discord, ChannelKind::Ntfy];

/// The whole configuration, checked: names are unique, and every reference leads somewhere.
#[derive(Debug, Clone)]
pub struct Config {
    /// `[server]`: the HTTP side.
    pub server: ServerConfig,
    /// `[store]`: what survives a restart.
    pub store: StoreConfig,
    /// `[secrets]`: the key that seals credentials.
    pub secrets: SecretsConfig,
    /// `[[sources]]`: where asks come from.
    pub sources: Vec<SourceConfig>,
    /// `[telegram]`, if asks are shown there.
    pub telegram: Option<TelegramConfig>,
    /// `[discord]`, if asks are shown there.
    pub discord: Option<DiscordConfig>,
    /// `[ntfy]`, if notifications go to phones.
    pub ntfy: Option<NtfyConfig>,
    /// `[web]`: askgate's own pages for people.
    pub web: WebConfig,
    /// `[[accounts]]`: the people known from the file.
    pub accounts: Vec<AccountConfig>,
    /// `[[groups]]`: the shared places.
    pub groups: Vec<GroupConfig>,
    /// `[log]`: how logs look.
    pub log: LogConfig,
}

impl Config {
    /// The source of that name.
    #[must_use]
    pub fn source(&self, name: &SourceName) -> Option<&SourceConfig> {
        self.sources.iter().find(|source| source.name == *name)
    }

    /// The account of that name.
    #[must_use]
    pub fn account(&self, name: &AccountName) -> Option<&AccountConfig> {
        self.accounts.iter().find(|account| account.key.name == *name)
    }

    /// Validates every section, however many of them fail.
    pub(crate) fn validate(context: &Context<'_>, table: &Table) -> Result<Self, Reported> {
        let outline = Outline::of(table);
        let root = Section::root(context, table);
        let server = root.section("server", ServerConfig::validate);
        let store = root.section("store", StoreConfig::validate);
        let secrets = root.section("secrets", SecretsConfig::validate);
        let sources = root.sections("sources", |section| SourceConfig::validate(section, &outline));
        let telegram = root.optional_section("telegram", |section| TelegramConfig::validate(section, &outline));
        let discord = root.optional_section("discord", |section| DiscordConfig::validate(section, &outline));
        let ntfy = root.optional_section("ntfy", NtfyConfig::validate);
        let public_url = server.as_ref().ok().and_then(|server| server.public_url.as_ref());
        let web = root.section("web", |section| WebConfig::validate(section, public_url));
        let accounts = root.sections("accounts", |section| AccountConfig::validate(section, &outline));
        let groups = root.sections("groups", |section| GroupConfig::validate(section, &outline));
        let log = root.section("log", LogConfig::validate);
        root.refuse_others();

        warn_of_idleness(&root, &outline);
        let distinct = [root.distinct("sources", "name"), root.distinct("accounts", "name")];
        let groups = groups.and_then(|groups| group::unique(&root, groups));
        let answerable = match (&groups, &accounts) {
            (Ok(groups), Ok(accounts)) => group::answerable(&root, groups, accounts),
            _ => Ok(()),
        };
        distinct.into_iter().collect::<Result<(), _>>()?;
        answerable?;
        let config = Self {
            server: server?,
            store: store?,
            secrets: secrets?,
            sources: sources?,
            telegram: telegram?,
            discord: discord?,
            ntfy: ntfy?,
            web: web?,
            accounts: accounts?,
            groups: groups?,
            log: log?,
        };
        twins::warn(&root, &config);
        Ok(config)
    }
}

/// What one section has to know of the others, whether those are right or not.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    /// The names of the sources.
    pub(crate) sources: BTreeSet<String>,
    /// The names of the accounts.
    pub(crate) accounts: BTreeSet<String>,
    /// The accounts that some group shows.
    pub(crate) grouped: BTreeSet<String>,
    /// The channels that have a section.
    pub(crate) channels: BTreeSet<ChannelKind>,
    /// Whether there is a `server.public_url`.
    pub(crate) public_url: bool,
}

impl Outline {
    fn of(table: &Table) -> Self {
        let each = |section: &str, key: &str| -> Vec<&Value> {
            let tables = match table.get(section) {
                Some(Value::Array(tables)) => tables.as_slice(),
                // A single table is the wrong form, and its names count nevertheless.
                Some(other) => slice::from_ref(other),
                None => &[],
            };
            tables.iter().filter_map(|table| table.get(key)).collect()
        };
        let texts = |values: Vec<&Value>| values.into_iter().filter_map(Value::as_str).map(str::to_owned).collect();
        Self {
            sources: texts(each("sources", "name")),
            accounts: texts(each("accounts", "name")),
            grouped: texts(each("groups", "accounts").into_iter().filter_map(Value::as_array).flatten().collect()),
            channels: CHANNELS.into_iter().filter(|channel| table.contains_key(channel.as_str())).collect(),
            public_url: table.get("server").is_some_and(|server| server.get("public_url").is_some()),
        }
    }
}

/// A file that serves nobody is legal, and hardly meant.
fn warn_of_idleness(root: &Section<'_>, outline: &Outline) {
    if !root.has("sources") {
        root.warn("sources", "are missing, so there is nothing to ask for", "add [[sources]] with name, kind and url");
    }
    if outline.channels.is_empty() {
        root.warn(
            "telegram",
            "is missing, and so are discord and ntfy: no ask is shown",
            "add [telegram] or [discord] with a token, or [ntfy]",
        );
    }
}
