//! Where on the page a broken rule is shown, and in which words.

use asks::errors::{Code, FieldError};
use asks::input::{FieldType, Input, Lengths};
use asks::limits::{FORM_TEXT, FORM_TEXTAREA, MARKDOWN, Range};

use crate::words::Words;

/// One broken rule, at the field that broke it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The form field's name, such as `v.people`; `None` for what concerns the whole answer.
    pub field: Option<String>,
    /// The rule's code, which is shown beside the sentence for whoever wrote the ask.
    pub code: Code,
    /// What is wrong and what to do, in the person's language.
    pub sentence: String,
}

/// Bounds that a sentence may name, as they are written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The least.
    pub least: Option<String>,
    /// The most.
    pub most: Option<String>,
}

/// Puts every broken rule at its field.
#[must_use]
pub fn problems(ask: &Input, errors: &[FieldError], words: &dyn Words) -> Vec<Problem> {
    let problem = |error: &FieldError| {
        let field = field_of(&error.path);
        let bounds = bounds(ask, field.as_deref());
        Problem { sentence: words.broken_rule(error.code, &bounds), field, code: error.code }
    };
    errors.iter().map(problem).collect()
}

/// The form field that a path belongs to.
pub(super) fn field_of(path: &str) -> Option<String> {
    let rest = path.strip_prefix("content.").or_else(|| path.strip_prefix("content"))?;
    let first = rest.split(['.', '[']).next().unwrap_or_default();
    match first {
        "values" => {
            let id = rest.strip_prefix("values")?.trim_start_matches('.');
            let id = id.split(['.', '[']).next().filter(|id| !id.is_empty())?;
            Some(format!("v.{id}"))
        }
        "selected" | "other" | "confirmed" | "markdown" | "files" => Some(first.to_owned()),
        _ => None,
    }
}

fn bounds(ask: &Input, field: Option<&str>) -> Bounds {
    let range = |range: Range| Bounds { least: Some(range.min.to_string()), most: Some(range.max.to_string()) };
    match (ask, field) {
        (Input::Choice(ask), _) => range(ask.bounds()),
        (Input::Files(ask), _) => range(ask.count),
        (Input::Markdown(ask), _) => range(ask.lengths.within(MARKDOWN)),
        (Input::Form(ask), Some(field)) => {
            let id = field.strip_prefix("v.").unwrap_or_default();
            match ask.fields.iter().find(|known| known.id == id).map(|known| &known.holds) {
                Some(FieldType::Text(lengths)) => range(lengths.within(FORM_TEXT)),
                Some(FieldType::Textarea(lengths)) => range(lengths.within(FORM_TEXTAREA)),
                Some(FieldType::Email | FieldType::Url | FieldType::Phone) => {
                    range(Lengths::default().within(FORM_TEXT))
                }
                Some(FieldType::Number(numbers)) => Bounds {
                    least: numbers.min.map(|number| number.to_string()),
                    most: numbers.max.map(|number| number.to_string()),
                },
                _ => Bounds::default(),
            }
        }
        _ => Bounds::default(),
    }
}

#[cfg(test)]
mod tests {
    use asks::card::Kind;
    use serde_json::json;

    use super::*;
    use crate::words::Language;

    #[test]
    fn a_path_leads_to_its_field() {
        let table = [
            ("content.values.people", Some("v.people")),
            ("content.values.seats[1]", Some("v.seats")),
            ("content.selected[0]", Some("selected")),
            ("content.selected", Some("selected")),
            ("content.files[0].mimeType", Some("files")),
            ("content.markdown", Some("markdown")),
            ("content", None),
            ("action", None),
            ("", None),
        ];
        for (path, expected) in table {
            assert_eq!(field_of(path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn a_sentence_names_the_bound_and_every_code_has_one() {
        let ask = asks::validate::read_tolerantly(
            &Kind::Form,
            &json!({"prompt": "?", "fields": [{"id": "n", "type": "number", "label": "N", "min": 1, "max": 4.5}]}),
        )
        .expect("an ask");
        for language in [Language::En, Language::De] {
            let words = language.words();
            let error = FieldError {
                path: "content.values.n".into(),
                code: Code::OutOfRange,
                message: String::new(),
                fix: String::new(),
            };
            let found = problems(&ask, &[error], words);
            assert_eq!(found[0].field.as_deref(), Some("v.n"));
            assert!(found[0].sentence.contains('1') && found[0].sentence.contains("4.5"), "{}", found[0].sentence);
            for code in Code::ALL {
                assert!(words.broken_rule(code, &Bounds::default()).len() > 8, "{code}");
            }
        }
    }
}
