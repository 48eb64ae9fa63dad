//! What holds for any update.

use asks::place::Place;
use serde_json::Value;

use super::update::{self, Update};

/// Reads bytes as an update.
///
/// Asserts that a press keeps its data and names its chat as its message does, that every place can be written down and read
/// again, and that only a private chat is a sign of life.
///
/// # Panics
/// If one of these does not hold.
pub fn telegram_update(bytes: &[u8]) {
    let Ok(whole) = serde_json::from_slice::<Value>(bytes) else { return };
    let _ = update::id(&whole);
    let again = |place: &Place| assert_eq!(place.address().parse().as_ref(), Ok(place), "a place that cannot be read");
    match update::read(&whole) {
        Update::Press { press, .. } => {
            assert_eq!(whole.pointer("/callback_query/data").and_then(Value::as_str), Some(press.token.as_str()));
            if let Some(message) = &press.message {
                assert_eq!(press.chat.as_ref(), Some(&message.chat), "a press in another chat than its message");
            }
        }
        Update::Wrote { alive, said } => {
            assert!(alive.is_some() || said.is_some(), "nothing was written and nobody is there");
            if let Some(place) = &alive {
                assert!(matches!(place, Place::Telegram { chat: 1.., topic: None }), "a group as a sign of life");
                again(place);
            }
            if let Some(said) = &said {
                again(&said.place);
            }
        }
        Update::Place { place, .. } => again(&place),
        Update::EmptyPress { .. } | Update::Other | Update::Unreadable(_) => {}
    }
}
