//! What Discord refuses, with its literal codes and texts.
//!
//! Codes: <https://discord.com/developers/docs/topics/opcodes-and-status-codes#json>. The texts of form errors are those
//! that bots in the field report.

use serde_json::{Map, Value, json};

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// One of the numbered errors.
    Coded { status: u16, code: u32, message: &'static str },
    /// 50035 with the path map of what is wrong.
    Form(Vec<Problem>),
    /// 50035 about the path: a part of it is no id.
    NotSnowflake { field: &'static str, value: String },
}

/// One thing that is wrong with a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// Where, with dots: `components.0.components.1.label`; empty for the body itself.
    pub(super) at: String,
    /// Discord's own code.
    pub(super) code: &'static str,
    /// Discord's own text.
    pub(super) message: String,
}

macro_rules! coded {
    ($($name:ident = $status:literal $code:literal $message:literal;)*) => {
        $(pub(super) const $name: Refusal = Refusal::Coded { status: $status, code: $code, message: $message };)*
    };
}

coded! {
    UNAUTHORIZED = 401 0 "401: Unauthorized";
    NOT_FOUND = 404 0 "404: Not Found";
    METHOD_NOT_ALLOWED = 405 0 "405: Method Not Allowed";
    UNKNOWN_CHANNEL = 404 10003 "Unknown Channel";
    UNKNOWN_MESSAGE = 404 10008 "Unknown Message";
    UNKNOWN_APPLICATION = 404 10002 "Unknown Application";
    UNKNOWN_WEBHOOK = 404 10015 "Unknown Webhook";
    UNKNOWN_INTERACTION = 404 10062 "Unknown interaction";
    TOO_LARGE = 413 40005 "Request entity too large";
    ALREADY_ACKNOWLEDGED = 400 40060 "Interaction has already been acknowledged.";
    MISSING_ACCESS = 403 50001 "Missing Access";
    NOT_THE_AUTHOR = 403 50005 "Cannot edit a message authored by another user";
    EMPTY_MESSAGE = 400 50006 "Cannot send an empty message";
    DMS_CLOSED = 403 50007 "Cannot send messages to this user";
    MISSING_PERMISSIONS = 403 50013 "Missing Permissions";
    INVALID_WEBHOOK_TOKEN = 401 50027 "Invalid Webhook Token";
    INVALID_RECIPIENTS = 400 50033 "Invalid Recipient(s)";
    THREAD_ARCHIVED = 400 50083 "Thread is archived";
    INVALID_JSON = 400 50109 "The request body contains invalid JSON.";
    NO_MUTUAL_GUILDS = 403 50278 "Cannot send messages to this user due to having no mutual guilds";
    THREAD_LOCKED = 403 160_005 "Thread is locked";
}

impl Refusal {
    /// The HTTP status.
    pub(super) fn status(&self) -> u16 {
        match self {
            Self::Coded { status, .. } => *status,
            Self::Form(_) | Self::NotSnowflake { .. } => 400,
        }
    }

    /// The JSON body.
    pub(super) fn body(&self) -> Value {
        match self {
            Self::Coded { code, message, .. } => json!({ "message": message, "code": code }),
            Self::Form(problems) => {
                json!({ "message": "Invalid Form Body", "code": 50035, "errors": path_map(problems) })
            }
            Self::NotSnowflake { field, value } => {
                let message = format!("Value \"{value}\" is not snowflake.");
                let problem = Problem { at: (*field).to_owned(), code: "NUMBER_TYPE_COERCE", message };
                json!({ "message": "Invalid Form Body", "code": 50035, "errors": path_map(&[problem]) })
            }
        }
    }
}

impl Problem {
    pub(super) fn new(at: impl Into<String>, code: &'static str, message: impl Into<String>) -> Self {
        Self { at: at.into(), code, message: message.into() }
    }
}

fn path_map(problems: &[Problem]) -> Value {
    let mut root = Map::new();
    for problem in problems {
        let entry = json!({ "code": problem.code, "message": problem.message });
        put(&mut root, problem.at.split('.').filter(|step| !step.is_empty()), entry);
    }
    Value::Object(root)
}

fn put<'s>(node: &mut Map<String, Value>, mut steps: impl Iterator<Item = &'s str>, entry: Value) {
    match steps.next() {
        Some(step) => {
            if let Value::Object(inner) = node.entry(step).or_insert_with(|| Value::Object(Map::new())) {
                put(inner, &mut steps as &mut dyn Iterator<Item = &'s str>, entry);
            }
        }
        None => {
            if let Value::Array(list) = node.entry("_errors").or_insert_with(|| json!([])) {
                list.push(entry);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_errors_are_nested_by_path() {
        let refusal = Refusal::Form(vec![
            Problem::new("components.0.components.1.label", "BASE_TYPE_MAX_LENGTH", "Must be 80 or fewer in length."),
            Problem::new("content", "BASE_TYPE_MAX_LENGTH", "Must be 2000 or fewer in length."),
        ]);
        assert_eq!(
            refusal.body(),
            json!({
                "message": "Invalid Form Body",
                "code": 50035,
                "errors": {
                    "components": { "0": { "components": { "1": { "label": { "_errors": [
                        { "code": "BASE_TYPE_MAX_LENGTH", "message": "Must be 80 or fewer in length." }
                    ] } } } } },
                    "content": { "_errors": [
                        { "code": "BASE_TYPE_MAX_LENGTH", "message": "Must be 2000 or fewer in length." }
                    ] },
                }
            })
        );
    }
}
