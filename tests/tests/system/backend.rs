//! The host is down, slow, in a bad mood, or wants another sign-in.

use std::time::Duration;

use sim::terreno::{AuthMode, Fault, Options, Route, Script};
use tests::{AT_ONCE, Channel, EMAIL, SOON, Setup, World};

use crate::common::{asked_and_shown, choice, effective, only, turns};

on_both_channels!(bad_polls_withdraw_nothing, down_during_a_tap, signs_in_again_for_a_tap, slow_down_during_a_tap);

/// Twice the time after which a source that is back is used again.
const BACK: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread")]
async fn down_at_the_start_it_starts_says_so_and_recovers() -> anyhow::Result<()> {
    let world = World::start().await?;
    world.terreno.set_down(true);
    let asked = world.terreno.ask(EMAIL, "choice", choice("Which plan?"))?;
    let gateway = world.gateway(&Setup::default()).await?;
    gateway.wait_status("/healthz", 200, SOON).await?;
    let says = |status: u16, body: &str| status == 200 && body.contains("source:app") && body.contains("down");
    gateway.wait_answer("/readyz", SOON, says).await?;
    world.terreno.set_down(false);
    let card = world.screen(Channel::Telegram).see_within("the card", BACK, tests::Card::is_live).await?;
    world.screen(Channel::Telegram).answer(&card, "Team").await?;
    world.terreno.wait_for_answer(&asked, SOON).await?;
    world.screen(Channel::Telegram).settled(&card, &["Answered: Team"]).await?;
    gateway.wait_answer("/readyz", SOON, |status, body| status == 200 && !body.contains("down")).await?;
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn down_during_a_tap(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&only(channel)).await?;
    let (asked, card) = asked_and_shown(&world, channel, "Which plan?", Script::new()).await?;
    world.terreno.set_down(true);
    let screen = world.screen(channel);
    screen.answer(&card, "Starter").await?;
    let held = screen
        .see("what waits, and for what", |now| now.id == card.id && now.text.contains("Recorded: Starter"))
        .await?;
    assert!(!held.is_live(), "{held:?}");
    let late = screen.tap(&card, "Team")?;
    assert!(screen.told(&late, AT_ONCE).await?.contains("Starter"));
    world.terreno.set_down(false);
    let settled = screen
        .see_within("the card settled", BACK, |now| now.id == card.id && now.text.contains("Answered: Starter"))
        .await?;
    assert!(settled.is_settled(), "{settled:?}");
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn bad_polls_withdraw_nothing(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&only(channel)).await?;
    let (asked, card) = asked_and_shown(&world, channel, "Which plan?", Script::new()).await?;
    for fault in [
        Fault::html(Route::PendingAsks, 502),
        Fault::html(Route::PendingAsks, 404),
        Fault::html(Route::PendingAsks, 403),
        Fault::html(Route::PendingAsks, 200),
        Fault::reply(Route::PendingAsks, 200, "[]"),
        Fault::reply(Route::PendingAsks, 200, "{\"data\":null}"),
        Fault::reply(Route::PendingAsks, 200, "{\"data\":[{\"historyId\":7}]}"),
        Fault::truncate(Route::PendingAsks),
        Fault::cut(Route::PendingAsks),
        Fault::drop(Route::PendingAsks),
    ] {
        let left = |state: &sim::terreno::State| (state.faults_left() == 0).then_some(());
        let described = format!("{fault:?}");
        world.terreno.inject(fault);
        if world.terreno.wait_for("the fault", Duration::from_secs(30), left).await.is_err() {
            anyhow::bail!("no poll came for {described}\n{}", gateway.log());
        }
    }
    let screen = world.screen(channel);
    assert_eq!(screen.messages(), std::slice::from_ref(&card), "an error proves nothing");
    screen.answer(&card, "Team").await?;
    screen.settled(&card, &["Answered: Team"]).await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn signs_in_again_for_a_tap(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    // No poll comes between, so the turn itself meets the expired token.
    let setup = Setup { source: "poll_active = \"60s\"\npoll_idle = \"60s\"".to_owned(), ..only(channel) };
    let first = world.terreno.ask(EMAIL, "choice", choice("Which plan?"))?;
    let second = world.terreno.ask(EMAIL, "choice", choice("Which size?"))?;
    let gateway = world.gateway(&setup).await?;
    let screen = world.screen(channel);
    let (plan, size) = (screen.card("Which plan?").await?, screen.card("Which size?").await?);
    world.terreno.expire_access_tokens(EMAIL);
    screen.answer(&plan, "Team").await?;
    screen.settled(&plan, &["Answered: Team"]).await?;
    // Neither token works any more: only the password does.
    world.terreno.revoke_tokens(EMAIL);
    screen.answer(&size, "Skip").await?;
    screen.settled(&size, &["Answered: Skip"]).await?;
    for asked in [first, second] {
        assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    }
    let auth = world.terreno.read(|state| state.count(Route::Login) + state.count(Route::Refresh));
    assert!(auth <= 6, "{auth} log-ins and refreshes");
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn slow_down_during_a_tap(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&only(channel)).await?;
    let (asked, card) = asked_and_shown(&world, channel, "Which plan?", Script::new()).await?;
    let body = "{\"status\":429,\"title\":\"Too many requests\",\"code\":\"rate-limit-exceeded\"}";
    world.terreno.inject(Fault::reply(Route::Turn, 429, body).header("Retry-After", "3"));
    let screen = world.screen(channel);
    screen.answer(&card, "Team").await?;
    screen.see("why it waits", |now| now.id == card.id && now.text.contains("slow down")).await?;
    screen.settled(&card, &["Answered: Team"]).await?;
    let times: Vec<u64> = world.terreno.read(|state| {
        state.requests().filter(|request| request.route == Route::Turn).map(|request| request.at_ms).collect()
    });
    assert_eq!(times.len(), 2);
    assert!(times.last() >= times.first().map(|first| first + 2_900).as_ref(), "Retry-After is obeyed: {times:?}");
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn polls_obey_retry_after() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::telegram()).await?;
    let (_, card) = asked_and_shown(&world, Channel::Telegram, "Which plan?", Script::new()).await?;
    let body = "{\"status\":429,\"title\":\"Too many requests\",\"code\":\"rate-limit-exceeded\"}";
    world.terreno.inject(Fault::reply(Route::PendingAsks, 429, body).header("Retry-After", "3"));
    let limited = world
        .terreno
        .wait_for("a refused poll", SOON, |state| {
            state.requests().find(|request| request.status == Some(429)).map(|request| request.at_ms)
        })
        .await?;
    let next = world
        .terreno
        .wait_for("the next poll", SOON, |state| {
            let later =
                |request: &&sim::terreno::RequestRecord| request.route == Route::PendingAsks && request.at_ms > limited;
            state.requests().find(later).map(|request| request.at_ms)
        })
        .await?;
    assert!(next - limited >= 2_900, "polled again after {} ms", next - limited);
    world.screen(Channel::Telegram).answer(&card, "Team").await?;
    world.screen(Channel::Telegram).settled(&card, &["Answered: Team"]).await?;
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn asks_switched_off_keep_their_cards_and_come_back() -> anyhow::Result<()> {
    let world = World::start().await?;
    let setup = Setup { server: "admin_token = \"operator\"".to_owned(), ..Setup::default() };
    let gateway = world.gateway(&setup).await?;
    let (asked, card) = asked_and_shown(&world, Channel::Discord, "Which plan?", Script::new()).await?;
    world.terreno.configure(|options| options.asks = false);
    gateway.wait_answer("/readyz", SOON, |_, body| body.contains("switched off")).await?;
    let screen = world.screen(Channel::Discord);
    assert_eq!(screen.messages(), std::slice::from_ref(&card), "the cards stay");
    world.terreno.configure(|options| options.asks = true);
    let second = world.terreno.ask(EMAIL, "choice", choice("Which size?"))?;
    gateway.nudge("app", "me").await?;
    let next = screen.card("Which size?").await?;
    gateway.wait_answer("/readyz", SOON, |status, body| status == 200 && !body.contains("switched off")).await?;
    for (asked, card) in [(asked, card), (second, next)] {
        screen.answer(&card, "Skip").await?;
        screen.settled(&card, &["Answered: Skip"]).await?;
        assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    }
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_is_locked_out_is_named_and_its_answer_waits() -> anyhow::Result<()> {
    let world = World::start().await?;
    let setup = Setup { server: "admin_token = \"operator\"".to_owned(), ..Setup::default() };
    let gateway = world.gateway(&setup).await?;
    let (asked, card) = asked_and_shown(&world, Channel::Telegram, "Which plan?", Script::new()).await?;
    world.terreno.set_disabled(EMAIL, true);
    gateway.wait_answer("/readyz", SOON, |_, body| body.contains("account:")).await?;
    gateway.wait_status("/healthz", 200, SOON).await?;
    let screen = world.screen(Channel::Telegram);
    screen.answer(&card, "Team").await?;
    screen.see("what waits, and for what", |now| now.id == card.id && now.text.contains("sign-in")).await?;
    world.terreno.set_disabled(EMAIL, false);
    // Someone mended the account and says so.
    gateway.nudge("app", "me").await?;
    screen
        .see_within("the card settled", Duration::from_mins(2), |now| {
            now.id == card.id && now.is_settled() && now.text.contains("Answered: Team")
        })
        .await?;
    assert_eq!(effective(&world, &asked), 1);
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_from_the_file_are_refreshed() -> anyhow::Result<()> {
    let world = World::start().await?;
    let (token, refresh) = world.terreno.tokens(EMAIL).unwrap_or_default();
    let account = format!("token = \"{token}\"\nrefresh_token = \"{refresh}\"");
    let gateway = world.gateway(&Setup { account, ..Setup::telegram() }).await?;
    let (asked, card) = asked_and_shown(&world, Channel::Telegram, "Which plan?", Script::new()).await?;
    world.terreno.expire_access_tokens(EMAIL);
    world.screen(Channel::Telegram).answer(&card, "Team").await?;
    world.screen(Channel::Telegram).settled(&card, &["Answered: Team"]).await?;
    let (logins, refreshes) = world.terreno.read(|state| (state.count(Route::Login), state.count(Route::Refresh)));
    assert_eq!(logins, 0);
    assert!((1..=3).contains(&refreshes), "{refreshes} refreshes");
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_better_auth_host_signs_in_too() -> anyhow::Result<()> {
    let world = World::with(Options { auth: AuthMode::BetterAuth, ..Options::default() }).await?;
    let gateway = world.gateway(&Setup::discord()).await?;
    let (asked, card) = asked_and_shown(&world, Channel::Discord, "Which plan?", Script::new()).await?;
    world.terreno.end_sessions(EMAIL);
    world.screen(Channel::Discord).answer(&card, "Starter").await?;
    world.screen(Channel::Discord).settled(&card, &["Answered: Starter"]).await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}
