//! Handles updates, whichever way they came: passes them to the desk and renders its replies.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::join_all;
use serde_json::Value;
use teloxide::payloads::AnswerCallbackQuery;
use teloxide::requests::Payload;
use tokio_util::task::TaskTracker;

use super::super::client::Trouble;
use super::super::failure::{Meaning, meaning, wait_wanted};
use super::super::render::{is_visible, shorten};
use super::super::{TelegramChannel, limits};
use super::update::{self, Update};
use crate::channel::{Channel, Desk, Failure, Press, Reply, SendKey};

/// The name the ids of handled updates are remembered under.
const HANDLED: &str = "telegram.handled";
/// How many ids are kept. A batch has at most a hundred, and only the last one can come again.
const KEPT: usize = 300;
/// How long the desk may take over something that is no press.
const PATIENCE: Duration = Duration::from_secs(10);
/// The pause before an acknowledgement is tried again.
const AGAIN: Duration = Duration::from_millis(300);
/// How often an answer to a text is tried.
const ANSWER_TRIES: u32 = 3;

/// Takes updates for the desk and acknowledges them.
///
/// Presses need no list of handled ids: a tap token takes effect once, however often it comes.
pub struct Ear {
    channel: Arc<TelegramChannel>,
    desk: Arc<dyn Desk>,
    handled: tokio::sync::Mutex<VecDeque<i64>>,
    unreadable: AtomicU64,
    tasks: TaskTracker,
}

impl fmt::Debug for Ear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ear").field("unreadable", &self.unreadable).finish_non_exhaustive()
    }
}

impl Ear {
    /// An ear that knows what was handled before a restart.
    pub async fn new(channel: Arc<TelegramChannel>, desk: Arc<dyn Desk>) -> Self {
        let handled = desk.recall(HANDLED).await.unwrap_or_default();
        let handled = handled.split(',').filter_map(|id| id.parse().ok()).collect();
        Self {
            channel,
            desk,
            handled: tokio::sync::Mutex::new(handled),
            unreadable: AtomicU64::new(0),
            tasks: TaskTracker::new(),
        }
    }

    /// Handles a batch of updates; returns when all of it may be confirmed, with the last id.
    ///
    /// Presses go side by side, each in a task of its own that ends also if the listener does not live so long; everything else
    /// goes in order beside them. Acknowledgements and answers leave on their own.
    pub async fn take(&self, updates: Vec<Value>) -> Option<i64> {
        let mut presses = Vec::new();
        let mut others = Vec::new();
        let mut last = None;
        for raw in &updates {
            let Some(id) = update::id(raw) else {
                self.count_unreadable(None, "update_id");
                continue;
            };
            last = last.max(Some(id));
            match update::read(raw) {
                Update::Press { query, press } => presses.push(self.tasks.spawn(self.hands().press(query, press))),
                Update::EmptyPress { query } => self.hands().acknowledge(query, None),
                Update::Unreadable(what) => self.count_unreadable(Some(id), what),
                Update::Other => tracing::debug!(id, "an update of no interest"),
                other => others.push((id, other)),
            }
        }
        let (outcomes, ()) = tokio::join!(join_all(presses), self.others(others));
        if outcomes.iter().any(Result::is_err) {
            // Not confirming it would bring it again for ever, and everything behind it would wait.
            tracing::error!("a press could not be handled and is passed over; please report this with the log");
        }
        last
    }

    /// Waits until what left on its own has arrived, but not for long.
    pub async fn finish(&self, within: Duration) {
        self.tasks.close();
        if tokio::time::timeout(within, self.tasks.wait()).await.is_err() {
            tracing::debug!("some acknowledgements were still on their way");
        }
    }

    fn hands(&self) -> Hands {
        Hands { channel: Arc::clone(&self.channel), desk: Arc::clone(&self.desk), tasks: self.tasks.clone() }
    }

    async fn others(&self, updates: Vec<(i64, Update)>) {
        if updates.is_empty() {
            return;
        }
        let mut handled = self.handled.lock().await;
        for (id, update) in updates {
            if handled.contains(&id) {
                tracing::debug!(id, "an update that was handled before");
                continue;
            }
            self.other(id, update).await;
            handled.push_back(id);
            while handled.len() > KEPT {
                handled.pop_front();
            }
        }
        let ids: Vec<String> = handled.iter().map(i64::to_string).collect();
        patiently(self.desk.remember(HANDLED, Some(ids.join(",")))).await;
    }

    async fn other(&self, id: i64, update: Update) {
        match update {
            Update::Wrote { alive, said } => {
                if let Some(place) = alive {
                    patiently(self.desk.place_changed(place, Ok(()))).await;
                }
                let Some(said) = said else { return };
                let place = said.place.clone();
                let Some(Some(answer)) = patiently(self.desk.said(said)).await else { return };
                let channel = Arc::clone(&self.channel);
                let key = SendKey(format!("telegram-said-{id}"));
                self.tasks.spawn(async move {
                    for _ in 0..ANSWER_TRIES {
                        match channel.notify(&place, &answer, None, &key).await {
                            Err(Failure::Retry { after, .. }) => tokio::time::sleep(after).await,
                            Err(failure) => return tracing::debug!(%place, %failure, "an answer did not arrive"),
                            Ok(()) => return,
                        }
                    }
                    tracing::debug!(%place, "an answer did not arrive in several tries");
                });
            }
            Update::Place { place, state } => {
                patiently(self.desk.place_changed(place, state)).await;
            }
            Update::Press { .. } | Update::EmptyPress { .. } | Update::Other | Update::Unreadable(_) => {}
        }
    }

    /// Counts an update that says nothing to us.
    pub(super) fn count_unreadable(&self, id: Option<i64>, what: &str) {
        let so_far = self.unreadable.fetch_add(1, Ordering::Relaxed) + 1;
        tracing::warn!(id, what, so_far, "an update could not be read; it is skipped");
    }
}

/// What handling one press needs.
struct Hands {
    channel: Arc<TelegramChannel>,
    desk: Arc<dyn Desk>,
    tasks: TaskTracker,
}

impl Hands {
    async fn press(self, query: String, press: Press) {
        let wait = self.desk.still_saving(press.language.as_deref());
        let decide = self.desk.press(press);
        tokio::pin!(decide);
        // A query can be answered once. Where the disk takes long, its person hears that nothing is promised yet; how it went is
        // then on the card, and this update is not confirmed before it is known.
        match tokio::time::timeout(limits::PRESS_PATIENCE, &mut decide).await {
            Ok(Reply::Defer) => self.acknowledge(query, None),
            Ok(Reply::Notice(sentence)) => self.acknowledge(query, Some(sentence)),
            Err(_) => {
                tracing::warn!("a press takes long to record; its person is asked to wait");
                self.acknowledge(query, Some(wait));
                decide.await;
            }
        }
    }

    fn acknowledge(&self, query: String, notice: Option<String>) {
        let channel = Arc::clone(&self.channel);
        self.tasks.spawn(async move {
            let within = limits::ACKNOWLEDGE;
            if tokio::time::timeout(within, channel.acknowledge(query, notice)).await.is_err() {
                tracing::debug!("a press could not be acknowledged in time; the press itself is not affected");
            }
        });
    }
}

impl TelegramChannel {
    /// Ends the waiting mark on a button, with a sentence or without. Never paced, and no failure of it matters to the tap.
    async fn acknowledge(&self, query: String, notice: Option<String>) {
        let mut payload = AnswerCallbackQuery::new(query.into());
        if let Some(sentence) = notice.filter(|sentence| is_visible(sentence)) {
            let sentence = shorten(&sentence, limits::ANSWER);
            let long = asks::text::utf16_len(&sentence) > limits::ANSWER_IN_PASSING;
            payload.show_alert = long.then_some(true);
            payload.text = Some(sentence);
        }
        loop {
            let answered = self.client.call::<_, Value>(AnswerCallbackQuery::NAME, &payload, limits::ACKNOWLEDGE).await;
            let Err(trouble) = answered else { return faults::point("telegram.acknowledged") };
            match &trouble {
                Trouble::Refused(refusal) if meaning(refusal) == Meaning::QueryExpired => {
                    return tracing::debug!("a press was acknowledged too late, or before");
                }
                Trouble::Refused(refusal)
                    if !matches!(meaning(refusal), Meaning::ServerTrouble | Meaning::TooFast(_)) =>
                {
                    return tracing::debug!(?trouble, "a press could not be acknowledged");
                }
                _ => tokio::time::sleep(wait_wanted(&trouble).unwrap_or(AGAIN)).await,
            }
        }
    }
}

/// Awaits the desk, but not for ever: nothing but a press may keep the next poll waiting.
async fn patiently<T>(work: impl Future<Output = T>) -> Option<T> {
    let done = tokio::time::timeout(PATIENCE, work).await;
    if done.is_err() {
        tracing::warn!("the desk took too long over an update that is no press");
    }
    done.ok()
}
