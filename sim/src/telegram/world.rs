//! The state behind the server, changed by calls of the bot and by what people do.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::Settings;
use super::model::{
    Access, CallbackAnswer, Chat, ChatKind, Message, Request, Sender, Topic, User, View, Violation, Webhook,
};
use super::pace::Pace;
use super::params::Call;
use super::queue::Queue;
use super::refusal::Refusal;
use super::script::{Effect, Fault};
use super::strict;

/// A press that may be answered once.
#[derive(Debug)]
pub(super) struct Callback {
    pub(super) user: i64,
    pub(super) chat: i64,
    pub(super) message: i64,
    pub(super) pressed: Duration,
    pub(super) answered: bool,
}

/// Everything there is.
#[derive(Debug)]
pub(super) struct World {
    pub(super) settings: Settings,
    pub(super) bot: User,
    pub(super) users: BTreeMap<i64, User>,
    pub(super) chats: BTreeMap<i64, Chat>,
    pub(super) callbacks: HashMap<String, Callback>,
    pub(super) answers: Vec<CallbackAnswer>,
    /// The bot's commands by language; the empty code is everybody else's.
    pub(super) commands: HashMap<String, Vec<Value>>,
    pub(super) actions: Vec<(i64, String)>,
    pub(super) queue: Queue,
    pub(super) webhook: Option<Webhook>,
    /// Counts calls of `getUpdates`: the last one is the one that may wait.
    pub(super) poll: u64,
    /// How often a webhook was set; a waiting `getUpdates` of before ends.
    pub(super) webhooks_set: u64,
    pub(super) pace: Pace,
    pub(super) faults: Vec<Fault>,
    pub(super) log: VecDeque<Request>,
    pub(super) violations: Vec<Violation>,
    /// Counts what somebody who looks at the chats would notice.
    pub(super) visible: u64,
    shared_message: i64,
    requests: u64,
    callback: u64,
}

impl World {
    pub(super) fn new(settings: Settings) -> Self {
        let bot = User {
            id: settings.bot_id(),
            is_bot: true,
            first_name: settings.name.clone(),
            username: Some(settings.username.clone()),
            language_code: None,
        };
        let queue = Queue::new(settings.first_update_id);
        let pace = Pace::new(settings.real_limits);
        Self {
            settings,
            bot,
            users: BTreeMap::new(),
            chats: BTreeMap::new(),
            callbacks: HashMap::new(),
            answers: Vec::new(),
            commands: HashMap::new(),
            actions: Vec::new(),
            queue,
            webhook: None,
            poll: 0,
            webhooks_set: 0,
            pace,
            faults: Vec::new(),
            log: VecDeque::new(),
            violations: Vec::new(),
            visible: 0,
            shared_message: 0,
            requests: 0,
            callback: 0,
        }
    }

    /// Writes a call to the log and gives its number.
    pub(super) fn enter(&mut self, method: &str, params: Map<String, Value>, json: bool, now: Duration) -> u64 {
        self.requests += 1;
        if self.log.len() >= self.settings.log_capacity {
            self.log.pop_front();
        }
        let chat = self.subject(&params);
        self.log.push_back(Request {
            number: self.requests,
            at: now,
            method: method.to_owned(),
            params,
            json,
            chat,
            status: None,
            refused: None,
        });
        self.requests
    }

    /// Notes in the log how a call ended.
    pub(super) fn leave(&mut self, number: u64, status: u16, refused: Option<String>) {
        let first = self.log.front().map_or(0, |request| request.number);
        let place = number.checked_sub(first).and_then(|place| usize::try_from(place).ok());
        if let Some(request) = place.and_then(|place| self.log.get_mut(place)) {
            request.status = Some(status);
            request.refused = refused;
        }
    }

    /// Notes what in a call is not as documented.
    pub(super) fn inspect(&mut self, number: u64, call: &Call) {
        for (path, problem) in strict::deviations(call) {
            self.violation(number, call.method.name, path, problem);
        }
        if call.has("parse_mode") && call.has("entities") {
            self.violation(number, call.method.name, "entities".into(), "is ignored beside parse_mode".into());
        }
    }

    pub(super) fn violation(&mut self, request: u64, method: &str, path: String, problem: String) {
        self.violations.push(Violation { request, method: method.to_owned(), path, problem });
    }

    /// What was ordered to happen to this call.
    pub(super) fn effect(&mut self, method: &str, params: &Map<String, Value>) -> Option<Effect> {
        let chat = self.subject(params);
        let effect = self.faults.iter_mut().find_map(|fault| fault.meet(method, chat));
        self.faults.retain(|fault| !fault.is_spent());
        effect
    }

    /// The person of that id, made up where nobody introduced them.
    pub(super) fn person(&mut self, id: i64) -> User {
        let unknown = || User {
            id,
            is_bot: false,
            first_name: format!("Person {id}"),
            username: None,
            language_code: Some("en".to_owned()),
        };
        self.users.entry(id).or_insert_with(unknown).clone()
    }

    /// Puts an empty chat into the world, in place of one with the same id.
    pub(super) fn add_chat(&mut self, id: i64, kind: ChatKind, title: &str, access: Access) -> &mut Chat {
        self.visible += 1;
        let chat = Chat {
            id,
            kind,
            title: title.to_owned(),
            forum: false,
            topics: BTreeMap::new(),
            members: BTreeMap::new(),
            access,
            migrated_to: None,
            messages: BTreeMap::new(),
            next_message: 0,
        };
        self.chats.entry(id).insert_entry(chat).into_mut()
    }

    /// Puts a message into a chat; none where the chat does not exist.
    pub(super) fn add_message(
        &mut self,
        chat: i64,
        from: Sender,
        text: String,
        now: Duration,
        finish: impl FnOnce(&mut Message),
    ) -> Option<Message> {
        let place = self.chats.get_mut(&chat)?;
        let counter =
            if place.kind == ChatKind::Supergroup { &mut place.next_message } else { &mut self.shared_message };
        *counter += 1;
        let mut message = Message {
            id: *counter,
            thread: None,
            from,
            sent: now,
            edited: None,
            text,
            entities: Vec::new(),
            keyboard: Vec::new(),
            other_markup: None,
            reply_to: None,
            silent: false,
            protected: false,
            link_preview: true,
            edits: 0,
            deleted: false,
        };
        finish(&mut message);
        place.messages.insert(message.id, message.clone());
        self.visible += 1;
        Some(message)
    }

    /// A new callback query's id.
    pub(super) fn new_callback(&mut self, callback: Callback) -> String {
        self.callback += 1;
        // Real ids are long numbers without an order; only their uniqueness means anything.
        let id = self.callback.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_string();
        self.callbacks.insert(id.clone(), callback);
        id
    }

    /// The chat a call names.
    ///
    /// # Errors
    ///
    /// 400 where none is named, or none of that name is known.
    pub(super) fn named_chat(&self, call: &Call) -> Result<&Chat, Refusal> {
        let name = call.text("chat_id");
        let name = name.trim();
        if name.is_empty() {
            return Err(Refusal::bad("chat_id is empty"));
        }
        let by_username = name.strip_prefix('@').and_then(|name| {
            let owner = self.users.values().find(|user| user.username.as_deref() == Some(name))?;
            self.chats.get(&owner.id)
        });
        let by_id = || name.parse().ok().and_then(|id: i64| self.chats.get(&id));
        by_username.or_else(by_id).ok_or_else(|| Refusal::bad("chat not found"))
    }

    /// The chat a call names, where the bot may write there.
    ///
    /// # Errors
    ///
    /// As for [`World::named_chat`]; and the platform's words for a chat that moved, or where the bot may not be.
    pub(super) fn open_chat(&self, call: &Call) -> Result<&Chat, Refusal> {
        let chat = self.named_chat(call)?;
        if let Some(to) = chat.migrated_to {
            return Err(Refusal::migrated(to));
        }
        let group = if chat.kind == ChatKind::Supergroup { "supergroup chat" } else { "group chat" };
        Err(match chat.access {
            Access::Open => return Ok(chat),
            Access::NeverStarted => Refusal::forbidden("bot can't initiate conversation with a user"),
            Access::Blocked => Refusal::forbidden("bot was blocked by the user"),
            Access::Deactivated => Refusal::forbidden("user is deactivated"),
            Access::Kicked => Refusal::forbidden(format!("bot was kicked from the {group}")),
            Access::NotMember => Refusal::forbidden(format!("bot is not a member of the {group}")),
            Access::Deleted => Refusal::forbidden("the group chat was deleted"),
            Access::Muted => Refusal::bad("not enough rights to send text messages to the chat"),
        })
    }

    /// Checks a topic's id in a chat.
    ///
    /// # Errors
    ///
    /// 400 for a topic that does not exist, for the general one (1), which must be left out, and for a closed one.
    pub(super) fn topic(chat: &Chat, thread: Option<i64>) -> Result<Option<i64>, Refusal> {
        match thread {
            None | Some(0) => Ok(None),
            Some(thread) => match chat.topics.get(&thread) {
                Some(Topic { closed: false, .. }) => Ok(Some(thread)),
                Some(Topic { closed: true, .. }) => Err(Refusal::bad("TOPIC_CLOSED")),
                None => Err(Refusal::bad("message thread not found")),
            },
        }
    }

    /// Queues an update about the bot's own standing in a chat.
    pub(super) fn standing_changed(&mut self, chat: i64, by: i64, old: &str, new: &str, now: Duration) {
        let from = self.person(by);
        let Some(place) = self.chats.get(&chat) else { return };
        let payload = json!({
            "chat": super::json::chat(place, self.users.get(&place.id)),
            "from": from,
            "date": now.as_secs(),
            "old_chat_member": super::json::member(&self.bot, old),
            "new_chat_member": super::json::member(&self.bot, new),
        });
        self.queue.push("my_chat_member", &payload, now);
    }

    /// Everything a page shows.
    pub(super) fn view(&self) -> View {
        View {
            bot: self.bot.clone(),
            users: self.users.values().cloned().collect(),
            chats: self.chats.values().cloned().collect(),
            answers: self.answers.clone(),
        }
    }

    /// The chat that parameters are about.
    fn subject(&self, params: &Map<String, Value>) -> Option<i64> {
        match params.get("chat_id") {
            Some(Value::String(text)) => text.parse().ok(),
            Some(value) => value.as_i64(),
            None => {
                let id = params.get("callback_query_id")?.as_str()?;
                self.callbacks.get(id).map(|callback| callback.chat)
            }
        }
    }
}
