//! What a button sends, spelled out.
//!
//! Most buttons say what they send: an option's label, Approve, Deny, Skip. Some send what the card does not show, a draft, a
//! form's defaults, a suggested set. Those are offered only beside their content, in full, which is read from the
//! conversation.

use asks::card::{Button, Card, Kind};
use serde_json::Value;

use super::{one_line, visible};
use crate::words::Words;

/// Whether the card itself shows all that the button sends.
#[must_use]
pub fn speaks_for_itself(card: &Card, button: &Button) -> bool {
    match button.response.get("action").and_then(Value::as_str) {
        Some("decline" | "cancel") => true,
        Some("accept") | None => match card.kind {
            Kind::Confirm => true,
            Kind::Choice => button.id.as_str().starts_with("option:"),
            // An unknown kind's answer is known only as far as the card spells it out; without one the id is all there is.
            Kind::Markdown | Kind::Form | Kind::Files | Kind::Other(_) => {
                button.response.is_null() && is_other(&card.kind)
            }
        },
        Some(_) => false,
    }
}

const fn is_other(kind: &Kind) -> bool {
    matches!(kind, Kind::Other(_))
}

/// Whether a button of the card needs its content read before it may be offered.
#[must_use]
pub fn is_needed(card: &Card) -> bool {
    card.buttons.iter().any(|button| !speaks_for_itself(card, button))
}

/// What the card's content-sending button sends, in full; `None` if it cannot be told from the ask's input.
///
/// The values are those of the button's own answer, which is what the source will use; the input only names them.
#[must_use]
pub fn spell_out(card: &Card, input: &Value, words: &dyn Words) -> Option<String> {
    let button = card.buttons.iter().find(|button| !speaks_for_itself(card, button))?;
    let sent = button.response.get("content")?;
    let text = match card.kind {
        Kind::Markdown => {
            let draft = sent.get("markdown")?.as_str()?;
            let stored = input.get("initial").and_then(Value::as_str).unwrap_or_default();
            // The source sends the stored draft; if it is another one, nobody knows which would go out.
            if draft != stored {
                return None;
            }
            visible(draft)
        }
        Kind::Choice => {
            let selected = sent.get("selected")?.as_array()?;
            let lines: Option<Vec<String>> =
                selected.iter().map(|id| label_of(input.get("options")?, id.as_str()?)).collect();
            lines?.join("\n")
        }
        Kind::Form => {
            let values = sent.get("values")?.as_object()?;
            let fields = input.get("fields")?.as_array()?;
            let lines: Option<Vec<String>> = values.iter().map(|(id, value)| field_line(fields, id, value)).collect();
            lines?.join("\n")
        }
        Kind::Other(_) => visible(&serde_json::to_string_pretty(sent).ok()?),
        Kind::Confirm | Kind::Files => return None,
    };
    Some(if text.trim().is_empty() { words.empty_text() } else { text })
}

fn label_of(options: &Value, id: &str) -> Option<String> {
    let option = options.as_array()?.iter().find(|option| option.get("id").and_then(Value::as_str) == Some(id))?;
    Some(one_line(option.get("label")?.as_str()?))
}

fn field_line(fields: &[Value], id: &str, value: &Value) -> Option<String> {
    let field = fields.iter().find(|field| field.get("id").and_then(Value::as_str) == Some(id))?;
    let label = one_line(field.get("label")?.as_str()?);
    let shown = match value {
        Value::String(text) if field.get("type").and_then(Value::as_str) == Some("select") => {
            label_of(field.get("options")?, text)?
        }
        Value::String(text) => visible(text),
        Value::Array(ids) => {
            let labels: Option<Vec<String>> =
                ids.iter().map(|id| label_of(field.get("options")?, id.as_str()?)).collect();
            labels?.join(", ")
        }
        Value::Bool(true) => "✓".to_owned(),
        Value::Bool(false) => "✗".to_owned(),
        other => other.to_string(),
    };
    Some(format!("{label}: {shown}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::words::Language;

    fn card(kind: &str, buttons: &Value) -> Card {
        serde_json::from_value(
            json!({"toolCallId": "c", "kind": kind, "text": "?", "buttons": buttons, "handoff": true}),
        )
        .expect("a card")
    }

    #[test]
    fn content_is_what_the_buttons_answer_says_named_by_the_input() {
        let words = Language::En.words();
        let approve = json!([{"id": "approve", "label": "Approve draft", "style": "primary",
            "response": {"action": "accept", "content": {"changed": false, "markdown": "Hello **you**"}}}]);
        let draft = card("markdown", &approve);
        assert!(is_needed(&draft));
        assert_eq!(spell_out(&draft, &json!({"initial": "Hello **you**"}), words).as_deref(), Some("Hello **you**"));
        assert_eq!(spell_out(&draft, &json!({"initial": "Another"}), words), None, "another draft than the stored one");

        let empty = card(
            "markdown",
            &json!([{"id": "approve", "label": "Approve draft", "response": {"action": "accept", "content": {"changed": false, "markdown": ""}}}]),
        );
        assert_eq!(spell_out(&empty, &json!({}), words).as_deref(), Some("(an empty text)"));

        let many = card(
            "choice",
            &json!([{"id": "use-default", "label": "Use suggested", "response": {"action": "accept", "content": {"selected": ["a", "b"]}}}]),
        );
        let options = json!({"options": [{"id": "a", "label": "Apple"}, {"id": "b", "label": "Pear"}]});
        assert_eq!(spell_out(&many, &options, words).as_deref(), Some("Apple\nPear"));
        assert_eq!(spell_out(&many, &json!({"options": []}), words), None, "an option that is not there");

        let form = card(
            "form",
            &json!([{"id": "submit-defaults", "label": "Submit defaults",
                "response": {"action": "accept", "content": {"values": {"n": 3, "l": "rows", "ok": false}}}}]),
        );
        let fields = json!({"fields": [
            {"id": "n", "type": "number", "label": "People"},
            {"id": "l", "type": "select", "label": "Layout", "options": [{"id": "rows", "label": "Rows"}]},
            {"id": "ok", "type": "boolean", "label": "Catering"}]});
        assert_eq!(spell_out(&form, &fields, words).as_deref(), Some("People: 3\nLayout: Rows\nCatering: ✗"));
    }

    #[test]
    fn buttons_that_say_what_they_send_need_nothing() {
        let confirm = card(
            "confirm",
            &json!([{"id": "approve", "label": "Yes", "response": {"action": "accept", "content": {"confirmed": true}}}]),
        );
        let choice = card(
            "choice",
            &json!([{"id": "option:a", "label": "A", "response": {"action": "accept", "content": {"selected": ["a"]}}}]),
        );
        let skip = card("files", &json!([{"id": "skip", "label": "Skip", "response": {"action": "decline"}}]));
        for card in [confirm, choice, skip] {
            assert!(!is_needed(&card), "{:?}", card.kind);
        }
        let lying = card(
            "choice",
            &json!([{"id": "use-default", "label": "Use \"A\"", "response": {"action": "accept", "content": {"selected": ["b"]}}}]),
        );
        assert!(is_needed(&lying));
    }
}
