//! `kill -9` in the middle of everything: nothing lost, nothing doubled, no card left behind.
//!
//! Bounded here; the long runs are `benches/breaking.rs`. `ASKGATE_CRASH_ROUNDS`, `ASKGATE_CRASH_KILLS` and `ASKGATE_CRASH_SEED` repeat
//! one part of them with its logs.

use std::fmt::Write as _;
use std::time::Duration;

use tests::Channel;
use tests::crash::{keep, peers, percentile, random};

/// How many kills one world sees, at most.
const KILLS_PER_WORLD: usize = 8;
/// The seed of the bounded run.
const SEED: u64 = 20_261_201;

#[tokio::test(flavor = "multi_thread")]
async fn three_hundred_taps_on_telegram_survive_a_kill() -> anyhow::Result<()> {
    rounds(Channel::Telegram).await
}

#[tokio::test(flavor = "multi_thread")]
async fn three_hundred_taps_on_discord_survive_a_kill() -> anyhow::Result<()> {
    rounds(Channel::Discord).await
}

async fn rounds(channel: Channel) -> anyhow::Result<()> {
    let mut table = format!("{}\n", peers::Round::HEAD);
    let mut failed = Vec::new();
    let mut settled = Vec::new();
    for _ in 0..number("ASKGATE_CRASH_ROUNDS", 1)? {
        let round = peers::round(channel).await?;
        let _ = writeln!(table, "{}", round.line());
        settled.extend(round.settled.iter().copied());
        if !round.is_clean() {
            failed.push(keep(&round.log)?);
        }
    }
    let _ = writeln!(table, "from the restart to each card's last change: {}", distribution(settled));
    show(&table);
    anyhow::ensure!(failed.is_empty(), "something was lost; the logs are {failed:?}\n{table}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_random_workload_survives_kills_at_random_points() -> anyhow::Result<()> {
    let kills = number("ASKGATE_CRASH_KILLS", KILLS_PER_WORLD)?;
    let seed = u64::try_from(number("ASKGATE_CRASH_SEED", usize::try_from(SEED)?)?)?;
    let mut table = format!("{}\n", random::Run::HEAD);
    let (mut done, mut quiet, mut violations) = (0, Vec::new(), Vec::new());
    for world in 0.. {
        if done >= kills {
            break;
        }
        let run = random::run(seed + world, KILLS_PER_WORLD.min(kills - done)).await?;
        done += run.kills;
        let _ = writeln!(table, "{}", run.line());
        quiet.push(run.quiet);
        if !run.violations.is_empty() {
            violations.push(format!("seed {}, log {}:\n  {}", run.seed, keep(&run.log)?, run.violations.join("\n  ")));
        }
    }
    let _ = writeln!(
        table,
        "{done} kills; from the last restart until every card was live or settled: {}",
        distribution(quiet)
    );
    show(&table);
    anyhow::ensure!(violations.is_empty(), "{table}{}", violations.join("\n"));
    Ok(())
}

fn distribution(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |percent| percentile(&times, percent);
    format!("p50 {:.1} s, p90 {:.1} s, p99 {:.1} s, max {:.1} s", at(50), at(90), at(99), at(100))
}

#[expect(clippy::disallowed_methods, reason = "a long run is asked for by the environment")]
fn number(name: &str, default: usize) -> anyhow::Result<usize> {
    std::env::var(name).map_or(Ok(default), |text| Ok(text.parse()?))
}

#[expect(clippy::print_stdout, reason = "the table is what the long runs are for")]
fn show(table: &str) {
    println!("{table}");
}
