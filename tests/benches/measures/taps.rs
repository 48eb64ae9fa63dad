//! Taps: how many in a second, and how long until each is acknowledged and its turn is posted.
//!
//! askgate acknowledges a tap when its claim is on the disk, and then carries it to the host. The bare teloxide bot only
//! acknowledges and edits. Edits are not compared: askgate sends at the 25 in a second that Telegram allows a bot, and the bare
//! bot as fast as it can, which the real platform would refuse.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;
use sim::terreno::{AskSpec, Script};
use tests::gateway::binary;

use crate::process::Process;
use crate::scene::{Plan, Scene, chat, email, until};
use crate::stats::{self, Row, median, millis, percentile};

/// Presses that are ready at once.
const BURST: usize = 2_000;
/// Presses with a pause before each.
const PACED: usize = 300;
const PAUSE: Duration = Duration::from_millis(20);
/// The people whose chats the cards are spread over.
const PEOPLE: i64 = 575;
const PATIENCE: Duration = Duration::from_mins(5);

/// One card with buttons.
#[derive(Debug)]
struct Card {
    chat: i64,
    message: i64,
    ask: String,
}

/// What a run of presses came to.
#[derive(Debug, Default)]
struct Run {
    taps_per_second: f64,
    turns_per_second: f64,
    ack: (f64, f64),
    turn: (f64, f64),
}

/// What one round of one program came to.
#[derive(Debug)]
struct Round {
    paced: Run,
    burst: Run,
    cpu: Duration,
    peak: u64,
}

/// Measures both, in turns.
pub(crate) async fn measure(rounds: usize) -> anyhow::Result<Vec<Row>> {
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for round in 1..=rounds {
        stats::say(&format!(
            "taps, round {round} of {rounds}: the bare bot, then askgate (its cards need a minute and a half)"
        ));
        bare.push(teloxide().await?);
        stats::say(&format!("  bare {:?}", bare.last()));
        ours.push(askgate().await?);
        stats::say(&format!("  askgate {:?}", ours.last()));
    }
    let compare = |what: &str, digits: usize, take: fn(&Round) -> f64| {
        Row::ratio(what, median(ours.iter().map(take).collect()), median(bare.iter().map(take).collect()), digits)
    };
    let alone = |what: &str, take: fn(&Round) -> f64, aim: &str| {
        Row::alone(what, format!("{:.1}", median(ours.iter().map(take).collect())), aim)
    };
    Ok(vec![
        compare("burst of 2,000: taps acknowledged per second", 0, |round| round.burst.taps_per_second),
        alone("burst of 2,000: turns posted per second", |round| round.burst.turns_per_second, ""),
        compare("burst: tap to acknowledgement, p50 ms", 1, |round| round.burst.ack.0),
        compare("burst: tap to acknowledgement, p99 ms", 1, |round| round.burst.ack.1),
        alone("burst: tap to turn, p50 ms", |round| round.burst.turn.0, ""),
        alone("burst: tap to turn, p99 ms", |round| round.burst.turn.1, ""),
        compare("one tap per 20 ms: tap to acknowledgement, p50 ms", 1, |round| round.paced.ack.0),
        compare("one tap per 20 ms: tap to acknowledgement, p99 ms", 1, |round| round.paced.ack.1),
        alone("one tap per 20 ms: tap to turn, p50 ms", |round| round.paced.turn.0, ""),
        alone("one tap per 20 ms: tap to turn, p99 ms", |round| round.paced.turn.1, ""),
        compare("CPU time of the burst, s", 2, |round| round.cpu.as_secs_f64()),
        compare("highest resident memory, MiB", 1, |round| {
            f64::from(u32::try_from(round.peak).unwrap_or(u32::MAX)) / 1024.0
        }),
    ])
}

async fn askgate() -> anyhow::Result<Round> {
    let scene = Scene::start(Plan { accounts: PEOPLE, channels: true, polls: ("3s", "60s") }).await?;
    let mut asks = HashMap::new();
    for number in 0..PACED + BURST {
        let person = i64::try_from(number)? % PEOPLE;
        let prompt = format!("Question {number}?");
        let ask = json!({"prompt": prompt, "select": "one",
            "options": [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}]});
        let then = Script::new().say("You said {label}.");
        let asked = scene.terreno.ask_then(&email(person), AskSpec::new("choice", ask), then)?;
        asks.insert(prompt, asked.tool_call_id);
    }
    let process = scene.askgate().await?;
    let shown = || scene.telegram.count_of("sendMessage") >= PACED + BURST;
    until("showing every card", PATIENCE, || shown().then_some(())).await?;
    // The last sends are being written down.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let mut cards = Vec::new();
    for person in 0..PEOPLE {
        for message in scene.telegram.messages(chat(person)) {
            let prompt =
                message.text.lines().find(|line| asks.contains_key(*line)).context("a card without question")?;
            let ask = asks.get(prompt).cloned().context("an unknown question")?;
            cards.push(Card { chat: chat(person), message: message.id, ask });
        }
    }
    round(&scene, &process, &cards).await
}

async fn teloxide() -> anyhow::Result<Round> {
    let scene = Scene::start(Plan { accounts: PEOPLE, channels: true, polls: ("3s", "60s") }).await?;
    let client = adapters::http::client()?;
    let url = format!("{}/bot{}/sendMessage", scene.telegram_url, scene.telegram.token());
    let mut cards = Vec::new();
    for number in 0..PACED + BURST {
        let chat = chat(i64::try_from(number)? % PEOPLE);
        let body = json!({"chat_id": chat, "text": format!("Question {number}?"), "reply_markup":
            {"inline_keyboard": [[{"text": "Yes", "callback_data": format!("{number}-yes")}]]}});
        let sent: serde_json::Value = client.post(&url).json(&body).send().await?.json().await?;
        let message = sent.pointer("/result/message_id").and_then(serde_json::Value::as_i64).context("no message")?;
        cards.push(Card { chat, message, ask: String::new() });
    }
    let arguments = [scene.telegram_url.as_str(), &scene.telegram.token()];
    let process = Process::start(&binary("examples/bare_teloxide"), &arguments, &scene.log())?;
    until("the bare bot's first poll", PATIENCE, || (scene.telegram.count_of("getUpdates") > 1).then_some(())).await?;
    round(&scene, &process, &cards).await
}

async fn round(scene: &Scene, process: &Process, cards: &[Card]) -> anyhow::Result<Round> {
    let (first, rest) = cards.split_at_checked(PACED).context("too few cards")?;
    let paced = run(scene, first, Some(PAUSE)).await?;
    let before = process.cpu()?;
    let burst = run(scene, rest, None).await?;
    Ok(Round { paced, burst, cpu: process.cpu()?.saturating_sub(before), peak: process.resident("VmHWM")? })
}

/// Presses every card and waits for what must come of it.
async fn run(scene: &Scene, cards: &[Card], pause: Option<Duration>) -> anyhow::Result<Run> {
    let (answered, turned) = (scene.telegram.answers().len(), scene.terreno.read(|state| state.turns().len()));
    let posts = cards.iter().any(|card| !card.ask.is_empty());
    let mut asks = HashMap::new();
    for card in cards {
        if let Some(pause) = pause {
            tokio::time::sleep(pause).await;
        }
        // A person's private chat has the person's number.
        let callback = scene.telegram.tap(card.chat, card.chat, card.message, 0_usize)?;
        asks.insert(callback, card.ask.as_str());
    }
    until("acknowledging every press", PATIENCE, || {
        (scene.telegram.answers().len() >= answered + cards.len()).then_some(())
    })
    .await?;
    let answers: Vec<_> = scene.telegram.answers().into_iter().skip(answered).collect();
    anyhow::ensure!(
        answers.iter().all(|answer| answer.text.is_empty()),
        "a press was answered by a sentence instead of being taken: {:?}",
        answers.iter().find(|answer| !answer.text.is_empty())
    );
    let begun = answers.iter().map(|answer| answer.pressed).min().unwrap_or_default();
    let ended = answers.iter().map(|answer| answer.answered).max().unwrap_or_default();
    let count = f64::from(u32::try_from(cards.len())?);
    let mut result = Run {
        taps_per_second: count / ended.saturating_sub(begun).as_secs_f64(),
        ack: spread(answers.iter().map(|answer| millis(answer.answered.saturating_sub(answer.pressed))).collect()),
        ..Run::default()
    };
    if posts {
        until("the turn of every press", PATIENCE, || {
            (scene.terreno.read(|state| state.turns().len()) >= turned + cards.len()).then_some(())
        })
        .await?;
        let pressed: HashMap<&str, Duration> =
            answers.iter().filter_map(|answer| Some((*asks.get(&answer.callback)?, answer.pressed))).collect();
        let turns = scene.terreno.turns();
        let (mut waits, mut last) = (Vec::new(), begun);
        for turn in turns.iter().skip(turned) {
            anyhow::ensure!(turn.outcome.is_effective(), "a turn without effect: {turn:?}");
            let at = Duration::from_millis(turn.at_ms);
            let from = turn.tool_call_id.as_deref().and_then(|ask| pressed.get(ask)).context("an unknown turn")?;
            waits.push(millis(at.saturating_sub(*from)));
            last = last.max(at);
        }
        result.turn = spread(waits);
        result.turns_per_second = count / last.saturating_sub(begun).as_secs_f64();
    }
    Ok(result)
}

/// The median and the 99th percentile.
fn spread(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    (percentile(&values, 50), percentile(&values, 99))
}
