//! A disk that gets full under the running service: told, nothing sent, and working again when there is room.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use sim::terreno::Script;
use tests::{Channel, EMAIL, SOON, Setup, World};

#[path = "system/common.rs"]
#[expect(dead_code, reason = "shared with the tests of the whole system, which use all of it")]
mod common;

/// The store is looked at every five seconds.
const NOTICED: Duration = Duration::from_secs(30);

fn works(program: &str, arguments: &[&str], path: &Path) -> bool {
    let done = Command::new(program).args(arguments).arg(path).stdin(Stdio::null()).output();
    done.is_ok_and(|output| output.status.success())
}

/// A small file system, which is taken away when it is dropped.
struct Small<'a>(&'a Path);

impl<'a> Small<'a> {
    fn at(path: &'a Path) -> Option<Self> {
        std::fs::create_dir_all(path).ok()?;
        works("mount", &["-t", "tmpfs", "-o", "size=8m", "tmpfs"], path).then_some(Self(path))
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        works("umount", &["-l"], self.0);
    }
}

/// Leaves no byte free.
fn fill(ballast: &Path) {
    let mut bytes = vec![0xaa; 1 << 14];
    while std::fs::write(ballast, &bytes).is_ok() {
        bytes.resize(bytes.len() + (1 << 14), 0xaa);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tap_on_a_full_disk_is_told_and_sends_nothing() -> anyhow::Result<()> {
    let world = World::start().await?;
    let store = world.store();
    let Some(_small) = Small::at(&store) else {
        println!("NOT CHECKED: the service on a full disk (a small file system can be mounted by root only)");
        return Ok(());
    };
    let gateway = world.gateway(&Setup::telegram()).await?;
    let (asked, card) = common::asked_and_shown(&world, Channel::Telegram, "Which plan?", Script::new()).await?;
    gateway.wait_at_rest(SOON).await?;
    let ballast = store.join("ballast");
    fill(&ballast);
    // What is left of the last page takes some more writes; new asks use it up at once.
    for number in 0..4 {
        world.terreno.ask(EMAIL, "choice", common::choice(&format!("Filler {number}?")))?;
    }
    gateway.wait_answer("/readyz", NOTICED, |status, body| status == 503 && body.contains("not saved")).await?;

    let screen = world.screen(Channel::Telegram);
    let told = screen.told(&screen.tap(&card, "Team")?, SOON).await?;
    assert!(told.contains("not saved"), "{told}");
    assert_eq!(common::turns(&world, &asked), 0, "a tap that is not on the disk is not carried on");

    std::fs::remove_file(&ballast)?;
    gateway.wait_ready(NOTICED).await?;
    assert_eq!(common::turns(&world, &asked), 0, "and does not surface when there is room again");
    screen.answer(&card, "Starter").await?;
    screen.settled(&card, &["Answered: Starter"]).await?;
    assert_eq!((common::turns(&world, &asked), common::effective(&world, &asked)), (1, 1));
    gateway.kill().await?;
    Ok(())
}
