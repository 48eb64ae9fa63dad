//! The listener: our own long poll, because the library confirms updates when it fetches them, not when they are handled.
//!
//! What a batch says is handled side by side; only when every press is durable does the next request confirm the batch. The
//! acknowledgements leave on their own and hold nothing up.

use std::sync::Arc;
use std::time::{Duration, Instant};

use asks::place::ChannelKind;
use rand::Rng;
use serde_json::Value;
use teloxide::payloads::GetUpdates;
use teloxide::requests::Payload;
use teloxide::types::AllowedUpdate;
use tokio_util::sync::CancellationToken;

use super::client::{Client, Trouble};
use super::failure::{Meaning, meaning, wait_wanted};
use super::{TelegramChannel, limits};
use crate::channel::{Desk, Failure, Hearing};

mod ear;
#[cfg(feature = "fuzzing")]
pub(super) mod fuzzing;
mod hook;
mod update;

pub use self::ear::Ear;
pub(super) use self::hook::{Hook, keep, receive};

/// The name the time of the last success is remembered under, in milliseconds since 1970.
const HEARD: &str = "telegram.heard";
/// How long to poll after another program was in the way, in whole seconds: long enough to see whether it still is.
const PROBE_AFTER_CONFLICT: Duration = Duration::from_secs(2);
/// How long the last confirmation and the last acknowledgements may take when the listener stops.
const FAREWELL: Duration = Duration::from_secs(2);
/// The pause after a poll that came back empty at once, which only a server without long polls does.
const EMPTY_PAUSE: Duration = Duration::from_millis(250);
/// How long after the last update its offset is still sent. Ids begin anew at random after a week without updates, and an
/// old offset could then hide new ones; it was confirmed long before.
const OFFSET_AGE: Duration = Duration::from_hours(24);
/// A wait asked for by the server that is long enough for readiness to mention it at once.
const LONG_WAIT: Duration = Duration::from_secs(30);
/// The most updates in a batch.
const BATCH: u8 = 100;

/// What is listened for. Named in every request: one that does not name them gets what an earlier program asked for.
const UPDATES: [AllowedUpdate; 3] = [AllowedUpdate::Message, AllowedUpdate::CallbackQuery, AllowedUpdate::MyChatMember];

/// Listens until `stop`.
///
/// # Errors
/// [`Failure::Unauthorised`] when the token is not accepted.
pub(super) async fn run(
    channel: Arc<TelegramChannel>,
    desk: Arc<dyn Desk>,
    stop: CancellationToken,
) -> Result<(), Failure> {
    let ear = Ear::new(Arc::clone(&channel), Arc::clone(&desk)).await;
    let client = channel.client.for_listening();
    let last = desk.recall(HEARD).await.and_then(|millis| millis.parse().ok());
    let offset_since = channel.clock.instant();
    let mut listener = Listener {
        channel,
        client,
        desk,
        ear,
        offset: None,
        offset_since,
        unconfirmed: false,
        failures: Failures::default(),
        last_heard: last,
        last_noted: None,
    };
    let outcome = listener.poll_until(&stop).await;
    listener.farewell().await;
    outcome
}

struct Listener {
    channel: Arc<TelegramChannel>,
    client: Client,
    desk: Arc<dyn Desk>,
    ear: Ear,
    /// What the next request confirms. `None` at start: ids begin anew at random after a quiet week.
    offset: Option<i64>,
    /// When the last update came.
    offset_since: Instant,
    /// Whether no request with that offset has succeeded yet.
    unconfirmed: bool,
    failures: Failures,
    last_heard: Option<i64>,
    last_noted: Option<i64>,
}

/// What went wrong since the last success.
#[derive(Debug, Default, PartialEq, Eq)]
struct Failures {
    count: u32,
    conflict: bool,
    /// Conflicts since the last poll that lasted: two programs that take turns both succeed now and then.
    conflicts: u32,
}

/// How to go on after a failed poll.
#[derive(Debug, PartialEq, Eq)]
enum Then {
    /// Poll again after this long, before jitter; `told` is what readiness should say, if it is time to say it.
    Wait { pause: Duration, told: Option<String> },
    /// The server named the time itself.
    WaitExactly { pause: Duration, told: Option<String> },
    /// No use.
    Stop,
}

impl Listener {
    async fn poll_until(&mut self, stop: &CancellationToken) -> Result<(), Failure> {
        // The first poll after the start and after a failure asks without waiting, so that it is known at once that the
        // platform is there.
        let mut wait = Duration::ZERO;
        while !stop.is_cancelled() {
            let asked = self.channel.clock.instant();
            let polled = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                polled = self.poll(wait, BATCH) => polled,
            };
            match polled {
                Ok(updates) => {
                    let was_long = !wait.is_zero();
                    let lasted = self.channel.clock.instant() - asked >= self.channel.timing.poll * 4 / 5;
                    wait = self.channel.timing.poll;
                    self.heard(lasted).await;
                    if !updates.is_empty() {
                        self.handle(updates).await;
                    } else if was_long && self.channel.clock.instant() - asked < EMPTY_PAUSE {
                        pause(EMPTY_PAUSE, stop).await;
                    }
                    self.note(false).await;
                }
                Err(trouble) if is_webhook(&trouble) && hook::remove_ours(&self.channel, &self.desk).await => {}
                Err(trouble) => {
                    let (length, asked_for, told) = match self.failures.after(&trouble, &self.channel.timing) {
                        Then::Wait { pause, told } => (self.channel.jittered(pause), false, told),
                        Then::WaitExactly { pause, told } => (pause, true, told),
                        Then::Stop => {
                            let why =
                                "the bot's token is not accepted; put a valid one into [telegram] token".to_owned();
                            self.desk.hearing(ChannelKind::Telegram, Hearing::Deaf { why });
                            return Err(Failure::Unauthorised);
                        }
                    };
                    tracing::debug!(?trouble, wait = ?length, "a poll failed");
                    if let Some(why) = told {
                        if self.failures.count <= 2 {
                            tracing::warn!(why, "not hearing Telegram");
                        }
                        let after = length;
                        let hearing = if asked_for { Hearing::Paused { after, why } } else { Hearing::Deaf { why } };
                        self.desk.hearing(ChannelKind::Telegram, hearing);
                    }
                    wait = if self.failures.conflict { PROBE_AFTER_CONFLICT } else { Duration::ZERO };
                    pause(length, stop).await;
                }
            }
        }
        Ok(())
    }

    async fn poll(&self, wait: Duration, limit: u8) -> Result<Vec<Value>, Trouble> {
        let seconds = u32::try_from(wait.as_secs()).unwrap_or(u32::MAX);
        let mut payload = GetUpdates::new();
        payload.timeout = Some(seconds);
        payload.limit = Some(limit);
        payload.allowed_updates = Some(UPDATES.to_vec());
        let body = super::wire::WithOffset { payload, offset: self.offset };
        self.client.call(GetUpdates::NAME, &body, wait + self.channel.timing.grace).await
    }

    async fn heard(&mut self, lasted: bool) {
        self.unconfirmed = false;
        if self.channel.clock.instant().saturating_duration_since(self.offset_since) > OFFSET_AGE {
            self.offset = None;
        }
        let now = self.channel.clock.unix_millis();
        if self.failures.count > 1 {
            tracing::info!("hearing Telegram again");
        }
        self.failures.over(lasted);
        self.desk.hearing(ChannelKind::Telegram, Hearing::Listening);
        let away = self.last_heard.map_or(0, |last| now.saturating_sub(last));
        self.last_heard = Some(now);
        if u128::try_from(away).is_ok_and(|away| away > limits::KEEPS_PRESSES.as_millis()) {
            tracing::warn!(seconds = away / 1000, "away for longer than Telegram keeps taps; some may be lost");
            self.desk.taps_may_be_lost(ChannelKind::Telegram).await;
        }
    }

    async fn handle(&mut self, updates: Vec<Value>) {
        if let Some(last) = self.ear.take(updates).await {
            self.offset = Some(last.saturating_add(1));
            self.offset_since = self.channel.clock.instant();
            self.unconfirmed = true;
            faults::point("telegram.batch-handled");
        }
    }

    /// Writes down when the platform was last heard, once in a while or now.
    async fn note(&mut self, now: bool) {
        let Some(heard) = self.last_heard else { return };
        let due = self.last_noted.is_none_or(|noted| {
            u128::try_from(heard.saturating_sub(noted))
                .is_ok_and(|since| since >= self.channel.timing.note_every.as_millis())
        });
        if due || (now && self.last_noted != Some(heard)) {
            self.desk.remember(HEARD, Some(heard.to_string())).await;
            self.last_noted = Some(heard);
        }
    }

    async fn farewell(&mut self) {
        let confirm = async {
            if self.unconfirmed {
                // What this brings is not confirmed by it and comes again at the next start.
                let polled = tokio::time::timeout(FAREWELL, self.poll(Duration::ZERO, 1)).await;
                tracing::debug!(confirmed = matches!(polled, Ok(Ok(_))), "stopped listening to Telegram");
            }
        };
        let ((), ()) = tokio::join!(confirm, self.ear.finish(FAREWELL));
        self.note(true).await;
    }
}

impl Failures {
    /// A poll succeeded; `lasted` if it had the time in which another program would have come in between.
    fn over(&mut self, lasted: bool) {
        let conflicts = if lasted { 0 } else { self.conflicts };
        *self = Self { conflicts, ..Self::default() };
    }

    fn after(&mut self, trouble: &Trouble, timing: &limits::Timing) -> Then {
        self.count = self.count.saturating_add(1);
        let seen = match trouble {
            Trouble::Refused(refusal) => meaning(refusal),
            _ => Meaning::ServerTrouble,
        };
        self.conflict = seen == Meaning::OtherPoller;
        self.conflicts = self.conflicts.saturating_add(u32::from(self.conflict));
        let longest = if self.conflict { timing.longest_conflict_wait } else { timing.longest_wait };
        let pause = timing.first_wait.saturating_mul(1 << (self.count - 1).min(16)).min(longest);
        let repeated = |why: String| (self.count >= 2).then_some(why);
        match seen {
            Meaning::TokenRefused => Then::Stop,
            Meaning::WebhookSet => Then::Wait {
                pause,
                told: Some(
                    "a webhook is set for this bot, and Telegram refuses polling while it is; remove it (deleteWebhook) \
                     if it is not in use, or give askgate a bot of its own"
                        .to_owned(),
                ),
            },
            Meaning::OtherPoller => Then::Wait {
                pause,
                told: (self.conflicts >= 2).then(|| {
                    "conflict: another program polls with this bot's token; stop it, or give askgate a bot of its own"
                        .to_owned()
                }),
            },
            _ => {
                let why = format!("Telegram cannot be reached ({}); askgate keeps trying", words(trouble));
                match wait_wanted(trouble) {
                    Some(wanted) if wanted >= LONG_WAIT => Then::WaitExactly { pause: wanted, told: Some(why) },
                    Some(wanted) => Then::WaitExactly { pause: wanted.max(pause), told: repeated(why) },
                    None => Then::Wait { pause, told: repeated(why) },
                }
            }
        }
    }
}

fn is_webhook(trouble: &Trouble) -> bool {
    matches!(trouble, Trouble::Refused(refusal) if meaning(refusal) == Meaning::WebhookSet)
}

impl TelegramChannel {
    /// A pause changed by up to a quarter, so that many processes do not come back at the same moment.
    fn jittered(&self, pause: Duration) -> Duration {
        let mut jitter = self.jitter.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        pause.mul_f64(jitter.random_range(0.75..=1.25))
    }
}

async fn pause(length: Duration, stop: &CancellationToken) {
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        () = tokio::time::sleep(length) => {}
    }
}

fn words(trouble: &Trouble) -> String {
    match trouble {
        Trouble::NotSent { why } | Trouble::NoAnswer { why } => why.clone(),
        Trouble::Unreadable { status, .. } => format!("HTTP {status}"),
        Trouble::Refused(refusal) => refusal.description.clone(),
    }
}

#[cfg(test)]
mod tests;
