//! A card as a notification. Pure.

use std::collections::BTreeMap;

use asks::card::Style;
use serde::Serialize;
use unicode_segmentation::UnicodeSegmentation as _;
use url::Url;

use super::limits::{ACTIONS, TEXT_BYTES, TITLE_BYTES};
use crate::channel::{CardView, Urgency, ViewButton};

/// Where the phone sends a pressed action.
#[derive(Debug, Clone)]
pub(super) struct Actions {
    base: String,
}

/// The body of one publish. Source: the "publish as JSON" page of the ntfy documentation.
#[derive(Debug, Serialize)]
pub(super) struct Publish {
    topic: String,
    sequence_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    title: String,
    message: String,
    priority: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    click: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    actions: Vec<Action>,
}

/// One button. Everything is JSON, so no text of an agent can become a header or a second action.
#[derive(Debug, Serialize)]
struct Action {
    #[serde(rename = "action")]
    kind: &'static str,
    label: String,
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'static str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<&'static str, &'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clear: Option<bool>,
}

impl Actions {
    /// Below the service's public address.
    pub(super) fn new(public_url: &Url) -> Self {
        Self { base: public_url.as_str().trim_end_matches('/').to_owned() }
    }
}

/// Whether a change of the card is worth disturbing a phone: how it ended, or what a person has to know; not "Sending...".
pub(super) fn is_worth_a_notification(view: &CardView) -> bool {
    view.urgency != Urgency::Passing
}

/// The notification of a card.
pub(super) fn card(topic: &str, sequence: &str, view: &CardView, actions: &Actions) -> Publish {
    let mut lines: Vec<&str> = Vec::new();
    lines.extend(view.origin.as_deref());
    lines.push(&view.text);
    lines.extend(view.legend.iter().map(String::as_str));
    lines.extend(view.status.as_deref());
    let link = view.link.as_ref();
    Publish {
        topic: topic.to_owned(),
        sequence_id: sequence.to_owned(),
        title: cut(view.title.as_deref().unwrap_or_default(), TITLE_BYTES),
        message: cut(&lines.join("\n"), TEXT_BYTES),
        priority: priority(view),
        click: link.map(|(_, url)| url.clone()),
        actions: buttons(view, actions),
    }
}

/// A text of its own: what the agent said.
pub(super) fn text(topic: &str, sequence: &str, text: &str) -> Publish {
    Publish {
        topic: topic.to_owned(),
        sequence_id: sequence.to_owned(),
        title: String::new(),
        message: cut(text, TEXT_BYTES),
        priority: 3,
        click: None,
        actions: vec![],
    }
}

fn buttons(view: &CardView, actions: &Actions) -> Vec<Action> {
    // A thumb hits the first button by accident, so what cannot be undone is never the first.
    let (safe, destructive): (Vec<&ViewButton>, Vec<&ViewButton>) =
        view.buttons.iter().partition(|button| button.style != Style::Destructive);
    let pressed = safe.into_iter().chain(destructive).map(|button| Action {
        kind: "http",
        label: button.label.clone(),
        url: format!("{}/n/{}", actions.base, button.token),
        method: Some("POST"),
        headers: BTreeMap::from([("Content-Type", "application/json")]),
        body: Some("{}"),
        clear: Some(true),
    });
    // Opening something must not take the notification away: it is not answered yet.
    let opened = view.link.iter().map(|(label, url)| Action {
        kind: "view",
        label: label.clone(),
        url: url.clone(),
        method: None,
        headers: BTreeMap::new(),
        body: None,
        clear: None,
    });
    pressed.chain(opened).take(ACTIONS).collect()
}

/// An ask that waits wakes the phone, and quiet hours or a finished one do not.
fn priority(view: &CardView) -> u8 {
    let destructive = view.buttons.iter().any(|button| button.style == Style::Destructive);
    match view.urgency {
        Urgency::Waiting if destructive => 5,
        Urgency::Waiting => 4,
        Urgency::Quiet | Urgency::Passing | Urgency::Over => 2,
    }
}

/// As much as fits, at a whole grapheme; a cut text says so by its end.
fn cut(text: &str, most: usize) -> String {
    const MORE: &str = "…";
    if text.len() <= most {
        return text.to_owned();
    }
    let room = most.saturating_sub(MORE.len());
    let mut kept = String::new();
    for grapheme in text.graphemes(true) {
        if kept.len() + grapheme.len() > room {
            break;
        }
        kept.push_str(grapheme);
    }
    kept + MORE
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn actions() -> Actions {
        Actions::new(&"https://ask.example.com/gate/".parse().expect("an address"))
    }

    fn button(label: &str, style: Style) -> ViewButton {
        ViewButton { label: label.into(), style, token: "t".repeat(22) }
    }

    fn view(buttons: Vec<ViewButton>) -> CardView {
        CardView { title: Some("Todos".into()), text: "Delete 14 todos?".into(), buttons, ..CardView::default() }
    }

    fn published(view: &CardView) -> Value {
        serde_json::to_value(card("topic", "s1", view, &actions())).expect("JSON")
    }

    #[test]
    fn a_card_is_a_notification_whose_buttons_answer() {
        let mut view = view(vec![button("Delete", Style::Destructive), button("Keep", Style::Cancel)]);
        view.link = Some(("Open".into(), "https://app.example.com/".into()));
        let body = published(&view);
        let labels: Vec<&str> = body["actions"]
            .as_array()
            .expect("actions")
            .iter()
            .map(|a| a["label"].as_str().expect("a label"))
            .collect();
        assert_eq!(labels, ["Keep", "Delete", "Open"], "what cannot be undone is never the first");
        assert_eq!(
            body["actions"][0],
            json!({"action": "http", "label": "Keep", "url": format!("https://ask.example.com/gate/n/{}", "t".repeat(22)), "method": "POST",
                "headers": {"Content-Type": "application/json"}, "body": "{}", "clear": true})
        );
        assert_eq!(body["actions"][2], json!({"action": "view", "label": "Open", "url": "https://app.example.com/"}));
        assert_eq!(
            (&body["priority"], &body["click"], &body["sequence_id"]),
            (&json!(5), &json!("https://app.example.com/"), &json!("s1"))
        );
    }

    #[test]
    fn three_buttons_leave_the_link_to_the_notification_itself() {
        let mut view = view(vec![button("A", Style::Primary), button("B", Style::Default), button("C", Style::Cancel)]);
        view.link = Some(("Open".into(), "https://app.example.com/".into()));
        let body = published(&view);
        assert_eq!(body["actions"].as_array().map(Vec::len), Some(3));
        assert!(body["actions"].as_array().expect("actions").iter().all(|action| action["action"] == "http"));
        assert_eq!(body["click"], "https://app.example.com/");
    }

    #[test]
    fn a_finished_card_is_quiet_and_has_no_buttons() {
        let over = CardView { urgency: Urgency::Over, status: Some("Answered: Keep".into()), ..view(vec![]) };
        let body = published(&over);
        assert_eq!((&body["priority"], body.get("actions")), (&json!(2), None));
        assert!(body["message"].as_str().expect("text").ends_with("Answered: Keep"));
        assert!(!is_worth_a_notification(&CardView { urgency: Urgency::Passing, ..view(vec![]) }));
    }

    proptest! {
        #[test]
        fn every_notification_fits_what_a_relay_carries(text in "\\PC{0,4000}", labels in prop::collection::vec("\\PC{1,40}", 0..5)) {
            let mut view = view(labels.iter().map(|label| button(label, Style::Default)).collect());
            view.text = text;
            let bytes = serde_json::to_vec(&card("topic", "s1", &view, &actions())).expect("JSON");
            prop_assert!(bytes.len() <= 4096, "{}", bytes.len());
        }
    }
}
