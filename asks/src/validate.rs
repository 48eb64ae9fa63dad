//! Checking asks, answers and files against the rules of their kind.
//!
//! An ask is read in two phases. The *shape* phase looks at each value by itself: types, lengths, allowed words. The
//! *rules* phase compares values with each other: duplicates, bounds, defaults, labels that read alike. The second runs
//! unless the first found something missing, of the wrong type, outside its enum or over a list's maximum, because then
//! there is nothing sensible to compare. An answer is checked likewise, step by step: envelope, content, rules.

mod bytes;
mod choice;
mod confirm;
mod data_url;
mod envelope;
mod files;
mod form;
mod formats;
mod markdown;
mod report;
mod shape;

use serde_json::Value;

use crate::ask::Surface;
use crate::card::Kind;
use crate::errors::{Code, FieldError, InvalidAsk, Path};
use crate::input::Input;
use crate::text;
use report::Report;

/// Checks the bytes of an answer's first file against its declared type and a size cap in bytes.
///
/// Images and PDFs are told by their signature. Anything else that is UTF-8 without NUL is text; JSON must also parse.
#[must_use]
pub fn bytes(bytes: &[u8], mime_type: &str, max: u64) -> Vec<FieldError> {
    file_bytes(bytes, mime_type, max, 0)
}

/// Like [`bytes()`], for the file at `index` of the answer.
#[must_use]
pub fn file_bytes(bytes: &[u8], mime_type: &str, max: u64, index: usize) -> Vec<FieldError> {
    let mut report = Report::default();
    bytes::check(bytes, mime_type, max, &Path::root().key("content").key("files").index(index), &mut report);
    report.finish()
}

/// Everything that is wrong with an ask, in order; empty when it is valid.
#[must_use]
pub fn ask(kind: &Kind, surface: Surface, input: &Value) -> Vec<FieldError> {
    read(kind, surface, input).err().map(|invalid| invalid.errors).unwrap_or_default()
}

/// Reads an ask that must be valid.
///
/// # Errors
/// When it is not, with every reason. A kind that is not known, or not offered on the surface, is an `INVALID_ENUM` at
/// `kind`.
pub fn read(kind: &Kind, surface: Surface, input: &Value) -> Result<Input, InvalidAsk> {
    let mut report = Report::default();
    let read = phases(kind, surface, input, &mut report);
    match (read, report.finish()) {
        (Some(input), errors) if errors.is_empty() => Ok(input),
        (_, errors) => Err(InvalidAsk { errors }),
    }
}

/// Reads an ask for showing it: one that breaks a limit, or has keys that a newer host added, is read all the same.
///
/// # Errors
/// When something is missing, has the wrong type or is outside its enum, with every reason.
pub fn read_tolerantly(kind: &Kind, input: &Value) -> Result<Input, InvalidAsk> {
    let mut report = Report::default();
    match phases(kind, Surface::Full, input, &mut report) {
        Some(input) => Ok(input),
        None => Err(InvalidAsk { errors: report.finish() }),
    }
}

/// Everything that is wrong with an answer to an ask, in order; empty when it is valid.
///
/// `max_file_size` is the host's cap in bytes. Where the ask itself cannot be read, its own errors are returned.
#[must_use]
pub fn answer(kind: &Kind, input: &Value, response: &Value, max_file_size: u64) -> Vec<FieldError> {
    match read_tolerantly(kind, input) {
        Ok(ask) => answer_to(&ask, response, max_file_size),
        Err(invalid) => invalid.errors,
    }
}

/// Like [`answer`], for an ask that was read already.
#[must_use]
pub fn answer_to(ask: &Input, response: &Value, max_file_size: u64) -> Vec<FieldError> {
    let mut report = Report::default();
    if let Some(content) = envelope::accepted_content(ask, response, &mut report) {
        let path = Path::root().key("content");
        match ask {
            Input::Choice(ask) => choice::answer(ask, content, &path, &mut report),
            Input::Confirm(_) => confirm::answer(content, &path, &mut report),
            Input::Markdown(ask) => markdown::answer(ask, content, &path, &mut report),
            Input::Form(ask) => form::answer(ask, content, &path, &mut report),
            Input::Files(ask) => files::answer(ask, content, max_file_size, &path, &mut report),
        }
    }
    report.finish()
}

/// Both phases. `None` when the shape did not allow the second.
fn phases(kind: &Kind, surface: Surface, input: &Value, report: &mut Report) -> Option<Input> {
    let read = match (kind, surface) {
        (Kind::Choice, _) => choice::shape(input, surface, report).map(Input::Choice),
        (Kind::Confirm, _) => confirm::shape(input, report).map(Input::Confirm),
        (Kind::Markdown, Surface::Full) => markdown::shape(input, report).map(Input::Markdown),
        (Kind::Form, Surface::Full) => form::shape(input, report).map(Input::Form),
        (Kind::Files, Surface::Full) => files::shape(input, report).map(Input::Files),
        _ => {
            let message =
                format!("{} asks do not exist on the {} surface.", text::quote(kind.as_str()), surface.as_str());
            report.add(&Path::root().key("kind"), Code::InvalidEnum, message, fix_for_kind(surface));
            None
        }
    };
    let ask = read.filter(|_| !report.forbids_rules())?;
    match &ask {
        Input::Choice(ask) => choice::rules(ask, surface, report),
        Input::Confirm(ask) => confirm::rules(ask, report),
        Input::Markdown(ask) => markdown::rules(ask, report),
        Input::Form(ask) => form::rules(ask, report),
        Input::Files(ask) => files::rules(ask, report),
    }
    Some(ask)
}

const fn fix_for_kind(surface: Surface) -> &'static str {
    match surface {
        Surface::Full => "Use \"choice\", \"confirm\", \"markdown\", \"form\" or \"files\".",
        Surface::Compact => "Use \"choice\" or \"confirm\", or the full surface.",
    }
}
