//! One account's token: renewed before it ends, by one caller at a time, and never for somebody else.
//!
//! Whoever finds the token due or refused asks for a renewal; the first through the turnstile does it, and everybody who
//! waited meanwhile shares the outcome, a failure too. A credential that stays refused is tried less and less often, because
//! all accounts at an address share twenty sign-ins, unless its file has changed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use asks::ids::Subject;
use tokio::time::timeout;

use super::credential::{Credential, Known, Secret};
use super::jwt;
use super::linked::{self, Renewals};
use super::pace::Gate;
use super::sign_in::Door;
use super::transport::Reply;
use super::verdict::{Denied, Tokens};
use crate::source::Failure;

/// How long before its end a token is renewed, at most. A short-lived one: a quarter of its life.
const MARGIN: Duration = Duration::from_mins(1);
/// How long a renewal may take, queueing included: a refresh and a sign-in, ten seconds each.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long reading a secret's file again may take.
const REREAD: Duration = Duration::from_secs(5);
/// How long a failed renewal is not repeated.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a renewal that failed early, beside a token that still works, is not repeated.
const EARLY_PAUSE: Duration = Duration::from_secs(15);
/// The first wait after a refused credential; it doubles.
const FIRST_WAIT: Duration = Duration::from_secs(5);
/// The longest wait after a refused credential.
const LONGEST_WAIT: Duration = Duration::from_mins(5);

/// One account at a source.
pub(super) struct Account {
    credential: Credential,
    turnstile: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    /// Where renewals go, for the account of somebody who linked themselves.
    renewed: Option<Box<Renewals>>,
}

/// A token and how long it is good for.
#[derive(Clone)]
pub(super) struct Session {
    /// Sent as the bearer.
    pub(super) token: Arc<str>,
    refresh: Option<Arc<str>>,
    /// From when on it is renewed. `None`: when it is refused.
    due: Option<Instant>,
    /// When it ends by its own claims.
    ends: Option<Instant>,
    /// The configured token that it descends from.
    origin: Option<Arc<str>>,
    /// The renewal that brought it: no two sessions of an account share it.
    serial: u32,
}

/// A token for a call, and whether a renewal was already spent on it.
pub(super) struct Bearer {
    /// The session to use.
    pub(super) session: Session,
    /// What was done for it.
    pub(super) renewal: Renewal,
}

/// What a call has already done to renew its token. One renewal per call is all there is.
pub(super) enum Renewal {
    /// Nothing.
    NotYet,
    /// The token is new.
    Done,
    /// It failed, and the old token should still work.
    Failed(Failure),
}

struct State {
    session: Option<Session>,
    /// Whose account it is, from the first token that told.
    subject: Option<Subject>,
    known: Known,
    gate: Gate,
    /// Counts finished renewals.
    renewals: u32,
    /// Why the last renewal failed or the last token was refused; `None` once it works.
    trouble: Option<Box<Failure>>,
    /// Until when `trouble` is the answer.
    pause: Option<Instant>,
    /// How often in a row the credential was refused.
    refusals: u8,
}

impl Account {
    pub(super) fn new(credential: Credential, now: Instant) -> Self {
        let known = credential.known();
        let mut state = State {
            session: None,
            subject: None,
            known,
            gate: Gate::default(),
            renewals: 0,
            trouble: None,
            pause: None,
            refusals: 0,
        };
        if matches!(credential, Credential::Token { .. }) {
            let (tokens, origin) = given(&state.known);
            let adopted = state.adopt(tokens, origin, now);
            debug_assert!(adopted.is_ok(), "there is no earlier subject to differ from");
        }
        Self { credential, turnstile: tokio::sync::Mutex::new(()), state: Mutex::new(state), renewed: None }
    }

    /// The account of somebody who linked themselves, with what was kept of it.
    pub(super) fn linked(session: &linked::Session, renewed: Option<Box<Renewals>>, now: Instant) -> Self {
        let refresh_token = session.refresh.as_ref().map(|refresh| Secret::new(refresh.as_str()));
        let credential = Credential::Token { token: Secret::new(session.token.as_str()), refresh_token };
        let account = Self { renewed, ..Self::new(credential, now) };
        // An opaque token does not say whose it is; the sign-in did.
        account.state().subject = Some(Subject::new(session.subject.as_str()));
        account
    }

    /// Whose account it is, if any token told.
    pub(super) fn subject(&self) -> Option<Subject> {
        self.state().subject.clone()
    }

    /// The account goes on with another credential, or not at all: this one's renewals are nobody's any more.
    pub(super) fn retire(&self) {
        if let Some(renewed) = &self.renewed {
            renewed.close();
        }
    }

    /// How long nothing may be sent for this account.
    pub(super) fn held(&self, now: Instant) -> Option<Duration> {
        self.state().gate.closed(now)
    }

    /// How long the next poll waits.
    pub(super) fn wait(&self, door: &Door, now: Instant) -> Option<Duration> {
        let state = self.state();
        let sign_in = if state.session.is_none() { door.address().closed(now) } else { None };
        state.gate.wait(now).max(sign_in)
    }

    /// A token to call with.
    ///
    /// # Errors
    /// When there is none: see [`Failure`].
    pub(super) async fn bearer(&self, door: &Door) -> Result<Bearer, Failure> {
        let now = door.now();
        let (session, parked) = {
            let state = self.state();
            (state.session.clone(), state.is_parked(now))
        };
        match session {
            Some(session) if !parked && !session.is_due(now) => Ok(Bearer { session, renewal: Renewal::NotYet }),
            // Boxed, because a renewal is rare and every call would carry the room for it.
            Some(session) => match Box::pin(self.renew(door, Some(&session), parked)).await {
                Ok(session) => Ok(Bearer { session, renewal: Renewal::Done }),
                Err(failure) if !parked && session.lives(now) && !matches!(failure, Failure::OtherSubject) => {
                    Ok(Bearer { session, renewal: Renewal::Failed(failure) })
                }
                Err(failure) => Err(failure),
            },
            None => {
                let session = Box::pin(self.renew(door, None, true)).await?;
                Ok(Bearer { session, renewal: Renewal::Done })
            }
        }
    }

    /// Replaces a session that is due, or that was `refused`.
    ///
    /// # Errors
    /// When there is no new one: see [`Failure`].
    pub(super) async fn renew(&self, door: &Door, former: Option<&Session>, refused: bool) -> Result<Session, Failure> {
        let seen = self.state().renewals;
        let too_long = |_| Failure::Unavailable { why: "its sign-in took too long".to_owned() };
        let _turn = timeout(PATIENCE, self.turnstile.lock()).await.map_err(too_long)?;
        let (session, known) = {
            let state = self.state();
            if let Some(session) =
                state.session.as_ref().filter(|now| former.is_none_or(|old| old.serial != now.serial))
            {
                return Ok(session.clone());
            }
            if let Some(trouble) = state.trouble.as_deref().filter(|_| state.renewals != seen) {
                return Err(trouble.clone());
            }
            (state.session.clone(), state.known.clone())
        };
        let known = self.reread(known).await;
        {
            let mut state = self.state();
            let changed = state.known != known;
            let paused = state.pause.is_some_and(|until| door.now() < until);
            if let Some(trouble) = state.trouble.as_deref().filter(|_| paused && !changed) {
                return Err(trouble.clone());
            }
            state.known = known.clone();
        }
        let attempt = timeout(PATIENCE, self.attempt(door, session.as_ref(), &known)).await;
        let now = door.now();
        let mut state = self.state();
        state.renewals = state.renewals.wrapping_add(1);
        let adopted = attempt
            .map_err(too_long)
            .and_then(|found| found)
            .and_then(|(tokens, origin)| state.adopt(tokens, origin, now));
        let adopted = adopted.inspect_err(|failure| state.note(failure, refused, self.signs_in(), now))?;
        let subject = state.subject.clone();
        drop(state);
        if let (Some(renewed), Some(subject)) = (&self.renewed, subject) {
            renewed.tell(&adopted.token, adopted.refresh.as_deref(), &subject);
        }
        Ok(adopted)
    }

    /// Takes in a reply to a call of this account.
    pub(super) fn heard(&self, reply: &Reply, now: Instant) {
        let mut state = self.state();
        state.gate.heard(reply.status, &reply.rate_limit, now);
        // Of these the host can only speak once it knows who is calling.
        if matches!(reply.status, 200..=299 | 400 | 404 | 409) {
            state.trouble = None;
            state.pause = None;
            state.refusals = 0;
        }
    }

    /// Notes that a new session was refused all the same, and says so.
    pub(super) fn refused(&self, session: &Session, why: String, now: Instant) -> Failure {
        let failure = Failure::Unauthorised { why };
        let mut state = self.state();
        if state.session.as_ref().is_none_or(|now| now.serial == session.serial) {
            state.park(&failure, self.signs_in(), now);
        }
        failure
    }

    async fn attempt(
        &self,
        door: &Door,
        session: Option<&Session>,
        known: &Known,
    ) -> Result<(Tokens, Option<Arc<str>>), Failure> {
        let origin = session.and_then(|session| session.origin.clone());
        if !self.signs_in() && origin.as_ref() != Some(&known.main) {
            return Ok(given(known));
        }
        let held = session.and_then(|session| session.refresh.as_ref());
        let given = known.refresh.as_ref().filter(|given| Some(*given) != held);
        let mut refusal = None;
        for refresh in held.into_iter().chain(given) {
            match door.refresh(refresh).await {
                Ok(tokens) => {
                    let refresh = tokens.refresh.or_else(|| Some(refresh.to_string()));
                    return Ok((Tokens { refresh, ..tokens }, origin));
                }
                Err(Denied::Refused { why }) => refusal = Some(why),
                Err(Denied::NoRoute) => {}
                Err(denied) => return Err(denied.into()),
            }
        }
        match &self.credential {
            Credential::Password { email, .. } => Ok((door.sign_in(email, &known.main).await?, None)),
            Credential::Token { .. } => Err(Failure::Unauthorised { why: dead_token(refusal) }),
        }
    }

    async fn reread(&self, known: Known) -> Known {
        if !self.credential.rereads() {
            return known;
        }
        let (credential, last) = (self.credential.clone(), known.clone());
        let reading = tokio::task::spawn_blocking(move || credential.reread(&last));
        timeout(REREAD, reading).await.ok().and_then(Result::ok).unwrap_or(known)
    }

    const fn signs_in(&self) -> bool {
        matches!(self.credential, Credential::Password { .. })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    fn is_due(&self, now: Instant) -> bool {
        self.due.is_some_and(|due| now >= due)
    }

    fn lives(&self, now: Instant) -> bool {
        self.ends.is_none_or(|ends| now < ends)
    }
}

impl State {
    /// Whether the credential is known not to work for now.
    fn is_parked(&self, now: Instant) -> bool {
        let refused = matches!(self.trouble.as_deref(), Some(Failure::Unauthorised { .. } | Failure::OtherSubject));
        refused && self.pause.is_some_and(|until| now < until)
    }

    fn adopt(&mut self, tokens: Tokens, origin: Option<Arc<str>>, now: Instant) -> Result<Session, Failure> {
        let claims = jwt::claims(&tokens.token);
        let subject = tokens.subject.or(claims.subject).map(Subject::new);
        if let (Some(before), Some(after)) = (&self.subject, &subject)
            && before != after
        {
            return Err(Failure::OtherSubject);
        }
        self.subject = subject.or(self.subject.take());
        // A token that nothing can replace is used until it is refused.
        let renewable = tokens.refresh.is_some() || origin.is_none();
        let lifetime = claims.lifetime.filter(|_| renewable);
        let session = Session {
            token: tokens.token.into(),
            refresh: tokens.refresh.map(Into::into),
            due: lifetime.map(|life| now + life.saturating_sub(MARGIN.min(life / 4))),
            ends: lifetime.map(|life| now + life),
            origin,
            serial: self.renewals,
        };
        self.session = Some(session.clone());
        self.trouble = None;
        self.pause = None;
        Ok(session)
    }

    /// Notes a renewal that failed.
    fn note(&mut self, failure: &Failure, refused: bool, signs_in: bool, now: Instant) {
        let living = self.session.as_mut().filter(|session| !refused && session.lives(now));
        match (failure, living) {
            (Failure::Unauthorised { .. }, Some(session)) => {
                session.refresh = None;
                session.due = session.ends;
            }
            (Failure::Unauthorised { .. } | Failure::OtherSubject, _) => self.park(failure, signs_in, now),
            (_, living) => {
                if let Some(session) = living {
                    session.due = Some(session.ends.map_or(now + EARLY_PAUSE, |ends| ends.min(now + EARLY_PAUSE)));
                }
                self.trouble = Some(Box::new(failure.clone()));
                self.pause = Some(now + PAUSE);
            }
        }
    }

    fn park(&mut self, failure: &Failure, signs_in: bool, now: Instant) {
        let doubled = 1u32.checked_shl(u32::from(self.refusals)).unwrap_or(u32::MAX);
        self.refusals = self.refusals.saturating_add(1);
        self.pause = Some(now + FIRST_WAIT.saturating_mul(doubled).min(LONGEST_WAIT));
        self.trouble = Some(Box::new(failure.clone()));
        if signs_in {
            // Neither its token nor its refresh token did any good: the next attempt signs in.
            self.session = None;
        }
    }
}

/// A configured token.
fn given(known: &Known) -> (Tokens, Option<Arc<str>>) {
    let refresh = known.refresh.as_ref().map(ToString::to_string);
    (Tokens { token: known.main.to_string(), refresh, subject: None }, Some(Arc::clone(&known.main)))
}

fn dead_token(refusal: Option<String>) -> String {
    let what = refusal.unwrap_or_else(|| "the token is refused and nothing can renew it".to_owned());
    format!("{what}; put in a new `token`, or `email` and `password`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock as _, SystemClock};

    #[test]
    fn ten_thousand_idle_accounts_stay_small() {
        let size = size_of::<Account>();
        assert!(size <= 512, "{size} bytes, before its tokens");
    }

    #[test]
    fn waits_double_up_to_five_minutes() {
        let now = SystemClock.instant();
        let credential = Credential::Token { token: Secret::new("t0"), refresh_token: None };
        let account = Account::new(credential, now);
        let mut waits = Vec::new();
        for _ in 0..300 {
            let mut state = account.state();
            state.park(&Failure::OtherSubject, false, now);
            waits.push(state.pause.map(|until| (until - now).as_secs()).unwrap());
            assert!(state.is_parked(now));
        }
        assert_eq!(waits[..8], [5, 10, 20, 40, 80, 160, 300, 300]);
        assert_eq!(waits.last(), Some(&300));
    }

    #[test]
    fn a_short_token_is_renewed_a_quarter_before_its_end() {
        let now = SystemClock.instant();
        let cases =
            [(r#"{"iat":0,"exp":900}"#, 840), (r#"{"iat":0,"exp":240}"#, 180), (r#"{"iat":100,"exp":140}"#, 30)];
        for (claims, seconds) in cases {
            let payload = base64::Engine::encode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, claims);
            let credential = Credential::Token {
                token: Secret::new(format!("e30.{payload}.c2ln")),
                refresh_token: Some(Secret::new("r0")),
            };
            let session = Account::new(credential, now).state().session.clone().unwrap();
            let due = Duration::from_secs(seconds);
            assert!(session.is_due(now + due) && !session.is_due(now + due.saturating_sub(Duration::from_millis(1))));
        }
    }
}
