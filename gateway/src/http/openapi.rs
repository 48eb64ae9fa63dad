//! `GET /v1/openapi.json`: what `/v1` takes and answers, for programs.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use super::api::Shared;

/// Gives the document to whoever has the admin token, like everything below `/v1`.
pub(super) async fn document(State(shared): State<Shared>, headers: HeaderMap) -> Response {
    match shared.admit(&headers) {
        Ok(()) => Json(openapi()).into_response(),
        Err(refused) => *refused,
    }
}

/// The document, as OpenAPI 3.1.
fn openapi() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "askgate",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "For the operator, and for the host app's server. Every call carries the admin token as a bearer; without a configured one there is no /v1 (404).",
        },
        "security": [{"admin": []}],
        "paths": {
            "/v1/asks": {"get": {
                "summary": "What waits, oldest first; with all=true also how the others ended",
                "parameters": [{"name": "all", "in": "query", "required": false, "schema": {"type": "boolean"}}],
                "responses": answers(&[("200", "The asks", Some("Asks")), ("400", "A query that cannot be read", None), ("503", "The store cannot be read now", None)]),
            }},
            "/v1/accounts": {
                "get": {
                    "summary": "Who is known, and where; never a credential",
                    "responses": answers(&[("200", "The accounts", Some("Accounts"))]),
                },
                "post": {
                    "summary": "Links somebody by a session of theirs",
                    "requestBody": body("NewAccount"),
                    "responses": answers(&[
                        ("201", "Linked", Some("Linked")), ("400", "No such body", None), ("409", "Linking is off, or the account is in the file", None),
                        ("422", "The source, a place or the session is refused", None), ("429", "The source asks to wait", None),
                        ("502", "The source cannot be reached", None), ("503", "Not saved", None),
                    ]),
                },
            },
            "/v1/accounts/{id}": {"delete": {
                "summary": "Ends a link; the account's questions are shown and answered here no more",
                "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}],
                "responses": answers(&[("204", "Gone", None), ("404", "No such account", None), ("409", "It is in the configuration file", None), ("503", "Not saved", None)]),
            }},
            "/v1/links": {"post": {
                "summary": "Invites somebody: a deep link, used once, and digits that they write in the chat",
                "requestBody": body("NewLink"),
                "responses": answers(&[
                    ("201", "The invitation", Some("Invitation")), ("400", "No such body", None), ("409", "Linking is off", None),
                    ("422", "The source, the channel or the session is refused", None), ("429", "The source asks to wait", None),
                    ("502", "The source cannot be reached", None), ("503", "Too many invitations are open", None),
                ]),
            }},
            "/v1/nudge": {"post": {
                "summary": "Something changed for an account: it is polled now",
                "requestBody": body("Nudge"),
                "responses": answers(&[("202", "It is polled", Some("Nudged")), ("400", "No such body", None), ("404", "No such account", None)]),
            }},
            "/v1/openapi.json": {"get": {
                "summary": "This document",
                "responses": answers(&[("200", "The document", None)]),
            }},
        },
        "components": {
            "securitySchemes": {"admin": {"type": "http", "scheme": "bearer", "description": "server.admin_token"}},
            "schemas": schemas(),
        },
    })
}

fn body(schema: &str) -> Value {
    json!({"required": true, "content": {"application/json": {"schema": reference(schema)}}})
}

fn reference(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}

/// The answers of an operation: status, meaning, and the schema where there is one of its own. All have a 401.
fn answers(list: &[(&str, &str, Option<&str>)]) -> Value {
    let mut answers = serde_json::Map::new();
    for (status, meaning, schema) in list.iter().copied().chain([("401", "The bearer is missing or wrong", None)]) {
        let refused = status.starts_with('4') || status.starts_with('5');
        let schema = schema.or(if refused { Some("Problem") } else { None });
        let mut answer = json!({"description": meaning});
        if let (Some(schema), Some(fields)) = (schema, answer.as_object_mut()) {
            fields.insert("content".to_owned(), json!({"application/json": {"schema": reference(schema)}}));
        }
        answers.insert(status.to_owned(), answer);
    }
    Value::Object(answers)
}

fn schemas() -> Value {
    let text = || json!({"type": "string"});
    let texts = || json!({"type": "array", "items": {"type": "string"}});
    let millis = || json!({"type": "integer", "description": "milliseconds since 1970"});
    let object = |required: &[&str], properties: Value| json!({"type": "object", "required": required, "properties": properties});
    json!({
        "Problem": object(&["error"], json!({"error": text()})),
        "Asks": object(&["asks"], json!({"asks": {"type": "array", "items": reference("Ask")}})),
        "Ask": object(
            &["source", "conversation", "ask", "account", "kind", "state", "first_seen", "moved_at", "finished", "places"],
            json!({"source": text(), "conversation": text(), "ask": text(), "account": text(), "kind": text(), "state": text(),
                "first_seen": millis(), "moved_at": millis(), "finished": {"type": "boolean"}, "places": {"type": "array"}}),
        ),
        "Accounts": object(&["accounts"], json!({"accounts": {"type": "array", "items": reference("Account")}})),
        "Account": object(
            &["id", "name", "source", "places"],
            json!({"id": text(), "name": text(), "source": text(), "places": texts(), "linked": {"type": "boolean"}}),
        ),
        "NewAccount": object(
            &["source", "token", "places"],
            json!({"source": text(), "token": text(), "refresh_token": text(), "places": texts(), "language": text()}),
        ),
        "Linked": object(&["id"], json!({"id": text()})),
        "NewLink": object(
            &["source", "token", "channel"],
            json!({"source": text(), "token": text(), "refresh_token": text(), "channel": {"enum": ["telegram", "discord"]}}),
        ),
        "Invitation": object(&["url", "code", "expires"], json!({"url": text(), "start": text(), "code": text(), "expires": millis()})),
        "Nudge": object(&["source", "account"], json!({"source": text(), "account": text()})),
        "Nudged": object(&["polling"], json!({"polling": {"const": true}})),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_leads_to_a_schema() {
        let document = openapi();
        let text = document.to_string();
        let named = text.split("#/components/schemas/").skip(1).filter_map(|rest| rest.split('"').next());
        for name in named {
            assert!(document.pointer(&format!("/components/schemas/{name}")).is_some(), "{name}");
        }
    }
}
