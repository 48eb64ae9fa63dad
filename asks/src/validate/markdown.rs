//! `markdown`: edit a draft and send it back.

use serde_json::Value;

use super::report::Report;
use super::shape::{Fields, Need, Texts, too_long};
use crate::errors::{Code, Path};
use crate::input::{Lengths, Markdown, count};
use crate::limits::{self, Range};
use crate::text;

const KEYS: [&str; 8] =
    ["prompt", "title", "submitLabel", "allowDecline", "initial", "placeholder", "minLength", "maxLength"];

/// Each value by itself.
pub(super) fn shape(input: &Value, report: &mut Report) -> Option<Markdown> {
    let fields = Fields::strict(input, Path::root(), &KEYS, report)?;
    let question = fields.question_with_submit(report);
    let initial = fields.owned_text("initial", Texts::Upto(limits::MARKDOWN), report);
    let placeholder = fields.owned_text("placeholder", Texts::Visible(limits::PLACEHOLDER), report);
    let min = fields.whole("minLength", Need::Optional, limits::MARKDOWN_MIN_LENGTH, report);
    let max = fields.whole("maxLength", Need::Optional, limits::MARKDOWN_MAX_LENGTH, report);
    Some(Markdown { question: question?, initial, placeholder, lengths: Lengths { min, max } })
}

/// The values with each other. The draft may break the bounds: then the person mends it.
pub(super) fn rules(ask: &Markdown, report: &mut Report) {
    bounds_fit(ask.lengths.within(limits::MARKDOWN), &Path::root().key("minLength"), report);
}

/// The content of an answer.
pub(super) fn answer(ask: &Markdown, content: &Value, path: &Path, report: &mut Report) {
    let Some(fields) = Fields::strict(content, path.clone(), &["markdown", "changed"], report) else { return };
    let markdown = fields.text("markdown", Need::Required, Texts::Any, report);
    let changed = fields.flag("changed", Need::Required, report);
    let (Some(markdown), Some(changed), true) = (markdown, changed, report.is_empty()) else { return };

    length_fits(markdown, ask.lengths.within(limits::MARKDOWN), &fields.path("markdown"), report);
    let differs = markdown != ask.draft();
    if changed != differs {
        let message =
            format!("changed is {changed}, but the text {} the draft.", if differs { "differs from" } else { "is" });
        report.add(&fields.path("changed"), Code::ChangedMismatch, message, format!("Send changed: {differs}."));
    }
}

/// Reports a minimum above the maximum.
pub(super) fn bounds_fit(bounds: Range, min_path: &Path, report: &mut Report) {
    if bounds.min > bounds.max {
        let message = format!("The minimum length {} is above the maximum {}.", bounds.min, bounds.max);
        report.add(min_path, Code::RangeInvalid, message, format!("Use at most {}.", bounds.max));
    }
}

/// Reports a text whose length is outside its bounds. White space at the ends counts for the maximum only.
pub(super) fn length_fits(written: &str, bounds: Range, path: &Path, report: &mut Report) {
    let length = text::utf16_len(written);
    if count(length) > bounds.max {
        too_long(path, length, bounds.max, report);
    }
    let visible = text::utf16_len(text::trim(written));
    if count(visible) < bounds.min {
        let message =
            format!("{path} is {visible} characters long without spaces at the ends; {} are needed.", bounds.min);
        report.add(path, Code::TooShort, message, format!("Write at least {} characters.", bounds.min));
    }
}
