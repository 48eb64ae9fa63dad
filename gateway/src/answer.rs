//! From a press to the outcome.
//!
//! [`press()`] authorises and claims, and returns as soon as the claim is durable. A task that no listener waits for then carries
//! the answer to the source ([`turn`]), finds out how it ended where nobody said so ([`resolve`]), and moves the ask; the
//! cards follow by themselves.

pub mod history;
pub mod once_more;
pub mod policy;
mod press;
mod resolve;
mod turn;
mod verdict;

use std::sync::Arc;
use std::time::Duration;

use asks::life::Life;
use store::ledger::LedgerError;

pub use press::press;
pub use turn::start;

use crate::hub::Hub;
use crate::moves::{self, Change};

/// How many answers are taken up side by side after a start, at first: each asks its source how it ended.
const TAKEN_UP_AT_ONCE: usize = 20;
/// How many looks at how an answer ended go to one source side by side.
pub const LOOK_UPS: usize = 20;
/// The pause before as many more are taken up.
const TAKE_UP_PAUSE: Duration = Duration::from_millis(250);

/// Takes up every answer that was on its way when the process ended: nobody knows whether its turn was posted.
///
/// # Errors
/// If it could not be read or saved.
pub async fn resume(hub: &Arc<Hub>) -> Result<(), LedgerError> {
    resolve::resume_replies(hub).await?;
    let mut unclear = Vec::new();
    for record in hub.ledger.open_asks(None).await? {
        match &record.life {
            Life::Claimed { .. } => {
                let Ok(life) = record.life.clone().unclear(hub.now()) else { continue };
                moves::make(hub, &record, Change::to(life).audited("unclear", "the service was started again")).await?;
                unclear.push(record);
            }
            Life::Unclear { .. } => unclear.push(record),
            _ => {}
        }
    }
    faults::point("resume.all-unclear");
    // Whoever has waited longest comes first, and a source that comes back with us is not met by all of them at once.
    unclear.sort_by_key(|record| record.moved_at);
    let hub = Arc::clone(hub);
    hub.clone().spawn(async move {
        for records in unclear.chunks(TAKEN_UP_AT_ONCE) {
            for record in records {
                start(&hub, record.key.clone());
            }
            if records.len() == TAKEN_UP_AT_ONCE && !hub.wait_softly(hub.jitter(TAKE_UP_PAUSE)).await {
                return;
            }
        }
    });
    Ok(())
}
