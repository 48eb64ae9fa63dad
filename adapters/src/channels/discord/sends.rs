//! What is under way: how far a send in several messages got, and since when nobody knows whether it arrived.
//!
//! Kept in memory and bounded. After a restart a send begins anew, and the nonces keep its messages from showing twice.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::limits::{NONCE, NONCE_KEPT};
use crate::channel::SendKey;

/// Sends kept. Only those that did not end well are.
const MOST: usize = 10_000;

/// The sends that are not finished.
#[derive(Debug, Default)]
pub(super) struct Sends(Mutex<HashMap<String, Send>>);

#[derive(Debug, Default)]
struct Send {
    done: usize,
    doubtful_since: Option<Instant>,
}

/// Whether a send with doubts may be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    /// Discord still knows the nonce, or nothing was sent: repeating shows nothing twice.
    Safe,
    /// Discord may have forgotten the nonce.
    Doubtful,
}

impl Sends {
    /// How many messages of this send are there already.
    pub(super) fn done(&self, key: &SendKey) -> usize {
        self.lock().get(&key.0).map_or(0, |send| send.done)
    }

    /// Whether this send may go on. After a `Doubtful` the caller decides, and the next call begins anew.
    pub(super) fn may_repeat(&self, key: &SendKey, now: Instant) -> Repeat {
        let mut sends = self.lock();
        let since = sends.get(&key.0).and_then(|send| send.doubtful_since);
        if since.is_some_and(|since| now.saturating_duration_since(since) >= NONCE_KEPT) {
            sends.remove(&key.0);
            return Repeat::Doubtful;
        }
        Repeat::Safe
    }

    /// One more message is there.
    pub(super) fn one_done(&self, key: &SendKey, done: usize) {
        let mut sends = self.lock();
        make_room(&mut sends);
        *sends.entry(key.0.clone()).or_default() = Send { done, doubtful_since: None };
    }

    /// Nobody knows whether the message under way arrived.
    pub(super) fn doubtful(&self, key: &SendKey, now: Instant) {
        let mut sends = self.lock();
        make_room(&mut sends);
        sends.entry(key.0.clone()).or_default().doubtful_since.get_or_insert(now);
    }

    /// The send is complete, or will never be.
    pub(super) fn over(&self, key: &SendKey) {
        self.lock().remove(&key.0);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Send>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The nonce of one message of a send: the same for every try, another one for every other message.
pub(super) fn nonce(key: &str, piece: usize) -> String {
    let digest = Sha256::new().chain_update(key).chain_update(b"\0").chain_update(piece.to_string()).finalize();
    let mut nonce = URL_SAFE_NO_PAD.encode(digest);
    nonce.truncate(NONCE - 3);
    nonce
}

/// Forgets what is least harmful to forget: how far a send got. Its nonces still hold.
fn make_room(sends: &mut HashMap<String, Send>) {
    if sends.len() >= MOST {
        sends.retain(|_, send| send.doubtful_since.is_some());
    }
    if sends.len() >= MOST {
        sends.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::clock::{Clock, SystemClock};

    #[test]
    fn a_nonce_belongs_to_one_message_for_ever() {
        assert_eq!(nonce("ask/1/discord", 0), nonce("ask/1/discord", 0));
        assert_eq!(nonce("ask/1/discord", 0), "JRVdnd3-3-3thPwMYd7ywe");
        let mut all = std::collections::HashSet::new();
        for key in ["a", "b", "a1", "a\u{0}1"] {
            for piece in 0..20 {
                let nonce = nonce(key, piece);
                assert!(nonce.chars().count() <= NONCE && nonce.is_ascii(), "{nonce}");
                assert!(all.insert(nonce), "{key} {piece}");
            }
        }
    }

    #[test]
    fn a_send_may_be_repeated_while_the_nonce_is_known() {
        let (sends, key, now) = (Sends::default(), SendKey("k".to_owned()), SystemClock.instant());
        assert_eq!(sends.may_repeat(&key, now), Repeat::Safe);
        sends.one_done(&key, 2);
        sends.doubtful(&key, now);
        sends.doubtful(&key, now + Duration::from_mins(1));
        assert_eq!((sends.done(&key), sends.may_repeat(&key, now + Duration::from_mins(1))), (2, Repeat::Safe));
        assert_eq!(sends.may_repeat(&key, now + NONCE_KEPT), Repeat::Doubtful);
        assert_eq!((sends.done(&key), sends.may_repeat(&key, now + NONCE_KEPT)), (0, Repeat::Safe));
    }

    #[test]
    fn memory_is_bounded() {
        let sends = Sends::default();
        for number in 0..3 * MOST {
            sends.doubtful(&SendKey(number.to_string()), SystemClock.instant());
        }
        assert!(sends.lock().len() <= MOST);
    }
}
