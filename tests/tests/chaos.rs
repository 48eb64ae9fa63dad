//! The network breaks in the middle of the main job: it comes to the same end all the same, without a restart.

use std::time::Duration;

use serde_json::json;
use sim::terreno::{AskSpec, Asked, Script};
use tests::proxy::{Mode, Proxy};
use tests::world::Proxies;
use tests::{Channel, EMAIL, Setup, World};
use tokio::task::JoinSet;

/// How long the network is broken.
const BROKEN: Duration = Duration::from_secs(4);
/// How long it may take until everything is as it has to be, once the network is whole again: the promised 15 s, twice.
const RECOVERED: Duration = Duration::from_secs(30);

/// What is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Telegram,
    Discord,
    DiscordSocket,
    Terreno,
}

/// When it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// Just before something is asked.
    Announce,
    /// Just before somebody answers in Telegram.
    Tap,
}

const VICTIMS: [Victim; 4] = [Victim::Telegram, Victim::Discord, Victim::DiscordSocket, Victim::Terreno];
const MODES: [Mode; 4] = [Mode::Refuse, Mode::Stall, Mode::BlackHole, Mode::LoseAnswers];

impl Victim {
    const fn of(self, proxies: &Proxies) -> &Proxy {
        match self {
            Self::Telegram => &proxies.telegram,
            Self::Discord => &proxies.discord,
            Self::DiscordSocket => &proxies.discord_socket,
            Self::Terreno => &proxies.terreno,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_network_that_breaks_while_cards_are_shown_ends_in_the_same_cards() -> anyhow::Result<()> {
    all(Moment::Announce).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_network_that_breaks_under_a_tap_ends_in_the_same_answer() -> anyhow::Result<()> {
    all(Moment::Tap).await
}

async fn all(moment: Moment) -> anyhow::Result<()> {
    let mut waiting: Vec<(Victim, Mode)> =
        VICTIMS.into_iter().flat_map(|victim| MODES.into_iter().map(move |mode| (victim, mode))).collect();
    let mut running = JoinSet::new();
    let mut failed = Vec::new();
    loop {
        while running.len() < 6
            && let Some((victim, mode)) = waiting.pop()
        {
            running.spawn(async move { (victim, mode, broken(victim, mode, moment).await) });
        }
        let Some(ended) = running.join_next().await else { break };
        let (victim, mode, result) = ended?;
        if let Err(error) = result {
            failed.push(format!("{victim:?} {mode:?} at {moment:?}: {error:#}"));
        }
    }
    anyhow::ensure!(failed.is_empty(), "{}", failed.join("\n\n"));
    Ok(())
}

async fn broken(victim: Victim, mode: Mode, moment: Moment) -> anyhow::Result<()> {
    let world = World::behind_proxies().await?;
    let gateway = world.gateway(&Setup { source: "turn_timeout = \"8s\"".to_owned(), ..Setup::default() }).await?;
    let proxies = world.proxies.as_ref().ok_or_else(|| anyhow::anyhow!("a world without proxies"))?;
    let proxy = victim.of(proxies);
    let screen = world.screen(Channel::Telegram);
    let outcome = async {
        if moment == Moment::Announce {
            proxy.set(mode);
        }
        let asked = ask(&world)?;
        if moment == Moment::Announce {
            tokio::time::sleep(BROKEN).await;
            proxy.heal();
        }
        // It is shown everywhere, wherever the network was broken.
        for channel in Channel::ALL {
            let shown = |card: &tests::Card| card.is_live() && card.text.contains("Ask q?");
            world.screen(channel).see_within("the card", RECOVERED, shown).await?;
        }
        let card =
            screen.see_within("the card", RECOVERED, |card| card.is_live() && card.text.contains("Ask q?")).await?;
        if moment == Moment::Tap {
            gateway.wait_at_rest(RECOVERED).await?;
            proxy.set(mode);
        }
        let tap = screen.tap(&card, "Go")?;
        if moment == Moment::Tap {
            tokio::time::sleep(BROKEN).await;
            proxy.heal();
        }
        // Telegram brings it again until it was heard.
        let _told = screen.told(&tap, RECOVERED).await;
        for channel in Channel::ALL {
            let over =
                |card: &tests::Card| card.is_settled() && card.text.contains("Ask q?") && card.text.contains("Go");
            world.screen(channel).see_within("a settled card", RECOVERED, over).await?;
        }
        screen.see_within("the agent's words", RECOVERED, |card| card.text == "Said so.").await?;
        Ok::<Asked, anyhow::Error>(asked)
    };
    let asked = outcome.await.map_err(|error| anyhow::anyhow!("{error:#}\n{}", gateway.log()))?;
    let effective = world.terreno.read(|state| state.effective(&asked.history_id, &asked.tool_call_id));
    anyhow::ensure!(effective == 1, "{effective} answers took effect");
    for channel in Channel::ALL {
        let copies = world.screen(channel).count("Ask q?");
        // Discord knows one message by its nonce; elsewhere a send whose reply was lost is repeated once.
        anyhow::ensure!(copies <= 2, "{copies} copies on {channel:?}");
    }
    gateway.wait_ready(RECOVERED).await?;
    world.assert_well_behaved()
}

fn ask(world: &World) -> anyhow::Result<Asked> {
    let input = json!({"prompt": "Ask q?", "confirmLabel": "Go", "denyLabel": "Stop"});
    Ok(world.terreno.ask_then(EMAIL, AskSpec::new("confirm", input), Script::new().say("Said so."))?)
}

/// A process that hears nothing must not call itself ready, and what it misses it must hear again by itself.
#[tokio::test(flavor = "multi_thread")]
async fn deaf_is_not_ready_and_needs_no_restart() -> anyhow::Result<()> {
    let world = World::behind_proxies().await?;
    let gateway = world.gateway(&Setup::default()).await?;
    let proxies = world.proxies.as_ref().ok_or_else(|| anyhow::anyhow!("a world without proxies"))?;
    for proxy in [&proxies.telegram, &proxies.discord_socket] {
        proxy.set(Mode::BlackHole);
    }
    // Discord's dead heartbeat is noticed within 12 s; a long poll of Telegram may last its 30 s and some.
    gateway
        .wait_answer("/readyz", Duration::from_mins(1), |status, body| {
            status == 503
                && ["telegram", "discord"].iter().all(|part| body.contains(&format!("\"{part}\":{{\"is\":\"bad\"")))
        })
        .await?;
    anyhow::ensure!(gateway.wait_status("/healthz", 200, Duration::from_secs(2)).await.is_ok(), "it lives");
    for proxy in [&proxies.telegram, &proxies.discord_socket] {
        proxy.heal();
    }
    gateway.wait_ready(RECOVERED).await?;
    let asked = ask(&world)?;
    let screen = world.screen(Channel::Discord);
    let card = screen.card("Ask q?").await?;
    screen.answer(&card, "Go").await?;
    world.terreno.wait_for_answer(&asked, RECOVERED).await?;
    world.assert_well_behaved()
}
