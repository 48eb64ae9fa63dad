//! The worker of one place: takes one step after the other until nothing is left to do there.

mod notice;
mod revise;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use adapters::channel::{CardView, Channel, Failure, SendKey};
use asks::place::{MessageRef, Place};
use store::ledger::LedgerError;
use store::record::{AskRecord, Delivery, DeliveryId, DeliveryState};

use super::card::{digest, finish_if_over, next_step, rendering};
use super::queue::{Item, New, Next};
use super::step::Step;
use crate::hub::Hub;

/// How long to wait before a send whose fate is unknown is repeated once.
const AMBIGUOUS_PAUSE: Duration = Duration::from_secs(3);
/// The longest pause that grows by itself; a platform that is back is used again soon.
const LONGEST_GROWN: Duration = Duration::from_secs(8);
/// The pause while the bot's token is refused.
const TOKEN_PAUSE: Duration = Duration::from_mins(1);
/// How often a worker that waits looks for edits.
const EDIT_LOOK: Duration = Duration::from_millis(250);

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
    /// Edits that failed, and when each is tried again: a message that cannot be changed holds back nothing else.
    deferred: BTreeMap<Item, Instant>,
}

impl Worker {
    pub(super) const fn new(hub: Arc<Hub>, place: Place) -> Self {
        Self { hub, place, failures: BTreeMap::new(), deferred: BTreeMap::new() }
    }

    /// Works until the queue is empty or the service stops for good.
    pub(super) async fn run(mut self) {
        loop {
            self.take_up_deferred();
            let item = match self.hub.queues.pop_unless(&self.place, !self.deferred.is_empty()) {
                Next::Item(item) => item,
                Next::Wait if self.hub.wait(EDIT_LOOK).await => continue,
                Next::Wait | Next::End => return,
            };
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
                    let pause = self.growing(item, after);
                    if matches!(item, Item::Edit(..)) {
                        self.deferred.insert(item, self.hub.clock.instant() + pause);
                    } else {
                        self.again(item);
                        if !self.pause(pause).await {
                            return;
                        }
                    }
                }
                Flow::Moved(to) => self.move_to(item, to).await,
            }
            if self.hub.stop.hard.is_cancelled() {
                return;
            }
        }
    }

    /// The pause after one more failure of an item: what the platform asks for, or one that grows; never the same for all.
    fn growing(&mut self, item: Item, after: Duration) -> Duration {
        let failures = self.failures.entry(item).or_default();
        *failures += 1;
        let grown = Duration::from_millis(250 << (*failures).min(5)).min(LONGEST_GROWN);
        if after >= grown { after } else { self.hub.jitter(grown).max(after) }
    }

    /// How often a delivery's message failed in a row.
    fn failed(&self, id: DeliveryId) -> u32 {
        let about = |item: &Item| match item {
            Item::Edit(_, other) | Item::New(_, New::Card(other)) => *other == id,
            Item::New(_, New::Notice(_)) => false,
        };
        self.failures.iter().filter(|(item, _)| about(item)).map(|(_, failures)| *failures).max().unwrap_or_default()
    }

    fn take_up_deferred(&mut self) {
        let now = self.hub.clock.instant();
        let due: Vec<Item> = self.deferred.iter().filter(|(_, at)| **at <= now).map(|(item, _)| *item).collect();
        for item in due {
            self.deferred.remove(&item);
            self.again(item);
        }
    }

    /// Waits before something new goes out there: what fails for one new message mostly fails for all. Edits go on meanwhile,
    /// because a platform paces them apart and somebody looks at them. Returns whether to go on.
    async fn pause(&mut self, pause: Duration) -> bool {
        let until = self.hub.clock.instant() + pause;
        loop {
            let left = until.saturating_duration_since(self.hub.clock.instant());
            if left.is_zero() {
                return true;
            }
            self.take_up_deferred();
            if let Some(edit) = self.hub.queues.pop_edit(&self.place) {
                match self.work(edit).await {
                    Ok(Flow::Done | Flow::Parked) => {
                        self.failures.remove(&edit);
                    }
                    Ok(Flow::More) => self.again(edit),
                    Ok(Flow::Later(after)) => {
                        let pause = self.growing(edit, after);
                        self.deferred.insert(edit, self.hub.clock.instant() + pause);
                    }
                    // Found again when the new message is tried.
                    Ok(Flow::Moved(_)) | Err(_) => {
                        self.deferred.insert(edit, self.hub.clock.instant() + left.max(EDIT_LOOK));
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
        let flow = match next_step(&self.hub, &record, &delivery, digest) {
            Step::Nothing => {
                if delivery.refused.is_none() {
                    self.hub.board.delivered(&record.key, &self.place);
                }
                finish_if_over(&self.hub, &record).await?;
                Flow::Done
            }
            Step::Withhold => {
                self.save(Delivery { state: DeliveryState::Dropped, ..delivery }).await?;
                Flow::More
            }
            Step::Drop | Step::GiveUp if record.life.is_over() => {
                self.save(Delivery { state: DeliveryState::Dropped, ..delivery }).await?;
                Flow::More
            }
            Step::Drop | Step::GiveUp => {
                let why = "sent twice, and the platform never said whether it arrived";
                tracing::error!(ask = %record.key, place = %self.place, "the card of {} may not be at {}: {why}", record.key, self.place);
                self.hub.board.count("askgate_cards_unconfirmed_total");
                self.hub.board.undelivered(&record.key, &self.place, why);
                self.save(Delivery { state: DeliveryState::Unconfirmed, ..delivery }).await?;
                Flow::Done
            }
            Step::Present { .. } if self.hub.stop.soft.is_cancelled() => Flow::Done,
            Step::Present { .. } if !has_turn => return Ok(None),
            Step::Present { attempt, replaces } => {
                self.present(channel.as_ref(), delivery, &record, &card, (attempt, replaces, digest)).await?
            }
            Step::Revise => self.revise(channel.as_ref(), delivery, &record, &card, digest).await?,
            Step::ReviseCopy(copy) => self.revise_copy(channel.as_ref(), delivery, &copy, &card).await?,
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
        self.save(delivery.clone()).await?;
        faults::point("announce.sending-saved");
        // The same key for every attempt, so that a platform that knows such keys shows one message.
        let card_of = format!("card-{}-{}", delivery.id, delivery.replaced_at.unwrap_or_default());
        let key = SendKey(self.hub.keys.name(&card_of));
        let sent = channel.present(&self.place, card, &key).await;
        faults::point("announce.sent");
        let failure = match sent {
            Ok(message) => {
                self.hub.board.count("askgate_cards_shown_total");
                self.adopt_earlier(&mut delivery, &message).await?;
                // A platform that shows repeated sends once answers with the message of the first, which says what was true then.
                let rendered = if attempt > 1 && channel.capabilities().sends_once { !digest } else { digest };
                delivery.state = DeliveryState::Shown { message, rendered };
                self.save(delivery).await?;
                faults::point("announce.shown-saved");
                return Ok(Flow::More);
            }
            Err(failure) => failure,
        };
        if let Failure::Ambiguous { why } = &failure {
            tracing::warn!(ask = %record.key, place = %self.place, attempt, "nobody knows whether the card of {} arrived at {}: {why}", record.key, self.place);
            return Ok(Flow::Later(AMBIGUOUS_PAUSE));
        }
        match self.elsewhere(failure) {
            // What certainly did not arrive counts as not sent; an earlier send in doubt stays in doubt, and counts.
            Ok(flow) => {
                self.save(before).await?;
                Ok(flow)
            }
            Err(refused) => {
                let why = refused.to_string();
                tracing::error!(ask = %record.key, place = %self.place, "the card of {} cannot be shown at {}: {why}", record.key, self.place);
                self.hub.board.count("askgate_cards_refused_total");
                self.hub.board.undelivered(&record.key, &self.place, &why);
                delivery.state = DeliveryState::Parked { why, rendered: digest, at: self.hub.now() };
                self.save(delivery).await?;
                Ok(Flow::Done)
            }
        }
    }

    /// What a failure means for the place, whatever was tried there.
    ///
    /// # Errors
    /// The failure itself, when it is about the one message.
    fn elsewhere(&self, failure: Failure) -> Result<Flow, Failure> {
        match failure {
            Failure::Retry { after, why } => {
                tracing::debug!(place = %self.place, "{} waits {after:?}: {why}", self.place);
                Ok(Flow::Later(after))
            }
            Failure::Moved { to } => Ok(Flow::Moved(to)),
            Failure::PlaceGone { why } => {
                self.hub.park(&self.place, &why);
                Ok(Flow::Parked)
            }
            Failure::Unauthorised => Ok(Flow::Later(TOKEN_PAUSE)),
            about_it @ (Failure::MessageGone
            | Failure::Unchanged
            | Failure::Ambiguous { .. }
            | Failure::Refused { .. }) => Err(about_it),
        }
    }

    /// Writes a delivery down without losing what a tap told of other messages meanwhile.
    async fn save(&self, mut delivery: Delivery) -> Result<(), LedgerError> {
        if let Some(now) = self.hub.ledger.delivery(delivery.id).await? {
            for copy in now.copies {
                if !delivery.copies.contains(&copy) {
                    delivery.copies.push(copy);
                }
            }
        }
        self.hub.ledger.save_delivery(delivery).await
    }

    /// A tap may have proved meanwhile that an earlier send had arrived: that message is a copy from now on.
    async fn adopt_earlier(&self, delivery: &mut Delivery, message: &MessageRef) -> Result<(), LedgerError> {
        let now = self.hub.ledger.delivery(delivery.id).await?;
        if let Some(DeliveryState::Shown { message: earlier, .. }) = now.map(|now| now.state)
            && earlier != *message
            && delivery.replaced_at.is_none()
        {
            delivery.copies.push(earlier);
        }
        Ok(())
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
