//! When each account is polled next: a queue of times, not a task for each account.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use asks::ids::{AccountKey, SourceName};
use config::SourceConfig;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use tokio::sync::Notify;

use super::tempo::{Outcome, Tempo};

/// What the scheduler does next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Poll this account; it is out of the calendar until it is `finished`.
    Due(Arc<AccountKey>),
    /// Nothing is due before this time, or at all.
    Wait(Option<Instant>),
}

#[derive(Debug)]
enum Slot {
    Waiting(Instant),
    /// Being polled; whether it was asked for again meanwhile.
    Polling {
        again: bool,
    },
}

#[derive(Debug)]
struct State {
    due: BTreeSet<(Instant, Arc<AccountKey>)>,
    slots: HashMap<Arc<AccountKey>, (Slot, Tempo)>,
    jitter: SmallRng,
}

/// When each account is polled next.
#[derive(Debug)]
pub struct Calendar {
    state: Mutex<State>,
    changed: Notify,
}

impl Calendar {
    /// An empty calendar; `seed` is for the jitter.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let state = State { due: BTreeSet::new(), slots: HashMap::new(), jitter: SmallRng::seed_from_u64(seed) };
        Self { state: Mutex::new(state), changed: Notify::new() }
    }

    /// Adds an account whose first poll is due then. One that is there already is only polled sooner.
    pub fn add(&self, account: &AccountKey, at: Instant) {
        let mut state = self.state();
        if !state.hurry(account, at) {
            let account = Arc::new(account.clone());
            state.due.insert((at, Arc::clone(&account)));
            state.slots.insert(account, (Slot::Waiting(at), Tempo::default()));
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Takes an account out. A poll that is under way ends by itself and does not bring it back.
    pub fn remove(&self, account: &AccountKey) {
        let mut state = self.state();
        if let Some((key, (Slot::Waiting(at), _))) = state.slots.remove_entry(account) {
            state.due.remove(&(at, key));
        }
    }

    /// Whether the account is polled at all.
    #[must_use]
    pub fn has(&self, account: &AccountKey) -> bool {
        self.state().slots.contains_key(account)
    }

    /// Something happened at an account: poll it as soon as possible, and quickly for a while. Returns whether it is known.
    pub fn hurry(&self, account: &AccountKey, now: Instant) -> bool {
        let mut state = self.state();
        let known = state.hurry(account, now);
        drop(state);
        self.changed.notify_waiters();
        known
    }

    /// A source is back: poll its failing accounts soon, a few hundred in a second.
    pub fn hurry_failing(&self, source: &SourceName, now: Instant) {
        let mut state = self.state();
        let failing: Vec<Arc<AccountKey>> = state
            .slots
            .iter()
            .filter(|(account, (_, tempo))| account.source == *source && tempo.is_failing())
            .map(|(account, _)| Arc::clone(account))
            .collect();
        for (position, account) in (0_u32..).zip(failing) {
            state.hurry(&account, now + Duration::from_secs(1) * position / super::START_RATE);
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// How many accounts of a source are failing.
    #[must_use]
    pub fn failing(&self, source: &SourceName) -> usize {
        self.state()
            .slots
            .iter()
            .filter(|(account, (_, tempo))| account.source == *source && tempo.is_failing())
            .take(1000)
            .count()
    }

    /// Resolves at the next change of the calendar.
    pub(super) fn changed(&self) -> tokio::sync::futures::Notified<'_> {
        self.changed.notified()
    }

    /// Takes the next due account out.
    pub(super) fn next(&self, now: Instant) -> Next {
        let mut state = self.state();
        match state.due.first() {
            Some((at, _)) if *at <= now => {}
            other => return Next::Wait(other.map(|(at, _)| *at)),
        }
        let Some((_, account)) = state.due.pop_first() else { return Next::Wait(None) };
        if let Some((slot, _)) = state.slots.get_mut(&account) {
            *slot = Slot::Polling { again: false };
        }
        Next::Due(account)
    }

    /// Whether the account's last poll failed.
    #[must_use]
    pub fn is_failing(&self, account: &AccountKey) -> bool {
        self.state().slots.get(account).is_some_and(|(_, tempo)| tempo.is_failing())
    }

    /// The jittered pause after a poll.
    pub(super) fn pause(
        &self,
        account: &AccountKey,
        outcome: &Outcome,
        source: &SourceConfig,
        failing: usize,
    ) -> Duration {
        let mut state = self.state();
        let Some(tempo) = state.slots.get(account).map(|(_, tempo)| *tempo) else { return source.poll_idle };
        let (tempo, pause) = tempo.after(outcome, source, failing);
        if let Some((_, kept)) = state.slots.get_mut(account) {
            *kept = tempo;
        }
        pause + pause.mul_f64(state.jitter.random_range(0.0..0.1))
    }

    /// Puts a polled account back.
    pub(super) fn finished(&self, account: &AccountKey, now: Instant, pause: Duration, outcome: &Outcome) {
        let mut state = self.state();
        let Some((key, _)) = state.slots.get_key_value(account) else { return };
        let key = Arc::clone(key);
        // Removed and added again while the poll ran: it has another time by now.
        let Some((Slot::Polling { again: asked_again }, _)) = state.slots.get(&key) else { return };
        let asked_again = *asked_again;
        // A source that wants a pause gets it, whoever asks.
        let soon = asked_again && !matches!(outcome, Outcome::Later(_));
        let at = if soon { now } else { now + pause };
        // The scheduler sleeps until the first one is due; only a new first one must wake it.
        let is_first = state.due.first().is_none_or(|(first, _)| at < *first);
        state.due.insert((at, Arc::clone(&key)));
        if let Some((slot, tempo)) = state.slots.get_mut(&key) {
            *slot = Slot::Waiting(at);
            if asked_again {
                *tempo = tempo.awake();
            }
        }
        drop(state);
        if is_first {
            self.changed.notify_waiters();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn hurry(&mut self, account: &AccountKey, at: Instant) -> bool {
        let Some((key, _)) = self.slots.get_key_value(account) else { return false };
        let key = Arc::clone(key);
        let Some((slot, tempo)) = self.slots.get_mut(&key) else { return false };
        *tempo = tempo.awake();
        match slot {
            Slot::Polling { again } => *again = true,
            Slot::Waiting(planned) if at < *planned => {
                self.due.remove(&(*planned, Arc::clone(&key)));
                *slot = Slot::Waiting(at);
                self.due.insert((at, key));
            }
            Slot::Waiting(_) => {}
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poll::tempo::Activity;

    fn account(name: &str) -> AccountKey {
        AccountKey { source: "app".into(), name: name.into() }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "only differences of the instant matter")]
    fn a_removed_account_stays_away_and_one_that_came_back_is_there_once() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let calendar = Calendar::new(1);
        let listed = Outcome::Listed { active: Activity::Idle };
        calendar.add(&account("me"), start);
        calendar.add(&account("me"), start + second);
        calendar.remove(&account("me"));
        assert_eq!(calendar.next(start + second), Next::Wait(None));
        assert!(!calendar.has(&account("me")));

        calendar.add(&account("me"), start);
        assert_eq!(calendar.next(start), Next::Due(Arc::new(account("me"))));
        calendar.remove(&account("me"));
        calendar.add(&account("me"), start + second);
        calendar.finished(&account("me"), start, second * 5, &listed);
        assert_eq!(calendar.next(start + second), Next::Due(Arc::new(account("me"))));
        assert_eq!(calendar.next(start + second * 9), Next::Wait(None), "the poll from before added nothing");
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "only differences of the instant matter")]
    fn accounts_come_in_time_and_a_nudge_brings_one_forward() {
        let start = Instant::now();
        let second = Duration::from_secs(1);
        let calendar = Calendar::new(1);
        calendar.add(&account("late"), start + second * 60);
        calendar.add(&account("soon"), start + second);
        assert_eq!(calendar.next(start), Next::Wait(Some(start + second)));
        assert_eq!(calendar.next(start + second), Next::Due(Arc::new(account("soon"))));
        assert_eq!(calendar.next(start + second), Next::Wait(Some(start + second * 60)));
        assert!(calendar.hurry(&account("late"), start + second));
        assert_eq!(calendar.next(start + second), Next::Due(Arc::new(account("late"))));
        assert!(!calendar.hurry(&account("nobody"), start));

        // A nudge while the poll runs is not lost: the account is due again at once.
        calendar.hurry(&account("late"), start + second);
        let listed = Outcome::Listed { active: Activity::Idle };
        calendar.finished(&account("late"), start + second, second * 60, &listed);
        assert_eq!(calendar.next(start + second), Next::Due(Arc::new(account("late"))));
        calendar.hurry(&account("late"), start);
        calendar.finished(&account("late"), start + second, second * 59, &Outcome::Later(second * 59));
        assert_eq!(calendar.next(start + second), Next::Wait(Some(start + second * 60)), "the source's pause stands");
    }
}
