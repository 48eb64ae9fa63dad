//! What only Telegram does: outages of its long poll, rival pollers, ids that begin anew, callbacks with half a message.

use std::time::Duration;

use sim::telegram::{Fate, Fault, Pick, Shape};
use sim::terreno::{Route, Script};
use tests::{AT_ONCE, Channel, EMAIL, SOON, Setup, TELEGRAM_PERSON, World};

use crate::common::{asked_and_shown, choice, effective, turns};

/// Twice the time after which a platform that is back is used again.
const BACK: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread")]
async fn down_and_back() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::telegram()).await?;
    let (asked, card) = asked_and_shown(&world, Channel::Telegram, "Which plan?", Script::new()).await?;
    // A send whose answer is cut off would be another story: nobody knows then which message it made.
    gateway.wait_at_rest(SOON).await?;
    world.telegram_down();
    gateway.wait_answer("/readyz", SOON, |status, body| status == 503 && body.contains("telegram")).await?;
    gateway.wait_status("/healthz", 200, SOON).await?;
    let second = world.terreno.ask(EMAIL, "choice", choice("Which size?"))?;
    world.terreno.press(&asked.history_id, "option:team").await?;
    let polls = world.terreno.read(|state| state.count(Route::PendingAsks)) + 2;
    let look = |state: &sim::terreno::State| (state.count(Route::PendingAsks) >= polls).then_some(());
    world.terreno.wait_for("polls of the host", SOON, look).await?;
    world.telegram_back().await?;

    let screen = world.screen(Channel::Telegram);
    let next = screen.see_within("the new card", BACK, |card| card.text.contains("Which size?")).await?;
    screen.settled(&card, &["Which plan?", "elsewhere", "Team"]).await?;
    gateway.wait_ready(BACK).await?;
    screen.answer(&next, "Starter").await?;
    screen.settled(&next, &["Answered: Starter"]).await?;
    assert_eq!(screen.count("Which size?"), 1);
    assert_eq!((turns(&world, &second), effective(&world, &second)), (1, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn another_poller_is_named_and_outlived() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::telegram()).await?;
    let (asked, card) = asked_and_shown(&world, Channel::Telegram, "Which plan?", Script::new()).await?;
    let url = format!("{}/bot{}/getUpdates?timeout=5", world.telegram_url, world.telegram.token());
    let client = adapters::http::client()?;
    let rival = tokio::spawn(async move {
        loop {
            let _ = client.get(&url).timeout(Duration::from_secs(10)).send().await;
        }
    });
    gateway.wait_answer("/readyz", SOON, |status, body| status == 503 && body.contains("another program")).await?;
    rival.abort();
    let screen = world.screen(Channel::Telegram);
    let tap = screen.tap(&card, "Starter")?;
    let told = screen.told(&tap, Duration::from_secs(24)).await?;
    assert_eq!(told, "");
    screen.settled(&card, &["Answered: Starter"]).await?;
    gateway.wait_ready(SOON).await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn update_ids_may_begin_anew() -> anyhow::Result<()> {
    let world = World::start().await?;
    let setup = Setup::telegram();
    let gateway = world.gateway(&setup).await?;
    let (first, card) = asked_and_shown(&world, Channel::Telegram, "Which plan?", Script::new()).await?;
    let (second, other) = asked_and_shown(&world, Channel::Telegram, "Which size?", Script::new()).await?;
    let screen = world.screen(Channel::Telegram);
    screen.answer(&card, "Team").await?;
    screen.settled(&card, &["Answered: Team"]).await?;
    gateway.wait_at_rest(SOON).await?;
    gateway.kill().await?;
    world.telegram.restart_update_ids(17);
    let gateway = world.gateway(&setup).await?;
    screen.answer(&other, "Skip").await?;
    screen.settled(&other, &["Answered: Skip"]).await?;
    for asked in [first, second] {
        assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    }
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callback_may_carry_a_stub_or_nothing() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::telegram()).await?;
    for (prompt, shape) in [("Which plan?", Shape::Stub), ("Which size?", Shape::Absent)] {
        let (asked, card) = asked_and_shown(&world, Channel::Telegram, prompt, Script::new()).await?;
        let pick = Pick::from("Starter");
        let callback = world.telegram.tap_as(TELEGRAM_PERSON, TELEGRAM_PERSON, i64::try_from(card.id)?, pick, shape)?;
        assert_eq!(world.telegram.wait_for_answer(&callback, AT_ONCE).await?.text, "", "{shape:?}");
        world.screen(Channel::Telegram).settled(&card, &[prompt, "Answered: Starter"]).await?;
        assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    }
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flooded_chat_still_acknowledges_at_once() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::telegram()).await?;
    let (asked, card) = asked_and_shown(&world, Channel::Telegram, "Which plan?", Script::new()).await?;
    world.telegram.flood(TELEGRAM_PERSON, Duration::from_secs(3));
    let screen = world.screen(Channel::Telegram);
    screen.answer(&card, "Team").await?;
    screen.settled(&card, &["Answered: Team"]).await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    let refused = world.telegram.requests().iter().filter(|request| request.status == Some(429)).count();
    assert!(refused <= 3, "{refused} requests ran into the flood limit");
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_bot_waits_for_a_sign_of_life() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::default()).await?;
    world.telegram.block(TELEGRAM_PERSON);
    let asked = world.terreno.ask(EMAIL, "choice", choice("Which plan?"))?;
    // The other place shows it, and readiness names the one that cannot.
    let copy = world.screen(Channel::Discord).card("Which plan?").await?;
    gateway.wait_answer("/readyz", SOON, |status, body| status == 200 && body.contains("\"telegram:1001\"")).await?;
    world.telegram.unblock(TELEGRAM_PERSON);
    let screen = world.screen(Channel::Telegram);
    let card = screen.card("Which plan?").await?;
    screen.answer(&card, "Team").await?;
    screen.settled(&card, &["Answered: Team"]).await?;
    world.screen(Channel::Discord).settled(&copy, &["Answered: Team"]).await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_asks_come_oldest_first_under_the_real_limits() -> anyhow::Result<()> {
    let world = World::start().await?;
    world.telegram.set_real_limits(true);
    let gateway = world.gateway(&Setup::telegram()).await?;
    for number in 0..20 {
        world.terreno.ask(EMAIL, "choice", choice(&format!("Question {number:02}?")))?;
    }
    let all = |telegram: &sim::telegram::Telegram| {
        let messages = telegram.messages(TELEGRAM_PERSON);
        (messages.len() == 20).then_some(messages)
    };
    let messages = world.telegram.wait_for("twenty cards", Duration::from_secs(52), all).await?;
    let order: Vec<bool> = messages
        .iter()
        .enumerate()
        .map(|(number, message)| message.text.contains(&format!("Question {number:02}?")))
        .collect();
    assert_eq!(order, [true; 20], "{messages:#?}");
    let refused = world.telegram.requests().iter().filter(|request| request.status == Some(429)).count();
    assert!(refused <= 2, "{refused} requests ran into the limits");
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

/// A send in doubt, then one that was refused for now, then two more tries: the doubt must not be forgotten on the way.
#[tokio::test(flavor = "multi_thread")]
async fn at_most_two_copies_of_a_send_in_doubt() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::telegram()).await?;
    world.telegram.order(Fault::on("sendMessage").times(1).after(Fate::Cut));
    world.telegram.order(Fault::on("sendMessage").times(1).before(Fate::TooManyRequests(8)));
    world.telegram.order(Fault::on("sendMessage").always().after(Fate::Cut));
    let asked = world.terreno.ask(EMAIL, "choice", choice("Which plan?"))?;
    world.telegram.wait_for_calls("sendMessage", 3, Duration::from_mins(1)).await?;
    gateway.wait_at_rest(Duration::from_mins(1)).await?;
    let copies = world.screen(Channel::Telegram).count("Which plan?");
    assert_eq!(copies, 2, "one in doubt, one that was tried once more, and never a third\n{}", gateway.log());

    // Each copy answers, and what is pressed is brought up to date.
    world.telegram.clear_faults();
    let screen = world.screen(Channel::Telegram);
    let card = screen.card("Which plan?").await?;
    screen.answer(&card, "Team").await?;
    screen.settled(&card, &["Answered: Team"]).await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    drop(gateway);
    Ok(())
}

/// A group takes twenty messages a minute; a tap there must not wait for the cards that wait for their turn.
#[tokio::test(flavor = "multi_thread")]
async fn a_tap_in_a_full_group_settles_although_cards_wait() -> anyhow::Result<()> {
    const GROUP: i64 = -1_009_876_543_210;
    let world = World::start().await?;
    world.telegram.supergroup(GROUP, "Team", &[TELEGRAM_PERSON]);
    let more = format!(
        "[[groups]]\nplace = \"telegram:{GROUP}\"\naccounts = [\"me\"]\napprovers = [\"telegram:{TELEGRAM_PERSON}\"]\nprivacy = \"full\""
    );
    let setup = Setup { more, deliver: Some(Vec::new()), ..Setup::telegram() };
    let gateway = world.gateway(&setup).await?;
    for number in 0..25 {
        world.terreno.ask(EMAIL, "choice", choice(&format!("Which plan, number {number}?")))?;
    }
    let screen = world.screen(Channel::Telegram).in_chat(GROUP);
    // The eighteenth is there, so the group's minute is nearly used up and several wait.
    screen.see_within("most cards", Duration::from_mins(1), |card| card.text.contains("number 17?")).await?;
    let card = screen.card("number 0?").await?;
    screen.as_user(u64::try_from(TELEGRAM_PERSON)?).answer(&card, "Team").await?;
    screen.settled(&card, &["number 0?", "Team"]).await?;
    drop(gateway);
    Ok(())
}
