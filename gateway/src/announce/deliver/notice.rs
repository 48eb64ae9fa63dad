//! Sending the agent's words, or what a person has to know.

use adapters::channel::{Failure, SendKey};
use asks::place::MessageRef;
use store::ledger::LedgerError;
use store::record::{DeliveryState, Notice, NoticeId, NoticeState};

use super::super::card::finish_if_over;
use super::super::step::most_sends;
use super::{AMBIGUOUS_PAUSE, Flow, Worker};

impl Worker {
    pub(super) async fn notice(&self, id: NoticeId) -> Result<Flow, LedgerError> {
        let Some(notice) = self.hub.ledger.notice(id).await? else { return Ok(Flow::Done) };
        if notice.place != self.place {
            super::super::touch_notice(&self.hub, &notice);
            return Ok(Flow::Done);
        }
        // What an agent said is for nobody who reads there after the account left.
        if let Some(record) = self.hub.ledger.ask(&notice.ask).await?
            && !self.hub.links.shows(&record.account, &self.place)
        {
            return self.end_notice(notice, NoticeState::Dropped).await;
        }
        let channel = self.hub.channels.get(&self.place.channel());
        let most = most_sends(channel.is_some_and(|channel| channel.capabilities().sends_once));
        let attempt = match notice.state {
            NoticeState::Planned => 1,
            NoticeState::Sending { attempt } if attempt < most => attempt + 1,
            NoticeState::Sending { .. } => return self.end_notice(notice, NoticeState::Dropped).await,
            NoticeState::Sent | NoticeState::Dropped => return Ok(Flow::Done),
        };
        let Some(channel) = channel else {
            return self.end_notice(notice, NoticeState::Dropped).await;
        };
        if let Err(after) = self.turn().await {
            return Ok(Flow::Later(after));
        }
        let about = self.message_of(&notice).await?;
        self.hub.ledger.save_notice(Notice { state: NoticeState::Sending { attempt }, ..notice.clone() }).await?;
        faults::point("notice.sending-saved");
        let key = SendKey(self.hub.keys.name(&format!("notice-{}", notice.id.0)));
        let sent = channel.notify(&self.place, &notice.text, about.as_ref(), &key).await;
        faults::point("notice.sent");
        let failure = match sent {
            Ok(()) => return self.end_notice(notice, NoticeState::Sent).await,
            Err(Failure::Ambiguous { .. }) => return Ok(Flow::Later(AMBIGUOUS_PAUSE)),
            Err(failure) => failure,
        };
        match self.elsewhere(failure) {
            // As for cards: an earlier send in doubt stays in doubt.
            Ok(flow) => {
                self.hub.ledger.save_notice(notice).await?;
                Ok(flow)
            }
            Err(refused) => {
                tracing::error!(ask = %notice.ask, place = %self.place, "a text about {} cannot be shown at {}: {refused}", notice.ask, self.place);
                self.end_notice(notice, NoticeState::Dropped).await
            }
        }
    }

    async fn end_notice(&self, notice: Notice, state: NoticeState) -> Result<Flow, LedgerError> {
        let ask = notice.ask.clone();
        self.hub.ledger.save_notice(Notice { state, ..notice }).await?;
        if let Some(record) = self.hub.ledger.ask(&ask).await? {
            finish_if_over(&self.hub, &record).await?;
        }
        Ok(Flow::Done)
    }

    async fn message_of(&self, notice: &Notice) -> Result<Option<MessageRef>, LedgerError> {
        let deliveries = self.hub.ledger.deliveries(&notice.ask).await?;
        Ok(deliveries.into_iter().filter(|delivery| delivery.place == self.place).find_map(|delivery| {
            match delivery.state {
                DeliveryState::Shown { message, .. } => Some(message),
                _ => None,
            }
        }))
    }
}
