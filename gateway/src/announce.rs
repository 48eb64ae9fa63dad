//! Showing asks: recording a new one, and bringing every message to what it should say.
//!
//! Nothing here remembers what to send. A change of an ask only marks its deliveries; the worker of each place then reads
//! the records, decides the next [`step`], takes it, and writes down what it did. So edits to one message follow one
//! another, a late change can never overwrite a newer one, and a restart goes on where things stand.

mod card;
mod deliver;
mod queue;
mod recording;
mod step;

use std::sync::Arc;
use std::time::Duration;

use asks::ids::AskKey;
use asks::life::UnixMillis;
use asks::place::Place;
use serde_json::{Value, json};
use store::ledger::LedgerError;
use store::record::{AskRecord, Delivery, DeliveryState, Notice, NoticeState};

pub use queue::{Item, New, Queues};
pub use recording::{announce, announce_all, read_content};

use crate::hub::Hub;

/// Marks everything of an ask that may have to change.
///
/// # Errors
/// If the ledger cannot be read.
pub async fn touch(hub: &Arc<Hub>, key: &AskKey) -> Result<(), LedgerError> {
    let deliveries = hub.ledger.deliveries(key).await?;
    for delivery in &deliveries {
        touch_delivery(hub, delivery).await?;
    }
    // Where nothing is shown, no worker comes by to see that the ask is over.
    if deliveries.iter().all(|delivery| {
        matches!(delivery.state, DeliveryState::Dropped | DeliveryState::Unconfirmed | DeliveryState::Parked { .. })
    }) && let Some(record) = hub.ledger.ask(key).await?
    {
        card::finish_if_over(hub, &record).await?;
    }
    Ok(())
}

/// Gives up on every card and text of asks that have been over since `before` and could not be told so: their places cannot
/// be reached. Without this they would be kept for ever.
///
/// # Errors
/// If the ledger cannot be read or written.
pub async fn expire(hub: &Arc<Hub>, before: UnixMillis) -> Result<(), LedgerError> {
    let over: Vec<_> = hub
        .ledger
        .open_asks(None)
        .await?
        .into_iter()
        .filter(|ask| ask.life.is_over() && ask.moved_at < before)
        .collect();
    for notice in hub.ledger.open_notices().await? {
        if over.iter().any(|ask| ask.key == notice.ask) {
            hub.ledger.save_notice(Notice { state: NoticeState::Dropped, ..notice }).await?;
        }
    }
    for record in over {
        for delivery in hub.ledger.deliveries(&record.key).await? {
            hub.board.delivered(&record.key, &delivery.place);
            hub.ledger.save_delivery(Delivery { state: DeliveryState::Dropped, ..delivery }).await?;
        }
        tracing::info!(ask = %record.key, "gave up telling the places of {} how it ended", record.key);
        card::finish_if_over(hub, &record).await?;
    }
    Ok(())
}

/// Where the cards of one ask stand, for people who run the service: a place as in the log, how it is there, and why.
#[must_use]
pub fn whereabouts(deliveries: &[Delivery]) -> Vec<Value> {
    let line = |delivery: &Delivery| {
        let (state, why) = match &delivery.state {
            DeliveryState::Planned => ("planned", None),
            DeliveryState::Sending { .. } => ("sending", None),
            DeliveryState::Shown { .. } if delivery.refused.is_some() => ("outdated", delivery.refused.clone()),
            DeliveryState::Shown { .. } => ("shown", None),
            DeliveryState::Missing => ("missing", None),
            DeliveryState::Parked { why, .. } => ("refused", Some(why.clone())),
            DeliveryState::Unconfirmed => ("unconfirmed", None),
            DeliveryState::Dropped => ("dropped", None),
        };
        json!({"place": delivery.place.to_string(), "state": state, "why": why})
    };
    deliveries.iter().map(line).collect()
}

/// Marks one delivery.
///
/// # Errors
/// If the ledger cannot be read.
pub async fn touch_delivery(hub: &Arc<Hub>, delivery: &Delivery) -> Result<(), LedgerError> {
    let item = match delivery.state {
        DeliveryState::Shown { .. } => Item::Edit(hub.now(), delivery.id),
        DeliveryState::Unconfirmed => return Ok(()),
        _ => {
            let Some(record) = hub.ledger.ask(&delivery.ask).await? else { return Ok(()) };
            Item::New(record.first_seen, New::Card(delivery.id))
        }
    };
    push(hub, &delivery.place, item);
    Ok(())
}

/// Marks a notice to be sent.
pub fn touch_notice(hub: &Arc<Hub>, notice: &Notice) {
    push(hub, &notice.place, Item::New(hub.now(), New::Notice(notice.id)));
}

/// Takes up all that was left undone: every unfinished ask and every notice that has not ended.
///
/// # Errors
/// If the ledger cannot be read.
pub async fn resume(hub: &Arc<Hub>) -> Result<(), LedgerError> {
    for notice in hub.ledger.open_notices().await? {
        push(hub, &notice.place, Item::New(0, New::Notice(notice.id)));
    }
    for record in hub.ledger.open_asks(None).await? {
        for place in hub.links.places(&record.account) {
            if record.life.is_open() {
                hub.ledger.add_delivery(&record.key, place).await?;
            }
        }
        if record.life.is_open() {
            forgive(hub, &record).await?;
            recording::resume(hub, &record);
        }
        touch(hub, &record.key).await?;
    }
    Ok(())
}

/// Tries cards again that a platform had refused: a start is how an operator says that something was mended.
async fn forgive(hub: &Arc<Hub>, record: &AskRecord) -> Result<(), LedgerError> {
    for delivery in hub.ledger.deliveries(&record.key).await? {
        if matches!(delivery.state, DeliveryState::Parked { .. }) {
            hub.ledger.save_delivery(Delivery { state: DeliveryState::Planned, ..delivery }).await?;
        }
    }
    Ok(())
}

/// How often cards are looked at that nobody touches: replacing a missing card and trying a refused one again wait for time.
const LOOK_AGAIN: Duration = Duration::from_mins(5);
/// How often it is seen whether that time has passed.
const LOOK: Duration = Duration::from_secs(5);
/// A sign of life has a refused card tried again only so long after its refusal: every tap is one.
const FORGIVE_AFTER_MS: UnixMillis = 10 * 60 * 1000;

/// Marks again, now and then, what waits only for time to pass.
pub async fn look_again(hub: Arc<Hub>) {
    let mut last = hub.now();
    while hub.wait_softly(LOOK).await {
        // By wall time, as what waits does: a machine that slept has no more to wait.
        if u128::from(hub.now().abs_diff(last)) < LOOK_AGAIN.as_millis() {
            continue;
        }
        last = hub.now();
        let looked = async {
            for record in hub.ledger.open_asks(None).await?.iter().filter(|record| record.life.is_open()) {
                for delivery in hub.ledger.deliveries(&record.key).await? {
                    if matches!(delivery.state, DeliveryState::Missing | DeliveryState::Parked { .. }) {
                        touch_delivery(&hub, &delivery).await?;
                    }
                }
            }
            Ok::<_, LedgerError>(())
        };
        if let Err(error) = looked.await {
            tracing::warn!("cards that wait for time to pass were not looked at: {error}");
        }
    }
}

/// A place showed a sign of life: what waited for it goes out.
///
/// # Errors
/// If the ledger cannot be read.
pub async fn place_is_back(hub: &Arc<Hub>, place: &Place) -> Result<(), LedgerError> {
    let parked = hub.parked(place).is_some();
    if !parked && !hub.board.misses_something(place) {
        return Ok(());
    }
    // Read first: a place that is taken as back before is never looked at again should this fail.
    let deliveries = hub.ledger.deliveries_at(place).await?;
    let notices = hub.ledger.open_notices().await?;
    hub.unpark(place);
    for mut delivery in deliveries {
        if let DeliveryState::Parked { at, .. } = delivery.state
            && (parked || hub.now().saturating_sub(at) >= FORGIVE_AFTER_MS)
        {
            delivery.state = DeliveryState::Planned;
            hub.ledger.save_delivery(delivery.clone()).await?;
        }
        touch_delivery(hub, &delivery).await?;
    }
    for notice in notices.iter().filter(|notice| notice.place == *place) {
        touch_notice(hub, notice);
    }
    Ok(())
}

fn push(hub: &Arc<Hub>, place: &Place, item: Item) {
    if hub.queues.push(place, item) {
        let (hub, place) = (Arc::clone(hub), place.clone());
        hub.clone().spawn(async move {
            // A task of its own: should a library panic over one item, the place goes on with the next.
            while tokio::spawn(deliver::Worker::new(Arc::clone(&hub), place.clone()).run()).await.is_err() {
                tracing::error!(%place, "showing something at {place} crashed; please report this with the log");
                hub.board.count("askgate_crashes_total");
            }
        });
    }
}
