//! Discord: bodies against the published OpenAPI file, unknown keys included; counts and pairs that it leaves open.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Map, Value, json};
use sim::discord::{Request, Route};

/// The longest content by the documentation, in code points; the file says 4000.
const MAX_CONTENT: usize = 2000;
const MAX_CUSTOM_ID: usize = 100;
const MAX_LABEL: usize = 80;
const MAX_ROWS: usize = 5;
const MAX_IN_ROW: usize = 5;
const MAX_NONCE: usize = 25;
/// The style of a button that is a link.
const LINK: u64 = 5;
/// References in the file lead at most so deep; its recursive schemas end here.
const DEEPEST: usize = 24;

/// The published file.
pub(super) struct DiscordFile {
    file: Value,
    compiled: Mutex<HashMap<(&'static str, String), Option<Validator>>>,
}

impl fmt::Debug for DiscordFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiscordFile").finish_non_exhaustive()
    }
}

impl DiscordFile {
    pub(super) fn new(file: Value) -> Self {
        Self { file, compiled: Mutex::default() }
    }

    /// What in a request the file does not allow.
    pub(super) fn problems(&self, request: &Request) -> Vec<String> {
        let method = request.method.to_ascii_lowercase();
        let path = self.file.get("paths").and_then(|paths| paths.get(request.template));
        let Some(operation) = path.and_then(|path| path.get(&method)) else {
            return vec![format!("there is no such endpoint; the path was {}", request.path)];
        };
        let mut problems = self.query(path, operation, request);
        let schema = operation.pointer("/requestBody/content/application~1json/schema");
        let required = operation.pointer("/requestBody/required") == Some(&Value::Bool(true));
        let body = match (request.body.is_empty(), schema) {
            (true, Some(_)) if required => {
                problems.push("the body is required and missing".to_owned());
                return problems;
            }
            (true, _) => return problems,
            (false, None) => {
                problems.push("there is a body, and the endpoint takes none".to_owned());
                return problems;
            }
            (false, Some(_)) => serde_json::from_str::<Value>(&request.body),
        };
        let (Ok(body), Some(schema)) = (body, schema) else {
            problems.push("the body is no JSON".to_owned());
            return problems;
        };
        if !request.headers.iter().any(|(name, value)| name == "content-type" && value.starts_with("application/json"))
        {
            problems.push("the body is not declared as JSON".to_owned());
        }
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let validator = compiled.entry((request.template, method)).or_insert_with(|| self.compile(schema));
        match validator {
            Some(validator) => {
                problems
                    .extend(validator.iter_errors(&body).map(|error| format!("{}: {error}", error.instance_path())));
            }
            None => problems.push("the file's schema cannot be compiled".to_owned()),
        }
        self.unknown_keys(&[schema], &body, "", &mut problems);
        problems
    }

    fn compile(&self, schema: &Value) -> Option<Validator> {
        let whole = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "allOf": [schema],
            "components": self.file.get("components"),
        });
        jsonschema::draft202012::new(&whole).ok()
    }

    fn query(&self, path: Option<&Value>, operation: &Value, request: &Request) -> Vec<String> {
        let declared: HashSet<&str> = [path, Some(operation)]
            .into_iter()
            .flatten()
            .filter_map(|part| part.get("parameters")?.as_array())
            .flatten()
            .map(|parameter| self.follow(parameter))
            .filter(|parameter| parameter.get("in").and_then(Value::as_str) == Some("query"))
            .filter_map(|parameter| parameter.get("name")?.as_str())
            .collect();
        let query = request.query.as_deref().unwrap_or_default();
        let names = query.split('&').filter_map(|pair| pair.split('=').next()).filter(|name| !name.is_empty());
        names
            .filter(|name| !declared.contains(name))
            .map(|name| format!("?{name}: there is no such parameter"))
            .collect()
    }

    fn follow<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let target = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix('#'));
        target.and_then(|path| self.file.pointer(path)).unwrap_or(schema)
    }

    /// The schema itself and every alternative in it, references followed.
    fn flatten<'a>(&'a self, schema: &'a Value, depth: usize, out: &mut Vec<&'a Value>) {
        if depth > DEEPEST {
            return;
        }
        let schema = self.follow(schema);
        out.push(schema);
        for key in ["anyOf", "oneOf", "allOf"] {
            for part in schema.get(key).and_then(Value::as_array).into_iter().flatten() {
                self.flatten(part, depth + 1, out);
            }
        }
    }

    /// Keys that no alternative names. The file leaves objects open; a name it does not have is a slip all the same.
    fn unknown_keys(&self, schemas: &[&Value], value: &Value, at: &str, problems: &mut Vec<String>) {
        let mut all = Vec::new();
        for schema in schemas {
            self.flatten(schema, 0, &mut all);
        }
        match value {
            Value::Object(keys) => {
                let is_free = all
                    .iter()
                    .any(|schema| schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false)));
                for (key, value) in keys {
                    let inner: Vec<&Value> =
                        all.iter().filter_map(|schema| schema.get("properties")?.get(key)).collect();
                    if inner.is_empty() && !is_free {
                        problems.push(format!("{at}/{key}: there is no such key"));
                    }
                    self.unknown_keys(&inner, value, &format!("{at}/{key}"), problems);
                }
            }
            Value::Array(items) => {
                let inner: Vec<&Value> = all.iter().filter_map(|schema| schema.get("items")).collect();
                for (place, item) in items.iter().enumerate() {
                    self.unknown_keys(&inner, item, &format!("{at}/{place}"), problems);
                }
            }
            _ => {}
        }
    }
}

/// What in a request breaks a rule that the file does not have.
pub(super) fn prose(request: &Request) -> Vec<String> {
    let mut problems = Vec::new();
    let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
    let message = match request.route {
        Route::CreateMessage | Route::EditMessage | Route::FollowUp | Route::EditResponse => Some(&body),
        // 4 is a new message and 7 an edited one; the others carry none.
        Route::Callback => body.get("data").filter(|_| matches!(body.get("type").and_then(Value::as_u64), Some(4 | 7))),
        _ => None,
    };
    let Some(message) = message.and_then(Value::as_object) else { return problems };
    if message.get("allowed_mentions").and_then(|mentions| mentions.get("parse")) != Some(&json!([])) {
        problems.push("allowed_mentions has no empty parse".to_owned());
    }
    let content = message.get("content").and_then(Value::as_str).unwrap_or_default();
    let length = content.chars().count();
    if length > MAX_CONTENT {
        problems.push(format!("content: {length} characters, at most {MAX_CONTENT}"));
    }
    let has = |key: &str| message.get(key).and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    if request.route == Route::CreateMessage && content.trim().is_empty() && !has("embeds") {
        problems.push("the message is empty".to_owned());
    }
    components(message, &mut problems);
    problems
}

fn components(message: &Map<String, Value>, problems: &mut Vec<String>) {
    let rows = message.get("components").and_then(Value::as_array).cloned().unwrap_or_default();
    if rows.len() > MAX_ROWS {
        problems.push(format!("{} rows, at most {MAX_ROWS}", rows.len()));
    }
    let mut seen = HashSet::new();
    for row in rows {
        let buttons = row.get("components").and_then(Value::as_array).cloned().unwrap_or_default();
        if buttons.is_empty() || buttons.len() > MAX_IN_ROW {
            problems.push(format!("a row of {} buttons", buttons.len()));
        }
        for button in buttons {
            let text = |key: &str| button.get(key).and_then(Value::as_str);
            let label = text("label").unwrap_or_default();
            if label.trim().is_empty() || label.chars().count() > MAX_LABEL {
                problems.push(format!("a button says {label:?}"));
            }
            let is_link = button.get("style").and_then(Value::as_u64) == Some(LINK);
            if is_link != text("url").is_some() || is_link == text("custom_id").is_some() {
                problems.push(format!("a button is neither a link nor an answer: {button}"));
            }
            if let Some(id) = text("custom_id") {
                if id.is_empty() || id.chars().count() > MAX_CUSTOM_ID {
                    problems.push(format!("custom_id: {} characters", id.chars().count()));
                }
                if !seen.insert(id.to_owned()) {
                    problems.push("two buttons carry the same custom_id".to_owned());
                }
            }
        }
    }
}

/// A nonce protects only when it is enforced, short enough, and belongs to one body.
pub(super) fn nonces(requests: &[Request]) -> Vec<String> {
    let mut bodies: HashMap<String, &str> = HashMap::new();
    let mut problems = Vec::new();
    for request in requests.iter().filter(|request| request.route == Route::CreateMessage) {
        let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
        let nonce = body.get("nonce").and_then(Value::as_str).unwrap_or_default();
        let enforced = body.get("enforce_nonce") == Some(&Value::Bool(true));
        if nonce.is_empty() || nonce.chars().count() > MAX_NONCE || !enforced {
            problems.push(format!("request {}: the nonce {nonce:?} is not usable or not enforced", request.number));
        } else if bodies.insert(nonce.to_owned(), &request.body).is_some_and(|other| other != request.body) {
            problems.push(format!("request {}: its nonce belonged to another body", request.number));
        }
    }
    problems
}
