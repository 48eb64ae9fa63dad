//! `confirm`: approve or deny one action. The same on both surfaces.

use serde_json::Value;

use super::report::Report;
use super::shape::{Fields, Need, Texts};
use crate::errors::{Code, Path};
use crate::input::Confirm;
use crate::limits;
use crate::text;

const KEYS: [&str; 6] = ["prompt", "title", "allowDecline", "confirmLabel", "denyLabel", "destructive"];

/// Each value by itself.
pub(super) fn shape(input: &Value, report: &mut Report) -> Option<Confirm> {
    let fields = Fields::strict(input, Path::root(), &KEYS, report)?;
    let question = fields.question(false, report);
    let confirm_label = fields.owned_text("confirmLabel", Texts::Visible(limits::CONFIRM_LABEL), report);
    let deny_label = fields.owned_text("denyLabel", Texts::Visible(limits::CONFIRM_LABEL), report);
    let destructive = fields.flag("destructive", Need::Optional, report).unwrap_or(false);
    Some(Confirm { question: question?, confirm_label, deny_label, destructive })
}

/// The values with each other: a person must be able to tell yes from no.
pub(super) fn rules(ask: &Confirm, report: &mut Report) {
    if text::trim(ask.approve()) != text::trim(ask.deny()) {
        return;
    }
    let key = if ask.deny_label.is_some() { "denyLabel" } else { "confirmLabel" };
    let message = format!("Both buttons would read {}.", text::quote(text::trim(ask.deny())));
    report.add(&Path::root().key(key), Code::DuplicateLabel, message, "Give each button its own label.");
}

/// The content of an answer.
pub(super) fn answer(content: &Value, path: &Path, report: &mut Report) {
    if let Some(fields) = Fields::strict(content, path.clone(), &["confirmed"], report) {
        fields.flag("confirmed", Need::Required, report);
    }
}
