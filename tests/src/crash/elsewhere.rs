//! How long it takes until every copy of a card knows of an answer that was given in the app.

use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;
use sim::terreno::{AskSpec, Script};

use super::crowd::{Copy, Crowd};
use crate::screen::Channel;
use crate::world::World;

/// How many asks each person has, so that the pace of one chat decides nothing.
const EACH: usize = 5;
/// How long after one answer the next is given.
const BETWEEN: Duration = Duration::from_millis(150);
/// How long each part may take.
const PATIENCE: Duration = Duration::from_secs(90);

/// Answers so many asks in the app, each shown on both channels, and gives the time to each copy's last change, sorted.
///
/// # Errors
/// If the scene cannot be set, or a copy is not settled in the end.
pub async fn settled(asks: usize, poll: &str) -> anyhow::Result<Vec<Duration>> {
    let world = World::start().await?;
    let people = asks.div_ceil(EACH).max(1);
    let crowd = Crowd::join(&world, u32::try_from(people)?);
    let mut cards = Vec::new();
    for number in 0..asks {
        let (who, mark) = (number % people, format!("q{number}q"));
        let input = json!({"prompt": format!("Ask {mark}?"), "confirmLabel": "Go", "denyLabel": "Stop"});
        let email = &crowd.people.get(who).context("nobody")?.email;
        let asked = world.terreno.ask_then(email, AskSpec::new("confirm", input), Script::new().end())?;
        cards.push((who, mark, asked));
    }
    let copies = || -> Vec<Vec<Copy>> {
        let seen: Vec<Vec<Copy>> = crowd
            .people
            .iter()
            .map(|person| Channel::ALL.into_iter().flat_map(|channel| person.sees(&world, channel)).collect())
            .collect();
        let of = |(who, mark, _): &(usize, String, _)| {
            seen.get(*who).into_iter().flatten().filter(|copy| copy.text.contains(mark)).cloned().collect()
        };
        cards.iter().map(of).collect()
    };
    let shown = || copies().iter().all(|copies| copies.iter().filter(|copy| copy.is_live()).count() == 2);
    let over = || copies().iter().flatten().all(|copy| !copy.is_live() && !copy.is_busy());

    let gateway = world.gateway(&crowd.setup(&Channel::ALL, poll)).await?;
    until("every card is live", shown).await?;
    gateway.wait_at_rest(PATIENCE).await?;
    let mut answered = Vec::new();
    for (_, _, asked) in &cards {
        answered.push(world.discord.now());
        world.terreno.press(&asked.history_id, "approve").await?;
        tokio::time::sleep(BETWEEN).await;
    }
    until("every copy is settled", over).await?;
    gateway.wait_at_rest(PATIENCE).await?;
    let mut times = Vec::new();
    for (copies, at) in copies().iter().zip(answered) {
        times.extend(copies.iter().filter_map(|copy| copy.edited?.checked_sub(at)));
    }
    anyhow::ensure!(times.len() >= 2 * asks, "{} of {} copies changed", times.len(), 2 * asks);
    times.sort();
    world.assert_well_behaved()?;
    Ok(times)
}

async fn until(what: &str, done: impl Fn() -> bool) -> anyhow::Result<()> {
    let waiting = async {
        while !done() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.with_context(|| format!("{what}: not within {PATIENCE:?}"))
}
