//! Resident memory: of an idle service, and for each account of ten thousand idle ones.

use std::time::Duration;

use crate::process::Process;
use crate::scene::{Plan, Scene, until};
use crate::stats::{self, Row};

const MANY: i64 = 10_000;

/// Measures both. The second is the difference to the first, divided by the accounts.
pub(crate) async fn measure() -> anyhow::Result<Vec<Row>> {
    let one = steady(1).await?;
    stats::say(&format!("memory: idle {one} KiB"));
    let many = steady(MANY).await?;
    stats::say(&format!("memory: with {MANY} accounts {many} KiB"));
    let each = f64::from(u32::try_from(many.saturating_sub(one))?) * 1024.0 / f64::from(u32::try_from(MANY - 1)?);
    let megabytes = f64::from(u32::try_from(one)?) / 1024.0;
    Ok(vec![
        Row::alone("resident memory idle, both channels, MiB", format!("{megabytes:.1}"), "aim: under 25"),
        Row::alone("resident memory per idle account of 10,000, bytes", format!("{each:.0}"), "aim: under 2,048"),
    ])
}

/// Resident KiB once every account has signed in and was polled at least twice, and it no longer changes.
async fn steady(accounts: i64) -> anyhow::Result<u64> {
    let polls = if accounts == 1 { ("500ms", "1s") } else { ("20s", "30s") };
    let scene = Scene::start(Plan { accounts, channels: true, polls }).await?;
    let process = scene.askgate().await?;
    let enough = u64::try_from(accounts)? * 3;
    until("the polls of every account", Duration::from_mins(5), || (scene.polls() >= enough).then_some(())).await?;
    settled(&process).await
}

async fn settled(process: &Process) -> anyhow::Result<u64> {
    let mut last = process.resident("VmRSS")?;
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_secs(3)).await;
        let now = process.resident("VmRSS")?;
        if now.abs_diff(last) <= 64 {
            return Ok(now);
        }
        last = now;
    }
    Ok(last)
}
