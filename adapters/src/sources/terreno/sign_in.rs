//! The routes that give out tokens, and the budget that everybody at one address shares.
//!
//! A rate-limited Terreno allows 20 sign-ins or refreshes per address in 15 minutes, whoever they are for.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::pace::Gate;
use super::transport::{Call, Transport};
use super::verdict::{self, Denied, Person, Tokens};
use crate::clock::SharedClock;
use crate::source::Failure;

/// How long one sign-in may take.
const SIGN_IN: Duration = Duration::from_secs(10);
/// The most of its reply that is read, in bytes.
const REPLY_BYTES: usize = 1 << 20;
/// How many sign-ins run side by side, so that a 429 to one is known before the others are sent.
const SIDE_BY_SIDE: usize = 4;

/// How an e-mail address and a password become a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Auth {
    /// The first route that exists.
    #[default]
    Auto,
    /// `POST /auth/login`.
    Terreno,
    /// `POST /api/auth/sign-in/email`.
    BetterAuth,
}

/// The sign-ins at one address, from all sources there.
#[derive(Debug)]
pub struct Address {
    gate: Mutex<Gate>,
    permits: Semaphore,
}

impl Default for Address {
    fn default() -> Self {
        Self { gate: Mutex::default(), permits: Semaphore::new(SIDE_BY_SIDE) }
    }
}

impl Address {
    /// How long no sign-in may be sent.
    pub(super) fn closed(&self, now: Instant) -> Option<Duration> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner).closed(now)
    }

    fn open(&self, now: Instant) -> Result<(), Denied> {
        self.closed(now).map_or(Ok(()), |after| Err(Denied::RateLimited { after }))
    }
}

/// Where accounts get their tokens.
pub(super) struct Door {
    transport: Transport,
    auth: Auth,
    address: Arc<Address>,
    clock: SharedClock,
    /// The route that `Auto` found, as an index into [`ROUTES`], or [`UNKNOWN`].
    found: AtomicU8,
}

type Route = &'static [&'static str];

const TERRENO: Route = &["auth", "login"];
const BETTER_AUTH: Route = &["api", "auth", "sign-in", "email"];
const REFRESH: Route = &["auth", "refresh_token"];
const ME: Route = &["auth", "me"];
const SESSION: Route = &["api", "auth", "get-session"];
const ROUTES: [(u8, Route); 2] = [(0, TERRENO), (1, BETTER_AUTH)];
const UNKNOWN: u8 = u8::MAX;

impl Door {
    pub(super) fn new(transport: Transport, auth: Auth, address: Arc<Address>, clock: SharedClock) -> Self {
        Self { transport, auth, address, clock, found: AtomicU8::new(UNKNOWN) }
    }

    pub(super) const fn transport(&self) -> &Transport {
        &self.transport
    }

    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    pub(super) fn now(&self) -> Instant {
        self.clock.instant()
    }

    /// Signs in.
    ///
    /// # Errors
    /// See [`Denied`].
    pub(super) async fn sign_in(&self, email: &str, password: &str) -> Result<Tokens, Denied> {
        let body = json!({"email": email, "password": password});
        match self.auth {
            Auth::Terreno => return self.post(TERRENO, &body).await,
            Auth::BetterAuth => return self.post(BETTER_AUTH, &body).await,
            Auth::Auto => {}
        }
        let found = self.found.load(Ordering::Relaxed);
        for (index, route) in ROUTES.into_iter().filter(|(index, _)| found == UNKNOWN || *index == found) {
            match self.post(route, &body).await {
                Err(Denied::NoRoute) => {}
                other => {
                    // A route that is down exists as little as it does not: only an answer settles it.
                    if !matches!(other, Err(Denied::Unavailable { .. })) {
                        self.found.store(index, Ordering::Relaxed);
                    }
                    return other;
                }
            }
        }
        self.found.store(UNKNOWN, Ordering::Relaxed);
        Err(Denied::NoRoute)
    }

    /// Buys a new token with a refresh token.
    ///
    /// # Errors
    /// See [`Denied`].
    pub(super) async fn refresh(&self, refresh: &str) -> Result<Tokens, Denied> {
        self.post(REFRESH, &json!({"refreshToken": refresh})).await
    }

    /// Asks whose a token is. One of three parts is a JWT and is asked for there first, any other is a session of Better Auth.
    ///
    /// # Errors
    /// [`Failure::Unauthorised`] when it is nobody's; see [`Failure`] for the others.
    pub(super) async fn whose(&self, token: &str) -> Result<Person, Failure> {
        let (first, second) = if token.split('.').count() == 3 { (ME, SESSION) } else { (SESSION, ME) };
        let ask = async |path: Route| {
            let call = Call { method: Method::GET, path, body: None, within: SIGN_IN, most: REPLY_BYTES };
            self.transport.send(&call, Some(token)).await.map_err(verdict::call_trouble)
        };
        let reply = ask(first).await?;
        // A host has one kind of sign-in or both.
        let reply = if matches!(reply.status, 404 | 405) { ask(second).await? } else { reply };
        verdict::person(&reply)
    }

    async fn post(&self, path: Route, body: &Value) -> Result<Tokens, Denied> {
        self.address.open(self.now())?;
        let closed = |_| Denied::Unavailable { why: "sign-ins have ended".to_owned() };
        let _permit = self.address.permits.acquire().await.map_err(closed)?;
        self.address.open(self.now())?;
        let body = Some(body.to_string().into_bytes());
        let call = Call { method: Method::POST, path, body, within: SIGN_IN, most: REPLY_BYTES };
        let reply = self.transport.send(&call, None).await.map_err(verdict::sign_in_trouble)?;
        let mut gate = self.address.gate.lock().unwrap_or_else(PoisonError::into_inner);
        gate.heard(reply.status, &reply.rate_limit, self.now());
        drop(gate);
        verdict::tokens(&reply)
    }
}
