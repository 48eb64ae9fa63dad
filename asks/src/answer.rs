//! Answers, and the three bodies that `turn` takes.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ask::Surface;
use crate::ids::{ButtonId, ToolCallId};

/// The answer envelope: what a person answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "lowercase")]
pub enum AskResponse {
    /// Answered; `content` is the kind's answer.
    Accept {
        /// The kind's answer, such as `{"confirmed": true}`.
        content: Map<String, Value>,
    },
    /// Skipped.
    Decline,
    /// Dropped.
    Cancel {
        /// Why, at most 200 code points.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

impl AskResponse {
    /// Reads an envelope, skipping keys it does not know.
    ///
    /// # Errors
    /// When it has no known `action`, or an `accept` without a `content` object.
    pub fn read(envelope: &Value) -> Result<Self, serde_json::Error> {
        Self::deserialize(envelope)
    }

    /// The envelope as JSON.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut envelope = Map::new();
        let action = match self {
            Self::Accept { .. } => "accept",
            Self::Decline => "decline",
            Self::Cancel { .. } => "cancel",
        };
        envelope.insert("action".to_owned(), action.into());
        match self {
            Self::Accept { content } => {
                envelope.insert("content".to_owned(), Value::Object(content.clone()));
            }
            Self::Cancel { reason: Some(reason) } => {
                envelope.insert("reason".to_owned(), reason.as_str().into());
            }
            Self::Decline | Self::Cancel { reason: None } => {}
        }
        Value::Object(envelope)
    }
}

/// The body of one `turn`: exactly one of three shapes, and where the person is.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnRequest {
    /// What is sent.
    pub body: TurnBody,
    /// Where the person is. Absent means full.
    pub surface: Option<Surface>,
}

/// What a turn carries.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnBody {
    /// A new message. It cancels the pending ask, if there is one.
    Prompt(String),
    /// A full answer.
    Response {
        /// The ask that is answered.
        ask: ToolCallId,
        /// The answer.
        response: AskResponse,
    },
    /// A pressed button; the host finds its answer on the stored card.
    Button {
        /// The ask that is answered.
        ask: ToolCallId,
        /// The button.
        button: ButtonId,
    },
}

impl TurnRequest {
    /// A new message.
    #[must_use]
    pub fn prompt(text: impl Into<String>) -> Self {
        Self { body: TurnBody::Prompt(text.into()), surface: None }
    }

    /// A full answer to an ask.
    #[must_use]
    pub const fn response(ask: ToolCallId, response: AskResponse) -> Self {
        Self { body: TurnBody::Response { ask, response }, surface: None }
    }

    /// A pressed button.
    #[must_use]
    pub const fn button(ask: ToolCallId, button: ButtonId) -> Self {
        Self { body: TurnBody::Button { ask, button }, surface: None }
    }

    /// The same turn from a surface.
    #[must_use]
    pub fn on(self, surface: Surface) -> Self {
        Self { surface: Some(surface), ..self }
    }
}

/// The body as it travels: keys that do not belong to the shape are left out, never `null`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ask_response: Option<WireResponse<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a ToolCallId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    button_id: Option<&'a ButtonId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    surface: Option<Surface>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireResponse<'a> {
    tool_call_id: &'a ToolCallId,
    #[serde(flatten)]
    response: &'a AskResponse,
}

impl Serialize for TurnRequest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut wire =
            Wire { prompt: None, ask_response: None, tool_call_id: None, button_id: None, surface: self.surface };
        match &self.body {
            TurnBody::Prompt(text) => wire.prompt = Some(text),
            TurnBody::Response { ask, response } => {
                wire.ask_response = Some(WireResponse { tool_call_id: ask, response });
            }
            TurnBody::Button { ask, button } => {
                wire.tool_call_id = Some(ask);
                wire.button_id = Some(button);
            }
        }
        wire.serialize(serializer)
    }
}
