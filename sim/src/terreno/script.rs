//! What a scripted agent does, step by step, and how an answer finds its way into later text.

use std::collections::VecDeque;
use std::time::Duration;

use asks::ask::Surface;
use serde_json::{Value, json};

use super::agent::Talk;

/// A question the agent puts to the user.
#[derive(Debug, Clone, PartialEq)]
pub struct AskSpec {
    pub(super) kind: String,
    pub(super) input: Value,
    pub(super) card: Option<Value>,
    pub(super) tool: Option<String>,
    pub(super) tool_call_id: Option<String>,
}

impl AskSpec {
    /// A model's ask of this kind; its card is derived and its input is checked.
    #[must_use]
    pub fn new(kind: impl Into<String>, input: Value) -> Self {
        Self { kind: kind.into(), input, card: None, tool: None, tool_call_id: None }
    }

    /// An ask with a ready-made card: neither card nor input is checked or changed. The kind and the tool call id are those
    /// of the card where it has them. A `null` input is left out of what the conversation shows.
    #[must_use]
    pub fn raw(card: Value, input: Value) -> Self {
        let word = |key: &str| card.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
        Self {
            kind: word("kind").unwrap_or_else(|| "choice".to_owned()),
            tool_call_id: word("toolCallId"),
            input,
            card: Some(card),
            tool: None,
        }
    }

    /// A host tool that runs only after the user's approval: a `confirm` that the server itself makes.
    #[must_use]
    pub fn approval(tool: impl Into<String>, input: Value) -> Self {
        Self { tool: Some(tool.into()), ..Self::new("confirm", input) }
    }

    /// With this tool call id instead of a minted one.
    #[must_use]
    pub fn with_id(mut self, tool_call_id: impl Into<String>) -> Self {
        self.tool_call_id = Some(tool_call_id.into());
        self
    }
}

/// One step of an agent's turn.
///
/// In text, `{label}` stands for the label of the answer (of the pressed button, of the selected options), `{action}` for
/// `accept`, `decline` or `cancel`, `{answer}` for the whole envelope as JSON, and `{prompt}` for the user's message.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Adds to the turn's text. Dropped when an ask follows in the same turn, as a host does.
    Say(String),
    /// Adds to the turn's text even if an ask follows; no known host does that, but the wire format allows it.
    Keep(String),
    /// Asks, and ends the turn.
    Ask(AskSpec),
    /// A further ask in the same model step as the ask before it: cancelled with `one_ask_at_a_time`.
    Also(AskSpec),
    /// Takes this long.
    Slow(Duration),
    /// The model fails with this message; before any output, an answer is undone. Ends the turn.
    FailBeforeOutput(String),
    /// The model writes this text, then fails with this message. Ends the turn.
    FailAfterOutput(String, String),
    /// Ends the turn.
    End,
}

/// The steps of a conversation over all its turns.
///
/// A turn takes steps up to and including the first that ends a turn. When none are left, the agent replies with one short
/// sentence.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Script {
    pub(super) steps: VecDeque<Step>,
    pub(super) title: Option<String>,
}

impl Script {
    /// An empty script.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one step.
    #[must_use]
    pub fn then(mut self, step: Step) -> Self {
        self.steps.push_back(step);
        self
    }

    /// Adds text.
    #[must_use]
    pub fn say(self, text: impl Into<String>) -> Self {
        self.then(Step::Say(text.into()))
    }

    /// Adds an ask.
    #[must_use]
    pub fn ask(self, kind: impl Into<String>, input: Value) -> Self {
        self.then(Step::Ask(AskSpec::new(kind, input)))
    }

    /// Adds an ask with a ready-made card.
    #[must_use]
    pub fn ask_raw(self, card: Value, input: Value) -> Self {
        self.then(Step::Ask(AskSpec::raw(card, input)))
    }

    /// Adds a host tool that needs approval.
    #[must_use]
    pub fn approval(self, tool: impl Into<String>, input: Value) -> Self {
        self.then(Step::Ask(AskSpec::approval(tool, input)))
    }

    /// Adds a wait.
    #[must_use]
    pub fn slow(self, by: Duration) -> Self {
        self.then(Step::Slow(by))
    }

    /// Adds a failure before any output.
    #[must_use]
    pub fn fail_before_output(self, message: impl Into<String>) -> Self {
        self.then(Step::FailBeforeOutput(message.into()))
    }

    /// Adds a failure after some text.
    #[must_use]
    pub fn fail_after_output(self, text: impl Into<String>, message: impl Into<String>) -> Self {
        self.then(Step::FailAfterOutput(text.into(), message.into()))
    }

    /// Ends a turn.
    #[must_use]
    pub fn end(self) -> Self {
        self.then(Step::End)
    }

    /// The title the conversation gets with its first reply, instead of its first words.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }
}

/// What a turn begins with, from the agent's point of view.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Heard {
    Prompt(String),
    Answer { label: String, response: Value },
}

impl Heard {
    pub(super) fn action(&self) -> &str {
        match self {
            Self::Prompt(_) => "prompt",
            Self::Answer { response, .. } => response.get("action").and_then(Value::as_str).unwrap_or("accept"),
        }
    }

    pub(super) fn accepted(&self) -> bool {
        self.action() == "accept"
    }

    /// The answer's content, or `null`.
    pub(super) fn content(&self) -> &Value {
        match self {
            Self::Answer { response, .. } => response.get("content").unwrap_or(&Value::Null),
            Self::Prompt(_) => &Value::Null,
        }
    }

    pub(super) fn label(&self) -> &str {
        match self {
            Self::Prompt(text) | Self::Answer { label: text, .. } => text,
        }
    }

    /// The text with its placeholders filled in, in one pass, so that an answer cannot bring placeholders of its own.
    pub(super) fn fill(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            filled.push_str(before);
            let Some((name, tail)) = after.split_once('}') else {
                filled.push('{');
                rest = after;
                continue;
            };
            match (name, self) {
                ("label", _) | ("prompt", Self::Prompt(_)) => filled.push_str(self.label()),
                ("action", _) => filled.push_str(self.action()),
                ("answer", Self::Answer { response, .. }) => filled.push_str(&response.to_string()),
                _ => {
                    filled.push('{');
                    rest = after;
                    continue;
                }
            }
            rest = tail;
        }
        filled.push_str(rest);
        filled
    }
}

/// The agent of one conversation.
#[derive(Debug, Default)]
pub(super) struct Agent {
    pub(super) queue: VecDeque<Step>,
    pub(super) title: Option<String>,
    pub(super) talk: Option<Talk>,
}

impl Agent {
    pub(super) fn scripted(script: Script) -> Self {
        Self { queue: script.steps, title: script.title, talk: None }
    }

    pub(super) fn built_in() -> Self {
        Self { talk: Some(Talk::default()), ..Self::default() }
    }

    /// Takes the steps of one turn, all at once, so that a turn at the same time gets its own.
    pub(super) fn turn(&mut self, heard: &Heard, surface: Surface, pace: Duration) -> Vec<Step> {
        let mut steps = Vec::new();
        if self.take(&mut steps) {
            return steps;
        }
        if let Some(talk) = &mut self.talk {
            if !pace.is_zero() {
                steps.push(Step::Slow(pace));
            }
            self.queue.extend(talk.reply(heard, surface));
            self.take(&mut steps);
        } else if !steps.iter().any(|step| matches!(step, Step::Say(_) | Step::Keep(_))) {
            steps.push(Step::Say(match heard {
                Heard::Prompt(_) => "Understood.".to_owned(),
                Heard::Answer { label, .. } => format!("Noted: {label}."),
            }));
        }
        steps
    }

    /// Moves steps up to the end of a turn; whether there was one.
    fn take(&mut self, steps: &mut Vec<Step>) -> bool {
        while let Some(step) = self.queue.pop_front() {
            let asks = matches!(step, Step::Ask(_));
            let ends = asks || matches!(step, Step::End | Step::FailBeforeOutput(_) | Step::FailAfterOutput(..));
            steps.push(step);
            if asks {
                while matches!(self.queue.front(), Some(Step::Also(_))) {
                    steps.extend(self.queue.pop_front());
                }
            }
            if ends {
                return true;
            }
        }
        false
    }
}

/// The label of an answer, as later text names it.
pub(super) fn label_of(kind: &str, input: &Value, response: &Value) -> String {
    let content = response.get("content").unwrap_or(&Value::Null);
    match response.get("action").and_then(Value::as_str) {
        Some("decline") => return "Skip".to_owned(),
        Some("cancel") => return "Cancel".to_owned(),
        _ => {}
    }
    match kind {
        "choice" => {
            let labels = content.get("selected").and_then(Value::as_array).into_iter().flatten().filter_map(|id| {
                let options = input.get("options")?.as_array()?;
                let option = options.iter().find(|option| option.get("id") == Some(id))?;
                option.get("label")?.as_str()
            });
            labels.chain(content.get("other").and_then(Value::as_str)).collect::<Vec<_>>().join(", ")
        }
        "confirm" => {
            let confirmed = content.get("confirmed") == Some(&json!(true));
            let (key, fallback) = if confirmed { ("confirmLabel", "Confirm") } else { ("denyLabel", "Cancel") };
            input.get(key).and_then(Value::as_str).unwrap_or(fallback).to_owned()
        }
        "markdown" if content.get("changed") == Some(&json!(false)) => "the draft as it is".to_owned(),
        "markdown" => "your text".to_owned(),
        "form" => "your details".to_owned(),
        "files" => {
            let files = content.get("files").and_then(Value::as_array).into_iter().flatten();
            files.filter_map(|file| file.get("filename")?.as_str()).collect::<Vec<_>>().join(", ")
        }
        _ => "your answer".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_once() {
        let heard = Heard::Answer { label: "{action}".to_owned(), response: json!({"action": "decline"}) };
        assert_eq!(heard.fill("You: {label}, {action}, {nothing}, {"), "You: {action}, decline, {nothing}, {");
        assert_eq!(Heard::Prompt("hi".to_owned()).fill("{prompt}{answer}"), "hi{answer}");
    }

    #[test]
    fn a_turn_takes_its_steps_and_no_more() {
        let spec = AskSpec::new("confirm", json!({"prompt": "Go?"}));
        let script = Script::new().say("a").end().slow(Duration::ZERO).then(Step::Ask(spec.clone()));
        let mut agent = Agent::scripted(script.then(Step::Also(spec)).say("b"));
        let heard = Heard::Prompt("x".to_owned());
        let mut turn = || agent.turn(&heard, Surface::Full, Duration::ZERO).len();
        assert_eq!((turn(), turn(), turn(), turn()), (2, 3, 1, 1));
    }
}
