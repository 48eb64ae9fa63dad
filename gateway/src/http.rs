//! The service's own HTTP: health for machines, `/v1` for the operator and the host app.

mod accounts;
mod answer;
mod api;
pub mod guard;
mod health;
mod hooks;
pub mod inbox;
mod link;
mod notify;
mod openapi;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{delete, get, post};
use config::ServerConfig;
use futures::StreamExt as _;
use tokio::net::TcpListener;
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::timeout::TimeoutLayer;

use crate::hub::Hub;

/// The largest body that is read, in bytes. Nothing here needs more.
const MAX_BODY: usize = 64 * 1024;
/// How much of a body that is too large is still read, in bytes: a client that is cut off while it sends never hears why.
const MAX_DRAINED: usize = 4 * 1024 * 1024;
/// How long that may take.
const DRAIN_DEADLINE: Duration = Duration::from_secs(2);
/// The longest a request may take.
const DEADLINE: Duration = Duration::from_secs(10);

/// What a socket serves; health is everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Everybody.
    All,
    /// People and platforms: no `/v1`, no `/metrics`.
    People,
    /// The operator: only `/v1` and `/metrics`.
    Operator,
}

/// Serves until the service is stopped for good.
pub async fn serve(hub: Arc<Hub>, listener: TcpListener, config: ServerConfig, audience: Audience) {
    let hard = hub.stop.hard.clone();
    let prefix = config.public_url.as_ref().map(|url| url.path().trim_end_matches('/').to_owned()).unwrap_or_default();
    let router = router(&hub, &config, &prefix, audience).into_make_service_with_connect_info::<SocketAddr>();
    let served = axum::serve(listener, router).with_graceful_shutdown(async move { hard.cancelled().await });
    if let Err(error) = served.await {
        tracing::error!("the HTTP server ended: {error}");
    }
}

/// All routes, also below the path of `public_url`, because a proxy may or may not strip it.
fn router(hub: &Arc<Hub>, config: &ServerConfig, prefix: &str, audience: Audience) -> Router {
    let shared = api::Shared { hub: Arc::clone(hub), admin: config.admin_token.clone() };
    let health = Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .with_state(shared.clone());
    let operators = Router::new()
        .route("/metrics", get(health::metrics))
        .route("/v1/asks", get(api::asks))
        .route("/v1/accounts", get(accounts::list).post(accounts::add))
        .route("/v1/accounts/{id}", delete(accounts::remove))
        .route("/v1/links", post(link::invite))
        .route("/v1/nudge", post(api::nudge))
        .route("/v1/openapi.json", get(openapi::document))
        .with_state(shared);
    let mut routes = limited(health, MAX_BODY);
    if audience != Audience::People {
        routes = routes.merge(limited(operators, MAX_BODY));
    }
    if audience != Audience::Operator {
        let peoples = limited(notify::routes(hub), MAX_BODY);
        routes = routes.merge(peoples).merge(pages(hub, config, prefix)).merge(hooks::routes(hub));
    }
    let mut all = if prefix.is_empty() { routes } else { routes.clone().nest(prefix, routes) };
    if !prefix.is_empty() && audience != Audience::Operator {
        all = all.merge(inbox::home(hub, prefix));
    }
    all.fallback(async || StatusCode::NOT_FOUND)
        .layer(TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, DEADLINE))
        .layer(axum::middleware::map_response(async |mut response: Response| {
            let headers = response.headers_mut();
            // What never changes under its address says so itself.
            headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
            headers.insert(HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff"));
            headers.insert(HeaderName::from_static("referrer-policy"), HeaderValue::from_static("no-referrer"));
            response
        }))
}

/// What people open in a browser.
fn pages(hub: &Arc<Hub>, config: &ServerConfig, prefix: &str) -> Router {
    let files =
        Router::new().route("/assets/{file}", get(crate::pages::assets::file)).merge(link::routes(hub, config, prefix));
    let (inbox, inbox_answers) = inbox::routes(hub, prefix);
    let answers = answer::routes(hub, prefix).merge(inbox_answers);
    limited(files.merge(inbox), MAX_BODY).merge(limited(answers, answer::largest_body()))
}

/// Routes whose bodies have at most so many bytes; 413 otherwise.
fn limited(routes: Router, most: usize) -> Router {
    routes
        .layer(RequestBodyLimitLayer::new(most))
        .layer(axum::middleware::from_fn(move |request, next| refuse_large(most, request, next)))
}

/// Answers 413 to a body that says it is too large, after reading it away within reason.
async fn refuse_large(most: usize, request: Request, next: Next) -> Response {
    let length =
        request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if length.is_none_or(|length| length <= most) {
        return next.run(request).await;
    }
    let mut body = request.into_body().into_data_stream();
    let drain = async {
        let mut drained = 0;
        while let Some(Ok(part)) = body.next().await {
            drained += part.len();
            if drained > MAX_DRAINED {
                return;
            }
        }
    };
    // Whether all of it came does not matter: the answer is the same.
    let _ = tokio::time::timeout(DRAIN_DEADLINE, drain).await;
    StatusCode::PAYLOAD_TOO_LARGE.into_response()
}
