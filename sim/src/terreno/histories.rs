//! The conversations' own routes: list, create, read, rename, delete, and the list of waiting asks.

use std::cmp::Ordering;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::ids::iso;
use super::reply::{Body, Reply};
use super::script::Agent;
use super::state::{History, State};

/// Who asks for a conversation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) id: &'a str,
    pub(super) admin: bool,
}

const LIST_DEFAULT: usize = 100;
const LIST_MAX: usize = 500;

impl State {
    /// `GET /gpt/histories/pendingAsks`: joined from entries that are rendered already.
    pub(super) fn pending_asks(&self, user_id: &str) -> Reply {
        let mut body = String::from("{\"data\":[");
        if let Some(user) = self.users.get(user_id) {
            let waiting = user.pending.iter().filter_map(|(_, index)| self.histories.get(*index));
            let listed = waiting.filter(|history| !history.deleted).filter_map(|history| history.pending.as_ref());
            for (number, ask) in listed.enumerate() {
                if number > 0 {
                    body.push(',');
                }
                body.push_str(&ask.listed);
            }
        }
        body.push(']');
        Reply { status: 200, body: Body::Open(body), headers: Vec::new(), request_id: true }
    }

    /// `POST /gpt/histories`.
    pub(super) fn create(&mut self, user_id: &str, body: &Value, now: Duration) -> Reply {
        let empty = Map::new();
        let fields = body.as_object().unwrap_or(&empty);
        let known = ["title", "projectId", "userId", "pendingAsk", "prompts"];
        if fields.keys().any(|key| !known.contains(&key.as_str())) {
            return Reply::coded(400, "Create error", "create-error");
        }
        let index = self.new_history(user_id, Agent::built_in(), now);
        let Some(history) = self.histories.get_mut(index) else { return Reply::internal() };
        let text = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
        history.title = text("title");
        history.project_id = text("projectId");
        Reply { status: 201, ..Reply::data(history.stored()) }
    }

    /// `GET /gpt/histories/:id`.
    pub(super) fn read(&self, id: &str, reader: Reader<'_>) -> Reply {
        self.reachable(id, reader, "GET").map_or_else(|refusal| refusal, |history| Reply::data(history.stored()))
    }

    /// `PATCH /gpt/histories/:id`.
    pub(super) fn patch(&mut self, id: &str, reader: Reader<'_>, body: &Value, now: Duration) -> Reply {
        let index = match self.reachable(id, reader, "PATCH") {
            Ok(history) => history.index,
            Err(refusal) => return refusal,
        };
        let Some(history) = self.histories.get_mut(index) else { return Reply::internal() };
        if let Some(title) = body.get("title").and_then(Value::as_str) {
            history.title = Some(title.to_owned());
        }
        history.updated = now;
        history.list();
        Reply::data(history.stored())
    }

    /// `DELETE /gpt/histories/:id`.
    pub(super) fn delete(&mut self, id: &str, reader: Reader<'_>, now: Duration) -> Reply {
        let index = match self.reachable(id, reader, "DELETE") {
            Ok(history) => history.index,
            Err(refusal) => return refusal,
        };
        if let Some(history) = self.histories.get_mut(index) {
            history.deleted = true;
            history.updated = now;
        }
        Reply::empty(204)
    }

    /// `GET /gpt/histories`.
    pub(super) fn list(&self, user_id: &str, query: &str) -> Reply {
        let (mut limit, mut page, mut sort) = (LIST_DEFAULT, None, "-updated".to_owned());
        for (key, value) in url::form_urlencoded::parse(query.as_bytes()) {
            match key.as_ref() {
                "limit" => limit = value.parse().unwrap_or(LIST_DEFAULT).clamp(1, LIST_MAX),
                "page" => page = Some(value.into_owned()),
                "sort" => sort = value.into_owned(),
                "userId" | "projectId" => {}
                key if key.starts_with("created") || key.starts_with("updated") => {}
                key => {
                    let title = format!("{key} is not allowed as a query param.");
                    return Reply::coded(400, &title, "query-param-not-allowed");
                }
            }
        }
        let number = page.as_deref().map_or(Some(1), |page| page.parse::<usize>().ok().filter(|page| *page > 0));
        let Some(number) = number else { return Reply::coded(400, "Invalid page", "invalid-page") };
        let own = self.users.get(user_id).map(|user| user.histories.as_slice()).unwrap_or_default();
        let mut rows: Vec<&History> = own.iter().filter_map(|index| self.histories.get(*index)).collect();
        rows.retain(|history| !history.deleted);
        rows.sort_by(|one, other| compare(one, other, &sort));
        let total = rows.len();
        let start = (number - 1).saturating_mul(limit);
        let data: Vec<Value> = rows.into_iter().skip(start).take(limit).map(History::stored).collect();
        let more = start.saturating_add(data.len()) < total;
        let mut body = json!({"data": data, "limit": limit, "more": more, "total": total});
        if let (Some(page), Some(object)) = (page, body.as_object_mut()) {
            object.insert("page".to_owned(), json!(page));
        }
        Reply::json(200, body)
    }

    /// The conversation a turn is for, or why its sender may not have it.
    pub(super) fn turnable(&self, id: &str, reader: Reader<'_>) -> Result<usize, Reply> {
        let history = self.alive(id)?;
        if history.user_id == reader.id {
            Ok(history.index)
        } else if reader.admin {
            Err(Reply::error(403, "Not authorized to access this history"))
        } else {
            Err(Reply::update_denied(id, reader.id))
        }
    }

    fn reachable(&self, id: &str, reader: Reader<'_>, method: &str) -> Result<&History, Reply> {
        let history = self.alive(id)?;
        if history.user_id == reader.id || reader.admin {
            Ok(history)
        } else {
            Err(Reply::access_denied(method, id, reader.id))
        }
    }

    fn alive(&self, id: &str) -> Result<&History, Reply> {
        let history = self.history(id).ok_or_else(|| Reply::not_found(id))?;
        if history.deleted { Err(Reply::deleted(id)) } else { Ok(history) }
    }
}

fn compare(one: &History, other: &History, sort: &str) -> Ordering {
    let (key, down) = sort.strip_prefix('-').map_or((sort, false), |key| (key, true));
    let order = match key {
        "created" => one.created.cmp(&other.created),
        "title" => one.title.cmp(&other.title),
        _ => iso(one.updated).cmp(&iso(other.updated)),
    };
    if down { order.reverse().then(other.index.cmp(&one.index)) } else { order.then(one.index.cmp(&other.index)) }
}
