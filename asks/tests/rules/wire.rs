//! Reading what a host should not send, but might.

use asks::ask::AskStatus;
use asks::card::{Kind, Style};
use asks::ids::{ConversationId, ToolCallId};
use asks::wire::{WireError, read_history, read_pending, read_turn};
use serde_json::{Value, json};

fn entry(ask: &str, card: &Value) -> Value {
    json!({ "created": "2026-12-01T08:15:30.120Z", "historyId": "h1", "kind": "confirm", "toolCallId": ask,
        "simple": card })
}

fn card(text: &str) -> Value {
    json!({ "toolCallId": "c1", "kind": "confirm", "text": text, "handoff": false, "buttons": [] })
}

#[test]
fn one_bad_entry_never_loses_its_siblings() {
    let good = entry("c1", &card("Go?")).to_string();
    let deep = format!("{{\"historyId\":\"h\",\"x\":{}{}}}", "[".repeat(500), "]".repeat(500));
    let bad = [
        "null".to_owned(),
        "7".to_owned(),
        "[]".to_owned(),
        "{}".to_owned(),
        json!({ "historyId": "h2", "toolCallId": "c2", "kind": "confirm", "simple": 5 }).to_string(),
        json!({ "historyId": "", "toolCallId": "c2", "kind": "confirm", "simple": card("x") }).to_string(),
        json!({ "historyId": "h2", "toolCallId": 5, "kind": "confirm", "simple": card("x") }).to_string(),
        deep,
        r#"{"historyId":"h","toolCallId":"c","kind":"form","simple":{"text":"x","buttons":[{"id":"a","label":"b","response":1e999}]}}"#
            .to_owned(),
    ];
    let body = format!(r#"{{"data":[{good},{},{good}]}}"#, bad.join(","));
    let read = read_pending(body.as_bytes()).expect("a list");
    assert_eq!(read.asks.len(), 2);
    assert_eq!(read.unreadable.len(), bad.len());
    let named = &read.unreadable[4];
    assert_eq!(named.conversation, Some(ConversationId::new("h2")));
    assert_eq!(named.ask, Some(ToolCallId::new("c2")));
}

#[test]
fn half_an_emoji_is_no_reason_to_go_deaf() {
    let mut text = entry("c1", &card("@@")).to_string().replace("@@", r"cut \ud83d, whole \ud83d\ude00, code \\ud83d");
    text = format!(r#"{{"data":[{text}]}}"#);
    let read = read_pending(text.as_bytes()).expect("a list");
    assert_eq!(read.asks[0].card.text, "cut \u{fffd}, whole 😀, code \\ud83d");
    let bytes = text.replace("cut", "\u{1}").into_bytes().into_iter().map(|b| if b == 1 { 0xff } else { b });
    let read = read_pending(&bytes.collect::<Vec<u8>>()).expect("a list");
    assert!(read.asks[0].card.text.starts_with('\u{fffd}'));
}

#[test]
fn cards_that_break_the_limits_are_read() {
    let button = |id: &str, label: &str| json!({ "id": id, "label": label, "response": { "action": "decline" } });
    let long_id = format!("option:{}", "x".repeat(64));
    let buttons =
        [button(&long_id, ""), button("b", &"y".repeat(300)), button("b", "c"), button("", "e"), button("f", "g")];
    let body = json!({ "data": [
        entry("c1", &json!({ "text": "z".repeat(20_000), "kind": "quiz", "title": null, "buttons": buttons, "new": {} })),
        entry("c2", &json!({ "text": "", "buttons": null, "handoff": null })),
        entry("c3", &json!({ "text": "s", "buttons": [{ "id": "a", "label": "b", "style": "neon" },
            { "id": "c", "label": "d", "style": null }, { "id": "e", "label": "f", "style": "destructive", "response": null }] })),
    ]});
    let read = read_pending(body.to_string().as_bytes()).expect("a list");
    assert_eq!(read.unreadable, []);
    let [first, second, third] = read.asks.try_into().expect("three asks");
    assert_eq!(first.card.text.len(), 20_000);
    assert_eq!(first.card.buttons.len(), 5);
    assert_eq!(first.card.buttons[0].id.as_str(), long_id);
    assert_eq!(first.card.kind, Kind::Other("quiz".to_owned()));
    assert_eq!(first.card.tool_call_id, ToolCallId::new("c1"), "filled in from the entry");
    assert!(second.card.buttons.is_empty() && !second.card.handoff);
    let styles: Vec<Style> = third.card.buttons.iter().map(|button| button.style).collect();
    assert_eq!(styles, [Style::Default, Style::Default, Style::Destructive]);
}

#[test]
fn what_is_no_list_is_an_error_and_not_an_empty_list() {
    for body in ["", "<html>", "{\"data\":[", "\u{1}"] {
        assert!(matches!(read_pending(body.as_bytes()), Err(WireError::NotJson(_))), "{body}");
    }
    for body in ["{}", "[]", "null", "{\"data\":null}", "{\"data\":{}}", "{\"data\":\"[]\"}", "{\"status\":200}"] {
        assert!(matches!(read_pending(body.as_bytes()), Err(WireError::WrongShape(_))), "{body}");
    }
    assert_eq!(read_pending(b"{\"data\":[]}").map(|read| read.asks.len()), Ok(0));
    assert_eq!(read_pending(b"{\"data\":5,\"data\":[]}").map(|read| read.asks.len()), Ok(0), "the last one counts");
}

#[test]
fn a_turn_keeps_its_text_and_error_beside_an_unreadable_ask() {
    let body = json!({ "data": { "historyId": "h1", "text": null, "title": null, "error": { "code": 5 },
        "pendingAsk": { "toolCallId": "c1", "kind": "confirm", "simple": "?" } } });
    let read = read_turn(body.to_string().as_bytes()).expect("a result");
    assert_eq!(read.result.text, "");
    assert_eq!(read.result.error.as_deref(), Some(r#"{"code":5}"#));
    assert_eq!(read.result.pending_ask, None);
    assert_eq!(read.unreadable.and_then(|lost| lost.ask), Some(ToolCallId::new("c1")));

    let body = json!({ "data": { "historyId": "h1", "text": "Done.", "error": null, "pendingAsk": null, "more": 1 } });
    let read = read_turn(body.to_string().as_bytes()).expect("a result");
    assert_eq!((read.result.text.as_str(), read.result.error, read.unreadable), ("Done.", None, None));
    for body in ["{\"data\":{}}", "{\"data\":{\"historyId\":\"\",\"text\":\"\"}}", "{\"data\":[]}", "{}", "x"] {
        assert!(read_turn(body.as_bytes()).is_err(), "{body}");
    }
}

#[test]
fn a_conversation_says_how_an_ask_was_answered() {
    let answer = json!({ "action": "accept", "content": { "confirmed": true } });
    let body = json!({ "data": { "_id": "h1", "prompts": [
        { "type": "user", "text": "go", "content": [] },
        { "type": "tool-call", "toolCallId": "c1", "toolName": "ask_confirm", "args": { "prompt": "Go?" },
          "ask": { "kind": "confirm", "status": "answered" } },
        { "type": "tool-result", "toolCallId": "c1", "toolName": "ask_confirm", "result": answer },
        { "type": "tool-result", "toolCallId": "c1", "toolName": "deleteTodos", "result": { "deleted": 3 } },
        { "type": "later", "text": null },
    ]}});
    let read = read_history(body.to_string().as_bytes()).expect("a conversation");
    assert_eq!(read.unreadable, []);
    assert_eq!(read.history.answer(&ToolCallId::new("c1")), Some(&answer), "the tool's own output is no answer");
    assert_eq!(read.history.status(&ToolCallId::new("c1")), Some(&AskStatus::Answered));
    assert_eq!(read.history.answer(&ToolCallId::new("c2")), None);
}

#[test]
fn a_row_that_cannot_be_read_is_counted() {
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    let body = format!(
        r#"{{"data":{{"id":"h1","prompts":[null,{{"type":"tool-result","toolCallId":"c1","result":{deep}}},{{"type":5}},{{}}]}}}}"#
    );
    let read = read_history(body.as_bytes()).expect("a conversation");
    assert_eq!(read.history.rows.len(), 1);
    let asks: Vec<Option<ToolCallId>> = read.unreadable.into_iter().map(|lost| lost.ask).collect();
    assert_eq!(asks, [None, Some(ToolCallId::new("c1")), None]);

    let read = read_history(br#"{"data":{"id":"h1","prompts":{}}}"#).expect("a conversation");
    assert_eq!(read.unreadable.len(), 1, "rows that are no list are not the same as no rows");
    assert!(read_history(br#"{"data":{"prompts":[]}}"#).is_err());
}

#[test]
fn reasons_do_not_repeat_what_an_ask_says() {
    let body = json!({ "data": [{ "historyId": "h", "toolCallId": "c", "kind": "confirm", "simple": "my secret" }] });
    let read = read_pending(body.to_string().as_bytes()).expect("a list");
    assert!(!read.unreadable[0].why.contains("secret"), "{}", read.unreadable[0].why);
}
