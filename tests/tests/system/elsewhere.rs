//! Several copies and several ways to answer: one answer, which every copy tells.

use std::time::Duration;

use serde_json::json;
use sim::terreno::{AskSpec, Script};
use tests::{AT_ONCE, Channel, EMAIL, SOON, Setup, World};

use crate::common::{asked_and_shown, choice, confirm, effective, only, turns};

on_both_channels!(
    answer_and_next_ask,
    answered_in_the_app,
    conversation_went_on,
    double_tap,
    hand_off_settles,
    race_of_two_buttons
);

async fn answer_and_next_ask(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    // The next poll is a minute away, so only the turn's own reply can bring the next ask in time.
    let setup = Setup { source: "poll_active = \"60s\"\npoll_idle = \"60s\"".to_owned(), ..only(channel) };
    let script = Script::new().ask("confirm", confirm("Delete 14 todos?")).say("All gone.");
    let first = world.terreno.ask_then(EMAIL, AskSpec::new("choice", choice("Which plan?")), script)?;
    let gateway = world.gateway(&setup).await?;

    let screen = world.screen(channel);
    let card = screen.card("Which plan?").await?;
    assert_eq!(card.labels, ["Team", "Starter", "Skip"]);
    let polls = || world.terreno.read(|state| state.count(sim::terreno::Route::PendingAsks));
    let before = polls();
    screen.answer(&card, "Starter").await?;
    let next = screen.card("Delete 14 todos?").await?;
    assert_eq!(next.labels, ["Delete", "Keep"]);
    screen.settled(&card, &["Which plan?", "Starter"]).await?;
    assert!(polls() <= before + 2, "the reply brings the next ask, not many polls");

    screen.answer(&next, "Delete").await?;
    screen.settled(&next, &["Delete 14 todos?", "Answered: Delete"]).await?;
    screen.see("the agent's words", |card| card.text == "All gone.").await?;
    assert_eq!(screen.messages().len(), 3, "two cards and one text: {:#?}", screen.messages());
    assert_eq!(effective(&world, &first), 1);
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn answered_in_the_app(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&only(channel)).await?;
    let (asked, card) = asked_and_shown(&world, channel, "Which plan?", Script::new()).await?;
    world.terreno.press(&asked.history_id, "option:starter").await?;
    let settled = world.screen(channel).settled(&card, &["Which plan?", "elsewhere", "Starter"]).await?;
    let tap = world.screen(channel).press(&card, card.tokens.first().map_or("", String::as_str))?;
    let told = world.screen(channel).told(&tap, AT_ONCE).await?;
    assert!(told.contains("Starter"), "a late tap is told the recorded label: {told:?}");
    assert_eq!(world.screen(channel).messages(), [settled]);
    assert_eq!(turns(&world, &asked), 1, "only the app's own turn");
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn conversation_went_on(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&only(channel)).await?;
    let (asked, card) = asked_and_shown(&world, channel, "Which plan?", Script::new()).await?;
    world.terreno.prompt(&asked.history_id, "Never mind.", sim::terreno::Surface::Full).await?;
    let settled = world.screen(channel).settled(&card, &["Which plan?"]).await?;
    assert!(settled.text.contains("No longer needed"), "{settled:?}");
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn double_tap(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&only(channel)).await?;
    let script = Script::new().slow(Duration::from_secs(1)).say("You get {label}.");
    let (asked, card) = asked_and_shown(&world, channel, "Which plan?", script).await?;
    let screen = world.screen(channel);
    let (first, second) = (screen.tap(&card, "Starter")?, screen.tap(&card, "Starter")?);
    let told = [screen.told(&first, AT_ONCE).await?, screen.told(&second, AT_ONCE).await?];
    let losers: Vec<&String> = told.iter().filter(|told| !told.is_empty()).collect();
    assert_eq!(losers.len(), 1, "one tap is taken, the other is told so: {told:?}");
    assert!(losers.iter().all(|told| told.contains("Starter")), "{told:?}");
    screen.settled(&card, &["Which plan?", "Answered: Starter"]).await?;
    screen.see("the agent's words", |card| card.text == "You get Starter.").await?;
    let late = screen.press(&card, card.tokens.first().map_or("", String::as_str))?;
    let told = screen.told(&late, AT_ONCE).await?;
    assert!(told.contains("Starter") && !told.contains("Team"), "the loser is told the recorded label: {told:?}");
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn race_of_two_buttons(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&only(channel)).await?;
    let (asked, card) = asked_and_shown(&world, channel, "Which plan?", Script::new()).await?;
    let screen = world.screen(channel);
    let taps = [(screen.tap(&card, "Starter")?, "Starter"), (screen.tap(&card, "Team")?, "Team")];
    let told = [screen.told(&taps[0].0, AT_ONCE).await?, screen.told(&taps[1].0, AT_ONCE).await?];
    let (winner, loser) = if told[0].is_empty() { (taps[0].1, &told[1]) } else { (taps[1].1, &told[0]) };
    assert!(loser.contains(winner), "{winner} won, the other was told {loser:?}");
    screen.settled(&card, &["Which plan?", &format!("Answered: {winner}")]).await?;
    let turn = world.terreno.wait_for_answer(&asked, SOON).await?;
    assert_eq!(turn.button_id.as_deref(), Some(format!("option:{}", winner.to_lowercase()).as_str()));
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn hand_off_settles(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let setup = Setup {
        handoff_url: Some("https://app.example.com/ai?history={historyId}&ask={toolCallId}#at={toolCallId}".to_owned()),
        ..only(channel)
    };
    let gateway = world.gateway(&setup).await?;
    let files = json!({"prompt": "Please send the receipt.", "accept": ["image", "pdf"], "maxFiles": 2});
    let asked = world.terreno.ask_then(EMAIL, AskSpec::new("files", files).with_id("call/1 ü&x=?"), Script::new())?;
    let card = world.screen(channel).card("Please send the receipt.").await?;
    let id = "call%2F1%20%C3%BC%26x%3D%3F";
    let link = format!("https://app.example.com/ai?history={}&ask={id}#at={id}", asked.history_id);
    assert_eq!(card.links, [link]);
    world.terreno.answer(&asked.history_id, json!({"action": "decline"})).await?;
    world.screen(channel).settled(&card, &["Please send the receipt.", "elsewhere"]).await?;
    assert_eq!(world.screen(channel).messages().len(), 1);
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_in_the_app_settles_every_copy() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::default()).await?;
    let (asked, card) = asked_and_shown(&world, Channel::Telegram, "Which plan?", Script::new()).await?;
    let copy = world.screen(Channel::Discord).card("Which plan?").await?;
    world.terreno.press(&asked.history_id, "skip").await?;
    world.screen(Channel::Telegram).settled(&card, &["Which plan?", "elsewhere", "Skip"]).await?;
    world.screen(Channel::Discord).settled(&copy, &["Which plan?", "elsewhere", "Skip"]).await?;
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_race_across_channels_has_one_winner() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::default()).await?;
    let (asked, card) = asked_and_shown(&world, Channel::Telegram, "Which plan?", Script::new()).await?;
    let (telegram, discord) = (world.screen(Channel::Telegram), world.screen(Channel::Discord));
    let copy = discord.card("Which plan?").await?;
    let (first, second) = (telegram.tap(&card, "Team")?, discord.tap(&copy, "Starter")?);
    let told = [telegram.told(&first, AT_ONCE).await?, discord.told(&second, AT_ONCE).await?];
    let winner = if told[0].is_empty() { "Team" } else { "Starter" };
    assert_eq!(told.iter().filter(|told| told.is_empty()).count(), 1, "{told:?}");
    assert!(told.iter().any(|told| told.contains(winner)), "{winner} won: {told:?}");
    let says = format!("Answered: {winner}");
    telegram.settled(&card, &[&says]).await?;
    let settled = discord.settled(&copy, &[&says]).await?;
    assert!(!settled.text.contains("elsewhere"), "our own answer is never elsewhere: {settled:?}");
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tap_that_loses_against_the_app_is_never_posted_as_an_error() -> anyhow::Result<()> {
    let world = World::start().await?;
    // A slow poll: the app's answer is known to the host only.
    let setup = Setup { source: "poll_active = \"30s\"\npoll_idle = \"30s\"".to_owned(), ..Setup::default() };
    let asked = world.terreno.ask(EMAIL, "choice", choice("Which plan?"))?;
    let gateway = world.gateway(&setup).await?;
    let (telegram, discord) = (world.screen(Channel::Telegram), world.screen(Channel::Discord));
    let (card, copy) = (telegram.card("Which plan?").await?, discord.card("Which plan?").await?);
    world.terreno.press(&asked.history_id, "option:team").await?;
    telegram.answer(&card, "Starter").await?;
    telegram.settled(&card, &["Which plan?", "elsewhere", "Team"]).await?;
    discord.settled(&copy, &["Which plan?", "elsewhere", "Team"]).await?;
    assert_eq!(effective(&world, &asked), 1);
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}
