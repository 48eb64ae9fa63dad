//! Connections that die without a sign: what hears nothing says so, is begun anew, and hears again.

use std::time::Duration;

use sim::terreno::Script;
use tests::proxy::{Mode, Proxy};
use tests::{Channel, Gateway, SOON, Setup, World};

use crate::common::{asked_and_shown, effective, turns};

/// How soon a platform that is back is used again.
const BACK: Duration = Duration::from_secs(15);
/// How soon a dead gateway connection is noticed, with the second that a machine with much else to do may take.
const NOTICED: Duration = Duration::from_secs(13);
/// How soon it is replaced.
const REPLACED: Duration = Duration::from_secs(25);
/// Three rounds of a long poll, after which a silent listener is begun anew, and some.
const GIVEN_UP: Duration = Duration::from_mins(1);

async fn wait_part(gateway: &Gateway, part: &str, is: &str, within: Duration) -> anyhow::Result<()> {
    let wanted = format!("\"{part}\":{{\"is\":\"{is}\"");
    gateway.wait_answer("/readyz", within, |_, body| body.contains(&wanted)).await.map(drop)
}

fn restarts(metrics: &str) -> u64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix("askgate_listener_restarts_total "));
    line.and_then(|count| count.parse().ok()).unwrap_or_default()
}

fn proxies(world: &World) -> anyhow::Result<(&Proxy, &Proxy)> {
    let proxies = world.proxies.as_ref().ok_or_else(|| anyhow::anyhow!("a world without proxies"))?;
    Ok((&proxies.telegram, &proxies.discord_socket))
}

/// Answers a card on a channel and waits until it is settled.
async fn answers(world: &World, channel: Channel, prompt: &str) -> anyhow::Result<()> {
    let (asked, card) = asked_and_shown(world, channel, prompt, Script::new()).await?;
    let screen = world.screen(channel);
    screen.answer(&card, "Team").await?;
    screen.settled(&card, &[prompt, "Answered: Team"]).await?;
    anyhow::ensure!((turns(world, &asked), effective(world, &asked)) == (1, 1));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn c58_what_hears_nothing_is_begun_anew_and_counted() -> anyhow::Result<()> {
    let world = World::behind_proxies().await?;
    let gateway = world.gateway(&Setup::default()).await?;
    let (telegram, discord) = proxies(&world)?;
    let sessions = world.discord.counts();

    // In the middle of a long poll and of a session, from now on no byte arrives and no connection ends.
    telegram.set(Mode::BlackHole);
    discord.set(Mode::BlackHole);
    wait_part(&gateway, "discord", "bad", NOTICED).await?;
    discord.heal();
    wait_part(&gateway, "discord", "fine", REPLACED).await?;
    wait_part(&gateway, "telegram", "bad", GIVEN_UP).await?;
    gateway.wait_answer("/metrics", GIVEN_UP, |_, body| restarts(body) >= 1).await?;
    gateway.wait_status("/healthz", 200, SOON).await?;
    // Deaf on one channel, it works on the other.
    answers(&world, Channel::Discord, "While Telegram is away?").await?;

    telegram.heal();
    gateway.wait_ready(BACK).await?;
    answers(&world, Channel::Telegram, "After it is back?").await?;
    let begun = world.discord.counts().identifies - sessions.identifies;
    anyhow::ensure!(begun <= 2, "{begun} sessions were begun");
    world.assert_well_behaved()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_begins_no_session_is_not_knocked_down() -> anyhow::Result<()> {
    let world = World::behind_proxies().await?;
    let gateway = world.gateway(&Setup::discord()).await?;
    let (_, discord) = proxies(&world)?;
    // Connections are accepted, and nobody speaks there.
    discord.set(Mode::Stall);
    discord.cut();
    wait_part(&gateway, "discord", "bad", NOTICED).await?;
    let before = discord.connections();
    tokio::time::sleep(Duration::from_secs(12)).await;
    let tried = discord.connections() - before;
    anyhow::ensure!((1..=8).contains(&tried), "{tried} connections in 12 s");
    discord.heal();
    gateway.wait_ready(BACK).await?;
    answers(&world, Channel::Discord, "Which plan?").await?;
    world.assert_well_behaved()
}
