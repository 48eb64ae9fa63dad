//! Sign-in: Terreno's JWTs, Better Auth's sessions, and whom a request comes from.
//!
//! The JWTs are real in shape (three parts, claims a client can read) and made up in signature: a keyed hash that nobody
//! but this host has to verify.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::ids::{iso, millis};
use super::reply::Reply;
use super::state::{State, User};

/// A Better Auth session.
#[derive(Debug, Clone)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) user_id: String,
    pub(super) created: Duration,
    pub(super) updated: Duration,
    pub(super) expires: Duration,
}

/// Whom a request comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Caller {
    User { id: String, session: String, admin: bool },
    Nobody,
    Disabled,
    BadJwt { name: &'static str, message: &'static str, expired_at: Option<Duration> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Access,
    Refresh,
}

struct Claims {
    id: String,
    sid: String,
    epoch: u64,
    serial: u64,
    expires: Duration,
    usage: Use,
}

enum BadToken {
    /// Not three parts: no JWT at all.
    Malformed,
    Invalid(&'static str),
}

const HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;

/// The age after which a Better Auth session is extended when it is looked at.
const SESSION_SLIDES_AFTER: Duration = Duration::from_hours(24);

impl State {
    /// `POST /auth/login`.
    pub(super) fn login(&mut self, body: &Value, now: Duration) -> Reply {
        let word = |key: &str| body.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let (Some(email), Some(password)) = (word("email"), word("password")) else {
            return Reply::message(401, "Missing credentials");
        };
        let Some(user) = self.user(email).filter(|user| user.password == password) else {
            return Reply::message(401, "Password or username is incorrect");
        };
        if user.disabled {
            return Reply::message(401, "User is disabled");
        }
        let id = user.id.clone();
        let Some((token, refresh, session)) = self.tokens(&id, now) else { return Reply::internal() };
        let data = json!({"refreshToken": refresh, "token": token, "userId": id});
        Reply::bare(200, json!({"data": data})).with("X-Session-ID", session)
    }

    /// `POST /auth/refresh_token`.
    pub(super) fn refresh(&mut self, body: &Value, now: Duration) -> Reply {
        let Some(token) = body.get("refreshToken").and_then(Value::as_str).filter(|token| !token.is_empty()) else {
            return Reply::message(401, "No refresh token provided, must provide refreshToken in body");
        };
        let claims = match self.claims(token) {
            Ok(claims) => claims,
            Err(BadToken::Malformed) => return Reply::message(401, "jwt malformed"),
            Err(BadToken::Invalid(message)) => return Reply::message(401, message),
        };
        let Some(user) = self.users.get(&claims.id).filter(|user| user.epoch == claims.epoch && !user.disabled) else {
            return Reply::message(401, "Invalid refresh token");
        };
        if claims.usage != Use::Refresh {
            return Reply::message(401, "Invalid refresh token");
        }
        if claims.expired(user, now) {
            return Reply::message(401, "jwt expired");
        }
        let id = claims.id;
        let Some((token, refresh, _)) = self.tokens(&id, now) else { return Reply::internal() };
        Reply::bare(200, json!({"data": {"refreshToken": refresh, "token": token}}))
    }

    /// `GET /auth/me`.
    pub(super) fn me(&self, user_id: &str) -> Reply {
        self.users.get(user_id).map_or_else(Reply::unauthorized, |user| Reply::data(user.stored()))
    }

    /// `POST /api/auth/sign-in/email`.
    pub(super) fn sign_in(&mut self, body: &Value, now: Duration) -> Reply {
        let word = |key: &str| body.get(key).and_then(Value::as_str);
        let (Some(email), Some(password)) = (word("email"), word("password")) else {
            let message = "[body.email] Invalid input: expected string, received undefined";
            return Reply::bare(400, json!({"message": message, "code": "VALIDATION_ERROR"}));
        };
        let found = self.user(email).filter(|user| user.password == password && !user.disabled);
        let Some(id) = found.map(|user| user.id.clone()) else {
            let body = json!({"message": "Invalid email or password", "code": "INVALID_EMAIL_OR_PASSWORD"});
            return Reply::bare(401, body);
        };
        let token = self.open_session(&id, now);
        let user = self.better_auth_user(&id);
        let signed = format!("{token}.{}", self.signature(&token).replace('-', "%2B").replace('_', "%2F"));
        let cookie = format!(
            "better-auth.session_token={signed}; Max-Age={}; Path=/; HttpOnly; SameSite=Lax",
            self.options.session_lifetime.as_secs()
        );
        Reply::bare(200, json!({"redirect": false, "token": token, "user": user}))
            .with("set-auth-token", signed)
            .with("Set-Cookie", cookie)
    }

    /// `GET /api/auth/get-session`.
    pub(super) fn get_session(&mut self, bearer: Option<&str>, now: Duration) -> Reply {
        let Some(token) = bearer.and_then(|bearer| self.session_token(bearer, now)) else {
            return Reply::bare(200, Value::Null);
        };
        let lifetime = self.options.session_lifetime;
        let Some(session) = self.sessions.get_mut(&token) else { return Reply::bare(200, Value::Null) };
        if now.saturating_sub(session.updated) > SESSION_SLIDES_AFTER {
            session.updated = now;
            session.expires = now + lifetime;
        }
        let session = session.clone();
        let shown = json!({
            "expiresAt": iso(session.expires), "token": token, "createdAt": iso(session.created),
            "updatedAt": iso(session.updated), "ipAddress": "", "userAgent": "", "userId": session.user_id,
            "id": session.id,
        });
        let user = self.better_auth_user(&session.user_id);
        Reply::bare(200, json!({"session": shown, "user": user}))
    }

    /// `POST /api/auth/sign-out`.
    pub(super) fn sign_out(&mut self, bearer: Option<&str>, now: Duration) -> Reply {
        if let Some(token) = bearer.and_then(|bearer| self.session_token(bearer, now)) {
            self.sessions.remove(&token);
        }
        Reply::bare(200, json!({"success": true}))
    }

    /// A new session's token.
    pub(super) fn open_session(&mut self, user_id: &str, now: Duration) -> String {
        let token = self.mint.word(32);
        let session = Session {
            id: self.mint.word(32),
            user_id: user_id.to_owned(),
            created: now,
            updated: now,
            expires: now + self.options.session_lifetime,
        };
        self.sessions.insert(token.clone(), session);
        token
    }

    /// Whom a request comes from, by its bearer. `decode` is off for the scheme `Secret`.
    pub(super) fn caller(&self, bearer: Option<&str>, decode: bool, now: Duration) -> Caller {
        let Some(bearer) = bearer else { return Caller::Nobody };
        if self.options.auth.has_terreno() && decode {
            match self.claims(bearer) {
                Ok(claims) => return self.token_caller(claims, now),
                Err(BadToken::Malformed) => {}
                Err(BadToken::Invalid(message)) => {
                    return Caller::BadJwt { name: "JsonWebTokenError", message, expired_at: None };
                }
            }
        }
        let session = self.session_token(bearer, now).and_then(|token| self.sessions.get(&token));
        match session.and_then(|session| Some((session, self.users.get(&session.user_id)?))) {
            Some((_, user)) if user.disabled => Caller::Disabled,
            Some((session, user)) => {
                Caller::User { id: user.id.clone(), session: session.id.clone(), admin: user.admin }
            }
            None => Caller::Nobody,
        }
    }

    /// The user a credential names, without judging it.
    pub(super) fn named_by(&self, bearer: &str) -> Option<String> {
        if let Ok(claims) = self.claims(bearer) {
            return Some(claims.id);
        }
        let token = bearer.split('.').next().unwrap_or(bearer);
        self.sessions.get(token).map(|session| session.user_id.clone())
    }

    fn token_caller(&self, claims: Claims, now: Duration) -> Caller {
        let Some(user) = self.users.get(&claims.id) else { return Caller::Nobody };
        if claims.expired(user, now) {
            let expired_at = Some(claims.expires.min(now));
            return Caller::BadJwt { name: "TokenExpiredError", message: "jwt expired", expired_at };
        }
        if user.epoch != claims.epoch || claims.usage != Use::Access {
            return Caller::Nobody;
        }
        if user.disabled {
            return Caller::Disabled;
        }
        Caller::User { id: claims.id, session: claims.sid, admin: user.admin }
    }

    /// The key of a live session, from the raw or the signed form of its token.
    fn session_token(&self, bearer: &str, now: Duration) -> Option<String> {
        if !self.options.auth.has_better_auth() {
            return None;
        }
        let token = bearer.split('.').next().unwrap_or(bearer);
        self.sessions.get(token).filter(|session| now < session.expires).map(|_| token.to_owned())
    }

    /// An access token, a refresh token and their session id.
    pub(super) fn tokens(&mut self, user_id: &str, now: Duration) -> Option<(String, String, String)> {
        let epoch = self.users.get(user_id)?.epoch;
        self.serial += 1;
        let serial = self.serial;
        let sid = format!("{:08x}-0000-4000-8000-{serial:012x}", self.options.seed & 0xffff_ffff);
        let issued = now.as_secs();
        let until = |lifetime: Duration| issued + lifetime.as_secs().max(1);
        let access = json!({
            "id": user_id, "sid": sid, "te": epoch, "iat": issued, "exp": until(self.options.access_lifetime),
            "iss": "terreno",
        });
        let refresh = json!({
            "id": user_id, "sid": sid, "te": epoch, "iat": issued, "exp": until(self.options.refresh_lifetime),
        });
        Some((self.jwt(&access), self.jwt(&refresh), sid))
    }

    fn jwt(&self, claims: &Value) -> String {
        let body = format!("{}.{}", URL_SAFE_NO_PAD.encode(HEADER), URL_SAFE_NO_PAD.encode(claims.to_string()));
        let signature = self.signature(&body);
        format!("{body}.{signature}")
    }

    fn claims(&self, token: &str) -> Result<Claims, BadToken> {
        let parts: Vec<&str> = token.split('.').collect();
        let [header, payload, signature] = parts.as_slice() else { return Err(BadToken::Malformed) };
        if !URL_SAFE_NO_PAD.decode(header).is_ok_and(|header| serde_json::from_slice::<Value>(&header).is_ok()) {
            return Err(BadToken::Invalid("invalid token"));
        }
        let bytes = URL_SAFE_NO_PAD.decode(payload).map_err(|_| BadToken::Invalid("invalid token"))?;
        if self.signature(&format!("{header}.{payload}")) != *signature {
            return Err(BadToken::Invalid("invalid signature"));
        }
        let claims: Value = serde_json::from_slice(&bytes).map_err(|_| BadToken::Invalid("invalid token"))?;
        let text = |key: &str| claims.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let number = |key: &str| claims.get(key).and_then(Value::as_u64).unwrap_or_default();
        let sid = text("sid");
        let serial = sid.rsplit('-').next().and_then(|last| u64::from_str_radix(last, 16).ok()).unwrap_or_default();
        Ok(Claims {
            id: text("id"),
            sid,
            epoch: number("te"),
            serial,
            expires: Duration::from_secs(number("exp")),
            usage: if claims.get("iss").is_some() { Use::Access } else { Use::Refresh },
        })
    }

    /// 43 characters that only this host's seed leads to.
    fn signature(&self, text: &str) -> String {
        let mut bytes = Vec::with_capacity(32);
        for round in 0_u8..4 {
            let mut hasher = DefaultHasher::new();
            (self.options.seed, round, text).hash(&mut hasher);
            bytes.extend(hasher.finish().to_be_bytes());
        }
        URL_SAFE_NO_PAD.encode(bytes)
    }

    fn better_auth_user(&self, id: &str) -> Value {
        let Some(user) = self.users.get(id) else { return Value::Null };
        json!({
            "id": user.id, "email": user.email, "name": user.email, "image": null, "emailVerified": false,
            "createdAt": iso(user.created), "updatedAt": iso(user.created),
        })
    }
}

impl Claims {
    fn expired(&self, user: &User, now: Duration) -> bool {
        let floor = if self.usage == Use::Access { user.access_floor } else { user.refresh_floor };
        self.serial < floor || now.as_secs() >= self.expires.as_secs()
    }
}

impl Caller {
    /// The 401 of a caller who is nobody; `Ok` for a user.
    pub(super) fn refusal(&self, now: Duration) -> Option<Reply> {
        match self {
            Self::User { .. } => None,
            Self::Nobody => Some(Reply::unauthorized()),
            Self::Disabled => Some(Reply::error(401, "User is disabled")),
            Self::BadJwt { name, message, expired_at } => {
                let expired_at = expired_at.map_or_else(|| "undefined".to_owned(), iso);
                let details = format!(
                    "[jwt] Error decoding token: {name}: {message}, expired at {expired_at}, current time: {}",
                    millis(now)
                );
                Some(Reply::bare(401, json!({"details": details, "message": message})))
            }
        }
    }
}
