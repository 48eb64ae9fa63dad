//! What the inbox says.

use asks::place::ChannelKind;

/// The sentences of the inbox.
pub trait InboxWords {
    /// The page's name.
    fn inbox_title(&self) -> String;
    /// In the chat: the link that opens the inbox.
    fn inbox_link(&self, address: &str) -> String;
    /// There is no address under which people reach the pages.
    fn inbox_off(&self) -> String;
    /// To somebody who is not signed in: how to get a link.
    fn how_to_sign_in(&self) -> String;
    /// The name of the page behind a link from the chat.
    fn sign_in_title(&self) -> String;
    /// What pressing its button does, and for whom.
    fn sign_in_for(&self, accounts: &[String]) -> String;
    /// Its button.
    fn sign_in(&self) -> String;
    /// A link that was never made.
    fn no_such_sign_in(&self) -> String;
    /// A link that was used, or is too old.
    fn sign_in_spent(&self) -> String;
    /// Above what waits.
    fn waiting(&self) -> String;
    /// Nothing waits.
    fn nothing_waits(&self) -> String;
    /// Above what was settled lately.
    fn settled_lately(&self) -> String;
    /// Read aloud when a question arrives; the question follows.
    fn new_question(&self) -> String;
    /// The link to the page that answers in every way there is.
    fn answer_in_full(&self) -> String;
    /// How long ago something was.
    fn ago(&self, minutes: u64) -> String;
    /// Where an answer was given; `None` for these pages.
    fn answered_on(&self, channel: Option<ChannelKind>) -> String;
    /// The page is an old one, because nothing can be reached.
    fn offline(&self) -> String;
    /// Above the browsers that are signed in.
    fn browsers(&self) -> String;
    /// Marks the browser that looks.
    fn this_browser(&self) -> String;
    /// Ends one browser's session.
    fn sign_out(&self) -> String;
    /// Ends them all.
    fn sign_out_everywhere(&self) -> String;
    /// After that.
    fn signed_out(&self) -> String;
    /// The way from a question back to the inbox.
    fn back_to_inbox(&self) -> String;
}
