//! Reading JSON values by type and limit, with an error for whatever is not as it should be.
//!
//! Each reader returns `None` where the value is absent or unusable. The two are told apart by the report: an unusable
//! value leaves an error in it that keeps the rules from running.

use serde_json::{Map, Number, Value};

use super::report::Report;
use crate::errors::{Code, Path};
use crate::input::{Offered, Question, count};
use crate::limits::{self, Range, TextLimit};
use crate::text;

/// Whether a key may be left out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Required,
    Optional,
}

/// What texts a key takes.
#[derive(Clone, Copy)]
pub(super) enum Texts {
    /// A text that people read: not blank, and not too long.
    Visible(TextLimit),
    /// Not empty, and not too long.
    Filled(TextLimit),
    /// Not too long.
    Upto(TextLimit),
    /// Anything; the rules look at it later.
    Any,
}

/// An object that is being read.
pub(super) struct Fields<'a> {
    map: &'a Map<String, Value>,
    path: Path,
}

impl<'a> Fields<'a> {
    /// Takes a value as an object with no other keys than the `known` ones.
    pub(super) fn strict(value: &'a Value, path: Path, known: &[&str], report: &mut Report) -> Option<Self> {
        let fields = Self::loose(value, path, report)?;
        fields.refuse_others(known, report);
        Some(fields)
    }

    /// Takes a value as an object whose keys are looked at later.
    pub(super) fn loose(value: &'a Value, path: Path, report: &mut Report) -> Option<Self> {
        match value {
            Value::Object(map) => Some(Self { map, path }),
            other => {
                mistyped(&path, "an object", other, report);
                None
            }
        }
    }

    pub(super) fn refuse_others(&self, known: &[&str], report: &mut Report) {
        for key in self.map.keys().filter(|key| !known.contains(&key.as_str())) {
            unknown_key(&self.path.key(key), key, report);
        }
    }

    pub(super) fn path(&self, key: &str) -> Path {
        self.path.key(key)
    }

    pub(super) fn root(&self) -> &Path {
        &self.path
    }

    pub(super) fn entries(&self) -> &'a Map<String, Value> {
        self.map
    }

    /// The value of a key. `null` is a value.
    pub(super) fn value(&self, key: &str, need: Need, report: &mut Report) -> Option<&'a Value> {
        let value = self.map.get(key);
        if value.is_none() && need == Need::Required {
            let path = self.path.key(key);
            report.add(
                &path,
                Code::MissingRequired,
                format!("{path} is required."),
                format!("Add {}.", text::quote(key)),
            );
        }
        value
    }

    pub(super) fn text(&self, key: &str, need: Need, texts: Texts, report: &mut Report) -> Option<&'a str> {
        text_of(self.value(key, need, report)?, &self.path.key(key), texts, report)
    }

    pub(super) fn owned_text(&self, key: &str, texts: Texts, report: &mut Report) -> Option<String> {
        self.text(key, Need::Optional, texts, report).map(str::to_owned)
    }

    pub(super) fn flag(&self, key: &str, need: Need, report: &mut Report) -> Option<bool> {
        let value = self.value(key, need, report)?;
        let flag = value.as_bool();
        if flag.is_none() {
            mistyped(&self.path.key(key), "true or false", value, report);
        }
        flag
    }

    /// A whole number, within a range that only bounds it: outside it is reported and read all the same.
    pub(super) fn whole(&self, key: &str, need: Need, range: Range, report: &mut Report) -> Option<i64> {
        let value = self.value(key, need, report)?;
        let path = self.path.key(key);
        let Value::Number(number) = value else {
            mistyped(&path, "a whole number", value, report);
            return None;
        };
        let Some(whole) = whole_number(number) else {
            mistyped(&path, "a whole number", value, report);
            return None;
        };
        if !range.holds(whole) {
            let message = format!("{path} must be from {} to {}, not {number}.", range.min, range.max);
            report.add(&path, Code::RangeInvalid, message, "Use a number within these bounds.");
        }
        Some(whole)
    }

    pub(super) fn number(&self, key: &str, report: &mut Report) -> Option<f64> {
        let value = self.value(key, Need::Optional, report)?;
        let number = value.as_f64();
        if number.is_none() {
            mistyped(&self.path.key(key), "a number", value, report);
        }
        number
    }

    /// A list with a length. One that is too long is not read: nothing is said about its items.
    pub(super) fn list(&self, key: &str, need: Need, length: Range, report: &mut Report) -> Option<&'a [Value]> {
        let items = self.any_list(key, need, report)?;
        let path = self.path.key(key);
        if count(items.len()) > length.max {
            let message = format!("{path} has {} entries; at most {} are allowed.", items.len(), length.max);
            report.add(&path, Code::TooMany, message, format!("Keep at most {}.", length.max));
            return None;
        }
        if count(items.len()) < length.min {
            let message = format!("{path} has {} entries; at least {} are needed.", items.len(), length.min);
            report.add(&path, Code::TooFew, message, format!("List at least {}.", length.min));
        }
        Some(items)
    }

    pub(super) fn any_list(&self, key: &str, need: Need, report: &mut Report) -> Option<&'a [Value]> {
        let value = self.value(key, need, report)?;
        let items = value.as_array().map(Vec::as_slice);
        if items.is_none() {
            mistyped(&self.path.key(key), "a list", value, report);
        }
        items
    }

    /// A list of strings. `None` when it, or one of them, is unusable.
    pub(super) fn texts(&self, key: &str, need: Need, length: Range, report: &mut Report) -> Option<Vec<&'a str>> {
        let path = self.path.key(key);
        let items = self.list(key, need, length, report)?;
        each(items, &path, |item, path| text_of(item, path, Texts::Any, report))
    }

    /// One of some words.
    pub(super) fn word<T: Copy>(&self, key: &str, words: &[(&str, T)], report: &mut Report) -> Option<T> {
        word_of(self.value(key, Need::Required, report)?, &self.path.key(key), words, report)
    }

    /// What every kind has. `allow_decline` is the kind's default.
    pub(super) fn question(&self, allow_decline: bool, report: &mut Report) -> Option<Question> {
        let title = self.owned_text("title", Texts::Visible(limits::TITLE), report);
        let allow_decline = self.flag("allowDecline", Need::Optional, report).unwrap_or(allow_decline);
        let prompt = self.text("prompt", Need::Required, Texts::Visible(limits::PROMPT), report)?;
        Some(Question { prompt: prompt.to_owned(), title, submit_label: None, allow_decline })
    }

    /// What every kind but `confirm` has.
    pub(super) fn question_with_submit(&self, report: &mut Report) -> Option<Question> {
        let submit_label = self.owned_text("submitLabel", Texts::Visible(limits::SUBMIT_LABEL), report);
        self.question(true, report).map(|question| Question { submit_label, ..question })
    }

    /// The options of a choice or of a form's field.
    pub(super) fn options(
        &self,
        length: Range,
        keys: &[&str],
        label: TextLimit,
        report: &mut Report,
    ) -> Option<Vec<Offered>> {
        let path = self.path.key("options");
        let items = self.list("options", Need::Required, length, report)?;
        each(items, &path, |item, path| {
            let option = Fields::strict(item, path.clone(), keys, report)?;
            let id = option.id(report);
            let label = option.text("label", Need::Required, Texts::Visible(label), report);
            let description = if keys.contains(&"description") {
                option.owned_text("description", Texts::Visible(limits::OPTION_DESCRIPTION), report)
            } else {
                None
            };
            Some(Offered { id: id?.to_owned(), label: label?.to_owned(), description })
        })
    }

    /// The id of an option or a field.
    pub(super) fn id(&self, report: &mut Report) -> Option<&'a str> {
        let id = self.text("id", Need::Required, Texts::Any, report)?;
        if !is_id(id) {
            let message = format!("{} is not a valid id.", text::quote(id));
            let fix = format!("Use an id that matches {}.", limits::OPTION_ID_PATTERN);
            report.add(&self.path.key("id"), Code::InvalidFormat, message, fix);
        }
        Some(id)
    }
}

/// Reads every item, also after one that is unusable, so that each gets its error. `None` when one was.
pub(super) fn each<'a, T>(
    items: &'a [Value],
    path: &Path,
    mut read: impl FnMut(&'a Value, &Path) -> Option<T>,
) -> Option<Vec<T>> {
    let read: Vec<Option<T>> = items.iter().enumerate().map(|(index, item)| read(item, &path.index(index))).collect();
    read.into_iter().collect()
}

pub(super) fn text_of<'a>(value: &'a Value, path: &Path, texts: Texts, report: &mut Report) -> Option<&'a str> {
    let Value::String(written) = value else {
        mistyped(path, "a string", value, report);
        return None;
    };
    let (limit, too_short) = match texts {
        Texts::Visible(limit) => (Some(limit), text::is_blank(written)),
        Texts::Filled(limit) => (Some(limit), written.is_empty()),
        Texts::Upto(limit) => (Some(limit), false),
        Texts::Any => (None, false),
    };
    if too_short {
        report.add(path, Code::TooShort, format!("{path} is empty."), "Write some visible text.");
    }
    if let Some(limit) = limit.filter(|limit| !limit.holds(written)) {
        too_long(path, limit.measure(written), limit.max, report);
    }
    Some(written)
}

pub(super) fn word_of<T: Copy>(value: &Value, path: &Path, words: &[(&str, T)], report: &mut Report) -> Option<T> {
    let known = value.as_str().and_then(|word| words.iter().find(|(known, _)| *known == word));
    if known.is_none() {
        let all: Vec<String> = words.iter().map(|(word, _)| text::quote(word)).collect();
        let message = format!("{} is not one of the allowed values.", shown(value));
        report.add(path, Code::InvalidEnum, message, format!("Use one of {}.", all.join(", ")));
    }
    known.map(|(_, meaning)| *meaning)
}

pub(super) fn mistyped(path: &Path, expected: &str, found: &Value, report: &mut Report) {
    let place = path.to_string();
    let subject = if place.is_empty() { "The value" } else { &place };
    let message = format!("{subject} must be {expected}, not {}.", described(found));
    report.add(path, Code::InvalidType, message, format!("Send {expected}."));
}

pub(super) fn unknown_key(path: &Path, key: &str, report: &mut Report) {
    let quoted = text::quote(key);
    report.add(
        path,
        Code::UnknownKey,
        format!("{quoted} is not a key that is defined here."),
        format!("Remove {quoted}."),
    );
}

pub(super) fn too_long(path: &Path, length: usize, max: impl std::fmt::Display, report: &mut Report) {
    let message = format!("{path} is {length} characters long; at most {max} are allowed.");
    report.add(path, Code::TooLong, message, format!("Shorten it to {max}."));
}

/// Reports every id that a list has twice, at its later place.
pub(super) fn duplicates<'a>(ids: impl Iterator<Item = &'a str>, place: impl Fn(usize) -> Path, report: &mut Report) {
    let mut seen = std::collections::HashSet::new();
    for (index, id) in ids.enumerate() {
        if !seen.insert(id) {
            duplicate_id(&place(index), id, report);
        }
    }
}

pub(super) fn duplicate_id(path: &Path, id: &str, report: &mut Report) {
    let message = format!("{} occurs more than once.", text::quote(id));
    report.add(path, Code::DuplicateId, message, "Name each id once.");
}

/// A number that is whole, as JavaScript sees it: `2.0` is. Beyond 2^53 - 1 it stands at the edge of every range.
pub(super) fn whole_number(number: &Number) -> Option<i64> {
    const BEYOND: f64 = 9_007_199_254_740_992.0;
    let float = number.as_f64()?;
    if float.fract() != 0.0 {
        return None;
    }
    if float.abs() >= BEYOND {
        return Some(if float > 0.0 { i64::MAX } else { i64::MIN });
    }
    #[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53, so nothing is lost")]
    Some(float as i64)
}

/// `^[a-z0-9][a-z0-9_-]{0,63}$`
fn is_id(id: &str) -> bool {
    let letter = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    id.len() <= limits::OPTION_ID_MAX
        && id.bytes().next().is_some_and(letter)
        && id.bytes().all(|b| letter(b) || b == b'_' || b == b'-')
}

fn described(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(written) => text::quote(written),
        other => described(other),
    }
}
