//! The writes that go over many records: retention, and a chat that got another id.

use asks::life::UnixMillis;
use asks::place::Place;

use super::key::{self, AskId};
use super::ops::{forget_message, index_place, shown_as, shown_message, unindex_ask};
use super::txn::Txn;
use super::view::{Named, Order, View};
use crate::ledger::LedgerError;
use crate::record::{AuditLine, Delivery, Notice};

/// Asks that one call of prune deletes at most; so no tap waits long behind it.
pub(super) const PRUNE_ASKS: usize = 200;
/// Audit lines that one call of prune looks at.
pub(super) const PRUNE_LINES: usize = 2_000;

pub(super) fn prune(txn: &mut Txn<'_>, before: UnixMillis) -> Result<usize, LedgerError> {
    let mut gone = 0;
    for entry in txn.keys(&[key::FINISHED], Order::Up, PRUNE_ASKS)? {
        if key::finished_at(&entry).is_none_or(|at| at >= before) {
            break;
        }
        let Some(id) = key::last_ask(&entry) else { continue };
        delete_ask(txn, id)?;
        txn.unindex(entry);
        gone += 1;
    }
    for line in txn.keys(&[key::AUDIT], Order::Up, PRUNE_LINES)?.iter().filter(|key| key::is_whole(key)) {
        // A damaged line goes as well: nothing is left in it.
        if txn.load_or_skip::<AuditLine>(line)?.is_none_or(|line| line.at < before) {
            txn.delete(line)?;
        }
    }
    Ok(gone)
}

fn delete_ask(txn: &mut Txn<'_>, id: AskId) -> Result<(), LedgerError> {
    let record = txn.load_or_skip::<crate::record::AskRecord>(&key::ask(id))?;
    for delivery in txn.deliveries(id)? {
        if let Some(message) = shown_message(&delivery) {
            forget_message(txn, message, delivery.id)?;
        }
        index_place(txn, &delivery, true);
        for (purpose, button) in record.iter().flat_map(|record| crate::record::tokens_of(&record.card)) {
            for ask in shown_as(&delivery.ask) {
                let hash = txn.secret().token_for(purpose, &ask, delivery.id, &button).hash();
                txn.delete(&key::token(&hash))?;
            }
        }
    }
    for entry in txn.keys(&key::deliveries_of_ask(id), Order::Up, usize::MAX)? {
        if let Some(number) = key::last_number(&entry) {
            txn.delete(&key::delivery(crate::record::DeliveryId(number)))?;
        }
        txn.unindex(entry);
    }
    for entry in txn.keys(&key::notices_of_ask(id), Order::Up, usize::MAX)? {
        if let Some(number) = key::last_number(&entry) {
            let notice = crate::record::NoticeId(number);
            txn.delete(&key::notice(notice))?;
            txn.unindex(key::notice_open(notice));
        }
        txn.unindex(entry);
    }
    if let Some(record) = &record {
        unindex_ask(txn, record);
    }
    Ok(txn.delete(&key::ask(id))?)
}

pub(super) fn rename_place(txn: &mut Txn<'_>, from: &Place, to: &Place) -> Result<(), LedgerError> {
    // Rare, so it reads everything instead of keeping an index of finished deliveries by place.
    for entry in txn.keys(&[key::DELIVERY], Order::Up, usize::MAX)? {
        let Some(old) = whole::<Delivery>(txn, &entry)? else { continue };
        let Some(place) = renamed(&old.place, from, to) else { continue };
        let finished = txn.ask(AskId::of(&old.ask))?.is_none_or(|ask| ask.finished);
        index_place(txn, &old, true);
        let new = Delivery { place, ..old };
        index_place(txn, &new, finished);
        txn.save(&entry, &new)?;
    }
    for entry in txn.keys(&[key::NOTICE], Order::Up, usize::MAX)? {
        let Some(old) = whole::<Notice>(txn, &entry)? else { continue };
        if let Some(place) = renamed(&old.place, from, to) {
            txn.save(&entry, &Notice { place, ..old })?;
        }
    }
    for entry in txn.keys(&[key::VALUE], Order::Up, usize::MAX)? {
        let Some(old) = whole::<Named>(txn, &entry)? else { continue };
        let new = Named {
            name: readdressed(&old.name, &from.address(), &to.address()),
            value: readdressed(&old.value, &from.address(), &to.address()),
        };
        if new != old {
            txn.delete(&entry)?;
            txn.save(&key::value(&new.name), &new)?;
        }
    }
    Ok(())
}

fn whole<T: serde::de::DeserializeOwned>(txn: &Txn<'_>, entry: &[u8]) -> Result<Option<T>, LedgerError> {
    if key::is_whole(entry) { Ok(txn.load_or_skip(entry)?) } else { Ok(None) }
}

/// Where a place is after the move, if it is concerned. A whole chat that moves takes its topics along.
fn renamed(place: &Place, from: &Place, to: &Place) -> Option<Place> {
    if place == from {
        return Some(to.clone());
    }
    match (place, from, to) {
        (
            Place::Telegram { chat, topic },
            Place::Telegram { chat: old, topic: None },
            Place::Telegram { chat: new, topic: None },
        ) if chat == old => Some(Place::Telegram { chat: *new, topic: *topic }),
        _ => None,
    }
}

/// A text in which an address is replaced wherever it stands whole: `telegram:-5` is no part of `telegram:-55`.
fn readdressed(text: &str, from: &str, to: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(from) {
        let left = before.chars().next_back().or_else(|| out.chars().next_back());
        let right = after.chars().next();
        let stands_whole = |side: Option<char>| side.is_none_or(|c| !c.is_alphanumeric() && c != '-' && c != '_');
        out.push_str(before);
        out.push_str(if stands_whole(left) && stands_whole(right) { to } else { from });
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_addresses_are_replaced() {
        for (text, expected) in [
            ("parked:telegram:-5", "parked:telegram:-1009"),
            ("telegram:-5", "telegram:-1009"),
            ("parked:telegram:-55", "parked:telegram:-55"),
            ("xtelegram:-5", "xtelegram:-5"),
            ("telegram:-5/7 telegram:-5", "telegram:-1009/7 telegram:-1009"),
            ("", ""),
        ] {
            assert_eq!(readdressed(text, "telegram:-5", "telegram:-1009"), expected, "{text}");
        }
    }

    #[test]
    fn a_chat_takes_its_topics_along() {
        let chat = |chat, topic| Place::Telegram { chat, topic };
        assert_eq!(renamed(&chat(-5, Some(7)), &chat(-5, None), &chat(-9, None)), Some(chat(-9, Some(7))));
        assert_eq!(renamed(&chat(-5, None), &chat(-5, None), &chat(-9, None)), Some(chat(-9, None)));
        assert_eq!(renamed(&chat(-6, None), &chat(-5, None), &chat(-9, None)), None);
        assert_eq!(renamed(&Place::DiscordUser(5), &chat(-5, None), &chat(-9, None)), None);
    }
}
