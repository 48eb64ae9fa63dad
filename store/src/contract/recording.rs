//! Recording asks, and finding them again.

use std::sync::Arc;

use asks::ids::{AskKey, ButtonId};
use asks::life::{Life, Why};

use super::samples::{BUTTONS, account, chat, key, line, new_ask, record, recorded};
use super::{Case, promise};
use crate::ledger::{Ledger, NewAsk, Recorded};
use crate::record::{DeliveryState, Seq};
use crate::token::TapToken;

pub(super) async fn an_ask_is_recorded_once(ledger: &Arc<dyn Ledger>) -> Case {
    let before = ledger.sequence();
    let (first, deliveries) = recorded(&**ledger, "one", &[chat(7), chat(8), chat(7)]).await?;
    promise!(first.seq > before, "a recorded ask has a new position");
    promise!(ledger.sequence() >= first.seq, "a recorded ask is durable when its call returns");
    promise!(deliveries.len() == 2, "a place named twice gets one delivery, not {}", deliveries.len());
    promise!(deliveries.iter().all(|d| d.state == DeliveryState::Planned && d.ask == first.key), "{deliveries:?}");
    let mut again = new_ask("one", &[chat(9)]);
    again.record.card.text.push_str(" All of them.");
    let Recorded::Known(known) = ledger.record(again).await? else {
        return Err(super::Broken("a known ask was recorded again".to_owned()));
    };
    promise!(known == first, "a known ask is returned as it stands");
    promise!(ledger.ask(&first.key).await? == Some(first.clone()), "an ask is read as it was recorded");
    promise!(ledger.deliveries(&first.key).await? == deliveries, "a known ask gets no further deliveries");
    Ok(())
}

pub(super) async fn ids_that_differ_only_in_their_borders_are_different_asks(ledger: &Arc<dyn Ledger>) -> Case {
    let long = "x".repeat(10_000);
    let keys =
        [("a", "bc", "d"), ("ab", "c", "d"), ("a", "b", "cd"), ("a", "bc", ""), ("", "", "\0"), ("a/b", "c", "d")];
    let mut keys: Vec<AskKey> = keys
        .iter()
        .map(|(s, c, a)| AskKey { source: (*s).into(), conversation: (*c).into(), ask: (*a).into() })
        .collect();
    keys.push(AskKey { ask: long.as_str().into(), ..key("") });
    keys.push(AskKey { ask: format!("{long}y").as_str().into(), ..key("") });
    for key in &keys {
        let ask =
            NewAsk { record: crate::record::AskRecord { key: key.clone(), ..record("x", "me", 1) }, places: vec![] };
        promise!(matches!(ledger.record(ask).await?, Recorded::New(..)), "taken for another ask");
    }
    for key in &keys {
        promise!(ledger.ask(key).await?.is_some_and(|ask| ask.key == *key), "another ask was found");
    }
    promise!(ledger.open_asks(None).await?.len() == keys.len(), "every ask is listed");
    Ok(())
}

pub(super) async fn open_asks_are_listed_by_account_and_age(ledger: &Arc<dyn Ledger>) -> Case {
    for (ask, owner, at) in [("late", "me", 30), ("early", "me", 10), ("middle", "you", 20)] {
        ledger.record(NewAsk { record: record(ask, owner, at), places: vec![] }).await?;
    }
    let names = |asks: Vec<crate::record::AskRecord>| -> Vec<String> {
        asks.iter().map(|ask| ask.key.ask.as_str().to_owned()).collect()
    };
    promise!(names(ledger.open_asks(None).await?) == ["early", "middle", "late"], "oldest first");
    promise!(names(ledger.open_asks(Some(&account("me"))).await?) == ["early", "late"], "of one account only");
    promise!(ledger.open_asks(Some(&account("nobody"))).await?.is_empty(), "of nobody");
    promise!(names(ledger.recent_asks(2).await?) == ["middle", "early"], "newest move first, no more than asked for");
    Ok(())
}

pub(super) async fn content_is_kept_whole(ledger: &Arc<dyn Ledger>) -> Case {
    let (ask, _) = recorded(&**ledger, "one", &[]).await?;
    for length in [10, 100_000, 2_999, 3_000, 3_001, 0, 50] {
        let content: String = "aé\u{1f600}".chars().cycle().take(length).collect();
        ledger.set_content(&ask.key, content.clone()).await?;
        let read = ledger.ask(&ask.key).await?;
        promise!(read.as_ref().and_then(|ask| ask.content.as_ref()) == Some(&content), "{length} characters");
        promise!(read.is_some_and(|read| read.seq == ask.seq), "content is no move");
    }
    ledger.set_content(&key("unknown"), "text".to_owned()).await?;
    promise!(ledger.ask(&key("unknown")).await?.is_none(), "content makes no ask");
    Ok(())
}

pub(super) async fn a_token_leads_to_its_button(ledger: &Arc<dyn Ledger>) -> Case {
    let (ask, deliveries) = recorded(&**ledger, "one", &[chat(7), chat(8)]).await?;
    let later = ledger.add_delivery(&ask.key, chat(9)).await?;
    promise!(later.is_some(), "a delivery can be added");
    for delivery in deliveries.iter().chain(&later) {
        for button in BUTTONS {
            let token = ledger.token_key().token(&ask.key, delivery.id, &ButtonId::new(button));
            let Some(found) = ledger.token(&token.hash()).await? else {
                return Err(super::Broken(format!("no token for {button} of delivery {}", delivery.id)));
            };
            promise!(found.ask == ask.key && found.delivery == delivery.id, "the token leads elsewhere");
            promise!(found.button.as_str() == button, "the token leads to another button");
        }
    }
    promise!(ledger.token(&TapToken::from_outside("forged").hash()).await?.is_none(), "a forged token is unknown");
    Ok(())
}

pub(super) async fn deliveries_are_added_once_per_place(ledger: &Arc<dyn Ledger>) -> Case {
    let (ask, deliveries) = recorded(&**ledger, "one", &[chat(7)]).await?;
    promise!(ledger.add_delivery(&ask.key, chat(7)).await?.as_ref() == deliveries.first(), "the one that is there");
    let added = ledger.add_delivery(&ask.key, chat(8)).await?;
    promise!(added.as_ref().is_some_and(|added| added.place == chat(8)), "the added one");
    promise!(ledger.deliveries(&ask.key).await?.len() == 2, "two places, two deliveries");
    promise!(ledger.deliveries_at(&chat(8)).await? == added.clone().into_iter().collect::<Vec<_>>(), "found by place");
    if let Some(added) = &added {
        promise!(ledger.delivery(added.id).await?.as_ref() == Some(added), "found by number");
    }
    promise!(ledger.add_delivery(&key("unknown"), chat(8)).await?.is_none(), "no delivery without an ask");
    promise!(ask.seq > Seq(0), "positions begin above zero");
    Ok(())
}

pub(super) async fn an_ask_put_aside_keeps_what_was_shown_of_it(ledger: &Arc<dyn Ledger>) -> Case {
    let (old, deliveries) = recorded(&**ledger, "again", &[chat(7)]).await?;
    let Some(delivery) = deliveries.first() else { return Err(super::Broken("no delivery".to_owned())) };
    let token = ledger.token_key().token(&old.key, delivery.id, &ButtonId::new("approve"));
    let audit = || line(&old.key, "replaced", 5);
    promise!(
        ledger.put_aside(&old.key, Seq(old.seq.0 + 9), 5, audit()).await?.is_none(),
        "not when it was moved meanwhile"
    );
    let Some(aside) = ledger.put_aside(&old.key, old.seq, 5, audit()).await? else {
        return Err(super::Broken("it was not put aside".to_owned()));
    };
    promise!(aside.key != old.key && aside.life == Life::Withdrawn { why: Why::Replaced }, "{aside:?}");
    promise!(ledger.ask(&old.key).await?.is_none(), "the id is free");
    let (new, others) = recorded(&**ledger, "again", &[chat(7)]).await?;
    promise!(others.first().is_some_and(|other| other.id != delivery.id), "the new ask has deliveries of its own");
    let bound = ledger.token(&token.hash()).await?.map(|token| token.ask);
    promise!(bound.as_ref() == Some(&aside.key), "an old token belongs to what was shown, not to {bound:?}");
    promise!(
        ledger.deliveries(&aside.key).await?.len() == 1 && ledger.deliveries(&new.key).await?.len() == 1,
        "one each"
    );
    Ok(())
}
