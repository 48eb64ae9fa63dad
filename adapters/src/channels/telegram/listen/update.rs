//! Reads updates, tolerantly: a field that is missing or of another type than expected costs that field, never the tap.

use asks::place::{Actor, MessageRef, Place};
use serde_json::Value;

use crate::channel::{Press, Said};

/// What an update says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Update {
    /// Somebody pressed a button.
    Press {
        /// The id to acknowledge.
        query: String,
        /// The press.
        press: Press,
    },
    /// A press without data of ours, such as a game's: acknowledged, nothing else.
    EmptyPress {
        /// The id to acknowledge.
        query: String,
    },
    /// Somebody wrote something.
    Wrote {
        /// The place, if it is a private chat: then this is a sign of life.
        alive: Option<Place>,
        /// What was written, if it is text.
        said: Option<Said>,
    },
    /// The bot was let in, blocked or removed.
    Place {
        /// Where.
        place: Place,
        /// Whether it may write there now.
        state: Result<(), String>,
    },
    /// Nothing for us.
    Other,
    /// A kind we listen for, in a shape we cannot read.
    Unreadable(&'static str),
}

/// An update's id.
#[must_use]
pub(super) fn id(update: &Value) -> Option<i64> {
    update.get("update_id").and_then(Value::as_i64)
}

/// Reads an update.
#[must_use]
pub(super) fn read(update: &Value) -> Update {
    if let Some(query) = update.get("callback_query") {
        return press(query).unwrap_or(Update::Unreadable("callback_query"));
    }
    if let Some(message) = update.get("message") {
        return wrote(message).unwrap_or(Update::Unreadable("message"));
    }
    if let Some(change) = update.get("my_chat_member") {
        return membership(change).unwrap_or(Update::Unreadable("my_chat_member"));
    }
    Update::Other
}

fn press(query: &Value) -> Option<Update> {
    let id = text(query, "/id")?;
    let Some(token) = text(query, "/data") else { return Some(Update::EmptyPress { query: id }) };
    let chat = number(query, "/message/chat/id").map(|chat| chat.to_string());
    let message = chat
        .clone()
        .zip(number(query, "/message/message_id"))
        .map(|(chat, id)| MessageRef { chat, id: id.to_string() });
    let press = Press {
        token,
        actor: actor(query)?,
        actor_name: name(query),
        language: text(query, "/from/language_code"),
        chat,
        message,
    };
    Some(Update::Press { query: id, press })
}

fn wrote(message: &Value) -> Option<Update> {
    let chat = number(message, "/chat/id").filter(|chat| *chat != 0)?;
    // Channels and anonymous admins write through a bot's or nobody's account: nobody to talk to.
    let is_bot = message.pointer("/from/is_bot").and_then(Value::as_bool) == Some(true);
    let Some(actor) = actor(message).filter(|_| !is_bot) else { return Some(Update::Other) };
    let in_topic = message.get("is_topic_message").and_then(Value::as_bool) == Some(true);
    let topic = number(message, "/message_thread_id").filter(|topic| in_topic && *topic > 0);
    let said = text(message, "/text").map(|text| Said {
        actor,
        place: Place::Telegram { chat, topic },
        text,
        language: self::text(message, "/from/language_code"),
        name: handle(message),
    });
    let alive = (chat > 0).then_some(Place::Telegram { chat, topic: None });
    Some(if alive.is_none() && said.is_none() { Update::Other } else { Update::Wrote { alive, said } })
}

fn membership(change: &Value) -> Option<Update> {
    let chat = number(change, "/chat/id").filter(|chat| *chat != 0)?;
    let status = text(change, "/new_chat_member/status")?;
    let may = |what: &str| change.pointer(&format!("/new_chat_member/{what}")).and_then(Value::as_bool) != Some(false);
    let state = match status.as_str() {
        "member" | "administrator" | "creator" => Ok(()),
        "restricted" if may("is_member") && may("can_send_messages") => Ok(()),
        "restricted" => Err("the bot may not write there".to_owned()),
        "kicked" if chat > 0 => Err("the person blocked the bot".to_owned()),
        "left" | "kicked" => Err("the bot was removed from the chat".to_owned()),
        _ => return Some(Update::Other),
    };
    Some(Update::Place { place: Place::Telegram { chat, topic: None }, state })
}

fn actor(value: &Value) -> Option<Actor> {
    number(value, "/from/id").filter(|id| *id > 0).map(Actor::Telegram)
}

fn name(value: &Value) -> Option<String> {
    let names: Vec<String> =
        ["/from/first_name", "/from/last_name"].into_iter().filter_map(|path| text(value, path)).collect();
    if names.is_empty() { text(value, "/from/username") } else { Some(names.join(" ")) }
}

/// The name that nobody else has, where there is one.
fn handle(value: &Value) -> Option<String> {
    text(value, "/from/username").map(|name| format!("@{name}")).or_else(|| name(value))
}

fn text(value: &Value, path: &str) -> Option<String> {
    value.pointer(path).and_then(Value::as_str).map(str::to_owned)
}

fn number(value: &Value, path: &str) -> Option<i64> {
    value.pointer(path).and_then(Value::as_i64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn query(message: &Value) -> Value {
        let from = json!({"id": 5, "is_bot": false, "first_name": "A", "last_name": "B", "language_code": "de"});
        json!({"update_id": 1, "callback_query": {"id": "77", "from": from, "message": message, "data": "tok",
            "chat_instance": "x", "new_field": [1]}})
    }

    #[test]
    fn a_press_is_read_whatever_the_message_is() {
        let at = |chat: &str, id: &str| Some(MessageRef { chat: chat.into(), id: id.into() });
        for (message, chat, reference) in [
            (
                json!({"message_id": 9, "date": 1, "chat": {"id": -1001, "type": "supergroup"}, "text": "x"}),
                Some("-1001"),
                at("-1001", "9"),
            ),
            (json!({"message_id": 9, "date": 0, "chat": {"id": 5, "type": "private"}}), Some("5"), at("5", "9")),
            (json!({"chat": {"id": 5}}), Some("5"), None),
            (Value::Null, None, None),
            (json!("of another type"), None, None),
            (json!({"message_id": {"odd": true}, "chat": 7}), None, None),
        ] {
            let Update::Press { query, press } = read(&query(&message)) else { panic!("{message}") };
            assert_eq!((query.as_str(), press.token.as_str(), press.actor), ("77", "tok", Actor::Telegram(5)));
            assert_eq!((press.actor_name.as_deref(), press.language.as_deref()), (Some("A B"), Some("de")));
            assert_eq!((press.chat.as_deref(), press.message), (chat, reference), "{message}");
        }
    }

    #[test]
    fn a_press_of_something_else_is_only_acknowledged() {
        let update = json!({"callback_query": {"id": "77", "from": {"id": 5}, "game_short_name": "g"}});
        assert_eq!(read(&update), Update::EmptyPress { query: "77".into() });
        assert_eq!(
            read(&json!({"callback_query": {"from": {"id": 5}, "data": "x"}})),
            Update::Unreadable("callback_query")
        );
    }

    #[test]
    fn messages_say_where_and_what() {
        let said = |message: Value| match read(&json!({"message": message})) {
            Update::Wrote { alive, said } => {
                (alive.map(|place| place.address()), said.map(|said| (said.place.address(), said.text)))
            }
            other => panic!("{other:?}"),
        };
        let from = json!({"id": 5, "is_bot": false});
        assert_eq!(
            said(json!({"from": from, "chat": {"id": 5}, "text": "/start abc"})),
            (Some("telegram:5".into()), Some(("telegram:5".into(), "/start abc".into())))
        );
        assert_eq!(said(json!({"from": from, "chat": {"id": 5}, "photo": []})), (Some("telegram:5".into()), None));
        assert_eq!(
            said(
                json!({"from": from, "chat": {"id": -7}, "text": "ok", "message_thread_id": 77, "is_topic_message": true})
            ),
            (None, Some(("telegram:-7/77".into(), "ok".into())))
        );
        assert_eq!(
            said(json!({"from": from, "chat": {"id": -7}, "text": "ok", "message_thread_id": 77})),
            (None, Some(("telegram:-7".into(), "ok".into()))),
            "a reply's thread is no topic"
        );
        for quiet in [
            json!({"from": {"id": 1_087_968_824, "is_bot": true}, "chat": {"id": -7}, "text": "ok"}),
            json!({"chat": {"id": -7}, "text": "ok"}),
            json!({"from": from, "chat": {"id": -7}, "new_chat_title": "x"}),
        ] {
            assert_eq!(read(&json!({"message": quiet})), Update::Other);
        }
    }

    #[test]
    fn memberships() {
        for (chat, member, expected) in [
            (5, json!({"status": "kicked"}), Some(false)),
            (5, json!({"status": "member"}), Some(true)),
            (-7, json!({"status": "left"}), Some(false)),
            (-7, json!({"status": "administrator"}), Some(true)),
            (-7, json!({"status": "restricted", "is_member": true, "can_send_messages": false}), Some(false)),
            (-7, json!({"status": "restricted", "is_member": true, "can_send_messages": true}), Some(true)),
            (-7, json!({"status": "of a later version"}), None),
        ] {
            let update = read(&json!({"my_chat_member": {"chat": {"id": chat}, "new_chat_member": member}}));
            let found = match update {
                Update::Place { state, .. } => Some(state.is_ok()),
                _ => None,
            };
            assert_eq!(found, expected, "{member}");
        }
    }

    #[test]
    fn nothing_from_outside_breaks_it() {
        for update in [
            json!(null),
            json!([]),
            json!("x"),
            json!({"update_id": "1"}),
            json!({"poll": {}}),
            json!({"message": 1}),
            json!({"my_chat_member": {"chat": {"id": 0}}}),
            json!({"callback_query": null}),
        ] {
            let _ = (id(&update), read(&update));
        }
    }
}
