//! Phone notifications through an ntfy server.
//!
//! | file | what |
//! | --- | --- |
//! | `render` | a card as a notification: pure |
//! | `limits` | what a notification holds |
//! | `client` | one publish: a deadline, and errors without topic and token |
//! | `failure` | the one file that turns what the server says into what to do next |
//!
//! Nobody listens here: the phone itself sends a pressed action to the service's own `POST /n/{token}`. A notification carries
//! a sequence id, so that a settled ask replaces its own notification; servers before 2.16 show a second one instead.

mod client;
mod failure;
mod limits;
mod render;

use std::sync::Arc;
use std::time::Duration;

use asks::place::{ChannelKind, MessageRef, Place};
use async_trait::async_trait;
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::channel::{Capabilities, CardView, Channel, Desk, Failure, Hearing, SendKey};
use client::Client;

/// How often the server's health is looked at.
const LOOK: Duration = Duration::from_secs(30);
/// How soon it is looked at again while it cannot be reached.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// What an ntfy channel is made of.
pub struct NtfyOptions {
    /// The server's address.
    pub url: Url,
    /// The access token, where the server wants one.
    pub token: Option<String>,
    /// Where phones reach this service: what stands before `/n/{token}`.
    pub public_url: Url,
    /// The shared client.
    pub http: reqwest::Client,
}

/// The channel.
#[derive(Debug)]
pub struct NtfyChannel {
    client: Client,
    actions: render::Actions,
}

impl NtfyChannel {
    /// Makes the channel. Nothing is sent before the first card.
    #[must_use]
    pub fn new(options: NtfyOptions) -> Self {
        Self {
            client: Client::new(options.http, &options.url, options.token),
            actions: render::Actions::new(&options.public_url),
        }
    }

    fn topic(place: &Place) -> Result<&str, Failure> {
        match place {
            Place::Ntfy(topic) => Ok(topic),
            other => Err(Failure::Refused { why: format!("{other} is no ntfy topic") }),
        }
    }
}

#[async_trait]
impl Channel for NtfyChannel {
    fn kind(&self) -> ChannelKind {
        ChannelKind::Ntfy
    }

    fn capabilities(&self) -> Capabilities {
        limits::CAPABILITIES
    }

    async fn present(&self, place: &Place, view: &CardView, key: &SendKey) -> Result<MessageRef, Failure> {
        let topic = Self::topic(place)?;
        let sequence = sequence(key);
        self.client.publish(&render::card(topic, &sequence, view, &self.actions)).await?;
        // The topic is a secret and stands in the place already.
        Ok(MessageRef { chat: "ntfy".to_owned(), id: sequence })
    }

    async fn revise(&self, place: &Place, message: &MessageRef, view: &CardView) -> Result<(), Failure> {
        let topic = Self::topic(place)?;
        if !render::is_worth_a_notification(view) {
            return Err(Failure::Unchanged);
        }
        self.client.publish(&render::card(topic, &message.id, view, &self.actions)).await
    }

    async fn notify(
        &self,
        place: &Place,
        text: &str,
        _about: Option<&MessageRef>,
        key: &SendKey,
    ) -> Result<(), Failure> {
        let topic = Self::topic(place)?;
        self.client.publish(&render::text(topic, &sequence(key), text)).await
    }

    async fn working(&self, _place: &Place) {}

    async fn listen(self: Arc<Self>, desk: Arc<dyn Desk>, stop: CancellationToken) -> Result<(), Failure> {
        loop {
            let health = tokio::select! {
                () = stop.cancelled() => return Ok(()),
                health = self.client.health() => health,
            };
            let pause = if health.is_ok() { LOOK } else { LOOK_AGAIN };
            let hearing = match health {
                Ok(()) => Hearing::Listening,
                Err(failure) => Hearing::Deaf { why: format!("the ntfy server cannot be reached: {failure}") },
            };
            desk.hearing(ChannelKind::Ntfy, hearing);
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    async fn examine(&self) -> Result<String, Failure> {
        self.client.health().await.map(|()| "the ntfy server is healthy".to_owned())
    }
}

/// What a notification is replaced by: the same for every attempt at one card, and telling nothing of it.
fn sequence(key: &SendKey) -> String {
    let digest = Sha256::new().chain_update(b"ntfy sequence").chain_update(key.0.as_bytes()).finalize();
    digest.iter().take(12).fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}
