//! The rules for bodies: what Discord refuses, and what it lets pass but a careful client does not send.
//!
//! Pure functions of the body. A refusal is a list of [`Problem`]s in the platform's words; a violation is a sentence for the
//! log that fails a test without changing what the platform would have done.

mod commands;
mod components;
mod embeds;
mod form;
mod modals;

use serde_json::{Map, Value};

use super::refusal::Problem;
use form::{Form, join};

pub(super) use commands::commands;
pub(super) use modals::modal;

/// The longest content, in code points. <https://discord.com/developers/docs/resources/message#create-message>
pub(super) const CONTENT_MAX: usize = 2000;
/// The longest nonce, in code points.
const NONCE_MAX: usize = 25;

/// Hides link previews.
pub(super) const SUPPRESS_EMBEDS: u64 = 1 << 2;
/// Shown to one person only.
pub(super) const EPHEMERAL: u64 = 1 << 6;
/// No sound.
const SUPPRESS_NOTIFICATIONS: u64 = 1 << 12;
/// The newer message layout, without content and embeds.
const COMPONENTS_V2: u64 = 1 << 15;

/// Which body carries the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carrier {
    /// `POST /channels/{id}/messages`
    Create,
    /// `PATCH /channels/{id}/messages/{id}`
    Edit,
    /// The data of a callback of type 4 or 5.
    Reply,
    /// The data of a callback of type 7.
    Update,
    /// `POST /webhooks/{id}/{token}`
    FollowUp,
    /// `PATCH /webhooks/{id}/{token}/messages/{id}`
    EditResponse,
}

/// What the rules say about one body.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Reasons to refuse it.
    pub(super) problems: Vec<Problem>,
    /// What a careful client does not send.
    pub(super) violations: Vec<String>,
}

impl Carrier {
    fn known_keys(self) -> &'static [&'static str] {
        match self {
            Self::Create => &[
                "content",
                "embeds",
                "allowed_mentions",
                "sticker_ids",
                "components",
                "flags",
                "attachments",
                "poll",
                "shared_client_theme",
                "message_reference",
                "nonce",
                "enforce_nonce",
                "tts",
            ],
            Self::Edit => {
                &["content", "embeds", "flags", "allowed_mentions", "sticker_ids", "components", "attachments"]
            }
            Self::Reply | Self::FollowUp => {
                &["content", "embeds", "allowed_mentions", "components", "attachments", "poll", "tts", "flags"]
            }
            Self::Update => &["content", "embeds", "allowed_mentions", "components", "attachments", "flags"],
            Self::EditResponse => {
                &["content", "embeds", "allowed_mentions", "components", "attachments", "poll", "flags"]
            }
        }
    }

    fn known_flags(self) -> u64 {
        match self {
            Self::Create => SUPPRESS_EMBEDS | SUPPRESS_NOTIFICATIONS | COMPONENTS_V2,
            Self::Edit | Self::Update | Self::EditResponse => SUPPRESS_EMBEDS | COMPONENTS_V2,
            Self::Reply | Self::FollowUp => SUPPRESS_EMBEDS | EPHEMERAL | SUPPRESS_NOTIFICATIONS | COMPONENTS_V2,
        }
    }

    /// Where the message stands in the request's body.
    fn prefix(self) -> &'static str {
        match self {
            Self::Reply | Self::Update => "data",
            _ => "",
        }
    }
}

/// Checks one message body.
///
/// Whether a message without anything in it is refused is decided by the caller: an edit may leave parts as they were.
pub(super) fn message(body: &Map<String, Value>, carrier: Carrier) -> Findings {
    let mut form = Form::default();
    let at = carrier.prefix();
    form.known(at, body, carrier.known_keys());
    if let Some(content) = form.text(at, body, "content") {
        form.at_most(&join(at, "content"), content.trim(), CONTENT_MAX);
    }
    embeds::check(&mut form, at, body);
    components::check(&mut form, at, body);
    flags(&mut form, at, body, carrier);
    allowed_mentions(&mut form, at, body);
    form.boolean(at, body, "tts");
    for unsupported in ["poll", "sticker_ids", "attachments", "shared_client_theme"] {
        if body.get(unsupported).is_some_and(|value| !value.is_null() && value != &Value::Array(Vec::new())) {
            form.stray(format!("`{}` is not simulated", join(at, unsupported)));
        }
    }
    if carrier == Carrier::Create {
        nonce(&mut form, body);
        reference(&mut form, body);
    }
    form.into_findings()
}

fn flags(form: &mut Form, at: &str, body: &Map<String, Value>, carrier: Carrier) {
    let Some(flags) = form.integer(at, body, "flags", 0, i64::from(i32::MAX)) else { return };
    let flags = u64::try_from(flags).unwrap_or_default();
    let strange = flags & !carrier.known_flags();
    if strange != 0 {
        form.stray(format!("`{}` has bits that cannot be set here: {strange}", join(at, "flags")));
    }
    if flags & COMPONENTS_V2 != 0 {
        form.stray(format!("`{}` asks for Components V2, which is not simulated", join(at, "flags")));
        for key in ["content", "embeds"] {
            let full = body
                .get(key)
                .is_some_and(|value| !value.is_null() && value != "" && value != &Value::Array(Vec::new()));
            if full {
                let message = format!("The '{key}' field cannot be used when using MessageFlags.IS_COMPONENTS_V2");
                form.problem(join(at, key), "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", message);
            }
        }
    }
}

fn nonce(form: &mut Form, body: &Map<String, Value>) {
    match body.get("nonce") {
        None | Some(Value::Null) => {
            if body.get("enforce_nonce").and_then(Value::as_bool) == Some(true) {
                form.stray("`enforce_nonce` without a `nonce`".to_owned());
            }
        }
        Some(Value::String(text)) if text.chars().count() > NONCE_MAX => {
            form.problem("nonce", "NONCE_TYPE_TOO_LONG", "Must be 25 or fewer characters long.");
        }
        Some(Value::String(_)) => {}
        Some(Value::Number(number)) if number.is_i64() => {}
        Some(_) => form.problem("nonce", "NONCE_TYPE_INVALID_TYPE", "This field must be a string or integer."),
    }
    form.boolean("", body, "enforce_nonce");
}

fn reference(form: &mut Form, body: &Map<String, Value>) {
    let Some(reference) = form.object("", body, "message_reference") else { return };
    let at = "message_reference";
    form.known(at, reference, &["guild_id", "channel_id", "message_id", "fail_if_not_exists", "type"]);
    if form.snowflake(at, reference, "message_id").is_none() && !reference.contains_key("message_id") {
        form.required(join(at, "message_id"));
    }
    form.snowflake(at, reference, "channel_id");
    form.snowflake(at, reference, "guild_id");
    form.boolean(at, reference, "fail_if_not_exists");
    if reference.get("type").is_some_and(|kind| kind != 0) {
        form.stray("`message_reference.type` other than 0 (a reply) is not simulated".to_owned());
    }
}

fn allowed_mentions(form: &mut Form, at: &str, body: &Map<String, Value>) {
    let path = join(at, "allowed_mentions");
    let Some(mentions) = form.object(at, body, "allowed_mentions") else {
        form.stray(format!("`{path}` is missing: text could ping people"));
        return;
    };
    form.known(&path, mentions, &["parse", "users", "roles", "replied_user"]);
    form.boolean(&path, mentions, "replied_user");
    let parse = form.array(&path, mentions, "parse");
    if parse.is_none_or(|kinds| !kinds.is_empty()) {
        form.stray(format!("`{path}.parse` is not []: text could ping people"));
    }
    for (place, kind) in parse.into_iter().flatten().enumerate() {
        if !matches!(kind.as_str(), Some("users" | "roles" | "everyone")) {
            let at = format!("{path}.parse.{place}");
            form.problem(at, "BASE_TYPE_CHOICES", "Value must be one of ('users', 'everyone', 'roles').");
        }
    }
    for kind in ["users", "roles"] {
        let ids = form.array(&path, mentions, kind).map(Vec::as_slice).unwrap_or_default();
        if ids.is_empty() {
            continue;
        }
        form.stray(format!("`{path}.{kind}` names somebody to ping"));
        if ids.len() > 100 {
            form.problem(join(&path, kind), "BASE_TYPE_MAX_LENGTH", "Must be 100 or fewer in length.");
        }
        if parse.into_iter().flatten().any(|value| value == kind) {
            let message = format!("parse:[\"{kind}\"] and {kind}: [ids...] are mutually exclusive.");
            form.problem(path.clone(), "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", message);
        }
    }
}

/// Whether this text pings everyone under these allowed mentions.
pub(super) fn pings_everyone(content: &str, body: &Map<String, Value>) -> bool {
    let shouted = content.contains("@everyone") || content.contains("@here");
    let allowed = match body.get("allowed_mentions") {
        None | Some(Value::Null) => true,
        Some(mentions) => {
            mentions.get("parse").and_then(Value::as_array).into_iter().flatten().any(|kind| kind == "everyone")
        }
    };
    shouted && allowed
}
