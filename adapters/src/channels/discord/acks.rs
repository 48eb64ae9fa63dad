//! Answers interactions: within three seconds, whatever else happens.
//!
//! The desk normally decides in milliseconds, and the answer is the acknowledgement. Where it takes longer (a disk that
//! stalls), the person gets a private reply that promises nothing yet, which is filled in later.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use asks::place::{Actor, MessageRef, Place};
use serde_json::Value;

use super::failure::{AckTrouble, Trouble, ack_trouble};
use super::interaction::{Interaction, Ticket, What};
use super::limits::{ACK, ACK_PATIENCE, CALL};
use super::render;
use super::rest::{Call, Rest};
use super::route::Route;
use super::sends::nonce;
use crate::channel::{Desk, Press, Reply, Said};
use crate::clock::SharedClock;

/// Acknowledgements that came second within a minute before the log suspects another process.
const SUSPICIOUS: u32 = 5;

/// How long the answer to a posted interaction may be on its way before what it left open is filled in.
const ARRIVED: Duration = Duration::from_millis(500);

/// What answering needs.
#[derive(Debug)]
pub(super) struct Acks {
    rest: Arc<dyn Rest>,
    clock: SharedClock,
    seconds: Mutex<Option<(Instant, u32)>>,
}

impl Acks {
    /// Answers through `rest`.
    pub(super) fn new(rest: Arc<dyn Rest>, clock: SharedClock) -> Self {
        Self { rest, clock, seconds: Mutex::default() }
    }

    /// Takes an interaction to the desk and its answer back to the person.
    pub(super) async fn handle(&self, desk: &dyn Desk, interaction: Interaction) {
        let came = self.clock.instant();
        let Interaction { ticket, user, user_name, locale, channel, what } = interaction;
        let actor = Actor::Discord(user);
        match what {
            What::Press { custom_id, message } => {
                let recorded = desk.recorded(locale.as_deref());
                let press = pressed(custom_id, message, Who { actor, user_name, locale, channel });
                self.reply(&ticket, came, desk.press(press), recorded).await;
            }
            What::Command(text) => {
                let place = Place::DiscordUser(user);
                let said = Said { actor, place, text, language: locale, name: user_name };
                let said = async { desk.said(said).await.map_or(Reply::Defer, Reply::Notice) };
                tokio::pin!(said);
                match tokio::time::timeout(ACK_PATIENCE, &mut said).await {
                    Ok(Reply::Notice(text)) => {
                        let _ = self.callback(&ticket, came, render::whisper(&text)).await;
                    }
                    Ok(Reply::Defer) => tracing::debug!("a command that means nothing here"),
                    Err(_) => {
                        let (_, reply) = tokio::join!(self.callback(&ticket, came, render::whisper_later()), said);
                        if let Reply::Notice(text) = reply {
                            self.fill_in(&ticket, &text).await;
                        }
                    }
                }
            }
        }
    }

    /// Takes a posted interaction to the desk and gives the body of its response, in time. `None` if deciding crashed.
    ///
    /// What takes longer is carried through all the same, and told afterwards.
    pub(super) async fn answer(self: &Arc<Self>, desk: Arc<dyn Desk>, interaction: Interaction) -> Option<Value> {
        let Interaction { ticket, user, user_name, locale, channel, what } = interaction;
        let actor = Actor::Discord(user);
        let mut deciding = tokio::spawn(async move {
            match what {
                What::Press { custom_id, message } => {
                    let recorded = desk.recorded(locale.as_deref());
                    match desk.press(pressed(custom_id, message, Who { actor, user_name, locale, channel })).await {
                        Reply::Defer => (render::acknowledge(), recorded),
                        Reply::Notice(text) => (render::whisper(&text), text),
                    }
                }
                What::Command(text) => {
                    let place = Place::DiscordUser(user);
                    let said = Said { actor, place, text, language: locale, name: user_name };
                    let text = desk.said(said).await.unwrap_or_default();
                    (render::whisper(&text), text)
                }
            }
        });
        if let Ok(decided) = tokio::time::timeout(ACK_PATIENCE, &mut deciding).await {
            faults::point("discord.acknowledged");
            return decided.ok().map(|(body, _)| body);
        }
        tracing::warn!("an interaction takes long; its person is asked to wait");
        let acks = Arc::clone(self);
        tokio::spawn(async move {
            if let Ok((_, text)) = deciding.await {
                tokio::time::sleep(ARRIVED).await;
                acks.fill_in(&ticket, &text).await;
            }
        });
        Some(render::whisper_later())
    }

    async fn reply(
        &self,
        ticket: &Ticket,
        came: Instant,
        decide: impl Future<Output = Reply> + Send,
        recorded: String,
    ) {
        tokio::pin!(decide);
        match tokio::time::timeout(ACK_PATIENCE, &mut decide).await {
            Ok(Reply::Defer) => {
                let _ = self.callback(ticket, came, render::acknowledge()).await;
            }
            Ok(Reply::Notice(text)) => {
                if self.callback(ticket, came, render::whisper(&text)).await == Err(AckTrouble::Over) {
                    self.say_openly(ticket, &text).await;
                }
            }
            Err(_) => {
                tracing::warn!("a press takes long to record; its person is asked to wait");
                let (_, reply) = tokio::join!(self.callback(ticket, came, render::whisper_later()), decide);
                let text = match reply {
                    Reply::Defer => recorded,
                    Reply::Notice(text) => text,
                };
                self.fill_in(ticket, &text).await;
            }
        }
    }

    async fn callback(&self, ticket: &Ticket, came: Instant, body: Value) -> Result<(), AckTrouble> {
        let route = Route::Callback { interaction: ticket.id, token: ticket.token.clone() };
        let Err(trouble) = self.rest.call(Call { route, body: Some(body), deadline: came + ACK }).await else {
            faults::point("discord.acknowledged");
            return Ok(());
        };
        let kind = ack_trouble(&trouble);
        match kind {
            AckTrouble::Over => tracing::debug!(id = ticket.id, "acknowledged too late; the press counts all the same"),
            AckTrouble::Already => self.already(),
            AckTrouble::Other => {
                tracing::warn!(id = ticket.id, ?trouble, "an acknowledgement failed; the press counts");
            }
        }
        Err(kind)
    }

    async fn fill_in(&self, ticket: &Ticket, text: &str) {
        let Some(application) = ticket.application else { return self.say_openly(ticket, text).await };
        let route = Route::EditOriginal { application, token: ticket.token.clone() };
        let deadline = self.clock.instant() + CALL;
        match self.rest.call(Call { route, body: Some(render::whisper_now(text)), deadline }).await {
            Ok(_) => {}
            Err(trouble) => {
                tracing::debug!(id = ticket.id, ?trouble, "a deferred reply could not be filled in");
                if matches!(ack_trouble(&trouble), AckTrouble::Over) {
                    self.say_openly(ticket, text).await;
                }
            }
        }
    }

    /// Where only the bot and that person read, an ordinary message does what the interaction no longer can.
    async fn say_openly(&self, ticket: &Ticket, text: &str) {
        let Some(channel) = ticket.dm else { return };
        let nonce = nonce(&format!("interaction {}", ticket.id), 0);
        let contents = render::texts(text);
        let Some(content) = contents.first() else { return };
        let body = render::create_text(render::Piece { content, nonce: &nonce, about: None });
        let deadline = self.clock.instant() + CALL;
        let call = Call { route: Route::Create { channel }, body: Some(body), deadline };
        if let Err(trouble) = self.rest.call(call).await {
            say_failed(&trouble);
        }
    }

    fn already(&self) {
        let now = self.clock.instant();
        let mut seconds = self.seconds.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, count) = match *seconds {
            Some((since, count)) if now.saturating_duration_since(since) < Duration::from_mins(1) => (since, count + 1),
            _ => (now, 1),
        };
        *seconds = Some((since, count));
        if count == SUSPICIOUS {
            tracing::warn!(
                "several presses were acknowledged by somebody else; look for a second process with this bot's token"
            );
        } else {
            tracing::debug!("a press was acknowledged before");
        }
    }
}

/// Who did it, and where.
struct Who {
    actor: Actor,
    user_name: Option<String>,
    locale: Option<String>,
    channel: Option<u64>,
}

fn pressed(custom_id: String, message: Option<u64>, who: Who) -> Press {
    let chat = who.channel.map(|channel| channel.to_string());
    let message = chat.clone().zip(message).map(|(chat, id)| MessageRef { chat, id: id.to_string() });
    Press { token: custom_id, actor: who.actor, actor_name: who.user_name, language: who.locale, chat, message }
}

fn say_failed(trouble: &Trouble) {
    tracing::debug!(?trouble, "a notice could not be delivered");
}
