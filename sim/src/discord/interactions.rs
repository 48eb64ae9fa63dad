//! Interactions: a press becomes an event; its first response is due within three seconds; its webhook lives fifteen minutes.
//!
//! <https://discord.com/developers/docs/interactions/receiving-and-responding>

use std::time::Duration;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Map, Value, json};

use super::{
    gateway::Wanted,
    id::Id,
    json::{self, Shape},
    messages::{is_empty, merge},
    refusal::{self, Problem, Refusal},
    route::Target,
    rules::{self, Carrier, EPHEMERAL},
    state::{Callback, CallbackKind, Cause, Interaction, Message},
    world::World,
};

/// How long the first response may take.
pub(super) const FIRST_RESPONSE_WITHIN: Duration = Duration::from_secs(3);
/// How long an interaction's token is good for.
pub(super) const TOKEN_LIFE: Duration = Duration::from_mins(15);

impl World {
    /// Records an interaction; nobody hears of it yet.
    pub(super) fn begin(&mut self, cause: Cause, user: Id, channel: Id, data: Value, now: Duration) -> Id {
        let id = self.mint.next(now);
        // Real tokens are long and opaque, too; nothing may depend on what is inside.
        let mixed = id.number().wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let token =
            BASE64_URL_SAFE_NO_PAD.encode(format!("interaction:{id}:{mixed:016x}{:064x}", mixed.reverse_bits()));
        let interaction = Interaction {
            id,
            token: token.clone(),
            cause,
            user,
            channel,
            created: now,
            data,
            delivered: 0,
            callback: None,
            follow_ups: Vec::new(),
            too_late: 0,
            repeated: 0,
        };
        self.tokens.insert(token, id);
        self.state.interactions.insert(id, interaction);
        id
    }

    /// An interaction as the bot is told of it.
    pub(super) fn event_of(&self, id: Id, shape: Shape) -> Option<Value> {
        self.state.interactions.get(&id).map(|interaction| json::interaction(&self.state, interaction, shape))
    }

    /// Sends an interaction to the gateway, or to the endpoint where there is one.
    pub(super) fn deliver(&mut self, id: Id, shape: Shape) {
        let Some(event) = self.event_of(id, shape) else { return };
        if self.endpoint.is_some() {
            return self.outbox.push((id, event));
        }
        let Some(interaction) = self.state.interactions.get_mut(&id) else { return };
        let guild = event.get("guild_id").map(|_| self.state.guild);
        interaction.delivered += self.gateway.dispatch("INTERACTION_CREATE", &event, Wanted::always(guild));
    }

    /// Takes the first response, which may come only once and only in time.
    pub(super) fn respond(
        &mut self,
        target: &Target,
        body: &Map<String, Value>,
        now: Duration,
    ) -> Result<(Id, Callback), Refusal> {
        let known = target.interaction.and_then(|id| self.state.interactions.get_mut(&id));
        let Some(interaction) = known.filter(|known| Some(&known.token) == target.token.as_ref()) else {
            return Err(refusal::UNKNOWN_INTERACTION);
        };
        if interaction.callback.is_some() {
            interaction.repeated += 1;
            return Err(refusal::ALREADY_ACKNOWLEDGED);
        }
        if now.saturating_sub(interaction.created) > FIRST_RESPONSE_WITHIN {
            interaction.too_late += 1;
            return Err(refusal::UNKNOWN_INTERACTION);
        }
        let interaction = interaction.clone();
        for key in body.keys().filter(|key| !matches!(key.as_str(), "type" | "data")) {
            self.violation(format!("unknown key `{key}`"));
        }
        let kind = kind_of(body, &interaction.cause)?;
        let empty = Map::new();
        let data = match body.get("data") {
            None | Some(Value::Null) => None,
            Some(Value::Object(data)) => Some(data),
            Some(_) => {
                let message = "Only dictionaries may be used in a ModelType";
                return Err(Refusal::Form(vec![Problem::new("data", "MODEL_TYPE_CONVERT", message)]));
            }
        };
        let fields = data.unwrap_or(&empty);
        let ephemeral = fields.get("flags").and_then(Value::as_u64).unwrap_or_default() & EPHEMERAL != 0;
        let mut callback =
            Callback { kind, after: now.saturating_sub(interaction.created), ephemeral, message: None, modal: None };
        match kind {
            CallbackKind::Message => {
                self.judge(rules::message(fields, Carrier::Reply))?;
                let message = self.response(&interaction, fields, ephemeral, now);
                if is_empty(&message) {
                    return Err(refusal::EMPTY_MESSAGE);
                }
                callback.message = Some(message.id);
                self.publish(message);
            }
            CallbackKind::DeferredMessage => {
                let mut message = self.response(&interaction, &empty, ephemeral, now);
                message.thinking = true;
                callback.message = Some(message.id);
                self.publish(message);
            }
            CallbackKind::DeferredUpdate => callback.message = interaction.cause.message(),
            CallbackKind::Update => {
                callback.message = interaction.cause.message();
                if data.is_some() {
                    self.judge(rules::message(fields, Carrier::Update))?;
                }
                if let Some(id) = callback.message.filter(|_| !fields.is_empty()) {
                    self.revise(id, fields, now)?;
                }
            }
            CallbackKind::Modal => {
                self.judge(rules::modal(fields))?;
                callback.modal = Some(fields.clone().into());
            }
        }
        if let Some(known) = self.state.interactions.get_mut(&interaction.id) {
            known.callback = Some(callback.clone());
        }
        Ok((interaction.id, callback))
    }

    /// Posts a further message through the interaction's webhook.
    pub(super) fn follow_up(
        &mut self,
        target: &Target,
        body: &Map<String, Value>,
        now: Duration,
    ) -> Result<Value, Refusal> {
        let (interaction, callback) = self.webhook(target, now)?;
        self.judge(rules::message(body, Carrier::FollowUp))?;
        let waiting = callback.message.filter(|id| self.state.messages.get(id).is_some_and(|message| message.thinking));
        if let Some(id) = waiting {
            // The first follow-up after a deferred message takes its place, and its privacy.
            return self.revise(id, body, now);
        }
        let ephemeral = body.get("flags").and_then(Value::as_u64).unwrap_or_default() & EPHEMERAL != 0;
        let message = self.response(&interaction, body, ephemeral, now);
        if is_empty(&message) {
            return Err(refusal::EMPTY_MESSAGE);
        }
        if let Some(known) = self.state.interactions.get_mut(&interaction.id) {
            known.follow_ups.push(message.id);
        }
        Ok(self.publish(message))
    }

    pub(super) fn edit_response(
        &mut self,
        target: &Target,
        body: &Map<String, Value>,
        now: Duration,
    ) -> Result<Value, Refusal> {
        let id = self.response_at(target, now)?.id;
        self.judge(rules::message(body, Carrier::EditResponse))?;
        self.revise(id, body, now)
    }

    /// The response a webhook path names.
    pub(super) fn response_at(&self, target: &Target, now: Duration) -> Result<&Message, Refusal> {
        let (interaction, callback) = self.webhook(target, now)?;
        let id = match target.message {
            None => callback.message,
            Some(id) => Some(id).filter(|id| interaction.follow_ups.contains(id) || callback.message == Some(*id)),
        };
        id.and_then(|id| self.state.messages.get(&id))
            .filter(|message| !message.deleted)
            .ok_or(refusal::UNKNOWN_MESSAGE)
    }

    /// The interaction behind a webhook path, while its token lives and after its first response.
    fn webhook(&self, target: &Target, now: Duration) -> Result<(Interaction, Callback), Refusal> {
        let interaction = target.interaction.and_then(|id| self.state.interactions.get(&id));
        let interaction = interaction.ok_or(refusal::INVALID_WEBHOOK_TOKEN)?;
        if target.application != Some(self.state.bot) {
            return Err(refusal::UNKNOWN_WEBHOOK);
        }
        if now.saturating_sub(interaction.created) > TOKEN_LIFE {
            return Err(refusal::INVALID_WEBHOOK_TOKEN);
        }
        let callback = interaction.callback.clone().ok_or(refusal::UNKNOWN_WEBHOOK)?;
        Ok((interaction.clone(), callback))
    }

    fn response(
        &mut self,
        interaction: &Interaction,
        body: &Map<String, Value>,
        private: bool,
        now: Duration,
    ) -> Message {
        let mut message = self.blank(interaction.channel, now);
        message.interaction = Some(interaction.id);
        merge(&mut message, body);
        if private {
            message.flags |= EPHEMERAL;
            message.only_for = Some(interaction.user);
        }
        message
    }
}

/// The event's data for a component.
pub(super) fn component_data(part: &Value, custom_id: &str, values: Option<&[String]>) -> Value {
    let kind = part.get("type").and_then(Value::as_u64).unwrap_or(2);
    let mut data = json!({ "component_type": kind, "custom_id": custom_id, "id": 2 });
    if let (Some(values), Some(data)) = (values, data.as_object_mut()) {
        data.insert("values".to_owned(), json!(values));
    }
    data
}

/// The kind of first response, if it fits what the person did.
fn kind_of(body: &Map<String, Value>, cause: &Cause) -> Result<CallbackKind, Refusal> {
    let refuse = |code, message: String| Err(Refusal::Form(vec![Problem::new("type", code, message)]));
    let Some(value) = body.get("type") else {
        return refuse("BASE_TYPE_REQUIRED", "This field is required".to_owned());
    };
    let fitting: &[u64] = match cause {
        Cause::Component { .. } => &[4, 5, 6, 7, 9],
        Cause::Command { .. } => &[4, 5, 9],
        Cause::Modal { message: Some(_), .. } => &[4, 5, 6, 7],
        Cause::Modal { message: None, .. } => &[4, 5],
    };
    let fits = value.as_u64().filter(|number| fitting.contains(number));
    if let Some(kind) = fits.and_then(CallbackKind::from_number) {
        return Ok(kind);
    }
    let listed = fitting.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    refuse("BASE_TYPE_CHOICES", format!("Value must be one of {{{listed}}}."))
}
