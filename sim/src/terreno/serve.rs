//! The HTTP side: from a request to a route, through faults and limits, to the bytes of the reply.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body as WireBody, Bytes, to_bytes};
use axum::extract::{ConnectInfo, Request, State as Shared};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::Terreno;
use super::auth::Caller;
use super::body;
use super::faults::{Act, Fault, Route};
use super::gate::{Gate, Gated, Peer};
use super::histories::Reader;
use super::ids::millis;
use super::records::{RequestRecord, Via};
use super::reply::{Body, Reply};
use super::state::State;
use super::turn::{Begun, Sender};

/// The largest body a host reads, in bytes.
const BODY_MAX: usize = 50 * 1024 * 1024;

/// Headers that carry credentials and stay out of the log.
const SECRET_HEADERS: [HeaderName; 2] = [header::AUTHORIZATION, header::COOKIE];

/// Serves the host until `stop`.
pub(super) async fn serve(host: Terreno, listener: TcpListener, gate: Arc<Gate>, stop: CancellationToken) {
    let router = Router::new().fallback(entry).with_state(host);
    let service = router.into_make_service_with_connect_info::<Peer>();
    tokio::select! {
        served = axum::serve(Gated { listener, gate }, service) => {
            if let Err(error) = served {
                tracing::error!(%error, "the simulated Terreno host stopped serving");
            }
        }
        () = stop.cancelled() => {}
    }
}

/// One request, taken apart.
struct Call {
    method: Method,
    path: String,
    query: String,
    route: Route,
    bearer: Option<String>,
    decode: bool,
    has_key: bool,
    request_id: Option<String>,
    headers: HeaderMap,
    /// `None` when the body is not JSON although it says so.
    body: Option<Value>,
}

/// What a request comes to while the lock is held.
enum Handled {
    Done(Reply),
    Turn(Box<Begun>),
}

async fn entry(Shared(host): Shared<Terreno>, ConnectInfo(peer): ConnectInfo<Peer>, request: Request) -> Response {
    let (parts, payload) = request.into_parts();
    let payload = to_bytes(payload, BODY_MAX).await.ok();
    let call = Call::new(parts.method, parts.uri.path(), parts.uri.query(), parts.headers, payload.as_ref());
    let (number, request_id, fault) = host.arrive(&call);
    if let Some(response) = before(fault.as_ref(), &peer).await {
        host.depart(number, response.status().as_u16());
        return dressed(response, &request_id, &[]);
    }
    let (reply, extra) = host.handle(&call, &peer).await;
    let mut response = render(reply, &request_id);
    if let Some(fault) = fault.filter(|fault| fault.after) {
        match after(fault.act, response, &peer).await {
            Ok(changed) => response = changed,
            Err(cut) => return cut,
        }
    }
    host.depart(number, response.status().as_u16());
    dressed(response, &request_id, &extra)
}

impl Terreno {
    fn arrive(&self, call: &Call) -> (u64, String, Option<Fault>) {
        let now = self.now();
        let arrived = self.silently(|state| {
            let user_id = call.bearer.as_deref().and_then(|bearer| state.named_by(bearer));
            let fault = state.strike(call.route, user_id.as_deref());
            let keep = state.options.keep_requests;
            let number = state.log.arrive(call.record(millis(now), user_id), keep);
            let request_id = call.request_id.clone().unwrap_or_else(|| state.mint.request());
            (number, request_id, fault)
        });
        self.tick();
        arrived
    }

    fn depart(&self, number: u64, status: u16) {
        self.silently(|state| state.log.depart(number, status));
        self.tick();
    }

    async fn handle(&self, call: &Call, peer: &Peer) -> (Reply, Vec<(&'static str, String)>) {
        let now = self.now();
        let address = peer.address.ip().to_string();
        let work = |state: &mut State| state.dispatch(call, &address, now);
        let (handled, extra) = if call.changes() { self.change(work) } else { self.silently(work) };
        match handled {
            Handled::Done(reply) => (reply, extra),
            Handled::Turn(begun) => (self.run(*begun).await, extra),
        }
    }
}

impl Call {
    fn new(method: Method, path: &str, query: Option<&str>, headers: HeaderMap, payload: Option<&Bytes>) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let mut words = text("authorization").unwrap_or_default().split_whitespace();
        let (scheme, mut bearer) = (words.next(), words.next().map(str::to_owned));
        if bearer.is_none() {
            let cookies = text("cookie").unwrap_or_default().split(';').filter_map(|pair| pair.trim().split_once('='));
            let mut named = cookies.filter(|(name, _)| matches!(*name, "jwt" | "better-auth.session_token"));
            bearer = named.next().map(|(_, value)| value.to_owned());
        }
        let is_json = text("content-type").is_some_and(|kind| kind.starts_with("application/json"));
        let body = match payload {
            None => None,
            Some(bytes) if bytes.is_empty() || !is_json => Some(json!({})),
            Some(bytes) => {
                serde_json::from_slice(bytes).ok().filter(|body: &Value| body.is_object() || body.is_array())
            }
        };
        Self {
            route: Route::of(method.as_str(), path),
            path: path.to_owned(),
            query: query.unwrap_or_default().to_owned(),
            decode: scheme != Some("Secret"),
            has_key: headers.contains_key("x-ai-api-key"),
            request_id: text("x-request-id").or_else(|| text("x-correlation-id")).map(str::to_owned),
            bearer,
            method,
            headers,
            body,
        }
    }

    fn record(&self, at_ms: u64, user_id: Option<String>) -> RequestRecord {
        let open = self.headers.iter().filter(|(name, _)| !SECRET_HEADERS.contains(name));
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let secret = self.route.is_auth_limited();
        RequestRecord {
            at_ms,
            method: self.method.as_str().to_owned(),
            path: self.path.clone(),
            query: self.query.clone(),
            route: self.route,
            status: None,
            user_id,
            headers: open.map(|(name, value)| (name.as_str().to_owned(), text(value))).collect(),
            body: if secret { Value::Null } else { self.body.clone().unwrap_or_default() },
        }
    }

    /// Whether the request may change what a page shows.
    const fn changes(&self) -> bool {
        matches!(
            self.route,
            Route::Turn | Route::CreateHistory | Route::PatchHistory | Route::DeleteHistory | Route::SignOut
        )
    }

    /// The conversation's id in the path.
    fn history(&self) -> &str {
        self.path.split('/').filter(|segment| !segment.is_empty()).nth(2).unwrap_or_default()
    }
}

impl State {
    /// Takes the fault that strikes a request, if there is one.
    fn strike(&mut self, route: Route, user_id: Option<&str>) -> Option<Fault> {
        let of_user = |fault: &Fault| match &fault.email {
            None => true,
            Some(email) => user_id.is_some() && self.emails.get(email).map(String::as_str) == user_id,
        };
        let strikes = |fault: &Fault| fault.route.is_none_or(|wanted| wanted == route) && of_user(fault);
        let at = self.faults.iter().position(strikes)?;
        let fault = self.faults.get_mut(at)?;
        if fault.times == usize::MAX {
            return Some(fault.clone());
        }
        fault.times = fault.times.saturating_sub(1);
        let struck = fault.clone();
        if struck.times == 0 {
            self.faults.remove(at);
        }
        Some(struck)
    }

    fn dispatch(&mut self, call: &Call, address: &str, now: Duration) -> (Handled, Vec<(&'static str, String)>) {
        let mut extra = Vec::new();
        if call.method == Method::OPTIONS {
            let methods = "GET,HEAD,PUT,PATCH,POST,DELETE".to_owned();
            extra.push(("Access-Control-Allow-Methods", methods));
            return (Handled::Done(Reply::empty(204)), extra);
        }
        let Some(body) = &call.body else { return (Handled::Done(Reply::internal()), extra) };
        let bearer = call.bearer.as_deref();
        let caller = self.caller(bearer, call.decode, now);
        let (key, limit) = match &caller {
            _ if call.route.is_auth_limited() => (format!("auth {address}"), self.options.auth_limit),
            Caller::User { id, .. } => (format!("user {id}"), self.options.api_limit),
            _ => (format!("address {address}"), self.options.api_limit),
        };
        if let Some(standing) = limit.map(|limit| self.buckets.count(&key, limit, now)) {
            extra.extend(standing.headers());
            if let Some(refusal) = standing.refusal() {
                return (Handled::Done(refusal), extra);
            }
        }
        let auth = self.options.auth;
        let reply = match call.route {
            Route::Login if auth.has_terreno() => self.login(body, now),
            Route::Refresh if auth.has_terreno() => self.refresh(body, now),
            Route::SignIn if auth.has_better_auth() => self.sign_in(body, now),
            Route::GetSession if auth.has_better_auth() => self.get_session(bearer, now),
            Route::SignOut if auth.has_better_auth() => self.sign_out(bearer, now),
            _ => {
                if let (Caller::BadJwt { .. }, Some(refusal)) = (&caller, caller.refusal(now)) {
                    return (Handled::Done(refusal), extra);
                }
                if self.is_absent(call.route) {
                    return (Handled::Done(Reply::no_route(call.method.as_str(), &call.path)), extra);
                }
                let Caller::User { id, session, admin } = &caller else {
                    return (Handled::Done(caller.refusal(now).unwrap_or_else(Reply::unauthorized)), extra);
                };
                extra.push(("X-Session-ID", session.clone()));
                return (self.authenticated(call, body, Reader { id, admin: *admin }, now), extra);
            }
        };
        (Handled::Done(reply), extra)
    }

    fn is_absent(&self, route: Route) -> bool {
        match route {
            Route::Me => !self.options.auth.has_terreno(),
            Route::Other | Route::Login | Route::Refresh | Route::SignIn | Route::GetSession | Route::SignOut => true,
            _ => false,
        }
    }

    fn authenticated(&mut self, call: &Call, body: &Value, reader: Reader<'_>, now: Duration) -> Handled {
        let id = call.history();
        Handled::Done(match call.route {
            Route::Me => self.me(reader.id),
            Route::PendingAsks if self.options.asks => self.pending_asks(reader.id),
            Route::PendingAsks => Reply::not_found("pendingAsks"),
            Route::CreateHistory => self.create(reader.id, body, now),
            Route::ListHistories => self.list(reader.id, &call.query),
            Route::ReadHistory => self.read(id, reader),
            Route::PatchHistory => self.patch(id, reader, body, now),
            Route::DeleteHistory => self.delete(id, reader, now),
            Route::Turn if !self.options.asks => {
                Reply::coded(400, "Malformed array operation body", "malformed-array-operation-body")
            }
            Route::Turn => {
                let sender = Sender { user_id: reader.id.to_owned(), via: Via::Http, has_key: call.has_key };
                let begun = self.turnable(id, reader).and_then(|index| {
                    let call = body::read(body).map_err(|fields| Reply::body_invalid(&fields))?;
                    self.begin(&sender, index, call, now)
                });
                match begun {
                    Ok(begun) => return Handled::Turn(Box::new(begun)),
                    Err(refusal) => refusal,
                }
            }
            _ => Reply::no_route(call.method.as_str(), &call.path),
        })
    }
}

/// What a fault does instead of the request; `None` when the request goes on.
async fn before(fault: Option<&Fault>, peer: &Peer) -> Option<Response> {
    let fault = fault.filter(|fault| !fault.after)?;
    match &fault.act {
        Act::Reply { status, content_type, headers, body } => {
            Some(replaced(*status, content_type, headers, body.clone()))
        }
        Act::Delay(by) => {
            tokio::time::sleep(*by).await;
            None
        }
        Act::Hang => std::future::pending().await,
        Act::Drop | Act::Truncate | Act::Cut => {
            peer.cut.cancel();
            Some(Response::new(WireBody::empty()))
        }
    }
}

/// What a fault makes of a reply whose request had its effect; `Err` when the connection is gone.
async fn after(act: Act, response: Response, peer: &Peer) -> Result<Response, Response> {
    match act {
        Act::Reply { status, content_type, headers, body } => Ok(replaced(status, content_type, &headers, body)),
        Act::Delay(by) => {
            tokio::time::sleep(by).await;
            Ok(response)
        }
        Act::Hang => std::future::pending().await,
        Act::Drop => {
            peer.cut.cancel();
            Err(Response::new(WireBody::empty()))
        }
        Act::Truncate => {
            let (parts, body) = response.into_parts();
            let whole = to_bytes(body, usize::MAX).await.unwrap_or_default();
            Ok(Response::from_parts(parts, WireBody::from(whole.slice(..whole.len() / 2))))
        }
        Act::Cut => {
            let (mut parts, body) = response.into_parts();
            let whole = to_bytes(body, usize::MAX).await.unwrap_or_default();
            parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(whole.len()));
            let half = whole.slice(..whole.len() / 2);
            let cut = peer.cut.clone();
            let rest = futures::stream::once(async move {
                // The half has to be on the wire before the connection goes.
                tokio::time::sleep(Duration::from_millis(20)).await;
                cut.cancel();
                Err(io::Error::from(io::ErrorKind::ConnectionReset))
            });
            let stream = futures::stream::once(std::future::ready(Ok(half))).chain(rest);
            Ok(Response::from_parts(parts, WireBody::from_stream(stream)))
        }
    }
}

fn replaced(status: u16, content_type: &'static str, headers: &[(String, String)], body: String) -> Response {
    let mut response = Response::new(WireBody::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

fn render(reply: Reply, request_id: &str) -> Response {
    let mut content_type = "application/json; charset=utf-8";
    let text = match reply.body {
        Body::Empty => None,
        Body::Html(page) => {
            content_type = "text/html; charset=utf-8";
            Some(page)
        }
        Body::Json(mut body) => {
            if let (true, Some(object)) = (reply.request_id, body.as_object_mut()) {
                object.insert("requestId".to_owned(), json!(request_id));
            }
            Some(body.to_string())
        }
        Body::Open(mut text) => {
            text.push_str(",\"requestId\":");
            text.push_str(&json!(request_id).to_string());
            text.push('}');
            Some(text)
        }
    };
    let has_body = text.is_some();
    let mut response = Response::new(text.map_or_else(WireBody::empty, WireBody::from));
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if has_body {
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    put(&mut response, &reply.headers);
    response
}

/// Adds what every response carries.
fn dressed(mut response: Response, request_id: &str, extra: &[(&'static str, String)]) -> Response {
    let headers = response.headers_mut();
    headers.insert("access-control-allow-origin", HeaderValue::from_static("*"));
    headers.insert("access-control-allow-credentials", HeaderValue::from_static("true"));
    if let Ok(value) = HeaderValue::from_str(request_id) {
        headers.insert("x-request-id", value);
    }
    put(&mut response, extra);
    response
}

fn put(response: &mut Response, headers: &[(&'static str, String)]) {
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) {
            response.headers_mut().append(name, value);
        }
    }
}
