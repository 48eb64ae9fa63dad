//! `/v1/accounts`: who is known, and linking people who have a session already.

use adapters::source::{Failure, Secret};
use asks::ids::{AccountName, SourceName};
use asks::place::Place;
use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::api::{Shared, problem};
use crate::accounts::{self, LinkError, UnlinkError, record};
use crate::hub::Hub;
use crate::words::Language;

/// The body of `POST /v1/accounts`. Only this module sees it, and nothing prints it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewAccount {
    source: SourceName,
    token: String,
    #[serde(default)]
    refresh_token: Option<String>,
    places: Vec<String>,
    #[serde(default)]
    language: Option<String>,
}

/// `GET /v1/accounts`: who is known, and where; never a credential.
pub(super) async fn list(State(shared): State<Shared>, headers: HeaderMap) -> Response {
    if let Err(refused) = shared.admit(&headers) {
        return *refused;
    }
    let mut known = shared.hub.links.accounts();
    // What is kept and cannot be used is told too, so that it can be removed.
    let kept = shared.hub.accounts.list().into_iter().map(|record| record.key);
    for account in kept {
        if !known.contains(&account) {
            known.push(account);
        }
    }
    let rows: Vec<Value> = known.iter().map(|account| row(&shared.hub, account)).collect();
    Json(json!({"accounts": rows})).into_response()
}

/// `POST /v1/accounts`: links the person a session belongs to, or adds places to the account they have.
pub(super) async fn add(
    State(shared): State<Shared>,
    headers: HeaderMap,
    body: Result<Json<NewAccount>, JsonRejection>,
) -> Response {
    if let Err(refused) = shared.admit(&headers) {
        return *refused;
    }
    // What serde says could repeat a part of the body.
    let Ok(Json(new)) = body else {
        return problem(
            StatusCode::BAD_REQUEST,
            "send {\"source\": NAME, \"token\": TOKEN, \"places\": [PLACE, ...]} as JSON, and if there are any \"refresh_token\" and \"language\"",
        );
    };
    let hub = &shared.hub;
    let mut places = Vec::new();
    for text in &new.places {
        match text.parse::<Place>() {
            Ok(place) if !places.contains(&place) => places.push(place),
            Ok(_) => {}
            Err(error) => return problem(StatusCode::BAD_REQUEST, &error.to_string()),
        }
    }
    let language = match new.language.as_deref() {
        None => Some(Language::default()),
        Some(code) => Language::from_code(code),
    };
    let Some(language) = language else {
        return problem(StatusCode::BAD_REQUEST, "language is en or de");
    };
    if let Err(error) = accounts::may_link(hub, &new.source, &places) {
        return refusal(&error);
    }
    let Some(source) = hub.sources.get(&new.source) else {
        return refusal(&LinkError::UnknownSource(new.source));
    };
    let (token, refresh) = (Secret::new(new.token), new.refresh_token.map(Secret::new));
    let signed = match source.port.adopt(&token, refresh.as_ref()).await {
        Ok(signed) => signed,
        Err(failure) => return refusal(&LinkError::Source(failure)),
    };
    match accounts::link(hub, &new.source, &signed, &places, language).await {
        Ok(account) => (StatusCode::CREATED, Json(row(hub, &account))).into_response(),
        Err(error) => refusal(&error),
    }
}

/// `DELETE /v1/accounts/{id}`: forgets a linked account.
pub(super) async fn remove(State(shared): State<Shared>, headers: HeaderMap, id: Path<String>) -> Response {
    if let Err(refused) = shared.admit(&headers) {
        return *refused;
    }
    let name = AccountName::new(id.0);
    let hub = &shared.hub;
    let Some(account) = accounts::find(hub, &name) else {
        return problem(StatusCode::NOT_FOUND, "there is no such account");
    };
    match accounts::remove(hub, &account).await {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(error @ UnlinkError::NotLinked) => problem(StatusCode::NOT_FOUND, &error.to_string()),
        Err(error @ UnlinkError::InFile) => problem(StatusCode::CONFLICT, &error.to_string()),
        Err(error @ UnlinkError::NotSaved(_)) => problem(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
    }
}

fn row(hub: &Hub, account: &asks::ids::AccountKey) -> Value {
    let places = hub.links.places(account);
    hub.accounts.get(account).map_or_else(|| record::row(account, &places), |record| record.row(&places))
}

pub(super) fn refusal(error: &LinkError) -> Response {
    let status = match error {
        LinkError::UnknownSource(_) | LinkError::NoPlace | LinkError::Shared(_) | LinkError::NoChannel(_) => {
            StatusCode::BAD_REQUEST
        }
        LinkError::NoKey => StatusCode::CONFLICT,
        // 401 would speak of the operator's own token.
        LinkError::Source(
            Failure::Unauthorised { .. } | Failure::OtherSubject | Failure::Forbidden | Failure::Gone,
        ) => StatusCode::UNPROCESSABLE_ENTITY,
        LinkError::Source(Failure::RateLimited { .. }) => StatusCode::TOO_MANY_REQUESTS,
        LinkError::Source(Failure::AsksOff | Failure::Unavailable { .. }) => StatusCode::BAD_GATEWAY,
        LinkError::Seal(_) | LinkError::NotSaved(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    let mut response = problem(status, &error.to_string());
    if let LinkError::Source(Failure::RateLimited { after }) = error {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(after.as_secs().max(1)));
    }
    response
}
