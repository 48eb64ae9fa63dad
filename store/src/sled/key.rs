//! The keys of the one tree.
//!
//! A key is one letter for the kind and parts of fixed length after it, so no two things share a key and a prefix is
//! always a whole kind or a whole part. Ids from outside have any length, so their SHA-256 stands in for them. Big-endian
//! numbers sort as numbers.

use std::fmt::Write as _;

use asks::ids::{AccountKey, AskKey};
use asks::life::UnixMillis;
use asks::place::{MessageRef, Place};
use sha2::{Digest, Sha256};

use crate::record::{DeliveryId, NoticeId, Seq};
use crate::token::TokenHash;

/// A whole key.
pub(super) type Key = Vec<u8>;

/// An ask's record.
pub(super) const ASK: u8 = b'a';
/// A delivery's record.
pub(super) const DELIVERY: u8 = b'd';
/// Index: the deliveries of an ask.
pub(super) const DELIVERY_OF_ASK: u8 = b'e';
/// Index: finished asks by the time of their last move.
pub(super) const FINISHED: u8 = b'f';
/// Index: the delivery a message carries.
pub(super) const MESSAGE: u8 = b'g';
/// An audit line.
pub(super) const AUDIT: u8 = b'l';
/// What the ledger keeps about itself.
pub(super) const META: u8 = b'm';
/// A notice's record.
pub(super) const NOTICE: u8 = b'n';
/// Index: unfinished asks by account.
pub(super) const OPEN: u8 = b'o';
/// Index: deliveries of unfinished asks by place.
pub(super) const DELIVERY_AT: u8 = b'p';
/// Index: asks by the position of their last move.
pub(super) const MOVED: u8 = b'q';
/// Index: the notices of an ask.
pub(super) const NOTICE_OF_ASK: u8 = b'r';
/// A token's record.
pub(super) const TOKEN: u8 = b't';
/// A named value.
pub(super) const VALUE: u8 = b'v';
/// Index: notices that have not ended.
pub(super) const NOTICE_OPEN: u8 = b'w';

/// Bytes of a name that stand in its key as they are; a longer name is told apart by its digest.
const NAME_BYTES: usize = 160;
/// Ends a name in its key: no UTF-8 text contains it.
const NAME_END: u8 = 0xff;

/// The digest that stands in for an ask's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AskId(pub(super) [u8; 32]);

impl AskId {
    pub(super) fn of(key: &AskKey) -> Self {
        Self(digest(&[key.source.as_str(), key.conversation.as_str(), key.ask.as_str()]))
    }
}

/// SHA-256 of texts, each after its length, so that no two lists of texts give the same bytes.
fn digest(parts: &[&str]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().into()
}

fn join(kind: u8, parts: &[&[u8]]) -> Key {
    let mut key = Vec::with_capacity(1 + parts.iter().map(|part| part.len()).sum::<usize>());
    key.push(kind);
    for part in parts {
        key.extend_from_slice(part);
    }
    key
}

pub(super) fn ask(id: AskId) -> Key {
    join(ASK, &[&id.0])
}

pub(super) fn delivery(id: DeliveryId) -> Key {
    join(DELIVERY, &[&id.0.to_be_bytes()])
}

pub(super) fn deliveries_of_ask(ask: AskId) -> Key {
    join(DELIVERY_OF_ASK, &[&ask.0])
}

pub(super) fn delivery_of_ask(ask: AskId, id: DeliveryId) -> Key {
    join(DELIVERY_OF_ASK, &[&ask.0, &id.0.to_be_bytes()])
}

pub(super) fn finished(at: UnixMillis, ask: AskId) -> Key {
    join(FINISHED, &[&time(at), &ask.0])
}

pub(super) fn message(message: &MessageRef) -> Key {
    join(MESSAGE, &[&digest(&[&message.chat, &message.id])])
}

pub(super) fn audit(number: u64) -> Key {
    join(AUDIT, &[&number.to_be_bytes()])
}

pub(super) fn counters() -> Key {
    join(META, &[b"counters"])
}

pub(super) fn token_key() -> Key {
    join(META, &[b"token-key"])
}

pub(super) fn notice(id: NoticeId) -> Key {
    join(NOTICE, &[&id.0.to_be_bytes()])
}

pub(super) fn open_of_account(account: &AccountKey) -> Key {
    join(OPEN, &[&digest(&[account.source.as_str(), account.name.as_str()])])
}

pub(super) fn open(account: &AccountKey, ask: AskId) -> Key {
    join(OPEN, &[&digest(&[account.source.as_str(), account.name.as_str()]), &ask.0])
}

pub(super) fn deliveries_at(place: &Place) -> Key {
    join(DELIVERY_AT, &[&digest(&[&place.address()])])
}

pub(super) fn delivery_at(place: &Place, id: DeliveryId) -> Key {
    join(DELIVERY_AT, &[&digest(&[&place.address()]), &id.0.to_be_bytes()])
}

pub(super) fn moved(seq: Seq, ask: AskId) -> Key {
    join(MOVED, &[&seq.0.to_be_bytes(), &ask.0])
}

pub(super) fn notices_of_ask(ask: AskId) -> Key {
    join(NOTICE_OF_ASK, &[&ask.0])
}

pub(super) fn notice_of_ask(ask: AskId, id: NoticeId) -> Key {
    join(NOTICE_OF_ASK, &[&ask.0, &id.0.to_be_bytes()])
}

pub(super) fn notice_open(id: NoticeId) -> Key {
    join(NOTICE_OPEN, &[&id.0.to_be_bytes()])
}

pub(super) fn token(hash: &TokenHash) -> Key {
    join(TOKEN, &[&hash.0])
}

/// The key of a named value. The record keeps the whole name.
pub(super) fn value(name: &str) -> Key {
    let start = name.as_bytes().get(..NAME_BYTES).unwrap_or(name.as_bytes());
    if start.len() == name.len() {
        join(VALUE, &[start, &[NAME_END]])
    } else {
        join(VALUE, &[start, &[NAME_END], &digest(&[name])])
    }
}

/// What the keys of all names that begin so begin with; a long prefix finds more, so names are compared afterwards.
pub(super) fn values(prefix: &str) -> Key {
    join(VALUE, &[prefix.as_bytes().get(..NAME_BYTES).unwrap_or(prefix.as_bytes())])
}

/// The key of a record's further part; it sorts right behind the record's own key.
pub(super) fn part(key: &[u8], number: u16) -> Key {
    let mut key = key.to_vec();
    key.extend_from_slice(&number.to_be_bytes());
    key
}

/// Whether a key is a record's or an index's own, and not that of a further part.
pub(super) fn is_whole(key: &[u8]) -> bool {
    let Some((&kind, rest)) = key.split_first() else { return false };
    match kind {
        ASK | TOKEN | MESSAGE => rest.len() == 32,
        DELIVERY | AUDIT | NOTICE | NOTICE_OPEN => rest.len() == 8,
        DELIVERY_OF_ASK | DELIVERY_AT | NOTICE_OF_ASK | FINISHED | MOVED => rest.len() == 40,
        OPEN => rest.len() == 64,
        META => rest == b"counters" || rest == b"token-key",
        VALUE => {
            let end = rest.iter().position(|&byte| byte == NAME_END);
            end.is_some_and(|end| matches!(rest.len() - end - 1, 0 | 32))
        }
        _ => false,
    }
}

/// The number a key ends with.
pub(super) fn last_number(key: &[u8]) -> Option<u64> {
    key.last_chunk::<8>().map(|bytes| u64::from_be_bytes(*bytes))
}

/// The ask a key ends with.
pub(super) fn last_ask(key: &[u8]) -> Option<AskId> {
    key.last_chunk::<32>().map(|bytes| AskId(*bytes))
}

/// The time that a key of a finished ask begins with.
pub(super) fn finished_at(key: &[u8]) -> Option<UnixMillis> {
    let bytes = key.split_first()?.1.first_chunk::<8>()?;
    Some((u64::from_be_bytes(*bytes) ^ SIGN).cast_signed())
}

/// Flipped in the key, so that times before 1970 sort first.
const SIGN: u64 = 1 << 63;

const fn time(at: UnixMillis) -> [u8; 8] {
    (at.cast_unsigned() ^ SIGN).to_be_bytes()
}

/// A key as a log may show it: kind and the first bytes; digests and numbers only, except that a name is left out.
pub(super) fn shown(key: &[u8]) -> String {
    let Some((&kind, rest)) = key.split_first() else { return "(empty)".to_owned() };
    let mut text = String::from(char::from(kind));
    if kind == VALUE {
        text.push_str(" (a named value)");
        return text;
    }
    for byte in rest.iter().take(16) {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ask_key(source: &str, conversation: &str, ask: &str) -> AskKey {
        AskKey { source: source.into(), conversation: conversation.into(), ask: ask.into() }
    }

    proptest! {
        #[test]
        fn different_ids_have_different_keys(a in ".{0,6}", b in ".{0,6}", c in ".{0,6}", d in ".{0,6}", e in ".{0,6}", f in ".{0,6}") {
            let (one, two) = (ask_key(&a, &b, &c), ask_key(&d, &e, &f));
            prop_assert_eq!(one == two, AskId::of(&one) == AskId::of(&two));
        }

        #[test]
        fn names_have_their_own_keys_and_are_found_by_prefix(a in ".{0,90}", b in ".{0,90}") {
            prop_assert_eq!(a == b, value(&a) == value(&b));
            prop_assert!(is_whole(&value(&a)));
            prop_assert!(!is_whole(&part(&value(&a), 1)));
            let both = format!("{a}{b}");
            prop_assert!(value(&both).starts_with(&values(&a)));
        }

        #[test]
        fn times_sort_as_times(a in any::<i64>(), b in any::<i64>()) {
            let id = AskId([7; 32]);
            prop_assert_eq!(a.cmp(&b), finished(a, id).cmp(&finished(b, id)));
            prop_assert_eq!(finished_at(&finished(a, id)), Some(a));
        }
    }

    #[test]
    fn moving_a_border_between_ids_changes_the_key() {
        assert_ne!(AskId::of(&ask_key("a", "bc", "d")), AskId::of(&ask_key("ab", "c", "d")));
        let long = "x".repeat(100_000);
        assert_ne!(value(&format!("{long}1")), value(&format!("{long}2")));
        assert!(value(&long).len() < 256);
    }

    #[test]
    fn a_log_shows_no_name() {
        assert!(!shown(&value("ntfy:secret-topic")).contains("secret"));
    }
}
