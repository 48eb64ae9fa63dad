//! `choice`: one or several of the offered options.

use serde_json::Value;

use super::report::Report;
use super::shape::{Fields, Need, Texts, duplicate_id, duplicates};
use crate::ask::Surface;
use crate::errors::{Code, Path};
use crate::input::{Choice, Select, count};
use crate::limits::{self, Range};
use crate::text;

const KEYS: [&str; 7] = ["prompt", "title", "submitLabel", "allowDecline", "select", "options", "default"];
const FULL_KEYS: [&str; 4] = ["minSelected", "maxSelected", "allowOther", "otherLabel"];

/// Each value by itself.
pub(super) fn shape(input: &Value, surface: Surface, report: &mut Report) -> Option<Choice> {
    let fields = Fields::loose(input, Path::root(), report)?;
    match surface {
        Surface::Full => full(&fields, report),
        Surface::Compact => compact(&fields, report),
    }
}

fn full(fields: &Fields<'_>, report: &mut Report) -> Option<Choice> {
    fields.refuse_others(&[KEYS.as_slice(), FULL_KEYS.as_slice()].concat(), report);
    let question = fields.question_with_submit(report);
    let select = fields.word("select", &[("one", Select::One), ("many", Select::Many)], report);
    let options = fields.options(limits::OPTIONS, &["id", "label", "description"], limits::OPTION_LABEL, report);
    let default = fields.texts("default", Need::Optional, limits::SELECTED, report);
    let min_selected = fields.whole("minSelected", Need::Optional, Range::new(0, limits::SAFE_INTEGER), report);
    let max_selected = fields.whole("maxSelected", Need::Optional, Range::new(1, limits::SAFE_INTEGER), report);
    let allow_other = fields.flag("allowOther", Need::Optional, report).unwrap_or(false);
    let other_label = fields.owned_text("otherLabel", Texts::Visible(limits::OPTION_LABEL), report);
    Some(Choice {
        question: question?,
        select: select?,
        options: options?,
        default: default.unwrap_or_default().into_iter().map(str::to_owned).collect(),
        min_selected,
        max_selected,
        allow_other,
        other_label,
    })
}

fn compact(fields: &Fields<'_>, report: &mut Report) -> Option<Choice> {
    fields.refuse_others(&KEYS, report);
    let question = fields.question_with_submit(report);
    let select = fields.word("select", &[("one", Select::One)], report);
    let keys = ["id", "label", "description"];
    let options = fields.options(limits::COMPACT_OPTIONS, &keys, limits::COMPACT_LABEL, report);
    let default = fields.texts("default", Need::Optional, limits::COMPACT_DEFAULTS, report);
    Some(Choice {
        question: question?,
        select: select?,
        options: options?,
        default: default.unwrap_or_default().into_iter().map(str::to_owned).collect(),
        min_selected: None,
        max_selected: None,
        allow_other: false,
        other_label: None,
    })
}

/// The values with each other.
pub(super) fn rules(ask: &Choice, surface: Surface, report: &mut Report) {
    let root = Path::root();
    let options = root.key("options");
    duplicates(ask.options.iter().map(|option| option.id.as_str()), |index| options.index(index).key("id"), report);
    if surface == Surface::Compact {
        labels_differ(ask, report);
    }
    if ask.other_label.is_some() && !ask.allow_other {
        let message = "otherLabel names a free text that the ask does not offer.";
        report.add(&root.key("otherLabel"), Code::OtherNotAllowed, message, "Set allowOther to true, or remove it.");
    }
    for (index, id) in ask.default.iter().enumerate() {
        if ask.option(id).is_none() {
            let message = format!("{} is not one of the options.", text::quote(id));
            let fix = "Use the id of one of the ask's options.";
            report.add(&root.key("default").index(index), Code::DefaultNotInOptions, message, fix);
        }
    }
    match ask.select {
        Select::One => one(ask, report),
        Select::Many => many(ask, report),
    }
}

fn labels_differ(ask: &Choice, report: &mut Report) {
    let options = Path::root().key("options");
    let labels: Vec<&str> = ask.options.iter().map(|option| text::trim(&option.label)).collect();
    for (index, label) in labels.iter().enumerate() {
        if labels.iter().take(index).any(|earlier| earlier == label) {
            let message = format!("Two options would both read {}.", text::quote(label));
            report.add(&options.index(index).key("label"), Code::DuplicateLabel, message, "Give each its own label.");
        }
    }
}

fn one(ask: &Choice, report: &mut Report) {
    let root = Path::root();
    for (key, bound) in [("minSelected", ask.min_selected), ("maxSelected", ask.max_selected)] {
        if bound.is_some_and(|bound| bound != 1) {
            let message = format!("{key} must be 1 where select is \"one\".");
            report.add(&root.key(key), Code::RangeInvalid, message, format!("Remove {key}, or use select \"many\"."));
        }
    }
    if ask.allow_other {
        let message = "A free text is not allowed where select is \"one\".";
        report.add(&root.key("allowOther"), Code::OtherNotAllowed, message, "Remove it, or use select \"many\".");
    }
    if ask.default.len() > 1 {
        too_many_defaults(ask, 1, report);
    }
}

fn many(ask: &Choice, report: &mut Report) {
    let root = Path::root();
    let choices = ask.choices();
    let bounds = ask.bounds();
    if bounds.max > choices {
        let message = format!("maxSelected is {}, but there are only {choices} choices.", bounds.max);
        report.add(&root.key("maxSelected"), Code::RangeInvalid, message, format!("Use at most {choices}."));
    }
    let most = bounds.max.min(choices);
    if bounds.min > most {
        let message = format!("At least {} must be selected, but at most {most} can be.", bounds.min);
        report.add(&root.key("minSelected"), Code::RangeInvalid, message, format!("Use at most {most}."));
    }
    if count(ask.default.len()) > bounds.max {
        too_many_defaults(ask, bounds.max, report);
    }
    duplicates(ask.default.iter().map(String::as_str), |index| root.key("default").index(index), report);
}

fn too_many_defaults(ask: &Choice, most: i64, report: &mut Report) {
    let message = format!("default has {} options; at most {most} may be selected.", ask.default.len());
    report.add(&Path::root().key("default"), Code::SelectionCount, message, format!("Keep at most {most}."));
}

/// The content of an answer.
pub(super) fn answer(ask: &Choice, content: &Value, path: &Path, report: &mut Report) {
    let Some(fields) = Fields::strict(content, path.clone(), &["selected", "other"], report) else { return };
    let selected = fields.texts("selected", Need::Required, limits::SELECTED, report);
    let other = fields.text("other", Need::Optional, Texts::Visible(limits::OTHER), report);
    let Some(selected) = selected.filter(|_| report.is_empty()) else { return };

    if other.is_some() && !ask.allow_other {
        let message = "This ask takes no free text.";
        report.add(&fields.path("other"), Code::OtherNotAllowed, message, "Remove other, and select an option.");
    }
    let path = fields.path("selected");
    let counted = count(selected.len()) + i64::from(other.is_some() && ask.allow_other);
    let bounds = ask.bounds();
    if !bounds.holds(counted) {
        let needed = if bounds.min == bounds.max {
            format!("exactly {}", bounds.min)
        } else {
            format!("{} to {}", bounds.min, bounds.max)
        };
        let message = format!("{counted} selected; this ask takes {needed}.");
        report.add(&path, Code::SelectionCount, message, format!("Select {needed}."));
    }
    offered(&selected, &path, Code::OptionNotOffered, |id| ask.option(id).is_some(), report);
}

/// Reports ids that occur twice, and else those that are not offered.
pub(super) fn offered(
    ids: &[&str],
    path: &Path,
    not_offered: Code,
    is_offered: impl Fn(&str) -> bool,
    report: &mut Report,
) {
    for (index, id) in ids.iter().enumerate() {
        let place = path.index(index);
        if ids.iter().take(index).any(|earlier| earlier == id) {
            duplicate_id(&place, id, report);
        } else if !is_offered(id) {
            not_one_of_the_options(&place, id, not_offered, report);
        }
    }
}

pub(super) fn not_one_of_the_options(path: &Path, id: &str, code: Code, report: &mut Report) {
    let message = format!("{} is not one of the offered options.", text::quote(id));
    report.add(path, code, message, "Use the id of one of the ask's options.");
}
