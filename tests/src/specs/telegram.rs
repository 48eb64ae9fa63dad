//! The Bot API: names, types and required parameters from the published file; lengths and values from its prose.

use std::collections::HashSet;

use serde_json::{Map, Value};
use sim::telegram::Request;

/// The longest text of a message, in UTF-16 units.
const MAX_TEXT: usize = 4096;
/// The longest answer to a press, in characters.
const MAX_ANSWER: usize = 200;
/// The longest data of a button, in bytes.
const MAX_DATA: usize = 64;
/// What a button may have beside its one action.
const NOT_ACTIONS: [&str; 3] = ["text", "style", "icon_custom_emoji_id"];
const STYLES: [&str; 3] = ["danger", "success", "primary"];
/// The kinds of sign of activity that exist.
const ACTIVITIES: [&str; 11] = [
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

/// The published file.
#[derive(Debug)]
pub(super) struct TelegramFile(Value);

impl TelegramFile {
    pub(super) const fn new(file: Value) -> Self {
        Self(file)
    }

    /// What in a call the file does not allow.
    pub(super) fn problems(&self, request: &Request) -> Vec<String> {
        let Some(method) = self.0.get("methods").and_then(|methods| methods.get(&request.method)) else {
            return vec!["there is no such method".to_owned()];
        };
        let mut problems = self.fields(method, &request.params, request.json, "");
        if request.method == "getUpdates" {
            let kinds = list(&self.0, &["types", "Update", "fields"]);
            let kinds: HashSet<&str> = kinds.filter_map(|field| field.get("name")?.as_str()).collect();
            for wanted in request.params.get("allowed_updates").and_then(Value::as_array).into_iter().flatten() {
                if wanted.as_str().is_none_or(|wanted| !kinds.contains(wanted)) {
                    problems.push(format!("allowed_updates: there is no update of kind {wanted}"));
                }
            }
        }
        problems
    }

    fn fields(&self, shape: &Value, given: &Map<String, Value>, typed: bool, at: &str) -> Vec<String> {
        let known: Vec<&Value> = list(shape, &["fields"]).collect();
        let name = |field: &Value| field.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut problems = Vec::new();
        for (key, value) in given {
            match known.iter().find(|field| name(field) == *key) {
                None => problems.push(format!("{at}{key}: there is no such key")),
                Some(field) => {
                    problems.extend(self.any_of(list(field, &["types"]), value, typed, &format!("{at}{key}")));
                }
            }
        }
        let missing = known.iter().filter(|field| field.get("required") == Some(&Value::Bool(true)));
        let missing = missing.map(|field| name(field)).filter(|key| !given.contains_key(key));
        problems.extend(missing.map(|key| format!("{at}{key}: is required and missing")));
        problems
    }

    fn any_of<'a>(&self, kinds: impl Iterator<Item = &'a Value>, value: &Value, typed: bool, at: &str) -> Vec<String> {
        let mut problems = Vec::new();
        for kind in kinds.filter_map(Value::as_str) {
            let found = self.is_a(kind, value, typed, at);
            if found.is_empty() {
                return found;
            }
            problems.extend(found);
        }
        problems
    }

    fn is_a(&self, kind: &str, value: &Value, typed: bool, at: &str) -> Vec<String> {
        // A form carries everything but text as JSON in a text.
        let read = match value {
            Value::String(text) if !typed && kind != "String" => serde_json::from_str(text).unwrap_or(Value::Null),
            other => other.clone(),
        };
        let fits = match kind {
            "String" => read.is_string(),
            "Integer" => read.is_i64() || read.is_u64(),
            "Float" => read.is_number(),
            "Boolean" => read.is_boolean(),
            "True" => read == Value::Bool(true),
            _ => return self.is_an_object_or_list(kind, &read, at),
        };
        if fits { Vec::new() } else { vec![format!("{at}: {read} is no {kind}")] }
    }

    fn is_an_object_or_list(&self, kind: &str, value: &Value, at: &str) -> Vec<String> {
        if let Some(of) = kind.strip_prefix("Array of ") {
            let Some(items) = value.as_array() else { return vec![format!("{at}: {value} is no list")] };
            let items = items.iter().enumerate();
            return items.flat_map(|(place, item)| self.is_a(of, item, true, &format!("{at}[{place}]"))).collect();
        }
        let Some(shape) = self.0.get("types").and_then(|types| types.get(kind)) else {
            return vec![format!("{at}: the file has no type {kind}")];
        };
        if shape.get("subtypes").is_some() {
            return self.any_of(list(shape, &["subtypes"]), value, true, at);
        }
        match value.as_object() {
            Some(given) => self.fields(shape, given, true, &format!("{at}.")),
            None => vec![format!("{at}: {value} is no {kind}")],
        }
    }
}

/// What in a call breaks a rule that the file only has in sentences.
pub(super) fn prose(request: &Request) -> Vec<String> {
    let mut problems = Vec::new();
    let text = |key: &str| request.params.get(key).and_then(Value::as_str);
    match request.method.as_str() {
        "sendMessage" | "editMessageText" => message(request, text("text").unwrap_or_default(), &mut problems),
        "answerCallbackQuery" => {
            let length = text("text").unwrap_or_default().chars().count();
            if length > MAX_ANSWER {
                problems.push(format!("text: {length} characters, at most {MAX_ANSWER}"));
            }
        }
        "sendChatAction" if text("action").is_none_or(|action| !ACTIVITIES.contains(&action)) => {
            problems.push(format!("action: {:?} does not exist", text("action")));
        }
        "getUpdates" => {
            let limit = request.params.get("limit").and_then(Value::as_i64);
            if limit.is_some_and(|limit| !(1..=100).contains(&limit)) {
                problems.push(format!("limit: {limit:?} is not within 1 and 100"));
            }
        }
        _ => {}
    }
    let rows = list(&Value::Object(request.params.clone()), &["reply_markup", "inline_keyboard"]).cloned().collect();
    keyboard(rows, &mut problems);
    problems
}

fn message(request: &Request, text: &str, problems: &mut Vec<String>) {
    let units = text.encode_utf16().count();
    if text.trim().is_empty() || units > MAX_TEXT {
        problems.push(format!("text: {units} units, at least 1 visible and at most {MAX_TEXT}"));
    }
    // Where a whole character begins; an entity that begins or ends elsewhere cuts one in two.
    let mut starts: HashSet<usize> = HashSet::from([units]);
    let mut at = 0;
    for character in text.chars() {
        starts.insert(at);
        at += character.len_utf16();
    }
    for entity in request.params.get("entities").and_then(Value::as_array).into_iter().flatten() {
        let number =
            |key: &str| entity.get(key).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok());
        let (Some(offset), Some(length)) = (number("offset"), number("length")) else {
            problems.push(format!("entities: {entity} has no place"));
            continue;
        };
        if length == 0 || !starts.contains(&offset) || !starts.contains(&(offset + length)) {
            problems.push(format!("entities: {entity} is empty, outside the text or cuts a character"));
        }
    }
    if request.params.contains_key("parse_mode") && request.params.contains_key("entities") {
        problems.push("parse_mode and entities exclude each other".to_owned());
    }
}

fn keyboard(rows: Vec<Value>, problems: &mut Vec<String>) {
    let mut seen = HashSet::new();
    for row in rows {
        let buttons = row.as_array().cloned().unwrap_or_default();
        if buttons.is_empty() {
            problems.push("inline_keyboard: a row without a button".to_owned());
        }
        for button in buttons {
            let Some(keys) = button.as_object() else { continue };
            let actions: Vec<&str> = keys.keys().map(String::as_str).filter(|key| !NOT_ACTIONS.contains(key)).collect();
            if actions.len() != 1 {
                problems.push(format!("a button has the actions {actions:?}, not exactly one"));
            }
            let text = |key: &str| keys.get(key).and_then(Value::as_str);
            if text("text").unwrap_or_default().trim().is_empty() {
                problems.push("a button says nothing".to_owned());
            }
            if let Some(style) =
                keys.get("style").filter(|style| style.as_str().is_none_or(|style| !STYLES.contains(&style)))
            {
                problems.push(format!("a button has the style {style}"));
            }
            if let Some(data) = text("callback_data") {
                if data.is_empty() || data.len() > MAX_DATA {
                    problems.push(format!("callback_data: {} bytes, 1 to {MAX_DATA} are allowed", data.len()));
                }
                if !seen.insert(data.to_owned()) {
                    problems.push("two buttons carry the same callback_data".to_owned());
                }
            }
            if let Some(url) = text("url") {
                let (scheme, rest) = url.split_once("://").unwrap_or_default();
                let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
                if !matches!(scheme, "http" | "https" | "tg") || (scheme != "tg" && !host.contains('.')) {
                    problems.push(format!("a button leads to {url:?}, which the servers refuse"));
                }
            }
        }
    }
}

/// The items of a list inside; none where there is no list.
fn list<'a>(value: &'a Value, path: &[&str]) -> impl Iterator<Item = &'a Value> + use<'a> {
    let found = path.iter().try_fold(value, |value, key| value.get(key));
    found.and_then(Value::as_array).into_iter().flatten()
}
