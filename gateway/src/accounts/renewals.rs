//! Keeping what the sources renew, without holding up the request that renewed it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use adapters::source::{Keeper, Secret};
use asks::ids::AccountKey;
use tokio::sync::Notify;

use super::{LinkError, reseal};
use crate::hub::Hub;

/// The pause before a credential that could not be kept is tried again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// The newest credential of each account that has to be kept.
#[derive(Debug, Default)]
pub(super) struct Renewals {
    waiting: Mutex<BTreeMap<AccountKey, Secret>>,
    arrived: Notify,
}

impl Keeper for Renewals {
    fn renewed(&self, account: &AccountKey, credential: Secret) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(account.clone(), credential);
        self.arrived.notify_one();
    }
}

impl Renewals {
    fn take(&self) -> BTreeMap<AccountKey, Secret> {
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn put_back(&self, account: AccountKey, credential: Secret) {
        // A newer one that came meanwhile stays.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).entry(account).or_insert(credential);
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
    // Unlinked meanwhile: there is nothing to keep it for.
    let Some(mut record) = hub.accounts.get(account).filter(|record| record.sealed.is_some()) else { return Ok(()) };
    reseal(hub, &mut record, credential).await?;
    tracing::debug!(%account, "a renewed credential of {account} is kept");
    Ok(())
}
