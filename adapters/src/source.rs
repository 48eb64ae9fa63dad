//! The port to a backend that asks.
//!
//! Adding a source: a folder `sources/<name>/` with a type that implements [`Source`], and exactly one file (`verdict`)
//! that turns the backend's statuses and bodies into [`Verdict`]s and [`Failure`]s, fed by a table of literal texts.
//! Nothing in the gateway needs to know its name except the wiring, which builds it from the configuration.

use std::fmt::{self, Debug};
use std::sync::Arc;
use std::time::Duration;

use asks::card::Card;
use asks::ids::{AccountKey, AskKey, ButtonId, ConversationId, Subject, ToolCallId};
use async_trait::async_trait;
use serde_json::Value;
use zeroize::Zeroizing;

/// Whether an answer whose fate is unknown may be posted again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repost {
    /// The source takes an answer by a conditional update; a second post changes nothing.
    Safe,
    /// A second post could run something twice.
    Never,
}

/// One ask as a source lists it, or as a turn's reply carries it.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// The conversation that waits.
    pub conversation: ConversationId,
    /// Its heading, once it has one; untrusted text.
    pub conversation_title: Option<String>,
    /// The source's own id of the ask.
    pub ask: ToolCallId,
    /// The card as it came.
    pub card: Card,
    /// When it was asked, as the source wrote it (ISO 8601 UTC sorts as text); empty where the source does not tell.
    pub created: String,
}

/// What a poll brought.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Whether the list is whole. An incomplete one shows new asks and withdraws nothing.
    pub complete: bool,
    /// The listed asks, in the source's order.
    pub asks: Vec<Listed>,
    /// Asks that are listed and cannot be read: never withdrawn, shown once they can be.
    pub unreadable: Vec<(ConversationId, ToolCallId)>,
    /// The person the list belongs to, where the source tells.
    pub subject: Option<Subject>,
}

/// An answer on its way.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// A button of the card.
    Button(ButtonId),
    /// A full answer envelope (`{"action": ...}`).
    Response(Value),
}

/// What a source says to an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Taken. The agent said `text` (may be empty) and may ask next.
    Accepted {
        /// What the agent said; untrusted text.
        text: String,
        /// What it asks next, in the same conversation.
        next: Option<Listed>,
    },
    /// Taken and kept, and then the agent failed.
    AcceptedWithError {
        /// What the agent said before; untrusted text.
        text: String,
        /// What failed; untrusted text.
        error: String,
        /// What it asks next, if it still got that far.
        next: Option<Listed>,
    },
    /// Taken back: the agent failed before it used the answer, and the same ask waits again.
    Reopened {
        /// What failed; untrusted text.
        error: String,
    },
    /// The conversation does not wait on this ask (answered, dropped, never asked, or its turn still runs).
    NotPending,
    /// The button is not on the stored card.
    UnknownButton,
    /// The answer breaks the ask's rules.
    Invalid {
        /// Path and sentence of each broken rule.
        fields: Vec<(String, String)>,
    },
    /// This account may not answer there.
    Forbidden,
    /// The credential is not accepted, also after one refresh.
    Unauthorised,
    /// The conversation does not exist.
    Gone,
    /// Too fast; not taken.
    RateLimited {
        /// How long to wait.
        after: Duration,
    },
    /// Not taken, for certain: the request did not reach the source.
    Unavailable {
        /// What happened, without secrets.
        why: String,
    },
    /// Nobody knows: a time-out, a reset, a 5xx, a reply that cannot be read.
    Unclear {
        /// What happened, without secrets.
        why: String,
    },
}

/// Why a poll or a read failed. None of these proves anything about any ask.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The credential is not accepted, also after one refresh.
    #[error("the source does not accept the credential: {why}")]
    Unauthorised {
        /// What the source said, without secrets.
        why: String,
    },
    /// The credential now belongs to somebody else.
    #[error(
        "the credential belongs to another person now; sign in as the account's owner, or give the account another name"
    )]
    OtherSubject,
    /// The source has asks switched off.
    #[error("the source has asks switched off; switch them on at the host, askgate looks again every few minutes")]
    AsksOff,
    /// Too fast.
    #[error("the source asks to slow down for {after:?}")]
    RateLimited {
        /// How long to wait.
        after: Duration,
    },
    /// The conversation cannot be read by this account.
    #[error("the account may not read this")]
    Forbidden,
    /// There is no such conversation.
    #[error("there is no such conversation")]
    Gone,
    /// The source cannot be reached, or does not answer as one.
    #[error("the source cannot be reached: {why}")]
    Unavailable {
        /// What happened, without secrets.
        why: String,
    },
}

/// What a conversation says about one ask.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// Its title, once it has one.
    pub title: Option<String>,
    /// The ask it waits on, with the full input, if it waits.
    pub pending: Option<(ToolCallId, Value)>,
    /// The answers it has, oldest first. Of several for one ask the last one counts.
    pub answers: Vec<AnswerRow>,
    /// Whether all of it could be read. While it is not, an answer that is missing proves nothing.
    pub complete: bool,
}

/// One answer in a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerRow {
    /// The ask that was answered.
    pub ask: ToolCallId,
    /// The answer envelope as stored.
    pub response: Value,
    /// What the agent said after it, up to the next ask or message of the person; untrusted text.
    pub said_after: String,
}

/// Pacing the source asks for, from its rate-limit headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pace {
    /// Not before this much time from now.
    pub wait: Option<Duration>,
}

/// A text that must not be seen: a password, a token, or a whole credential. It never prints, and is wiped when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<Zeroizing<String>>);

impl Secret {
    /// Wraps a text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(Arc::new(Zeroizing::new(text.into())))
    }

    /// The text itself, for the one place that sends or seals it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// What a sign-in brought.
#[derive(Debug, Clone)]
pub struct Signed {
    /// Whose it is.
    pub subject: Subject,
    /// What that person is called there, such as an e-mail address; untrusted text.
    pub display: Option<String>,
    /// What the account goes on with, for [`Source::add_account`]. Only the source reads it, and no password is in it.
    pub credential: Secret,
}

/// Keeps credentials that a source renewed.
pub trait Keeper: Debug + Send + Sync + 'static {
    /// An account that [`Source::add_account`] added goes on with this credential. Called amid a request, so it must not block.
    /// Should the process end before it is kept, the one before has to do. Never called for a credential that
    /// [`Source::add_account`] has replaced or [`Source::remove_account`] has taken away, once that has returned.
    fn renewed(&self, account: &AccountKey, credential: Secret);
}

/// A backend that asks.
///
/// One value serves all accounts at one configured source; it keeps their sessions in memory and signs in and refreshes by
/// itself, one sign-in at a time per account. Every call ends within its deadline.
#[async_trait]
pub trait Source: Debug + Send + Sync + 'static {
    /// Whether an answer may be posted again when its fate is unknown.
    fn repost(&self) -> Repost;

    /// Lists what waits for an account.
    ///
    /// # Errors
    /// See [`Failure`].
    async fn pending(&self, account: &AccountKey) -> Result<Snapshot, Failure>;

    /// Carries one answer. Never retries by itself, except once after refreshing a credential that was refused.
    async fn answer(&self, account: &AccountKey, ask: &AskKey, answer: &Answer) -> Verdict;

    /// Reads a conversation.
    ///
    /// # Errors
    /// See [`Failure`].
    async fn read(&self, account: &AccountKey, conversation: &ConversationId) -> Result<Conversation, Failure>;

    /// How long to wait before the account's next poll, by the source's own rate-limit headers.
    fn pace(&self, account: &AccountKey) -> Pace;

    /// Looks whether source and credential work, for `askgate doctor`: a sentence for each finding.
    async fn examine(&self, account: &AccountKey) -> Result<String, Failure>;

    /// Signs a person in once, to link them. The password is sent and forgotten.
    ///
    /// # Errors
    /// [`Failure::Unauthorised`] when it is refused, [`Failure::RateLimited`] when the sign-ins that everybody at one address
    /// shares are used up; see [`Failure`] for the others.
    async fn sign_in(&self, email: &str, password: &Secret) -> Result<Signed, Failure>;

    /// Checks a session that the person has already, and finds out whose it is.
    ///
    /// # Errors
    /// As [`Source::sign_in`].
    async fn adopt(&self, token: &Secret, refresh: Option<&Secret>) -> Result<Signed, Failure>;

    /// Serves one more account from now on, or gives a known one another credential. Renewals go to the [`Keeper`].
    ///
    /// # Errors
    /// [`Failure::Unauthorised`] when the credential is none that this source made; nothing changes then.
    fn add_account(&self, account: &AccountKey, credential: &Secret) -> Result<(), Failure>;

    /// Forgets an account. Its calls that are under way end by themselves.
    fn remove_account(&self, account: &AccountKey);
}
