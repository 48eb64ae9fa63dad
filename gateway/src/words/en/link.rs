//! English: linking.

use super::English;
use crate::link::commands::Off;
use crate::words::link::LinkWords;
use crate::words::{listed, quoted};

impl LinkWords for English {
    fn linking_off(&self, off: Off) -> String {
        match off {
            Off::NoKey => "Linking is off, because there is no key to seal sessions under. Whoever runs this service can set secrets.key.",
            Off::NoAddress => "Linking is off, because this service has no public address. Whoever runs it can set server.public_url.",
            Off::NoSource => "Linking is off for every app. Whoever runs this service can set link = true.",
        }
        .to_owned()
    }

    fn link_here(&self, url: &str) -> String {
        format!("Open this page to connect your account. It works once, within 15 minutes. Do not pass it on:\n{url}")
    }

    fn link_too_often(&self, seconds: u64) -> String {
        format!("You have just asked for several links. Please try again in {seconds} seconds.")
    }

    fn link_not_now(&self) -> String {
        "That does not work right now, and nothing was changed. Please try again in a minute.".to_owned()
    }

    fn write_to_me_directly(&self) -> String {
        "Please write to me in a direct chat: links and accounts are for one person only.".to_owned()
    }

    fn nobody_linked(&self) -> String {
        "No account is connected here. /link connects one.".to_owned()
    }

    fn linked(&self, who: &str, app: &str) -> String {
        format!("Connected: {} at {}. Questions will appear here.", quoted(who), quoted(app))
    }

    fn unlinked(&self, who: &str) -> String {
        format!("{} is not connected to this chat any more.", quoted(who))
    }

    fn unlink_which(&self, names: &[String]) -> String {
        format!("Several accounts are connected here: {}. Send /unlink and the name of one.", listed(names, "and"))
    }

    fn unlink_in_file(&self, who: &str) -> String {
        format!("{} was connected by whoever runs this service, and only they can take it away.", quoted(who))
    }

    fn inbox_is_here(&self) -> String {
        "There is no inbox page yet. What waits for you is in this chat, with buttons.".to_owned()
    }

    fn invite_digits(&self) -> String {
        "Now type the four digits that the app shows. If no app shows you any, do nothing.".to_owned()
    }

    fn invite_wrong(&self, left: u32) -> String {
        if left == 0 {
            "Those are not the digits, and the invitation is over. Nothing was connected. Start again in the app."
                .to_owned()
        } else {
            format!("Those are not the digits. Tries left: {left}.")
        }
    }

    fn invite_unknown(&self) -> String {
        "This invitation is over or was used. Start again in the app.".to_owned()
    }

    fn link_title(&self) -> String {
        "Connect your account".to_owned()
    }

    fn link_intro(&self) -> String {
        "This chat account will be able to see your questions and answer them as you:".to_owned()
    }

    fn link_chat(&self) -> String {
        "Chat account".to_owned()
    }

    fn link_number(&self) -> String {
        "Number".to_owned()
    }

    fn link_app(&self) -> String {
        "App".to_owned()
    }

    fn link_only_yours(&self) -> String {
        "Is this not your own chat account? Then close this page: whoever sent it could answer in your name.".to_owned()
    }

    fn link_may(&self) -> String {
        "askgate may show your questions there, and send the answers you tap as you.".to_owned()
    }

    fn link_stored(&self) -> String {
        "Kept is a sealed session, never your password. /unlink in the chat ends it.".to_owned()
    }

    fn link_email(&self) -> String {
        "E-mail address".to_owned()
    }

    fn link_password(&self) -> String {
        "Password".to_owned()
    }

    fn link_token_instead(&self) -> String {
        "Use a session token instead".to_owned()
    }

    fn link_token(&self) -> String {
        "Session token".to_owned()
    }

    fn link_continue(&self) -> String {
        "Continue".to_owned()
    }

    fn link_connect(&self) -> String {
        "Connect".to_owned()
    }

    fn link_back(&self) -> String {
        "Back".to_owned()
    }

    fn link_question(&self, who: &str, app: &str, chat: &str) -> String {
        format!("You are {} at {}. Connect it to {}?", quoted(who), quoted(app), quoted(chat))
    }

    fn link_done(&self, who: &str, app: &str, chat: &str) -> String {
        format!(
            "Connected: {} at {}. Questions will appear in {}. You can close this page.",
            quoted(who),
            quoted(app),
            quoted(chat)
        )
    }

    fn link_incomplete(&self) -> String {
        "Enter your e-mail address and password, or a session token.".to_owned()
    }

    fn link_refused(&self, left: u32) -> String {
        format!("The app does not accept that sign-in. Nothing was connected. Tries left with this link: {left}.")
    }

    fn link_no_tries(&self) -> String {
        "This link has no tries left. Nothing was connected. Send /link in the chat for a new one.".to_owned()
    }

    fn link_app_down(&self, app: &str) -> String {
        format!(
            "{} does not answer right now. Nothing was connected, and this link still works. Please try again in a minute.",
            quoted(app)
        )
    }

    fn link_app_busy(&self, app: &str, seconds: u64) -> String {
        format!(
            "{} takes no sign-ins for now. Nothing was connected. Please try again in {seconds} seconds.",
            quoted(app)
        )
    }

    fn link_over(&self) -> String {
        "This link was used or is too old. Send /link in the chat for a new one.".to_owned()
    }

    fn link_unknown(&self) -> String {
        "There is no such link. Send /link in the chat for a new one.".to_owned()
    }

    fn link_form_old(&self) -> String {
        "This form was not sent from this page in this browser, or is too old. Nothing was connected. Open the link again.".to_owned()
    }

    fn page_too_often(&self, seconds: u64) -> String {
        format!("Too many requests from your network. Please try again in {seconds} seconds.")
    }
}
