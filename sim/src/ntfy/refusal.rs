//! The server's noes, by number.

use serde_json::{Value, json};

/// Why a message is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// No credential, or a wrong one.
    Unauthorised,
    /// The topic is somebody's.
    Forbidden,
    /// The body is no message.
    NotJson,
    /// The topic's name is none.
    Topic,
    /// The priority is none.
    Priority,
    /// The actions are wrong.
    Actions(&'static str),
    /// The sequence id is none.
    Sequence,
    /// The message is too large.
    TooLarge,
    /// Too many messages.
    TooMany,
}

impl Refusal {
    /// Status, the server's own number, and its words.
    pub(super) fn parts(self) -> (u16, u32, String) {
        match self {
            Self::Unauthorised => (401, 40101, "unauthorized".to_owned()),
            Self::Forbidden => (403, 40301, "forbidden".to_owned()),
            Self::NotJson => (400, 40024, "invalid request: request body must be message JSON".to_owned()),
            Self::Topic => (400, 40009, "invalid request: topic invalid".to_owned()),
            Self::Priority => (400, 40007, "invalid request: priority invalid".to_owned()),
            Self::Actions(why) => (400, 40018, format!("invalid request: actions invalid; {why}")),
            Self::Sequence => (400, 40049, "invalid request: sequence ID invalid".to_owned()),
            Self::TooLarge => (413, 41303, "JSON body too large".to_owned()),
            Self::TooMany => (429, 42901, "limit reached: too many requests".to_owned()),
        }
    }

    /// The body.
    pub(super) fn body(self) -> Value {
        let (http, code, error) = self.parts();
        json!({"code": code, "http": http, "error": error, "link": "https://ntfy.sh/docs/publish/"})
    }
}
