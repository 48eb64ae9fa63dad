//! Claims and moves: what is decided by compare-and-swap.

use std::sync::Arc;

use asks::ids::ButtonId;
use asks::life::{Life, Note, Why};

use super::samples::{BUTTONS, chat, claimed, key, line, moved, recorded, settled, step, tap};
use super::{Broken, Case, promise};
use crate::ledger::{Claimed, Ledger, Moved};
use crate::record::NoticeState;

pub(super) async fn one_tap_wins(ledger: &Arc<dyn Ledger>) -> Case {
    let (ask, _) = recorded(&**ledger, "one", &[chat(7)]).await?;
    let won = claimed(&**ledger, &ask.key, 2_000).await?;
    promise!(won.seq > ask.seq && ledger.sequence() >= won.seq, "a claim is a durable move");
    promise!(won.moved_at == 2_000, "a claim moves the ask when it was pressed");
    let second = ledger.claim(&ask.key, tap("deny", 8, 2_001), line(&ask.key, "claimed", 2_001)).await?;
    let Claimed::Lost(stands) = second else { return Err(Broken(format!("a second tap: {second:?}"))) };
    promise!(*stands == won, "the loser is told what stands");
    promise!(stands.life.claim().is_some_and(|claim| claim.button.as_str() == "approve"), "the first tap stands");
    let unknown = ledger.claim(&key("unknown"), tap("deny", 8, 1), line(&ask.key, "claimed", 1)).await?;
    promise!(matches!(unknown, Claimed::Unknown), "an unknown ask is called unknown");
    Ok(())
}

pub(super) async fn a_dead_or_unknown_button_loses(ledger: &Arc<dyn Ledger>) -> Case {
    let (ask, _) = recorded(&**ledger, "one", &[]).await?;
    let mut kill = step(&ask, Life::Live { note: Some(Note::Reopened) }, 3);
    kill.kill_buttons = vec![ButtonId::new("deny")];
    let (live, _) = moved(&**ledger, kill.clone()).await?;
    kill.expect = live.seq;
    let (live, _) = moved(&**ledger, kill).await?;
    promise!(live.dead_buttons == [ButtonId::new("deny")], "a dead button is listed once");
    for button in ["deny", "no such button"] {
        let lost = ledger.claim(&ask.key, tap(button, 7, 4), line(&ask.key, "claimed", 4)).await?;
        promise!(matches!(lost, Claimed::Lost(_)), "{button} won: {lost:?}");
    }
    claimed(&**ledger, &ask.key, 5).await?;
    Ok(())
}

pub(super) async fn an_ask_that_is_over_cannot_be_claimed(ledger: &Arc<dyn Ledger>) -> Case {
    let (ask, _) = recorded(&**ledger, "one", &[]).await?;
    let (over, _) = moved(&**ledger, step(&ask, Life::Withdrawn { why: Why::Cancelled }, 3)).await?;
    let lost = ledger.claim(&ask.key, tap("approve", 7, 4), line(&ask.key, "claimed", 4)).await?;
    promise!(matches!(&lost, Claimed::Lost(stands) if **stands == over), "{lost:?}");
    promise!(ledger.audit_trail(10).await?.is_empty(), "a tap that lost writes no line of a claim");
    Ok(())
}

pub(super) async fn concurrent_taps_have_one_winner(ledger: &Arc<dyn Ledger>) -> Case {
    let (ask, _) = recorded(&**ledger, "one", &[chat(7)]).await?;
    let mut taps = Vec::new();
    for (number, button) in (1..=24).zip(BUTTONS.iter().cycle()) {
        let (ledger, key) = (Arc::clone(ledger), ask.key.clone());
        let claim = tap(button, number, number);
        let audit = line(&key, "claimed", number);
        taps.push(tokio::spawn(async move { ledger.claim(&key, claim, audit).await }));
    }
    let (mut winners, mut told) = (Vec::new(), Vec::new());
    for tap in taps {
        match tap.await.map_err(|error| Broken(error.to_string()))?? {
            Claimed::Won(record) => winners.push(record.life.claim().cloned()),
            Claimed::Lost(record) => told.push(record.life.claim().cloned()),
            Claimed::Unknown => return Err(Broken("a known ask is called unknown".to_owned())),
        }
    }
    promise!(winners.len() == 1, "{} taps won", winners.len());
    promise!(told.iter().all(|claim| Some(claim) == winners.first()), "a loser was told another claim");
    promise!(ledger.audit_trail(100).await?.len() == 1, "one claim, one audit line");
    Ok(())
}

pub(super) async fn a_claim_writes_its_audit_line(ledger: &Arc<dyn Ledger>) -> Case {
    let (ask, _) = recorded(&**ledger, "one", &[]).await?;
    claimed(&**ledger, &ask.key, 9).await?;
    promise!(ledger.audit_trail(10).await? == [line(&ask.key, "claimed", 9)], "the line that came with the claim");
    Ok(())
}

pub(super) async fn a_stale_move_changes_nothing(ledger: &Arc<dyn Ledger>) -> Case {
    let (ask, _) = recorded(&**ledger, "one", &[chat(7)]).await?;
    let won = claimed(&**ledger, &ask.key, 2).await?;
    let mut late = step(&ask, Life::Withdrawn { why: Why::Gone }, 3);
    late.notices.push((chat(7), "Gone".to_owned()));
    late.audit = Some(line(&ask.key, "withdrawn", 3));
    let stale = ledger.advance(late).await?;
    promise!(matches!(&stale, Moved::Stale(stands) if **stands == won), "{stale:?}");
    promise!(ledger.ask(&ask.key).await?.as_ref() == Some(&won), "the ask stands where it stood");
    promise!(ledger.open_notices().await?.is_empty(), "no notice of a move that was not made");
    promise!(ledger.audit_trail(10).await?.len() == 1, "no audit line of a move that was not made");
    let mut unknown = step(&ask, Life::Announcing, 3);
    unknown.key = key("unknown");
    promise!(matches!(ledger.advance(unknown).await?, Moved::Unknown), "an unknown ask is called unknown");
    Ok(())
}

pub(super) async fn a_move_writes_all_that_belongs_to_it(ledger: &Arc<dyn Ledger>) -> Case {
    let (ask, _) = recorded(&**ledger, "one", &[chat(7)]).await?;
    let won = settled(&**ledger, &ask.key, 2).await?;
    let mut back = step(&won, won.life.clone().listed_again(Note::Reopened)?, 8);
    back.notices = vec![(chat(7), "first".to_owned()), (chat(8), "second".to_owned())];
    back.audit = Some(line(&ask.key, "reopened", 8));
    let (live, notices) = moved(&**ledger, back).await?;
    promise!(live.seq > won.seq && live.moved_at == 8 && live.life.is_open(), "{live:?}");
    promise!(notices.iter().map(|notice| notice.text.as_str()).eq(["first", "second"]), "{notices:?}");
    promise!(notices.iter().all(|n| n.state == NoticeState::Planned && n.ask == ask.key), "{notices:?}");
    promise!(ledger.open_notices().await? == notices, "the notices are open");
    promise!(ledger.audit_trail(1).await? == [line(&ask.key, "reopened", 8)], "the line that came with the move");
    claimed(&**ledger, &ask.key, 9).await?;
    Ok(())
}
