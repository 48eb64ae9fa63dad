//! Asking once more before something that cannot be undone.
//!
//! That somebody is being asked is kept in memory only: it promises nothing, lasts half a minute, and a start that has forgotten
//! it shows the card as it was before.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use asks::ids::ButtonId;
use asks::place::Actor;
use store::record::{Delivery, DeliveryId};

use crate::announce;
use crate::hub::Hub;

/// How long somebody has to confirm.
pub const TIME: Duration = Duration::from_secs(30);

#[derive(Debug, Clone)]
struct Asked {
    number: u64,
    actor: Actor,
    button: ButtonId,
    until: Instant,
}

#[derive(Debug, Default)]
struct State {
    last: u64,
    asked: HashMap<DeliveryId, Asked>,
}

/// Who is being asked, at which delivery of which card. It holds at most one entry for each delivery, and each for [`TIME`].
#[derive(Debug, Default)]
pub struct OnceMore(Mutex<State>);

/// What became of a confirmation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmed {
    /// It counts, once.
    Yes,
    /// Somebody else was asked.
    Another,
    /// Nobody is being asked that any more.
    TooLate,
}

impl OnceMore {
    /// Asks somebody; whoever is being asked already is asked anew. `None` while it is another person, else the question's number.
    pub fn ask(&self, at: DeliveryId, actor: Actor, button: &ButtonId, now: Instant) -> Option<u64> {
        let mut state = self.state();
        if state.asked.get(&at).is_some_and(|asked| asked.until > now && asked.actor != actor) {
            return None;
        }
        state.last += 1;
        let number = state.last;
        state.asked.insert(at, Asked { number, actor, button: button.clone(), until: now + TIME });
        Some(number)
    }

    /// Takes a confirmation. One that counts ends the question.
    pub fn confirm(&self, at: DeliveryId, actor: Actor, button: &ButtonId, now: Instant) -> Confirmed {
        let mut state = self.state();
        match state.asked.get(&at) {
            Some(asked) if asked.until > now && asked.button == *button => {
                if asked.actor != actor {
                    return Confirmed::Another;
                }
                state.asked.remove(&at);
                Confirmed::Yes
            }
            _ => Confirmed::TooLate,
        }
    }

    /// Ends whatever question is asked there.
    pub fn take_back(&self, at: DeliveryId) {
        self.state().asked.remove(&at);
    }

    /// The button that is asked about there.
    #[must_use]
    pub fn button(&self, at: DeliveryId, now: Instant) -> Option<ButtonId> {
        self.state().asked.get(&at).filter(|asked| asked.until > now).map(|asked| asked.button.clone())
    }

    /// Ends one question. Returns whether it was still asked.
    fn end(&self, at: DeliveryId, number: u64) -> bool {
        let mut state = self.state();
        let is_asked = state.asked.get(&at).is_some_and(|asked| asked.number == number);
        if is_asked {
            state.asked.remove(&at);
        }
        is_asked
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Brings the card back when the time is over, or when the service stops before.
pub fn expire(hub: &Arc<Hub>, delivery: &Delivery, number: u64) {
    let (hub, at) = (Arc::clone(hub), delivery.id);
    hub.clone().spawn(async move {
        hub.wait_softly(TIME).await;
        if hub.once_more.end(at, number) {
            show(&hub, at).await;
        }
    });
}

/// Marks the one card that shows, or showed, the question.
pub async fn show(hub: &Arc<Hub>, at: DeliveryId) {
    let shown = async {
        if let Some(delivery) = hub.ledger.delivery(at).await? {
            announce::touch_delivery(hub, &delivery).await?;
        }
        Ok::<_, store::ledger::LedgerError>(())
    };
    if let Err(error) = shown.await {
        tracing::warn!(delivery = %at, "a card cannot be brought up to date yet: {error}");
    }
}

#[cfg(test)]
mod tests {
    use adapters::clock::{Clock as _, SystemClock};

    use super::*;

    #[test]
    fn only_the_person_who_began_confirms_and_only_once_and_in_time() {
        let (once_more, now) = (OnceMore::default(), SystemClock.instant());
        let (at, delete) = (DeliveryId(1), ButtonId::new("approve"));
        let (one, other) = (Actor::Telegram(1), Actor::Telegram(2));
        assert_eq!(once_more.confirm(at, one, &delete, now), Confirmed::TooLate, "nobody was asked");
        let first = once_more.ask(at, one, &delete, now).expect("asked");
        assert_eq!(once_more.button(at, now), Some(delete.clone()));
        assert_eq!(once_more.button(DeliveryId(2), now), None, "at that delivery only");
        assert_eq!(once_more.ask(at, other, &delete, now), None);
        assert_eq!(once_more.confirm(at, other, &delete, now), Confirmed::Another);
        assert_eq!(once_more.confirm(at, one, &ButtonId::new("deny"), now), Confirmed::TooLate);

        // The time counts from the last first tap.
        let later = now + TIME / 2;
        let second = once_more.ask(at, one, &delete, later).expect("asked anew");
        assert!(!once_more.end(at, first), "an old timer ends nothing");
        assert_eq!(once_more.confirm(at, one, &delete, now + TIME), Confirmed::Yes);
        assert_eq!(once_more.confirm(at, one, &delete, now + TIME), Confirmed::TooLate, "it counts once");
        assert!(!once_more.end(at, second));

        once_more.ask(at, one, &delete, now).expect("asked");
        assert_eq!(once_more.confirm(at, one, &delete, now + TIME), Confirmed::TooLate);
        assert_eq!(once_more.button(at, now + TIME), None);
        once_more.ask(at, other, &delete, now + TIME).expect("whoever was asked before has had the time");
        once_more.take_back(at);
        assert_eq!(once_more.button(at, now + TIME), None);
        assert!(once_more.state().asked.is_empty());
    }
}
