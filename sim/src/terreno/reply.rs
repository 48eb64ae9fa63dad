//! The replies of a Terreno host before they are put on the wire: statuses and bodies as in the captures.

use serde_json::{Map, Value, json};

/// One reply.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) body: Body,
    pub(super) headers: Vec<(&'static str, String)>,
    /// Whether the framework adds `requestId` to the body.
    pub(super) request_id: bool,
}

/// What a reply carries.
#[derive(Debug)]
pub(super) enum Body {
    /// Nothing.
    Empty,
    /// A JSON value.
    Json(Value),
    /// A JSON object as text whose closing brace is still missing, so that `requestId` can be added without parsing it.
    Open(String),
    /// A page of the HTTP server itself.
    Html(String),
}

impl Reply {
    /// A JSON body to which the framework adds its `requestId`.
    pub(super) fn json(status: u16, body: Value) -> Self {
        Self { status, body: Body::Json(body), headers: Vec::new(), request_id: true }
    }

    /// A JSON body from a route outside the framework's middleware.
    pub(super) fn bare(status: u16, body: Value) -> Self {
        Self { request_id: false, ..Self::json(status, body) }
    }

    pub(super) fn data(data: Value) -> Self {
        let mut body = Map::new();
        body.insert("data".to_owned(), data);
        Self::json(200, Value::Object(body))
    }

    pub(super) fn empty(status: u16) -> Self {
        Self { status, body: Body::Empty, headers: Vec::new(), request_id: false }
    }

    pub(super) fn with(mut self, header: &'static str, value: String) -> Self {
        self.headers.push((header, value));
        self
    }

    /// The `{message}` errors of log-in and refresh.
    pub(super) fn message(status: u16, message: &str) -> Self {
        Self::bare(status, json!({"message": message}))
    }

    pub(super) fn error(status: u16, title: &str) -> Self {
        Self::json(status, json!({"status": status, "title": title}))
    }

    pub(super) fn coded(status: u16, title: &str, code: &str) -> Self {
        Self::json(status, json!({"status": status, "title": title, "code": code}))
    }

    pub(super) fn unauthorized() -> Self {
        Self::error(401, "Unauthorized")
    }

    /// What malformed JSON and anything unexpected end as.
    pub(super) fn internal() -> Self {
        Self::bare(500, json!({"status": 500, "title": "Internal server error"}))
    }

    pub(super) fn not_found(id: &str) -> Self {
        Self::json(
            404,
            json!({
                "status": 404, "title": "Document not found", "code": "document-not-found",
                "detail": format!("Document {id} not found for model GptHistory"),
            }),
        )
    }

    pub(super) fn deleted(id: &str) -> Self {
        Self::json(
            404,
            json!({
                "status": 404, "title": "Document not found", "code": "document-not-found",
                "detail": format!("Document {id} not found for model GptHistory"),
                "meta": {"deleted": "true"}, "disableExternalErrorTracking": true,
            }),
        )
    }

    /// The 403 of `turn` on another user's conversation.
    pub(super) fn update_denied(history: &str, user: &str) -> Self {
        Self::json(
            403,
            json!({
                "status": 403, "title": "Access denied", "code": "action-access-denied",
                "detail": format!("Access to UPDATE on GptHistory:{history} denied for {user}"),
                "meta": {"action": "UPDATE", "model": "GptHistory"},
            }),
        )
    }

    /// The 403 of the model's own routes: its title is the whole sentence and it has no code.
    pub(super) fn access_denied(method: &str, history: &str, user: &str) -> Self {
        Self::error(403, &format!("Access to {method} on GptHistory:{history} denied for {user}"))
    }

    pub(super) fn body_invalid(fields: &Map<String, Value>) -> Self {
        Self::json(
            400,
            json!({
                "status": 400, "title": "Validation failed", "code": "action-body-validation-failed",
                "detail": "The request body did not match the action's schema", "meta": {"fields": fields},
            }),
        )
    }

    pub(super) fn unknown_button(field: &Value) -> Self {
        Self::json(
            400,
            json!({
                "status": 400, "title": "Unknown buttonId", "code": "UNKNOWN_BUTTON",
                "detail": "The button is not on the pending ask's simple card. See fields.",
                "meta": {"fields": [field]},
            }),
        )
    }

    pub(super) fn answer_invalid(fields: &[Value]) -> Self {
        Self::json(
            400,
            json!({
                "status": 400, "title": "Invalid askResponse",
                "detail": "The answer does not match the ask. See fields.", "meta": {"fields": fields},
            }),
        )
    }

    pub(super) fn not_pending(tool_call_id: &str) -> Self {
        Self::json(
            409,
            json!({
                "status": 409, "title": "This ask is no longer pending",
                "detail": format!("Tool call {tool_call_id} is not the ask this conversation is waiting on."),
            }),
        )
    }

    /// A route that this host does not have: the HTTP server's own page.
    pub(super) fn no_route(method: &str, path: &str) -> Self {
        let path = path.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let page = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Error</title>\n</head>\n\
             <body>\n<pre>Cannot {method} {path}</pre>\n</body>\n</html>\n"
        );
        Self { status: 404, body: Body::Html(page), headers: Vec::new(), request_id: false }
    }
}
