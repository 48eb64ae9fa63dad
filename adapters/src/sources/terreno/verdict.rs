//! The one file that turns a status and a body of a Terreno host into a verdict.
//!
//! A status alone is not trusted where acting on it could lose a question: a proxy, a firewall or a half-deployed host
//! answers 403 and 404 too. Only a body that Terreno itself would write ends an ask for good.

use std::time::Duration;

use asks::ids::{ConversationId, ToolCallId};
use asks::wire;
use serde_json::{Map, Value};

use super::mapping;
use super::transport::{Reply, Trouble};
use crate::source::{Failure, Verdict};

/// The most fields of a refused answer that are passed on.
const FIELDS: usize = 32;
/// The most of each field's path and sentence, in characters.
const FIELD_CHARS: usize = 300;

/// What is said of a reply that should name a person and does not.
const NO_PERSON: &str = "it did not say whose the token is; check that the source's `url` leads to the Terreno API";

/// What Terreno and Better Auth write when they refuse a credential, and what that means. Their own words are not passed
/// on, since they could repeat what was sent.
const REFUSALS: [(&str, &str); 12] = [
    ("jwt expired", "the token has expired"),
    ("jwt malformed", "the token is no Terreno token"),
    ("invalid token", "the token is no Terreno token"),
    ("invalid signature", "the token was signed by another host, or with a key that is no longer used"),
    ("Invalid refresh token", "the refresh token is no longer valid, for example after a password reset"),
    ("No refresh token provided", "the refresh token is empty"),
    ("Password or username is incorrect", "the e-mail address or the password is wrong"),
    ("Invalid email or password", "the e-mail address or the password is wrong"),
    ("Invalid email", "the e-mail address is no e-mail address"),
    ("Missing credentials", "the e-mail address or the password is empty"),
    ("User is disabled", "the user is disabled at the source"),
    ("Unauthorized", "the source does not know the token"),
];

/// What a sign-in or a refresh brought.
pub(super) struct Tokens {
    /// The new bearer.
    pub(super) token: String,
    /// What buys the next one.
    pub(super) refresh: Option<String>,
    /// Whose it is, where the reply says so.
    pub(super) subject: Option<String>,
}

/// Whom a token belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Person {
    /// The person's id.
    pub(super) subject: String,
    /// The e-mail address, or else the name.
    pub(super) display: Option<String>,
}

/// Why a sign-in or a refresh brought nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Denied {
    /// The host has no such route.
    NoRoute,
    /// The host refuses the credential.
    Refused {
        /// Why, in our words.
        why: String,
    },
    /// Too many sign-ins from this address.
    RateLimited {
        /// How long to wait.
        after: Duration,
    },
    /// The host cannot be reached, or does not answer as one.
    Unavailable {
        /// What happened.
        why: String,
    },
}

/// An error body of Terreno: `{status, title, code?, detail?, meta?}`, or the `{message}` of its sign-in and JWT checks.
struct Problem(Map<String, Value>);

impl Problem {
    fn read(reply: &Reply) -> Option<Self> {
        match serde_json::from_str(&wire::mend(&reply.body)) {
            Ok(Value::Object(map)) => Some(Self(map)),
            _ => None,
        }
    }

    fn text(&self, key: &str) -> &str {
        self.0.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether Terreno itself wrote it: its errors repeat their status and have a title.
    fn is_terrenos(&self, status: u16) -> bool {
        !self.text("title").is_empty() && self.0.get("status").and_then(Value::as_u64) == Some(u64::from(status))
    }

    fn fields(&self) -> Vec<(String, String)> {
        let fields = self.0.get("meta").and_then(|meta| meta.get("fields")).or_else(|| self.0.get("fields"));
        let text = |value: Option<&Value>| short(value.and_then(Value::as_str).unwrap_or_default());
        match fields {
            Some(Value::Array(fields)) => {
                fields.iter().take(FIELDS).map(|field| (text(field.get("path")), text(field.get("message")))).collect()
            }
            Some(Value::Object(fields)) => {
                fields.iter().take(FIELDS).map(|(path, message)| (short(path), text(Some(message)))).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// What a reply to `turn` says about the answer to `ask`.
#[must_use]
pub(super) fn turn(reply: &Reply, conversation: &ConversationId, ask: &ToolCallId) -> Verdict {
    let problem = Problem::read(reply).filter(|problem| problem.is_terrenos(reply.status));
    match (reply.status, problem) {
        (200, _) => taken(reply, conversation, ask),
        (401, _) => Verdict::Unauthorised,
        (409, _) => Verdict::NotPending,
        (429, _) => Verdict::RateLimited { after: reply.rate_limit.after() },
        (413, _) => {
            Verdict::Invalid { fields: vec![(String::new(), "the answer is larger than the source takes".to_owned())] }
        }
        (400, Some(problem)) => bad_answer(&problem),
        (403 | 405, Some(_)) => Verdict::Forbidden,
        (404, Some(problem)) if is_missing_document(&problem) => Verdict::Gone,
        // A proxy writes 408 and 499 about a request that it may have passed on.
        (408 | 499, _) => Verdict::Unclear { why: status_words(reply.status) },
        (400..=498, _) => Verdict::Unavailable { why: format!("{}, not from Terreno", status_words(reply.status)) },
        _ => Verdict::Unclear { why: status_words(reply.status) },
    }
}

/// What a turn that brought no reply says about the answer.
#[must_use]
pub(super) fn turn_trouble(trouble: Trouble) -> Verdict {
    match trouble {
        Trouble::NotSent { why } => Verdict::Unavailable { why },
        Trouble::Lost { why } => Verdict::Unclear { why },
        Trouble::NoSuchPath => Verdict::Gone,
    }
}

/// What a failure before the turn was taken says about the answer.
#[must_use]
pub(super) fn not_taken(failure: Failure) -> Verdict {
    match failure {
        Failure::Unauthorised { .. } | Failure::OtherSubject => Verdict::Unauthorised,
        Failure::RateLimited { after } => Verdict::RateLimited { after },
        Failure::Unavailable { why } => Verdict::Unavailable { why },
        Failure::Forbidden => Verdict::Forbidden,
        Failure::Gone => Verdict::Gone,
        failure @ Failure::AsksOff => Verdict::Unavailable { why: failure.to_string() },
    }
}

/// Reads a reply to `pendingAsks`.
///
/// # Errors
/// Whatever is no list.
pub(super) fn pending(reply: &Reply) -> Result<wire::Pending, Failure> {
    if reply.status == 200 {
        return wire::read_pending(&reply.body).map_err(|error| unavailable(error.to_string()));
    }
    match (failure(reply), Problem::read(reply)) {
        // With asks off the path is taken for a conversation's id, and no conversation has it.
        (Failure::Gone, _) => Err(Failure::AsksOff),
        (_, Some(problem)) if reply.status == 404 && problem.is_terrenos(404) => Err(Failure::AsksOff),
        (failure, _) => Err(failure),
    }
}

/// Reads a reply to `GET /gpt/histories/:id`.
///
/// # Errors
/// Whatever is not that conversation.
pub(super) fn history(reply: &Reply, conversation: &ConversationId) -> Result<wire::Conversation, Failure> {
    if reply.status != 200 {
        return Err(failure(reply));
    }
    let read = wire::read_history(&reply.body).map_err(|error| unavailable(error.to_string()))?;
    if read.history.id == *conversation {
        Ok(read)
    } else {
        Err(unavailable("it sent another conversation".to_owned()))
    }
}

/// What a poll or a read that brought no reply means.
#[must_use]
pub(super) fn call_trouble(trouble: Trouble) -> Failure {
    match trouble {
        Trouble::NotSent { why } | Trouble::Lost { why } => unavailable(why),
        Trouble::NoSuchPath => Failure::Gone,
    }
}

/// Reads a reply to a sign-in or a refresh, of Terreno (`data`) or of Better Auth (`token`, `user`).
///
/// # Errors
/// See [`Denied`].
pub(super) fn tokens(reply: &Reply) -> Result<Tokens, Denied> {
    let body = Problem::read(reply);
    match (reply.status, body) {
        (200, body) => body.and_then(|body| granted(&body.0, reply)).ok_or_else(|| Denied::Unavailable {
            why: "its sign-in brought no token; check that the source's `url` leads to the Terreno API".to_owned(),
        }),
        (404 | 405, _) => Err(Denied::NoRoute),
        (429, _) => Err(Denied::RateLimited { after: reply.rate_limit.after() }),
        (401, _) => Err(Denied::Refused { why: refusal(reply) }),
        (400 | 403, Some(problem)) if is_unverified(&problem) => Err(Denied::Refused {
            why: "the e-mail address is not verified yet; open the link in the host's mail".to_owned(),
        }),
        (400 | 403, Some(problem)) if problem.is_terrenos(reply.status) || !problem.text("code").is_empty() => {
            Err(Denied::Refused { why: refusal(reply) })
        }
        (status, _) => Err(Denied::Unavailable { why: format!("its sign-in answered {}", status_words(status)) }),
    }
}

/// Reads a reply to `GET /auth/me` (`data`) or to `GET /api/auth/get-session` (`user`, or `null` for nobody).
///
/// # Errors
/// [`Failure::Unauthorised`] when the token is nobody's; see [`Failure`] for the others.
pub(super) fn person(reply: &Reply) -> Result<Person, Failure> {
    if reply.status != 200 {
        return Err(failure(reply));
    }
    let body: Value = serde_json::from_str(&wire::mend(&reply.body)).map_err(|_| unavailable(NO_PERSON.to_owned()))?;
    if body.is_null() {
        return Err(Failure::Unauthorised { why: "the source does not know the token".to_owned() });
    }
    let user = body.get("data").or_else(|| body.get("user"));
    let text = |key: &str| {
        let text = user.and_then(|user| user.get(key)).and_then(Value::as_str);
        text.filter(|text| !text.trim().is_empty()).map(short)
    };
    let subject = text("id").or_else(|| text("_id")).ok_or_else(|| unavailable(NO_PERSON.to_owned()))?;
    Ok(Person { subject, display: text("email").or_else(|| text("name")) })
}

/// Why a sign-in or a refresh failed that brought no reply.
#[must_use]
pub(super) fn sign_in_trouble(trouble: Trouble) -> Denied {
    match trouble {
        Trouble::NotSent { why } | Trouble::Lost { why } => Denied::Unavailable { why },
        Trouble::NoSuchPath => Denied::NoRoute,
    }
}

/// Why a credential was refused, in our words.
#[must_use]
pub(super) fn refusal(reply: &Reply) -> String {
    let said = Problem::read(reply);
    let known = said.as_ref().and_then(|said| {
        let is_said = |literal: &str| ["title", "message"].iter().any(|key| said.text(key).starts_with(literal));
        REFUSALS.iter().find(|(literal, _)| is_said(literal)).map(|(_, meaning)| (*meaning).to_owned())
    });
    known.unwrap_or_else(|| format!("it answered {}", status_words(reply.status)))
}

impl From<Denied> for Failure {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::NoRoute => {
                unavailable("it has no sign-in at the usual places; set `auth` or check `url`".to_owned())
            }
            Denied::Refused { why } => Self::Unauthorised { why },
            Denied::RateLimited { after } => Self::RateLimited { after },
            Denied::Unavailable { why } => unavailable(why),
        }
    }
}

fn taken(reply: &Reply, conversation: &ConversationId, ask: &ToolCallId) -> Verdict {
    let read = match wire::read_turn(&reply.body) {
        Ok(read) => read,
        Err(error) => return Verdict::Unclear { why: error.to_string() },
    };
    let result = read.result;
    if result.conversation != *conversation {
        return Verdict::Unclear { why: "the reply is about another conversation".to_owned() };
    }
    let next_id = result.pending_ask.as_ref().map(|next| &next.ask);
    let next_id = next_id.or_else(|| read.unreadable.as_ref().and_then(|lost| lost.ask.as_ref()));
    let is_same = next_id == Some(ask);
    let is_nameless = read.unreadable.is_some() && next_id.is_none();
    // The same id without an error is a new ask of a model that counts from one again. Polls tell such asks apart.
    let next = result.pending_ask.filter(|_| !is_same);
    let next = next.map(|next| mapping::next(next, result.conversation, result.title));
    match result.error {
        Some(error) if is_same => Verdict::Reopened { error },
        Some(_) if is_nameless => {
            Verdict::Unclear { why: "the reply carries an error and an ask that cannot be read".to_owned() }
        }
        Some(error) => Verdict::AcceptedWithError { text: result.text, error, next },
        None => Verdict::Accepted { text: result.text, next },
    }
}

fn bad_answer(problem: &Problem) -> Verdict {
    match (problem.text("code"), problem.text("title")) {
        ("UNKNOWN_BUTTON", _) | (_, "Unknown buttonId") => Verdict::UnknownButton,
        ("malformed-array-operation-body", _) => Verdict::Unavailable { why: Failure::AsksOff.to_string() },
        (_, title) => {
            let mut fields = problem.fields();
            if fields.is_empty() {
                fields.push((String::new(), short(title)));
            }
            Verdict::Invalid { fields }
        }
    }
}

/// What any status but 200 means for a poll or a read.
fn failure(reply: &Reply) -> Failure {
    let problem = Problem::read(reply).filter(|problem| problem.is_terrenos(reply.status));
    match (reply.status, problem) {
        (401, _) => Failure::Unauthorised { why: refusal(reply) },
        (429, _) => Failure::RateLimited { after: reply.rate_limit.after() },
        (403 | 405, Some(_)) => Failure::Forbidden,
        (404, Some(problem)) if is_missing_document(&problem) => Failure::Gone,
        (status, _) => unavailable(format!("it answered {}", status_words(status))),
    }
}

fn is_missing_document(problem: &Problem) -> bool {
    problem.text("code") == "document-not-found"
        || matches!(problem.text("title"), "Document not found" | "History not found")
}

fn is_unverified(problem: &Problem) -> bool {
    matches!(problem.text("code"), "email-not-verified" | "EMAIL_NOT_VERIFIED")
}

fn granted(body: &Map<String, Value>, reply: &Reply) -> Option<Tokens> {
    let data = body.get("data").and_then(Value::as_object).unwrap_or(body);
    let text = |value: Option<&Value>| value.and_then(Value::as_str).filter(|t| !t.is_empty()).map(str::to_owned);
    let subject = text(data.get("userId")).or_else(|| text(data.get("user").and_then(|user| user.get("id"))));
    let token = text(data.get("token")).or_else(|| reply.auth_token.clone())?;
    Some(Tokens { token, refresh: text(data.get("refreshToken")), subject })
}

fn status_words(status: u16) -> String {
    format!("status {status}")
}

fn short(text: &str) -> String {
    text.chars().take(FIELD_CHARS).collect()
}

const fn unavailable(why: String) -> Failure {
    Failure::Unavailable { why }
}

#[cfg(test)]
mod tests;
