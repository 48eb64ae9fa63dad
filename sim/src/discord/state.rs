//! What can be seen of the simulated Discord: people, channels, messages, interactions, the log.
//!
//! Everything here is plain data that a test reads under the server's lock; nothing here changes anything.

mod interaction;
mod log;
mod message;
mod places;

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use super::id::Id;

pub use self::{
    interaction::{Callback, CallbackKind, Cause, Interaction},
    log::{Counts, Request, Violation},
    message::{Button, Message},
    places::{Access, Channel, ChannelKind, Dms, User},
};

/// Everything that can be seen.
#[derive(Debug)]
pub struct State {
    pub(super) bot: Id,
    pub(super) guild: Id,
    pub(super) users: HashMap<Id, User>,
    pub(super) channels: HashMap<Id, Channel>,
    pub(super) messages: HashMap<Id, Message>,
    pub(super) interactions: HashMap<Id, Interaction>,
    pub(super) commands: Vec<Value>,
    pub(super) requests: VecDeque<Request>,
    pub(super) violations: Vec<Violation>,
    pub(super) counts: Counts,
}

impl State {
    /// The bot's own user id.
    #[must_use]
    pub fn bot(&self) -> Id {
        self.bot
    }

    /// The one guild.
    #[must_use]
    pub fn guild(&self) -> Id {
        self.guild
    }

    /// A person.
    #[must_use]
    pub fn user(&self, id: Id) -> Option<&User> {
        self.users.get(&id)
    }

    /// All people, in no order.
    pub fn users(&self) -> impl Iterator<Item = &User> {
        self.users.values()
    }

    /// A channel.
    #[must_use]
    pub fn channel(&self, id: Id) -> Option<&Channel> {
        self.channels.get(&id)
    }

    /// All channels, in no order.
    pub fn channels(&self) -> impl Iterator<Item = &Channel> {
        self.channels.values()
    }

    /// The direct-message channel with a person, once it was opened.
    #[must_use]
    pub fn dm_with(&self, user: Id) -> Option<&Channel> {
        self.channels.get(&dm_id(user)).filter(|channel| channel.kind == ChannelKind::Dm { user })
    }

    /// A message, deleted or not.
    #[must_use]
    pub fn message(&self, id: Id) -> Option<&Message> {
        self.messages.get(&id)
    }

    /// The messages of a channel that everybody in it sees, oldest first, without deleted ones.
    #[must_use]
    pub fn messages_in(&self, channel: Id) -> impl DoubleEndedIterator<Item = &Message> {
        let ids = self.channels.get(&channel).map(|channel| channel.messages.as_slice()).unwrap_or_default();
        let messages = ids.iter().filter_map(|id| self.messages.get(id));
        messages.filter(|message| !message.deleted && message.only_for.is_none())
    }

    /// The messages of the bot in the direct-message channel with a person, oldest first.
    #[must_use]
    pub fn messages_to(&self, user: Id) -> impl DoubleEndedIterator<Item = &Message> {
        let bot = self.bot;
        let channel = self.dm_with(user).map_or(dm_id(user), |channel| channel.id);
        self.messages_in(channel).filter(move |message| message.author == bot)
    }

    /// An interaction.
    #[must_use]
    pub fn interaction(&self, id: Id) -> Option<&Interaction> {
        self.interactions.get(&id)
    }

    /// All interactions, in no order.
    pub fn interactions(&self) -> impl Iterator<Item = &Interaction> {
        self.interactions.values()
    }

    /// What the person of an interaction was shown privately: the texts of ephemeral responses, oldest first.
    #[must_use]
    pub fn shown_privately(&self, interaction: Id) -> Vec<String> {
        let Some(interaction) = self.interactions.get(&interaction) else { return Vec::new() };
        let first = interaction.callback.iter().filter_map(|callback| callback.message);
        first
            .chain(interaction.follow_ups.iter().copied())
            .filter_map(|id| self.messages.get(&id))
            .filter(|message| message.only_for.is_some() && !message.thinking && !message.deleted)
            .map(Message::text)
            .collect()
    }

    /// The registered commands, as they were sent.
    #[must_use]
    pub fn commands(&self) -> &[Value] {
        &self.commands
    }

    /// The request log, oldest first.
    #[must_use]
    pub fn requests(&self) -> impl DoubleEndedIterator<Item = &Request> {
        self.requests.iter()
    }

    /// What a careful client would not have done, in the order seen.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// The counters.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

/// The id of the direct-message channel with a person: derived, so that it is stable and known before it is opened.
pub(super) fn dm_id(user: Id) -> Id {
    Id::new(user.number() ^ (1 << 61))
}
