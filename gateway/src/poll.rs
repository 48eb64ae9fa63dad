//! Finding out what waits: one scheduler for all accounts.
//!
//! A [`Calendar`] says which account is due, one task takes the due ones and polls each in a task of its own, and
//! [`reconcile()`] decides what a poll means. An unchanged poll writes nothing.

mod apply;
mod calendar;
mod reconcile;
mod subjects;
mod tempo;

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use adapters::source::Failure;
use asks::ids::{AccountKey, SourceName};
use futures::FutureExt as _;
use tokio::sync::Semaphore;

pub use calendar::Calendar;
pub use reconcile::{Action, reconcile};
pub use subjects::{Subjects, forget, introduce, subject_of};
pub use tempo::{Outcome, Tempo};

use crate::accounts;
use crate::board::Health;
use crate::hub::Hub;
use calendar::Next;

/// How many polls run side by side at one source.
const POLLS_PER_SOURCE: usize = 64;
/// How many accounts are polled in the first second; the others follow at the same rate.
const START_RATE: u32 = 200;
/// How often an account is polled whose person has to sign in again: a host may have refused it by mistake.
const PARKED_PAUSE: Duration = Duration::from_hours(1);

/// Polls all accounts until the service begins to stop.
pub async fn run(hub: Arc<Hub>) {
    let gates: BTreeMap<&SourceName, Arc<Semaphore>> =
        hub.sources.keys().map(|name| (name, Arc::new(Semaphore::new(POLLS_PER_SOURCE)))).collect();
    let start = hub.clock.instant();
    let accounts = hub.links.accounts().into_iter().filter(|account| !hub.accounts.is_locked(account));
    for (position, account) in (0_u32..).zip(accounts) {
        hub.calendar.add(&account, start + Duration::from_secs(1) * position / START_RATE);
    }
    loop {
        let changed = hub.calendar.changed();
        match hub.calendar.next(hub.clock.instant()) {
            Next::Due(account) => {
                let Some(gate) = gates.get(&account.source).map(Arc::clone) else { continue };
                let hub = Arc::clone(&hub);
                hub.clone().spawn(async move {
                    let Ok(_permit) = gate.acquire().await else { return };
                    // Should a library panic, the account is polled again all the same. What a poll shares is in the ledger
                    // and behind locks that outlive a panic.
                    let polled = AssertUnwindSafe(one(&hub, &account)).catch_unwind().await;
                    if polled.is_err() {
                        tracing::error!(%account, "polling {account} crashed; please report this with the log");
                        hub.board.count("askgate_crashes_total");
                        hub.calendar.finished(&account, hub.clock.instant(), Duration::from_mins(1), &Outcome::Failed);
                    }
                });
            }
            Next::Wait(until) => {
                let pause =
                    until.map_or(Duration::from_hours(1), |at| at.saturating_duration_since(hub.clock.instant()));
                tokio::select! {
                    () = hub.stop.soft.cancelled() => return,
                    () = changed => {}
                    () = tokio::time::sleep(pause) => {}
                }
            }
        }
        if hub.stop.soft.is_cancelled() {
            return;
        }
    }
}

/// Polls one account once and puts it into the calendar again.
async fn one(hub: &Arc<Hub>, account: &AccountKey) {
    let Some(source) = hub.sources.get(&account.source) else { return };
    // Taken before the request is sent: what moves after this is not judged by the answer.
    let (as_of, began) = (hub.ledger.sequence(), hub.now());
    let polled = tokio::select! {
        () = hub.stop.soft.cancelled() => return,
        polled = source.port.pending(account) => polled,
    };
    hub.board.count("askgate_polls_total");
    // Unlinked meanwhile: what it says is nobody's any more.
    if !hub.links.knows(account) {
        return;
    }
    let polled = match polled {
        Ok(snapshot) => subjects::check(hub, account, snapshot).await,
        failed => failed,
    };
    let outcome = match polled {
        Ok(snapshot) => {
            // Reached: what had been reported of the account is forgotten, where there was something.
            if hub.calendar.is_failing(account) {
                hub.board.clear(&account_part(account));
            }
            accounts::accepted(hub, account).await;
            let was_down = hub.board.report(&source.part, Health::Fine);
            match apply::apply(hub, account, snapshot, as_of).await {
                Ok(active) => {
                    if was_down {
                        hub.calendar.hurry_failing(&account.source, hub.clock.instant());
                    }
                    Outcome::Listed { active }
                }
                Err(error) => {
                    tracing::warn!(%account, "what waits for {account} cannot be recorded now: {error}");
                    Outcome::Failed
                }
            }
        }
        Err(failure) => {
            let outcome = failed(hub, account, &source.part, &failure);
            let is_dead = matches!(failure, Failure::Unauthorised { .. } | Failure::OtherSubject);
            if is_dead && accounts::refused(hub, account, &failure.to_string(), began).await {
                Outcome::Later(PARKED_PAUSE)
            } else {
                outcome
            }
        }
    };
    let pace = source.port.pace(account).wait.unwrap_or_default();
    // Counting looks at every account, so it is left out where it does not matter.
    let others = if outcome == Outcome::Unreachable { hub.calendar.failing(&account.source) } else { 0 };
    let pause = hub.calendar.pause(account, &outcome, &source.config, others).max(pace);
    hub.calendar.finished(account, hub.clock.instant(), pause, &outcome);
}

fn failed(hub: &Hub, account: &AccountKey, part: &str, failure: &Failure) -> Outcome {
    hub.board.count("askgate_polls_failed_total");
    let why = failure.to_string();
    match failure {
        Failure::Unauthorised { .. } | Failure::OtherSubject | Failure::Forbidden | Failure::Gone => {
            // The source is there; only this account is not welcome.
            hub.board.report(part, Health::Fine);
            hub.board.report(&account_part(account), Health::Down { why });
            Outcome::Failed
        }
        Failure::RateLimited { after } => {
            // It is there, and it answers.
            hub.board.report(part, Health::Down { why });
            Outcome::Later(*after)
        }
        Failure::AsksOff => {
            hub.board.report(part, Health::Down { why });
            Outcome::Off
        }
        Failure::Unavailable { .. } => {
            hub.board.report(part, Health::Down { why });
            Outcome::Unreachable
        }
    }
}

/// The name of an account on the board.
pub(crate) fn account_part(account: &AccountKey) -> String {
    format!("account:{account}")
}
