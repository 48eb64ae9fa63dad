//! `/`: the inbox, where a person sees and answers what waits, across sources and without a chat app.
//!
//! Who is signed in is [`session`]'s business. Looking changes nothing: a link from the chat is spent, an answer given and a session
//! ended only by a POST from one of our own pages. Everything works without script; with it the page follows [`live`].

mod list;
mod live;
mod session;

use std::sync::Arc;

use asks::place::{Actor, Place};
use axum::Router;
use axum::extract::{DefaultBodyLimit, Form, Path, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{get, post};
use maud::html;
use serde::Deserialize;
use store::ledger::{Claimed, LedgerError};
use subtle::ConstantTimeEq as _;
use tokio::sync::{Mutex, Semaphore};

use self::session::{Link, Session};
use super::answer::{self, Opened};
use super::guard;
use crate::answer::policy;
use crate::hub::Hub;
use crate::pages::inbox::{self as page, BrowserLine, Inbox};
use crate::pages::{Shell, Tone, assets};
use crate::show::one_line;
use crate::words::{self, Language};

/// The cookie of a session.
const COOKIE: &str = "askgate_inbox";
/// The most pages that are brought up to date at a time.
const MOST_STREAMS: usize = 256;
/// Marks the page that the service worker keeps for when there is no network.
const KEEP: HeaderName = HeaderName::from_static("x-askgate-keep");

/// What the routes share.
#[derive(Clone)]
struct Shared {
    hub: Arc<Hub>,
    prefix: Arc<str>,
    /// Held by whoever spends a link, so that it is spent once.
    turn: Arc<Mutex<()>>,
    streams: Arc<Semaphore>,
}

/// The routes; of the second, a request may be as large as an answer.
pub(super) fn routes(hub: &Arc<Hub>, prefix: &str) -> (Router, Router) {
    let shared = Shared::new(hub, prefix);
    let small = Router::new()
        .route("/", get(look))
        .route("/inbox/{code}", get(knock).post(enter))
        .route("/i/answer", post(press))
        .route("/i/out", post(leave))
        .route("/events", get(events))
        .route("/manifest.webmanifest", get(manifest))
        .route("/sw.js", get(worker))
        .with_state(shared.clone());
    let large = Router::new()
        .route("/i/ask/{id}", get(open).post(send))
        .layer(DefaultBodyLimit::max(answer::largest_body()))
        .with_state(shared);
    (small, large)
}

/// The inbox at the end of a prefix, which as a folder ends in a slash: only so is it in its own service worker's reach.
pub(super) fn home(hub: &Arc<Hub>, prefix: &str) -> Router {
    Router::new().route(&format!("{prefix}/"), get(look)).with_state(Shared::new(hub, prefix))
}

/// The address of a link that signs the person of a direct place in, once and within ten minutes; `None` where there is no inbox
/// or nobody's asks are shown.
///
/// # Errors
/// If it was not saved.
pub async fn sign_in_address(hub: &Hub, place: &Place) -> Result<Option<String>, LedgerError> {
    if hub.public_url.is_none() {
        return Ok(None);
    }
    let code = session::new_code(hub, place).await?;
    Ok(code.and_then(|code| hub.page(&format!("inbox/{code}"))))
}

/// Why a request is not carried out.
enum Refusal {
    /// The service has no public address.
    Off,
    /// Nobody is signed in.
    SignedOut,
    /// Not sent from one of our own pages.
    Foreign,
    /// The ledger cannot be read or written.
    Ledger(LedgerError),
}

impl From<LedgerError> for Refusal {
    fn from(error: LedgerError) -> Self {
        Self::Ledger(error)
    }
}

impl Shared {
    fn new(hub: &Arc<Hub>, prefix: &str) -> Self {
        Self {
            hub: Arc::clone(hub),
            prefix: prefix.into(),
            turn: Arc::default(),
            streams: Arc::new(Semaphore::new(MOST_STREAMS)),
        }
    }

    async fn session(&self, headers: &HeaderMap) -> Result<Session, Refusal> {
        if self.hub.public_url.is_none() {
            return Err(Refusal::Off);
        }
        let secret = guard::cookie(headers, COOKIE).ok_or(Refusal::SignedOut)?;
        session::find(&self.hub, secret).await?.ok_or(Refusal::SignedOut)
    }

    /// The session of whoever posts, if the form is one of ours.
    async fn poster(&self, headers: &HeaderMap, proof: &str) -> Result<Session, Refusal> {
        let session = self.session(headers).await?;
        let proven = bool::from(session.proof.as_bytes().ct_eq(proof.as_bytes()));
        let own = guard::is_own(headers, self.hub.public_url.as_ref());
        if proven && own { Ok(session) } else { Err(Refusal::Foreign) }
    }

    fn shell(&self, language: Language, title: impl Into<String>) -> Shell {
        Shell::new(language, &self.prefix, title).with_script("inbox.js").installable()
    }

    fn refuse(&self, headers: &HeaderMap, refusal: &Refusal) -> Response {
        let language = answer::language(headers);
        let words = language.words();
        let shell = self.shell(language, words.inbox_title());
        let (status, shell) = match refusal {
            Refusal::Off => (StatusCode::NOT_FOUND, shell.saying(Tone::Bad, words.inbox_off())),
            Refusal::SignedOut => (StatusCode::UNAUTHORIZED, shell.saying(Tone::Plain, words.how_to_sign_in())),
            Refusal::Foreign => (StatusCode::FORBIDDEN, shell.saying(Tone::Bad, words.page_too_old())),
            Refusal::Ledger(error) => {
                tracing::error!("the inbox cannot be read or written: {error}");
                (StatusCode::SERVICE_UNAVAILABLE, shell.saying(Tone::Bad, words.not_saved()))
            }
        };
        let home = format!("{}/", self.prefix);
        let again = matches!(refusal, Refusal::Foreign | Refusal::Ledger(_));
        shell.respond(status, &html! { @if again { p { a href=(home) { (words.back_to_inbox()) } } } })
    }

    /// The inbox as it stands, with a sentence about what was just tried.
    async fn inbox(
        &self,
        session: &Session,
        status: StatusCode,
        saying: Option<(Tone, String)>,
        sure: Option<list::Sure<'_>>,
    ) -> Result<Response, LedgerError> {
        let hub = &self.hub;
        let language = language_of(hub, session);
        let list = list::load(hub, session, sure).await?;
        let now = hub.now();
        let browsers =
            session::sessions(hub, &session.place, &session.accounts).await?.into_iter().map(|other| BrowserLine {
                this: other.id == session.id,
                id: other.id,
                name: other.browser,
                minutes: list::minutes(now, other.made),
            });
        let browsers: Vec<_> = browsers.collect();
        let inbox = Inbox {
            prefix: &self.prefix,
            proof: &session.proof,
            waiting: &list.waiting,
            settled: &list.settled,
            browsers: &browsers,
        };
        let words = language.words();
        let mut shell = self.shell(language, words.inbox_title());
        if let Some((tone, text)) = saying {
            shell = shell.saying(tone, text);
        }
        let mut response = shell.respond(status, &inbox.draw(words));
        response.headers_mut().insert(KEEP, HeaderValue::from_static("yes"));
        Ok(response)
    }

    fn home(&self) -> Response {
        Redirect::to(&format!("{}/", self.prefix)).into_response()
    }

    /// The cookie that carries a secret, or takes it away.
    fn cookie(&self, secret: Option<&str>) -> Option<HeaderValue> {
        let path = if self.prefix.is_empty() { "/" } else { &self.prefix };
        let secure = self.hub.public_url.as_ref().is_some_and(|url| url.scheme() == "https");
        let age = secret.map_or(0, |_| session::SESSION_LIFE / 1_000);
        let secure = if secure { "; Secure" } else { "" };
        let secret = secret.unwrap_or_default();
        let text = format!("{COOKIE}={secret}; Path={path}; Max-Age={age}; HttpOnly; SameSite=Lax{secure}");
        HeaderValue::from_str(&text).ok()
    }
}

async fn look(State(shared): State<Shared>, headers: HeaderMap) -> Response {
    match shared.session(&headers).await {
        Ok(session) => match shared.inbox(&session, StatusCode::OK, None, None).await {
            Ok(response) => response,
            Err(error) => shared.refuse(&headers, &error.into()),
        },
        Err(Refusal::SignedOut) => {
            let mut response = shared.refuse(&headers, &Refusal::SignedOut);
            // The page itself is there; it only has nothing to show yet.
            *response.status_mut() = StatusCode::OK;
            response
        }
        Err(refusal) => shared.refuse(&headers, &refusal),
    }
}

/// A link from the chat, looked at.
async fn knock(State(shared): State<Shared>, Path(code): Path<String>, headers: HeaderMap) -> Response {
    if shared.hub.public_url.is_none() {
        return shared.refuse(&headers, &Refusal::Off);
    }
    match session::look(&shared.hub, &code).await {
        Ok(Link::Good(_, accounts)) => {
            let hub = &shared.hub;
            let language = accounts.first().map(|account| hub.links.language(account)).unwrap_or_default();
            let words = language.words();
            let names: Vec<String> = accounts.iter().map(|account| one_line(&hub.links.called(account))).collect();
            let subject = page::sign_in(&shared.prefix, &code, &names, words);
            Shell::new(language, &shared.prefix, words.sign_in_title()).respond(StatusCode::OK, &subject)
        }
        Ok(link) => no_entry(&shared, &headers, &link),
        Err(error) => shared.refuse(&headers, &error.into()),
    }
}

/// A link from the chat, used.
async fn enter(State(shared): State<Shared>, Path(code): Path<String>, headers: HeaderMap) -> Response {
    if shared.hub.public_url.is_none() {
        return shared.refuse(&headers, &Refusal::Off);
    }
    if !guard::is_own(&headers, shared.hub.public_url.as_ref()) {
        return shared.refuse(&headers, &Refusal::Foreign);
    }
    let agent = headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let _turn = shared.turn.lock().await;
    let entered = async {
        session::sweep(&shared.hub).await?;
        session::sign_in(&shared.hub, &code, session::browser(agent)).await
    };
    match entered.await {
        Ok(Ok(secret)) => {
            let mut response = shared.home();
            if let Some(cookie) = shared.cookie(Some(&secret)) {
                response.headers_mut().insert(header::SET_COOKIE, cookie);
            }
            response
        }
        Ok(Err(link)) => no_entry(&shared, &headers, &link),
        Err(error) => shared.refuse(&headers, &error.into()),
    }
}

fn no_entry(shared: &Shared, headers: &HeaderMap, link: &Link) -> Response {
    let language = answer::language(headers);
    let words = language.words();
    let (status, sentence) = match link {
        Link::Unknown => (StatusCode::NOT_FOUND, words.no_such_sign_in()),
        Link::Spent | Link::Good(..) => (StatusCode::GONE, words.sign_in_spent()),
    };
    Shell::new(language, &shared.prefix, words.sign_in_title()).saying(Tone::Bad, sentence).respond(status, &html! {})
}

/// What a form of the list posts.
#[derive(Deserialize)]
struct Pressed {
    #[serde(default)]
    proof: String,
    #[serde(default)]
    ask: String,
    #[serde(default)]
    button: String,
    #[serde(default)]
    sure: String,
}

async fn press(State(shared): State<Shared>, headers: HeaderMap, Form(pressed): Form<Pressed>) -> Response {
    let session = match shared.poster(&headers, &pressed.proof).await {
        Ok(session) => session,
        Err(refusal) => return shared.refuse(&headers, &refusal),
    };
    match pressed_by(&shared, &session, &pressed).await {
        Ok(response) => response,
        Err(error) => shared.refuse(&headers, &error.into()),
    }
}

async fn pressed_by(shared: &Shared, session: &Session, pressed: &Pressed) -> Result<Response, LedgerError> {
    let hub = &shared.hub;
    let words = language_of(hub, session).words();
    let bad = |text: String| Some((Tone::Bad, text));
    let Some(record) = list::find(hub, session, &pressed.ask).await? else {
        return shared.inbox(session, StatusCode::NOT_FOUND, bad(words.no_such_page()), None).await;
    };
    if !record.life.is_open() {
        let said = words::status(words, &record.life, false).unwrap_or_else(|| words.no_such_page());
        return shared.inbox(session, StatusCode::CONFLICT, Some((Tone::Plain, said)), None).await;
    }
    let Some(button) = list::offered(&record).into_iter().find(|button| button.id.as_str() == pressed.button) else {
        return shared.inbox(session, StatusCode::UNPROCESSABLE_ENTITY, bad(words.button_dead()), None).await;
    };
    let Ok(ruling) = policy::ruling_for_owner(&hub.links, &record.account, &session.place, button.style) else {
        return shared.inbox(session, StatusCode::FORBIDDEN, bad(words.not_linked()), None).await;
    };
    if ruling.once_more && pressed.sure.is_empty() {
        let sure = list::Sure { ask: &pressed.ask, button: &button.id };
        return shared.inbox(session, StatusCode::OK, None, Some(sure)).await;
    }
    let claim = asks::life::Claim {
        button: button.id.clone(),
        label: list::label(button, words),
        actor: Actor::Owner,
        actor_name: None,
        place: session.place.clone(),
        at: hub.now(),
        response: None,
    };
    match answer::claim_as_owner(hub, &record, claim, "in the inbox").await? {
        Claimed::Won(_) => Ok(shared.home()),
        Claimed::Lost(record) => {
            let said = words::status(words, &record.life, false).unwrap_or_else(|| words.button_dead());
            shared.inbox(session, StatusCode::CONFLICT, Some((Tone::Plain, said)), None).await
        }
        Claimed::Unknown => shared.inbox(session, StatusCode::NOT_FOUND, bad(words.no_such_page()), None).await,
    }
}

/// What the form that signs out posts.
#[derive(Deserialize)]
struct Leaving {
    #[serde(default)]
    proof: String,
    #[serde(default)]
    session: String,
}

async fn leave(State(shared): State<Shared>, headers: HeaderMap, Form(leaving): Form<Leaving>) -> Response {
    let session = match shared.poster(&headers, &leaving.proof).await {
        Ok(session) => session,
        Err(refusal) => return shared.refuse(&headers, &refusal),
    };
    let leaving = async {
        // Only the person's own sessions are among these.
        for other in session::sessions(&shared.hub, &session.place, &session.accounts).await? {
            if leaving.session == "all" || leaving.session == other.id {
                session::end(&shared.hub, &other.id).await?;
            }
        }
        session::by_id(&shared.hub, &session.id).await
    };
    match leaving.await {
        Ok(Some(_)) => shared.home(),
        Ok(None) => {
            let language = language_of(&shared.hub, &session);
            let words = language.words();
            let shell = shared.shell(language, words.inbox_title()).saying(Tone::Good, words.signed_out());
            let mut response = shell.respond(StatusCode::OK, &html! { p { (words.how_to_sign_in()) } });
            if let Some(cookie) = shared.cookie(None) {
                response.headers_mut().insert(header::SET_COOKIE, cookie);
            }
            response
        }
        Err(error) => shared.refuse(&headers, &error.into()),
    }
}

/// The answer page of one ask, for whoever is signed in.
async fn open(State(shared): State<Shared>, Path(id): Path<String>, headers: HeaderMap) -> Response {
    match opened(&shared, &headers, &id).await {
        Ok(Some(opened)) => answer::look_at(&shared.hub, &shared.prefix, &opened).await,
        Ok(None) => answer::unknown(&shared.prefix, &headers),
        Err(refusal) => shared.refuse(&headers, &refusal),
    }
}

async fn send(State(shared): State<Shared>, Path(id): Path<String>, request: Request) -> Response {
    let headers = request.headers().clone();
    match opened(&shared, &headers, &id).await {
        Ok(Some(opened)) => answer::send_to(&shared.hub, &shared.prefix, &opened, request).await,
        Ok(None) => answer::unknown(&shared.prefix, &headers),
        Err(refusal) => shared.refuse(&headers, &refusal),
    }
}

async fn opened(shared: &Shared, headers: &HeaderMap, id: &str) -> Result<Option<Opened>, Refusal> {
    let session = shared.session(headers).await?;
    let Some(record) = list::find(&shared.hub, &session, id).await? else { return Ok(None) };
    Ok(Some(Opened {
        record,
        place: session.place,
        address: format!("{}/i/ask/{id}", shared.prefix),
        proof: Some(session.proof),
        home: Some(format!("{}/", shared.prefix)),
    }))
}

async fn events(State(shared): State<Shared>, headers: HeaderMap) -> Response {
    let Ok(session) = shared.session(&headers).await else { return StatusCode::UNAUTHORIZED.into_response() };
    let Ok(permit) = Arc::clone(&shared.streams).try_acquire_owned() else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    live::stream(Arc::clone(&shared.hub), session, permit)
}

async fn manifest(State(shared): State<Shared>, headers: HeaderMap) -> Response {
    let words = answer::language(&headers).words();
    let home = format!("{}/", shared.prefix);
    let icon = format!("{}{}", shared.prefix, assets::address("icon.svg"));
    let manifest = serde_json::json!({
        "id": home, "name": format!("askgate · {}", words.inbox_title()), "short_name": "askgate",
        "start_url": home, "scope": home, "display": "standalone",
        "background_color": "#f6f5f2", "theme_color": "#2f5d50",
        "icons": [{"src": icon, "sizes": "any", "type": "image/svg+xml", "purpose": "any"}],
    });
    ([(header::CONTENT_TYPE, "application/manifest+json")], manifest.to_string()).into_response()
}

/// The service worker. It stands beside the inbox, because it may only serve what lies below it.
async fn worker(State(shared): State<Shared>) -> Response {
    let script = assets::SERVICE_WORKER
        .replace("/*prefix*/", &shared.prefix)
        .replace("/*push.js*/", &format!("{}{}", shared.prefix, assets::address("push.js")));
    let version = assets::address("style.css") + &assets::address("inbox.js");
    let script = script.replace("/*version*/", &version);
    ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], script).into_response()
}

fn language_of(hub: &Hub, session: &Session) -> Language {
    session.accounts.first().map(|account| hub.links.language(account)).unwrap_or_default()
}
