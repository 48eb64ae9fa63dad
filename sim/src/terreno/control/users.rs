//! Users, and when their credentials end.

use std::collections::BTreeSet;

use crate::terreno::Terreno;
use crate::terreno::state::User;

impl Terreno {
    /// Adds a user, or changes the password of one.
    pub fn add_user(&self, email: &str, password: &str) {
        self.put_user(email, password, false);
    }

    /// Adds an admin, who may read every conversation and answer in none but his own.
    pub fn add_admin(&self, email: &str, password: &str) {
        self.put_user(email, password, true);
    }

    /// A user's id (an account's subject).
    #[must_use]
    pub fn user_id(&self, email: &str) -> Option<String> {
        self.read(|state| state.emails.get(email).cloned())
    }

    /// Disables a user or lets one in again: 401 on everything meanwhile. Unknown users are ignored, here and below.
    pub fn set_disabled(&self, email: &str, disabled: bool) {
        self.with_user(email, |user| user.disabled = disabled);
    }

    /// Every access token issued so far is expired from now on.
    pub fn expire_access_tokens(&self, email: &str) {
        self.change(|state| {
            let floor = state.serial + 1;
            if let Some(user) = state.user_mut(email) {
                user.access_floor = floor;
            }
        });
    }

    /// Every refresh token issued so far is expired from now on.
    pub fn expire_refresh_tokens(&self, email: &str) {
        self.change(|state| {
            let floor = state.serial + 1;
            if let Some(user) = state.user_mut(email) {
                user.refresh_floor = floor;
            }
        });
    }

    /// Revokes every token, as a password reset does: refreshing says `Invalid refresh token`.
    pub fn revoke_tokens(&self, email: &str) {
        self.with_user(email, |user| user.epoch += 1);
    }

    /// Ends every Better Auth session of a user.
    pub fn end_sessions(&self, email: &str) {
        self.change(|state| {
            let Some(id) = state.emails.get(email).cloned() else { return };
            state.sessions.retain(|_, session| session.user_id != id);
        });
    }

    /// An access token and a refresh token, as a log-in would issue them.
    #[must_use]
    pub fn tokens(&self, email: &str) -> Option<(String, String)> {
        let now = self.now();
        self.silently(|state| {
            let id = state.emails.get(email)?.clone();
            state.tokens(&id, now).map(|(access, refresh, _)| (access, refresh))
        })
    }

    /// A Better Auth session token, as a sign-in would issue it.
    #[must_use]
    pub fn session(&self, email: &str) -> Option<String> {
        let now = self.now();
        self.silently(|state| {
            let id = state.emails.get(email)?.clone();
            Some(state.open_session(&id, now))
        })
    }

    fn put_user(&self, email: &str, password: &str, admin: bool) {
        let now = self.now();
        self.change(|state| {
            if let Some(user) = state.user_mut(email) {
                password.clone_into(&mut user.password);
                user.admin = admin;
                return;
            }
            let id = state.mint.document(now);
            state.emails.insert(email.to_owned(), id.clone());
            let user = User {
                id: id.clone(),
                email: email.to_owned(),
                password: password.to_owned(),
                admin,
                disabled: false,
                epoch: 0,
                access_floor: 0,
                refresh_floor: 0,
                created: now,
                pending: BTreeSet::new(),
                histories: Vec::new(),
            };
            state.users.insert(id, user);
        });
    }

    fn with_user(&self, email: &str, work: impl FnOnce(&mut User)) {
        self.change(|state| state.user_mut(email).map(work));
    }
}
