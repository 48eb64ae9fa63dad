//! Text as the asks' rules see it: lengths, white space and cuts with JavaScript's meaning.
//!
//! The rules were written for UTF-16 strings. Here they work on UTF-8 and never produce anything else, so a cut that would
//! fall inside a surrogate pair falls before it.

use std::borrow::Cow;

/// What a cut text ends in. One UTF-16 unit.
pub const ELLIPSIS: char = '…';

/// The length in UTF-16 code units, as JavaScript's `length` counts.
#[must_use]
pub fn utf16_len(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// The length in Unicode code points.
#[must_use]
pub fn code_points(text: &str) -> usize {
    text.chars().count()
}

/// Whether JavaScript counts a character as white space.
///
/// Differs from `char::is_whitespace` in two places: U+FEFF is white space, U+0085 is not.
#[must_use]
pub const fn is_space(c: char) -> bool {
    matches!(
        c,
        '\u{9}'..='\u{d}'
            | ' '
            | '\u{a0}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200a}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{202f}'
            | '\u{205f}'
            | '\u{3000}'
            | '\u{feff}'
    )
}

/// The text without white space at both ends.
#[must_use]
pub fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Whether there is nothing in a text but white space.
#[must_use]
pub fn is_blank(text: &str) -> bool {
    text.chars().all(is_space)
}

/// Cuts a text to at most `units` UTF-16 code units, at the end of a word where one lies in the second half.
///
/// A text that fits comes back as it is, untrimmed. A cut one ends in [`ELLIPSIS`]. Only surrogate pairs are protected:
/// sequences of several characters (flags, families, combining marks) may be cut inside. Zero units leave nothing.
#[must_use]
pub fn cut(text: &str, units: usize) -> Cow<'_, str> {
    if utf16_len(text) <= units {
        return Cow::Borrowed(text);
    }
    let Some(room) = units.checked_sub(ELLIPSIS.len_utf16()) else {
        return Cow::Borrowed("");
    };
    let (kept, rest) = split_at_units(text, room);
    let at_word_end = rest.starts_with(is_space);
    let kept = if at_word_end { kept } else { whole_words(kept, units / 2) };
    let mut short = kept.trim_end_matches(is_space).to_owned();
    short.push(ELLIPSIS);
    Cow::Owned(short)
}

/// The longest beginning of at most `units` UTF-16 units, and what follows it.
fn split_at_units(text: &str, units: usize) -> (&str, &str) {
    let mut used = 0;
    let end = text
        .char_indices()
        .find(|(_, c)| {
            used += c.len_utf16();
            used > units
        })
        .map_or(text.len(), |(at, _)| at);
    text.split_at(end)
}

/// The text before its last white space, if that stands at UTF-16 index `earliest` or later; else the whole text.
fn whole_words(text: &str, earliest: usize) -> &str {
    match text.rsplit_once(is_space) {
        Some((words, _)) if utf16_len(words) >= earliest => words,
        _ => text,
    }
}

/// A text in JSON quotes for a message; over 40 UTF-16 units it is shortened, so that a message stays a sentence.
#[must_use]
pub fn quote(text: &str) -> String {
    const LONGEST: usize = 40;
    if utf16_len(text) <= LONGEST {
        return quote_whole(text);
    }
    let (kept, _) = split_at_units(text, LONGEST - ELLIPSIS.len_utf16());
    quote_whole(&format!("{kept}{ELLIPSIS}"))
}

/// A text in JSON quotes, however long.
#[must_use]
pub fn quote_whole(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_fall_where_the_rules_say() {
        for (text, units, expected) in [
            ("Alpha beta gamma delta", 20, "Alpha beta gamma…"),
            ("abcdefghi jklmnopqrstuvw", 20, "abcdefghi jklmnopqr…"),
            ("abcdefghij klmnopqrstuvw", 20, "abcdefghij…"),
            ("abcdefghijklmnopqrs tuv", 20, "abcdefghijklmnopqrs…"),
            ("exactly twenty units", 20, "exactly twenty units"),
            ("  untouched  ", 20, "  untouched  "),
            ("🎉🎉🎉", 4, "🎉…"),
            ("🎉🎉🎉", 5, "🎉🎉…"),
            ("ab", 1, "…"),
            ("ab", 0, ""),
            ("", 0, ""),
        ] {
            assert_eq!(cut(text, units), expected, "{text:?} to {units}");
        }
    }

    #[test]
    fn white_space_is_javascripts() {
        assert_eq!(trim("\u{feff} a\u{85} \u{3000}"), "a\u{85}");
        assert!(is_blank("\u{2028}\u{2029}\u{a0}"));
        assert!(["\u{85}", "\u{180e}", "\u{200b}", "\u{2060}"].iter().all(|visible| !is_blank(visible)));
    }

    #[test]
    fn quotes_are_short_and_escaped() {
        assert_eq!(quote("a\"b\n"), r#""a\"b\n""#);
        assert_eq!(quote(&"x".repeat(41)), format!("\"{}…\"", "x".repeat(39)));
        assert_eq!(quote(&"x".repeat(40)), format!("\"{}\"", "x".repeat(40)));
    }
}
