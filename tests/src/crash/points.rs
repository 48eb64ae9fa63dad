//! One process killed at one named point, under a small workload that passes it.
//!
//! Three asks on both channels: one is answered in Telegram, one in Discord, one in the app. People press until the process is
//! gone, and again after the restart until everything is over.

use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;
use sim::terreno::{AskSpec, Asked, Fault, Model, Options, Route, Script};

use crate::screen::{Card, Channel, Screen};
use crate::world::{EMAIL, Setup, World};

/// How long the work may take to pass the point.
const REACHED: Duration = Duration::from_secs(25);
/// How long it may take until everything is quiet after the restart.
const QUIET: Duration = Duration::from_secs(40);
/// For how long nothing may be wrong before the work counts as done.
const STEADY: Duration = Duration::from_secs(1);

/// One ask of the scene, by the mark in its question.
struct Plot {
    mark: &'static str,
    asked: Asked,
    /// Where it is answered; `None` in the app.
    channel: Option<Channel>,
}

/// How a kill at a point ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Killed {
    /// All work was done and the point was not passed so often.
    Never,
    /// The process died there; afterwards everything came to its end, so long after the restart.
    Recovered(Duration),
}

/// The points that this workload has to pass: all but those that need a failing disk.
pub fn points() -> impl Iterator<Item = &'static str> {
    faults::POINTS.iter().copied().filter(|point| !faults::DISK_POINTS.contains(point))
}

/// Kills a process when it passes a point for the so-manieth time, starts it again, and judges what came of it.
///
/// # Errors
/// If the scene cannot be set, or something was lost, doubled or left behind; the error says what, and carries the log.
pub async fn killed_at(point: &str, pass: u32) -> anyhow::Result<Killed> {
    // A host without a model accepts an answer and asks again.
    let model = if point == "poll.reopened" { Model::Missing } else { Model::Configured };
    let world = World::with(Options { model, ..Options::default() }).await?;
    let at = format!("{point}:{pass}");
    let armed = Setup { env: vec![("ASKGATE_CRASH_AT".to_owned(), at.clone())], ..Setup::default() };
    trouble(point, &world);
    let mut gateway = world.gateway_unready(&armed)?;
    let turn = Duration::from_millis(if point == "reply.expected" { 1_500 } else { 50 });
    let plots = [
        ask(&world, "q1q", Some(Channel::Telegram), turn)?,
        ask(&world, "q2q", Some(Channel::Discord), turn)?,
        ask(&world, "q3q", None, turn)?,
    ];
    let ended = tokio::select! {
        ended = gateway.wait_end(REACHED) => ended,
        () = play(&world, &plots) => return Ok(Killed::Never),
    };
    let status = ended.with_context(|| format!("{at} was never reached"))?;
    anyhow::ensure!(
        !status.success() && gateway.log().contains(&format!("crashing at {point}")),
        "{status}: {}",
        gateway.log()
    );

    world.terreno.configure(|options| options.model = Model::Configured);
    let back = world.discord.now();
    let gateway = world.gateway(&Setup::default()).await?;
    let settled = async {
        loop {
            answer_what_waits(&world, &plots).await;
            let wrong = judge(&world, &plots);
            if wrong.is_empty() {
                return world.discord.now().saturating_sub(back);
            }
            tokio::time::sleep(Duration::from_millis(150)).await;
        }
    };
    let Ok(took) = tokio::time::timeout(QUIET, settled).await else {
        anyhow::bail!("{}\n{}", judge(&world, &plots).join("\n"), gateway.log());
    };
    // What seems settled must stay so.
    tokio::time::sleep(STEADY).await;
    let wrong = judge(&world, &plots);
    anyhow::ensure!(wrong.is_empty(), "later: {}\n{}", wrong.join("\n"), gateway.log());
    world.assert_well_behaved()?;
    Ok(Killed::Recovered(took))
}

/// What has to go wrong at the host so that the point is passed at all.
fn trouble(point: &str, world: &World) {
    match point {
        // Nobody knows whether it arrived, and it did not: it is posted again.
        "turn.try-counted" => world.terreno.inject(Fault::html(Route::Turn, 502)),
        // It arrived, and the connection is lost while the turn runs: the conversation tells, and the reply comes later.
        "reply.expected" => {
            let terreno = world.terreno.clone();
            tokio::spawn(async move {
                let running = |state: &sim::terreno::State| (state.running() > 0).then_some(());
                if terreno.wait_for("a running turn", REACHED, running).await.is_ok() {
                    terreno.cut_connections();
                }
            });
        }
        _ => {}
    }
}

fn ask(world: &World, mark: &'static str, channel: Option<Channel>, turn: Duration) -> anyhow::Result<Plot> {
    let input = json!({"prompt": format!("Ask {mark}?"), "confirmLabel": "Go", "denyLabel": "Stop"});
    let script = Script::new().slow(turn).say(format!("Said {mark}."));
    let asked = world.terreno.ask_then(EMAIL, AskSpec::new("confirm", input), script)?;
    Ok(Plot { mark, asked, channel })
}

/// Answers everything as people would, again and again, until nothing is left to do.
async fn play(world: &World, plots: &[Plot]) {
    let mut done = false;
    loop {
        answer_what_waits(world, plots).await;
        let is_done = judge(world, plots).is_empty();
        if done && is_done {
            return;
        }
        done = is_done;
        tokio::time::sleep(if done { STEADY } else { Duration::from_millis(200) }).await;
    }
}

/// Presses every card that is live and whose answer is not on its way, and answers in the app what is to be answered there.
async fn answer_what_waits(world: &World, plots: &[Plot]) {
    for plot in plots {
        if let Some(channel) = plot.channel {
            let screen = world.screen(channel);
            if let Some(card) = live(&screen, plot) {
                // A card may settle between the look and the tap.
                let _tap = screen.tap(&card, "Go");
                // A second tap before the first is shown proves nothing and would only hide a lost one.
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
        } else {
            let seen = Channel::ALL.into_iter().all(|channel| live(&world.screen(channel), plot).is_some());
            if seen && is_pending(world, plot) {
                let _reply = world.terreno.press(&plot.asked.history_id, "approve").await;
            }
        }
    }
}

fn live(screen: &Screen<'_>, plot: &Plot) -> Option<Card> {
    let question = format!("Ask {}?", plot.mark);
    screen.messages().into_iter().rev().find(|card| card.is_live() && card.text.contains(&question))
}

fn is_pending(world: &World, plot: &Plot) -> bool {
    world.terreno.pending(EMAIL).iter().any(|pending| pending.tool_call_id == plot.asked.tool_call_id)
}

/// Everything that is not as it has to be in the end.
fn judge(world: &World, plots: &[Plot]) -> Vec<String> {
    let mut wrong = Vec::new();
    for Plot { mark, asked, channel } in plots {
        let effective = world.terreno.read(|state| state.effective(&asked.history_id, &asked.tool_call_id));
        if effective != 1 {
            wrong.push(format!("{mark}: {effective} answers took effect"));
        }
        for on in Channel::ALL {
            let question = format!("Ask {mark}?");
            let messages = world.screen(on).messages();
            let cards: Vec<&Card> = messages.iter().filter(|card| card.text.contains(&question)).collect();
            // Where it was over before its card went out there need not be one.
            let fewest = usize::from(*channel == Some(on));
            if !(fewest..=2).contains(&cards.len()) {
                wrong.push(format!("{mark}: {} cards on {on:?}", cards.len()));
            }
            // Nobody tells of a send whose reply was lost: such a copy settles when somebody presses it.
            let dead = cards.iter().filter(|card| !card.is_settled()).count();
            if dead > 0 && dead == cards.len() {
                wrong.push(format!("{mark}: not settled on {on:?}: {cards:#?}"));
            }
            let said = messages.iter().filter(|card| card.text.contains(&format!("Said {mark}."))).count();
            if *channel == Some(on) && !(1..=2).contains(&said) {
                wrong.push(format!("{mark}: the agent's words are {said} times on {on:?}"));
            }
        }
    }
    wrong
}
