//! What the host remembers and shows: requests, turns, conversations, as plain serialisable data.

use asks::ask::Surface;
use serde::Serialize;
use serde_json::Value;

use super::faults::Route;

/// One request, as it came and how it was answered.
#[derive(Debug, Clone, Serialize)]
pub struct RequestRecord {
    /// When it came, milliseconds since the epoch.
    pub at_ms: u64,
    /// The HTTP method.
    pub method: String,
    /// The path, without its query.
    pub path: String,
    /// The query, without the `?`.
    pub query: String,
    /// Its route.
    pub route: Route,
    /// The status it was answered with; `None` while it runs, and when it was dropped.
    pub status: Option<u16>,
    /// The user its credential belongs to, valid or not.
    pub user_id: Option<String>,
    /// Its headers in the order they came, without credentials.
    pub headers: Vec<(String, String)>,
    /// Its JSON body; `null` when there was none, when it was not JSON, and on the routes that carry credentials.
    pub body: Value,
}

/// Who sent a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Via {
    /// A client over HTTP.
    Http,
    /// The control handle, as another client of the same user.
    App,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TurnOutcome {
    /// It took effect and runs.
    Running,
    /// It took effect.
    Effective,
    /// It took effect; the agent failed after output (or on a prompt), and the answer was kept.
    Kept,
    /// It took effect, failed before output and was taken back: the ask is pending again.
    Undone,
    /// It lost: 409, the ask was not pending.
    NotPending,
    /// It was refused with this status; the ask is still pending.
    Refused(u16),
    /// The host has no model: 200, and nothing was touched.
    NoModel,
}

impl TurnOutcome {
    /// Whether the answer took effect and was not taken back.
    #[must_use]
    pub const fn is_effective(self) -> bool {
        matches!(self, Self::Running | Self::Effective | Self::Kept)
    }
}

/// One turn that passed the access and body checks.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnRecord {
    /// When it came, milliseconds since the epoch.
    pub at_ms: u64,
    /// The conversation.
    pub history_id: String,
    /// The user who sent it.
    pub user_id: String,
    /// Who sent it.
    pub via: Via,
    /// The surface it named.
    pub surface: Surface,
    /// The ask it answered.
    pub tool_call_id: Option<String>,
    /// The button it pressed.
    pub button_id: Option<String>,
    /// The answer envelope it sent or its button stands for.
    pub response: Option<Value>,
    /// The message it sent.
    pub prompt: Option<String>,
    /// How it ended.
    pub outcome: TurnOutcome,
}

/// A waiting ask.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingView {
    /// The conversation that waits.
    pub history_id: String,
    /// The ask.
    pub tool_call_id: String,
    /// Its kind.
    pub kind: String,
    /// Its card, as stored.
    pub card: Value,
    /// When it was asked, milliseconds since the epoch.
    pub created_ms: u64,
}

/// A conversation, as the app's pane shows it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationView {
    /// Its id.
    pub history_id: String,
    /// Its owner's e-mail address.
    pub user: String,
    /// Its title, once it has one.
    pub title: Option<String>,
    /// Its rows, as the API shows them.
    pub rows: Vec<Value>,
    /// The ask it waits on with its input, as the API shows it.
    pub pending_ask: Option<Value>,
    /// Whether a turn runs.
    pub busy: bool,
    /// Whether it is deleted.
    pub deleted: bool,
    /// When it was made, milliseconds since the epoch.
    pub created_ms: u64,
    /// When it last changed, milliseconds since the epoch.
    pub updated_ms: u64,
}

/// A user, without the password.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UserView {
    /// The user's id (an account's subject).
    pub user_id: String,
    /// The e-mail address.
    pub email: String,
    /// Whether the user may read everybody's conversations.
    pub admin: bool,
    /// Whether the user may do nothing at all.
    pub disabled: bool,
    /// How many asks wait.
    pub pending: usize,
}

/// The whole host, as the demo page shows it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostView {
    /// Whether connections are refused.
    pub down: bool,
    /// Whether asks are switched on.
    pub asks: bool,
    /// The users.
    pub users: Vec<UserView>,
    /// Every conversation that is not deleted, the most recently changed first.
    pub conversations: Vec<ConversationView>,
    /// Every turn so far.
    pub turns: Vec<TurnRecord>,
    /// How many requests came.
    pub requests: u64,
}
