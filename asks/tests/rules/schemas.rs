//! What is written is valid against Terreno's published schemas.

use std::fs;

use asks::answer::{AskResponse, TurnRequest};
use asks::ask::{AskSummary, PendingAsk, Surface, TurnResult};
use asks::card::{Card, Kind};
use asks::derive::derive;
use asks::ids::{ButtonId, ConversationId, ToolCallId};
use jsonschema::Validator;
use serde::Serialize;
use serde_json::{Value, json};

use crate::reference::{parse, shared, vectors};

struct Schema(Option<Validator>);

impl Schema {
    fn of(name: &str) -> Self {
        let path = shared(&format!("schemas/{name}.schema.json"));
        Self(path.map(|path| {
            let schema = parse(&fs::read_to_string(path).expect("a readable schema"));
            jsonschema::draft7::new(&schema).expect("a schema without references to elsewhere")
        }))
    }

    fn accepts(&self, value: &impl Serialize) {
        let value = serde_json::to_value(value).expect("JSON");
        let Some(schema) = &self.0 else { return };
        let errors: Vec<String> = schema.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{value}\n{}", errors.join("\n"));
    }

    fn refuses(&self, value: &Value) {
        if let Some(schema) = &self.0 {
            assert!(!schema.is_valid(value), "{value}");
        }
    }
}

fn all_cards() -> Vec<Card> {
    vectors("derive.jsonl")
        .iter()
        .map(|vector| {
            let kind = Kind::from(vector["kind"].as_str().expect("a kind"));
            derive(&kind, &vector["input"], &ToolCallId::new("call_fixture")).expect("a valid ask")
        })
        .collect()
}

#[test]
fn cards() {
    let schema = Schema::of("simpleCard");
    for card in all_cards() {
        schema.accepts(&card);
        let read: Card = serde_json::from_value(serde_json::to_value(&card).expect("JSON")).expect("a card");
        assert_eq!(read, card);
    }
    schema.refuses(&json!({ "kind": "confirm" }));
}

#[test]
fn turn_requests() {
    let schema = Schema::of("turnRequest");
    let ask = || ToolCallId::new("call_1");
    let content = json!({ "confirmed": true });
    let accept = AskResponse::Accept { content: content.as_object().expect("an object").clone() };
    let bodies = [
        (TurnRequest::prompt("Hello"), json!({ "prompt": "Hello" })),
        (
            TurnRequest::button(ask(), ButtonId::new("option:a")).on(Surface::Compact),
            json!({ "toolCallId": "call_1", "buttonId": "option:a", "surface": "compact" }),
        ),
        (
            TurnRequest::response(ask(), accept).on(Surface::Full),
            json!({
                "askResponse": { "toolCallId": "call_1", "action": "accept", "content": { "confirmed": true } },
                "surface": "full"
            }),
        ),
        (
            TurnRequest::response(ask(), AskResponse::Decline),
            json!({ "askResponse": { "toolCallId": "call_1", "action": "decline" } }),
        ),
        (
            TurnRequest::response(ask(), AskResponse::Cancel { reason: None }),
            json!({ "askResponse": { "toolCallId": "call_1", "action": "cancel" } }),
        ),
        (
            TurnRequest::response(ask(), AskResponse::Cancel { reason: Some("expired".to_owned()) }),
            json!({ "askResponse": { "toolCallId": "call_1", "action": "cancel", "reason": "expired" } }),
        ),
    ];
    for (request, body) in bodies {
        schema.accepts(&request);
        assert_eq!(serde_json::to_value(&request).expect("JSON"), body);
    }
    schema.refuses(&json!({ "prompt": null }));
}

#[test]
fn pending_asks() {
    let schema = Schema::of("pendingAsksResponse");
    for (number, card) in all_cards().into_iter().enumerate() {
        let ask = PendingAsk {
            created: "2026-12-01T08:15:30.120Z".to_owned(),
            conversation: ConversationId::new("6b1f00aa11bb22cc33dd44ee"),
            kind: card.kind.clone(),
            ask: card.tool_call_id.clone(),
            title: number.is_multiple_of(2).then(|| "A title".to_owned()),
            card,
        };
        let body = json!({ "data": [ask], "requestId": "r" });
        schema.accepts(&body);
        let read = asks::wire::read_pending(body.to_string().as_bytes()).expect("a list");
        assert_eq!((read.asks, read.unreadable), (vec![ask], vec![]));
    }
    schema.refuses(&json!({ "data": [{}] }));
}

#[test]
fn turn_responses() {
    let schema = Schema::of("turnResponse");
    for (number, card) in all_cards().into_iter().enumerate() {
        let odd = !number.is_multiple_of(2);
        let result = TurnResult {
            conversation: ConversationId::new("6b1f00aa11bb22cc33dd44ee"),
            text: if odd { "Done.".to_owned() } else { String::new() },
            title: odd.then(|| "A title".to_owned()),
            pending_ask: Some(AskSummary { kind: card.kind.clone(), ask: card.tool_call_id.clone(), card }),
            error: odd.then(|| "model failed".to_owned()),
        };
        let body = json!({ "data": result });
        schema.accepts(&body);
        let read = asks::wire::read_turn(body.to_string().as_bytes()).expect("a result");
        assert_eq!((read.result, read.unreadable), (result, None));
    }
    schema.refuses(&json!({ "data": { "historyId": "h" } }));
}
