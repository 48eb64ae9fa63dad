//! The answer envelope: accept, decline or cancel.

use serde_json::Value;

use super::report::Report;
use super::shape::{Fields, Need, Texts, mistyped};
use crate::errors::{Code, Path};
use crate::input::Input;
use crate::limits;

#[derive(Clone, Copy)]
enum Action {
    Accept,
    Decline,
    Cancel,
}

const ACTIONS: [(&str, Action); 3] =
    [("accept", Action::Accept), ("decline", Action::Decline), ("cancel", Action::Cancel)];

/// The content of an answer that accepts; `None` when there is none to look at, or the envelope is wrong.
pub(super) fn accepted_content<'a>(ask: &Input, response: &'a Value, report: &mut Report) -> Option<&'a Value> {
    let envelope = Fields::loose(response, Path::root(), report)?;
    match envelope.word("action", &ACTIONS, report)? {
        Action::Accept => {
            envelope.refuse_others(&["action", "content"], report);
            let content = envelope.value("content", Need::Required, report)?;
            if !content.is_object() {
                mistyped(&envelope.path("content"), "an object", content, report);
            }
            report.is_empty().then_some(content)
        }
        Action::Decline => {
            envelope.refuse_others(&["action"], report);
            if report.is_empty() && !ask.question().allow_decline {
                let message = "This ask may not be skipped.";
                report.add(&envelope.path("action"), Code::DeclineNotAllowed, message, "Answer it, or cancel it.");
            }
            None
        }
        Action::Cancel => {
            envelope.refuse_others(&["action", "reason"], report);
            envelope.text("reason", Need::Optional, Texts::Visible(limits::CANCEL_REASON), report);
            None
        }
    }
}
