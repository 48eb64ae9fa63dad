//! The buttons of a `choice`: one per option where they fit and can be told apart, else the suggestion.

use std::collections::HashSet;

use serde_json::json;

use super::{Face, SKIP, accept, decline, is_valid, short};
use crate::card::{Button, Style};
use crate::input::{Choice, Input, Offered, Select};
use crate::limits;

pub(super) fn face(ask: &Choice, input: &Input) -> Face {
    match ask.select {
        Select::Many => beside_handoff(suggested(ask).filter(|button| is_valid(button, input)), ask),
        Select::One if ask.options.len() > limits::CARD_BUTTONS => beside_handoff(suggested_one(ask), ask),
        Select::One if labels_differ(&ask.options) => every_option(ask),
        Select::One => beside_handoff(None, ask),
    }
}

/// One button per option, the suggested one first. Where three options fill the card, Skip is left out.
fn every_option(ask: &Choice) -> Face {
    let suggested = ask.default.first().and_then(|id| ask.option(id));
    let others = ask.options.iter().filter(|option| suggested.is_none_or(|first| first.id != option.id));
    let room_for_skip = ask.options.len() < limits::CARD_BUTTONS;
    Face {
        buttons: suggested
            .map(|option| option_button(option, Style::Primary))
            .into_iter()
            .chain(others.map(|option| option_button(option, Style::Default)))
            .chain(decline(SKIP, room_for_skip && ask.question.allow_decline))
            .collect(),
        handoff: false,
    }
}

fn option_button(option: &Offered, style: Style) -> Button {
    accept(&format!("option:{}", option.id), &option.label, style, json!({ "selected": [option.id] }))
}

/// What little the card can hold, where the answer needs the full app.
fn beside_handoff(suggested: Option<Button>, ask: &Choice) -> Face {
    Face { buttons: suggested.into_iter().chain(decline(SKIP, ask.question.allow_decline)).collect(), handoff: true }
}

/// Every suggested option of a "many" at once.
fn suggested(ask: &Choice) -> Option<Button> {
    (!ask.default.is_empty())
        .then(|| accept("use-default", "Use suggested", Style::Primary, json!({ "selected": ask.default })))
}

/// The one suggested option among many, if the little of its label that fits says which one it is.
fn suggested_one(ask: &Choice) -> Option<Button> {
    let option = ask.default.first().and_then(|id| ask.option(id))?;
    let label = short(&option.label, limits::CARD_SUGGESTION);
    let reads_alike = |other: &Offered| other.id != option.id && short(&other.label, limits::CARD_SUGGESTION) == label;
    if ask.options.iter().any(reads_alike) {
        return None;
    }
    let label = format!("Use \"{label}\"");
    Some(accept("use-default", &label, Style::Primary, json!({ "selected": [option.id] })))
}

fn labels_differ(options: &[Offered]) -> bool {
    let mut seen = HashSet::new();
    options.iter().all(|option| seen.insert(short(&option.label, limits::CARD_LABEL)))
}
