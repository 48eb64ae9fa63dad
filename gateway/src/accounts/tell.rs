//! Telling people that their account has to sign in again.

use std::sync::Arc;

use adapters::channel::{Failure, SendKey};
use asks::ids::AccountKey;
use asks::place::Place;

use super::save;
use crate::hub::Hub;
use crate::show::one_line;

/// How often one text is tried before its place is given up.
const TRIES: u32 = 20;

/// Tells a parked account's person once, at each of their places, that they have to sign in again.
pub(super) fn tell(hub: &Arc<Hub>, account: &AccountKey) {
    let (hub, account) = (Arc::clone(hub), account.clone());
    hub.clone().spawn(async move {
        let Some(since) = hub.accounts.get(&account).and_then(|record| Some(record.parked?.since)) else { return };
        let label = hub.sources.get(&account.source).map(|source| source.config.label.clone()).unwrap_or_default();
        let (words, called) = (hub.words(&account), hub.links.called(&account));
        for place in hub.links.direct_places(&account) {
            let link = match crate::link::codes::issue(&hub, &place, None, hub.links.language(&account)).await {
                Ok(code) => code.and_then(|code| hub.page(&format!("link/{code}"))),
                Err(error) => {
                    tracing::warn!(%account, "no link to sign in again could be made: {error}");
                    None
                }
            };
            let text = words.sign_in_again(&one_line(&called), &one_line(&label), link.as_deref());
            if !send(&hub, &place, &text, &SendKey(format!("sign-in-{account}-{since}"))).await {
                return;
            }
        }
        let _turn = hub.accounts.turn.lock().await;
        let Some(mut record) = hub.accounts.get(&account) else { return };
        if let Some(parked) = record.parked.as_mut().filter(|parked| parked.since == since) {
            parked.told = true;
            if let Err(error) = save(&hub, &record).await {
                tracing::warn!(%account, "that {account} was told to sign in again is not saved: {error}");
            }
        }
    });
}

/// Sends one text; a place that does not take it is given up. Returns whether to go on: not when the service stops.
async fn send(hub: &Arc<Hub>, place: &Place, text: &str, key: &SendKey) -> bool {
    let Some(channel) = hub.channels.get(&place.channel()) else { return true };
    for _ in 0..TRIES {
        let pause = match channel.turn(place).await {
            Err(after) => after,
            Ok(()) => match channel.notify(place, text, None, key).await {
                Ok(()) => return true,
                Err(Failure::Retry { after, .. }) => after,
                Err(failure) => {
                    tracing::warn!(%place, "{place} could not be told to sign in again: {failure}");
                    return true;
                }
            },
        };
        if !hub.wait_softly(hub.jitter(pause)).await {
            return false;
        }
    }
    true
}
