//! `[[sources]]`: where asks come from.

use std::collections::BTreeMap;
use std::time::Duration;

use asks::ask::Surface;
use asks::ids::SourceName;
use asks::place::ChannelKind;
use url::Url;

use super::Outline;
use super::handoff::HandoffUrl;
use crate::problem::{Reported, quoted};
use crate::reader::{Flaw, Item, Section};
use crate::secret::Secret;
use crate::values;

/// How often a source is asked after activity.
const POLL_ACTIVE: Duration = Duration::from_secs(3);
/// How often a source is asked when nothing happens.
const POLL_IDLE: Duration = Duration::from_mins(1);
/// How long a turn may run: an agent thinks, calls tools and writes before it replies.
const TURN_TIMEOUT: Duration = Duration::from_mins(2);
/// Headers that askgate or its HTTP library sets itself.
const RESERVED: [&str; 7] =
    ["authorization", "connection", "content-length", "content-type", "host", "transfer-encoding", "upgrade"];

/// Headers sent with every request, names in lower case. Their values are secrets.
pub type Headers = BTreeMap<String, Secret>;

/// A kind of backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    /// A Terreno server.
    Terreno,
}

/// How an e-mail and password become a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignIn {
    /// The first that exists.
    Auto,
    /// `POST /auth/login`.
    Terreno,
    /// `POST /api/auth/sign-in/email`.
    BetterAuth,
}

/// One source.
#[derive(Debug, Clone)]
pub struct SourceConfig {
    /// Its name, unique in the file.
    pub name: SourceName,
    /// What pages call it; its name unless told otherwise.
    pub label: String,
    /// Whether people may link themselves to it.
    pub link: bool,
    /// What it is.
    pub kind: SourceKind,
    /// Its base address. Several sources may share one.
    pub url: Url,
    /// How its people sign in.
    pub auth: SignIn,
    /// Where a card hands off to.
    pub handoff_url: Option<HandoffUrl>,
    /// What the agent may ask in a turn that is posted from here.
    pub surface: Surface,
    /// How often it is asked after activity.
    pub poll_active: Duration,
    /// How often it is asked when nothing happens.
    pub poll_idle: Duration,
    /// How long a turn may run.
    pub turn_timeout: Duration,
    /// Sent with every request.
    pub headers: Headers,
}

impl SourceConfig {
    pub(crate) fn validate(section: &Section<'_>, outline: &Outline) -> Result<Self, Reported> {
        let name = section.required("name", "name = \"app\"", values::name);
        let kind = section.required("kind", "kind = \"terreno\"", |item| {
            values::one_of(item, &[("terreno", SourceKind::Terreno)], &["agentfootprint"])
        });
        let url = section.required("url", "url = \"https://api.example.com\"", values::address);
        let handoff_url = section.optional("handoff_url", |item| handoff(item, outline));
        let surface = section.or("surface", Surface::Compact, |item| {
            values::one_of(item, &[("compact", Surface::Compact), ("full", Surface::Full)], &[])
        });
        let poll_active = section.or("poll_active", POLL_ACTIVE, values::interval);
        let poll_idle = section.or("poll_idle", POLL_IDLE, values::interval);
        let turn_timeout = section.or("turn_timeout", TURN_TIMEOUT, values::interval);
        let auth = section.or("auth", SignIn::Auto, |item| {
            let known = [("auto", SignIn::Auto), ("terreno", SignIn::Terreno), ("better-auth", SignIn::BetterAuth)];
            values::one_of(item, &known, &[])
        });
        let headers = section.or("headers", Headers::new(), headers);
        let link = section.or("link", true, values::flag);
        let label = section.optional("label", values::name);
        if let (Ok(active), Ok(idle)) = (poll_active, poll_idle)
            && active > idle
        {
            section.warn("poll_idle", "is shorter than poll_active", "idle sources are meant to be asked less often");
        }
        let name = name?;
        Ok(Self {
            label: label?.unwrap_or_else(|| name.clone()),
            link: link?,
            name: SourceName::new(name),
            kind: kind?,
            url: url?,
            auth: auth?,
            handoff_url: handoff_url?,
            surface: surface?,
            poll_active: poll_active?,
            poll_idle: poll_idle?,
            turn_timeout: turn_timeout?,
            headers: headers?,
        })
    }
}

fn handoff(item: &Item<'_>, outline: &Outline) -> Result<HandoffUrl, Reported> {
    let url = HandoffUrl::parse(item.text()?).map_err(|flaw| item.flawed(flaw))?;
    if outline.channels.contains(&ChannelKind::Telegram) && !url.has_public_host() {
        item.warn(
            "has a host that Telegram takes for no button, so cards there show the link as text",
            "use a host with a dot that is not this machine",
        );
    }
    Ok(url)
}

fn headers(item: &Item<'_>) -> Result<Headers, Reported> {
    let pairs = item.entries(|name, item| {
        header_name(name).map_err(|flaw| item.flawed(flaw))?;
        let value = item.text()?;
        if value.trim() != value || value.chars().any(|c| c.is_control() || !c.is_ascii()) {
            let what = "has a character that no header can carry";
            return Err(item.report(what, "write visible ASCII, without space at its ends"));
        }
        Ok((name.to_ascii_lowercase(), Secret::new(value)))
    })?;
    let mut headers = Headers::new();
    for (name, value) in pairs {
        let what = format!("{} is given twice, in different case", quoted(&name));
        if headers.insert(name, value).is_some() {
            return Err(item.report(what, "remove one of the two"));
        }
    }
    Ok(headers)
}

/// A token of RFC 9110, and none that askgate sets itself.
fn header_name(name: &str) -> Result<(), Flaw> {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if name.is_empty() || !name.bytes().all(token) {
        return Err(Flaw::new("is no header name", "write letters, digits and -"));
    }
    if RESERVED.contains(&name.to_ascii_lowercase().as_str()) {
        let fix = "remove it; a bearer token belongs to its account";
        return Err(Flaw::new("is a header that askgate sets itself", fix));
    }
    Ok(())
}
