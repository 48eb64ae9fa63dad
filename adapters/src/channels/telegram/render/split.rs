//! Text with looks, split where it does not fit one message.

use asks::text::utf16_len;
use teloxide::types::MessageEntity;
use unicode_segmentation::UnicodeSegmentation;

use super::Piece;

/// What a cut text ends in. One UTF-16 unit.
const ELLIPSIS: &str = "…";

/// How a part of a text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// As it is.
    Plain,
    /// A heading.
    Bold,
    /// A quiet line.
    Italic,
}

/// A text, its length in UTF-16 units, and which ranges of units look how.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Text {
    whole: String,
    units: usize,
    marks: Vec<(Look, usize, usize)>,
}

impl Text {
    /// The length in UTF-16 units.
    pub(super) const fn units(&self) -> usize {
        self.units
    }

    /// Whether there is anything to see.
    pub(super) fn is_visible(&self) -> bool {
        is_visible(&self.whole)
    }

    /// Adds a part.
    pub(super) fn push(&mut self, text: &str, look: Look) {
        let start = self.units;
        self.whole.push_str(text);
        self.units += utf16_len(text);
        if look != Look::Plain {
            self.marks.push((look, start, self.units));
        }
    }

    /// Adds what stands between two parts, unless this is the first.
    pub(super) fn gap(&mut self, between: &str) {
        if !self.whole.is_empty() {
            self.push(between, Look::Plain);
        }
    }

    /// Splits into texts of at most `room` units, the last of at most `last_room` (1 < `last_room` <= `room`).
    pub(super) fn split(self, room: usize, last_room: usize) -> Vec<Self> {
        let mut parts = Vec::new();
        let (mut rest, mut start) = (self.whole.as_str(), 0);
        loop {
            let left = self.units - start;
            let is_last = left <= last_room;
            let room = if left <= room { last_room } else { room };
            let (part, after) = if is_last { (rest, "") } else { split_at_grapheme(rest, room) };
            let units = utf16_len(part);
            let marks = self.marks.iter().filter_map(|(look, from, to)| {
                let (from, to) = ((*from).max(start), (*to).min(start + units));
                (from < to).then(|| (*look, from - start, to - start))
            });
            parts.push(Self { whole: part.to_owned(), units, marks: marks.collect() });
            if is_last {
                return parts;
            }
            rest = after;
            start += units;
        }
    }

    /// The text as a message's.
    pub(super) fn into_piece(self) -> Piece {
        let entity = |(look, from, to): (Look, usize, usize)| match look {
            Look::Plain => None,
            Look::Bold => Some(MessageEntity::bold(from, to - from)),
            Look::Italic => Some(MessageEntity::italic(from, to - from)),
        };
        Piece { text: self.whole, entities: self.marks.into_iter().filter_map(entity).collect() }
    }
}

/// Cuts a text to at most `room` units at a whole grapheme, with an ellipsis where something is missing; no room leaves
/// nothing.
pub(in super::super) fn shorten(text: &str, room: usize) -> String {
    if utf16_len(text) <= room {
        return text.to_owned();
    }
    let Some(room) = room.checked_sub(utf16_len(ELLIPSIS)) else { return String::new() };
    let mut kept = String::new();
    let mut used = 0;
    for grapheme in text.graphemes(true) {
        used += utf16_len(grapheme);
        if used > room {
            break;
        }
        kept.push_str(grapheme);
    }
    kept.push_str(ELLIPSIS);
    kept
}

/// Splits off a beginning of at most `room` units (at least 2): after the last line or else word that ends in the second
/// half, else after the last whole grapheme. A grapheme that alone is longer is split between characters.
fn split_at_grapheme(text: &str, room: usize) -> (&str, &str) {
    let (mut used, mut end, mut line, mut word) = (0, 0, 0, 0);
    for (at, grapheme) in text.grapheme_indices(true) {
        used += utf16_len(grapheme);
        if used > room {
            break;
        }
        end = at + grapheme.len();
        if used * 2 >= room {
            if grapheme.ends_with('\n') {
                line = end;
            } else if grapheme.chars().all(char::is_whitespace) {
                word = end;
            }
        }
    }
    let at = [line, word, end].into_iter().find(|at| *at > 0).unwrap_or_else(|| {
        let mut used = 0;
        let fits = text.char_indices().take_while(|(_, c)| {
            used += c.len_utf16();
            used <= room
        });
        fits.last().map_or(text.len(), |(at, c)| at + c.len_utf8())
    });
    text.split_at_checked(at).unwrap_or((text, ""))
}

/// Whether there is anything to see in a text. The servers refuse a message without.
pub(in super::super) fn is_visible(text: &str) -> bool {
    text.chars().any(|c| !c.is_whitespace() && !c.is_control() && !is_filler(c))
}

/// Characters that show nothing: joiners, marks of direction, selectors, blank letters.
const fn is_filler(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}
