//! Keeping what the sources renew, without holding up the request that renewed it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use adapters::source::{Keeper, Secret};
use asks::ids::AccountKey;
use tokio::sync::Notify;

use super::{LinkError, reseal};
use crate::hub::Hub;

/// The pause before a credential that could not be kept is tried again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// The newest credential of each account that has to be kept. It holds at most one for each linked account.
#[derive(Debug, Default)]
pub(super) struct Renewals {
    state: Mutex<State>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct State {
    waiting: BTreeMap<AccountKey, Secret>,
    /// Those of `waiting` that are being kept at this moment.
    taken: BTreeSet<AccountKey>,
}

impl Keeper for Renewals {
    fn renewed(&self, account: &AccountKey, credential: Secret) {
        self.state().waiting.insert(account.clone(), credential);
        self.arrived.notify_one();
    }
}

impl Renewals {
    /// Forgets what waits for an account, because it goes on with another credential or not at all. Called with the accounts' turn
    /// held, so what is being kept has either been kept before or finds itself void.
    pub(super) fn void(&self, account: &AccountKey) {
        let mut state = self.state();
        state.waiting.remove(account);
        state.taken.remove(account);
    }

    fn take(&self) -> BTreeMap<AccountKey, Secret> {
        let mut state = self.state();
        let waiting = std::mem::take(&mut state.waiting);
        state.taken = waiting.keys().cloned().collect();
        waiting
    }

    /// Whether what was taken still counts.
    fn counts(&self, account: &AccountKey) -> bool {
        self.state().taken.contains(account)
    }

    fn put_back(&self, account: AccountKey, credential: Secret) {
        let mut state = self.state();
        if state.taken.remove(&account) {
            // A newer one that came meanwhile stays.
            state.waiting.entry(account).or_insert(credential);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps renewed credentials until the service begins to stop.
pub async fn keep_renewals(hub: Arc<Hub>) {
    let renewals = Arc::clone(&hub.accounts.renewals);
    loop {
        let mut failed = false;
        for (account, credential) in renewals.take() {
            if let Err(error) = keep(&hub, &account, &credential).await {
                tracing::warn!(%account, "a renewed credential of {account} is not kept yet: {error}");
                renewals.put_back(account, credential);
                failed = true;
            }
        }
        tokio::select! {
            () = hub.stop.soft.cancelled() => return,
            () = tokio::time::sleep(RETRY_PAUSE), if failed => {}
            () = renewals.arrived.notified(), if !failed => {}
        }
    }
}

async fn keep(hub: &Hub, account: &AccountKey, credential: &Secret) -> Result<(), LinkError> {
    let _turn = hub.accounts.turn.lock().await;
    // Unlinked or linked anew meanwhile: there is nothing to keep it for.
    if !hub.accounts.renewals.counts(account) {
        return Ok(());
    }
    let Some(mut record) = hub.accounts.get(account).filter(|record| record.sealed.is_some()) else { return Ok(()) };
    reseal(hub, &mut record, credential).await?;
    tracing::debug!(%account, "a renewed credential of {account} is kept");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> AccountKey {
        AccountKey { source: "app".into(), name: "me".into() }
    }

    #[test]
    fn what_was_renewed_before_a_new_link_is_never_kept_after_it() {
        let (renewals, account) = (Renewals::default(), key());
        let waiting = |renewals: &Renewals| {
            renewals.state().waiting.values().map(|it| it.expose().to_owned()).collect::<Vec<_>>()
        };
        renewals.renewed(&account, Secret::new("old"));
        renewals.void(&account);
        assert!(renewals.take().is_empty());

        // Voided while it is being kept: it does not count, and does not come back.
        renewals.renewed(&account, Secret::new("old"));
        assert_eq!(renewals.take().len(), 1);
        assert!(renewals.counts(&account));
        renewals.void(&account);
        assert!(!renewals.counts(&account));
        renewals.put_back(account.clone(), Secret::new("old"));
        assert!(waiting(&renewals).is_empty());

        // A failure to keep one puts it back, unless a newer one came.
        renewals.renewed(&account, Secret::new("first"));
        renewals.take();
        renewals.put_back(account.clone(), Secret::new("first"));
        assert_eq!(waiting(&renewals), ["first"]);
        renewals.take();
        renewals.renewed(&account, Secret::new("second"));
        renewals.put_back(account, Secret::new("first"));
        assert_eq!(waiting(&renewals), ["second"]);
    }
}
