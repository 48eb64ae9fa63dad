//! What is wrong with an ask, an answer or a file, and where: the 28 codes, paths and their order.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

/// What is wrong, as a word that programs compare. The words are Terreno's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Code {
    /// The `changed` flag contradicts the text.
    ChangedMismatch,
    /// The ask may not be skipped.
    DeclineNotAllowed,
    /// A default is not one of the options.
    DefaultNotInOptions,
    /// An id occurs twice.
    DuplicateId,
    /// Two buttons would read the same.
    DuplicateLabel,
    /// A form value or default does not fit its field.
    FieldTypeMismatch,
    /// Too few or too many files.
    FileCount,
    /// The file is not an upload of the caller, or the host has no storage. Found only by a host.
    FileNotOwned,
    /// The file is over the size cap.
    FileTooLarge,
    /// The declared type is not accepted.
    FileTypeNotAccepted,
    /// Not a real date, time or date with time in the field's format.
    InvalidDate,
    /// Not one of the allowed values.
    InvalidEnum,
    /// The string has the wrong format.
    InvalidFormat,
    /// The value has the wrong type.
    InvalidType,
    /// The bytes or the data URL contradict the declared type.
    MimeMismatch,
    /// A required field is missing.
    MissingRequired,
    /// The selected id was not offered.
    OptionNotOffered,
    /// Free text where it is not allowed.
    OtherNotAllowed,
    /// The number is outside its field's `min` and `max`.
    OutOfRange,
    /// A bound on a count or length is impossible.
    RangeInvalid,
    /// A required form field is missing or blank.
    RequiredField,
    /// The wrong number of options.
    SelectionCount,
    /// The list is too short.
    TooFew,
    /// The string is too long.
    TooLong,
    /// The list is too long.
    TooMany,
    /// The string is empty, blank or too short.
    TooShort,
    /// The button is not on the card.
    UnknownButton,
    /// The key is not defined here.
    UnknownKey,
}

impl Code {
    /// Every code, in the order of their words.
    pub const ALL: [Self; 28] = [
        Self::ChangedMismatch,
        Self::DeclineNotAllowed,
        Self::DefaultNotInOptions,
        Self::DuplicateId,
        Self::DuplicateLabel,
        Self::FieldTypeMismatch,
        Self::FileCount,
        Self::FileNotOwned,
        Self::FileTooLarge,
        Self::FileTypeNotAccepted,
        Self::InvalidDate,
        Self::InvalidEnum,
        Self::InvalidFormat,
        Self::InvalidType,
        Self::MimeMismatch,
        Self::MissingRequired,
        Self::OptionNotOffered,
        Self::OtherNotAllowed,
        Self::OutOfRange,
        Self::RangeInvalid,
        Self::RequiredField,
        Self::SelectionCount,
        Self::TooFew,
        Self::TooLong,
        Self::TooMany,
        Self::TooShort,
        Self::UnknownButton,
        Self::UnknownKey,
    ];

    /// The code's word, such as `TOO_LONG`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ChangedMismatch => "CHANGED_MISMATCH",
            Self::DeclineNotAllowed => "DECLINE_NOT_ALLOWED",
            Self::DefaultNotInOptions => "DEFAULT_NOT_IN_OPTIONS",
            Self::DuplicateId => "DUPLICATE_ID",
            Self::DuplicateLabel => "DUPLICATE_LABEL",
            Self::FieldTypeMismatch => "FIELD_TYPE_MISMATCH",
            Self::FileCount => "FILE_COUNT",
            Self::FileNotOwned => "FILE_NOT_OWNED",
            Self::FileTooLarge => "FILE_TOO_LARGE",
            Self::FileTypeNotAccepted => "FILE_TYPE_NOT_ACCEPTED",
            Self::InvalidDate => "INVALID_DATE",
            Self::InvalidEnum => "INVALID_ENUM",
            Self::InvalidFormat => "INVALID_FORMAT",
            Self::InvalidType => "INVALID_TYPE",
            Self::MimeMismatch => "MIME_MISMATCH",
            Self::MissingRequired => "MISSING_REQUIRED",
            Self::OptionNotOffered => "OPTION_NOT_OFFERED",
            Self::OtherNotAllowed => "OTHER_NOT_ALLOWED",
            Self::OutOfRange => "OUT_OF_RANGE",
            Self::RangeInvalid => "RANGE_INVALID",
            Self::RequiredField => "REQUIRED_FIELD",
            Self::SelectionCount => "SELECTION_COUNT",
            Self::TooFew => "TOO_FEW",
            Self::TooLong => "TOO_LONG",
            Self::TooMany => "TOO_MANY",
            Self::TooShort => "TOO_SHORT",
            Self::UnknownButton => "UNKNOWN_BUTTON",
            Self::UnknownKey => "UNKNOWN_KEY",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialOrd for Code {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Code {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}{message} {fix} [{code}]", place(path))]
pub struct FieldError {
    /// Where, such as `options[2].id`; the root is empty.
    pub path: String,
    /// What, for programs.
    pub code: Code,
    /// What, for people: one sentence.
    #[serde(default)]
    pub message: String,
    /// What to do about it: one sentence.
    #[serde(default)]
    pub fix: String,
}

impl FieldError {
    /// An error at a path.
    #[must_use]
    pub fn new(path: &Path, code: Code, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { path: path.to_string(), code, message: message.into(), fix: fix.into() }
    }
}

fn place(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("{path}: ") }
}

/// An ask that breaks its rules, with every reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the ask is invalid: {}", list(errors))]
pub struct InvalidAsk {
    /// Every reason, in order; never empty.
    pub errors: Vec<FieldError>,
}

fn list(errors: &[FieldError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// One step into a JSON value. A list's index comes before an object's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// A place in a list.
    Index(usize),
    /// A key of an object.
    Key(String),
}

impl PartialOrd for Segment {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Segment {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Index(one), Self::Index(two)) => one.cmp(two),
            (Self::Index(_), Self::Key(_)) => Ordering::Less,
            (Self::Key(_), Self::Index(_)) => Ordering::Greater,
            // Not by UTF-8: an astral key sorts before one in U+E000 to U+FFFF.
            (Self::Key(one), Self::Key(two)) => one.encode_utf16().cmp(two.encode_utf16()),
        }
    }
}

/// Where something stands in a JSON value. Paths compare step by step, and one comes before what lies inside it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Path(Vec<Segment>);

impl Path {
    /// The value itself.
    #[must_use]
    pub const fn root() -> Self {
        Self(Vec::new())
    }

    /// The path of a key in the object at this path.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        self.then(Segment::Key(key.to_owned()))
    }

    /// The path of an item in the list at this path.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.then(Segment::Index(index))
    }

    fn then(&self, segment: Segment) -> Self {
        let mut segments = self.0.clone();
        segments.push(segment);
        Self(segments)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut empty = true;
        for segment in &self.0 {
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Key(key) if empty => f.write_str(key)?,
                Segment::Key(key) => write!(f, ".{key}")?,
            }
            empty = empty && *segment == Segment::Key(String::new());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_word_and_its_place() {
        for code in Code::ALL {
            assert_eq!(serde_json::to_value(code).expect("a word"), code.as_str());
        }
        assert!(Code::ALL.is_sorted_by(|one, two| one < two), "in order, and each once");
    }

    #[test]
    fn paths_read_as_terreno_writes_them() {
        let root = Path::root();
        assert_eq!(root.to_string(), "");
        assert_eq!(root.key("options").index(2).key("id").to_string(), "options[2].id");
        assert_eq!(root.key("").to_string(), "");
        assert_eq!(root.key("content").key("a.b").to_string(), "content.a.b");
    }

    #[test]
    fn paths_sort_step_by_step() {
        let root = Path::root();
        let list = root.key("options");
        let sorted = [
            root.clone(),
            root.key("Zed"),
            list.clone(),
            list.index(2).key("id"),
            list.index(10),
            list.key("x"),
            root.key("options2"),
            root.key("\u{1f600}"),
            root.key("\u{ff21}"),
        ];
        assert!(sorted.is_sorted());
    }
}
