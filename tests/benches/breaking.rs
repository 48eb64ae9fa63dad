//! The long runs of the breaking machine, and the one table they make.
//!
//! `cargo build --release -p gateway -p tests --bins`, then `cargo bench -p tests --bench breaking`; parts of it by name
//! (`-- peers random points elsewhere`), less of it by number (`-- rounds=2 kills=40 passes=1 answers=50`). What went wrong is named
//! below the table with the log that shows it, and the command fails.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use tests::Channel;
use tests::crash::points::{Killed, killed_at, points};
use tests::crash::{elsewhere, keep, peers, percentile, random};
use tests::gateway::binary;
use tokio::task::JoinSet;

/// How many worlds run side by side where the time is not what is looked at first.
const WORLDS: usize = 3;
/// How many kills one random world sees.
const KILLS_PER_WORLD: usize = 8;
/// The seed of the first random world.
const SEED: u64 = 20_261_201;
const PARTS: [&str; 4] = ["peers", "points", "elsewhere", "random"];

/// What is found out.
#[derive(Debug, Default)]
struct Findings {
    rows: Vec<String>,
    times: Vec<String>,
    wrong: Vec<String>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match play(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("the runs did not come to their end: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Plays the parts that are wanted; whether nothing was wrong.
fn play(arguments: &[String]) -> anyhow::Result<bool> {
    let is_known = |word: &str| PARTS.contains(&word) || ["rounds", "kills", "passes", "answers"].contains(&key(word));
    if let Some(word) = arguments.iter().find(|word| !is_known(word)) {
        anyhow::bail!("{word:?} is none of {PARTS:?}, and none of rounds=N, kills=N, passes=N, answers=N");
    }
    let program = binary("askgate");
    anyhow::ensure!(
        program.exists(),
        "{} is missing; first run: cargo build --release -p gateway -p tests --bins",
        program.display()
    );
    let wanted = |part: &str| !arguments.iter().any(|word| PARTS.contains(&word.as_str())) || has(arguments, part);
    let runtime = tokio::runtime::Runtime::new()?;
    let mut found = Findings::default();
    if wanted("peers") {
        for channel in Channel::ALL {
            runtime.block_on(found.peers(channel, number(arguments, "rounds", 20)?))?;
        }
    }
    if wanted("points") {
        runtime.block_on(found.points(u32::try_from(number(arguments, "passes", 3)?)?))?;
    }
    if wanted("elsewhere") {
        runtime.block_on(found.elsewhere(number(arguments, "answers", 200)?))?;
    }
    if wanted("random") {
        runtime.block_on(found.random(number(arguments, "kills", 1000)?))?;
    }
    found.print(arguments)?;
    Ok(found.wrong.is_empty())
}

impl Findings {
    async fn peers(&mut self, channel: Channel, rounds: usize) -> anyhow::Result<()> {
        let (mut lost, mut doubled, mut dead, mut settled) = (0, 0, 0, Vec::new());
        for number in 1..=rounds {
            let round = peers::round(channel).await?;
            say(&format!("round {number} of {rounds}: {}", round.line()));
            (lost, doubled, dead) = (lost + round.lost, doubled + round.doubled, dead + round.dead);
            if !round.is_clean() {
                self.wrong.push(format!("{channel:?}, round {number}: {}; {}", round.line(), keep(&round.log)?));
            }
            settled.extend(round.settled);
        }
        let taps = peers::TAPS;
        self.rows
            .push(format!("{taps} taps on {channel:?}, one kill | {rounds} rounds | {lost} | {doubled} | {dead} | "));
        self.times.push(row(&format!("{taps} taps on {channel:?}: restart to each card's last change"), settled));
        Ok(())
    }

    async fn points(&mut self, passes: u32) -> anyhow::Result<()> {
        let mut waiting: Vec<(&'static str, u32)> =
            points().flat_map(|point| (1..=passes).map(move |pass| (point, pass))).collect();
        waiting.reverse();
        let (mut kills, mut violations, mut settled) = (0_usize, 0_usize, Vec::new());
        let mut running = JoinSet::new();
        loop {
            while running.len() < WORLDS
                && let Some((point, pass)) = waiting.pop()
            {
                running.spawn(async move { (point, pass, killed_at(point, pass).await) });
            }
            let Some(ended) = running.join_next().await else { break };
            let (point, pass, result) = ended?;
            say(&format!("{point}, pass {pass}: {}", if result.is_ok() { "fine" } else { "WRONG" }));
            match result {
                Ok(Killed::Recovered(took)) => {
                    kills += 1;
                    settled.push(took);
                }
                // Not everything happens several times in so small a scene.
                Ok(Killed::Never) if pass > 1 => {}
                Ok(Killed::Never) => self.wrong.push(format!("{point} was never reached")),
                Err(error) => {
                    violations += 1;
                    self.wrong.push(format!("killed at {point}, pass {pass}: {}", keep(&format!("{error:#}"))?));
                }
            }
        }
        let names = points().count();
        self.rows.push(format!("kills at {names} named points | {kills} kills | | | | {violations}"));
        self.times
            .push(row("a kill at a named point: restart to every card settled, taps made again included", settled));
        Ok(())
    }

    async fn elsewhere(&mut self, answers: usize) -> anyhow::Result<()> {
        for poll in ["400ms", "3s"] {
            let times = elsewhere::settled(answers, poll).await?;
            say(&format!("answered in the app, polls every {poll}: done"));
            self.times.push(row(&format!("answered in the app, polls every {poll}: to each copy settled"), times));
        }
        Ok(())
    }

    async fn random(&mut self, kills: usize) -> anyhow::Result<()> {
        let (mut left, mut seed) = (kills, SEED);
        let (mut done, mut asks, mut taps, mut violations, mut quiet) = (0, 0, 0, 0, Vec::new());
        let mut running = JoinSet::new();
        loop {
            while running.len() < WORLDS && left > 0 {
                let now = left.min(KILLS_PER_WORLD);
                running.spawn(random::run(seed, now));
                (left, seed) = (left - now, seed + 1);
            }
            let Some(ended) = running.join_next().await else { break };
            // A scene that could not be played is no finding, but it must not look like a clean one either.
            let run = match ended? {
                Ok(run) => run,
                Err(error) => {
                    say(&format!("a random world came to no end: {error:#}"));
                    self.wrong.push(format!("a random world came to no end: {}", keep(&format!("{error:#}"))?));
                    continue;
                }
            };
            (done, asks, taps) = (done + run.kills, asks + run.asks, taps + run.taps);
            say(&format!("{done} of {kills} kills: {}", run.line()));
            quiet.push(run.quiet);
            violations += run.violations.len();
            if !run.violations.is_empty() {
                let log = keep(&run.log)?;
                self.wrong.push(format!("seed {}, {log}:\n  {}", run.seed, run.violations.join("\n  ")));
            }
        }
        self.rows.push(format!("random kills; {asks} asks, {taps} taps | {done} kills | | | | {violations}"));
        self.times.push(row("random kills: last restart to every card live or settled", quiet));
        Ok(())
    }

    fn print(&self, arguments: &[String]) -> anyhow::Result<()> {
        let mut text = format!("`cargo bench -p tests --bench breaking -- {}`\n\n", arguments.join(" "));
        text.push_str("| what | how often | never sent | effective twice | dead cards | violations |\n| --- | --- | --- | --- | --- | --- |\n");
        for row in &self.rows {
            writeln!(text, "| {row} |")?;
        }
        text.push_str("\n| time, in seconds | of | p50 | p90 | p99 | max |\n| --- | --- | --- | --- | --- | --- |\n");
        for row in &self.times {
            writeln!(text, "{row}")?;
        }
        for wrong in &self.wrong {
            writeln!(text, "\nWRONG: {wrong}")?;
        }
        std::io::stdout().lock().write_all(text.as_bytes())?;
        Ok(())
    }
}

fn row(what: &str, mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |percent| percentile(&times, percent);
    format!("| {what} | {} | {:.2} | {:.2} | {:.2} | {:.2} |", times.len(), at(50), at(90), at(99), at(100))
}

fn key(word: &str) -> &str {
    word.split_once('=').map_or("", |(key, _)| key)
}

fn has(arguments: &[String], part: &str) -> bool {
    arguments.iter().any(|word| word == part)
}

fn number(arguments: &[String], name: &str, default: usize) -> anyhow::Result<usize> {
    let given = arguments.iter().find(|word| key(word) == name).and_then(|word| word.split_once('='));
    given.map_or(Ok(default), |(_, value)| value.parse().with_context(|| format!("{name}= takes a number")))
}

/// Says something at once; progress goes to stderr, so that stdout holds the table alone.
fn say(sentence: &str) {
    // Nobody may be reading.
    let _ = writeln!(std::io::stderr(), "{sentence}");
}
