//! A transaction: what one operation reads and writes before its group reaches the disk.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sled::Db;

use super::codec;
use super::engine::Trouble;
use super::key::{self, Key};
use super::view::{Order, Unread, View};
use crate::ledger::LedgerError;
use crate::record::{DeliveryId, NoticeId, Seq};
use crate::token::TokenKey;

/// Keys with their new values; `None` deletes.
pub(super) type Changes = BTreeMap<Key, Option<Vec<u8>>>;

/// The numbers the ledger gives out, each the last one given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Counters {
    /// Groups written; compared with the mark file, which tells a store that lost its end.
    pub(super) commit: u64,
    pub(super) seq: u64,
    pub(super) delivery: u64,
    pub(super) notice: u64,
    pub(super) audit: u64,
}

impl Counters {
    /// The greater of each, so that no number is given out twice.
    pub(super) fn ahead_of_both(self, other: Self) -> Self {
        Self {
            commit: self.commit.max(other.commit),
            seq: self.seq.max(other.seq),
            delivery: self.delivery.max(other.delivery),
            notice: self.notice.max(other.notice),
            audit: self.audit.max(other.audit),
        }
    }
}

/// The operations that go to the disk together.
pub(super) struct Group {
    pub(super) changes: Changes,
    pub(super) counters: Counters,
    /// Whether it is written although no operation changed anything.
    pub(super) touched: bool,
}

impl Group {
    pub(super) fn after(counters: Counters) -> Self {
        Self { changes: Changes::new(), counters, touched: false }
    }
}

/// One operation's view of the ledger: the disk, what earlier operations of the group wrote, what it wrote itself.
pub(super) struct Txn<'a> {
    db: &'a Db,
    group: &'a mut Group,
    own: Changes,
    counters: Counters,
    touched: bool,
    secret: &'a TokenKey,
}

impl<'a> Txn<'a> {
    pub(super) fn new(db: &'a Db, group: &'a mut Group, secret: &'a TokenKey) -> Self {
        let counters = group.counters;
        Self { db, group, own: Changes::new(), counters, touched: false, secret }
    }

    /// Hands what was written to the group. A transaction that is dropped instead has written nothing.
    pub(super) fn keep(self) {
        self.group.changes.extend(self.own);
        self.group.counters = self.counters;
        self.group.touched |= self.touched;
    }

    /// The secret that tokens are made under.
    pub(super) fn secret(&self) -> &'a TokenKey {
        self.secret
    }

    /// Has the group written even if nothing changed.
    pub(super) fn touch(&mut self) {
        self.touched = true;
    }

    pub(super) fn next_seq(&mut self) -> Seq {
        self.counters.seq += 1;
        Seq(self.counters.seq)
    }

    pub(super) fn next_delivery(&mut self) -> DeliveryId {
        self.counters.delivery += 1;
        DeliveryId(self.counters.delivery)
    }

    pub(super) fn next_notice(&mut self) -> NoticeId {
        self.counters.notice += 1;
        NoticeId(self.counters.notice)
    }

    pub(super) fn next_audit(&mut self) -> u64 {
        self.counters.audit += 1;
        self.counters.audit
    }

    /// Writes a record.
    pub(super) fn save<T: Serialize>(&mut self, key: &[u8], record: &T) -> Result<(), LedgerError> {
        let values = encode(record)?;
        let before = self.further_parts(key)?;
        let now = u16::try_from(values.len().saturating_sub(1)).unwrap_or(u16::MAX);
        for number in now.saturating_add(1)..=before {
            self.own.insert(key::part(key, number), None);
        }
        for (number, value) in (0_u16..).zip(values) {
            let place = if number == 0 { key.to_vec() } else { key::part(key, number) };
            self.own.insert(place, Some(value));
        }
        Ok(())
    }

    /// Writes an index entry.
    pub(super) fn index(&mut self, key: Key) {
        self.own.insert(key, Some(Vec::new()));
    }

    /// Deletes an index entry.
    pub(super) fn unindex(&mut self, key: Key) {
        self.own.insert(key, None);
    }

    /// Deletes a record with all its parts.
    pub(super) fn delete(&mut self, key: &[u8]) -> Result<(), Unread> {
        for number in 1..=self.further_parts(key)? {
            self.own.insert(key::part(key, number), None);
        }
        self.own.insert(key.to_vec(), None);
        Ok(())
    }

    /// How many further parts stand behind a key; none if its head is damaged, because then nobody can tell.
    fn further_parts(&self, key: &[u8]) -> Result<u16, Unread> {
        Ok(self.get(key)?.and_then(|head| codec::further_parts(&head).ok()).unwrap_or(0))
    }
}

/// The values of a record.
pub(super) fn encode<T: Serialize>(record: &T) -> Result<Vec<Vec<u8>>, LedgerError> {
    let payload = serde_json::to_vec(record)
        .map_err(|error| LedgerError::NotSaved { why: format!("the record cannot be written as JSON ({error})") })?;
    codec::encode(&payload).ok_or_else(|| LedgerError::NotSaved { why: "the record is too large".to_owned() })
}

impl View for Txn<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Unread> {
        match self.own.get(key).or_else(|| self.group.changes.get(key)) {
            Some(value) => Ok(value.clone()),
            None => View::get(self.db, key),
        }
    }

    fn keys(&self, prefix: &[u8], order: Order, limit: usize) -> Result<Vec<Key>, Unread> {
        let changed = |changes: &Changes| -> Vec<(Key, bool)> {
            changes
                .range(prefix.to_vec()..)
                .take_while(|(key, _)| key.starts_with(prefix))
                .map(|(key, value)| (key.clone(), value.is_some()))
                .collect()
        };
        let mut overlay = changed(&self.group.changes);
        overlay.extend(changed(&self.own));
        // Each changed key may have hidden one of the tree's.
        let on_disk = View::keys(self.db, prefix, order, limit.saturating_add(overlay.len()))?;
        let mut keys: BTreeSet<Key> = on_disk.into_iter().collect();
        for (key, there) in overlay {
            if there {
                keys.insert(key);
            } else {
                keys.remove(&key);
            }
        }
        Ok(match order {
            Order::Up => keys.into_iter().take(limit).collect(),
            Order::Down => keys.into_iter().rev().take(limit).collect(),
        })
    }
}

impl From<Trouble> for LedgerError {
    fn from(trouble: Trouble) -> Self {
        Self::Unreadable { why: trouble.to_string() }
    }
}
