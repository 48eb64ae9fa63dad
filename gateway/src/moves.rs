//! Making a move: written down together with what belongs to it, then shown.

use std::sync::Arc;

use asks::ids::ButtonId;
use asks::life::Life;
use asks::place::Place;
use store::ledger::{LedgerError, Move, Moved};
use store::record::AskRecord;

use crate::announce;
use crate::hub::Hub;

/// What is to change about an ask.
#[derive(Debug, Clone)]
pub struct Change {
    life: Life,
    audit: Option<(String, String)>,
    kill: Vec<ButtonId>,
    notices: Vec<(Place, String)>,
    unused: bool,
}

impl Change {
    /// Where the ask stands from now on.
    #[must_use]
    pub const fn to(life: Life) -> Self {
        Self { life, audit: None, kill: Vec::new(), notices: Vec::new(), unused: false }
    }

    /// It stays where it is.
    #[must_use]
    pub fn none(record: &AskRecord) -> Self {
        Self::to(record.life.clone())
    }

    /// What the audit trail says of it.
    #[must_use]
    pub fn audited(mut self, event: impl Into<String>, detail: impl Into<String>) -> Self {
        self.audit = Some((event.into(), detail.into()));
        self
    }

    /// Buttons that are not offered again.
    #[must_use]
    pub fn killing(mut self, buttons: impl IntoIterator<Item = ButtonId>) -> Self {
        self.kill.extend(buttons);
        self
    }

    /// Texts to send because of it.
    #[must_use]
    pub fn with_notices(mut self, notices: Vec<(Place, String)>) -> Self {
        self.notices = notices;
        self
    }

    /// One more accepted answer was not used by the source's agent.
    #[must_use]
    pub const fn unused(mut self) -> Self {
        self.unused = true;
        self
    }
}

/// Makes the move if nobody moved the ask since `record` was read, and marks everything that shows it. Returns the record as it
/// stands now, or `None` when somebody was faster.
///
/// # Errors
/// If it was not saved; then it has not happened.
pub async fn make(hub: &Arc<Hub>, record: &AskRecord, change: Change) -> Result<Option<Box<AskRecord>>, LedgerError> {
    let shows_the_same = change.life == record.life && change.kill.is_empty();
    let step = Move {
        key: record.key.clone(),
        expect: record.seq,
        audit: change.audit.map(|(event, detail)| hub.line(record, &event, detail)),
        life: change.life,
        kill_buttons: change.kill,
        notices: change.notices,
        unused: change.unused,
        at: hub.now(),
    };
    let Moved::Done(record, notices) = hub.ledger.advance(step).await? else { return Ok(None) };
    faults::point("move.saved");
    if !shows_the_same {
        announce::touch(hub, &record.key).await?;
    }
    for notice in &notices {
        announce::touch_notice(hub, notice);
    }
    Ok(Some(record))
}
