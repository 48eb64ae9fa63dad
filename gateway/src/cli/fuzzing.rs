//! What the commands that read lines do with one of them, for the fuzz targets of `tests`.

use asks::card::Card;
use serde_json::Value;

use super::preview::{self, Lines};
use super::validate;
use crate::words::Language;

/// What `askgate validate --json` answers to these bytes, line by line.
#[must_use]
pub fn validated(bytes: &[u8]) -> Vec<Value> {
    Lines::of(bytes, true).into_iter().flatten().map(|line| validate::check(&line)).collect()
}

/// What `askgate preview --json` answers to these bytes, line by line and in each language; an error where a line is no ask.
#[must_use]
pub fn previewed(bytes: &[u8]) -> Vec<Result<Value, Value>> {
    let lines = Lines::of(bytes, true).into_iter().flatten();
    lines
        .flat_map(|ask| {
            let card = preview::card(&ask);
            [Language::En, Language::De].map(|language| card.clone().map(|card| preview::shown(&ask, card, language)))
        })
        .collect()
}

/// What each channel would show of a card that a source sent, whatever is in it.
#[must_use]
pub fn shown(card: Card) -> Value {
    preview::shown(&Value::Null, card, Language::En)
}
