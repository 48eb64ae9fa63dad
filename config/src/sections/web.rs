//! `[web]`: askgate's own pages for people, and the notifications that browsers show.

use url::Url;

use crate::problem::{Reported, quoted};
use crate::reader::{Item, Section};
use crate::values;

/// The pages.
#[derive(Debug, Clone)]
pub struct WebConfig {
    /// Whether the inbox and notifications in browsers are served.
    pub enabled: bool,
    /// Whom a push service can write to, a `mailto:` or https address: VAPID's `sub` (RFC 8292, 2.1). `None` only where
    /// there is no `server.public_url` either.
    pub contact: Option<String>,
}

impl WebConfig {
    pub(crate) fn validate(section: &Section<'_>, public_url: Option<&Url>) -> Result<Self, Reported> {
        let enabled = section.or("enabled", true, values::flag);
        let contact = section.optional("contact", contact);
        Ok(Self { enabled: enabled?, contact: contact?.or_else(|| public_url.map(Url::to_string)) })
    }
}

fn contact(item: &Item<'_>) -> Result<String, Reported> {
    let text = item.text()?;
    let mail = text.strip_prefix("mailto:").and_then(|mail| mail.split_once('@'));
    let is_mail = mail.is_some_and(|(person, host)| !person.is_empty() && !host.is_empty() && !host.contains('@'))
        && text.bytes().all(|b| b.is_ascii_graphic());
    let is_page = values::web_url(text).is_ok_and(|url| url.scheme() == "https");
    if is_mail || is_page {
        return Ok(text.to_owned());
    }
    let what = format!("{} is neither a mailto: nor an https: address", quoted(text));
    Err(item.report(what, "write one, such as \"mailto:you@example.com\""))
}
