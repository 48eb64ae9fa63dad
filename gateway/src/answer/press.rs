//! One press: whether it counts, whether it wins, and what the person is told at once.

use std::sync::Arc;

use adapters::channel::{Press, Reply};
use asks::card::Button;
use asks::life::{Claim, Life};
use asks::place::{ChannelKind, MessageRef, Place};
use store::ledger::{Claimed, LedgerError, Voted};
use store::record::{AskRecord, AuditLine, Delivery, DeliveryId, DeliveryState, Purpose, TokenRecord};
use store::token::TapToken;

use super::once_more::{self, Confirmed};
use super::policy::{self, Refusal};
use crate::announce;
use crate::hub::Hub;
use crate::show::{one_line, visible};
use crate::words::{self, Language, Words};

/// Takes a press and says what to tell the person. When it returns [`Reply::Defer`], the claim is on disk, or the
/// card asks once more and nothing is claimed.
pub async fn press(hub: &Arc<Hub>, press: Press) -> Reply {
    hub.board.count("askgate_taps_total");
    let language = press.language.as_deref().and_then(Language::from_code).unwrap_or_default();
    match decide(hub, &press, language.words()).await {
        Ok(reply) => reply,
        Err(error) => {
            tracing::error!(actor = %press.actor, "a tap of {} was not saved: {error}", press.actor);
            hub.board.count("askgate_taps_not_saved_total");
            hub.board.report("store", crate::board::Health::Bad { why: error.to_string() });
            Reply::Notice(language.words().not_saved())
        }
    }
}

async fn decide(hub: &Arc<Hub>, press: &Press, words: &'static dyn Words) -> Result<Reply, LedgerError> {
    let token = TapToken::from_outside(&press.token);
    let Some(token) = hub.ledger.token(&token.hash()).await? else {
        return Ok(Reply::Notice(words.unknown_button()));
    };
    if token.purpose == Purpose::Page {
        return Ok(Reply::Notice(words.unknown_button()));
    }
    let (Some(delivery), Some(record)) =
        (hub.ledger.delivery(token.delivery).await?, hub.ledger.ask(&token.ask).await?)
    else {
        return Ok(Reply::Notice(words.unknown_button()));
    };
    if !is_at(press, &delivery) {
        audit(hub, press, &token, &record, &delivery, "refused", "pressed in another chat than its own").await;
        return Ok(Reply::Notice(words.unknown_button()));
    }
    let button = record.card.button(&token.button);
    let style = button.map(|button| button.style).unwrap_or_default();
    let ruling = match policy::ruling(&hub.links, &record.account, &delivery.place, press.actor, style) {
        Ok(ruling) => ruling,
        Err(refusal) => {
            let (detail, sentence) = match refusal {
                Refusal::Stranger => ("not the linked person, nor an approver", words.not_yours()),
                Refusal::NotLinked => ("the place is not linked to the account any more", words.not_linked()),
                Refusal::Requester => ("the person whose agent asks may not answer there", words.not_your_own()),
            };
            audit(hub, press, &token, &record, &delivery, "refused", detail).await;
            return Ok(Reply::Notice(sentence));
        }
    };
    // A press is a sign of life of its place.
    announce::place_is_back(hub, &delivery.place).await?;
    let words = hub.words(&record.account);
    if !record.life.is_open() {
        // An old copy may be the one that was pressed; it learns how the ask ended.
        adopt(hub, press, delivery.clone());
        return Ok(Reply::Notice(too_late(&record, &delivery.place, words)));
    }
    let Some(button) = button else {
        return Ok(Reply::Notice(words.unknown_button()));
    };
    let pressed = Pressed { hub, press, token: &token, record: &record, delivery: &delivery, button, words };
    match token.purpose {
        Purpose::Press if ruling.once_more => pressed.ask_once_more().await,
        Purpose::Sure => match pressed.sure().await {
            None => pressed.counts(ruling.votes).await,
            Some(reply) => Ok(reply),
        },
        Purpose::Back => {
            hub.once_more.take_back(delivery.id);
            once_more::show(hub, delivery.id).await;
            Ok(Reply::Defer)
        }
        _ => pressed.counts(ruling.votes).await,
    }
}

/// A press of somebody who may press, on an ask that waits.
struct Pressed<'a> {
    hub: &'a Arc<Hub>,
    press: &'a Press,
    token: &'a TokenRecord,
    record: &'a AskRecord,
    delivery: &'a Delivery,
    button: &'a Button,
    words: &'static dyn Words,
}

impl Pressed<'_> {
    /// Turns the card at this delivery, and no other, into the question whether the first tap was meant.
    async fn ask_once_more(&self) -> Result<Reply, LedgerError> {
        let Self { hub, press, delivery, button, words, .. } = self;
        if matches!(delivery.place.channel(), ChannelKind::Ntfy | ChannelKind::Web) {
            return Ok(Reply::Notice(words.cannot_ask_here()));
        }
        if self.record.dead_buttons.contains(&button.id) {
            return Ok(Reply::Notice(words.button_dead()));
        }
        let Some(number) = hub.once_more.ask(delivery.id, press.actor, &button.id, hub.clock.instant()) else {
            return Ok(Reply::Notice(words.another_is_asked()));
        };
        once_more::expire(hub, delivery, number);
        if matches!(delivery.state, DeliveryState::Shown { .. }) {
            once_more::show(hub, delivery.id).await;
        } else {
            adopt(hub, press, (*delivery).clone());
        }
        Ok(Reply::Defer)
    }

    /// Takes the second tap. `None` when it counts.
    async fn sure(&self) -> Option<Reply> {
        let Self { hub, press, delivery, button, words, .. } = self;
        let confirmed = hub.once_more.confirm(delivery.id, press.actor, &button.id, hub.clock.instant());
        if confirmed != Confirmed::Another {
            // Either the question is answered, or a card still shows one that is over.
            once_more::show(hub, delivery.id).await;
        }
        let (detail, sentence) = match confirmed {
            Confirmed::Yes => return None,
            Confirmed::Another => ("another person was asked whether it was meant", words.confirms_another()),
            Confirmed::TooLate => ("confirmed too late", words.confirmed_too_late()),
        };
        audit(hub, press, self.token, self.record, delivery, "refused", detail).await;
        Some(Reply::Notice(sentence))
    }

    /// The press counts: alone, or as one vote of several.
    async fn counts(&self, votes: usize) -> Result<Reply, LedgerError> {
        if votes > 1 { self.vote(votes).await } else { self.claim().await }
    }

    fn label(&self) -> String {
        let label = one_line(&self.button.label);
        if label.is_empty() { one_line(self.button.id.as_str()) } else { label }
    }

    fn answer(&self) -> Claim {
        Claim {
            button: self.button.id.clone(),
            label: self.label(),
            actor: self.press.actor,
            actor_name: self.press.actor_name.as_deref().map(one_line).filter(|name| !name.is_empty()),
            place: self.delivery.place.clone(),
            at: self.hub.now(),
            response: None,
        }
    }

    fn line(&self, event: &str, detail: &str) -> AuditLine {
        line(self.hub, self.press, self.token, self.record, self.delivery, event, detail)
    }

    async fn claim(&self) -> Result<Reply, LedgerError> {
        let line = self.line("claimed", &card_digest(self.record));
        match self.hub.ledger.claim(&self.record.key, self.answer(), line).await? {
            Claimed::Won(record) => Ok(self.won(&record)),
            Claimed::Lost(record) => Ok(self.lost(&record).await),
            Claimed::Unknown => Ok(Reply::Notice(self.words.unknown_button())),
        }
    }

    async fn vote(&self, needed: usize) -> Result<Reply, LedgerError> {
        let Self { hub, press, delivery, button, words, .. } = self;
        // What counts beside this vote is read and decided on before it is written.
        let _one_at_a_time = hub.voting.lock().await;
        let Some(record) = hub.ledger.ask(&self.record.key).await? else {
            return Ok(Reply::Notice(words.unknown_button()));
        };
        let voter = (press.actor, needed);
        let (ledgers, count) = policy::needed_of_ledger(&hub.links, &record, &delivery.place, &button.id, voter);
        let before = record.votes.iter().any(|vote| vote.actor == press.actor && vote.button == button.id);
        if before && count < needed && record.life.is_open() {
            return Ok(Reply::Notice(words.vote_counts_already(&self.label(), count, needed)));
        }
        let line = if count < needed {
            self.line("voted", &format!("{count} of {needed}"))
        } else {
            self.line("claimed", &card_digest(&record))
        };
        match hub.ledger.vote(&record.key, self.answer(), ledgers, line).await? {
            Voted::Claimed(record) => Ok(self.won(&record)),
            Voted::Counted(record) => {
                hub.board.count("askgate_votes_total");
                tracing::info!(ask = %record.key, actor = %press.actor, "{} voted on {} at {}: {count} of {needed}", press.actor, record.key, delivery.place);
                adopt(hub, press, (*delivery).clone());
                Ok(Reply::Notice(words.vote_counted(&self.label(), count, needed)))
            }
            Voted::Lost(record) => Ok(self.lost(&record).await),
            Voted::Unknown => Ok(Reply::Notice(words.unknown_button())),
        }
    }

    fn won(&self, record: &AskRecord) -> Reply {
        let Self { hub, press, delivery, .. } = self;
        faults::point("claim.durable");
        hub.board.count("askgate_claims_total");
        tracing::info!(ask = %record.key, actor = %press.actor, "{} answered {} at {}", press.actor, record.key, delivery.place);
        super::start(hub, record.key.clone());
        adopt(hub, press, (*delivery).clone());
        Reply::Defer
    }

    async fn lost(&self, record: &AskRecord) -> Reply {
        if record.life.is_open() {
            return Reply::Notice(self.words.button_dead());
        }
        audit(self.hub, self.press, self.token, record, self.delivery, "lost", record.life.name()).await;
        Reply::Notice(too_late(record, &self.delivery.place, self.words))
    }
}

/// Whether the press came from where the card is. Platforms do not always say; then only the token speaks.
fn is_at(press: &Press, delivery: &Delivery) -> bool {
    let Some(chat) = &press.chat else { return true };
    let by_message = match &delivery.state {
        DeliveryState::Shown { message, .. } => Some(message.chat == *chat),
        _ => None,
    };
    // A chat that moved has another id than its older messages.
    let by_place = match &delivery.place {
        Place::Telegram { chat: id, .. } => Some(id.to_string() == *chat),
        Place::DiscordChannel(id) => Some(id.to_string() == *chat),
        Place::DiscordUser(_) | Place::Ntfy(_) | Place::Web(_) => None,
    };
    match (by_message, by_place) {
        (None, None) => true,
        (by_message, by_place) => by_message.unwrap_or_default() || by_place.unwrap_or_default(),
    }
}

/// What the loser of a race, or somebody with an old card, is told: what was recorded, never an error.
fn too_late(record: &AskRecord, place: &Place, words: &dyn Words) -> String {
    match &record.life {
        Life::Claimed { claim, .. } | Life::Unclear { claim, .. } => {
            let name = claim.actor_name.as_deref().map(visible);
            let by = if place.is_direct() { None } else { name.as_deref() };
            words.already(&claim.label, by)
        }
        life => words::status(words, life, !place.is_direct()).unwrap_or_else(|| words.unknown_button()),
    }
}

/// A tap proves that a message exists. One whose send nobody confirmed is the delivery's message from now on, and is brought up
/// to date like any other; a second copy of a card that was sent twice is brought up to date once, because nobody else will.
fn adopt(hub: &Arc<Hub>, press: &Press, delivery: Delivery) {
    let hub = Arc::clone(hub);
    let message = press.message.clone();
    hub.clone().spawn(async move {
        let key = delivery.ask.clone();
        match (message, &delivery.state) {
            (Some(message), DeliveryState::Shown { message: known, .. }) if message != *known => {
                if let Err(error) = remember_copy(&hub, delivery.id, message).await {
                    tracing::warn!(ask = %key, "a second copy of the card of {key} was not kept: {error}");
                }
            }
            (None, _) | (_, DeliveryState::Shown { .. }) => {}
            (Some(message), _) => {
                let state = DeliveryState::Shown { message, rendered: 0 };
                if let Err(error) = hub.ledger.save_delivery(Delivery { state, ..delivery }).await {
                    tracing::warn!(ask = %key, "the message of a tap was not kept: {error}");
                }
            }
        }
        if let Err(error) = announce::touch(&hub, &key).await {
            tracing::warn!(ask = %key, "cannot bring the cards of {key} up to date yet: {error}");
        }
    });
}

/// Keeps another message of a delivery, so that it too is told how the ask ends; the newest few are enough.
async fn remember_copy(hub: &Hub, id: DeliveryId, message: MessageRef) -> Result<(), LedgerError> {
    const MOST: usize = 4;
    let Some(mut delivery) = hub.ledger.delivery(id).await? else { return Ok(()) };
    if !delivery.copies.contains(&message) && delivery.copies.len() < MOST {
        delivery.copies.push(message);
        hub.ledger.save_delivery(delivery).await?;
    }
    Ok(())
}

/// Writes down what was tried. Best effort: that the line is missing must not tell a stranger anything.
async fn audit(
    hub: &Hub,
    press: &Press,
    token: &TokenRecord,
    record: &AskRecord,
    delivery: &Delivery,
    event: &str,
    detail: &str,
) {
    tracing::info!(ask = %record.key, actor = %press.actor, event, "a tap of {} on {} was {event}: {detail}", press.actor, record.key);
    let line = line(hub, press, token, record, delivery, event, detail);
    if let Err(error) = hub.ledger.audit(line).await {
        tracing::warn!(ask = %record.key, "an audit line was not saved: {error}");
    }
}

fn line(
    hub: &Hub,
    press: &Press,
    token: &TokenRecord,
    record: &AskRecord,
    delivery: &Delivery,
    event: &str,
    detail: &str,
) -> AuditLine {
    AuditLine {
        at: hub.now(),
        ask: record.key.clone(),
        account: record.account.clone(),
        actor: press.actor.to_string(),
        place: delivery.place.to_string(),
        message: press.message.clone(),
        button: token.button.to_string(),
        event: event.to_owned(),
        detail: detail.to_owned(),
    }
}

/// A digest of what the person was asked, so that the audit trail can be held against the card later.
fn card_digest(record: &AskRecord) -> String {
    use sha2::{Digest as _, Sha256};
    let card = serde_json::to_vec(&record.card).unwrap_or_default();
    let hash = Sha256::digest(card).iter().take(8).fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    format!("card {hash}")
}
