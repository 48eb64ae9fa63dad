//! Sending, editing and deleting messages.

use std::time::Duration;

use serde_json::Value;

use super::{Done, Twist};
use crate::telegram::keyboard::{self, Markup};
use crate::telegram::model::{ChatKind, Message, Sender};
use crate::telegram::params::Call;
use crate::telegram::refusal::Refusal;
use crate::telegram::text;
use crate::telegram::world::World;

/// How long a message can be deleted.
const DELETE_WITHIN: Duration = Duration::from_hours(48);

const NOT_MODIFIED: &str = "message is not modified: specified new message content and reply markup are exactly the \
                            same as a current content and reply markup of the message";

impl World {
    pub(super) fn send_message(&mut self, call: &Call, twist: Twist, now: Duration) -> Result<Done, Refusal> {
        no_business(call)?;
        let (text, entities) = text::formatted(call)?;
        let markup = call.json("reply_markup", "can't parse reply keyboard markup JSON object")?;
        let preview = link_preview(call)?;
        let reply = call.json("reply_parameters", "can't parse reply parameters JSON object")?;
        let chat = self.open_chat(call)?;
        let mut markup = keyboard::markup(markup, chat.kind)?;
        let mut thread = Self::topic(chat, call.integer("message_thread_id"))?;
        let reply_to = replied(chat.messages.values(), reply.as_ref())?;
        for (name, words) in [
            ("direct_messages_topic_id", "chat is not a direct messages chat"),
            ("suggested_post_parameters", "suggested posts can be sent only to direct messages chats"),
            ("message_effect_id", "EFFECT_ID_INVALID"),
        ] {
            if call.has(name) {
                return Err(Refusal::bad(words));
            }
        }
        if call.boolean("allow_paid_broadcast") {
            return Err(Refusal::bad("FLOODSKIP_NOT_ALLOWED"));
        }
        let (id, group) = (chat.id, chat.kind != ChatKind::Private);
        self.pace.count(id, group, now)?;
        if twist.misplace {
            thread = None;
        }
        if twist.lose_keyboard {
            markup = Markup::default();
        }
        let sent = self.add_message(id, Sender::Bot, text, now, |message| {
            message.thread = thread;
            message.entities = entities;
            message.keyboard = markup.keyboard;
            message.other_markup = markup.other;
            message.reply_to = reply_to;
            message.silent = call.boolean("disable_notification");
            message.protected = call.boolean("protect_content");
            message.link_preview = preview;
        });
        self.shown(id, sent.map(|message| message.id))
    }

    pub(super) fn edit_text(&mut self, call: &Call, twist: Twist, now: Duration) -> Result<Done, Refusal> {
        no_business(call)?;
        if call.has("rich_message") {
            return Err(Refusal::bad("rich messages are not simulated"));
        }
        let (text, entities) = text::formatted(call)?;
        let preview = link_preview(call)?;
        self.edit(call, twist, now, |message, keyboard| {
            let changed = message.text != text || message.entities != entities || message.keyboard != keyboard;
            message.text = text;
            message.entities = entities;
            message.keyboard = keyboard;
            message.link_preview = preview;
            changed
        })
    }

    pub(super) fn edit_markup(&mut self, call: &Call, twist: Twist, now: Duration) -> Result<Done, Refusal> {
        no_business(call)?;
        self.edit(call, twist, now, |message, keyboard| {
            let changed = message.keyboard != keyboard;
            message.keyboard = keyboard;
            changed
        })
    }

    pub(super) fn delete_message(&mut self, call: &Call, now: Duration) -> Result<Done, Refusal> {
        let chat = self.open_chat(call)?;
        let (id, private) = (chat.id, chat.kind == ChatKind::Private);
        let message = chat.messages.get(&message_id(call)?).filter(|message| !message.deleted);
        let message = message.ok_or_else(|| Refusal::bad("message to delete not found"))?;
        if message.from != Sender::Bot && !private {
            return Err(Refusal::bad("message can't be deleted"));
        }
        if now.saturating_sub(message.sent) > DELETE_WITHIN {
            return Err(Refusal::bad("message can't be deleted for everyone"));
        }
        let message = message.id;
        self.remove_message(id, message);
        Ok(Done::yes())
    }

    /// Marks a message as deleted; false where there is none.
    pub(in crate::telegram) fn remove_message(&mut self, chat: i64, message: i64) -> bool {
        let found = self.chats.get_mut(&chat).and_then(|chat| chat.messages.get_mut(&message));
        match found.filter(|message| !message.deleted) {
            Some(message) => {
                message.deleted = true;
                self.visible += 1;
                true
            }
            None => false,
        }
    }

    /// Finds the message, reads the new keyboard and lets `change` say whether anything is new.
    fn edit(
        &mut self,
        call: &Call,
        twist: Twist,
        now: Duration,
        change: impl FnOnce(&mut Message, Vec<Vec<crate::telegram::model::Button>>) -> bool,
    ) -> Result<Done, Refusal> {
        if call.has("inline_message_id") {
            return Err(Refusal::bad("MESSAGE_ID_INVALID"));
        }
        let markup = call.json("reply_markup", "can't parse inline keyboard markup JSON object")?;
        let chat = self.open_chat(call)?;
        let markup = keyboard::markup(markup, chat.kind)?;
        if markup.other.is_some() {
            return Err(Refusal::bad("inline keyboard expected"));
        }
        let wanted = message_id(call)?;
        let message = chat.messages.get(&wanted).filter(|message| !message.deleted);
        let message = message.ok_or_else(|| Refusal::bad("message to edit not found"))?;
        if message.from != Sender::Bot {
            return Err(Refusal::bad("message can't be edited"));
        }
        let mut changed = message.clone();
        let (id, group) = (chat.id, chat.kind != ChatKind::Private);
        self.pace.count(id, group, now)?;
        if !change(&mut changed, markup.keyboard) {
            return Err(Refusal::bad(NOT_MODIFIED));
        }
        if twist.lose_keyboard {
            changed.keyboard.clear();
        }
        changed.edits += 1;
        changed.edited = Some(now);
        if let Some(chat) = self.chats.get_mut(&id) {
            chat.messages.insert(wanted, changed);
            self.visible += 1;
        }
        self.shown(id, Some(wanted))
    }

    fn shown(&self, chat: i64, message: Option<i64>) -> Result<Done, Refusal> {
        let chat = self.chats.get(&chat);
        chat.and_then(|chat| Some(self.message_json(chat, chat.messages.get(&message?)?).into()))
            .ok_or_else(|| Refusal::bad("chat not found"))
    }
}

fn message_id(call: &Call) -> Result<i64, Refusal> {
    match call.integer("message_id") {
        None | Some(0) => Err(Refusal::bad("message identifier is not specified")),
        Some(id) => Ok(id),
    }
}

fn no_business(call: &Call) -> Result<(), Refusal> {
    if call.has("business_connection_id") { Err(Refusal::bad("business connection not found")) } else { Ok(()) }
}

/// Whether links get a preview.
fn link_preview(call: &Call) -> Result<bool, Refusal> {
    match call.json("link_preview_options", "can't parse link preview options JSON object")? {
        None => Ok(true),
        Some(Value::Object(options)) => Ok(options.get("is_disabled").and_then(Value::as_bool) != Some(true)),
        Some(_) => Err(Refusal::bad("can't parse LinkPreviewOptions: object expected")),
    }
}

/// The message that is answered.
fn replied<'a>(
    messages: impl Iterator<Item = &'a Message>,
    parameters: Option<&Value>,
) -> Result<Option<i64>, Refusal> {
    let Some(parameters) = parameters else { return Ok(None) };
    let Some(parameters) = parameters.as_object() else {
        return Err(Refusal::bad("can't parse ReplyParameters: object expected"));
    };
    let id = parameters.get("message_id").and_then(Value::as_i64).unwrap_or(0);
    let is_there = messages.filter(|message| !message.deleted).any(|message| message.id == id);
    let may_miss = parameters.get("allow_sending_without_reply").and_then(Value::as_bool) == Some(true);
    match (is_there, may_miss) {
        (true, _) => Ok(Some(id)),
        (false, true) => Ok(None),
        (false, false) => Err(Refusal::bad("message to be replied not found")),
    }
}
