//! English: the inbox.

use asks::place::ChannelKind;

use super::English;
use crate::words::inbox::InboxWords;
use crate::words::listed;

impl InboxWords for English {
    fn inbox_title(&self) -> String {
        "Inbox".to_owned()
    }

    fn inbox_link(&self, address: &str) -> String {
        format!("Open your inbox within 10 minutes: {address}\nThe link works once, so keep it to yourself.")
    }

    fn inbox_off(&self) -> String {
        "There is no inbox here: whoever runs this service has not given it a public address.".to_owned()
    }

    fn how_to_sign_in(&self) -> String {
        "You are not signed in. Send /inbox to the bot in your private chat: it answers with a link that opens your inbox in this browser."
            .to_owned()
    }

    fn sign_in_title(&self) -> String {
        "Open your inbox".to_owned()
    }

    fn sign_in_for(&self, accounts: &[String]) -> String {
        format!("This browser will show and answer the questions of {} for 30 days.", listed(accounts, "and"))
    }

    fn sign_in(&self) -> String {
        "Open the inbox".to_owned()
    }

    fn no_such_sign_in(&self) -> String {
        "This link opens no inbox. Please send /inbox to the bot for a new one.".to_owned()
    }

    fn sign_in_spent(&self) -> String {
        "This link was used already, or is older than 10 minutes. Please send /inbox to the bot for a new one."
            .to_owned()
    }

    fn waiting(&self) -> String {
        "Waiting for you".to_owned()
    }

    fn nothing_waits(&self) -> String {
        "Nothing waits for your answer.".to_owned()
    }

    fn settled_lately(&self) -> String {
        "Settled in the last day".to_owned()
    }

    fn new_question(&self) -> String {
        "A new question:".to_owned()
    }

    fn answer_in_full(&self) -> String {
        "Open the whole question".to_owned()
    }

    fn ago(&self, minutes: u64) -> String {
        match minutes {
            0 => "just now".to_owned(),
            1..60 => format!("{minutes} min ago"),
            60..1_440 => format!("{} h ago", minutes / 60),
            1_440..2_880 => "1 day ago".to_owned(),
            _ => format!("{} days ago", minutes / 1_440),
        }
    }

    fn answered_on(&self, channel: Option<ChannelKind>) -> String {
        match channel {
            Some(ChannelKind::Telegram) => "on Telegram",
            Some(ChannelKind::Discord) => "on Discord",
            Some(ChannelKind::Ntfy | ChannelKind::Web) => "from a notification",
            None => "on these pages",
        }
        .to_owned()
    }

    fn offline(&self) -> String {
        "You are offline. This is what waited when the page was last loaded; nothing can be answered until you are online again."
            .to_owned()
    }

    fn browsers(&self) -> String {
        "Browsers that are signed in".to_owned()
    }

    fn this_browser(&self) -> String {
        "this browser".to_owned()
    }

    fn sign_out(&self) -> String {
        "Sign out".to_owned()
    }

    fn sign_out_everywhere(&self) -> String {
        "Sign out everywhere".to_owned()
    }

    fn signed_out(&self) -> String {
        "You are signed out.".to_owned()
    }

    fn back_to_inbox(&self) -> String {
        "Back to the inbox".to_owned()
    }
}
