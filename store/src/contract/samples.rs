//! The asks, taps and places that the cases use.

use asks::card::{Button, Card, Kind, Style};
use asks::ids::{AccountKey, AskKey, ButtonId};
use asks::life::{Claim, Life, Outcome, UnixMillis};
use asks::place::{Actor, MessageRef, Place};

use super::Broken;
use crate::ledger::{Claimed, Ledger, Move, Moved, NewAsk, Recorded};
use crate::record::{AskRecord, AuditLine, Delivery, DeliveryState, Notice, Seq};

pub(super) const BUTTONS: [&str; 3] = ["approve", "deny", "later"];

pub(super) fn key(ask: &str) -> AskKey {
    AskKey { source: "app".into(), conversation: "talk".into(), ask: ask.into() }
}

pub(super) fn account(name: &str) -> AccountKey {
    AccountKey { source: "app".into(), name: name.into() }
}

pub(super) fn chat(id: i64) -> Place {
    Place::Telegram { chat: id, topic: None }
}

pub(super) fn message(id: &str) -> MessageRef {
    MessageRef { chat: "7".to_owned(), id: id.to_owned() }
}

pub(super) fn record(ask: &str, owner: &str, at: UnixMillis) -> AskRecord {
    let button = |id: &&str| Button {
        id: ButtonId::new(*id),
        label: format!("The {id} button"),
        style: Style::Default,
        response: serde_json::json!({ "choice": id }),
    };
    AskRecord {
        key: key(ask),
        account: account(owner),
        card: Card {
            tool_call_id: ask.into(),
            kind: Kind::Confirm,
            title: None,
            text: "Delete 14 todos?".to_owned(),
            buttons: BUTTONS.iter().map(button).collect(),
            handoff: false,
        },
        content: None,
        conversation_title: None,
        first_seen: at,
        created: String::new(),
        life: Life::Announcing,
        dead_buttons: Vec::new(),
        unused: 0,
        votes: Vec::new(),
        seq: Seq(0),
        moved_at: at,
        finished: false,
    }
}

pub(super) fn new_ask(ask: &str, places: &[Place]) -> NewAsk {
    NewAsk { record: record(ask, "me", 1_000), places: places.to_vec() }
}

pub(super) fn tap(button: &str, actor: i64, at: UnixMillis) -> Claim {
    Claim {
        button: ButtonId::new(button),
        label: format!("The {button} button"),
        actor: Actor::Telegram(actor),
        actor_name: None,
        place: chat(7),
        at,
        response: None,
    }
}

pub(super) fn line(ask: &AskKey, event: &str, at: UnixMillis) -> AuditLine {
    AuditLine {
        at,
        ask: ask.clone(),
        account: account("me"),
        actor: "telegram:7".to_owned(),
        place: "telegram:7".to_owned(),
        message: None,
        button: "approve".to_owned(),
        event: event.to_owned(),
        detail: String::new(),
    }
}

pub(super) fn step(record: &AskRecord, life: Life, at: UnixMillis) -> Move {
    Move {
        key: record.key.clone(),
        expect: record.seq,
        life,
        kill_buttons: Vec::new(),
        unused: false,
        notices: Vec::new(),
        at,
        audit: None,
    }
}

/// Records an ask that the ledger does not know.
pub(super) async fn recorded(
    ledger: &dyn Ledger,
    ask: &str,
    places: &[Place],
) -> Result<(AskRecord, Vec<Delivery>), Broken> {
    match ledger.record(new_ask(ask, places)).await? {
        Recorded::New(record, deliveries) => Ok((record, deliveries)),
        Recorded::Known(_) => Err(Broken(format!("a new ask ({ask}) is said to be known"))),
    }
}

/// Claims an ask that can be claimed.
pub(super) async fn claimed(ledger: &dyn Ledger, key: &AskKey, at: UnixMillis) -> Result<AskRecord, Broken> {
    match ledger.claim(key, tap("approve", 7, at), line(key, "claimed", at)).await? {
        Claimed::Won(record) => Ok(*record),
        other => Err(Broken(format!("a first tap did not win: {other:?}"))),
    }
}

/// Makes a move that nothing stands against.
pub(super) async fn moved(ledger: &dyn Ledger, step: Move) -> Result<(AskRecord, Vec<Notice>), Broken> {
    match ledger.advance(step).await? {
        Moved::Done(record, notices) => Ok((*record, notices)),
        other => Err(Broken(format!("a move on the newest position was not made: {other:?}"))),
    }
}

/// Claims and settles an ask.
pub(super) async fn settled(ledger: &dyn Ledger, key: &AskKey, at: UnixMillis) -> Result<AskRecord, Broken> {
    let record = claimed(ledger, key, at).await?;
    let outcome = Outcome::Ours { claim: tap("approve", 7, at), error: None };
    Ok(moved(ledger, step(&record, Life::Settled { outcome }, at)).await?.0)
}

/// The delivery as shown by a message.
pub(super) fn shown(delivery: &Delivery, id: &str) -> Delivery {
    Delivery { state: DeliveryState::Shown { message: message(id), rendered: 1 }, ..delivery.clone() }
}
