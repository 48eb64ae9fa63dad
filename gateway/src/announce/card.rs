//! A card as it should stand at one place now, and whether an ask's cards have all come to their end.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use adapters::channel::{CardView, Channel};
use asks::place::MessageRef;
use store::ledger::LedgerError;
use store::record::{AskRecord, Delivery};

use super::step::{Step, step};
use crate::hub::Hub;
use crate::show::view::{Setting, view};

/// How often, a second apart, a second copy of a card waits for its ask's outcome.
const COPY_LOOKS: u32 = 600;

/// Brings a second copy of a delivery's card up to date, once and as well as it goes: the ledger knows one message only.
pub async fn revise_copy(hub: &Hub, delivery: &Delivery, copy: &MessageRef) {
    let Some(channel) = hub.channels.get(&delivery.place.channel()) else { return };
    let mut looks = 0;
    let record = loop {
        let Ok(Some(record)) = hub.ledger.ask(&delivery.ask).await else { return };
        // It is told once, so it is told the outcome and not that something is being sent.
        if record.life.is_over() || record.life.is_open() {
            break record;
        }
        looks += 1;
        if looks > COPY_LOOKS || !hub.wait_softly(Duration::from_secs(1)).await {
            return;
        }
    };
    let card = rendering(hub, &record, delivery, channel.as_ref());
    if let Err(failure) = channel.revise(&delivery.place, copy, &card).await {
        tracing::debug!(ask = %record.key, "a second copy of the card of {} stays as it is: {failure}", record.key);
    }
}

/// What the card says there, now.
pub(super) fn rendering(hub: &Hub, record: &AskRecord, delivery: &Delivery, channel: &dyn Channel) -> CardView {
    let served = hub.links.served_at(&delivery.place);
    let several = served.len() > 1;
    let handoff = hub.source(&record.key).and_then(|source| source.config.handoff_url.as_ref());
    let setting = Setting {
        delivery: delivery.id,
        shared: hub.links.is_shared(&delivery.place),
        summary: hub.links.is_summary(&delivery.place),
        origin: several.then(|| (record.account.name.as_str(), record.account.source.as_str())),
        handoff: handoff.map(|url| url.fill(&record.key.conversation, &record.key.ask)),
        label_limit: channel.capabilities().label_limit,
    };
    view(record, &setting, &hub.keys, hub.words(&record.account))
}

/// A digest of everything a message says, buttons included.
pub(super) fn digest(card: &CardView) -> u64 {
    let mut hasher = DefaultHasher::new();
    let CardView { origin, title, text, content, legend, status, buttons, link } = card;
    (origin, title, text, content, legend, status, link).hash(&mut hasher);
    for button in buttons {
        (&button.label, format!("{:?}", button.style), &button.token).hash(&mut hasher);
    }
    hasher.finish()
}

/// Marks an ask as finished when it is over and every copy of its card says so.
pub(super) async fn finish_if_over(hub: &Hub, record: &AskRecord) -> Result<(), LedgerError> {
    if !record.life.is_over() || record.finished {
        return Ok(());
    }
    for delivery in hub.ledger.deliveries(&record.key).await? {
        if let Some(channel) = hub.channels.get(&delivery.place.channel()) {
            let digest = digest(&rendering(hub, record, &delivery, channel.as_ref()));
            if step(record, &delivery, digest, hub.now()) != Step::Nothing {
                return Ok(());
            }
        }
    }
    hub.ledger.finish(&record.key).await.map(drop)
}
