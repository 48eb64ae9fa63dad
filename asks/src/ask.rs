//! Asks as a Terreno host lists, returns and stores them.
//!
//! These types are what was understood, and serialise to exactly the documented shapes. Bytes from a host are read by
//! [`crate::wire`], which forgives what can be forgiven.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::card::{Card, Kind};
use crate::ids::{ConversationId, ToolCallId};

/// Where the person is: it decides what the agent may ask in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Surface {
    /// A full client: every kind.
    #[default]
    Full,
    /// A small screen: only asks whose buttons show every option.
    Compact,
}

impl Surface {
    /// The surface's word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Compact => "compact",
        }
    }
}

/// One entry of the list of pending asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingAsk {
    /// When the agent asked: ISO 8601, UTC, milliseconds, `Z`. Empty when the host left it out.
    #[serde(default)]
    pub created: String,
    /// The conversation that waits.
    #[serde(rename = "historyId")]
    pub conversation: ConversationId,
    /// What is wanted.
    pub kind: Kind,
    /// The card to show.
    #[serde(rename = "simple")]
    pub card: Card,
    /// The conversation's title, once it has one. The ask's own heading is on the card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The ask's id within its conversation.
    #[serde(rename = "toolCallId")]
    pub ask: ToolCallId,
}

/// The ask a turn paused on, as its reply carries it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AskSummary {
    /// What is wanted.
    pub kind: Kind,
    /// The card to show.
    #[serde(rename = "simple")]
    pub card: Card,
    /// The ask's id within its conversation.
    #[serde(rename = "toolCallId")]
    pub ask: ToolCallId,
}

/// How a turn ended.
///
/// With `error` and the `pending_ask` that was just answered, the answer was undone. With `error` alone it was kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnResult {
    /// The conversation.
    #[serde(rename = "historyId")]
    pub conversation: ConversationId,
    /// What the agent said, normally markdown; empty when it only asked.
    #[serde(default)]
    pub text: String,
    /// The conversation's title, once it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The ask the turn paused on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_ask: Option<AskSummary>,
    /// What went wrong after the turn had started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A conversation as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct History {
    /// The conversation.
    pub id: ConversationId,
    /// Its title, once it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What happened in it, oldest first.
    #[serde(rename = "prompts", default)]
    pub rows: Vec<Row>,
    /// The ask it waits on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_ask: Option<StoredAsk>,
}

impl History {
    /// The answer that is recorded for an ask, as the envelope that was sent: `{"action": ...}`.
    ///
    /// `None` when there is no answer row. An approval's later row with the tool's output is no answer.
    #[must_use]
    pub fn answer(&self, ask: &ToolCallId) -> Option<&Value> {
        self.rows
            .iter()
            .rev()
            .filter(|row| row.kind == RowKind::ToolResult && row.ask_id.as_ref() == Some(ask))
            .filter_map(|row| row.result.as_ref())
            .find(|result| result.get("action").is_some_and(Value::is_string))
    }

    /// The state of an ask's own row, if the conversation has one.
    #[must_use]
    pub fn status(&self, ask: &ToolCallId) -> Option<&AskStatus> {
        self.rows
            .iter()
            .rev()
            .filter(|row| row.ask_id.as_ref() == Some(ask))
            .find_map(|row| row.ask.as_ref().map(|mark| &mark.status))
    }
}

/// One row of a conversation. Which fields it has depends on its kind.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// What kind of row it is.
    #[serde(rename = "type", default)]
    pub kind: RowKind,
    /// What was said, or a line about the tool.
    #[serde(default)]
    pub text: String,
    /// Attachments, as they came.
    #[serde(default)]
    pub content: Vec<Value>,
    /// The model that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The tool: `ask_<kind>` for an ask, the host's tool for an approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// The call that the row belongs to.
    #[serde(rename = "toolCallId", default, skip_serializing_if = "Option::is_none")]
    pub ask_id: Option<ToolCallId>,
    /// A tool call's arguments; for an ask, its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Value>,
    /// A tool's result; for an ask, the answer envelope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Marks the call row of an ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<AskMark>,
}

/// What marks a row as an ask's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskMark {
    /// What was wanted.
    pub kind: Kind,
    /// How far it got.
    pub status: AskStatus,
    /// `approval` when the server itself asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// The ask a conversation waits on, as stored: with the whole input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredAsk {
    /// The ask's id within its conversation.
    #[serde(rename = "toolCallId")]
    pub ask: ToolCallId,
    /// What is wanted.
    pub kind: Kind,
    /// The ask as it was asked; see [`crate::input`].
    #[serde(default)]
    pub input: Value,
    /// Its card.
    #[serde(rename = "simple")]
    pub card: Card,
    /// When the agent asked: ISO 8601, UTC. Empty when the host left it out.
    #[serde(default)]
    pub created: String,
    /// `approval` when the server itself asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Only for an approval: its id, equal to the ask's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<String>,
    /// Only for an approval: the host's tool that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
}

/// An enum of the words that are known, which keeps any other word as it came.
macro_rules! open_word {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
            /// A word this version does not know.
            Other(String),
        }

        impl $name {
            /// The word on the wire.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)+
                    Self::Other(word) => word,
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    $($word => Self::$variant,)+
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Ok(Self::from(String::deserialize(deserializer)?.as_str()))
            }
        }
    };
}

open_word! {
    /// What kind of row a conversation's row is.
    RowKind {
        /// The person.
        User = "user",
        /// The agent.
        Assistant = "assistant",
        /// Instructions.
        System = "system",
        /// A tool was called; an ask is one, too.
        ToolCall = "tool-call",
        /// What came of it; an answer is one, too.
        ToolResult = "tool-result",
    }
}

impl Default for RowKind {
    fn default() -> Self {
        Self::Other(String::new())
    }
}

open_word! {
    /// How far an ask got.
    AskStatus {
        /// It waits.
        Pending = "pending",
        /// It was answered, a decline included.
        Answered = "answered",
        /// It was dropped.
        Cancelled = "cancelled",
    }
}
