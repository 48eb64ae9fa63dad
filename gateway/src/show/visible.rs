//! Text from outside, made honest: shown as written, with everything hidden made visible.
//!
//! A person approves what they see. So characters that are invisible or change the direction of what follows become
//! visible escapes such as `\u{202e}`, and runs of nine or more white-space or filler characters, which push the rest out
//! of sight, collapse to one space (or one empty line). Joiners stay where a script or an emoji needs them.

use std::fmt::Write as _;

/// The shortest run of white space or fillers that collapses.
const LONG_RUN: usize = 9;

/// Makes a text honest; applying it again changes nothing.
#[must_use]
pub fn visible(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let run = chars.iter().skip(at).take_while(|c| is_blank(**c)).count();
        if run >= LONG_RUN {
            let breaks = chars.iter().skip(at).take(run).any(|c| *c == '\n');
            out.push_str(if breaks { "\n\n" } else { " " });
            at += run;
            continue;
        }
        push_visible(&mut out, c, chars.get(at + 1).copied());
        at += 1;
    }
    out
}

/// As [`visible`], on one line: line breaks and tabs become spaces, and the ends are trimmed. Spaces between stay as written.
#[must_use]
pub fn one_line(text: &str) -> String {
    let spaced: String = text.chars().map(|c| if breaks_a_line(c) { ' ' } else { c }).collect();
    visible(&spaced).trim().to_owned()
}

const fn breaks_a_line(c: char) -> bool {
    matches!(c, '\t'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn push_visible(out: &mut String, c: char, after: Option<char>) {
    if c == '\r' && after == Some('\n') {
        return;
    }
    // What is already shown decides: a character after an escaped one continues nothing, and would stay hidden.
    let before = out.chars().next_back();
    if is_hidden(c) && !is_needed(c, before, after.filter(|after| !is_hidden(*after))) {
        let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
    } else {
        out.push(c);
    }
}

/// White space and characters that fill a line without showing anything.
fn is_blank(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '\u{115F}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{FFA0}' | '\u{200B}' | '\u{FEFF}')
}

/// Characters that cannot be seen, or that move others.
fn is_hidden(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(
            u32::from(c),
            0x00AD
                | 0x034F
                | 0x061C
                | 0x115F..=0x1160
                | 0x17B4..=0x17B5
                | 0x180B..=0x180F
                | 0x200B..=0x200F
                | 0x2028..=0x202E
                | 0x2060..=0x206F
                | 0x2800
                | 0x3164
                | 0xFE00..=0xFE0F
                | 0xFEFF
                | 0xFFA0
                | 0xFFF0..=0xFFFB
                | 0x1BCA0..=0x1BCA3
                | 0x1D173..=0x1D17A
                | 0xE0000..=0xE0FFF
        )
}

/// Joiners and selectors that an emoji or a script needs to look right.
fn is_needed(c: char, before: Option<char>, after: Option<char>) -> bool {
    let (Some(before), after) = (before, after) else { return false };
    match u32::from(c) {
        // Emoji presentation, and text presentation, of a symbol or keycap.
        0xFE0E | 0xFE0F => is_pictograph(before) || before.is_ascii_digit() || matches!(before, '#' | '*'),
        // A joiner inside an emoji, or within an Indic or Arabic word.
        0x200D => {
            let emoji = is_pictograph(before) || matches!(u32::from(before), 0xFE0F | 0x1F3FB..=0x1F3FF | 0xE007F);
            // A source may have cut its text within a joined emoji.
            let goes_on = after.is_some_and(|after| is_pictograph(after) || after == '…');
            (emoji && goes_on) || (is_joining(before) && after.is_some_and(is_joining))
        }
        // A non-joiner within such a word.
        0x200C => is_joining(before) && after.is_some_and(is_joining),
        // The tags of a subdivision flag, from the black flag to the end tag.
        0xE0020..=0xE007F => before == '\u{1F3F4}' || matches!(u32::from(before), 0xE0020..=0xE007E),
        _ => false,
    }
}

fn is_pictograph(c: char) -> bool {
    matches!(
        u32::from(c),
        0x00A9 | 0x00AE | 0x203C | 0x2049 | 0x2122 | 0x2139 | 0x2194..=0x21AA | 0x231A..=0x23FF | 0x24C2 | 0x25AA..=0x27BF
            | 0x2934..=0x2935 | 0x2B05..=0x2B55 | 0x3030 | 0x303D | 0x3297 | 0x3299 | 0x1F000..=0x1FAFF
    )
}

/// Letters of scripts whose words need joiners: Arabic and its relatives, the Indic scripts, Mongolian.
fn is_joining(c: char) -> bool {
    matches!(u32::from(c), 0x0600..=0x08FF | 0x0900..=0x0DFF | 0x0F00..=0x109F | 0x1780..=0x18AF | 0xA840..=0xA8FF | 0xFB50..=0xFDFF | 0xFE70..=0xFEFC)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hidden_characters_become_visible_and_honest_text_stays() {
        for (text, shown) in [
            ("Delete \u{202e}gnp.exe\u{202c}", "Delete \\u{202e}gnp.exe\\u{202c}"),
            ("Ke\u{200b}ep", "Ke\\u{200b}ep"),
            ("a\0b\u{1b}c", "a\\u{0}b\\u{1b}c"),
            ("soft\u{ad}hyphen", "soft\\u{ad}hyphen"),
            ("שלום עולם", "שלום עולם"),
            ("مرحبا بالعالم", "مرحبا بالعالم"),
            ("می\u{200c}خواهم", "می\u{200c}خواهم"),
            ("family 👩\u{200d}👩\u{200d}👧\u{200d}👦!", "family 👩\u{200d}👩\u{200d}👧\u{200d}👦!"),
            ("cut 👩\u{200d}…", "cut 👩\u{200d}…"),
            ("❤\u{fe0f} 1\u{fe0f}\u{20e3}", "❤\u{fe0f} 1\u{fe0f}\u{20e3}"),
            ("a\u{fe0f}b", "a\\u{fe0f}b"),
            // What follows an escaped character continues nothing.
            ("a\u{e0061}\u{e0062}", "a\\u{e0061}\\u{e0062}"),
            ("a\u{fe0f}\u{200d}👧", "a\\u{fe0f}\\u{200d}👧"),
            ("ب\u{200c}\u{61c}", "ب\\u{200c}\\u{61c}"),
            ("line\r\nline\nline", "line\nline\nline"),
            ("a        b", "a        b"),
            ("a         b", "a b"),
            ("a\n\n\n\n\n\n\n\n\n\nb", "a\n\nb"),
            ("a\u{3164}\u{3164}\u{3164}\u{3164}\u{3164}\u{3164}\u{3164}\u{3164}\u{3164}b", "a b"),
            (
                "Delete `a_b`? (v1.2) - <b>now</b> & [x](http://e) *!* # | {}",
                "Delete `a_b`? (v1.2) - <b>now</b> & [x](http://e) *!* # | {}",
            ),
        ] {
            assert_eq!(visible(text), shown, "{text:?}");
        }
    }

    #[test]
    fn a_line_is_one_line() {
        assert_eq!(one_line("  a\nb\tc  "), "a b c");
        assert_eq!(one_line("a  b"), "a  b", "shown as written");
        assert_eq!(one_line("a          b"), "a b");
        assert_eq!(one_line("\u{2028}"), "");
    }

    proptest! {
        #[test]
        fn nothing_hidden_remains_and_twice_is_once(text in "\\PC*|[\\s\u{200b}-\u{200f}\u{202a}-\u{202e}\u{2060}-\u{2069}\u{3164}a-c]*") {
            let once = visible(&text);
            prop_assert_eq!(&visible(&once), &once);
            let hidden = ['\u{202e}', '\u{200b}', '\u{2066}', '\0'];
            prop_assert!(!once.contains(hidden), "something hidden remains");
        }
    }
}
