//! Health for machines. Nothing here tells a secret or what an ask says; accounts and places are named as in the log.

use std::fmt::Write as _;
use std::sync::PoisonError;

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
    if let Some(bytes) = shared.hub.ledger.disk_bytes() {
        let _ = writeln!(text, "# TYPE askgate_store_bytes gauge\naskgate_store_bytes {bytes}");
    }
    let now = shared.hub.clock.instant();
    let oldest = shared.hub.in_flight.lock().unwrap_or_else(PoisonError::into_inner).values().min().copied();
    let age = oldest.map_or(0, |since| now.saturating_duration_since(since).as_secs());
    let _ = writeln!(text, "# TYPE askgate_oldest_claim_seconds gauge\naskgate_oldest_claim_seconds {age}");
    let undelivered = report.undelivered.len();
    let _ = writeln!(text, "# TYPE askgate_cards_undelivered gauge\naskgate_cards_undelivered {undelivered}");
    let _ = writeln!(text, "# TYPE askgate_queue_length gauge\naskgate_queue_length {}", shared.hub.queues.len());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text)
}
