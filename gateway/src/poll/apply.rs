//! Carrying out what a poll means.

use std::sync::Arc;
use std::time::Duration;

use adapters::source::Snapshot;
use asks::ids::{AccountKey, AskKey};
use asks::life::{Note, Why};
use futures::StreamExt as _;
use futures::stream;
use store::ledger::{LedgerError, Move, Moved};
use store::record::{AskRecord, Seq};

use super::reconcile::{Action, reconcile};
use super::tempo::Activity;
use crate::announce;
use crate::answer::history;
use crate::hub::Hub;

/// How long a withdrawal waits to learn who answered and what.
const LABEL_DEADLINE: Duration = Duration::from_secs(4);
/// How many withdrawn asks are looked up side by side.
const LOOK_UPS: usize = 8;

/// Does what the poll makes necessary. Returns what is going on for the account.
///
/// # Errors
/// If something could not be read or saved; the next poll finds it again.
pub(super) async fn apply(
    hub: &Arc<Hub>,
    account: &AccountKey,
    snapshot: Snapshot,
    as_of: Seq,
) -> Result<Activity, LedgerError> {
    let known = hub.ledger.open_asks(Some(account)).await?;
    if known.is_empty() && snapshot.asks.is_empty() && snapshot.complete && snapshot.unreadable.is_empty() {
        return Ok(Activity::Idle);
    }
    // Boxed, because most polls find nothing, and each would carry the room for all of this.
    Box::pin(work_through(hub, account, snapshot, known, as_of)).await
}

async fn work_through(
    hub: &Arc<Hub>,
    account: &AccountKey,
    snapshot: Snapshot,
    mut known: Vec<AskRecord>,
    as_of: Seq,
) -> Result<Activity, LedgerError> {
    for ask in &snapshot.asks {
        let key =
            AskKey { source: account.source.clone(), conversation: ask.conversation.clone(), ask: ask.ask.clone() };
        if !known.iter().any(|record| record.key == key) {
            known.extend(hub.ledger.ask(&key).await?);
        }
    }
    if !snapshot.complete || !snapshot.unreadable.is_empty() {
        tracing::warn!(%account, unreadable = snapshot.unreadable.len(), "some of what waits for {account} cannot be read; nothing is withdrawn for it");
    }
    let actions = reconcile(account, &snapshot, &known, as_of);
    let waiting = known.iter().any(|record| !record.life.is_over());
    let activity = match (actions.is_empty(), waiting) {
        (false, _) => Activity::Busy,
        (true, true) => Activity::Waiting,
        (true, false) => Activity::Idle,
    };
    let (mut new, mut withdrawals) = (Vec::new(), Vec::new());
    for action in actions {
        match action {
            Action::Announce(listed) => new.push(listed),
            Action::Withdraw { key, expect } => withdrawals.push((key, expect)),
            Action::Reopen { key, expect, note } => reopen(hub, &key, expect, note).await?,
        }
    }
    let withdrawing =
        stream::iter(withdrawals).map(|(key, expect)| withdraw(hub, key, expect)).buffer_unordered(LOOK_UPS);
    // Neither waits for what the other reads.
    let (results, ()) =
        tokio::join!(withdrawing.collect::<Vec<Result<(), LedgerError>>>(), announce::announce_all(hub, account, new));
    results.into_iter().collect::<Result<(), LedgerError>>()?;
    Ok(activity)
}

async fn withdraw(hub: &Arc<Hub>, key: AskKey, expect: Seq) -> Result<(), LedgerError> {
    let Some(record) = hub.ledger.ask(&key).await?.filter(|record| record.seq == expect) else { return Ok(()) };
    let ended = match tokio::time::timeout(LABEL_DEADLINE, history::how_it_ended(hub, &record)).await {
        Ok(history::Ended::StillPending) => return Ok(()),
        Ok(history::Ended::Ours) => record.life.clone().found_ours().map(|life| (life, "settled")),
        Ok(history::Ended::As(why)) => record.life.clone().withdrawn(why).map(|life| (life, "withdrawn")),
        Ok(history::Ended::Unknown) | Err(_) => {
            record.life.clone().withdrawn(Why::Elsewhere { label: None }).map(|life| (life, "withdrawn"))
        }
    };
    let Ok((life, event)) = ended else { return Ok(()) };
    advance(hub, &record, life, event).await
}

async fn reopen(hub: &Arc<Hub>, key: &AskKey, expect: Seq, note: Note) -> Result<(), LedgerError> {
    let Some(record) = hub.ledger.ask(key).await?.filter(|record| record.seq == expect) else { return Ok(()) };
    if matches!(note, Note::NotConsumed { .. }) {
        tracing::error!(ask = %key, "the source accepted an answer to {key} and its agent did not use it; is a model configured there?");
        hub.board.count("askgate_answers_not_consumed_total");
    }
    let Ok(life) = record.life.clone().listed_again(note) else { return Ok(()) };
    // A place that was not shown the ask before gets it now.
    for place in hub.links.places(&record.account) {
        hub.ledger.add_delivery(key, place).await?;
    }
    advance(hub, &record, life, "reopened").await
}

async fn advance(hub: &Arc<Hub>, record: &AskRecord, life: asks::life::Life, event: &str) -> Result<(), LedgerError> {
    let step = Move {
        key: record.key.clone(),
        expect: record.seq,
        audit: Some(hub.line(record, event, life.name())),
        life,
        kill_button: None,
        notices: Vec::new(),
        at: hub.now(),
    };
    if let Moved::Done(record, _) = hub.ledger.advance(step).await? {
        tracing::info!(ask = %record.key, "ask {} {event} by its source", record.key);
        announce::touch(hub, &record.key).await?;
    }
    Ok(())
}
