//! Two accounts that are the same person at the same address: every ask would be shown twice.
//!
//! Off-line only what the file tells can be compared: the e-mail, the token, and the person a JWT names. A source's own
//! word on it is the doctor's business.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::Config;
use super::account::Credential;
use crate::reader::Section;

/// Warns of every account that seems to be the same person as an earlier one.
pub(crate) fn warn(root: &Section<'_>, config: &Config) {
    for (i, account) in config.accounts.iter().enumerate() {
        let address = config.source(&account.key.source).map(|source| &source.url);
        let twin = config.accounts.iter().take(i).find(|earlier| {
            config.source(&earlier.key.source).map(|source| &source.url) == address
                && same_person(&earlier.credential, &account.credential)
        });
        if let Some(twin) = twin {
            let what = format!("seems to be the same person as account `{}`, at the same address", twin.key.name);
            root.warn(&format!("accounts[{i}]"), what, "keep one of the two, with the places of both in its deliver");
        }
    }
}

fn same_person(one: &Credential, other: &Credential) -> bool {
    match (one, other) {
        (Credential::Password { email: one, .. }, Credential::Password { email: other, .. }) => one == other,
        (Credential::Token { token: one, .. }, Credential::Token { token: other, .. }) => {
            one.expose() == other.expose()
                || subject(one.expose()).is_some_and(|one| Some(one) == subject(other.expose()))
        }
        _ => false,
    }
}

/// The person a JWT names, unverified: `id` in Terreno's, `sub` elsewhere.
fn subject(token: &str) -> Option<String> {
    let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let claims: serde_json::Value = serde_json::from_slice(&payload).ok()?;
    ["id", "sub"].into_iter().find_map(|claim| claims.get(claim)?.as_str().map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jwt_names_its_person() {
        let jwt = |claims: &str| format!("e30.{}.sig", URL_SAFE_NO_PAD.encode(claims));
        assert_eq!(subject(&jwt(r#"{"id":"u1","iat":1}"#)).as_deref(), Some("u1"));
        assert_eq!(subject(&jwt(r#"{"sub":"u2"}"#)).as_deref(), Some("u2"));
        for opaque in ["", "opaque", "a.b.c", "e30.e30.x"] {
            assert_eq!(subject(opaque), None, "{opaque}");
        }
    }
}
