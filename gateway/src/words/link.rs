//! What linking says, in the chat and on its pages.

use crate::link::commands::Off;

/// The sentences of linking.
pub trait LinkWords {
    /// Why nobody can link themselves, and who can change that.
    fn linking_off(&self, off: Off) -> String;
    /// The answer to `/link`: where to go.
    fn link_here(&self, url: &str) -> String;
    /// To somebody who asks for links too often.
    fn link_too_often(&self, seconds: u64) -> String;
    /// Something of ours does not work right now; nothing was changed.
    fn link_not_now(&self) -> String;
    /// To a command in a group.
    fn write_to_me_directly(&self) -> String;
    /// No account is linked at this place.
    fn nobody_linked(&self) -> String;
    /// To the chat that was just linked.
    fn linked(&self, who: &str, app: &str) -> String;
    /// The account is not linked here any more.
    fn unlinked(&self, who: &str) -> String;
    /// Several accounts are linked: which one?
    fn unlink_which(&self, names: &[String]) -> String;
    /// The operator linked it.
    fn unlink_in_file(&self, who: &str) -> String;
    /// There is no inbox yet.
    fn inbox_is_here(&self) -> String;
    /// To somebody who opened an invitation.
    fn invite_digits(&self) -> String;
    /// Wrong digits.
    fn invite_wrong(&self, left: u32) -> String;
    /// An invitation that is none, or not any more.
    fn invite_unknown(&self) -> String;
    /// The page's name.
    fn link_title(&self) -> String;
    /// Above the chat account.
    fn link_intro(&self) -> String;
    /// Names the chat account.
    fn link_chat(&self) -> String;
    /// Names its number.
    fn link_number(&self) -> String;
    /// Names the app.
    fn link_app(&self) -> String;
    /// Warns who was sent here by somebody else.
    fn link_only_yours(&self) -> String;
    /// What askgate may do.
    fn link_may(&self) -> String;
    /// What is kept.
    fn link_stored(&self) -> String;
    /// A field.
    fn link_email(&self) -> String;
    /// A field.
    fn link_password(&self) -> String;
    /// Opens another field.
    fn link_token_instead(&self) -> String;
    /// A field.
    fn link_token(&self) -> String;
    /// A button.
    fn link_continue(&self) -> String;
    /// A button.
    fn link_connect(&self) -> String;
    /// A link.
    fn link_back(&self) -> String;
    /// The last question.
    fn link_question(&self, who: &str, app: &str, chat: &str) -> String;
    /// It is done.
    fn link_done(&self, who: &str, app: &str, chat: &str) -> String;
    /// Fields are empty.
    fn link_incomplete(&self) -> String;
    /// The app refused the sign-in.
    fn link_refused(&self, left: u32) -> String;
    /// All tries are used.
    fn link_no_tries(&self) -> String;
    /// The app does not answer.
    fn link_app_down(&self, app: &str) -> String;
    /// The app takes no sign-ins for a while.
    fn link_app_busy(&self, app: &str, seconds: u64) -> String;
    /// The code is too old or was used.
    fn link_over(&self) -> String;
    /// There is no such code.
    fn link_unknown(&self) -> String;
    /// The form is not from this page and browser.
    fn link_form_old(&self) -> String;
    /// Too many requests from one address.
    fn page_too_often(&self, seconds: u64) -> String;
}
