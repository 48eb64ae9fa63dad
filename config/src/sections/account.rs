//! `[[accounts]]`: the people known from the file.

use std::collections::BTreeSet;
use std::fmt;

use asks::ids::{AccountKey, AccountName, SourceName};
use asks::place::Place;

use super::Outline;
use crate::nearest::nearest;
use crate::problem::{Reported, quoted};
use crate::reader::{Item, Section};
use crate::secret::Secret;
use crate::values;

/// The languages that askgate speaks. The first is the default.
pub const LANGUAGES: [&str; 2] = ["en", "de"];

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
        let quiet_hours = section.later("quiet_hours");
        if let Ok(name) = &name
            && !section.has("deliver")
            && !outline.grouped.contains(name)
        {
            let fix = "add deliver = [\"telegram:ID\"], or deliver = [] to say so";
            section.warn("deliver", "is missing, so nobody sees these asks", fix);
        }
        quiet_hours?;
        Ok(Self {
            key: AccountKey { source: SourceName::new(source?), name: AccountName::new(name?) },
            credential: credential?,
            deliver: deliver?,
            language: language?,
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
