//! The process ends, rudely or in good order, and comes back: nothing is lost, nothing happens twice.

use std::time::Duration;

use serde_json::json;
use sim::terreno::{AskSpec, Fault, Route, Script};
use tests::{AT_ONCE, Channel, EMAIL, SOON, Setup, World};

use crate::common::{asked_and_shown, choice, effective, only, turns};

on_both_channels!(
    answered_meanwhile,
    killed_before_the_turn_arrived,
    killed_with_live_buttons,
    killed_while_the_turn_runs,
    terminated_while_the_turn_runs
);

async fn killed_with_live_buttons(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let setup = only(channel);
    let gateway = world.gateway(&setup).await?;
    let (asked, card) = asked_and_shown(&world, channel, "Which plan?", Script::new()).await?;
    gateway.wait_at_rest(SOON).await?;
    gateway.kill().await?;
    let gateway = world.gateway(&setup).await?;
    let screen = world.screen(channel);
    screen.answer(&card, "Starter").await?;
    screen.settled(&card, &["Which plan?", "Answered: Starter"]).await?;
    screen.see("the agent's words", |card| card.text == "Noted: Starter.").await?;
    assert_eq!(screen.count("Which plan?"), 1, "no second card: {:#?}", screen.messages());
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn killed_while_the_turn_runs(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let setup = only(channel);
    let gateway = world.gateway(&setup).await?;
    let script = Script::new().slow(Duration::from_secs(2)).say("You get {label}.");
    let (asked, card) = asked_and_shown(&world, channel, "Which plan?", script).await?;
    gateway.wait_at_rest(SOON).await?;
    let screen = world.screen(channel);
    screen.answer(&card, "Starter").await?;
    world.terreno.wait_for("a running turn", SOON, |state| (state.running() > 0).then_some(())).await?;
    gateway.kill().await?;
    let gateway = world.gateway(&setup).await?;
    screen.settled(&card, &["Which plan?", "Answered: Starter"]).await?;
    // The reply was lost with the process; it is read from the conversation.
    screen.see("the agent's words", |card| card.text == "You get Starter.").await?;
    assert_eq!((screen.count("Which plan?"), screen.count("You get Starter.")), (1, 1));
    assert_eq!(
        (turns(&world, &asked), effective(&world, &asked)),
        (1, 1),
        "an answer that arrived is not posted again"
    );
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn killed_before_the_turn_arrived(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let setup = only(channel);
    let gateway = world.gateway(&setup).await?;
    let (asked, card) = asked_and_shown(&world, channel, "Which plan?", Script::new()).await?;
    gateway.wait_at_rest(SOON).await?;
    world.terreno.inject(Fault::hang(Route::Turn).for_ever());
    let screen = world.screen(channel);
    screen.answer(&card, "Team").await?;
    world.terreno.wait_for("the turn", SOON, |state| (state.count(Route::Turn) > 0).then_some(())).await?;
    gateway.kill().await?;
    world.terreno.clear_faults();
    let gateway = world.gateway(&setup).await?;
    screen.settled(&card, &["Which plan?", "Answered: Team"]).await?;
    screen.see("the agent's words", |card| card.text == "Noted: Team.").await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn answered_meanwhile(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let setup = only(channel);
    let gateway = world.gateway(&setup).await?;
    let (asked, card) = asked_and_shown(&world, channel, "Which plan?", Script::new()).await?;
    gateway.wait_at_rest(SOON).await?;
    gateway.kill().await?;
    world.terreno.press(&asked.history_id, "option:team").await?;
    let second = world.terreno.ask(EMAIL, "choice", choice("And which size?"))?;
    let gateway = world.gateway(&setup).await?;
    let screen = world.screen(channel);
    screen.settled(&card, &["Which plan?", "elsewhere", "Team"]).await?;
    let next = screen.card("And which size?").await?;
    screen.answer(&next, "Skip").await?;
    world.terreno.wait_for_answer(&second, SOON).await?;
    assert_eq!(turns(&world, &asked), 1, "only the app's own");
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn terminated_while_the_turn_runs(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let mut gateway = world.gateway(&only(channel)).await?;
    let script = Script::new().slow(Duration::from_secs(2)).say("You get {label}.");
    let (asked, card) = asked_and_shown(&world, channel, "Which plan?", script).await?;
    gateway.wait_at_rest(SOON).await?;
    let screen = world.screen(channel);
    screen.answer(&card, "Starter").await?;
    world.terreno.wait_for("a running turn", SOON, |state| (state.running() > 0).then_some(())).await?;
    gateway.terminate().await?;
    let ended = gateway.wait_end(Duration::from_secs(15)).await?;
    assert_eq!(ended.code(), Some(0), "{}", gateway.log());
    // What is claimed was finished within the grace, so nothing is left to wait for.
    let now = screen.messages();
    let settled = now.iter().find(|other| other.id == card.id);
    assert!(settled.is_some_and(|card| card.is_settled() && card.text.contains("Answered: Starter")), "{now:#?}");
    assert_eq!(screen.count("You get Starter."), 1, "{now:#?}");
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    world.assert_well_behaved()?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_it_ends_soon_and_with_success() -> anyhow::Result<()> {
    let world = World::start().await?;
    let mut gateway = world.gateway(&Setup::default()).await?;
    let (_, card) = asked_and_shown(&world, Channel::Telegram, "Which plan?", Script::new()).await?;
    world.screen(Channel::Discord).card("Which plan?").await?;
    gateway.wait_at_rest(SOON).await?;
    gateway.terminate().await?;
    let ended = gateway.wait_end(Duration::from_secs(6)).await?;
    assert_eq!(ended.code(), Some(0), "{}", gateway.log());
    assert_eq!(world.screen(Channel::Telegram).messages(), [card], "a card that waits is left as it is");
    world.assert_well_behaved()?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_it_at_once_and_the_answer_survives() -> anyhow::Result<()> {
    let world = World::start().await?;
    let setup = Setup { server: "shutdown_grace = \"60s\"".to_owned(), ..Setup::telegram() };
    let mut gateway = world.gateway(&setup).await?;
    let (asked, card) = asked_and_shown(&world, Channel::Telegram, "Which plan?", Script::new()).await?;
    world.terreno.inject(Fault::hang(Route::Turn).for_ever());
    let screen = world.screen(Channel::Telegram);
    screen.answer(&card, "Team").await?;
    world.terreno.wait_for("the turn", SOON, |state| (state.count(Route::Turn) > 0).then_some(())).await?;
    gateway.terminate().await?;
    gateway.wait_answer("/readyz", SOON, |status, _| status == 503).await?;
    assert!(gateway.wait_end(Duration::from_secs(1)).await.is_err(), "the first one waits for what is claimed");
    gateway.terminate().await?;
    gateway.wait_end(Duration::from_secs(6)).await?;
    world.terreno.clear_faults();
    let gateway = world.gateway(&setup).await?;
    screen.settled(&card, &["Which plan?", "Answered: Team"]).await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tap_made_while_it_was_away_counts_when_it_is_back() -> anyhow::Result<()> {
    let world = World::start().await?;
    let setup = Setup::telegram();
    let gateway = world.gateway(&setup).await?;
    let (asked, card) = asked_and_shown(&world, Channel::Telegram, "Which plan?", Script::new()).await?;
    gateway.wait_at_rest(SOON).await?;
    gateway.kill().await?;
    let screen = world.screen(Channel::Telegram);
    let tap = screen.tap(&card, "Starter")?;
    let gateway = world.gateway(&setup).await?;
    assert_eq!(screen.told(&tap, SOON).await?, "");
    screen.settled(&card, &["Which plan?", "Answered: Starter"]).await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_again_and_again_it_still_answers_once() -> anyhow::Result<()> {
    let world = World::start().await?;
    let setup = Setup::default();
    let asked = world.terreno.ask_then(EMAIL, AskSpec::new("choice", choice("Which plan?")), Script::new())?;
    // Killed at moments that differ from round to round: while it signs in, polls, sends, edits.
    for round in 0..6_u64 {
        let gateway = world.gateway_unready(&setup)?;
        tokio::time::sleep(Duration::from_millis(150 + 110 * round)).await;
        gateway.kill().await?;
    }
    let gateway = world.gateway(&setup).await?;
    let screen = world.screen(Channel::Telegram);
    let card = screen.card("Which plan?").await?;
    let copy = world.screen(Channel::Discord).card("Which plan?").await?;
    screen.answer(&card, "Team").await?;
    screen.settled(&card, &["Answered: Team"]).await?;
    world.screen(Channel::Discord).settled(&copy, &["Answered: Team"]).await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    assert!(screen.count("Which plan?") <= 2, "at most two copies of an ambiguous send: {:#?}", screen.messages());
    screen.see("the agent's words", |card| card.text == "Noted: Team.").await?;
    let tap = screen.tap(&card, "Starter")?;
    assert!(screen.told(&tap, AT_ONCE).await?.contains("Team"));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

/// What a button would send could not be read, and the process ends: the next one goes on reading.
#[tokio::test(flavor = "multi_thread")]
async fn what_could_not_be_read_is_read_after_the_restart() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::telegram()).await?;
    world.terreno.inject(Fault::html(Route::ReadHistory, 503).for_ever());
    let draft = json!({"title": "Reply", "prompt": "Here is a draft.", "initial": "Tuesday works.", "minLength": 1});
    world.terreno.ask(EMAIL, "markdown", draft)?;
    let screen = world.screen(Channel::Telegram);
    let card = screen.card("Here is a draft.").await?;
    let approves = |card: &tests::Card| card.labels.iter().any(|label| label.contains("Approve"));
    assert!(!approves(&card), "nobody approves what is not shown: {card:#?}");
    gateway.wait_at_rest(SOON).await?;
    gateway.kill().await?;
    world.terreno.clear_faults();
    let gateway = world.gateway(&Setup::telegram()).await?;
    let whole = |now: &tests::Card| now.id == card.id && now.text.contains("Tuesday works.") && approves(now);
    screen.see("the draft and its button", whole).await?;
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}
