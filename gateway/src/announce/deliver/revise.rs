//! Changing a message that is there, and what to do when the platform will not.

use std::time::Duration;

use adapters::channel::{CardView, Channel, Failure};
use asks::place::MessageRef;
use store::ledger::LedgerError;
use store::record::{AskRecord, Delivery, DeliveryState};

use super::super::card::plain;
use super::{Flow, Worker};
use crate::moves::{self, Change};

/// How often a refused edit is made again before less is said instead.
const EDIT_RETRIES: u32 = 3;

impl Worker {
    pub(super) async fn revise(
        &self,
        channel: &dyn Channel,
        mut delivery: Delivery,
        record: &AskRecord,
        card: &CardView,
        digest: u64,
    ) -> Result<Flow, LedgerError> {
        let DeliveryState::Shown { message, .. } = delivery.state.clone() else { return Ok(Flow::Done) };
        if self.hub.once_more.button(delivery.id, self.hub.clock.instant()).is_some() {
            // Only memory knows of the question. If what became of this edit is never known, the card must still come back.
            delivery.state = DeliveryState::Shown { message: message.clone(), rendered: 0 };
            self.save(delivery.clone()).await?;
        }
        let revised = channel.revise(&self.place, &message, card).await;
        faults::point("revise.sent");
        let failure = match revised {
            Ok(()) | Err(Failure::Unchanged) => {
                delivery.state = DeliveryState::Shown { message, rendered: digest };
                delivery.refused = None;
                self.save(delivery).await?;
                faults::point("revise.saved");
                return Ok(Flow::More);
            }
            Err(failure) => failure,
        };
        match self.elsewhere(failure) {
            Ok(flow) => Ok(flow),
            Err(Failure::MessageGone) => {
                tracing::info!(ask = %record.key, place = %self.place, "the card of {} is gone from {}", record.key, self.place);
                delivery.state = DeliveryState::Missing;
                delivery.refused = None;
                self.save(delivery).await?;
                Ok(Flow::More)
            }
            Err(Failure::Refused { why }) if self.failed(delivery.id) < EDIT_RETRIES => {
                tracing::warn!(ask = %record.key, place = %self.place, "a change of the card of {} at {} is tried again: {why}", record.key, self.place);
                Ok(Flow::Later(Duration::ZERO))
            }
            Err(Failure::Refused { why }) => {
                self.revise_plainly(channel, delivery, &message, record, card, (digest, why)).await
            }
            // An edit may be repeated: it says the same thing again.
            Err(_) => Ok(Flow::Later(Duration::from_secs(1))),
        }
    }

    /// The platform refuses what a message should say. A card that is over must not keep its buttons, so the least is tried; and
    /// where even that is refused, how it ended is said in a message of its own, once.
    async fn revise_plainly(
        &self,
        channel: &dyn Channel,
        mut delivery: Delivery,
        message: &MessageRef,
        record: &AskRecord,
        card: &CardView,
        (digest, why): (u64, String),
    ) -> Result<Flow, LedgerError> {
        tracing::error!(ask = %record.key, place = %self.place, "the card of {} at {} cannot be changed: {why}", record.key, self.place);
        self.hub.board.count("askgate_edits_refused_total");
        let shown =
            if record.life.is_over() { channel.revise(&self.place, message, &plain(card)).await } else { Ok(()) };
        let stays = match shown {
            Ok(()) | Err(Failure::Unchanged | Failure::MessageGone) if record.life.is_over() => {
                "says only how it ended"
            }
            Ok(()) | Err(Failure::Unchanged | Failure::MessageGone) => "still says what it said before",
            Err(failure) => match self.elsewhere(failure) {
                Ok(flow) => return Ok(flow),
                Err(Failure::Ambiguous { .. }) => return Ok(Flow::Later(Duration::from_secs(1))),
                Err(_) => {
                    let said = [Some(card.text.as_str()), card.status.as_deref()];
                    let said: Vec<&str> = said.into_iter().flatten().collect();
                    let change = Change::none(record).with_notices(vec![(self.place.clone(), said.join("\n"))]);
                    moves::make(&self.hub, record, change).await?;
                    "still has its buttons"
                }
            },
        };
        let refused = format!("{stays}, because a change was refused: {why}");
        self.hub.board.undelivered(&record.key, &self.place, &refused);
        // It says as much as the platform takes; a later change is tried again.
        delivery.refused = Some(refused);
        delivery.state = DeliveryState::Shown { message: message.clone(), rendered: digest };
        self.save(delivery).await?;
        Ok(Flow::More)
    }

    pub(super) async fn revise_copy(
        &self,
        channel: &dyn Channel,
        mut delivery: Delivery,
        copy: &MessageRef,
        card: &CardView,
    ) -> Result<Flow, LedgerError> {
        if let Err(failure) = channel.revise(&self.place, copy, card).await {
            match self.elsewhere(failure) {
                Ok(flow) => return Ok(flow),
                Err(Failure::Ambiguous { .. }) => return Ok(Flow::Later(Duration::from_secs(1))),
                Err(failure) => {
                    tracing::debug!(place = %self.place, "a second copy of a card stays as it is: {failure}");
                }
            }
        }
        delivery.copies.retain(|other| other != copy);
        self.hub.ledger.save_delivery(delivery).await?;
        Ok(Flow::More)
    }
}
