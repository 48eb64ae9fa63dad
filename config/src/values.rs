//! The types that several sections share: names, addresses, durations, choices, and what a header can carry.

use std::ops::RangeInclusive;
use std::time::Duration;

use asks::place::{Actor, ChannelKind, Place, PlaceError};
use url::{Host, Url};

use crate::nearest::nearest;
use crate::problem::{Reported, quoted};
use crate::reader::{Flaw, Item, Section};
use crate::sections::Outline;

/// The longest duration: an instant minus it still lies after 1970.
const LONGEST: Duration = Duration::from_hours(50 * 365 * 24);
/// The longest name, in characters.
const LONGEST_NAME: usize = 100;

/// A name of something in the file: one line, without space at its ends.
pub(crate) fn name(item: &Item<'_>) -> Result<String, Reported> {
    let name = item.text()?;
    if name.trim() != name || name.chars().any(char::is_control) || name.chars().count() > LONGEST_NAME {
        let what = format!("{} is no name", quoted(name));
        return Err(item.report(what, "write one line of at most 100 characters, without space at its ends"));
    }
    Ok(name.to_owned())
}

/// One of the `known` words, as its value; the words in `later` are refused as not yet supported.
pub(crate) fn one_of<T: Copy>(item: &Item<'_>, known: &[(&'static str, T)], later: &[&str]) -> Result<T, Reported> {
    let word = item.text()?;
    if let Some((_, value)) = known.iter().find(|(name, _)| *name == word) {
        return Ok(*value);
    }
    let names: Vec<_> = known.iter().map(|(name, _)| format!("\"{name}\"")).collect();
    let names = names.join(" or ");
    if later.contains(&word) {
        return Err(item.report(format!("\"{word}\" is not yet supported"), format!("write {names}")));
    }
    let fix = match nearest(word, known.iter().map(|(name, _)| *name)) {
        Some(meant) => format!("did you mean \"{meant}\"?"),
        None => format!("write {names}"),
    };
    Err(item.report(format!("{} is not known here", quoted(word)), fix))
}

/// A duration that may be zero.
pub(crate) fn duration(item: &Item<'_>) -> Result<Duration, Reported> {
    const EXAMPLE: &str = "write a duration with its unit, such as \"400ms\", \"3s\" or \"30d\"";
    let text = item.text()?;
    match humantime::parse_duration(text) {
        Ok(duration) if duration <= LONGEST => Ok(duration),
        Ok(_) => Err(item.report(format!("{} is longer than 50 years", quoted(text)), EXAMPLE)),
        Err(error) => Err(item.report(format!("{} is no duration: {error}", quoted(text)), EXAMPLE)),
    }
}

/// A duration above zero, without another floor: a source's own limits decide how often it is asked.
pub(crate) fn interval(item: &Item<'_>) -> Result<Duration, Reported> {
    match duration(item)? {
        Duration::ZERO => Err(item.report("is zero", "write a duration above zero, such as \"400ms\"")),
        interval => Ok(interval),
    }
}

/// True or false.
pub(crate) fn flag(item: &Item<'_>) -> Result<bool, Reported> {
    item.flag()
}

/// A whole number within `range`.
pub(crate) fn whole(item: &Item<'_>, range: RangeInclusive<u64>) -> Result<u64, Reported> {
    item.number().filter(|number| range.contains(number)).ok_or_else(|| {
        let what = format!("is no whole number from {} to {}", range.start(), range.end());
        item.report(what, format!("write one, such as {}", range.start()))
    })
}

/// The base address of a server; plain http beyond this machine is a warning.
pub(crate) fn address(item: &Item<'_>) -> Result<Url, Reported> {
    let url = web_url(item.text()?).map_err(|flaw| item.flawed(flaw))?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(item.report("has a query or a fragment", "end the address before `?` and `#`"));
    }
    if url.scheme() == "http" && !is_loopback(&url) {
        item.warn("is not encrypted", "use https, unless the network between is your own");
    }
    Ok(url)
}

/// The base address at `name`, or the usual one.
pub(crate) fn address_or(section: &Section<'_>, name: &'static str, usual: &'static str) -> Result<Url, Reported> {
    match section.optional(name, address)? {
        Some(url) => Ok(url),
        None => Url::parse(usual).map_err(|error| section.report(name, format!("is no address: {error}"), "set it")),
    }
}

/// An absolute http(s) address. The flaw never repeats the address, which may carry a token.
pub(crate) fn web_url(text: &str) -> Result<Url, Flaw> {
    const EXAMPLE: &str = "write an absolute address, such as \"https://app.example.com\"";
    if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(Flaw::new("has white space in it", "remove it, or write it as %20"));
    }
    let url = Url::parse(text).map_err(|error| Flaw::new(format!("is no address: {error}"), EXAMPLE))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Flaw::new("is neither http nor https", EXAMPLE));
    }
    // A parser of the web's kind mends `https:host` and `https:///host`; a person should see what is meant.
    if !text.split_once("://").is_some_and(|(_, rest)| rest.starts_with(|c: char| c != '/' && c != '\\')) {
        return Err(Flaw::new("is no absolute address", EXAMPLE));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Flaw::new("carries a name or password", "remove everything before the `@`"));
    }
    Ok(url)
}

/// Whether the address is this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => is_localhost(name),
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

/// Whether a host's name is `localhost` or below it.
pub(crate) fn is_localhost(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name == "localhost" || name.ends_with(".localhost")
}

/// A place whose channel is configured.
pub(crate) fn place(item: &Item<'_>, outline: &Outline) -> Result<Place, Reported> {
    let place: Place = item.text()?.parse().map_err(|error| unreadable(item, &error))?;
    let channel = place.channel();
    if outline.channels.contains(&channel) {
        return Ok(place);
    }
    let fix = match channel {
        ChannelKind::Ntfy => format!("add [{channel}]; it may be empty"),
        _ => format!("add [{channel}] with its token"),
    };
    Err(item.report(format!("is on {channel}, which is not configured"), fix))
}

/// A person who may answer.
pub(crate) fn actor(item: &Item<'_>) -> Result<Actor, Reported> {
    match item.text()?.parse().map_err(|error| unreadable(item, &error))? {
        Actor::Owner => Err(item.report("is no person on a platform", "write \"telegram:ID\" or \"discord:ID\"")),
        actor => Ok(actor),
    }
}

/// What a header can carry as a bearer: visible ASCII without spaces.
pub(crate) fn bearer(text: &str) -> Result<(), Flaw> {
    if text.bytes().all(|b| b.is_ascii_graphic()) {
        return Ok(());
    }
    Err(Flaw::new(
        "has white space or a character that no header can carry",
        "give the bare token on one line, without `Bearer` or `Bot` before it",
    ))
}

/// A secret of any characters on one line: with more lines the wrong file was named.
pub(crate) fn one_line(text: &str) -> Result<(), Flaw> {
    if text.contains(['\n', '\r']) {
        return Err(Flaw::new("has more than one line", "give the secret alone; one line end after it does not count"));
    }
    Ok(())
}

fn unreadable(item: &Item<'_>, error: &PlaceError) -> Reported {
    let text = error.to_string();
    match text.split_once("; ") {
        Some((what, fix)) => item.report(what, fix),
        None => item.report(text, "write the id as the platform gives it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_absolute_and_without_credentials() {
        for good in ["https://a.example", "http://127.0.0.1:1", "http://[::1]:80/path/", "https://a.example/x?y#z"] {
            assert!(web_url(good).is_ok(), "{good}");
        }
        let bad = [
            "",
            "a.example",
            "/path",
            "https:a.example",
            "https:///a.example",
            "https://",
            "app://x",
            "ftp://a.example",
            "https://host/a b",
            " https://a.example",
            "https://a.example\n",
            "https://u:hunter2@a.example",
            "http://:80",
        ];
        for bad in bad {
            let flaw = web_url(bad).expect_err(bad);
            assert!(!flaw.what.contains("hunter2"), "{flaw:?}");
        }
    }

    #[test]
    fn this_machine_is_told_from_others() {
        for (url, here) in [
            ("http://localhost:3000", true),
            ("http://app.localhost", true),
            ("http://127.9.9.9", true),
            ("http://[::1]", true),
            ("http://10.0.0.1", false),
            ("http://localhost.example.com", false),
        ] {
            assert_eq!(is_loopback(&url.parse().expect(url)), here, "{url}");
        }
    }
}
