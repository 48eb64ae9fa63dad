use asks::card::Style;
use proptest::prelude::*;

use super::super::limits::{NONCE, take};
use super::super::markup::shown;
use super::*;
use crate::channel::ViewButton;

fn view(text: &str) -> CardView {
    CardView { text: text.to_owned(), ..CardView::default() }
}

fn button(label: &str, style: Style, token: &str) -> ViewButton {
    ViewButton { label: label.to_owned(), style, token: token.to_owned() }
}

fn contents(card: &Card) -> Vec<String> {
    card.before.iter().chain([&card.content]).cloned().collect()
}

#[test]
fn a_card_is_one_message_with_its_buttons_in_a_row() {
    let card = card(&CardView {
        origin: Some("app".to_owned()),
        title: Some("Which *plan*?".to_owned()),
        text: "Pick one.".to_owned(),
        status: Some("You chose: Team".to_owned()),
        buttons: vec![
            button("Team", Style::Primary, "t1"),
            button("Starter", Style::Default, "t2"),
            button("Delete", Style::Destructive, "t3"),
            button("Skip", Style::Cancel, "t4"),
        ],
        link: Some(("Open".to_owned(), "https://app.example.com/ai?ask=1".to_owned())),
        ..CardView::default()
    });
    assert_eq!(
        create_card(&card, "n"),
        json!({
            "content": "-# app\n**Which \\*plan\\*?**\nPick one.\n\nYou chose\\: Team",
            "nonce": "n",
            "tts": false,
            "allowed_mentions": { "parse": [] },
            "components": [{ "type": 1, "components": [
                { "type": 2, "style": 1, "custom_id": "t1", "label": "Team", "disabled": false },
                { "type": 2, "style": 2, "custom_id": "t2", "label": "Starter", "disabled": false },
                { "type": 2, "style": 4, "custom_id": "t3", "label": "Delete", "disabled": false },
                { "type": 2, "style": 2, "custom_id": "t4", "label": "Skip", "disabled": false },
                { "type": 2, "style": 5, "url": "https://app.example.com/ai?ask=1", "label": "Open", "disabled": false },
            ] }],
            "flags": 4,
            "enforce_nonce": true,
        })
    );
}

#[test]
fn an_edit_replaces_everything() {
    let body = edit(&card(&view("Done.")));
    assert_eq!(body, json!({ "content": "Done.", "flags": 4, "components": [], "allowed_mentions": { "parse": [] } }));
}

#[test]
fn a_link_that_fits_no_button_is_text() {
    let long = format!("https://app.example.com/{}", "x".repeat(500));
    let with = |url: &str| {
        let mut view = view("Q");
        view.link = Some(("Open".to_owned(), url.to_owned()));
        card(&view)
    };
    assert_eq!(with(&long).content, format!("Q\n\nOpen\\: <{long}>"));
    assert!(with(&long).rows.is_empty());
    assert_eq!(with("app://x_y").content, "Q\n\nOpen\\: app\\://x\\_y");
    assert_eq!(with("https://app.example.com/x").content, "Q");
}

#[test]
fn callbacks_are_private_and_ping_nobody() {
    assert_eq!(acknowledge(), json!({ "type": 6 }));
    assert_eq!(
        whisper("not yours, @everyone"),
        json!({ "type": 4, "data": {
            "content": "not yours, \\@everyone", "flags": 64, "allowed_mentions": { "parse": [] } } })
    );
    assert_eq!(whisper_later(), json!({ "type": 5, "data": { "flags": 64, "allowed_mentions": { "parse": [] } } }));
    assert_eq!(whisper_now("kept"), json!({ "content": "kept", "allowed_mentions": { "parse": [] } }));
    assert_eq!(whisper(" ").pointer("/data/content"), Some(&json!(NOTHING)));
}

#[test]
fn an_answer_refers_to_its_card_and_survives_its_loss() {
    let piece = Piece { content: "said", nonce: "n", about: Some((5, 6)) };
    assert_eq!(
        create_text(piece).get("message_reference"),
        Some(&json!({ "type": 0, "message_id": "6", "channel_id": "5", "fail_if_not_exists": false }))
    );
    let none = Piece { about: Some((0, 6)), ..piece };
    assert_eq!(create_text(none).get("message_reference"), None);
}

#[test]
fn a_status_moves_nothing_of_a_long_card() {
    let text = "word ".repeat(900);
    let mut view = view(&text);
    let before = card(&view);
    assert!(before.before.len() >= 3);
    view.status = Some("The agent said - ".repeat(500));
    let after = card(&view);
    assert_eq!(before.before, after.before);
    assert!(after.content.starts_with(&before.content));
    assert!(after.content.chars().count() <= CONTENT && after.content.ends_with('…'));
}

#[test]
fn a_draft_keeps_together_where_it_fits_one_message() {
    let mut view = view(&"q".repeat(800));
    view.content = Some(("Draft".to_owned(), "d".repeat(800)));
    let card = card(&view);
    assert_eq!(card.before, [format!("{}\n\n**Draft**", "q".repeat(800))]);
    assert_eq!(card.content, "d".repeat(800));
}

fn any_text(most: usize) -> impl Strategy<Value = String> {
    let token = prop_oneof![
        Just("@everyone ".to_owned()),
        Just("<@&123>".to_owned()),
        Just("https://x.y/a_b ".to_owned()),
        Just("👩‍👩‍👧‍👦".to_owned()),
        Just("\n1. ".to_owned()),
        "[ -~]{1,30}",
        "\\PC{1,10}",
    ];
    proptest::collection::vec(token, 0..most).prop_map(|tokens| tokens.concat())
}

proptest! {
    #[test]
    fn every_body_is_within_all_limits(
        title in proptest::option::of(any_text(6)),
        text in any_text(400),
        content in proptest::option::of((any_text(3), any_text(300))),
        legend in proptest::collection::vec(any_text(20), 0..4),
        status in proptest::option::of(any_text(100)),
        labels in proptest::collection::vec(any_text(8), 0..5),
        url in proptest::option::of("(https://[a-z]{1,8}\\.com/[a-z%0-9]{0,600})|\\PC{0,20}"),
    ) {
        let buttons = labels.iter().enumerate();
        let view = CardView {
            origin: title.clone(),
            title, text, content, legend, status,
            buttons: buttons.map(|(at, label)| button(label, Style::Default, &format!("token-{at}"))).collect(),
            link: url.map(|url| ("Open".to_owned(), url)),
            ..CardView::default()
        };
        let card = card(&view);
        for content in contents(&card) {
            prop_assert!(!content.trim().is_empty());
            prop_assert!(content.chars().count() <= CONTENT, "{}", content.chars().count());
        }
        let body = create_card(&card, "nonce");
        prop_assert_eq!(body.pointer("/allowed_mentions"), Some(&json!({ "parse": [] })));
        let rows = body.get("components").and_then(Value::as_array).cloned().unwrap_or_default();
        prop_assert!(rows.len() <= ROWS);
        let mut ids = Vec::new();
        for row in &rows {
            let buttons = row.get("components").and_then(Value::as_array).unwrap();
            prop_assert!((1..=ROW).contains(&buttons.len()));
            for button in buttons {
                let label = button.get("label").and_then(Value::as_str).unwrap();
                prop_assert!(!label.trim().is_empty() && label.chars().count() <= LABEL);
                prop_assert!(button.get("url").is_some() != button.get("custom_id").is_some());
                ids.extend(button.get("custom_id").and_then(Value::as_str).map(str::to_owned));
            }
        }
        prop_assert_eq!(ids, (0..labels.len()).map(|at| format!("token-{at}")).collect::<Vec<_>>());
    }

    #[test]
    fn a_question_is_shown_whole_and_as_written(text in any_text(300)) {
        let bare = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        let card = card(&view(&text));
        let all = contents(&card).iter().map(|content| shown(content)).collect::<String>();
        let expected = if text.trim().is_empty() { NOTHING.to_owned() } else { bare(&text) };
        prop_assert_eq!(bare(&all), expected);
    }

    #[test]
    fn a_reply_of_any_length_is_split(text in any_text(600)) {
        for content in texts(&text) {
            prop_assert!((1..=CONTENT).contains(&content.chars().count()));
        }
    }
}

#[test]
fn the_helpers_agree() {
    assert_eq!(take("abc", 2, |_| 1), "ab");
    const { assert!(NONCE == 25 && CUSTOM_ID == 100) };
}
