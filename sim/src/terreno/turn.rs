//! A turn: what it may do, what it writes at its beginning and at its end, and when its answer is taken back.
//!
//! The beginning is one conditional update under the lock, so of two racing answers one wins. The agent's steps run without
//! the lock. The end writes the turn's rows at once, behind its own user message.

use std::time::Duration;

use asks::ask::Surface;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::body::{Shape, TurnCall};
use super::options::Model;
use super::records::{TurnOutcome, TurnRecord, Via};
use super::reply::Reply;
use super::rules;
use super::script::{AskSpec, Heard, Step, label_of};
use super::state::{History, Pending, State, is_answer_row};

const NO_MODEL: &str = "This is demo mode. To use AI features, paste your Gemini API key in Settings.";

/// The longest title a conversation gives itself, in characters.
const TITLE_MAX: usize = 40;

/// Who sends a turn, and with what.
#[derive(Debug, Clone)]
pub(super) struct Sender {
    pub(super) user_id: String,
    pub(super) via: Via,
    pub(super) has_key: bool,
}

/// A turn that took effect and has yet to run.
#[derive(Debug)]
pub(super) struct Begun {
    index: usize,
    record: usize,
    heard: Heard,
    surface: Surface,
    pub(super) steps: Vec<Step>,
    answered: Option<Pending>,
    rows: usize,
}

/// What came of the agent's steps.
#[derive(Debug, Default)]
pub(super) struct Ran {
    text: String,
    kept: String,
    asks: Vec<AskSpec>,
    refused: Vec<AskSpec>,
    error: Option<String>,
    emitted: bool,
}

impl Begun {
    /// Whether running it takes time.
    pub(super) fn is_slow(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Slow(_)))
    }

    /// Runs the steps; slow ones really wait.
    pub(super) async fn run(&mut self) -> Ran {
        let mut ran = self.start();
        for step in std::mem::take(&mut self.steps) {
            if let Step::Slow(by) = step {
                tokio::time::sleep(by).await;
            } else {
                ran.take(step, &self.heard, self.surface);
            }
        }
        ran
    }

    /// Runs the steps of a turn that is not slow.
    pub(super) fn run_now(&mut self) -> Ran {
        let mut ran = self.start();
        for step in std::mem::take(&mut self.steps) {
            ran.take(step, &self.heard, self.surface);
        }
        ran
    }

    /// An answered approval emits its tool's result before the model does anything.
    fn start(&self) -> Ran {
        Ran { emitted: self.answered.as_ref().is_some_and(|ask| ask.tool.is_some()), ..Ran::default() }
    }
}

impl Ran {
    fn take(&mut self, step: Step, heard: &Heard, surface: Surface) {
        match step {
            Step::Say(text) => self.emit(&heard.fill(&text)),
            Step::Keep(text) => {
                let text = heard.fill(&text);
                self.kept.push_str(&text);
                self.emit(&text);
            }
            Step::Ask(spec) => match rules::spec_problem(&spec, surface) {
                None => self.asks.push(spec),
                Some(problem) => {
                    // The model gets a tool error and says so; the ask never reaches the client.
                    let error = json!({"type": "error-text", "value": problem});
                    self.emit(&format!("Answer: {error}"));
                    self.refused.push(spec);
                }
            },
            Step::Also(spec) if !self.asks.is_empty() => self.asks.push(spec),
            Step::FailBeforeOutput(message) => self.error = Some(message),
            Step::FailAfterOutput(text, message) => {
                self.emit(&heard.fill(&text));
                self.error = Some(message);
            }
            Step::Also(_) | Step::Slow(_) | Step::End => {}
        }
    }

    fn emit(&mut self, text: &str) {
        self.text.push_str(text);
        self.emitted = true;
    }
}

impl State {
    /// Checks a turn and gives it its effect: the answer's rows and the cleared ask, or the cancelled ask of a prompt.
    pub(super) fn begin(
        &mut self,
        sender: &Sender,
        index: usize,
        call: TurnCall,
        now: Duration,
    ) -> Result<Begun, Reply> {
        let TurnCall { shape, surface } = call;
        let mut record = TurnRecord::of(&shape, sender, surface, super::ids::millis(now));
        let judged = self.judge(sender, index, &shape, &mut record);
        let pace = self.options.pace;
        let number = self.turns.len();
        let Some(history) = self.histories.get(index) else { return Err(Reply::internal()) };
        record.history_id.clone_from(&history.id);
        if let Err(refusal) = judged {
            record.outcome = refusal.outcome;
            self.turns.push(record);
            return Err(refusal.reply);
        }
        let (heard, answered) = match (shape, record.response.clone()) {
            (Shape::Prompt(prompt), _) => {
                self.close(index, &json!({"action": "cancel", "reason": "user_sent_message"}), now);
                (Heard::Prompt(prompt), None)
            }
            (_, response) => {
                let response = response.unwrap_or(Value::Null);
                let answered = self.close(index, &response, now);
                let label = answered.as_ref().map_or_else(String::new, |ask| ask.label(&record, &response));
                (Heard::Answer { label, response }, answered)
            }
        };
        self.turns.push(record);
        let Some(history) = self.histories.get_mut(index) else { return Err(Reply::internal()) };
        history.running += 1;
        let steps = history.agent.turn(&heard, surface, pace);
        Ok(Begun { index, record: number, heard, surface, steps, answered, rows: history.rows.len() })
    }

    /// Writes what came of a turn, and says it.
    pub(super) fn finish(&mut self, begun: Begun, ran: Ran, now: Duration) -> Reply {
        let Begun { index, record, heard, answered, rows, .. } = begun;
        let outcome = self.turns.get_mut(record).map(|turn| &mut turn.outcome);
        let Some(history) = self.histories.get_mut(index) else { return Reply::internal() };
        history.running = history.running.saturating_sub(1);

        let untouched = history.rows.len() == rows && history.pending.is_none() && !history.deleted;
        if let (Some(error), Some(ask), false, true) = (&ran.error, &answered, ran.emitted, untouched) {
            set(outcome, TurnOutcome::Undone);
            return self.undo(index, ask.clone(), error, now);
        }
        set(outcome, if ran.error.is_some() { TurnOutcome::Kept } else { TurnOutcome::Effective });

        history.updated = now;
        match &heard {
            Heard::Prompt(text) => history.rows.push(json!({"text": text, "type": "user", "content": []})),
            Heard::Answer { .. } => history.ran_tool(answered.as_ref(), &heard),
        }
        for spec in ran.refused {
            let name = format!("ask_{}", spec.kind);
            let call = self.mint.call(now);
            history.rows.push(json!({
                "args": spec.input, "text": format!("Tool call: {name}"), "toolCallId": call, "toolName": name,
                "type": "tool-call", "content": [],
            }));
        }
        let text = if ran.asks.is_empty() { ran.text } else { ran.kept };
        if !text.is_empty() {
            history.rows.push(json!({"model": "sim-model", "text": text, "type": "assistant", "content": []}));
        }
        if !text.is_empty() && ran.asks.is_empty() && history.title.is_none() {
            history.title = Some(history.invent_title());
            history.list();
        }
        let mut asked = None;
        for (number, spec) in ran.asks.into_iter().enumerate() {
            let pending = self.ask(index, spec, now);
            if number == 0 {
                asked = pending;
            }
        }
        let mut data = Map::new();
        let history = self.histories.get(index);
        data.insert("historyId".to_owned(), json!(history.map(|history| &history.id)));
        if let Some(asked) = asked {
            data.insert("pendingAsk".to_owned(), asked);
        }
        if let Some(error) = ran.error {
            data.insert("error".to_owned(), json!(error));
        }
        data.insert("text".to_owned(), json!(text));
        if let Some(title) = history.and_then(|history| history.title.as_ref()) {
            data.insert("title".to_owned(), json!(title));
        }
        Reply::data(Value::Object(data))
    }

    /// Adds an ask's rows and lets the conversation wait on it; the ask as a reply carries it, or `None` when the
    /// conversation already waits on another one and the new ask is cancelled.
    pub(super) fn ask(&mut self, index: usize, spec: AskSpec, now: Duration) -> Option<Value> {
        let approval = spec.tool.is_some();
        let tool_call_id =
            spec.tool_call_id.unwrap_or_else(|| if approval { self.mint.approval() } else { self.mint.call(now) });
        let tool = spec.tool.map(|tool| (tool, self.mint.call(now)));
        let raw = spec.card.is_some();
        let card = spec.card.unwrap_or_else(|| rules::card(&spec.kind, &spec.input, &tool_call_id));
        let listed = String::new();
        let pending =
            Pending { kind: spec.kind, tool_call_id, input: spec.input, card, created: now, tool, raw, listed };
        let history = self.histories.get_mut(index)?;
        let free = history.pending.is_none();
        history.push_ask(&pending, if free { "pending" } else { "cancelled" });
        history.updated = now;
        if !free {
            history.push_answer(&pending, &json!({"action": "cancel", "reason": "one_ask_at_a_time"}));
            return None;
        }
        let replied = pending.replied();
        self.set_pending(index, Some(pending));
        Some(replied)
    }

    /// The one conditional update: the answer row, the ask row's status, the cleared ask.
    pub(super) fn close(&mut self, index: usize, response: &Value, now: Duration) -> Option<Pending> {
        let pending = self.set_pending(index, None)?;
        let history = self.histories.get_mut(index)?;
        let cancelled = response.get("action").and_then(Value::as_str) == Some("cancel");
        history.mark(&pending.tool_call_id, if cancelled { "cancelled" } else { "answered" });
        history.push_answer(&pending, &without_bytes(response));
        history.updated = now;
        Some(pending)
    }

    fn undo(&mut self, index: usize, ask: Pending, error: &str, now: Duration) -> Reply {
        let Some(history) = self.histories.get_mut(index) else { return Reply::internal() };
        if history.rows.last().is_some_and(|row| is_answer_row(row, &ask.tool_call_id)) {
            history.rows.pop();
        }
        history.mark(&ask.tool_call_id, "pending");
        history.updated = now;
        let data = json!({"error": error, "historyId": history.id, "pendingAsk": ask.replied(), "text": ""});
        self.set_pending(index, Some(ask));
        Reply::data(data)
    }

    /// Whether the turn may take effect. Fills in what the record lacks: the response of a pressed button.
    fn judge(&self, sender: &Sender, index: usize, shape: &Shape, record: &mut TurnRecord) -> Result<(), Refusal> {
        let has_model = match self.options.model {
            Model::Configured => true,
            Model::PerRequestKey => sender.has_key,
            Model::Missing => false,
        };
        let history = self.histories.get(index);
        let no_model = || Refusal {
            outcome: TurnOutcome::NoModel,
            reply: Reply::data(json!({"historyId": history.map(|history| &history.id), "text": NO_MODEL})),
        };
        let pending = |id: &str| {
            let ask = history.and_then(|history| history.pending.as_ref()).filter(|ask| ask.tool_call_id == id);
            ask.ok_or_else(|| Refusal { outcome: TurnOutcome::NotPending, reply: Reply::not_pending(id) })
        };
        let refused = |reply| Refusal { outcome: TurnOutcome::Refused(400), reply };
        match shape {
            Shape::Prompt(_) if has_model => Ok(()),
            Shape::Prompt(_) => Err(no_model()),
            Shape::Button { tool_call_id, button_id } => {
                let ask = pending(tool_call_id)?;
                let found = rules::button(&ask.card, button_id);
                record.response = Some(found.map_err(|field| refused(Reply::unknown_button(&field)))?);
                if has_model { Ok(()) } else { Err(no_model()) }
            }
            Shape::Answer { .. } if !has_model => Err(no_model()),
            Shape::Answer { tool_call_id, response } => {
                let ask = pending(tool_call_id)?;
                if ask.raw {
                    return Ok(());
                }
                let fields = rules::answer_problems(&ask.kind, &ask.input, response, self.options.max_file_bytes);
                if fields.is_empty() { Ok(()) } else { Err(refused(Reply::answer_invalid(&fields))) }
            }
        }
    }
}

/// Why a turn has no effect.
struct Refusal {
    outcome: TurnOutcome,
    reply: Reply,
}

impl TurnRecord {
    fn of(shape: &Shape, sender: &Sender, surface: Surface, at_ms: u64) -> Self {
        let mut record = Self {
            at_ms,
            history_id: String::new(),
            user_id: sender.user_id.clone(),
            via: sender.via,
            surface,
            tool_call_id: None,
            button_id: None,
            response: None,
            prompt: None,
            outcome: TurnOutcome::Running,
        };
        match shape {
            Shape::Prompt(prompt) => record.prompt = Some(prompt.clone()),
            Shape::Answer { tool_call_id, response } => {
                record.tool_call_id = Some(tool_call_id.clone());
                record.response = Some(response.clone());
            }
            Shape::Button { tool_call_id, button_id } => {
                record.tool_call_id = Some(tool_call_id.clone());
                record.button_id = Some(button_id.clone());
            }
        }
        record
    }
}

impl Pending {
    /// The label of an answer: that of the pressed button on a ready-made card, else what the input calls it.
    fn label(&self, record: &TurnRecord, response: &Value) -> String {
        if self.raw
            && let Some(button_id) = &record.button_id
        {
            let buttons = self.card.get("buttons").and_then(Value::as_array).into_iter().flatten();
            let button = buttons.into_iter().find(|button| button.get("id").and_then(Value::as_str) == Some(button_id));
            let label = button.and_then(|button| button.get("label")).and_then(Value::as_str);
            return label.unwrap_or(button_id).to_owned();
        }
        label_of(&self.kind, &self.input, response)
    }
}

impl History {
    fn push_ask(&mut self, ask: &Pending, status: &str) {
        let mut mark = Map::from_iter([("kind".to_owned(), json!(ask.kind))]);
        if let Some((tool, call)) = &ask.tool {
            mark.insert("origin".to_owned(), json!("approval"));
            self.rows.push(json!({
                "text": format!("Tool call: {tool}"), "toolCallId": call, "toolName": tool, "type": "tool-call",
                "content": [],
            }));
        }
        mark.insert("status".to_owned(), json!(status));
        let name = ask.tool_name();
        self.rows.push(json!({
            "args": ask.input, "ask": mark, "text": format!("Tool call: {name}"), "toolCallId": ask.tool_call_id,
            "toolName": name, "type": "tool-call", "content": [],
        }));
    }

    fn push_answer(&mut self, ask: &Pending, response: &Value) {
        let name = ask.tool_name();
        self.rows.push(json!({
            "result": response, "text": format!("Tool result: {name}"), "toolCallId": ask.tool_call_id,
            "toolName": name, "type": "tool-result", "content": [],
        }));
    }

    /// An approved host tool runs once and leaves its own result row.
    fn ran_tool(&mut self, answered: Option<&Pending>, heard: &Heard) {
        let Some((tool, call)) = answered.and_then(|ask| ask.tool.as_ref()) else { return };
        if heard.content().get("confirmed") != Some(&json!(true)) {
            return;
        }
        self.tool_runs += 1;
        self.rows.push(json!({
            "result": {"ok": true}, "text": format!("Tool result: {tool}"), "toolCallId": call, "toolName": tool,
            "type": "tool-result", "content": [],
        }));
    }

    /// The scripted title, or the first words of the conversation.
    fn invent_title(&self) -> String {
        if let Some(title) = &self.agent.title {
            return title.clone();
        }
        let first = self.rows.iter().find(|row| row.get("type").and_then(Value::as_str) == Some("user"));
        let text = first.and_then(|row| row.get("text")).and_then(Value::as_str).unwrap_or("Conversation");
        let mut title = String::new();
        for word in text.split_whitespace() {
            if title.chars().count() + word.chars().count() >= TITLE_MAX {
                break;
            }
            if !title.is_empty() {
                title.push(' ');
            }
            title.push_str(word);
        }
        if title.is_empty() { "Conversation".to_owned() } else { title }
    }
}

fn set(place: Option<&mut TurnOutcome>, outcome: TurnOutcome) {
    if let Some(place) = place {
        *place = outcome;
    }
}

/// The envelope as stored: files keep their name, type and real size, and lose their bytes.
fn without_bytes(response: &Value) -> Value {
    let mut stored = response.clone();
    let files = stored.pointer_mut("/content/files").and_then(Value::as_array_mut);
    for file in files.into_iter().flatten().filter_map(Value::as_object_mut) {
        let Some(url) = file.shift_remove("url") else { continue };
        let payload = url.as_str().and_then(|url| url.split_once(',')).map(|(_, payload)| payload);
        if let Some(bytes) = payload.and_then(|payload| STANDARD.decode(payload).ok()) {
            file.insert("size".to_owned(), json!(bytes.len()));
        }
    }
    stored
}
