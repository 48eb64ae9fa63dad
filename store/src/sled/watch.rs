//! The watchdog over sled's waiting.
//!
//! When a write fails on one of sled's own threads, sled notes the error but does not always wake the one who waits in
//! `flush`. A second call of `flush` finds the error, wakes every waiter and returns at once.

use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use super::engine::calm;
use super::writer::{Shared, Slot};

const PERIOD: Duration = Duration::from_millis(500);

/// Looks twice a second until the writer is gone.
pub(super) fn run(end: &Receiver<()>, shared: &Shared) {
    while end.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
        let place = shared.read().unwrap_or_else(PoisonError::into_inner);
        if let Slot::Open(db) = &*place
            && db.context.global_error().is_err()
        {
            // The writer gets the same error and acts on it.
            let _ = calm(|| db.flush());
        }
    }
}
