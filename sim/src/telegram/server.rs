//! The wire: `/bot<token>/<Method>`, parameters from query, form or JSON, and connections that can be cut.

use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::connect_info::Connected;
use axum::extract::{ConnectInfo, Path, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use axum::routing::any;
use axum::serve::{IncomingStream, Listener};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::Telegram;
use super::methods::{Twist, webhooks};
use super::params::Call;
use super::refusal::Refusal;
use super::script::{Effect, Fate};
use super::tables;

/// Largest body taken.
const BODY_MAX: usize = 1 << 20;
/// Bounds of `limit` and longest `timeout` of `getUpdates`; other values are moved to the nearest.
const LIMIT: std::ops::RangeInclusive<i64> = 1..=100;
const TIMEOUT_MAX: i64 = 50;

impl Telegram {
    /// Serves the Bot API on a listener until `shutdown`, then cuts every connection. The state stays, to be served again.
    ///
    /// # Errors
    ///
    /// What the listener reports when it can no longer accept.
    pub async fn serve(&self, listener: TcpListener, shutdown: CancellationToken) -> io::Result<()> {
        let router = Router::new()
            .route("/{bot}/{method}", any(answer))
            .fallback(|| async { refusal(&Refusal::not_found()) })
            .with_state(self.clone());
        let lines = Lines { listener, shutdown: shutdown.clone() };
        let server = axum::serve(lines, router.into_make_service_with_connect_info::<Line>());
        tokio::select! {
            ended = server => ended,
            () = self.deliver() => Ok(()),
            () = shutdown.cancelled() => Ok(()),
        }
    }
}

async fn answer(
    State(telegram): State<Telegram>,
    ConnectInfo(line): ConnectInfo<Line>,
    Path((bot, method)): Path<(String, String)>,
    request: Request,
) -> Response {
    let (params, json) = match read(request).await {
        Ok(read) => read,
        Err(refused) => return refusal(&refused),
    };
    let shape = tables::method(&method);
    let name = shape.map_or(method.as_str(), |shape| shape.name);
    let known_bot = bot.strip_prefix("bot") == Some(telegram.token().as_str());
    let (number, call, effect) = telegram.change(|world, now| {
        let number = world.enter(name, params.clone(), json, now);
        match shape {
            _ if !known_bot => (number, Err(Refusal::unauthorised()), None),
            None => {
                world.violation(number, name, String::new(), "no such method".to_owned());
                (number, Err(Refusal::not_found()), None)
            }
            Some(shape) => {
                let effect = world.effect(name, &params);
                let call = Call { method: shape, params, json };
                world.inspect(number, &call);
                (number, Ok(call), effect)
            }
        }
    });
    let twist = Twist::from(effect.as_ref());
    let after = match effect {
        Some(Effect::Before(fate)) => return end(&telegram, number, &line, &fate).await,
        Some(Effect::Delay(by)) => {
            tokio::time::sleep(by).await;
            None
        }
        Some(Effect::After(fate)) => Some(fate),
        Some(Effect::Misplace | Effect::LoseKeyboard) | None => None,
    };
    let outcome = match call {
        Ok(call) => perform(&telegram, &call, twist).await,
        Err(refused) => Err(refused),
    };
    if let Some(fate) = after {
        return end(&telegram, number, &line, &fate).await;
    }
    match outcome {
        Ok(body) => {
            telegram.change(|world, _| world.leave(number, 200, None));
            reply(200, None, body)
        }
        Err(refused) => {
            telegram.change(|world, _| world.leave(number, refused.code, Some(refused.description.clone())));
            refusal(&refused)
        }
    }
}

/// Carries out a call; gives the body of the answer.
async fn perform(telegram: &Telegram, call: &Call, twist: Twist) -> Result<String, Refusal> {
    if call.method.name == "getUpdates" {
        let updates = get_updates(telegram, call).await?;
        return Ok(json!({"ok": true, "result": updates}).to_string());
    }
    let done = telegram.change(|world, now| world.run(call, twist, now))?;
    let mut body = json!({"ok": true, "result": done.result});
    if let (Some(description), Some(body)) = (done.description, body.as_object_mut()) {
        body.insert("description".to_owned(), json!(description));
    }
    Ok(body.to_string())
}

async fn get_updates(telegram: &Telegram, call: &Call) -> Result<Vec<Value>, Refusal> {
    let wait = call.integer("timeout").unwrap_or(0).clamp(0, TIMEOUT_MAX);
    let limit = call.integer("limit").unwrap_or(*LIMIT.end()).clamp(*LIMIT.start(), *LIMIT.end());
    let limit = usize::try_from(limit).unwrap_or(1);
    let (mine, webhooks, conflict_delay) = telegram.change(|world, now| {
        if world.webhook.is_some() {
            return Err(Refusal::conflict(
                "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
            ));
        }
        if let Some(kinds) = webhooks::allowed_updates(call)? {
            world.queue.allow(kinds);
        }
        world.queue.confirm(call.integer("offset").unwrap_or(0), now);
        world.poll += 1;
        Ok((world.poll, world.webhooks_set, world.settings.conflict_delay))
    })?;
    let mut activity = telegram.shared.activity.subscribe();
    let end = tokio::time::sleep(Duration::from_secs(u64::try_from(wait).unwrap_or(0)));
    tokio::pin!(end);
    loop {
        let now = telegram.shared.clock.now();
        let (updates, poll, set) = {
            let mut world = telegram.lock();
            let current = world.poll == mine && world.webhooks_set == webhooks;
            let updates = if current { world.queue.batch(limit, now) } else { Vec::new() };
            (updates, world.poll, world.webhooks_set)
        };
        if set != webhooks {
            return Err(Refusal::conflict("terminated by setWebhook request"));
        }
        if poll != mine {
            tokio::time::sleep(conflict_delay).await;
            return Err(Refusal::conflict(
                "terminated by other getUpdates request; make sure that only one bot instance is running",
            ));
        }
        if !updates.is_empty() || wait == 0 {
            return Ok(updates);
        }
        tokio::select! {
            () = &mut end => return Ok(Vec::new()),
            _ = activity.changed() => {}
        }
    }
}

/// Query, then form or JSON; later ones win. The second value says whether the parameters came with types.
async fn read(request: Request) -> Result<(Map<String, Value>, bool), Refusal> {
    if !matches!(*request.method(), Method::GET | Method::POST) {
        return Err(Refusal { code: 405, description: "Method Not Allowed".to_owned(), ..Refusal::not_found() });
    }
    let mut params = Map::new();
    let mut take = |text: &[u8]| {
        let pairs = url::form_urlencoded::parse(text);
        params.extend(pairs.map(|(name, value)| (name.into_owned(), Value::String(value.into_owned()))));
    };
    take(request.uri().query().unwrap_or_default().as_bytes());
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let body = to_bytes(request.into_body(), BODY_MAX).await.map_err(|_| Refusal {
        code: 413,
        description: "Request Entity Too Large".to_owned(),
        ..Refusal::not_found()
    })?;
    if body.is_empty() {
        return Ok((params, false));
    }
    match kind.as_str() {
        "application/json" => match serde_json::from_slice(&body) {
            Ok(Value::Object(object)) => {
                let typed = params.is_empty();
                params.extend(object);
                Ok((params, typed))
            }
            Ok(_) => Err(Refusal::bad("expected a JSON object in the request body")),
            Err(_) => Err(Refusal::bad("can't parse JSON in the request body")),
        },
        "application/x-www-form-urlencoded" => {
            take(&body);
            Ok((params, false))
        }
        _ => Err(Refusal::bad("the body must be JSON or a form; uploads are not simulated")),
    }
}

/// Ends a call as it was ordered.
async fn end(telegram: &Telegram, number: u64, line: &Line, fate: &Fate) -> Response {
    match fate.reply() {
        Some((status, retry_after, body)) => {
            telegram.change(|world, _| world.leave(number, status, Some(body.clone())));
            reply(status, retry_after, body)
        }
        None if *fate == Fate::Cut => {
            line.cut();
            reply(200, None, String::new())
        }
        None => pending().await,
    }
}

fn refusal(refused: &Refusal) -> Response {
    reply(refused.code, refused.retry_after, refused.body().to_string())
}

fn reply(status: u16, retry_after: Option<u64>, body: String) -> Response {
    let kind = if body.starts_with('{') { "application/json" } else { "text/html" };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// The listener whose connections know how to be cut.
struct Lines {
    listener: TcpListener,
    shutdown: CancellationToken,
}

impl Listener for Lines {
    type Io = Wire;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Wire, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    // Answers are small; waiting to fill a packet would only slow them.
                    let _ = stream.set_nodelay(true);
                    return (Wire::new(stream, self.shutdown.child_token()), address);
                }
                // Out of file descriptors, or a peer that left already.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// One connection's switch.
#[derive(Debug, Clone)]
struct Line(CancellationToken);

impl Line {
    fn cut(&self) {
        self.0.cancel();
    }
}

impl Connected<IncomingStream<'_, Lines>> for Line {
    fn connect_info(stream: IncomingStream<'_, Lines>) -> Self {
        Self(stream.io().line.clone())
    }
}

/// A connection that fails from the moment its switch is thrown. The server then drops it, and the peer sees it closed.
struct Wire {
    stream: TcpStream,
    line: CancellationToken,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Wire {
    fn new(stream: TcpStream, line: CancellationToken) -> Self {
        let cut = Box::pin(line.clone().cancelled_owned());
        Self { stream, line, cut }
    }

    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if self.line.is_cancelled() || self.cut.as_mut().poll(context).is_ready() {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        Ok(())
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
