//! `[[accounts]]`: the people known from the file.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use asks::ids::{AccountKey, AccountName, SourceName};
use asks::place::{ChannelKind, Place};

use super::Outline;
use crate::hours::{DailyTime, QuietHours, Zone};
use crate::nearest::nearest;
use crate::problem::{Reported, quoted};
use crate::reader::{Item, Section};
use crate::secret::Secret;
use crate::values;

/// The languages that askgate speaks. The first is the default.
pub const LANGUAGES: [&str; 2] = ["en", "de"];

/// How often a person is reminded of one ask unless told otherwise.
const REMIND_MOST: u32 = 3;
/// How often at most.
const MOST_REMINDERS: u64 = 10;

/// A language from [`LANGUAGES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Language(&'static str);

/// How an account proves itself at its source.
#[derive(Debug, Clone)]
pub enum Credential {
    /// Signs in with an e-mail address and a password.
    Password {
        /// The address, letter for letter: some hosts tell capitals apart.
        email: String,
        /// Its password.
        password: Secret,
    },
    /// Has a token already: a Terreno JWT or a Better Auth session.
    Token {
        /// Sent as the bearer.
        token: Secret,
        /// Buys a new token when this one has expired.
        refresh_token: Option<Secret>,
    },
}

/// How much of an ask a phone shows before it is unlocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LockScreen {
    /// The whole question.
    #[default]
    Full,
    /// Its title only.
    Title,
    /// Only that an agent waits.
    Hidden,
}

/// One person at one source.
#[derive(Debug, Clone)]
pub struct AccountConfig {
    /// Its source and its name. The name alone is unique in the file.
    pub key: AccountKey,
    /// How it proves itself.
    pub credential: Credential,
    /// Every direct place its asks are shown at, each once. May be empty.
    pub deliver: Vec<Place>,
    /// The language of our own sentences there.
    pub language: Language,
    /// When no notification rings.
    pub quiet_hours: Option<QuietHours>,
    /// How much a phone's notification shows.
    pub lock_screen: LockScreen,
    /// Whether a destructive button asks once more in the direct places.
    pub confirm_destructive: bool,
    /// After how long a waiting ask is brought to mind, each time; `None` is never.
    pub remind_after: Option<Duration>,
    /// How often at most, from 1 to 10.
    pub remind_most: u32,
    /// When the asks that wait are told in one message.
    pub digest: Option<DailyTime>,
}

/// The keys that need a time zone.
struct Times {
    quiet_hours: Option<QuietHours>,
    digest: Option<DailyTime>,
}

impl Language {
    /// The language's code, such as `en`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl Default for Language {
    fn default() -> Self {
        let [first, ..] = LANGUAGES;
        Self(first)
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl AccountConfig {
    pub(crate) fn validate(section: &Section<'_>, outline: &Outline) -> Result<Self, Reported> {
        let name = section.required("name", "name = \"me\"", values::name);
        let source = section.required("source", "source = \"app\", the name of one of the [[sources]]", |item| {
            reference(item, &outline.sources, "[[sources]]")
        });
        let credential = credential(section);
        let deliver = section.or("deliver", Vec::new(), |item| deliver(item, outline));
        let language = section.or("language", Language::default(), |item| {
            values::one_of(item, &LANGUAGES.map(|code| (code, Language(code))), &[])
        });
        let times = times(section);
        let lock_screen = section.or("lock_screen", LockScreen::default(), |item| {
            let known = [("full", LockScreen::Full), ("title", LockScreen::Title), ("hidden", LockScreen::Hidden)];
            values::one_of(item, &known, &[])
        });
        let confirm_destructive = section.or("confirm_destructive", false, values::flag);
        let remind_after = section.optional("remind_after", values::interval);
        let remind_most = section.or("remind_most", REMIND_MOST, |item| {
            Ok(u32::try_from(values::whole(item, 1..=MOST_REMINDERS)?).unwrap_or(REMIND_MOST))
        });
        if section.has("remind_most") && !section.has("remind_after") {
            section.warn("remind_most", "counts only beside remind_after", "add remind_after = \"2h\", or remove it");
        }
        if let Ok(name) = &name
            && !section.has("deliver")
            && !outline.grouped.contains(name)
        {
            let fix = "add deliver = [\"telegram:ID\"], or deliver = [] to say so";
            section.warn("deliver", "is missing, so nobody sees these asks", fix);
        }
        let times = times?;
        Ok(Self {
            key: AccountKey { source: SourceName::new(source?), name: AccountName::new(name?) },
            credential: credential?,
            deliver: deliver?,
            language: language?,
            quiet_hours: times.quiet_hours,
            lock_screen: lock_screen?,
            confirm_destructive: confirm_destructive?,
            remind_after: remind_after?,
            remind_most: remind_most?,
            digest: times.digest,
        })
    }
}

/// A name that must stand among `known`, which `section` holds.
pub(crate) fn reference(item: &Item<'_>, known: &BTreeSet<String>, section: &str) -> Result<String, Reported> {
    let name = item.text()?;
    if known.contains(name) {
        return Ok(name.to_owned());
    }
    let fix = match nearest(name, known.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean {}?", quoted(meant)),
        None => format!("add one, or name one of the {section}"),
    };
    Err(item.report(format!("{} is none of the {section}", quoted(name)), fix))
}

/// Quiet hours and digest, with the zone that they name or that stands beside them.
fn times(section: &Section<'_>) -> Result<Times, Reported> {
    let zone = section
        .optional("zone", |item| item.text()?.parse::<Zone>().map_err(|error| item.report(error.what, error.fix)));
    // Of a zone that is wrong, more would only be said twice.
    let given = zone.as_ref().ok().and_then(Option::as_ref);
    let quiet_hours = section.optional("quiet_hours", |item| {
        let lines = item.one_or_each(|item| item.text().map(str::to_owned))?;
        if zone.is_err() {
            return Ok(None);
        }
        let hours = QuietHours::parse(lines.iter().map(String::as_str), given)
            .map_err(|error| item.report(error.what, error.fix))?;
        if hours.is_never() {
            item.warn("ends when it begins, so it is never quiet", "give it another end, or remove it");
        } else if hours.is_always() {
            item.warn("leaves no minute of the day, so nothing ever rings", "leave some out, unless that is meant");
        }
        Ok(Some(hours))
    });
    let digest = section.optional("digest", |item| {
        let text = item.text()?;
        let beside = given.or_else(|| quiet_hours.as_ref().ok()?.as_ref()?.as_ref().map(QuietHours::zone));
        match beside {
            // The zone's own mistake is reported where it stands.
            None if zone.is_err() || quiet_hours.is_err() => Ok(None),
            None => Err(item.report("has no time zone", "add zone = \"Europe/Berlin\", or quiet_hours with one")),
            Some(zone) => DailyTime::parse(text, zone).map(Some).map_err(|error| item.report(error.what, error.fix)),
        }
    });
    zone?;
    Ok(Times { quiet_hours: quiet_hours?.flatten(), digest: digest?.flatten() })
}

/// Exactly one kind of credential.
fn credential(section: &Section<'_>) -> Result<Credential, Reported> {
    let email = section.optional("email", |item| item.text().map(str::to_owned));
    let password = section.secret("password", values::one_line);
    let token = section.secret("token", values::bearer);
    let refresh_token = section.secret("refresh_token", values::one_line);
    match (email?, password?, token?, refresh_token?) {
        (Some(email), Some(password), None, None) => Ok(Credential::Password { email, password }),
        (None, None, Some(token), refresh_token) => Ok(Credential::Token { token, refresh_token }),
        (Some(_), None, None, None) => {
            Err(section.report("password", "is missing beside email", "add password or password_file"))
        }
        (None, Some(_), None, None) => Err(section.report("email", "is missing beside password", "add email")),
        (None, None, None, Some(_)) => {
            Err(section.report("token", "is missing beside refresh_token", "add token or token_file"))
        }
        (None, None, None, None) => {
            let fix = "add email and password(_file), or token(_file)";
            Err(section.report("email", "is missing, and so is every other credential", fix))
        }
        _ => {
            let fix = "keep either email and password, or token and refresh_token";
            Err(section.report("token", "is one credential, email and password another: only one can count", fix))
        }
    }
}

/// The direct places, each once.
fn deliver(item: &Item<'_>, outline: &Outline) -> Result<Vec<Place>, Reported> {
    let places = item.each(|item| {
        let place = values::place(item, outline)?;
        if place.channel() == ChannelKind::Ntfy && !outline.public_url {
            let what = format!("{place} is a phone, and there is no address for its buttons to call");
            return Err(item.report(what, "add public_url to [server]"));
        }
        if place.is_direct() {
            return Ok(place);
        }
        let fix = "move it to [[groups]], with the approvers who may answer there";
        Err(item.report(format!("{place} is a shared place, and deliver takes direct ones only"), fix))
    })?;
    let mut once: Vec<Place> = Vec::with_capacity(places.len());
    for place in places {
        if once.contains(&place) {
            item.warn(format!("names {place} twice"), "one card is shown there; remove one of the two");
        } else {
            once.push(place);
        }
    }
    Ok(once)
}
