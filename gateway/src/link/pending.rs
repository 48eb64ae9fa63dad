//! Who has signed in on the page and has not confirmed yet: in memory only, for a few minutes.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use adapters::source::Signed;
use asks::ids::SourceName;
use subtle::ConstantTimeEq as _;

use super::digest;

/// How long somebody may take to confirm.
const LIFE: Duration = Duration::from_mins(10);
/// The most who may be about to.
const MOST: usize = 1_000;

/// A sign-in that waits for its confirmation.
#[derive(Debug, Clone)]
pub struct SignedIn {
    /// Where.
    pub source: SourceName,
    /// As whom.
    pub signed: Signed,
}

/// All of them; at most one for each code.
#[derive(Debug, Default)]
pub struct Pending(Mutex<HashMap<String, Waiting>>);

#[derive(Debug)]
struct Waiting {
    browser: String,
    what: SignedIn,
    until: Instant,
}

impl Pending {
    /// Keeps a sign-in for the browser that holds this cookie. Returns false while too many wait.
    pub fn keep(&self, code: &str, cookie: &str, what: SignedIn, now: Instant) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, waiting| waiting.until > now);
        let key = digest(code);
        if all.len() >= MOST && !all.contains_key(&key) {
            return false;
        }
        all.insert(key, Waiting { browser: digest(cookie), what, until: now + LIFE });
        true
    }

    /// Takes it out again, for the same code and browser.
    pub fn take(&self, code: &str, cookie: &str, now: Instant) -> Option<SignedIn> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, waiting| waiting.until > now);
        let key = digest(code);
        let same = bool::from(all.get(&key)?.browser.as_bytes().ct_eq(digest(cookie).as_bytes()));
        if same { all.remove(&key).map(|waiting| waiting.what) } else { None }
    }
}
