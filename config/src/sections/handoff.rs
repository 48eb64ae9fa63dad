//! The web address that a card hands off to, with places for the ids of the ask.

use std::fmt;

use asks::ids::{ConversationId, ToolCallId};
use url::Host;

use crate::nearest::nearest;
use crate::problem::quoted;
use crate::reader::Flaw;
use crate::values::{is_localhost, web_url};

/// What may stand in braces.
const PLACEHOLDERS: [&str; 2] = ["historyId", "toolCallId"];

/// A web address in which `{historyId}` and `{toolCallId}` stand for the ids of an ask.
///
/// Scheme, host and port are fixed by the configuration; only what follows can vary.
#[derive(Clone, PartialEq, Eq)]
pub struct HandoffUrl {
    parts: Vec<Part>,
    public_host: bool,
}

#[derive(Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Conversation,
    Ask,
}

impl HandoffUrl {
    /// The address for one ask. Everything but RFC 3986 unreserved characters is percent-encoded in the ids.
    #[must_use]
    pub fn fill(&self, conversation: &ConversationId, ask: &ToolCallId) -> String {
        self.render(&encode(conversation.as_str()), &encode(ask.as_str()))
    }

    /// Whether the host has a public look: a name with a dot, or an IPv4 address that is not this machine.
    ///
    /// Telegram refuses a whole message for a button to any other (`BUTTON_URL_INVALID`), so the link is text there.
    #[must_use]
    pub const fn has_public_host(&self) -> bool {
        self.public_host
    }

    pub(crate) fn parse(text: &str) -> Result<Self, Flaw> {
        let mut address = Self { parts: parts(text)?, public_host: false };
        let url = web_url(&address.render("a", "a"))?;
        let other = web_url(&address.render("b", "b"))?;
        if url.origin() != other.origin() {
            return Err(Flaw::new("has a placeholder in its host", "use placeholders after the host only"));
        }
        address.public_host = match url.host() {
            Some(Host::Domain(name)) => name.trim_end_matches('.').contains('.') && !is_localhost(name),
            Some(Host::Ipv4(ip)) => !ip.is_loopback() && !ip.is_unspecified(),
            Some(Host::Ipv6(_)) | None => false,
        };
        Ok(address)
    }

    fn render(&self, conversation: &str, ask: &str) -> String {
        let texts = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.as_str(),
            Part::Conversation => conversation,
            Part::Ask => ask,
        });
        texts.collect()
    }
}

impl fmt::Debug for HandoffUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HandoffUrl").field(&self.render("{historyId}", "{toolCallId}")).finish()
    }
}

/// Splits the text at its placeholders.
fn parts(text: &str) -> Result<Vec<Part>, Flaw> {
    const FIX: &str = "the placeholders are {historyId} and {toolCallId}; write other braces as %7B and %7D";
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, tail) = after.split_once('}').ok_or_else(|| Flaw::new("has a `{` without a `}`", FIX))?;
        parts.push(Part::Text(before.to_owned()));
        parts.push(match name {
            "historyId" => Part::Conversation,
            "toolCallId" => Part::Ask,
            unknown => {
                let fix = match nearest(unknown, PLACEHOLDERS) {
                    Some(meant) => format!("did you mean `{{{meant}}}`?"),
                    None => FIX.to_owned(),
                };
                return Err(Flaw::new(
                    format!("has the unknown placeholder {}", quoted(&format!("{{{unknown}}}"))),
                    fix,
                ));
            }
        });
        rest = tail;
    }
    parts.push(Part::Text(rest.to_owned()));
    let stray = |part: &Part| matches!(part, Part::Text(text) if text.contains('}'));
    if parts.iter().any(stray) { Err(Flaw::new("has a `}` without a `{`", FIX)) } else { Ok(parts) }
}

/// Percent-encodes everything but RFC 3986 unreserved characters.
fn encode(id: &str) -> String {
    use fmt::Write as _;

    let mut encoded = String::with_capacity(id.len());
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use url::Url;

    use super::*;

    #[test]
    fn ids_are_encoded_wherever_they_stand() {
        let url =
            HandoffUrl::parse("https://app.example.com/{historyId}?ask={toolCallId}#{historyId}").expect("an address");
        assert_eq!(
            url.fill(&"a/b?c".into(), &"é&~".into()),
            "https://app.example.com/a%2Fb%3Fc?ask=%C3%A9%26~#a%2Fb%3Fc"
        );
        let plain = HandoffUrl::parse("https://app.example.com/ai").expect("no placeholder is needed");
        assert_eq!(plain.fill(&"a".into(), &"b".into()), "https://app.example.com/ai");
    }

    #[test]
    fn refuses_what_would_break_a_link() {
        for (text, what) in [
            ("https://host/a b", "has white space in it"),
            ("app://x", "is neither http nor https"),
            ("https://{historyId}.example.com/", "has a placeholder in its host"),
            ("https://app.example.com:{toolCallId}/", "is no address: invalid port number"),
            ("{historyId}", "is no address: relative URL without a base"),
            ("https://app.example.com/{history}", "has the unknown placeholder `{history}`"),
            ("https://app.example.com/{historyId", "has a `{` without a `}`"),
            ("https://app.example.com/historyId}", "has a `}` without a `{`"),
            ("https://me:pw@app.example.com/", "carries a name or password"),
        ] {
            assert_eq!(HandoffUrl::parse(text).expect_err(text).what, what, "{text}");
        }
    }

    #[test]
    fn knows_which_hosts_telegram_takes() {
        for (text, public) in [
            ("https://app.example.com/", true),
            ("http://203.0.113.7:3000/", true),
            ("http://localhost:3000/", false),
            ("http://app.localhost/", false),
            ("http://terreno:3000/", false),
            ("http://127.0.0.1:3000/", false),
            ("http://[::1]:3000/", false),
        ] {
            assert_eq!(HandoffUrl::parse(text).expect(text).has_public_host(), public, "{text}");
        }
    }

    proptest! {
        #[test]
        fn an_id_never_leaves_its_place(id in any::<String>()) {
            let url = HandoffUrl::parse("https://app.example.com/x/{historyId}/y?ask={toolCallId}").expect("an address");
            let filled: Url = url.fill(&id.as_str().into(), &id.as_str().into()).parse().expect("still an address");
            prop_assert_eq!(filled.host_str(), Some("app.example.com"));
            prop_assert_eq!(filled.query_pairs().collect::<Vec<_>>(), vec![("ask".into(), id.as_str().into())]);
        }
    }
}
