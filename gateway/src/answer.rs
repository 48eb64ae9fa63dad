//! From a press to the outcome.
//!
//! [`press()`] authorises and claims, and returns as soon as the claim is durable. A task that no listener waits for then carries
//! the answer to the source ([`turn`]), finds out how it ended where nobody said so ([`resolve`]), and moves the ask; the
//! cards follow by themselves.

pub mod history;
mod press;
mod resolve;
mod turn;
mod verdict;

use std::sync::Arc;

use asks::life::Life;
use store::ledger::{LedgerError, Move};

pub use press::press;
pub use turn::start;

use crate::hub::Hub;

/// Takes up every answer that was on its way when the process ended: nobody knows whether its turn was posted.
///
/// # Errors
/// If it could not be read or saved.
pub async fn resume(hub: &Arc<Hub>) -> Result<(), LedgerError> {
    resolve::resume_replies(hub).await?;
    for record in hub.ledger.open_asks(None).await? {
        match &record.life {
            Life::Claimed { .. } => {
                let Ok(life) = record.life.clone().unclear(hub.now()) else { continue };
                let step = Move {
                    key: record.key.clone(),
                    expect: record.seq,
                    audit: Some(hub.line(&record, "unclear", "the service was started again")),
                    life,
                    kill_button: None,
                    notices: Vec::new(),
                    at: hub.now(),
                };
                hub.ledger.advance(step).await?;
                start(hub, record.key);
            }
            Life::Unclear { .. } => start(hub, record.key),
            _ => {}
        }
    }
    Ok(())
}
