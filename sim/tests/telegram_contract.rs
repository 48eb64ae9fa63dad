//! The simulated Bot API held against the platform's facts, over real sockets (field case C4: the fake must not be kinder than
//! production).

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use sim::telegram::{Access, Standing, tables};

use bench::{Bench, FORUM, GROUP, PERSON, keyboard, with_button};

#[cfg(test)]
#[path = "telegram_contract/bench.rs"]
mod bench;
#[cfg(test)]
#[path = "telegram_contract/updates.rs"]
mod updates;
#[cfg(test)]
#[path = "telegram_contract/wire.rs"]
mod wire;

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one table of literal texts")]
async fn what_the_platform_refuses_to_send_is_refused_with_its_words() {
    let bench = Bench::start().await;
    bench.telegram.stranger(11);
    for (chat, access) in [
        (12, Access::Blocked),
        (13, Access::Deactivated),
        (-12, Access::Kicked),
        (-13, Access::NotMember),
        (-14, Access::Deleted),
    ] {
        if chat > 0 {
            bench.telegram.private_chat(chat);
        } else {
            bench.telegram.group(chat, "Other", &[]);
        }
        bench.telegram.set_access(chat, access);
    }
    bench.telegram.supergroup(-1_000_000_000_015, "Super", &[]);
    bench.telegram.set_access(-1_000_000_000_015, Access::Kicked);
    bench.telegram.topic(FORUM, 78, "Closed");
    bench.telegram.close_topic(FORUM, 78, true);
    let text = |text: &str| json!({"chat_id": PERSON, "text": text});
    let to = |chat: Value| json!({"chat_id": chat, "text": "x"});
    let entity = |entity: Value| json!({"chat_id": PERSON, "text": "a🎻b", "entities": [entity]});
    let marked = |mode: &str, text: &str| json!({"chat_id": PERSON, "text": text, "parse_mode": mode});
    let topic = |thread: i64| json!({"chat_id": FORUM, "text": "x", "message_thread_id": thread});
    let no_text_button =
        "Bad Request: can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard";
    let table = [
        (text(""), 400, "Bad Request: message text is empty"),
        (text(" \n "), 400, "Bad Request: message text is empty"),
        (text(&"🎻".repeat(2049)), 400, "Bad Request: message is too long"),
        (json!({"text": "x"}), 400, "Bad Request: chat_id is empty"),
        (to(json!(999)), 400, "Bad Request: chat not found"),
        (to(json!("@nobody_here")), 400, "Bad Request: chat not found"),
        (to(json!(11)), 403, "Forbidden: bot can't initiate conversation with a user"),
        (to(json!(12)), 403, "Forbidden: bot was blocked by the user"),
        (to(json!(13)), 403, "Forbidden: user is deactivated"),
        (to(json!(-12)), 403, "Forbidden: bot was kicked from the group chat"),
        (to(json!(-13)), 403, "Forbidden: bot is not a member of the group chat"),
        (to(json!(-14)), 403, "Forbidden: the group chat was deleted"),
        (to(json!(-1_000_000_000_015_i64)), 403, "Forbidden: bot was kicked from the supergroup chat"),
        (topic(76), 400, "Bad Request: message thread not found"),
        (topic(1), 400, "Bad Request: message thread not found"),
        (topic(78), 400, "Bad Request: TOPIC_CLOSED"),
        (
            entity(json!({"type": "bold", "offset": 5, "length": 1})),
            400,
            "Bad Request: entity begins after the end of the text at UTF-16 offset 5",
        ),
        (
            entity(json!({"type": "bold", "offset": 0, "length": 5})),
            400,
            "Bad Request: entity beginning at UTF-16 offset 0 ends after the end of the text at UTF-16 offset 5",
        ),
        (
            entity(json!({"type": "bold", "offset": 2, "length": 1})),
            400,
            "Bad Request: entity begins in a middle of a UTF-16 symbol at UTF-16 offset 2",
        ),
        (
            entity(json!({"type": "bold", "offset": 0, "length": 2})),
            400,
            "Bad Request: entity beginning at UTF-16 offset 0 ends in a middle of a UTF-16 symbol at UTF-16 offset 2",
        ),
        (
            entity(json!({"type": "bold", "offset": -1, "length": 2})),
            400,
            "Bad Request: receive an entity with incorrect offset -1",
        ),
        (
            entity(json!({"type": "loud", "offset": 0, "length": 1})),
            400,
            "Bad Request: can't parse MessageEntity: Unsupported type specified",
        ),
        (
            entity(json!({"type": "text_link", "offset": 0, "length": 1, "url": "not-a-url"})),
            400,
            "Bad Request: entity URL 'not-a-url' is invalid: Wrong HTTP URL",
        ),
        (marked("Loud", "x"), 400, "Bad Request: unsupported parse_mode"),
        (
            marked("HTML", "Delete <now>"),
            400,
            "Bad Request: can't parse entities: Unsupported start tag \"now\" at byte offset 7",
        ),
        (
            marked("MarkdownV2", "v1.2"),
            400,
            "Bad Request: can't parse entities: Character '.' is reserved and must be escaped with the preceding '\\'",
        ),
        (
            marked("Markdown", "a_b"),
            400,
            "Bad Request: can't parse entities: Can't find end of the entity starting at byte offset 1",
        ),
        (with_button(&json!({"text": "x", "callback_data": "a".repeat(65)})), 400, "Bad Request: BUTTON_DATA_INVALID"),
        (with_button(&json!({"text": "x", "callback_data": "🎻".repeat(17)})), 400, "Bad Request: BUTTON_DATA_INVALID"),
        (with_button(&json!({"text": "x", "callback_data": ""})), 400, no_text_button),
        (with_button(&json!({"text": "x"})), 400, no_text_button),
        (
            with_button(&json!({"text": "x", "callback_data": "a", "url": "https://example.com"})),
            400,
            "Bad Request: can't parse inline keyboard button: exactly one action must be specified",
        ),
        (
            with_button(&json!({"callback_data": "a"})),
            400,
            "Bad Request: can't parse inline keyboard button: Can't find field \"text\"",
        ),
        (
            with_button(&json!({"text": "x", "callback_data": "a", "style": "link"})),
            400,
            "Bad Request: can't parse inline keyboard button: invalid button style specified",
        ),
        (with_button(&json!({"text": "x", "url": "http://localhost:3000/"})), 400, "Bad Request: BUTTON_URL_INVALID"),
        (with_button(&json!({"text": "x", "url": "https://host.example/a b"})), 400, "Bad Request: BUTTON_URL_INVALID"),
        (with_button(&json!({"text": "x", "url": "app://x"})), 400, "Bad Request: BUTTON_URL_INVALID"),
        (
            json!({"chat_id": PERSON, "text": "x", "reply_markup": []}),
            400,
            "Bad Request: object expected as reply markup",
        ),
        (
            json!({"chat_id": PERSON, "text": "x", "reply_parameters": {"message_id": 9999}}),
            400,
            "Bad Request: message to be replied not found",
        ),
    ];
    for (params, status, words) in table {
        assert_eq!(bench.refused("sendMessage", params.clone()).await, (status, words.to_owned()), "{params}");
    }
    assert!(bench.telegram.messages(PERSON).is_empty(), "a refused message leaves nothing behind");
}

#[tokio::test]
async fn what_fits_the_limits_exactly_is_taken() {
    let bench = Bench::start().await;
    for params in [
        json!({"chat_id": PERSON, "text": "🎻".repeat(2048)}),
        json!({"chat_id": PERSON.to_string(), "text": "x"}),
        json!({"chat_id": FORUM, "text": "x", "message_thread_id": 77}),
        json!({"chat_id": PERSON, "text": "a🎻b", "entities": [{"type": "bold", "offset": 1, "length": 2}]}),
        with_button(&json!({"text": "x", "callback_data": "é".repeat(32)})),
        with_button(&json!({"text": "x", "callback_data": "a", "style": "danger"})),
        with_button(&json!({"text": "x", "callback_data": "a", "style": "default"})),
        with_button(&json!({"text": "x", "url": "http://127.0.0.1:8787/a"})),
        json!({"chat_id": PERSON, "text": "Name?", "reply_markup": {"force_reply": true}}),
    ] {
        bench.ok("sendMessage", params).await;
    }
}

#[tokio::test]
async fn a_message_is_told_as_the_bot_api_tells_it_and_kept_as_state() {
    let bench = Bench::start().await;
    let params = json!({
        "chat_id": FORUM, "message_thread_id": 77, "text": " Delete?\n14 todos ",
        "entities": [{"type": "bold", "offset": 1, "length": 7}], "link_preview_options": {"is_disabled": true},
        "reply_markup": {"inline_keyboard": [[{"text": "Yes", "callback_data": "t-1", "style": "danger"}],
                                             [{"text": "No", "callback_data": "t-2"}]]},
    });
    let told = bench.ok("sendMessage", params).await;
    assert_eq!(told["text"], "Delete?\n14 todos");
    assert_eq!(told["entities"], json!([{"type": "bold", "offset": 0, "length": 7}]));
    assert_eq!((&told["message_thread_id"], &told["is_topic_message"]), (&json!(77), &json!(true)));
    assert_eq!(told["chat"], json!({"id": FORUM, "title": "Forum", "is_forum": true, "type": "supergroup"}));
    assert_eq!(
        told["reply_markup"]["inline_keyboard"][0][0],
        json!({"text": "Yes", "style": "danger", "callback_data": "t-1"})
    );
    assert_eq!(told["from"]["is_bot"], true);
    let kept = bench.telegram.last_message(FORUM).unwrap();
    assert_eq!((kept.id, kept.thread, kept.edits, kept.deleted), (1, Some(77), 0, false));
    assert_eq!(kept.button("No").unwrap().callback_data(), Some("t-2"));
    assert!(kept.is_live() && !kept.link_preview);
    assert_eq!(bench.telegram.violations(), []);
}

#[tokio::test]
async fn edits_follow_the_platforms_rules() {
    let bench = Bench::start().await;
    let card = bench.card(PERSON).await;
    let same = "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as \
                a current content and reply markup of the message";
    let edit = |text: &str| json!({"chat_id": PERSON, "message_id": card, "text": text});
    let told = bench.ok("editMessageText", edit("Team")).await;
    assert!(told.get("reply_markup").is_none(), "an edit without a keyboard removes it");
    assert!(told["edit_date"].is_i64());
    assert_eq!(bench.refused("editMessageText", edit("Team")).await, (400, same.to_owned()));
    assert_eq!(bench.refused("editMessageText", edit(" Team ")).await, (400, same.to_owned()));
    let markup = json!({"chat_id": PERSON, "message_id": card, "reply_markup": keyboard(&json!([{"text": "a", "callback_data": "b"}]))});
    bench.ok("editMessageReplyMarkup", markup.clone()).await;
    assert_eq!(bench.refused("editMessageReplyMarkup", markup).await, (400, same.to_owned()));
    assert_eq!(bench.telegram.message(PERSON, card).unwrap().edits, 2);

    let not_found = (400, "Bad Request: message to edit not found".to_owned());
    assert_eq!(
        bench.refused("editMessageText", json!({"chat_id": PERSON, "message_id": 999, "text": "x"})).await,
        not_found
    );
    assert!(bench.telegram.delete_message(PERSON, card));
    assert_eq!(bench.refused("editMessageText", edit("late")).await, not_found);
    let theirs = bench.telegram.say(PERSON, PERSON, "hello").unwrap();
    assert_eq!(
        bench.refused("editMessageText", json!({"chat_id": PERSON, "message_id": theirs, "text": "x"})).await,
        (400, "Bad Request: message can't be edited".to_owned())
    );
    assert_eq!(
        bench.refused("editMessageText", json!({"chat_id": PERSON, "text": "x"})).await,
        (400, "Bad Request: message identifier is not specified".to_owned())
    );
}

#[tokio::test]
async fn messages_can_be_deleted_for_48_hours() {
    let bench = Bench::start().await;
    let (young, old) = (bench.card(PERSON).await, bench.card(PERSON).await);
    let delete = |message: i64| json!({"chat_id": PERSON, "message_id": message});
    bench.ok("deleteMessage", delete(young)).await;
    assert_eq!(
        bench.refused("deleteMessage", delete(young)).await,
        (400, "Bad Request: message to delete not found".to_owned())
    );
    bench.clock.advance(Duration::from_hours(49));
    assert_eq!(
        bench.refused("deleteMessage", delete(old)).await,
        (400, "Bad Request: message can't be deleted for everyone".to_owned())
    );
}

#[tokio::test]
async fn an_upgraded_group_names_its_successor() {
    let bench = Bench::start().await;
    let card = bench.card(GROUP).await;
    let successor = bench.telegram.upgrade(GROUP);
    for (method, params) in [
        ("sendMessage", json!({"chat_id": GROUP, "text": "x"})),
        ("editMessageText", json!({"chat_id": GROUP, "message_id": card, "text": "x"})),
    ] {
        let (status, body) = bench.call(method, params).await;
        assert_eq!(status, 400);
        assert_eq!(body["description"], "Bad Request: group chat was upgraded to a supergroup chat");
        assert_eq!(body["parameters"], json!({"migrate_to_chat_id": successor}));
    }
    let sent = bench.ok("sendMessage", json!({"chat_id": successor, "text": "x"})).await;
    assert_eq!(sent["chat"]["type"], "supergroup");
    let updates = bench.updates(json!({})).await;
    assert_eq!(updates[0]["message"]["migrate_to_chat_id"], successor);
}

#[tokio::test]
async fn the_other_methods_answer_and_refuse() {
    let bench = Bench::start().await;
    bench.ok("setMyCommands", json!({"commands": [{"command": "start", "description": "Begin"}]})).await;
    assert_eq!(bench.telegram.commands("").len(), 1);
    for (method, params, words) in [
        ("setMyCommands", json!({"commands": [{"command": "Start", "description": "x"}]}), "BOT_COMMAND_INVALID"),
        (
            "setMyCommands",
            json!({"commands": [{"command": "a", "description": ""}]}),
            "BOT_COMMAND_DESCRIPTION_INVALID",
        ),
        ("sendChatAction", json!({"chat_id": PERSON, "action": "dancing"}), "wrong parameter action in request"),
        ("getChat", json!({"chat_id": 999}), "chat not found"),
        ("getChatMember", json!({"chat_id": GROUP, "user_id": 999}), "user not found"),
        ("deleteMessage", json!({"chat_id": PERSON, "message_id": 999}), "message to delete not found"),
    ] {
        assert_eq!(bench.refused(method, params).await, (400, format!("Bad Request: {words}")), "{method}");
    }
    bench.ok("sendChatAction", json!({"chat_id": PERSON, "action": "typing"})).await;
    assert_eq!(bench.telegram.chat_actions(), [(PERSON, "typing".to_owned())]);
    assert_eq!(bench.ok("getChat", json!({"chat_id": FORUM})).await["is_forum"], true);
    let member = json!({"chat_id": GROUP, "user_id": PERSON});
    assert_eq!(bench.ok("getChatMember", member.clone()).await["status"], "member");
    bench.telegram.set_standing(GROUP, PERSON, Standing::Left);
    assert_eq!(bench.ok("getChatMember", member).await["status"], "left");
}

/// The tables against the published file: every name, type and requirement.
#[test]
fn the_tables_agree_with_the_published_specification() {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/reference/specs/telegram-api.json"));
    let Ok(text) = std::fs::read_to_string(path) else {
        println!("NOT CHECKED: the published specification {} is not here", path.display());
        return;
    };
    let published: Value = serde_json::from_str(&text).unwrap();
    for (section, shapes) in [("methods", tables::METHODS), ("types", tables::OBJECTS)] {
        for shape in shapes {
            let fields = published[section][shape.name].get("fields").and_then(Value::as_array).cloned();
            assert!(published[section].get(shape.name).is_some(), "{} is published", shape.name);
            let theirs: Vec<Value> = fields
                .unwrap_or_default()
                .iter()
                .map(|field| json!([field["name"], field["types"], field["required"]]))
                .collect();
            let ours: Vec<Value> =
                shape.fields.iter().map(|field| json!([field.name, field.types, field.required])).collect();
            assert_eq!(ours, theirs, "{}", shape.name);
        }
    }
}
