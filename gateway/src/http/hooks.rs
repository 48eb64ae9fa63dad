//! `POST /telegram/webhook` and `POST /discord/interactions`: what platforms send by themselves.
//!
//! A route is there only while its channel is called that way. The headers are looked at before anything of the body is
//! read; the rest of a refused body is read away beside the answer, because a client that is cut off while it sends never
//! hears why.

use std::sync::Arc;

use adapters::channel::{Channel, Headers, Inbound, Outbound};
use asks::place::ChannelKind;
use axum::Router;
use axum::body::{Body, BodyDataStream};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use futures::StreamExt as _;

use super::{DRAIN_DEADLINE, MAX_DRAINED};
use crate::hub::Hub;

/// The largest body that is taken, in bytes: many times what either platform sends.
const MAX_BODY: usize = 512 * 1024;

/// The routes of the channels that are called.
pub(super) fn routes(hub: &Arc<Hub>) -> Router {
    let mut routes = Router::new();
    for (kind, path) in [(ChannelKind::Telegram, "/telegram/webhook"), (ChannelKind::Discord, "/discord/interactions")]
    {
        if let Some(channel) = hub.channels.get(&kind).filter(|channel| channel.is_called()) {
            routes = routes.merge(Router::new().route(path, post(receive)).with_state(Arc::clone(channel)));
        }
    }
    routes
}

async fn receive(State(channel): State<Arc<dyn Channel>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let headers = collected(&parts.headers);
    let mut body = body.into_data_stream();
    if let Err(refused) = channel.admit(&headers) {
        drain(body);
        return response(refused);
    }
    let told = headers.one("content-length").and_then(|value| std::str::from_utf8(value).ok()?.parse::<usize>().ok());
    let read = if told.is_some_and(|length| length > MAX_BODY) { Err(TooLarge) } else { read(&mut body).await };
    match read {
        Ok(Some(body)) => {
            // A task of its own: what was begun is carried through, however long the platform waits.
            let receiving = tokio::spawn(channel.receive(Inbound { headers, body }));
            receiving.await.map_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response(), response)
        }
        Ok(None) => StatusCode::BAD_REQUEST.into_response(),
        Err(TooLarge) => {
            drain(body);
            StatusCode::PAYLOAD_TOO_LARGE.into_response()
        }
    }
}

#[derive(Debug)]
struct TooLarge;

/// The whole body; `None` when it broke off.
async fn read(stream: &mut BodyDataStream) -> Result<Option<Vec<u8>>, TooLarge> {
    let mut body = Vec::new();
    while let Some(part) = stream.next().await {
        let Ok(part) = part else { return Ok(None) };
        if body.len() + part.len() > MAX_BODY {
            return Err(TooLarge);
        }
        body.extend_from_slice(&part);
    }
    Ok(Some(body))
}

fn drain(mut body: BodyDataStream) {
    tokio::spawn(tokio::time::timeout(DRAIN_DEADLINE, async move {
        let mut drained = 0;
        while let Some(Ok(part)) = body.next().await {
            drained += part.len();
            if drained > MAX_DRAINED {
                return;
            }
        }
    }));
}

fn collected(headers: &HeaderMap) -> Headers {
    Headers::new(headers.iter().map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec())))
}

fn response(answer: Outbound) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let Some(body) = answer.body else { return status.into_response() };
    let mut response = (status, Body::from(body)).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
