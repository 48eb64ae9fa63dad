//! The built-in agent of the demo: a handful of everyday tasks that between them ask every kind of question.
//!
//! It looks for a few words in what the visitor writes, asks, and replies in one or two short sentences. On the compact
//! surface it asks only what fits there, as a model would.

use asks::ask::Surface;
use serde_json::{Value, json};

use super::script::{AskSpec, Heard, Step};

/// Where a conversation with the built-in agent stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Talk {
    #[default]
    Open,
    Menu,
    TripWhere,
    TripWhen {
        place: String,
    },
    TripBook {
        place: String,
        month: String,
    },
    Todos,
    Dinner,
    Draft,
    DraftSend,
    Room,
    Receipt,
    Backup,
    Flaky {
        tried: bool,
    },
}

/// The words that lead to a task, looked for in this order.
const TASKS: [(&[&str], Task); 8] = [
    (&["trip", "travel", "vacation", "holiday", "flight"], Task::Trip),
    (&["todo", "delete", "clean", "remove"], Task::Todos),
    (&["draft", "send", "mail", "letter", "reply"], Task::Draft),
    (&["room", "meeting", "form", "book"], Task::Room),
    (&["receipt", "upload", "file", "photo", "invoice"], Task::Receipt),
    (&["dinner", "lunch", "food", "eat", "restaurant", "order"], Task::Dinner),
    (&["backup", "region", "many", "several"], Task::Backup),
    (&["fail", "crash", "flaky", "unreliable"], Task::Flaky),
];

#[derive(Debug, Clone, Copy)]
enum Task {
    Trip,
    Todos,
    Draft,
    Room,
    Receipt,
    Dinner,
    Backup,
    Flaky,
}

impl Talk {
    /// What the agent does next.
    pub(super) fn reply(&mut self, heard: &Heard, surface: Surface) -> Vec<Step> {
        match heard {
            Heard::Prompt(text) => self.listen(text, surface),
            Heard::Answer { .. } => self.go_on(heard, surface),
        }
    }

    fn listen(&mut self, text: &str, surface: Surface) -> Vec<Step> {
        let text = text.to_lowercase();
        if text.contains("thank") {
            *self = Self::Open;
            return say("You are welcome.");
        }
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if let Some((_, task)) = TASKS.iter().find(|(words, _)| has(words)) {
            return self.begin(*task, surface);
        }
        *self = Self::Menu;
        let options = [("trip", "Plan a trip"), ("todos", "Clean up todos"), ("draft", "Write a draft")];
        choice("What can I do?", "I can help with a few things. What shall it be?", &options, Some("trip"))
    }

    fn begin(&mut self, task: Task, surface: Surface) -> Vec<Step> {
        let compact = surface == Surface::Compact;
        match task {
            Task::Trip => {
                *self = Self::TripWhere;
                let options = [("lisbon", "Lisbon"), ("oslo", "Oslo"), ("kyoto", "Kyoto")];
                choice("Trip", "Where would you like to go?", &options, Some("lisbon"))
            }
            Task::Todos => {
                *self = Self::Todos;
                vec![Step::Ask(AskSpec::approval(
                    "deleteTodos",
                    json!({
                        "prompt": "Delete 14 completed todos? This cannot be undone.", "title": "Todos",
                        "confirmLabel": "Delete 14 todos", "denyLabel": "Keep them", "destructive": true,
                    }),
                ))]
            }
            Task::Dinner if compact => {
                *self = Self::Dinner;
                let options = [("pizza", "Pizza"), ("ramen", "Ramen"), ("salad", "Salad")];
                choice("Dinner", "What shall I order?", &options, Some("pizza"))
            }
            Task::Dinner => {
                *self = Self::Dinner;
                let options = [
                    ("pizza", "Pizza margherita"),
                    ("ramen", "Miso ramen"),
                    ("salad", "Greek salad"),
                    ("curry", "Chickpea curry"),
                    ("tacos", "Bean tacos"),
                ];
                choice("Dinner", "What shall I order?", &options, Some("ramen"))
            }
            Task::Draft if compact => {
                *self = Self::DraftSend;
                confirm("The reply accepts Tuesday, 10:00. Send it to the supplier?", "Send it", "Not yet")
            }
            Task::Draft => {
                *self = Self::Draft;
                ask(
                    "markdown",
                    json!({
                        "title": "Reply to the supplier", "prompt": "Here is a draft. Change what you like, then send it back.",
                        "initial": "Hello,\n\nthank you for the offer. **Tuesday at 10:00** works well for us.\n\nBest regards",
                        "minLength": 10, "maxLength": 2000,
                    }),
                )
            }
            Task::Room if compact => {
                *self = Self::Room;
                confirm("Book the small room tomorrow at 14:00 for 4 people?", "Book it", "No")
            }
            Task::Room => {
                *self = Self::Room;
                ask("form", room_form())
            }
            Task::Receipt if compact => {
                *self = Self::Open;
                say("Please upload the receipt in the app, there is room for files there.")
            }
            Task::Receipt => {
                *self = Self::Receipt;
                let input = json!({"prompt": "Please send the receipt.", "accept": ["image", "pdf"], "maxFiles": 2});
                ask("files", input)
            }
            Task::Backup if compact => {
                *self = Self::Backup;
                confirm("Back up the regions North and West?", "Back up", "Not now")
            }
            Task::Backup => {
                *self = Self::Backup;
                ask(
                    "choice",
                    json!({
                        "prompt": "Which regions should the backup cover?", "select": "many",
                        "options": [
                            {"id": "north", "label": "North"}, {"id": "south", "label": "South", "description": "Costs extra"},
                            {"id": "west", "label": "West"},
                        ],
                        "default": ["north", "west"],
                    }),
                )
            }
            Task::Flaky => {
                *self = Self::Flaky { tried: false };
                confirm("Try the unreliable service? It usually works the second time.", "Try it", "Leave it")
            }
        }
    }

    fn go_on(&mut self, heard: &Heard, surface: Surface) -> Vec<Step> {
        let label = heard.label();
        let confirmed = heard.content().get("confirmed") == Some(&json!(true));
        match std::mem::take(self) {
            Self::TripWhere if heard.accepted() => {
                *self = Self::TripWhen { place: label.to_owned() };
                let options = [("may", "In May"), ("september", "In September")];
                choice("Trip", &format!("{label} it is. When do you want to go?"), &options, None)
            }
            Self::TripWhen { place } if heard.accepted() => {
                let month = label.trim_start_matches("In ").to_owned();
                let prompt = format!("I found a flight to {place} in {month} for 240 €. Book it?");
                *self = Self::TripBook { place, month };
                confirm(&prompt, "Book for 240 €", "Not now")
            }
            Self::TripBook { place, month } if confirmed => {
                say(&format!("Booked: {place} in {month}. The tickets are on their way to your inbox."))
            }
            Self::TripBook { .. } => say("All right, nothing was booked. The offer stays open for a day."),
            Self::Todos if confirmed => say("Done, 14 completed todos are gone."),
            Self::Todos => say("All right, nothing was deleted."),
            Self::Draft if heard.accepted() => {
                *self = Self::DraftSend;
                let how =
                    if heard.content().get("changed") == Some(&json!(true)) { "your version" } else { "the draft" };
                confirm(&format!("Send {how} to the supplier now?"), "Send it", "Not yet")
            }
            Self::DraftSend if confirmed => say("Sent."),
            Self::DraftSend => say("I keep it as a draft."),
            Self::Room if confirmed => say("The small room is yours, tomorrow at 14:00."),
            Self::Room if heard.accepted() && heard.content().get("values").is_some() => {
                let people = heard.content().pointer("/values/people").and_then(Value::as_f64).unwrap_or(4.0);
                say(&format!("The room is booked for {people} people."))
            }
            Self::Receipt if heard.accepted() => say(&format!("Thank you, I filed {label} under travel costs.")),
            Self::Dinner if heard.accepted() => say(&format!("{label}, good choice. It arrives in about 40 minutes.")),
            Self::Backup if confirmed => say("The backup of North and West is running."),
            Self::Backup if heard.accepted() && heard.content().get("selected").is_some() => {
                say(&format!("The backup of {label} is running."))
            }
            Self::Flaky { tried: false } if confirmed => {
                // The failure undoes the answer, so the same question is answered once more.
                *self = Self::Flaky { tried: true };
                vec![Step::FailBeforeOutput("The service did not respond.".to_owned())]
            }
            Self::Flaky { tried: true } if confirmed => say("It worked this time."),
            Self::Menu if heard.accepted() => {
                let selected = heard.content().pointer("/selected/0").and_then(Value::as_str);
                match selected {
                    Some("todos") => self.begin(Task::Todos, surface),
                    Some("draft") => self.begin(Task::Draft, surface),
                    _ => self.begin(Task::Trip, surface),
                }
            }
            _ if heard.accepted() => say(&format!("Noted: {label}.")),
            _ => say("All right, I leave it at that."),
        }
    }
}

fn room_form() -> Value {
    json!({
        "title": "Book a room", "prompt": "Please check the details for the booking.",
        "fields": [
            {"id": "people", "type": "number", "label": "People", "required": true, "min": 1, "max": 40, "integer": true,
             "default": 4},
            {"id": "start", "type": "time", "label": "Start", "required": true, "default": "14:00"},
            {"id": "layout", "type": "select", "label": "Layout", "default": "circle",
             "options": [{"id": "rows", "label": "Rows"}, {"id": "circle", "label": "Circle"}]},
            {"id": "notes", "type": "textarea", "label": "Notes", "maxLength": 400},
        ],
    })
}

fn say(text: &str) -> Vec<Step> {
    vec![Step::Say(text.to_owned()), Step::End]
}

fn ask(kind: &str, input: Value) -> Vec<Step> {
    vec![Step::Ask(AskSpec::new(kind, input))]
}

fn confirm(prompt: &str, yes: &str, no: &str) -> Vec<Step> {
    ask("confirm", json!({"prompt": prompt, "confirmLabel": yes, "denyLabel": no}))
}

fn choice(title: &str, prompt: &str, options: &[(&str, &str)], default: Option<&str>) -> Vec<Step> {
    let options: Vec<Value> = options.iter().map(|(id, label)| json!({"id": id, "label": label})).collect();
    let mut input = json!({"title": title, "prompt": prompt, "select": "one", "options": options});
    if let (Some(default), Some(object)) = (default, input.as_object_mut()) {
        object.insert("default".to_owned(), json!([default]));
    }
    ask("choice", input)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terreno::rules;

    const PROMPTS: [&str; 9] = [
        "plan a trip",
        "delete my todos",
        "send the draft",
        "book a room",
        "upload the receipt",
        "order dinner",
        "make a backup of several regions",
        "the flaky thing",
        "anything else",
    ];

    fn asked(steps: &[Step]) -> Option<&AskSpec> {
        steps.iter().find_map(|step| if let Step::Ask(spec) = step { Some(spec) } else { None })
    }

    #[test]
    fn every_question_is_one_the_host_would_let_through() {
        for surface in [Surface::Full, Surface::Compact] {
            for prompt in PROMPTS {
                let mut talk = Talk::default();
                let mut steps = talk.reply(&Heard::Prompt(prompt.to_owned()), surface);
                let mut asks = 0;
                while let Some(spec) = asked(&steps).cloned() {
                    let problem = rules::ask_problem(&spec.kind, &spec.input, surface);
                    assert_eq!(problem, None, "{prompt} on {surface:?}");
                    asks += 1;
                    assert!(asks < 6, "{prompt} never ends");
                    let card = rules::card(&spec.kind, &spec.input, "call_1");
                    let response = card["buttons"][0]["response"].clone();
                    let label = super::super::script::label_of(&spec.kind, &spec.input, &response);
                    steps = talk.reply(&Heard::Answer { label, response }, surface);
                }
                assert!(asks > 0 || surface == Surface::Compact, "{prompt} asks nothing");
                assert!(steps.iter().any(|step| !matches!(step, Step::Slow(_))), "{prompt} ends in silence");
            }
        }
    }

    #[test]
    fn the_prompts_of_the_demo_ask_their_kinds() {
        let kind = |prompt: &str| {
            let steps = Talk::default().reply(&Heard::Prompt(prompt.to_owned()), Surface::Full);
            asked(&steps).map(|spec| (spec.kind.clone(), spec.tool.is_some()))
        };
        let expected = |kind: &str, approval: bool| Some((kind.to_owned(), approval));
        assert_eq!(kind("Plan a trip"), expected("choice", false));
        assert_eq!(kind("Delete my todos"), expected("confirm", true));
        assert_eq!(kind("Send the draft"), expected("markdown", false));
        assert_eq!(kind("Book a room"), expected("form", false));
        assert_eq!(kind("Upload the receipt"), expected("files", false));
        assert_eq!(kind("???"), expected("choice", false));
    }
}
