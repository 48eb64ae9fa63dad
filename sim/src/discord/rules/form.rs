//! Reading a JSON form field by field and collecting what is wrong, in the platform's words.

use serde_json::{Map, Value};

use super::{Findings, Problem};
use crate::discord::id::Id;

/// What was found while reading one body.
#[derive(Debug, Default)]
pub(super) struct Form {
    problems: Vec<Problem>,
    strays: Vec<String>,
}

/// A step further down a dotted path.
pub(super) fn join(at: &str, key: &str) -> String {
    if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") }
}

impl Form {
    pub(super) fn into_findings(self) -> Findings {
        Findings { problems: self.problems, violations: self.strays }
    }

    /// Records a reason to refuse the body.
    pub(super) fn problem(&mut self, at: impl Into<String>, code: &'static str, message: impl Into<String>) {
        self.problems.push(Problem::new(at, code, message));
    }

    /// Records something the platform lets pass.
    pub(super) fn stray(&mut self, what: String) {
        self.strays.push(what);
    }

    pub(super) fn required(&mut self, at: impl Into<String>) {
        self.problem(at, "BASE_TYPE_REQUIRED", "This field is required");
    }

    /// Records every key that is not known.
    pub(super) fn known(&mut self, at: &str, object: &Map<String, Value>, keys: &[&str]) {
        for key in object.keys().filter(|key| !keys.contains(&key.as_str())) {
            self.stray(format!("unknown key `{}`", join(at, key)));
        }
    }

    /// A string; absent and null are `None`.
    pub(super) fn text<'v>(&mut self, at: &str, object: &'v Map<String, Value>, key: &str) -> Option<&'v str> {
        match object.get(key) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text),
            Some(other) => {
                self.problem(
                    join(at, key),
                    "STRING_TYPE_CONVERT",
                    format!("Could not interpret \"{other}\" as string."),
                );
                None
            }
        }
    }

    /// A whole number within bounds; absent and null are `None`.
    pub(super) fn integer(
        &mut self,
        at: &str,
        object: &Map<String, Value>,
        key: &str,
        least: i64,
        most: i64,
    ) -> Option<i64> {
        let value = object.get(key).filter(|value| !value.is_null())?;
        let Some(number) = value.as_i64() else {
            self.problem(join(at, key), "NUMBER_TYPE_COERCE", format!("Value \"{}\" is not int.", bare(value)));
            return None;
        };
        if number > most {
            let message = format!("int value should be less than or equal to {most}.");
            self.problem(join(at, key), "NUMBER_TYPE_MAX", message);
            return None;
        }
        if number < least {
            let message = format!("int value should be greater than or equal to {least}.");
            self.problem(join(at, key), "NUMBER_TYPE_MIN", message);
            return None;
        }
        Some(number)
    }

    pub(super) fn boolean(&mut self, at: &str, object: &Map<String, Value>, key: &str) -> Option<bool> {
        let value = object.get(key).filter(|value| !value.is_null())?;
        if !value.is_boolean() {
            self.problem(join(at, key), "BOOLEAN_TYPE_CONVERT", "Must be either true or false.");
        }
        value.as_bool()
    }

    pub(super) fn array<'v>(&mut self, at: &str, object: &'v Map<String, Value>, key: &str) -> Option<&'v Vec<Value>> {
        let value = object.get(key).filter(|value| !value.is_null())?;
        if !value.is_array() {
            self.problem(join(at, key), "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType");
        }
        value.as_array()
    }

    pub(super) fn object<'v>(
        &mut self,
        at: &str,
        object: &'v Map<String, Value>,
        key: &str,
    ) -> Option<&'v Map<String, Value>> {
        let value = object.get(key).filter(|value| !value.is_null())?;
        self.as_object(&join(at, key), value)
    }

    pub(super) fn as_object<'v>(&mut self, at: &str, value: &'v Value) -> Option<&'v Map<String, Value>> {
        if !value.is_object() {
            self.problem(at, "MODEL_TYPE_CONVERT", "Only dictionaries may be used in a ModelType");
        }
        value.as_object()
    }

    /// An id; a bare number is read but recorded, because ids are strings.
    pub(super) fn snowflake(&mut self, at: &str, object: &Map<String, Value>, key: &str) -> Option<Id> {
        let value = object.get(key).filter(|value| !value.is_null())?;
        if value.is_number() {
            self.stray(format!("`{}` is a number: ids are strings", join(at, key)));
        }
        let id = Id::from_json(value);
        if id.is_none() {
            self.problem(join(at, key), "NUMBER_TYPE_COERCE", format!("Value \"{}\" is not snowflake.", bare(value)));
        }
        id
    }

    /// Refuses a text of more than `most` code points.
    pub(super) fn at_most(&mut self, at: &str, text: &str, most: usize) {
        if text.chars().count() > most {
            self.problem(at, "BASE_TYPE_MAX_LENGTH", format!("Must be {most} or fewer in length."));
        }
    }

    /// Refuses a count of code points or items outside `least..=most`.
    pub(super) fn between(&mut self, at: &str, length: usize, least: usize, most: usize) {
        if !(least..=most).contains(&length) {
            self.problem(at, "BASE_TYPE_BAD_LENGTH", format!("Must be between {least} and {most} in length."));
        }
    }

    /// Refuses a missing, null or wrongly long text.
    pub(super) fn text_between<'v>(
        &mut self,
        at: &str,
        object: &'v Map<String, Value>,
        key: &str,
        least: usize,
        most: usize,
    ) -> Option<&'v str> {
        if object.get(key).is_none_or(Value::is_null) {
            self.required(join(at, key));
            return None;
        }
        let text = self.text(at, object, key)?;
        self.between(&join(at, key), text.chars().count(), least, most);
        Some(text)
    }

    /// Refuses an address that is malformed or of another scheme.
    pub(super) fn url(&mut self, at: &str, address: &str, schemes: &[&str]) {
        let Ok(parsed) = url::Url::parse(address) else {
            self.problem(at, "URL_TYPE_INVALID_URL", "Not a well formed URL.");
            return;
        };
        if !schemes.contains(&parsed.scheme()) {
            let listed = schemes.iter().map(|scheme| format!("'{scheme}'")).collect::<Vec<_>>().join(", ");
            let message = format!("Scheme \"{}\" is not supported. Scheme must be one of ({listed}).", parsed.scheme());
            self.problem(at, "URL_TYPE_INVALID_SCHEME", message);
        } else if address.contains(char::is_whitespace) || (parsed.scheme() != "discord" && !parsed.has_host()) {
            self.problem(at, "URL_TYPE_INVALID_URL", "Not a well formed URL.");
        }
    }
}

/// A JSON value without the quotes of a string.
fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
