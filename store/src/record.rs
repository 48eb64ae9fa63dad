//! What the ledger keeps, as plain data.
//!
//! Records are read tolerantly (new fields have defaults) and carry no platform type: a message is a pair of texts, a
//! place its address.

use std::fmt;

use asks::card::{Button, Card, Style};
use asks::ids::{AccountKey, AskKey, ButtonId};
use asks::life::{Life, UnixMillis};
use asks::place::{Actor, MessageRef, Place};
use serde::{Deserialize, Serialize};

/// A position in the ledger's order of moves; greater is later. Durable positions never repeat, also across restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub u64);

/// A delivery's number, unique in the ledger for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeliveryId(pub u64);

impl fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A notice's number, unique in the ledger for ever; notices of one place are sent in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NoticeId(pub u64);

/// One ask as the ledger knows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskRecord {
    /// What it is known by.
    pub key: AskKey,
    /// Whose ask it is.
    pub account: AccountKey,
    /// The card as it was first seen; a live card is never re-written silently.
    pub card: Card,
    /// What a button sends that the card's text does not show (a draft, defaults), in full; `None` while it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The conversation's title, once it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_title: Option<String>,
    /// When the gateway saw it first.
    pub first_seen: UnixMillis,
    /// When the source says it was asked, as it wrote it; for the order of announcements.
    #[serde(default)]
    pub created: String,
    /// Where it stands.
    pub life: Life,
    /// Buttons the source has refused; they are not offered again.
    #[serde(default)]
    pub dead_buttons: Vec<ButtonId>,
    /// Who has chosen what so far, where several have to choose the same; empty again once the ask moved on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub votes: Vec<Vote>,
    /// How many answers the source accepted and its agent did not use.
    #[serde(default)]
    pub unused: u32,
    /// The position of its last move.
    pub seq: Seq,
    /// When its last move was made.
    pub moved_at: UnixMillis,
    /// Whether it is over and every delivery and notice of it has reached its end; start-up does not read it again.
    #[serde(default)]
    pub finished: bool,
}

/// Where one card stands at one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum DeliveryState {
    /// Not sent yet.
    Planned,
    /// A send is on its way, or was when the process ended: the platform may have the message.
    Sending {
        /// How many sends were begun, this one included.
        attempt: u32,
    },
    /// The platform has it.
    Shown {
        /// The message.
        message: MessageRef,
        /// Digest of what the message says now.
        rendered: u64,
    },
    /// The message is not there any more (deleted by somebody); may be replaced.
    Missing,
    /// The platform refused the card. It is tried again when the card says something else, a day later, and at a start.
    Parked {
        /// The platform's reason, short.
        why: String,
        /// Digest of what was refused.
        #[serde(default)]
        rendered: u64,
        /// When it was refused.
        #[serde(default)]
        at: UnixMillis,
    },
    /// Sent as often as is safe, and nobody knows whether it arrived. A tap on it proves that it did.
    Unconfirmed,
    /// Given up for good, or no longer needed: nothing was sent and nothing will be.
    Dropped,
}

/// One card at one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// Its number.
    pub id: DeliveryId,
    /// The ask whose card it shows.
    pub ask: AskKey,
    /// Where.
    pub place: Place,
    /// Where it stands.
    pub state: DeliveryState,
    /// When a missing message was last replaced (at most one replacement per ask and hour).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_at: Option<UnixMillis>,
    /// Other messages that carry the same card, because a send was repeated; each is told once how the ask ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<MessageRef>,
    /// What the message shows instead of what it should, and why, where the platform refused to change it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// Where one notice stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum NoticeState {
    /// Not sent yet.
    Planned,
    /// A send is on its way, or was when the process ended.
    Sending {
        /// How many sends were begun, this one included.
        attempt: u32,
    },
    /// The platform has it.
    Sent,
    /// Given up.
    Dropped,
}

/// A text for one place: what the agent said, or what the person must know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// Its number.
    pub id: NoticeId,
    /// The ask it belongs to.
    pub ask: AskKey,
    /// Where it goes.
    pub place: Place,
    /// The text, whole; channels split it.
    pub text: String,
    /// Where it stands.
    pub state: NoticeState,
}

/// What the holder of a token does with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Presses the button.
    #[default]
    Press,
    /// Says once more that the button, which cannot be undone, is meant.
    Sure,
    /// Takes a first press of such a button back.
    Back,
    /// Opens the answer page.
    Page,
}

/// What a tap token stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRecord {
    /// The ask.
    pub ask: AskKey,
    /// The delivery that carries the button.
    pub delivery: DeliveryId,
    /// The button; empty for a page.
    pub button: ButtonId,
    /// What it is for.
    #[serde(default)]
    pub purpose: Purpose,
}

/// Every token that one delivery of a card has.
pub fn tokens_of(card: &Card) -> impl Iterator<Item = (Purpose, ButtonId)> {
    let of_button = |button: &Button| {
        let twice = (button.style == Style::Destructive).then_some([Purpose::Sure, Purpose::Back]);
        let purposes = std::iter::once(Purpose::Press).chain(twice.into_iter().flatten());
        let id = button.id.clone();
        purposes.map(move |purpose| (purpose, id.clone()))
    };
    card.buttons.iter().flat_map(of_button).chain([(Purpose::Page, ButtonId::new(""))])
}

/// One approver's choice, where several have to choose the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vote {
    /// Who.
    pub actor: Actor,
    /// What the platform calls that person; untrusted text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor_name: Option<String>,
    /// What they chose.
    pub button: ButtonId,
    /// Where they pressed it.
    pub place: Place,
    /// When.
    pub at: UnixMillis,
}

/// One line of the audit trail: what somebody tried, and how it went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditLine {
    /// When.
    pub at: UnixMillis,
    /// The ask, as text.
    pub ask: AskKey,
    /// Whose ask it is.
    pub account: AccountKey,
    /// Who pressed, as text; empty for what no person did.
    pub actor: String,
    /// Where, as shown in logs (an ntfy topic only as a digest).
    pub place: String,
    /// The message the press came from, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageRef>,
    /// The pressed button's id; empty where none was.
    pub button: String,
    /// What happened: `claimed`, `refused`, `lost`, `posted`, `settled`, `reopened`, `withdrawn`, ...
    pub event: String,
    /// More about it, such as the source's verdict.
    #[serde(default)]
    pub detail: String,
}
