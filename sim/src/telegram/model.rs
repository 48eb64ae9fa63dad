//! What exists on the simulated platform, as tests and the demo page see it.
//!
//! The serialised form of buttons and entities is the Bot API's own, so that they go into answers unchanged.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

/// Somebody with an account: a person or the bot itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct User {
    /// The id, up to 52 bits.
    pub id: i64,
    /// Whether this is a bot.
    pub is_bot: bool,
    /// The name shown in the chat.
    pub first_name: String,
    /// The name without `@`, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// The app's language as an IETF tag, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language_code: Option<String>,
}

/// What kind of chat it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatKind {
    /// One person and the bot; the chat's id is the person's.
    Private,
    /// A basic group, with a negative id.
    Group,
    /// A supergroup, with an id from -1000000000001 down.
    Supergroup,
}

/// What the bot may do in a chat, and how the platform refuses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Everything works.
    Open,
    /// The person never wrote to the bot first.
    NeverStarted,
    /// The person blocked the bot.
    Blocked,
    /// The person's account is gone.
    Deactivated,
    /// The bot was removed from the group.
    Kicked,
    /// The bot was never in the group.
    NotMember,
    /// The group no longer exists.
    Deleted,
    /// The bot is in the group and may not write there.
    Muted,
}

/// A member's standing in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// Owns the group.
    Creator,
    /// May administer it.
    Administrator,
    /// An ordinary member.
    Member,
    /// Has left.
    Left,
    /// Was removed.
    Kicked,
}

/// One topic of a forum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Topic {
    /// The name shown in the list of topics.
    pub name: String,
    /// Whether nobody may write there.
    pub closed: bool,
}

/// A chat with everything in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Chat {
    /// The id, as the bot uses it.
    pub id: i64,
    /// What kind of chat it is.
    pub kind: ChatKind,
    /// The group's title, or the person's first name.
    pub title: String,
    /// Whether the supergroup has topics.
    pub forum: bool,
    /// The topics by thread id; the general topic (1) is not among them.
    pub topics: BTreeMap<i64, Topic>,
    /// Who is or was in the group, besides the bot.
    pub members: BTreeMap<i64, Standing>,
    /// What the bot may do here.
    pub access: Access,
    /// The supergroup that took this group's place.
    pub migrated_to: Option<i64>,
    /// Messages by id, deleted ones too.
    pub messages: BTreeMap<i64, Message>,
    #[serde(skip)]
    pub(super) next_message: i64,
}

/// Who wrote a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sender {
    /// The bot under test.
    Bot,
    /// A person, by id.
    User(i64),
}

/// One message of a chat.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, as on the platform")]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Message {
    /// The id inside the chat. Supergroups count for themselves, all other chats share one counter.
    pub id: i64,
    /// The topic it is in, where it is in one.
    pub thread: Option<i64>,
    /// Who wrote it.
    pub from: Sender,
    /// When it was sent, since the epoch.
    pub sent: Duration,
    /// When it was last edited, since the epoch.
    pub edited: Option<Duration>,
    /// The text after entities, as people read it.
    pub text: String,
    /// Formatting, with offsets and lengths in UTF-16 units.
    pub entities: Vec<Entity>,
    /// The inline keyboard's rows; empty where there is none.
    pub keyboard: Vec<Vec<Button>>,
    /// A forced reply or a custom keyboard, as it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_markup: Option<Value>,
    /// The message this one answers.
    pub reply_to: Option<i64>,
    /// Whether it was sent without a sound.
    pub silent: bool,
    /// Whether it may not be forwarded.
    pub protected: bool,
    /// Whether links in it get a preview.
    pub link_preview: bool,
    /// How often it was edited with an effect.
    pub edits: u32,
    /// Whether somebody deleted it.
    pub deleted: bool,
}

impl Message {
    /// The first button with exactly that label.
    #[must_use]
    pub fn button(&self, label: &str) -> Option<&Button> {
        self.buttons().find(|button| button.text == label)
    }

    /// All buttons, row by row.
    pub fn buttons(&self) -> impl Iterator<Item = &Button> {
        self.keyboard.iter().flatten()
    }

    /// Whether a button is there that would send a callback.
    #[must_use]
    pub fn is_live(&self) -> bool {
        !self.deleted && self.buttons().any(|button| button.callback_data().is_some())
    }
}

/// Formatting of a part of a text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entity {
    /// The kind, such as `bold`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where it begins, in UTF-16 units.
    pub offset: usize,
    /// How long it is, in UTF-16 units.
    pub length: usize,
    /// Whatever the kind needs besides, such as `url`.
    #[serde(flatten)]
    pub more: BTreeMap<String, Value>,
}

/// One button of an inline keyboard.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Button {
    /// The label.
    pub text: String,
    /// `danger`, `success` or `primary`; none is the app's own style.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub style: Option<String>,
    /// The emoji before the label, by id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon_custom_emoji_id: Option<String>,
    /// What a press does.
    #[serde(flatten)]
    pub action: Action,
}

impl Button {
    /// The data a press sends to the bot, 1 to 64 bytes.
    #[must_use]
    pub fn callback_data(&self) -> Option<&str> {
        match &self.action {
            Action::CallbackData(data) => Some(data),
            Action::Url(_) | Action::Other(_) => None,
        }
    }

    /// The address a press opens.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        match &self.action {
            Action::Url(url) => Some(url),
            Action::CallbackData(_) | Action::Other(_) => None,
        }
    }
}

/// What a press of a button does.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Sends a callback query with this data.
    CallbackData(String),
    /// Opens this address; the bot hears nothing.
    Url(String),
    /// Another action of the Bot API, under its own name.
    #[serde(untagged)]
    Other(BTreeMap<String, Value>),
}

/// What the bot answered to one press.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallbackAnswer {
    /// The callback query's id.
    pub callback: String,
    /// Who pressed.
    pub user: i64,
    /// In which chat.
    pub chat: i64,
    /// On which message.
    pub message: i64,
    /// The sentence shown, 0 to 200 characters; empty shows nothing.
    pub text: String,
    /// Whether it is shown as an alert that must be closed.
    pub alert: bool,
    /// When the press was made, since the epoch.
    pub pressed: Duration,
    /// When the answer came, since the epoch.
    pub answered: Duration,
}

/// One call of the server's log.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Request {
    /// Counts up from 1.
    pub number: u64,
    /// When it came, since the epoch.
    pub at: Duration,
    /// The method as the documentation writes it, or as it came where it is unknown.
    pub method: String,
    /// The parameters; from a form or a query string every value is a text.
    pub params: serde_json::Map<String, Value>,
    /// Whether the parameters came as JSON.
    pub json: bool,
    /// The chat it is about, where that is known.
    pub chat: Option<i64>,
    /// The HTTP status that was answered; none while it waits, and none where the connection was cut or never answered.
    pub status: Option<u16>,
    /// The description of a refusal.
    pub refused: Option<String>,
}

/// A request that the real server lets pass and that the documentation does not allow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The number of the request in the log.
    pub request: u64,
    /// The method.
    pub method: String,
    /// Where in the parameters, such as `reply_markup.inline_keyboard[0][1].colour`.
    pub path: String,
    /// What is wrong there.
    pub problem: String,
}

/// The webhook that is set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Webhook {
    /// Where updates are posted.
    pub url: String,
    /// The value of the secret header.
    #[serde(skip)]
    pub secret: Option<String>,
    /// How many deliveries run side by side, 1 to 100.
    pub max_connections: i64,
    /// When the last delivery failed, since the epoch, and how.
    pub last_error: Option<(Duration, String)>,
}

/// Everything a page needs to show the platform.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct View {
    /// The bot under test.
    pub bot: User,
    /// The people.
    pub users: Vec<User>,
    /// The chats, by id; each with its messages.
    pub chats: Vec<Chat>,
    /// The answers to presses, oldest first.
    pub answers: Vec<CallbackAnswer>,
}
