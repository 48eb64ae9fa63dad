//! Deriving the simple card of an ask, and finding a pressed button on it.

mod choice;

use serde_json::{Map, Value, json};

use crate::answer::AskResponse;
use crate::ask::Surface;
use crate::card::{Button, Card, Kind, Style};
use crate::errors::{Code, FieldError, InvalidAsk, Path};
use crate::ids::{ButtonId, ToolCallId};
use crate::input::{Confirm, Form, Input, Markdown};
use crate::{limits, text, validate};

/// The card of an ask.
///
/// # Errors
/// When the ask is invalid, with every reason.
pub fn derive(kind: &Kind, input: &Value, ask: &ToolCallId) -> Result<Card, InvalidAsk> {
    validate::read(kind, Surface::Full, input).map(|input| card(&input, ask))
}

/// The card of an ask that was read already. Every limit of a card holds for it if the ask is valid.
#[must_use]
pub fn card(input: &Input, ask: &ToolCallId) -> Card {
    let Face { buttons, handoff } = match input {
        Input::Choice(choice) => choice::face(choice, input),
        Input::Confirm(confirm) => confirm_face(confirm),
        Input::Markdown(markdown) => markdown_face(markdown, input),
        Input::Form(form) => form_face(form, input),
        Input::Files(files) => Face { buttons: decline(SKIP, files.question.allow_decline).collect(), handoff: true },
    };
    let question = input.question();
    Card {
        tool_call_id: ask.clone(),
        kind: input.kind(),
        title: question.title.as_deref().map(|title| cut(title, limits::CARD_TITLE)),
        text: cut(&question.prompt, limits::CARD_TEXT),
        buttons,
        handoff,
    }
}

/// The pressed button.
///
/// # Errors
/// `UNKNOWN_BUTTON` at `buttonId` when the card does not have it, with the ids that it has.
pub fn find_button<'a>(card: &'a Card, id: &ButtonId) -> Result<&'a Button, FieldError> {
    card.button(id).ok_or_else(|| {
        let message = format!("Button {} is not on the pending ask's simple card.", text::quote(id.as_str()));
        let ids: Vec<String> = card.buttons.iter().map(|button| text::quote_whole(button.id.as_str())).collect();
        let fix = if ids.is_empty() {
            "The card has no buttons. Send a full askResponse instead.".to_owned()
        } else {
            format!("Send the id of one of the card's buttons: {}.", ids.join(", "))
        };
        FieldError::new(&Path::root().key("buttonId"), Code::UnknownButton, message, fix)
    })
}

/// The part of a card that depends on the kind.
struct Face {
    buttons: Vec<Button>,
    handoff: bool,
}

/// The id and label of a button that declines: `skip`, where nothing is lost by it.
const SKIP: (&str, &str) = ("skip", "Skip");
/// The id and label of a button that declines: `cancel`, where a draft or a form is put away.
const CANCEL: (&str, &str) = ("cancel", "Cancel");

fn confirm_face(ask: &Confirm) -> Face {
    let approve = if ask.destructive { Style::Destructive } else { Style::Primary };
    Face {
        buttons: vec![
            accept("approve", ask.approve(), approve, json!({ "confirmed": true })),
            accept("deny", ask.deny(), Style::Cancel, json!({ "confirmed": false })),
        ],
        handoff: false,
    }
}

fn markdown_face(ask: &Markdown, input: &Input) -> Face {
    let content = json!({ "changed": false, "markdown": ask.draft() });
    let approve = Some(accept("approve", "Approve draft", Style::Primary, content));
    Face {
        buttons: approve
            .filter(|button| is_valid(button, input))
            .into_iter()
            .chain(decline(CANCEL, ask.question.allow_decline))
            .collect(),
        handoff: true,
    }
}

fn form_face(ask: &Form, input: &Input) -> Face {
    let defaults: Map<String, Value> = ask
        .fields
        .iter()
        .filter_map(|field| field.default.clone().map(|default| (field.id.clone(), default)))
        .collect();
    // A required field without a default makes the answer invalid, so that needs no look of its own.
    let submit = (!defaults.is_empty())
        .then(|| accept("submit-defaults", "Submit defaults", Style::Primary, json!({ "values": defaults })));
    Face {
        buttons: submit
            .filter(|button| is_valid(button, input))
            .into_iter()
            .chain(decline(CANCEL, ask.question.allow_decline))
            .collect(),
        handoff: true,
    }
}

/// A button that accepts with this content. Its label is trimmed and cut.
fn accept(id: &str, label: &str, style: Style, content: Value) -> Button {
    let envelope = [("action", "accept".into()), ("content", content)];
    let response = envelope.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    Button { id: ButtonId::new(id), label: short(label, limits::CARD_LABEL), style, response }
}

/// A button that declines, where that is allowed.
fn decline((id, label): (&str, &str), allowed: bool) -> impl Iterator<Item = Button> {
    let button = || Button {
        id: ButtonId::new(id),
        label: label.to_owned(),
        style: Style::Cancel,
        response: AskResponse::Decline.to_value(),
    };
    allowed.then(button).into_iter()
}

/// Whether the source would take what a button sends.
fn is_valid(button: &Button, input: &Input) -> bool {
    validate::answer_to(input, &button.response, limits::DEFAULT_MAX_FILE_SIZE).is_empty()
}

/// A label: trimmed first, then cut.
fn short(label: &str, limit: limits::TextLimit) -> String {
    cut(text::trim(label), limit)
}

fn cut(written: &str, limit: limits::TextLimit) -> String {
    text::cut(written, limit.max).into_owned()
}
