//! Every limit of an ask, its answer and its card, each with its unit.
//!
//! Source: Terreno's reference page on asks, section "Limits", as of 57.11.0. The units were measured: texts that only the
//! schema library checks count code points, texts that the host also checks itself count UTF-16 code units. A constant's
//! type carries its unit, so the two cannot be mixed up.

use crate::text;

/// What a text's length is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Unicode code points: an astral character counts 1.
    CodePoints,
    /// UTF-16 code units: an astral character counts 2.
    Utf16,
}

/// The longest a text may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextLimit {
    /// The greatest length that is still allowed, in `unit`.
    pub max: usize,
    /// What is counted.
    pub unit: Unit,
}

impl TextLimit {
    /// At most `max` code points.
    #[must_use]
    pub const fn code_points(max: usize) -> Self {
        Self { max, unit: Unit::CodePoints }
    }

    /// At most `max` UTF-16 code units.
    #[must_use]
    pub const fn utf16(max: usize) -> Self {
        Self { max, unit: Unit::Utf16 }
    }

    /// The length of a text in this limit's unit.
    #[must_use]
    pub fn measure(self, text: &str) -> usize {
        match self.unit {
            Unit::CodePoints => text::code_points(text),
            Unit::Utf16 => text::utf16_len(text),
        }
    }

    /// Whether a text is within the limit.
    #[must_use]
    pub fn holds(self, text: &str) -> bool {
        self.measure(text) <= self.max
    }
}

/// The fewest and the most of something, both allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// The smallest allowed number.
    pub min: i64,
    /// The greatest allowed number.
    pub max: i64,
}

impl Range {
    /// From `min` to `max`, both allowed.
    #[must_use]
    pub const fn new(min: i64, max: i64) -> Self {
        Self { min, max }
    }

    /// Whether a number is within the range.
    #[must_use]
    pub const fn holds(self, number: i64) -> bool {
        self.min <= number && number <= self.max
    }
}

/// The greatest whole number that JavaScript holds exactly, 2^53 - 1.
pub const SAFE_INTEGER: i64 = 9_007_199_254_740_991;

/// `promptMaxLength`: the question.
pub const PROMPT: TextLimit = TextLimit::code_points(500);
/// `titleMaxLength`: the heading.
pub const TITLE: TextLimit = TextLimit::code_points(80);
/// `submitLabelMaxLength`: the label of the full chat's submit button.
pub const SUBMIT_LABEL: TextLimit = TextLimit::code_points(24);
/// `cancelReasonMaxLength`: the `reason` of a `cancel`.
pub const CANCEL_REASON: TextLimit = TextLimit::code_points(200);

/// `choice.optionsMin` and `choice.optionsMax`: options of a choice and of a form's selects.
pub const OPTIONS: Range = Range::new(2, 50);
/// `choice.optionsMax` where a list of option ids has no minimum: defaults, selections, a `multiselect` value.
pub const SELECTED: Range = Range::new(0, 50);
/// Options of a choice on the compact surface.
pub const COMPACT_OPTIONS: Range = Range::new(2, 3);
/// Defaults of a choice on the compact surface, before they are compared with the options.
pub const COMPACT_DEFAULTS: Range = Range::new(0, 3);
/// `choice.optionIdMaxLength`: ids of options and of form fields, ASCII by their pattern.
pub const OPTION_ID_MAX: usize = 64;
/// `choice.optionIdPattern`: ids of options and of form fields.
pub const OPTION_ID_PATTERN: &str = "^[a-z0-9][a-z0-9_-]{0,63}$";
/// `choice.optionLabelMaxLength`: option labels, also of form fields, and `otherLabel`.
pub const OPTION_LABEL: TextLimit = TextLimit::code_points(120);
/// Option labels on the compact surface, where each becomes a button.
pub const COMPACT_LABEL: TextLimit = TextLimit::utf16(20);
/// `choice.optionDescriptionMaxLength`.
pub const OPTION_DESCRIPTION: TextLimit = TextLimit::code_points(280);
/// `choice.otherMaxLength`: the free text of an answer.
pub const OTHER: TextLimit = TextLimit::code_points(500);

/// `confirm.labelMaxLength`: both labels.
pub const CONFIRM_LABEL: TextLimit = TextLimit::utf16(20);

/// `markdown.maxLength`: the draft, and the default of `maxLength`.
pub const MARKDOWN: TextLimit = TextLimit::utf16(20_000);
/// What a markdown ask's `minLength` may be, in UTF-16 units.
pub const MARKDOWN_MIN_LENGTH: Range = Range::new(0, 20_000);
/// What a markdown ask's `maxLength` may be, in UTF-16 units.
pub const MARKDOWN_MAX_LENGTH: Range = Range::new(1, 20_000);
/// `markdown.placeholderMaxLength`.
pub const PLACEHOLDER: TextLimit = TextLimit::code_points(120);

/// `form.fieldsMin` and `form.fieldsMax`.
pub const FIELDS: Range = Range::new(1, 8);
/// `form.labelMaxLength`.
pub const FIELD_LABEL: TextLimit = TextLimit::code_points(120);
/// `form.helperTextMaxLength`.
pub const HELPER_TEXT: TextLimit = TextLimit::code_points(280);
/// `form.textMaxLength`: values of `text`, `email`, `url` and `phone`, and the cap of a text's `maxLength`.
pub const FORM_TEXT: TextLimit = TextLimit::utf16(2_000);
/// `form.textareaMaxLength`: values of `textarea`, and the cap of its `maxLength`.
pub const FORM_TEXTAREA: TextLimit = TextLimit::utf16(10_000);
/// `form.phoneDigitsMin` and `form.phoneDigitsMax`.
pub const PHONE_DIGITS: Range = Range::new(7, 15);

/// How many entries `accept` may have.
pub const ACCEPT: Range = Range::new(1, 5);
/// `files.minFiles` and `files.maxFiles`: the bounds, and the defaults, of the number of files.
pub const FILES: Range = Range::new(1, 10);
/// `files.filenameMaxLength`.
pub const FILENAME: TextLimit = TextLimit::code_points(255);
/// The id of an uploaded file.
pub const FILE_ID: TextLimit = TextLimit::code_points(64);
/// The declared type of a file. The table has no name for it; 128 was seen to be refused.
pub const MIME_TYPE: TextLimit = TextLimit::code_points(127);
/// `files.defaultMaxFileSizeBytes`: each file, unless the host sets another cap.
pub const DEFAULT_MAX_FILE_SIZE: u64 = 10_485_760;
/// `files.textMaxBytes`: how much of a text file the model sees, in bytes.
pub const TEXT_FILE_BYTES: usize = 100_000;

/// `simpleCard.buttonsMax`.
pub const CARD_BUTTONS: usize = 3;
/// `simpleCard.buttonLabelMaxLength`.
pub const CARD_LABEL: TextLimit = TextLimit::utf16(20);
/// What a suggested option's label is cut to inside `Use "..."`, so that the whole fits a button.
pub const CARD_SUGGESTION: TextLimit = TextLimit::utf16(14);
/// `simpleCard.textMaxLength`.
pub const CARD_TEXT: TextLimit = TextLimit::utf16(140);
/// `simpleCard.titleMaxLength`.
pub const CARD_TITLE: TextLimit = TextLimit::utf16(40);
/// `pendingAsksPerHistory`: asks a conversation waits on.
pub const PENDING_ASKS_PER_CONVERSATION: usize = 1;
