//! What goes over the wire beside the library's payloads: keyboards with styles, and tolerant readings of results.

use std::fmt;

use asks::place::{MessageRef, Place};
use serde::Serialize;
use serde_json::Value;
use teloxide::types::{ChatId, MessageId, Recipient, ThreadId};

use super::limits;
use crate::channel::Failure;

/// An inline keyboard, one button per row: side by side they are shortened on phones.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(super) struct Keyboard {
    pub(super) inline_keyboard: Vec<[Button; 1]>,
}

impl Keyboard {
    /// The keyboard as a request carries it: none at all when it is empty, which also takes away an old one in an edit.
    #[must_use]
    pub(super) fn to_send(&self) -> Option<&Self> {
        (!self.inline_keyboard.is_empty()).then_some(self)
    }

    /// Whether one of the buttons opens an address.
    #[must_use]
    pub(super) fn has_link(&self) -> bool {
        self.inline_keyboard.iter().flatten().any(|button| matches!(button.action, Action::Url(_)))
    }
}

/// One button. The library's type has no style (it came with Bot API 9.4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Button {
    pub(super) text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) style: Option<&'static str>,
    #[serde(flatten)]
    pub(super) action: Action,
}

/// What a button does.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub(super) enum Action {
    /// Sends a tap token. A live one is a secret.
    #[serde(rename = "callback_data")]
    Data(String),
    /// Opens an address.
    #[serde(rename = "url")]
    Url(String),
}

impl fmt::Debug for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Data(_) => "Data(..)",
            Self::Url(_) => "Url(..)",
        })
    }
}

/// A payload of the library with a keyboard of ours.
#[derive(Debug, Serialize)]
pub(super) struct WithKeyboard<'a, P> {
    #[serde(flatten)]
    pub(super) payload: P,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reply_markup: Option<&'a Keyboard>,
}

/// A payload of the library with an offset of ours: update ids need more room than the library's type has.
#[derive(Debug, Serialize)]
pub(super) struct WithOffset<P> {
    #[serde(flatten)]
    pub(super) payload: P,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) offset: Option<i64>,
}

/// Where messages go, as requests name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Address {
    /// The chat.
    pub(super) chat: i64,
    /// The thread to name; `None` for the general topic and where there are none.
    pub(super) thread: Option<i32>,
}

impl Address {
    /// The address of a place.
    ///
    /// # Errors
    /// [`Failure::Refused`] for another channel's place, [`Failure::PlaceGone`] for a topic number that none can have.
    pub(super) fn of(place: &Place) -> Result<Self, Failure> {
        let Place::Telegram { chat, topic } = place else {
            return Err(Failure::Refused { why: format!("{place} is not in Telegram") });
        };
        let thread = topic
            .filter(|topic| *topic != limits::GENERAL_TOPIC)
            .map(i32::try_from)
            .transpose()
            .map_err(|_| Failure::PlaceGone { why: "topic numbers are smaller than that".to_owned() })?;
        Ok(Self { chat: *chat, thread })
    }

    /// The chat as the library's payloads name it.
    #[must_use]
    pub(super) const fn recipient(self) -> Recipient {
        Recipient::Id(ChatId(self.chat))
    }

    /// The thread as the library's payloads name it.
    #[must_use]
    pub(super) fn thread_id(self) -> Option<ThreadId> {
        self.thread.map(|thread| ThreadId(MessageId(thread)))
    }
}

/// A message's id as a number, if it is one of Telegram's.
#[must_use]
pub(super) fn message_id(message: &MessageRef) -> Option<MessageId> {
    message.id.parse().ok().map(MessageId)
}

/// What is read of a message that a request made or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sent {
    /// Its id.
    pub(super) id: i32,
    /// The thread it is in.
    pub(super) thread: Option<i64>,
    /// Whether it has an inline keyboard.
    pub(super) keyboard: bool,
}

impl Sent {
    /// Reads a result; `None` when it is no message.
    #[must_use]
    pub(super) fn read(result: &Value) -> Option<Self> {
        let id = result.get("message_id")?.as_i64().and_then(|id| i32::try_from(id).ok())?;
        let keyboard = result.pointer("/reply_markup/inline_keyboard").is_some_and(Value::is_array);
        Some(Self { id, thread: result.get("message_thread_id").and_then(Value::as_i64), keyboard })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_general_topic_is_not_named() {
        let thread = |text: &str| Address::of(&text.parse().unwrap()).map(|address| address.thread);
        assert_eq!(thread("telegram:-1001/1"), Ok(None));
        assert_eq!(thread("telegram:-1001/77"), Ok(Some(77)));
        assert_eq!(thread("telegram:5"), Ok(None));
        assert!(matches!(thread("telegram:-1001/99999999999"), Err(Failure::PlaceGone { .. })));
        assert!(matches!(thread("discord:user:5"), Err(Failure::Refused { .. })));
    }

    #[test]
    fn a_token_does_not_print() {
        let button = Button { text: "x".into(), style: None, action: Action::Data("tok-secret".into()) };
        assert!(!format!("{button:?}").contains("secret"));
    }
}
