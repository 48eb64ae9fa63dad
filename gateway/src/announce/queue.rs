//! One queue for each place: what waits to be shown there, in which order.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use asks::life::UnixMillis;
use asks::place::Place;
use store::record::{DeliveryId, NoticeId};

/// One thing to bring up to date at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Item {
    /// A message that is there already: what it says comes first, because somebody looks at it.
    Edit(UnixMillis, DeliveryId),
    /// Something new: the agent's words and cards, oldest first, words before the card that follows them.
    New(UnixMillis, New),
}

/// Something new at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum New {
    /// A text.
    Notice(NoticeId),
    /// A card.
    Card(DeliveryId),
}

#[derive(Debug, Default)]
struct PlaceQueue {
    items: BTreeSet<Item>,
    working: bool,
}

/// All queues. A place that has nothing to do takes no memory.
#[derive(Debug, Default)]
pub struct Queues {
    places: Mutex<HashMap<Place, PlaceQueue>>,
}

/// What a worker does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// This.
    Item(Item),
    /// Nothing yet, and something later.
    Wait,
    /// Nothing any more.
    End,
}

impl Queues {
    /// Adds an item, once. Returns whether the caller must start a worker for the place.
    #[must_use]
    pub fn push(&self, place: &Place, item: Item) -> bool {
        let mut places = self.lock();
        let queue = places.entry(place.clone()).or_default();
        queue.items.insert(item);
        !std::mem::replace(&mut queue.working, true)
    }

    /// Takes the next item. `None` ends the worker: the next push asks for a new one.
    #[must_use]
    pub fn pop(&self, place: &Place) -> Option<Item> {
        let mut places = self.lock();
        let item = places.get_mut(place)?.items.pop_first();
        if item.is_none() {
            places.remove(place);
        }
        item
    }

    /// Takes the next item for a worker that may have more to do later. An empty queue ends a worker that
    /// has not.
    #[must_use]
    pub(super) fn pop_unless(&self, place: &Place, waits: bool) -> Next {
        let mut places = self.lock();
        match places.get_mut(place).map(|queue| queue.items.pop_first()) {
            Some(Some(item)) => Next::Item(item),
            Some(None) if waits => Next::Wait,
            _ => {
                places.remove(place);
                Next::End
            }
        }
    }

    /// Takes the next item if it is an edit.
    #[must_use]
    pub fn pop_edit(&self, place: &Place) -> Option<Item> {
        let mut places = self.lock();
        let items = &mut places.get_mut(place)?.items;
        let edit = items.first().copied().filter(|item| matches!(item, Item::Edit(..)))?;
        items.remove(&edit);
        Some(edit)
    }

    /// How many items wait, in all.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().values().map(|queue| queue.items.len() + usize::from(queue.working)).sum()
    }

    /// Whether nothing waits and nobody works.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Place, PlaceQueue>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_come_first_then_words_then_cards_oldest_first() {
        let queues = Queues::default();
        let place = Place::Telegram { chat: 7, topic: None };
        let card = |at, id| Item::New(at, New::Card(DeliveryId(id)));
        assert!(queues.push(&place, card(20, 2)), "the first push starts a worker");
        assert!(!queues.push(&place, card(10, 1)));
        assert!(!queues.push(&place, card(10, 1)), "once is enough");
        assert!(!queues.push(&place, Item::New(20, New::Notice(NoticeId(9)))));
        assert!(!queues.push(&place, Item::Edit(30, DeliveryId(3))));
        let edit = queues.pop_edit(&place).expect("an edit is first");
        assert_eq!(queues.pop_edit(&place), None, "only edits");
        assert!(!queues.push(&place, edit));
        let order: Vec<Item> = std::iter::from_fn(|| queues.pop(&place)).collect();
        let expected =
            [Item::Edit(30, DeliveryId(3)), card(10, 1), Item::New(20, New::Notice(NoticeId(9))), card(20, 2)];
        assert_eq!(order, expected);
        assert!(queues.is_empty());
        assert_eq!(queues.pop_edit(&place), None);
        assert!(queues.push(&place, card(1, 1)), "a drained place needs a new worker");
    }
}
