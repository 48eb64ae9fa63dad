//! `/v1`: what waits and who is known, for the operator; a nudge, for the host app.

use std::sync::Arc;

use asks::ids::{AccountKey, AccountName, SourceName};
use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use config::Secret;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::announce;
use crate::hub::Hub;

/// The most asks one call lists.
const MAX_LISTED: usize = 1000;

/// What the routes share.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) hub: Arc<Hub>,
    pub(super) admin: Option<Secret>,
}

impl Shared {
    /// Lets the operator in, and nobody else; without a configured token there is no `/v1` at all.
    pub(super) fn admit(&self, headers: &HeaderMap) -> Result<(), Box<Response>> {
        let Some(admin) = &self.admin else { return Err(Box::new(problem(StatusCode::NOT_FOUND, "not found"))) };
        let sent = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
        });
        // Hashes have one length, so the comparison tells nothing about the token's.
        let digest = |text: &str| Sha256::digest(text.as_bytes());
        let equal = sent.is_some_and(|sent| bool::from(digest(sent).ct_eq(&digest(admin.expose()))));
        if equal {
            Ok(())
        } else {
            Err(Box::new(problem(StatusCode::UNAUTHORIZED, "send the admin token as a bearer")))
        }
    }
}

/// A body that tells a person what to do and an attacker nothing.
pub(super) fn problem(status: StatusCode, error: &str) -> Response {
    let mut response = (status, Json(json!({"error": error}))).into_response();
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
    }
    response
}

/// The query of `GET /v1/asks`.
#[derive(Deserialize)]
pub(super) struct AsksQuery {
    /// Whether finished ones are listed too.
    #[serde(default)]
    all: bool,
}

#[derive(Serialize)]
struct AskLine {
    source: SourceName,
    conversation: String,
    ask: String,
    account: AccountName,
    kind: String,
    state: &'static str,
    first_seen: i64,
    moved_at: i64,
    finished: bool,
    places: Vec<Value>,
}

/// `GET /v1/asks`: what waits, oldest first; with `?all=true` also how the others ended.
pub(super) async fn asks(
    State(shared): State<Shared>,
    headers: HeaderMap,
    query: Result<Query<AsksQuery>, QueryRejection>,
) -> Response {
    if let Err(refused) = shared.admit(&headers) {
        return *refused;
    }
    let Ok(Query(AsksQuery { all })) = query else { return problem(StatusCode::BAD_REQUEST, "all is true or false") };
    let records =
        if all { shared.hub.ledger.recent_asks(MAX_LISTED).await } else { shared.hub.ledger.open_asks(None).await };
    match records {
        Ok(records) => {
            let mut lines = Vec::new();
            for record in records.into_iter().take(MAX_LISTED) {
                // What cannot be read is told as nothing known; the asks themselves are listed.
                let deliveries = shared.hub.ledger.deliveries(&record.key).await.unwrap_or_default();
                lines.push(AskLine {
                    source: record.key.source,
                    conversation: record.key.conversation.as_str().to_owned(),
                    ask: record.key.ask.as_str().to_owned(),
                    account: record.account.name,
                    kind: record.card.kind.as_str().to_owned(),
                    state: record.life.name(),
                    first_seen: record.first_seen,
                    moved_at: record.moved_at,
                    finished: record.finished,
                    places: announce::whereabouts(&deliveries),
                });
            }
            Json(json!({"asks": lines})).into_response()
        }
        Err(error) => {
            tracing::warn!("the asks cannot be listed: {error}");
            problem(StatusCode::SERVICE_UNAVAILABLE, "the store cannot be read right now; try again later")
        }
    }
}

/// The body of `POST /v1/nudge`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nudge {
    source: SourceName,
    account: AccountName,
}

/// `POST /v1/nudge`: something changed for an account; poll it now.
pub(super) async fn nudge(
    State(shared): State<Shared>,
    headers: HeaderMap,
    body: Result<Json<Nudge>, JsonRejection>,
) -> Response {
    if let Err(refused) = shared.admit(&headers) {
        return *refused;
    }
    let Ok(Json(nudge)) = body else {
        return problem(StatusCode::BAD_REQUEST, "send {\"source\": NAME, \"account\": NAME} as JSON");
    };
    let account = AccountKey { source: nudge.source, name: nudge.account };
    if shared.hub.calendar.hurry(&account, shared.hub.clock.instant()) {
        (StatusCode::ACCEPTED, Json(json!({"polling": true}))).into_response()
    } else {
        problem(StatusCode::NOT_FOUND, "there is no such account at that source")
    }
}
