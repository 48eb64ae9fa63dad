//! An ask's input, typed: what the agent asked, with its bounds and defaults.
//!
//! Only [`crate::validate`] makes these values, so their parts have the right types and the ones that the rules of the
//! kind require are there. Where a count is signed, an invalid ask may have named a negative one.

use serde_json::Value;

use crate::card::Kind;
use crate::limits;

/// The input of one ask.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// One or several of the offered options.
    Choice(Choice),
    /// Approve or deny one action.
    Confirm(Confirm),
    /// Edit a draft and send it back.
    Markdown(Markdown),
    /// A few typed fields.
    Form(Form),
    /// One or several files.
    Files(Files),
}

/// What every kind has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The question.
    pub prompt: String,
    /// Its heading.
    pub title: Option<String>,
    /// The label of a full client's submit button.
    pub submit_label: Option<String>,
    /// Whether it may be skipped, the kind's default filled in.
    pub allow_decline: bool,
}

/// One thing to choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    /// Its id, unique in its list.
    pub id: String,
    /// What the person reads.
    pub label: String,
    /// More about it.
    pub description: Option<String>,
}

/// How many options are to be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Select {
    /// Exactly one.
    One,
    /// Some, within bounds.
    Many,
}

/// The input of a `choice`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// What every kind has.
    pub question: Question,
    /// One or many.
    pub select: Select,
    /// What is offered, in the order to show it.
    pub options: Vec<Offered>,
    /// Ids of the suggested options.
    pub default: Vec<String>,
    /// The fewest, as given.
    pub min_selected: Option<i64>,
    /// The most, as given.
    pub max_selected: Option<i64>,
    /// Whether free text is one more choice.
    pub allow_other: bool,
    /// What the free text is called.
    pub other_label: Option<String>,
}

impl Choice {
    /// How many choices there are: the options, and the free text where it is allowed.
    #[must_use]
    pub fn choices(&self) -> i64 {
        count(self.options.len()) + i64::from(self.allow_other)
    }

    /// The fewest and the most that an answer may have, defaults filled in.
    #[must_use]
    pub fn bounds(&self) -> limits::Range {
        match self.select {
            Select::One => limits::Range::new(1, 1),
            Select::Many => {
                limits::Range::new(self.min_selected.unwrap_or(1), self.max_selected.unwrap_or_else(|| self.choices()))
            }
        }
    }

    /// The option with this id, if it is offered.
    #[must_use]
    pub fn option(&self, id: &str) -> Option<&Offered> {
        self.options.iter().find(|option| option.id == id)
    }
}

/// The input of a `confirm`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirm {
    /// What every kind has; a `confirm` has no submit label.
    pub question: Question,
    /// The label of the approving button, as given.
    pub confirm_label: Option<String>,
    /// The label of the denying button, as given.
    pub deny_label: Option<String>,
    /// Whether approving does something that cannot be undone.
    pub destructive: bool,
}

impl Confirm {
    /// The label of the approving button, the default filled in.
    #[must_use]
    pub fn approve(&self) -> &str {
        self.confirm_label.as_deref().unwrap_or("Confirm")
    }

    /// The label of the denying button, the default filled in.
    #[must_use]
    pub fn deny(&self) -> &str {
        self.deny_label.as_deref().unwrap_or("Cancel")
    }
}

/// Bounds on a text's length, as given, in UTF-16 units. The minimum counts without white space at the ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lengths {
    /// The shortest.
    pub min: Option<i64>,
    /// The longest.
    pub max: Option<i64>,
}

impl Lengths {
    /// The shortest and the longest, where `cap` is the longest that a text of this type may be.
    #[must_use]
    pub fn within(self, cap: limits::TextLimit) -> limits::Range {
        limits::Range::new(self.min.unwrap_or(0), self.max.unwrap_or_else(|| count(cap.max)))
    }
}

/// The input of a `markdown`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Markdown {
    /// What every kind has.
    pub question: Question,
    /// The draft, as given. It may break the bounds.
    pub initial: Option<String>,
    /// A hint for an empty editor.
    pub placeholder: Option<String>,
    /// How long the answer may be.
    pub lengths: Lengths,
}

impl Markdown {
    /// The draft, empty without one.
    #[must_use]
    pub fn draft(&self) -> &str {
        self.initial.as_deref().unwrap_or_default()
    }
}

/// The input of a `form`.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// What every kind has.
    pub question: Question,
    /// The fields, in the order to show them.
    pub fields: Vec<Field>,
}

/// One field of a form.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its id, unique in the form: the key of its value in the answer.
    pub id: String,
    /// What the person reads.
    pub label: String,
    /// More about it.
    pub helper_text: Option<String>,
    /// Whether it must be filled in.
    pub required: bool,
    /// What it is filled in with.
    pub default: Option<Value>,
    /// What it holds.
    pub holds: FieldType,
}

/// What a form's field holds.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldType {
    /// One line.
    Text(Lengths),
    /// Several lines.
    Textarea(Lengths),
    /// An e-mail address.
    Email,
    /// An `http` or `https` URL.
    Url,
    /// A telephone number.
    Phone,
    /// A number.
    Number(Numbers),
    /// A day, `YYYY-MM-DD`.
    Date,
    /// A time of day, `HH:mm`.
    Time,
    /// A point in time, ISO 8601 with `Z` or an offset.
    Datetime,
    /// Yes or no.
    Boolean,
    /// One of these.
    Select(Vec<Offered>),
    /// Some of these.
    Multiselect(Vec<Offered>),
}

/// Bounds on a number, as given.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Numbers {
    /// The smallest.
    pub min: Option<f64>,
    /// The greatest.
    pub max: Option<f64>,
    /// Whether only whole numbers are allowed.
    pub integer: bool,
}

/// The input of a `files`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// What every kind has.
    pub question: Question,
    /// What may be sent.
    pub accept: Vec<Accept>,
    /// The fewest and the most, defaults filled in.
    pub count: limits::Range,
}

/// A group of file types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accept {
    /// JPEG, PNG, GIF or WebP.
    Image,
    /// PDF.
    Pdf,
    /// Plain text.
    Text,
    /// Comma-separated values.
    Csv,
    /// JSON.
    Json,
}

impl Accept {
    /// Every group.
    pub const ALL: [Self; 5] = [Self::Image, Self::Pdf, Self::Text, Self::Csv, Self::Json];

    /// The group's word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Pdf => "pdf",
            Self::Text => "text",
            Self::Csv => "csv",
            Self::Json => "json",
        }
    }

    /// The MIME types in the group, compared exactly.
    #[must_use]
    pub const fn mime_types(self) -> &'static [&'static str] {
        match self {
            Self::Image => &["image/jpeg", "image/png", "image/gif", "image/webp"],
            Self::Pdf => &["application/pdf"],
            Self::Text => &["text/plain"],
            Self::Csv => &["text/csv"],
            Self::Json => &["application/json"],
        }
    }
}

impl Input {
    /// The kind this is the input of.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Choice(_) => Kind::Choice,
            Self::Confirm(_) => Kind::Confirm,
            Self::Markdown(_) => Kind::Markdown,
            Self::Form(_) => Kind::Form,
            Self::Files(_) => Kind::Files,
        }
    }

    /// What every kind has.
    #[must_use]
    pub const fn question(&self) -> &Question {
        match self {
            Self::Choice(ask) => &ask.question,
            Self::Confirm(ask) => &ask.question,
            Self::Markdown(ask) => &ask.question,
            Self::Form(ask) => &ask.question,
            Self::Files(ask) => &ask.question,
        }
    }
}

/// A length as a number that may be compared with what an ask names.
pub(crate) fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}
