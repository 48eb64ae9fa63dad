//! The ledger's writes, each a function of one transaction.
//!
//! They decide on what the transaction sees and say what to write; nothing here touches the disk. An error drops the whole
//! operation.

use std::collections::BTreeSet;

use asks::ids::{AskKey, ButtonId, ToolCallId};
use asks::life::{Claim, UnixMillis, Why};
use asks::place::{MessageRef, Place};

use super::key::{self, AskId};
use super::txn::Txn;
use super::view::{Named, View};
use crate::ledger::{Claimed, LedgerError, Move, Moved, NewAsk, Recorded, Voted};
use crate::record::{
    AskRecord, AuditLine, Delivery, DeliveryId, DeliveryState, Notice, NoticeState, Seq, TokenRecord, Vote, tokens_of,
};

type Saved<T> = Result<T, LedgerError>;

pub(super) fn record(txn: &mut Txn<'_>, ask: NewAsk) -> Saved<Recorded> {
    let id = AskId::of(&ask.record.key);
    if let Some(known) = txn.ask(id)? {
        return Ok(Recorded::Known(known));
    }
    let mut record = ask.record;
    record.seq = txn.next_seq();
    record.finished = false;
    put_ask(txn, None, &record)?;
    let mut seen = BTreeSet::new();
    let mut deliveries = Vec::new();
    for place in ask.places {
        if seen.insert(place.clone()) {
            deliveries.push(plan_delivery(txn, &record, place)?);
        }
    }
    Ok(Recorded::New(record, deliveries))
}

pub(super) fn claim(txn: &mut Txn<'_>, key: &AskKey, claim: Claim, audit: &AuditLine) -> Saved<Claimed> {
    let Some(old) = txn.ask(AskId::of(key))? else { return Ok(Claimed::Unknown) };
    // A whole answer, from the answer page, is no button's; whether it is a valid one was checked against the ask's input.
    if claim.response.is_none() && !is_offered(&old, &claim.button) {
        return Ok(Claimed::Lost(Box::new(old)));
    }
    let at = claim.at;
    let Ok(life) = old.life.clone().claimed(claim) else { return Ok(Claimed::Lost(Box::new(old))) };
    let mut new = AskRecord { life, moved_at: at, finished: false, ..old.clone() };
    new.seq = txn.next_seq();
    put_ask(txn, Some(&old), &new)?;
    self::audit(txn, audit)?;
    Ok(Claimed::Won(Box::new(new)))
}

pub(super) fn vote(txn: &mut Txn<'_>, key: &AskKey, claim: Claim, needed: usize, entry: &AuditLine) -> Saved<Voted> {
    let Some(old) = txn.ask(AskId::of(key))? else { return Ok(Voted::Unknown) };
    if !old.life.is_open() || !is_offered(&old, &claim.button) {
        return Ok(Voted::Lost(Box::new(old)));
    }
    let mut votes = old.votes.clone();
    votes.retain(|vote| vote.actor != claim.actor);
    votes.push(Vote {
        actor: claim.actor,
        actor_name: claim.actor_name.clone(),
        button: claim.button.clone(),
        place: claim.place.clone(),
        at: claim.at,
    });
    let agreed = votes.iter().filter(|vote| vote.button == claim.button).count() >= needed;
    let at = claim.at;
    let life = if agreed { old.life.clone().claimed(claim) } else { Ok(old.life.clone()) };
    let Ok(life) = life else { return Ok(Voted::Lost(Box::new(old))) };
    let mut new = AskRecord { life, votes, moved_at: at, finished: false, ..old.clone() };
    new.seq = txn.next_seq();
    put_ask(txn, Some(&old), &new)?;
    audit(txn, entry)?;
    Ok(if agreed { Voted::Claimed(Box::new(new)) } else { Voted::Counted(Box::new(new)) })
}

/// Whether a tap on the button could count: it is on the card and the source has not refused it.
fn is_offered(record: &AskRecord, button: &ButtonId) -> bool {
    record.card.button(button).is_some() && !record.dead_buttons.contains(button)
}

pub(super) fn advance(txn: &mut Txn<'_>, step: Move) -> Saved<Moved> {
    let Some(old) = txn.ask(AskId::of(&step.key))? else { return Ok(Moved::Unknown) };
    if old.seq != step.expect {
        return Ok(Moved::Stale(Box::new(old)));
    }
    let mut new = AskRecord { life: step.life, moved_at: step.at, finished: false, ..old.clone() };
    for button in step.kill_buttons {
        if !new.dead_buttons.contains(&button) {
            new.dead_buttons.push(button);
        }
    }
    new.unused += u32::from(step.unused);
    // An ask that waits anew is voted on anew.
    if new.life.is_open() && !old.life.is_open() {
        new.votes.clear();
    }
    new.seq = txn.next_seq();
    put_ask(txn, Some(&old), &new)?;
    let mut notices = Vec::new();
    for (place, text) in step.notices {
        let notice = Notice { id: txn.next_notice(), ask: new.key.clone(), place, text, state: NoticeState::Planned };
        put_notice(txn, &notice)?;
        notices.push(notice);
    }
    if let Some(line) = &step.audit {
        audit(txn, line)?;
    }
    Ok(Moved::Done(Box::new(new), notices))
}

pub(super) fn audit(txn: &mut Txn<'_>, line: &AuditLine) -> Saved<()> {
    let number = txn.next_audit();
    txn.save(&key::audit(number), line)
}

pub(super) fn set_content(txn: &mut Txn<'_>, key: &AskKey, content: String) -> Saved<()> {
    let Some(old) = txn.ask(AskId::of(key))? else { return Ok(()) };
    if old.content.as_ref() == Some(&content) {
        return Ok(());
    }
    let new = AskRecord { content: Some(content), ..old.clone() };
    put_ask(txn, Some(&old), &new)
}

pub(super) fn add_delivery(txn: &mut Txn<'_>, key: &AskKey, place: Place) -> Saved<Option<Delivery>> {
    let id = AskId::of(key);
    let Some(record) = txn.ask(id)? else { return Ok(None) };
    if let Some(there) = txn.deliveries(id)?.into_iter().find(|delivery| delivery.place == place) {
        return Ok(Some(there));
    }
    // A card that is still to be sent means that the ask is not finished.
    let open = AskRecord { finished: false, ..record.clone() };
    put_ask(txn, Some(&record), &open)?;
    plan_delivery(txn, &open, place).map(Some)
}

pub(super) fn put_aside(
    txn: &mut Txn<'_>,
    key: &AskKey,
    expect: Seq,
    at: UnixMillis,
    entry: &AuditLine,
) -> Saved<Option<AskRecord>> {
    let old_id = AskId::of(key);
    let Some(old) = txn.ask(old_id)?.filter(|old| old.seq == expect) else { return Ok(None) };
    let aside = AskKey { ask: ToolCallId::new(format!("{}~{}", old.key.ask, old.seq.0)), ..old.key.clone() };
    let id = AskId::of(&aside);
    let life = if old.life.is_open() {
        let Ok(life) = old.life.clone().withdrawn(Why::Replaced) else { return Ok(None) };
        life
    } else {
        old.life.clone()
    };
    let mut new = AskRecord { key: aside.clone(), life, moved_at: at, finished: false, ..old.clone() };
    new.seq = txn.next_seq();
    for delivery in txn.deliveries(old_id)? {
        for (purpose, button) in tokens_of(&old.card) {
            let hash = txn.secret().token_for(purpose, &old.key, delivery.id, &button).hash();
            txn.save(&key::token(&hash), &TokenRecord { ask: aside.clone(), delivery: delivery.id, button, purpose })?;
        }
        txn.unindex(key::delivery_of_ask(old_id, delivery.id));
        txn.index(key::delivery_of_ask(id, delivery.id));
        index_place(txn, &delivery, false);
        txn.save(&key::delivery(delivery.id), &Delivery { ask: aside.clone(), ..delivery })?;
    }
    for notice in txn.notices(old_id)? {
        txn.unindex(key::notice_of_ask(old_id, notice.id));
        put_notice(txn, &Notice { ask: aside.clone(), ..notice })?;
    }
    unindex_ask(txn, &old);
    txn.delete(&key::ask(old_id))?;
    put_ask(txn, None, &new)?;
    audit(txn, entry)?;
    Ok(Some(new))
}

/// The keys that an ask's tap tokens may have been made under: its own, and the one it had before it was put aside.
pub(super) fn shown_as(key: &AskKey) -> Vec<AskKey> {
    let before = key.ask.as_str().rsplit_once('~').map(|(ask, _)| AskKey { ask: ToolCallId::new(ask), ..key.clone() });
    std::iter::once(key.clone()).chain(before).collect()
}

/// The ask and the place stay as the ledger has them: the caller may have read them before the chat moved.
pub(super) fn save_delivery(txn: &mut Txn<'_>, new: Delivery) -> Saved<()> {
    let Some(old) = txn.delivery(new.id)? else { return Ok(()) };
    let new = Delivery { ask: old.ask.clone(), place: old.place.clone(), ..new };
    if new == old {
        return Ok(());
    }
    if shown_message(&old) != shown_message(&new) {
        if let Some(message) = shown_message(&old) {
            forget_message(txn, message, old.id)?;
        }
        if let Some(message) = shown_message(&new) {
            txn.save(&key::message(message), &new.id)?;
        }
    }
    txn.save(&key::delivery(new.id), &new)?;
    if matches!(new.state, DeliveryState::Shown { .. })
        && let Some(ask) = txn.ask(AskId::of(&new.ask))?
        && let Ok(life) = ask.life.clone().announced()
    {
        let mut live = AskRecord { life, ..ask.clone() };
        live.seq = txn.next_seq();
        put_ask(txn, Some(&ask), &live)?;
    }
    Ok(())
}

/// The ask and the place stay as the ledger has them, as with deliveries.
pub(super) fn save_notice(txn: &mut Txn<'_>, new: Notice) -> Saved<()> {
    let Some(old) = txn.notice(new.id)? else { return Ok(()) };
    let new = Notice { ask: old.ask.clone(), place: old.place.clone(), ..new };
    if new == old { Ok(()) } else { put_notice(txn, &new) }
}

pub(super) fn finish(txn: &mut Txn<'_>, key: &AskKey) -> Saved<bool> {
    let id = AskId::of(key);
    let Some(old) = txn.ask(id)? else { return Ok(false) };
    if old.finished {
        return Ok(true);
    }
    let ended = old.life.is_over()
        && txn.deliveries(id)?.iter().all(has_ended)
        && txn.notices(id)?.iter().all(|notice| !is_open(notice));
    if ended {
        let new = AskRecord { finished: true, ..old.clone() };
        put_ask(txn, Some(&old), &new)?;
    }
    Ok(ended)
}

const fn has_ended(delivery: &Delivery) -> bool {
    !matches!(delivery.state, DeliveryState::Planned | DeliveryState::Sending { .. })
}

const fn is_open(notice: &Notice) -> bool {
    matches!(notice.state, NoticeState::Planned | NoticeState::Sending { .. })
}

pub(super) fn remember(txn: &mut Txn<'_>, name: &str, value: Option<String>) -> Saved<()> {
    if txn.recall(name).ok().flatten() == value && value.is_some() {
        return Ok(());
    }
    match value {
        Some(value) => txn.save(&key::value(name), &Named { name: name.to_owned(), value }),
        None if txn.get(&key::value(name))?.is_some() => Ok(txn.delete(&key::value(name))?),
        None => Ok(()),
    }
}

/// Writes an ask and the indexes that name it.
pub(super) fn put_ask(txn: &mut Txn<'_>, old: Option<&AskRecord>, new: &AskRecord) -> Saved<()> {
    let id = AskId::of(&new.key);
    if let Some(old) = old {
        unindex_ask(txn, old);
    }
    txn.index(key::moved(new.seq, id));
    txn.index(standing(new));
    if old.is_some_and(|old| old.finished != new.finished) {
        for delivery in txn.deliveries(id)? {
            index_place(txn, &delivery, new.finished);
        }
    }
    txn.save(&key::ask(id), new)
}

/// The index that lists the ask while it is unfinished, or the one that prune reads.
fn standing(record: &AskRecord) -> key::Key {
    let id = AskId::of(&record.key);
    if record.finished { key::finished(record.moved_at, id) } else { key::open(&record.account, id) }
}

pub(super) fn unindex_ask(txn: &mut Txn<'_>, record: &AskRecord) {
    txn.unindex(key::moved(record.seq, AskId::of(&record.key)));
    txn.unindex(standing(record));
}

pub(super) fn index_place(txn: &mut Txn<'_>, delivery: &Delivery, finished: bool) {
    let entry = key::delivery_at(&delivery.place, delivery.id);
    if finished {
        txn.unindex(entry);
    } else {
        txn.index(entry);
    }
}

fn plan_delivery(txn: &mut Txn<'_>, ask: &AskRecord, place: Place) -> Saved<Delivery> {
    let delivery = Delivery {
        id: txn.next_delivery(),
        ask: ask.key.clone(),
        place,
        state: DeliveryState::Planned,
        replaced_at: None,
        copies: Vec::new(),
        refused: None,
    };
    put_delivery(txn, &delivery, ask.finished)?;
    for (purpose, button) in tokens_of(&ask.card) {
        let hash = txn.secret().token_for(purpose, &ask.key, delivery.id, &button).hash();
        let token = TokenRecord { ask: ask.key.clone(), delivery: delivery.id, button, purpose };
        txn.save(&key::token(&hash), &token)?;
    }
    Ok(delivery)
}

/// Writes a delivery that the ledger does not have yet, and the indexes that name it.
pub(super) fn put_delivery(txn: &mut Txn<'_>, delivery: &Delivery, finished: bool) -> Saved<()> {
    txn.index(key::delivery_of_ask(AskId::of(&delivery.ask), delivery.id));
    index_place(txn, delivery, finished);
    if let Some(message) = shown_message(delivery) {
        txn.save(&key::message(message), &delivery.id)?;
    }
    txn.save(&key::delivery(delivery.id), delivery)
}

/// Writes a notice and the indexes that name it.
pub(super) fn put_notice(txn: &mut Txn<'_>, notice: &Notice) -> Saved<()> {
    txn.index(key::notice_of_ask(AskId::of(&notice.ask), notice.id));
    if is_open(notice) {
        txn.index(key::notice_open(notice.id));
    } else {
        txn.unindex(key::notice_open(notice.id));
    }
    txn.save(&key::notice(notice.id), notice)
}

pub(super) const fn shown_message(delivery: &Delivery) -> Option<&MessageRef> {
    match &delivery.state {
        DeliveryState::Shown { message, .. } => Some(message),
        _ => None,
    }
}

/// Takes a message away from a delivery, unless another delivery has it by now.
pub(super) fn forget_message(txn: &mut Txn<'_>, message: &MessageRef, owner: DeliveryId) -> Saved<()> {
    let entry = key::message(message);
    if txn.load_or_skip::<DeliveryId>(&entry)?.is_none_or(|id| id == owner) {
        txn.delete(&entry)?;
    }
    Ok(())
}
