//! What holds for any bytes in a value or a key: an error, never a panic.
//!
//! Compiled with the feature `fuzzing` only, which `tests` asks for.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::codec::{self, Damaged};
use super::key::{self, Key};
use super::txn::Counters;
use super::view::{Named, Order, Unread, View};
use crate::record::{AskRecord, AuditLine, Delivery, Notice, TokenRecord};

/// One record, as its head and its further parts.
struct One(Vec<Vec<u8>>);

impl View for One {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Unread> {
        let number = key.get(1..).and_then(|rest| rest.first_chunk::<2>()).map_or(0, |part| u16::from_be_bytes(*part));
        Ok(self.0.get(usize::from(number)).cloned())
    }

    fn keys(&self, _prefix: &[u8], _order: Order, _limit: usize) -> Result<Vec<Key>, Unread> {
        Ok(Vec::new())
    }
}

/// Reads bytes as what may stand in the store: as a value, as the payload of a whole one, and as a key.
///
/// Asserts that a payload comes back as it was, that a change of one byte is noticed, and that a record that can be read can be
/// written and read again.
///
/// # Panics
/// If one of these does not hold.
pub fn store_value(bytes: &[u8]) {
    every(&One(vec![bytes.to_vec()]));
    let Some(parts) = codec::encode(bytes) else { return };
    let head = parts.first().cloned().unwrap_or_default();
    let read =
        |parts: &[Vec<u8>]| codec::decode::<Damaged>(&head, |number| Ok(parts.get(usize::from(number)).cloned()));
    assert_eq!(read(&parts).as_deref(), Ok(bytes), "a payload that does not come back");
    let at = bytes.first().map_or(0, |byte| usize::from(*byte)) % head.len().max(1);
    let mut wrong = head.clone();
    if let Some(byte) = wrong.get_mut(at) {
        *byte ^= 1;
        let damaged = codec::decode::<Damaged>(&wrong, |number| Ok(parts.get(usize::from(number)).cloned()));
        assert_eq!(damaged, Err(Damaged), "a changed byte was not noticed");
    }
    every(&One(parts));
    let _ = (key::is_whole(bytes), key::last_number(bytes), key::last_ask(bytes), key::finished_at(bytes));
    assert!(key::shown(bytes).len() <= 40, "a key that is too long for a log");
}

fn every(view: &One) {
    one::<AskRecord>(view);
    one::<Delivery>(view);
    one::<Notice>(view);
    one::<TokenRecord>(view);
    one::<AuditLine>(view);
    one::<Named>(view);
    one::<Counters>(view);
}

fn one<T: Serialize + DeserializeOwned>(view: &One) {
    let Ok(Some(record)) = view.load::<T>(b"k") else { return };
    let written = serde_json::to_vec(&record).unwrap_or_default();
    let again = serde_json::from_slice::<T>(&written).map(|record| serde_json::to_vec(&record).unwrap_or_default());
    assert!(again.is_ok_and(|again| again == written), "a record that cannot be read again");
}
