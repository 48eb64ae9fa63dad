//! Looking at chats, the typing sign, and the bot's commands.

use serde_json::{Value, json};

use super::Done;
use crate::telegram::json;
use crate::telegram::model::ChatKind;
use crate::telegram::params::Call;
use crate::telegram::refusal::Refusal;
use crate::telegram::world::World;

const ACTIONS: &[&str] = &[
    "typing",
    "upload_photo",
    "record_video",
    "upload_video",
    "record_voice",
    "upload_voice",
    "upload_document",
    "choose_sticker",
    "find_location",
    "record_video_note",
    "upload_video_note",
];

/// Most commands; most characters of a command and of its description.
const COMMANDS_MAX: usize = 100;
const COMMAND_MAX: usize = 32;
const DESCRIPTION_MAX: usize = 256;

impl World {
    pub(super) fn chat_action(&mut self, call: &Call) -> Result<Done, Refusal> {
        let action = call.text("action");
        if !ACTIONS.contains(&action.as_str()) {
            return Err(Refusal::bad("wrong parameter action in request"));
        }
        let chat = self.open_chat(call)?;
        // Alone among the methods this one takes the general topic's id.
        if call.integer("message_thread_id") != Some(1) || !chat.forum {
            Self::topic(chat, call.integer("message_thread_id"))?;
        }
        let id = chat.id;
        self.actions.push((id, action));
        Ok(Done::yes())
    }

    pub(super) fn chat_info(&self, call: &Call) -> Result<Done, Refusal> {
        let chat = self.named_chat(call)?;
        let mut info = json::chat(chat, self.users.get(&chat.id));
        let gifts = json!({
            "unlimited_gifts": false, "limited_gifts": false, "unique_gifts": false,
            "premium_subscription": false, "gifts_from_channels": false,
        });
        let more = [("accent_color_id", json!(0)), ("max_reaction_count", json!(11)), ("accepted_gift_types", gifts)];
        if let Some(info) = info.as_object_mut() {
            info.extend(more.map(|(name, value)| (name.to_owned(), value)));
        }
        Ok(info.into())
    }

    pub(super) fn chat_member(&mut self, call: &Call) -> Result<Done, Refusal> {
        let chat = self.open_chat(call)?;
        let user = call.integer("user_id").filter(|id| *id > 0);
        let user = user.ok_or_else(|| Refusal::bad("invalid user_id specified"))?;
        if user == self.bot.id {
            return Ok(json::member(&self.bot, "member").into());
        }
        let standing = match chat.members.get(&user) {
            Some(standing) => json!(standing),
            None if chat.kind == ChatKind::Private && chat.id == user => json!("member"),
            None => json!("left"),
        };
        let person = self.users.get(&user).ok_or_else(|| Refusal::bad("user not found"))?;
        Ok(json::member(person, standing.as_str().unwrap_or("left")).into())
    }

    pub(super) fn set_commands(&mut self, call: &Call) -> Result<Done, Refusal> {
        let commands = call.json("commands", "can't parse commands JSON object")?.unwrap_or_else(|| json!([]));
        let Value::Array(commands) = commands else {
            return Err(Refusal::bad("expected an Array of BotCommand"));
        };
        if commands.len() > COMMANDS_MAX {
            return Err(Refusal::bad("BOT_COMMANDS_TOO_MUCH"));
        }
        for command in &commands {
            let field = |name: &str| command.get(name).and_then(Value::as_str).unwrap_or_default();
            let name = field("command");
            let allowed = |symbol: char| symbol.is_ascii_lowercase() || symbol.is_ascii_digit() || symbol == '_';
            if name.is_empty() || name.len() > COMMAND_MAX || !name.chars().all(allowed) {
                return Err(Refusal::bad("BOT_COMMAND_INVALID"));
            }
            let length = field("description").chars().count();
            if length == 0 || length > DESCRIPTION_MAX {
                return Err(Refusal::bad("BOT_COMMAND_DESCRIPTION_INVALID"));
            }
        }
        let language = call.text("language_code");
        if !language.is_empty() && (language.len() != 2 || !language.chars().all(|symbol| symbol.is_ascii_lowercase()))
        {
            return Err(Refusal::bad("BOT_COMMAND_LANGUAGE_INVALID"));
        }
        self.commands.insert(language, commands);
        Ok(Done::yes())
    }

    pub(super) fn my_commands(&self, call: &Call) -> Done {
        json!(self.commands.get(&call.text("language_code")).cloned().unwrap_or_default()).into()
    }
}
