//! English: votes and second thoughts.

use super::English;
use crate::words::{PolicyWords, listed, quoted};

impl PolicyWords for English {
    fn votes_so_far(&self, label: &str, count: usize, needed: usize, by: &[String]) -> String {
        format!("🗳️ {}: {count} of {needed}, by {}", quoted(label), listed(by, "and"))
    }

    fn votes_of(&self, by: &[String]) -> String {
        format!("🗳️ Votes: {}", listed(by, "and"))
    }

    fn vote_counted(&self, label: &str, count: usize, needed: usize) -> String {
        format!("Your vote is counted: {count} of {needed} for {}.", quoted(label))
    }

    fn vote_counts_already(&self, label: &str, count: usize, needed: usize) -> String {
        format!("Your vote for {} counts already: {count} of {needed}.", quoted(label))
    }

    fn not_your_own(&self) -> String {
        "Your own agent asks this, so others have to answer it here. Nothing was sent.".to_owned()
    }

    fn really(&self, label: &str) -> String {
        format!("⚠️ This cannot be undone. Really: {}?", quoted(label))
    }

    fn yes(&self, label: &str) -> String {
        format!("Yes, {label}")
    }

    fn back(&self) -> String {
        "Back".to_owned()
    }

    fn confirms_another(&self) -> String {
        "Only the person who tapped first can confirm this. Nothing was sent.".to_owned()
    }

    fn another_is_asked(&self) -> String {
        "Another person is being asked whether they mean it. Please try again in half a minute. Nothing was sent."
            .to_owned()
    }

    fn confirmed_too_late(&self) -> String {
        "The time to confirm is over. Please tap the answer again. Nothing was sent.".to_owned()
    }

    fn cannot_ask_here(&self) -> String {
        "This cannot be undone, and a notification cannot ask once more. Please open it to answer. Nothing was sent."
            .to_owned()
    }
}
