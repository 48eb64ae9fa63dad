//! Where the host meets the rules of asks: cards, checked asks, checked answers, pressed buttons.
//!
//! Cards stay plain JSON here, because a test may put one on a conversation that breaks every rule.

use asks::ask::Surface;
use asks::card::{Card, Kind};
use asks::errors::{Code, FieldError, Path};
use asks::ids::{ButtonId, ToolCallId};
use asks::{derive, text, validate};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::script::AskSpec;

/// The card of an ask that was let through; `null` for one that was not.
pub(super) fn card(kind: &str, input: &Value, tool_call_id: &str) -> Value {
    let card = derive::derive(&Kind::from(kind), input, &ToolCallId::from(tool_call_id));
    card.ok().and_then(|card| serde_json::to_value(card).ok()).unwrap_or_default()
}

/// Why the model may not ask this, as the tool error it gets.
pub(super) fn ask_problem(kind: &str, input: &Value, surface: Surface) -> Option<String> {
    let kind = Kind::from(kind);
    let offered: &[&str] = match surface {
        Surface::Full => &["choice", "confirm", "markdown", "form", "files"],
        Surface::Compact => &["choice", "confirm"],
    };
    if !offered.contains(&kind.as_str()) {
        let tools: Vec<String> = offered.iter().map(|kind| format!("ask_{kind}")).collect();
        let tools = tools.join(", ");
        return Some(format!("Model tried to call unavailable tool 'ask_{kind}'. Available tools: {tools}."));
    }
    let errors = validate::ask(&kind, surface, input);
    let listed: Vec<String> = errors.iter().map(ToString::to_string).collect();
    (!listed.is_empty()).then(|| format!("Invalid input for tool ask_{kind}: {}", listed.join(" ")))
}

/// Like [`ask_problem`]; a ready-made card is never a problem.
pub(super) fn spec_problem(spec: &AskSpec, surface: Surface) -> Option<String> {
    if spec.card.is_some() { None } else { ask_problem(&spec.kind, &spec.input, surface) }
}

/// What is wrong with an answer, as the host's `fields`. File bytes are checked too; there is no file storage, so an upload
/// is nobody's.
pub(super) fn answer_problems(kind: &str, input: &Value, response: &Value, max: u64) -> Vec<Value> {
    let mut errors = validate::answer(&Kind::from(kind), input, response, max);
    if errors.is_empty() && kind == "files" {
        let files = response.pointer("/content/files").and_then(Value::as_array).into_iter().flatten();
        errors.extend(files.enumerate().flat_map(|(index, file)| file_problems(index, file, max)));
    }
    errors.iter().map(|error| json!(error)).collect()
}

/// The answer a pressed button stands for.
///
/// # Errors
///
/// The entry of the host's `fields` when the card does not have the button.
pub(super) fn button(card: &Value, id: &str) -> Result<Value, Value> {
    let buttons = card.get("buttons").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let id_of = |button: &'_ Value| button.get("id").and_then(Value::as_str).map(str::to_owned);
    if let Some(button) = buttons.iter().find(|button| id_of(button).as_deref() == Some(id)) {
        return Ok(button.get("response").cloned().unwrap_or_default());
    }
    let read = serde_json::from_value::<Card>(card.clone());
    if let Some(error) = read.ok().and_then(|card| derive::find_button(&card, &ButtonId::from(id)).err()) {
        return Err(json!(error));
    }
    let ids: Vec<String> = buttons.iter().filter_map(id_of).map(|id| text::quote_whole(&id)).collect();
    Err(json!(FieldError::new(
        &Path::root().key("buttonId"),
        Code::UnknownButton,
        format!("Button {} is not on the pending ask's simple card.", text::quote(id)),
        format!("Send the id of one of the card's buttons: {}.", ids.join(", ")),
    )))
}

fn file_problems(index: usize, file: &Value, max: u64) -> Vec<FieldError> {
    let url = file.get("url").and_then(Value::as_str);
    let bytes = url.and_then(|url| url.split_once(',')).and_then(|(_, payload)| STANDARD.decode(payload).ok());
    if let Some(bytes) = bytes {
        let mime_type = file.get("mimeType").and_then(Value::as_str).unwrap_or_default();
        return validate::file_bytes(&bytes, mime_type, max, index);
    }
    let path = Path::root().key("content").key("files").index(index).key("fileId");
    let message = "This host has no file storage.";
    vec![FieldError::new(&path, Code::FileNotOwned, message, "Send the file as a data URL in `url` instead.")]
}
