//! What people are told where several decide, or where an answer is asked for twice.

/// The sentences about votes and second thoughts.
pub trait PolicyWords {
    /// On a card: how many chose that button so far, how many have to, and their names.
    fn votes_so_far(&self, label: &str, count: usize, needed: usize, by: &[String]) -> String;
    /// On a card that was answered by votes: who gave them.
    fn votes_of(&self, by: &[String]) -> String;
    /// To a voter, once the vote is saved.
    fn vote_counted(&self, label: &str, count: usize, needed: usize) -> String;
    /// To a voter who chose the same before.
    fn vote_counts_already(&self, label: &str, count: usize, needed: usize) -> String;
    /// To an approver whose own agent asks, where that person may not answer.
    fn not_your_own(&self) -> String;
    /// On a card that asks once more before something that cannot be undone.
    fn really(&self, label: &str) -> String;
    /// The button that means it.
    fn yes(&self, label: &str) -> String;
    /// The button that takes the first tap back.
    fn back(&self) -> String;
    /// To somebody who confirms what another person has begun.
    fn confirms_another(&self) -> String;
    /// To somebody who begins while another person is being asked.
    fn another_is_asked(&self) -> String;
    /// To somebody who confirms too late.
    fn confirmed_too_late(&self) -> String;
    /// To somebody whose notification cannot ask once more.
    fn cannot_ask_here(&self) -> String;
}
