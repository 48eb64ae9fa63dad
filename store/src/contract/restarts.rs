//! What is still there after a restart.

use std::sync::Arc;

use asks::life::Life;

use super::samples::{chat, claimed, key, message, moved, new_ask, recorded, shown, step};
use super::{Case, Fixture, promise};
use crate::ledger::{Ledger, LedgerError};

pub(super) async fn a_restart_keeps_everything(fixture: &dyn Fixture) -> Case {
    let ledger = fixture.fresh().await?;
    let (ask, deliveries) = recorded(&*ledger, "one", &[chat(7), chat(8)]).await?;
    for delivery in deliveries.iter().take(1) {
        ledger.save_delivery(shown(delivery, "1")).await?;
    }
    let won = claimed(&*ledger, &ask.key, 5).await?;
    let mut pause = step(&won, won.life.clone().unclear(6)?, 6);
    pause.notices = vec![(chat(7), "Wait.".to_owned())];
    moved(&*ledger, pause).await?;
    ledger.set_content(&ask.key, "draft ".repeat(3_000)).await?;
    ledger.remember("dm:1", Some("2".to_owned())).await?;
    let seen = everything(&*ledger).await?;
    let (sequence, secret) = (ledger.sequence(), ledger.token_key());
    ledger.close().await;

    let ledger = fixture.reopened(ledger).await?;
    promise!(everything(&*ledger).await? == seen, "something is not as it was");
    promise!(ledger.token_key().expose() == secret.expose(), "the token key is the same");
    promise!(ledger.sequence() >= sequence, "the position does not go back");
    let (next, added) = recorded(&*ledger, "two", &[chat(7)]).await?;
    promise!(next.seq > sequence, "positions do not repeat");
    promise!(added.iter().all(|new| deliveries.iter().all(|old| new.id > old.id)), "numbers do not repeat");
    ledger.close().await;
    Ok(())
}

async fn everything(ledger: &dyn Ledger) -> Result<String, LedgerError> {
    let ask = key("one");
    Ok(format!(
        "{:?}",
        (
            ledger.open_asks(None).await?,
            ledger.deliveries(&ask).await?,
            ledger.deliveries_at(&chat(8)).await?,
            ledger.delivery_of_message(&message("1")).await?,
            ledger.open_notices().await?,
            ledger.audit_trail(10).await?,
            ledger.recall_all("").await?,
        )
    ))
}

pub(super) async fn a_closed_ledger_says_so(fixture: &dyn Fixture) -> Case {
    let ledger = fixture.fresh().await?;
    let (ask, _) = recorded(&*ledger, "one", &[]).await?;
    // What was begun before the end is finished.
    let late = Arc::clone(&ledger);
    let begun = tokio::spawn(async move { late.record(new_ask("two", &[])).await });
    tokio::task::yield_now().await;
    ledger.close().await;
    let begun = begun.await.map_err(|error| super::Broken(error.to_string()))?;
    promise!(ledger.ask(&ask.key).await == Err(LedgerError::Closed), "a read");
    promise!(ledger.probe().await == Err(LedgerError::Closed), "a probe");
    promise!(ledger.advance(step(&ask, Life::Announcing, 1)).await.is_err(), "a move");
    ledger.close().await;
    let ledger = fixture.reopened(ledger).await?;
    let there = ledger.ask(&key("two")).await?.is_some();
    promise!(there == begun.is_ok(), "said to be {begun:?}, and found: {there}");
    ledger.close().await;
    Ok(())
}
