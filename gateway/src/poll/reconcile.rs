//! What a poll means: a pure function from what is listed and what is known to what to do.

use std::collections::{HashMap, HashSet};

use adapters::source::{Listed, Snapshot};
use asks::ids::{AccountKey, AskKey};
use asks::life::{Life, Note, Outcome};
use store::record::{AskRecord, Seq};

/// Something a poll makes necessary.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// An ask that nobody knew.
    Announce(Listed),
    /// An open ask that is not listed any more.
    Withdraw {
        /// The ask.
        key: AskKey,
        /// The position it was judged on.
        expect: Seq,
    },
    /// An ask that was over and is listed again.
    Reopen {
        /// The ask.
        key: AskKey,
        /// The position it was judged on.
        expect: Seq,
        /// What its card says about the answer that did not stand.
        note: Note,
    },
    /// The source uses a known id for something else: what was shown is put aside, and this is announced as new.
    Replace {
        /// The ask.
        key: AskKey,
        /// The position it was judged on.
        expect: Seq,
        /// What is asked now.
        listed: Listed,
    },
}

/// Judges a poll of `account` that was begun when the ledger stood at `as_of`.
///
/// `known` are the account's unfinished asks and whatever else the ledger knows of what is listed. Three things keep an old or
/// partial list from doing harm: an ask that moved after `as_of` is left alone, an ask with an answer on its way is left to the
/// task that carries it, and only a complete list withdraws anything.
#[must_use]
pub fn reconcile(account: &AccountKey, snapshot: &Snapshot, known: &[AskRecord], as_of: Seq) -> Vec<Action> {
    let key_of = |conversation: &_, ask: &_| AskKey {
        source: account.source.clone(),
        conversation: Clone::clone(conversation),
        ask: Clone::clone(ask),
    };
    let records: HashMap<&AskKey, &AskRecord> = known.iter().map(|record| (&record.key, record)).collect();
    let mut listed = HashSet::new();
    let mut actions = Vec::new();

    for ask in oldest_first(&snapshot.asks) {
        let key = key_of(&ask.conversation, &ask.ask);
        if !listed.insert(key.clone()) {
            continue;
        }
        match records.get(&key) {
            None => actions.push(Action::Announce(ask.clone())),
            Some(record) if record.seq <= as_of && is_another(record, ask) => {
                actions.push(Action::Replace { key, expect: record.seq, listed: ask.clone() });
            }
            Some(record) if record.seq <= as_of => {
                if let Some(note) = came_back(&record.life) {
                    actions.push(Action::Reopen { key, expect: record.seq, note });
                }
            }
            Some(_) => {}
        }
    }
    listed.extend(snapshot.unreadable.iter().map(|(conversation, ask)| key_of(conversation, ask)));

    if snapshot.complete {
        let gone = known
            .iter()
            .filter(|record| record.life.is_open() && record.seq <= as_of && record.account == *account)
            .filter(|record| !listed.contains(&record.key))
            .map(|record| Action::Withdraw { key: record.key.clone(), expect: record.seq });
        actions.extend(gone);
    }
    actions
}

/// Sources list newest first, and what was asked in the same moment in the order in which it was asked; people read oldest
/// first.
fn oldest_first(asks: &[Listed]) -> Vec<&Listed> {
    let mut sorted: Vec<&Listed> = asks.iter().collect();
    sorted.sort_by(|a, b| a.created.cmp(&b.created));
    sorted
}

/// Whether a source asks something else under an id that is known. Nobody may approve what they were not shown, so a card is
/// never rewritten. An ask with an answer on its way is left to whoever carries it.
fn is_another(record: &AskRecord, listed: &Listed) -> bool {
    let waits_or_over = record.life.is_open() || record.life.is_over();
    let asked_anew = record.life.is_over()
        && !record.created.is_empty()
        && !listed.created.is_empty()
        && record.created != listed.created;
    waits_or_over && (record.card != listed.card || asked_anew)
}

/// What a card says that is open again, if it may be.
fn came_back(life: &Life) -> Option<Note> {
    let note = match life {
        // It was accepted without an error, and the agent still waits: no model took it.
        Life::Settled { outcome: Outcome::Ours { claim, error: None } } => Note::NotConsumed { claim: claim.clone() },
        Life::Settled { outcome: Outcome::Ours { claim, error: Some(error) } } => {
            Note::Undone { label: claim.label.clone(), error: error.clone() }
        }
        Life::Settled { outcome: Outcome::Elsewhere { .. } } | Life::Withdrawn { .. } => Note::Reopened,
        _ => return None,
    };
    life.clone().listed_again(note.clone()).is_ok().then_some(note)
}

#[cfg(test)]
mod tests {
    use asks::life::{Claim, Why};
    use asks::place::{Actor, Place};
    use serde_json::json;

    use super::*;

    fn account() -> AccountKey {
        AccountKey { source: "app".into(), name: "me".into() }
    }

    fn listed(ask: &str, created: &str) -> Listed {
        Listed {
            conversation: "h".into(),
            conversation_title: None,
            ask: ask.into(),
            card: serde_json::from_value(json!({"toolCallId": ask, "kind": "confirm", "text": "?"})).expect("a card"),
            created: created.into(),
        }
    }

    fn key(ask: &str) -> AskKey {
        AskKey { source: "app".into(), conversation: "h".into(), ask: ask.into() }
    }

    fn record(ask: &str, life: Life, seq: u64) -> AskRecord {
        AskRecord {
            key: key(ask),
            account: account(),
            card: listed(ask, "").card,
            content: None,
            conversation_title: None,
            first_seen: 0,
            created: String::new(),
            life,
            dead_buttons: Vec::new(),
            unused: 0,
            votes: Vec::new(),
            seq: Seq(seq),
            moved_at: 0,
            finished: false,
        }
    }

    fn snapshot(asks: Vec<Listed>) -> Snapshot {
        Snapshot { complete: true, asks, unreadable: Vec::new(), subject: None }
    }

    fn claim() -> Claim {
        Claim {
            button: "approve".into(),
            label: "Yes".into(),
            actor: Actor::Telegram(7),
            actor_name: None,
            place: Place::Telegram { chat: 7, topic: None },
            at: 0,
            response: None,
        }
    }

    #[test]
    fn new_asks_are_announced_oldest_first_and_once() {
        let actions = reconcile(
            &account(),
            &snapshot(vec![listed("c", "3"), listed("d", "3"), listed("b", "2"), listed("a", "1"), listed("a", "1")]),
            &[],
            Seq(0),
        );
        let order: Vec<&str> = actions
            .iter()
            .map(|action| if let Action::Announce(ask) = action { ask.ask.as_str() } else { "?" })
            .collect();
        assert_eq!(order, ["a", "b", "c", "d"], "what has one time stays in the order of the list");
    }

    #[test]
    fn an_unchanged_poll_does_nothing() {
        let known = [record("a", Life::Live { note: None }, 5)];
        assert_eq!(reconcile(&account(), &snapshot(vec![listed("a", "1")]), &known, Seq(9)), []);
    }

    #[test]
    fn only_a_fresh_and_complete_list_withdraws() {
        let known = [record("a", Life::Live { note: None }, 5)];
        let withdraw = Action::Withdraw { key: key("a"), expect: Seq(5) };
        assert_eq!(reconcile(&account(), &snapshot(vec![]), &known, Seq(5)), [withdraw]);
        assert_eq!(reconcile(&account(), &snapshot(vec![]), &known, Seq(4)), [], "it moved after the poll was begun");
        let partial = Snapshot { complete: false, ..snapshot(vec![]) };
        assert_eq!(reconcile(&account(), &partial, &known, Seq(9)), []);
        let unreadable = Snapshot { unreadable: vec![("h".into(), "a".into())], ..snapshot(vec![]) };
        assert_eq!(reconcile(&account(), &unreadable, &known, Seq(9)), [], "listed, though nobody can read it");
    }

    #[test]
    fn an_answer_on_its_way_is_never_judged() {
        for life in [Life::Claimed { claim: claim(), hold: None }, Life::Unclear { claim: claim(), since: 0, tries: 0 }]
        {
            let known = [record("a", life, 1)];
            assert_eq!(reconcile(&account(), &snapshot(vec![]), &known, Seq(9)), []);
            assert_eq!(reconcile(&account(), &snapshot(vec![listed("a", "1")]), &known, Seq(9)), []);
        }
    }

    #[test]
    fn an_ask_that_is_listed_again_comes_back_unless_it_never_may() {
        let table = [
            (
                Life::Settled { outcome: Outcome::Ours { claim: claim(), error: None } },
                Some(Note::NotConsumed { claim: claim() }),
            ),
            (
                Life::Settled { outcome: Outcome::Ours { claim: claim(), error: Some("boom".into()) } },
                Some(Note::Undone { label: "Yes".into(), error: "boom".into() }),
            ),
            (Life::Withdrawn { why: Why::Elsewhere { label: None } }, Some(Note::Reopened)),
            (Life::Withdrawn { why: Why::Forbidden }, None),
            (Life::Withdrawn { why: Why::Gone }, None),
        ];
        for (life, note) in table {
            let known = [record("a", life, 5)];
            let expected: Vec<Action> =
                note.into_iter().map(|note| Action::Reopen { key: key("a"), expect: Seq(5), note }).collect();
            assert_eq!(reconcile(&account(), &snapshot(vec![listed("a", "1")]), &known, Seq(5)), expected);
            assert_eq!(
                reconcile(&account(), &snapshot(vec![listed("a", "1")]), &known, Seq(4)),
                [],
                "a poll sent before the answer"
            );
        }
    }
}
