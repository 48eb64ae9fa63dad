//! The simulated Discord as a page shows it: a serialisable picture of who sees what at this moment.

use std::time::Duration;

use serde::Serialize;

use super::{
    id::Id,
    state::{Button, Channel, ChannelKind, Message, State},
};

/// What a person would see now.
#[derive(Clone, Debug, Serialize)]
pub struct View {
    /// Whether the bot is connected and READY.
    pub online: bool,
    /// Every channel that has a message, oldest channel first.
    pub channels: Vec<ChannelView>,
    /// How many violations were recorded.
    pub violations: usize,
}

/// One channel.
#[derive(Clone, Debug, Serialize)]
pub struct ChannelView {
    /// The channel's id.
    pub id: Id,
    /// What stands above it: the person's or the channel's name.
    pub title: String,
    /// The person, for direct messages.
    pub user: Option<Id>,
    /// The messages, oldest first.
    pub messages: Vec<MessageView>,
}

/// One message.
#[derive(Clone, Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "a picture for a page, where each of them is shown on its own")]
pub struct MessageView {
    /// The message's id.
    pub id: Id,
    /// Whether the bot wrote it.
    pub from_bot: bool,
    /// The writer's name.
    pub author: String,
    /// The content.
    pub content: String,
    /// The embeds as they were sent.
    pub embeds: Vec<serde_json::Value>,
    /// The buttons, in order.
    pub buttons: Vec<Button>,
    /// Set for a private message: the only person who sees it.
    pub only_for: Option<Id>,
    /// Shows "thinking".
    pub thinking: bool,
    /// Was edited.
    pub edited: bool,
    /// A press on it is being waited for.
    pub waiting: bool,
    /// The last press on it failed: "This interaction failed".
    pub failed: bool,
}

impl State {
    /// The picture at `now`; deleted messages are left out.
    #[must_use]
    pub fn view(&self, now: Duration) -> View {
        let mut channels: Vec<&Channel> = self.channels.values().collect();
        channels.sort_by_key(|channel| (channel.messages.first().copied(), channel.id));
        let channels = channels.into_iter().filter(|channel| !channel.messages.is_empty());
        View {
            online: self.counts.ready > 0,
            channels: channels.map(|channel| self.channel_view(channel, now)).collect(),
            violations: self.violations.len(),
        }
    }

    fn channel_view(&self, channel: &Channel, now: Duration) -> ChannelView {
        let user = match channel.kind {
            ChannelKind::Dm { user } => Some(user),
            ChannelKind::Text | ChannelKind::Thread { .. } => None,
        };
        let person = user.and_then(|user| self.users.get(&user)).map(|user| user.name.clone());
        let messages = channel.messages.iter().filter_map(|id| self.messages.get(id));
        ChannelView {
            id: channel.id,
            title: person.unwrap_or_else(|| channel.name.clone()),
            user,
            messages: messages
                .filter(|message| !message.deleted)
                .map(|message| self.message_view(message, now))
                .collect(),
        }
    }

    fn message_view(&self, message: &Message, now: Duration) -> MessageView {
        let presses = self.interactions.values().filter(|press| press.cause.message() == Some(message.id));
        let last = presses.max_by_key(|press| press.id);
        let from_bot = message.author == self.bot;
        let author = self.users.get(&message.author).map(|user| user.name.clone());
        MessageView {
            id: message.id,
            from_bot,
            author: author.unwrap_or_else(|| "askgate".to_owned()),
            content: message.content.clone(),
            embeds: message.embeds.clone(),
            buttons: message.buttons(),
            only_for: message.only_for,
            thinking: message.thinking,
            edited: message.edits > 0,
            waiting: last.is_some_and(|press| press.callback.is_none() && !press.failed(now)),
            failed: last.is_some_and(|press| press.failed(now)),
        }
    }
}
