//! Where people are and who they are, as written in the configuration and kept in the ledger.
//!
//! Ids are numbers and are compared as numbers, so `007` and `7` are the same person.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A kind of place people are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChannelKind {
    /// Telegram, through a bot.
    Telegram,
    /// Discord, through an application's bot.
    Discord,
    /// Phone notifications through an ntfy server.
    Ntfy,
    /// The gateway's own pages.
    Web,
}

impl ChannelKind {
    /// The name as written in places, such as `telegram`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Telegram => "telegram",
            Self::Discord => "discord",
            Self::Ntfy => "ntfy",
            Self::Web => "web",
        }
    }
}

impl fmt::Display for ChannelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One address on a channel.
///
/// The text form is `telegram:ID`, `telegram:CHAT/TOPIC`, `discord:user:ID`, `discord:channel:ID` or `ntfy:TOPIC`.
/// `Display` is safe for logs: an ntfy topic, which is a secret, appears as a short digest. [`Place::address`] gives the
/// whole text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// A Telegram chat, and the topic within it. Private chats have positive ids, groups negative ones.
    Telegram {
        /// The chat's id, up to 52 bits.
        chat: i64,
        /// The topic's thread id. The general topic (1) is written as 1 and sent without a thread id.
        topic: Option<i64>,
    },
    /// The direct messages with a Discord user.
    DiscordUser(u64),
    /// A Discord guild channel or thread.
    DiscordChannel(u64),
    /// An ntfy topic.
    Ntfy(String),
    /// A browser that takes notifications for somebody, by the id it was given when it began to.
    Web(String),
}

/// Why a text is not a place or a person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PlaceError(String);

impl Place {
    /// The channel the place is on.
    #[must_use]
    pub const fn channel(&self) -> ChannelKind {
        match self {
            Self::Telegram { .. } => ChannelKind::Telegram,
            Self::DiscordUser(_) | Self::DiscordChannel(_) => ChannelKind::Discord,
            Self::Ntfy(_) => ChannelKind::Ntfy,
            Self::Web(_) => ChannelKind::Web,
        }
    }

    /// Whether only one person reads there. An ntfy topic counts: its name is its owner's secret.
    #[must_use]
    pub const fn is_direct(&self) -> bool {
        match self {
            Self::Telegram { chat, .. } => *chat > 0,
            Self::DiscordUser(_) | Self::Ntfy(_) | Self::Web(_) => true,
            Self::DiscordChannel(_) => false,
        }
    }

    /// The person whose direct place this is, if the platform tells.
    #[must_use]
    pub const fn owner(&self) -> Option<Actor> {
        match self {
            Self::Telegram { chat, .. } if *chat > 0 => Some(Actor::Telegram(*chat)),
            Self::DiscordUser(id) => Some(Actor::Discord(*id)),
            Self::Ntfy(_) | Self::Web(_) => Some(Actor::Owner),
            Self::Telegram { .. } | Self::DiscordChannel(_) => None,
        }
    }

    /// The whole address, secrets included: for the ledger, never for a log.
    #[must_use]
    pub fn address(&self) -> String {
        match self {
            Self::Telegram { chat, topic: None } => format!("telegram:{chat}"),
            Self::Telegram { chat, topic: Some(topic) } => format!("telegram:{chat}/{topic}"),
            Self::DiscordUser(id) => format!("discord:user:{id}"),
            Self::DiscordChannel(id) => format!("discord:channel:{id}"),
            Self::Ntfy(topic) => format!("ntfy:{topic}"),
            Self::Web(browser) => format!("web:{browser}"),
        }
    }
}

impl FromStr for Place {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || {
            PlaceError(format!(
                "`{text}` is no place; write telegram:ID, telegram:CHAT/TOPIC, discord:user:ID, discord:channel:ID or ntfy:TOPIC"
            ))
        };
        let (channel, rest) = text.split_once(':').ok_or_else(unknown)?;
        match channel {
            "telegram" => {
                let (chat, topic) = match rest.split_once('/') {
                    Some((chat, topic)) => (chat, Some(topic)),
                    None => (rest, None),
                };
                let chat: i64 = number(chat, text, "chat id")?;
                if chat == 0 {
                    return Err(PlaceError(format!("`{text}`: 0 is no chat id")));
                }
                let topic = topic.map(|topic| number::<i64>(topic, text, "topic id")).transpose()?;
                if topic.is_some_and(|topic| topic < 1) {
                    return Err(PlaceError(format!("`{text}`: a topic id is a positive number")));
                }
                Ok(Self::Telegram { chat, topic })
            }
            "discord" => match rest.split_once(':') {
                Some(("user", id)) => Ok(Self::DiscordUser(snowflake(id, text)?)),
                Some(("channel", id)) => Ok(Self::DiscordChannel(snowflake(id, text)?)),
                _ => Err(PlaceError(format!("`{text}` is no place; write discord:user:ID or discord:channel:ID"))),
            },
            "ntfy" => {
                let fits = !rest.is_empty() && rest.len() <= 64;
                if fits && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_') {
                    Ok(Self::Ntfy(rest.to_owned()))
                } else {
                    Err(PlaceError("an ntfy topic is 1 to 64 letters, digits, - or _".to_owned()))
                }
            }
            "web" if !rest.is_empty() && rest.len() <= 64 && rest.bytes().all(|b| b.is_ascii_alphanumeric()) => {
                Ok(Self::Web(rest.to_owned()))
            }
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ntfy(topic) => write!(f, "ntfy:#{:08x}", digest(topic)),
            other => f.write_str(&other.address()),
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({self})")
    }
}

impl Serialize for Place {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.address())
    }
}

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// One message on a platform, as the platform names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MessageRef {
    /// The chat or channel the message is in. For a Discord person this is the channel of the direct messages.
    pub chat: String,
    /// The message's id there.
    pub id: String,
}

/// A person who presses, as the platform names them. The text form is `telegram:ID`, `discord:ID` or `owner`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Actor {
    /// A Telegram user.
    Telegram(i64),
    /// A Discord user.
    Discord(u64),
    /// The account's own person, known by what only that person was given: a page's session, a notification's action.
    Owner,
}

impl FromStr for Actor {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some(("telegram", id)) => {
                let id: i64 = number(id, text, "user id")?;
                if id > 0 {
                    Ok(Self::Telegram(id))
                } else {
                    Err(PlaceError(format!("`{text}`: a person's id is a positive number")))
                }
            }
            Some(("discord", id)) => Ok(Self::Discord(snowflake(id, text)?)),
            None if text == "owner" => Ok(Self::Owner),
            _ => Err(PlaceError(format!("`{text}` is no person; write telegram:ID or discord:ID"))),
        }
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Telegram(id) => write!(f, "telegram:{id}"),
            Self::Discord(id) => write!(f, "discord:{id}"),
            Self::Owner => f.write_str("owner"),
        }
    }
}

impl Serialize for Actor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Actor {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

fn number<T: FromStr>(digits: &str, whole: &str, what: &str) -> Result<T, PlaceError> {
    digits.parse().map_err(|_| PlaceError(format!("`{whole}`: `{digits}` is no {what}")))
}

fn snowflake(digits: &str, whole: &str) -> Result<u64, PlaceError> {
    let id: u64 = number(digits, whole, "Discord id")?;
    if id == 0 { Err(PlaceError(format!("`{whole}`: 0 is no Discord id"))) } else { Ok(id) }
}

/// FNV-1a: enough to tell two topics apart in a log, too little to guess one.
fn digest(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_people_round_trip() {
        for text in
            ["telegram:123", "telegram:-1001234567890/77", "discord:user:42", "discord:channel:42", "ntfy:a-b_9"]
        {
            let place: Place = text.parse().expect(text);
            assert_eq!(place.address(), text);
        }
        assert_eq!("telegram:007".parse::<Actor>(), Ok(Actor::Telegram(7)), "ids are numbers");
        for text in
            ["", "telegram:", "telegram:x", "telegram:0", "telegram:1/0", "discord:42", "ntfy:", "ntfy:a b", "mail:x"]
        {
            assert!(text.parse::<Place>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_topic_never_reaches_a_log() {
        let place: Place = "ntfy:my-secret-topic".parse().expect("a place");
        assert!(!format!("{place} {place:?}").contains("secret"));
    }
}
