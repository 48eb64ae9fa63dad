//! What the messages of a card look like, and that any view stays within every limit.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn view(text: &str) -> CardView {
    CardView { text: text.to_owned(), ..CardView::default() }
}

fn button(label: &str, style: Style) -> ViewButton {
    ViewButton { label: label.to_owned(), style, token: format!("tok-{}", label.len()) }
}

/// The part of a text that an entity covers, by UTF-16 units.
fn covered(piece: &Piece, entity: &MessageEntity) -> String {
    let units: Vec<u16> = piece.text.encode_utf16().collect();
    String::from_utf16(&units[entity.offset..entity.offset + entity.length]).expect("whole characters")
}

fn full() -> CardView {
    CardView {
        origin: Some("app · me".to_owned()),
        title: Some("Pläne 🎻👩‍👩‍👧‍👦".to_owned()),
        text: "Which plan?".to_owned(),
        content: Some(("What would be sent".to_owned(), "Draft".to_owned())),
        legend: vec!["1: Team yearly".to_owned(), "2: Team monthly".to_owned()],
        status: Some("Sending…".to_owned()),
        buttons: vec![
            button("Team", Style::Default),
            button("Approve", Style::Primary),
            button("Delete!", Style::Destructive),
            button("No", Style::Cancel),
        ],
        link: Some(("Open".to_owned(), "https://app.example.com/a?x=1".to_owned())),
        ..CardView::default()
    }
}

#[test]
fn a_card_has_all_its_parts_in_order() {
    let card = card(&full(), LinkAs::Button);
    assert!(card.lead.is_empty());
    let expected =
        "app · me\nPläne 🎻👩‍👩‍👧‍👦\nWhich plan?\n\nWhat would be sent\nDraft\n\n1: Team yearly\n2: Team monthly\n\nSending…";
    assert_eq!(card.last.text, expected);
    let looks: Vec<_> = card.last.entities.iter().map(|entity| covered(&card.last, entity)).collect();
    assert_eq!(looks, ["app · me", "Pläne 🎻👩‍👩‍👧‍👦", "What would be sent"]);
    assert_eq!(
        serde_json::to_value(&card.last.entities).unwrap()[1],
        json!({"type": "bold", "offset": 9, "length": 19}),
        "offsets count UTF-16 units"
    );
    assert_eq!(
        serde_json::to_value(&card.keyboard).unwrap(),
        json!({"inline_keyboard": [
            [{"text": "Team", "callback_data": "tok-4"}],
            [{"text": "Approve", "style": "primary", "callback_data": "tok-7"}],
            [{"text": "Delete!", "style": "danger", "callback_data": "tok-7"}],
            [{"text": "No", "callback_data": "tok-2"}],
            [{"text": "Open", "url": "https://app.example.com/a?x=1"}],
        ]})
    );
}

#[test]
fn a_link_that_is_not_taken_is_written_out() {
    for address in ["http://localhost:3000/", "https://host.example/a b", "app://x.y"] {
        let card = card(&CardView { link: Some(("Open".into(), address.into())), ..view("?") }, LinkAs::Button);
        assert!(!card.keyboard.has_link() && card.keyboard.to_send().is_none());
        assert_eq!(card.last.text, format!("?\n\nOpen: {address}"));
    }
    let written = card(&full(), LinkAs::Text);
    assert!(!written.keyboard.has_link());
    assert!(written.last.text.ends_with("\n\nOpen: https://app.example.com/a?x=1\n\nSending…"));
}

#[test]
fn markup_of_any_dialect_is_shown_as_written() {
    let text = "Delete `a_b`? (v1.2) - <b>now</b> & [x](http://e) *!* # | {} @everyone עברית \\u{202e}";
    assert_eq!(card(&view(text), LinkAs::Button).last.text, text);
}

#[test]
fn long_texts_keep_everything_and_the_buttons_come_last() {
    let text: String = (0..2_000).flat_map(|n| format!("word{n:05} ").into_bytes()).map(char::from).collect();
    assert_eq!(text.len(), 20_000);
    let shown = card(&CardView { buttons: vec![button("Yes", Style::Default)], ..view(&text) }, LinkAs::Button);
    let together: String = shown.lead.iter().chain([&shown.last]).map(|piece| piece.text.as_str()).collect();
    assert_eq!(together, text);
    assert_eq!(shown.lead.len(), 5);
    assert!(shown.lead.iter().all(|piece| piece.text.ends_with(' ')), "between words");
    let said = super::text(&text);
    assert_eq!(said.len(), 5);
    assert_eq!(said.iter().map(|piece| piece.text.as_str()).collect::<String>(), text);
}

#[test]
fn lines_are_preferred_to_words() {
    let text = format!("{}\n{}", "a b ".repeat(900), "c d ".repeat(500));
    let said = super::text(&text);
    assert_eq!(said[0].text, format!("{}\n", "a b ".repeat(900)));
}

#[test]
fn an_edit_says_the_same_about_the_question() {
    let long = CardView { status: None, ..CardView { text: "x ".repeat(2_040), ..full() } };
    let before = card(&long, LinkAs::Button);
    let status = format!("You chose: {}", "Team ".repeat(100));
    let after = card(&CardView { status: Some(status.clone()), buttons: Vec::new(), ..long }, LinkAs::Text);
    assert_eq!(before.lead, after.lead);
    assert!(after.last.text.starts_with(&before.last.text));
    assert!(after.last.text.ends_with(&status));
}

#[test]
fn graphemes_stay_whole() {
    let family = "👩‍👩‍👧‍👦";
    for piece in super::text(&family.repeat(1_000)) {
        assert_eq!(piece.text.replace(family, ""), "");
    }
    let tower = format!("a{}", "\u{301}".repeat(10_000));
    let parts = super::text(&tower);
    assert!(
        parts.iter().all(|piece| utf16_len(&piece.text) <= limits::TEXT),
        "one grapheme can be longer than a message"
    );
    assert_eq!(shorten(&family.repeat(20), 30), format!("{}…", family.repeat(2)));
}

#[test]
fn nothing_to_see_is_never_sent() {
    for text in ["", " \n\t", "\u{200b}\u{2060}", "\u{3164}\u{2800}"] {
        assert_eq!(card(&view(text), LinkAs::Button).last.text, NOTHING);
        assert!(super::text(text).is_empty());
    }
    let blank = card(&CardView { buttons: vec![button(" ", Style::Default)], ..view("?") }, LinkAs::Button);
    assert_eq!(blank.keyboard.inline_keyboard[0][0].text, NOTHING);
    let spaces = format!("{}end", " ".repeat(9_000));
    assert!(super::text(&spaces).iter().all(|piece| is_visible(&piece.text)));
}

fn any_text(most: usize) -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[ -~]{0,60}",
        2 => "\\PC{0,40}",
        1 => any::<String>(),
        1 => Just("👩‍👩‍👧‍👦🇩🇪e\u{301}\u{301}".to_owned()),
        1 => Just("\r\n\n \t".to_owned()),
        1 => Just("漢字".repeat(300)),
        1 => Just("\u{200b}\u{202e}\u{0}".to_owned()),
    ];
    prop::collection::vec(piece, 0..most).prop_map(|pieces| pieces.concat())
}

fn any_view() -> impl Strategy<Value = CardView> {
    let style = prop_oneof![Just(Style::Default), Just(Style::Primary), Just(Style::Destructive), Just(Style::Cancel)];
    let button = (any_text(4), style, "[a-zA-Z0-9_-]{1,64}").prop_map(|(label, style, token)| ViewButton {
        label,
        style,
        token,
    });
    let link = prop_oneof![
        Just("https://app.example.com/a".to_owned()),
        Just(format!("https://app.example.com/{}", "x".repeat(3_000))),
        any_text(3),
    ];
    (
        prop::option::of(any_text(3)),
        prop::option::of(any_text(20)),
        any_text(40),
        prop::option::of((any_text(3), any_text(40))),
        prop::collection::vec(any_text(3), 0..4),
        prop::option::of(any_text(20)),
        prop::collection::vec(button, 0..6),
        prop::option::of((any_text(2), link)),
    )
        .prop_map(|(origin, title, text, content, legend, status, buttons, link)| CardView {
            origin,
            title,
            text,
            content,
            legend,
            status,
            buttons,
            link,
            ..CardView::default()
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_view_is_within_every_limit(view in any_view(), as_text in any::<bool>()) {
        let shown = card(&view, if as_text { LinkAs::Text } else { LinkAs::Button });
        for piece in shown.lead.iter().chain([&shown.last]) {
            let units = utf16_len(&piece.text);
            prop_assert!((1..=limits::TEXT).contains(&units), "{units}");
            prop_assert!(is_visible(&piece.text));
            for entity in &piece.entities {
                prop_assert!(entity.length > 0 && entity.offset + entity.length <= units);
                covered(piece, entity);
            }
        }
        let buttons: Vec<_> = shown.keyboard.inline_keyboard.iter().flatten().collect();
        for button in &buttons {
            prop_assert!(is_visible(&button.text) && utf16_len(&button.text) <= limits::LABEL);
        }
        let tokens = buttons.iter().filter_map(|button| match &button.action {
            Action::Data(token) => Some(token.as_str()),
            Action::Url(_) => None,
        });
        prop_assert!(tokens.eq(view.buttons.iter().map(|button| button.token.as_str())), "whole, and in order");
        prop_assert_eq!(&card(&CardView { status: None, ..view }, LinkAs::Text).lead, &shown.lead);
    }

    #[test]
    fn any_text_is_split_and_nothing_is_lost(text in any_text(80)) {
        let visible = |text: &str| text.chars().filter(|c| is_visible(&c.to_string())).collect::<String>();
        let pieces = super::text(&text);
        prop_assert!(pieces.iter().all(|piece| utf16_len(&piece.text) <= limits::TEXT));
        let together: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
        prop_assert_eq!(visible(&together), visible(&text));
    }

    #[test]
    fn a_shortened_text_is_a_beginning(text in any_text(6), room in 0_usize..200) {
        let short = shorten(&text, room);
        prop_assert!(utf16_len(&short) <= room);
        prop_assert!(short == text || text.starts_with(short.trim_end_matches('…')));
    }
}
