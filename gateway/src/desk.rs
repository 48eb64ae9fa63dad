//! What listeners talk to: presses, texts, signs of life, and how well they hear.

use std::sync::Arc;

use adapters::channel::{Desk, Hearing, Press, Reply, Said};
use asks::life::{Life, Note};
use asks::place::{ChannelKind, Place};
use async_trait::async_trait;
use store::ledger::LedgerError;

use crate::announce;
use crate::answer;
use crate::board::{Health, channel_part};
use crate::hub::Hub;
use crate::link::commands;
use crate::listening::Vigil;
use crate::moves::{self, Change};
use crate::words::Language;

/// The gateway's side of every listener.
#[derive(Debug)]
pub struct FrontDesk {
    hub: Arc<Hub>,
    vigil: Arc<Vigil>,
}

impl FrontDesk {
    /// A desk of the hub for one listener, over which `vigil` watches.
    #[must_use]
    pub const fn new(hub: Arc<Hub>, vigil: Arc<Vigil>) -> Self {
        Self { hub, vigil }
    }
}

#[async_trait]
impl Desk for FrontDesk {
    async fn press(&self, press: Press) -> Reply {
        answer::press(&self.hub, press).await
    }

    fn still_saving(&self, language: Option<&str>) -> String {
        language.and_then(Language::from_code).unwrap_or_default().words().still_saving()
    }

    fn recorded(&self, language: Option<&str>) -> String {
        language.and_then(Language::from_code).unwrap_or_default().words().recorded()
    }

    async fn said(&self, said: Said) -> Option<String> {
        if said.place.is_direct() {
            self.alive(&said.place).await;
        }
        commands::said(&self.hub, &said).await
    }

    async fn place_changed(&self, place: Place, state: Result<(), String>) {
        match state {
            Ok(()) => self.alive(&place).await,
            Err(why) => {
                for place in self.known_at(&place) {
                    self.hub.park(&place, &why);
                }
            }
        }
    }

    fn hearing(&self, channel: ChannelKind, hearing: Hearing) {
        self.vigil.note(&hearing, self.hub.clock.instant());
        let health = match hearing {
            Hearing::Listening => Health::Fine,
            Hearing::Deaf { why } | Hearing::Paused { why, .. } => Health::Bad { why },
        };
        self.hub.board.report(channel_part(channel), health);
    }

    async fn taps_may_be_lost(&self, channel: ChannelKind) {
        tracing::warn!(%channel, "{channel} was not heard for longer than it keeps taps; the live cards say so");
        if let Err(error) = note_lost_taps(&self.hub, channel).await {
            tracing::warn!(%channel, "the live cards could not be told that taps may be lost: {error}");
        }
    }

    async fn remember(&self, name: &str, value: Option<String>) {
        if let Err(error) = self.hub.ledger.remember(name, value).await {
            tracing::warn!(name, "{name} was not saved: {error}");
        }
    }

    async fn recall(&self, name: &str) -> Option<String> {
        match self.hub.ledger.recall(name).await {
            Ok(value) => value,
            Err(error) => {
                tracing::warn!(name, "{name} cannot be read: {error}");
                None
            }
        }
    }
}

impl FrontDesk {
    async fn alive(&self, place: &Place) {
        for place in self.known_at(place) {
            if let Err(error) = announce::place_is_back(&self.hub, &place).await {
                tracing::warn!(%place, "what waits for {place} cannot be sent yet: {error}");
            }
        }
    }

    /// The place itself, and the parked topics of its chat: a platform names the chat only.
    fn known_at(&self, place: &Place) -> Vec<Place> {
        let Place::Telegram { chat, .. } = place else { return vec![place.clone()] };
        let mut places = self.hub.links.in_chat(*chat);
        places.push(place.clone());
        places.sort();
        places.dedup();
        places
    }
}

/// Lets every live card on a channel say once that taps made meanwhile may not have arrived.
async fn note_lost_taps(hub: &Arc<Hub>, channel: ChannelKind) -> Result<(), LedgerError> {
    for record in hub.ledger.open_asks(None).await? {
        let waits = matches!(record.life, Life::Live { note: None });
        if !waits || !hub.links.places(&record.account).iter().any(|place| place.channel() == channel) {
            continue;
        }
        let Ok(life) = record.life.clone().noted(Some(Note::TapsMayBeLost)) else { continue };
        moves::make(hub, &record, Change::to(life)).await?;
    }
    Ok(())
}
