//! What an account proves itself with, in types that never print.

use std::fmt;
use std::sync::Arc;

type Reread = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// A secret text, and where it may have been replaced since.
#[derive(Clone)]
pub struct Secret {
    text: Arc<str>,
    reread: Option<Reread>,
}

/// What an account signs in with.
#[derive(Clone)]
pub enum Credential {
    /// Signs in by itself.
    Password {
        /// The address, letter for letter.
        email: String,
        /// Its password.
        password: Secret,
    },
    /// Has a token already: a Terreno JWT or a Better Auth session.
    Token {
        /// Sent as the bearer.
        token: Secret,
        /// Buys a new token when this one has expired.
        refresh_token: Option<Secret>,
    },
}

/// A credential's texts as they were last read. Two are equal exactly if nothing was replaced.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Known {
    /// The password or the token.
    pub(super) main: Arc<str>,
    /// The refresh token.
    pub(super) refresh: Option<Arc<str>>,
}

impl Secret {
    /// A text that stays as it is.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), reread: None }
    }

    /// A text that may be replaced while the service runs: `reread` is asked once it is refused, on a thread where it may
    /// block. `None` means that it cannot be read at the moment.
    #[must_use]
    pub fn rereadable(text: impl Into<Arc<str>>, reread: impl Fn() -> Option<String> + Send + Sync + 'static) -> Self {
        Self { text: text.into(), reread: Some(Arc::new(reread)) }
    }

    /// The text as it was given, for the one place that sends it.
    pub(super) fn expose(&self) -> &str {
        &self.text
    }

    /// The text as it is now. One that did not change keeps its memory.
    fn now(&self, last: &Arc<str>) -> Arc<str> {
        match self.reread.as_ref().and_then(|reread| reread()) {
            Some(text) if *text != **last => text.into(),
            _ => Arc::clone(last),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Credential {
    /// The texts as they were given.
    pub(super) fn known(&self) -> Known {
        match self {
            Self::Password { password, .. } => Known { main: Arc::clone(&password.text), refresh: None },
            Self::Token { token, refresh_token } => Known {
                main: Arc::clone(&token.text),
                refresh: refresh_token.as_ref().map(|secret| Arc::clone(&secret.text)),
            },
        }
    }

    /// Whether any text may have been replaced.
    pub(super) fn rereads(&self) -> bool {
        let (main, refresh) = self.secrets();
        main.reread.is_some() || refresh.is_some_and(|secret| secret.reread.is_some())
    }

    /// Reads the texts again. May block.
    pub(super) fn reread(&self, last: &Known) -> Known {
        let (main, refresh) = self.secrets();
        let refresh = refresh.map(|secret| secret.now(last.refresh.as_ref().unwrap_or(&secret.text)));
        Known { main: main.now(&last.main), refresh }
    }

    const fn secrets(&self) -> (&Secret, Option<&Secret>) {
        match self {
            Self::Password { password, .. } => (password, None),
            Self::Token { token, refresh_token } => (token, refresh_token.as_ref()),
        }
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Password { .. } => f.write_str("Password(..)"),
            Self::Token { .. } => f.write_str("Token(..)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_prints() {
        let token = Credential::Token { token: Secret::new("hunter2"), refresh_token: Some(Secret::new("hunter3")) };
        let password = Credential::Password { email: "me@example.com".into(), password: Secret::new("hunter4") };
        assert_eq!(format!("{token:?} {password:?} {:?}", Secret::new("x")), "Token(..) Password(..) Secret(..)");
    }

    #[test]
    fn a_reader_that_fails_keeps_the_last_text() {
        let credential = Credential::Token { token: Secret::rereadable("old", || None), refresh_token: None };
        let known = credential.known();
        assert!(credential.reread(&known) == known);
        let credential =
            Credential::Token { token: Secret::rereadable("old", || Some("new".into())), refresh_token: None };
        assert_eq!(&*credential.reread(&known).main, "new");
    }
}
