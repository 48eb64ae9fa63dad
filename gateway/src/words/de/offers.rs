//! German: the commands.

use super::German;
use crate::words::offers::{Command, OfferWords};

impl OfferWords for German {
    fn offer(&self, command: Command) -> &'static str {
        match command {
            Command::Start => "Zeigt, welche Konten hier verknüpft sind",
            Command::Link => "Verknüpft dein Konto mit diesem Chat",
            Command::Unlink => "Schickt die Fragen eines Kontos nicht mehr hierher",
            Command::Accounts => "Listet deine verknüpften Konten auf",
            Command::Inbox => "Öffnet, was auf deine Antwort wartet",
        }
    }

    fn link_code(&self) -> &'static str {
        "Ein Code, den deine App zeigt, falls sie dich darum bat"
    }
}
