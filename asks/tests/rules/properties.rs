//! What holds for any text, any bytes and any ask.

use asks::ask::Surface;
use asks::card::{Card, Kind};
use asks::derive::derive;
use asks::ids::ToolCallId;
use asks::text::{self, cut};
use asks::{limits, validate, wire};
use proptest::prelude::*;
use serde_json::{Map, Value};

use crate::reference::vectors;

/// Text with what makes cutting hard: white space of all sorts, astral characters, joiners.
fn hard_text() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just("🎉".to_owned()),
        Just("👩\u{200d}👧".to_owned()),
        Just("\u{feff}".to_owned()),
        Just("\u{85}".to_owned()),
        Just(" ".to_owned()),
        Just("…".to_owned()),
        "[a-z]{1,9}",
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat())
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (-3..60i64).prop_map(Value::from),
        hard_text().prop_map(Value::from),
        "[a-z]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("[a-zA-Z.]{0,8}", inner, 0..6)
                .prop_map(|map| Value::from(map.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// An ask from the vectors with one value somewhere in it replaced.
fn nearly_valid_ask() -> impl Strategy<Value = (Kind, Value)> {
    let asks: Vec<(Kind, Value)> = vectors("derive.jsonl")
        .iter()
        .map(|vector| (Kind::from(vector["kind"].as_str().expect("a kind")), vector["input"].clone()))
        .collect();
    (prop::sample::select(asks), any::<prop::sample::Index>(), any_json()).prop_map(|((kind, mut input), at, value)| {
        let places = count(&input);
        replace(&mut input, &mut at.index(places), &value);
        (kind, input)
    })
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(map) => map.values().map(count).sum(),
        _ => 0,
    }
}

/// Replaces the value that is `left` places further; true once that is done.
fn replace(value: &mut Value, left: &mut usize, with: &Value) -> bool {
    if *left == 0 {
        *value = with.clone();
        return true;
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| replace(item, left, with)),
        Value::Object(map) => map.values_mut().any(|item| replace(item, left, with)),
        _ => false,
    }
}

fn check_card(card: &Card) -> Result<(), TestCaseError> {
    prop_assert!(card.buttons.len() <= limits::CARD_BUTTONS);
    prop_assert!(limits::CARD_TEXT.holds(&card.text) && !card.text.is_empty());
    prop_assert!(card.title.as_deref().is_none_or(|title| limits::CARD_TITLE.holds(title)));
    for button in &card.buttons {
        prop_assert!(limits::CARD_LABEL.holds(&button.label) && !text::is_blank(&button.label), "{:?}", button);
        prop_assert!(card.buttons.iter().filter(|other| other.label == button.label).count() == 1, "{:?}", card);
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_cut_fits_and_says_that_it_is_one(text in hard_text(), units in 1..160usize) {
        let short = cut(&text, units);
        prop_assert!(text::utf16_len(&short) <= units);
        if text::utf16_len(&text) <= units {
            prop_assert_eq!(short, text.as_str());
        } else {
            let kept = short.strip_suffix('…').expect("a cut text ends in an ellipsis");
            prop_assert!(text.starts_with(kept));
            prop_assert!(!kept.ends_with(text::is_space));
        }
    }

    #[test]
    fn reading_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = wire::read_pending(&bytes);
        let _ = wire::read_turn(&bytes);
        let _ = wire::read_history(&bytes);
    }

    #[test]
    fn reading_takes_any_data(data in any_json(), key in "[a-z]{0,2}\\\\?u?[dD][89a-f][0-9a-f]{2}") {
        for body in [format!(r#"{{"data":{data}}}"#), format!(r#"{{"data":[{{"{key}":{data},"simple":{data}}}]}}"#)] {
            if let Ok(read) = wire::read_pending(body.as_bytes()) {
                let sent: Value = serde_json::from_str(&wire::mend(body.as_bytes())).expect("it was read");
                let length = sent["data"].as_array().expect("a list").len();
                prop_assert_eq!(read.asks.len() + read.unreadable.len(), length, "nothing is dropped");
            }
            let _ = wire::read_turn(body.as_bytes());
            let _ = wire::read_history(body.as_bytes());
        }
    }

    #[test]
    fn mending_reads_escapes_as_javascript_would(units in prop::collection::vec(
        prop_oneof![0xd7fe..0xe002u16, Just(u16::from(b'\\')), Just(u16::from(b'u')), any::<u16>()], 0..40)) {
        let escaped: String = units.iter().map(|unit| match unit {
            0x5c => "\\\\".to_owned(),
            0x75 => "u".to_owned(),
            unit => format!("\\u{unit:04X}"),
        }).collect();
        let body = format!("\"{escaped}\"");
        let read: String = serde_json::from_str(&wire::mend(body.as_bytes())).expect("valid once mended");
        prop_assert_eq!(read, String::from_utf16_lossy(&units));
    }

    #[test]
    fn mending_leaves_valid_json_alone(value in any_json()) {
        let body = value.to_string();
        prop_assert_eq!(wire::mend(body.as_bytes()), body.as_str());
    }

    #[test]
    fn any_ask_is_valid_or_has_reasons((kind, input) in nearly_valid_ask(), response in any_json()) {
        let errors = validate::ask(&kind, Surface::Full, &input);
        let _ = validate::ask(&kind, Surface::Compact, &input);
        let _ = validate::answer(&kind, &input, &response, 1000);
        match derive(&kind, &input, &ToolCallId::new("c")) {
            Ok(card) => {
                prop_assert!(errors.is_empty());
                check_card(&card)?;
                for button in &card.buttons {
                    let wrong = validate::answer(&kind, &input, &button.response, limits::DEFAULT_MAX_FILE_SIZE);
                    prop_assert!(wrong.is_empty(), "{:?} {:?}", button, wrong);
                }
            }
            Err(invalid) => {
                prop_assert!(!errors.is_empty());
                prop_assert_eq!(invalid.errors, errors);
            }
        }
    }

    #[test]
    fn a_valid_compact_ask_is_a_valid_full_ask((kind, input) in nearly_valid_ask()) {
        if validate::ask(&kind, Surface::Compact, &input).is_empty() {
            prop_assert_eq!(validate::ask(&kind, Surface::Full, &input), []);
        }
    }

    #[test]
    fn bytes_are_judged_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..40), max in 0..50u64) {
        for mime in ["image/png", "text/csv", "application/json", "x"] {
            let _ = validate::bytes(&bytes, mime, max);
        }
    }
}
