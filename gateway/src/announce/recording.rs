//! Recording a new ask, and reading what its buttons would send.

use std::sync::Arc;
use std::time::Duration;

use adapters::source::{Failure, Listed};
use asks::ids::{AccountKey, AskKey};
use asks::life::Life;
use store::ledger::{LedgerError, NewAsk, Recorded};
use store::record::{AskRecord, Seq};

use crate::hub::Hub;
use crate::show::content;

/// How long an announcement waits for the content of a button; without it the card goes out with the hand-off only.
const CONTENT_DEADLINE: Duration = Duration::from_secs(5);
/// When reading the content is tried again after it failed.
const CONTENT_RETRIES: [Duration; 4] =
    [Duration::from_secs(2), Duration::from_secs(10), Duration::from_mins(1), Duration::from_mins(5)];

/// Records an ask that a poll or a turn's reply brought, and marks its cards to be shown. Both ways come through here and may
/// come twice.
///
/// # Errors
/// If it was not saved; then it is announced by a later poll.
pub async fn announce(hub: &Arc<Hub>, account: &AccountKey, listed: Listed) -> Result<Recorded, LedgerError> {
    let key = AskKey { source: account.source.clone(), conversation: listed.conversation, ask: listed.ask };
    if let Some(known) = hub.ledger.ask(&key).await? {
        return Ok(Recorded::Known(known));
    }
    let now = hub.now();
    let mut record = AskRecord {
        key,
        account: account.clone(),
        card: listed.card,
        content: None,
        conversation_title: listed.conversation_title,
        first_seen: now,
        created: listed.created,
        life: Life::Announcing,
        dead_buttons: Vec::new(),
        seq: Seq::default(),
        moved_at: now,
        finished: false,
    };
    let needs_content = content::is_needed(&record.card);
    if needs_content {
        record.content = tokio::time::timeout(CONTENT_DEADLINE, read(hub, &record)).await.ok().flatten();
    }
    let retry = needs_content && record.content.is_none();
    let places = hub.links.places(account);
    let recorded = hub.ledger.record(NewAsk { record, places }).await?;
    if let Recorded::New(record, deliveries) = &recorded {
        tracing::info!(ask = %record.key, account = %record.account, kind = %record.card.kind, places = deliveries.len(), "new ask {}", record.key);
        hub.board.count("askgate_asks_seen_total");
        for delivery in deliveries {
            super::touch_delivery(hub, delivery).await?;
        }
        if retry {
            let (hub, key) = (Arc::clone(hub), record.key.clone());
            hub.clone().spawn(async move { keep_reading(&hub, &key).await });
        }
    }
    Ok(recorded)
}

async fn keep_reading(hub: &Arc<Hub>, key: &AskKey) {
    for pause in CONTENT_RETRIES {
        if !hub.wait_softly(pause).await {
            return;
        }
        match read_content(hub, key).await {
            Ok(true) => return,
            Ok(false) => {}
            Err(error) => tracing::warn!(ask = %key, "cannot keep what the buttons of {key} would send: {error}"),
        }
    }
}

/// Reads what an open ask's buttons would send, keeps it, and marks the cards to show it. Returns whether nothing is left to
/// read.
///
/// # Errors
/// If it was not saved.
pub async fn read_content(hub: &Arc<Hub>, key: &AskKey) -> Result<bool, LedgerError> {
    let Some(record) = hub.ledger.ask(key).await? else { return Ok(true) };
    if record.content.is_some() || !record.life.is_open() || !content::is_needed(&record.card) {
        return Ok(true);
    }
    let Some(content) = read(hub, &record).await else { return Ok(false) };
    hub.ledger.set_content(key, content).await?;
    super::touch(hub, key).await?;
    Ok(true)
}

async fn read(hub: &Hub, record: &AskRecord) -> Option<String> {
    let source = hub.source(&record.key)?;
    match source.port.read(&record.account, &record.key.conversation).await {
        Ok(conversation) => {
            let (_, input) = conversation.pending.filter(|(ask, _)| *ask == record.key.ask)?;
            content::spell_out(&record.card, &input, hub.words(&record.account))
        }
        Err(failure @ (Failure::Forbidden | Failure::Gone)) => {
            tracing::info!(ask = %record.key, "cannot read what the buttons of {} would send: {failure}", record.key);
            None
        }
        Err(failure) => {
            tracing::debug!(ask = %record.key, "not read yet: {failure}");
            None
        }
    }
}
