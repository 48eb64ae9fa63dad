//! The simple card: short text and up to three buttons, each with the exact answer it sends.
//!
//! Shapes follow Terreno's `simpleCard.schema.json`. Reading is tolerant (unknown fields are skipped, unknown kinds and
//! styles kept as text), so that a card from a newer source still reaches a person.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{ButtonId, ToolCallId};

/// What an ask wants, as an open word: a kind that is not known yet is kept as it came.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Kind {
    /// One or several of the offered options.
    Choice,
    /// Approve or deny one action.
    Confirm,
    /// Edit a draft and send it back.
    Markdown,
    /// A few typed fields.
    Form,
    /// One or several files.
    Files,
    /// A kind this version does not know; its card works all the same.
    Other(String),
}

impl Kind {
    /// The kind's word on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Choice => "choice",
            Self::Confirm => "confirm",
            Self::Markdown => "markdown",
            Self::Form => "form",
            Self::Files => "files",
            Self::Other(word) => word,
        }
    }
}

impl From<&str> for Kind {
    fn from(word: &str) -> Self {
        match word {
            "choice" => Self::Choice,
            "confirm" => Self::Confirm,
            "markdown" => Self::Markdown,
            "form" => Self::Form,
            "files" => Self::Files,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Kind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from(String::deserialize(deserializer)?.as_str()))
    }
}

/// How a button is meant to look; its words carry the meaning, the style only supports them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Style {
    /// One option among others, and whatever this version does not know.
    #[default]
    Default,
    /// The suggested answer.
    Primary,
    /// Approves something that cannot be undone.
    Destructive,
    /// Declines.
    Cancel,
}

impl<'de> Deserialize<'de> for Style {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match String::deserialize(deserializer)?.as_str() {
            "primary" => Self::Primary,
            "destructive" => Self::Destructive,
            "cancel" => Self::Cancel,
            _ => Self::Default,
        })
    }
}

/// One button of a card.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Button {
    /// Its id, unique on the card. Sent back to the source exactly as it came.
    pub id: ButtonId,
    /// What it says, at most 20 UTF-16 units by the specification, anything in practice.
    pub label: String,
    /// How it is meant to look.
    #[serde(default)]
    pub style: Style,
    /// The answer envelope it sends, as the source derived it; `null` when the source left it out.
    #[serde(default)]
    pub response: Value,
}

/// The simple card of an ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Card {
    /// The ask the card belongs to.
    pub tool_call_id: ToolCallId,
    /// What is wanted.
    pub kind: Kind,
    /// The heading, at most 40 UTF-16 units by the specification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The question, at most 140 UTF-16 units by the specification.
    pub text: String,
    /// Up to three buttons by the specification, in the order to show them.
    #[serde(default)]
    pub buttons: Vec<Button>,
    /// Whether the buttons cannot hold every answer, so that the full app is needed.
    #[serde(default)]
    pub handoff: bool,
}

impl Card {
    /// The button with exactly this id, if the card has it.
    #[must_use]
    pub fn button(&self, id: &ButtonId) -> Option<&Button> {
        self.buttons.iter().find(|button| button.id == *id)
    }
}
