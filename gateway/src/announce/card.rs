//! A card as it should stand at one place now, and whether an ask's cards have all come to their end.

use adapters::channel::{CardView, Channel};
use asks::ids::ButtonId;
use asks::life::{Life, Outcome};
use config::LockScreen;
use sha2::{Digest as _, Sha256};
use store::ledger::LedgerError;
use store::record::{AskRecord, Delivery, Purpose};

use super::step::{Step, step, step_unlinked};
use crate::answer::policy;
use crate::hub::Hub;
use crate::quiet;
use crate::show::view::{Setting, view};

/// What the card says there, now.
pub(super) fn rendering(hub: &Hub, record: &AskRecord, delivery: &Delivery, channel: &dyn Channel) -> CardView {
    let card = linked(hub, record, delivery, channel);
    if hub.links.shows(&record.account, &delivery.place) {
        return card;
    }
    // How it went on is not for whoever reads there now.
    CardView {
        content: None,
        legend: Vec::new(),
        buttons: Vec::new(),
        link: None,
        status: Some(hub.words(&record.account).card_unlinked()),
        ..card
    }
}

/// What a delivery needs next, at a place that may not be linked any more.
pub(super) fn next_step(hub: &Hub, record: &AskRecord, delivery: &Delivery, digest: u64) -> Step {
    if hub.links.shows(&record.account, &delivery.place) {
        let channel = hub.channels.get(&delivery.place.channel());
        let sends_once = channel.is_some_and(|channel| channel.capabilities().sends_once);
        step(record, delivery, digest, hub.now(), sends_once)
    } else {
        step_unlinked(delivery, digest)
    }
}

fn linked(hub: &Hub, record: &AskRecord, delivery: &Delivery, channel: &dyn Channel) -> CardView {
    let served = hub.links.served_at(&delivery.place);
    let several = served.len() > 1;
    let called = hub.links.called(&record.account);
    let handoff = hub.source(&record.key).and_then(|source| source.config.handoff_url.as_ref());
    let phone = hub.links.phone(&record.account);
    let on_phone = quiet::is_notification(&delivery.place);
    let setting = Setting {
        delivery: delivery.id,
        shared: hub.links.is_shared(&delivery.place),
        summary: hub.links.is_summary(&delivery.place) || (on_phone && phone.lock_screen != LockScreen::Full),
        hidden: on_phone && phone.lock_screen == LockScreen::Hidden,
        short: !channel.capabilities().shows_content,
        quiet: phone.quiet_hours.is_some_and(|hours| hours.is_quiet(hub.now())),
        origin: several.then(|| (called.as_str(), record.account.source.as_str())),
        handoff: handoff.map(|url| url.fill(&record.key.conversation, &record.key.ask)),
        answer_page: answer_page(hub, record, delivery),
        label_limit: channel.capabilities().label_limit,
        asked: hub.once_more.button(delivery.id, hub.clock.instant()),
        tallies: policy::tallies(&hub.links, record, &delivery.place),
        voters: voters(hub, record, delivery),
    };
    view(record, &setting, &hub.keys, hub.words(&record.account))
}

/// Our own page that answers the ask, for the one person who reads at a direct place.
fn answer_page(hub: &Hub, record: &AskRecord, delivery: &Delivery) -> Option<String> {
    if !delivery.place.is_direct() {
        return None;
    }
    let token = hub.keys.token_for(Purpose::Page, &record.key, delivery.id, &ButtonId::new(""));
    hub.page(&format!("a/{}", token.expose()))
}

/// Who gave the votes that made the answer, where several read.
fn voters(hub: &Hub, record: &AskRecord, delivery: &Delivery) -> Vec<String> {
    match record.life.claim() {
        // Another answer stands than the one they voted for.
        Some(_) if matches!(record.life, Life::Settled { outcome: Outcome::Elsewhere { .. } }) => Vec::new(),
        Some(claim) if hub.links.is_shared(&delivery.place) && !claim.place.is_direct() => {
            let voted = record.votes.iter().filter(|vote| vote.button == claim.button);
            voted.map(policy::name).collect()
        }
        _ => Vec::new(),
    }
}

/// A digest of everything a message says, buttons included. It is kept in the ledger, so every build must make the same.
pub(super) fn digest(card: &CardView) -> u64 {
    // Urgency changes with the hour and says nothing that can be read.
    let CardView { origin, title, text, content, legend, status, buttons, link, urgency: _ } = card;
    let mut hash = Sha256::new();
    let mut part = |text: Option<&str>| {
        // Length first, so that no two cards give the same bytes.
        hash.update(text.map_or(u64::MAX, |text| text.len() as u64).to_be_bytes());
        hash.update(text.unwrap_or_default());
    };
    for text in [origin.as_deref(), title.as_deref(), Some(text.as_str()), status.as_deref()] {
        part(text);
    }
    for pair in [content, link] {
        part(pair.as_ref().map(|(first, _)| first.as_str()));
        part(pair.as_ref().map(|(_, second)| second.as_str()));
    }
    part(Some(&legend.join("\n")));
    for button in buttons {
        part(Some(&button.label));
        part(Some(&format!("{:?}", button.style)));
        part(Some(&button.token));
    }
    hash.finalize().first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// The least that a message can say about an ask, for a platform that refuses everything else: nothing an agent wrote but the
/// label that was pressed.
pub(super) fn plain(card: &CardView) -> CardView {
    CardView {
        text: card.status.clone().unwrap_or_else(|| card.text.clone()),
        urgency: card.urgency,
        ..CardView::default()
    }
}

/// Marks an ask as finished when it is over and every copy of its card says so.
pub(super) async fn finish_if_over(hub: &Hub, record: &AskRecord) -> Result<(), LedgerError> {
    if !record.life.is_over() || record.finished {
        return Ok(());
    }
    for delivery in hub.ledger.deliveries(&record.key).await? {
        if let Some(channel) = hub.channels.get(&delivery.place.channel()) {
            let digest = digest(&rendering(hub, record, &delivery, channel.as_ref()));
            if next_step(hub, record, &delivery, digest) != Step::Nothing {
                return Ok(());
            }
        }
    }
    hub.ledger.finish(&record.key).await.map(drop)
}
