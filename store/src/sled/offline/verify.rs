//! Whether every record is what was written, and every index names what is there.

use std::fmt;
use std::path::Path;

use serde::Serialize;
use serde::de::IgnoredAny;

use super::{open_existing, whole_keys};
use crate::ledger::LedgerError;
use crate::record::{AskRecord, Delivery, DeliveryId, Notice, NoticeId, TokenRecord};
use crate::sled::codec;
use crate::sled::key::{self, AskId, Key};
use crate::sled::ops::{shown_as, shown_message};
use crate::sled::view::{Named, Order, Unread, View};
use crate::token::TokenKey;

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Report {
    /// Asks that are kept.
    pub asks: usize,
    /// Asks among them that are unfinished.
    pub unfinished: usize,
    /// Deliveries.
    pub deliveries: usize,
    /// Notices.
    pub notices: usize,
    /// Token hashes.
    pub tokens: usize,
    /// Named values.
    pub values: usize,
    /// Audit lines.
    pub audit: usize,
    /// Everything that is wrong, one short line each, without content.
    pub problems: Vec<String>,
}

impl Report {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.problems.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} asks ({} unfinished), {} deliveries, {} notices, {} tokens, {} named values, {} audit lines: ",
            self.asks, self.unfinished, self.deliveries, self.notices, self.tokens, self.values, self.audit
        )?;
        if self.is_whole() {
            return f.write_str("all whole");
        }
        write!(f, "{} problems", self.problems.len())?;
        self.problems.iter().try_for_each(|problem| write!(f, "\n- {problem}"))
    }
}

/// Reads the whole store and reports what is there and what is wrong. Changes nothing.
///
/// # Errors
/// If the store is in use, missing, or too damaged to be opened.
pub fn verify(path: &Path) -> Result<Report, LedgerError> {
    let (_home, disk, found) = open_existing(path)?;
    let report = match &found {
        Some((_, secret)) => check(disk.db(), secret).map_err(LedgerError::from),
        None => Ok(Report::default()),
    };
    disk.discard();
    report
}

fn check(view: &impl View, secret: &TokenKey) -> Result<Report, Unread> {
    let mut report = Report::default();
    check_asks(view, &mut report)?;
    check_deliveries(view, secret, &mut report)?;
    check_notices(view, &mut report)?;
    report.tokens = read_all::<TokenRecord>(view, key::TOKEN, &mut report, |_, _, _| Ok(()))?;
    report.values = read_all::<Named>(view, key::VALUE, &mut report, |named, entry, report| {
        if key::value(&named.name) != entry {
            report.problems.push(format!("{} has another name than its key", key::shown(entry)));
        }
        Ok(())
    })?;
    report.audit = read_all::<IgnoredAny>(view, key::AUDIT, &mut report, |_, _, _| Ok(()))?;
    check_indexes(view, &mut report)?;
    check_parts(view, &mut report)?;
    Ok(report)
}

fn check_asks(view: &impl View, report: &mut Report) -> Result<(), Unread> {
    report.asks = read_all::<AskRecord>(view, key::ASK, report, |ask, entry, report| {
        let id = AskId::of(&ask.key);
        let standing = if ask.finished { key::finished(ask.moved_at, id) } else { key::open(&ask.account, id) };
        report.unfinished += usize::from(!ask.finished);
        expect(view, report, entry, &[standing, key::moved(ask.seq, id), key::ask(id)])
    })?;
    Ok(())
}

fn check_deliveries(view: &impl View, secret: &TokenKey, report: &mut Report) -> Result<(), Unread> {
    report.deliveries = read_all::<Delivery>(view, key::DELIVERY, report, |delivery, entry, report| {
        let id = AskId::of(&delivery.ask);
        let mut wanted = vec![key::delivery_of_ask(id, delivery.id), key::ask(id)];
        wanted.extend(shown_message(&delivery).map(key::message));
        if let Some(ask) = view.load_or_skip::<AskRecord>(&key::ask(id))? {
            if !ask.finished {
                wanted.push(key::delivery_at(&delivery.place, delivery.id));
            }
            for button in &ask.card.buttons {
                let tokens = shown_as(&ask.key);
                let tokens = tokens.iter().map(|key| key::token(&secret.token(key, delivery.id, &button.id).hash()));
                let found = tokens
                    .clone()
                    .try_fold(None, |found: Option<Key>, token| Ok(found.or(view.get(&token)?.map(|_| token))))?;
                wanted.extend(found.or_else(|| tokens.clone().next()));
            }
        }
        expect(view, report, entry, &wanted)
    })?;
    Ok(())
}

fn check_notices(view: &impl View, report: &mut Report) -> Result<(), Unread> {
    report.notices = read_all::<Notice>(view, key::NOTICE, report, |notice, entry, report| {
        expect(view, report, entry, &[key::notice_of_ask(AskId::of(&notice.ask), notice.id)])
    })?;
    Ok(())
}

/// Every index entry names a record that is there.
fn check_indexes(view: &impl View, report: &mut Report) -> Result<(), Unread> {
    type Target = fn(&[u8]) -> Option<Key>;
    let ask: Target = |entry| key::last_ask(entry).map(key::ask);
    let delivery: Target = |entry| key::last_number(entry).map(|number| key::delivery(DeliveryId(number)));
    let notice: Target = |entry| key::last_number(entry).map(|number| key::notice(NoticeId(number)));
    let kinds = [
        (key::OPEN, ask),
        (key::FINISHED, ask),
        (key::MOVED, ask),
        (key::DELIVERY_OF_ASK, delivery),
        (key::DELIVERY_AT, delivery),
        (key::NOTICE_OF_ASK, notice),
        (key::NOTICE_OPEN, notice),
    ];
    for (kind, target) in kinds {
        for entry in whole_keys(view, kind)? {
            if target(&entry).is_none_or(|record| view.get(&record).is_ok_and(|found| found.is_none())) {
                report.problems.push(format!("the index entry {} names nothing", key::shown(&entry)));
            }
        }
    }
    for entry in whole_keys(view, key::MESSAGE)? {
        let id = view.load_or_skip::<DeliveryId>(&entry)?;
        if id.is_none_or(|id| view.get(&key::delivery(id)).is_ok_and(|found| found.is_none())) {
            report.problems.push(format!("the index entry {} names nothing", key::shown(&entry)));
        }
    }
    Ok(())
}

/// Every further part belongs to a record.
fn check_parts(view: &impl View, report: &mut Report) -> Result<(), Unread> {
    for entry in view.keys(&[], Order::Up, usize::MAX)?.iter().filter(|entry| !key::is_whole(entry)) {
        let split = entry.split_last_chunk::<2>().filter(|(base, _)| key::is_whole(base));
        let owned = match split {
            Some((base, number)) => view
                .get(base)?
                .and_then(|head| codec::further_parts(&head).ok())
                .is_some_and(|parts| u16::from_be_bytes(*number) <= parts),
            None => false,
        };
        if !owned {
            report.problems.push(format!("{} belongs to nothing", key::shown(entry)));
        }
    }
    Ok(())
}

/// Reads every record of a kind and returns how many there are; damaged ones become problems.
fn read_all<T: serde::de::DeserializeOwned>(
    view: &impl View,
    kind: u8,
    report: &mut Report,
    mut each: impl FnMut(T, &[u8], &mut Report) -> Result<(), Unread>,
) -> Result<usize, Unread> {
    let keys = whole_keys(view, kind)?;
    for entry in &keys {
        match view.load::<T>(entry) {
            Ok(Some(record)) => each(record, entry, report)?,
            Ok(None) => {}
            Err(Unread::Damaged(key)) => report.problems.push(format!("the record {} is damaged", key::shown(&key))),
            Err(other) => return Err(other),
        }
    }
    Ok(keys.len())
}

fn expect(view: &impl View, report: &mut Report, entry: &[u8], wanted: &[Key]) -> Result<(), Unread> {
    for key in wanted {
        if view.get(key)?.is_none() {
            report.problems.push(format!("{} is not found by {}", key::shown(entry), key::shown(key)));
        }
    }
    Ok(())
}
