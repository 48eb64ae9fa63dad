//! Deliveries and notices.

use std::sync::Arc;

use asks::life::Life;
use asks::place::Place;

use super::samples::{chat, message, moved, recorded, settled, shown, step};
use super::{Broken, Case, promise};
use crate::ledger::Ledger;
use crate::record::{Delivery, DeliveryId, DeliveryState, Notice, NoticeState};

fn first(deliveries: Vec<Delivery>) -> Result<Delivery, Broken> {
    deliveries.into_iter().next().ok_or_else(|| Broken("there is no delivery".to_owned()))
}

pub(super) async fn the_first_card_shown_makes_the_ask_live(ledger: &Arc<dyn Ledger>) -> Case {
    let (ask, deliveries) = recorded(&**ledger, "one", &[chat(7)]).await?;
    let delivery = first(deliveries)?;
    let sending = Delivery { state: DeliveryState::Sending { attempt: 1 }, ..delivery.clone() };
    ledger.save_delivery(sending).await?;
    promise!(ledger.ask(&ask.key).await?.is_some_and(|now| now == ask), "a send that was begun shows nothing yet");
    ledger.save_delivery(shown(&delivery, "1")).await?;
    let live = ledger.ask(&ask.key).await?;
    promise!(live.as_ref().is_some_and(|live| live.life == Life::Live { note: None }), "{live:?}");
    promise!(
        live.as_ref().is_some_and(|live| live.seq > ask.seq && ledger.sequence() >= live.seq),
        "going live is a move"
    );
    ledger.save_delivery(shown(&delivery, "2")).await?;
    promise!(ledger.ask(&ask.key).await? == live, "a live ask does not move again");
    Ok(())
}

pub(super) async fn a_message_leads_to_its_delivery(ledger: &Arc<dyn Ledger>) -> Case {
    let (_, deliveries) = recorded(&**ledger, "one", &[chat(7)]).await?;
    let delivery = first(deliveries)?;
    promise!(ledger.delivery_of_message(&message("1")).await?.is_none(), "nothing is shown yet");
    ledger.save_delivery(shown(&delivery, "1")).await?;
    promise!(ledger.delivery_of_message(&message("1")).await? == Some(shown(&delivery, "1")), "the card's message");
    ledger.save_delivery(shown(&delivery, "2")).await?;
    promise!(ledger.delivery_of_message(&message("1")).await?.is_none(), "a replaced message carries it no more");
    promise!(ledger.delivery_of_message(&message("2")).await?.is_some(), "the message that replaced it does");
    Ok(())
}

pub(super) async fn a_delivery_keeps_its_ask_and_place(ledger: &Arc<dyn Ledger>) -> Case {
    let (_, deliveries) = recorded(&**ledger, "one", &[chat(-5)]).await?;
    let delivery = first(deliveries)?;
    ledger.rename_place(&chat(-5), &chat(-1_005)).await?;
    ledger.save_delivery(shown(&delivery, "1")).await?;
    let now = ledger.delivery(delivery.id).await?;
    promise!(now.as_ref().is_some_and(|now| now.place == chat(-1_005)), "what was read before the chat moved: {now:?}");
    promise!(now.is_some_and(|now| now.state == shown(&delivery, "1").state), "the new state is kept");
    let unknown = Delivery { id: DeliveryId(999_999), ..delivery };
    ledger.save_delivery(unknown.clone()).await?;
    promise!(ledger.delivery(unknown.id).await?.is_none(), "an unknown delivery is not made by saving it");
    Ok(())
}

pub(super) async fn notices_are_open_until_they_end(ledger: &Arc<dyn Ledger>) -> Case {
    let (ask, _) = recorded(&**ledger, "one", &[]).await?;
    let mut say = step(&ask, Life::Live { note: None }, 2);
    let long = "word ".repeat(5_000);
    say.notices = vec![(chat(7), long.clone()), (chat(7), "b".to_owned()), (chat(8), "c".to_owned())];
    let (_, notices) = moved(&**ledger, say).await?;
    promise!(notices.first().is_some_and(|notice| notice.text == long), "a long text is kept whole");
    for (notice, state) in
        notices.iter().zip([NoticeState::Sending { attempt: 1 }, NoticeState::Sent, NoticeState::Dropped])
    {
        ledger.save_notice(Notice { state: state.clone(), ..notice.clone() }).await?;
        promise!(ledger.notice(notice.id).await?.is_some_and(|now| now.state == state), "the new state is kept");
    }
    let open = ledger.open_notices().await?;
    promise!(open.iter().map(|notice| notice.id).eq(notices.first().map(|notice| notice.id)), "{open:?}");
    Ok(())
}

pub(super) async fn a_moved_chat_is_renamed_everywhere(ledger: &Arc<dyn Ledger>) -> Case {
    let (old, new) = (chat(-5), chat(-1_005));
    let topic = |chat| Place::Telegram { chat, topic: Some(3) };
    let (ask, _) = recorded(&**ledger, "one", &[old.clone(), topic(-5), chat(-55)]).await?;
    let mut say = step(&ask, Life::Live { note: None }, 2);
    say.notices = vec![(old.clone(), "text".to_owned())];
    moved(&**ledger, say).await?;
    let (over, _) = recorded(&**ledger, "two", std::slice::from_ref(&old)).await?;
    for delivery in ledger.deliveries(&over.key).await? {
        ledger.save_delivery(shown(&delivery, "2")).await?;
    }
    settled(&**ledger, &over.key, 3).await?;
    promise!(ledger.finish(&over.key).await?, "the second ask is finished");
    ledger.remember("parked:telegram:-5", Some("telegram:-5".to_owned())).await?;
    ledger.remember("parked:telegram:-55", Some("telegram:-55".to_owned())).await?;

    ledger.rename_place(&old, &new).await?;
    let places: Vec<Place> = ledger.deliveries(&ask.key).await?.into_iter().map(|delivery| delivery.place).collect();
    promise!(places == [new.clone(), topic(-1_005), chat(-55)], "{places:?}");
    promise!(ledger.deliveries_at(&old).await?.is_empty(), "nothing is left at the old place");
    promise!(ledger.deliveries_at(&new).await?.len() == 1, "the unfinished one is found at the new place");
    promise!(
        ledger.deliveries(&over.key).await?.iter().all(|delivery| delivery.place == new),
        "finished ones move, too"
    );
    promise!(ledger.open_notices().await?.iter().all(|notice| notice.place == new), "notices move, too");
    let parked = ledger.recall_all("parked:").await?;
    let expected = [("parked:telegram:-1005", "telegram:-1005"), ("parked:telegram:-55", "telegram:-55")];
    promise!(parked.iter().map(|(name, value)| (name.as_str(), value.as_str())).eq(expected), "{parked:?}");
    Ok(())
}
