//! Answering presses.

use std::time::Duration;

use super::Done;
use crate::telegram::model::CallbackAnswer;
use crate::telegram::params::Call;
use crate::telegram::refusal::Refusal;
use crate::telegram::text::units;
use crate::telegram::world::World;

/// Longest sentence shown after a press.
const TEXT_MAX: usize = 200;

impl World {
    pub(super) fn answer_callback(&mut self, call: &Call, now: Duration) -> Result<Done, Refusal> {
        let too_old = || Refusal::bad("query is too old and response timeout expired or query ID is invalid");
        let id = call.text("callback_query_id");
        let text = call.text("text");
        if units(&text) > TEXT_MAX {
            return Err(Refusal::bad("MESSAGE_TOO_LONG"));
        }
        // Only games and links back into the app may open an address.
        if call.has("url") && !call.text("url").starts_with("https://t.me/") {
            return Err(Refusal::bad("URL_INVALID"));
        }
        let window = self.settings.answer_window;
        let callback = self.callbacks.get_mut(&id).ok_or_else(too_old)?;
        if callback.answered || now.saturating_sub(callback.pressed) >= window {
            return Err(too_old());
        }
        callback.answered = true;
        self.answers.push(CallbackAnswer {
            callback: id,
            user: callback.user,
            chat: callback.chat,
            message: callback.message,
            text,
            alert: call.boolean("show_alert"),
            pressed: callback.pressed,
            answered: now,
        });
        self.visible += 1;
        Ok(Done::yes())
    }
}
