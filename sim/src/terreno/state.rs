//! Everything a host knows, behind its one lock, with what a test may read of it.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::auth::Session;
use super::faults::{Fault, Route};
use super::ids::{Mint, iso, millis};
use super::limits::Buckets;
use super::options::Options;
use super::records::{ConversationView, PendingView, RequestRecord, TurnOutcome, TurnRecord, UserView};
use super::script::Agent;

/// The state of a host, as the waiting helper shows it.
#[derive(Debug)]
pub struct State {
    pub(super) options: Options,
    pub(super) mint: Mint,
    pub(super) users: HashMap<String, User>,
    pub(super) emails: HashMap<String, String>,
    pub(super) sessions: HashMap<String, Session>,
    pub(super) serial: u64,
    pub(super) histories: Vec<History>,
    pub(super) by_id: HashMap<String, usize>,
    pub(super) buckets: Buckets,
    pub(super) faults: Vec<Fault>,
    pub(super) turns: Vec<TurnRecord>,
    pub(super) log: RequestLog,
}

/// One user.
#[derive(Debug)]
pub(super) struct User {
    pub(super) id: String,
    pub(super) email: String,
    pub(super) password: String,
    pub(super) admin: bool,
    pub(super) disabled: bool,
    /// Raised to revoke every token (Terreno's `tokenEpoch`).
    pub(super) epoch: u64,
    /// Access tokens with a lower serial count as expired.
    pub(super) access_floor: u64,
    /// Refresh tokens with a lower serial count as expired.
    pub(super) refresh_floor: u64,
    pub(super) created: Duration,
    /// Indexes of the conversations that wait, newest ask first, ties in storage order.
    pub(super) pending: BTreeSet<(Reverse<u64>, usize)>,
    pub(super) histories: Vec<usize>,
}

/// One conversation.
#[derive(Debug)]
pub(super) struct History {
    pub(super) id: String,
    pub(super) index: usize,
    pub(super) user_id: String,
    pub(super) title: Option<String>,
    pub(super) project_id: Option<String>,
    pub(super) rows: Vec<Value>,
    pub(super) pending: Option<Pending>,
    pub(super) created: Duration,
    pub(super) updated: Duration,
    pub(super) deleted: bool,
    pub(super) agent: Agent,
    pub(super) running: usize,
    pub(super) tool_runs: usize,
}

/// The ask a conversation waits on.
#[derive(Debug, Clone)]
pub(super) struct Pending {
    pub(super) kind: String,
    pub(super) tool_call_id: String,
    pub(super) input: Value,
    pub(super) card: Value,
    pub(super) created: Duration,
    /// The host tool that waits for approval, and the id of its own call.
    pub(super) tool: Option<(String, String)>,
    /// Whether the card came ready-made, so that nothing about it is checked.
    pub(super) raw: bool,
    /// Its entry in `pendingAsks`, rendered when it changes and not when it is read.
    pub(super) listed: String,
}

/// The latest requests, and counts of all of them.
#[derive(Debug, Default)]
pub(super) struct RequestLog {
    pub(super) records: VecDeque<RequestRecord>,
    pub(super) first: u64,
    pub(super) counts: HashMap<Route, u64>,
    pub(super) total: u64,
}

impl State {
    pub(super) fn new(options: Options) -> Self {
        Self {
            mint: Mint::new(options.seed),
            options,
            users: HashMap::new(),
            emails: HashMap::new(),
            sessions: HashMap::new(),
            serial: 0,
            histories: Vec::new(),
            by_id: HashMap::new(),
            buckets: Buckets::default(),
            faults: Vec::new(),
            turns: Vec::new(),
            log: RequestLog::default(),
        }
    }

    /// The options as they are now.
    #[must_use]
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// Every user, in no order.
    #[must_use]
    pub fn users(&self) -> Vec<UserView> {
        self.users.values().map(User::view).collect()
    }

    /// The asks a user has waiting, newest first, as `pendingAsks` lists them.
    #[must_use]
    pub fn pending(&self, email: &str) -> Vec<PendingView> {
        let Some(user) = self.user(email) else { return Vec::new() };
        let waiting = user.pending.iter().filter_map(|(_, index)| self.histories.get(*index));
        waiting.filter(|history| !history.deleted).filter_map(History::pending_view).collect()
    }

    /// The ask a conversation waits on.
    #[must_use]
    pub fn pending_in(&self, history_id: &str) -> Option<PendingView> {
        self.history(history_id).and_then(History::pending_view)
    }

    /// One conversation.
    #[must_use]
    pub fn conversation(&self, history_id: &str) -> Option<ConversationView> {
        self.history(history_id).map(|history| self.view(history))
    }

    /// A user's conversations that are not deleted, the most recently changed first.
    #[must_use]
    pub fn conversations(&self, email: &str) -> Vec<ConversationView> {
        let Some(user) = self.user(email) else { return Vec::new() };
        let own = user.histories.iter().filter_map(|index| self.histories.get(*index));
        let mut views: Vec<_> = own.filter(|history| !history.deleted).map(|history| self.view(history)).collect();
        views.sort_by_key(|view| Reverse(view.updated_ms));
        views
    }

    /// Every turn that reached a conversation, in the order they came.
    #[must_use]
    pub fn turns(&self) -> &[TurnRecord] {
        &self.turns
    }

    /// The answers that named this ask, effective or not.
    #[must_use]
    pub fn answers(&self, history_id: &str, tool_call_id: &str) -> Vec<&TurnRecord> {
        let of_ask =
            |turn: &&TurnRecord| turn.history_id == history_id && turn.tool_call_id.as_deref() == Some(tool_call_id);
        self.turns.iter().filter(of_ask).collect()
    }

    /// How many answers to this ask took effect and stayed: 0 or 1 on a correct host, whatever the client does.
    #[must_use]
    pub fn effective(&self, history_id: &str, tool_call_id: &str) -> usize {
        self.answers(history_id, tool_call_id).iter().filter(|turn| turn.outcome.is_effective()).count()
    }

    /// How many turns ended like this.
    #[must_use]
    pub fn count_turns(&self, outcome: TurnOutcome) -> usize {
        self.turns.iter().filter(|turn| turn.outcome == outcome).count()
    }

    /// How many turns are running.
    #[must_use]
    pub fn running(&self) -> usize {
        self.histories.iter().map(|history| history.running).sum()
    }

    /// How often the host tools of a conversation ran.
    #[must_use]
    pub fn tool_runs(&self, history_id: &str) -> usize {
        self.history(history_id).map_or(0, |history| history.tool_runs)
    }

    /// The status of an ask's row: `pending`, `answered` or `cancelled`.
    #[must_use]
    pub fn ask_status(&self, history_id: &str, tool_call_id: &str) -> Option<String> {
        let row = self.history(history_id)?.rows.iter().rev().find(|row| is_ask_row(row, tool_call_id))?;
        row.pointer("/ask/status")?.as_str().map(str::to_owned)
    }

    /// The envelope in an ask's answer row.
    #[must_use]
    pub fn answer_row(&self, history_id: &str, tool_call_id: &str) -> Option<&Value> {
        let row = self.history(history_id)?.rows.iter().rev().find(|row| is_answer_row(row, tool_call_id))?;
        row.get("result")
    }

    /// The latest requests, oldest first, as many as the options keep.
    #[must_use]
    pub fn requests(&self) -> impl DoubleEndedIterator<Item = &RequestRecord> {
        self.log.records.iter()
    }

    /// How many requests came for a route.
    #[must_use]
    pub fn count(&self, route: Route) -> u64 {
        self.log.counts.get(&route).copied().unwrap_or(0)
    }

    /// How many requests came.
    #[must_use]
    pub const fn count_all(&self) -> u64 {
        self.log.total
    }

    /// How many faults have not struck yet, those without an end included.
    #[must_use]
    pub fn faults_left(&self) -> usize {
        self.faults.len()
    }

    pub(super) fn user(&self, email: &str) -> Option<&User> {
        self.users.get(self.emails.get(email)?)
    }

    pub(super) fn user_mut(&mut self, email: &str) -> Option<&mut User> {
        self.users.get_mut(self.emails.get(email)?)
    }

    pub(super) fn history(&self, id: &str) -> Option<&History> {
        self.histories.get(*self.by_id.get(id)?)
    }

    pub(super) fn new_history(&mut self, user_id: &str, agent: Agent, now: Duration) -> usize {
        let id = self.mint.document(now);
        let index = self.histories.len();
        self.by_id.insert(id.clone(), index);
        self.histories.push(History {
            id,
            index,
            user_id: user_id.to_owned(),
            title: None,
            project_id: None,
            rows: Vec::new(),
            pending: None,
            created: now,
            updated: now,
            deleted: false,
            agent,
            running: 0,
            tool_runs: 0,
        });
        if let Some(user) = self.users.get_mut(user_id) {
            user.histories.push(index);
        }
        index
    }

    /// Sets or clears the ask a conversation waits on, and keeps the owner's index of waiting conversations with it.
    pub(super) fn set_pending(&mut self, index: usize, pending: Option<Pending>) -> Option<Pending> {
        let history = self.histories.get_mut(index)?;
        let before = std::mem::replace(&mut history.pending, pending);
        history.list();
        if let Some(user) = self.users.get_mut(&history.user_id) {
            if let Some(before) = &before {
                user.pending.remove(&(Reverse(millis(before.created)), index));
            }
            if let Some(now) = &history.pending {
                user.pending.insert((Reverse(millis(now.created)), index));
            }
        }
        before
    }

    fn view(&self, history: &History) -> ConversationView {
        ConversationView {
            history_id: history.id.clone(),
            user: self.users.get(&history.user_id).map(|user| user.email.clone()).unwrap_or_default(),
            title: history.title.clone(),
            rows: history.rows.clone(),
            pending_ask: history.pending.as_ref().map(Pending::stored),
            busy: history.running > 0,
            deleted: history.deleted,
            created_ms: millis(history.created),
            updated_ms: millis(history.updated),
        }
    }
}

impl User {
    fn view(&self) -> UserView {
        UserView {
            user_id: self.id.clone(),
            email: self.email.clone(),
            admin: self.admin,
            disabled: self.disabled,
            pending: self.pending.len(),
        }
    }

    /// The user as `GET /auth/me` shows it.
    pub(super) fn stored(&self) -> Value {
        json!({
            "admin": self.admin, "_id": self.id, "email": self.email, "deleted": false, "created": iso(self.created),
            "updated": iso(self.created), "__v": 0, "id": self.id,
        })
    }
}

impl History {
    /// The conversation as the API shows it.
    pub(super) fn stored(&self) -> Value {
        let mut data = Map::new();
        let mut put = |key: &str, value: Value| data.insert(key.to_owned(), value);
        put("userId", json!(self.user_id));
        put("_id", json!(self.id));
        put("deleted", json!(self.deleted));
        put("prompts", Value::Array(self.rows.clone()));
        put("created", json!(iso(self.created)));
        put("updated", json!(iso(self.updated)));
        put("__v", json!(0));
        if let Some(pending) = &self.pending {
            put("pendingAsk", pending.stored());
        }
        if let Some(title) = &self.title {
            put("title", json!(title));
        }
        if let Some(project) = &self.project_id {
            put("projectId", json!(project));
        }
        put("ownerId", json!(self.user_id));
        put("id", json!(self.id));
        Value::Object(data)
    }

    /// Sets the status of an ask's row.
    pub(super) fn mark(&mut self, tool_call_id: &str, status: &str) {
        let row = self.rows.iter_mut().rev().find(|row| is_ask_row(row, tool_call_id));
        if let Some(place) = row.and_then(|row| row.pointer_mut("/ask/status")) {
            *place = json!(status);
        }
    }

    /// Renders the entry in `pendingAsks` again.
    pub(super) fn list(&mut self) {
        let Some(pending) = &mut self.pending else { return };
        let mut entry = Map::new();
        let mut put = |key: &str, value: Value| entry.insert(key.to_owned(), value);
        put("created", json!(iso(pending.created)));
        put("historyId", json!(self.id));
        put("kind", json!(pending.kind));
        put("simple", pending.card.clone());
        if let Some(title) = &self.title {
            put("title", json!(title));
        }
        put("toolCallId", json!(pending.tool_call_id));
        pending.listed = Value::Object(entry).to_string();
    }

    fn pending_view(&self) -> Option<PendingView> {
        let pending = self.pending.as_ref()?;
        Some(PendingView {
            history_id: self.id.clone(),
            tool_call_id: pending.tool_call_id.clone(),
            kind: pending.kind.clone(),
            card: pending.card.clone(),
            created_ms: millis(pending.created),
        })
    }
}

impl Pending {
    /// The ask as stored on its conversation.
    fn stored(&self) -> Value {
        let mut stored = Map::new();
        let mut put = |key: &str, value: Value| stored.insert(key.to_owned(), value);
        put("created", json!(iso(self.created)));
        if !self.input.is_null() {
            put("input", self.input.clone());
        }
        put("kind", json!(self.kind));
        put("simple", self.card.clone());
        put("toolCallId", json!(self.tool_call_id));
        if let Some((tool, _)) = &self.tool {
            put("approvalId", json!(self.tool_call_id));
            put("origin", json!("approval"));
            put("toolName", json!(tool));
        }
        Value::Object(stored)
    }

    /// The ask as a turn's reply carries it.
    pub(super) fn replied(&self) -> Value {
        json!({"kind": self.kind, "simple": self.card, "toolCallId": self.tool_call_id})
    }

    /// The name its rows carry.
    pub(super) fn tool_name(&self) -> String {
        self.tool.as_ref().map_or_else(|| format!("ask_{}", self.kind), |(tool, _)| tool.clone())
    }
}

impl RequestLog {
    /// Keeps a request and returns its number.
    pub(super) fn arrive(&mut self, record: RequestRecord, keep: usize) -> u64 {
        *self.counts.entry(record.route).or_default() += 1;
        self.total += 1;
        self.records.push_back(record);
        while self.records.len() > keep {
            self.records.pop_front();
            self.first += 1;
        }
        self.total - 1
    }

    /// Notes how a request was answered.
    pub(super) fn depart(&mut self, number: u64, status: u16) {
        let place = number.checked_sub(self.first).and_then(|at| usize::try_from(at).ok());
        if let Some(record) = place.and_then(|at| self.records.get_mut(at)) {
            record.status = Some(status);
        }
    }
}

/// Whether a row is the call row of this ask.
pub(super) fn is_ask_row(row: &Value, tool_call_id: &str) -> bool {
    row.get("ask").is_some() && row.get("toolCallId").and_then(Value::as_str) == Some(tool_call_id)
}

/// Whether a row is the answer row of this ask.
pub(super) fn is_answer_row(row: &Value, tool_call_id: &str) -> bool {
    row.get("type").and_then(Value::as_str) == Some("tool-result")
        && row.get("toolCallId").and_then(Value::as_str) == Some(tool_call_id)
}
