//! The limits of embeds. <https://discord.com/developers/docs/resources/message#embed-object-embed-limits>

use serde_json::{Map, Value};

use super::form::{Form, join};

const EMBEDS_MAX: usize = 10;
const TITLE_MAX: usize = 256;
const DESCRIPTION_MAX: usize = 4096;
const FIELDS_MAX: usize = 25;
const FIELD_NAME_MAX: usize = 256;
const FIELD_VALUE_MAX: usize = 1024;
const FOOTER_MAX: usize = 2048;
const AUTHOR_MAX: usize = 256;
/// All texts of all embeds of a message together, in code points.
const TOTAL_MAX: usize = 6000;
const COLOUR_MAX: i64 = 0xFF_FF_FF;

const KEYS: [&str; 13] = [
    "type",
    "url",
    "title",
    "color",
    "timestamp",
    "description",
    "author",
    "image",
    "thumbnail",
    "footer",
    "fields",
    "provider",
    "video",
];

pub(super) fn check(form: &mut Form, at: &str, body: &Map<String, Value>) {
    let Some(embeds) = form.array(at, body, "embeds") else { return };
    let at = join(at, "embeds");
    if embeds.len() > EMBEDS_MAX {
        form.problem(at.clone(), "BASE_TYPE_MAX_LENGTH", format!("Must be {EMBEDS_MAX} or fewer in length."));
    }
    let mut total = 0;
    for (place, embed) in embeds.iter().enumerate() {
        let at = format!("{at}.{place}");
        let Some(embed) = form.as_object(&at, embed) else { continue };
        form.known(&at, embed, &KEYS);
        total += check_texts(form, &at, embed);
        if total > TOTAL_MAX {
            let message = format!("Embed size exceeds maximum size of {TOTAL_MAX}");
            form.problem(at.clone(), "MAX_EMBED_SIZE_EXCEEDED", message);
        }
        form.integer(&at, embed, "color", 0, COLOUR_MAX);
        if let Some(url) = form.text(&at, embed, "url") {
            form.url(&join(&at, "url"), url, &["http", "https"]);
        }
        if ["author", "image", "thumbnail"].iter().any(|key| embed.get(*key).is_some_and(Value::is_object)) {
            continue;
        }
        let texts = ["title", "description"].iter().filter_map(|key| embed.get(*key)?.as_str());
        let has_text = texts.into_iter().any(|text| !text.trim().is_empty());
        let has_more = embed.get("footer").is_some_and(Value::is_object)
            || embed.get("fields").and_then(Value::as_array).is_some_and(|fields| !fields.is_empty());
        if !has_text && !has_more {
            form.required(join(&at, "description"));
        }
    }
}

/// Checks the texts of one embed and returns their length together.
fn check_texts(form: &mut Form, at: &str, embed: &Map<String, Value>) -> usize {
    let mut total = measure(form, at, embed, "title", TITLE_MAX);
    total += measure(form, at, embed, "description", DESCRIPTION_MAX);
    if let Some(footer) = form.object(at, embed, "footer") {
        total += measure(form, &join(at, "footer"), footer, "text", FOOTER_MAX);
    }
    if let Some(author) = form.object(at, embed, "author") {
        total += measure(form, &join(at, "author"), author, "name", AUTHOR_MAX);
    }
    let fields = form.array(at, embed, "fields").map(Vec::as_slice).unwrap_or_default();
    let at = join(at, "fields");
    if fields.len() > FIELDS_MAX {
        form.problem(at.clone(), "BASE_TYPE_MAX_LENGTH", format!("Must be {FIELDS_MAX} or fewer in length."));
    }
    for (place, field) in fields.iter().enumerate() {
        let at = format!("{at}.{place}");
        let Some(field) = form.as_object(&at, field) else { continue };
        form.known(&at, field, &["name", "value", "inline"]);
        form.boolean(&at, field, "inline");
        for (key, most) in [("name", FIELD_NAME_MAX), ("value", FIELD_VALUE_MAX)] {
            let length = measure(form, &at, field, key, most);
            if length == 0 {
                form.required(join(&at, key));
            }
            total += length;
        }
    }
    total
}

fn measure(form: &mut Form, at: &str, object: &Map<String, Value>, key: &str, most: usize) -> usize {
    let text = form.text(at, object, key).map(str::trim).unwrap_or_default();
    form.at_most(&join(at, key), text, most);
    text.chars().count()
}
