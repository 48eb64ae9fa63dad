//! The text of a message: how it is counted, tidied and formatted.

use std::collections::BTreeMap;

use serde_json::Value;

use super::model::Entity;
use super::params::Call;
use super::refusal::Refusal;
use super::urls;

mod html;
mod markdown;
mod writer;

/// Longest text of a message after entities, in UTF-16 units.
pub(super) const TEXT_MAX: usize = 4096;

/// Kinds of entities a bot may send.
const KINDS: &[&str] = &[
    "bold",
    "italic",
    "underline",
    "strikethrough",
    "spoiler",
    "blockquote",
    "expandable_blockquote",
    "code",
    "pre",
    "text_link",
    "text_mention",
    "custom_emoji",
    "date_time",
];

/// Kinds the server finds by itself; it takes them in a request and drops them.
const FOUND_KINDS: &[&str] =
    &["mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number", "bank_card_number"];

/// Length in UTF-16 units, the way the platform counts.
pub(super) fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The text and formatting of a message that is sent or edited, tidied and measured.
///
/// # Errors
///
/// 400 for an empty or too long text, unreadable markup, or an entity outside the text.
pub(super) fn formatted(call: &Call) -> Result<(String, Vec<Entity>), Refusal> {
    let raw = call.text("text");
    let (text, entities) = match call.text("parse_mode").to_ascii_lowercase().as_str() {
        "" | "none" => {
            let given = entities(call.json("entities", "can't parse entities JSON object")?, &raw)?;
            (raw, given)
        }
        "html" => html::parse(&raw)?,
        "markdownv2" => markdown::parse_v2(&raw)?,
        "markdown" => markdown::parse_legacy(&raw)?,
        _ => return Err(Refusal::bad("unsupported parse_mode")),
    };
    let (text, entities) = tidy(&text, entities);
    match units(&text) {
        0 => Err(Refusal::bad("message text is empty")),
        1..=TEXT_MAX => Ok((text, entities)),
        _ => Err(Refusal::bad("message is too long")),
    }
}

fn entities(given: Option<Value>, text: &str) -> Result<Vec<Entity>, Refusal> {
    let list = match given {
        None => return Ok(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(Refusal::bad("expected an Array of MessageEntity")),
    };
    // Where a symbol begins; an entity may only begin and end there.
    let mut edges = vec![true];
    for symbol in text.chars() {
        edges.extend((1..symbol.len_utf16()).map(|_| false));
        edges.push(true);
    }
    let mut all = Vec::with_capacity(list.len());
    for value in list {
        if let Some(entity) = entity(value, &edges)? {
            all.push(entity);
        }
    }
    all.sort_by_key(|entity: &Entity| (entity.offset, usize::MAX - entity.length));
    Ok(all)
}

fn entity(value: Value, edges: &[bool]) -> Result<Option<Entity>, Refusal> {
    let unreadable = |what: &str| Refusal::bad(format!("can't parse MessageEntity: {what}"));
    let Value::Object(mut fields) = value else { return Err(unreadable("expected an Object")) };
    let Some(Value::String(kind)) = fields.remove("type") else {
        return Err(unreadable("Can't find field \"type\""));
    };
    let mut number = |name: &str| match fields.remove(name) {
        None | Some(Value::Null) => Err(unreadable(&format!("Can't find field \"{name}\""))),
        Some(value) => value.as_i64().ok_or_else(|| unreadable(&format!("Field \"{name}\" must be of type Number"))),
    };
    let (offset, length) = (number("offset")?, number("length")?);
    if FOUND_KINDS.contains(&kind.as_str()) {
        return Ok(None);
    }
    if !KINDS.contains(&kind.as_str()) {
        return Err(unreadable("Unsupported type specified"));
    }
    let end = edges.len() - 1;
    let Ok(start) = usize::try_from(offset) else {
        return Err(Refusal::bad(format!("receive an entity with incorrect offset {offset}")));
    };
    let Ok(length) = usize::try_from(length) else {
        return Err(Refusal::bad(format!("receive an entity with incorrect length {length}")));
    };
    let stop = start.saturating_add(length);
    if start > end {
        return Err(Refusal::bad(format!("entity begins after the end of the text at UTF-16 offset {start}")));
    }
    if stop > end {
        return Err(Refusal::bad(format!(
            "entity beginning at UTF-16 offset {start} ends after the end of the text at UTF-16 offset {stop}"
        )));
    }
    if edges.get(start) != Some(&true) {
        return Err(Refusal::bad(format!("entity begins in a middle of a UTF-16 symbol at UTF-16 offset {start}")));
    }
    if edges.get(stop) != Some(&true) {
        return Err(Refusal::bad(format!(
            "entity beginning at UTF-16 offset {start} ends in a middle of a UTF-16 symbol at UTF-16 offset {stop}"
        )));
    }
    if length == 0 {
        return Ok(None);
    }
    let more: BTreeMap<String, Value> = fields.into_iter().collect();
    match kind.as_str() {
        "text_link" => {
            let url = more.get("url").and_then(Value::as_str).unwrap_or_default();
            urls::check(url)
                .map_err(|problem| Refusal::bad(format!("entity URL '{url}' is invalid: {}", problem.words())))?;
        }
        "text_mention"
            if more.get("user").and_then(|user| user.get("id")).and_then(Value::as_i64).is_none_or(|id| id <= 0) =>
        {
            return Err(Refusal::bad("user not found"));
        }
        "custom_emoji"
            if more.get("custom_emoji_id").and_then(Value::as_str).is_none_or(|id| id.parse::<i64>().is_err()) =>
        {
            return Err(unreadable("Field \"custom_emoji_id\" must be a valid Number"));
        }
        _ => {}
    }
    Ok(Some(Entity { kind, offset: start, length, more }))
}

/// What the platform does to every text: control characters become spaces, carriage returns, line separators and
/// direction overrides (U+2028 to U+202E) vanish, white space around it is cut. Entities move along.
fn tidy(text: &str, entities: Vec<Entity>) -> (String, Vec<Entity>) {
    let mut kept = String::with_capacity(text.len());
    let mut moved = Vec::new();
    let mut at = 0;
    for symbol in text.chars() {
        moved.extend((0..symbol.len_utf16()).map(|_| at));
        let symbol = match symbol {
            '\r' | '\u{2028}'..='\u{202e}' => continue,
            '\n' => '\n',
            '\0'..='\u{1f}' => ' ',
            other => other,
        };
        kept.push(symbol);
        at += symbol.len_utf16();
    }
    moved.push(at);
    let without_start = kept.trim_start();
    let cut = units(&kept) - units(without_start);
    let trimmed = without_start.trim_end();
    let end = units(trimmed);
    let place = |offset: usize| moved.get(offset).copied().unwrap_or(at).saturating_sub(cut).min(end);
    let entities = entities
        .into_iter()
        .filter_map(|mut entity| {
            let (start, stop) = (place(entity.offset), place(entity.offset + entity.length));
            entity.offset = start;
            entity.length = stop.checked_sub(start).filter(|length| *length > 0)?;
            Some(entity)
        })
        .collect();
    (trimmed.to_owned(), entities)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tidying_moves_entities_along() {
        let bold = Entity { kind: "bold".into(), offset: 3, length: 2, more: BTreeMap::new() };
        let (text, entities) = tidy(" \r\u{202e}🎻\u{7}x ", vec![bold]);
        assert_eq!(text, "🎻 x");
        assert_eq!((entities[0].offset, entities[0].length), (0, 2));
        assert_eq!(tidy(" \n ", Vec::new()).0, "");
    }

    #[test]
    fn an_entity_on_cut_space_is_dropped() {
        let bold = Entity { kind: "bold".into(), offset: 1, length: 2, more: BTreeMap::new() };
        assert_eq!(tidy("x  ", vec![bold]), ("x".to_owned(), Vec::new()));
    }
}
