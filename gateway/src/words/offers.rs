//! What the platforms' apps say about the commands they offer.

use adapters::channel::Offer;

use super::Language;

/// A command that a person can send to the bot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Says who is linked here.
    Start,
    /// Links an account.
    Link,
    /// Takes an account away from here.
    Unlink,
    /// Lists the accounts.
    Accounts,
    /// Opens the inbox.
    Inbox,
}

impl Command {
    /// All of them, in the order in which they are offered.
    pub const ALL: [Self; 5] = [Self::Start, Self::Link, Self::Unlink, Self::Accounts, Self::Inbox];

    /// Its name, without the slash.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Link => "link",
            Self::Unlink => "unlink",
            Self::Accounts => "accounts",
            Self::Inbox => "inbox",
        }
    }
}

/// The descriptions of the commands.
pub trait OfferWords {
    /// What a command does, in at most 100 characters.
    fn offer(&self, command: Command) -> &'static str;
    /// What may be written after the command that links, in at most 100 characters.
    fn link_code(&self) -> &'static str;
}

/// The commands, in English and in every other language.
#[must_use]
pub fn offers() -> Vec<Offer> {
    let offer = |command: Command| Offer {
        name: command.name().to_owned(),
        description: Language::En.words().offer(command).to_owned(),
        translations: vec![(Language::De.code().to_owned(), Language::De.words().offer(command).to_owned())],
        argument: (command == Command::Link).then(|| Language::En.words().link_code().to_owned()),
    };
    Command::ALL.into_iter().map(offer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_fit_the_platforms() {
        for offer in offers() {
            let texts = offer.translations.iter().map(|(_, text)| text).chain([&offer.description]);
            for text in texts {
                assert!((1..=100).contains(&text.chars().count()), "{text}");
            }
            assert!(offer.name.bytes().all(|b| b.is_ascii_lowercase()), "{}", offer.name);
        }
    }
}
