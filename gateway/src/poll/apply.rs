//! Carrying out what a poll means.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use adapters::source::{Listed, Snapshot};
use asks::ids::{AccountKey, AskKey};
use asks::life::{Note, Why};
use futures::StreamExt as _;
use futures::stream;
use store::ledger::LedgerError;
use store::record::{AskRecord, Seq};

use super::reconcile::{Action, reconcile};
use super::tempo::Activity;
use crate::announce;
use crate::answer::history;
use crate::hub::Hub;
use crate::moves::{self, Change};

/// How long a withdrawal waits to learn who answered and what.
const LABEL_DEADLINE: Duration = Duration::from_secs(4);
/// How many withdrawn asks are looked up side by side.
const LOOK_UPS: usize = 8;
/// How many asks one poll may withdraw, if they are most of what is known; more must be missing twice.
const BELIEVED_AT_ONCE: usize = 10;
/// How many answers to one ask may be accepted and not used before it is offered no more.
const MOST_UNUSED: u32 = 3;

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
            Action::Replace { key, expect, listed } => new.extend(replace(hub, &key, expect, listed).await?),
        }
    }
    if is_doubtful(hub, account, withdrawals.len(), known.len()) {
        withdrawals.clear();
        hub.calendar.hurry(account, hub.clock.instant());
    }
    let withdrawing =
        stream::iter(withdrawals).map(|(key, expect)| withdraw(hub, key, expect)).buffer_unordered(LOOK_UPS);
    // Neither waits for what the other reads.
    let (results, ()) =
        tokio::join!(withdrawing.collect::<Vec<Result<(), LedgerError>>>(), announce::announce_all(hub, account, new));
    results.into_iter().collect::<Result<(), LedgerError>>()?;
    Ok(activity)
}

/// Whether so much vanished at once that one poll is not believed: a source that was restored from a copy, or answers for
/// somebody else, would take every card away. The next poll, which follows at once, decides.
fn is_doubtful(hub: &Hub, account: &AccountKey, vanished: usize, known: usize) -> bool {
    let mut doubtful = hub.vanishing.lock().unwrap_or_else(PoisonError::into_inner);
    if vanished <= BELIEVED_AT_ONCE || vanished * 2 <= known {
        doubtful.remove(account);
        return false;
    }
    let is_first = doubtful.insert(account.clone());
    if is_first {
        tracing::warn!(%account, vanished, "{vanished} asks of {account} are suddenly not listed; looking again before they are withdrawn");
    } else {
        doubtful.remove(account);
    }
    is_first
}

/// Puts an ask aside whose id its source uses for something else now. Returns what is asked now, to be announced.
async fn replace(hub: &Arc<Hub>, key: &AskKey, expect: Seq, listed: Listed) -> Result<Option<Listed>, LedgerError> {
    let Some(record) = hub.ledger.ask(key).await?.filter(|record| record.seq == expect) else { return Ok(None) };
    let line = hub.line(&record, "replaced", "its source asks something else under the same id");
    let Some(aside) = hub.ledger.put_aside(key, expect, hub.now(), line).await? else { return Ok(None) };
    tracing::warn!(ask = %key, "the source asks something else under the id of {key}; the old card is ended and a new one shown");
    announce::touch(hub, &aside.key).await?;
    Ok(Some(listed))
}

async fn withdraw(hub: &Arc<Hub>, key: AskKey, expect: Seq) -> Result<(), LedgerError> {
    let Some(record) = hub.ledger.ask(&key).await?.filter(|record| record.seq == expect) else { return Ok(()) };
    let ended = tokio::select! {
        // What is not known yet is found out by the first poll after the start.
        () = hub.stop.soft.cancelled() => return Ok(()),
        ended = tokio::time::timeout(LABEL_DEADLINE, history::how_it_ended(hub, &record)) => ended,
    };
    let (life, event) = match ended {
        Ok(history::Ended::StillPending) => return Ok(()),
        Ok(history::Ended::Ours) => (record.life.clone().found_ours(), "settled"),
        Ok(history::Ended::As(why)) => (record.life.clone().withdrawn(why), "withdrawn"),
        Ok(history::Ended::Unknown) | Err(_) => {
            (record.life.clone().withdrawn(Why::Elsewhere { label: None }), "withdrawn")
        }
    };
    let Ok(life) = life else { return Ok(()) };
    advance(hub, &record, Change::to(life), event).await?;
    faults::point("poll.withdrawn");
    Ok(())
}

async fn reopen(hub: &Arc<Hub>, key: &AskKey, expect: Seq, note: Note) -> Result<(), LedgerError> {
    let Some(record) = hub.ledger.ask(key).await?.filter(|record| record.seq == expect) else { return Ok(()) };
    let unused = matches!(note, Note::NotConsumed { .. });
    let Ok(life) = record.life.clone().listed_again(note) else { return Ok(()) };
    let mut change = Change::to(life);
    if unused {
        hub.board.count("askgate_answers_not_consumed_total");
        tracing::error!(ask = %key, "the source accepted an answer to {key} and its agent did not use it; is a model configured there?");
        change = change.unused();
        // The same answer would go the same way for ever; from now on only the app can answer.
        if record.unused + 1 >= MOST_UNUSED {
            tracing::error!(ask = %key, "{MOST_UNUSED} answers to {key} were accepted and not used; it is not offered here again");
            change = change.killing(record.card.buttons.iter().map(|button| button.id.clone()));
        }
    }
    // A place that was not shown the ask before gets it now.
    for place in hub.links.places(&record.account) {
        hub.ledger.add_delivery(key, place).await?;
    }
    advance(hub, &record, change, "reopened").await?;
    faults::point("poll.reopened");
    Ok(())
}

async fn advance(hub: &Arc<Hub>, record: &AskRecord, change: Change, event: &str) -> Result<(), LedgerError> {
    if moves::make(hub, record, change.audited(event, "by its source")).await?.is_some() {
        tracing::info!(ask = %record.key, "ask {} {event} by its source", record.key);
    }
    Ok(())
}
