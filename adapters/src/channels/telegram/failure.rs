//! The one file that turns what the Bot API says into what to do next, fed by a table of literal texts.
//!
//! The texts drift ("query id is invalid" became "query ID is invalid"), so they are searched for as parts and without
//! regard to case, and only after the error code and the parameters were asked.

use std::time::Duration;

use asks::place::Place;

use super::client::{Refusal, Trouble};
use crate::channel::Failure;

/// How long to wait after a 429 that does not say.
const UNSAID_WAIT: Duration = Duration::from_secs(5);
/// How long to wait after a failure of the network or of the servers.
const SHORT_WAIT: Duration = Duration::from_secs(2);
/// How long to wait after an answer that is not the Bot API's and says that nothing was done (a proxy's 4xx).
const LONG_WAIT: Duration = Duration::from_secs(10);

/// What a refusal means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Too many requests; again after this long.
    TooFast(Duration),
    /// The group has another id now.
    Moved(i64),
    /// The chat or topic cannot be written to.
    PlaceGone,
    /// The message is not there, or not ours to change.
    MessageGone,
    /// The message says that already.
    Unchanged,
    /// Too late to acknowledge a press, or acknowledged before.
    QueryExpired,
    /// The address of a link button is not taken.
    LinkRefused,
    /// A webhook is set, so polling is refused.
    WebhookSet,
    /// Another program polls with the same token.
    OtherPoller,
    /// The token is not accepted.
    TokenRefused,
    /// The servers have trouble of their own.
    ServerTrouble,
    /// Anything else: the request is wrong and stays wrong.
    Refused,
}

/// What a call was meant to do, where that decides whether doing it twice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// Makes a new message: a second try may make a second one.
    Send,
    /// Changes something to a given state: a second try is harmless.
    Change,
}

/// The literal texts, in lower case. The first that occurs decides.
const TEXTS: &[(&str, Meaning)] = &[
    ("message is not modified", Meaning::Unchanged),
    ("message to edit not found", Meaning::MessageGone),
    ("message can't be edited", Meaning::MessageGone),
    ("message_id_invalid", Meaning::MessageGone),
    ("message to delete not found", Meaning::MessageGone),
    ("message can't be deleted", Meaning::MessageGone),
    ("message identifier is not specified", Meaning::MessageGone),
    ("query is too old", Meaning::QueryExpired),
    ("query id is invalid", Meaning::QueryExpired),
    ("query_id_invalid", Meaning::QueryExpired),
    ("button_url_invalid", Meaning::LinkRefused),
    ("wrong http url", Meaning::LinkRefused),
    ("url host is empty", Meaning::LinkRefused),
    ("unsupported url protocol", Meaning::LinkRefused),
    ("inline keyboard button url", Meaning::LinkRefused),
    ("bot was blocked by the user", Meaning::PlaceGone),
    ("user_is_blocked", Meaning::PlaceGone),
    ("user is deactivated", Meaning::PlaceGone),
    ("user_deactivated", Meaning::PlaceGone),
    ("bot was kicked", Meaning::PlaceGone),
    ("bot is not a member", Meaning::PlaceGone),
    ("bot can't initiate conversation", Meaning::PlaceGone),
    ("bot can't send messages to bots", Meaning::PlaceGone),
    ("chat not found", Meaning::PlaceGone),
    ("peer_id_invalid", Meaning::PlaceGone),
    ("channel_private", Meaning::PlaceGone),
    ("group chat was deleted", Meaning::PlaceGone),
    ("group chat was deactivated", Meaning::PlaceGone),
    // With an address to go to it was decided before; without one there is nowhere to send to.
    ("group chat was upgraded to a supergroup chat", Meaning::PlaceGone),
    ("message thread not found", Meaning::PlaceGone),
    ("topic_closed", Meaning::PlaceGone),
    ("topic_deleted", Meaning::PlaceGone),
    ("topic_id_invalid", Meaning::PlaceGone),
    ("not enough rights to send", Meaning::PlaceGone),
    ("have no rights to send", Meaning::PlaceGone),
    ("need administrator rights in the channel", Meaning::PlaceGone),
    ("chat_write_forbidden", Meaning::PlaceGone),
    ("chat_restricted", Meaning::PlaceGone),
    ("chat_send_plain_forbidden", Meaning::PlaceGone),
    ("chat_admin_required", Meaning::PlaceGone),
    // Said by servers that are older than a method, not about the token.
    ("method not found", Meaning::Refused),
];

/// Says what a refusal means.
#[must_use]
pub(super) fn meaning(refusal: &Refusal) -> Meaning {
    if refusal.code == 429 {
        return Meaning::TooFast(refusal.retry_after.unwrap_or(UNSAID_WAIT));
    }
    if let Some(chat) = refusal.migrate_to {
        return Meaning::Moved(chat);
    }
    if refusal.code >= 500 {
        return Meaning::ServerTrouble;
    }
    let said = refusal.description.to_lowercase();
    if refusal.code == 409 {
        return if said.contains("webhook") { Meaning::WebhookSet } else { Meaning::OtherPoller };
    }
    if let Some((_, meaning)) = TEXTS.iter().find(|(text, _)| said.contains(text)) {
        return *meaning;
    }
    match refusal.code {
        401 | 404 => Meaning::TokenRefused,
        403 => Meaning::PlaceGone,
        _ => Meaning::Refused,
    }
}

/// How long the servers want not to be asked, if that is what they said.
#[must_use]
pub(super) fn wait_wanted(trouble: &Trouble) -> Option<Duration> {
    match trouble {
        Trouble::Refused(refusal) => match meaning(refusal) {
            Meaning::TooFast(after) => Some(after),
            _ => None,
        },
        Trouble::Unreadable { status: 429, retry_after } => Some(retry_after.unwrap_or(LONG_WAIT)),
        _ => None,
    }
}

/// Says what to do after trouble with a send or an edit at a place.
#[must_use]
pub(super) fn failure(trouble: &Trouble, act: Act, place: &Place) -> Failure {
    match trouble {
        Trouble::NotSent { why } => Failure::Retry { after: SHORT_WAIT, why: why.clone() },
        Trouble::NoAnswer { why } => unknown(act, why.clone()),
        Trouble::Unreadable { status, .. } => {
            let why = format!("HTTP {status} with an answer that is not the Bot API's");
            match (wait_wanted(trouble), status) {
                (Some(after), _) => Failure::Retry { after, why },
                (None, 300..=499) => Failure::Retry { after: LONG_WAIT, why },
                (None, _) => unknown(act, why),
            }
        }
        Trouble::Refused(refusal) => refused(refusal, act, place),
    }
}

fn refused(refusal: &Refusal, act: Act, place: &Place) -> Failure {
    let why = refusal.description.clone();
    match meaning(refusal) {
        Meaning::TooFast(after) => Failure::Retry { after, why },
        Meaning::Moved(chat) => match place {
            Place::Telegram { topic, .. } => Failure::Moved { to: Place::Telegram { chat, topic: *topic } },
            _ => Failure::Refused { why },
        },
        Meaning::PlaceGone => Failure::PlaceGone { why },
        Meaning::MessageGone => Failure::MessageGone,
        Meaning::Unchanged => Failure::Unchanged,
        Meaning::TokenRefused => Failure::Unauthorised,
        Meaning::ServerTrouble => unknown(act, why),
        Meaning::QueryExpired
        | Meaning::LinkRefused
        | Meaning::WebhookSet
        | Meaning::OtherPoller
        | Meaning::Refused => Failure::Refused { why },
    }
}

fn unknown(act: Act, why: String) -> Failure {
    match act {
        Act::Send => Failure::Ambiguous { why },
        Act::Change => Failure::Retry { after: SHORT_WAIT, why },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(code: i64, description: &str) -> Refusal {
        Refusal { code, description: description.to_owned(), ..Refusal::default() }
    }

    #[test]
    fn the_literal_texts_of_the_field() {
        use Meaning::{
            LinkRefused, MessageGone, OtherPoller, PlaceGone, QueryExpired, Refused, ServerTrouble, TokenRefused,
            Unchanged, WebhookSet,
        };
        for (code, text, expected) in [
            (400, "Bad Request: message is not modified: specified new message content is exactly the same", Unchanged),
            (400, "Bad Request: query is too old and response timeout expired or query id is invalid", QueryExpired),
            (400, "Bad Request: query is too old and response timeout expired or query ID is invalid", QueryExpired),
            (400, "Bad Request: QUERY_ID_INVALID", QueryExpired),
            (403, "Forbidden: bot was blocked by the user", PlaceGone),
            (403, "Forbidden: user is deactivated", PlaceGone),
            (403, "Forbidden: bot was kicked from the group chat", PlaceGone),
            (403, "Forbidden: bot was kicked from the supergroup chat", PlaceGone),
            (403, "Forbidden: bot is not a member of the supergroup chat", PlaceGone),
            (403, "Forbidden: bot can't initiate conversation with a user", PlaceGone),
            (403, "Forbidden: the group chat was deleted", PlaceGone),
            (403, "Forbidden: words of a later version", PlaceGone),
            (400, "Bad Request: chat not found", PlaceGone),
            (400, "Bad Request: message thread not found", PlaceGone),
            (400, "Bad Request: TOPIC_CLOSED", PlaceGone),
            (400, "Bad Request: TOPIC_DELETED", PlaceGone),
            (400, "Bad Request: not enough rights to send text messages to the chat", PlaceGone),
            (400, "Bad Request: have no rights to send a message", PlaceGone),
            (400, "Bad Request: CHAT_WRITE_FORBIDDEN", PlaceGone),
            (400, "Bad Request: group chat was upgraded to a supergroup chat", PlaceGone),
            (400, "Bad Request: message to edit not found", MessageGone),
            (400, "Bad Request: message can't be edited", MessageGone),
            (400, "Bad Request: MESSAGE_ID_INVALID", MessageGone),
            (400, "Bad Request: BUTTON_URL_INVALID", LinkRefused),
            (400, "Bad Request: inline keyboard button URL 'x' is invalid: Wrong HTTP URL", LinkRefused),
            (409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook", WebhookSet),
            (
                409,
                "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
                OtherPoller,
            ),
            (401, "Unauthorized", TokenRefused),
            (404, "Not Found", TokenRefused),
            (404, "Not Found: method not found", Refused),
            (500, "Internal Server Error: restart", ServerTrouble),
            (502, "Bad Gateway", ServerTrouble),
            (400, "Bad Request: BUTTON_DATA_INVALID", Refused),
            (400, "", Refused),
        ] {
            assert_eq!(meaning(&said(code, text)), expected, "{code} {text}");
            assert_eq!(meaning(&said(code, &text.to_uppercase())), expected, "{code} {text} in capitals");
        }
    }

    #[test]
    fn parameters_come_before_words() {
        let slow =
            Refusal { retry_after: Some(Duration::from_secs(56)), ..said(429, "Too Many Requests: chat not found") };
        assert_eq!(meaning(&slow), Meaning::TooFast(Duration::from_secs(56)));
        assert_eq!(meaning(&said(429, "")), Meaning::TooFast(UNSAID_WAIT));
        let moved = Refusal {
            migrate_to: Some(-1_004_503_599_627_370_495),
            ..said(400, "Bad Request: group chat was upgraded to a supergroup chat")
        };
        let place: Place = "telegram:-5/7".parse().unwrap();
        let to: Place = "telegram:-1004503599627370495/7".parse().unwrap();
        assert_eq!(failure(&Trouble::Refused(moved), Act::Send, &place), Failure::Moved { to });
    }

    #[test]
    fn only_a_send_that_left_is_ambiguous() {
        let place: Place = "telegram:5".parse().unwrap();
        let why = || "w".to_owned();
        let page = |status| Trouble::Unreadable { status, retry_after: None };
        let ambiguous = |trouble: &Trouble, act| matches!(failure(trouble, act, &place), Failure::Ambiguous { .. });
        for (trouble, expected) in [
            (Trouble::NotSent { why: why() }, false),
            (Trouble::NoAnswer { why: why() }, true),
            (page(502), true),
            (page(200), true),
            (page(403), false),
            (page(429), false),
            (page(302), false),
            (Trouble::Refused(said(500, "Internal Server Error")), true),
            (Trouble::Refused(said(429, "Too Many Requests")), false),
        ] {
            assert_eq!(ambiguous(&trouble, Act::Send), expected, "{trouble:?}");
            assert!(matches!(failure(&trouble, Act::Change, &place), Failure::Retry { .. }), "{trouble:?}");
        }
    }
}
