//! Keeps listeners running: one that ends, crashes, or has not heard its platform for too long is begun anew.
//!
//! Every await of a listener has a deadline, and it connects again by itself. This is the net below that: whatever keeps a
//! listener from hearing, known or not, ends with a new one on new connections.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use adapters::channel::{Channel, Failure, Hearing};
use adapters::clock::SharedClock;
use tokio_util::sync::CancellationToken;

use crate::board::{Health, channel_part};
use crate::desk::FrontDesk;
use crate::hub::Hub;

/// The pause before a listener that ended is begun anew.
const PAUSE: Duration = Duration::from_secs(5);
/// The longest pause, for one that ends again and again because its platform refuses it.
const LONGEST_PAUSE: Duration = Duration::from_mins(5);
/// How long a listener that is given up may take to let go of what it holds.
const LETTING_GO: Duration = Duration::from_secs(1);

/// Keeps one channel's listener running; only a refused token or the end of the service ends it for good.
pub async fn keep(hub: Arc<Hub>, channel: Arc<dyn Channel>) {
    let part = channel_part(channel.kind());
    let mut refusals = 0;
    loop {
        let vigil = Arc::new(Vigil::new(channel.patience(), hub.clock.instant()));
        let desk = Arc::new(FrontDesk::new(Arc::clone(&hub), Arc::clone(&vigil)));
        let listening = Arc::clone(&channel).listen(desk, hub.stop.soft.clone());
        let ended = watch(listening, &vigil, &hub.clock, &hub.stop.soft).await;
        if hub.stop.soft.is_cancelled() {
            return;
        }
        refusals = if matches!(ended, Ended::Refused(_)) { refusals + 1 } else { 0 };
        let (why, pause) = match ended {
            Ended::Unauthorised => {
                hub.board.report(part, Health::Bad { why: Failure::Unauthorised.to_string() });
                return;
            }
            // It was silent for long enough.
            Ended::Silent(why) => (why, Duration::ZERO),
            Ended::Refused(why) => (why, PAUSE.saturating_mul(1 << (refusals - 1).min(16)).min(LONGEST_PAUSE)),
            Ended::Otherwise(why) => (why, PAUSE),
        };
        hub.board.count("askgate_listener_restarts_total");
        tracing::warn!(part, ?pause, why, "the listener of {part} is begun anew");
        hub.board.report(part, Health::Bad { why });
        if !hub.wait_softly(pause).await {
            return;
        }
    }
}

/// Since when a listener has not heard its platform, and why, if it said so.
#[derive(Debug)]
pub struct Vigil {
    /// How long it may be silent; `None` for ever.
    patience: Option<Duration>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The last success, or the end of a wait that the platform asked for.
    heard: Instant,
    why: Option<String>,
}

impl Vigil {
    /// A vigil that begins now.
    #[must_use]
    pub fn new(patience: Option<Duration>, now: Instant) -> Self {
        Self { patience, state: Mutex::new(State { heard: now, why: None }) }
    }

    /// The listener told how it is doing.
    pub fn note(&self, hearing: &Hearing, now: Instant) {
        let mut state = self.state();
        match hearing {
            Hearing::Listening => *state = State { heard: now, why: None },
            Hearing::Deaf { why } => state.why = Some(why.clone()),
            Hearing::Paused { after, why } => {
                *state = State { heard: state.heard.max(now + *after), why: Some(why.clone()) };
            }
        }
    }

    /// When to look again; `None` if never.
    ///
    /// # Errors
    /// Why it is deaf, once it has been for too long.
    fn judge(&self, now: Instant) -> Result<Option<Instant>, String> {
        let Some(patience) = self.patience else { return Ok(None) };
        let state = self.state();
        let until = state.heard + patience;
        if now < until {
            return Ok(Some(until));
        }
        let unsaid = || format!("nothing was heard for {} s; it was begun anew", patience.as_secs());
        Err(state.why.clone().unwrap_or_else(unsaid))
    }

    /// Ends once it has been deaf for too long, and says why.
    async fn is_over(&self, clock: &SharedClock) -> String {
        loop {
            let now = clock.instant();
            match self.judge(now) {
                Err(why) => return why,
                Ok(Some(until)) => tokio::time::sleep(until.saturating_duration_since(now)).await,
                Ok(None) => std::future::pending().await,
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a listener ended.
#[derive(Debug, PartialEq, Eq)]
enum Ended {
    /// Its token is not accepted.
    Unauthorised,
    /// Its platform does not want it as it is.
    Refused(String),
    /// It heard nothing for too long, and was given up.
    Silent(String),
    /// In any other way, a crash too.
    Otherwise(String),
}

/// Runs a listener until it ends or is given up. While the service stops, it has its time to say farewell.
async fn watch(
    listening: impl Future<Output = Result<(), Failure>> + Send + 'static,
    vigil: &Vigil,
    clock: &SharedClock,
    stop: &CancellationToken,
) -> Ended {
    // A task of its own, so that a panic in a library ends the listener and not the service.
    let mut task = tokio::spawn(listening);
    let silent = async {
        match stop.run_until_cancelled(vigil.is_over(clock)).await {
            Some(why) => why,
            None => std::future::pending().await,
        }
    };
    let ended = tokio::select! {
        ended = &mut task => ended,
        why = silent => {
            task.abort();
            if tokio::time::timeout(LETTING_GO, task).await.is_err() {
                tracing::warn!("a listener that was given up does not end");
            }
            return Ended::Silent(why);
        }
    };
    match ended {
        Ok(Ok(())) => Ended::Otherwise("it ended by itself".to_owned()),
        Ok(Err(Failure::Unauthorised)) => Ended::Unauthorised,
        Ok(Err(failure @ Failure::Refused { .. })) => Ended::Refused(failure.to_string()),
        Ok(Err(failure)) => Ended::Otherwise(failure.to_string()),
        Err(_) => Ended::Otherwise("it crashed; please report this with the log".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use adapters::clock::{Clock as _, SystemClock};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(42);

    fn deaf(why: &str) -> Hearing {
        Hearing::Deaf { why: why.to_owned() }
    }

    #[test]
    fn silence_counts_from_the_last_success_and_not_while_the_platform_wants_it() {
        let start = SystemClock.instant();
        let at = |seconds| start + Duration::from_secs(seconds);
        let vigil = Vigil::new(Some(PATIENCE), start);
        assert_eq!(vigil.judge(at(41)), Ok(Some(at(42))));
        assert!(vigil.judge(at(42)).is_err_and(|why| why.contains("42 s")));
        vigil.note(&Hearing::Listening, at(30));
        assert_eq!(vigil.judge(at(42)), Ok(Some(at(72))));
        vigil.note(&deaf("it is away"), at(60));
        assert_eq!(vigil.judge(at(71)), Ok(Some(at(72))), "only a success counts");
        assert_eq!(vigil.judge(at(72)), Err("it is away".to_owned()));
        vigil.note(&Hearing::Paused { after: Duration::from_secs(100), why: "slow down".to_owned() }, at(72));
        assert_eq!(vigil.judge(at(172)), Ok(Some(at(214))));
        assert_eq!(vigil.judge(at(214)), Err("slow down".to_owned()));
        vigil.note(&Hearing::Listening, at(215));
        assert_eq!(vigil.judge(at(216)), Ok(Some(at(257))));
        assert_eq!(Vigil::new(None, start).judge(at(1_000_000)), Ok(None));
    }

    #[tokio::test]
    async fn whatever_ends_a_listener_is_told_apart() {
        let clock: SharedClock = Arc::new(SystemClock);
        let stop = CancellationToken::new();
        let never = Vigil::new(None, clock.instant());
        let ends = |result| watch(std::future::ready(result), &never, &clock, &stop);
        assert_eq!(ends(Err(Failure::Unauthorised)).await, Ended::Unauthorised);
        assert_eq!(ends(Ok(())).await, Ended::Otherwise("it ended by itself".to_owned()));
        let refused = Failure::Refused { why: "too many servers".to_owned() };
        assert_eq!(ends(Err(refused)).await, Ended::Refused("refused: too many servers".to_owned()));
        let crash = watch(async { panic!("a fault") }, &never, &clock, &stop).await;
        assert!(matches!(crash, Ended::Otherwise(why) if why.contains("crashed")));
    }

    #[tokio::test]
    async fn one_that_hangs_is_given_up_and_one_that_stops_is_not() {
        let clock: SharedClock = Arc::new(SystemClock);
        let stop = CancellationToken::new();
        let vigil = Vigil::new(Some(Duration::from_millis(50)), clock.instant());
        vigil.note(&deaf("it is away"), clock.instant());
        // Dropped with the listener, which shows that it is gone before the next one begins.
        let held = Arc::new(());
        let its = Arc::clone(&held);
        let hangs = async move {
            let never = std::future::pending().await;
            drop(its);
            never
        };
        assert_eq!(watch(hangs, &vigil, &clock, &stop).await, Ended::Silent("it is away".to_owned()));
        assert_eq!(Arc::strong_count(&held), 1);

        stop.cancel();
        let farewell = async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            Ok(())
        };
        assert_eq!(watch(farewell, &vigil, &clock, &stop).await, Ended::Otherwise("it ended by itself".to_owned()));
    }
}
