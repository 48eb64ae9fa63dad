//! Button labels that can be told apart.

use asks::card::Button;
use unicode_segmentation::UnicodeSegmentation;

use super::one_line;
use crate::words::Words;

/// What the buttons say, and the legend that goes with numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Labels {
    /// One for each button, in order, all different and none empty.
    pub labels: Vec<String>,
    /// The full labels by number; empty when every label shows itself in full.
    pub legend: Vec<String>,
}

/// Fits labels into `limit` UTF-16 units. Labels that are empty or alike after cleaning and fitting are numbered, and so are
/// all of their siblings, with the full labels in a legend: nobody has to guess which of two buttons is which.
#[must_use]
pub fn fit(buttons: &[&Button], limit: usize, words: &dyn Words) -> Labels {
    let full: Vec<String> = buttons
        .iter()
        .map(|button| {
            let label = one_line(&button.label);
            if label.is_empty() { words.no_label() } else { label }
        })
        .collect();
    let fitted: Vec<String> = full.iter().map(|label| cut(label, limit)).collect();
    let alike =
        fitted.iter().enumerate().any(|(at, label)| fitted.iter().skip(at + 1).any(|other| looks_like(label, other)));
    let empty = buttons.iter().any(|button| one_line(&button.label).is_empty());
    if !alike && !empty {
        return Labels { labels: fitted, legend: Vec::new() };
    }
    let numbered = |(at, label): (usize, &String)| format!("{}. {label}", at + 1);
    Labels {
        labels: full.iter().enumerate().map(numbered).map(|label| cut(&label, limit)).collect(),
        // The id tells apart what the label does not; it is what will be sent.
        legend: full
            .iter()
            .zip(buttons)
            .enumerate()
            .map(|(at, (label, button))| format!("{}. {label} ({})", at + 1, one_line(button.id.as_str())))
            .collect(),
    }
}

/// Two labels that a person could take for the same.
fn looks_like(a: &str, b: &str) -> bool {
    let seen = |label: &str| label.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    seen(a) == seen(b)
}

/// Cuts to `limit` UTF-16 units at a whole grapheme, with an ellipsis where something was cut.
fn cut(label: &str, limit: usize) -> String {
    let units = |text: &str| text.encode_utf16().count();
    if units(label) <= limit {
        return label.to_owned();
    }
    let mut kept = String::new();
    for grapheme in label.graphemes(true) {
        if units(&kept) + units(grapheme) + 1 > limit {
            break;
        }
        kept.push_str(grapheme);
    }
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::words::Language;

    fn button(id: &str, label: &str) -> Button {
        Button {
            id: id.into(),
            label: label.into(),
            style: asks::card::Style::Default,
            response: serde_json::Value::Null,
        }
    }

    fn fit_all(labels: &[&str], limit: usize) -> Labels {
        let buttons: Vec<Button> =
            labels.iter().enumerate().map(|(at, label)| button(&format!("option:{at}"), label)).collect();
        fit(&buttons.iter().collect::<Vec<_>>(), limit, Language::En.words())
    }

    #[test]
    fn labels_that_differ_are_shown_as_they_are() {
        assert_eq!(fit_all(&["Team", "Starter", "Skip"], 64).labels, ["Team", "Starter", "Skip"]);
        assert!(fit_all(&["Team", "Starter"], 64).legend.is_empty());
    }

    #[test]
    fn labels_alike_or_empty_are_numbered_with_a_legend() {
        let same = fit_all(&["Keep", " Keep ", "Drop"], 64);
        assert_eq!(same.labels, ["1. Keep", "2. Keep", "3. Drop"]);
        assert_eq!(same.legend, ["1. Keep (option:0)", "2. Keep (option:1)", "3. Drop (option:2)"]);
        assert_eq!(fit_all(&["Keep  it", "Keep it"], 64).labels, ["1. Keep  it", "2. Keep it"]);
        let empty = fit_all(&["\u{2028}", "Drop"], 64);
        assert_eq!(empty.labels, ["1. (no label)", "2. Drop"]);
        let cut = fit_all(&["Delete everything now", "Delete everything later"], 12);
        assert_eq!(cut.labels, ["1. Delete e…", "2. Delete e…"]);
    }

    proptest! {
        #[test]
        fn labels_are_never_empty_alike_or_too_long(labels in proptest::collection::vec("\\PC{0,30}|[ab]{0,3}", 1..4), limit in 8_usize..30) {
            let borrowed: Vec<&str> = labels.iter().map(String::as_str).collect();
            let fitted = fit_all(&borrowed, limit);
            for (at, label) in fitted.labels.iter().enumerate() {
                prop_assert!(!label.trim().is_empty());
                prop_assert!(label.encode_utf16().count() <= limit);
                prop_assert!(fitted.labels.iter().skip(at + 1).all(|other| other != label));
            }
        }
    }
}
