//! The REST side: log, faults, limits, authorisation, then the endpoint.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, to_bytes},
    extract::{ConnectInfo, Request as HttpRequest, State},
    http::{HeaderMap, Method, Response as HttpResponse, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value, json};

use super::{
    core::Core,
    fault::{Canned, Fault},
    id::Id,
    json,
    limits::Passage,
    refusal::{self, Refusal},
    route::{self, Astray, Route, Target},
    rules,
    state::{ChannelKind, Request},
    wire::Wire,
    world::World,
};

/// The largest body that is read, in bytes.
const BODY_MAX: usize = 1024 * 1024;

/// What an endpoint did.
struct Done {
    status: u16,
    body: Option<Value>,
}

/// Handles every request that is not for the gateway's socket.
pub(super) async fn serve(
    State(core): State<Arc<Core>>,
    ConnectInfo(wire): ConnectInfo<Wire>,
    request: HttpRequest,
) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, BODY_MAX).await.ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let found = route::find(&parts.method, parts.uri.path());
    let (number, target, fault) = core.change(|world| {
        let mut target = found.clone().unwrap_or_else(|_| Target::of(Route::Unknown));
        world.locate(&mut target);
        let entry = entry(&parts, &target, body.as_deref().unwrap_or_default(), core.now());
        (world.log(entry), target.clone(), world.faults.take(&target))
    });
    match &fault {
        Some(Fault::Answer(canned)) => return answer(&core, number, canned),
        Some(Fault::DropBefore) => return cut(&wire).await,
        Some(Fault::Hang) => return std::future::pending().await,
        Some(Fault::Delay(wait)) => tokio::time::sleep(*wait).await,
        Some(Fault::AnswerAfter(_) | Fault::DelayAnswer(_) | Fault::DropAfter) | None => {}
    }
    let canned = core.change(|world| {
        world.current = number;
        let canned = handle(world, found, &target, &parts, body.as_deref(), core.now());
        world.current = 0;
        canned
    });
    match fault {
        Some(Fault::DropAfter) => cut(&wire).await,
        Some(Fault::AnswerAfter(instead)) => answer(&core, number, &instead),
        Some(Fault::DelayAnswer(wait)) => {
            tokio::time::sleep(wait).await;
            answer(&core, number, &canned)
        }
        _ => answer(&core, number, &canned),
    }
}

/// Breaks the connection and never answers.
pub(super) async fn cut(wire: &Wire) -> Response {
    wire.cut();
    std::future::pending().await
}

/// Turns a written answer into the HTTP response.
pub(super) fn write(canned: &Canned) -> Response {
    let mut response = HttpResponse::builder().status(canned.status);
    for (name, value) in &canned.headers {
        response = response.header(name, value);
    }
    let built = response.body(Body::from(canned.body.clone()));
    built.unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

fn answer(core: &Core, number: u64, canned: &Canned) -> Response {
    core.change(|world| {
        let shared = canned.headers.iter().any(|(name, value)| name == "x-ratelimit-scope" && value == "shared");
        world.buckets.answered(&world.options.limits, canned.status, shared, core.now());
        world.state.counts.invalid_requests = world.buckets.invalid();
        world.log_answer(number, canned.status, &canned.body);
    });
    write(canned)
}

fn entry(parts: &Parts, target: &Target, body: &str, now: Duration) -> Request {
    let headers = parts.headers.iter().map(|(name, value)| {
        let hidden = name == header::AUTHORIZATION;
        let value = if hidden { "***".to_owned() } else { String::from_utf8_lossy(value.as_bytes()).into_owned() };
        (name.as_str().to_owned(), value)
    });
    Request {
        number: 0,
        at: now,
        route: target.route,
        template: target.route.template(),
        channel: target.channel,
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().map(str::to_owned),
        headers: headers.collect(),
        body: body.to_owned(),
        status: None,
        answer: None,
    }
}

/// Everything between the request and its answer, without waiting for anything.
fn handle(
    world: &mut World,
    found: Result<Target, Astray>,
    target: &Target,
    parts: &Parts,
    body: Option<&str>,
    now: Duration,
) -> Canned {
    if world.options.limits.enabled && world.buckets.banned(now) {
        return Canned::cloudflare();
    }
    check_agent(world, &parts.headers);
    if let Err(astray) = found {
        return refused(&astray.refusal(), Vec::new());
    }
    let open = target.route.carries_its_token() || target.route == Route::Gateway;
    if !open && !is_authorised(world, &parts.headers) {
        return refused(&refusal::UNAUTHORIZED, Vec::new());
    }
    let headers = match world.buckets.pass(&world.options.limits, target, now) {
        Passage::Free(headers) => headers,
        Passage::Stopped(canned) => return canned,
    };
    let outcome = read_body(parts, body).and_then(|body| act(world, target, parts, &body, now));
    match outcome {
        Err(refusal) => refused(&refusal, headers),
        Ok(Done { status, body: Some(body) }) => {
            let mut canned = Canned::json(status, &body);
            canned.headers.extend(headers);
            canned
        }
        Ok(Done { status, body: None }) => Canned { status, headers, body: String::new() },
    }
}

fn act(world: &mut World, target: &Target, parts: &Parts, body: &Value, now: Duration) -> Result<Done, Refusal> {
    let empty = Map::new();
    let fields = body.as_object().unwrap_or(&empty);
    match target.route {
        Route::Gateway => done(json!({ "url": world.gateway_url })),
        Route::GatewayBot => {
            let remaining = 1000_u64.saturating_sub(world.state.counts.identifies);
            done(json!({
                "url": world.gateway_url,
                "shards": 1,
                "session_start_limit": {
                    "total": 1000, "remaining": remaining, "reset_after": 86_400_000, "max_concurrency": 1,
                },
            }))
        }
        Route::Me => done(json::me(&world.state)),
        Route::Application => done(application(world)),
        Route::OpenDm => {
            let recipient = fields.get("recipient_id");
            if recipient.is_some_and(Value::is_number) {
                world.violation("`recipient_id` is a number: ids are strings");
            }
            let recipient = recipient.and_then(Id::from_json);
            let id = world.open_dm(recipient.ok_or(refusal::INVALID_RECIPIENTS)?)?;
            done(json::channel(&world.state, world.visible(Some(id))?))
        }
        Route::GetChannel => done(json::channel(&world.state, world.visible(target.channel)?)),
        Route::EditChannel => edit_channel(world, target, fields),
        Route::CreateMessage => done(world.create_message(target.channel, fields, now)?),
        Route::GetMessage => done(json::message(&world.state, world.seen(target.channel, target.message)?)),
        Route::EditMessage => done(world.edit_message(target.channel, target.message, fields, now)?),
        Route::DeleteMessage => {
            let message = world.seen(target.channel, target.message)?;
            let (id, own) = (message.id, message.author == world.state.bot);
            if !own {
                return Err(refusal::MISSING_PERMISSIONS);
            }
            world.remove(id);
            Ok(Done { status: 204, body: None })
        }
        Route::Typing => world.visible(target.channel).map(|_| Done { status: 204, body: None }),
        Route::Callback => {
            let (id, callback) = world.respond(target, fields, now)?;
            let wanted =
                parts.uri.query().is_some_and(|query| query.split('&').any(|part| part == "with_response=true"));
            match world.state.interactions.get(&id).filter(|_| wanted) {
                Some(interaction) => done(json::callback(&world.state, interaction, &callback)),
                None => Ok(Done { status: 204, body: None }),
            }
        }
        Route::FollowUp => done(world.follow_up(target, fields, now)?),
        Route::EditResponse => done(world.edit_response(target, fields, now)?),
        Route::GetResponse => done(json::message(&world.state, world.response_at(target, now)?)),
        Route::DeleteResponse => {
            let id = world.response_at(target, now)?.id;
            world.remove(id);
            Ok(Done { status: 204, body: None })
        }
        Route::PutCommands | Route::GetCommands if target.application != Some(world.state.bot) => {
            Err(refusal::UNKNOWN_APPLICATION)
        }
        Route::GetCommands => done(Value::Array(world.state.commands.clone())),
        Route::PutCommands => put_commands(world, body, now),
        Route::Socket | Route::Unknown => Err(refusal::NOT_FOUND),
    }
}

fn edit_channel(world: &mut World, target: &Target, fields: &Map<String, Value>) -> Result<Done, Refusal> {
    let channel = world.visible(target.channel)?;
    let (id, is_thread) = (channel.id, matches!(channel.kind, ChannelKind::Thread { .. }));
    if !is_thread {
        return Err(refusal::MISSING_PERMISSIONS);
    }
    for key in fields.keys().filter(|key| key.as_str() != "archived") {
        world.violation(format!("changing `{key}` of a channel is not simulated"));
    }
    if let Some(archived) = fields.get("archived").and_then(Value::as_bool) {
        world.set_archived(id, archived);
    }
    done(json::channel(&world.state, world.visible(Some(id))?))
}

fn put_commands(world: &mut World, body: &Value, now: Duration) -> Result<Done, Refusal> {
    let list = body.as_array().cloned().unwrap_or_default();
    world.judge(rules::commands(&list))?;
    let version = world.mint.next(now);
    let registered = list.iter().map(|command| {
        let mut registered = json::object(json!({
            "id": world.mint.next(now), "application_id": world.state.bot, "version": version, "type": 1,
            "default_member_permissions": null, "nsfw": false,
        }));
        registered.extend(json::object(command.clone()));
        Value::Object(registered)
    });
    let registered: Vec<Value> = registered.collect();
    world.state.commands.clone_from(&registered);
    done(Value::Array(registered))
}

fn application(world: &World) -> Value {
    json!({
        "id": world.state.bot,
        "name": "askgate",
        "icon": null,
        "description": "",
        "summary": "",
        "type": null,
        "bot": json::user(&world.state, world.state.bot),
        "bot_public": false,
        "bot_require_code_grant": false,
        "verify_key": super::endpoint::public_key(&world.options),
        "flags": 0,
        "hook": true,
        "integration_types_config": { "0": {}, "1": {} },
        "interactions_endpoint_url": world.endpoint,
        "owner": null,
        "team": null,
        "redirect_uris": [],
        "approximate_guild_count": 1,
    })
}

fn read_body(parts: &Parts, body: Option<&str>) -> Result<Value, Refusal> {
    let Some(body) = body else { return Err(refusal::TOO_LARGE) };
    if body.is_empty() || parts.method == Method::GET {
        return Ok(Value::Null);
    }
    let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !kind.starts_with("application/json") {
        let message = "Expected \"Content-Type\" header to be one of {'application/json', \
                       'application/x-www-form-urlencoded', 'multipart/form-data'}.";
        return Err(Refusal::Form(vec![refusal::Problem::new("", "CONTENT_TYPE_INVALID", message)]));
    }
    serde_json::from_str(body).map_err(|_| refusal::INVALID_JSON)
}

/// Discord blocks clients that do not say who they are: `DiscordBot (url, version)`.
fn check_agent(world: &mut World, headers: &HeaderMap) {
    let agent = headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let named = agent.strip_prefix("DiscordBot (").and_then(|rest| rest.split_once(')')).and_then(|(inside, _)| {
        let (url, version) = inside.split_once(", ")?;
        (url.starts_with("http") && !version.trim().is_empty()).then_some(())
    });
    if named.is_none() {
        world.violation(format!("the user agent is not `DiscordBot (url, version)`: `{agent}`"));
    }
}

fn is_authorised(world: &World, headers: &HeaderMap) -> bool {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    given.strip_prefix("Bot ") == Some(world.options.token.as_str())
}

fn refused(refusal: &Refusal, headers: Vec<(String, String)>) -> Canned {
    let mut canned = Canned::json(refusal.status(), &refusal.body());
    canned.headers.extend(headers);
    canned
}

#[expect(clippy::unnecessary_wraps, reason = "every endpoint ends in a `Result`, most of them here")]
fn done(body: Value) -> Result<Done, Refusal> {
    Ok(Done { status: 200, body: Some(body) })
}

impl Astray {
    fn refusal(self) -> Refusal {
        match self {
            Self::Nowhere => refusal::NOT_FOUND,
            Self::WrongMethod => refusal::METHOD_NOT_ALLOWED,
            Self::BadId { field, value } => Refusal::NotSnowflake { field, value },
        }
    }
}
