//! Faults on order: what a test makes the server do to the next calls.

use std::time::Duration;

use serde_json::json;

use super::refusal::Refusal;

/// How a call ends without the server's own answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// Answers with this status and body, whatever they are.
    Reply {
        /// The HTTP status.
        status: u16,
        /// The body; sent as JSON where it begins with a brace, as HTML otherwise.
        body: String,
    },
    /// Answers 429 with these seconds, in body and header.
    TooManyRequests(u64),
    /// Never answers; the connection stays open until the client gives up.
    Silence,
    /// Closes the connection without a byte.
    Cut,
}

impl Fate {
    /// The server's own form of a refusal, such as 403 and `Forbidden: bot was blocked by the user`.
    #[must_use]
    pub fn refusal(code: u16, description: &str) -> Self {
        let body = json!({"ok": false, "error_code": code, "description": description}).to_string();
        Self::Reply { status: code, body }
    }

    /// Status and body where the fate is an answer.
    pub(super) fn reply(&self) -> Option<(u16, Option<u64>, String)> {
        match self {
            Self::Reply { status, body } => Some((*status, None, body.clone())),
            Self::TooManyRequests(seconds) => {
                Some((429, Some(*seconds), Refusal::too_many(*seconds).body().to_string()))
            }
            Self::Silence | Self::Cut => None,
        }
    }
}

/// What happens to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Effect {
    /// It is not carried out.
    Before(Fate),
    /// It is carried out, and the answer is lost.
    After(Fate),
    /// It is carried out later.
    Delay(Duration),
    /// What it sends lands outside its topic.
    Misplace,
    /// What it sends or edits has no keyboard.
    LoseKeyboard,
}

/// A fault that waits for its calls. Built as `Fault::on("sendMessage").in_chat(5).times(2).before(Fate::Cut)`.
///
/// Faults are tried in the order in which they were ordered; each call meets at most one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    method: Option<String>,
    chat: Option<i64>,
    skip: u32,
    left: Option<u32>,
    effect: Effect,
}

impl Fault {
    /// For one method, by its name in any case. Happens once unless said otherwise.
    #[must_use]
    pub fn on(method: &str) -> Self {
        Self { method: Some(method.to_owned()), ..Self::on_all() }
    }

    /// For every method. Happens once unless said otherwise.
    #[must_use]
    pub fn on_all() -> Self {
        Self { method: None, chat: None, skip: 0, left: Some(1), effect: Effect::Before(Fate::Cut) }
    }

    /// Only for calls about that chat; the answer to a press is about the chat it was made in.
    #[must_use]
    pub fn in_chat(mut self, chat: i64) -> Self {
        self.chat = Some(chat);
        self
    }

    /// Lets so many matching calls pass first.
    #[must_use]
    pub fn skip(mut self, calls: u32) -> Self {
        self.skip = calls;
        self
    }

    /// Happens to so many calls.
    #[must_use]
    pub fn times(mut self, calls: u32) -> Self {
        self.left = Some(calls);
        self
    }

    /// Happens until the faults are cleared.
    #[must_use]
    pub fn always(mut self) -> Self {
        self.left = None;
        self
    }

    /// The call is not carried out and ends like this.
    #[must_use]
    pub fn before(mut self, fate: Fate) -> Self {
        self.effect = Effect::Before(fate);
        self
    }

    /// The call is carried out and ends like this.
    #[must_use]
    pub fn after(mut self, fate: Fate) -> Self {
        self.effect = Effect::After(fate);
        self
    }

    /// The call is carried out after a while.
    #[must_use]
    pub fn delay(mut self, by: Duration) -> Self {
        self.effect = Effect::Delay(by);
        self
    }

    /// What is sent to a topic lands in the group's general topic.
    #[must_use]
    pub fn misplace(mut self) -> Self {
        self.effect = Effect::Misplace;
        self
    }

    /// What is sent or edited has no keyboard afterwards.
    #[must_use]
    pub fn lose_keyboard(mut self) -> Self {
        self.effect = Effect::LoseKeyboard;
        self
    }

    /// The effect on this call, where the fault is for it; counts the call.
    pub(super) fn meet(&mut self, method: &str, chat: Option<i64>) -> Option<Effect> {
        let for_it = self.method.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(method))
            && (self.chat.is_none() || self.chat == chat)
            && self.left != Some(0);
        if !for_it {
            return None;
        }
        if let Some(rest) = self.skip.checked_sub(1) {
            self.skip = rest;
            return None;
        }
        self.left = self.left.map(|left| left - 1);
        Some(self.effect.clone())
    }

    /// Whether nothing more will happen.
    pub(super) fn is_spent(&self) -> bool {
        self.left == Some(0)
    }
}
