//! The service's own HTTP: health for machines, `/v1` for the operator and the host app.

mod api;
mod health;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
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

/// Serves until the service is stopped for good.
pub async fn serve(hub: Arc<Hub>, listener: TcpListener, config: ServerConfig) {
    let hard = hub.stop.hard.clone();
    let prefix = config.public_url.as_ref().map(|url| url.path().trim_end_matches('/').to_owned()).unwrap_or_default();
    let served = axum::serve(listener, router(hub, &config, &prefix))
        .with_graceful_shutdown(async move { hard.cancelled().await });
    if let Err(error) = served.await {
        tracing::error!("the HTTP server ended: {error}");
    }
}

/// All routes, also below the path of `public_url`, because a proxy may or may not strip it.
fn router(hub: Arc<Hub>, config: &ServerConfig, prefix: &str) -> Router {
    let routes = Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(health::metrics))
        .route("/v1/asks", get(api::asks))
        .route("/v1/accounts", get(api::accounts))
        .route("/v1/nudge", post(api::nudge))
        .with_state(api::Shared { hub, admin: config.admin_token.clone() });
    let all = if prefix.is_empty() { routes } else { routes.clone().nest(prefix, routes) };
    all.fallback(async || StatusCode::NOT_FOUND)
        .layer(RequestBodyLimitLayer::new(MAX_BODY))
        .layer(axum::middleware::from_fn(refuse_large))
        .layer(TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, DEADLINE))
        .layer(axum::middleware::map_response(async |mut response: Response| {
            let headers = response.headers_mut();
            headers.insert(HeaderName::from_static("cache-control"), HeaderValue::from_static("no-store"));
            headers.insert(HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff"));
            headers.insert(HeaderName::from_static("referrer-policy"), HeaderValue::from_static("no-referrer"));
            response
        }))
}

/// Answers 413 to a body that says it is too large, after reading it away within reason.
async fn refuse_large(request: Request, next: Next) -> Response {
    let length =
        request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if length.is_none_or(|length| length <= MAX_BODY) {
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
