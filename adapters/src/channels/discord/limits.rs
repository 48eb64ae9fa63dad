//! Discord's limits, each with its unit, and the cuts that keep within them.
//!
//! Sources: <https://discord.com/developers/docs/resources/message>,
//! <https://discord.com/developers/docs/components/reference>,
//! <https://discord.com/developers/docs/topics/rate-limits>.

use std::time::Duration;

use unicode_segmentation::UnicodeSegmentation;

/// A message's content, in code points.
pub(super) const CONTENT: usize = 2000;
/// What a piece of a card may take of [`CONTENT`], in code points: the rest stays free for its status, so that a status
/// that comes later never moves a piece of the question into another message.
pub(super) const CARD_PIECE: usize = 1400;
/// A button's label, in code points.
pub(super) const LABEL: usize = 80;
/// A link button's address, in characters.
pub(super) const BUTTON_URL: usize = 512;
/// Buttons in one row.
pub(super) const ROW: usize = 5;
/// Rows in one message.
pub(super) const ROWS: usize = 5;
/// A button's `custom_id`, in characters.
pub(super) const CUSTOM_ID: usize = 100;
/// A message's nonce, in characters.
pub(super) const NONCE: usize = 25;

/// For how long Discord surely remembers a nonce ("the past few minutes").
pub(super) const NONCE_KEPT: Duration = Duration::from_secs(110);

/// How long a call may take in all, its turn in the queue and its second tries included.
pub(super) const CALL: Duration = Duration::from_millis(9_500);
/// How long one try of a call may take.
pub(super) const TRY: Duration = Duration::from_secs(4);
/// When an interaction must be acknowledged, from when it came; Discord's own limit is 3 s from when it was sent.
pub(super) const ACK: Duration = Duration::from_millis(2_500);
/// How long a press may take before its person gets a reply that promises nothing yet.
pub(super) const ACK_PATIENCE: Duration = Duration::from_millis(1_500);

/// Requests in any second, over all routes but the interactions' own; Discord's limit is 50.
pub(super) const PER_SECOND: u32 = 38;
/// How many of those may go at once.
pub(super) const BURST: u32 = 10;

/// Refused requests (401, 403, 429 of our own making) in [`REFUSED_WINDOW`] after which nothing is sent any more;
/// Discord bans the address at 10,000.
pub(super) const REFUSED: usize = 300;
/// The same for acknowledgements, which matter more.
pub(super) const REFUSED_ACKS: usize = 450;
/// The window in which refused requests count.
pub(super) const REFUSED_WINDOW: Duration = Duration::from_mins(10);

/// Cuts a text to at most `most` code points, at the end of a whole grapheme, with an ellipsis where something is missing.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut kept = take(text, most.saturating_sub(1), |_| 1).to_owned();
    kept.push('…');
    kept
}

/// The longest beginning of whole graphemes whose weight is at most `room`.
pub(super) fn take(text: &str, room: usize, weight: impl Fn(char) -> usize) -> &str {
    let mut used = 0;
    let mut end = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        used += grapheme.chars().map(&weight).sum::<usize>();
        if used > room {
            break;
        }
        end = at + grapheme.len();
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_fall_between_graphemes() {
        let family = "👩‍👩‍👧‍👦";
        assert_eq!(cut(&family.repeat(2), 13), format!("{family}…"));
        assert_eq!(cut(&family.repeat(2), 14), family.repeat(2));
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut(family, 3), "…");
    }
}
