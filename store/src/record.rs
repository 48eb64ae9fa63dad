//! What the ledger keeps, as plain data.
//!
//! Records are read tolerantly (new fields have defaults) and carry no platform type: a message is a pair of texts, a
//! place its address.

use std::fmt;

use asks::card::Card;
use asks::ids::{AccountKey, AskKey, ButtonId};
use asks::life::{Life, UnixMillis};
use asks::place::{MessageRef, Place};
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
    Missing {
        /// When that was noticed.
        since: UnixMillis,
    },
    /// The place cannot be reached; kept for a sign of life.
    Parked {
        /// The platform's reason, short.
        why: String,
    },
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

/// What a tap token stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRecord {
    /// The ask.
    pub ask: AskKey,
    /// The delivery that carries the button.
    pub delivery: DeliveryId,
    /// The button.
    pub button: ButtonId,
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
