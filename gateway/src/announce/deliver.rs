//! The worker of one place: takes one step after the other until nothing is left to do there.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use adapters::channel::{CardView, Channel, Failure, SendKey};
use asks::place::{MessageRef, Place};
use store::ledger::LedgerError;
use store::record::{AskRecord, Delivery, DeliveryId, DeliveryState, Notice, NoticeId, NoticeState};

use super::card::{digest, finish_if_over, rendering};
use super::queue::{Item, New};
use super::step::{Step, step};
use crate::hub::Hub;

/// How long to wait before a send whose fate is unknown is repeated once.
const AMBIGUOUS_PAUSE: Duration = Duration::from_secs(3);
/// The longest pause that grows by itself; a platform that is back is used again soon.
const LONGEST_GROWN: Duration = Duration::from_secs(8);
/// The pause while the bot's token is refused.
const TOKEN_PAUSE: Duration = Duration::from_mins(1);
/// How often a worker that waits looks for edits.
const EDIT_LOOK: Duration = Duration::from_millis(250);
/// How often a notice may be sent when nobody knows whether an earlier send arrived.
const MAX_SENDS: u32 = 2;

/// What became of one item.
enum Flow {
    /// Nothing is left to do for it.
    Done,
    /// It took a step; look again at once.
    More,
    /// It could not be done now.
    Later(Duration),
    /// The place cannot be reached: whatever waits for it waits for a sign of life.
    Parked,
    /// The place has another address now.
    Moved(Place),
}

/// The worker of one place.
pub(super) struct Worker {
    hub: Arc<Hub>,
    place: Place,
    /// How often each item failed in a row, for growing pauses.
    failures: BTreeMap<Item, u32>,
}

impl Worker {
    pub(super) const fn new(hub: Arc<Hub>, place: Place) -> Self {
        Self { hub, place, failures: BTreeMap::new() }
    }

    /// Works until the queue is empty or the service stops for good.
    pub(super) async fn run(mut self) {
        while let Some(item) = self.hub.queues.pop(&self.place) {
            let flow = match self.work(item).await {
                Ok(flow) => flow,
                Err(error) => {
                    tracing::warn!(place = %self.place, "cannot go on showing at {}: {error}", self.place);
                    Flow::Later(Duration::from_secs(1))
                }
            };
            self.hub.progress.notify_waiters();
            match flow {
                Flow::Done | Flow::Parked => {
                    self.failures.remove(&item);
                }
                Flow::More => {
                    self.failures.remove(&item);
                    self.again(item);
                }
                Flow::Later(after) => {
                    let failures = self.failures.entry(item).or_default();
                    *failures += 1;
                    let grown = Duration::from_millis(250 << (*failures).min(5)).min(LONGEST_GROWN);
                    let pause = after.max(grown);
                    self.again(item);
                    if !self.pause(item, pause).await {
                        return;
                    }
                }
                Flow::Moved(to) => self.move_to(item, to).await,
            }
            if self.hub.stop.hard.is_cancelled() {
                return;
            }
        }
    }

    /// Waits before the place goes on: what fails for one message there mostly fails for all. Only edits go on while something
    /// new waits, because a platform paces them apart and somebody looks at them. Returns whether to go on.
    async fn pause(&self, waiting: Item, pause: Duration) -> bool {
        let until = self.hub.clock.instant() + pause;
        let mut edits_pass = matches!(waiting, Item::New(..));
        loop {
            let left = until.saturating_duration_since(self.hub.clock.instant());
            if left.is_zero() {
                return true;
            }
            if edits_pass && let Some(edit) = self.hub.queues.pop_edit(&self.place) {
                let flow = self.work(edit).await;
                match flow {
                    Ok(Flow::Done | Flow::Parked) => {}
                    Ok(Flow::More) => self.again(edit),
                    Ok(Flow::Later(_) | Flow::Moved(_)) | Err(_) => {
                        self.again(edit);
                        edits_pass = false;
                    }
                }
                self.hub.progress.notify_waiters();
                continue;
            }
            if !self.hub.wait(left.min(EDIT_LOOK)).await {
                return false;
            }
        }
    }

    fn again(&self, item: Item) {
        // This worker is running, so the push never asks for another one.
        let _running = self.hub.queues.push(&self.place, item);
    }

    async fn work(&self, item: Item) -> Result<Flow, LedgerError> {
        if self.hub.parked(&self.place).is_some() {
            return Ok(Flow::Parked);
        }
        match item {
            Item::Edit(_, id) | Item::New(_, New::Card(id)) => self.card(id).await,
            Item::New(_, New::Notice(id)) => self.notice(id).await,
        }
    }

    async fn card(&self, id: DeliveryId) -> Result<Flow, LedgerError> {
        if let Some(flow) = self.card_step(id, false).await? {
            return Ok(flow);
        }
        if let Err(after) = self.turn().await {
            return Ok(Flow::Later(after));
        }
        // What is to be shown may have changed during the wait.
        Ok(self.card_step(id, true).await?.unwrap_or(Flow::More))
    }

    /// Waits for the platform's pace. A send is written down as begun only after this: a crash during a wait, which may be
    /// long, would else count as a send that may have arrived, and two of them as all that is safe.
    async fn turn(&self) -> Result<(), Duration> {
        match self.hub.channels.get(&self.place.channel()) {
            Some(channel) => channel.turn(&self.place).await,
            None => Ok(()),
        }
    }

    /// Takes the next step for a card; `None` where that is a send whose turn has to be waited for first.
    async fn card_step(&self, id: DeliveryId, has_turn: bool) -> Result<Option<Flow>, LedgerError> {
        let Some(delivery) = self.hub.ledger.delivery(id).await? else { return Ok(Some(Flow::Done)) };
        if delivery.place != self.place {
            // Its chat moved, and took this along.
            super::touch_delivery(&self.hub, &delivery).await?;
            return Ok(Some(Flow::Done));
        }
        let Some(record) = self.hub.ledger.ask(&delivery.ask).await? else { return Ok(Some(Flow::Done)) };
        let Some(channel) = self.hub.channels.get(&self.place.channel()) else {
            self.hub.park(&self.place, "its channel is not in the configuration any more");
            return Ok(Some(Flow::Parked));
        };
        let card = rendering(&self.hub, &record, &delivery, channel.as_ref());
        let digest = digest(&card);
        let flow = match step(&record, &delivery, digest, self.hub.now()) {
            Step::Nothing => {
                finish_if_over(&self.hub, &record).await?;
                Flow::Done
            }
            Step::Drop | Step::GiveUp if record.life.is_over() => {
                self.hub.ledger.save_delivery(Delivery { state: DeliveryState::Dropped, ..delivery }).await?;
                Flow::More
            }
            Step::Drop | Step::GiveUp => {
                let why = "sent twice, and the platform never said whether it arrived";
                tracing::error!(ask = %record.key, place = %self.place, "the card of {} may not be at {}: {why}", record.key, self.place);
                self.hub.board.count("askgate_cards_unconfirmed_total");
                self.hub
                    .ledger
                    .save_delivery(Delivery { state: DeliveryState::Parked { why: why.into() }, ..delivery })
                    .await?;
                Flow::Done
            }
            Step::Present { .. } if self.hub.stop.soft.is_cancelled() => Flow::Done,
            Step::Present { .. } if !has_turn => return Ok(None),
            Step::Present { attempt, replaces } => {
                self.present(channel.as_ref(), delivery, &record, &card, (attempt, replaces, digest)).await?
            }
            Step::Revise => self.revise(channel.as_ref(), delivery, &record, &card, digest).await?,
        };
        Ok(Some(flow))
    }

    async fn present(
        &self,
        channel: &dyn Channel,
        mut delivery: Delivery,
        record: &AskRecord,
        card: &CardView,
        (attempt, replaces, digest): (u32, bool, u64),
    ) -> Result<Flow, LedgerError> {
        let before = delivery.clone();
        if replaces {
            delivery.replaced_at = Some(self.hub.now());
        }
        // Durable before the send: after a crash it is known that the platform may have the message.
        delivery.state = DeliveryState::Sending { attempt };
        self.hub.ledger.save_delivery(delivery.clone()).await?;
        // The same key for every attempt, so that a platform that knows such keys shows one message.
        let key = SendKey(format!("card-{}-{}", delivery.id, delivery.replaced_at.unwrap_or_default()));
        let sent = channel.present(&self.place, card, &key).await;
        // What certainly did not arrive counts as not sent; an earlier send in doubt stays in doubt, and counts.
        match sent {
            Ok(message) => {
                self.hub.board.count("askgate_cards_shown_total");
                delivery.state = DeliveryState::Shown { message, rendered: digest };
                self.hub.ledger.save_delivery(delivery).await?;
                Ok(Flow::More)
            }
            Err(Failure::Ambiguous { why }) => {
                tracing::warn!(ask = %record.key, place = %self.place, attempt, "nobody knows whether the card of {} arrived at {}: {why}", record.key, self.place);
                Ok(Flow::Later(AMBIGUOUS_PAUSE))
            }
            Err(Failure::Retry { after, why }) => {
                tracing::debug!(ask = %record.key, place = %self.place, "the card of {} waits {after:?}: {why}", record.key);
                self.hub.ledger.save_delivery(before).await?;
                Ok(Flow::Later(after))
            }
            Err(Failure::Moved { to }) => {
                self.hub.ledger.save_delivery(before).await?;
                Ok(Flow::Moved(to))
            }
            Err(Failure::PlaceGone { why }) => {
                self.hub.ledger.save_delivery(before).await?;
                self.hub.park(&self.place, &why);
                Ok(Flow::Parked)
            }
            Err(Failure::Unauthorised) => {
                self.hub.ledger.save_delivery(before).await?;
                Ok(Flow::Later(TOKEN_PAUSE))
            }
            Err(refused @ (Failure::Refused { .. } | Failure::Unchanged | Failure::MessageGone)) => {
                let why = refused.to_string();
                tracing::error!(ask = %record.key, place = %self.place, "the card of {} cannot be shown at {}: {why}", record.key, self.place);
                self.hub.board.count("askgate_cards_refused_total");
                delivery.state = DeliveryState::Parked { why };
                self.hub.ledger.save_delivery(delivery).await?;
                Ok(Flow::Done)
            }
        }
    }

    async fn revise(
        &self,
        channel: &dyn Channel,
        mut delivery: Delivery,
        record: &AskRecord,
        card: &CardView,
        digest: u64,
    ) -> Result<Flow, LedgerError> {
        let DeliveryState::Shown { message, .. } = delivery.state.clone() else { return Ok(Flow::Done) };
        match channel.revise(&self.place, &message, card).await {
            Ok(()) | Err(Failure::Unchanged) => {
                delivery.state = DeliveryState::Shown { message, rendered: digest };
                self.hub.ledger.save_delivery(delivery).await?;
                Ok(Flow::More)
            }
            Err(Failure::MessageGone) => {
                tracing::info!(ask = %record.key, place = %self.place, "the card of {} is gone from {}", record.key, self.place);
                delivery.state = DeliveryState::Missing { since: self.hub.now() };
                self.hub.ledger.save_delivery(delivery).await?;
                Ok(Flow::More)
            }
            Err(Failure::PlaceGone { why }) => {
                self.hub.park(&self.place, &why);
                Ok(Flow::Parked)
            }
            Err(Failure::Moved { to }) => Ok(Flow::Moved(to)),
            Err(Failure::Retry { after, .. }) => Ok(Flow::Later(after)),
            // An edit may be repeated: it says the same thing again.
            Err(Failure::Ambiguous { .. }) => Ok(Flow::Later(Duration::from_secs(1))),
            Err(Failure::Unauthorised) => Ok(Flow::Later(TOKEN_PAUSE)),
            Err(Failure::Refused { why }) => {
                tracing::error!(ask = %record.key, place = %self.place, "the card of {} at {} cannot be changed: {why}", record.key, self.place);
                self.hub.board.count("askgate_edits_refused_total");
                // It says what it says; a later change is tried again.
                delivery.state = DeliveryState::Shown { message, rendered: digest };
                self.hub.ledger.save_delivery(delivery).await?;
                Ok(Flow::More)
            }
        }
    }

    async fn notice(&self, id: NoticeId) -> Result<Flow, LedgerError> {
        let Some(notice) = self.hub.ledger.notice(id).await? else { return Ok(Flow::Done) };
        if notice.place != self.place {
            super::touch_notice(&self.hub, &notice);
            return Ok(Flow::Done);
        }
        let attempt = match notice.state {
            NoticeState::Planned => 1,
            NoticeState::Sending { attempt } if attempt < MAX_SENDS => attempt + 1,
            NoticeState::Sending { .. } => return self.end_notice(notice, NoticeState::Dropped).await,
            NoticeState::Sent | NoticeState::Dropped => return Ok(Flow::Done),
        };
        let Some(channel) = self.hub.channels.get(&self.place.channel()) else {
            return self.end_notice(notice, NoticeState::Dropped).await;
        };
        if let Err(after) = self.turn().await {
            return Ok(Flow::Later(after));
        }
        let about = self.message_of(&notice).await?;
        self.hub.ledger.save_notice(Notice { state: NoticeState::Sending { attempt }, ..notice.clone() }).await?;
        let key = SendKey(format!("notice-{}", notice.id.0));
        // As for cards: an earlier send in doubt stays in doubt.
        let before = notice.clone();
        match channel.notify(&self.place, &notice.text, about.as_ref(), &key).await {
            Ok(()) => self.end_notice(notice, NoticeState::Sent).await,
            Err(Failure::Ambiguous { .. }) => Ok(Flow::Later(AMBIGUOUS_PAUSE)),
            Err(Failure::Retry { after, .. }) => {
                self.hub.ledger.save_notice(before).await?;
                Ok(Flow::Later(after))
            }
            Err(Failure::Moved { to }) => {
                self.hub.ledger.save_notice(before).await?;
                Ok(Flow::Moved(to))
            }
            Err(Failure::PlaceGone { why }) => {
                self.hub.ledger.save_notice(before).await?;
                self.hub.park(&self.place, &why);
                Ok(Flow::Parked)
            }
            Err(Failure::Unauthorised) => {
                self.hub.ledger.save_notice(before).await?;
                Ok(Flow::Later(TOKEN_PAUSE))
            }
            Err(Failure::Refused { why }) => {
                tracing::error!(ask = %notice.ask, place = %self.place, "a text about {} cannot be shown at {}: {why}", notice.ask, self.place);
                self.end_notice(notice, NoticeState::Dropped).await
            }
            Err(Failure::Unchanged | Failure::MessageGone) => self.end_notice(notice, NoticeState::Dropped).await,
        }
    }

    async fn end_notice(&self, notice: Notice, state: NoticeState) -> Result<Flow, LedgerError> {
        let ask = notice.ask.clone();
        self.hub.ledger.save_notice(Notice { state, ..notice }).await?;
        if let Some(record) = self.hub.ledger.ask(&ask).await? {
            finish_if_over(&self.hub, &record).await?;
        }
        Ok(Flow::Done)
    }

    async fn message_of(&self, notice: &Notice) -> Result<Option<MessageRef>, LedgerError> {
        let deliveries = self.hub.ledger.deliveries(&notice.ask).await?;
        Ok(deliveries.into_iter().filter(|delivery| delivery.place == self.place).find_map(|delivery| {
            match delivery.state {
                DeliveryState::Shown { message, .. } => Some(message),
                _ => None,
            }
        }))
    }

    /// Takes everything of this place to its new address, durably, and goes on there.
    async fn move_to(&self, item: Item, to: Place) {
        tracing::info!(from = %self.place, %to, "{} is now {to}", self.place);
        let renamed = self.hub.ledger.rename_place(&self.place, &to).await;
        let noted = self.hub.ledger.remember(&format!("moved/{}", self.place.address()), Some(to.address())).await;
        if let Err(error) = renamed.and(noted) {
            tracing::warn!(from = %self.place, %to, "the move was not saved and will be tried again: {error}");
            self.again(item);
            self.hub.wait(Duration::from_secs(1)).await;
            return;
        }
        self.hub.links.moved(&self.place, &to);
        super::push(&self.hub, &to, item);
        while let Some(item) = self.hub.queues.pop(&self.place) {
            super::push(&self.hub, &to, item);
        }
    }
}
