//! English.

mod answer;
mod form;
mod inbox;
mod link;
mod offers;
mod policy;

use asks::life::{Hold, Note};

use super::{Words, quoted};

/// The English sentences.
#[derive(Debug)]
pub(super) struct English;

impl Words for English {
    fn sending(&self, label: &str) -> String {
        format!("⏳ Sending: {}", quoted(label))
    }

    fn held(&self, label: &str, hold: Hold) -> String {
        let label = quoted(label);
        match hold {
            Hold::RateLimited => format!("⏳ Recorded: {label}. The app asks us to slow down; it will be sent soon."),
            Hold::SignIn => format!("⏳ Recorded: {label}. The app wants a new sign-in before it can be sent."),
            Hold::Unreachable => {
                format!("⏳ Recorded: {label}. The app cannot be reached; it will be sent when it is back.")
            }
        }
    }

    fn unclear(&self, label: &str) -> String {
        format!("⏳ Recorded: {}. Checking whether it arrived.", quoted(label))
    }

    fn answered(&self, label: &str, by: Option<&str>) -> String {
        match by {
            None => format!("✅ Answered: {}", quoted(label)),
            Some(by) => format!("✅ Answered by {}: {}", quoted(by), quoted(label)),
        }
    }

    fn answered_with_error(&self, label: &str, by: Option<&str>, error: &str) -> String {
        format!("{}\n⚠️ The agent hit an error after it: {}", self.answered(label, by), quoted(error))
    }

    fn answered_elsewhere(&self, label: Option<&str>) -> String {
        match label {
            None => "☑️ Answered elsewhere.".to_owned(),
            Some(label) => format!("☑️ Answered elsewhere: {}", quoted(label)),
        }
    }

    fn cancelled(&self) -> String {
        "☑️ No longer needed: the conversation went on.".to_owned()
    }

    fn forbidden(&self) -> String {
        "🚫 The app does not let this account answer here.".to_owned()
    }

    fn gone(&self) -> String {
        "🗑️ The conversation was deleted.".to_owned()
    }

    fn replaced(&self) -> String {
        "↪️ The app asks something else now; that has a card of its own.".to_owned()
    }

    fn note(&self, note: &Note) -> String {
        match note {
            Note::Undone { label, error } => format!(
                "⚠️ Your answer {} did not count: the agent hit an error ({}). Please answer again.",
                quoted(label),
                quoted(error)
            ),
            Note::NotDelivered { claim } => {
                format!("⚠️ Your answer {} could not be brought to the app. Please try again.", quoted(&claim.label))
            }
            Note::ButtonRefused { label } => {
                format!("⚠️ The app does not take {} from here. Please answer another way.", quoted(label))
            }
            Note::AnswerRefused { .. } => {
                "⚠️ The app did not accept your answer. Please look at it once more on the answer page.".to_owned()
            }
            Note::NotConsumed { claim } => format!(
                "⚠️ The app took {} but its agent did not use it, so the question is open again. Is its model configured?",
                quoted(&claim.label)
            ),
            Note::Reopened => "⚠️ The app asks this again.".to_owned(),
            Note::TapsMayBeLost => {
                "⚠️ We were offline for a while. If you tapped meanwhile, please tap again.".to_owned()
            }
        }
    }

    fn only_in_app(&self) -> String {
        "Please answer this one in the app.".to_owned()
    }

    fn open_in_app(&self) -> String {
        "Open in the app".to_owned()
    }

    fn agent_waits(&self) -> String {
        "An agent is waiting for an answer".to_owned()
    }

    fn would_send(&self, button: &str) -> String {
        format!("{} sends:", quoted(button))
    }

    fn empty_text(&self) -> String {
        "(an empty text)".to_owned()
    }

    fn no_label(&self) -> String {
        "(no label)".to_owned()
    }

    fn origin(&self, account: &str, source: &str) -> String {
        format!("For {} · {}", quoted(account), quoted(source))
    }

    fn unknown_button(&self) -> String {
        "This button is not known here any more. Nothing was sent.".to_owned()
    }

    fn not_yours(&self) -> String {
        "This question is not yours to answer. Nothing was sent.".to_owned()
    }

    fn not_linked(&self) -> String {
        "This chat is not linked to that account any more. Nothing was sent.".to_owned()
    }

    fn card_unlinked(&self) -> String {
        "🔗 This chat is not linked to that account any more.".to_owned()
    }

    fn sign_in_again(&self, account: &str, source: &str, link: Option<&str>) -> String {
        let (account, source) = (quoted(account), quoted(source));
        let how = match link {
            Some(link) => format!("Sign in again here: {link}"),
            None => "Link it again to go on.".to_owned(),
        };
        format!("🔑 {source} does not accept the sign-in of {account} any more. What waits is kept. {how}")
    }

    fn already(&self, label: &str, by: Option<&str>) -> String {
        match by {
            None => format!("Already answered: {}", quoted(label)),
            Some(by) => format!("{} has already answered: {}", quoted(by), quoted(label)),
        }
    }

    fn not_saved(&self) -> String {
        "Your answer was not saved, because our storage does not take it right now. Nothing was sent. Please tap again later."
            .to_owned()
    }

    fn button_dead(&self) -> String {
        "The app does not take this button. Please answer in the app.".to_owned()
    }

    fn recorded(&self) -> String {
        "Your answer is recorded and on its way.".to_owned()
    }

    fn still_saving(&self) -> String {
        "This takes a while and is not saved yet. The card will say when it is.".to_owned()
    }

    fn start_linked(&self, accounts: &str) -> String {
        format!(
            "This chat is linked to {}. Questions from its agents will appear here, with buttons.",
            quoted(accounts)
        )
    }

    fn start_unknown(&self, place: &str) -> String {
        format!(
            "This chat is not linked yet. Its address is {place}\nPut it under deliver of an account in askgate.toml, and questions will appear here."
        )
    }

    fn only_buttons(&self) -> String {
        "Typed messages answer nothing here. Please use the buttons below a question.".to_owned()
    }

    fn still_waits(&self) -> String {
        "⏰ This question is still waiting for your answer.".to_owned()
    }

    fn digest(&self, count: usize) -> String {
        if count == 1 {
            "1 question waits for your answer.".to_owned()
        } else {
            format!("{count} questions wait for your answer.")
        }
    }

    fn replied(&self) -> String {
        "The agent has replied.".to_owned()
    }

    fn error_kept_private(&self) -> String {
        "details only in the direct chat".to_owned()
    }

    fn rest_in_app(&self) -> String {
        "… The rest is in the app.".to_owned()
    }
}
