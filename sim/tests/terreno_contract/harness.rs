//! A host, a client, and the comparison of bodies with expectations.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Client, Method};
use serde_json::{Value, json};
use sim::clock::ManualClock;
use sim::terreno::{Options, Terreno};
use tokio::net::TcpListener;

pub(crate) const OWNER: &str = "owner@example.com";
pub(crate) const OTHER: &str = "other@example.com";
pub(crate) const ADMIN: &str = "admin@example.com";
pub(crate) const PASSWORD: &str = "a long password";
pub(crate) const SOON: Duration = Duration::from_secs(10);

/// A running host and everything to talk to it.
pub(crate) struct Bench {
    pub(crate) host: Terreno,
    pub(crate) clock: ManualClock,
    pub(crate) http: Client,
    names: HashMap<String, String>,
}

/// A response, taken apart.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

/// One line of a table: sample, sender, method, path, body, status, expected body.
pub(crate) type Line<'a> = (&'a str, &'a str, &'a str, &'a str, Value, u16, Value);

impl Bench {
    pub(crate) async fn new(options: Options) -> Self {
        let clock = ManualClock::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let host = Terreno::start(listener, options, Arc::new(clock.clone())).expect("a host");
        host.add_user(OWNER, PASSWORD);
        host.add_user(OTHER, PASSWORD);
        host.add_admin(ADMIN, PASSWORD);
        #[expect(clippy::disallowed_methods, reason = "the one place of these tests that makes a client")]
        let http = Client::builder().timeout(SOON).no_proxy().build().expect("a client");
        Self { host, clock, http, names: HashMap::new() }
    }

    pub(crate) fn name(&mut self, name: &str, value: &str) {
        self.names.insert(format!("<{name}>"), value.to_owned());
    }

    pub(crate) fn named(&self, name: &str) -> String {
        self.names.get(&format!("<{name}>")).cloned().unwrap_or_else(|| panic!("nothing is named <{name}> yet"))
    }

    pub(crate) fn bearer(&self, email: &str) -> String {
        self.host.tokens(email).expect("a user").0
    }

    /// Sends a request as a user (an e-mail address), with a bearer (anything else), or as nobody (an empty text).
    pub(crate) async fn send(&self, sender: &str, method: &str, path: &str, body: &Value) -> Got {
        self.try_send(sender, method, path, body).await.unwrap_or_else(|error| panic!("{method} {path}: {error:?}"))
    }

    pub(crate) async fn try_send(
        &self,
        sender: &str,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<Got, reqwest::Error> {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let mut request = self.http.request(method, format!("{}{path}", self.host.url()));
        if sender.contains('@') {
            request = request.bearer_auth(self.bearer(sender));
        } else if !sender.is_empty() {
            request = request.bearer_auth(sender);
        }
        request = match body {
            Value::Null => request,
            Value::String(raw) => request.header("content-type", "application/json").body(raw.clone()),
            body => request.json(body),
        };
        let response = request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await?;
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Ok(Got { status, headers, body })
    }

    /// Replays a table.
    pub(crate) async fn replay(&mut self, lines: Vec<Line<'_>>) {
        for (sample, sender, method, path, body, status, expected) in lines {
            let sender = self.filled(sender);
            let path = self.filled(path);
            let body: Value = serde_json::from_str(&self.filled(&body.to_string())).expect("JSON");
            let got = self.send(&sender, method, &path, &body).await;
            assert_eq!(got.status, status, "{sample}: {}", got.body);
            assert!(got.headers.contains_key("x-request-id"), "{sample}: no X-Request-ID");
            assert_eq!(
                got.headers.get("access-control-allow-origin").map(reqwest::header::HeaderValue::as_bytes),
                Some(&b"*"[..]),
                "{sample}"
            );
            assert!(!got.headers.contains_key("etag"), "{sample}: an ETag");
            check_schema(method, &path, &got);
            if let Err(difference) = self.matches(&expected, &got.body, "") {
                panic!("{sample}: {difference}\nexpected {expected}\ngot      {}", got.body);
            }
        }
    }

    /// Compares without regard to the order of keys.
    pub(crate) fn matches(&mut self, expected: &Value, actual: &Value, at: &str) -> Result<(), String> {
        match (expected, actual) {
            (Value::String(name), Value::String(value)) if name.starts_with('<') && name.ends_with('>') => {
                if name == "<any>" {
                    return Ok(());
                }
                let known = self.names.entry(name.clone()).or_insert_with(|| value.clone());
                if known == value { Ok(()) } else { Err(format!("{at}: {name} is {known}, not {value}")) }
            }
            (Value::String(text), Value::String(value)) => {
                let text = self.filled(text);
                if text == *value { Ok(()) } else { Err(format!("{at}: {text:?} is expected, not {value:?}")) }
            }
            (Value::Array(expected), Value::Array(actual)) if expected.len() == actual.len() => {
                expected.iter().zip(actual).enumerate().try_for_each(|(number, (expected, actual))| {
                    self.matches(expected, actual, &format!("{at}[{number}]"))
                })
            }
            (Value::Object(expected), Value::Object(actual)) => {
                for key in expected.keys().chain(actual.keys()) {
                    match (expected.get(key), actual.get(key)) {
                        (Some(one), Some(other)) => self.matches(one, other, &format!("{at}.{key}"))?,
                        (Some(_), None) => return Err(format!("{at}.{key} is missing")),
                        _ => return Err(format!("{at}.{key} is not expected")),
                    }
                }
                Ok(())
            }
            _ if expected == actual => Ok(()),
            _ => Err(format!("{at}: {expected} is expected, not {actual}")),
        }
    }

    fn filled(&self, text: &str) -> String {
        let known = self.names.iter().filter(|(name, _)| text.contains(name.as_str()));
        known.fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "expectations are written in place, without borrows")]
pub(crate) fn data(data: Value) -> Value {
    json!({"data": data, "requestId": "<any>"})
}

#[expect(clippy::needless_pass_by_value, reason = "expectations are written in place, without borrows")]
pub(crate) fn invalid_body(fields: Value) -> Value {
    json!({
        "status": 400, "title": "Validation failed", "code": "action-body-validation-failed",
        "detail": "The request body did not match the action's schema", "meta": {"fields": fields}, "requestId": "<any>",
    })
}

pub(crate) fn not_pending(id: &str) -> Value {
    json!({
        "status": 409, "title": "This ask is no longer pending", "requestId": "<any>",
        "detail": format!("Tool call {id} is not the ask this conversation is waiting on."),
    })
}

/// A plain `confirm` and its card.
pub(crate) fn confirm_card(text: &str, id: &str) -> Value {
    json!({
        "buttons": [
            {"id": "approve", "label": "Confirm", "style": "primary",
             "response": {"action": "accept", "content": {"confirmed": true}}},
            {"id": "deny", "label": "Cancel", "style": "cancel",
             "response": {"action": "accept", "content": {"confirmed": false}}},
        ],
        "handoff": false, "kind": "confirm", "text": text, "toolCallId": id,
    })
}

static SCHEMAS: OnceLock<HashMap<&str, jsonschema::Validator>> = OnceLock::new();

fn check_schema(method: &str, path: &str, got: &Got) {
    let file = match (method, got.status) {
        ("POST", 200) if path.ends_with("/turn") => "turnResponse.schema.json",
        ("GET", 200) if path.ends_with("/pendingAsks") => "pendingAsksResponse.schema.json",
        _ => return,
    };
    let schemas = SCHEMAS.get_or_init(|| {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/reference/terreno/schemas"));
        let files = ["turnResponse.schema.json", "pendingAsksResponse.schema.json"];
        let read = files.into_iter().filter_map(|file| {
            let Ok(text) = std::fs::read_to_string(folder.join(file)) else {
                println!("NOT CHECKED: {file} is not there, so replies are not held against the published schema");
                return None;
            };
            let schema: Value = serde_json::from_str(&text).expect("a schema");
            Some((file, jsonschema::validator_for(&schema).expect("a schema")))
        });
        read.collect()
    });
    if let Some(schema) = schemas.get(file) {
        let errors: Vec<String> = schema.iter_errors(&got.body).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{path} breaks {file}: {errors:?}\n{}", got.body);
    }
}
