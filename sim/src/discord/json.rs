//! The objects as Discord writes them into answers and events.

use serde_json::{Map, Value, json};

use super::{
    id::{Id, timestamp},
    state::{Callback, CallbackKind, Cause, Channel, ChannelKind, Interaction, Message, State},
};

/// Everything a bot may do in a text channel, as the permission bits of an ordinary grant.
const PERMISSIONS: &str = "2248473465835073";

/// How strangely an interaction is written.
///
/// The platform adds fields and component types without notice; a client has to live with all of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// As today.
    #[default]
    Plain,
    /// With unknown fields in every object.
    UnknownFields,
    /// With component types nobody knows, beside the message's own rows and inside of one.
    UnknownComponents,
    /// Without every field that came in later years.
    Bare,
}

pub(super) fn user(state: &State, id: Id) -> Value {
    let bot = id == state.bot;
    let name = state.users.get(&id).map_or("askgate", |user| user.name.as_str());
    let mut user = json!({
        "id": id,
        "username": name,
        "discriminator": "0",
        "global_name": if bot { Value::Null } else { json!(name) },
        "avatar": null,
        "avatar_decoration_data": null,
        "banner": null,
        "accent_color": null,
        "collectibles": null,
        "primary_guild": null,
        "public_flags": 0,
        "flags": 0,
    });
    if bot && let Some(user) = user.as_object_mut() {
        user.insert("bot".to_owned(), true.into());
    }
    user
}

pub(super) fn me(state: &State) -> Value {
    let mut me = user(state, state.bot);
    if let Some(me) = me.as_object_mut() {
        me.extend(object(json!({
            "verified": true, "mfa_enabled": true, "email": null, "flags": 0, "locale": "en-US", "premium_type": 0,
        })));
    }
    me
}

pub(super) fn channel(state: &State, channel: &Channel) -> Value {
    let last = channel.messages.last();
    match channel.kind {
        ChannelKind::Dm { user: person } => json!({
            "id": channel.id, "type": 1, "flags": 0, "last_message_id": last, "recipients": [user(state, person)],
        }),
        ChannelKind::Text => json!({
            "id": channel.id, "type": 0, "flags": 0, "last_message_id": last, "guild_id": state.guild,
            "name": channel.name, "parent_id": null, "position": 0, "permission_overwrites": [], "topic": null,
            "nsfw": false, "rate_limit_per_user": 0,
        }),
        ChannelKind::Thread { parent, archived, locked } => json!({
            "id": channel.id, "type": 11, "flags": 0, "last_message_id": last, "guild_id": state.guild,
            "name": channel.name, "parent_id": parent, "owner_id": state.bot, "rate_limit_per_user": 0,
            "message_count": channel.messages.len(), "member_count": 2, "total_message_sent": channel.messages.len(),
            "thread_metadata": {
                "archived": archived, "locked": locked, "auto_archive_duration": 4320,
                "archive_timestamp": "2026-12-01T00:00:00.000000+00:00",
                "create_timestamp": "2026-12-01T00:00:00.000000+00:00",
            },
        }),
    }
}

pub(super) fn message(state: &State, message: &Message) -> Value {
    let mut written = json!({
        "id": message.id,
        "channel_id": message.channel,
        "type": if message.reference.is_some() { 19 } else { 0 },
        "author": user(state, message.author),
        "content": message.content,
        "timestamp": timestamp(message.created),
        "edited_timestamp": message.edited.map(timestamp),
        "tts": false,
        "mention_everyone": message.pinged_everyone,
        "mentions": [],
        "mention_roles": [],
        "attachments": [],
        "embeds": message.embeds.iter().map(embed).collect::<Vec<_>>(),
        "components": numbered(&message.components),
        "pinned": false,
        "flags": message.flags,
    });
    let Some(fields) = written.as_object_mut() else { return written };
    if let Some(nonce) = &message.nonce {
        fields.insert("nonce".to_owned(), json!(nonce));
    }
    if let Some(reference) = message.reference {
        let mut pointer = object(json!({ "type": 0, "channel_id": message.channel, "message_id": reference }));
        if is_in_guild(state, message.channel) {
            pointer.insert("guild_id".to_owned(), json!(state.guild));
        }
        fields.insert("message_reference".to_owned(), pointer.into());
    }
    if let Some(cause) = message.interaction.and_then(|id| state.interactions.get(&id)) {
        fields.insert("application_id".to_owned(), json!(state.bot));
        fields.insert("webhook_id".to_owned(), json!(state.bot));
        fields.insert("interaction_metadata".to_owned(), metadata(state, cause));
    }
    written
}

/// Where a response comes from, as its message tells.
fn metadata(state: &State, interaction: &Interaction) -> Value {
    let mut metadata = object(json!({
        "id": interaction.id,
        "type": kind_number(&interaction.cause),
        "user": user(state, interaction.user),
        "authorizing_integration_owners": owners(state, interaction),
    }));
    match &interaction.cause {
        Cause::Component { message, .. } => {
            metadata.insert("interacted_message_id".to_owned(), json!(message));
        }
        Cause::Modal { opened_by, .. } => {
            if let Some(opener) = state.interactions.get(opened_by) {
                metadata.insert("triggering_interaction_metadata".to_owned(), self::metadata(state, opener));
            }
        }
        Cause::Command { .. } => {}
    }
    metadata.into()
}

/// The response resource of a callback that asked for it.
pub(super) fn callback(state: &State, interaction: &Interaction, callback: &Callback) -> Value {
    let message = callback.message.and_then(|id| state.messages.get(&id));
    let mut written = object(json!({
        "interaction": {
            "id": interaction.id,
            "type": kind_number(&interaction.cause),
            "response_message_id": message.map(|message| message.id),
            "response_message_loading": message.is_some_and(|message| message.thinking),
            "response_message_ephemeral": callback.ephemeral,
        },
    }));
    if let Some(shown) = message.filter(|_| matches!(callback.kind, CallbackKind::Message | CallbackKind::Update)) {
        let resource = json!({ "type": callback.kind.number(), "message": self::message(state, shown) });
        written.insert("resource".to_owned(), resource);
    }
    written.into()
}

/// The data of `INTERACTION_CREATE`, which is also the body of an interaction over HTTP.
pub(super) fn interaction(state: &State, interaction: &Interaction, shape: Shape) -> Value {
    let in_guild = is_in_guild(state, interaction.channel);
    let mut fields = object(json!({
        "id": interaction.id,
        "application_id": state.bot,
        "type": kind_number(&interaction.cause),
        "token": interaction.token,
        "version": 1,
        "data": interaction.data,
        "channel_id": interaction.channel,
        "channel": state.channels.get(&interaction.channel).map(|channel| self::channel(state, channel)),
        "locale": "en-US",
        "app_permissions": PERMISSIONS,
        "entitlements": [],
        "entitlement_sku_ids": [],
        "authorizing_integration_owners": owners(state, interaction),
        "context": u8::from(!in_guild),
        "attachment_size_limit": 10_485_760,
    }));
    let person = user(state, interaction.user);
    if in_guild {
        fields.insert("guild_id".to_owned(), json!(state.guild));
        fields.insert("guild_locale".to_owned(), json!("en-US"));
        fields.insert("guild".to_owned(), json!({ "id": state.guild, "locale": "en-US", "features": [] }));
        fields.insert("member".to_owned(), member(&person));
    } else {
        fields.insert("user".to_owned(), person);
    }
    if let Some(shown) = interaction.cause.message().and_then(|id| state.messages.get(&id)) {
        fields.insert("message".to_owned(), message(state, shown));
    }
    bend(&mut fields, shape);
    fields.into()
}

fn member(person: &Value) -> Value {
    json!({
        "user": person,
        "nick": null,
        "avatar": null,
        "banner": null,
        "roles": [],
        "joined_at": "2025-01-01T00:00:00.000000+00:00",
        "premium_since": null,
        "deaf": false,
        "mute": false,
        "flags": 0,
        "pending": false,
        "permissions": PERMISSIONS,
        "communication_disabled_until": null,
        "unusual_dm_activity_until": null,
    })
}

fn bend(fields: &mut Map<String, Value>, shape: Shape) {
    match shape {
        Shape::Plain => {}
        Shape::UnknownFields => {
            for value in fields.values_mut() {
                add_unknown_fields(value);
            }
            fields.insert("field_of_next_year".to_owned(), json!({ "nested": [1, "two", null] }));
        }
        Shape::UnknownComponents => {
            let rows = fields.get_mut("message").and_then(|message| message.get_mut("components"));
            let Some(rows) = rows.and_then(Value::as_array_mut) else { return };
            let strange = json!({ "type": 99, "id": 900, "spin": true });
            if let Some(row) = rows.first_mut().and_then(|row| row.get_mut("components")?.as_array_mut()) {
                row.push(strange.clone());
            }
            rows.push(
                json!({ "type": 17, "id": 901, "components": [{ "type": 10, "id": 902, "content": "text" }, strange] }),
            );
        }
        Shape::Bare => {
            for late in [
                "channel",
                "guild",
                "entitlements",
                "entitlement_sku_ids",
                "authorizing_integration_owners",
                "context",
                "attachment_size_limit",
                "app_permissions",
                "guild_locale",
            ] {
                fields.remove(late);
            }
        }
    }
}

fn add_unknown_fields(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            // The keys of this map are numbers of installation kinds, not field names.
            let owners = fields.keys().all(|key| key.bytes().all(|byte| byte.is_ascii_digit()));
            for (_, inner) in fields.iter_mut() {
                add_unknown_fields(inner);
            }
            if !owners {
                fields.insert("field_of_next_year".to_owned(), json!("unknown"));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(add_unknown_fields),
        _ => {}
    }
}

fn owners(state: &State, interaction: &Interaction) -> Value {
    if is_in_guild(state, interaction.channel) { json!({ "0": state.guild }) } else { json!({ "0": "0" }) }
}

pub(super) fn kind_number(cause: &Cause) -> u64 {
    match cause {
        Cause::Command { .. } => 2,
        Cause::Component { .. } => 3,
        Cause::Modal { .. } => 5,
    }
}

pub(super) fn is_in_guild(state: &State, channel: Id) -> bool {
    state.channels.get(&channel).is_some_and(|channel| !matches!(channel.kind, ChannelKind::Dm { .. }))
}

fn embed(sent: &Value) -> Value {
    let mut embed = sent.clone();
    if let Some(fields) = embed.as_object_mut() {
        fields.insert("type".to_owned(), json!("rich"));
    }
    embed
}

/// The rows with the numbers that Discord gives to every component, counted through the message.
fn numbered(rows: &[Value]) -> Vec<Value> {
    let mut next = 0_u64;
    let mut number = |component: &mut Value| {
        next += 1;
        if let Some(fields) = component.as_object_mut() {
            fields.entry("id").or_insert(json!(next));
        }
    };
    let mut rows = rows.to_vec();
    for row in &mut rows {
        number(row);
        for part in row.get_mut("components").and_then(Value::as_array_mut).into_iter().flatten() {
            number(part);
        }
    }
    rows
}

pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
