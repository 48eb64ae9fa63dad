//! How an answer can end, and what the card then says.

use std::time::Duration;

use serde_json::json;
use sim::terreno::{Fault, Model, Route, Script, TurnOutcome};
use tests::{AT_ONCE, Channel, EMAIL, SOON, Setup, World};

use crate::common::{asked_and_shown, choice, effective, only, turns};

on_both_channels!(
    agent_error_after_the_answer,
    conversation_deleted,
    hanging_turn_delays_nobody,
    no_model,
    reply_lost,
    undo,
    unknown_button
);

async fn undo(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&only(channel)).await?;
    let script = Script::new().fail_before_output("Upstream broke.").say("You get {label}.");
    let (asked, card) = asked_and_shown(&world, channel, "Which plan?", script).await?;
    let screen = world.screen(channel);
    screen.answer(&card, "Starter").await?;
    let reopened = screen
        .see("the same card, live again", |now| now.id == card.id && now.edits > card.edits && now.is_live())
        .await?;
    assert_eq!((&reopened.labels, &reopened.tokens), (&card.labels, &card.tokens), "same labels, same tokens");
    assert!(reopened.text.contains("error") && reopened.text.contains("Upstream broke."), "{reopened:?}");
    assert!(!reopened.text.contains("Sending"), "{reopened:?}");
    screen.answer(&reopened, "Team").await?;
    screen.settled(&card, &["Which plan?", "Answered: Team"]).await?;
    screen.see("the agent's words", |card| card.text == "You get Team.").await?;
    assert_eq!(screen.count("Which plan?"), 1);
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (2, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn agent_error_after_the_answer(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&only(channel)).await?;
    let script = Script::new().fail_after_output("Half of it is done.", "Upstream broke.");
    let (asked, card) = asked_and_shown(&world, channel, "Which plan?", script).await?;
    let screen = world.screen(channel);
    screen.answer(&card, "Starter").await?;
    let settled = screen.settled(&card, &["Which plan?", "Answered: Starter", "Upstream broke."]).await?;
    assert!(settled.text.contains("error"), "an agent's error is called an error: {settled:?}");
    screen.see("the agent's words", |card| card.text.contains("Half of it is done.")).await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn unknown_button(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&only(channel)).await?;
    let (asked, card) = asked_and_shown(&world, channel, "Which plan?", Script::new()).await?;
    let field =
        json!({"path": "buttonId", "code": "unknown_button", "message": "No such button.", "fix": "Send another."});
    let body =
        json!({"status": 400, "title": "Unknown buttonId", "code": "UNKNOWN_BUTTON", "meta": {"fields": [field]}});
    world.terreno.inject(Fault::reply(Route::Turn, 400, body.to_string()));
    let screen = world.screen(channel);
    screen.answer(&card, "Starter").await?;
    let open =
        screen.see("the card without that button", |now| now.id == card.id && now.labels == ["Team", "Skip"]).await?;
    assert_eq!(open.links.len(), 1, "it hands off: {open:?}");
    let dead = screen.tap(&card, "Starter")?;
    assert!(!screen.told(&dead, AT_ONCE).await?.is_empty());
    screen.answer(&open, "Team").await?;
    screen.settled(&card, &["Which plan?", "Answered: Team"]).await?;
    assert_eq!(effective(&world, &asked), 1);
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn no_model(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    world.terreno.configure(|options| options.model = Model::Missing);
    let gateway = world.gateway(&only(channel)).await?;
    let (asked, card) = asked_and_shown(&world, channel, "Which plan?", Script::new()).await?;
    let screen = world.screen(channel);
    screen.answer(&card, "Starter").await?;
    let told = screen
        .see("the card, live again and saying why", |now| {
            now.id == card.id && now.is_live() && now.text.contains("Starter") && now.text.contains("model")
        })
        .await?;
    assert_eq!(told.labels, card.labels);
    let polls = || world.terreno.read(|state| state.count(Route::PendingAsks));
    let seen = polls() + 4;
    world
        .terreno
        .wait_for("four more polls", SOON, |state| (state.count(Route::PendingAsks) >= seen).then_some(()))
        .await?;
    assert_eq!(turns(&world, &asked), 1, "it is not posted again by itself");
    assert_eq!(world.terreno.read(|state| state.count_turns(TurnOutcome::NoModel)), 1);
    world.terreno.configure(|options| options.model = Model::Configured);
    screen.answer(&told, "Team").await?;
    screen.settled(&card, &["Which plan?", "Answered: Team"]).await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (2, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn hanging_turn_delays_nobody(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&only(channel)).await?;
    let (stuck, first) =
        asked_and_shown(&world, channel, "Which plan?", Script::new().slow(Duration::from_mins(1))).await?;
    let (asked, second) = asked_and_shown(&world, channel, "Which size?", Script::new()).await?;
    let screen = world.screen(channel);
    screen.answer(&first, "Starter").await?;
    screen.see("the first card at work", |card| card.id == first.id && card.text.contains("Sending: Starter")).await?;
    screen.answer(&second, "Team").await?;
    screen.settled(&second, &["Which size?", "Answered: Team"]).await?;
    let third = world.terreno.ask(EMAIL, "choice", choice("Which colour?"))?;
    let card = screen.card("Which colour?").await?;
    screen.answer(&card, "Skip").await?;
    screen.settled(&card, &["Which colour?", "Answered: Skip"]).await?;
    assert_eq!((turns(&world, &stuck), effective(&world, &asked), effective(&world, &third)), (1, 1, 1));
    let now = screen.messages();
    let waiting = now.iter().find(|card| card.id == first.id);
    assert!(waiting.is_some_and(|card| !card.is_live() && card.text.contains("Sending")), "{now:#?}");
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn reply_lost(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&only(channel)).await?;
    let script = Script::new().say("You get {label}.");
    let (asked, card) = asked_and_shown(&world, channel, "Which plan?", script).await?;
    world.terreno.inject(Fault::drop(Route::Turn).after());
    let screen = world.screen(channel);
    screen.answer(&card, "Starter").await?;
    let settled = screen.settled(&card, &["Which plan?", "Answered: Starter"]).await?;
    assert!(!settled.text.contains("elsewhere"), "our own answer is never elsewhere: {settled:?}");
    screen.see("the agent's words", |card| card.text == "You get Starter.").await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn conversation_deleted(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&only(channel)).await?;
    let (asked, card) = asked_and_shown(&world, channel, "Which plan?", Script::new()).await?;
    world.terreno.set_deleted(&asked.history_id, true)?;
    let screen = world.screen(channel);
    screen.settled(&card, &["Which plan?", "deleted"]).await?;
    let tap = screen.tap(&card, "Team")?;
    assert!(screen.told(&tap, AT_ONCE).await?.contains("deleted"));
    assert_eq!(turns(&world, &asked), 0);
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_times_out_is_looked_up_and_not_posted_blindly() -> anyhow::Result<()> {
    let world = World::start().await?;
    let setup = Setup { source: "turn_timeout = \"1s\"".to_owned(), ..Setup::default() };
    let gateway = world.gateway(&setup).await?;
    let script = Script::new().slow(Duration::from_secs(3)).say("You get {label}.");
    let (asked, card) = asked_and_shown(&world, Channel::Telegram, "Which plan?", script).await?;
    let copy = world.screen(Channel::Discord).card("Which plan?").await?;
    let screen = world.screen(Channel::Telegram);
    screen.answer(&card, "Starter").await?;
    screen.settled(&card, &["Which plan?", "Answered: Starter"]).await?;
    world.screen(Channel::Discord).settled(&copy, &["Answered: Starter"]).await?;
    screen.see("the agent's words", |card| card.text == "You get Starter.").await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}
