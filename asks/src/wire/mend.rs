//! Making bytes readable as JSON text.
//!
//! JavaScript strings may hold half a surrogate pair, and `JSON.stringify` writes it as an escape (`"\ud83d"`). No UTF-8
//! string can hold that, so a strict reader would refuse the whole body for one cut emoji. Each lone half becomes U+FFFD.

use std::borrow::Cow;

/// The bytes as JSON text: invalid UTF-8 and lone surrogate escapes become U+FFFD, a byte order mark is dropped.
///
/// Valid JSON comes back as it is.
#[must_use]
pub fn mend(body: &[u8]) -> Cow<'_, str> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    match String::from_utf8_lossy(body) {
        Cow::Borrowed(text) => mend_escapes(text),
        Cow::Owned(text) => Cow::Owned(mend_escapes(&text).into_owned()),
    }
}

/// How long `\uXXXX` is.
const ESCAPE: usize = 6;

fn mend_escapes(text: &str) -> Cow<'_, str> {
    let mut mended = String::new();
    let mut rest = text;
    let mut changed = false;
    while let Some((before, escape)) = rest.find('\\').map(|at| rest.split_at(at)) {
        mended.push_str(before);
        let (kept, after) = match surrogate(escape) {
            None => split_after(escape, 2),
            Some(half) if half.is_high() && follows(escape).is_some_and(Half::is_low) => {
                split_after(escape, 2 * ESCAPE)
            }
            Some(_) => {
                changed = true;
                ("\\ufffd", split_after(escape, ESCAPE).1)
            }
        };
        mended.push_str(kept);
        rest = after;
    }
    if !changed {
        return Cow::Borrowed(text);
    }
    mended.push_str(rest);
    Cow::Owned(mended)
}

/// One half of a surrogate pair.
#[derive(Clone, Copy)]
struct Half(u16);

impl Half {
    const fn is_high(self) -> bool {
        matches!(self.0, 0xd800..=0xdbff)
    }

    const fn is_low(self) -> bool {
        matches!(self.0, 0xdc00..=0xdfff)
    }
}

/// The surrogate that the escape at the start of a text stands for, if it stands for one.
fn surrogate(escape: &str) -> Option<Half> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    u16::from_str_radix(digits, 16).ok().map(Half).filter(|half| half.is_high() || half.is_low())
}

/// The surrogate in the escape after the first one.
fn follows(escape: &str) -> Option<Half> {
    surrogate(escape.get(ESCAPE..)?)
}

/// Splits after some bytes, or after the whole text where that is no place to split.
fn split_after(text: &str, bytes: usize) -> (&str, &str) {
    text.split_at_checked(bytes).unwrap_or_else(|| match text.char_indices().nth(2) {
        Some((at, _)) => text.split_at(at),
        None => (text, ""),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_halves_are_replaced_and_nothing_else() {
        for (body, mended) in [
            (r#""\ud83d""#, r#""\ufffd""#),
            (r#""\ude00""#, r#""\ufffd""#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\uD83D\uDE00""#, r#""\uD83D\uDE00""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\ude00\ud83d""#, r#""\ufffd\ufffd""#),
            (r#""\ud83d\n""#, r#""\ufffd\n""#),
            (r#""\ud83d x""#, r#""\ufffd x""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\\\ud83d""#, r#""\\\ufffd""#),
            (r#""\ud83d\\ude00""#, r#""\ufffd\\ude00""#),
            (r#""\u00e9\"\\""#, r#""\u00e9\"\\""#),
            (r#""\ud8"#, r#""\ud8"#),
            ("\"\\é\\", "\"\\é\\"),
        ] {
            assert_eq!(mend(body.as_bytes()), mended, "{body}");
        }
    }

    #[test]
    fn bytes_become_text() {
        assert_eq!(mend(b"\xef\xbb\xbf[]"), "[]");
        assert_eq!(mend(b"\"\xff\""), "\"\u{fffd}\"");
        assert!(matches!(mend(b"{\"a\":\"\\n\"}"), Cow::Borrowed(_)), "nothing to mend, nothing copied");
    }
}
