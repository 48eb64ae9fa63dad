//! What the answer page says.

/// The sentences of the answer page.
pub trait AnswerWords {
    /// The page's name.
    fn answer_title(&self) -> String;
    /// The hand-off button of a card whose source has no web address.
    fn answer_here(&self) -> String;
    /// A link that leads to nothing, or to somebody else's.
    fn no_such_page(&self) -> String;
    /// The ask's content cannot be read right now; the buttons of its card are shown.
    fn cannot_read_ask(&self) -> String;
    /// Neither its content nor a button can be shown right now.
    fn try_again_later(&self) -> String;
    /// The answer is on its way, and the page will show how it went.
    fn on_its_way(&self) -> String;
    /// The page was opened from elsewhere, or is too old to be trusted.
    fn page_too_old(&self) -> String;
    /// What was sent is too large.
    fn too_large(&self, megabytes: u64) -> String;
    /// Stands for an edited text where a card needs a label.
    fn your_text(&self) -> String;
    /// Stands for a filled-in form where a card needs a label.
    fn your_form(&self) -> String;
    /// Stands for files where a card needs a label.
    fn your_files(&self, count: usize) -> String;
}
