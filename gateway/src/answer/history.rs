//! What a conversation says about an ask that is not listed any more.

use adapters::source::{AnswerRow, Conversation};
use asks::card::{Button, Card};
use asks::life::{Claim, Why};
use serde_json::{Value, json};
use store::record::AskRecord;

use crate::hub::Hub;
use crate::show::one_line;

/// How an ask ended that was not answered from here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// It waits still: the list was old.
    StillPending,
    /// It ended so.
    As(Why),
    /// It was answered from here after all: an answer that had seemed not to stand arrived late.
    Ours,
    /// The conversation cannot be read, or does not say.
    Unknown,
}

/// Asks the source how an unlisted ask ended.
pub async fn how_it_ended(hub: &Hub, record: &AskRecord) -> Ended {
    let Some(source) = hub.source(&record.key) else { return Ended::Unknown };
    match source.port.read(&record.account, &record.key.conversation).await {
        Ok(conversation) => ended(record, &conversation),
        Err(adapters::source::Failure::Gone) => Ended::As(Why::Gone),
        Err(failure) => {
            tracing::debug!(ask = %record.key, "cannot read how {} ended: {failure}", record.key);
            Ended::Unknown
        }
    }
}

/// Reads it out of a conversation.
fn ended(record: &AskRecord, conversation: &Conversation) -> Ended {
    if is_pending(record, conversation) {
        return Ended::StillPending;
    }
    match row(record, conversation) {
        Some(row) if action(&row.response) == Some("cancel") => Ended::As(Why::Cancelled),
        Some(row) if is_late_answer(record, row) => Ended::Ours,
        Some(row) => Ended::As(Why::Elsewhere { label: label_of(&record.card, &row.response) }),
        None => Ended::Unknown,
    }
}

/// Whether the row is the answer that the record's card says did not stand.
fn is_late_answer(record: &AskRecord, row: &AnswerRow) -> bool {
    record.life.late_claim().is_some_and(|claim| is_answer_of(&record.card, claim, &row.response))
}

/// Whether the conversation waits on the ask.
pub(super) fn is_pending(record: &AskRecord, conversation: &Conversation) -> bool {
    conversation.pending.as_ref().is_some_and(|(ask, _)| *ask == record.key.ask)
}

/// The ask's answer row; the last one, should an undone answer have left another behind.
pub(super) fn row<'a>(record: &AskRecord, conversation: &'a Conversation) -> Option<&'a AnswerRow> {
    conversation.answers.iter().rev().find(|row| row.ask == record.key.ask)
}

/// Whether a stored answer is the one that a claim sends: its own where it was given on the answer page, else its button's.
pub(super) fn is_answer_of(card: &Card, claim: &Claim, response: &Value) -> bool {
    let sent = claim.response.clone().or_else(|| card.button(&claim.button).and_then(sent_by));
    sent.is_some_and(|sent| same(&sent, response))
}

/// The label of the button whose answer this is.
pub(super) fn label_of(card: &Card, response: &Value) -> Option<String> {
    let button = card.buttons.iter().find(|button| sent_by(button).is_some_and(|sent| same(&sent, response)))?;
    Some(one_line(&button.label)).filter(|label| !label.is_empty())
}

fn action(response: &Value) -> Option<&str> {
    response.get("action").and_then(Value::as_str)
}

/// The answer a button sends: the card says so, or its id does by the specification.
fn sent_by(button: &Button) -> Option<Value> {
    if !button.response.is_null() {
        return Some(button.response.clone());
    }
    let id = button.id.as_str();
    match id {
        "approve" => Some(json!({"action": "accept", "content": {"confirmed": true}})),
        "deny" => Some(json!({"action": "accept", "content": {"confirmed": false}})),
        "skip" | "cancel" => Some(json!({"action": "decline"})),
        _ => id.strip_prefix("option:").map(|option| json!({"action": "accept", "content": {"selected": [option]}})),
    }
}

/// Equal as JSON; numbers by value, because a store may turn `2.0` into `2`.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card() -> Card {
        serde_json::from_value(json!({"toolCallId": "c", "kind": "choice", "text": "?", "buttons": [
            {"id": "option:team", "label": "Team", "response": {"action": "accept", "content": {"selected": ["team"]}}},
            {"id": "option:solo", "label": "Solo"},
            {"id": "skip", "label": "Skip", "response": {"action": "decline"}}]}))
        .expect("a card")
    }

    #[test]
    fn a_stored_answer_is_recognised_whatever_its_order_or_number_form() {
        let card = card();
        let team = json!({"content": {"selected": ["team"]}, "action": "accept"});
        let claim = |button: &str, response: Option<Value>| Claim {
            button: button.into(),
            label: String::new(),
            actor: asks::place::Actor::Owner,
            actor_name: None,
            place: asks::place::Place::DiscordUser(1),
            at: 0,
            response,
        };
        assert!(is_answer_of(&card, &claim("option:team", None), &team));
        assert!(!is_answer_of(&card, &claim("skip", None), &team));
        assert!(is_answer_of(&card, &claim("", Some(team.clone())), &team), "one from the answer page has no button");
        assert_eq!(label_of(&card, &team).as_deref(), Some("Team"));
        assert_eq!(
            label_of(&card, &json!({"action": "accept", "content": {"selected": ["solo"]}})).as_deref(),
            Some("Solo")
        );
        assert_eq!(label_of(&card, &json!({"action": "accept", "content": {"selected": ["gold"]}})), None);
        assert!(same(&json!({"n": 2.0}), &json!({"n": 2})));
        assert!(!same(&json!({"n": 2}), &json!({"n": 2, "m": 1})));
    }
}
