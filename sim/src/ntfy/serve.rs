//! The server's HTTP.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::message::{self, MAX_BODY_BYTES};
use super::refusal::Refusal;
use super::{Fault, Ntfy};

pub(super) async fn serve(server: Ntfy, listener: TcpListener, stop: CancellationToken) {
    let router = Router::new()
        .route("/", post(publish).put(publish))
        .route("/v1/health", get(async || axum::Json(json!({"healthy": true}))))
        .layer(axum::extract::DefaultBodyLimit::max(4 * MAX_BODY_BYTES))
        .with_state(server);
    // A server that is stopped leaves its clients in the middle of what they do.
    tokio::select! {
        () = stop.cancelled() => {}
        ended = axum::serve(listener, router) => {
            if let Err(error) = ended {
                tracing::error!("the simulated ntfy server ended: {error}");
            }
        }
    }
}

async fn publish(State(server): State<Ntfy>, headers: HeaderMap, body: Bytes) -> Response {
    let fault = {
        let mut state = server.state();
        state.requests += 1;
        if state.faults.is_empty() { None } else { Some(state.faults.remove(0)) }
    };
    match fault {
        Some(Fault::Cut) => return cut(),
        Some(Fault::Broken) => {
            return (StatusCode::INTERNAL_SERVER_ERROR, [(header::CONTENT_TYPE, "text/html")], "<h1>500</h1>")
                .into_response();
        }
        Some(Fault::TooMany(seconds)) => {
            let mut response = refuse(Refusal::TooMany);
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
            return response;
        }
        Some(Fault::Forbidden) => return refuse(Refusal::Forbidden),
        Some(Fault::TakenThenCut) | None => {}
    }
    if let Some(token) = &server.shared.options.token {
        let sent = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        match sent {
            None => return refuse(Refusal::Forbidden),
            Some(sent) if sent != format!("Bearer {token}") => return refuse(Refusal::Unauthorised),
            Some(_) => {}
        }
    }
    let taken = {
        let mut state = server.state();
        state.next += 1;
        let number = state.next;
        message::read(&body, number).map(|(topic, message)| {
            let answer = json!({"id": message.id, "event": "message", "topic": topic, "sequence_id": message.sequence});
            state.topics.entry(topic).or_default().push(message);
            answer
        })
    };
    match taken {
        Ok(answer) => {
            server.changed();
            if fault == Some(Fault::TakenThenCut) { cut() } else { axum::Json(answer).into_response() }
        }
        Err(refusal) => refuse(refusal),
    }
}

fn refuse(refusal: Refusal) -> Response {
    let status = StatusCode::from_u16(refusal.parts().0).unwrap_or(StatusCode::BAD_REQUEST);
    (status, axum::Json(refusal.body())).into_response()
}

/// An answer that breaks off: its body fails at once, so the connection is closed with nothing of it sent.
fn cut() -> Response {
    let broken = futures::stream::once(async { Err::<Bytes, _>(std::io::Error::other("cut")) });
    Response::new(axum::body::Body::from_stream(broken))
}
