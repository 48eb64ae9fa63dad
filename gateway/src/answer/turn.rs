//! Carrying one claimed answer to its source, until it is known how it ended.

use std::collections::hash_map::Entry;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use adapters::source::{Answer, Listed, Verdict};
use asks::ids::{AskKey, ButtonId};
use asks::life::{Claim, Hold, Life, UnixMillis};
use asks::place::Place;
use config::LockScreen;
use store::ledger::LedgerError;
use store::record::AskRecord;
use tokio_util::sync::CancellationToken;

use super::resolve::{self, Resolved};
use super::verdict::{Decision, decide};
use crate::announce;
use crate::hub::Hub;
use crate::moves::{self, Change};
use crate::quiet;
use crate::show::visible;

/// The longest pause before an answer that the source did not take is posted again.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// The longest such pause when only a person can mend it (a sign-in).
const LONGEST_SIGN_IN_PAUSE: Duration = Duration::from_mins(1);
/// How often "typing" is shown again; a platform shows it for about five seconds.
const TYPING: Duration = Duration::from_secs(4);
/// A pause that is worth telling the person about.
const WORTH_TELLING: Duration = Duration::from_secs(2);
/// The longest text of an agent that is shown, in characters; more is in the app.
const LONGEST_TEXT: usize = 20_000;

/// Starts the task that carries the answer, unless one does already.
pub fn start(hub: &Arc<Hub>, key: AskKey) {
    let begun = hub.clock.instant();
    match hub.in_flight.lock().unwrap_or_else(PoisonError::into_inner).entry(key.clone()) {
        Entry::Occupied(_) => return,
        Entry::Vacant(place) => place.insert(begun),
    };
    let hub = Arc::clone(hub);
    hub.clone().spawn(async move {
        // A task of its own: should a library panic, the answer is taken up again instead of waiting for a restart.
        let carried = {
            let (hub, key) = (Arc::clone(&hub), key.clone());
            tokio::spawn(async move { carry(&hub, &key).await }).await
        };
        if carried.is_err() {
            tracing::error!(ask = %key, "carrying the answer of {key} crashed; please report this with the log");
            hub.board.count("askgate_crashes_total");
            hub.wait_softly(LONGEST_PAUSE).await;
        }
        hub.in_flight.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
        hub.progress.notify_waiters();
        // A claim made after the last look and before the removal would otherwise wait for a restart.
        if let Ok(Some(record)) = hub.ledger.ask(&key).await
            && matches!(record.life, Life::Claimed { .. } | Life::Unclear { .. })
            && !hub.stop.soft.is_cancelled()
        {
            start(&hub, key);
        }
    });
}

async fn carry(hub: &Arc<Hub>, key: &AskKey) {
    let mut failures = 0;
    // A turn may have been posted whose outcome could not be saved: then the next round finds out, and posts nothing by itself.
    let mut in_doubt = false;
    loop {
        let pause = match once(hub, key, failures, &mut in_doubt).await {
            Ok(Round::Ended) => return,
            Ok(Round::Again) => {
                failures = 0;
                continue;
            }
            Ok(Round::After(pause)) => hub.jitter(pause),
            Err(error) => {
                // What the source said is not lost: its history tells it again.
                tracing::error!(ask = %key, "the outcome of {key} is not saved yet: {error}");
                in_doubt = true;
                Duration::from_secs(1)
            }
        };
        failures += 1;
        if !hub.wait_softly(pause).await {
            return;
        }
    }
}

/// What one round came to.
enum Round {
    /// Nothing is left to do.
    Ended,
    /// The ask moved; look again.
    Again,
    /// Try again after this long.
    After(Duration),
}

/// What an answer needs next.
#[derive(Debug, PartialEq)]
enum Need {
    /// Its turn is posted.
    Post(Claim),
    /// It may have been posted already: that is written down, and then found out.
    Doubt(Life),
    /// Its source is asked how it ended.
    FindOut(Claim),
    /// Nothing: it is over, or open again.
    Nothing,
}

/// A turn that may have been posted already is never posted again before its source said that it may be.
fn need(life: &Life, in_doubt: bool, now: UnixMillis) -> Need {
    match life {
        Life::Claimed { .. } if in_doubt => life.clone().unclear(now).map_or(Need::Nothing, Need::Doubt),
        Life::Claimed { claim, .. } => Need::Post(claim.clone()),
        Life::Unclear { claim, .. } => Need::FindOut(claim.clone()),
        _ => Need::Nothing,
    }
}

async fn once(hub: &Arc<Hub>, key: &AskKey, failures: u32, in_doubt: &mut bool) -> Result<Round, LedgerError> {
    let Some(record) = hub.ledger.ask(key).await? else { return Ok(Round::Ended) };
    let need = need(&record.life, *in_doubt, hub.now());
    // From here on the record itself says it.
    *in_doubt = matches!(need, Need::Doubt(_));
    match need {
        Need::Doubt(life) => {
            moves::make(hub, &record, Change::to(life).audited("unclear", "its outcome could not be saved")).await?;
            Ok(Round::Again)
        }
        Need::Post(claim) => {
            let Some(verdict) = post(hub, &record, &claim).await else { return Ok(Round::Ended) };
            follow(hub, &record, &claim, verdict, failures).await
        }
        Need::FindOut(claim) => match resolve::resolve(hub, &record, &claim).await? {
            Resolved::PostAgain(record) => {
                let Some(verdict) = post(hub, &record, &claim).await else { return Ok(Round::Ended) };
                match follow(hub, &record, &claim, verdict, failures).await? {
                    // Posted and still unclear: not at once again.
                    Round::Again => Ok(Round::After(resolve::pause(failures))),
                    round => Ok(round),
                }
            }
            Resolved::Move { life, said } => {
                let waits_for_reply = said.is_none() && matches!(*life, Life::Settled { .. });
                if waits_for_reply {
                    // Before the move, so that a crash after it does not forget to look for what the agent says.
                    resolve::expect_reply(hub, &record.key).await?;
                    faults::point("reply.expected");
                }
                let round = advance(
                    hub,
                    &record,
                    &claim,
                    Step { life: *life, said, kill: None, detail: "found in the history" },
                )
                .await?;
                if waits_for_reply && matches!(round, Round::Again) {
                    resolve::fetch_reply(hub, record.key.clone(), claim);
                }
                Ok(round)
            }
            Resolved::NotYet(pause) => Ok(Round::After(pause.max(resolve::pause(failures)))),
        },
        Need::Nothing => Ok(Round::Ended),
    }
}

/// Posts the turn; `None` when the service is stopped for good meanwhile (the claim stays, and is taken up at the next start).
async fn post(hub: &Arc<Hub>, record: &AskRecord, claim: &Claim) -> Option<Verdict> {
    let source = hub.source(&record.key)?;
    if hub.subjects.is_foreign(&record.account) {
        return Some(Verdict::Unauthorised);
    }
    hub.board.count("askgate_turns_posted_total");
    let typing = show_typing(hub, claim.place.clone());
    let answer = match &claim.response {
        Some(response) => Answer::Response(response.clone()),
        None => Answer::Button(claim.button.clone()),
    };
    let verdict = tokio::select! {
        () = hub.stop.hard.cancelled() => None,
        verdict = source.port.answer(&record.account, &record.key, &answer) => Some(verdict),
    };
    typing.cancel();
    faults::point("turn.posted");
    if let Some(verdict) = &verdict {
        tracing::info!(ask = %record.key, verdict = verdict_name(verdict), "the source says {} to the answer of {}", verdict_name(verdict), record.key);
    }
    verdict
}

async fn follow(
    hub: &Arc<Hub>,
    record: &AskRecord,
    claim: &Claim,
    verdict: Verdict,
    failures: u32,
) -> Result<Round, LedgerError> {
    let detail = verdict_name(&verdict);
    match decide(&record.life, claim, verdict, hub.now()) {
        Decision::Move { life, said, next, kill } => {
            let round = advance(hub, record, claim, Step { life: *life, said, kill, detail }).await?;
            if let Some(next) = next {
                announce_next(hub, record, *next).await;
            }
            hub.calendar.hurry(&record.account, hub.clock.instant());
            Ok(round)
        }
        Decision::Hold { hold, after } => {
            let longest = if hold == Hold::SignIn { LONGEST_SIGN_IN_PAUSE } else { LONGEST_PAUSE };
            let pause = after.unwrap_or_else(|| Duration::from_secs(1 << failures.min(6)).min(longest));
            if pause >= WORTH_TELLING || hold == Hold::SignIn {
                tell_hold(hub, record, hold).await?;
            }
            Ok(Round::After(pause))
        }
        Decision::Resolve => Ok(Round::Again),
    }
}

/// A move and what belongs to it.
struct Step {
    life: Life,
    said: Option<String>,
    kill: Option<ButtonId>,
    detail: &'static str,
}

async fn advance(hub: &Arc<Hub>, record: &AskRecord, claim: &Claim, step: Step) -> Result<Round, LedgerError> {
    let notices = step.said.map(|said| notices(hub, record, claim, &said)).unwrap_or_default();
    let event = step.life.name();
    let change = Change::to(step.life).audited(event, step.detail).killing(step.kill).with_notices(notices);
    moves::make(hub, record, change).await?;
    Ok(Round::Again)
}

async fn tell_hold(hub: &Arc<Hub>, record: &AskRecord, hold: Hold) -> Result<(), LedgerError> {
    match record.life.clone().held(Some(hold)) {
        Ok(life) if life != record.life => moves::make(hub, record, Change::to(life)).await.map(drop),
        _ => Ok(()),
    }
}

async fn announce_next(hub: &Arc<Hub>, record: &AskRecord, next: Listed) {
    if let Err(error) = announce::announce(hub, &record.account, next).await {
        tracing::warn!(ask = %record.key, "the next ask after {} is not recorded yet; the next poll brings it: {error}", record.key);
    }
}

/// Where the agent's words go, and in which form.
pub(super) fn notices(hub: &Hub, record: &AskRecord, claim: &Claim, said: &str) -> Vec<(Place, String)> {
    let text = visible(said.trim());
    let text = if text.chars().count() > LONGEST_TEXT {
        let kept: String = text.chars().take(LONGEST_TEXT).collect();
        format!("{kept}\n{}", hub.words(&record.account).rest_in_app())
    } else {
        text
    };
    // A shared place that shows only titles must not show what the agent says either.
    let places = if hub.links.is_summary(&claim.place) {
        hub.links.direct_places(&record.account)
    } else {
        vec![claim.place.clone()]
    };
    let private = hub.links.phone(&record.account).lock_screen != LockScreen::Full;
    let told = |place: &Place| {
        if private && quiet::is_notification(place) { hub.words(&record.account).replied() } else { text.clone() }
    };
    places.into_iter().map(|place| (place.clone(), told(&place))).collect()
}

/// Shows "typing" where the answer came from, until cancelled.
fn show_typing(hub: &Arc<Hub>, place: Place) -> CancellationToken {
    let over = CancellationToken::new();
    let Some(channel) = hub.channels.get(&place.channel()).map(Arc::clone) else { return over };
    let (until, hub) = (over.clone(), Arc::clone(hub));
    hub.clone().spawn(async move {
        // A quick turn needs no sign that it runs.
        let mut pause = Duration::from_millis(700);
        loop {
            tokio::select! {
                () = until.cancelled() => return,
                () = hub.stop.soft.cancelled() => return,
                () = tokio::time::sleep(pause) => channel.working(&place).await,
            }
            pause = TYPING;
        }
    });
    over
}

const fn verdict_name(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Accepted { .. } => "accepted",
        Verdict::AcceptedWithError { .. } => "accepted_with_error",
        Verdict::Reopened { .. } => "reopened",
        Verdict::NotPending => "not_pending",
        Verdict::UnknownButton => "unknown_button",
        Verdict::Invalid { .. } => "invalid",
        Verdict::Forbidden => "forbidden",
        Verdict::Unauthorised => "unauthorised",
        Verdict::Gone => "gone",
        Verdict::RateLimited { .. } => "rate_limited",
        Verdict::Unavailable { .. } => "unavailable",
        Verdict::Unclear { .. } => "unclear",
    }
}

#[cfg(test)]
mod tests {
    use asks::place::Actor;

    use super::*;

    #[test]
    fn a_turn_whose_outcome_could_not_be_saved_is_looked_up_before_anything_is_posted() {
        let claim = Claim {
            button: "option:team".into(),
            label: "Team".to_owned(),
            actor: Actor::Telegram(5),
            actor_name: None,
            place: Place::Telegram { chat: 7, topic: None },
            at: 1,
            response: None,
        };
        let claimed = Life::Claimed { claim: claim.clone(), hold: None };
        assert_eq!(need(&claimed, false, 2), Need::Post(claim.clone()));
        let unclear = Life::Unclear { claim: claim.clone(), since: 2, tries: 0 };
        assert_eq!(need(&claimed, true, 2), Need::Doubt(unclear.clone()), "it may have arrived");
        for in_doubt in [false, true] {
            assert_eq!(need(&unclear, in_doubt, 3), Need::FindOut(claim.clone()));
            assert_eq!(need(&Life::Live { note: None }, in_doubt, 3), Need::Nothing);
        }
    }
}
