//! A posted form as an answer.

use asks::errors::FieldError;
use asks::input::{Accept, Choice, Field, FieldType, Files, Form, Input, Markdown};
use asks::validate;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::posted::{Posted, PostedFile};

/// The answer that a form sends, as an envelope. It may break rules: [`check`] says which.
///
/// Files are put in as data URLs, which need no storage; where the source has one, the caller uploads them and replaces each
/// `url` by the `fileId`.
#[must_use]
pub fn read(ask: &Input, posted: &Posted) -> Value {
    if posted.has("do", "decline") {
        return json!({"action": "decline"});
    }
    let content = match ask {
        Input::Choice(ask) => choice(ask, posted),
        Input::Confirm(_) => match posted.text("confirmed") {
            Some("true") => json!({"confirmed": true}),
            Some("false") => json!({"confirmed": false}),
            _ => json!({}),
        },
        Input::Markdown(ask) => markdown(ask, posted),
        Input::Form(ask) => json!({"values": values(ask, posted)}),
        Input::Files(ask) => json!({"files": files(ask, &posted.files)}),
    };
    json!({"action": "accept", "content": content})
}

/// Everything that is wrong with an answer, the bytes of its files included.
#[must_use]
pub fn check(ask: &Input, posted: &Posted, answer: &Value, max_file_size: u64) -> Vec<FieldError> {
    let mut errors = validate::answer_to(ask, answer, max_file_size);
    if let Input::Files(ask) = ask
        && errors.is_empty()
        && !posted.has("do", "decline")
    {
        for (index, file) in posted.files.iter().enumerate() {
            errors.extend(validate::file_bytes(&file.bytes, mime_type(ask, file), max_file_size, index));
        }
    }
    errors
}

fn choice(ask: &Choice, posted: &Posted) -> Value {
    let selected: Vec<&str> = posted.all("selected").collect();
    let other = posted.text("other").filter(|other| ask.allow_other && !other.trim().is_empty());
    match other {
        Some(other) => json!({"selected": selected, "other": other}),
        None => json!({"selected": selected}),
    }
}

fn markdown(ask: &Markdown, posted: &Posted) -> Value {
    let Some(text) = posted.text("markdown") else { return json!({}) };
    let draft = ask.draft();
    // A draft with other line ends than a browser's comes back with its own, unless somebody changed it.
    let changed = text != draft.replace("\r\n", "\n");
    json!({"markdown": if changed { text } else { draft }, "changed": changed})
}

fn values(ask: &Form, posted: &Posted) -> Map<String, Value> {
    ask.fields.iter().filter_map(|field| Some((field.id.clone(), value(field, posted)?))).collect()
}

/// The value of a field; `None` for one that was left empty.
fn value(field: &Field, posted: &Posted) -> Option<Value> {
    let name = format!("v.{}", field.id);
    let text = posted.text(&name);
    let filled = text.filter(|text| !text.trim().is_empty());
    match &field.holds {
        // An unticked box sends nothing, and means no.
        FieldType::Boolean => Some(Value::Bool(text.is_some())),
        FieldType::Multiselect(_) => {
            let chosen: Vec<&str> = posted.all(&name).filter(|id| !id.is_empty()).collect();
            (!chosen.is_empty()).then(|| json!(chosen))
        }
        // What is no number is sent on as it is, so that the rules refuse it beside its field.
        FieldType::Number(_) => filled.map(|text| number(text.trim()).unwrap_or_else(|| json!(text))),
        FieldType::Datetime => filled.map(|text| json!(moment(text.trim(), posted.text(&format!("z.{}", field.id))))),
        FieldType::Email | FieldType::Url | FieldType::Phone | FieldType::Date | FieldType::Time => {
            filled.map(|text| json!(text.trim()))
        }
        FieldType::Select(_) => filled.map(|text| json!(text)),
        FieldType::Text(_) | FieldType::Textarea(_) => text.filter(|text| !text.is_empty()).map(|text| json!(text)),
    }
}

/// A number as people write it: a comma is as good as a point where it cannot mean thousands.
fn number(text: &str) -> Option<Value> {
    let plain =
        if text.matches(',').count() == 1 && !text.contains('.') { text.replace(',', ".") } else { text.to_owned() };
    if let Ok(whole) = plain.parse::<i64>() {
        return Some(json!(whole));
    }
    let number = plain.parse::<f64>().ok().filter(|number| number.is_finite())?;
    serde_json::Number::from_f64(number).map(Value::Number)
}

/// A point in time with its offset: a browser's field has none, so it stands in a field of its own.
fn moment(text: &str, offset: Option<&str>) -> String {
    let time = text.split_once('T').map(|(_, time)| time).unwrap_or_default();
    let has_offset = time.ends_with(['Z', 'z']) || time.contains(['+', '-']);
    match offset.map(str::trim).filter(|offset| !offset.is_empty()) {
        Some(offset) if !has_offset && !time.is_empty() => format!("{text}{offset}"),
        _ => text.to_owned(),
    }
}

fn files(ask: &Files, files: &[PostedFile]) -> Vec<Value> {
    let file = |file: &PostedFile| {
        let mime_type = mime_type(ask, file);
        json!({
            "filename": name(&file.filename),
            "mimeType": mime_type,
            "size": file.bytes.len(),
            "url": format!("data:{mime_type};base64,{}", STANDARD.encode(&file.bytes)),
        })
    };
    files.iter().map(file).collect()
}

/// The name alone: some browsers send a path. Its end says what kind it is, so a name that is too long loses its middle.
fn name(filename: &str) -> String {
    const LONGEST: usize = 255;
    let name = filename.rsplit(['/', '\\']).next().unwrap_or_default().trim();
    let length = name.chars().count();
    if length <= LONGEST {
        return name.to_owned();
    }
    let (head, tail) = (name.chars().take(200), name.chars().skip(length - 50));
    head.chain(['…']).chain(tail).collect()
}

/// What a file is declared as. Browsers go by the name's end, and some systems have odd ideas about CSV and JSON.
fn mime_type<'a>(ask: &Files, file: &'a PostedFile) -> &'a str {
    let declared = file.mime_type.split(';').next().unwrap_or_default().trim();
    let accepted = ask.accept.iter().any(|accept| accept.mime_types().contains(&declared));
    let end = file.filename.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase()).unwrap_or_default();
    let by_name = match end.as_str() {
        "csv" => Some((Accept::Csv, "text/csv")),
        "json" => Some((Accept::Json, "application/json")),
        "txt" | "log" => Some((Accept::Text, "text/plain")),
        "pdf" => Some((Accept::Pdf, "application/pdf")),
        _ => None,
    };
    match by_name {
        Some((kind, mime_type)) if !accepted && ask.accept.contains(&kind) => mime_type,
        _ => declared,
    }
}

#[cfg(test)]
mod tests {
    use asks::card::Kind;
    use asks::errors::Code;

    use super::*;

    const MAX: u64 = 10_485_760;

    fn ask(kind: &Kind, input: &Value) -> Input {
        validate::read_tolerantly(kind, input).expect("an ask")
    }

    fn posted(fields: &[(&str, &str)]) -> Posted {
        fields.iter().copied().collect()
    }

    fn codes(ask: &Input, posted: &Posted) -> Vec<(String, Code)> {
        check(ask, posted, &read(ask, posted), MAX).into_iter().map(|error| (error.path, error.code)).collect()
    }

    #[test]
    fn every_kind_is_read_as_its_answer() {
        let choice = ask(
            &Kind::Choice,
            &json!({"prompt": "Which?", "select": "many", "allowOther": true,
            "options": [{"id": "a", "label": "A"}, {"id": "b", "label": "B"}]}),
        );
        let sent = posted(&[("selected", "b"), ("other", " Iceland "), ("do", "answer")]);
        assert_eq!(read(&choice, &sent)["content"], json!({"selected": ["b"], "other": " Iceland "}));
        assert_eq!(codes(&choice, &sent), []);
        assert_eq!(read(&choice, &posted(&[("do", "decline")])), json!({"action": "decline"}));
        assert_eq!(
            codes(&choice, &posted(&[("other", "  ")])),
            [("content.selected".to_owned(), Code::SelectionCount)]
        );

        let confirm = ask(&Kind::Confirm, &json!({"prompt": "Go?"}));
        assert_eq!(read(&confirm, &posted(&[("confirmed", "false")]))["content"], json!({"confirmed": false}));
        assert_eq!(codes(&confirm, &posted(&[])).first().map(|(_, code)| *code), Some(Code::MissingRequired));
        assert_eq!(codes(&confirm, &posted(&[("do", "decline")])), [("action".to_owned(), Code::DeclineNotAllowed)]);
    }

    #[test]
    fn an_untouched_draft_is_unchanged_whatever_its_line_ends() {
        let draft = ask(&Kind::Markdown, &json!({"prompt": "Edit", "initial": "Hello,\r\nyou"}));
        let untouched = posted(&[("markdown", "Hello,\r\nyou")]);
        assert_eq!(read(&draft, &untouched)["content"], json!({"markdown": "Hello,\r\nyou", "changed": false}));
        let edited = posted(&[("markdown", "Hello,\r\nme")]);
        assert_eq!(read(&draft, &edited)["content"], json!({"markdown": "Hello,\nme", "changed": true}));
        assert_eq!(codes(&draft, &untouched), []);
        assert_eq!(codes(&draft, &edited), []);
        let long = posted(&[("markdown", &"x".repeat(20_001))]);
        assert_eq!(codes(&draft, &long), [("content.markdown".to_owned(), Code::TooLong)]);
    }

    #[test]
    fn a_form_sends_what_was_filled_in_with_its_types() {
        let form = ask(
            &Kind::Form,
            &json!({"prompt": "Book", "fields": [
                {"id": "people", "type": "number", "label": "People", "required": true},
                {"id": "when", "type": "datetime", "label": "Start"},
                {"id": "day", "type": "date", "label": "Day"},
                {"id": "quiet", "type": "boolean", "label": "Quiet"},
                {"id": "seats", "type": "multiselect", "label": "Seats", "options": [{"id": "a", "label": "A"}, {"id": "b", "label": "B"}]},
                {"id": "notes", "type": "textarea", "label": "Notes"}]}),
        );
        let sent = posted(&[
            ("v.people", "2,5"),
            ("v.when", "2026-12-09T14:00"),
            ("z.when", "+01:00"),
            ("v.day", ""),
            ("v.seats", "a"),
            ("v.seats", "b"),
            ("v.notes", "  two\r\nlines"),
        ]);
        let expected = json!({"people": 2.5, "when": "2026-12-09T14:00+01:00", "quiet": false, "seats": ["a", "b"], "notes": "  two\nlines"});
        assert_eq!(read(&form, &sent)["content"]["values"], expected);
        assert_eq!(codes(&form, &sent), []);
        let wrong = posted(&[("v.people", "many"), ("v.day", "2026-02-30"), ("v.when", "2026-12-09T14:00Z")]);
        assert_eq!(
            codes(&form, &wrong),
            [
                ("content.values.day".to_owned(), Code::InvalidDate),
                ("content.values.people".to_owned(), Code::FieldTypeMismatch)
            ]
        );
    }

    #[test]
    fn files_are_told_by_their_bytes() {
        let files = ask(&Kind::Files, &json!({"prompt": "Send", "accept": ["csv", "pdf"]}));
        let file = |filename: &str, mime_type: &str, bytes: &[u8]| {
            let file = PostedFile { filename: filename.into(), mime_type: mime_type.into(), bytes: bytes.to_vec() };
            let mut posted = Posted::default();
            posted.files.push(file);
            posted
        };
        let sheet = file("C:\\data\\table.CSV", "application/vnd.ms-excel", b"a,b\n");
        assert_eq!(read(&files, &sheet)["content"]["files"][0]["filename"], "table.CSV");
        assert_eq!(read(&files, &sheet)["content"]["files"][0]["mimeType"], "text/csv");
        assert_eq!(codes(&files, &sheet), []);
        let liar = file("contract.pdf", "application/pdf", b"MZ not a PDF");
        assert_eq!(codes(&files, &liar), [("content.files[0].mimeType".to_owned(), Code::MimeMismatch)]);
        let none = Posted::default();
        assert_eq!(codes(&files, &none), [("content.files".to_owned(), Code::FileCount)]);
        assert_eq!(check(&files, &sheet, &read(&files, &sheet), 2)[0].code, Code::FileTooLarge);
        assert!(name(&"n".repeat(400)).chars().count() <= 255);
    }
}
