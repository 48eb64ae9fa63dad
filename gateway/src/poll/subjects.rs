//! An account belongs to one person for good.
//!
//! A credential that suddenly resolves to somebody else, by a mistake in the configuration or at the source, would show one
//! person's asks to another and let them be answered. So who an account is, is kept in the ledger, across restarts too, and a
//! credential of anybody else is refused until the account has its own again or another name.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use adapters::source::{Failure, Snapshot};
use asks::ids::{AccountKey, Subject};
use store::ledger::LedgerError;

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

    /// Whether this is the account's known person; `None` while nobody is known.
    fn is_known_as(&self, account: &AccountKey, subject: &Subject) -> Option<bool> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(account).map(|known| known == subject)
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

/// Who an account is, if it was ever told.
///
/// # Errors
/// If the ledger cannot be read.
pub async fn subject_of(hub: &Hub, account: &AccountKey) -> Result<Option<Subject>, LedgerError> {
    let known = hub.subjects.known.lock().unwrap_or_else(PoisonError::into_inner).get(account).cloned();
    match known {
        Some(known) => Ok(Some(known)),
        None => Ok(hub.ledger.recall(&remembered_as(account)).await?.map(Subject::new)),
    }
}

/// Writes down who an account is that was just linked.
///
/// # Errors
/// If it was not saved.
pub async fn introduce(hub: &Hub, account: &AccountKey, subject: &Subject) -> Result<(), LedgerError> {
    hub.ledger.remember(&remembered_as(account), Some(subject.to_string())).await?;
    hub.subjects.learn(account, subject.clone());
    hub.subjects.set_foreign(account, false);
    Ok(())
}

/// Forgets who an account is that nobody has any more.
///
/// # Errors
/// If it was not saved.
pub async fn forget(hub: &Hub, account: &AccountKey) -> Result<(), LedgerError> {
    hub.ledger.remember(&remembered_as(account), None).await?;
    hub.subjects.known.lock().unwrap_or_else(PoisonError::into_inner).remove(account);
    hub.subjects.set_foreign(account, false);
    Ok(())
}

fn remembered_as(account: &AccountKey) -> String {
    format!("subject/{}/{}", account.source, account.name)
}

/// Lets a poll's result through only if it belongs to the account's own person.
pub(super) async fn check(hub: &Hub, account: &AccountKey, snapshot: Snapshot) -> Result<Snapshot, Failure> {
    let Some(subject) = &snapshot.subject else { return Ok(snapshot) };
    let own = match hub.subjects.is_known_as(account, subject) {
        Some(own) => own,
        None => {
            first_look(hub, account, subject).await.map_err(|error| Failure::Unavailable { why: error.to_string() })?
        }
    };
    hub.subjects.set_foreign(account, !own);
    if own { Ok(snapshot) } else { Err(Failure::OtherSubject) }
}

/// Looks up in the ledger who the account is, or writes it down. Returns whether this is that person.
async fn first_look(hub: &Hub, account: &AccountKey, subject: &Subject) -> Result<bool, LedgerError> {
    let name = remembered_as(account);
    let known = if let Some(known) = hub.ledger.recall(&name).await? {
        Subject::new(known)
    } else {
        hub.ledger.remember(&name, Some(subject.to_string())).await?;
        subject.clone()
    };
    let own = known == *subject;
    hub.subjects.learn(account, known);
    Ok(own)
}
