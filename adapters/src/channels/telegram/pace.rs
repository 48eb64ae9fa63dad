//! Who may talk to which chat when.
//!
//! Each chat has two lanes, new messages and edits, in which calls go in order of arrival. Both count against the same
//! numbers; messages wait for them, and edits, which tell a person that an answer was taken, go first and mostly do not wait.
//! A 429 holds both lanes, and for a while after it edits wait for the numbers too. Nothing here touches acknowledgements.
//!
//! What is kept per chat is bounded: idle chats are forgotten, and when none is idle a further chat is refused for a moment
//! rather than let through unpaced.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use governor::clock::Clock as Ticks;
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};

use super::limits::{Pace, Rate};
use crate::clock::SharedClock;

/// How long a chat must have been left alone before it is forgotten: longer than any number looks back.
const IDLE: Duration = Duration::from_secs(90);
/// How long after a hold edits wait like messages.
const CAREFUL: Duration = Duration::from_mins(1);
/// Added to what a 429 asks for, so that a clock a little ahead of the server's does not ask too early.
const HOLD_MARGIN: Duration = Duration::from_millis(100);
/// How long a turn that was kept for a message waits for it.
const KEPT: Duration = Duration::from_secs(5);
/// What a call is told that did not get its turn in time.
const NEXT_TRY: Duration = Duration::from_secs(1);
/// How long a message waits before it looks again whether edits are still before it.
const YIELD: Duration = Duration::from_millis(50);

/// What a call wants to do in a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    /// Make a message.
    Send,
    /// Change one.
    Edit,
}

/// Lets calls through at the platform's pace.
pub(super) struct Pacer {
    pace: Pace,
    ticks: PaceTicks,
    bot: Option<Limiter>,
    chats: Mutex<HashMap<i64, Arc<Chat>>>,
}

type Limiter = RateLimiter<NotKeyed, InMemoryState, PaceTicks, NoOpMiddleware<Instant>>;

/// The limiter's view of our clock, so that time stays a parameter.
#[derive(Debug, Clone)]
struct PaceTicks(SharedClock);

impl Ticks for PaceTicks {
    type Instant = Instant;

    fn now(&self) -> Instant {
        self.0.instant()
    }
}

struct Chat {
    /// Held by the call whose turn is next in its lane. Tokio's, because they are fair and held across waits.
    next_send: tokio::sync::Mutex<()>,
    next_edit: tokio::sync::Mutex<()>,
    edits_waiting: AtomicUsize,
    messages: Option<Limiter>,
    edits: Option<Limiter>,
    state: Mutex<ChatState>,
}

struct ChatState {
    used: Instant,
    held_until: Option<Instant>,
    careful_until: Option<Instant>,
    /// When the latest calls went out, in a group.
    went: VecDeque<Instant>,
    /// Turns that were waited for ahead of their messages, by when they came.
    kept: VecDeque<Instant>,
}

/// Counts an edit as waiting for as long as it lives.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for Pacer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pacer").field("pace", &self.pace).finish_non_exhaustive()
    }
}

impl Pacer {
    /// A pacer that has let nothing through yet.
    #[must_use]
    pub(super) fn new(pace: Pace, clock: SharedClock) -> Self {
        let ticks = PaceTicks(clock);
        let bot = limiter(pace.bot, &ticks);
        Self { pace, ticks, bot, chats: Mutex::default() }
    }

    /// Waits for a turn in a chat, until `until` at the latest.
    ///
    /// # Errors
    /// How long to wait before the next try, when the turn does not come in time.
    pub(super) async fn turn(&self, id: i64, lane: Lane, until: Instant) -> Result<(), Duration> {
        let chat = self.chat(id).ok_or(NEXT_TRY)?;
        if lane == Lane::Send && self.take_kept(&chat) {
            return Ok(());
        }
        self.wait(&chat, id, lane, until).await
    }

    /// Waits for a message's turn ahead of it: the next message to the chat, if it comes soon, goes at once.
    ///
    /// # Errors
    /// As [`Pacer::turn`].
    pub(super) async fn reserve(&self, id: i64, until: Instant) -> Result<(), Duration> {
        let chat = self.chat(id).ok_or(NEXT_TRY)?;
        self.wait(&chat, id, Lane::Send, until).await?;
        let now = self.ticks.now();
        let mut state = locked(&chat.state);
        state.kept.retain(|came| now.saturating_duration_since(*came) < KEPT);
        state.kept.push_back(now);
        Ok(())
    }

    fn take_kept(&self, chat: &Chat) -> bool {
        let now = self.ticks.now();
        let mut state = locked(&chat.state);
        state.kept.retain(|came| now.saturating_duration_since(*came) < KEPT);
        left(state.held_until, now).is_none() && state.kept.pop_front().is_some()
    }

    async fn wait(&self, chat: &Chat, id: i64, lane: Lane, until: Instant) -> Result<(), Duration> {
        if let Some(left) = self.hold_left(chat).filter(|left| self.ticks.now() + *left > until) {
            return Err(left);
        }
        let _before_messages = (lane == Lane::Edit).then(|| Waiting::new(&chat.edits_waiting));
        let queue = match lane {
            Lane::Send => &chat.next_send,
            Lane::Edit => &chat.next_edit,
        };
        let patience = until.saturating_duration_since(self.ticks.now());
        let _next = tokio::time::timeout(patience, queue.lock()).await.map_err(|_| NEXT_TRY)?;
        let mut taken = Taken::default();
        while let Some(wait) = self.wait_for(chat, id, lane, &mut taken) {
            if self.ticks.now() + wait > until {
                return Err(wait.max(NEXT_TRY));
            }
            // A zero wait could spin: the limiter's next cell may lie less than a timer's tick away.
            tokio::time::sleep(wait.max(Duration::from_millis(1))).await;
        }
        Ok(())
    }

    /// Keeps sends and edits away from a chat for a while, as a 429 asks. Says whether that is news.
    pub(super) fn hold(&self, id: i64, period: Duration) -> bool {
        let Some(chat) = self.chat(id) else { return true };
        let mut state = locked(&chat.state);
        let now = self.ticks.now();
        let was_held = state.held_until.is_some_and(|held| held > now);
        let until = now + period + HOLD_MARGIN;
        let until = state.held_until.map_or(until, |held| held.max(until));
        state.held_until = Some(until);
        state.careful_until = Some(until + CAREFUL);
        !was_held
    }

    /// Whether a chat is to be left alone at the moment.
    #[must_use]
    pub(super) fn is_held(&self, id: i64) -> bool {
        self.chat(id).is_none_or(|chat| self.hold_left(&chat).is_some())
    }

    /// How long the call whose turn is next has still to wait; `None` when it goes now. Looks again after every wait,
    /// because a hold may have come in between.
    fn wait_for(&self, chat: &Chat, id: i64, lane: Lane, taken: &mut Taken) -> Option<Duration> {
        let now = self.ticks.now();
        let mut state = locked(&chat.state);
        if let Some(left) = left(state.held_until, now) {
            return Some(left);
        }
        let waits = lane == Lane::Send || left(state.careful_until, now).is_some();
        if lane == Lane::Send && chat.edits_waiting.load(Ordering::Relaxed) > 0 {
            return Some(YIELD);
        }
        if waits && let Some(wait) = self.room_in_group(id, &mut state, now) {
            return Some(wait);
        }
        if lane == Lane::Edit
            && let Err(wait) = taken.edits.take(chat.edits.as_ref(), now)
        {
            return Some(wait);
        }
        match taken.messages.take(chat.messages.as_ref(), now) {
            Err(wait) if waits => return Some(wait),
            // Counted where there is room, so that messages make up for it, and not waited for.
            _ => {}
        }
        if let Err(wait) = taken.bot.take(self.bot.as_ref(), now) {
            return Some(wait);
        }
        if id < 0 {
            state.went.push_back(now);
        }
        None
    }

    /// How long a group has no room for one more; the number counts over whole windows, so it is not spread.
    fn room_in_group(&self, id: i64, state: &mut ChatState, now: Instant) -> Option<Duration> {
        if id > 0 {
            return None;
        }
        let Rate { burst, every } = self.pace.group;
        let window = every.saturating_mul(burst);
        while state.went.front().is_some_and(|went| now.saturating_duration_since(*went) >= window) {
            state.went.pop_front();
        }
        let full = u32::try_from(state.went.len()).unwrap_or(u32::MAX) >= burst.max(1);
        let oldest = state.went.front().filter(|_| full && !window.is_zero())?;
        Some(window.saturating_sub(now.saturating_duration_since(*oldest)))
    }

    fn hold_left(&self, chat: &Chat) -> Option<Duration> {
        left(locked(&chat.state).held_until, self.ticks.now())
    }

    fn chat(&self, id: i64) -> Option<Arc<Chat>> {
        let now = self.ticks.now();
        let mut chats = locked(&self.chats);
        if !chats.contains_key(&id) && chats.len() >= self.pace.chats {
            chats.retain(|_, chat| Arc::strong_count(chat) > 1 || !is_idle(&locked(&chat.state), now));
            chats.shrink_to_fit();
            if chats.len() >= self.pace.chats {
                return None;
            }
        }
        let chat = chats.entry(id).or_insert_with(|| Arc::new(self.new_chat(now)));
        locked(&chat.state).used = now;
        Some(Arc::clone(chat))
    }

    fn new_chat(&self, now: Instant) -> Chat {
        Chat {
            next_send: tokio::sync::Mutex::new(()),
            next_edit: tokio::sync::Mutex::new(()),
            edits_waiting: AtomicUsize::new(0),
            messages: limiter(self.pace.sends, &self.ticks),
            edits: limiter(self.pace.edits, &self.ticks),
            state: Mutex::new(ChatState {
                used: now,
                held_until: None,
                careful_until: None,
                went: VecDeque::new(),
                kept: VecDeque::new(),
            }),
        }
    }
}

/// What a call has been granted so far, so that no number is charged twice for one call.
#[derive(Debug, Default)]
struct Taken {
    messages: Granted,
    edits: Granted,
    bot: Granted,
}

#[derive(Debug, Default)]
struct Granted(bool);

impl Granted {
    fn take(&mut self, limiter: Option<&Limiter>, now: Instant) -> Result<(), Duration> {
        if let Some(limiter) = limiter.filter(|_| !self.0) {
            limiter.check().map_err(|not_yet| not_yet.wait_time_from(now))?;
        }
        self.0 = true;
        Ok(())
    }
}

fn left(until: Option<Instant>, now: Instant) -> Option<Duration> {
    until?.checked_duration_since(now).filter(|left| !left.is_zero())
}

fn is_idle(state: &ChatState, now: Instant) -> bool {
    now.saturating_duration_since(state.used) > IDLE && left(state.held_until, now).is_none()
}

fn limiter(rate: Rate, ticks: &PaceTicks) -> Option<Limiter> {
    let burst = NonZeroU32::new(rate.burst).unwrap_or(NonZeroU32::MIN);
    let quota = Quota::with_period(rate.every)?.allow_burst(burst);
    Some(RateLimiter::direct_with_clock(quota, ticks.clone()))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
