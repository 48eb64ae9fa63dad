//! An ask as form fields and the buttons that send them.

use asks::input::{
    Accept, Choice, Confirm, Field, FieldType, Files, Form, Input, Lengths, Markdown, Numbers, Offered, Select,
};
use asks::limits::{FORM_TEXT, FORM_TEXTAREA, MARKDOWN, Range};
use maud::{Markup, html};
use serde_json::Value;

use super::posted::Posted;
use super::problems::{Bounds, Problem};
use crate::words::Words;

/// What a form is drawn from.
#[derive(Clone, Copy)]
pub struct Drawing<'a> {
    /// The ask.
    pub ask: &'a Input,
    /// What was sent and refused, to be shown again; `None` on the first look.
    pub posted: Option<&'a Posted>,
    /// Why it was refused.
    pub problems: &'a [Problem],
    /// The most bytes of one file.
    pub max_file_size: u64,
    /// The person's language.
    pub words: &'a dyn Words,
}

/// The fields and buttons, to be put into a `form` that posts as `multipart/form-data`.
#[must_use]
pub fn draw(drawing: &Drawing<'_>) -> Markup {
    let general = drawing.problems.iter().filter(|problem| problem.field.is_none());
    html! {
        @if !drawing.problems.is_empty() {
            p class="notice bad" role="alert" { (drawing.words.please_correct()) }
        }
        @for problem in general {
            p class="notice bad" data-code=(problem.code) { (problem.sentence) }
        }
        @match drawing.ask {
            Input::Choice(ask) => (drawing.choice(ask)),
            Input::Confirm(_) => {},
            Input::Markdown(ask) => (drawing.markdown(ask)),
            Input::Form(ask) => (drawing.form(ask)),
            Input::Files(ask) => (drawing.files(ask)),
        }
        (drawing.buttons())
    }
}

/// What one field needs besides its control.
struct Frame<'a> {
    name: &'a str,
    label: &'a str,
    hints: Vec<String>,
    required: bool,
}

impl Drawing<'_> {
    fn buttons(&self) -> Markup {
        let question = self.ask.question();
        html! {
            div class="actions" {
                @if let Input::Confirm(ask) = self.ask {
                    (confirm_buttons(ask))
                } @else {
                    button class="primary" name="do" value="answer" {
                        (question.submit_label.clone().unwrap_or_else(|| self.words.submit()))
                    }
                }
                @if question.allow_decline {
                    // Skipping needs none of the fields.
                    button name="do" value="decline" formnovalidate { (self.words.skip()) }
                }
            }
        }
    }

    fn choice(&self, ask: &Choice) -> Markup {
        let many = ask.select == Select::Many;
        let bounds = ask.bounds();
        let chosen = |id: &str| match self.posted {
            Some(posted) => posted.has("selected", id),
            None => ask.default.iter().any(|default| default == id),
        };
        let other = self.posted.and_then(|posted| posted.text("other")).unwrap_or_default();
        let hint = many.then(|| self.words.choose(&shown(bounds)));
        html! {
            fieldset aria-describedby=[described("selected", usize::from(hint.is_some()), self.has_problem("selected"))] {
                legend { (ask.question.prompt) }
                @if let Some(hint) = hint { p class="soft" id="selected-hint0" { (hint) } }
                @for option in &ask.options {
                    (pick(many, "selected", option, chosen(&option.id), !many))
                }
                (self.errors("selected"))
            }
            @if ask.allow_other {
                @let label = ask.other_label.clone().unwrap_or_else(|| self.words.other());
                (self.framed(&Frame { name: "other", label: &label, hints: vec![], required: false }, &html! {
                    input type="text" id="other" name="other" value=(other) maxlength="500"
                        aria-invalid=[self.invalid("other")] aria-describedby=[described("other", 0, self.has_problem("other"))];
                }))
            }
        }
    }

    fn markdown(&self, ask: &Markdown) -> Markup {
        let text = self.posted.and_then(|posted| posted.text("markdown")).unwrap_or_else(|| ask.draft());
        let range = ask.lengths.within(MARKDOWN);
        let hints = if ask.lengths == Lengths::default() { vec![] } else { vec![self.words.length(&shown(range))] };
        let described = described("markdown", hints.len(), self.has_problem("markdown"));
        let frame = Frame { name: "markdown", label: &ask.question.prompt, hints, required: range.min > 0 };
        self.framed(&frame, &html! {
            textarea id="markdown" name="markdown" rows="12" dir="auto" data-preview required[range.min > 0]
                placeholder=[ask.placeholder.as_deref()] aria-invalid=[self.invalid("markdown")] aria-describedby=[described] {
                (leading(text))
            }
        })
    }

    fn form(&self, ask: &Form) -> Markup {
        html! { @for field in &ask.fields { (self.field(field)) } }
    }

    fn field(&self, field: &Field) -> Markup {
        let name = format!("v.{}", field.id);
        let mut hints: Vec<String> = field.helper_text.iter().cloned().collect();
        match &field.holds {
            FieldType::Text(lengths) if *lengths != Lengths::default() => {
                hints.push(self.words.length(&shown(lengths.within(FORM_TEXT))));
            }
            FieldType::Textarea(lengths) if *lengths != Lengths::default() => {
                hints.push(self.words.length(&shown(lengths.within(FORM_TEXTAREA))));
            }
            FieldType::Number(numbers) => hints.extend(self.number_hints(*numbers)),
            _ => {}
        }
        let frame = Frame { name: &name, label: &field.label, hints, required: field.required };
        match &field.holds {
            FieldType::Boolean => self.switch(field, &frame),
            FieldType::Multiselect(options) => self.several(field, &frame, options),
            _ => self.framed(&frame, &self.control(field, &frame)),
        }
    }

    /// The control of a field that has exactly one.
    fn control(&self, field: &Field, frame: &Frame<'_>) -> Markup {
        let name = frame.name;
        let value = self.value(field, name);
        let invalid = self.invalid(name);
        let described = described(name, frame.hints.len(), self.has_problem(name));
        let input = |kind: &str, mode: Option<&str>, complete: Option<&str>| {
            html! {
                input type=(kind) id=(name) name=(name) value=(value) required[field.required] inputmode=[mode] autocomplete=[complete]
                    dir="auto" aria-invalid=[invalid] aria-describedby=[described.as_deref()];
            }
        };
        match &field.holds {
            FieldType::Text(_) => input("text", None, None),
            FieldType::Email => input("email", None, Some("email")),
            FieldType::Url => input("url", None, Some("url")),
            FieldType::Phone => input("tel", None, Some("tel")),
            // A number field of a browser throws away what it does not understand, and nobody learns what was wrong.
            FieldType::Number(_) => input("text", Some("decimal"), None),
            FieldType::Date => input("date", None, None),
            FieldType::Time => input("time", None, None),
            FieldType::Datetime => self.moment(field, frame, &value),
            FieldType::Textarea(_) => html! {
                textarea id=(name) name=(name) rows="5" required[field.required] dir="auto" aria-invalid=[invalid]
                    aria-describedby=[described] { (leading(&value)) }
            },
            FieldType::Select(options) => html! {
                select id=(name) name=(name) required[field.required] aria-invalid=[invalid] aria-describedby=[described] {
                    option value="" { (self.words.choose_one()) }
                    @for option in options {
                        option value=(option.id) selected[option.id == value] { (option.label) }
                    }
                }
            },
            FieldType::Boolean | FieldType::Multiselect(_) => html! {},
        }
    }

    /// A point in time: a browser's field, and the offset it does not have. Script fills in the offset of the device.
    fn moment(&self, field: &Field, frame: &Frame<'_>, value: &str) -> Markup {
        let name = frame.name;
        let zone = format!("z.{}", field.id);
        let (local, offset) = split_moment(value);
        let offset = self.posted.and_then(|posted| posted.text(&zone)).map_or(offset, str::to_owned);
        html! {
            input type="datetime-local" id=(name) name=(name) value=(local) required[field.required] step="1"
                aria-invalid=[self.invalid(name)] aria-describedby=[described(name, frame.hints.len(), self.has_problem(name))];
            label for=(zone) class="soft" { (self.words.utc_offset()) }
            input type="text" id=(zone) name=(zone) value=(offset) data-offset-of=(name) placeholder="+00:00" maxlength="6";
        }
    }

    fn switch(&self, field: &Field, frame: &Frame<'_>) -> Markup {
        let on = match self.posted {
            Some(posted) => posted.text(frame.name).is_some(),
            None => field.default == Some(Value::Bool(true)),
        };
        html! {
            div class="field" {
                label class="pick" {
                    input type="checkbox" name=(frame.name) value="on" checked[on] aria-invalid=[self.invalid(frame.name)]
                        aria-describedby=[described(frame.name, frame.hints.len(), self.has_problem(frame.name))];
                    span { (frame.label) }
                }
                (hints(frame))
                (self.errors(frame.name))
            }
        }
    }

    fn several(&self, field: &Field, frame: &Frame<'_>, options: &[Offered]) -> Markup {
        let default = |id: &str| {
            field.default.as_ref().and_then(Value::as_array).is_some_and(|ids| ids.iter().any(|known| known == id))
        };
        let chosen = |id: &str| self.posted.map_or_else(|| default(id), |posted| posted.has(frame.name, id));
        html! {
            fieldset class="field" aria-describedby=[described(frame.name, frame.hints.len(), self.has_problem(frame.name))] {
                legend { (frame.label) @if !frame.required { " " span class="soft" { "(" (self.words.optional()) ")" } } }
                (hints(frame))
                @for option in options { (pick(true, frame.name, option, chosen(&option.id), false)) }
                (self.errors(frame.name))
            }
        }
    }

    fn files(&self, ask: &Files) -> Markup {
        let kinds: Vec<&str> = ask.accept.iter().map(|accept| called(*accept)).collect();
        let accept: Vec<&str> = ask.accept.iter().flat_map(|accept| accepted(*accept)).copied().collect();
        let mut hints = vec![self.words.file_rules(&kinds, &shown(ask.count), self.max_file_size / 1_048_576)];
        if self.posted.is_some_and(|posted| !posted.files.is_empty()) {
            hints.push(self.words.choose_files_again());
        }
        let described = described("files", hints.len(), self.has_problem("files"));
        let frame = Frame { name: "files", label: &ask.question.prompt, hints, required: true };
        self.framed(
            &frame,
            &html! {
                input type="file" id="files" name="files" accept=(accept.join(",")) multiple[ask.count.max > 1] required
                    data-most=(self.max_file_size) aria-invalid=[self.invalid("files")] aria-describedby=[described];
            },
        )
    }

    /// Label, hints and mistakes around a control.
    fn framed(&self, frame: &Frame<'_>, control: &Markup) -> Markup {
        html! {
            div class="field" {
                label for=(frame.name) {
                    (frame.label)
                    @if !frame.required { " " span class="soft" { "(" (self.words.optional()) ")" } }
                }
                (hints(frame))
                (control)
                (self.errors(frame.name))
            }
        }
    }

    fn errors(&self, name: &str) -> Markup {
        let here: Vec<&Problem> =
            self.problems.iter().filter(|problem| problem.field.as_deref() == Some(name)).collect();
        html! {
            @if !here.is_empty() {
                div id={ (name) "-error" } {
                    @for problem in here { p class="error" data-code=(problem.code) { (problem.sentence) } }
                }
            }
        }
    }

    fn has_problem(&self, name: &str) -> bool {
        self.problems.iter().any(|problem| problem.field.as_deref() == Some(name))
    }

    fn invalid(&self, name: &str) -> Option<&'static str> {
        self.has_problem(name).then_some("true")
    }

    /// What a field is filled in with.
    fn value(&self, field: &Field, name: &str) -> String {
        if let Some(posted) = self.posted {
            return posted.text(name).unwrap_or_default().to_owned();
        }
        match &field.default {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        }
    }

    fn number_hints(&self, numbers: Numbers) -> Vec<String> {
        let bounds = Bounds { least: numbers.min.map(|n| n.to_string()), most: numbers.max.map(|n| n.to_string()) };
        let whole = if numbers.integer { self.words.whole_number() } else { String::new() };
        [self.words.size(&bounds), whole].into_iter().filter(|hint| !hint.is_empty()).collect()
    }
}

fn confirm_buttons(ask: &Confirm) -> Markup {
    html! {
        button class=(if ask.destructive { "danger" } else { "primary" }) name="confirmed" value="true" { (ask.approve()) }
        button name="confirmed" value="false" { (ask.deny()) }
    }
}

fn pick(many: bool, name: &str, option: &Offered, chosen: bool, required: bool) -> Markup {
    html! {
        label class="pick" {
            input type=(if many { "checkbox" } else { "radio" }) name=(name) value=(option.id) checked[chosen] required[required];
            span {
                (option.label)
                @if let Some(more) = &option.description { small { (more) } }
            }
        }
    }
}

fn hints(frame: &Frame<'_>) -> Markup {
    html! {
        @for (number, hint) in frame.hints.iter().enumerate() {
            p class="soft" id={ (frame.name) "-hint" (number) } { (hint) }
        }
    }
}

/// The ids of what a screen reader says after a field's label.
fn described(name: &str, hints: usize, has_problem: bool) -> Option<String> {
    let mut ids: Vec<String> = (0..hints).map(|number| format!("{name}-hint{number}")).collect();
    if has_problem {
        ids.push(format!("{name}-error"));
    }
    (!ids.is_empty()).then(|| ids.join(" "))
}

/// A browser drops a line end at the very beginning of a text area.
fn leading(text: &str) -> String {
    if text.starts_with(['\n', '\r']) { format!("\n{text}") } else { text.to_owned() }
}

fn shown(range: Range) -> Bounds {
    Bounds { least: Some(range.min.to_string()), most: Some(range.max.to_string()) }
}

/// A point in time as what a browser's field takes, and its offset.
fn split_moment(text: &str) -> (String, String) {
    let Some((day, time)) = text.split_once('T') else { return (text.to_owned(), String::new()) };
    match time.find(['Z', 'z', '+', '-']) {
        Some(at) => {
            let (time, offset) = time.split_at_checked(at).unwrap_or((time, ""));
            (format!("{day}T{time}"), offset.to_owned())
        }
        None => (text.to_owned(), String::new()),
    }
}

const fn called(accept: Accept) -> &'static str {
    match accept {
        Accept::Image => "JPEG, PNG, GIF, WebP",
        Accept::Pdf => "PDF",
        Accept::Text => "TXT",
        Accept::Csv => "CSV",
        Accept::Json => "JSON",
    }
}

/// What a file dialogue filters by: types, and ends of names where systems do not know the type.
const fn accepted(accept: Accept) -> &'static [&'static str] {
    match accept {
        Accept::Image => &["image/jpeg", "image/png", "image/gif", "image/webp"],
        Accept::Pdf => &["application/pdf", ".pdf"],
        Accept::Text => &["text/plain", ".txt"],
        Accept::Csv => &["text/csv", ".csv"],
        Accept::Json => &["application/json", ".json"],
    }
}

#[cfg(test)]
mod tests {
    use asks::card::Kind;
    use asks::validate;
    use serde_json::json;

    use super::super::{check, problems, read};
    use super::*;
    use crate::words::Language;

    fn drawn(kind: &Kind, input: &Value, posted: Option<&Posted>) -> String {
        let ask = validate::read_tolerantly(kind, input).expect("an ask");
        let words = Language::En.words();
        let found = match posted {
            Some(posted) => problems(&ask, &check(&ask, posted, &read(&ask, posted), 1_048_576), words),
            None => vec![],
        };
        draw(&Drawing { ask: &ask, posted, problems: &found, max_file_size: 1_048_576, words }).into_string()
    }

    #[test]
    fn what_was_typed_is_drawn_again_with_its_mistake() {
        let input = json!({"prompt": "Book", "fields": [
            {"id": "people", "type": "number", "label": "People", "required": true, "max": 4},
            {"id": "notes", "type": "textarea", "label": "Notes"}]});
        let posted: Posted = [("v.people", "<9>"), ("v.notes", "a & \"b\"")].into_iter().collect();
        let page = drawn(&Kind::Form, &input, Some(&posted));
        assert!(page.contains("value=\"&lt;9&gt;\"") && page.contains("a &amp; &quot;b&quot;"), "{page}");
        assert!(page.contains("data-code=\"FIELD_TYPE_MISMATCH\"") && page.contains("aria-invalid=\"true\""), "{page}");
        assert!(page.contains("aria-describedby=\"v.people-hint0 v.people-error\""), "{page}");
        assert!(!drawn(&Kind::Form, &input, None).contains("aria-invalid"));
    }

    #[test]
    fn every_kind_has_its_controls_and_a_way_to_send() {
        let options = json!([{"id": "a", "label": "A", "description": "first"}, {"id": "b", "label": "B"}]);
        let table = [
            (
                Kind::Choice,
                json!({"prompt": "Which?", "select": "one", "options": options, "default": ["b"]}),
                "type=\"radio\"",
            ),
            (
                Kind::Choice,
                json!({"prompt": "Which?", "select": "many", "options": options, "allowOther": true}),
                "name=\"other\"",
            ),
            (Kind::Confirm, json!({"prompt": "Delete?", "destructive": true}), "class=\"danger\""),
            (Kind::Markdown, json!({"prompt": "Edit", "initial": "\nHi"}), "\n\nHi</textarea>"),
            (
                Kind::Files,
                json!({"prompt": "Send", "accept": ["pdf"], "maxFiles": 1}),
                "accept=\"application/pdf,.pdf\"",
            ),
        ];
        for (kind, input, expected) in table {
            let page = drawn(&kind, &input, None);
            assert!(page.contains(expected) && page.contains("<button"), "{kind}: {page}");
        }
        let form = json!({"prompt": "All", "fields": [
            {"id": "a", "type": "text", "label": "A"}, {"id": "b", "type": "email", "label": "B"}, {"id": "c", "type": "url", "label": "C"},
            {"id": "d", "type": "phone", "label": "D"}, {"id": "e", "type": "datetime", "label": "E", "default": "2026-12-09T14:00+01:00"},
            {"id": "f", "type": "boolean", "label": "F", "default": true}, {"id": "g", "type": "select", "label": "G", "options": options_of()},
            {"id": "h", "type": "multiselect", "label": "H", "options": options_of(), "default": ["y"]}]});
        let page = drawn(&Kind::Form, &form, None);
        for expected in [
            "type=\"email\"",
            "type=\"url\"",
            "type=\"tel\"",
            "value=\"2026-12-09T14:00\"",
            "value=\"+01:00\"",
            "<select",
        ] {
            assert!(page.contains(expected), "{expected}: {page}");
        }
        assert_eq!(page.matches(" checked").count(), 2, "the switch and one of several: {page}");
    }

    fn options_of() -> Value {
        json!([{"id": "x", "label": "X"}, {"id": "y", "label": "Y"}])
    }
}
