//! Showing what waits at places that were linked or unlinked.

use std::sync::Arc;
use std::time::Duration;

use asks::ids::AccountKey;
use asks::place::Place;
use store::ledger::LedgerError;

use crate::announce;
use crate::hub::Hub;

/// The pause before what waits is shown again at a new place.
const SHOW_PAUSE: Duration = Duration::from_secs(1);

/// Shows what waits for an account at places that are new to it, as soon as the ledger takes it. The person is linked already.
pub(super) fn show_waiting_soon(hub: &Arc<Hub>, account: &AccountKey, places: &[Place]) {
    let (hub, account, places) = (Arc::clone(hub), account.clone(), places.to_vec());
    hub.clone().spawn(async move {
        while let Err(error) = show_waiting(&hub, &account, &places).await {
            tracing::warn!(%account, "what waits for {account} is not shown at its new places yet: {error}");
            if !hub.wait_softly(SHOW_PAUSE).await {
                return;
            }
        }
    });
}

/// Shows what waits for an account at places that are new to it.
async fn show_waiting(hub: &Arc<Hub>, account: &AccountKey, places: &[Place]) -> Result<(), LedgerError> {
    for ask in hub.ledger.open_asks(Some(account)).await?.iter().filter(|ask| ask.life.is_open()) {
        for place in places {
            hub.ledger.add_delivery(&ask.key, place.clone()).await?;
        }
    }
    for place in places {
        touch_place(hub, place).await?;
    }
    Ok(())
}

/// Marks every card at a place: who is linked there decides what each of them says.
pub(super) async fn touch_place(hub: &Arc<Hub>, place: &Place) -> Result<(), LedgerError> {
    for delivery in hub.ledger.deliveries_at(place).await? {
        announce::touch_delivery(hub, &delivery).await?;
    }
    Ok(())
}
