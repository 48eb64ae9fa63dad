//! Identifiers as types, so that a conversation can never be passed where an ask belongs.
//!
//! Every id that comes from a source is opaque: it is kept byte for byte, compared exactly, and never cut. Limits of the
//! platforms are the channels' business (a tap token stands in for the id there).

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps an id as it came, without changing it.
            #[must_use]
            pub fn new(id: impl Into<String>) -> Self {
                Self(id.into())
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(id: &str) -> Self {
                Self::new(id)
            }
        }
    };
}

text_id! {
    /// The configured name of a source, such as `app`.
    SourceName
}
text_id! {
    /// The configured or given name of an account, such as `me`.
    AccountName
}
text_id! {
    /// A conversation at a source (Terreno calls it a history).
    ConversationId
}
text_id! {
    /// The source's own id of an ask (Terreno's `toolCallId`). Unique only within its conversation.
    ToolCallId
}
text_id! {
    /// A button's id on its card, up to 71 bytes at a Terreno source, opaque to everybody else.
    ButtonId
}
text_id! {
    /// The person an account belongs to at its source (the user id there).
    Subject
}

/// What an ask is known by: no two asks share it, also across sources and conversations.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AskKey {
    /// The source that asks.
    pub source: SourceName,
    /// The conversation that waits.
    pub conversation: ConversationId,
    /// The source's own id of the ask.
    pub ask: ToolCallId,
}

impl fmt::Display for AskKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.source, self.conversation, self.ask)
    }
}

/// One person's account at one source. Names are unique within a configuration.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AccountKey {
    /// The source the account is at.
    pub source: SourceName,
    /// The account's name.
    pub name: AccountName,
}

impl fmt::Display for AccountKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.source)
    }
}
