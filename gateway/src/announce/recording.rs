//! Recording a new ask, and reading what its buttons would send.

use std::sync::Arc;
use std::time::Duration;

use adapters::source::{Failure, Listed};
use asks::ids::{AccountKey, AskKey};
use asks::life::Life;
use futures::{FutureExt as _, StreamExt as _, stream};
use store::ledger::{LedgerError, NewAsk, Recorded};
use store::record::{AskRecord, Seq};

use crate::hub::Hub;
use crate::show::content;

/// How long an announcement waits for the content of a button; without it the card goes out with the hand-off only.
const CONTENT_DEADLINE: Duration = Duration::from_secs(3);
/// When reading the content is tried again after it failed.
const CONTENT_RETRIES: [Duration; 4] =
    [Duration::from_secs(2), Duration::from_secs(10), Duration::from_mins(1), Duration::from_mins(5)];

/// How many conversations are read side by side for what one poll brought.
const READS: usize = 16;

/// Records an ask that a turn's reply brought, and marks its cards to be shown. A poll may bring it too.
///
/// # Errors
/// If it was not saved; then it is announced by a later poll.
pub async fn announce(hub: &Arc<Hub>, account: &AccountKey, listed: Listed) -> Result<Recorded, LedgerError> {
    let mut record = new_record(hub, account, listed);
    if let Some(known) = hub.ledger.ask(&record.key).await? {
        return Ok(Recorded::Known(known));
    }
    if content::is_needed(&record.card) {
        record.content = tokio::time::timeout(CONTENT_DEADLINE, read(hub, &record)).await.ok().flatten();
    }
    keep(hub, record).await
}

/// Records the asks that a poll brought, oldest first, and marks their cards to be shown. What their buttons would send is
/// read side by side, so that a source that hangs delays all of them by one deadline and not by one for each.
pub async fn announce_all(hub: &Arc<Hub>, account: &AccountKey, listed: Vec<Listed>) {
    let late = tokio::time::sleep(CONTENT_DEADLINE).shared();
    let read_in_time = |mut record: AskRecord| {
        let late = late.clone();
        async move {
            if content::is_needed(&record.card) {
                record.content = tokio::select! {
                    content = read(hub, &record) => content,
                    () = late => None,
                };
            }
            record
        }
    };
    let records = listed.into_iter().map(|listed| new_record(hub, account, listed));
    let records: Vec<AskRecord> = stream::iter(records).map(read_in_time).buffered(READS).collect().await;
    for record in records {
        let key = record.key.clone();
        // One ask that cannot be recorded does not hold back its siblings; the next poll brings it again.
        if let Err(error) = keep(hub, record).await {
            tracing::warn!(ask = %key, "ask {key} cannot be recorded now: {error}");
        }
    }
}

fn new_record(hub: &Hub, account: &AccountKey, listed: Listed) -> AskRecord {
    let now = hub.now();
    AskRecord {
        key: AskKey { source: account.source.clone(), conversation: listed.conversation, ask: listed.ask },
        account: account.clone(),
        card: listed.card,
        content: None,
        conversation_title: listed.conversation_title,
        first_seen: now,
        created: listed.created,
        life: Life::Announcing,
        dead_buttons: Vec::new(),
        unused: 0,
        votes: Vec::new(),
        seq: Seq::default(),
        moved_at: now,
        finished: false,
    }
}

async fn keep(hub: &Arc<Hub>, record: AskRecord) -> Result<Recorded, LedgerError> {
    let retry = content::is_needed(&record.card) && record.content.is_none();
    let places = hub.links.places(&record.account);
    let recorded = hub.ledger.record(NewAsk { record, places }).await?;
    faults::point("ask.recorded");
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

/// Goes on reading what the buttons of an open ask would send, after a start.
pub(super) fn resume(hub: &Arc<Hub>, record: &AskRecord) {
    if content::is_needed(&record.card) && record.content.is_none() {
        let (hub, key) = (Arc::clone(hub), record.key.clone());
        hub.clone().spawn(async move { keep_reading(&hub, &key).await });
    }
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
