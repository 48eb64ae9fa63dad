//! What the real server lets pass and the documentation does not allow: unknown names, other types, missing fields.
//!
//! The real server ignores an unknown key, so a misspelt `reply_markup` sends a card without buttons. Tests assert that nothing
//! was noted here.

use serde_json::{Map, Value};

use super::params::Call;
use super::tables::{self, Shape};

/// Every deviation of a call from the documentation, as path and problem.
pub(super) fn deviations(call: &Call) -> Vec<(String, String)> {
    let mut found = Vec::new();
    if call.json {
        fields(call.method, &call.params, "", &mut found);
        return found;
    }
    for name in call.params.keys().filter(|name| call.method.field(name).is_none()) {
        found.push((name.clone(), format!("{} has no such parameter", call.method.name)));
    }
    found
}

fn fields(shape: &Shape, given: &Map<String, Value>, path: &str, found: &mut Vec<(String, String)>) {
    for (name, value) in given {
        let here = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match shape.field(name) {
            None => found.push((here, format!("{} has no such field", shape.name))),
            Some(field) => match field.types.iter().find(|kind| fits(value, kind)) {
                None => found.push((here, format!("is not of type {}", field.types.join(" or ")))),
                Some(kind) => inside(kind, value, &here, found),
            },
        }
    }
    for field in shape.fields.iter().filter(|field| field.required && !given.contains_key(field.name)) {
        let here = if path.is_empty() { field.name.to_owned() } else { format!("{path}.{}", field.name) };
        found.push((here, format!("is required by {}", shape.name)));
    }
}

fn inside(kind: &str, value: &Value, path: &str, found: &mut Vec<(String, String)>) {
    if let (Some(item), Value::Array(values)) = (kind.strip_prefix("Array of "), value) {
        for (index, value) in values.iter().enumerate() {
            let here = format!("{path}[{index}]");
            if fits(value, item) {
                inside(item, value, &here, found);
            } else {
                found.push((here, format!("is not of type {item}")));
            }
        }
    } else if let (Some(shape), Value::Object(given)) = (tables::object(kind), value) {
        fields(shape, given, path, found);
    }
}

/// Whether a value can be of a documented type. Of several objects the one whose required fields are there is taken, because
/// `reply_markup` may be any of four.
fn fits(value: &Value, kind: &str) -> bool {
    match kind {
        "Integer" => value.is_i64() || value.is_u64(),
        "String" => value.is_string(),
        "Boolean" => value.is_boolean(),
        "Float" => value.is_number(),
        _ if kind.starts_with("Array of ") => value.is_array(),
        // A button of a custom keyboard may be a bare text.
        "KeyboardButton" => value.is_object() || value.is_string(),
        _ => value.as_object().is_some_and(|given| {
            tables::object(kind).is_none_or(|shape| {
                shape.fields.iter().filter(|field| field.required).all(|field| given.contains_key(field.name))
                    || shape.name == "InlineKeyboardButton"
            })
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paths(method: &str, params: Value) -> Vec<String> {
        let Value::Object(params) = params else { panic!("parameters are an object") };
        let call = Call { method: tables::method(method).unwrap(), params, json: true };
        deviations(&call).into_iter().map(|(path, _)| path).collect()
    }

    #[test]
    fn a_documented_call_deviates_nowhere() {
        let params = json!({
            "chat_id": 5, "text": "x", "entities": [{"type": "bold", "offset": 0, "length": 1}],
            "reply_markup": {"inline_keyboard": [[{"text": "a", "callback_data": "b", "style": "danger"}]]},
            "link_preview_options": {"is_disabled": true},
        });
        assert_eq!(paths("sendMessage", params), Vec::<String>::new());
    }

    #[test]
    fn each_deviation_is_named_by_its_path() {
        let table = [
            (json!({"chat_id": 5, "text": "x", "replymarkup": {}}), "replymarkup"),
            (json!({"chat_id": 5.5, "text": "x"}), "chat_id"),
            (json!({"chat_id": 5, "text": 7}), "text"),
            (json!({"chat_id": 5, "text": "x", "disable_notification": "true"}), "disable_notification"),
            (json!({"text": "x"}), "chat_id"),
            (
                json!({"chat_id": 5, "text": "x", "reply_markup": {"inline_keyboard": [[{"text": "a", "data": "b"}]]}}),
                "reply_markup.inline_keyboard[0][0].data",
            ),
            (
                json!({"chat_id": 5, "text": "x", "reply_markup": {"inline_keyboard": [{"text": "a"}]}}),
                "reply_markup.inline_keyboard[0]",
            ),
            (
                json!({"chat_id": 5, "text": "x", "link_preview_options": {"disabled": true}}),
                "link_preview_options.disabled",
            ),
        ];
        for (params, path) in table {
            assert_eq!(paths("sendMessage", params.clone()), [path], "{params}");
        }
    }
}
