//! The strict body of `turn`: exactly one of three shapes, and the literal complaints about everything else.

use asks::ask::Surface;
use serde_json::{Map, Value, json};

/// A `turn` body that has one of the three shapes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TurnCall {
    pub(super) shape: Shape,
    pub(super) surface: Surface,
}

/// What a turn is about.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    Prompt(String),
    Answer { tool_call_id: String, response: Value },
    Button { tool_call_id: String, button_id: String },
}

const ONE_OF: &str = "Send one of prompt, askResponse, or toolCallId with buttonId.";
const ONLY_ONE_OF: &str = "Send only one of prompt, askResponse, or toolCallId with buttonId.";
const ACTION: &str = "Invalid discriminator value. Expected 'accept' | 'decline' | 'cancel'";
const SURFACE: &str = "Invalid option: expected one of \"full\"|\"compact\"";

/// The longest reason of a cancel, in code points.
const REASON_MAX: usize = 200;

/// Reads a `turn` body.
///
/// # Errors
///
/// The map for `meta.fields`: one message per top-level key, empty for an unknown root key and for a body that is no
/// object.
pub(super) fn read(body: &Value) -> Result<TurnCall, Map<String, Value>> {
    let object = body.as_object().ok_or_else(Map::new)?;
    let mut fields = Map::new();
    let mut strange = false;
    for (key, value) in object {
        let problem = match key.as_str() {
            "prompt" | "toolCallId" | "buttonId" => text_problem(value),
            "askResponse" => answer_problem(value),
            "surface" => surface(value).is_none().then(|| SURFACE.to_owned()),
            _ => {
                strange = true;
                None
            }
        };
        if let Some(problem) = problem {
            fields.insert(key.clone(), json!(problem));
        }
    }
    if strange || !fields.is_empty() {
        return Err(fields);
    }
    let surface = object.get("surface").and_then(surface).unwrap_or_default();
    shape(object).map(|shape| TurnCall { shape, surface })
}

fn shape(object: &Map<String, Value>) -> Result<Shape, Map<String, Value>> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
    let (prompt, answer) = (text("prompt"), object.get("askResponse").and_then(Value::as_object));
    let (call, button) = (text("toolCallId"), text("buttonId"));
    let one = |key: &str, message: &str| Map::from_iter([(key.to_owned(), json!(message))]);
    match (prompt, answer, call, button) {
        (Some(prompt), None, None, None) => Ok(Shape::Prompt(prompt)),
        (None, Some(answer), None, None) => {
            let mut response = answer.clone();
            let id = response.shift_remove("toolCallId");
            let tool_call_id = id.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
            Ok(Shape::Answer { tool_call_id, response: Value::Object(response) })
        }
        (None, None, Some(tool_call_id), Some(button_id)) => Ok(Shape::Button { tool_call_id, button_id }),
        (None, None, None, None) => Err(one("prompt", ONE_OF)),
        (None, None, None, Some(_)) => Err(one("toolCallId", "Send toolCallId with buttonId.")),
        (None, None, Some(_), None) => Err(one("buttonId", "Send buttonId with toolCallId.")),
        _ => Err(object.keys().filter(|key| *key != "surface").map(|key| (key.clone(), json!(ONLY_ONE_OF))).collect()),
    }
}

fn surface(value: &Value) -> Option<Surface> {
    match value.as_str()? {
        "full" => Some(Surface::Full),
        "compact" => Some(Surface::Compact),
        _ => None,
    }
}

fn text_problem(value: &Value) -> Option<String> {
    match value.as_str() {
        Some("") => Some("Too small: expected string to have >=1 characters".to_owned()),
        Some(_) => None,
        None => Some(expected("string", Some(value))),
    }
}

/// The first thing wrong inside `askResponse`, which is a strict union on `action`.
fn answer_problem(value: &Value) -> Option<String> {
    let Some(object) = value.as_object() else { return Some(expected("object", Some(value))) };
    let known: &[&str] = match object.get("action").and_then(Value::as_str) {
        Some("accept") => &["action", "toolCallId", "content"],
        Some("decline") => &["action", "toolCallId"],
        Some("cancel") => &["action", "toolCallId", "reason"],
        _ => return Some(ACTION.to_owned()),
    };
    if known.contains(&"content") && !object.get("content").is_some_and(Value::is_object) {
        return Some(expected("record", object.get("content")));
    }
    if let Some(reason) = object.get("reason").filter(|_| known.contains(&"reason")) {
        if let Some(problem) = text_problem(reason) {
            return Some(problem);
        }
        if reason.as_str().is_some_and(|reason| reason.chars().count() > REASON_MAX) {
            return Some(format!("Too big: expected string to have <={REASON_MAX} characters"));
        }
    }
    match object.get("toolCallId") {
        None => return Some(expected("string", None)),
        Some(id) => {
            if let Some(problem) = text_problem(id) {
                return Some(problem);
            }
        }
    }
    let stranger = object.keys().find(|key| !known.contains(&key.as_str()))?;
    Some(format!("Unrecognized key: {}", json!(stranger)))
}

fn expected(what: &str, found: Option<&Value>) -> String {
    let found = match found {
        None => "undefined",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "boolean",
        Some(Value::Number(_)) => "number",
        Some(Value::String(_)) => "string",
        Some(Value::Array(_)) => "array",
        Some(Value::Object(_)) => "object",
    };
    format!("Invalid input: expected {what}, received {found}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_shapes_are_read() {
        let call = read(&json!({"prompt": "x", "surface": "compact"})).expect("a prompt");
        assert_eq!(call, TurnCall { shape: Shape::Prompt("x".to_owned()), surface: Surface::Compact });
        let call = read(&json!({"askResponse": {"toolCallId": "c", "action": "decline"}})).expect("an answer");
        let response = json!({"action": "decline"});
        assert_eq!(call.shape, Shape::Answer { tool_call_id: "c".to_owned(), response });
        let call = read(&json!({"toolCallId": "c", "buttonId": "skip"})).expect("a button");
        assert_eq!(call.shape, Shape::Button { tool_call_id: "c".to_owned(), button_id: "skip".to_owned() });
    }

    #[test]
    fn everything_else_is_refused_under_its_top_level_key() {
        let answer = |answer: Value| json!({"askResponse": answer});
        for (body, expected) in [
            (json!([]), json!({})),
            (json!({"prompt": "x", "foo": 1}), json!({})),
            (json!({}), json!({"prompt": ONE_OF})),
            (json!({"surface": "full"}), json!({"prompt": ONE_OF})),
            (json!({"prompt": null}), json!({"prompt": "Invalid input: expected string, received null"})),
            (json!({"prompt": "x", "surface": "watch"}), json!({"surface": SURFACE})),
            (json!({"buttonId": "a"}), json!({"toolCallId": "Send toolCallId with buttonId."})),
            (answer(json!({"toolCallId": "c", "action": "maybe"})), json!({"askResponse": ACTION})),
            (answer(json!({"action": "decline"})), json!({"askResponse": expected("string", None)})),
            (
                answer(json!({"toolCallId": "c", "action": "decline", "reason": "no"})),
                json!({"askResponse": "Unrecognized key: \"reason\""}),
            ),
            (
                json!({"prompt": "x", "toolCallId": "c", "buttonId": "a"}),
                json!({"prompt": ONLY_ONE_OF, "toolCallId": ONLY_ONE_OF, "buttonId": ONLY_ONE_OF}),
            ),
        ] {
            assert_eq!(read(&body).map_err(Value::Object), Err(expected), "{body}");
        }
        for body in [
            answer(json!({"toolCallId": "c", "action": "accept"})),
            answer(json!({"toolCallId": "c", "action": "accept", "content": []})),
            answer(json!({"toolCallId": "", "action": "decline"})),
            answer(json!({"toolCallId": "c", "action": "cancel", "reason": "x".repeat(201)})),
            json!({"prompt": ""}),
            json!({"toolCallId": "c"}),
        ] {
            assert!(read(&body).is_err_and(|fields| fields.len() == 1), "{body}");
        }
    }
}
