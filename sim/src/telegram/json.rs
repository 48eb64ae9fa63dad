//! Users, chats and messages as the Bot API writes them.

use serde_json::{Map, Value, json};

use super::model::{Chat, ChatKind, Message, Sender, User};
use super::world::World;

/// A chat as it stands inside messages. The person of a private chat gives it the names.
pub(super) fn chat(chat: &Chat, person: Option<&User>) -> Value {
    let mut object = Map::new();
    object.insert("id".to_owned(), json!(chat.id));
    if chat.kind == ChatKind::Private {
        object.insert("first_name".to_owned(), json!(person.map_or(chat.title.as_str(), |person| &person.first_name)));
        if let Some(username) = person.and_then(|person| person.username.as_ref()) {
            object.insert("username".to_owned(), json!(username));
        }
    } else {
        object.insert("title".to_owned(), json!(chat.title));
    }
    if chat.forum {
        object.insert("is_forum".to_owned(), json!(true));
    }
    object.insert("type".to_owned(), json!(chat.kind));
    Value::Object(object)
}

/// A member of a group with that status.
pub(super) fn member(user: &User, status: &str) -> Value {
    let mut member = json!({"status": status, "user": user});
    let more = match status {
        "creator" => json!({"is_anonymous": false}),
        "kicked" => json!({"until_date": 0}),
        "administrator" => {
            let rights = [
                "can_be_edited",
                "is_anonymous",
                "can_manage_chat",
                "can_delete_messages",
                "can_manage_video_chats",
                "can_restrict_members",
                "can_promote_members",
                "can_change_info",
                "can_invite_users",
                "can_post_stories",
                "can_edit_stories",
                "can_delete_stories",
            ];
            rights.iter().map(|right| ((*right).to_owned(), json!(*right == "can_manage_chat"))).collect()
        }
        _ => return member,
    };
    if let (Value::Object(member), Value::Object(more)) = (&mut member, more) {
        member.extend(more);
    }
    member
}

impl World {
    /// A message as the bot gets it, with the keyboard it has now.
    pub(super) fn message_json(&self, place: &Chat, message: &Message) -> Value {
        let mut object = Map::new();
        let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
        put("message_id", json!(message.id));
        match message.from {
            Sender::Bot => put("from", json!(self.bot)),
            Sender::User(id) => put("from", json!(self.users.get(&id))),
        };
        put("chat", chat(place, self.users.get(&place.id)));
        put("date", json!(message.sent.as_secs()));
        if let Some(edited) = message.edited {
            put("edit_date", json!(edited.as_secs()));
        }
        if let Some(thread) = message.thread {
            put("message_thread_id", json!(thread));
            put("is_topic_message", json!(true));
        }
        if let Some(replied) =
            message.reply_to.and_then(|id| place.messages.get(&id)).filter(|replied| !replied.deleted)
        {
            // An answered message is shown without the one it answers itself.
            let mut replied = replied.clone();
            replied.reply_to = None;
            put("reply_to_message", self.message_json(place, &replied));
        }
        put("text", json!(message.text));
        if !message.entities.is_empty() {
            put("entities", json!(message.entities));
        }
        if !message.link_preview {
            put("link_preview_options", json!({"is_disabled": true}));
        }
        if message.protected {
            put("has_protected_content", json!(true));
        }
        if !message.keyboard.is_empty() {
            put("reply_markup", json!({"inline_keyboard": message.keyboard}));
        }
        Value::Object(object)
    }
}
