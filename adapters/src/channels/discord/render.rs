//! Turns a [`CardView`] or a text into Discord's bodies. Pure.
//!
//! Every body that carries a message says `allowed_mentions: {"parse": []}`, so nothing an agent writes pings anybody, and
//! suppresses embeds, so no preview robot follows a link. The builders are serenity's.

use asks::card::Style;
use serde::Serialize;
use serde_json::{Map, Value, json};
use serenity::all::{
    ButtonStyle, ChannelId, CreateActionRow, CreateButton, CreateInteractionResponse, CreateInteractionResponseMessage,
    CreateMessage, EditInteractionResponse, EditMessage, MessageFlags, MessageId, MessageReference,
    MessageReferenceKind, Nonce,
};
use url::Url;

use super::limits::{BUTTON_URL, CARD_PIECE, CONTENT, CUSTOM_ID, LABEL, ROW, ROWS, cut};
use super::markup::{escape, escaped_len, split};
use crate::channel::CardView;

/// What stands where there would be nothing; Discord takes no empty message.
const NOTHING: &str = "…";

/// One card as Discord's messages: the texts of those before, and the one with the buttons.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Card {
    /// Contents of the messages before the one with the buttons.
    pub(super) before: Vec<String>,
    /// The content of the message with the buttons.
    pub(super) content: String,
    rows: Vec<Vec<Button>>,
}

#[derive(Debug, Clone, PartialEq)]
enum Button {
    Tap { label: String, style: ButtonStyle, token: String },
    Link { label: String, url: String },
}

/// A text of one message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'a> {
    /// Its content, escaped.
    pub(super) content: &'a str,
    /// Its nonce.
    pub(super) nonce: &'a str,
    /// The message it answers: channel and message.
    pub(super) about: Option<(u64, u64)>,
}

/// Renders a card.
///
/// The question and all that belongs to it are cut into messages without regard to the status, so that every revision
/// finds the same piece in the message with the buttons.
pub(super) fn card(view: &CardView) -> Card {
    let (link, link_text) = match &view.link {
        None => (None, None),
        Some((label, url)) if url.chars().count() <= BUTTON_URL && is_web(url) && view.buttons.len() < ROW * ROWS => {
            (Some(Button::Link { label: button_label(label), url: url.clone() }), None)
        }
        Some((label, url)) => (None, Some(address(label, url))),
    };
    let mut parts = Parts::new(CARD_PIECE);
    if let Some(origin) = &view.origin {
        parts.add("-# ", &one_line(origin), "");
    }
    if let Some(title) = &view.title {
        parts.add("**", title.trim(), "**");
    }
    parts.add("", &view.text, "");
    if let Some((heading, body)) = &view.content {
        parts.gap();
        parts.add("**", heading.trim(), "**");
        parts.add("", body, "");
    }
    if !view.legend.is_empty() {
        parts.gap();
    }
    for line in &view.legend {
        parts.add("", line, "");
    }
    if let Some(text) = link_text {
        parts.gap();
        parts.add_ready(&text);
    }
    let mut before = parts.done();
    let mut content = before.pop().unwrap_or_default();
    if let Some(status) = view.status.as_deref().filter(|status| !status.trim().is_empty()) {
        if !content.is_empty() {
            content.push_str("\n\n");
        }
        let room = CONTENT.saturating_sub(content.chars().count());
        content.push_str(&fitting(status, room));
    }
    if content.trim().is_empty() {
        NOTHING.clone_into(&mut content);
    }
    let taps = view.buttons.iter().filter(|button| (1..=CUSTOM_ID).contains(&button.token.chars().count()));
    let buttons: Vec<Button> = taps
        .map(|button| Button::Tap {
            label: button_label(&button.label),
            style: style(button.style),
            token: button.token.clone(),
        })
        .take(ROW * ROWS - usize::from(link.is_some()))
        .chain(link)
        .collect();
    Card { before, content, rows: buttons.chunks(ROW).map(<[Button]>::to_vec).collect() }
}

/// A text as contents of as many messages as it takes.
pub(super) fn texts(text: &str) -> Vec<String> {
    split(text.trim(), CONTENT).iter().map(|piece| escape(piece)).collect()
}

/// The body that creates a message without buttons.
pub(super) fn create_text(piece: Piece<'_>) -> Value {
    sealed(create(piece))
}

/// The body that creates the message with the buttons.
pub(super) fn create_card(card: &Card, nonce: &str) -> Value {
    let piece = Piece { content: &card.content, nonce, about: None };
    let rows = rows(card);
    sealed(if rows.is_empty() { create(piece) } else { create(piece).components(rows) })
}

/// The body that makes an existing message say what the card says, with its buttons or none.
pub(super) fn edit(card: &Card) -> Value {
    let body = EditMessage::new().content(&card.content).components(rows(card)).flags(MessageFlags::SUPPRESS_EMBEDS);
    sealed(body)
}

/// The callback that acknowledges a press and changes nothing.
pub(super) fn acknowledge() -> Value {
    json!({ "type": 6 })
}

/// The callback that says something to the person who pressed, and to nobody else.
pub(super) fn whisper(text: &str) -> Value {
    let message = CreateInteractionResponseMessage::new().ephemeral(true).content(fitting_or_nothing(text));
    callback(&CreateInteractionResponse::Message(message))
}

/// The callback that shows to that person that something is being done, and promises nothing.
pub(super) fn whisper_later() -> Value {
    callback(&CreateInteractionResponse::Defer(CreateInteractionResponseMessage::new().ephemeral(true)))
}

/// The body that fills in what [`whisper_later`] left open.
pub(super) fn whisper_now(text: &str) -> Value {
    sealed(EditInteractionResponse::new().content(fitting_or_nothing(text)))
}

fn create(piece: Piece<'_>) -> CreateMessage {
    let message = CreateMessage::new()
        .content(piece.content)
        .flags(MessageFlags::SUPPRESS_EMBEDS)
        .nonce(Nonce::String(piece.nonce.to_owned()))
        .enforce_nonce(true);
    match piece.about {
        // Zero is no id, and serenity's id types panic on it.
        Some((channel, id)) if channel != 0 && id != 0 => message.reference_message(
            MessageReference::new(MessageReferenceKind::Default, ChannelId::new(channel))
                .message_id(MessageId::new(id))
                .fail_if_not_exists(false),
        ),
        _ => message,
    }
}

/// The one way out for a message body: whatever a builder made, mentions are off, and empty parts are left out.
fn sealed(body: impl Serialize) -> Value {
    let mut map = match serde_json::to_value(body) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    };
    for unused in ["embeds", "sticker_ids", "attachments"] {
        if map.get(unused).and_then(Value::as_array).is_some_and(Vec::is_empty) {
            map.remove(unused);
        }
    }
    if let Some(Value::Object(reference)) = map.get_mut("message_reference") {
        reference.retain(|_, value| !value.is_null());
    }
    map.insert("allowed_mentions".to_owned(), json!({ "parse": [] }));
    Value::Object(map)
}

fn callback(response: &CreateInteractionResponse) -> Value {
    let mut whole = serde_json::to_value(response).unwrap_or_default();
    if let Some(data) = whole.get_mut("data") {
        *data = sealed(data.take());
    }
    whole
}

fn rows(card: &Card) -> Vec<CreateActionRow> {
    let button = |button: &Button| match button {
        Button::Tap { label, style, token } => CreateButton::new(token).label(label).style(*style),
        Button::Link { label, url } => CreateButton::new_link(url).label(label),
    };
    card.rows.iter().map(|row| CreateActionRow::Buttons(row.iter().map(button).collect())).collect()
}

const fn style(style: Style) -> ButtonStyle {
    match style {
        Style::Primary => ButtonStyle::Primary,
        Style::Destructive => ButtonStyle::Danger,
        _ => ButtonStyle::Secondary,
    }
}

fn button_label(label: &str) -> String {
    if label.trim().is_empty() { NOTHING.to_owned() } else { cut(label, LABEL) }
}

fn is_web(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// A hand-off that does not fit a button, as text. An address in angle brackets is shown and followed as it is.
fn address(label: &str, url: &str) -> String {
    let plain = is_web(url) && !url.contains(|c: char| c == '<' || c == '>' || c.is_whitespace());
    if plain && url.chars().count() < CARD_PIECE / 2 {
        format!("{}\\: <{url}>", escape(&cut(label, LABEL)))
    } else {
        format!("{}\\: {}", escape(&cut(label, LABEL)), fitting(url, CARD_PIECE / 2))
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// As much of a text as fits into `room` code points once escaped, with an ellipsis where something is missing.
fn fitting(text: &str, room: usize) -> String {
    if escaped_len(text) <= room {
        return escape(text);
    }
    let mut kept = escape(super::limits::take(text, room.saturating_sub(1) / 2, |_| 1));
    kept.push('…');
    kept
}

fn fitting_or_nothing(text: &str) -> String {
    if text.trim().is_empty() {
        return NOTHING.to_owned();
    }
    // A private sentence may end with a line that is an address of ours, to be opened: nothing in it is markup.
    match text.rsplit_once('\n') {
        Some((before, address)) if is_plain_address(address) && escaped_len(before) + address.len() < CONTENT => {
            format!("{}\n{address}", escape(before))
        }
        _ => fitting(text, CONTENT),
    }
}

fn is_plain_address(line: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b':' | b'/' | b'.' | b'-');
    (line.starts_with("https://") || line.starts_with("http://")) && line.bytes().all(plain)
}

/// Messages being filled, one after the other.
#[derive(Debug)]
struct Parts {
    room: usize,
    full: Vec<String>,
    open: String,
    open_len: usize,
    gap: bool,
}

impl Parts {
    fn new(room: usize) -> Self {
        Self { room, full: Vec::new(), open: String::new(), open_len: 0, gap: false }
    }

    /// Leaves an empty line before what comes next, unless it begins a message.
    fn gap(&mut self) {
        self.gap = true;
    }

    /// Adds a text between marks, whole where it fits one message, else in as many pieces as it takes.
    fn add(&mut self, mark: &str, text: &str, end: &str) {
        if text.trim().is_empty() {
            return;
        }
        let marks = mark.chars().count() + end.chars().count();
        let len = marks + escaped_len(text);
        if len <= self.room && self.has_room_for(len) {
            self.append(&format!("{mark}{}{end}", escape(text)));
            return;
        }
        for piece in split(text, self.room.saturating_sub(marks)) {
            self.add_ready(&format!("{mark}{}{end}", escape(&piece)));
        }
    }

    /// Adds a text that is escaped already and fits one message.
    fn add_ready(&mut self, text: &str) {
        if !self.has_room_for(text.chars().count()) {
            self.full.push(std::mem::take(&mut self.open));
            self.open_len = 0;
        }
        self.append(text);
    }

    fn done(mut self) -> Vec<String> {
        if !self.open.is_empty() {
            self.full.push(self.open);
        }
        self.full
    }

    fn has_room_for(&self, len: usize) -> bool {
        self.open.is_empty() || self.open_len + 2 + len <= self.room
    }

    fn append(&mut self, text: &str) {
        if !self.open.is_empty() {
            let between = if self.gap { "\n\n" } else { "\n" };
            self.open.push_str(between);
            self.open_len += between.len();
        }
        self.gap = false;
        self.open.push_str(text);
        self.open_len += text.chars().count();
    }
}

#[cfg(test)]
mod tests;
