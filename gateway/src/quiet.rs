//! When phones are disturbed: quiet hours, reminders, one digest a day.
//!
//! Quiet hours hold the sound, not the ask: a notification is there at once and silent, and what still waits when they end gets
//! one that is heard, on the same card. Nothing here keeps a plan: each minute the time since the last look is compared with
//! what waits, and the last look is in the ledger, so that a restart changes nothing and what an end, a digest or a reminder
//! would say to an ask that was answered meanwhile is never said.

use std::sync::Arc;
use std::time::Duration;

use asks::ids::AccountKey;
use asks::life::UnixMillis;
use asks::place::Place;
use store::ledger::LedgerError;
use store::record::{AskRecord, Delivery, DeliveryState};

use crate::announce;
use crate::hub::Hub;
use crate::links::Phone;
use crate::moves::{self, Change};

/// How often the time is looked at.
const LOOK: Duration = Duration::from_secs(5);
/// The name under which the ledger keeps when it was looked at last.
const LAST_LOOK: &str = "quiet/last-look";
/// Before the names under which the ledger keeps how often somebody was reminded of an ask.
const REMINDED: &str = "quiet/reminded/";
/// How long what was missed is made up for: an end of quiet hours that passed days ago wakes nobody now.
const MADE_UP_FOR: UnixMillis = 12 * 60 * 60 * 1000;
/// How often the last look is written down.
const NOTE_EVERY: UnixMillis = 60 * 1000;

/// Whether a place is a notification on a locked screen.
#[must_use]
pub const fn is_notification(place: &Place) -> bool {
    matches!(place, Place::Ntfy(_) | Place::Web(_))
}

/// What is due for an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Due {
    /// Its quiet hours ended: what waits is heard now.
    heard: bool,
    /// Its digest.
    digest: bool,
}

/// What became due between two looks.
fn due(phone: &Phone, before: UnixMillis, now: UnixMillis) -> Due {
    let before = before.max(now.saturating_sub(MADE_UP_FOR));
    let passed = |at: Option<UnixMillis>| at.is_some_and(|at| at <= now);
    let digest = phone.digest.as_ref().is_some_and(|digest| passed(digest.next(before)));
    let ended = phone
        .quiet_hours
        .as_ref()
        .is_some_and(|hours| hours.is_quiet(before) && passed(hours.ends(before)) && !hours.is_quiet(now));
    // With a digest, that one message is what is heard in the morning.
    Due { heard: ended && phone.digest.is_none(), digest }
}

/// How many reminders an ask should have had by now.
fn reminders(phone: &Phone, first_seen: UnixMillis, now: UnixMillis) -> u32 {
    let Some(after) = phone.remind_after.and_then(|after| i64::try_from(after.as_millis()).ok()) else { return 0 };
    let passed = now.saturating_sub(first_seen) / after.max(1);
    u32::try_from(passed).unwrap_or(0).min(phone.remind_most)
}

/// Looks at the time until the service begins to stop.
pub async fn run(hub: Arc<Hub>) {
    loop {
        if let Err(error) = look(&hub).await {
            tracing::warn!("reminders and quiet hours were not looked at: {error}");
        }
        if !hub.wait_softly(LOOK).await {
            return;
        }
    }
}

async fn look(hub: &Arc<Hub>) -> Result<(), LedgerError> {
    let now = hub.now();
    let phones: Vec<(AccountKey, Phone)> = hub
        .links
        .accounts()
        .into_iter()
        .map(|account| (account.clone(), hub.links.phone(&account)))
        .filter(|(_, phone)| phone.quiet_hours.is_some() || phone.digest.is_some() || phone.remind_after.is_some())
        .collect();
    if phones.is_empty() {
        return Ok(());
    }
    let before = hub.ledger.recall(LAST_LOOK).await?.and_then(|at| at.parse().ok()).unwrap_or(now);
    let mut something = false;
    for (account, phone) in phones {
        let due = due(&phone, before, now);
        let waiting: Vec<AskRecord> =
            hub.ledger.open_asks(Some(&account)).await?.into_iter().filter(|record| record.life.is_open()).collect();
        something |= due != Due::default();
        if due.digest {
            digest(hub, &account, &waiting).await?;
        }
        for record in &waiting {
            if due.heard {
                sound(hub, record).await?;
            }
            if !phone.quiet_hours.as_ref().is_some_and(|hours| hours.is_quiet(now)) {
                remind(hub, record, reminders(&phone, record.first_seen, now)).await?;
            }
        }
    }
    // After what it led to: a crash in between repeats a sound, and forgets none.
    if something || now.saturating_sub(before) >= NOTE_EVERY || before == now {
        hub.ledger.remember(LAST_LOOK, Some(now.to_string())).await?;
        forget_reminders(hub).await?;
    }
    Ok(())
}

/// Publishes an ask's notifications once more, on the same cards; what is shown decides how loud.
async fn sound(hub: &Arc<Hub>, record: &AskRecord) -> Result<bool, LedgerError> {
    let mut sounded = false;
    for delivery in hub.ledger.deliveries(&record.key).await? {
        let DeliveryState::Shown { message, .. } = &delivery.state else { continue };
        if is_notification(&delivery.place) {
            // What it says is said again, because nothing that is shown equals it.
            let state = DeliveryState::Shown { message: message.clone(), rendered: 0 };
            let again = Delivery { state, ..delivery.clone() };
            hub.ledger.save_delivery(again.clone()).await?;
            announce::touch_delivery(hub, &again).await?;
            sounded = true;
        }
    }
    Ok(sounded)
}

/// Calls an ask to mind, if it should have been by now: a nudge for the same card, never a second one.
async fn remind(hub: &Arc<Hub>, record: &AskRecord, wanted: u32) -> Result<(), LedgerError> {
    if wanted == 0 {
        return Ok(());
    }
    let name = format!("{REMINDED}{}/{}/{}", record.key.source, record.key.conversation, record.key.ask);
    let had: u32 = hub.ledger.recall(&name).await?.and_then(|count| count.parse().ok()).unwrap_or(0);
    if had >= wanted {
        return Ok(());
    }
    // Written first: a crash costs a reminder, and never makes one more.
    hub.ledger.remember(&name, Some(wanted.to_string())).await?;
    sound(hub, record).await?;
    let chats: Vec<Place> =
        hub.links.direct_places(&record.account).into_iter().filter(|place| !is_notification(place)).collect();
    let sentence = hub.words(&record.account).still_waits();
    let notices = chats.into_iter().map(|place| (place, sentence.clone())).collect();
    moves::make(hub, record, Change::none(record).with_notices(notices)).await.map(drop)
}

/// Forgets how often somebody was reminded of what is not waiting any more.
async fn forget_reminders(hub: &Arc<Hub>) -> Result<(), LedgerError> {
    let kept = hub.ledger.recall_all(REMINDED).await?;
    if kept.is_empty() {
        return Ok(());
    }
    let open: Vec<String> = hub
        .ledger
        .open_asks(None)
        .await?
        .into_iter()
        .filter(|record| !record.life.is_over())
        .map(|record| format!("{REMINDED}{}/{}/{}", record.key.source, record.key.conversation, record.key.ask))
        .collect();
    for (name, _) in kept.into_iter().filter(|(name, _)| !open.contains(name)) {
        hub.ledger.remember(&name, None).await?;
    }
    Ok(())
}

/// One message about all that waits, at the account's own places.
async fn digest(hub: &Arc<Hub>, account: &AccountKey, waiting: &[AskRecord]) -> Result<(), LedgerError> {
    // A text belongs to an ask; it is kept as long as that one is.
    let Some(oldest) = waiting.iter().min_by_key(|record| record.first_seen) else { return Ok(()) };
    let sentence = hub.words(account).digest(waiting.len());
    let notices = hub.links.direct_places(account).into_iter().map(|place| (place, sentence.clone())).collect();
    moves::make(hub, oldest, Change::none(oldest).with_notices(notices)).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: UnixMillis = 60 * 60 * 1000;
    /// 2026-12-01, midnight in UTC.
    const DAY: UnixMillis = 1_796_083_200_000;

    fn phone() -> Phone {
        Phone { quiet_hours: Some("22:00-07:00 UTC".parse().expect("hours")), ..Phone::default() }
    }

    #[test]
    fn c67_what_waits_is_heard_once_when_quiet_hours_end() {
        let phone = phone();
        assert_eq!(due(&phone, DAY + 6 * HOUR, DAY + 6 * HOUR + 1), Due::default(), "still quiet");
        assert!(due(&phone, DAY + 7 * HOUR - 1, DAY + 7 * HOUR).heard);
        assert!(!due(&phone, DAY + 7 * HOUR, DAY + 7 * HOUR + 1).heard, "once");
        assert!(due(&phone, DAY + 2 * HOUR, DAY + 8 * HOUR).heard, "also when nobody looked in between");
        assert!(!due(&phone, DAY - 30 * HOUR, DAY + 20 * HOUR).heard, "but not half a day later");
    }

    #[test]
    fn a_digest_comes_instead_of_the_sounds_and_once_a_day() {
        let zone = "UTC".parse().expect("a zone");
        let phone = Phone { digest: Some(config::DailyTime::parse("08:00", &zone).expect("a time")), ..phone() };
        assert_eq!(due(&phone, DAY + 7 * HOUR - 1, DAY + 7 * HOUR), Due::default());
        assert_eq!(due(&phone, DAY + 8 * HOUR - 1, DAY + 8 * HOUR), Due { heard: false, digest: true });
        assert_eq!(due(&phone, DAY + 8 * HOUR, DAY + 9 * HOUR), Due::default());
    }

    #[test]
    fn c68_reminders_are_counted_and_capped() {
        let phone = Phone { remind_after: Some(Duration::from_hours(2)), remind_most: 3, ..Phone::default() };
        let table = [(0, 0), (1, 0), (2, 1), (5, 2), (6, 3), (1_000, 3), (-5, 0)];
        for (hours, wanted) in table {
            assert_eq!(reminders(&phone, DAY, DAY + hours * HOUR), wanted, "{hours} h");
        }
        assert_eq!(reminders(&Phone::default(), DAY, DAY + 99 * HOUR), 0, "off by default");
    }
}
