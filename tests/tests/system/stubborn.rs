//! Platforms and hosts that do not do what they should: nothing fails silently, and nothing goes on for ever.

use std::time::Duration;

use serde_json::json;
use sim::telegram::{Fate, Fault};
use sim::terreno::{AskSpec, Model, Options, Script, Step};
use tests::{Channel, EMAIL, SOON, Setup, World};

use crate::common::{asked_and_shown, choice, effective, turns};

/// A host without a model takes every answer and uses none: after the third it is offered no more, and both sides are told.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_never_used_is_not_offered_for_ever() -> anyhow::Result<()> {
    let world = World::with(Options { model: Model::Missing, ..Options::default() }).await?;
    let gateway = world.gateway(&Setup::telegram()).await?;
    let screen = world.screen(Channel::Telegram);
    let (asked, first) = asked_and_shown(&world, Channel::Telegram, "Which plan?", Script::new()).await?;
    let mut card = first;
    for time in 1..=3_usize {
        screen.answer(&card, "Starter").await?;
        // It says so already after the first time; what is new is one more "demo mode" of the host, and another edit.
        let (id, edits) = (card.id, card.edits);
        screen.see("what the host says", |_| screen.count("demo mode") == time).await?;
        let back = |seen: &tests::Card| seen.id == id && seen.edits > edits && seen.text.contains("did not use it");
        card = screen.see("that it was not used", |seen| back(seen) && (seen.is_live() || time == 3)).await?;
    }
    let dead = screen
        .see("no buttons any more", |seen| seen.id == card.id && !seen.is_live() && !seen.links.is_empty())
        .await?;
    assert!(dead.text.contains("Which plan?"), "{dead:?}");
    assert_eq!(screen.count("Which plan?"), 1, "one card, whatever happens");
    assert!(gateway.log().contains("it is not offered here again"), "the operator is told");
    tokio::time::sleep(Duration::from_secs(2)).await;
    let edits = screen.messages().iter().find(|seen| seen.id == card.id).map(|seen| seen.edits);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(screen.messages().iter().find(|seen| seen.id == card.id).map(|seen| seen.edits), edits, "it is quiet");
    // Three taps, three posts; nothing posts by itself.
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (3, 0));
    world.assert_well_behaved()
}

/// A source that uses an id again for another question: nobody may answer what they were not shown.
#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_means_something_else_now_gets_a_card_of_its_own() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::telegram()).await?;
    let screen = world.screen(Channel::Telegram);
    let spec = AskSpec::new("choice", choice("Which plan?")).with_id("call_same");
    let asked = world.terreno.ask_then(EMAIL, spec, Script::new().say("Fine."))?;
    let old = screen.card("Which plan?").await?;
    screen.answer(&old, "Starter").await?;
    screen.settled(&old, &["Answered: Starter"]).await?;

    let input = json!({"prompt": "Delete everything?", "confirmLabel": "Starter", "denyLabel": "Keep"});
    world.terreno.ask_in(&asked.history_id, AskSpec::new("confirm", input).with_id("call_same"))?;
    let new = screen.card("Delete everything?").await?;
    assert_ne!(new.id, old.id, "a card of its own");
    assert!(old.tokens.iter().all(|token| !new.tokens.contains(token)), "no token is bound again");
    let stale = old.labels.iter().position(|label| label == "Starter").and_then(|at| old.tokens.get(at));
    let tap = screen.press(&old, stale.ok_or_else(|| anyhow::anyhow!("no token"))?)?;
    let told = screen.told(&tap, SOON).await?;
    assert!(told.contains("Answered: Starter"), "an old button reports how its own question ended: {told}");
    assert!(
        world.terreno.pending(EMAIL).iter().any(|pending| pending.tool_call_id == "call_same"),
        "and answers nothing"
    );
    screen.answer(&new, "Keep").await?;
    screen.settled(&new, &["Delete everything?", "Answered: Keep"]).await?;
    drop(gateway);
    world.assert_well_behaved()
}

/// The platform takes no edit of a settled card, plain or not: the outcome is said in a message of its own, once.
#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_that_cannot_be_edited_in_is_said() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::telegram()).await?;
    let screen = world.screen(Channel::Telegram);
    let script = Script::new().say("Fine.");
    let (_, card) = asked_and_shown(&world, Channel::Telegram, "Which plan?", script).await?;
    gateway.wait_at_rest(SOON).await?;
    let refused = Fate::refusal(400, "Bad Request: something nobody has heard of");
    world.telegram.order(Fault::on("editMessageText").always().before(refused));
    screen.answer(&card, "Starter").await?;
    let said = |seen: &tests::Card| {
        seen.id != card.id && seen.text.contains("Which plan?") && seen.text.contains("Answered: Starter")
    };
    screen.see("the outcome as a message", said).await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(screen.count("Answered: Starter"), 1, "{:#?}", screen.messages());
    world.assert_well_behaved()
}

/// Edits fail for ever and sends work: the next question is shown all the same (field case C35).
#[tokio::test(flavor = "multi_thread")]
async fn c35_edits_that_always_fail_hold_back_no_new_card() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::telegram()).await?;
    let screen = world.screen(Channel::Telegram);
    let next = AskSpec::new("confirm", json!({"prompt": "And now?", "confirmLabel": "Go", "denyLabel": "Stop"}));
    let script = Script::new().then(Step::Ask(next));
    let (asked, card) = asked_and_shown(&world, Channel::Telegram, "Which plan?", script).await?;
    gateway.wait_at_rest(SOON).await?;
    world
        .telegram
        .order(Fault::on("editMessageText").always().before(Fate::Reply { status: 500, body: "<h1>500</h1>".into() }));
    screen.answer(&card, "Starter").await?;
    world.terreno.wait_for_answer(&asked, SOON).await?;
    screen
        .see_within("the next card", Duration::from_secs(8), |seen| seen.is_live() && seen.text.contains("And now?"))
        .await?;
    world.telegram.clear_faults();
    screen.settled(&card, &["Answered: Starter"]).await?;
    world.assert_well_behaved()
}
