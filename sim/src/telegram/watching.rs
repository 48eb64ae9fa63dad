//! Reading the state, waiting for it to change, and ordering faults.

use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;

use super::Telegram;
use super::model::{CallbackAnswer, Chat, Message, Request, View, Violation, Webhook};
use super::script::Fault;

/// What was waited for did not happen in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} did not happen within {within:?}; the request log may say why")]
pub struct TimedOut {
    /// What was waited for.
    pub what: String,
    /// How long it was waited for.
    pub within: Duration,
}

impl Telegram {
    /// The chat of that id.
    #[must_use]
    pub fn chat(&self, chat: i64) -> Option<Chat> {
        self.read(|world| world.chats.get(&chat).cloned())
    }

    /// All messages of a chat in order of their ids, without deleted ones.
    #[must_use]
    pub fn messages(&self, chat: i64) -> Vec<Message> {
        self.read(|world| {
            let messages = world.chats.get(&chat).into_iter().flat_map(|chat| chat.messages.values());
            messages.filter(|message| !message.deleted).cloned().collect()
        })
    }

    /// One message, also where it is deleted.
    #[must_use]
    pub fn message(&self, chat: i64, message: i64) -> Option<Message> {
        self.read(|world| world.chats.get(&chat)?.messages.get(&message).cloned())
    }

    /// The newest message of a chat that is not deleted.
    #[must_use]
    pub fn last_message(&self, chat: i64) -> Option<Message> {
        self.read(|world| world.chats.get(&chat)?.messages.values().rev().find(|message| !message.deleted).cloned())
    }

    /// The answers to presses, oldest first.
    #[must_use]
    pub fn answers(&self) -> Vec<CallbackAnswer> {
        self.read(|world| world.answers.clone())
    }

    /// The answer to one press.
    #[must_use]
    pub fn answer_to(&self, callback: &str) -> Option<CallbackAnswer> {
        self.read(|world| world.answers.iter().rev().find(|answer| answer.callback == callback).cloned())
    }

    /// The log of calls, oldest first.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.read(|world| world.log.iter().cloned().collect())
    }

    /// The calls of one method, by its name in any case, oldest first.
    #[must_use]
    pub fn requests_of(&self, method: &str) -> Vec<Request> {
        self.read(|world| {
            world.log.iter().filter(|request| request.method.eq_ignore_ascii_case(method)).cloned().collect()
        })
    }

    /// How many calls of one method there were, by its name in any case.
    #[must_use]
    pub fn count_of(&self, method: &str) -> usize {
        self.read(|world| world.log.iter().filter(|request| request.method.eq_ignore_ascii_case(method)).count())
    }

    /// Everything the bot sent that the documentation does not allow, though the server may have let it pass.
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        self.read(|world| world.violations.clone())
    }

    /// The commands the bot set for a language, as it sent them; the empty code is everybody else's.
    #[must_use]
    pub fn commands(&self, language: &str) -> Vec<Value> {
        self.read(|world| world.commands.get(language).cloned().unwrap_or_default())
    }

    /// The signs of activity the bot sent, as chat and action, oldest first.
    #[must_use]
    pub fn chat_actions(&self) -> Vec<(i64, String)> {
        self.read(|world| world.actions.clone())
    }

    /// The webhook that is set.
    #[must_use]
    pub fn webhook(&self) -> Option<Webhook> {
        self.read(|world| world.webhook.clone())
    }

    /// The updates that wait for the bot, oldest first.
    #[must_use]
    pub fn waiting_updates(&self) -> Vec<Value> {
        self.read(|world| world.queue.waiting().map(|update| update.body.clone()).collect())
    }

    /// Everything a page needs to show the platform.
    #[must_use]
    pub fn view(&self) -> View {
        self.read(super::world::World::view)
    }

    /// A subscription that moves whenever [`Telegram::view`] would look different.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.shared.visible.subscribe()
    }

    /// Waits until `look` finds something. It is asked at once and after every change, calls included.
    ///
    /// # Errors
    ///
    /// [`TimedOut`] where it found nothing in time; `what` names it.
    pub async fn wait_for<T>(
        &self,
        what: &str,
        within: Duration,
        mut look: impl FnMut(&Self) -> Option<T>,
    ) -> Result<T, TimedOut> {
        let mut activity = self.shared.activity.subscribe();
        let search = async {
            loop {
                if let Some(found) = look(self) {
                    return found;
                }
                // The sender lives in `self`, so this ends with a change.
                if activity.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        let found = tokio::time::timeout(within, search).await;
        found.map_err(|_| TimedOut { what: what.to_owned(), within })
    }

    /// Waits for a message in a chat, not deleted, that `fits`; the newest is taken.
    ///
    /// # Errors
    ///
    /// [`TimedOut`] where none came in time.
    pub async fn wait_for_message(
        &self,
        chat: i64,
        within: Duration,
        fits: impl Fn(&Message) -> bool,
    ) -> Result<Message, TimedOut> {
        let look = |telegram: &Self| telegram.messages(chat).into_iter().rev().find(|message| fits(message));
        self.wait_for(&format!("a fitting message in chat {chat}"), within, look).await
    }

    /// Waits for the answer to a press.
    ///
    /// # Errors
    ///
    /// [`TimedOut`] where none came in time.
    pub async fn wait_for_answer(&self, callback: &str, within: Duration) -> Result<CallbackAnswer, TimedOut> {
        self.wait_for(&format!("an answer to press {callback}"), within, |telegram| telegram.answer_to(callback)).await
    }

    /// Waits until the log holds so many calls of a method.
    ///
    /// # Errors
    ///
    /// [`TimedOut`] where there were fewer in time.
    pub async fn wait_for_calls(&self, method: &str, count: usize, within: Duration) -> Result<(), TimedOut> {
        let look = |telegram: &Self| (telegram.count_of(method) >= count).then_some(());
        self.wait_for(&format!("{count} calls of {method}"), within, look).await
    }

    /// Orders a fault.
    pub fn order(&self, fault: Fault) {
        self.change(|world, _| world.faults.push(fault));
    }

    /// Takes all faults back that have not happened.
    pub fn clear_faults(&self) {
        self.change(|world, _| world.faults.clear());
    }

    /// How many faults still wait for calls.
    #[must_use]
    pub fn faults_left(&self) -> usize {
        self.read(|world| world.faults.len())
    }

    /// Refuses everything to a chat with 429 for so long, counting down.
    pub fn flood(&self, chat: i64, for_so_long: Duration) {
        self.change(|world, now| world.pace.close(chat, now + for_so_long));
    }

    /// Switches the real limits on or off.
    pub fn set_real_limits(&self, on: bool) {
        self.change(|world, _| world.pace.real = on);
    }

    /// Empties the request log and the violations.
    pub fn clear_log(&self) {
        self.change(|world, _| {
            world.log.clear();
            world.violations.clear();
        });
    }
}
