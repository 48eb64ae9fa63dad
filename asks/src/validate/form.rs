//! `form`: a few typed fields, submitted together.

mod value;

use serde_json::Value;

use super::report::Report;
use super::shape::{Fields, Need, Texts, duplicates, each, mistyped, text_of, unknown_key};
use crate::errors::{Code, Path};
use crate::input::{Field, FieldType, Form, Lengths, Numbers, Offered, count};
use crate::limits::{self, Range, TextLimit};
use crate::text;
use value::Purpose;

const KEYS: [&str; 5] = ["prompt", "title", "submitLabel", "allowDecline", "fields"];

/// The keys that every field has.
const FIELD_KEYS: [&str; 6] = ["id", "type", "label", "helperText", "required", "default"];

#[derive(Clone, Copy)]
enum Type {
    Text,
    Textarea,
    Email,
    Url,
    Phone,
    Number,
    Date,
    Time,
    Datetime,
    Boolean,
    Select,
    Multiselect,
}

const TYPES: [(&str, Type); 12] = [
    ("text", Type::Text),
    ("textarea", Type::Textarea),
    ("email", Type::Email),
    ("url", Type::Url),
    ("phone", Type::Phone),
    ("number", Type::Number),
    ("date", Type::Date),
    ("time", Type::Time),
    ("datetime", Type::Datetime),
    ("boolean", Type::Boolean),
    ("select", Type::Select),
    ("multiselect", Type::Multiselect),
];

/// Each value by itself.
pub(super) fn shape(input: &Value, report: &mut Report) -> Option<Form> {
    let form = Fields::strict(input, Path::root(), &KEYS, report)?;
    let question = form.question_with_submit(report);
    let items = form.list("fields", Need::Required, limits::FIELDS, report)?;
    let fields = each(items, &form.path("fields"), |item, path| field(item, path, report));
    Some(Form { question: question?, fields: fields? })
}

/// One field. Without a known type there is nothing to hold the rest against, so only the type is reported.
fn field(item: &Value, path: &Path, report: &mut Report) -> Option<Field> {
    let field = Fields::loose(item, path.clone(), report)?;
    let kind = field.word("type", &TYPES, report)?;
    field.refuse_others(&[FIELD_KEYS.as_slice(), extra_keys(kind)].concat(), report);
    let id = field.id(report);
    let label = field.text("label", Need::Required, Texts::Visible(limits::FIELD_LABEL), report);
    let helper_text = field.owned_text("helperText", Texts::Visible(limits::HELPER_TEXT), report);
    let required = field.flag("required", Need::Optional, report).unwrap_or(false);
    let default = field.value("default", Need::Optional, report);
    if let Some(default) = default {
        default_has_type(kind, default, &field.path("default"), report);
    }
    let holds = holds(kind, &field, report);
    Some(Field {
        id: id?.to_owned(),
        label: label?.to_owned(),
        helper_text,
        required,
        default: default.cloned(),
        holds: holds?,
    })
}

const fn extra_keys(kind: Type) -> &'static [&'static str] {
    match kind {
        Type::Text | Type::Textarea => &["minLength", "maxLength"],
        Type::Number => &["min", "max", "integer"],
        Type::Select | Type::Multiselect => &["options"],
        Type::Email | Type::Url | Type::Phone | Type::Date | Type::Time | Type::Datetime | Type::Boolean => &[],
    }
}

fn holds(kind: Type, field: &Fields<'_>, report: &mut Report) -> Option<FieldType> {
    Some(match kind {
        Type::Text => FieldType::Text(lengths(field, limits::FORM_TEXT, report)),
        Type::Textarea => FieldType::Textarea(lengths(field, limits::FORM_TEXTAREA, report)),
        Type::Email => FieldType::Email,
        Type::Url => FieldType::Url,
        Type::Phone => FieldType::Phone,
        Type::Number => FieldType::Number(Numbers {
            min: field.number("min", report),
            max: field.number("max", report),
            integer: field.flag("integer", Need::Optional, report).unwrap_or(false),
        }),
        Type::Date => FieldType::Date,
        Type::Time => FieldType::Time,
        Type::Datetime => FieldType::Datetime,
        Type::Boolean => FieldType::Boolean,
        Type::Select => FieldType::Select(options(field, report)?),
        Type::Multiselect => FieldType::Multiselect(options(field, report)?),
    })
}

fn lengths(field: &Fields<'_>, cap: TextLimit, report: &mut Report) -> Lengths {
    let cap = count(cap.max);
    Lengths {
        min: field.whole("minLength", Need::Optional, Range::new(0, cap), report),
        max: field.whole("maxLength", Need::Optional, Range::new(1, cap), report),
    }
}

fn options(field: &Fields<'_>, report: &mut Report) -> Option<Vec<Offered>> {
    field.options(limits::OPTIONS, &["id", "label"], limits::OPTION_LABEL, report)
}

/// The JSON type of a default. Whether the field would accept it is for the rules.
fn default_has_type(kind: Type, default: &Value, path: &Path, report: &mut Report) {
    match kind {
        Type::Number if !default.is_number() => mistyped(path, "a number", default, report),
        Type::Boolean if !default.is_boolean() => mistyped(path, "true or false", default, report),
        Type::Number | Type::Boolean => {}
        Type::Multiselect => match default.as_array() {
            None => mistyped(path, "a list", default, report),
            Some(items) if count(items.len()) > limits::SELECTED.max => value::too_many(items.len(), path, report),
            Some(items) => {
                each(items, path, |item, path| text_of(item, path, Texts::Any, report));
            }
        },
        _ => {
            text_of(default, path, Texts::Any, report);
        }
    }
}

/// The values with each other.
pub(super) fn rules(ask: &Form, report: &mut Report) {
    let fields = Path::root().key("fields");
    duplicates(ask.fields.iter().map(|field| field.id.as_str()), |index| fields.index(index).key("id"), report);
    for (index, field) in ask.fields.iter().enumerate() {
        let path = fields.index(index);
        match &field.holds {
            FieldType::Text(lengths) => lengths_fit(*lengths, limits::FORM_TEXT, &path, report),
            FieldType::Textarea(lengths) => lengths_fit(*lengths, limits::FORM_TEXTAREA, &path, report),
            FieldType::Number(Numbers { min: Some(min), max: Some(max), .. }) if min > max => {
                let message = format!("The minimum {min} is above the maximum {max}.");
                report.add(&path.key("min"), Code::RangeInvalid, message, format!("Use at most {max}."));
            }
            FieldType::Select(options) | FieldType::Multiselect(options) => {
                let options_path = path.key("options");
                let ids = options.iter().map(|option| option.id.as_str());
                duplicates(ids, |index| options_path.index(index).key("id"), report);
            }
            _ => {}
        }
        if let Some(default) = &field.default {
            default_fits(field, default, &path.key("default"), report);
        }
    }
}

fn lengths_fit(lengths: Lengths, cap: TextLimit, path: &Path, report: &mut Report) {
    super::markdown::bounds_fit(lengths.within(cap), &path.key("minLength"), report);
}

/// A default must be a value that the field accepts, and text that is filled in must be visible.
fn default_fits(field: &Field, default: &Value, path: &Path, report: &mut Report) {
    let is_text = matches!(
        field.holds,
        FieldType::Text(_) | FieldType::Textarea(_) | FieldType::Email | FieldType::Url | FieldType::Phone
    );
    if is_text && default.as_str().is_some_and(text::is_blank) {
        report.add(path, Code::TooShort, format!("{path} is empty."), "Write some visible text, or remove it.");
        return;
    }
    value::check(&field.holds, default, path, Purpose::Default, report);
}

/// The content of an answer.
pub(super) fn answer(ask: &Form, content: &Value, path: &Path, report: &mut Report) {
    let Some(fields) = Fields::strict(content, path.clone(), &["values"], report) else { return };
    let Some(values) = fields.value("values", Need::Required, report) else { return };
    let Some(values) = Fields::loose(values, fields.path("values"), report).filter(|_| report.is_empty()) else {
        return;
    };

    for key in values.entries().keys().filter(|key| ask.fields.iter().all(|field| field.id != **key)) {
        unknown_key(&values.path(key), key, report);
    }
    for field in &ask.fields {
        let path = values.path(&field.id);
        match values.entries().get(&field.id).filter(|value| !value::is_unanswered(value)) {
            Some(value) => value::check(&field.holds, value, &path, Purpose::Answer, report),
            None if field.required => {
                let label = text::quote(&field.label);
                report.add(
                    &path,
                    Code::RequiredField,
                    format!("{label} is required."),
                    format!("Fill in {label} ({path})."),
                );
            }
            None => {}
        }
    }
}
