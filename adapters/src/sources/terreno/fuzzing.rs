//! What holds for any reply of a Terreno host.

use std::time::{Duration, Instant};

use asks::ids::{ConversationId, ToolCallId};
use serde_json::Value;

use super::pace::{Gate, RateLimit};
use super::transport::Reply;
use super::{jwt, mapping, verdict};
use crate::fuzzing::reply;
use crate::source::{Failure, Verdict};

const AN_HOUR: Duration = Duration::from_hours(1);

/// Reads a status line, headers and a body as a reply to every call that askgate makes.
///
/// Asserts that nothing but status 200 takes an answer or lists asks, that no server error and no page ends an ask, and that
/// what a refusal says is bounded.
///
/// # Panics
/// If one of these does not hold.
pub fn terreno_reply(bytes: &[u8]) {
    let (status, headers, body) = reply(bytes);
    let heard = || Reply { status, body: body.to_vec(), rate_limit: RateLimit::read(&headers), auth_token: None };
    let (conversation, ask) = (ConversationId::from("h1"), ToolCallId::from("c1"));
    let is_terrenos = serde_json::from_str::<Value>(&asks::wire::mend(body)).is_ok_and(|body| {
        body.get("status").and_then(Value::as_u64) == Some(u64::from(status))
            && body.get("title").and_then(Value::as_str).is_some_and(|title| !title.is_empty())
    });
    match verdict::turn(&heard(), &conversation, &ask) {
        Verdict::Accepted { .. } | Verdict::AcceptedWithError { .. } | Verdict::Reopened { .. } => {
            assert_eq!(status, 200, "taken with {status}");
        }
        Verdict::Gone | Verdict::Forbidden => {
            assert!(is_terrenos && matches!(status, 403..=405), "an ask ends by {status}");
        }
        Verdict::Invalid { fields } => {
            assert!(matches!(status, 400 | 413), "an answer is refused by {status}");
            assert!(fields.len() <= 32 && !fields.is_empty(), "{} fields", fields.len());
            let short = |text: &str| text.chars().count() <= 300;
            assert!(fields.iter().all(|(path, said)| short(path) && short(said)), "a field's words without end");
        }
        Verdict::UnknownButton => assert!(is_terrenos && status == 400, "a button dies by {status}"),
        Verdict::NotPending => assert_eq!(status, 409),
        Verdict::RateLimited { after } => assert!(status == 429 && after <= AN_HOUR, "{after:?} by {status}"),
        Verdict::Unavailable { .. } => assert!(status < 499, "not taken, says {status}"),
        Verdict::Unauthorised | Verdict::Unclear { .. } => {}
    }
    match verdict::pending(&heard()) {
        Ok(list) => {
            assert_eq!(status, 200, "a list with {status}");
            let nameless = list.unreadable.iter().any(|lost| lost.conversation.is_none() || lost.ask.is_none());
            assert_eq!(mapping::snapshot(list, None).complete, !nameless, "a list that is not whole counts as whole");
        }
        Err(Failure::Forbidden | Failure::Gone | Failure::AsksOff) => {
            assert!(is_terrenos && matches!(status, 403..=405), "polls end by {status}");
        }
        Err(_) => {}
    }
    if let Ok(read) = verdict::history(&heard(), &conversation) {
        assert_eq!(status, 200, "a conversation with {status}");
        let _ = mapping::conversation(read);
    }
    match verdict::tokens(&heard()) {
        Ok(tokens) => assert!(status == 200 && !tokens.token.is_empty(), "a token with {status}"),
        Err(denied) => {
            let said = format!("{denied:?}");
            assert!(said.len() < 400, "the host's own words are passed on: {said}");
        }
    }
}

/// Reads a line of headers as what they ask for.
///
/// Asserts that no wait is shorter than a second or longer than an hour.
///
/// # Panics
/// If one of these does not hold.
#[expect(clippy::disallowed_methods, reason = "a gate compares instants, and any will do")]
pub fn terreno_headers(bytes: &[u8]) {
    let (status, headers, _) = reply(bytes);
    let said = RateLimit::read(&headers);
    let after = said.after();
    assert!((Duration::from_secs(1)..=AN_HOUR).contains(&after), "a wait of {after:?}");
    let now = Instant::now();
    let mut gate = Gate::default();
    for status in [status, 200, 429, 503] {
        gate.heard(status, &said, now);
        for wait in [gate.closed(now), gate.wait(now)].into_iter().flatten() {
            assert!(wait <= AN_HOUR, "nothing is sent for {wait:?}");
        }
    }
}

/// Reads bytes as a bearer token.
///
/// Asserts that its lifetime can be added to a clock.
///
/// # Panics
/// If that does not hold.
pub fn terreno_token(bytes: &[u8]) {
    use base64::Engine as _;
    let text = String::from_utf8_lossy(bytes);
    // Alone, and as the claims of a token that is well made.
    let made = format!("e30.{}.c2ln", base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes));
    for token in [text.as_ref(), made.as_str()] {
        let claims = jwt::claims(token);
        assert!(claims.lifetime.is_none_or(|life| life <= Duration::from_hours(24 * 3_660)), "a life without end");
        assert!(claims.subject.is_none_or(|subject| !subject.is_empty()), "the subject is nobody");
    }
}
