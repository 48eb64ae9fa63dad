//! Health for machines. Nothing here tells a secret or what an ask says; accounts and places are named as in the log.

use std::fmt::Write as _;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;

use super::api::Shared;
use crate::board::Health;

/// `GET /healthz`: the process runs and serves. Dead accounts and deaf listeners are readiness, not this.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: 200 when every part works, else 503; the body names each part.
pub(super) async fn ready(State(shared): State<Shared>) -> impl IntoResponse {
    let report = shared.hub.board.status();
    let status = if report.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(report))
}

/// `GET /metrics`: counters and gauges in the Prometheus text format.
pub(super) async fn metrics(State(shared): State<Shared>) -> impl IntoResponse {
    let mut text = String::new();
    for (name, value) in shared.hub.board.counters() {
        let _ = writeln!(text, "# TYPE {name} counter\n{name} {value}");
    }
    let report = shared.hub.board.status();
    let _ = writeln!(text, "# TYPE askgate_up gauge");
    for (part, health) in &report.parts {
        let up = u8::from(*health == Health::Fine);
        let _ = writeln!(text, "askgate_up{{part=\"{}\"}} {up}", part.replace(['\\', '"', '\n'], "_"));
    }
    let _ = writeln!(text, "# TYPE askgate_places_parked gauge\naskgate_places_parked {}", report.parked.len());
    let _ = writeln!(text, "# TYPE askgate_queue_length gauge\naskgate_queue_length {}", shared.hub.queues.len());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text)
}
