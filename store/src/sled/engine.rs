//! Every call into sled goes through here: its panics become errors, and its errors are sorted by what to do.

use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Trouble {
    /// Another process has the file.
    #[error("another process has the file")]
    Locked,
    /// The disk, the rights or the space; the data may be whole.
    #[error("{0}")]
    Blocked(String),
    /// The bytes are not what was written.
    #[error("damaged: {0}")]
    Damaged(String),
}

/// Runs a call into sled. The text of a panic is left out: it may hold what the store holds.
pub(super) fn calm<T>(call: impl FnOnce() -> sled::Result<T>) -> Result<T, Trouble> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(sort(&error)),
        Err(_) => Err(Trouble::Damaged("the store's engine stopped with an internal error".to_owned())),
    }
}

fn sort(error: &sled::Error) -> Trouble {
    match error {
        sled::Error::Io(cause) => match cause.kind() {
            ErrorKind::UnexpectedEof | ErrorKind::InvalidData => Trouble::Damaged(cause.to_string()),
            // sled says nothing more precise than this text.
            _ if cause.to_string().contains("could not acquire lock") => Trouble::Locked,
            _ => Trouble::Blocked(cause.to_string()),
        },
        other => Trouble::Damaged(other.to_string()),
    }
}
