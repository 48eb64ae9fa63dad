//! An account belongs to one person for good.
//!
//! A credential that suddenly resolves to somebody else, by a mistake in the configuration or at the source, would show one
//! person's asks to another and let them be answered. So who an account is, is kept in the ledger, across restarts too, and a
//! credential of anybody else is refused until the account has its own again or another name.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use adapters::source::{Failure, Snapshot};
use asks::ids::{AccountKey, Subject};

use crate::hub::Hub;

/// Who the accounts are.
#[derive(Debug, Default)]
pub struct Subjects {
    known: Mutex<HashMap<AccountKey, Subject>>,
    foreign: Mutex<HashSet<AccountKey>>,
}

impl Subjects {
    /// Whether the account's credential is somebody else's now; then nothing may be answered with it.
    #[must_use]
    pub fn is_foreign(&self, account: &AccountKey) -> bool {
        self.foreign.lock().unwrap_or_else(PoisonError::into_inner).contains(account)
    }

    fn known(&self, account: &AccountKey) -> Option<Subject> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(account).cloned()
    }

    fn learn(&self, account: &AccountKey, subject: Subject) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(account.clone(), subject);
    }

    fn set_foreign(&self, account: &AccountKey, foreign: bool) {
        let mut accounts = self.foreign.lock().unwrap_or_else(PoisonError::into_inner);
        if foreign {
            accounts.insert(account.clone());
        } else {
            accounts.remove(account);
        }
    }
}

/// Lets a poll's result through only if it belongs to the account's own person.
pub(super) async fn check(hub: &Hub, account: &AccountKey, snapshot: Snapshot) -> Result<Snapshot, Failure> {
    let Some(subject) = &snapshot.subject else { return Ok(snapshot) };
    let unsaved = |error: store::ledger::LedgerError| Failure::Unavailable { why: error.to_string() };
    let name = format!("subject/{}/{}", account.source, account.name);
    let known = if let Some(known) = hub.subjects.known(account) {
        known
    } else if let Some(known) = hub.ledger.recall(&name).await.map_err(unsaved)? {
        Subject::new(known)
    } else {
        hub.ledger.remember(&name, Some(subject.to_string())).await.map_err(unsaved)?;
        subject.clone()
    };
    let foreign = known != *subject;
    hub.subjects.learn(account, known);
    hub.subjects.set_foreign(account, foreign);
    if foreign { Err(Failure::OtherSubject) } else { Ok(snapshot) }
}
