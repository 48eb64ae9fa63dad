//! `reply_markup`: which keyboards the platform takes, and its words for the others.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::model::{Action, Button, ChatKind};
use super::refusal::Refusal;
use super::text::units;
use super::urls;

/// Most bytes of callback data, in UTF-8.
const DATA_MAX: usize = 64;
/// Most buttons of one keyboard, and of one row.
const BUTTONS_MAX: usize = 100;
const ROW_MAX: usize = 8;
/// Most UTF-16 units of a text that a button copies, and of a placeholder.
const COPY_MAX: usize = 256;
const PLACEHOLDER_MAX: usize = 64;

/// The actions of a button, of which exactly one must be there.
const ACTIONS: &[&str] = &[
    "url",
    "callback_data",
    "web_app",
    "login_url",
    "switch_inline_query",
    "switch_inline_query_current_chat",
    "switch_inline_query_chosen_chat",
    "copy_text",
    "callback_game",
    "pay",
];

/// What came as `reply_markup`.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Markup {
    /// The inline keyboard's rows.
    pub(super) keyboard: Vec<Vec<Button>>,
    /// Anything else, as it came.
    pub(super) other: Option<Value>,
}

/// Reads a `reply_markup` for a chat of that kind.
///
/// # Errors
///
/// 400 with the platform's words.
pub(super) fn markup(given: Option<Value>, chat: ChatKind) -> Result<Markup, Refusal> {
    let object = match given {
        None => return Ok(Markup::default()),
        Some(Value::Object(object)) => object,
        Some(_) => return Err(Refusal::bad("object expected as reply markup")),
    };
    if let Some(rows) = object.get("inline_keyboard") {
        return Ok(Markup { keyboard: inline(rows, chat)?, other: None });
    }
    let placeholder = object.get("input_field_placeholder").and_then(Value::as_str).unwrap_or_default();
    if units(placeholder) > PLACEHOLDER_MAX {
        return Err(Refusal::bad("input field placeholder is too long"));
    }
    let known = if let Some(keyboard) = object.get("keyboard") {
        let rows = keyboard.as_array().ok_or_else(|| Refusal::bad("field \"keyboard\" must be of type Array"))?;
        if !rows.iter().all(Value::is_array) {
            return Err(Refusal::bad("field \"keyboard\" must be an Array of Arrays"));
        }
        true
    } else {
        let is_set = |name: &str| object.get(name).and_then(Value::as_bool) == Some(true);
        is_set("force_reply") || is_set("remove_keyboard")
    };
    Ok(Markup { keyboard: Vec::new(), other: known.then_some(Value::Object(object)) })
}

fn inline(rows: &Value, chat: ChatKind) -> Result<Vec<Vec<Button>>, Refusal> {
    let rows = rows.as_array().ok_or_else(|| Refusal::bad("field \"inline_keyboard\" must be of type Array"))?;
    let mut keyboard = Vec::with_capacity(rows.len());
    let mut count = 0;
    for row in rows {
        let row = row.as_array().ok_or_else(|| Refusal::bad("inline keyboard row must be an Array"))?;
        count += row.len();
        if row.len() > ROW_MAX || count > BUTTONS_MAX {
            return Err(Refusal::bad("REPLY_MARKUP_TOO_LONG"));
        }
        if !row.is_empty() {
            keyboard.push(row.iter().map(|value| button(value, chat)).collect::<Result<Vec<_>, _>>()?);
        }
    }
    Ok(keyboard)
}

fn unreadable(what: &str) -> Refusal {
    Refusal::bad(format!("can't parse inline keyboard button: {what}"))
}

fn string(fields: &Map<String, Value>, name: &str) -> Result<Option<String>, Refusal> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(unreadable(&format!("Field \"{name}\" must be of type String"))),
    }
}

fn button(value: &Value, chat: ChatKind) -> Result<Button, Refusal> {
    let fields = value.as_object().ok_or_else(|| Refusal::bad("inline keyboard button must be an Object"))?;
    let text = string(fields, "text")?.ok_or_else(|| unreadable("Can't find field \"text\""))?;
    if text.trim().is_empty() {
        return Err(Refusal::bad("REPLY_MARKUP_INVALID"));
    }
    let style = string(fields, "style")?.filter(|style| !matches!(style.as_str(), "" | "default"));
    if style.as_deref().is_some_and(|style| !matches!(style, "danger" | "success" | "primary")) {
        return Err(unreadable("invalid button style specified"));
    }
    let icon_custom_emoji_id = string(fields, "icon_custom_emoji_id")?.filter(|id| !id.is_empty());
    // An empty text is no action at all to the real server; an empty inline query is one.
    let present: Vec<&str> = ACTIONS
        .iter()
        .copied()
        .filter(|name| match fields.get(*name) {
            None | Some(Value::Null) => false,
            Some(Value::String(text)) => !text.is_empty() || name.starts_with("switch"),
            Some(_) => true,
        })
        .collect();
    let [name] = present.as_slice() else {
        return Err(unreadable(if present.is_empty() {
            "Text buttons are unallowed in the inline keyboard"
        } else {
            "exactly one action must be specified"
        }));
    };
    let action = action(name, fields, chat)?;
    Ok(Button { text, style, icon_custom_emoji_id, action })
}

fn action(name: &str, fields: &Map<String, Value>, chat: ChatKind) -> Result<Action, Refusal> {
    let text =
        if matches!(name, "url" | "callback_data") { string(fields, name)?.unwrap_or_default() } else { String::new() };
    let inner = |field: &str| fields.get(name).and_then(|value| value.get(field)).and_then(Value::as_str);
    match name {
        "url" => {
            return match urls::check(&text) {
                Ok(()) => Ok(Action::Url(text)),
                Err(_) => Err(Refusal::bad("BUTTON_URL_INVALID")),
            };
        }
        "callback_data" => {
            return if text.len() <= DATA_MAX {
                Ok(Action::CallbackData(text))
            } else {
                Err(Refusal::bad("BUTTON_DATA_INVALID"))
            };
        }
        "web_app" if chat != ChatKind::Private => return Err(Refusal::bad("BUTTON_TYPE_INVALID")),
        "web_app" | "login_url" => {
            let url = inner("url").ok_or_else(|| unreadable(&format!("Field \"{name}\" must be of type Object")))?;
            if !url.starts_with("https://") {
                return Err(Refusal::bad(format!(
                    "inline keyboard button URL '{url}' is invalid: only HTTPS links are allowed"
                )));
            }
            if urls::check(url).is_err() {
                return Err(Refusal::bad("BUTTON_URL_INVALID"));
            }
        }
        "copy_text" => {
            let copied = inner("text").ok_or_else(|| unreadable("Field \"copy_text\" must be of type Object"))?;
            if copied.is_empty() || units(copied) > COPY_MAX {
                return Err(Refusal::bad("BUTTON_COPY_TEXT_INVALID"));
            }
        }
        "switch_inline_query" | "switch_inline_query_current_chat" => {
            string(fields, name)?;
        }
        "switch_inline_query_chosen_chat" if fields.get(name).is_some_and(Value::is_object) => {}
        // Games and invoices are other kinds of messages.
        _ => return Err(Refusal::bad("BUTTON_TYPE_INVALID")),
    }
    let value = fields.get(name).cloned().unwrap_or_default();
    Ok(Action::Other(BTreeMap::from([(name.to_owned(), value)])))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn verdict(button: &Value) -> Result<Button, String> {
        markup(Some(json!({"inline_keyboard": [[button]]})), ChatKind::Group)
            .map(|mut markup| markup.keyboard.remove(0).remove(0))
            .map_err(|refusal| refusal.description)
    }

    #[test]
    fn callback_data_is_counted_in_bytes() {
        for (data, fits) in
            [("a".repeat(64), true), ("é".repeat(32), true), ("🎻".repeat(16), true), ("🎻".repeat(17), false)]
        {
            let verdict = verdict(&json!({"text": "x", "callback_data": data}));
            assert_eq!(verdict.is_ok(), fits, "{data}");
        }
    }

    #[test]
    fn a_button_serialises_as_the_bot_api_writes_it() {
        for written in [
            json!({"text": "x", "callback_data": "d"}),
            json!({"text": "x", "style": "danger", "url": "https://e.org"}),
            json!({"text": "x", "copy_text": {"text": "c"}}),
        ] {
            assert_eq!(serde_json::to_value(verdict(&written).unwrap()).unwrap(), written);
        }
    }
}
