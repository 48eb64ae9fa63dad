//! English: the commands.

use super::English;
use crate::words::offers::{Command, OfferWords};

impl OfferWords for English {
    fn offer(&self, command: Command) -> &'static str {
        match command {
            Command::Start => "Show which accounts are linked here",
            Command::Link => "Link your account to this chat",
            Command::Unlink => "Stop sending an account's questions here",
            Command::Accounts => "List your linked accounts",
            Command::Inbox => "Open what waits for your answer",
        }
    }

    fn link_code(&self) -> &'static str {
        "A code that your app shows, if it asked you to write one"
    }
}
