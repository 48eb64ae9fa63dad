//! What an ask says as a form.

use asks::errors::Code;

use crate::pages::form::Bounds;

/// The sentences of a form.
pub trait FormWords {
    /// The button that sends the answer, where the ask has no word of its own.
    fn submit(&self) -> String;
    /// The button that skips the ask.
    fn skip(&self) -> String;
    /// What free text beside the options is called, where the ask has no word of its own.
    fn other(&self) -> String;
    /// Beside a field that may stay empty.
    fn optional(&self) -> String;
    /// How many options may be chosen.
    fn choose(&self, bounds: &Bounds) -> String;
    /// How long a text may be.
    fn length(&self, bounds: &Bounds) -> String;
    /// How large a number may be.
    fn size(&self, bounds: &Bounds) -> String;
    /// Only whole numbers.
    fn whole_number(&self) -> String;
    /// Which files, how many, and how large in MB.
    fn file_rules(&self, kinds: &[&str], bounds: &Bounds, megabytes: u64) -> String;
    /// The field with the offset of a point in time.
    fn utc_offset(&self) -> String;
    /// The first entry of a list from which nothing was chosen yet.
    fn choose_one(&self) -> String;
    /// Above a form that was refused.
    fn please_correct(&self) -> String;
    /// That files have to be chosen again after an answer was refused: no browser lets a page do that.
    fn choose_files_again(&self) -> String;
    /// A broken rule: what is wrong, and what to do.
    fn broken_rule(&self, code: Code, bounds: &Bounds) -> String;
}
