//! People and the places messages are in.

use serde::Serialize;

use crate::discord::id::Id;

/// One person.
#[derive(Clone, Debug, Serialize)]
pub struct User {
    /// The person's id.
    pub id: Id,
    /// The name that is shown.
    pub name: String,
    /// Whether the bot can write to this person.
    pub dms: Dms,
}

/// Whether the bot can write to a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Dms {
    /// It can.
    #[default]
    Open,
    /// The person has closed direct messages: 50007.
    Closed,
    /// Bot and person share no guild: 50278.
    NoMutualGuild,
}

/// One place messages are in.
#[derive(Clone, Debug, Serialize)]
pub struct Channel {
    /// The channel's id.
    pub id: Id,
    /// Its name; empty for direct messages.
    pub name: String,
    /// What kind of place it is.
    pub kind: ChannelKind,
    /// What the bot may do here.
    pub access: Access,
    /// Its messages, oldest first, deleted ones too.
    pub messages: Vec<Id>,
}

/// The kinds of places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum ChannelKind {
    /// Direct messages with one person.
    Dm {
        /// The person.
        user: Id,
    },
    /// A text channel of the guild.
    Text,
    /// A thread in a text channel.
    Thread {
        /// The channel it belongs to.
        parent: Id,
        /// Archived: a press in it never reaches the bot.
        archived: bool,
        /// Locked: the bot cannot post in it once it is archived.
        locked: bool,
    },
}

/// What the bot may do in a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Access {
    /// Read and write.
    #[default]
    Full,
    /// Read only: 50013.
    ReadOnly,
    /// Nothing: 50001.
    None,
}
