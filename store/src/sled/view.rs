//! Reading records, from the tree itself or from a transaction that has not been written yet.

use asks::ids::AccountKey;
use asks::place::{MessageRef, Place};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sled::Db;

use super::codec::{self, Damaged};
use super::engine::{Trouble, calm};
use super::key::{self, AskId, Key};
use crate::ledger::LedgerError;
use crate::record::{AskRecord, AuditLine, Delivery, DeliveryId, Notice, NoticeId};

/// Which end of a range comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Up,
    Down,
}

/// Why a record could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unread {
    /// This one record is damaged; others are not.
    Damaged(Key),
    /// The store itself is in trouble.
    Store(Trouble),
}

impl From<Unread> for LedgerError {
    fn from(unread: Unread) -> Self {
        let why = match unread {
            Unread::Damaged(key) => format!("the record {} is damaged", key::shown(&key)),
            Unread::Store(trouble) => trouble.to_string(),
        };
        Self::Unreadable { why }
    }
}

/// A named value with its whole name, because its key may hold only the beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) value: String,
}

/// Something that keys can be read from.
pub(super) trait View {
    /// The value of a key.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Unread>;

    /// The keys that begin so, further parts included.
    fn keys(&self, prefix: &[u8], order: Order, limit: usize) -> Result<Vec<Key>, Unread>;

    /// The record of a key.
    fn load<T: DeserializeOwned>(&self, key: &[u8]) -> Result<Option<T>, Unread> {
        let Some(head) = self.get(key)? else { return Ok(None) };
        let damaged = || {
            tracing::error!(key = key::shown(key), "a record of the store is damaged and is left out");
            Unread::Damaged(key.to_vec())
        };
        let payload = match codec::decode(&head, |number| self.get(&key::part(key, number)).map_err(Undecoded::Unread))
        {
            Ok(payload) => payload,
            Err(Undecoded::Damaged) => return Err(damaged()),
            Err(Undecoded::Unread(unread)) => return Err(unread),
        };
        serde_json::from_slice(&payload).map(Some).map_err(|_| damaged())
    }

    /// The record of a key for a list: a damaged one is left out of it.
    fn load_or_skip<T: DeserializeOwned>(&self, key: &[u8]) -> Result<Option<T>, Unread> {
        match self.load(key) {
            Err(Unread::Damaged(_)) => Ok(None),
            other => other,
        }
    }

    fn ask(&self, id: AskId) -> Result<Option<AskRecord>, Unread> {
        self.load(&key::ask(id))
    }

    fn delivery(&self, id: DeliveryId) -> Result<Option<Delivery>, Unread> {
        self.load(&key::delivery(id))
    }

    fn notice(&self, id: NoticeId) -> Result<Option<Notice>, Unread> {
        self.load(&key::notice(id))
    }

    fn open_asks(&self, account: Option<&AccountKey>) -> Result<Vec<AskRecord>, Unread> {
        let prefix = account.map_or_else(|| vec![key::OPEN], key::open_of_account);
        let mut asks: Vec<AskRecord> = Vec::new();
        for id in self.keys(&prefix, Order::Up, usize::MAX)?.iter().filter_map(|key| key::last_ask(key)) {
            asks.extend(self.load_or_skip(&key::ask(id))?);
        }
        asks.sort_by(|a, b| (a.first_seen, &a.created, &a.key).cmp(&(b.first_seen, &b.created, &b.key)));
        Ok(asks)
    }

    fn recent_asks(&self, limit: usize) -> Result<Vec<AskRecord>, Unread> {
        let mut asks = Vec::new();
        for id in self.keys(&[key::MOVED], Order::Down, limit)?.iter().filter_map(|key| key::last_ask(key)) {
            asks.extend(self.load_or_skip(&key::ask(id))?);
        }
        Ok(asks)
    }

    fn deliveries(&self, ask: AskId) -> Result<Vec<Delivery>, Unread> {
        self.numbered(&key::deliveries_of_ask(ask), |number| key::delivery(DeliveryId(number)))
    }

    fn deliveries_at(&self, place: &Place) -> Result<Vec<Delivery>, Unread> {
        self.numbered(&key::deliveries_at(place), |number| key::delivery(DeliveryId(number)))
    }

    fn delivery_of_message(&self, message: &MessageRef) -> Result<Option<Delivery>, Unread> {
        match self.load::<DeliveryId>(&key::message(message))? {
            Some(id) => self.delivery(id),
            None => Ok(None),
        }
    }

    fn notices(&self, ask: AskId) -> Result<Vec<Notice>, Unread> {
        self.numbered(&key::notices_of_ask(ask), |number| key::notice(NoticeId(number)))
    }

    fn open_notices(&self) -> Result<Vec<Notice>, Unread> {
        self.numbered(&[key::NOTICE_OPEN], |number| key::notice(NoticeId(number)))
    }

    fn audit_trail(&self, limit: usize) -> Result<Vec<AuditLine>, Unread> {
        let mut lines = Vec::new();
        let mut wanted = limit;
        // Long lines have further parts, whose keys count towards a limit; asking again is simpler than guessing.
        let all = loop {
            let keys = self.keys(&[key::AUDIT], Order::Down, wanted)?;
            let whole = keys.iter().filter(|key| key::is_whole(key)).count();
            if whole >= limit || keys.len() < wanted {
                break keys;
            }
            wanted = wanted.saturating_mul(2).max(64);
        };
        for key in all.iter().filter(|key| key::is_whole(key)).take(limit) {
            lines.extend(self.load_or_skip::<AuditLine>(key)?);
        }
        lines.reverse();
        Ok(lines)
    }

    fn recall(&self, name: &str) -> Result<Option<String>, Unread> {
        Ok(self.load::<Named>(&key::value(name))?.map(|named| named.value))
    }

    fn recall_all(&self, prefix: &str) -> Result<Vec<(String, String)>, Unread> {
        let mut found = Vec::new();
        for key in self.keys(&key::values(prefix), Order::Up, usize::MAX)?.iter().filter(|key| key::is_whole(key)) {
            found.extend(self.load_or_skip::<Named>(key)?.filter(|named| named.name.starts_with(prefix)));
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found.into_iter().map(|named| (named.name, named.value)).collect())
    }

    /// The records that an index of numbers names, in its order.
    fn numbered<T: DeserializeOwned>(&self, prefix: &[u8], record: impl Fn(u64) -> Key) -> Result<Vec<T>, Unread> {
        let mut found = Vec::new();
        for number in self.keys(prefix, Order::Up, usize::MAX)?.iter().filter_map(|key| key::last_number(key)) {
            found.extend(self.load_or_skip(&record(number))?);
        }
        Ok(found)
    }
}

enum Undecoded {
    Damaged,
    Unread(Unread),
}

impl From<Damaged> for Undecoded {
    fn from(_: Damaged) -> Self {
        Self::Damaged
    }
}

impl View for Db {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Unread> {
        calm(|| sled::Tree::get(self, key)).map(|value| value.map(|bytes| bytes.to_vec())).map_err(Unread::Store)
    }

    fn keys(&self, prefix: &[u8], order: Order, limit: usize) -> Result<Vec<Key>, Unread> {
        calm(|| {
            let all = self.scan_prefix(prefix).keys();
            let key = |key: sled::Result<sled::IVec>| key.map(|key| key.to_vec());
            match order {
                Order::Up => all.take(limit).map(key).collect(),
                Order::Down => all.rev().take(limit).map(key).collect(),
            }
        })
        .map_err(Unread::Store)
    }
}
