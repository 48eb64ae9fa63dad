//! What only Discord does: a gateway that is cut, falls silent or forgets its sessions, and events nobody expected.

use std::time::Duration;

use sim::discord::{Dms, Fault, Id, Limits, Reach, Route, Shape, Where};
use sim::terreno::Script;
use tests::{AT_ONCE, Channel, DISCORD_PERSON, EMAIL, SOON, Setup, World};

use crate::common::{asked_and_shown, choice, effective, turns};

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_gateway_is_resumed() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::discord()).await?;
    let (asked, card) = asked_and_shown(&world, Channel::Discord, "Which plan?", Script::new()).await?;
    let before = world.discord.counts();
    world.discord.cut_gateway();
    // Pressed while nobody listens: the event waits for the session to be resumed.
    let screen = world.screen(Channel::Discord);
    let tap = screen.tap(&card, "Starter")?;
    let connected =
        |state: &sim::discord::State| (state.counts().gateway_connections > before.gateway_connections).then_some(());
    world.discord.wait_for("a new connection", Duration::from_secs(16), connected).await?;
    world.discord.wait_until_ready(1, Duration::from_secs(16)).await?;
    assert_eq!(world.discord.counts().identifies, before.identifies, "resumed, without a new session");
    screen.settled(&card, &["Answered: Starter"]).await?;
    let Some(interaction) = (match tap {
        tests::Tap::Discord(id) => world.discord.interaction(id),
        tests::Tap::Telegram(_) => None,
    }) else {
        anyhow::bail!("no interaction");
    };
    assert_eq!(interaction.delivered.max(1), 1);
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_heartbeat_is_noticed() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::discord()).await?;
    let (asked, card) = asked_and_shown(&world, Channel::Discord, "Which plan?", Script::new()).await?;
    let before = world.discord.counts();
    world.discord.freeze_gateway();
    let connected =
        |state: &sim::discord::State| (state.counts().gateway_connections > before.gateway_connections).then_some(());
    world.discord.wait_for("a new connection", Duration::from_secs(24), connected).await?;
    world
        .discord
        .wait_for("a session again", Duration::from_secs(26), |state| {
            let now = state.counts();
            (now.identifies + now.resumes > before.identifies + before.resumes).then_some(())
        })
        .await?;
    let screen = world.screen(Channel::Discord);
    gateway.wait_ready(SOON).await?;
    let tap = screen.tap(&card, "Team")?;
    assert_eq!(screen.told(&tap, SOON).await?, "");
    screen.settled(&card, &["Answered: Team"]).await?;
    let after = world.discord.counts();
    assert!(after.identifies <= before.identifies + 2, "few identifies: {after:?}");
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn forgotten_sessions_are_made_anew() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::discord()).await?;
    let (asked, card) = asked_and_shown(&world, Channel::Discord, "Which plan?", Script::new()).await?;
    world.discord.close_gateway(4009);
    let before = world.discord.counts().identifies;
    world.discord.wait_for("a new session", SOON, |state| (state.counts().identifies > before).then_some(())).await?;
    world.discord.wait_until_ready(1, SOON).await?;
    let screen = world.screen(Channel::Discord);
    let tap = screen.tap(&card, "Skip")?;
    assert_eq!(screen.told(&tap, SOON).await?, "");
    screen.settled(&card, &["Answered: Skip"]).await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn down_and_back() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::discord()).await?;
    let (asked, card) = asked_and_shown(&world, Channel::Discord, "Which plan?", Script::new()).await?;
    // A send whose answer is cut off would be another story: nobody knows then which message it made.
    gateway.wait_at_rest(SOON).await?;
    world.discord.set_reach(Reach::Dropped);
    gateway.wait_answer("/readyz", SOON, |status, body| status == 503 && body.contains("discord")).await?;
    gateway.wait_status("/healthz", 200, SOON).await?;
    let second = world.terreno.ask(EMAIL, "choice", choice("Which size?"))?;
    world.terreno.press(&asked.history_id, "option:team").await?;
    let (_, before) = world.discord.connections();
    tokio::time::sleep(Duration::from_secs(4)).await;
    let (_, after) = world.discord.connections();
    assert!(after - before < 150, "{} connections in four seconds", after - before);
    world.discord.set_reach(Reach::Open);
    let screen = world.screen(Channel::Discord);
    let next =
        screen.see_within("the new card", Duration::from_secs(30), |card| card.text.contains("Which size?")).await?;
    screen.settled(&card, &["Which plan?", "elsewhere", "Team"]).await?;
    gateway.wait_ready(Duration::from_secs(30)).await?;
    screen.answer(&next, "Starter").await?;
    screen.settled(&next, &["Answered: Starter"]).await?;
    assert_eq!(screen.count("Which size?"), 1);
    assert_eq!((turns(&world, &second), effective(&world, &second)), (1, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_another_shape_are_answered() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::discord()).await?;
    for (prompt, shape) in
        [("Plan A?", Shape::UnknownFields), ("Plan B?", Shape::UnknownComponents), ("Plan C?", Shape::Bare)]
    {
        let (asked, card) = asked_and_shown(&world, Channel::Discord, prompt, Script::new()).await?;
        let token = card.tokens.first().cloned().unwrap_or_default();
        let tapped = world.discord.tap_shaped(DISCORD_PERSON, Id::new(card.id), token.as_str(), shape)?;
        world.discord.wait_for_response(tapped, AT_ONCE).await?;
        world.screen(Channel::Discord).settled(&card, &[prompt, "Answered: Team"]).await?;
        assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1), "{shape:?}");
    }
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_comes_twice_counts_once() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::discord()).await?;
    let script = Script::new().slow(Duration::from_secs(1));
    let (asked, card) = asked_and_shown(&world, Channel::Discord, "Which plan?", script).await?;
    let token = card.tokens.first().cloned().unwrap_or_default();
    let tapped = world.discord.tap(DISCORD_PERSON, Id::new(card.id), token.as_str())?;
    world.discord.redeliver(tapped);
    let screen = world.screen(Channel::Discord);
    screen.settled(&card, &["Answered: Team"]).await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    assert_eq!(screen.count("Which plan?"), 1);
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_send_whose_answer_is_lost_makes_one_message() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::discord()).await?;
    world.discord.fault(Where::route(Route::CreateMessage), 1, Fault::DropAfter);
    let (asked, card) = asked_and_shown(&world, Channel::Discord, "Which plan?", Script::new()).await?;
    gateway.wait_at_rest(SOON).await?;
    let screen = world.screen(Channel::Discord);
    assert_eq!(screen.count("Which plan?"), 1, "the nonce makes one of both: {:#?}", screen.messages());
    screen.answer(&card, "Team").await?;
    screen.settled(&card, &["Answered: Team"]).await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_direct_messages_are_named_and_hold_nobody_back() -> anyhow::Result<()> {
    let world = World::start().await?;
    world.discord.set_dms(DISCORD_PERSON, Dms::Closed);
    let gateway = world.gateway(&Setup::default()).await?;
    let (asked, card) = asked_and_shown(&world, Channel::Telegram, "Which plan?", Script::new()).await?;
    gateway.wait_answer("/readyz", SOON, |status, body| status == 200 && body.contains("discord:user:2001")).await?;
    world.screen(Channel::Telegram).answer(&card, "Team").await?;
    world.screen(Channel::Telegram).settled(&card, &["Answered: Team"]).await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    let refused = world.discord.counts().invalid_requests;
    assert!(refused <= 3, "{refused} refused requests");
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_asks_come_oldest_first_under_the_real_limits() -> anyhow::Result<()> {
    let world = World::start().await?;
    world.discord.set_limits(Limits::platform());
    let gateway = world.gateway(&Setup::discord()).await?;
    for number in 0..20 {
        world.terreno.ask(EMAIL, "choice", choice(&format!("Question {number:02}?")))?;
    }
    let all = |state: &sim::discord::State| {
        let messages: Vec<String> =
            state.messages_to(Id::new(DISCORD_PERSON)).map(sim::discord::Message::text).collect();
        (messages.len() == 20).then_some(messages)
    };
    let messages = world.discord.wait_for("twenty cards", Duration::from_secs(52), all).await?;
    let order: Vec<bool> =
        messages.iter().enumerate().map(|(number, text)| text.contains(&format!("Question {number:02}?"))).collect();
    assert_eq!(order, [true; 20], "{messages:#?}");
    let refused = world.discord.counts().invalid_requests;
    assert!(refused <= 2, "{refused} requests ran into the limits");
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}
