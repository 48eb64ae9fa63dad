//! What people do on the platform: they write, tap, delete, block, and make and change groups.

use std::time::Duration;

use serde_json::{Value, json};

use super::Telegram;
use super::model::{Access, ChatKind, Sender, Standing, Topic, User};
use super::text::units;
use super::world::{Callback, World};

/// Which button is tapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pick {
    /// The button of that number, counted row by row from 0.
    Index(usize),
    /// The first button with that label.
    Label(String),
    /// No button of the message: an app may send any data, also that of a keyboard long gone.
    Data(String),
}

impl From<usize> for Pick {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

impl From<&str> for Pick {
    fn from(label: &str) -> Self {
        Self::Label(label.to_owned())
    }
}

/// What the callback query of a tap carries as its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shape {
    /// The message with its keyboard; a stub where it is deleted.
    #[default]
    Full,
    /// Chat and id only, with date 0, as for a message that is too old.
    Stub,
    /// Nothing.
    Absent,
}

/// A tap that no app could make.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TapError {
    /// There is no such chat or message.
    #[error("chat {chat} has no message {message}; look at the chat's messages first")]
    NoMessage {
        /// The chat.
        chat: i64,
        /// The message.
        message: i64,
    },
    /// The message has no such button now.
    #[error("the message has no button {wanted:?}, only {there:?}")]
    NoButton {
        /// What was to be tapped.
        wanted: Pick,
        /// The labels that are there.
        there: Vec<String>,
    },
    /// The button opens an address, and the bot hears nothing of that.
    #[error("the button does not send a callback; read its url instead")]
    NoCallback,
}

#[expect(clippy::must_use_candidate, reason = "people act for the effect; what comes back is an extra")]
impl Telegram {
    /// Introduces a person; otherwise ids get made-up names.
    pub fn add_user(&self, user: User) {
        self.change(|world, _| world.users.insert(user.id, user));
    }

    /// A private chat of that person, who has already started the bot. Its id is the person's.
    pub fn private_chat(&self, user: i64) {
        self.new_private(user, Access::Open);
    }

    /// A person whom the bot knows and who never wrote to it.
    pub fn stranger(&self, user: i64) {
        self.new_private(user, Access::NeverStarted);
    }

    /// A basic group with the bot and these people in it.
    pub fn group(&self, chat: i64, title: &str, members: &[i64]) {
        self.new_group(chat, ChatKind::Group, title, members);
    }

    /// A supergroup with the bot and these people in it.
    pub fn supergroup(&self, chat: i64, title: &str, members: &[i64]) {
        self.new_group(chat, ChatKind::Supergroup, title, members);
    }

    /// A topic of a supergroup, which becomes a forum by it. The general topic (1) cannot be made.
    pub fn topic(&self, chat: i64, thread: i64, name: &str) {
        self.change(|world, _| {
            if let Some(place) = world.chats.get_mut(&chat).filter(|_| thread != 1) {
                place.forum = true;
                place.topics.insert(thread, Topic { name: name.to_owned(), closed: false });
                world.visible += 1;
            }
        });
    }

    /// Deletes a topic with everything in it.
    pub fn delete_topic(&self, chat: i64, thread: i64) {
        self.change(|world, _| {
            let Some(place) = world.chats.get_mut(&chat) else { return };
            place.topics.remove(&thread);
            for message in place.messages.values_mut().filter(|message| message.thread == Some(thread)) {
                message.deleted = true;
            }
            world.visible += 1;
        });
    }

    /// Closes or opens a topic for writing.
    pub fn close_topic(&self, chat: i64, thread: i64, closed: bool) {
        self.change(|world, _| {
            if let Some(topic) = world.chats.get_mut(&chat).and_then(|place| place.topics.get_mut(&thread)) {
                topic.closed = closed;
                world.visible += 1;
            }
        });
    }

    /// Gives somebody a standing in a group.
    pub fn set_standing(&self, chat: i64, user: i64, standing: Standing) {
        self.change(|world, _| {
            world.person(user);
            if let Some(place) = world.chats.get_mut(&chat) {
                place.members.insert(user, standing);
                world.visible += 1;
            }
        });
    }

    /// Sets what the bot may do in a chat, without telling the bot.
    pub fn set_access(&self, chat: i64, access: Access) {
        self.change(|world, _| {
            if let Some(place) = world.chats.get_mut(&chat) {
                place.access = access;
                world.visible += 1;
            }
        });
    }

    /// A person blocks the bot, and the bot is told.
    pub fn block(&self, user: i64) {
        self.set_access(user, Access::Blocked);
        self.change(|world, now| world.standing_changed(user, user, "member", "kicked", now));
    }

    /// A person takes the block back, and the bot is told.
    pub fn unblock(&self, user: i64) {
        self.set_access(user, Access::Open);
        self.change(|world, now| world.standing_changed(user, user, "kicked", "member", now));
    }

    /// Somebody removes the bot from a group, and the bot is told.
    pub fn kick(&self, chat: i64, by: i64) {
        self.set_access(chat, Access::Kicked);
        self.change(|world, now| world.standing_changed(chat, by, "member", "kicked", now));
    }

    /// Makes a supergroup of a group; messages stay behind. Gives the new chat's id.
    pub fn upgrade(&self, group: i64) -> i64 {
        self.change(|world, now| {
            let new = -1_000_000_000_000 - group.abs();
            let Some(old) = world.chats.get_mut(&group) else { return new };
            old.migrated_to = Some(new);
            let (title, members) = (old.title.clone(), old.members.clone());
            world.add_chat(new, ChatKind::Supergroup, &title, Access::Open).members = members;
            for (chat, field, value) in [(group, "migrate_to_chat_id", new), (new, "migrate_from_chat_id", group)] {
                let sent = world.add_message(chat, Sender::Bot, String::new(), now, |message| message.deleted = true);
                let Some(place) = world.chats.get(&chat) else { continue };
                let payload = json!({
                    "message_id": sent.map(|message| message.id),
                    "date": now.as_secs(),
                    "chat": super::json::chat(place, None),
                    field: value,
                });
                world.queue.push("message", &payload, now);
            }
            new
        })
    }

    /// A person writes to a chat. Gives the message's id, or none where there is no such chat. Writing to the bot starts or
    /// unblocks it.
    pub fn say(&self, user: i64, chat: i64, text: &str) -> Option<i64> {
        self.say_in(user, chat, text, None, None)
    }

    /// A person writes to a topic, or in answer to a message, or both.
    pub fn say_in(&self, user: i64, chat: i64, text: &str, thread: Option<i64>, reply_to: Option<i64>) -> Option<i64> {
        self.change(|world, now| {
            world.person(user);
            let place = world.chats.get_mut(&chat)?;
            let access = place.access;
            if place.kind == ChatKind::Private && matches!(access, Access::Blocked | Access::NeverStarted) {
                place.access = Access::Open;
                if access == Access::Blocked {
                    world.standing_changed(chat, user, "kicked", "member", now);
                }
            }
            let message = world.add_message(chat, Sender::User(user), text.to_owned(), now, |message| {
                message.thread = thread;
                message.reply_to = reply_to;
            })?;
            if reaches_bot(world, chat, text, reply_to) {
                let place = world.chats.get(&chat)?;
                let mut payload = world.message_json(place, &message);
                if let (true, Some(payload)) = (text.starts_with('/'), payload.as_object_mut()) {
                    let command = text.split_whitespace().next().unwrap_or_default();
                    let entity = json!([{"type": "bot_command", "offset": 0, "length": units(command)}]);
                    payload.insert("entities".to_owned(), entity);
                }
                world.queue.push("message", &payload, now);
            }
            Some(message.id)
        })
    }

    /// A person taps a button: by number (`usize`), by label (`&str`), or with any data. Gives the callback query's id.
    ///
    /// # Errors
    ///
    /// [`TapError`] where no app could make that tap.
    pub fn tap(&self, user: i64, chat: i64, message: i64, pick: impl Into<Pick>) -> Result<String, TapError> {
        self.tap_as(user, chat, message, pick, Shape::Full)
    }

    /// A person taps a button, and the callback query carries its message in that shape.
    ///
    /// # Errors
    ///
    /// [`TapError`] where no app could make that tap.
    pub fn tap_as(
        &self,
        user: i64,
        chat: i64,
        message: i64,
        pick: impl Into<Pick>,
        shape: Shape,
    ) -> Result<String, TapError> {
        let pick = pick.into();
        self.change(|world, now| press(world, user, chat, message, pick, shape, now))
    }

    /// A person deletes a message; the bot is not told. False where there is none.
    pub fn delete_message(&self, chat: i64, message: i64) -> bool {
        self.change(|world, _| world.remove_message(chat, message))
    }

    /// Queues any update of a kind, such as `message_reaction`, where the bot asked for that kind. Gives its id.
    pub fn push_update(&self, kind: &str, payload: &Value) -> Option<i64> {
        self.change(|world, now| world.queue.push(kind, payload, now))
    }

    /// Queues a whole update, whatever is in it. Without an `update_id` it gets the next one. Gives its id.
    pub fn push_raw(&self, update: Value) -> i64 {
        self.change(|world, now| world.queue.put(update, now))
    }

    /// Queues an update once more under its old id, as after an unclean end. False where it is no longer remembered.
    pub fn push_again(&self, update_id: i64) -> bool {
        self.change(|world, now| world.queue.again(update_id, now))
    }

    /// Lets update ids go on from another number, as after a quiet week.
    pub fn restart_update_ids(&self, next: i64) {
        self.change(|world, _| world.queue.restart(next));
    }

    fn new_private(&self, user: i64, access: Access) {
        self.change(|world, _| {
            let name = world.person(user).first_name;
            world.add_chat(user, ChatKind::Private, &name, access);
        });
    }

    fn new_group(&self, chat: i64, kind: ChatKind, title: &str, members: &[i64]) {
        self.change(|world, _| {
            for member in members {
                world.person(*member);
            }
            let everybody = members.iter().map(|member| (*member, Standing::Member)).collect();
            world.add_chat(chat, kind, title, Access::Open).members = everybody;
        });
    }
}

/// With privacy on, a bot in a group hears only commands and answers to its own messages.
fn reaches_bot(world: &World, chat: i64, text: &str, reply_to: Option<i64>) -> bool {
    let Some(place) = world.chats.get(&chat) else { return false };
    let hears = matches!(place.access, Access::Open | Access::Muted);
    let to_bot = || reply_to.and_then(|id| place.messages.get(&id)).is_some_and(|replied| replied.from == Sender::Bot);
    hears
        && (place.kind == ChatKind::Private
            || world.settings.reads_all_group_messages
            || text.starts_with('/')
            || to_bot())
}

fn press(
    world: &mut World,
    user: i64,
    chat: i64,
    message: i64,
    pick: Pick,
    shape: Shape,
    now: Duration,
) -> Result<String, TapError> {
    let from = world.person(user);
    let no_message = TapError::NoMessage { chat, message };
    let Some(place) = world.chats.get(&chat) else { return Err(no_message) };
    let Some(tapped) = place.messages.get(&message) else { return Err(no_message) };
    let button = match &pick {
        Pick::Index(index) => tapped.buttons().nth(*index),
        Pick::Label(label) => tapped.button(label),
        Pick::Data(_) => None,
    };
    let data = match (pick, button) {
        (Pick::Data(data), _) => data,
        (_, Some(button)) => button.callback_data().ok_or(TapError::NoCallback)?.to_owned(),
        (wanted, None) => {
            let there = tapped.buttons().map(|button| button.text.clone()).collect();
            return Err(TapError::NoButton { wanted, there });
        }
    };
    let carried = match shape {
        Shape::Full if !tapped.deleted => Some(world.message_json(place, tapped)),
        Shape::Full | Shape::Stub => {
            let chat = super::json::chat(place, world.users.get(&chat));
            Some(json!({"chat": chat, "message_id": message, "date": 0}))
        }
        Shape::Absent => None,
    };
    let id = world.new_callback(Callback { user, chat, message, pressed: now, answered: false });
    let mut query = json!({"id": id, "from": from});
    if let Some(query) = query.as_object_mut() {
        query.extend(carried.map(|carried| ("message".to_owned(), carried)));
        // Only its being the same for the same chat means anything.
        let instance = chat.wrapping_mul(0x2545_f491_4f6c_dd1d);
        query.insert("chat_instance".to_owned(), json!(instance.to_string()));
        query.insert("data".to_owned(), json!(data));
    }
    world.queue.push("callback_query", &query, now);
    world.visible += 1;
    Ok(id)
}
