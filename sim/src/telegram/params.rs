//! Reading a call's parameters as the real server does: it takes texts for numbers and texts that hold JSON, and treats what
//! it cannot read as absent. What the documentation does not allow is noted apart, in `strict`.

use serde_json::{Map, Value};

use super::refusal::Refusal;
use super::tables::Shape;

/// One call: the method and what came with it.
#[derive(Debug, Clone)]
pub(super) struct Call {
    /// The method, with its table of parameters.
    pub(super) method: &'static Shape,
    /// The parameters by name.
    pub(super) params: Map<String, Value>,
    /// Whether they came as JSON, and so with types.
    pub(super) json: bool,
}

impl Call {
    /// A text; empty where it is absent.
    pub(super) fn text(&self, name: &str) -> String {
        match self.params.get(name) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        }
    }

    /// Whether the parameter is there and not empty.
    pub(super) fn has(&self, name: &str) -> bool {
        !self.text(name).is_empty()
    }

    /// A whole number; none where it is absent, 0 where it is none.
    pub(super) fn integer(&self, name: &str) -> Option<i64> {
        let text = self.text(name);
        if text.is_empty() { None } else { Some(text.trim().parse().unwrap_or(0)) }
    }

    /// A truth value; false where it is absent.
    pub(super) fn boolean(&self, name: &str) -> bool {
        matches!(self.text(name).to_ascii_lowercase().as_str(), "true" | "yes" | "1")
    }

    /// An object or an array, also where it came as a text that holds JSON; none where it is absent.
    ///
    /// # Errors
    ///
    /// 400 with `unreadable` where the text is no JSON.
    pub(super) fn json(&self, name: &str, unreadable: &str) -> Result<Option<Value>, Refusal> {
        match self.params.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
            Some(Value::String(text)) => serde_json::from_str(text).map(Some).map_err(|_| Refusal::bad(unreadable)),
            Some(other) => Ok(Some(other.clone())),
        }
    }
}
