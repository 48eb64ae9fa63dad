//! Sends and edits: pacing, several messages in a row, and the repairs of what the servers did differently.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use asks::place::{MessageRef, Place};
use serde_json::Value;
use teloxide::payloads::{DeleteMessage, EditMessageText, SendMessage};
use teloxide::requests::Payload;
use teloxide::types::{LinkPreviewOptions, MessageId, ReplyParameters};

use super::client::{Client, Trouble};
use super::failure::{Act, Meaning, failure, meaning, wait_wanted};
use super::limits;
use super::pace::{Lane, Pacer};
use super::render::{LinkAs, Piece, card, text};
use super::wire::{Address, Keyboard, Sent, WithKeyboard, message_id};
use crate::channel::{CardView, Failure, SendKey};
use crate::clock::SharedClock;

/// How often a message that must go is tried to be deleted, and how long is waited between.
const DELETE_TRIES: u32 = 4;
const DELETE_PAUSE: Duration = Duration::from_millis(400);
/// How many unfinished sends of several messages are kept in mind.
const UNFINISHED: usize = 256;

/// Sends and edits messages.
#[derive(Debug)]
pub(super) struct Post {
    client: Client,
    pacer: Pacer,
    clock: SharedClock,
    unfinished: std::sync::Mutex<Unfinished>,
}

/// One call's way through: where to, and until when.
#[derive(Debug, Clone, Copy)]
struct Errand<'a> {
    place: &'a Place,
    to: Address,
    until: Instant,
}

impl Post {
    /// A post that sends through a client at a pace.
    #[must_use]
    pub(super) fn new(client: Client, pacer: Pacer, clock: SharedClock) -> Self {
        Self { client, pacer, clock, unfinished: std::sync::Mutex::default() }
    }

    /// The pacer, for what only asks whether a chat may be talked to.
    pub(super) const fn pacer(&self) -> &Pacer {
        &self.pacer
    }

    /// Waits until the next message to a place may go, and keeps that turn for it.
    ///
    /// # Errors
    /// How long to wait before asking again.
    pub(super) async fn turn(&self, place: &Place) -> Result<(), Duration> {
        // A place that is none of ours is refused by what comes next.
        let Ok(errand) = self.errand(place) else { return Ok(()) };
        self.pacer.reserve(errand.to.chat, errand.until).await
    }

    /// Shows a card and says which message carries its keyboard.
    ///
    /// # Errors
    /// See [`Failure`].
    pub(super) async fn present(&self, place: &Place, view: &CardView, key: &SendKey) -> Result<MessageRef, Failure> {
        limits::check(view)?;
        let errand = self.errand(place)?;
        let mut shown = card(view, LinkAs::Button);
        let done = self.lead(errand, key, &shown.lead, None).await?;
        let mut sent = self.send(errand, &shown.last, shown.keyboard.to_send(), None).await?;
        if shown.keyboard.has_link() && is_link_refused(&sent) {
            tracing::warn!(%place, "Telegram refuses the hand-off's address for a button; it is written out instead");
            shown = card(view, LinkAs::Text);
            sent = self.send(errand, &shown.last, shown.keyboard.to_send(), None).await?;
        }
        let sent = sent.map_err(|trouble| failure(&trouble, Act::Send, place))?;
        let sent = self.arrived(errand, &sent).await?;
        if !sent.keyboard && shown.keyboard.to_send().is_some() {
            self.mend_keyboard(errand, sent.id, &shown.last, &shown.keyboard).await?;
        }
        self.forget(done);
        Ok(MessageRef { chat: errand.to.chat.to_string(), id: sent.id.to_string() })
    }

    /// Makes a message say what a view says.
    ///
    /// # Errors
    /// See [`Failure`].
    pub(super) async fn revise(&self, place: &Place, message: &MessageRef, view: &CardView) -> Result<(), Failure> {
        limits::check(view)?;
        let mut errand = self.errand(place)?;
        // The message is where it was sent, also after its group got another id.
        errand.to.chat = message.chat.parse().unwrap_or(errand.to.chat);
        let id = message_id(message).ok_or(Failure::MessageGone)?.0;
        let mut shown = card(view, LinkAs::Button);
        let mut edited = self.edit(errand, id, &shown.last, &shown.keyboard).await?;
        if shown.keyboard.has_link() && is_link_refused(&edited) {
            shown = card(view, LinkAs::Text);
            edited = self.edit(errand, id, &shown.last, &shown.keyboard).await?;
        }
        let edited = edited.map_err(|trouble| failure(&trouble, Act::Change, place))?;
        let lost = Sent::read(&edited).is_some_and(|edited| !edited.keyboard);
        if lost && shown.keyboard.to_send().is_some() {
            match self.edit(errand, id, &shown.last, &shown.keyboard).await? {
                Ok(_) => {}
                Err(trouble) => match failure(&trouble, Act::Change, place) {
                    Failure::Unchanged => {}
                    other => return Err(other),
                },
            }
        }
        Ok(())
    }

    /// Sends a text, in as many messages as it needs, the first as a reply to `about` if that is in the same chat.
    ///
    /// # Errors
    /// See [`Failure`].
    pub(super) async fn notify(
        &self,
        place: &Place,
        words: &str,
        about: Option<&MessageRef>,
        key: &SendKey,
    ) -> Result<(), Failure> {
        let errand = self.errand(place)?;
        let about = about.filter(|about| about.chat == errand.to.chat.to_string()).and_then(message_id);
        let done = self.lead(errand, key, &text(words), about).await?;
        self.forget(done);
        Ok(())
    }

    fn errand<'a>(&self, place: &'a Place) -> Result<Errand<'a>, Failure> {
        Ok(Errand { place, to: Address::of(place)?, until: self.clock.instant() + limits::CALL })
    }

    /// Sends messages without buttons one after the other. A call that failed on the way is taken up, under the same key,
    /// where it stopped.
    async fn lead(
        &self,
        errand: Errand<'_>,
        key: &SendKey,
        pieces: &[Piece],
        about: Option<MessageId>,
    ) -> Result<u64, Failure> {
        let id = fingerprint(errand.to, key, pieces);
        let already = self.with_unfinished(|unfinished| unfinished.get(id));
        for (n, piece) in pieces.iter().enumerate().skip(already) {
            let about = about.filter(|_| n == 0);
            let sent = self.send(errand, piece, None, about).await?;
            let sent = sent.map_err(|trouble| failure(&trouble, Act::Send, errand.place))?;
            self.arrived(errand, &sent).await?;
            self.with_unfinished(|unfinished| unfinished.set(id, n + 1));
        }
        Ok(id)
    }

    fn forget(&self, id: u64) {
        self.with_unfinished(|unfinished| unfinished.drop(id));
    }

    fn with_unfinished<T>(&self, f: impl FnOnce(&mut Unfinished) -> T) -> T {
        f(&mut self.unfinished.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    async fn send(
        &self,
        errand: Errand<'_>,
        piece: &Piece,
        reply_markup: Option<&Keyboard>,
        about: Option<MessageId>,
    ) -> Result<Result<Value, Trouble>, Failure> {
        let mut payload = SendMessage::new(errand.to.recipient(), piece.text.clone());
        payload.message_thread_id = errand.to.thread_id();
        payload.entities = (!piece.entities.is_empty()).then(|| piece.entities.clone());
        payload.link_preview_options = Some(no_preview());
        // A reply to a message that was deleted is better sent without being one than not at all.
        payload.reply_parameters = about.map(|about| ReplyParameters::new(about).allow_sending_without_reply());
        self.call(errand, Lane::Send, SendMessage::NAME, &WithKeyboard { payload, reply_markup }).await
    }

    async fn edit(
        &self,
        errand: Errand<'_>,
        id: i32,
        piece: &Piece,
        keyboard: &Keyboard,
    ) -> Result<Result<Value, Trouble>, Failure> {
        let mut payload = EditMessageText::new(errand.to.recipient(), MessageId(id), piece.text.clone());
        payload.entities = (!piece.entities.is_empty()).then(|| piece.entities.clone());
        payload.link_preview_options = Some(no_preview());
        let body = WithKeyboard { payload, reply_markup: keyboard.to_send() };
        self.call(errand, Lane::Edit, EditMessageText::NAME, &body).await
    }

    /// Waits for the chat's turn and calls, again after a 429 whose wait still fits. The outer error is a turn that did not
    /// come, the inner one the call's.
    async fn call<B: serde::Serialize + Sync>(
        &self,
        errand: Errand<'_>,
        lane: Lane,
        method: &str,
        body: &B,
    ) -> Result<Result<Value, Trouble>, Failure> {
        let turn_until = errand.until.checked_sub(limits::REQUEST).unwrap_or(errand.until);
        let mut answer = None;
        loop {
            match (self.pacer.turn(errand.to.chat, lane, turn_until).await, answer.take()) {
                (Ok(()), _) => {}
                (Err(_), Some(answer)) => return Ok(answer),
                (Err(after), None) => {
                    return Err(Failure::Retry { after, why: "messages to this chat wait for their turn".to_owned() });
                }
            }
            let within = errand.until.saturating_duration_since(self.clock.instant());
            let said = self.client.call(method, body, within).await;
            let Some(wait) = said.as_ref().err().and_then(wait_wanted) else { return Ok(said) };
            if self.pacer.hold(errand.to.chat, wait) {
                tracing::warn!(place = %errand.place, ?wait, "Telegram asks to slow down; messages to this chat wait");
            }
            answer = Some(said);
        }
    }

    /// Looks where a message landed. One outside its topic is seen by the wrong people: it is deleted.
    async fn arrived(&self, errand: Errand<'_>, result: &Value) -> Result<Sent, Failure> {
        let Some(sent) = Sent::read(result) else {
            return Err(Failure::Ambiguous { why: "the answer names no message".to_owned() });
        };
        let Some(thread) = errand.to.thread else { return Ok(sent) };
        if sent.thread == Some(i64::from(thread)) {
            return Ok(sent);
        }
        self.delete(errand, sent.id).await;
        Err(Failure::PlaceGone { why: format!("topic {thread} is not there; a message to it landed elsewhere") })
    }

    /// A message that came back without the keyboard it was sent with gets it by an edit, or is taken back.
    async fn mend_keyboard(
        &self,
        errand: Errand<'_>,
        id: i32,
        piece: &Piece,
        keyboard: &Keyboard,
    ) -> Result<(), Failure> {
        let mended = self.edit(errand, id, piece, keyboard).await;
        let why = match mended {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(trouble)) => match failure(&trouble, Act::Change, errand.place) {
                Failure::Unchanged => return Ok(()),
                other => other,
            },
            Err(no_turn) => no_turn,
        };
        self.delete(errand, id).await;
        Err(Failure::Retry { after: DELETE_PAUSE, why: format!("the card came back without its buttons ({why})") })
    }

    async fn delete(&self, errand: Errand<'_>, id: i32) {
        for _ in 0..DELETE_TRIES {
            let within = errand.until.saturating_duration_since(self.clock.instant());
            if within.is_zero() {
                break;
            }
            let body = DeleteMessage::new(errand.to.recipient(), MessageId(id));
            let Err(trouble) = self.client.call::<_, Value>(DeleteMessage::NAME, &body, within).await else { return };
            if matches!(&trouble, Trouble::Refused(refusal) if meaning(refusal) == Meaning::MessageGone) {
                return;
            }
            tokio::time::sleep(wait_wanted(&trouble).unwrap_or(DELETE_PAUSE).min(within)).await;
        }
        tracing::error!(place = %errand.place, message = id, "a message must go and could not be deleted; please delete it");
    }
}

fn no_preview() -> LinkPreviewOptions {
    LinkPreviewOptions {
        is_disabled: true,
        url: None,
        prefer_small_media: false,
        prefer_large_media: false,
        show_above_text: false,
    }
}

fn is_link_refused(answer: &Result<Value, Trouble>) -> bool {
    matches!(answer, Err(Trouble::Refused(refusal)) if meaning(refusal) == Meaning::LinkRefused)
}

fn fingerprint(to: Address, key: &SendKey, pieces: &[Piece]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (to.chat, to.thread, &key.0).hash(&mut hasher);
    for piece in pieces {
        piece.text.hash(&mut hasher);
    }
    hasher.finish()
}

/// How many messages of a series are there already, by the series' fingerprint. Bounded: the oldest is forgotten, which
/// costs a repetition and nothing else.
#[derive(Debug, Default)]
struct Unfinished(VecDeque<(u64, usize)>);

impl Unfinished {
    fn get(&self, id: u64) -> usize {
        self.0.iter().find(|(known, _)| *known == id).map_or(0, |(_, sent)| *sent)
    }

    fn set(&mut self, id: u64, sent: usize) {
        self.drop(id);
        self.0.push_back((id, sent));
        if self.0.len() > UNFINISHED {
            self.0.pop_front();
        }
    }

    fn drop(&mut self, id: u64) {
        self.0.retain(|(known, _)| *known != id);
    }
}

#[cfg(test)]
mod tests;
