//! The methods, apart from `getUpdates`, which waits.

use std::time::Duration;

use serde_json::{Value, json};

use super::params::Call;
use super::refusal::Refusal;
use super::script::Effect;
use super::world::World;

mod callbacks;
mod chats;
mod messages;
pub(super) mod webhooks;

/// A call that was carried out.
#[derive(Debug)]
pub(super) struct Done {
    /// The `result`.
    pub(super) result: Value,
    /// A sentence that some methods add.
    pub(super) description: Option<&'static str>,
}

impl Done {
    fn yes() -> Self {
        Self { result: Value::Bool(true), description: None }
    }
}

impl From<Value> for Done {
    fn from(result: Value) -> Self {
        Self { result, description: None }
    }
}

/// What goes wrong unseen while a call is carried out.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Twist {
    /// The message lands outside its topic.
    pub(super) misplace: bool,
    /// The keyboard is lost.
    pub(super) lose_keyboard: bool,
}

impl From<Option<&Effect>> for Twist {
    fn from(effect: Option<&Effect>) -> Self {
        Self {
            misplace: matches!(effect, Some(Effect::Misplace)),
            lose_keyboard: matches!(effect, Some(Effect::LoseKeyboard)),
        }
    }
}

impl World {
    /// Carries out a call.
    ///
    /// # Errors
    ///
    /// The platform's refusal.
    pub(super) fn run(&mut self, call: &Call, twist: Twist, now: Duration) -> Result<Done, Refusal> {
        match call.method.name {
            "getMe" => Ok(self.me().into()),
            "setWebhook" => self.set_webhook(call),
            "deleteWebhook" => Ok(self.delete_webhook(call)),
            "getWebhookInfo" => Ok(self.webhook_info().into()),
            "sendMessage" => self.send_message(call, twist, now),
            "editMessageText" => self.edit_text(call, twist, now),
            "editMessageReplyMarkup" => self.edit_markup(call, twist, now),
            "deleteMessage" => self.delete_message(call, now),
            "answerCallbackQuery" => self.answer_callback(call, now),
            "sendChatAction" => self.chat_action(call),
            "setMyCommands" => self.set_commands(call),
            "getMyCommands" => Ok(self.my_commands(call)),
            "getChat" => self.chat_info(call),
            "getChatMember" => self.chat_member(call),
            _ => Err(Refusal::not_found()),
        }
    }

    fn me(&self) -> Value {
        let mut me = json!(self.bot);
        if let Some(me) = me.as_object_mut() {
            for (name, value) in [
                ("can_join_groups", true),
                ("can_read_all_group_messages", self.settings.reads_all_group_messages),
                ("supports_inline_queries", false),
                ("can_connect_to_business", false),
                ("has_main_web_app", false),
            ] {
                me.insert(name.to_owned(), json!(value));
            }
        }
        me
    }
}
