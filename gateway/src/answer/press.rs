//! One press: who may, whether it wins, and what the person is told at once.

use std::sync::Arc;

use adapters::channel::{Press, Reply};
use asks::card::Button;
use asks::life::{Claim, Life};
use asks::place::{MessageRef, Place};
use store::ledger::{Claimed, LedgerError};
use store::record::{AskRecord, AuditLine, Delivery, DeliveryId, DeliveryState, Purpose, TokenRecord};
use store::token::TapToken;

use crate::announce;
use crate::hub::Hub;
use crate::links::Permission;
use crate::show::{one_line, visible};
use crate::words::{self, Language, Words};

/// Takes a press and says what to tell the person. When it returns [`Reply::Defer`], the claim is on disk.
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
    if token.purpose != Purpose::Press {
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
    match hub.links.may_press(&record.account, &delivery.place, press.actor) {
        // A press is a sign of life of its place.
        Permission::Allowed => announce::place_is_back(hub, &delivery.place).await?,
        Permission::Stranger => {
            audit(hub, press, &token, &record, &delivery, "refused", "not the linked person, nor an approver").await;
            return Ok(Reply::Notice(words.not_yours()));
        }
        Permission::NotLinked => {
            audit(hub, press, &token, &record, &delivery, "refused", "the place is not linked to the account any more")
                .await;
            return Ok(Reply::Notice(words.not_linked()));
        }
    }
    let words = hub.words(&record.account);
    if !record.life.is_open() {
        // An old copy may be the one that was pressed; it learns how the ask ended.
        adopt(hub, press, delivery.clone());
        return Ok(Reply::Notice(too_late(&record, &delivery.place, words)));
    }
    let Some(button) = record.card.button(&token.button) else {
        return Ok(Reply::Notice(words.unknown_button()));
    };
    claim(hub, press, &token, &record, delivery, button, words).await
}

async fn claim(
    hub: &Arc<Hub>,
    press: &Press,
    token: &TokenRecord,
    record: &AskRecord,
    delivery: Delivery,
    button: &Button,
    words: &'static dyn Words,
) -> Result<Reply, LedgerError> {
    let label = one_line(&button.label);
    let claim = Claim {
        button: token.button.clone(),
        label: if label.is_empty() { one_line(button.id.as_str()) } else { label },
        actor: press.actor,
        actor_name: press.actor_name.as_deref().map(one_line).filter(|name| !name.is_empty()),
        place: delivery.place.clone(),
        at: hub.now(),
        response: None,
    };
    let line = line(hub, press, token, record, &delivery, "claimed", &card_digest(record));
    match hub.ledger.claim(&record.key, claim, line).await? {
        Claimed::Won(record) => {
            faults::point("claim.durable");
            hub.board.count("askgate_claims_total");
            tracing::info!(ask = %record.key, actor = %press.actor, "{} answered {} at {}", press.actor, record.key, delivery.place);
            super::start(hub, record.key.clone());
            adopt(hub, press, delivery);
            Ok(Reply::Defer)
        }
        Claimed::Lost(record) if record.life.is_open() => Ok(Reply::Notice(words.button_dead())),
        Claimed::Lost(record) => {
            audit(hub, press, token, &record, &delivery, "lost", record.life.name()).await;
            Ok(Reply::Notice(too_late(&record, &delivery.place, words)))
        }
        Claimed::Unknown => Ok(Reply::Notice(words.unknown_button())),
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
