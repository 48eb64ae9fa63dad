//! Text that Discord shows as it was written.
//!
//! Discord reads a backslash before anything that is neither letter, digit nor white space as "this character, as it is",
//! and shows no backslash. So every character that could start or end markup gets one. That includes the colon, which also
//! keeps `https:` from becoming a link inside which a backslash would show.

use super::limits::take;

/// Escapes a text, so that it is shown as it was written.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut number = Number::Possible;
    for c in text.chars() {
        if is_special(c) || (c == '.' && number == Number::Running) {
            out.push('\\');
        }
        out.push(c);
        number = number.after(c);
    }
    out
}

/// The length of a text once it is escaped, in code points; at times a little more, never less.
pub(super) fn escaped_len(text: &str) -> usize {
    text.chars().map(weight).sum()
}

/// Cuts a text into pieces of at most `room` code points once escaped: at the end of a line or word where one lies in the
/// second half, else at a whole grapheme. Nothing is lost but the white space at a cut.
pub(super) fn split(text: &str, room: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while escaped_len(rest) > room {
        let longest = take(rest, room, weight);
        // A single grapheme that is longer than a whole message can only be cut inside.
        let longest = if longest.is_empty() { whole_characters(rest, room) } else { longest };
        let piece = at_a_border(longest, rest);
        rest = rest.get(piece.len()..).unwrap_or_default();
        let (piece, next) = (piece.trim_end(), rest.trim_start_matches([' ', '\n', '\r']));
        rest = next;
        if !piece.is_empty() {
            pieces.push(piece.to_owned());
        }
    }
    if !rest.trim().is_empty() {
        pieces.push(rest.to_owned());
    }
    pieces
}

/// A number at the start of a line, whose full stop would make it a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Number {
    Possible,
    Running,
    No,
}

impl Number {
    fn after(self, c: char) -> Self {
        match (self, c) {
            (_, '\n') => Self::Possible,
            (Self::Possible, c) if c.is_whitespace() => Self::Possible,
            (Self::Possible | Self::Running, '0'..='9') => Self::Running,
            _ => Self::No,
        }
    }
}

const fn is_special(c: char) -> bool {
    matches!(c, '\\' | '*' | '_' | '~' | '`' | '|' | '>' | '#' | '-' | '[' | ']' | '(' | ')' | '<' | ':' | '@')
}

fn weight(c: char) -> usize {
    if is_special(c) || c == '.' { 2 } else { 1 }
}

fn whole_characters(text: &str, room: usize) -> &str {
    let mut used = 0;
    let end = text
        .char_indices()
        .find(|(_, c)| {
            used += weight(*c);
            used > room.max(2)
        })
        .map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or_default()
}

fn at_a_border<'a>(longest: &'a str, rest: &str) -> &'a str {
    if rest.get(longest.len()..).is_some_and(|next| next.starts_with(char::is_whitespace)) {
        return longest;
    }
    let half = longest.len() / 2;
    let border = longest.rfind('\n').filter(|at| *at >= half).or_else(|| longest.rfind(' ').filter(|at| *at >= half));
    border.and_then(|at| longest.get(..at)).filter(|piece| !piece.trim().is_empty()).unwrap_or(longest)
}

/// What Discord shows of an escaped text; the rule of its clients, for tests.
#[cfg(test)]
pub(super) fn shown(content: &str) -> String {
    let mut out = String::new();
    let mut chars = content.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some(next)) if !next.is_ascii_alphanumeric() && !next.is_whitespace() => {
                out.extend(chars.next());
            }
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markup_is_broken_and_plain_text_is_left_alone() {
        for (text, expected) in [
            ("plain, really! 100% & {ok}", "plain, really! 100% & {ok}"),
            ("**bold**", r"\*\*bold\*\*"),
            ("@everyone", r"\@everyone"),
            ("<@&123> <#4> <t:5:R> </go:6>", r"\<\@&123\> \<\#4\> \<t\:5\:R\> \</go\:6\>"),
            ("https://x.y/a_b", r"https\://x.y/a\_b"),
            ("[pay](http://e)", r"\[pay\]\(http\://e\)"),
            ("1. one\n 20. two\nv1.2", "1\\. one\n 20\\. two\nv1.2"),
            ("# head\n- item\n> quote", "\\# head\n\\- item\n\\> quote"),
            (r"C:\*", r"C\:\\\*"),
            ("a||b||", r"a\|\|b\|\|"),
        ] {
            assert_eq!(escape(text), expected);
        }
    }

    #[test]
    fn pieces_end_where_words_end() {
        assert_eq!(split("alpha beta gamma", 11), ["alpha beta", "gamma"]);
        assert_eq!(split("one line\nanother line", 14), ["one line", "another line"]);
        assert_eq!(split("🎉🎉🎉", 2), ["🎉🎉", "🎉"]);
        assert_eq!(split("", 5), Vec::<String>::new());
        let zalgo = format!("a{}", "\u{301}".repeat(30));
        assert!(split(&zalgo, 10).iter().all(|piece| piece.chars().count() <= 10));
    }

    proptest! {
        #[test]
        fn what_is_shown_is_what_was_written(text in r"([ -~]|[\\*_~`|>#\-\[\]()<:@.0-9\n]|\PC){0,60}") {
            let escaped = escape(&text);
            prop_assert_eq!(shown(&escaped), text.as_str());
            prop_assert!(escaped.chars().count() <= escaped_len(&text));
        }

        #[test]
        fn pieces_fit_and_lose_only_white_space(text in "([ -~]|\n|👩‍👩‍👧‍👦|e\u{301}|界){0,200}", room in 12usize..80) {
            let pieces = split(&text, room);
            for piece in &pieces {
                prop_assert!(escape(piece).chars().count() <= room);
                prop_assert!(!piece.trim().is_empty());
            }
            let bare = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(bare(&pieces.concat()), bare(&text));
        }
    }
}
