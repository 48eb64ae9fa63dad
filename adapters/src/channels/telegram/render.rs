//! Turns a view into messages: plain text with entities of our own, and a keyboard under the last one.
//!
//! No parse mode: a text that the servers parse can fail to parse, and then nobody sees the card. Pure.

use asks::card::Style;
use asks::text::utf16_len;
use teloxide::types::MessageEntity;

use self::split::{Look, Text};
use super::limits;
use super::wire::{Action, Button, Keyboard};
use crate::channel::{CardView, ViewButton};

mod split;

pub(super) use self::split::{is_visible, shorten};

/// Stands where the platform wants a text and there is none to show.
const NOTHING: &str = "…";
/// Between the parts of a card.
const GAP: &str = "\n\n";

/// One message's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// The text, 1 to [`limits::TEXT`] units, with something visible in it.
    pub(super) text: String,
    /// What is bold or italic in it.
    pub(super) entities: Vec<MessageEntity>,
}

/// A card as messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rendered {
    /// What does not fit the last message, in order.
    pub(super) lead: Vec<Piece>,
    /// The message that carries the keyboard, and is edited later.
    pub(super) last: Piece,
    /// The buttons.
    pub(super) keyboard: Keyboard,
}

/// How the hand-off is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkAs {
    /// As a button, if the servers take its address.
    Button,
    /// Written out.
    Text,
}

/// Renders a card.
///
/// The last message's share of the text depends only on the question, not on how it stands or how the link is shown, so an
/// edit says the same and never needs another message.
#[must_use]
pub(super) fn card(view: &CardView, how: LinkAs) -> Rendered {
    let (written, button) = match &view.link {
        None => (None, None),
        Some((label, url)) => {
            let written = Some(format!("{label}: {url}")).filter(|line| utf16_len(line) <= limits::LINK_LINE);
            let as_button = how == LinkAs::Button && limits::takes_url(url);
            (written, as_button.then(|| link_button(label, url)))
        }
    };
    let link_room = written.as_ref().map_or(0, |line| utf16_len(line) + GAP.len());
    let mut parts = body(view).split(limits::TEXT, limits::TEXT - limits::STATUS_ROOM - link_room);
    let mut last = parts.pop().unwrap_or_default();
    if let Some(line) = written.filter(|_| button.is_none()) {
        last.gap(GAP);
        last.push(&line, Look::Plain);
    }
    if let Some(status) = view.status.as_deref().filter(|status| is_visible(status)) {
        last.gap(GAP);
        let room = limits::TEXT.saturating_sub(last.units());
        last.push(&shorten(status, room), Look::Plain);
    }
    if !last.is_visible() {
        last = Text::default();
        last.push(NOTHING, Look::Plain);
    }
    let inline_keyboard = view.buttons.iter().map(tap_button).chain(button).map(|button| [button]).collect();
    Rendered {
        lead: parts.into_iter().filter(Text::is_visible).map(Text::into_piece).collect(),
        last: last.into_piece(),
        keyboard: Keyboard { inline_keyboard },
    }
}

/// Renders a text on its own; nothing when there is nothing to see in it.
#[must_use]
pub(super) fn text(text: &str) -> Vec<Piece> {
    let mut whole = Text::default();
    whole.push(text, Look::Plain);
    let parts = whole.split(limits::TEXT, limits::TEXT);
    parts.into_iter().filter(Text::is_visible).map(Text::into_piece).collect()
}

fn body(view: &CardView) -> Text {
    let mut body = Text::default();
    let mut part = |gap: &str, text: &str, look: Look| {
        if is_visible(text) {
            body.gap(gap);
            body.push(text, look);
        }
    };
    part("", view.origin.as_deref().unwrap_or_default(), Look::Italic);
    part("\n", view.title.as_deref().unwrap_or_default(), Look::Bold);
    part("\n", &view.text, Look::Plain);
    if let Some((heading, content)) = &view.content {
        part(GAP, heading, Look::Bold);
        part("\n", content, Look::Plain);
    }
    part(GAP, &view.legend.join("\n"), Look::Plain);
    body
}

fn tap_button(button: &ViewButton) -> Button {
    let style = match button.style {
        Style::Primary => Some("primary"),
        Style::Destructive => Some("danger"),
        Style::Default | Style::Cancel => None,
    };
    Button { text: label(&button.label), style, action: Action::Data(button.token.clone()) }
}

fn link_button(text: &str, url: &str) -> Button {
    Button { text: label(text), style: None, action: Action::Url(url.to_owned()) }
}

fn label(text: &str) -> String {
    if is_visible(text) { shorten(text, limits::LABEL) } else { NOTHING.to_owned() }
}

#[cfg(test)]
mod tests;
