//! The updates that wait for the bot, for `getUpdates` and webhooks alike.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use serde_json::{Map, Value, json};

/// How long a press waits for the bot before it is dropped.
pub(super) const CALLBACK_LIFE: Duration = Duration::from_secs(150);
/// How long any other update waits.
const OTHER_LIFE: Duration = Duration::from_hours(24);
/// How many updates are remembered for being sent again.
const HISTORY: usize = 10_000;
/// First and longest pause after a failed delivery; the first repetition comes at once.
const BACKOFF_FIRST: Duration = Duration::from_secs(2);
const BACKOFF_MAX: Duration = Duration::from_mins(1);

/// Kinds of updates a bot gets only when it asks for them.
const NOT_BY_DEFAULT: &[&str] = &["chat_member", "message_reaction", "message_reaction_count"];

/// One waiting update.
#[derive(Debug, Clone)]
pub(super) struct Queued {
    /// Its `update_id`.
    pub(super) id: i64,
    /// The whole update.
    pub(super) body: Value,
    lane: i64,
    expires: Duration,
    attempts: u32,
    not_before: Duration,
    in_flight: bool,
}

/// The updates of one bot, oldest first.
#[derive(Debug)]
pub(super) struct Queue {
    next_id: i64,
    waiting: VecDeque<Queued>,
    history: VecDeque<Value>,
    allowed: Option<Vec<String>>,
}

impl Queue {
    /// An empty queue whose first update gets that id.
    pub(super) fn new(first_id: i64) -> Self {
        Self { next_id: first_id, waiting: VecDeque::new(), history: VecDeque::new(), allowed: None }
    }

    /// Queues an update of a kind, unless the bot did not ask for that kind.
    pub(super) fn push(&mut self, kind: &str, payload: &Value, now: Duration) -> Option<i64> {
        let wanted = match &self.allowed {
            None => !NOT_BY_DEFAULT.contains(&kind),
            Some(kinds) => kinds.iter().any(|wanted| wanted == kind),
        };
        wanted.then(|| self.put(json!({kind: payload}), now))
    }

    /// Queues a whole update as it is; without an `update_id` it gets the next one.
    pub(super) fn put(&mut self, update: Value, now: Duration) -> i64 {
        let given = update.get("update_id").and_then(Value::as_i64);
        let id = given.unwrap_or(self.next_id);
        if given.is_none() {
            self.next_id += 1;
        }
        let mut body = Map::new();
        body.insert("update_id".to_owned(), json!(id));
        if let Value::Object(rest) = update {
            body.extend(rest.into_iter().filter(|(name, _)| name != "update_id"));
        }
        let body = Value::Object(body);
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(body.clone());
        self.enqueue(id, body, now);
        id
    }

    /// Queues an update once more under its old id; false where it is no longer remembered.
    pub(super) fn again(&mut self, id: i64, now: Duration) -> bool {
        let found =
            self.history.iter().rev().find(|update| update.get("update_id").and_then(Value::as_i64) == Some(id));
        let Some(body) = found.cloned() else { return false };
        self.enqueue(id, body, now);
        true
    }

    /// Lets ids go on from another number, as after a quiet week.
    pub(super) fn restart(&mut self, next_id: i64) {
        self.next_id = next_id;
    }

    /// Remembers which kinds the bot wants; an empty list means the usual ones.
    pub(super) fn allow(&mut self, kinds: Vec<String>) {
        self.allowed = (!kinds.is_empty()).then_some(kinds);
    }

    /// Which kinds the bot asked for.
    pub(super) fn allowed(&self) -> Option<&[String]> {
        self.allowed.as_deref()
    }

    /// Forgets what expired, then what `offset` confirms: everything before it or, where it is negative, everything but the
    /// last so many.
    pub(super) fn confirm(&mut self, offset: i64, now: Duration) {
        self.expire(now);
        if offset < 0 {
            let keep = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
            let drop = self.waiting.len().saturating_sub(keep);
            self.waiting.drain(..drop);
        } else if offset > 0 {
            self.waiting.retain(|update| update.id >= offset);
        }
    }

    /// The first so many that wait.
    pub(super) fn batch(&mut self, limit: usize, now: Duration) -> Vec<Value> {
        self.expire(now);
        self.waiting.iter().take(limit).map(|update| update.body.clone()).collect()
    }

    /// All that wait, by id.
    pub(super) fn waiting(&self) -> impl ExactSizeIterator<Item = &Queued> {
        self.waiting.iter()
    }

    /// Forgets all that wait.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Takes what a webhook may be given now: at most so many, the first of each chat only, none that pauses. With it the
    /// time until the next one is due.
    pub(super) fn due(&mut self, most: usize, now: Duration) -> (Vec<Queued>, Option<Duration>) {
        self.expire(now);
        let mut room = most.saturating_sub(self.waiting.iter().filter(|update| update.in_flight).count());
        let (mut taken, mut lanes, mut next) = (Vec::new(), HashSet::new(), None::<Duration>);
        for update in &mut self.waiting {
            // With no room left the end of a delivery asks again.
            if room == 0 {
                break;
            }
            if !lanes.insert(update.lane) || update.in_flight {
                continue;
            }
            if let Some(pause) = update.not_before.checked_sub(now).filter(|pause| !pause.is_zero()) {
                next = Some(next.map_or(pause, |next| next.min(pause)));
                continue;
            }
            update.in_flight = true;
            room -= 1;
            taken.push(update.clone());
        }
        (taken, next)
    }

    /// Whatever was on its way to a webhook is so no longer, because the server stopped.
    pub(super) fn land(&mut self) {
        for update in &mut self.waiting {
            update.in_flight = false;
        }
    }

    /// A webhook took the update.
    pub(super) fn delivered(&mut self, id: i64) {
        if let Some(place) = self.waiting.iter().position(|update| update.id == id && update.in_flight) {
            self.waiting.remove(place);
        }
    }

    /// A webhook did not take the update: again at once, then after 2, 4, 8, ... s, or when it asked for it.
    pub(super) fn failed(&mut self, id: i64, retry_after: Option<Duration>, now: Duration) {
        let Some(update) = self.waiting.iter_mut().find(|update| update.id == id && update.in_flight) else { return };
        update.in_flight = false;
        let backoff = match update.attempts {
            0 => Duration::ZERO,
            attempts => BACKOFF_FIRST.saturating_mul(1 << (attempts - 1).min(8)).min(BACKOFF_MAX),
        };
        update.attempts += 1;
        update.not_before = now + retry_after.unwrap_or(backoff);
    }

    fn enqueue(&mut self, id: i64, body: Value, now: Duration) {
        let life = if body.get("callback_query").is_some() { CALLBACK_LIFE } else { OTHER_LIFE };
        let lane = lane(&body);
        let update = Queued { id, body, lane, expires: now + life, attempts: 0, not_before: now, in_flight: false };
        self.waiting.push_back(update);
    }

    fn expire(&mut self, now: Duration) {
        // The next try of a pausing update must come before it expires, else it is dropped already now.
        self.waiting.retain(|update| update.in_flight || update.expires > now.max(update.not_before));
    }
}

/// What keeps its order: the chat where there is one, else the person.
fn lane(update: &Value) -> i64 {
    let Some(fields) = update.as_object() else { return 0 };
    let payload = fields.iter().find(|(name, _)| *name != "update_id").map(|(_, payload)| payload);
    let id = |path: &str| payload.and_then(|payload| payload.pointer(path)).and_then(Value::as_i64);
    id("/chat/id").or_else(|| id("/message/chat/id")).or_else(|| id("/from/id")).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::from_secs(1_000_000);

    fn ids(queue: &mut Queue, now: Duration) -> Vec<i64> {
        queue.batch(100, now).iter().map(|update| update["update_id"].as_i64().unwrap()).collect()
    }

    #[test]
    fn offsets_confirm_as_documented() {
        let mut queue = Queue::new(10);
        for _ in 0..5 {
            queue.push("message", &json!({}), START);
        }
        assert_eq!(ids(&mut queue, START), [10, 11, 12, 13, 14]);
        queue.confirm(0, START);
        queue.confirm(12, START);
        assert_eq!(ids(&mut queue, START), [12, 13, 14]);
        queue.confirm(-2, START);
        assert_eq!(ids(&mut queue, START), [13, 14]);
        queue.confirm(100, START);
        assert_eq!(ids(&mut queue, START), [0; 0]);
        assert!(queue.again(11, START));
        assert_eq!(ids(&mut queue, START), [11]);
    }

    #[test]
    fn a_press_expires_after_150_seconds_and_a_message_after_a_day() {
        let mut queue = Queue::new(1);
        queue.push("callback_query", &json!({}), START);
        queue.push("message", &json!({}), START);
        assert_eq!(ids(&mut queue, START + Duration::from_secs(149)), [1, 2]);
        assert_eq!(ids(&mut queue, START + Duration::from_secs(150)), [2]);
        assert_eq!(ids(&mut queue, START + Duration::from_hours(24)), [0; 0]);
    }

    #[test]
    fn only_wanted_kinds_are_queued() {
        let mut queue = Queue::new(1);
        assert_eq!(queue.push("chat_member", &json!({}), START), None);
        queue.allow(vec!["callback_query".into()]);
        assert_eq!(queue.push("message", &json!({}), START), None);
        assert_eq!(queue.push("callback_query", &json!({}), START), Some(1));
        queue.allow(Vec::new());
        assert_eq!(queue.push("message", &json!({}), START), Some(2));
    }

    #[test]
    fn a_failing_update_holds_back_its_own_chat_only() {
        let mut queue = Queue::new(1);
        for chat in [5, 5, 6] {
            queue.push("message", &json!({"chat": {"id": chat}}), START);
        }
        let taken = |queue: &mut Queue, now| queue.due(40, now).0.iter().map(|update| update.id).collect::<Vec<_>>();
        assert_eq!(taken(&mut queue, START), [1, 3]);
        queue.delivered(3);
        queue.failed(1, None, START);
        assert_eq!(taken(&mut queue, START), [1]);
        queue.failed(1, None, START);
        assert_eq!(queue.due(40, START).1, Some(Duration::from_secs(2)));
        assert_eq!(taken(&mut queue, START + Duration::from_secs(2)), [1]);
        queue.delivered(1);
        assert_eq!(taken(&mut queue, START + Duration::from_secs(2)), [2]);
    }
}
