//! `POST /n/{token}`: the action of a phone's notification.
//!
//! The phone itself sends it, mostly without showing more than the first words of the answer, so each answer is one short
//! sentence that stands for itself. The token is a capability: whoever holds it is the owner of the place it was sent to. It
//! answers once, and from then on only reports how the ask stands. Nothing else than a POST changes anything.

use std::sync::Arc;
use std::time::Duration;

use adapters::channel::{Press, Reply};
use asks::life::{Claim, Life};
use asks::place::{Actor, ChannelKind};
use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use store::ledger::LedgerError;
use store::record::{AskRecord, Purpose, TokenRecord};
use store::token::TapToken;

use crate::answer;
use crate::hub::Hub;
use crate::words::{Language, Words};

/// How long the phone waits at most. What is not durable by then goes on, and is told as not saved yet.
const DEADLINE: Duration = Duration::from_millis(1_800);

/// The route.
pub(super) fn routes(hub: &Arc<Hub>) -> Router {
    Router::new().route("/n/{token}", post(pressed).options(preflight)).with_state(Arc::clone(hub))
}

/// What a token stands for, if it is one of a notification.
struct Known {
    token: TokenRecord,
    record: AskRecord,
}

async fn preflight() -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    open_to_all(&mut response);
    response
}

async fn pressed(State(hub): State<Arc<Hub>>, Path(token): Path<String>) -> Response {
    let (status, sentence) = match known(&hub, &token).await {
        Ok(Some(known)) => {
            let pressing = press(Arc::clone(&hub), token, known);
            // A task of its own: the claim is carried through, however long the phone waits.
            match tokio::time::timeout(DEADLINE, tokio::spawn(pressing)).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) => (StatusCode::INTERNAL_SERVER_ERROR, Language::default().words().not_saved()),
                Err(_) => (StatusCode::SERVICE_UNAVAILABLE, Language::default().words().still_saving()),
            }
        }
        Ok(None) => (StatusCode::NOT_FOUND, Language::default().words().unknown_button()),
        Err(error) => {
            tracing::error!("an action of a notification cannot be looked up: {error}");
            (StatusCode::SERVICE_UNAVAILABLE, Language::default().words().not_saved())
        }
    };
    let mut response = (status, sentence).into_response();
    open_to_all(&mut response);
    response
}

/// A token of a button that a notification carries; one from a chat is none here.
async fn known(hub: &Hub, token: &str) -> Result<Option<Known>, LedgerError> {
    let Some(token) = hub.ledger.token(&TapToken::from_outside(token).hash()).await? else { return Ok(None) };
    if token.purpose != Purpose::Press {
        return Ok(None);
    }
    let (Some(delivery), Some(record)) =
        (hub.ledger.delivery(token.delivery).await?, hub.ledger.ask(&token.ask).await?)
    else {
        return Ok(None);
    };
    let by_notification = matches!(delivery.place.channel(), ChannelKind::Ntfy | ChannelKind::Web);
    // Whoever has a topic that is not linked any more hears nothing, not even how it ended.
    let linked = hub.links.shows(&record.account, &delivery.place);
    Ok((by_notification && linked).then_some(Known { token, record }))
}

async fn press(hub: Arc<Hub>, token: String, known: Known) -> (StatusCode, String) {
    let words = hub.words(&known.record.account);
    // Once it is answered an action only reports how; the same one once more is no mistake.
    if let Some(answer) = decided(&known.record.life, &known.token, words) {
        return answer;
    }
    let press = Press { token, actor: Actor::Owner, actor_name: None, language: None, chat: None, message: None };
    match answer::press(&hub, press).await {
        Reply::Defer => (StatusCode::OK, words.recorded()),
        Reply::Notice(sentence) => match hub.ledger.ask(&known.token.ask).await {
            Ok(Some(now)) => decided(&now.life, &known.token, words).unwrap_or((StatusCode::CONFLICT, sentence)),
            Ok(None) => (StatusCode::NOT_FOUND, sentence),
            Err(_) => (StatusCode::SERVICE_UNAVAILABLE, sentence),
        },
    }
}

/// How an ask that is not open any more stands, for whoever pressed `token`.
fn decided(life: &Life, token: &TokenRecord, words: &dyn Words) -> Option<(StatusCode, String)> {
    let of_claim = |claim: &Claim, sentence: String| {
        let same = claim.button == token.button && claim.response.is_none();
        (if same { StatusCode::OK } else { StatusCode::CONFLICT }, sentence)
    };
    match life {
        Life::Announcing | Life::Live { .. } => None,
        Life::Claimed { claim, .. } | Life::Unclear { claim, .. } => {
            Some(of_claim(claim, words.already(&claim.label, None)))
        }
        Life::Settled { outcome: asks::life::Outcome::Ours { claim, .. } } => {
            Some(of_claim(claim, crate::words::status(words, life, false).unwrap_or_default()))
        }
        Life::Settled { .. } | Life::Withdrawn { .. } => {
            Some((StatusCode::GONE, crate::words::status(words, life, false).unwrap_or_default()))
        }
    }
}

/// The server's web app sends actions from its own origin. No cookie is involved, so any origin may: the token alone counts.
fn open_to_all(response: &mut Response) {
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST, OPTIONS"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("*"));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
}
