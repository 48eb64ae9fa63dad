//! `GET, POST /link/{code}`: linking an account in two steps; `POST /v1/links`: a host app invites a person.
//!
//! Looking changes nothing and does not spend the code, whoever looks: only the second POST does, from the page and browser
//! that signed in.

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use adapters::source::{Failure, Secret, Signed};
use asks::ids::SourceName;
use asks::place::ChannelKind;
use axum::extract::rejection::{FormRejection, JsonRejection};
use axum::extract::{ConnectInfo, Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Form, Json, Router};
use config::{Network, ServerConfig};
use maud::{Markup, html};
use rand::Rng as _;
use serde::Deserialize;
use serde_json::json;
use store::ledger::LedgerError;

use super::api::{self, problem};
use super::guard::{self, Limit};
use crate::accounts;
use crate::hub::Hub;
use crate::link::codes::{self, Found, Linkee};
use crate::link::commands::{self, is_on};
use crate::link::page::{self, About, App};
use crate::link::pending::SignedIn;
use crate::link::{invite as invites, random_code};
use crate::pages::{Shell, Tone};
use crate::show::one_line;
use crate::words::{Language, Words};

/// The cookie that binds a form to its browser.
const COOKIE: &str = "askgate_link";
/// How many requests one address may make at once.
const AT_ONCE: u32 = 60;
/// How long until it may make one more.
const ONE_MORE: Duration = Duration::from_secs(1);
/// The most addresses that are counted.
const MOST_ADDRESSES: usize = 10_000;
/// How long a sign-in may take, so that the page can still say that it took too long.
const PATIENCE: Duration = Duration::from_secs(8);
/// How long a sign-in may wait for its turn.
const SHORT_WAIT: Duration = Duration::from_secs(3);
/// The longest field that is read, in bytes.
const LONGEST: usize = 8_192;

/// The routes.
pub(super) fn routes(hub: &Arc<Hub>, config: &ServerConfig, prefix: &str) -> Router {
    let shared = Shared {
        hub: Arc::clone(hub),
        prefix: prefix.to_owned(),
        trusted: config.trusted_proxies.clone().into(),
        limit: Arc::new(Limit::new(AT_ONCE, ONE_MORE, MOST_ADDRESSES)),
    };
    Router::new().route("/link/{code}", get(look).post(send)).with_state(shared)
}

#[derive(Clone)]
struct Shared {
    hub: Arc<Hub>,
    prefix: String,
    trusted: Arc<[Network]>,
    limit: Arc<Limit<std::net::IpAddr>>,
}

type Fields = Result<Form<Vec<(String, String)>>, FormRejection>;

async fn look(
    State(shared): State<Shared>,
    Path(code): Path<String>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
) -> Response {
    match shared.open(&code, peer, &headers).await {
        Ok(linkee) => Visit::new(&shared, &code, &linkee, &headers).first(StatusCode::OK, None, &[]),
        Err(refused) => *refused,
    }
}

async fn send(
    State(shared): State<Shared>,
    Path(code): Path<String>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    fields: Fields,
) -> Response {
    let linkee = match shared.open(&code, peer, &headers).await {
        Ok(linkee) => linkee,
        Err(refused) => return *refused,
    };
    let visit = Visit::new(&shared, &code, &linkee, &headers);
    let Ok(Form(fields)) = fields else { return visit.refuse(StatusCode::BAD_REQUEST, visit.words.link_form_old()) };
    let cookie = guard::cookie(&headers, COOKIE);
    let own = guard::is_own(&headers, shared.hub.public_url.as_ref())
        && cookie.is_some_and(|cookie| guard::proof(cookie, &code) == field(&fields, "proof"));
    if !own {
        return visit.refuse(StatusCode::FORBIDDEN, visit.words.link_form_old());
    }
    match field(&fields, "step") {
        "confirm" => visit.confirm(cookie.unwrap_or_default()).await,
        _ => visit.sign_in(&fields).await,
    }
}

impl Shared {
    /// Lets a request through to its code, if it is one that can be used.
    async fn open(&self, code: &str, peer: SocketAddr, headers: &HeaderMap) -> Result<Linkee, Box<Response>> {
        let language = accepted(headers);
        let words = language.words();
        let address = guard::address(peer, headers, &self.trusted);
        if let Err(after) = self.limit.take(address, self.hub.clock.instant()) {
            let seconds = after.as_secs().max(1);
            let mut response = self.say(StatusCode::TOO_MANY_REQUESTS, language, words.page_too_often(seconds));
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            return Err(Box::new(response));
        }
        match codes::find(&self.hub, code).await {
            Ok(Found::Open(linkee)) => match is_on(&self.hub) {
                Ok(()) => Ok(linkee),
                Err(off) => {
                    let text = linkee.language().words().linking_off(off);
                    Err(Box::new(self.say(StatusCode::SERVICE_UNAVAILABLE, linkee.language(), text)))
                }
            },
            Ok(Found::Over(linkee)) => {
                let language = linkee.language();
                Err(Box::new(self.say(StatusCode::GONE, language, language.words().link_over())))
            }
            Ok(Found::Unknown) => Err(Box::new(self.say(StatusCode::NOT_FOUND, language, words.link_unknown()))),
            Err(error) => Err(Box::new(self.unreadable(language, &error))),
        }
    }

    fn say(&self, status: StatusCode, language: Language, text: String) -> Response {
        let shell = Shell::new(language, &self.prefix, language.words().link_title());
        shell.saying(Tone::Bad, text).respond(status, &html! {})
    }

    fn unreadable(&self, language: Language, error: &LedgerError) -> Response {
        tracing::warn!("a link cannot be looked up: {error}");
        self.say(StatusCode::SERVICE_UNAVAILABLE, language, language.words().link_not_now())
    }
}

/// One request about one code.
struct Visit<'a> {
    shared: &'a Shared,
    code: &'a str,
    linkee: &'a Linkee,
    words: &'static dyn Words,
    cookie: String,
    address: String,
}

impl<'a> Visit<'a> {
    fn new(shared: &'a Shared, code: &'a str, linkee: &'a Linkee, headers: &HeaderMap) -> Self {
        let known = guard::cookie(headers, COOKIE).filter(|cookie| cookie.len() == 32);
        Self {
            shared,
            code,
            linkee,
            words: linkee.language().words(),
            cookie: known.map_or_else(|| random_code(&shared.hub), str::to_owned),
            address: format!("{}/link/{code}", shared.prefix),
        }
    }

    fn apps(&self) -> Vec<App> {
        let sources = self.shared.hub.sources.iter().filter(|(_, source)| source.config.link);
        sources.map(|(name, source)| (name.as_str().to_owned(), one_line(&source.config.label))).collect()
    }

    fn first(&self, status: StatusCode, said: Option<String>, fields: &[(String, String)]) -> Response {
        let proof = guard::proof(&self.cookie, self.code);
        let about = About { linkee: self.linkee, address: &self.address, proof: &proof };
        let body =
            page::sign_in(about, self.words, &self.apps(), Some(field(fields, "source")), field(fields, "email"));
        self.respond(status, Tone::Bad, said, &body, &self.cookie)
    }

    fn refuse(&self, status: StatusCode, text: String) -> Response {
        let body = html! { p { a href=(self.address) { (self.words.link_back()) } } };
        self.respond(status, Tone::Bad, Some(text), &body, &self.cookie)
    }

    fn respond(&self, status: StatusCode, tone: Tone, said: Option<String>, body: &Markup, cookie: &str) -> Response {
        let mut shell = Shell::new(self.linkee.language(), &self.shared.prefix, self.words.link_title());
        if let Some(said) = said {
            shell = shell.saying(tone, said);
        }
        let mut response = shell.respond(status, body);
        let is_https = self.shared.hub.public_url.as_ref().is_some_and(|url| url.scheme() == "https");
        let secure = if is_https { "; Secure" } else { "" };
        let text = format!("{COOKIE}={cookie}; Path={}; HttpOnly; SameSite=Strict; Max-Age=900{secure}", self.address);
        if let Ok(value) = HeaderValue::from_str(&text) {
            response.headers_mut().insert(header::SET_COOKIE, value);
        }
        response
    }

    async fn sign_in(&self, fields: &[(String, String)]) -> Response {
        let hub = &self.shared.hub;
        let name = SourceName::new(field(fields, "source"));
        let Some(source) = hub.sources.get(&name).filter(|source| source.config.link) else {
            return self.first(StatusCode::UNPROCESSABLE_ENTITY, Some(self.words.link_incomplete()), fields);
        };
        let (email, token) = (field(fields, "email").trim(), Secret::new(field(fields, "token")));
        let password = Secret::new(field(fields, "password"));
        let by_token = !token.expose().trim().is_empty();
        if !by_token && (email.is_empty() || password.expose().is_empty()) {
            return self.first(StatusCode::UNPROCESSABLE_ENTITY, Some(self.words.link_incomplete()), fields);
        }
        let left = match codes::take_try(hub, self.code).await {
            Ok(Some(left)) => left,
            Ok(None) => return self.refuse(StatusCode::TOO_MANY_REQUESTS, self.words.link_no_tries()),
            Err(error) => return self.shared.unreadable(self.linkee.language(), &error),
        };
        let asking = async {
            loop {
                let asked = if by_token {
                    source.port.adopt(&token, None).await
                } else {
                    source.port.sign_in(email, &password).await
                };
                match asked {
                    // A short queue is waited for; a long one is told.
                    Err(Failure::RateLimited { after }) if after <= SHORT_WAIT => tokio::time::sleep(after).await,
                    other => return other,
                }
            }
        };
        let late = Err(Failure::Unavailable { why: "it took too long".to_owned() });
        let label = one_line(&source.config.label);
        match tokio::time::timeout(PATIENCE, asking).await.unwrap_or(late) {
            Ok(signed) => self.ask(name, signed, &label),
            Err(failure) => self.failed(&failure, left, &label, fields).await,
        }
    }

    fn ask(&self, source: SourceName, signed: Signed, app: &str) -> Response {
        let hub = &self.shared.hub;
        let who = commands::called(&signed);
        // A fresh cookie: what somebody may have put into the browser before is worth nothing from here on.
        let cookie = random_code(hub);
        if !hub.linking.pending.keep(self.code, &cookie, SignedIn { source, signed }, hub.clock.instant()) {
            return self.refuse(StatusCode::SERVICE_UNAVAILABLE, self.words.link_not_now());
        }
        let proof = guard::proof(&cookie, self.code);
        let about = About { linkee: self.linkee, address: &self.address, proof: &proof };
        self.respond(StatusCode::OK, Tone::Plain, None, &page::confirm(about, self.words, &who, app), &cookie)
    }

    async fn failed(&self, failure: &Failure, left: u32, app: &str, fields: &[(String, String)]) -> Response {
        let refused = matches!(
            failure,
            Failure::Unauthorised { .. } | Failure::OtherSubject | Failure::Forbidden | Failure::Gone
        );
        if refused {
            return self.first(StatusCode::UNPROCESSABLE_ENTITY, Some(self.words.link_refused(left)), fields);
        }
        if let Err(error) = codes::give_back(&self.shared.hub, self.code).await {
            tracing::warn!("a try was not given back: {error}");
        }
        if let Failure::RateLimited { after } = failure {
            let seconds = after.as_secs().max(1);
            let text = self.words.link_app_busy(app, seconds);
            let mut response = self.first(StatusCode::TOO_MANY_REQUESTS, Some(text), fields);
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            return response;
        }
        tracing::warn!("a sign-in to link an account failed: {failure}");
        self.first(StatusCode::BAD_GATEWAY, Some(self.words.link_app_down(app)), fields)
    }

    async fn confirm(&self, cookie: &str) -> Response {
        let hub = &self.shared.hub;
        let Some(what) = hub.linking.pending.take(self.code, cookie, hub.clock.instant()) else {
            return self.first(StatusCode::CONFLICT, Some(self.words.link_form_old()), &[]);
        };
        let linkee = match codes::spend(hub, self.code).await {
            Ok(Some(linkee)) => linkee,
            Ok(None) => return self.refuse(StatusCode::GONE, self.words.link_over()),
            Err(error) => return self.shared.unreadable(self.linkee.language(), &error),
        };
        let (language, app) = (linkee.language(), hub.sources.get(&what.source).map(|source| &source.config.label));
        let app = app.map(|label| one_line(label)).unwrap_or_default();
        let places = [linkee.place.clone()];
        match accounts::link(hub, &what.source, &what.signed, &places, language).await {
            Ok(account) => {
                let said = self.words.link_done(&commands::called(&what.signed), &app, &page::chat(&linkee));
                let telling = Arc::clone(hub);
                hub.spawn(async move {
                    commands::tell_linked(&telling, &linkee.place, &account, language).await;
                });
                self.respond(StatusCode::OK, Tone::Good, Some(said), &html! {}, &self.cookie)
            }
            Err(error) => {
                tracing::warn!("somebody was not linked: {error}");
                self.shared.say(StatusCode::SERVICE_UNAVAILABLE, language, self.words.link_not_now())
            }
        }
    }
}

/// A posted field; nothing for one that is missing or far too long.
fn field<'a>(fields: &'a [(String, String)], name: &str) -> &'a str {
    let found = fields.iter().find(|(known, value)| known == name && value.len() <= LONGEST);
    found.map_or("", |(_, value)| value)
}

/// The language of a browser that brings no code of ours.
fn accepted(headers: &HeaderMap) -> Language {
    let text = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    text.split([',', ';']).find_map(|code| Language::from_code(code.trim())).unwrap_or_default()
}

/// The body of `POST /v1/links`. Nothing prints it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewInvite {
    source: SourceName,
    token: String,
    #[serde(default)]
    refresh_token: Option<String>,
    channel: ChannelKind,
}

/// `POST /v1/links`: a deep link for the person a session belongs to, and the four digits that the app shows them.
pub(super) async fn invite(
    State(shared): State<api::Shared>,
    headers: HeaderMap,
    body: Result<Json<NewInvite>, JsonRejection>,
) -> Response {
    if let Err(refused) = shared.admit(&headers) {
        return *refused;
    }
    let Ok(Json(new)) = body else {
        let fix = "send {\"source\": NAME, \"token\": TOKEN, \"channel\": \"telegram\" or \"discord\"} as JSON, and \"refresh_token\" if there is one";
        return problem(StatusCode::BAD_REQUEST, fix);
    };
    let hub = &shared.hub;
    if !hub.accounts.can_link() {
        return super::accounts::refusal(&accounts::LinkError::NoKey);
    }
    let Some(source) = hub.sources.get(&new.source) else {
        return super::accounts::refusal(&accounts::LinkError::UnknownSource(new.source));
    };
    let payload = random_code(hub);
    let url = match deep_link(hub, new.channel, &payload).await {
        Ok(url) => url,
        Err(refused) => return *refused,
    };
    let (token, refresh) = (Secret::new(new.token), new.refresh_token.map(Secret::new));
    let signed = match source.port.adopt(&token, refresh.as_ref()).await {
        Ok(signed) => signed,
        Err(failure) => return super::accounts::refusal(&accounts::LinkError::Source(failure)),
    };
    let number: u16 = hub.random.lock().unwrap_or_else(PoisonError::into_inner).random_range(0..10_000);
    let digits = format!("{number:04}");
    let what = SignedIn { source: new.source, signed };
    if !hub.linking.invites.add(&payload, &digits, new.channel, what, hub.clock.instant()) {
        return problem(StatusCode::SERVICE_UNAVAILABLE, "too many invitations wait; try again in ten minutes");
    }
    let life = i64::try_from(invites::LIFE.as_millis()).unwrap_or_default();
    let body = json!({
        "url": url,
        "start": format!("/start {payload}"),
        "code": digits,
        "expires": hub.now().saturating_add(life),
    });
    (StatusCode::CREATED, Json(body)).into_response()
}

/// Where a person opens the bot with an invitation.
async fn deep_link(hub: &Hub, kind: ChannelKind, payload: &str) -> Result<String, Box<Response>> {
    let refuse = |status, text: &str| Err(Box::new(problem(status, text)));
    match (kind, hub.channels.get(&kind)) {
        (ChannelKind::Telegram, Some(channel)) => {
            let said = channel.examine().await;
            let name = said.as_deref().ok().and_then(|said| said.strip_prefix('@'));
            match name {
                Some(name) => Ok(format!("https://t.me/{name}?start={payload}")),
                None => refuse(StatusCode::BAD_GATEWAY, "Telegram does not say who the bot is; try again"),
            }
        }
        (ChannelKind::Discord, Some(_)) => match hub.linking.application {
            Some(id) => Ok(format!("https://discord.com/oauth2/authorize?client_id={id}")),
            None => refuse(StatusCode::CONFLICT, "set discord.application_id, so that people can install the app"),
        },
        _ => refuse(StatusCode::BAD_REQUEST, "channel is telegram or discord, and has to be configured"),
    }
}
