//! Interactions: what a person did, and what the bot answered.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::discord::{id::Id, interactions::FIRST_RESPONSE_WITHIN};

/// One interaction and what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct Interaction {
    /// The interaction's id.
    pub id: Id,
    /// Its continuation token.
    #[serde(skip)]
    pub token: String,
    /// What the person did.
    pub cause: Cause,
    /// Who did it.
    pub user: Id,
    /// Where.
    pub channel: Id,
    /// When, since the Unix epoch.
    pub created: Duration,
    /// The event's `data`.
    #[serde(skip)]
    pub(in crate::discord) data: Value,
    /// To how many gateway sessions it was delivered.
    pub delivered: usize,
    /// The first response; `None` means "This interaction failed" once three seconds are over.
    pub callback: Option<Callback>,
    /// Later messages through the interaction's webhook.
    pub follow_ups: Vec<Id>,
    /// First responses that came too late (10062).
    pub too_late: u32,
    /// First responses that came a second time (40060).
    pub repeated: u32,
}

/// What a person did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Cause {
    /// Pressed a button or chose from a select.
    Component {
        /// The message it is on.
        message: Id,
        /// The component's custom id.
        custom_id: String,
        /// What was chosen; `None` for a button.
        values: Option<Vec<String>>,
    },
    /// Used a slash command.
    Command {
        /// Its name.
        name: String,
    },
    /// Sent a form off.
    Modal {
        /// The form's custom id.
        custom_id: String,
        /// The message whose button opened it.
        message: Option<Id>,
        /// The interaction that opened it.
        opened_by: Id,
    },
}

/// The first response to an interaction.
#[derive(Clone, Debug, Serialize)]
pub struct Callback {
    /// What kind of response.
    pub kind: CallbackKind,
    /// How long after the interaction it came.
    pub after: Duration,
    /// Whether it is shown to the person only.
    pub ephemeral: bool,
    /// The message it made (4, 5) or belongs to (6, 7).
    pub message: Option<Id>,
    /// The form it opened (9).
    pub modal: Option<Value>,
}

/// The kinds of first responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum CallbackKind {
    /// 4: a message.
    Message,
    /// 5: a message that follows.
    DeferredMessage,
    /// 6: the message will be edited; nothing is shown.
    DeferredUpdate,
    /// 7: the message is edited.
    Update,
    /// 9: a form.
    Modal,
}

impl Interaction {
    /// Whether the person reads "This interaction failed": three seconds have passed without a first response.
    #[must_use]
    pub fn failed(&self, now: Duration) -> bool {
        self.callback.is_none() && now.saturating_sub(self.created) > FIRST_RESPONSE_WITHIN
    }
}

impl Cause {
    /// The message the person acted on.
    #[must_use]
    pub fn message(&self) -> Option<Id> {
        match self {
            Self::Component { message, .. } => Some(*message),
            Self::Modal { message, .. } => *message,
            Self::Command { .. } => None,
        }
    }
}

impl CallbackKind {
    /// The platform's number for it.
    #[must_use]
    pub fn number(self) -> u64 {
        match self {
            Self::Message => 4,
            Self::DeferredMessage => 5,
            Self::DeferredUpdate => 6,
            Self::Update => 7,
            Self::Modal => 9,
        }
    }

    pub(in crate::discord) fn from_number(number: u64) -> Option<Self> {
        [Self::Message, Self::DeferredMessage, Self::DeferredUpdate, Self::Update, Self::Modal]
            .into_iter()
            .find(|kind| kind.number() == number)
    }
}
