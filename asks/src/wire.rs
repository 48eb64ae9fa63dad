//! Bytes from a Terreno host, read forgivingly.
//!
//! What an agent or a person wrote is in these bodies, so anything may be in them. One rule above all: one unreadable
//! entry never loses its siblings, and is never silently dropped either, because a list that looks shorter than it is
//! would withdraw a question that still waits. Hence each entry is cut out of the text first and read by itself.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::ask::{AskSummary, History, PendingAsk, Row, StoredAsk, TurnResult};
use crate::ids::{ConversationId, ToolCallId};

mod mend;

pub use mend::mend;

/// Why a whole body could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The bytes are no JSON: a proxy's page, or a body that was cut off.
    #[error("the body is no JSON ({0}); check that the source's `url` leads to the Terreno API")]
    NotJson(String),
    /// JSON, but not what this endpoint returns.
    #[error("the body is not what this endpoint returns ({0}); check that the source's `url` leads to the Terreno API")]
    WrongShape(String),
}

/// The pending asks of one person.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pending {
    /// What could be read, in the host's order: newest first.
    pub asks: Vec<PendingAsk>,
    /// What could not. Such an ask waits all the same.
    pub unreadable: Vec<Unreadable>,
}

/// A part of a body that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The conversation, if that much was readable.
    pub conversation: Option<ConversationId>,
    /// The ask, if that much was readable.
    pub ask: Option<ToolCallId>,
    /// What was wrong, for the log. Holds no text of the ask.
    pub why: String,
}

/// The reply to a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// How it ended. `pending_ask` is absent when it could not be read.
    pub result: TurnResult,
    /// The ask the turn paused on, when it could not be read.
    pub unreadable: Option<Unreadable>,
}

/// A conversation, and what of it could not be read.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// What could be read.
    pub history: History,
    /// What could not: while this is not empty, a missing answer row proves nothing.
    pub unreadable: Vec<Unreadable>,
}

/// Reads the reply to `GET /gpt/histories/pendingAsks`.
///
/// # Errors
/// When the bytes are no JSON, or there is no `data` list. Bad entries are no error: they are in `unreadable`.
pub fn read_pending(body: &[u8]) -> Result<Pending, WireError> {
    let text = mend(body);
    let data = data(&text)?;
    let entries: Vec<&RawValue> =
        serde_json::from_str(data.get()).map_err(|_| WireError::WrongShape("`data` is no list".to_owned()))?;
    let mut pending = Pending::default();
    for entry in entries {
        match entry_of(entry.get()) {
            Ok(ask) => pending.asks.push(ask),
            Err(unreadable) => pending.unreadable.push(unreadable),
        }
    }
    Ok(pending)
}

/// Reads a successful reply to `POST /gpt/histories/:id/turn`.
///
/// # Errors
/// When the bytes are no JSON, or `data` is no object with a `historyId`.
pub fn read_turn(body: &[u8]) -> Result<Turn, WireError> {
    let text = mend(body);
    let mut data = object(data(&text)?.get())?;
    let pending_ask = data.remove("pendingAsk").filter(|ask| !ask.is_null());
    if let Some(error) = data.get_mut("error")
        && !error.is_string()
        && !error.is_null()
    {
        // An error is an error in whatever form it comes: a dropped one would read as success.
        *error = Value::String(error.to_string());
    }
    let mut result: TurnResult = typed(data).map_err(WireError::WrongShape)?;
    if result.conversation.as_str().is_empty() {
        return Err(WireError::WrongShape("`historyId` is empty".to_owned()));
    }
    let unreadable = match pending_ask.map(|ask| ask_part::<AskSummary>(ask, &result.conversation)) {
        None => None,
        Some(Ok(ask)) => {
            result.pending_ask = Some(ask);
            None
        }
        Some(Err(unreadable)) => Some(unreadable),
    };
    Ok(Turn { result, unreadable })
}

/// Reads the reply to `GET /gpt/histories/:id` (or to the `POST` that creates one).
///
/// # Errors
/// When the bytes are no JSON, or `data` is no object with an id. Bad rows are no error: they are in `unreadable`.
pub fn read_history(body: &[u8]) -> Result<Conversation, WireError> {
    let text = mend(body);
    let mut parts = raw_object(data(&text)?.get())?;
    let rows = parts.remove("prompts");
    let pending_ask = parts.remove("pendingAsk");
    let text_of = |key: &str| parts.get(key).and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    let id = ["id", "_id"].into_iter().filter_map(text_of).find(|id| !id.is_empty());
    let id = ConversationId::new(id.ok_or_else(|| WireError::WrongShape("the conversation has no id".to_owned()))?);

    let mut history = History { id: id.clone(), title: text_of("title"), rows: Vec::new(), pending_ask: None };
    let mut unreadable = Vec::new();
    let lost = |ask: Option<ToolCallId>, why: String| Unreadable { conversation: Some(id.clone()), ask, why };

    match rows.map(|rows| serde_json::from_str::<Option<Vec<&RawValue>>>(rows.get())) {
        None | Some(Ok(None)) => {}
        Some(Err(_)) => unreadable.push(lost(None, "`prompts` is no list".to_owned())),
        Some(Ok(Some(rows))) => {
            for raw in rows {
                match row(raw.get()) {
                    Ok(row) => history.rows.push(row),
                    Err((ask, why)) => unreadable.push(lost(ask, why)),
                }
            }
        }
    }
    if let Some(raw) = pending_ask.filter(|raw| raw.get() != "null") {
        match value(raw.get()).map_err(|why| lost(None, why)).and_then(|ask| ask_part::<StoredAsk>(ask, &id)) {
            Ok(ask) => history.pending_ask = Some(ask),
            Err(one) => unreadable.push(one),
        }
    }
    Ok(Conversation { history, unreadable })
}

/// The raw `data` of a body.
fn data(text: &str) -> Result<&RawValue, WireError> {
    let mut parts = raw_object(text)?;
    parts.remove("data").ok_or_else(|| WireError::WrongShape("there is no `data`".to_owned()))
}

/// The members of an object, unread. Of a repeated key the last one counts, as in JavaScript.
fn raw_object(text: &str) -> Result<std::collections::HashMap<String, &RawValue>, WireError> {
    serde_json::from_str(text).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => WireError::WrongShape("an object was expected".to_owned()),
        _ => WireError::NotJson(error.to_string()),
    })
}

fn object(text: &str) -> Result<Map<String, Value>, WireError> {
    match value(text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(WireError::WrongShape("`data` is no object".to_owned())),
        Err(why) => Err(WireError::WrongShape(why)),
    }
}

fn value(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| scrub(&error))
}

fn entry_of(text: &str) -> Result<PendingAsk, Unreadable> {
    let mut entry = match value(text) {
        Ok(Value::Object(entry)) => entry,
        Ok(_) => return Err(Unreadable { conversation: None, ask: None, why: "the entry is no object".to_owned() }),
        Err(why) => return Err(Unreadable { conversation: None, ask: None, why }),
    };
    let conversation = id_of(&entry, "historyId").map(ConversationId::new);
    let ask = id_of(&entry, "toolCallId").map(ToolCallId::new);
    complete(&mut entry);
    let lost = |why: String| Unreadable { conversation: conversation.clone(), ask: ask.clone(), why };
    let pending: PendingAsk = typed(entry).map_err(lost)?;
    if conversation.is_none() || ask.is_none() {
        return Err(lost("`historyId` or `toolCallId` is empty".to_owned()));
    }
    Ok(pending)
}

/// Reads an ask inside another body, whose conversation is known.
fn ask_part<T: DeserializeOwned>(ask: Value, conversation: &ConversationId) -> Result<T, Unreadable> {
    let lost = |ask, why| Unreadable { conversation: Some(conversation.clone()), ask, why };
    let Value::Object(mut entry) = ask else {
        return Err(lost(None, "`pendingAsk` is no object".to_owned()));
    };
    let Some(id) = id_of(&entry, "toolCallId").map(ToolCallId::new) else {
        return Err(lost(None, "`toolCallId` is missing or empty".to_owned()));
    };
    complete(&mut entry);
    typed(entry).map_err(|why| lost(Some(id), why))
}

fn row(text: &str) -> Result<Row, (Option<ToolCallId>, String)> {
    match value(text) {
        Ok(Value::Object(row)) => {
            let ask = id_of(&row, "toolCallId").map(ToolCallId::new);
            typed(row).map_err(|why| (ask, why))
        }
        Ok(_) => Err((None, "a row is no object".to_owned())),
        // The row's arguments or result may be too deep to hold while its id is plain.
        Err(why) => Err((raw_object(text).ok().and_then(|parts| raw_id(&parts)), why)),
    }
}

fn raw_id(parts: &std::collections::HashMap<String, &RawValue>) -> Option<ToolCallId> {
    let id: String = serde_json::from_str(parts.get("toolCallId")?.get()).ok()?;
    Some(ToolCallId::new(id))
}

/// An id that can be sent back: text, and not empty.
fn id_of(entry: &Map<String, Value>, key: &str) -> Option<String> {
    entry.get(key).and_then(Value::as_str).filter(|id| !id.is_empty()).map(str::to_owned)
}

/// Makes a card readable that is not quite as specified: a part it can do without counts as absent when it has the wrong
/// type, and what the entry around the card says fills in what the card leaves out.
fn complete(entry: &mut Map<String, Value>) {
    drop_unless(entry, &["created", "title", "origin", "approvalId", "toolName"], Value::is_string);
    let outer: Vec<(&str, Value)> =
        ["toolCallId", "kind"].into_iter().filter_map(|key| entry.get(key).map(|value| (key, value.clone()))).collect();
    let Some(Value::Object(card)) = entry.get_mut("simple") else { return };
    drop_unless(card, &["title"], Value::is_string);
    drop_unless(card, &["handoff"], Value::is_boolean);
    drop_unless(card, &["buttons"], |buttons| !buttons.is_null());
    for (key, value) in outer {
        card.entry(key).or_insert(value);
    }
    let inner_kind = card.get("kind").cloned();
    if let Some(Value::Array(buttons)) = card.get_mut("buttons") {
        for button in buttons.iter_mut().filter_map(Value::as_object_mut) {
            drop_unless(button, &["style"], Value::is_string);
        }
    }
    if let Some(kind) = inner_kind {
        entry.entry("kind").or_insert(kind);
    }
}

fn drop_unless(map: &mut Map<String, Value>, keys: &[&str], usable: impl Fn(&Value) -> bool) {
    map.retain(|key, value| !keys.contains(&key.as_str()) || usable(value));
}

fn drop_nulls(map: &mut Map<String, Value>) {
    map.retain(|_, value| !value.is_null());
}

fn typed<T: DeserializeOwned>(mut map: Map<String, Value>) -> Result<T, String> {
    drop_nulls(&mut map);
    T::deserialize(Value::Object(map)).map_err(|error| scrub(&error))
}

/// What serde says, without the value it quotes: an ask's text does not belong in a log.
fn scrub(error: &serde_json::Error) -> String {
    let said = error.to_string();
    match (said.find(": "), said.find(", expected ")) {
        (Some(from), Some(to)) if said.starts_with("invalid ") && from < to => {
            let (what, rest) = said.split_at(from);
            let (_, expected) = rest.split_at(to - from);
            format!("{what}{expected}")
        }
        _ => said,
    }
}
