//! Delivery cannot fail silently: refused cards and edits, second copies, deleted cards, and chats that have to wait.

use std::path::Path;
use std::time::Duration;

use sim::telegram::{Fate, Fault};
use sim::terreno::Script;
use tests::gateway::binary;
use tests::{Channel, EMAIL, SOON, Setup, TELEGRAM_PERSON, World};

use crate::common::{asked_and_shown, choice, effective};

/// A refusal that no table knows.
fn refusal() -> Fate {
    Fate::refusal(400, "Bad Request: this message is too strange")
}

/// A setup whose gateway's wall clock is moved by what that file says.
fn with_clock(setup: Setup, file: &Path) -> Setup {
    Setup { env: vec![("ASKGATE_CLOCK_FILE".to_owned(), file.display().to_string())], ..setup }
}

fn hours(hours: u64) -> String {
    (hours * 3_600_000 + 1_000).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_that_was_refused_is_made_again() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::telegram()).await?;
    let (asked, card) = asked_and_shown(&world, Channel::Telegram, "Which plan?", Script::new()).await?;
    gateway.wait_at_rest(SOON).await?;
    world.telegram.order(Fault::on("editMessageText").times(3).before(refusal()));
    let screen = world.screen(Channel::Telegram);
    screen.answer(&card, "Team").await?;
    screen.settled(&card, &["Which plan?", "Answered: Team"]).await?;
    assert_eq!(world.telegram.faults_left(), 0, "the edits were refused first");
    assert_eq!(screen.count("Answered: Team"), 1, "it was not said in a message of its own");
    assert_eq!(effective(&world, &asked), 1);
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_that_is_always_refused_is_said_once_and_reported() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::telegram()).await?;
    let (asked, card) = asked_and_shown(&world, Channel::Telegram, "Which plan?", Script::new()).await?;
    gateway.wait_at_rest(SOON).await?;
    world.telegram.order(Fault::on("editMessageText").always().before(refusal()));
    let screen = world.screen(Channel::Telegram);
    screen.answer(&card, "Team").await?;
    screen.see("how it ended", |now| now.id != card.id && now.text.contains("Answered: Team")).await?;
    let told = gateway.wait_answer("/readyz", SOON, |_, body| body.contains("still has its buttons")).await?;
    assert!(told.contains("too strange") && told.contains(&format!("telegram:{TELEGRAM_PERSON}")), "{told}");
    gateway.wait_at_rest(SOON).await?;
    assert_eq!(screen.count("Answered: Team"), 1, "said once");
    assert_eq!(effective(&world, &asked), 1);
    gateway.kill().await?;
    let listing =
        std::process::Command::new(binary("askgate")).args(["asks", "--all", "-c"]).arg(world.file()).output()?;
    let listing = String::from_utf8(listing.stdout)?;
    assert!(listing.contains(&format!("outdated at telegram:{TELEGRAM_PERSON} (still has its buttons")), "{listing}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_card_is_named_and_tried_again_a_day_later() -> anyhow::Result<()> {
    let world = World::start().await?;
    let folder = tempfile::tempdir()?;
    let clock = folder.path().join("clock");
    std::fs::write(&clock, "0")?;
    let gateway = world.gateway(&with_clock(Setup::telegram(), &clock)).await?;
    world.telegram.order(Fault::on("sendMessage").before(refusal()));
    world.terreno.ask(EMAIL, "choice", choice("Which plan?"))?;
    let told = gateway.wait_answer("/readyz", SOON, |_, body| body.contains("too strange")).await?;
    assert!(told.contains(&format!("at telegram:{TELEGRAM_PERSON}")), "{told}");
    let screen = world.screen(Channel::Telegram);
    assert_eq!(screen.count("Which plan?"), 0);
    std::fs::write(&clock, hours(24))?;
    screen.card("Which plan?").await?;
    gateway.wait_answer("/readyz", SOON, |_, body| !body.contains("too strange")).await?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_deleted_twice_comes_back_by_itself_after_an_hour() -> anyhow::Result<()> {
    let world = World::start().await?;
    let folder = tempfile::tempdir()?;
    let clock = folder.path().join("clock");
    std::fs::write(&clock, "0")?;
    let gateway = world.gateway(&with_clock(Setup::default(), &clock)).await?;
    let script = || Script::new().fail_before_output("Upstream broke.").fail_before_output("Upstream broke twice.");
    let (asked, first) = asked_and_shown(&world, Channel::Discord, "Which plan?", script()).await?;
    let telegram = world.screen(Channel::Telegram);
    let discord = world.screen(Channel::Discord);
    let mut card = telegram.card("Which plan?").await?;
    gateway.wait_at_rest(SOON).await?;

    world.telegram.delete_message(TELEGRAM_PERSON, i64::try_from(card.id)?);
    discord.answer(&first, "Team").await?;
    card = telegram.see("its replacement", |now| now.id != card.id && now.is_live()).await?;
    let again = discord.see("it is open again", |now| now.is_live() && now.text.contains("Upstream broke.")).await?;
    gateway.wait_at_rest(SOON).await?;

    world.telegram.delete_message(TELEGRAM_PERSON, i64::try_from(card.id)?);
    let asks = world.telegram.count_of("editMessageText");
    discord.answer(&again, "Starter").await?;
    world.telegram.wait_for_calls("editMessageText", asks + 1, SOON).await?;
    gateway.wait_at_rest(SOON).await?;
    assert_eq!(telegram.count("Which plan?"), 0, "not twice in an hour");
    let before = world.telegram.count_of("sendMessage");
    if effective(&world, &asked) == 0 {
        std::fs::write(&clock, hours(1))?;
        telegram.card("Which plan?").await?;
        assert_eq!(world.telegram.count_of("sendMessage"), before + 1);
    } else {
        anyhow::bail!("the second answer was to be undone as well");
    }
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn both_copies_of_a_card_lose_their_buttons() -> anyhow::Result<()> {
    for tapped in [0, 1] {
        let world = World::start().await?;
        let gateway = world.gateway(&Setup::telegram()).await?;
        world.telegram.order(Fault::on("sendMessage").after(Fate::Cut));
        let asked = world.terreno.ask(EMAIL, "choice", choice("Which plan?"))?;
        world.telegram.wait_for_calls("sendMessage", 2, SOON).await?;
        gateway.wait_at_rest(SOON).await?;
        let screen = world.screen(Channel::Telegram);
        let copies = screen.messages();
        assert_eq!(copies.len(), 2, "the first send had arrived: {copies:#?}");
        screen.answer(&copies[tapped], "Team").await?;
        if tapped == 0 {
            for copy in &copies {
                screen.settled(copy, &["Answered: Team"]).await?;
            }
        } else {
            screen.settled(&copies[1], &["Answered: Team"]).await?;
            // Nobody can know of the first until somebody presses it.
            screen.tap(&copies[0], "Starter")?;
            screen.settled(&copies[0], &["Answered: Team"]).await?;
        }
        assert_eq!(effective(&world, &asked), 1);
        drop(gateway);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_that_waits_delays_no_other() -> anyhow::Result<()> {
    const GROUP: i64 = -1_001_234_567_890;
    let world = World::start().await?;
    world.telegram.supergroup(GROUP, "Team", &[TELEGRAM_PERSON]);
    let more = format!(
        "[[groups]]\nplace = \"telegram:{GROUP}\"\naccounts = [\"me\"]\napprovers = [\"telegram:{TELEGRAM_PERSON}\"]\nprivacy = \"full\"\n"
    );
    let gateway = world.gateway(&Setup { more, ..Setup::telegram() }).await?;
    world.telegram.flood(GROUP, Duration::from_secs(12));
    let screen = world.screen(Channel::Telegram);
    let group = screen.in_chat(GROUP);
    let mut last = None;
    for number in 0..5 {
        let prompt = format!("Which plan of {number}?");
        world.terreno.ask(EMAIL, "choice", choice(&prompt))?;
        last = Some(
            world
                .screen(Channel::Telegram)
                .see_within(&prompt, Duration::from_secs(8), |card| card.text.contains(&prompt))
                .await?,
        );
    }
    assert_eq!(group.messages().len(), 0, "the group still waits");
    let card = last.ok_or_else(|| anyhow::anyhow!("no card"))?;
    world.screen(Channel::Telegram).answer(&card, "Team").await?;
    world.screen(Channel::Telegram).settled(&card, &["Answered: Team"]).await?;
    group.see_within("the oldest card", Duration::from_secs(30), |card| card.text.contains("Which plan of 0?")).await?;
    drop(gateway);
    Ok(())
}
