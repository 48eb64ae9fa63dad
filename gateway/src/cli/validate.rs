//! `askgate validate`.

use asks::ask::Surface;
use asks::card::{Card, Kind};
use asks::errors::FieldError;
use asks::{derive, limits, validate};
use base64::Engine as _;
use clap::Args;
use serde_json::{Value, json};

use super::preview::Lines;
use super::{Exit, out};

/// The command's arguments.
#[derive(Debug, Args)]
pub(super) struct Validate {
    /// A file with one JSON object, or one in each line; `-` is standard input.
    #[arg(value_name = "FILE", default_value = "-")]
    file: String,
    /// One JSON object in, one out, line by line.
    #[arg(long)]
    json: bool,
}

impl Validate {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let mut valid = true;
        for line in Lines::read(&self.file, self.json)? {
            let result = match line {
                Ok(value) => check(&value),
                Err(error) => json!({"error": {"message": error, "fix": "Send one JSON object in a line."}}),
            };
            let errors = result.get("errors").and_then(Value::as_array);
            valid &= errors.is_none_or(Vec::is_empty) && result.get("error").is_none();
            if self.json {
                out::line(&result.to_string());
            } else {
                print(&result);
            }
        }
        // A program reads the lines; for a person the exit code tells as well.
        Ok(if valid || self.json { Exit::Fine } else { Exit::Failed })
    }
}

/// Checks one object: an ask, an answer to one, a file's bytes, or a button of a card.
pub(super) fn check(line: &Value) -> Value {
    if let Some(card) = line.get("card") {
        return button(card, line);
    }
    if let Some(text) = line.get("base64").and_then(Value::as_str) {
        let Ok(bytes) = base64::engine::general_purpose::STANDARD.decode(text) else {
            return json!({"error": {"path": "base64", "message": "this is no base64", "fix": "Encode the file's bytes as base64."}});
        };
        let mime = line.get("mimeType").and_then(Value::as_str).unwrap_or_default();
        let max = line.get("max").and_then(Value::as_u64).unwrap_or(limits::DEFAULT_MAX_FILE_SIZE);
        return errors(&validate::bytes(&bytes, mime, max));
    }
    let Some(kind) = line.get("kind").and_then(Value::as_str) else {
        return json!({"error": {"path": "kind", "message": "kind is missing", "fix": "Send kind and input, card and buttonId, or base64, mimeType and max."}});
    };
    let (kind, input) = (Kind::from(kind), line.get("input").unwrap_or(&Value::Null));
    if let Some(response) = line.get("response") {
        let max = line.get("maxFileSizeBytes").and_then(Value::as_u64).unwrap_or(limits::DEFAULT_MAX_FILE_SIZE);
        return errors(&validate::answer(&kind, input, response, max));
    }
    let surface = match line.get("surface").and_then(Value::as_str) {
        None | Some("full") => Surface::Full,
        Some("compact") => Surface::Compact,
        Some(_) => {
            return json!({"error": {"path": "surface", "message": "surface is not a known surface", "fix": "Send full or compact."}});
        }
    };
    errors(&validate::ask(&kind, surface, input))
}

fn button(card: &Value, line: &Value) -> Value {
    let card: Card = match serde_json::from_value(card.clone()) {
        Ok(card) => card,
        Err(error) => {
            return json!({"error": {"path": "card", "message": error.to_string(), "fix": "Send a simple card."}});
        }
    };
    let id = line.get("buttonId").and_then(Value::as_str).unwrap_or_default();
    match derive::find_button(&card, &id.into()) {
        Ok(button) => json!({"response": button.response}),
        Err(error) => json!({"error": error}),
    }
}

fn errors(errors: &[FieldError]) -> Value {
    json!({"errors": errors})
}

fn print(result: &Value) {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let row = |error: &Value| {
        {
            let [code, path, message, fix] = ["code", "path", "message", "fix"].map(|key| text(error, key));
            out::line(format!("{code} {path}: {message} {fix}").trim());
        };
    };
    match (result.get("errors").and_then(Value::as_array), result.get("error")) {
        (Some(errors), _) if errors.is_empty() => out::line("valid"),
        (Some(errors), _) => errors.iter().for_each(row),
        (None, Some(error)) => row(error),
        (None, None) => out::line(&result.to_string()),
    }
}
