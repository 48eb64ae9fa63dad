//! `kill -9` at every named point: whatever was being done there, nothing is lost, nothing counts twice, no card is left behind.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context as _;
use serde_json::json;
use sim::terreno::{AskSpec, Script};
use tests::crash::points::{Killed, killed_at, points};
use tests::proxy::Mode;
use tests::{Card, Channel, EMAIL, SOON, Setup, World};
use tokio::task::JoinSet;

/// How many worlds run side by side.
const WORLDS: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn a_process_killed_at_any_named_point_loses_and_doubles_nothing() -> anyhow::Result<()> {
    let mut waiting: Vec<&'static str> = points().collect();
    waiting.reverse();
    let mut failed = Vec::new();
    let mut running = JoinSet::new();
    loop {
        while running.len() < WORLDS
            && let Some(point) = waiting.pop()
        {
            running.spawn(async move { (point, killed_at(point, 1).await) });
        }
        let Some(ended) = running.join_next().await else { break };
        match ended? {
            (_, Ok(Killed::Recovered(_))) => {}
            (point, Ok(Killed::Never)) => failed.push(format!("{point} was never reached")),
            (point, Err(error)) => failed.push(format!("killed at {point}: {error:#}")),
        }
    }
    anyhow::ensure!(failed.is_empty(), "{}", failed.join("\n\n"));
    Ok(())
}

/// Its buttons would do nothing, and nothing would ever take them away: the gateway does not know the message's id.
#[tokio::test(flavor = "multi_thread")]
async fn a_card_whose_send_was_in_doubt_says_that_it_was_answered_meanwhile() -> anyhow::Result<()> {
    let world = World::behind_proxies().await?;
    let discord = &world.proxies.as_ref().context("a world without proxies")?.discord;
    let armed = |at: &str| Setup { env: vec![("ASKGATE_CRASH_AT".into(), at.into())], ..Setup::discord() };
    let mut gateway = world.gateway_unready(&armed("announce.sent"))?;
    let input = json!({"prompt": "Ask q?", "confirmLabel": "Go", "denyLabel": "Stop"});
    let asked = world.terreno.ask(EMAIL, "confirm", input)?;
    gateway.wait_end(SOON).await?;
    world.terreno.press(&asked.history_id, "approve").await?;
    let screen = world.screen(Channel::Discord);
    anyhow::ensure!(screen.count("Ask q?") == 1, "the send arrived");

    // The next process learns that it is over before it can reach Discord.
    discord.set(Mode::Refuse);
    let mut gateway = world.gateway_unready(&armed("poll.withdrawn"))?;
    gateway.wait_end(SOON).await?;
    discord.heal();
    let _gateway = world.gateway(&Setup::discord()).await?;
    let over = |card: &Card| card.is_settled() && card.text.contains("Ask q?") && card.text.contains("Go");
    screen.see("a settled card", over).await?;
    anyhow::ensure!(screen.count("Ask q?") == 1, "and it is still one");
    world.assert_well_behaved()
}

/// Discord shows a repeated send once, so nothing is given up there after a second kill.
#[tokio::test(flavor = "multi_thread")]
async fn three_kills_within_one_send_lose_neither_the_card_nor_the_words() -> anyhow::Result<()> {
    let world = World::start().await?;
    let armed = |at: &str| Setup { env: vec![("ASKGATE_CRASH_AT".into(), at.into())], ..Setup::discord() };
    let input = json!({"prompt": "Ask q?", "confirmLabel": "Go", "denyLabel": "Stop"});
    let asked = world.terreno.ask_then(EMAIL, AskSpec::new("confirm", input), Script::new().say("Said so."))?;
    for _ in 0..3 {
        world.gateway_unready(&armed("announce.sending-saved"))?.wait_end(SOON).await?;
    }
    let mut gateway = world.gateway(&armed("notice.sending-saved")).await?;
    let screen = world.screen(Channel::Discord);
    let card = screen.card("Ask q?").await?;
    gateway.wait_at_rest(SOON).await?;
    screen.tap(&card, "Go")?;
    gateway.wait_end(SOON).await?;
    for _ in 0..2 {
        world.gateway_unready(&armed("notice.sending-saved"))?.wait_end(SOON).await?;
    }
    let gateway = world.gateway(&Setup::discord()).await?;
    screen.settled(&card, &["Go"]).await?;
    screen.see("the agent's words", |card| card.text == "Said so.").await?;
    gateway.wait_at_rest(SOON).await?;
    anyhow::ensure!((screen.count("Ask q?"), screen.count("Said so.")) == (1, 1), "each is there once");
    let effective = world.terreno.read(|state| state.effective(&asked.history_id, &asked.tool_call_id));
    anyhow::ensure!(effective == 1, "{effective} answers took effect");
    world.assert_well_behaved()
}

#[test]
fn every_point_in_the_code_is_in_the_list_and_the_other_way_round() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut open: Vec<_> = ["adapters/src", "gateway/src", "store/src"].map(|name| root.join(name)).into();
    let mut found = BTreeSet::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else {
                let text = std::fs::read_to_string(&path)?;
                let named = text.split("faults::point(\"").skip(1).filter_map(|rest| rest.split('"').next());
                found.extend(named.map(str::to_owned));
            }
        }
    }
    let listed: BTreeSet<String> = faults::POINTS.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(found, listed);
    Ok(())
}
