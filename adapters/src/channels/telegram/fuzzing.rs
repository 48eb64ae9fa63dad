//! What holds for any answer of the Bot API.

use std::sync::OnceLock;
use std::time::Duration;

use asks::place::Place;
use serde_json::Value;
use url::Url;

pub use super::listen::fuzzing::telegram_update;

use super::client::{Client, Trouble};
use super::failure::{Act, failure, wait_wanted};
use super::{BotToken, wire};
use crate::channel::Failure;
use crate::fuzzing::reply;

const TOKEN: &str = "1234567:a-secret-of-the-bot";
const A_DAY: Duration = Duration::from_hours(24);

/// Reads a status line and a body as an answer of the Bot API.
///
/// Asserts that no wait is longer than a day, that the token is in no words, that a send in doubt is never tried again by
/// itself, and that trouble of the servers never parks a place or retires a message.
///
/// # Panics
/// If one of these does not hold.
pub fn telegram_answer(bytes: &[u8]) {
    static CLIENT: OnceLock<Option<Client>> = OnceLock::new();
    let (status, _, body) = reply(bytes);
    let client = CLIENT.get_or_init(|| {
        let url = Url::parse("http://127.0.0.1:1").ok()?;
        Some(Client::new(reqwest::Client::default(), &url, BotToken::new(TOKEN)))
    });
    let Some(client) = client else { return };
    let trouble = match client.read::<Value>(status, None, body) {
        Ok(result) => {
            let _ = wire::Sent::read(&result);
            return;
        }
        Err(trouble) => trouble,
    };
    assert!(!format!("{trouble:?}").contains(TOKEN), "the token is in what is said");
    assert!(wait_wanted(&trouble).is_none_or(|wait| wait <= A_DAY), "a wait of more than a day");
    for place in [Place::Telegram { chat: -5, topic: Some(7) }, Place::Telegram { chat: 5, topic: None }] {
        for act in [Act::Send, Act::Change] {
            let next = failure(&trouble, act, &place);
            if let Failure::Retry { after, .. } = &next {
                assert!(*after <= A_DAY, "a retry after more than a day");
            }
            if let Failure::Moved { to: Place::Telegram { topic, .. } } = &next {
                assert!(matches!(place, Place::Telegram { topic: was, .. } if was == *topic), "a move lost the topic");
            }
            let code = match &trouble {
                Trouble::Refused(refusal) => refusal.code,
                _ => i64::from(status),
            };
            let moved = matches!(&trouble, Trouble::Refused(refusal) if refusal.migrate_to.is_some());
            if code >= 500 && !moved {
                assert_eq!(matches!(next, Failure::Ambiguous { .. }), act == Act::Send, "{next:?} after {code}");
                assert_eq!(matches!(next, Failure::Retry { .. }), act == Act::Change, "{next:?} after {code}");
            }
        }
    }
}
