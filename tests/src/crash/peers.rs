//! The scenario every comparable program was measured with (`reference/peers.md`, 4.2): 300 taps, each acknowledged, posted
//! as a turn of 30 ms, and edited; `kill -9` after at least 120 turns; restart; wait until quiet; count.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;
use sim::terreno::{AskSpec, Asked, Script};

use super::crowd::{Copy, Crowd, Told, told};
use super::percentile;
use crate::gateway::Gateway;
use crate::screen::{Channel, Tap};
use crate::world::World;

/// How many taps are in flight.
pub const TAPS: usize = 300;
/// How many people they are spread over, so that the pace of one chat does not decide how long a round takes.
const PEOPLE: usize = 75;
/// How long a turn takes.
const TURN: Duration = Duration::from_millis(30);
/// How many turns reach the host before the kill, at least.
const TURNS_BEFORE: usize = 120;
/// How long each part of a round may take.
const PATIENCE: Duration = Duration::from_secs(90);

/// What one round came to.
#[derive(Debug, Clone)]
pub struct Round {
    /// The channel.
    pub channel: Channel,
    /// How many turns had reached the host at the kill.
    pub turns_before: usize,
    /// How many taps had been acknowledged as recorded at the kill.
    pub recorded_before: usize,
    /// Taps whose answer never reached the host.
    pub lost: usize,
    /// Asks whose answer took effect twice.
    pub doubled: usize,
    /// Cards left with live buttons, or saying that something is under way.
    pub dead: usize,
    /// Asks whose answer was posted more than once; the host's conditional update makes that harmless.
    pub posted_again: usize,
    /// Taps that had to be made again, because a platform that never redelivers took them and nobody acknowledged them.
    pub tapped_again: usize,
    /// From the restart to each card's last change, sorted.
    pub settled: Vec<Duration>,
    /// What the gateway printed, before and after the kill.
    pub log: String,
}

impl Round {
    /// The head of a table of rounds.
    pub const HEAD: &'static str = "channel   turns at kill  acks at kill  never sent  effective twice  dead cards  posted again  tapped again  settled p50/p95/max s";

    /// Whether nothing was lost, doubled or left behind.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.lost == 0 && self.doubled == 0 && self.dead == 0
    }

    /// The round as a line of a table.
    #[must_use]
    pub fn line(&self) -> String {
        let at = |percent| percentile(&self.settled, percent);
        format!(
            "{:<9} {:>13}  {:>12}  {:>10}  {:>15}  {:>10}  {:>12}  {:>12}  {:.1} / {:.1} / {:.1}",
            format!("{:?}", self.channel),
            self.turns_before,
            self.recorded_before,
            self.lost,
            self.doubled,
            self.dead,
            self.posted_again,
            self.tapped_again,
            at(50),
            at(95),
            at(100)
        )
    }
}

/// One ask of the round.
struct Card {
    person: usize,
    asked: Asked,
    mark: String,
}

struct Scene {
    world: World,
    crowd: Crowd,
    channel: Channel,
    cards: Vec<Card>,
}

/// Plays one round.
///
/// # Errors
/// If the scene cannot be set, or a part of it takes for ever; what the gateway lost is no error but a number.
pub async fn round(channel: Channel) -> anyhow::Result<Round> {
    let world = World::start().await?;
    let crowd = Crowd::join(&world, u32::try_from(PEOPLE)?);
    let setup = crowd.setup(&[channel], "2s");
    let mut cards = Vec::new();
    for number in 0..TAPS {
        let person = number % PEOPLE;
        let mark = format!("q{number}q");
        let spec = AskSpec::new(
            "confirm",
            json!({"prompt": format!("Ask {mark}?"), "confirmLabel": "Go", "denyLabel": "Stop"}),
        );
        let email = &crowd.people.get(person).context("nobody")?.email;
        let asked = world.terreno.ask_then(email, spec, Script::new().slow(TURN).end())?;
        cards.push(Card { person, asked, mark });
    }
    let scene = Scene { world, crowd, channel, cards };

    let gateway = scene.world.gateway(&setup).await?;
    scene.until("every card is live", || scene.copies().iter().all(|copies| copies.iter().any(Copy::is_live))).await?;

    // Telegram keeps taps for a bot that is away; Discord pushes them to one that is there.
    let (gateway, taps, mut log) = match channel {
        Channel::Telegram => {
            let log = end(gateway).await?;
            let taps = scene.tap(&(0..TAPS).collect())?;
            (scene.world.gateway_unready(&setup)?, taps, log)
        }
        Channel::Discord => (gateway, scene.tap(&(0..TAPS).collect())?, String::new()),
    };
    let enough = |state: &sim::terreno::State| (state.turns().len() >= TURNS_BEFORE).then_some(());
    scene.world.terreno.wait_for("enough turns for the kill", PATIENCE, enough).await?;
    log.push_str(&gateway.kill().await?);
    let turns_before = scene.world.terreno.turns().len();
    let recorded: BTreeSet<usize> =
        (0..TAPS).filter(|at| taps.get(*at).is_some_and(|tap| told(&scene.world, tap) == Told::Recorded)).collect();

    let back = scene.world.discord.now();
    let gateway = scene.world.gateway_unready(&setup)?;
    // What nobody acknowledged may wait for another tap, but only where the platform does not bring the first one again.
    let may_wait = |at: usize| channel == Channel::Discord && !recorded.contains(&at);
    scene.until_or_late(|| scene.is_over(may_wait)).await;
    let again: BTreeSet<usize> = match channel {
        Channel::Telegram => BTreeSet::new(),
        Channel::Discord => (0..TAPS).filter(|at| may_wait(*at) && scene.effective(*at) == 0).collect(),
    };
    gateway.wait_ready(PATIENCE).await?;
    let mut settled: Vec<Duration> = scene.changes().into_iter().filter_map(|at| at.checked_sub(back)).collect();
    settled.sort();
    if !again.is_empty() {
        scene.tap(&again)?;
        scene.until_or_late(|| scene.is_over(|_| false)).await;
    }
    let dead =
        scene.copies().iter().filter(|copies| copies.iter().any(|copy| copy.is_live() || copy.is_busy())).count();
    let count = |fits: &dyn Fn(usize) -> bool| (0..TAPS).filter(|at| fits(*at)).count();
    let round = Round {
        channel,
        turns_before,
        recorded_before: recorded.len(),
        lost: count(&|at| scene.effective(at) == 0),
        doubled: count(&|at| scene.effective(at) > 1),
        dead,
        posted_again: count(&|at| scene.posts(at) > 1),
        tapped_again: again.len(),
        settled,
        log: log + &end(gateway).await?,
    };
    scene.world.assert_well_behaved()?;
    Ok(round)
}

/// Ends a gateway politely and gives its log.
async fn end(mut gateway: Gateway) -> anyhow::Result<String> {
    gateway.terminate().await?;
    gateway.wait_end(Duration::from_secs(20)).await?;
    Ok(gateway.log())
}

impl Scene {
    /// The messages of each card, in order.
    fn copies(&self) -> Vec<Vec<Copy>> {
        let seen: Vec<Vec<Copy>> =
            self.crowd.people.iter().map(|person| person.sees(&self.world, self.channel)).collect();
        let of_card = |card: &Card| {
            let messages = seen.get(card.person).into_iter().flatten();
            messages.filter(|copy| copy.text.contains(&card.mark)).cloned().collect()
        };
        self.cards.iter().map(of_card).collect()
    }

    /// When each message changed last.
    fn changes(&self) -> Vec<Duration> {
        self.copies().into_iter().flatten().filter_map(|copy| copy.edited).collect()
    }

    /// Presses "Go" on these cards, each once.
    fn tap(&self, which: &BTreeSet<usize>) -> anyhow::Result<Vec<Tap>> {
        let copies = self.copies();
        let mut taps = Vec::new();
        for at in which {
            let (card, copies) = (self.cards.get(*at).context("no card")?, copies.get(*at).context("no card")?);
            let copy = copies.iter().find(|copy| copy.is_live()).context("the card cannot be tapped")?;
            let (_, data) = copy.buttons.iter().find(|(label, _)| label == "Go").context("no button")?;
            let person = self.crowd.people.get(card.person).context("nobody")?;
            taps.push(person.press(&self.world, self.channel, copy.id, data)?);
        }
        Ok(taps)
    }

    fn effective(&self, at: usize) -> usize {
        let Some(Card { asked, .. }) = self.cards.get(at) else { return 0 };
        self.world.terreno.read(|state| state.effective(&asked.history_id, &asked.tool_call_id))
    }

    fn posts(&self, at: usize) -> usize {
        let Some(Card { asked, .. }) = self.cards.get(at) else { return 0 };
        self.world.terreno.read(|state| state.answers(&asked.history_id, &asked.tool_call_id).len())
    }

    /// Whether every card is settled and its answer effective, or live and allowed to wait.
    fn is_over(&self, may_wait: impl Fn(usize) -> bool) -> bool {
        self.copies().iter().enumerate().all(|(at, copies)| {
            let busy = copies.iter().any(Copy::is_busy);
            let live = copies.iter().any(Copy::is_live);
            match self.effective(at) {
                0 => may_wait(at) && live && !busy,
                _ => !live && !busy,
            }
        })
    }

    async fn until(&self, what: &str, done: impl Fn() -> bool) -> anyhow::Result<()> {
        anyhow::ensure!(self.until_or_late(done).await, "{what}: not within {PATIENCE:?}");
        Ok(())
    }

    /// Waits until something holds, and still does a little later. Whether it came to that.
    async fn until_or_late(&self, done: impl Fn() -> bool) -> bool {
        let mut held = 0;
        let steady = async {
            while held < 4 {
                tokio::time::sleep(Duration::from_millis(250)).await;
                held = if done() { held + 1 } else { 0 };
            }
        };
        tokio::time::timeout(PATIENCE, steady).await.is_ok()
    }
}
