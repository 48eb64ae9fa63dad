//! Finding out how an answer ended that nobody confirmed: a fresh poll first, then the conversation itself.

use std::sync::Arc;
use std::time::Duration;

use adapters::source::{Failure, Repost};
use asks::ids::AskKey;
use asks::life::{Claim, Life, Note, Outcome, UnixMillis, Why};
use store::ledger::LedgerError;
use store::record::AskRecord;

use super::{history, turn};
use crate::hub::Hub;
use crate::moves::{self, Change};

/// The longest pause between two looks.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// How often the conversation is read for a reply that was lost, with doubling pauses from one second.
const REPLY_LOOKS: u32 = 8;

/// What the replies that are looked for are remembered under.
const EXPECTED: &str = "reply/";

/// What was found out.
pub(super) enum Resolved {
    /// The ask waits still: the same answer is posted once more, and that is written down.
    PostAgain(Box<AskRecord>),
    /// It ended, or is open again.
    Move {
        /// Where it stands.
        life: Box<Life>,
        /// What the agent said after our answer.
        said: Option<String>,
    },
    /// Nothing yet; look again, not before this long.
    NotYet(Duration),
}

/// The pause before look number `failures`.
pub(super) fn pause(failures: u32) -> Duration {
    Duration::from_millis(500 << failures.min(6)).min(LONGEST_PAUSE)
}

/// Looks once.
///
/// # Errors
/// If the ledger could not be read or written.
pub(super) async fn resolve(hub: &Arc<Hub>, record: &AskRecord, claim: &Claim) -> Result<Resolved, LedgerError> {
    let Some(source) = hub.source(&record.key) else { return Ok(Resolved::NotYet(LONGEST_PAUSE)) };
    // Never closed; held over what goes to the source and over the try that is counted, not over the post.
    let Ok(_permit) = source.look_ups.acquire().await else { return Ok(Resolved::NotYet(LONGEST_PAUSE)) };
    let snapshot = match source.port.pending(&record.account).await {
        Ok(snapshot) => snapshot,
        Err(Failure::RateLimited { after }) => return Ok(Resolved::NotYet(after)),
        Err(failure) => {
            tracing::debug!(ask = %record.key, "cannot find out yet how the answer of {} ended: {failure}", record.key);
            return Ok(Resolved::NotYet(Duration::ZERO));
        }
    };
    let key = &record.key;
    let listed = snapshot.asks.iter().any(|ask| ask.conversation == key.conversation && ask.ask == key.ask)
        || snapshot.unreadable.iter().any(|(conversation, ask)| *conversation == key.conversation && *ask == key.ask);
    if listed {
        return post_again(hub, record, claim, source.port.repost()).await;
    }
    if !snapshot.complete {
        return Ok(Resolved::NotYet(Duration::ZERO));
    }
    let conversation = match source.port.read(&record.account, &key.conversation).await {
        Ok(conversation) => conversation,
        Err(Failure::Gone) => return Ok(moved(record.life.clone().withdrawn(Why::Gone), None)),
        Err(Failure::Forbidden) => return Ok(moved(record.life.clone().withdrawn(Why::Forbidden), None)),
        Err(failure) => {
            tracing::debug!(ask = %key, "cannot read how the answer of {key} ended: {failure}");
            return Ok(Resolved::NotYet(Duration::ZERO));
        }
    };
    if history::is_pending(record, &conversation) {
        return Ok(Resolved::NotYet(Duration::ZERO));
    }
    let Some(row) = history::row(record, &conversation) else {
        // A missing row proves something only where every row could be read.
        return Ok(if conversation.complete {
            moved(record.life.clone().withdrawn(Why::Elsewhere { label: None }), None)
        } else {
            Resolved::NotYet(LONGEST_PAUSE)
        });
    };
    if history::is_answer_of(&record.card, claim, &row.response) {
        let said = Some(row.said_after.clone()).filter(|said| !said.trim().is_empty());
        return Ok(moved(record.life.clone().accepted(None), said));
    }
    let label = history::label_of(&record.card, &row.response);
    Ok(moved(record.life.clone().answered_elsewhere(label), None))
}

async fn post_again(
    hub: &Arc<Hub>,
    record: &AskRecord,
    claim: &Claim,
    repost: Repost,
) -> Result<Resolved, LedgerError> {
    let Some(life) = counted_try(&record.life, repost, hub.now()) else {
        return Ok(moved(record.life.clone().reopened(Note::NotDelivered { claim: claim.clone() }), None));
    };
    // The try is counted before it is made, so that a crash loop cannot make more of them.
    let change = Change::to(life).audited("posted again", "a fresh poll still lists it");
    match moves::make(hub, record, change).await? {
        Some(record) => {
            faults::point("turn.try-counted");
            Ok(Resolved::PostAgain(record))
        }
        None => Ok(Resolved::NotYet(Duration::ZERO)),
    }
}

/// Where the ask stands once another try is counted; `None` when there may be none.
fn counted_try(life: &Life, repost: Repost, now: UnixMillis) -> Option<Life> {
    match repost {
        Repost::Safe => life.clone().tried_again(now).ok(),
        // It could run something twice: its person decides, who sees that it is not known to have arrived.
        Repost::Never => None,
    }
}

fn moved(life: Result<Life, asks::life::IllegalMove>, said: Option<String>) -> Resolved {
    match life {
        Ok(life) => Resolved::Move { life: Box::new(life), said },
        Err(_) => Resolved::NotYet(Duration::ZERO),
    }
}

/// Writes down that the agent's reply to an answer is still to be looked for.
///
/// # Errors
/// If it was not saved.
pub(super) async fn expect_reply(hub: &Hub, key: &AskKey) -> Result<(), LedgerError> {
    hub.ledger.remember(&expected(key), serde_json::to_string(key).ok()).await
}

/// Goes on looking for the replies that were being looked for when the process ended.
///
/// # Errors
/// If they could not be read.
pub(super) async fn resume_replies(hub: &Arc<Hub>) -> Result<(), LedgerError> {
    for (name, key) in hub.ledger.recall_all(EXPECTED).await? {
        let record = match serde_json::from_str::<AskKey>(&key) {
            Ok(key) => hub.ledger.ask(&key).await?,
            Err(_) => None,
        };
        match record {
            Some(AskRecord { key, life: Life::Settled { outcome: Outcome::Ours { claim, .. } }, .. }) => {
                fetch_reply(hub, key, claim);
            }
            // The crash came before the move: whoever makes it writes this down again.
            _ => hub.ledger.remember(&name, None).await?,
        }
    }
    Ok(())
}

fn expected(key: &AskKey) -> String {
    format!("{EXPECTED}{}/{}/{}", key.source, key.conversation, key.ask)
}

/// Looks in the conversation for the agent's reply to an answer whose response was lost, because the turn may run still.
pub(super) fn fetch_reply(hub: &Arc<Hub>, key: AskKey, claim: Claim) {
    let hub = Arc::clone(hub);
    hub.clone().spawn(async move {
        for look in 0..REPLY_LOOKS {
            if !hub.wait_softly(Duration::from_secs(1 << look)).await {
                return;
            }
            match reply(&hub, &key, &claim).await {
                Ok(true) => break,
                Ok(false) => {}
                Err(error) => tracing::warn!(ask = %key, "the reply after {key} is not saved yet: {error}"),
            }
        }
        if let Err(error) = hub.ledger.remember(&expected(&key), None).await {
            tracing::warn!(ask = %key, "that the reply after {key} was found is not saved: {error}");
        }
    });
}

async fn reply(hub: &Arc<Hub>, key: &AskKey, claim: &Claim) -> Result<bool, LedgerError> {
    let (Some(record), Some(source)) = (hub.ledger.ask(key).await?, hub.source(key)) else { return Ok(true) };
    if !matches!(record.life, Life::Settled { .. }) {
        return Ok(true);
    }
    let Ok(conversation) = source.port.read(&record.account, &key.conversation).await else { return Ok(false) };
    let Some(row) = history::row(&record, &conversation).filter(|row| !row.said_after.trim().is_empty()) else {
        // The agent asked next, or still runs; the poll brings what it asks.
        return Ok(conversation.pending.is_some());
    };
    let notices = turn::notices(hub, &record, claim, &row.said_after);
    moves::make(hub, &record, Change::none(&record).with_notices(notices)).await?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use asks::life::MAX_REPOSTS;
    use asks::place::{Actor, Place};

    use super::*;

    #[test]
    fn only_a_source_that_takes_an_answer_once_gets_it_again_and_not_for_ever() {
        let claim = Claim {
            button: "approve".into(),
            label: "Go".to_owned(),
            actor: Actor::Telegram(5),
            actor_name: None,
            place: Place::Telegram { chat: 7, topic: None },
            at: 1,
            response: None,
        };
        let unclear = Life::Unclear { claim, since: 10, tries: 0 };
        assert_eq!(counted_try(&unclear, Repost::Never, 11), None);
        let mut life = unclear;
        let mut posts = 0;
        while let Some(next) = counted_try(&life, Repost::Safe, 11) {
            life = next;
            posts += 1;
        }
        assert_eq!(posts, MAX_REPOSTS);
    }
}
