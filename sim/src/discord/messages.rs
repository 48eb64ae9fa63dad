//! Channels and messages: opening, posting, editing, deleting, as the bot is allowed to.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{
    gateway::Wanted,
    id::Id,
    json,
    refusal::{self, Problem, Refusal},
    rules::{self, Carrier},
    state::{Access, Channel, ChannelKind, Dms, Message, dm_id},
    world::World,
};

/// How long the same nonce gives back the first message.
const NONCE_LIFE: Duration = Duration::from_mins(3);

impl World {
    /// Opens the direct-message channel with a person; always the same one.
    pub(super) fn open_dm(&mut self, user: Id) -> Result<Id, Refusal> {
        if !self.state.users.contains_key(&user) {
            return Err(refusal::INVALID_RECIPIENTS);
        }
        let id = dm_id(user);
        self.state.channels.entry(id).or_insert_with(|| Channel {
            id,
            name: String::new(),
            kind: ChannelKind::Dm { user },
            access: Access::Full,
            messages: Vec::new(),
        });
        Ok(id)
    }

    /// A channel the bot may at least see.
    pub(super) fn visible(&self, channel: Option<Id>) -> Result<&Channel, Refusal> {
        let channel = channel.and_then(|id| self.state.channels.get(&id)).ok_or(refusal::UNKNOWN_CHANNEL)?;
        if channel.access == Access::None { Err(refusal::MISSING_ACCESS) } else { Ok(channel) }
    }

    /// A message the bot may see: not private, not deleted.
    pub(super) fn seen(&self, channel: Option<Id>, message: Option<Id>) -> Result<&Message, Refusal> {
        let channel = self.visible(channel)?.id;
        message
            .and_then(|id| self.state.messages.get(&id))
            .filter(|message| message.channel == channel && !message.deleted && message.only_for.is_none())
            .ok_or(refusal::UNKNOWN_MESSAGE)
    }

    pub(super) fn create_message(
        &mut self,
        channel: Option<Id>,
        body: &Map<String, Value>,
        now: Duration,
    ) -> Result<Value, Refusal> {
        let place = self.visible(channel)?.clone();
        self.judge(rules::message(body, Carrier::Create))?;
        self.may_post(&place)?;
        let nonce = match body.get("nonce") {
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        if body.get("enforce_nonce") == Some(&Value::Bool(true))
            && let Some(first) = nonce.as_ref().and_then(|nonce| self.first_with(place.id, nonce, now))
        {
            return Ok(json::message(&self.state, first));
        }
        let reference = self.replied_to(place.id, body)?;
        let mut message = self.blank(place.id, now);
        message.nonce.clone_from(&nonce);
        message.reference = reference;
        merge(&mut message, body);
        if is_empty(&message) {
            return Err(refusal::EMPTY_MESSAGE);
        }
        if let ChannelKind::Thread { archived: true, .. } = place.kind {
            self.set_archived(place.id, false);
        }
        if let Some(nonce) = nonce {
            self.nonces.insert((place.id, nonce), (message.id, now));
        }
        Ok(self.publish(message))
    }

    pub(super) fn edit_message(
        &mut self,
        channel: Option<Id>,
        message: Option<Id>,
        body: &Map<String, Value>,
        now: Duration,
    ) -> Result<Value, Refusal> {
        let message = self.seen(channel, message)?;
        let id = message.id;
        if message.author != self.state.bot {
            return Err(refusal::NOT_THE_AUTHOR);
        }
        if let ChannelKind::Thread { archived: true, .. } = self.visible(channel)?.kind {
            return Err(refusal::THREAD_ARCHIVED);
        }
        self.judge(rules::message(body, Carrier::Edit))?;
        self.revise(id, body, now)
    }

    /// Changes a message whose body was already judged.
    pub(super) fn revise(&mut self, id: Id, body: &Map<String, Value>, now: Duration) -> Result<Value, Refusal> {
        let known = self.state.messages.get(&id).filter(|message| !message.deleted);
        let mut message = known.ok_or(refusal::UNKNOWN_MESSAGE)?.clone();
        merge(&mut message, body);
        if is_empty(&message) {
            return Err(refusal::EMPTY_MESSAGE);
        }
        message.thinking = false;
        message.edits += 1;
        message.edited = Some(now);
        let written = json::message(&self.state, &message);
        if message.only_for.is_none() {
            self.tell_of_message("MESSAGE_UPDATE", &message);
        }
        self.state.messages.insert(id, message);
        Ok(written)
    }

    /// Deletes a message, whoever does it.
    pub(super) fn remove(&mut self, id: Id) {
        let Some(message) = self.state.messages.get_mut(&id).filter(|message| !message.deleted) else { return };
        message.deleted = true;
        let message = message.clone();
        if message.only_for.is_none() {
            self.tell_of_message("MESSAGE_DELETE", &message);
        }
    }

    /// Stores a new message, tells the gateway, and returns it as Discord writes it.
    pub(super) fn publish(&mut self, message: Message) -> Value {
        let written = json::message(&self.state, &message);
        if let Some(channel) = self.state.channels.get_mut(&message.channel) {
            channel.messages.push(message.id);
        }
        if message.only_for.is_none() {
            self.tell_of_message("MESSAGE_CREATE", &message);
        }
        self.state.messages.insert(message.id, message);
        written
    }

    /// An empty message of the bot's.
    pub(super) fn blank(&mut self, channel: Id, now: Duration) -> Message {
        Message {
            id: self.mint.next(now),
            channel,
            author: self.state.bot,
            content: String::new(),
            embeds: Vec::new(),
            components: Vec::new(),
            flags: 0,
            nonce: None,
            reference: None,
            interaction: None,
            only_for: None,
            thinking: false,
            pinged_everyone: false,
            created: now,
            edited: None,
            edits: 0,
            deleted: false,
        }
    }

    pub(super) fn set_archived(&mut self, channel: Id, value: bool) {
        if let Some(Channel { kind: ChannelKind::Thread { archived, .. }, .. }) = self.state.channels.get_mut(&channel)
        {
            *archived = value;
        }
    }

    fn may_post(&self, channel: &Channel) -> Result<(), Refusal> {
        if channel.access == Access::ReadOnly {
            return Err(refusal::MISSING_PERMISSIONS);
        }
        match channel.kind {
            ChannelKind::Dm { user } => match self.state.users.get(&user).map(|user| user.dms) {
                Some(Dms::Open) => Ok(()),
                Some(Dms::NoMutualGuild) => Err(refusal::NO_MUTUAL_GUILDS),
                Some(Dms::Closed) | None => Err(refusal::DMS_CLOSED),
            },
            ChannelKind::Thread { archived: true, locked: true, .. } => Err(refusal::THREAD_LOCKED),
            ChannelKind::Thread { .. } | ChannelKind::Text => Ok(()),
        }
    }

    fn first_with(&self, channel: Id, nonce: &str, now: Duration) -> Option<&Message> {
        let (id, at) = self.nonces.get(&(channel, nonce.to_owned()))?;
        let fresh = now.saturating_sub(*at) <= NONCE_LIFE;
        self.state.messages.get(id).filter(|message| fresh && !message.deleted)
    }

    fn replied_to(&self, channel: Id, body: &Map<String, Value>) -> Result<Option<Id>, Refusal> {
        let Some(reference) = body.get("message_reference").and_then(Value::as_object) else { return Ok(None) };
        let id = |key: &str| reference.get(key).and_then(Id::from_json);
        if id("channel_id").is_some_and(|other| other != channel) {
            let message = "Cannot reply to a message in a different channel";
            let problem = Problem::new("message_reference", "REPLIES_CANNOT_REFERENCE_OTHER_CHANNEL", message);
            return Err(Refusal::Form(vec![problem]));
        }
        let found = id("message_id").filter(|id| self.seen(Some(channel), Some(*id)).is_ok());
        let lenient = reference.get("fail_if_not_exists") == Some(&Value::Bool(false));
        if found.is_none() && !lenient {
            let problem = Problem::new("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message");
            return Err(Refusal::Form(vec![problem]));
        }
        Ok(found)
    }

    fn tell_of_message(&mut self, event: &str, message: &Message) {
        let in_guild = json::is_in_guild(&self.state, message.channel);
        let wanted = Wanted::messages(in_guild.then_some(self.state.guild));
        if !self.gateway.anyone_wants(wanted) {
            return;
        }
        let mut written = if event == "MESSAGE_DELETE" {
            json!({ "id": message.id, "channel_id": message.channel })
        } else {
            json::message(&self.state, message)
        };
        if let Some(fields) = written.as_object_mut() {
            if in_guild {
                fields.insert("guild_id".to_owned(), json!(self.state.guild));
                // Without the privileged content intent a bot reads only its own words in a guild.
                if message.author != self.state.bot && event != "MESSAGE_DELETE" {
                    fields.insert("content".to_owned(), json!(""));
                }
            }
            fields.insert("channel_type".to_owned(), json!(u8::from(!in_guild)));
        }
        self.gateway.dispatch(event, &written, wanted);
    }
}

/// Takes over what the body names and leaves the rest.
pub(super) fn merge(message: &mut Message, body: &Map<String, Value>) {
    if let Some(content) = body.get("content") {
        content.as_str().unwrap_or_default().trim().clone_into(&mut message.content);
        message.pinged_everyone |= rules::pings_everyone(&message.content, body);
    }
    if let Some(embeds) = body.get("embeds") {
        message.embeds = embeds.as_array().cloned().unwrap_or_default();
    }
    if let Some(components) = body.get("components") {
        message.components = components.as_array().cloned().unwrap_or_default();
    }
    if let Some(flags) = body.get("flags") {
        // Whether a message is private is decided once, when it is made.
        let kept = message.flags & rules::EPHEMERAL;
        message.flags = flags.as_u64().unwrap_or_default() & !rules::EPHEMERAL | kept;
    }
}

pub(super) fn is_empty(message: &Message) -> bool {
    message.content.is_empty() && message.embeds.is_empty() && message.components.is_empty()
}
