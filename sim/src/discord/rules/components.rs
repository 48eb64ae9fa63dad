//! Rows, buttons and string selects of a message.
//!
//! <https://discord.com/developers/docs/components/reference>

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::form::{Form, join};

/// Rows per message.
const ROWS_MAX: usize = 5;
/// Buttons per row.
const BUTTONS_MAX: usize = 5;
/// Custom id, in code points.
pub(super) const CUSTOM_ID_MAX: usize = 100;
/// Button label, in code points.
const LABEL_MAX: usize = 80;
/// Address of a link button, in code points.
const URL_MAX: usize = 512;
/// Options of a select.
const OPTIONS_MAX: usize = 25;
/// Label, value and description of an option, in code points.
const OPTION_TEXT_MAX: usize = 100;
/// Placeholder of a select, in code points.
const PLACEHOLDER_MAX: usize = 150;

const ROW: i64 = 1;
const BUTTON: i64 = 2;
const STRING_SELECT: i64 = 3;
const LINK_STYLE: i64 = 5;
const PREMIUM_STYLE: i64 = 6;

pub(super) fn check(form: &mut Form, at: &str, body: &Map<String, Value>) {
    let Some(rows) = form.array(at, body, "components") else { return };
    let at = join(at, "components");
    if rows.len() > ROWS_MAX {
        form.problem(at.clone(), "BASE_TYPE_MAX_LENGTH", format!("Must be {ROWS_MAX} or fewer in length."));
    }
    let mut custom_ids = HashSet::new();
    for (place, row) in rows.iter().enumerate() {
        check_row(form, &format!("{at}.{place}"), row, &mut custom_ids);
    }
}

fn check_row<'v>(form: &mut Form, at: &str, row: &'v Value, custom_ids: &mut HashSet<&'v str>) {
    let Some(row) = form.as_object(at, row) else { return };
    form.known(at, row, &["type", "id", "components"]);
    let kind = form.integer(at, row, "type", 0, 255);
    if kind != Some(ROW) {
        // The newer layouts (containers, sections, text) need Components V2, which simple cards do not use.
        form.problem(join(at, "type"), "UNION_TYPE_CHOICES", "Value of field \"type\" must be one of (1,).");
        return;
    }
    let Some(parts) = form.array(at, row, "components") else {
        form.required(join(at, "components"));
        return;
    };
    let at = join(at, "components");
    form.between(&at, parts.len(), 1, BUTTONS_MAX);
    let selects = parts.iter().filter(|part| part.get("type").and_then(Value::as_i64) == Some(STRING_SELECT)).count();
    for (place, part) in parts.iter().enumerate() {
        let at = format!("{at}.{place}");
        if selects > 0 && place > 0 {
            let message = "The specified component exceeds the maximum width";
            form.problem(at.clone(), "COMPONENT_LAYOUT_WIDTH_EXCEEDED", message);
        }
        let Some(part) = form.as_object(&at, part) else { continue };
        match form.integer(&at, part, "type", 0, 255) {
            Some(BUTTON) => check_button(form, &at, part, custom_ids),
            Some(STRING_SELECT) => check_select(form, &at, part, custom_ids),
            Some(5..=8) => form.stray(format!("`{at}`: only string selects are simulated")),
            _ => {
                let message = "Value of field \"type\" must be one of (2, 3, 5, 6, 7, 8).";
                form.problem(join(&at, "type"), "UNION_TYPE_CHOICES", message);
            }
        }
    }
}

fn check_button<'v>(form: &mut Form, at: &str, button: &'v Map<String, Value>, custom_ids: &mut HashSet<&'v str>) {
    form.known(at, button, &["type", "id", "style", "label", "emoji", "custom_id", "sku_id", "url", "disabled"]);
    form.boolean(at, button, "disabled");
    let label = form.text(at, button, "label").map(str::trim).unwrap_or_default();
    form.at_most(&join(at, "label"), label, LABEL_MAX);
    let style = form.integer(at, button, "style", i64::MIN, i64::MAX);
    let custom_id = form.text(at, button, "custom_id");
    let url = form.text(at, button, "url");
    match style {
        Some(LINK_STYLE) => {
            match url {
                None => form.required(join(at, "url")),
                Some(url) => {
                    form.at_most(&join(at, "url"), url, URL_MAX);
                    form.url(&join(at, "url"), url, &["http", "https", "discord"]);
                }
            }
            if custom_id.is_some() {
                both_id_and_url(form, at);
            }
        }
        Some(PREMIUM_STYLE) => {
            form.stray(format!("`{at}`: premium buttons are not simulated"));
            if form.snowflake(at, button, "sku_id").is_none() {
                form.required(join(at, "sku_id"));
            }
            return;
        }
        Some(1..=4) => {
            if url.is_some() {
                both_id_and_url(form, at);
            }
            if custom_id.is_none_or(|id| id.trim().is_empty()) {
                form.problem(join(at, "custom_id"), "BUTTON_COMPONENT_CUSTOM_ID_REQUIRED", "A custom id is required");
            }
        }
        Some(_) => {
            let message = "Value must be one of {1, 2, 3, 4, 5, 6}.";
            form.problem(join(at, "style"), "BASE_TYPE_CHOICES", message);
        }
        None if !button.contains_key("style") => form.required(join(at, "style")),
        None => {}
    }
    if label.is_empty() && button.get("emoji").is_none_or(Value::is_null) {
        form.required(join(at, "label"));
    }
    if let Some(id) = custom_id.filter(|id| !id.trim().is_empty()) {
        check_custom_id(form, at, id, custom_ids);
    }
}

fn check_select<'v>(form: &mut Form, at: &str, select: &'v Map<String, Value>, custom_ids: &mut HashSet<&'v str>) {
    let keys =
        ["type", "id", "custom_id", "options", "placeholder", "min_values", "max_values", "disabled", "required"];
    form.known(at, select, &keys);
    form.boolean(at, select, "disabled");
    match form.text(at, select, "custom_id") {
        None => form.required(join(at, "custom_id")),
        Some(id) => check_custom_id(form, at, id, custom_ids),
    }
    if let Some(placeholder) = form.text(at, select, "placeholder") {
        form.at_most(&join(at, "placeholder"), placeholder, PLACEHOLDER_MAX);
    }
    form.integer(at, select, "min_values", 0, 25);
    form.integer(at, select, "max_values", 1, 25);
    let Some(options) = form.array(at, select, "options") else {
        form.required(join(at, "options"));
        return;
    };
    let at = join(at, "options");
    form.between(&at, options.len(), 1, OPTIONS_MAX);
    let mut values = HashSet::new();
    for (place, option) in options.iter().enumerate() {
        let at = format!("{at}.{place}");
        let Some(option) = form.as_object(&at, option) else { continue };
        form.known(&at, option, &["label", "value", "description", "emoji", "default"]);
        form.text_between(&at, option, "label", 1, OPTION_TEXT_MAX);
        if let Some(description) = form.text(&at, option, "description") {
            form.at_most(&join(&at, "description"), description, OPTION_TEXT_MAX);
        }
        if let Some(value) = form.text_between(&at, option, "value", 1, OPTION_TEXT_MAX)
            && !values.insert(value)
        {
            let message = "The specified option value is already used";
            form.problem(join(&at, "value"), "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED", message);
        }
    }
}

pub(super) fn check_custom_id<'v>(form: &mut Form, at: &str, id: &'v str, seen: &mut HashSet<&'v str>) {
    let at = join(at, "custom_id");
    form.between(&at, id.chars().count(), 1, CUSTOM_ID_MAX);
    if !seen.insert(id) {
        form.problem(at, "COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id cannot be duplicated");
    }
}

fn both_id_and_url(form: &mut Form, at: &str) {
    let message = "A custom id and url cannot both be specified";
    form.problem(join(at, "custom_id"), "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE", message);
}
