//! `kill -9` at every named point: whatever was being done there, nothing is lost, nothing counts twice, no card is left behind.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;
use sim::terreno::{AskSpec, Asked, Fault, Model, Options, Route, Script};
use tests::{Card, Channel, EMAIL, Screen, Setup, World};
use tokio::task::JoinSet;

/// How many worlds run side by side.
const WORLDS: usize = 4;
/// How long the work may take to pass the point.
const REACHED: Duration = Duration::from_secs(25);
/// How long it may take until everything is quiet after the restart.
const QUIET: Duration = Duration::from_secs(40);

/// One ask of the scene, by the mark in its question.
struct Plot {
    mark: &'static str,
    asked: Asked,
    /// Where it is answered; `None` in the app.
    channel: Option<Channel>,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_killed_at_any_named_point_loses_and_doubles_nothing() -> anyhow::Result<()> {
    let points = faults::POINTS.iter().filter(|point| !faults::DISK_POINTS.contains(point));
    let mut waiting: Vec<&'static str> = points.copied().collect();
    waiting.reverse();
    let mut failed = Vec::new();
    let mut running = JoinSet::new();
    loop {
        while running.len() < WORLDS
            && let Some(point) = waiting.pop()
        {
            running.spawn(async move { (point, killed_at(point).await) });
        }
        let Some(ended) = running.join_next().await else { break };
        let (point, result) = ended?;
        if let Err(error) = result {
            failed.push(format!("killed at {point}: {error:#}"));
        }
    }
    anyhow::ensure!(failed.is_empty(), "{}", failed.join("\n\n"));
    Ok(())
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

async fn killed_at(point: &str) -> anyhow::Result<()> {
    // A host without a model accepts an answer and asks again.
    let model = if point == "poll.reopened" { Model::Missing } else { Model::Configured };
    let world = World::with(Options { model, ..Options::default() }).await?;
    let armed = Setup { env: vec![("ASKGATE_CRASH_AT".to_owned(), point.to_owned())], ..Setup::default() };
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
        error = play(&world, &plots) => Err(error),
    };
    let status = ended.with_context(|| format!("{point} was never reached"))?;
    anyhow::ensure!(
        !status.success() && gateway.log().contains(&format!("crashing at {point}")),
        "{status}: {}",
        gateway.log()
    );

    world.terreno.configure(|options| options.model = Model::Configured);
    let gateway = world.gateway(&Setup::default()).await?;
    let settled = async {
        loop {
            answer_what_waits(&world, &plots).await;
            let wrong = judge(&world, &plots);
            if wrong.is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(150)).await;
        }
    };
    if tokio::time::timeout(QUIET, settled).await.is_err() {
        anyhow::bail!("{}\n{}", judge(&world, &plots).join("\n"), gateway.log());
    }
    // What seems settled must stay so.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let wrong = judge(&world, &plots);
    anyhow::ensure!(wrong.is_empty(), "later: {}\n{}", wrong.join("\n"), gateway.log());
    world.assert_well_behaved()
}

fn ask(world: &World, mark: &'static str, channel: Option<Channel>, turn: Duration) -> anyhow::Result<Plot> {
    let input = json!({"prompt": format!("Ask {mark}?"), "confirmLabel": "Go", "denyLabel": "Stop"});
    let script = Script::new().slow(turn).say(format!("Said {mark}."));
    let asked = world.terreno.ask_then(EMAIL, AskSpec::new("confirm", input), script)?;
    Ok(Plot { mark, asked, channel })
}

/// Answers everything as people would, again and again, until the process is gone.
async fn play(world: &World, plots: &[Plot]) -> anyhow::Error {
    loop {
        answer_what_waits(world, plots).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
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
