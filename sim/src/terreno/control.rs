//! The control handle: everything a test or the demo does to a host that is not an HTTP request.

mod conversations;
mod turns;
mod users;
mod watching;

pub use turns::TurnReply;
pub use watching::WaitedInVain;

/// An ask that was put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The conversation that waits.
    pub history_id: String,
    /// The ask.
    pub tool_call_id: String,
}

/// Why the control handle could not do what it was told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// No user has this e-mail address.
    #[error("there is no user {0}; add the user first")]
    NoUser(String),
    /// No conversation has this id.
    #[error("there is no conversation {0}; open one first")]
    NoConversation(String),
    /// The ask breaks the rules, so a host would never show it.
    #[error("the ask is not one a host lets through; correct it, or use a ready-made card: {0}")]
    BadAsk(String),
    /// The conversation already waits.
    #[error("the conversation {0} already waits on an ask; answer that one first")]
    Busy(String),
}
