//! Finishing, retention, named values and the audit trail.

use std::sync::Arc;

use asks::ids::ButtonId;
use asks::life::{Life, Note};

use super::samples::{account, chat, claimed, key, line, message, moved, recorded, settled, shown, step};
use super::{Case, promise};
use crate::ledger::Ledger;
use crate::record::{Delivery, DeliveryState, Notice, NoticeState};

pub(super) async fn an_ask_finishes_when_all_of_it_has_ended(ledger: &Arc<dyn Ledger>) -> Case {
    let (ask, deliveries) = recorded(&**ledger, "one", &[chat(7), chat(8)]).await?;
    promise!(!ledger.finish(&ask.key).await?, "an open ask is not finished");
    let won = claimed(&**ledger, &ask.key, 2).await?;
    let mut end = step(&won, won.life.clone().accepted(None)?, 3);
    end.notices = vec![(chat(7), "Done.".to_owned())];
    let (_, notices) = moved(&**ledger, end).await?;
    promise!(!ledger.finish(&ask.key).await?, "planned deliveries have not ended");
    for (delivery, id) in deliveries.iter().zip(["1", "2"]) {
        ledger.save_delivery(shown(delivery, id)).await?;
    }
    promise!(!ledger.finish(&ask.key).await?, "a planned notice has not ended");
    for notice in notices {
        ledger.save_notice(Notice { state: NoticeState::Sent, ..notice }).await?;
    }
    for delivery in deliveries.iter().take(1) {
        let sending = Delivery { state: DeliveryState::Sending { attempt: 2 }, ..delivery.clone() };
        ledger.save_delivery(sending).await?;
        promise!(!ledger.finish(&ask.key).await?, "a card on its way has not ended");
        ledger.save_delivery(shown(delivery, "1")).await?;
    }
    promise!(ledger.finish(&ask.key).await?, "all has ended");
    promise!(ledger.finish(&ask.key).await?, "what is finished stays so");
    promise!(ledger.open_asks(None).await?.is_empty(), "a finished ask is not read at the next start");
    promise!(ledger.deliveries_at(&chat(7)).await?.is_empty(), "nor are its deliveries listed by place");
    promise!(ledger.deliveries(&ask.key).await?.len() == 2, "but they are kept");
    promise!(ledger.ask(&ask.key).await?.is_some_and(|ask| ask.finished), "and so is the ask");
    promise!(!ledger.finish(&key("unknown")).await?, "an unknown ask does not finish");
    Ok(())
}

pub(super) async fn a_finished_ask_that_moves_is_open_again(ledger: &Arc<dyn Ledger>) -> Case {
    let (ask, deliveries) = recorded(&**ledger, "one", &[chat(7)]).await?;
    for delivery in &deliveries {
        ledger.save_delivery(shown(delivery, "1")).await?;
    }
    let over = settled(&**ledger, &ask.key, 5).await?;
    ledger.finish(&ask.key).await?;
    let (live, _) = moved(&**ledger, step(&over, over.life.clone().listed_again(Note::Reopened)?, 6)).await?;
    promise!(!live.finished, "an ask that moved is not finished");
    promise!(ledger.open_asks(Some(&account("me"))).await? == [live], "it is listed again");
    promise!(ledger.deliveries_at(&chat(7)).await?.len() == 1, "and so are its deliveries");
    promise!(ledger.prune(1_000_000).await? == 0, "and it is not deleted");
    settled(&**ledger, &ask.key, 7).await?;
    ledger.finish(&ask.key).await?;
    promise!(ledger.add_delivery(&ask.key, chat(9)).await?.is_some(), "a place can be added to a finished ask");
    promise!(ledger.open_asks(None).await?.len() == 1, "then it is not finished any more");
    promise!(ledger.deliveries_at(&chat(9)).await?.len() == 1, "and the new delivery is listed");
    Ok(())
}

pub(super) async fn named_values_are_kept_by_name(ledger: &Arc<dyn Ledger>) -> Case {
    let long = format!("dm:{}", "n".repeat(5_000));
    let names = ["dm:1", "dm:10", "dm:2", "other", "", "dm", &long];
    for name in names {
        ledger.remember(name, Some(format!("value of {}", name.len()))).await?;
    }
    for name in names {
        promise!(ledger.recall(name).await? == Some(format!("value of {}", name.len())), "{} bytes", name.len());
    }
    let found = ledger.recall_all("dm:").await?;
    promise!(found.iter().map(|(name, _)| name.as_str()).eq(["dm:1", "dm:10", "dm:2", &long]), "sorted by name");
    promise!(ledger.recall_all(&long).await?.len() == 1, "a long prefix");
    promise!(ledger.recall_all(&format!("{long}x")).await?.is_empty(), "a prefix of nothing");
    promise!(ledger.recall_all("").await?.len() == names.len(), "all of them");
    ledger.remember("dm:1", Some("x".repeat(20_000))).await?;
    ledger.remember("dm:1", Some("short".to_owned())).await?;
    promise!(ledger.recall("dm:1").await?.as_deref() == Some("short"), "replaced");
    ledger.remember("dm:10", None).await?;
    ledger.remember("never there", None).await?;
    promise!(ledger.recall("dm:10").await?.is_none(), "forgotten");
    promise!(ledger.recall_all("dm:").await?.len() == 3, "only that one");
    Ok(())
}

pub(super) async fn prune_deletes_what_is_finished_and_old(ledger: &Arc<dyn Ledger>) -> Case {
    let mut kept = Vec::new();
    for (name, at) in [("old", 100), ("new", 300), ("unfinished", 100)] {
        let (ask, deliveries) = recorded(&**ledger, name, &[chat(7)]).await?;
        for delivery in &deliveries {
            ledger.save_delivery(shown(delivery, name)).await?;
        }
        settled(&**ledger, &ask.key, at).await?;
        if name != "unfinished" {
            promise!(ledger.finish(&ask.key).await?, "{name} is finished");
        }
        kept.push((ask, deliveries));
    }
    let big = "x".repeat(20_000);
    ledger.set_content(&key("old"), big).await?;
    promise!(ledger.prune(200).await? == 1, "one ask is finished and old");
    promise!(ledger.prune(200).await? == 0, "it is deleted once");
    for (ask, deliveries) in &kept {
        let old = ask.key == key("old");
        promise!(ledger.ask(&ask.key).await?.is_none() == old, "{}", ask.key);
        promise!(ledger.deliveries(&ask.key).await?.is_empty() == old, "the deliveries of {}", ask.key);
        promise!(ledger.delivery_of_message(&message(ask.key.ask.as_str())).await?.is_none() == old, "{}", ask.key);
        for delivery in deliveries {
            promise!(ledger.delivery(delivery.id).await?.is_none() == old, "the delivery of {}", ask.key);
            let token = ledger.token_key().token(&ask.key, delivery.id, &ButtonId::new("deny"));
            promise!(ledger.token(&token.hash()).await?.is_none() == old, "the token of {}", ask.key);
        }
    }
    promise!(ledger.recent_asks(10).await?.len() == 2, "the others are listed");
    let lines = ledger.audit_trail(10).await?;
    promise!(lines.iter().map(|line| line.at).eq([300]), "audit lines of before are gone: {lines:?}");
    recorded(&**ledger, "old", &[]).await?;
    Ok(())
}

pub(super) async fn the_audit_trail_is_in_order(ledger: &Arc<dyn Ledger>) -> Case {
    for at in 1..=7 {
        let mut line = line(&key("one"), "refused", at);
        line.detail = "d".repeat(if at % 2 == 0 { 9_000 } else { 3 });
        ledger.audit(line).await?;
    }
    for limit in [0, 1, 3, 7, 100] {
        let times: Vec<i64> = ledger.audit_trail(limit).await?.iter().map(|line| line.at).collect();
        let expected: Vec<i64> = (1..=7).skip(7_usize.saturating_sub(limit)).collect();
        promise!(times == expected, "the newest {limit}: {times:?}");
    }
    Ok(())
}

pub(super) async fn nothing_is_found_where_nothing_is(ledger: &Arc<dyn Ledger>) -> Case {
    ledger.probe().await?;
    promise!(ledger.ask(&key("one")).await?.is_none(), "no ask");
    promise!(ledger.deliveries(&key("one")).await?.is_empty(), "no deliveries");
    promise!(ledger.open_notices().await?.is_empty(), "no notices");
    promise!(ledger.recall("name").await?.is_none(), "no value");
    promise!(ledger.prune(i64::MAX).await? == 0, "nothing to delete");
    let delivery = Delivery {
        id: crate::record::DeliveryId(1),
        ask: key("one"),
        place: chat(7),
        state: DeliveryState::Planned,
        replaced_at: None,
        copies: Vec::new(),
        refused: None,
    };
    ledger.save_delivery(delivery.clone()).await?;
    promise!(ledger.delivery(delivery.id).await?.is_none(), "saving makes no delivery");
    promise!(!matches!(ledger.recent_asks(1).await?.first().map(|ask| &ask.life), Some(Life::Live { .. })), "no ask");
    Ok(())
}
