//! What the visitor does: taps and texts go to the simulated platforms, prompts and answers to the host.

use std::sync::Arc;

use asks::ask::Surface;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Site;
use super::state::Tap;
use crate::discord;
use crate::telegram;
use crate::terreno::{Refused, TurnReply};

/// A button, by its place among the message's buttons or by what it says.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Pick {
    Index(usize),
    Label(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TelegramTap {
    message_id: i64,
    button: Pick,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DiscordTap {
    channel: Option<String>,
    message: String,
    button: Option<Pick>,
    custom_id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Text {
    text: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Prompt {
    text: String,
    /// Without one, the newest conversation is meant, or a new one.
    history: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    history: String,
    #[serde(rename = "toolCallId")]
    tool_call_id: String,
    response: Map<String, Value>,
}

/// `POST /telegram/tap`: `{"callback"}`, the id of the callback query.
pub(super) async fn tap_telegram(State(site): State<Arc<Site>>, Json(tap): Json<TelegramTap>) -> Response {
    let (telegram, chat) = (&site.options.telegram, site.options.telegram_chat);
    let message = telegram.message(chat, tap.message_id);
    let label = match &tap.button {
        Pick::Label(label) => Some(label.clone()),
        Pick::Index(at) => message.as_ref().and_then(|message| message.buttons().nth(*at)).map(|it| it.text.clone()),
    };
    let pick = match tap.button {
        Pick::Index(at) => telegram::Pick::Index(at),
        Pick::Label(label) => telegram::Pick::Label(label),
    };
    let at_ms = site.now_ms();
    match telegram.tap(site.options.telegram_user, chat, tap.message_id, pick) {
        Ok(callback) => {
            let label = label.unwrap_or_default();
            site.note(Tap { place: "telegram", message: tap.message_id.to_string(), label, at_ms });
            Json(json!({"callback": callback})).into_response()
        }
        Err(error) => problem(StatusCode::CONFLICT, &error.to_string()),
    }
}

/// `POST /telegram/send`: `{"message"}`, the id of the message.
pub(super) async fn write_telegram(State(site): State<Arc<Site>>, Json(text): Json<Text>) -> Response {
    let text = text.text.trim();
    if text.is_empty() {
        return problem(StatusCode::BAD_REQUEST, "write something first");
    }
    match site.options.telegram.say(site.options.telegram_user, site.options.telegram_chat, text) {
        Some(message) => Json(json!({"message": message})).into_response(),
        None => problem(StatusCode::NOT_FOUND, "the chat is not there; start the demo again"),
    }
}

/// `POST /discord/tap`: `{"interaction"}`, its id.
pub(super) async fn tap_discord(State(site): State<Arc<Site>>, Json(tap): Json<DiscordTap>) -> Response {
    let discord = &site.options.discord;
    let Ok(id) = tap.message.parse::<discord::Id>() else {
        return problem(StatusCode::BAD_REQUEST, "the message's id is not a number");
    };
    let message = discord.message(id);
    let elsewhere = |channel: &String| message.as_ref().is_some_and(|it| it.channel.to_string() != *channel);
    if tap.channel.as_ref().is_some_and(elsewhere) {
        return problem(StatusCode::CONFLICT, "the message is in another channel");
    }
    let pick = match (tap.custom_id, tap.button) {
        (Some(custom_id), _) => discord::Pick::CustomId(custom_id),
        (None, Some(Pick::Index(at))) => discord::Pick::Place(at),
        (None, Some(Pick::Label(label))) => discord::Pick::Label(label),
        (None, None) => return problem(StatusCode::BAD_REQUEST, "name the button: `button` or `custom_id`"),
    };
    let buttons = message.map(|message| message.buttons()).unwrap_or_default();
    let label = match &pick {
        discord::Pick::Label(label) => Some(label.clone()),
        discord::Pick::Place(at) => buttons.get(*at).map(|button| button.label.clone()),
        discord::Pick::CustomId(id) => {
            buttons.iter().find(|button| button.custom_id.as_ref() == Some(id)).map(|button| button.label.clone())
        }
    };
    let at_ms = site.now_ms();
    match discord.tap(site.options.discord_user, id, pick) {
        Ok(interaction) => {
            let label = label.unwrap_or_default();
            site.note(Tap { place: "discord", message: id.to_string(), label, at_ms });
            Json(json!({"interaction": interaction})).into_response()
        }
        Err(error) => problem(StatusCode::CONFLICT, &error.to_string()),
    }
}

/// `POST /app/new`: `{"history"}`, the id of a fresh conversation.
pub(super) async fn open(State(site): State<Arc<Site>>) -> Response {
    match site.options.terreno.open_built_in(&site.options.user) {
        Ok(history) => Json(json!({"history": history})).into_response(),
        Err(refused) => not_there(&refused),
    }
}

/// `POST /app/prompt`: what the host answers, as `{"history", "status", "body"}`.
pub(super) async fn prompt(State(site): State<Arc<Site>>, Json(prompt): Json<Prompt>) -> Response {
    let terreno = &site.options.terreno;
    let text = prompt.text.trim();
    if text.is_empty() {
        return problem(StatusCode::BAD_REQUEST, "write something first");
    }
    let newest = || {
        let conversations = terreno.conversations(&site.options.user);
        conversations.into_iter().max_by_key(|it| (it.created_ms, it.history_id.clone())).map(|it| it.history_id)
    };
    let history = match prompt.history.or_else(newest) {
        Some(history) => history,
        None => match terreno.open_built_in(&site.options.user) {
            Ok(history) => history,
            Err(refused) => return not_there(&refused),
        },
    };
    told(&history, terreno.prompt(&history, text, Surface::Full).await)
}

/// `POST /app/answer`: what the host answers, as `{"history", "status", "body"}`.
pub(super) async fn answer(State(site): State<Arc<Site>>, Json(answer): Json<Answer>) -> Response {
    let mut envelope = answer.response;
    envelope.insert("toolCallId".to_owned(), json!(answer.tool_call_id));
    told(&answer.history, site.options.terreno.answer(&answer.history, Value::Object(envelope)).await)
}

/// The host's reply, whatever it is: the page shows refusals beside what they are about.
fn told(history: &str, reply: Result<TurnReply, Refused>) -> Response {
    match reply {
        Ok(reply) => Json(json!({"history": history, "status": reply.status, "body": reply.body})).into_response(),
        Err(refused) => not_there(&refused),
    }
}

fn not_there(refused: &Refused) -> Response {
    problem(StatusCode::NOT_FOUND, &refused.to_string())
}

fn problem(status: StatusCode, what: &str) -> Response {
    (status, Json(json!({"problem": what}))).into_response()
}
