//! One value of a form: an answer, or a default.

use serde_json::Value;

use crate::errors::{Code, Path};
use crate::input::{FieldType, Numbers, Offered, count};
use crate::limits::{self, Range};
use crate::text;
use crate::validate::choice::{not_one_of_the_options, offered};
use crate::validate::formats;
use crate::validate::markdown::length_fits;
use crate::validate::report::Report;
use crate::validate::shape::{too_long, whole_number};

/// What a value is checked as.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Answer,
    Default,
}

impl Purpose {
    const fn not_offered(self) -> Code {
        match self {
            Self::Answer => Code::OptionNotOffered,
            Self::Default => Code::DefaultNotInOptions,
        }
    }
}

/// Whether a value counts as no answer, whatever the field's type: a blank string or an empty list.
pub(super) fn is_unanswered(value: &Value) -> bool {
    match value {
        Value::String(written) => text::is_blank(written),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Reports a value that its field does not accept.
pub(super) fn check(holds: &FieldType, value: &Value, path: &Path, purpose: Purpose, report: &mut Report) {
    let written = value.as_str();
    match (holds, written) {
        (FieldType::Text(lengths), Some(written)) => {
            length_fits(written, lengths.within(limits::FORM_TEXT), path, report);
        }
        (FieldType::Textarea(lengths), Some(written)) => {
            length_fits(written, lengths.within(limits::FORM_TEXTAREA), path, report);
        }
        (FieldType::Email, Some(written)) => format_fits(written, formats::is_email, "an e-mail address", path, report),
        (FieldType::Url, Some(written)) => format_fits(written, formats::is_url, "an http or https URL", path, report),
        (FieldType::Phone, Some(written)) => {
            format_fits(written, formats::is_phone, "a telephone number", path, report);
        }
        (FieldType::Date, Some(written)) => {
            date_fits(written, formats::is_date, "a real day as YYYY-MM-DD", path, report);
        }
        (FieldType::Time, Some(written)) => date_fits(written, formats::is_time, "a time as HH:mm", path, report),
        (FieldType::Datetime, Some(written)) => {
            date_fits(written, formats::is_datetime, "an ISO 8601 time with Z or an offset", path, report);
        }
        (FieldType::Select(options), Some(id)) => {
            if !has(options, id) {
                not_one_of_the_options(path, id, purpose.not_offered(), report);
            }
        }
        (FieldType::Number(bounds), _) => number_fits(*bounds, value, path, report),
        (FieldType::Multiselect(options), _) => selection_fits(options, value, path, purpose, report),
        (FieldType::Boolean, _) if value.is_boolean() => {}
        (FieldType::Boolean, _) => mismatch(path, "true or false", report),
        (_, None) => mismatch(path, "a string", report),
    }
}

pub(super) fn too_many(length: usize, path: &Path, report: &mut Report) {
    let max = limits::SELECTED.max;
    let message = format!("{path} has {length} entries; at most {max} are allowed.");
    report.add(path, Code::TooMany, message, format!("Keep at most {max}."));
}

fn has(options: &[Offered], id: &str) -> bool {
    options.iter().any(|option| option.id == id)
}

fn mismatch(path: &Path, expected: &str, report: &mut Report) {
    report.add(path, Code::FieldTypeMismatch, format!("{path} is not {expected}."), format!("Send {expected}."));
}

/// A text with a format. One that is too long is not looked at any further.
fn format_fits(written: &str, fits: fn(&str) -> bool, expected: &str, path: &Path, report: &mut Report) {
    if !limits::FORM_TEXT.holds(written) {
        too_long(path, limits::FORM_TEXT.measure(written), limits::FORM_TEXT.max, report);
    } else if !fits(written) {
        mismatch(path, expected, report);
    }
}

fn date_fits(written: &str, fits: fn(&str) -> bool, expected: &str, path: &Path, report: &mut Report) {
    if !fits(written) {
        let message = format!("{} is not {expected}.", text::quote(written));
        report.add(path, Code::InvalidDate, message, format!("Send {expected}."));
    }
}

fn number_fits(bounds: Numbers, value: &Value, path: &Path, report: &mut Report) {
    let Value::Number(number) = value else { return mismatch(path, "a number", report) };
    if bounds.integer && whole_number(number).is_none() {
        return mismatch(path, "a whole number", report);
    }
    let Some(number) = number.as_f64() else { return mismatch(path, "a number", report) };
    let outside = match bounds {
        Numbers { min: Some(min), .. } if number < min => Some(format!("at least {min}")),
        Numbers { max: Some(max), .. } if number > max => Some(format!("at most {max}")),
        _ => None,
    };
    if let Some(needed) = outside {
        let message = format!("{path} must be {needed}, not {number}.");
        report.add(path, Code::OutOfRange, message, format!("Send a number that is {needed}."));
    }
}

fn selection_fits(options: &[Offered], value: &Value, path: &Path, purpose: Purpose, report: &mut Report) {
    let ids: Option<Vec<&str>> = value.as_array().and_then(|items| items.iter().map(Value::as_str).collect());
    let Some(ids) = ids else { return mismatch(path, "a list of option ids", report) };
    let Range { max, .. } = limits::SELECTED;
    if count(ids.len()) > max {
        return too_many(ids.len(), path, report);
    }
    offered(&ids, path, purpose.not_offered(), |id| has(options, id), report);
}
