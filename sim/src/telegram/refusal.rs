//! What the server answers when it does not do what was asked, with the platform's literal texts.

use serde_json::{Value, json};

/// A refused call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The HTTP status, repeated in the body.
    pub(super) code: u16,
    /// The whole description, with its prefix.
    pub(super) description: String,
    /// Seconds to wait, also sent as the `Retry-After` header.
    pub(super) retry_after: Option<u64>,
    /// The chat that took the place of the one that was asked for.
    pub(super) migrate_to: Option<i64>,
}

impl Refusal {
    /// 400, with `Bad Request: ` before the reason.
    pub(super) fn bad(reason: impl AsRef<str>) -> Self {
        Self::plain(400, format!("Bad Request: {}", reason.as_ref()))
    }

    /// 403, with `Forbidden: ` before the reason.
    pub(super) fn forbidden(reason: impl AsRef<str>) -> Self {
        Self::plain(403, format!("Forbidden: {}", reason.as_ref()))
    }

    /// 409, with `Conflict: ` before the reason.
    pub(super) fn conflict(reason: impl AsRef<str>) -> Self {
        Self::plain(409, format!("Conflict: {}", reason.as_ref()))
    }

    /// 401, for any token but ours.
    pub(super) fn unauthorised() -> Self {
        Self::plain(401, "Unauthorized".to_owned())
    }

    /// 404, for a method or a path that does not exist.
    pub(super) fn not_found() -> Self {
        Self::plain(404, "Not Found".to_owned())
    }

    /// 429, to be repeated after so many seconds.
    pub(super) fn too_many(seconds: u64) -> Self {
        let mut refusal = Self::plain(429, format!("Too Many Requests: retry after {seconds}"));
        refusal.retry_after = Some(seconds);
        refusal
    }

    /// 400, because the group lives on as a supergroup.
    pub(super) fn migrated(to: i64) -> Self {
        let mut refusal = Self::bad("group chat was upgraded to a supergroup chat");
        refusal.migrate_to = Some(to);
        refusal
    }

    /// The body as it goes out.
    pub(super) fn body(&self) -> Value {
        let mut body = json!({"ok": false, "error_code": self.code, "description": self.description});
        let parameters = match (self.retry_after, self.migrate_to) {
            (Some(seconds), _) => json!({"retry_after": seconds}),
            (None, Some(chat)) => json!({"migrate_to_chat_id": chat}),
            (None, None) => return body,
        };
        if let Some(object) = body.as_object_mut() {
            object.insert("parameters".to_owned(), parameters);
        }
        body
    }

    fn plain(code: u16, description: String) -> Self {
        Self { code, description, retry_after: None, migrate_to: None }
    }
}
