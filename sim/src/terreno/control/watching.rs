//! Set-up, faults, looking on, and waiting.

use std::time::Duration;

use tokio::sync::watch;

use super::Asked;
use crate::terreno::Terreno;
use crate::terreno::faults::Fault;
use crate::terreno::options::Options;
use crate::terreno::records::{ConversationView, HostView, PendingView, TurnOutcome, TurnRecord};
use crate::terreno::state::State;

/// Nothing of the kind happened in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} did not happen within {within:?}; the last of {turns} turns: {last}; {requests} requests")]
pub struct WaitedInVain {
    what: String,
    within: Duration,
    turns: usize,
    last: String,
    requests: u64,
}

impl Terreno {
    /// Changes how the host is set up, while it runs.
    pub fn configure(&self, change: impl FnOnce(&mut Options)) {
        self.change(|state| {
            change(&mut state.options);
            state.buckets.clear();
        });
    }

    /// Closes every connection and each new one at once, or serves again.
    pub fn set_down(&self, down: bool) {
        self.shared.gate.set_down(down);
        self.change(|_| ());
    }

    /// Closes every connection that is open now; new ones are served.
    pub fn cut_connections(&self) {
        self.shared.gate.cut_all();
    }

    /// Makes something go wrong. Faults strike in the order they were made, one per request.
    pub fn inject(&self, fault: Fault) {
        self.silently(|state| state.faults.push(fault));
    }

    /// Takes back every fault that has not struck.
    pub fn clear_faults(&self) {
        self.silently(|state| state.faults.clear());
    }

    /// Reads the state under its lock; keep it short.
    pub fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        self.silently(|state| read(state))
    }

    /// The asks a user has waiting, newest first.
    #[must_use]
    pub fn pending(&self, email: &str) -> Vec<PendingView> {
        self.read(|state| state.pending(email))
    }

    /// Every turn so far.
    #[must_use]
    pub fn turns(&self) -> Vec<TurnRecord> {
        self.read(|state| state.turns().to_vec())
    }

    /// A user's conversations, the most recently changed first.
    #[must_use]
    pub fn conversations(&self, email: &str) -> Vec<ConversationView> {
        self.read(|state| state.conversations(email))
    }

    /// The whole host, for a page.
    #[must_use]
    pub fn view(&self) -> HostView {
        let down = self.shared.gate.is_down();
        self.read(|state| {
            let mut users = state.users();
            users.sort_by(|one, other| one.email.cmp(&other.email));
            let mut conversations: Vec<_> = users.iter().flat_map(|user| state.conversations(&user.email)).collect();
            conversations.sort_by_key(|conversation| std::cmp::Reverse(conversation.updated_ms));
            HostView {
                down,
                asks: state.options().asks,
                users,
                conversations,
                turns: state.turns().to_vec(),
                requests: state.count_all(),
            }
        })
    }

    /// A count that moves whenever what a page shows has changed. Mere reading requests do not move it.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.shared.changes.subscribe()
    }

    /// Waits until `check` finds what it looks for; it looks again after every change and every request.
    ///
    /// # Errors
    ///
    /// When it finds nothing in time; the error says what the host saw last.
    pub async fn wait_for<T>(
        &self,
        what: &str,
        within: Duration,
        mut check: impl FnMut(&State) -> Option<T>,
    ) -> Result<T, WaitedInVain> {
        let mut activity = self.shared.activity.subscribe();
        let found = tokio::time::timeout(within, async {
            loop {
                activity.borrow_and_update();
                if let Some(found) = self.read(&mut check) {
                    return found;
                }
                if activity.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        });
        found.await.map_err(|_| {
            self.read(|state| WaitedInVain {
                what: what.to_owned(),
                within,
                turns: state.turns().len(),
                last: state.turns().last().map_or_else(|| "none".to_owned(), |turn| format!("{turn:?}")),
                requests: state.count_all(),
            })
        })
    }

    /// Waits until a user has exactly this many asks waiting, and returns them.
    ///
    /// # Errors
    ///
    /// When that does not happen in time.
    pub async fn wait_for_pending(
        &self,
        email: &str,
        count: usize,
        within: Duration,
    ) -> Result<Vec<PendingView>, WaitedInVain> {
        let what = format!("{count} waiting asks of {email}");
        let check = |state: &State| Some(state.pending(email)).filter(|asks| asks.len() == count);
        self.wait_for(&what, within, check).await
    }

    /// Waits until an answer to this ask has taken effect and its turn has ended, and returns that turn.
    ///
    /// # Errors
    ///
    /// When that does not happen in time.
    pub async fn wait_for_answer(&self, asked: &Asked, within: Duration) -> Result<TurnRecord, WaitedInVain> {
        let what = format!("an answer to {}", asked.tool_call_id);
        let check = |state: &State| {
            let answers = state.answers(&asked.history_id, &asked.tool_call_id);
            let ended = |turn: &&&TurnRecord| turn.outcome.is_effective() && turn.outcome != TurnOutcome::Running;
            answers.iter().find(ended).map(|turn| (*turn).clone())
        };
        self.wait_for(&what, within, check).await
    }
}
