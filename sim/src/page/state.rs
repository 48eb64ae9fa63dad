//! One picture of the three systems, as the page draws it.
//!
//! It leaves out what a person could not see: callback data, custom ids, credentials, and the bytes of files.

use std::cmp::Reverse;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::Site;
use crate::discord;
use crate::telegram;
use crate::terreno::{ConversationView, TurnOutcome, TurnRecord, Via};

/// How many turns and callback answers the page is told.
const RECENT: usize = 60;

/// Everything the page shows.
#[derive(Debug, Serialize)]
pub(super) struct Snapshot {
    app: App,
    telegram: TelegramPane,
    discord: DiscordPane,
    taps: Vec<Tap>,
}

/// A tap that was made on this page.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tap {
    /// `telegram` or `discord`.
    pub(super) place: &'static str,
    /// The message it was made on.
    pub(super) message: String,
    /// What the button said.
    pub(super) label: String,
    /// When, milliseconds since the epoch.
    pub(super) at_ms: u64,
}

#[derive(Debug, Serialize)]
struct App {
    user: String,
    /// The most recently opened first.
    conversations: Vec<ConversationView>,
    turns: Vec<TurnView>,
}

/// A turn without what it carried, which may be whole files.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TurnView {
    at_ms: u64,
    history_id: String,
    tool_call_id: Option<String>,
    prompt: Option<String>,
    via: Via,
    outcome: TurnOutcome,
}

#[derive(Debug, Serialize)]
struct TelegramPane {
    bot: telegram::User,
    messages: Vec<TelegramMessage>,
    answers: Vec<TelegramAnswer>,
    /// How often the bot said that it is typing.
    typing: usize,
}

#[derive(Debug, Serialize)]
struct TelegramMessage {
    id: i64,
    mine: bool,
    text: String,
    entities: Vec<telegram::Entity>,
    keyboard: Vec<Vec<TelegramButton>>,
    /// Seconds since the epoch.
    sent: u64,
    edited: bool,
}

#[derive(Debug, Serialize)]
struct TelegramButton {
    text: String,
    style: Option<String>,
    url: Option<String>,
}

#[derive(Debug, Serialize)]
struct TelegramAnswer {
    callback: String,
    text: String,
    alert: bool,
}

#[derive(Debug, Serialize)]
struct DiscordPane {
    online: bool,
    channel: Option<discord::Id>,
    messages: Vec<DiscordMessage>,
}

#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "a picture for a page, where each of them is shown on its own")]
struct DiscordMessage {
    id: discord::Id,
    bot: bool,
    author: String,
    content: String,
    embeds: Vec<Value>,
    buttons: Vec<DiscordButton>,
    private: bool,
    thinking: bool,
    edited: bool,
    waiting: bool,
    failed: bool,
}

#[derive(Debug, Serialize)]
struct DiscordButton {
    label: String,
    style: u64,
    url: Option<String>,
    disabled: bool,
}

impl Site {
    /// The picture now.
    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot { app: self.app(), telegram: self.telegram(), discord: self.discord(), taps: self.taps() }
    }

    /// The time of the simulated systems, milliseconds since the epoch.
    pub(super) fn now_ms(&self) -> u64 {
        millis(self.options.discord.now())
    }

    fn app(&self) -> App {
        let user = self.options.user.clone();
        let (mut conversations, turns) = self.options.terreno.read(|state| {
            let turns = state.turns();
            let recent = turns.iter().skip(turns.len().saturating_sub(RECENT));
            (state.conversations(&user), recent.map(TurnView::of).collect())
        });
        conversations.sort_by(|one, other| {
            Reverse(one.created_ms).cmp(&Reverse(other.created_ms)).then_with(|| other.history_id.cmp(&one.history_id))
        });
        App { user, conversations, turns }
    }

    fn telegram(&self) -> TelegramPane {
        let (telegram, chat) = (&self.options.telegram, self.options.telegram_chat);
        let answers = telegram.answers();
        let own = answers.iter().filter(|answer| answer.chat == chat && answer.user == self.options.telegram_user);
        let typing =
            telegram.chat_actions().iter().filter(|(place, action)| *place == chat && action == "typing").count();
        TelegramPane {
            bot: telegram.view().bot,
            messages: telegram.messages(chat).into_iter().map(TelegramMessage::of).collect(),
            answers: own.rev().take(RECENT).map(TelegramAnswer::of).collect(),
            typing,
        }
    }

    fn discord(&self) -> DiscordPane {
        let (discord, user) = (&self.options.discord, self.options.discord_user);
        let view = discord.view();
        let channel = view.channels.into_iter().find(|channel| channel.user == Some(user));
        let mut pane = DiscordPane { online: view.online, channel: None, messages: Vec::new() };
        if let Some(channel) = channel {
            pane.channel = Some(channel.id);
            let seen = channel.messages.into_iter().filter(|message| message.only_for.is_none_or(|only| only == user));
            pane.messages = seen.map(DiscordMessage::of).collect();
        }
        pane
    }
}

impl TurnView {
    fn of(turn: &TurnRecord) -> Self {
        Self {
            at_ms: turn.at_ms,
            history_id: turn.history_id.clone(),
            tool_call_id: turn.tool_call_id.clone(),
            prompt: turn.prompt.clone(),
            via: turn.via,
            outcome: turn.outcome,
        }
    }
}

impl TelegramMessage {
    fn of(message: telegram::Message) -> Self {
        let button = |button: &telegram::Button| TelegramButton {
            text: button.text.clone(),
            style: button.style.clone(),
            url: button.url().map(str::to_owned),
        };
        Self {
            id: message.id,
            mine: matches!(message.from, telegram::Sender::User(_)),
            keyboard: message.keyboard.iter().map(|row| row.iter().map(button).collect()).collect(),
            text: message.text,
            entities: message.entities,
            sent: message.sent.as_secs(),
            edited: message.edited.is_some(),
        }
    }
}

impl TelegramAnswer {
    fn of(answer: &telegram::CallbackAnswer) -> Self {
        Self { callback: answer.callback.clone(), text: answer.text.clone(), alert: answer.alert }
    }
}

impl DiscordMessage {
    fn of(message: discord::MessageView) -> Self {
        let button = |button: discord::Button| DiscordButton {
            label: button.label,
            style: button.style,
            url: button.url,
            disabled: button.disabled,
        };
        Self {
            id: message.id,
            bot: message.from_bot,
            author: message.author,
            content: message.content,
            embeds: message.embeds,
            buttons: message.buttons.into_iter().map(button).collect(),
            private: message.only_for.is_some(),
            thinking: message.thinking,
            edited: message.edited,
            waiting: message.waiting,
            failed: message.failed,
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
