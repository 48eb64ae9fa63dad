//! Polls per CPU-second, beside a bare reqwest loop that sends the same request and parses the reply.

use std::time::Duration;

use anyhow::Context as _;
use serde_json::Value;

use crate::process::Process;
use crate::scene::{Plan, Scene, email};
use crate::stats::{self, Row, median};

/// The word that makes this program the bare loop.
pub(crate) const BARE: &str = "bare-polls";
/// Accounts that are polled as fast as it goes, each by one request at a time.
const ACCOUNTS: i64 = 64;
const WARM_UP: Duration = Duration::from_secs(3);
const TIME: Duration = Duration::from_secs(8);

/// Measures both, in turns.
pub(crate) async fn measure(rounds: usize) -> anyhow::Result<Vec<Row>> {
    let plan = Plan { accounts: ACCOUNTS, channels: false, polls: ("1ms", "1ms") };
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for round in 1..=rounds {
        let scene = Scene::start(plan).await?;
        let process = scene.askgate().await?;
        ours.push(rate(&scene, &process).await?);
        drop(process);

        let scene = Scene::start(plan).await?;
        let mut arguments = vec![BARE.to_owned(), scene.terreno.url()];
        for person in 0..ACCOUNTS {
            arguments.push(scene.terreno.tokens(&email(person)).context("no such person")?.0);
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let process = Process::start(&std::env::current_exe()?, &arguments, &scene.log())?;
        bare.push(rate(&scene, &process).await?);
        stats::say(&format!("polls, round {round}: per CPU-second {:.0?}, bare {:.0?}", ours.last(), bare.last()));
    }
    Ok(vec![Row::ratio("idle polls per CPU-second", median(ours), median(bare), 0)])
}

async fn rate(scene: &Scene, process: &Process) -> anyhow::Result<f64> {
    tokio::time::sleep(WARM_UP).await;
    let (polls, cpu) = (scene.polls(), process.cpu()?);
    tokio::time::sleep(TIME).await;
    let (polls, cpu) = (scene.polls() - polls, process.cpu()?.saturating_sub(cpu));
    anyhow::ensure!(polls > 0 && !cpu.is_zero(), "nothing was polled");
    stats::say(&format!("  {polls} polls in {cpu:?} of CPU and {TIME:?}"));
    Ok(f64::from(u32::try_from(polls)?) / cpu.as_secs_f64())
}

/// The bare loop: one task for each token.
pub(crate) fn bare(arguments: &[String]) -> anyhow::Result<()> {
    let (url, tokens) = arguments.split_first().context("the bare loop needs an address and tokens")?;
    let url = format!("{url}/gpt/histories/pendingAsks");
    let workers = std::thread::available_parallelism().map_or(2, std::num::NonZero::get).clamp(2, 4);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(workers).build()?;
    runtime.block_on(async {
        let client = adapters::http::client()?;
        let mut tasks = tokio::task::JoinSet::new();
        for token in tokens.iter().map(ToString::to_string) {
            let (client, url) = (client.clone(), url.clone());
            tasks.spawn(async move {
                loop {
                    let reply = client.get(&url).bearer_auth(&token).timeout(Duration::from_secs(10)).send().await?;
                    let list: Value = reply.error_for_status()?.json().await?;
                    anyhow::ensure!(list.is_object(), "no list");
                    // As long as askgate waits between two polls of an account.
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            });
        }
        while let Some(ended) = tasks.join_next().await {
            let ended: anyhow::Result<()> = ended?;
            ended?;
        }
        Ok(())
    })
}
