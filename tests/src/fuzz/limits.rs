//! What a platform takes of a message, written from its documents.

use std::collections::BTreeSet;

use asks::text::utf16_len;
use serde_json::Value;

/// Asserts that both channels' messages, as `askgate preview` prints them, are within every limit.
pub(super) fn hold(shown: &Value) {
    list(shown, "telegram").for_each(telegram);
    list(shown, "discord").for_each(discord);
    assert!(list(shown, "telegram").count() > 0 && list(shown, "discord").count() > 0, "nothing is shown");
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn telegram(body: &Value) {
    let said = text(body, "text");
    let units = utf16_len(said);
    assert!((1..=4096).contains(&units) && !said.trim().is_empty(), "a text of {units} units");
    for entity in list(body, "entities") {
        let number = |key: &str| entity.get(key).and_then(Value::as_u64).unwrap_or(u64::MAX);
        let end = number("offset").saturating_add(number("length"));
        assert!(number("length") > 0 && end <= units as u64, "an entity to {end} of {units}");
    }
    let rows = body.get("reply_markup").map(|markup| list(markup, "inline_keyboard"));
    let buttons: Vec<&Value> = rows.into_iter().flatten().filter_map(Value::as_array).flatten().collect();
    assert!(buttons.len() <= 100, "{} buttons", buttons.len());
    let mut seen = BTreeSet::new();
    for button in buttons {
        assert!(!text(button, "text").trim().is_empty(), "a button without a label");
        let (data, url) = (text(button, "callback_data"), text(button, "url"));
        assert!(url.is_empty() != data.is_empty() && data.len() <= 64, "{} bytes of data", data.len());
        assert!(data.is_empty() || seen.insert(data.to_owned()), "two buttons are one");
    }
}

fn discord(body: &Value) {
    let said = text(body, "content");
    let chars = said.chars().count();
    assert!((1..=2000).contains(&chars) && !said.trim().is_empty(), "a content of {chars} characters");
    let parse = body.pointer("/allowed_mentions/parse").and_then(Value::as_array);
    assert!(parse.is_some_and(Vec::is_empty), "somebody may be pinged");
    let rows: Vec<&Value> = list(body, "components").collect();
    assert!(rows.len() <= 5, "{} rows", rows.len());
    let mut seen = BTreeSet::new();
    for row in rows {
        let count = list(row, "components").count();
        assert!((1..=5).contains(&count), "a row of {count}");
        for button in list(row, "components") {
            let label = text(button, "label");
            assert!((1..=80).contains(&label.chars().count()) && !label.trim().is_empty(), "a label of {label:?}");
            let (id, url) = (text(button, "custom_id"), text(button, "url"));
            assert!(url.is_empty() != id.is_empty() && id.chars().count() <= 100, "an id of {id}");
            assert!(url.chars().count() <= 512, "an address that is too long");
            assert!(id.is_empty() || seen.insert(id.to_owned()), "two buttons are one");
        }
    }
}
