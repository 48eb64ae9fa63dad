//! What the bot answers to a command, and to four digits while somebody is invited.

use std::sync::Arc;

use adapters::channel::Said;
use adapters::source::Signed;
use asks::ids::AccountKey;
use asks::place::Place;

use super::codes;
use super::invite::Typed;
use crate::accounts::{self, UnlinkError};
use crate::hub::Hub;
use crate::show::one_line;
use crate::words::{Command, Language};

/// Why nobody can link themselves here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Off {
    /// There is no key to seal sessions under.
    NoKey,
    /// People cannot reach our pages.
    NoAddress,
    /// No source lets them.
    NoSource,
}

/// Whether people can link themselves.
///
/// # Errors
/// Why not.
pub fn is_on(hub: &Hub) -> Result<(), Off> {
    if hub.public_url.is_none() {
        return Err(Off::NoAddress);
    }
    if !hub.sources.values().any(|source| source.config.link) {
        return Err(Off::NoSource);
    }
    if hub.accounts.can_link() { Ok(()) } else { Err(Off::NoKey) }
}

/// Answers what somebody said. `None` where that deserves no answer.
pub async fn said(hub: &Arc<Hub>, said: &Said) -> Option<String> {
    let served = hub.links.served_at(&said.place);
    let reported = said.language.as_deref().and_then(Language::from_code);
    let language = served.first().map_or_else(|| reported.unwrap_or_default(), |account| hub.links.language(account));
    let words = language.words();
    let read = read(&said.text);
    if !said.place.is_direct() {
        // A link that several people see would be used by the wrong one.
        return matches!(read, Some((Command::Link | Command::Start | Command::Unlink | Command::Inbox, _)))
            .then(|| words.write_to_me_directly());
    }
    let Some((command, rest)) = read else {
        if said.text.trim_start().starts_with('/') {
            return Some(about(hub, &served, &said.place, language));
        }
        if let Some(digits) = four_digits(&said.text) {
            match typed(hub, &said.place, digits, language).await {
                Some(answer) => return Some(answer),
                None if served.is_empty() => {}
                None => return Some(words.only_buttons()),
            }
        }
        return Some(if served.is_empty() { about(hub, &served, &said.place, language) } else { words.only_buttons() });
    };
    let answer = match command {
        Command::Start | Command::Link if four_digits(rest).is_some() => {
            typed(hub, &said.place, rest, language).await.unwrap_or_else(|| words.invite_unknown())
        }
        Command::Start | Command::Link if !rest.is_empty() => {
            if hub.linking.invites.open(rest, &said.place, hub.clock.instant()) {
                words.invite_digits()
            } else {
                words.invite_unknown()
            }
        }
        Command::Start if !served.is_empty() => about(hub, &served, &said.place, language),
        Command::Start | Command::Link => link(hub, said, language).await,
        Command::Unlink => unlink(hub, &served, &said.place, rest, language).await,
        Command::Accounts => about(hub, &served, &said.place, language),
        Command::Inbox => inbox(hub, &said.place, language).await,
    };
    Some(answer)
}

/// Tells somebody at their place that they are linked.
pub async fn tell_linked(hub: &Arc<Hub>, place: &Place, account: &AccountKey, language: Language) {
    let text = language.words().linked(&one_line(&hub.links.called(account)), &label(hub, account));
    let Some(channel) = hub.channels.get(&place.channel()) else { return };
    let key = adapters::channel::SendKey(format!("linked-{account}-{}", hub.now()));
    if let Err(failure) = channel.notify(place, &text, None, &key).await {
        tracing::warn!(%place, "{place} could not be told that it is linked: {failure}");
    }
}

/// What a person is called at a source.
#[must_use]
pub fn called(signed: &Signed) -> String {
    let name = signed.display.as_deref().map(one_line).filter(|name| !name.is_empty());
    name.unwrap_or_else(|| signed.subject.as_str().to_owned())
}

/// A link that opens the inbox; where there is none, a sentence says where the questions are.
async fn inbox(hub: &Hub, place: &Place, language: Language) -> String {
    let words = language.words();
    match crate::http::inbox::sign_in_address(hub, place).await {
        Ok(Some(address)) => words.inbox_link(&address),
        Ok(None) => words.inbox_is_here(),
        Err(error) => {
            tracing::warn!("a link to the inbox was not made: {error}");
            words.link_not_now()
        }
    }
}

/// A command and what follows it.
fn read(text: &str) -> Option<(Command, &str)> {
    let text = text.trim().strip_prefix('/')?;
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let name = name.split('@').next().unwrap_or_default();
    let command = Command::ALL.into_iter().find(|command| command.name().eq_ignore_ascii_case(name))?;
    Some((command, rest.trim()))
}

fn four_digits(text: &str) -> Option<&str> {
    let text = text.trim();
    (text.len() == 4 && text.bytes().all(|b| b.is_ascii_digit())).then_some(text)
}

fn label(hub: &Hub, account: &AccountKey) -> String {
    hub.sources.get(&account.source).map(|source| one_line(&source.config.label)).unwrap_or_default()
}

fn about(hub: &Hub, served: &[AccountKey], place: &Place, language: Language) -> String {
    let words = language.words();
    if served.is_empty() {
        return match is_on(hub) {
            Ok(()) => words.nobody_linked(),
            Err(_) => words.start_unknown(&place.address()),
        };
    }
    let names = served.iter().map(|account| format!("{} ({})", one_line(&hub.links.called(account)), account.source));
    words.start_linked(&names.collect::<Vec<_>>().join(", "))
}

async fn link(hub: &Arc<Hub>, said: &Said, language: Language) -> String {
    let words = language.words();
    if let Err(off) = is_on(hub) {
        return format!("{}\n\n{}", words.linking_off(off), words.start_unknown(&said.place.address()));
    }
    if let Err(after) = hub.linking.asked.take(said.place.address(), hub.clock.instant()) {
        return words.link_too_often(after.as_secs().max(1));
    }
    match codes::issue(hub, &said.place, said.name.as_deref(), language).await {
        Ok(Some(code)) => {
            hub.page(&format!("link/{code}")).map_or_else(|| words.link_not_now(), |url| words.link_here(&url))
        }
        Ok(None) => words.link_not_now(),
        Err(error) => {
            tracing::warn!("a link was not made: {error}");
            words.link_not_now()
        }
    }
}

async fn unlink(hub: &Arc<Hub>, served: &[AccountKey], place: &Place, name: &str, language: Language) -> String {
    let words = language.words();
    let named = |account: &&AccountKey| account.name.as_str() == name || hub.links.called(account) == name;
    let account = match served {
        [] => return words.nobody_linked(),
        [only] if name.is_empty() => only,
        several => {
            let Some(account) = several.iter().find(named) else {
                let which: Vec<String> = several.iter().map(|account| one_line(account.name.as_str())).collect();
                return words.unlink_which(&which);
            };
            account
        }
    };
    let called = one_line(&hub.links.called(account));
    match accounts::unlink(hub, account, place).await {
        Ok(()) => words.unlinked(&called),
        Err(UnlinkError::InFile) => words.unlink_in_file(&called),
        Err(UnlinkError::NotLinked) => words.nobody_linked(),
        Err(UnlinkError::NotSaved(error)) => {
            tracing::warn!("an account was not unlinked: {error}");
            words.link_not_now()
        }
    }
}

/// Takes the digits of an invitation; `None` where nobody waits for any.
async fn typed(hub: &Arc<Hub>, place: &Place, digits: &str, language: Language) -> Option<String> {
    let words = language.words();
    match hub.linking.invites.typed(place, digits, hub.clock.instant()) {
        Typed::None => None,
        Typed::Wrong(left) => Some(words.invite_wrong(left)),
        Typed::Right(what) => {
            let places = std::slice::from_ref(place);
            Some(match accounts::link(hub, &what.source, &what.signed, places, language).await {
                Ok(account) => words.linked(&one_line(&hub.links.called(&account)), &label(hub, &account)),
                Err(error) => {
                    tracing::warn!("an invited person was not linked: {error}");
                    words.link_not_now()
                }
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_as_platforms_write_them() {
        assert_eq!(read("/start"), Some((Command::Start, "")));
        assert_eq!(read(" /link@some_bot "), Some((Command::Link, "")));
        assert_eq!(read("/start abc_-1"), Some((Command::Start, "abc_-1")));
        assert_eq!((read("link"), read("/linker"), read("/")), (None, None, None));
        assert_eq!((four_digits(" 0042 "), four_digits("42"), four_digits("004x")), (Some("0042"), None, None));
    }
}
