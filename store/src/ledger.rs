//! The ledger's port: domain operations, each a whole transaction.
//!
//! A write has reached the disk when its call returns `Ok`; when it returns an error it has not happened and will not
//! surface later. Reads see what is written, durable or about to be; decisions that must not rest on undurable data are
//! made inside a write.

use std::fmt::Debug;

use asks::ids::{AccountKey, AskKey, ButtonId};
use asks::life::{Claim, Life, UnixMillis};
use asks::place::{MessageRef, Place};
use async_trait::async_trait;

use crate::record::{AskRecord, AuditLine, Delivery, DeliveryId, Notice, NoticeId, Seq, TokenRecord};
use crate::token::{TokenHash, TokenKey};

/// Why the ledger could not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// Another process holds the store.
    #[error(
        "the store at {path} is in use by another process; stop that one, or give this one a store.path of its own"
    )]
    InUse {
        /// The store's directory.
        path: String,
    },
    /// The write did not reach the disk and has not happened. The ledger opens itself again; try again later.
    #[error("not saved: {why}; free space or repair the disk, then it goes on by itself")]
    NotSaved {
        /// What the disk or the store said.
        why: String,
    },
    /// The store cannot be read.
    #[error("the store cannot be read: {why}")]
    Unreadable {
        /// What the store said.
        why: String,
    },
    /// The ledger was closed.
    #[error("the ledger is closed, because the service is stopping")]
    Closed,
}

/// An ask to be recorded with the places its card goes to.
#[derive(Debug, Clone)]
pub struct NewAsk {
    /// The record; its `seq` is set by the ledger.
    pub record: AskRecord,
    /// Every place its card goes to at once.
    pub places: Vec<Place>,
}

/// What became of recording an ask.
#[derive(Debug, Clone)]
pub enum Recorded {
    /// It was new and is recorded.
    New(AskRecord, Vec<Delivery>),
    /// It was known already; nothing was written.
    Known(AskRecord),
}

/// A move of an ask that holds only if nobody moved it in between.
#[derive(Debug, Clone)]
pub struct Move {
    /// The ask.
    pub key: AskKey,
    /// The position the decision was made on.
    pub expect: Seq,
    /// Where it stands from now on.
    pub life: Life,
    /// Buttons that are not offered again from now on.
    pub kill_buttons: Vec<ButtonId>,
    /// Whether one more accepted answer was not used by the source's agent.
    pub unused: bool,
    /// Texts to send because of the move, recorded with it.
    pub notices: Vec<(Place, String)>,
    /// When.
    pub at: UnixMillis,
    /// What the audit trail says of it.
    pub audit: Option<AuditLine>,
}

/// What became of a move.
#[derive(Debug, Clone)]
pub enum Moved {
    /// It is recorded; the record as it stands now, and the notices with their numbers.
    Done(Box<AskRecord>, Vec<Notice>),
    /// Somebody else moved the ask first; the record as it stands now.
    Stale(Box<AskRecord>),
    /// The ledger does not know the ask.
    Unknown,
}

/// What became of a claim.
#[derive(Debug, Clone)]
pub enum Claimed {
    /// This tap won, and that is on disk.
    Won(Box<AskRecord>),
    /// The ask is not open, or its button is not offered any more; the record as it stands now.
    Lost(Box<AskRecord>),
    /// The ledger does not know the ask.
    Unknown,
}

/// What became of a vote.
#[derive(Debug, Clone)]
pub enum Voted {
    /// It was the last that was needed: the answer is claimed.
    Claimed(Box<AskRecord>),
    /// It counts; more are needed.
    Counted(Box<AskRecord>),
    /// The ask is not open, or its button is not offered any more; the record as it stands now.
    Lost(Box<AskRecord>),
    /// The ledger does not know the ask.
    Unknown,
}

/// What survives a crash.
#[async_trait]
pub trait Ledger: Debug + Send + Sync + 'static {
    /// The last position that is durable. A poll takes it before its request is sent and judges no ask that moved later.
    fn sequence(&self) -> Seq;

    /// The secret that tap tokens are made under; made with the store.
    fn token_key(&self) -> TokenKey;

    /// Bytes that the ledger takes on this machine's disk; `None` if it keeps nothing there.
    fn disk_bytes(&self) -> Option<u64>;

    /// Whether a write would be durable now: writes and syncs a small value.
    ///
    /// # Errors
    /// The reason it would not.
    async fn probe(&self) -> Result<(), LedgerError>;

    /// Records an ask, its deliveries (`Planned`) and the hashes of all its tap tokens. Idempotent by key.
    ///
    /// # Errors
    /// If it was not saved.
    async fn record(&self, ask: NewAsk) -> Result<Recorded, LedgerError>;

    /// Makes the tap's claim if the ask is open and the button offered, in one compare-and-swap.
    ///
    /// # Errors
    /// If it was not saved; then the claim has not happened.
    async fn claim(&self, key: &AskKey, claim: Claim, audit: AuditLine) -> Result<Claimed, LedgerError>;

    /// Counts a vote, where several have to choose the same button: in one transaction the vote is kept (a voter's earlier one is
    /// replaced), and with the last vote that is needed the claim is made.
    ///
    /// # Errors
    /// If it was not saved; then the vote has not happened.
    async fn vote(&self, key: &AskKey, claim: Claim, needed: usize, audit: AuditLine) -> Result<Voted, LedgerError>;

    /// Moves an ask, with the notices and the audit line that belong to the move.
    ///
    /// # Errors
    /// If it was not saved.
    async fn advance(&self, step: Move) -> Result<Moved, LedgerError>;

    /// Writes an audit line of its own, for what moves nothing (a stranger's tap).
    ///
    /// # Errors
    /// If it was not saved.
    async fn audit(&self, line: AuditLine) -> Result<(), LedgerError>;

    /// Keeps what a button sends and the card does not show.
    ///
    /// # Errors
    /// If it was not saved.
    async fn set_content(&self, key: &AskKey, content: String) -> Result<(), LedgerError>;

    /// Adds a delivery (`Planned`) at a place that has none for this ask; returns the one that is there otherwise.
    ///
    /// # Errors
    /// If it was not saved.
    async fn add_delivery(&self, key: &AskKey, place: Place) -> Result<Option<Delivery>, LedgerError>;

    /// Puts an ask aside, with its deliveries, texts and tap tokens, because its source uses the id for something else now: what
    /// was shown keeps belonging to what was asked then. An open one ends as [`Why::Replaced`](asks::life::Why::Replaced).
    /// Returns the record under its new key, or `None` when somebody moved it first.
    ///
    /// # Errors
    /// If it was not saved.
    async fn put_aside(
        &self,
        key: &AskKey,
        expect: Seq,
        at: UnixMillis,
        audit: AuditLine,
    ) -> Result<Option<AskRecord>, LedgerError>;

    /// Replaces a delivery's record. If the ask is announcing and the delivery is shown, the ask goes live with it.
    ///
    /// # Errors
    /// If it was not saved.
    async fn save_delivery(&self, delivery: Delivery) -> Result<(), LedgerError>;

    /// Replaces a notice's record.
    ///
    /// # Errors
    /// If it was not saved.
    async fn save_notice(&self, notice: Notice) -> Result<(), LedgerError>;

    /// Marks an ask that is over, and whose deliveries and notices have all ended, as finished. Does nothing otherwise.
    ///
    /// # Errors
    /// If it was not saved.
    async fn finish(&self, key: &AskKey) -> Result<bool, LedgerError>;

    /// Rewrites every delivery, notice and remembered value of a chat that moved (a group that became a supergroup).
    ///
    /// # Errors
    /// If it was not saved.
    async fn rename_place(&self, from: &Place, to: &Place) -> Result<(), LedgerError>;

    /// One ask.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn ask(&self, key: &AskKey) -> Result<Option<AskRecord>, LedgerError>;

    /// The unfinished asks of an account, or of all, oldest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn open_asks(&self, account: Option<&AccountKey>) -> Result<Vec<AskRecord>, LedgerError>;

    /// Every ask that the store still keeps, newest move first, at most `limit`.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn recent_asks(&self, limit: usize) -> Result<Vec<AskRecord>, LedgerError>;

    /// The deliveries of an ask.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn deliveries(&self, key: &AskKey) -> Result<Vec<Delivery>, LedgerError>;

    /// One delivery.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn delivery(&self, id: DeliveryId) -> Result<Option<Delivery>, LedgerError>;

    /// The delivery that a message carries, if any.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn delivery_of_message(&self, message: &MessageRef) -> Result<Option<Delivery>, LedgerError>;

    /// The deliveries at a place whose asks are unfinished.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn deliveries_at(&self, place: &Place) -> Result<Vec<Delivery>, LedgerError>;

    /// One notice.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn notice(&self, id: NoticeId) -> Result<Option<Notice>, LedgerError>;

    /// The notices that have not ended, oldest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn open_notices(&self) -> Result<Vec<Notice>, LedgerError>;

    /// What a token stands for.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn token(&self, hash: &TokenHash) -> Result<Option<TokenRecord>, LedgerError>;

    /// The audit trail, oldest first, at most `limit` of the newest lines.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn audit_trail(&self, limit: usize) -> Result<Vec<AuditLine>, LedgerError>;

    /// Keeps a small named value (a channel of direct messages, a parked place, the updates already handled).
    ///
    /// # Errors
    /// If it was not saved.
    async fn remember(&self, name: &str, value: Option<String>) -> Result<(), LedgerError>;

    /// A named value.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn recall(&self, name: &str) -> Result<Option<String>, LedgerError>;

    /// Every named value whose name begins so, sorted by name.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn recall_all(&self, prefix: &str) -> Result<Vec<(String, String)>, LedgerError>;

    /// Deletes finished asks (with all that belongs to them) and audit lines that last moved before `before`; at most a
    /// bounded number per call. Returns how many asks went.
    ///
    /// # Errors
    /// If it was not saved.
    async fn prune(&self, before: UnixMillis) -> Result<usize, LedgerError>;

    /// Waits for what was begun, syncs, and closes. Every later call is `Closed`.
    async fn close(&self);
}
