//! Every vector: derivation, buttons, asks, answers and bytes.

use asks::answer::AskResponse;
use asks::ask::Surface;
use asks::card::{Card, Kind};
use asks::derive::{derive, find_button};
use asks::ids::{ButtonId, ToolCallId};
use asks::{limits, validate};
use base64::Engine as _;
use serde::Deserialize;
use serde_json::Value;

use crate::reference::{brief, by_value, vectors};

fn kind(vector: &Value) -> Kind {
    Kind::from(vector["kind"].as_str().expect("a kind"))
}

/// Fails with every vector that differs, not only with the first.
fn compare(name: &str, actual: impl Fn(&Value) -> (Value, Value)) {
    let mut wrong = Vec::new();
    for (number, vector) in vectors(name).iter().enumerate() {
        let (actual, expected) = actual(vector);
        if actual != expected {
            wrong.push(format!("{name} {number}: {vector}\n  expected {expected}\n  actual   {actual}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn cards_are_derived() {
    compare("derive.jsonl", |vector| {
        let card = derive(&kind(vector), &vector["input"], &ToolCallId::new("call_fixture"))
            .map_or_else(|invalid| invalid.to_string().into(), |card| serde_json::to_value(card).expect("a card"));
        (by_value(&card), by_value(&vector["card"]))
    });
}

#[test]
fn buttons_are_found() {
    compare("button.jsonl", |vector| {
        let card = Card::deserialize(&vector["card"]).expect("a card");
        let id = ButtonId::new(vector["buttonId"].as_str().expect("an id"));
        match find_button(&card, &id) {
            Ok(button) => (button.response.clone(), vector["response"].clone()),
            Err(error) => (brief(&[error])[0].clone(), vector["error"].clone()),
        }
    });
}

#[test]
fn asks_are_checked() {
    compare("input.jsonl", |vector| {
        let surface = if vector["surface"] == "compact" { Surface::Compact } else { Surface::Full };
        (brief(&validate::ask(&kind(vector), surface, &vector["input"])), vector["errors"].clone())
    });
}

#[test]
fn answers_are_checked() {
    compare("response.jsonl", |vector| {
        let max = vector["maxFileSizeBytes"].as_u64().unwrap_or(limits::DEFAULT_MAX_FILE_SIZE);
        let errors = validate::answer(&kind(vector), &vector["input"], &vector["response"], max);
        (brief(&errors), vector["errors"].clone())
    });
}

#[test]
fn bytes_are_checked() {
    compare("bytes.jsonl", |vector| {
        let text = |key: &str| vector[key].as_str().expect("a string");
        let bytes = base64::engine::general_purpose::STANDARD.decode(text("base64")).expect("base64");
        let max = vector["max"].as_u64().expect("a cap");
        (brief(&validate::bytes(&bytes, text("mimeType"), max)), vector["errors"].clone())
    });
}

#[test]
fn an_unknown_button_is_refused_in_the_literal_words() {
    let mut card: Card = serde_json::from_value(vectors("derive.jsonl")[0]["card"].clone()).expect("a card");
    let error = find_button(&card, &ButtonId::new("no\"pe")).expect_err("not there");
    assert_eq!(error.message, r#"Button "no\"pe" is not on the pending ask's simple card."#);
    assert_eq!(error.fix, r#"Send the id of one of the card's buttons: "option:tea", "option:mate", "skip"."#);
    card.buttons.clear();
    let error = find_button(&card, &ButtonId::new("nope")).expect_err("not there");
    assert_eq!(error.fix, "The card has no buttons. Send a full askResponse instead.");
}

#[test]
fn every_answer_in_the_vectors_that_is_valid_reads_as_an_envelope_and_back() {
    for vector in vectors("response.jsonl").iter().filter(|vector| vector["errors"] == Value::Array(Vec::new())) {
        let response = AskResponse::read(&vector["response"]).expect("a valid envelope");
        assert_eq!(response.to_value(), vector["response"]);
        assert_eq!(serde_json::to_value(&response).expect("JSON"), vector["response"]);
    }
}
