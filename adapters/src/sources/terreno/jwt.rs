//! What a token says about itself. Nothing is verified here: the host does that, and askgate only plans by it.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// The longest lifetime that is believed, so that adding it to a clock cannot overflow.
const LONGEST_LIFE: f64 = 10.0 * 366.0 * 86_400.0;

/// The claims that matter. Empty for an opaque token.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Claims {
    /// Whose it is.
    pub(super) subject: Option<String>,
    /// How long it lives, from `iat` to `exp`. Both are the host's clock, so ours need not agree with it.
    pub(super) lifetime: Option<Duration>,
}

/// Reads a token's claims.
#[must_use]
pub(super) fn claims(token: &str) -> Claims {
    let Some(Value::Object(payload)) = payload(token) else { return Claims::default() };
    let seconds = |key: &str| payload.get(key).and_then(Value::as_f64);
    let lifetime = seconds("exp")
        .zip(seconds("iat"))
        .map(|(exp, iat)| exp - iat)
        .filter(|life| *life > 0.0 && *life <= LONGEST_LIFE)
        .map(Duration::from_secs_f64);
    let subject = ["id", "sub"].into_iter().find_map(|key| payload.get(key).and_then(Value::as_str));
    Claims { subject: subject.filter(|id| !id.is_empty()).map(str::to_owned), lifetime }
}

fn payload(token: &str) -> Option<Value> {
    let mut parts = token.split('.');
    let (_, payload, _) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let bytes = URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(payload: &str) -> String {
        format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(payload))
    }

    #[test]
    fn reads_what_is_there() {
        let cases = [
            (token(r#"{"id":"u1","iat":100,"exp":1000}"#), Some("u1"), Some(900)),
            (token(r#"{"sub":"u2","exp":1000}"#), Some("u2"), None),
            (token(r#"{"id":"","iat":1000,"exp":100}"#), None, None),
            (token(r#"{"id":7,"iat":0,"exp":1e300}"#), None, None),
            (token("[]"), None, None),
            ("Jd8sK2mQx0Wv7uYbN4tR6aZcE1fG3hLp".to_owned(), None, None),
            ("a.b".to_owned(), None, None),
            ("a.!!.c".to_owned(), None, None),
            ("token.signature.more.parts".to_owned(), None, None),
        ];
        for (token, subject, seconds) in cases {
            let claims = claims(&token);
            assert_eq!(claims.subject.as_deref(), subject, "{token}");
            assert_eq!(claims.lifetime, seconds.map(Duration::from_secs), "{token}");
        }
    }
}
