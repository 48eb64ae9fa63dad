//! An answer that was refused after it had been sent, as what was typed.

use asks::errors::Code;
use serde_json::Value;

use super::posted::Posted;
use super::problems::{Problem, field_of};

/// What a person must have typed to send this answer, so that the form can be drawn as it was. Files are not typed.
#[must_use]
pub fn typed(answer: &Value) -> Posted {
    let mut posted = Posted::default();
    let Some(content) = answer.get("content").and_then(Value::as_object) else { return posted };
    for (key, value) in content {
        match (key.as_str(), value) {
            ("selected", Value::Array(ids)) => push_all(&mut posted, "selected", ids),
            ("other" | "markdown", Value::String(text)) => posted.push(key, text),
            ("values", Value::Object(values)) => {
                for (id, value) in values {
                    let name = format!("v.{id}");
                    match value {
                        Value::Array(items) => push_all(&mut posted, &name, items),
                        Value::String(text) => posted.push(name, text),
                        // A box that is not ticked sends nothing.
                        Value::Bool(true) => posted.push(name, "on"),
                        Value::Number(number) => posted.push(name, &number.to_string()),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    posted
}

fn push_all(posted: &mut Posted, name: &str, items: &[Value]) {
    for text in items.iter().filter_map(Value::as_str) {
        posted.push(name, text);
    }
}

/// A source's own reason, at the field that its path names.
#[must_use]
pub fn from_source(path: &str, sentence: &str) -> Problem {
    Problem { field: field_of(path), code: Code::InvalidFormat, sentence: sentence.to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_typed_again() {
        let answer = json!({"action": "accept", "content": {"values": {"n": 2.5, "on": true, "off": false, "some": ["a", "b"], "t": "x"}}});
        let posted = typed(&answer);
        assert_eq!(posted.text("v.n"), Some("2.5"));
        assert_eq!((posted.text("v.on"), posted.text("v.off")), (Some("on"), None));
        assert_eq!(posted.all("v.some").collect::<Vec<_>>(), ["a", "b"]);
        let choice = typed(&json!({"action": "accept", "content": {"selected": ["b"], "other": "x"}}));
        assert!(choice.has("selected", "b") && choice.has("other", "x"));
        assert_eq!(typed(&json!({"action": "decline"})), Posted::default());
    }

    #[test]
    fn a_source_names_the_field() {
        assert_eq!(from_source("content.values.n", "Too many.").field.as_deref(), Some("v.n"));
        assert_eq!(from_source("askResponse", "No.").field, None);
    }
}
