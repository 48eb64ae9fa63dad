//! Clocks that are wrong, months that pass, stores that are lost, and hosts that refuse for long.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sim::discord::Id;
use sim::terreno::{Fault, Route, Script};
use tests::{Channel, DISCORD_PERSON, EMAIL, PASSWORD, SOON, Setup, World};

use crate::common::{asked_and_shown, choice, effective, turns};

const HOUR: i64 = 3_600_000;

/// A file that moves the gateway's wall clock.
struct Clock {
    _folder: tempfile::TempDir,
    file: PathBuf,
}

impl Clock {
    fn new() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let clock = Self { file: folder.path().join("clock"), _folder: folder };
        clock.is_off_by(0)?;
        Ok(clock)
    }

    fn is_off_by(&self, millis: i64) -> anyhow::Result<()> {
        Ok(std::fs::write(&self.file, millis.to_string())?)
    }

    fn moves(&self, setup: Setup) -> Setup {
        Setup { env: vec![("ASKGATE_CLOCK_FILE".to_owned(), self.file.display().to_string())], ..setup }
    }
}

async fn polls(world: &World, more: u64) -> anyhow::Result<()> {
    let enough = world.terreno.read(|state| state.count(Route::PendingAsks)) + more;
    let came = |state: &sim::terreno::State| (state.count(Route::PendingAsks) >= enough).then_some(());
    Ok(world.terreno.wait_for("more polls", SOON, came).await?)
}

/// Our clock and theirs differ by hours: nothing is too old, nothing comes from the future, nobody signs in again and again.
#[tokio::test(flavor = "multi_thread")]
async fn c11_a_wrong_clock_refuses_no_press() -> anyhow::Result<()> {
    let world = World::start().await?;
    let clock = Clock::new()?;
    clock.is_off_by(2 * HOUR)?;
    let gateway = world.gateway(&clock.moves(Setup::default())).await?;
    for (number, offset) in [2, -2, 0, -2].into_iter().enumerate() {
        for channel in Channel::ALL {
            // Shown at one time, answered at another.
            let prompt = format!("Which plan, {number} on {channel:?}?");
            let (asked, card) = asked_and_shown(&world, channel, &prompt, Script::new()).await?;
            clock.is_off_by(offset * HOUR)?;
            world.screen(channel).answer(&card, "Team").await?;
            world.screen(channel).settled(&card, &["Answered: Team"]).await?;
            assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
        }
    }
    polls(&world, 3).await?;
    let (logins, refreshes) = world.terreno.read(|state| (state.count(Route::Login), state.count(Route::Refresh)));
    assert!(logins + refreshes <= 2, "{logins} sign-ins, {refreshes} refreshes");
    assert!(!gateway.log().contains("panicked"), "{}", gateway.log());
    world.assert_well_behaved()
}

/// A restart shows nothing again; a lost store shows what waits once more, and nothing that is over.
#[tokio::test(flavor = "multi_thread")]
async fn c19_a_restart_sends_nothing_and_a_lost_store_sends_what_waits() -> anyhow::Result<()> {
    let world = World::start().await?;
    let setup = Setup::discord();
    let gateway = world.gateway(&setup).await?;
    let screen = world.screen(Channel::Discord);
    for number in 0..10 {
        let (_, card) =
            asked_and_shown(&world, Channel::Discord, &format!("Over {number}?"), Script::new().say("")).await?;
        screen.answer(&card, "Team").await?;
        screen.settled(&card, &["Answered: Team"]).await?;
        world.terreno.ask(EMAIL, "choice", choice(&format!("Waiting {number}?")))?;
        screen.card(&format!("Waiting {number}?")).await?;
    }
    gateway.wait_at_rest(SOON).await?;
    let shown = screen.messages();
    gateway.kill().await?;

    let gateway = world.gateway(&setup).await?;
    polls(&world, 3).await?;
    gateway.wait_at_rest(SOON).await?;
    assert_eq!(screen.messages(), shown, "nothing is sent again, nothing is edited");
    gateway.kill().await?;

    std::fs::remove_dir_all(world.store())?;
    let gateway = world.gateway(&setup).await?;
    let all = |state: &sim::discord::State| {
        (state.messages_to(Id::new(DISCORD_PERSON)).count() >= shown.len() + 10).then_some(())
    };
    world.discord.wait_for("ten more cards", SOON, all).await?;
    polls(&world, 3).await?;
    gateway.wait_at_rest(SOON).await?;
    assert_eq!((screen.count("Waiting"), screen.count("Over"), screen.messages().len()), (20, 10, shown.len() + 10));
    // Every copy answers or says that it cannot; none answers twice.
    let old = shown.iter().find(|card| card.text.contains("Waiting 3?")).cloned();
    let old = old.ok_or_else(|| anyhow::anyhow!("no old card"))?;
    let tap = screen.press(&old, &old.tokens[0])?;
    assert!(!screen.told(&tap, SOON).await?.is_empty(), "a button of the lost store says that it is not known");
    let new = screen.card("Waiting 3?").await?;
    screen.answer(&new, "Starter").await?;
    screen.settled(&new, &["Answered: Starter"]).await?;
    Ok(())
}

/// Whole months without a tap: no answer is made up, and the card answers as on its first day.
#[tokio::test(flavor = "multi_thread")]
async fn c52_silence_is_never_an_answer() -> anyhow::Result<()> {
    let world = World::start().await?;
    let clock = Clock::new()?;
    let gateway = world.gateway(&clock.moves(Setup::default())).await?;
    let (asked, card) = asked_and_shown(&world, Channel::Telegram, "Which plan?", Script::new()).await?;
    for days in [1, 8, 31, 90] {
        clock.is_off_by(days * 24 * HOUR)?;
        polls(&world, 4).await?;
    }
    assert_eq!(world.terreno.read(|state| state.count(Route::Turn)), 0, "nothing but a tap answers");
    let screen = world.screen(Channel::Telegram);
    let waiting = screen.card("Which plan?").await?;
    assert_eq!((waiting.id, &waiting.tokens), (card.id, &card.tokens));
    screen.answer(&waiting, "Starter").await?;
    screen.settled(&waiting, &["Answered: Starter"]).await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    drop(gateway);
    world.assert_well_behaved()
}

/// A credential that is refused is asked for less and less, withdraws nothing and loses no answer; a new one in its file is enough.
#[tokio::test(flavor = "multi_thread")]
async fn c51_a_refused_credential_is_no_flood_and_a_new_one_mends_it() -> anyhow::Result<()> {
    let world = World::start().await?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("token");
    let write = |file: &Path, token: &str| std::fs::write(file, format!("{token}\n"));
    let (token, _) = world.terreno.tokens(EMAIL).unwrap_or_default();
    write(&file, &token)?;
    let account = format!("token_file = {:?}", file.display().to_string());
    let gateway = world.gateway(&Setup { account, ..Setup::telegram() }).await?;
    let (asked, card) = asked_and_shown(&world, Channel::Telegram, "Which plan?", Script::new()).await?;
    gateway.wait_at_rest(SOON).await?;

    world.terreno.revoke_tokens(EMAIL);
    gateway.wait_answer("/readyz", SOON, |_, body| body.contains("account:")).await?;
    let before = world.terreno.read(sim::terreno::State::count_all);
    tokio::time::sleep(Duration::from_secs(4)).await;
    let after = world.terreno.read(sim::terreno::State::count_all);
    assert!(after - before <= 4, "{} requests in four seconds with a dead credential", after - before);
    let screen = world.screen(Channel::Telegram);
    assert_eq!(screen.messages(), std::slice::from_ref(&card), "the card is as it was");
    screen.answer(&card, "Team").await?;
    screen.see("that it waits", |now| now.id == card.id && now.text.contains("Recorded: Team")).await?;

    world.terreno.add_user(EMAIL, PASSWORD);
    let (token, _) = world.terreno.tokens(EMAIL).unwrap_or_default();
    write(&file, &token)?;
    let over = |now: &tests::Card| now.id == card.id && now.is_settled() && now.text.contains("Answered: Team");
    screen.see_within("the answer arrives", Duration::from_mins(1), over).await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    gateway.wait_answer("/readyz", SOON, |status, body| status == 200 && !body.contains("account:")).await?;
    let alerts = gateway.log().lines().filter(|line| line.contains("ERROR") && line.contains("account:")).count();
    assert!(alerts <= 1, "{alerts} alerts\n{}", gateway.log());
    Ok(())
}

/// A host that fails before it takes anything: the same button is posted again, pausing longer and longer, and then given back.
#[tokio::test(flavor = "multi_thread")]
async fn c53_an_answer_that_five_tries_cannot_deliver_is_given_back() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::telegram()).await?;
    let (asked, card) = asked_and_shown(&world, Channel::Telegram, "Which plan?", Script::new()).await?;
    let body = "{\"status\":500,\"title\":\"Internal Server Error\"}";
    world.terreno.inject(Fault::reply(Route::Turn, 500, body).for_ever());
    let screen = world.screen(Channel::Telegram);
    screen.answer(&card, "Starter").await?;
    let back = |now: &tests::Card| now.id == card.id && now.is_live() && now.text.contains("could not be brought");
    let live = screen.see_within("the card, live again", Duration::from_secs(80), back).await?;
    assert_eq!((&live.labels, &live.tokens), (&card.labels, &card.tokens));
    let tries: Vec<u64> = world.terreno.read(|state| {
        state.requests().filter(|request| request.route == Route::Turn).map(|request| request.at_ms).collect()
    });
    assert_eq!(tries.len(), 6, "the first and five more");
    assert!(tries[5] - tries[4] > tries[2] - tries[1], "pausing longer and longer: {tries:?}");
    polls(&world, 3).await?;
    assert_eq!(world.terreno.read(|state| state.count(Route::Turn)), 6, "nothing goes on by itself");

    world.terreno.clear_faults();
    screen.answer(&live, "Team").await?;
    screen.settled(&card, &["Answered: Team"]).await?;
    assert_eq!(effective(&world, &asked), 1);
    drop(gateway);
    world.assert_well_behaved()
}

/// A list that is suddenly empty may be somebody else's, or a copy from last week: one look takes no crowd of cards away.
#[tokio::test(flavor = "multi_thread")]
async fn s09_a_crowd_that_vanishes_is_looked_for_again() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::discord()).await?;
    let screen = world.screen(Channel::Discord);
    for number in 0..12 {
        world.terreno.ask(EMAIL, "choice", choice(&format!("Waiting {number:02}?")))?;
    }
    screen.card("Waiting 11?").await?;
    gateway.wait_at_rest(SOON).await?;
    let shown = screen.messages();
    assert_eq!(shown.len(), 12);
    world.terreno.inject(Fault::reply(Route::PendingAsks, 200, "{\"data\":[]}"));
    polls(&world, 4).await?;
    gateway.wait_at_rest(SOON).await?;
    assert_eq!(world.terreno.read(sim::terreno::State::faults_left), 0, "the empty list was served");
    assert_eq!(screen.messages(), shown);
    assert!(gateway.log().contains("looking again before they are withdrawn"));
    Ok(())
}
