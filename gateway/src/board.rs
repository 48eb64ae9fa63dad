//! How every part is doing, for `/readyz`, `/metrics` and the log.
//!
//! Readiness is judged from the last success of each part, never from the process being alive: a listener that nobody has
//! heard from is deaf, however healthy its task looks. A source that is known to be down and is being retried does not make
//! the service unready, because cards, taps and claims go on without it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use asks::ids::{AskKey, SourceName};
use asks::place::{ChannelKind, Place};
use serde::Serialize;

/// How many undelivered cards are named; more are counted only.
const MOST_UNDELIVERED: usize = 100;

/// How one part is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Health {
    /// Not tried yet.
    Starting,
    /// It worked, the last time.
    Fine,
    /// It does not work; readiness goes red.
    Bad {
        /// Why, in a sentence that says what to do.
        why: String,
    },
    /// It does not work, is being retried, and the rest goes on.
    Down {
        /// Why, in a sentence that says what to do.
        why: String,
    },
}

impl Health {
    const fn is_ready(&self) -> bool {
        matches!(self, Self::Fine | Self::Down { .. })
    }
}

/// The body of `/readyz`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Whether everything needed works.
    pub ready: bool,
    /// Each part by name: `store`, `telegram`, `discord`, `source:NAME`.
    pub parts: BTreeMap<String, Health>,
    /// Places that cannot be reached, and why; asks are not shown there until they show a sign of life.
    pub parked: BTreeMap<String, String>,
    /// Cards that a platform refused or never confirmed, as `ask at place`, and why.
    pub undelivered: BTreeMap<String, String>,
}

#[derive(Debug, Default)]
struct State {
    parts: BTreeMap<String, Health>,
    parked: BTreeMap<Place, String>,
    undelivered: BTreeMap<String, String>,
    stopping: bool,
}

/// Where every part reports to.
#[derive(Debug, Default)]
pub struct Board {
    state: Mutex<State>,
    /// Counters for `/metrics`, by name.
    counters: Mutex<BTreeMap<&'static str, u64>>,
}

impl Board {
    /// Names a part that readiness waits for.
    pub fn expect(&self, part: &str) {
        self.state().parts.entry(part.to_owned()).or_insert(Health::Starting);
    }

    /// Reports how a part is doing; a change is logged once. Returns whether it had not worked before.
    pub fn report(&self, part: &str, health: Health) -> bool {
        let mut state = self.state();
        let before = state.parts.get(part);
        if before == Some(&health) {
            return false;
        }
        let did_not_work = matches!(before, Some(Health::Bad { .. } | Health::Down { .. }));
        match &health {
            Health::Bad { why } => tracing::error!(part, "{part} does not work: {why}"),
            Health::Down { why } => tracing::warn!(part, "{part} is down, trying again: {why}"),
            Health::Fine => tracing::info!(part, "{part} works"),
            Health::Starting => {}
        }
        state.parts.insert(part.to_owned(), health);
        did_not_work
    }

    /// Forgets a part that has nothing to report any more.
    pub fn clear(&self, part: &str) {
        if self.state().parts.remove(part).is_some() {
            tracing::info!(part, "{part} works again");
        }
    }

    /// A place cannot be reached.
    pub fn park(&self, place: &Place, why: &str) {
        if self.state().parked.insert(place.clone(), why.to_owned()).as_deref() != Some(why) {
            tracing::warn!(%place, "cannot reach {place}: {why}; its cards wait for a sign of life there");
        }
    }

    /// A place can be reached again.
    pub fn unpark(&self, place: &Place) {
        if self.state().parked.remove(place).is_some() {
            tracing::info!(%place, "{place} can be reached again");
        }
    }

    /// Why a place cannot be reached, if it cannot.
    #[must_use]
    pub fn parked(&self, place: &Place) -> Option<String> {
        self.state().parked.get(place).cloned()
    }

    /// A card was refused, or nobody knows whether it arrived.
    pub fn undelivered(&self, ask: &AskKey, place: &Place, why: &str) {
        let mut state = self.state();
        if state.undelivered.len() < MOST_UNDELIVERED {
            state.undelivered.insert(format!("{ask} at {place}"), why.to_owned());
        }
    }

    /// Whether a card at a place was refused or may be missing.
    #[must_use]
    pub fn misses_something(&self, place: &Place) -> bool {
        let state = self.state();
        // Mostly there is none, and every tap comes by here.
        !state.undelivered.is_empty() && {
            let there = format!(" at {place}");
            state.undelivered.keys().any(|card| card.ends_with(&there))
        }
    }

    /// A card is as it should be.
    pub fn delivered(&self, ask: &AskKey, place: &Place) {
        let mut state = self.state();
        // Mostly there is none, and every card comes by here.
        if !state.undelivered.is_empty() {
            state.undelivered.remove(&format!("{ask} at {place}"));
        }
    }

    /// The service is stopping: readiness goes red, so that nothing new is sent here.
    pub fn stopping(&self) {
        self.state().stopping = true;
    }

    /// How everything is doing.
    #[must_use]
    pub fn status(&self) -> Report {
        let state = self.state();
        Report {
            ready: !state.stopping && state.parts.values().all(Health::is_ready),
            parts: state.parts.clone(),
            // An ntfy topic is a secret, so places are written as in a log.
            parked: state.parked.iter().map(|(place, why)| (place.to_string(), why.clone())).collect(),
            undelivered: state.undelivered.clone(),
        }
    }

    /// Counts something.
    pub fn count(&self, what: &'static str) {
        *self.counters.lock().unwrap_or_else(PoisonError::into_inner).entry(what).or_insert(0) += 1;
    }

    /// The counters, by name.
    #[must_use]
    pub fn counters(&self) -> BTreeMap<&'static str, u64> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The part's name of a channel.
#[must_use]
pub fn channel_part(kind: ChannelKind) -> &'static str {
    kind.as_str()
}

/// The part's name of a source.
#[must_use]
pub fn source_part(name: &SourceName) -> String {
    format!("source:{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readiness_waits_for_every_part_and_forgives_only_a_source_that_is_retried() {
        let board = Board::default();
        board.expect("store");
        board.expect("source:app");
        assert!(!board.status().ready, "nothing was tried yet");
        board.report("store", Health::Fine);
        board.report("source:app", Health::Down { why: "refused".into() });
        assert!(board.status().ready);
        board.report("telegram", Health::Bad { why: "another program polls".into() });
        assert!(!board.status().ready);
        board.report("telegram", Health::Fine);
        assert!(board.status().ready);
        board.stopping();
        assert!(!board.status().ready);
    }
}
