//! Every sentence a person sees, in every language we have.
//!
//! [`Words`] lists them once; each language is one file that must say all of them. Texts from outside are inserted through
//! [`quoted`], which keeps a right-to-left insertion from turning the sentence around.

mod answer;
mod de;
mod en;
mod form;
mod inbox;
mod link;
mod offers;
mod policy;

pub use answer::AnswerWords;
pub use form::FormWords;
pub use inbox::InboxWords;
pub use link::LinkWords;
pub use offers::{Command, OfferWords, offers};
pub use policy::PolicyWords;

use asks::life::{Hold, Life, Note, Outcome, Why};

/// The languages there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Language {
    /// English.
    #[default]
    En,
    /// German.
    De,
}

impl Language {
    /// The language for a code such as `de` or `de-AT`; `None` for one we do not speak.
    #[must_use]
    pub fn from_code(code: &str) -> Option<Self> {
        match code.split(['-', '_']).next().map(str::to_ascii_lowercase).as_deref() {
            Some("en") => Some(Self::En),
            Some("de") => Some(Self::De),
            _ => None,
        }
    }

    /// Its code, as a page names its language.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::De => "de",
        }
    }

    /// Its sentences.
    #[must_use]
    pub const fn words(self) -> &'static dyn Words {
        match self {
            Self::En => &en::English,
            Self::De => &de::German,
        }
    }
}

/// The sentences. Short, honest, without blame; what a button says is always repeated as it was shown.
pub trait Words: AnswerWords + FormWords + InboxWords + LinkWords + OfferWords + PolicyWords + Sync {
    /// Status while the answer is on its way.
    fn sending(&self, label: &str) -> String;
    /// Status while the answer waits, and for what.
    fn held(&self, label: &str, hold: Hold) -> String;
    /// Status while nobody knows how the answer ended.
    fn unclear(&self, label: &str) -> String;
    /// Status of a card that was answered here: the label, and who pressed it where several could.
    fn answered(&self, label: &str, by: Option<&str>) -> String;
    /// As [`Words::answered`], when the agent failed after it had taken the answer.
    fn answered_with_error(&self, label: &str, by: Option<&str>, error: &str) -> String;
    /// Status of a card that was answered somewhere else.
    fn answered_elsewhere(&self, label: Option<&str>) -> String;
    /// Status of a card whose conversation went on without an answer.
    fn cancelled(&self) -> String;
    /// Status of a card that this account may not answer.
    fn forbidden(&self) -> String;
    /// Status of a card whose conversation was deleted.
    fn gone(&self) -> String;
    /// Status of a card whose source asks something else now, on a card of its own.
    fn replaced(&self) -> String;
    /// What a live card says about an answer that did not stand.
    fn note(&self, note: &Note) -> String;

    /// Status of a live card that only the app can answer, without an address to hand off to.
    fn only_in_app(&self) -> String;
    /// The hand-off button.
    fn open_in_app(&self) -> String;
    /// The question of a card that keeps its text to the direct place, and has no title.
    fn agent_waits(&self) -> String;
    /// Above what a button would send.
    fn would_send(&self, button: &str) -> String;
    /// Stands for an empty text that would be sent.
    fn empty_text(&self) -> String;
    /// Stands for a label that is empty.
    fn no_label(&self) -> String;
    /// One quiet line that names account and source.
    fn origin(&self, account: &str, source: &str) -> String;

    /// To somebody whose button is none of ours.
    fn unknown_button(&self) -> String;
    /// To somebody who may not answer.
    fn not_yours(&self) -> String;
    /// To somebody whose card belongs to an account that is not here any more.
    fn not_linked(&self) -> String;
    /// Status of a card whose account left this place.
    fn card_unlinked(&self) -> String;
    /// To a person whose sign-in at a source has ended: what they are called there, the source, and where to sign in again.
    fn sign_in_again(&self, account: &str, source: &str, link: Option<&str>) -> String;
    /// To the loser of a race: what was recorded, and by whom where several could press.
    fn already(&self, label: &str, by: Option<&str>) -> String;
    /// To somebody whose tap could not be saved.
    fn not_saved(&self) -> String;
    /// To somebody whose button was refused by the source before.
    fn button_dead(&self) -> String;
    /// To somebody whose late tap is recorded after a private reply had promised nothing.
    fn recorded(&self) -> String;
    /// To somebody whose tap takes long to record: nothing is promised yet.
    fn still_saving(&self) -> String;

    /// The answer to `/start` in a chat that is linked.
    fn start_linked(&self, accounts: &str) -> String;
    /// The answer to `/start` in a chat that is not.
    fn start_unknown(&self, place: &str) -> String;
    /// The answer to a text that is no command: typed words answer nothing.
    fn only_buttons(&self) -> String;

    /// A reminder of a question that waits, beside its card.
    fn still_waits(&self) -> String;
    /// One message about all questions that wait.
    fn digest(&self, count: usize) -> String;
    /// In place of what an agent says, where a locked screen must not show it.
    fn replied(&self) -> String;
    /// In place of an agent's error, where its words are not shown.
    fn error_kept_private(&self) -> String;
    /// In place of the rest of a very long reply.
    fn rest_in_app(&self) -> String;
}

/// What a card's status line says of its ask's life; `None` while it simply waits.
#[must_use]
pub fn status(words: &dyn Words, life: &Life, shared: bool) -> Option<String> {
    match life {
        Life::Announcing | Life::Live { note: None } => None,
        Life::Live { note: Some(note) } => Some(words.note(note)),
        Life::Claimed { claim, hold: None } => Some(words.sending(&claim.label)),
        Life::Claimed { claim, hold: Some(hold) } => Some(words.held(&claim.label, *hold)),
        Life::Unclear { claim, .. } => Some(words.unclear(&claim.label)),
        Life::Settled { outcome } => Some(outcome_line(words, outcome, shared)),
        Life::Withdrawn { why } => Some(match why {
            Why::Elsewhere { label } => words.answered_elsewhere(label.as_deref()),
            Why::Cancelled => words.cancelled(),
            Why::Forbidden => words.forbidden(),
            Why::Gone => words.gone(),
            Why::Replaced => words.replaced(),
        }),
    }
}

fn outcome_line(words: &dyn Words, outcome: &Outcome, shared: bool) -> String {
    match outcome {
        Outcome::Ours { claim, error } => {
            let name = claim.actor_name.as_deref().map(crate::show::visible);
            let by = if shared { name.as_deref() } else { None };
            match error {
                None => words.answered(&claim.label, by),
                Some(error) => words.answered_with_error(&claim.label, by, &crate::show::visible(error)),
            }
        }
        Outcome::Elsewhere { label, .. } => words.answered_elsewhere(label.as_deref()),
    }
}

/// Names from outside as one list: `A`, `A and B`, `A, B and C`.
pub(crate) fn listed(names: &[String], and: &str) -> String {
    let quoted: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} {and} {last}", others.join(", ")),
    }
}

/// Quotes a text from outside for a sentence of ours, isolated where it runs from right to left.
#[must_use]
pub fn quoted(text: &str) -> String {
    let turns = text.chars().any(|c| {
        matches!(u32::from(c), 0x0590..=0x08FF | 0xFB1D..=0xFDFF | 0xFE70..=0xFEFC | 0x10800..=0x10FFF | 0x1E800..=0x1EFFF)
    });
    if turns { format!("\u{2068}{text}\u{2069}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_finds_its_language() {
        assert_eq!(Language::from_code("de-AT"), Some(Language::De));
        assert_eq!(Language::from_code("EN_us"), Some(Language::En));
        assert_eq!(Language::from_code("tlh"), None);
    }

    #[test]
    fn right_to_left_insertions_are_isolated_and_others_untouched() {
        assert_eq!(quoted("Team"), "Team");
        assert_eq!(quoted("שלום"), "\u{2068}שלום\u{2069}");
    }

    #[test]
    fn names_are_listed_as_people_list_them() {
        let names: Vec<String> = ["A", "B", "C"].map(str::to_owned).into();
        let list = |count| listed(&names[..count], "and");
        assert_eq!([list(0), list(1), list(2), list(3)], ["", "A", "A and B", "A, B and C"]);
    }

    #[test]
    fn every_language_repeats_the_label_in_every_outcome() {
        for language in [Language::En, Language::De] {
            let words = language.words();
            for sentence in [
                words.sending("Team"),
                words.held("Team", Hold::SignIn),
                words.held("Team", Hold::RateLimited),
                words.held("Team", Hold::Unreachable),
                words.unclear("Team"),
                words.answered("Team", None),
                words.answered("Team", Some("Kim")),
                words.answered_with_error("Team", None, "boom"),
                words.answered_elsewhere(Some("Team")),
            ] {
                assert!(sentence.contains("Team"), "{language:?}: {sentence}");
            }
        }
    }
}
