//! The one file that turns what Discord answers into [`Failure`].
//!
//! Decided by the numbered code where Discord sends one, else by the status; the texts are for people only.
//! Codes: <https://discord.com/developers/docs/topics/opcodes-and-status-codes#json>.

use std::time::Duration;

use serde_json::Value;

use crate::channel::Failure;

/// Why a request to Discord did not end in what was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Discord answered, and refused.
    Refused(Refusal),
    /// Nothing reached Discord.
    Unsent {
        /// What happened, without secrets.
        why: String,
    },
    /// It was sent, and no answer that can be read came.
    Unanswered {
        /// What happened, without secrets.
        why: String,
    },
    /// Our own limits hold it back; nothing was sent.
    Held {
        /// For how long.
        after: Duration,
        /// Why.
        why: String,
    },
    /// The bot's token was refused.
    Unauthorised,
}

/// A refusal as Discord wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The HTTP status.
    pub(super) status: u16,
    /// Discord's own code; 0 where it sent none.
    pub(super) code: u64,
    /// Discord's own words, shortened.
    pub(super) message: String,
    /// How long Discord asks to wait.
    pub(super) after: Option<Duration>,
}

/// What a failed acknowledgement means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AckTrouble {
    /// The interaction is over: too late, or its token ended. The press counts all the same.
    Over,
    /// It was acknowledged before: by an earlier try, or by another process that listens with the same token.
    Already,
    /// Anything else.
    Other,
}

impl Refusal {
    /// Reads a refusal from a status and a body, whatever the body is.
    pub(super) fn read(status: u16, body: &[u8], after: Option<Duration>) -> Self {
        let json: Value = serde_json::from_slice(body).unwrap_or_default();
        let message = match json.get("message").and_then(Value::as_str) {
            Some(message) => message.to_owned(),
            None => format!("HTTP {status}"),
        };
        let fields = json.get("errors").map(wrong_fields).unwrap_or_default();
        let message = if fields.is_empty() { message } else { format!("{message}: {}", fields.join("; ")) };
        let code = json.get("code").and_then(Value::as_u64).unwrap_or_default();
        Self { status, code, message: super::limits::cut(&message, 300), after }
    }

    fn say(&self) -> String {
        if self.code == 0 { self.message.clone() } else { format!("{} (Discord's code {})", self.message, self.code) }
    }
}

/// What to do next after a request with the bot's own token failed.
pub(super) fn failure(trouble: Trouble) -> Failure {
    const SOON: Duration = Duration::from_secs(2);
    match trouble {
        Trouble::Refused(refusal) => refused(&refusal),
        Trouble::Unsent { why } => Failure::Retry { after: SOON, why },
        Trouble::Unanswered { why } => Failure::Retry { after: SOON, why: format!("{why}; it is safe to ask again") },
        Trouble::Held { after, why } => Failure::Retry { after, why },
        Trouble::Unauthorised => Failure::Unauthorised,
    }
}

/// What a failed acknowledgement or follow-up of one interaction means: never anything about the bot's own token.
pub(super) fn ack_trouble(trouble: &Trouble) -> AckTrouble {
    match trouble {
        Trouble::Refused(Refusal { code: 40060, .. }) => AckTrouble::Already,
        Trouble::Refused(Refusal { code: 10062 | 10015 | 50027, .. } | Refusal { status: 401 | 404, .. }) => {
            AckTrouble::Over
        }
        _ => AckTrouble::Other,
    }
}

fn refused(refusal: &Refusal) -> Failure {
    let why = refusal.say();
    let after = |default| refusal.after.unwrap_or(Duration::from_secs(default));
    match (refusal.code, refusal.status) {
        // Unknown message.
        (10008, _) => Failure::MessageGone,
        // Unknown channel, guild, user; missing access; cannot message this user; missing permissions; invalid recipient;
        // archived thread; no mutual guilds; locked thread; the bot was banned or kicked there.
        (10003 | 10004 | 10013 | 40007 | 50001 | 50007 | 50013 | 50024 | 50033 | 50083 | 50278 | 160_005, _) => {
            Failure::PlaceGone { why }
        }
        // Opening direct messages too fast.
        (40003, _) => Failure::Retry { after: after(60), why },
        // Write limits of a channel or a server; too many edits of messages older than an hour.
        (20016 | 20028 | 20029 | 30046, _) => Failure::Retry { after: after(30), why },
        // A service that is overloaded for the moment.
        (130_000, _) => Failure::Retry { after: after(5), why },
        // AutoMod and the filter of harmful links; another's message; empty message; invalid form.
        (200_000 | 200_001 | 240_000 | 50005 | 50006 | 50035, _) => Failure::Refused { why },
        (_, 401) => Failure::Unauthorised,
        (_, 429) => Failure::Retry { after: after(5), why },
        (_, 408 | 409 | 425 | 500..) => Failure::Retry { after: after(2), why },
        (_, 403) => Failure::PlaceGone { why },
        _ => Failure::Refused { why },
    }
}

/// The paths of the fields Discord complains about with its words, from its nested map; at most five.
fn wrong_fields(errors: &Value) -> Vec<String> {
    fn walk(node: &Value, path: &str, depth: usize, out: &mut Vec<String>) {
        let Some(map) = node.as_object().filter(|_| depth < 12 && out.len() < 5) else { return };
        for (key, child) in map {
            if key == "_errors" {
                let said = child.pointer("/0/message").and_then(Value::as_str).unwrap_or("refused");
                out.push(format!("{} {said}", path.trim_start_matches('.')));
            } else {
                walk(child, &format!("{path}.{key}"), depth + 1, out);
            }
        }
    }
    let mut out = Vec::new();
    walk(errors, "", 0, &mut out);
    out.truncate(5);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    enum Kind {
        Place,
        Message,
        Refused,
        Retry(u64),
        Unauthorised,
    }

    fn kind(failure: &Failure) -> Kind {
        match failure {
            Failure::PlaceGone { .. } => Kind::Place,
            Failure::MessageGone => Kind::Message,
            Failure::Refused { .. } => Kind::Refused,
            Failure::Retry { after, .. } => Kind::Retry(after.as_secs()),
            Failure::Unauthorised => Kind::Unauthorised,
            other => panic!("no request of ours ends in {other:?}"),
        }
    }

    #[test]
    fn every_known_answer_has_its_next_step() {
        for (status, body, expected) in [
            (404, r#"{"message": "Unknown Channel", "code": 10003}"#, Kind::Place),
            (404, r#"{"message": "Unknown Message", "code": 10008}"#, Kind::Message),
            (404, r#"{"message": "Unknown User", "code": 10013}"#, Kind::Place),
            (403, r#"{"message": "Missing Access", "code": 50001}"#, Kind::Place),
            (403, r#"{"message": "Cannot send messages to this user", "code": 50007}"#, Kind::Place),
            (403, r#"{"message": "Missing Permissions", "code": 50013}"#, Kind::Place),
            (400, r#"{"message": "Invalid Recipient(s)", "code": 50033}"#, Kind::Place),
            (400, r#"{"message": "Thread is archived", "code": 50083}"#, Kind::Place),
            (403, r#"{"message": "no mutual guilds", "code": 50278}"#, Kind::Place),
            (403, r#"{"message": "Thread is locked", "code": 160005}"#, Kind::Place),
            (403, r#"{"message": "Cannot edit a message authored by another user", "code": 50005}"#, Kind::Refused),
            (400, r#"{"message": "Cannot send an empty message", "code": 50006}"#, Kind::Refused),
            (400, r#"{"message": "Invalid Form Body", "code": 50035}"#, Kind::Refused),
            (400, r#"{"message": "blocked by AutoMod", "code": 200000}"#, Kind::Refused),
            (413, r#"{"message": "Request entity too large", "code": 40005}"#, Kind::Refused),
            (400, r#"{"message": "You are opening direct messages too fast", "code": 40003}"#, Kind::Retry(60)),
            (429, r#"{"message": "Maximum number of edits", "code": 30046}"#, Kind::Retry(30)),
            (401, r#"{"message": "401: Unauthorized", "code": 0}"#, Kind::Unauthorised),
            (401, "", Kind::Unauthorised),
            (429, "<html>error 1015</html>", Kind::Retry(5)),
            (500, "", Kind::Retry(2)),
            (502, "<html>", Kind::Retry(2)),
            (503, r#"{"code": "text", "message": 7}"#, Kind::Retry(2)),
            (403, r#"{"message": "something new", "code": 987654}"#, Kind::Place),
            (400, r#"{"message": "something new", "code": 987654}"#, Kind::Refused),
            (404, "404 page not found", Kind::Refused),
        ] {
            let refusal = Refusal::read(status, body.as_bytes(), None);
            assert_eq!(kind(&failure(Trouble::Refused(refusal))), expected, "{status} {body}");
        }
    }

    #[test]
    fn a_wait_that_discord_names_is_kept() {
        let after = Duration::from_millis(1500);
        let refusal = Refusal::read(429, br#"{"message": "slow", "retry_after": 1.5}"#, Some(after));
        assert!(matches!(failure(Trouble::Refused(refusal)), Failure::Retry { after: kept, .. } if kept == after));
    }

    #[test]
    fn an_interactions_end_says_nothing_about_the_bot() {
        for (status, code, expected) in [
            (404, 10062, AckTrouble::Over),
            (404, 10015, AckTrouble::Over),
            (401, 50027, AckTrouble::Over),
            (401, 0, AckTrouble::Over),
            (400, 40060, AckTrouble::Already),
            (400, 50035, AckTrouble::Other),
            (502, 0, AckTrouble::Other),
        ] {
            let refusal = Refusal { status, code, message: String::new(), after: None };
            assert_eq!(ack_trouble(&Trouble::Refused(refusal)), expected, "{status} {code}");
        }
    }

    #[test]
    fn wrong_fields_are_named() {
        let body = br#"{"message": "Invalid Form Body", "code": 50035, "errors": {"components": {"0": {"components":
            {"1": {"label": {"_errors": [{"code": "BASE_TYPE_REQUIRED", "message": "This field is required"}]}}}}}}}"#;
        let refusal = Refusal::read(400, body, None);
        assert_eq!(refusal.message, "Invalid Form Body: components.0.components.1.label This field is required");
    }
}
