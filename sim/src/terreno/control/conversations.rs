//! Conversations, their scripts, and asks that are put at once.

use std::time::Duration;

use asks::ask::Surface;
use serde_json::{Value, json};

use super::{Asked, Refused, TurnReply};
use crate::terreno::script::{Agent, AskSpec, Script, Step};
use crate::terreno::state::State;
use crate::terreno::{Terreno, rules};

impl Terreno {
    /// Opens a conversation that follows a script; nothing runs until somebody sends it a message.
    ///
    /// # Errors
    ///
    /// When there is no such user.
    pub fn open(&self, email: &str, script: Script) -> Result<String, Refused> {
        self.open_with(email, Agent::scripted(script))
    }

    /// Opens a conversation with the built-in agent of the demo.
    ///
    /// # Errors
    ///
    /// When there is no such user.
    pub fn open_built_in(&self, email: &str) -> Result<String, Refused> {
        self.open_with(email, Agent::built_in())
    }

    /// Opens a conversation that follows a script and runs its first turn.
    ///
    /// # Errors
    ///
    /// When there is no such user.
    pub async fn begin(&self, email: &str, script: Script) -> Result<TurnReply, Refused> {
        let history_id = self.open(email, script)?;
        self.prompt(&history_id, "Begin", Surface::Full).await
    }

    /// Puts an ask at once, on a conversation of its own.
    ///
    /// # Errors
    ///
    /// When there is no such user, or a host would not let the ask through.
    pub fn ask(&self, email: &str, kind: &str, input: Value) -> Result<Asked, Refused> {
        self.ask_then(email, AskSpec::new(kind, input), Script::new())
    }

    /// Puts an ask with a ready-made card at once, on a conversation of its own; nothing about it is checked.
    ///
    /// # Errors
    ///
    /// When there is no such user.
    pub fn ask_card(&self, email: &str, card: Value, input: Value) -> Result<Asked, Refused> {
        self.ask_then(email, AskSpec::raw(card, input), Script::new())
    }

    /// Puts an ask at once, on a conversation of its own that goes on with a script.
    ///
    /// # Errors
    ///
    /// When there is no such user, or a host would not let the ask through.
    pub fn ask_then(&self, email: &str, spec: AskSpec, script: Script) -> Result<Asked, Refused> {
        if let Some(problem) = rules::spec_problem(&spec, Surface::Full) {
            return Err(Refused::BadAsk(problem));
        }
        let history_id = self.open(email, script)?;
        let now = self.now();
        self.change(|state| {
            let row = json!({"text": "Go ahead.", "type": "user", "content": []});
            let index = state.by_id.get(&history_id).copied();
            let history = index.and_then(|index| state.histories.get_mut(index));
            if let Some(history) = history {
                history.rows.push(row);
            }
        });
        self.ask_now(&history_id, spec, now)
    }

    /// Puts an ask at once, on a conversation that exists and does not wait.
    ///
    /// # Errors
    ///
    /// When there is no such conversation, it waits already, or a host would not let the ask through.
    pub fn ask_in(&self, history_id: &str, spec: AskSpec) -> Result<Asked, Refused> {
        if let Some(problem) = rules::spec_problem(&spec, Surface::Full) {
            return Err(Refused::BadAsk(problem));
        }
        self.ask_now(history_id, spec, self.now())
    }

    /// Adds steps to the end of a conversation's script.
    ///
    /// # Errors
    ///
    /// When there is no such conversation.
    pub fn append_steps(&self, history_id: &str, steps: impl IntoIterator<Item = Step>) -> Result<(), Refused> {
        self.with_history(history_id, |state, index| {
            if let Some(history) = state.histories.get_mut(index) {
                history.agent.queue.extend(steps);
            }
        })
    }

    /// Puts steps before the rest of a conversation's script, such as a failure of its next turn.
    ///
    /// # Errors
    ///
    /// When there is no such conversation.
    pub fn prepend_steps(&self, history_id: &str, steps: impl IntoIterator<Item = Step>) -> Result<(), Refused> {
        let steps: Vec<Step> = steps.into_iter().collect();
        self.with_history(history_id, |state, index| {
            let Some(history) = state.histories.get_mut(index) else { return };
            for step in steps.into_iter().rev() {
                history.agent.queue.push_front(step);
            }
        })
    }

    /// Takes a waiting ask away without an answer row, as when its conversation is repaired by hand.
    ///
    /// # Errors
    ///
    /// When there is no such conversation.
    pub fn forget_ask(&self, history_id: &str) -> Result<(), Refused> {
        self.with_history(history_id, |state, index| {
            if let Some(ask) = state.set_pending(index, None)
                && let Some(history) = state.histories.get_mut(index)
            {
                history.mark(&ask.tool_call_id, "cancelled");
            }
        })
    }

    /// Gives a conversation its title.
    ///
    /// # Errors
    ///
    /// When there is no such conversation.
    pub fn set_title(&self, history_id: &str, title: &str) -> Result<(), Refused> {
        self.with_history(history_id, |state, index| {
            if let Some(history) = state.histories.get_mut(index) {
                history.title = Some(title.to_owned());
                history.list();
            }
        })
    }

    /// Deletes a conversation softly, as the API does, or brings it back.
    ///
    /// # Errors
    ///
    /// When there is no such conversation.
    pub fn set_deleted(&self, history_id: &str, deleted: bool) -> Result<(), Refused> {
        self.with_history(history_id, |state, index| {
            if let Some(history) = state.histories.get_mut(index) {
                history.deleted = deleted;
            }
        })
    }

    fn open_with(&self, email: &str, agent: Agent) -> Result<String, Refused> {
        let now = self.now();
        self.change(|state| {
            let user_id = state.emails.get(email).cloned().ok_or_else(|| Refused::NoUser(email.to_owned()))?;
            let index = state.new_history(&user_id, agent, now);
            let history = state.histories.get(index).map(|history| history.id.clone());
            history.ok_or_else(|| Refused::NoConversation(index.to_string()))
        })
    }

    fn ask_now(&self, history_id: &str, spec: AskSpec, now: Duration) -> Result<Asked, Refused> {
        self.change(|state| {
            let missing = || Refused::NoConversation(history_id.to_owned());
            let index = *state.by_id.get(history_id).ok_or_else(missing)?;
            if state.pending_in(history_id).is_some() {
                return Err(Refused::Busy(history_id.to_owned()));
            }
            state.ask(index, spec, now);
            let asked = state.pending_in(history_id).ok_or_else(missing)?;
            Ok(Asked { history_id: history_id.to_owned(), tool_call_id: asked.tool_call_id })
        })
    }

    fn with_history(&self, history_id: &str, work: impl FnOnce(&mut State, usize)) -> Result<(), Refused> {
        self.change(|state| {
            let index = state.by_id.get(history_id).copied();
            let index = index.ok_or_else(|| Refused::NoConversation(history_id.to_owned()))?;
            work(state, index);
            Ok(())
        })
    }
}
