//! Telegram's limits, each with its unit, and what its servers refuse.
//!
//! Source: the Bot API's documentation (`https://core.telegram.org/bots/api`, `https://core.telegram.org/bots/faq`); what
//! it does not say is marked "seen".

use std::time::Duration;

use url::{Host, Url};

use crate::channel::{CardView, Failure};

/// The longest text of a message after entities, in UTF-16 units.
pub(super) const TEXT: usize = 4096;
/// The room a card's last message keeps free for how the ask ends, in UTF-16 units, so that an edit never has to split it.
pub(super) const STATUS_ROOM: usize = 600;
/// The longest link that is written out below a card, in UTF-16 units; ours for a message's room, not the platform's.
pub(super) const LINK_LINE: usize = 2000;
/// What a button shows of its label on a narrow phone before it ends in dots, in UTF-16 units (seen).
pub(super) const LABEL_SHOWN: usize = 40;
/// The longest label that is sent, in UTF-16 units. The platform names no limit; longer ones are of no use to anybody.
pub(super) const LABEL: usize = 128;
/// The longest callback data, in bytes of UTF-8; the shortest is 1.
pub(super) const DATA: usize = 64;
/// The most buttons of a keyboard.
pub(super) const BUTTONS: usize = 100;
/// The longest answer to a press, in characters; counted here in UTF-16 units, which are never fewer.
pub(super) const ANSWER: usize = 200;
/// The longest answer that is shown in passing, in UTF-16 units; longer ones have to be closed by hand, so they can be read.
pub(super) const ANSWER_IN_PASSING: usize = 60;
/// How long the servers keep a press that nobody fetched.
pub(super) const KEEPS_PRESSES: Duration = Duration::from_secs(150);
/// The general topic's number, which is never sent: the servers do not know it as a thread.
pub(super) const GENERAL_TOPIC: i64 = 1;

/// How long a send or an edit may take in all, waiting for its turn included.
pub(super) const CALL: Duration = Duration::from_secs(10);
/// The least that is left of [`CALL`] for the request itself.
pub(super) const REQUEST: Duration = Duration::from_secs(4);
/// How long an acknowledgement may take.
pub(super) const ACKNOWLEDGE: Duration = Duration::from_secs(5);
/// How long recording a press may take before its person is asked to wait. A query is answered once, so a disk that is only slow
/// still gets to say how it went; and nobody looks at a waiting mark for longer.
pub(super) const PRESS_PATIENCE: Duration = Duration::from_millis(2_500);

/// How quickly messages go out.
///
/// The platform's own numbers are about 1 message/s per chat with short bursts, 20 per minute per group, 30/s in all; edits
/// count too, how much is not said. None is exact, and a 429 overrules them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pace {
    /// New messages to one chat. Edits are charged to it as well, and wait for it only after a 429.
    pub sends: Rate,
    /// Edits in one chat.
    pub edits: Rate,
    /// Everything in one group, in addition: `burst` in any span of `burst` times `every`.
    pub group: Rate,
    /// Everything together.
    pub bot: Rate,
    /// How many chats are kept in mind. When none of them is idle, a further one has to wait.
    pub chats: usize,
}

/// At most `burst` at once, and one more after every `every`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// How many may go at once; 0 counts as 1.
    pub burst: u32,
    /// How long until there is room for one more; zero means no limit.
    pub every: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            sends: Rate { burst: 4, every: Duration::from_secs(1) },
            edits: Rate { burst: 20, every: Duration::from_millis(250) },
            group: Rate { burst: 20, every: Duration::from_secs(3) },
            // Five and then one every 40 ms are at most 30 in any second.
            bot: Rate { burst: 5, every: Duration::from_millis(40) },
            chats: 10_000,
        }
    }
}

/// How the listener asks for updates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// How long the server may wait for an update, in whole seconds. Short enough that a connection which died without a
    /// sign is noticed, and replaced, within 15 s.
    pub poll: Duration,
    /// How much longer than that an answer is waited for.
    pub grace: Duration,
    /// The first wait after a failure; doubled from failure to failure.
    pub first_wait: Duration,
    /// The longest wait after a failure, before jitter of a quarter.
    pub longest_wait: Duration,
    /// The longest wait while another program polls, before jitter: the server itself delays that refusal by 3 s.
    pub longest_conflict_wait: Duration,
    /// How often the time of the last success is written down.
    pub note_every: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            poll: Duration::from_secs(10),
            grace: Duration::from_secs(4),
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(8),
            longest_conflict_wait: Duration::from_millis(4500),
            note_every: Duration::from_mins(1),
        }
    }
}

/// Looks whether a view can be shown at all. What may be long is split or cut by `render`; a tap token never is.
///
/// # Errors
/// [`Failure::Refused`], which names what does not fit.
pub(super) fn check(view: &CardView) -> Result<(), Failure> {
    let refused = |why: String| Err(Failure::Refused { why });
    if view.buttons.iter().any(|button| !(1..=DATA).contains(&button.token.len())) {
        return refused(format!("a button's token must have 1 to {DATA} bytes; this is a fault of askgate's own"));
    }
    if view.buttons.len() + usize::from(view.link.is_some()) > BUTTONS {
        return refused(format!("a message has at most {BUTTONS} buttons"));
    }
    Ok(())
}

/// Whether the servers take an address for a button: `http` or `https`, no white space, a host that is a number or has a
/// dot in it. A refused one fails the whole message.
#[must_use]
pub(super) fn takes_url(address: &str) -> bool {
    if address.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return false;
    }
    let Ok(url) = Url::parse(address) else { return false };
    let host_fits = match url.host() {
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => true,
        Some(Host::Domain(name)) => name.trim_end_matches('.').contains('.'),
        None => false,
    };
    host_fits && matches!(url.scheme(), "http" | "https")
}

#[cfg(test)]
mod tests {
    use asks::card::Style;

    use super::*;
    use crate::channel::ViewButton;

    #[test]
    fn addresses_for_buttons() {
        for (address, taken) in [
            ("https://app.example.com/ai?history=1#x", true),
            ("http://127.0.0.1:8080/a", true),
            ("http://[::1]:8080/", true),
            ("http://localhost:3000/", false),
            ("https://intranet/a", false),
            ("https://intranet./a", false),
            ("https://host.example/a b", false),
            ("https://host.example/a\n", false),
            ("app://open.me", false),
            ("example.com", false),
            ("", false),
        ] {
            assert_eq!(takes_url(address), taken, "{address:?}");
        }
    }

    #[test]
    fn callback_data_is_counted_in_bytes() {
        for (token, fits) in [
            ("a".repeat(64), true),
            ("é".repeat(32), true),
            ("🎻".repeat(16), true),
            ("🎻".repeat(17), false),
            ("a".repeat(65), false),
            (String::new(), false),
        ] {
            let button = ViewButton { label: "x".into(), style: Style::Default, token: token.clone() };
            let view = CardView { text: "?".into(), buttons: vec![button], ..CardView::default() };
            assert_eq!(check(&view).is_ok(), fits, "{token}");
        }
    }
}
