//! Forms (modals): title, custom id, and the inputs that cards need.
//!
//! <https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object-modal>

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    Findings,
    components::{CUSTOM_ID_MAX, check_custom_id},
    form::{Form, join},
};

/// Title of a form and label of an input, in code points.
const TITLE_MAX: usize = 45;
/// Top-level components of a form, by the documentation.
const PARTS_MAX: usize = 5;
/// What a person can write into a text input, in code points.
const INPUT_MAX: i64 = 4000;

const ROW: i64 = 1;
const TEXT_INPUT: i64 = 4;
const TEXT_DISPLAY: i64 = 10;
const LABEL: i64 = 18;

/// Checks the data of a callback of type 9.
pub(in crate::discord) fn modal(data: &Map<String, Value>) -> Findings {
    let mut form = Form::default();
    form.known("data", data, &["custom_id", "title", "components"]);
    form.text_between("data", data, "custom_id", 1, CUSTOM_ID_MAX);
    form.text_between("data", data, "title", 1, TITLE_MAX);
    let Some(parts) = form.array("data", data, "components") else {
        form.required("data.components");
        return form.into_findings();
    };
    form.between("data.components", parts.len(), 1, PARTS_MAX);
    let mut custom_ids = HashSet::new();
    for (place, part) in parts.iter().enumerate() {
        let at = format!("data.components.{place}");
        let Some(part) = form.as_object(&at, part) else { continue };
        match form.integer(&at, part, "type", 0, 255) {
            Some(ROW) => {
                form.stray(format!("`{at}`: a row in a form is deprecated, use a label"));
                let inner = form.array(&at, part, "components").map(Vec::as_slice).unwrap_or_default();
                form.between(&join(&at, "components"), inner.len(), 1, 1);
                for input in inner {
                    check_input(&mut form, &format!("{at}.components.0"), input, true, &mut custom_ids);
                }
            }
            Some(LABEL) => {
                form.known(&at, part, &["type", "id", "label", "description", "component"]);
                form.text_between(&at, part, "label", 1, TITLE_MAX);
                if let Some(description) = form.text(&at, part, "description") {
                    form.between(&join(&at, "description"), description.chars().count(), 1, 100);
                }
                match part.get("component") {
                    None => form.required(join(&at, "component")),
                    Some(input) => check_input(&mut form, &join(&at, "component"), input, false, &mut custom_ids),
                }
            }
            Some(TEXT_DISPLAY) => {
                form.text_between(&at, part, "content", 1, 4000);
            }
            _ => {
                let message = "Value of field \"type\" must be one of (1, 10, 18).";
                form.problem(join(&at, "type"), "UNION_TYPE_CHOICES", message);
            }
        }
    }
    form.into_findings()
}

fn check_input<'v>(form: &mut Form, at: &str, input: &'v Value, bare: bool, custom_ids: &mut HashSet<&'v str>) {
    let Some(input) = form.as_object(at, input) else { return };
    match form.text(at, input, "custom_id") {
        None => form.required(join(at, "custom_id")),
        Some(id) => check_custom_id(form, at, id, custom_ids),
    }
    if form.integer(at, input, "type", 0, 255) != Some(TEXT_INPUT) {
        // Selects, radio and checkbox groups: their inner rules are not simulated, the custom id above is.
        return;
    }
    let keys =
        ["type", "id", "custom_id", "style", "label", "value", "placeholder", "required", "min_length", "max_length"];
    form.known(at, input, &keys);
    if form.integer(at, input, "style", 1, 2).is_none() && !input.contains_key("style") {
        form.required(join(at, "style"));
    }
    match form.text(at, input, "label") {
        Some(label) => form.between(&join(at, "label"), label.chars().count(), 1, TITLE_MAX),
        None if bare => form.required(join(at, "label")),
        None => {}
    }
    if let Some(value) = form.text(at, input, "value") {
        form.at_most(&join(at, "value"), value, 4000);
    }
    if let Some(placeholder) = form.text(at, input, "placeholder") {
        form.at_most(&join(at, "placeholder"), placeholder, 100);
    }
    form.boolean(at, input, "required");
    form.integer(at, input, "min_length", 0, INPUT_MAX);
    form.integer(at, input, "max_length", 1, INPUT_MAX);
}
