//! People who linked themselves: their sign-in, and what is kept of it.

use std::sync::{Arc, Mutex, PoisonError};

use asks::ids::{AccountKey, Subject};
use serde::{Deserialize, Serialize};

use super::jwt;
use super::sign_in::Door;
use super::verdict::{Denied, Tokens};
use crate::source::{Failure, Keeper, Secret, Signed};

/// What the gateway keeps for an account, as JSON. A password is never among it.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Session {
    pub(super) token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refresh: Option<String>,
    pub(super) subject: String,
}

/// Takes what one account was renewed to.
pub(super) struct Renewals {
    account: AccountKey,
    /// `None` once the account goes on with another credential.
    keeper: Mutex<Option<Arc<dyn Keeper>>>,
}

impl Session {
    /// Reads a kept credential.
    ///
    /// # Errors
    /// [`Failure::Unauthorised`] for anything else.
    pub(super) fn read(credential: &Secret) -> Result<Self, Failure> {
        serde_json::from_str(credential.expose())
            .map_err(|_| Failure::Unauthorised { why: "what was kept is no session of this source".to_owned() })
    }

    fn secret(&self) -> Result<Secret, Failure> {
        let text = serde_json::to_string(self);
        text.map(Secret::new).map_err(|_| Failure::Unavailable { why: "the session cannot be written".to_owned() })
    }
}

impl Renewals {
    /// Passes a session on.
    pub(super) fn tell(&self, token: &str, refresh: Option<&str>, subject: &Subject) {
        let session = Session {
            token: token.to_owned(),
            refresh: refresh.map(str::to_owned),
            subject: subject.as_str().to_owned(),
        };
        // The lock is held meanwhile, so nothing is passed on after `close` has returned.
        let keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(keeper), Ok(secret)) = (keeper.as_ref(), session.secret()) {
            keeper.renewed(&self.account, secret);
        }
    }

    /// Passes nothing on any more: a request that is still under way must not bring back a credential that was replaced.
    pub(super) fn close(&self) {
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Where an account's renewals go.
pub(super) fn renewals(account: &AccountKey, keeper: Option<Arc<dyn Keeper>>) -> Option<Box<Renewals>> {
    keeper.map(|keeper| Box::new(Renewals { account: account.clone(), keeper: Mutex::new(Some(keeper)) }))
}

/// Signs in with a password.
///
/// # Errors
/// See [`Failure`].
pub(super) async fn sign_in(door: &Door, email: &str, password: &Secret) -> Result<Signed, Failure> {
    let tokens = door.sign_in(email, password.expose()).await?;
    let subject = tokens.subject.clone().or_else(|| jwt::claims(&tokens.token).subject);
    if let Some(subject) = subject {
        return signed(tokens, subject, Some(email.to_owned()));
    }
    let person = door.whose(&tokens.token).await?;
    signed(tokens, person.subject, person.display.or_else(|| Some(email.to_owned())))
}

/// Takes a session over that exists already. An expired token is renewed first, if it can be.
///
/// # Errors
/// See [`Failure`].
pub(super) async fn adopt(door: &Door, token: &Secret, refresh: Option<&Secret>) -> Result<Signed, Failure> {
    let given = bare(token.expose());
    let refresh = refresh.map(|refresh| bare(refresh.expose())).filter(|refresh| !refresh.is_empty());
    if given.is_empty() {
        return Err(Failure::Unauthorised { why: "the token is empty".to_owned() });
    }
    let (person, tokens) = match (door.whose(given).await, refresh) {
        (Err(Failure::Unauthorised { why }), Some(refresh)) => {
            let tokens = match door.refresh(refresh).await {
                Ok(tokens) => tokens,
                Err(Denied::NoRoute) => return Err(Failure::Unauthorised { why }),
                Err(denied) => return Err(denied.into()),
            };
            (door.whose(&tokens.token).await?, tokens)
        }
        (found, refresh) => {
            let tokens = Tokens { token: given.to_owned(), refresh: refresh.map(str::to_owned), subject: None };
            (found?, tokens)
        }
    };
    let refresh = tokens.refresh.or_else(|| refresh.map(str::to_owned));
    signed(Tokens { token: tokens.token, refresh, subject: None }, person.subject, person.display)
}

fn signed(tokens: Tokens, subject: String, display: Option<String>) -> Result<Signed, Failure> {
    let session = Session { token: tokens.token, refresh: tokens.refresh, subject: subject.clone() };
    Ok(Signed { subject: Subject::new(subject), display, credential: session.secret()? })
}

/// A token as people paste it: with spaces around it, in quotes, or with the scheme before it.
fn bare(token: &str) -> &str {
    let token = token.trim().trim_matches('"').trim();
    let scheme = token.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer "));
    if scheme { token.get(7..).unwrap_or_default().trim() } else { token }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pasted_token_is_taken_without_what_came_along() {
        for pasted in ["t0", " t0\n", "Bearer t0", "bearer  t0 ", "\"t0\""] {
            assert_eq!(bare(pasted), "t0", "{pasted:?}");
        }
        assert_eq!(bare("bearer"), "bearer");
        assert_eq!(bare("é"), "é");
    }

    #[test]
    fn what_is_kept_is_read_again_and_nothing_else_is() {
        let tokens = Tokens { token: "t0".to_owned(), refresh: Some("r0".to_owned()), subject: None };
        let kept = signed(tokens, "u1".to_owned(), None).unwrap().credential;
        let read = Session::read(&kept).unwrap();
        assert_eq!((read.token.as_str(), read.refresh.as_deref().unwrap(), read.subject.as_str()), ("t0", "r0", "u1"));
        assert!(!format!("{kept:?}").contains("t0"));
        assert!(Session::read(&Secret::new("{}")).is_err());
    }
}
