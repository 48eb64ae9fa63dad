//! Turns, sent as another client of the conversation's owner.

use asks::ask::Surface;
use serde_json::{Value, json};

use super::Refused;
use crate::terreno::Terreno;
use crate::terreno::body::{self, Shape, TurnCall};
use crate::terreno::records::Via;
use crate::terreno::reply::{Body, Reply};
use crate::terreno::turn::Sender;

/// The reply to a turn, as the HTTP route would send it (without its `requestId`).
#[derive(Debug, Clone, PartialEq)]
pub struct TurnReply {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Value,
}

impl TurnReply {
    /// The reply's text; empty when there is none.
    #[must_use]
    pub fn text(&self) -> &str {
        self.body.pointer("/data/text").and_then(Value::as_str).unwrap_or_default()
    }

    /// The agent's error.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        self.body.pointer("/data/error").and_then(Value::as_str)
    }

    /// The tool call id of the ask the conversation now waits on.
    #[must_use]
    pub fn pending(&self) -> Option<&str> {
        self.body.pointer("/data/pendingAsk/toolCallId").and_then(Value::as_str)
    }

    /// The conversation.
    #[must_use]
    pub fn history_id(&self) -> &str {
        self.body.pointer("/data/historyId").and_then(Value::as_str).unwrap_or_default()
    }
}

impl Terreno {
    /// Sends a message and waits for the reply.
    ///
    /// # Errors
    ///
    /// When there is no such conversation.
    pub async fn prompt(&self, history_id: &str, text: &str, surface: Surface) -> Result<TurnReply, Refused> {
        self.send(history_id, TurnCall { shape: Shape::Prompt(text.to_owned()), surface }).await
    }

    /// Presses a button of the ask the conversation waits on, and waits for the reply. When nothing waits, the reply is the
    /// 409 of a stale ask.
    ///
    /// # Errors
    ///
    /// When there is no such conversation.
    pub async fn press(&self, history_id: &str, button_id: &str) -> Result<TurnReply, Refused> {
        let tool_call_id = self.waiting(history_id);
        let shape = Shape::Button { tool_call_id, button_id: button_id.to_owned() };
        self.send(history_id, TurnCall { shape, surface: Surface::Full }).await
    }

    /// Answers the ask the conversation waits on with a full envelope (`{"action": ...}`), and waits for the reply. A
    /// `toolCallId` in the envelope names another ask than the one that waits.
    ///
    /// # Errors
    ///
    /// When there is no such conversation.
    pub async fn answer(&self, history_id: &str, envelope: Value) -> Result<TurnReply, Refused> {
        let mut envelope = envelope;
        if let Some(object) = envelope.as_object_mut()
            && !object.contains_key("toolCallId")
        {
            object.insert("toolCallId".to_owned(), json!(self.waiting(history_id)));
        }
        match body::read(&json!({"askResponse": envelope})) {
            Ok(call) => self.send(history_id, call).await,
            Err(fields) => Ok(TurnReply::of(Reply::body_invalid(&fields))),
        }
    }

    fn waiting(&self, history_id: &str) -> String {
        let waiting = self.silently(|state| state.pending_in(history_id));
        waiting.map_or_else(|| "call_none".to_owned(), |ask| ask.tool_call_id)
    }

    async fn send(&self, history_id: &str, call: TurnCall) -> Result<TurnReply, Refused> {
        let now = self.now();
        let begun = self.change(|state| {
            let history = state.history(history_id).ok_or_else(|| Refused::NoConversation(history_id.to_owned()))?;
            let index = history.index;
            let sender = Sender { user_id: history.user_id.clone(), via: Via::App, has_key: true };
            Ok(state.begin(&sender, index, call, now))
        })?;
        Ok(TurnReply::of(match begun {
            Ok(begun) => self.run(begun).await,
            Err(refusal) => refusal,
        }))
    }
}

impl TurnReply {
    fn of(reply: Reply) -> Self {
        let body = match reply.body {
            Body::Json(body) => body,
            Body::Empty | Body::Open(_) | Body::Html(_) => Value::Null,
        };
        Self { status: reply.status, body }
    }
}
