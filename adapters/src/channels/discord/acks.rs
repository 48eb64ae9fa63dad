//! Answers interactions: within three seconds, whatever else happens.
//!
//! The desk normally decides in milliseconds, and the answer is the acknowledgement. Where it takes longer (a disk that
//! stalls), the person gets a private reply that promises nothing yet, which is filled in later.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use asks::place::{Actor, MessageRef, Place};

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
                let chat = channel.map(|channel| channel.to_string());
                let message = chat.clone().zip(message).map(|(chat, id)| MessageRef { chat, id: id.to_string() });
                let recorded = desk.recorded(locale.as_deref());
                let press = Press { token: custom_id, actor, actor_name: user_name, language: locale, chat, message };
                self.reply(&ticket, came, desk.press(press), recorded).await;
            }
            What::Command(text) => {
                let said = Said { actor, place: Place::DiscordUser(user), text, language: locale };
                // A command without an answer in time ends in Discord's own "did not respond".
                match tokio::time::timeout(ACK_PATIENCE, desk.said(said)).await {
                    Ok(Some(text)) => {
                        let _ = self.callback(&ticket, came, render::whisper(&text)).await;
                    }
                    Ok(None) => tracing::debug!("a command that means nothing here"),
                    Err(_) => tracing::debug!("a command took too long to answer"),
                }
            }
        }
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

    async fn callback(&self, ticket: &Ticket, came: Instant, body: serde_json::Value) -> Result<(), AckTrouble> {
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

fn say_failed(trouble: &Trouble) {
    tracing::debug!(?trouble, "a notice could not be delivered");
}
