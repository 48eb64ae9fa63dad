//! A damaged store (case C54): set aside, told to the operator, and what waits is shown again.

use sim::terreno::Script;
use tests::{Channel, SOON, Setup, World};

#[path = "system/common.rs"]
#[expect(dead_code, reason = "shared with the tests of the whole system, which use all of it")]
mod common;

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_store_is_told_until_it_is_taken_away() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::telegram()).await?;
    let (asked, old) = common::asked_and_shown(&world, Channel::Telegram, "Which plan?", Script::new()).await?;
    gateway.wait_at_rest(SOON).await?;
    gateway.kill().await?;
    std::fs::write(world.store().join("db"), vec![0x41; 600_000])?;

    let told = |_: u16, body: &str| body.contains("store:set-aside") && body.contains("ledger.corrupt-");
    let gateway = world.gateway(&Setup::telegram()).await?;
    gateway.wait_answer("/readyz", SOON, told).await?;
    let bytes = |_: u16, body: &str| {
        let line = body.lines().find_map(|line| line.strip_prefix("askgate_store_bytes "));
        line.and_then(|bytes| bytes.parse::<u64>().ok()).is_some_and(|bytes| bytes > 0)
    };
    gateway.wait_answer("/metrics", SOON, bytes).await?;
    let screen = world.screen(Channel::Telegram);
    let new = screen.see("the ask again", |card| card.text.contains("Which plan?") && card.id != old.id).await?;
    screen.answer(&new, "Team").await?;
    screen.settled(&new, &["Answered: Team"]).await?;
    assert_eq!((common::turns(&world, &asked), common::effective(&world, &asked)), (1, 1));
    gateway.kill().await?;

    // A further start tells it still; one after it was taken away does not.
    let gateway = world.gateway(&Setup::telegram()).await?;
    gateway.wait_answer("/readyz", SOON, told).await?;
    gateway.kill().await?;
    let beside = world.store().with_file_name("").read_dir()?;
    for entry in beside.filter_map(Result::ok) {
        if entry.file_name().to_string_lossy().contains(".corrupt-") {
            std::fs::remove_dir_all(entry.path())?;
        }
    }
    let gateway = world.gateway(&Setup::telegram()).await?;
    gateway.wait_answer("/readyz", SOON, |status, body| status == 200 && !body.contains("set-aside")).await?;
    gateway.kill().await?;
    Ok(())
}
