//! The other way round: a host app invites a person whose session it has.
//!
//! The app opens a deep link that carries a payload, and shows four digits itself. Whoever opens the link has to type them in
//! the chat: so a link that was passed on, or opened by a robot, links nobody. Kept in memory only, sessions are never written
//! down unsealed.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use asks::place::{ChannelKind, Place};
use subtle::ConstantTimeEq as _;

use super::digest;
use super::pending::SignedIn;

/// How long an invitation can be taken.
pub const LIFE: Duration = Duration::from_mins(10);
/// How often the digits may be tried.
const TRIES: u32 = 3;
/// The most invitations at a time.
const MOST: usize = 1_000;

/// The invitations.
#[derive(Debug, Default)]
pub struct Invites(Mutex<HashMap<String, Invite>>);

#[derive(Debug)]
struct Invite {
    what: SignedIn,
    channel: ChannelKind,
    digits: String,
    tries: u32,
    until: Instant,
    opened: Option<Place>,
}

/// What typed digits come to.
#[derive(Debug)]
pub enum Typed {
    /// This place waits for none.
    None,
    /// They are not the ones; so many tries are left.
    Wrong(u32),
    /// They are.
    Right(Box<SignedIn>),
}

impl Invites {
    /// Keeps an invitation. Returns false while too many wait.
    pub fn add(&self, payload: &str, digits: &str, channel: ChannelKind, what: SignedIn, now: Instant) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, invite| invite.until > now);
        if all.len() >= MOST {
            return false;
        }
        let invite = Invite { what, channel, digits: digits.to_owned(), tries: 0, until: now + LIFE, opened: None };
        all.insert(digest(payload), invite);
        true
    }

    /// Somebody opened a deep link. True for the first one, on the right channel; from then on it is theirs.
    pub fn open(&self, payload: &str, place: &Place, now: Instant) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = digest(payload);
        let fits = all
            .get(&wanted)
            .is_some_and(|invite| invite.until > now && invite.opened.is_none() && invite.channel == place.channel());
        if !fits {
            return false;
        }
        // One at a time at a place: which one four digits are meant for is never a question.
        all.retain(|key, invite| *key == wanted || invite.opened.as_ref() != Some(place));
        if let Some(invite) = all.get_mut(&wanted) {
            invite.opened = Some(place.clone());
        }
        true
    }

    /// Somebody typed four digits.
    pub fn typed(&self, place: &Place, digits: &str, now: Instant) -> Typed {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, invite| invite.until > now);
        let Some(key) =
            all.iter().find(|(_, invite)| invite.opened.as_ref() == Some(place)).map(|(key, _)| key.clone())
        else {
            return Typed::None;
        };
        let Some(invite) = all.get_mut(&key) else { return Typed::None };
        if bool::from(invite.digits.as_bytes().ct_eq(digits.as_bytes())) {
            return all.remove(&key).map_or(Typed::None, |invite| Typed::Right(Box::new(invite.what)));
        }
        invite.tries += 1;
        let left = TRIES.saturating_sub(invite.tries);
        if left == 0 {
            all.remove(&key);
        }
        Typed::Wrong(left)
    }
}
