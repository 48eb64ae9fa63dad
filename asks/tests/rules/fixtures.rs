//! Terreno's published fixtures: valid asks with their cards, invalid ones with their errors.

use asks::ask::Surface;
use asks::card::{Card, Kind};
use asks::derive::derive;
use asks::ids::ToolCallId;
use asks::validate;
use serde::Deserialize;

use crate::reference::{brief, folder};

#[test]
fn valid_asks_have_their_cards() {
    for (name, fixture) in folder("fixtures/valid") {
        let kind = Kind::from(fixture["kind"].as_str().expect("a kind"));
        let card = derive(&kind, &fixture["input"], &ToolCallId::new("call_fixture")).expect(&name);
        assert_eq!(serde_json::to_value(&card).expect("JSON"), fixture["simple"], "{name}");
        assert_eq!(Card::deserialize(&fixture["simple"]).expect(&name), card, "{name}");
    }
}

#[test]
fn invalid_asks_have_their_errors() {
    for (name, fixture) in folder("fixtures/invalid") {
        let kind = Kind::from(fixture["kind"].as_str().expect("a kind"));
        let errors = validate::ask(&kind, Surface::Full, &fixture["input"]);
        assert_eq!(brief(&errors), fixture["errors"], "{name}");
        for error in errors {
            assert!(error.message.ends_with('.') && error.fix.ends_with('.'), "two sentences: {error}");
        }
        assert!(derive(&kind, &fixture["input"], &ToolCallId::new("call_fixture")).is_err(), "{name}");
    }
}
