//! The list of slash commands a bot registers in one go.
//!
//! <https://discord.com/developers/docs/interactions/application-commands#application-command-object>

use std::collections::HashSet;

use serde_json::Value;

use super::{
    Findings,
    form::{Form, join},
};

/// Chat commands per application.
const COMMANDS_MAX: usize = 100;
const NAME_MAX: usize = 32;
const DESCRIPTION_MAX: usize = 100;
const OPTIONS_MAX: usize = 25;

const KEYS: [&str; 12] = [
    "id",
    "type",
    "name",
    "name_localizations",
    "description",
    "description_localizations",
    "options",
    "default_member_permissions",
    "dm_permission",
    "contexts",
    "integration_types",
    "handler",
];

/// Checks the body of `PUT /applications/{id}/commands`.
pub(in crate::discord) fn commands(list: &[Value]) -> Findings {
    let mut form = Form::default();
    if list.len() > COMMANDS_MAX {
        form.problem("", "BASE_TYPE_MAX_LENGTH", format!("Must be {COMMANDS_MAX} or fewer in length."));
    }
    let mut names = HashSet::new();
    for (place, command) in list.iter().enumerate() {
        let at = place.to_string();
        let Some(command) = form.as_object(&at, command) else { continue };
        form.known(&at, command, &KEYS);
        let chat = command.get("type").is_none_or(|kind| kind == 1);
        if let Some(name) = form.text_between(&at, command, "name", 1, NAME_MAX) {
            if !names.insert(name) {
                let message = "Application command names must be unique";
                form.problem(join(&at, "name"), "APPLICATION_COMMANDS_DUPLICATE_NAME", message);
            }
            let plain = |c: char| (c.is_alphanumeric() && !c.is_uppercase()) || matches!(c, '-' | '_' | '\'');
            if chat && !name.chars().all(plain) {
                let message = "Command name is invalid";
                form.problem(join(&at, "name"), "APPLICATION_COMMAND_INVALID_NAME", message);
            }
        }
        if chat {
            form.text_between(&at, command, "description", 1, DESCRIPTION_MAX);
        }
        let options = form.array(&at, command, "options").map(Vec::as_slice).unwrap_or_default();
        if options.len() > OPTIONS_MAX {
            let message = format!("Must be {OPTIONS_MAX} or fewer in length.");
            form.problem(join(&at, "options"), "BASE_TYPE_MAX_LENGTH", message);
        }
        for (inner, option) in options.iter().enumerate() {
            let at = format!("{at}.options.{inner}");
            let Some(option) = form.as_object(&at, option) else { continue };
            form.text_between(&at, option, "name", 1, NAME_MAX);
            form.text_between(&at, option, "description", 1, DESCRIPTION_MAX);
            if form.integer(&at, option, "type", 1, 11).is_none() && !option.contains_key("type") {
                form.required(join(&at, "type"));
            }
        }
    }
    form.into_findings()
}
