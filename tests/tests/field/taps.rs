//! Presses that are late, repeated, refused, or in the way of each other.

use std::time::Duration;

use sim::discord::{CallbackKind, Fault, Id, Route, Where};
use sim::telegram::{self, Fate};
use sim::terreno::{AskSpec, Script, TurnOutcome};
use tests::{AT_ONCE, Channel, DISCORD_PERSON, EMAIL, SOON, Setup, Tap, World};

use crate::common::{asked_and_shown, choice, confirm, effective, only, turns};

/// A guild channel in which the person may answer too.
const ROOM: u64 = 4001;

/// The person's direct messages on Discord and a guild channel beside them, each with every ask.
fn two_rooms(world: &World) -> Setup {
    world.discord.add_channel(ROOM, "asks");
    let more = format!(
        "[[groups]]\nplace = \"discord:channel:{ROOM}\"\naccounts = [\"me\"]\napprovers = [\"discord:{DISCORD_PERSON}\"]\nprivacy = \"full\""
    );
    Setup { more, ..Setup::discord() }
}

/// The acknowledgement comes before the turn ends, and when the platform calls it too old nothing else changes.
#[tokio::test(flavor = "multi_thread")]
async fn c06_a_query_that_is_too_old_costs_only_its_acknowledgement() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::telegram()).await?;
    let script = || Script::new().slow(Duration::from_secs(4));
    let (first, plan) = asked_and_shown(&world, Channel::Telegram, "Which plan?", script()).await?;
    let (second, size) = asked_and_shown(&world, Channel::Telegram, "Which size?", script()).await?;
    let screen = world.screen(Channel::Telegram);
    screen.answer(&plan, "Team").await?;
    assert_eq!(world.terreno.read(sim::terreno::State::running), 1, "acknowledged while the turn runs");

    let text = "Bad Request: query is too old and response timeout expired or query ID is invalid";
    world.telegram.order(telegram::Fault::on("answerCallbackQuery").before(Fate::refusal(400, text)));
    screen.tap(&size, "Starter")?;
    screen.settled(&size, &["Answered: Starter"]).await?;
    screen.settled(&plan, &["Answered: Team"]).await?;
    assert_eq!(world.telegram.faults_left(), 0, "the acknowledgement was refused");
    for asked in [first, second] {
        assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    }
    let log = gateway.log();
    assert!(
        !log.contains(" ERROR ") && !log.lines().any(|line| line.contains("WARN") && line.contains("too old")),
        "{log}"
    );
    Ok(())
}

/// Many presses within a second, while turns hang: each is acknowledged long before Discord gives it up.
#[tokio::test(flavor = "multi_thread")]
async fn c09_two_hundred_presses_beside_sixteen_turns_are_acknowledged_in_time() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::discord()).await?;
    let screen = world.screen(Channel::Discord);
    for number in 0..16 {
        let prompt = format!("Busy {number:02}?");
        let script = Script::new().slow(Duration::from_mins(5));
        let (_, card) = asked_and_shown(&world, Channel::Discord, &prompt, script).await?;
        screen.answer(&card, "Team").await?;
    }
    let (asked, card) = asked_and_shown(&world, Channel::Discord, "Which plan?", Script::new()).await?;
    gateway.wait_at_rest(SOON).await?;
    let mut taps = Vec::new();
    for number in 0..200 {
        let Tap::Discord(id) = screen.tap(&card, ["Team", "Starter"][number % 2])? else { continue };
        taps.push(id);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut after = Vec::new();
    for id in taps {
        after.push(world.discord.wait_for_response(id, SOON).await?.after);
    }
    after.sort_unstable();
    let p99 = after[after.len() * 99 / 100];
    assert!(p99 < Duration::from_secs(1), "p99 {p99:?}, slowest {:?}", after.last());
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));

    // One that Discord has given up meanwhile counts all the same.
    let (late, size) = asked_and_shown(&world, Channel::Discord, "Which size?", Script::new()).await?;
    world.discord.fault(Where::route(Route::Callback), 1, Fault::error(404, 10_062, "Unknown interaction"));
    screen.tap(&size, "Starter")?;
    screen.settled(&size, &["Answered: Starter"]).await?;
    assert_eq!((turns(&world, &late), effective(&world, &late)), (1, 1));
    world.assert_well_behaved()
}

/// The end of one interaction's token is no news about the bot's own.
#[tokio::test(flavor = "multi_thread")]
async fn c10_an_expired_interaction_leaves_the_channel_alone() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::discord()).await?;
    let screen = world.screen(Channel::Discord);
    let mut others = Vec::new();
    for number in 0..5 {
        others.push(asked_and_shown(&world, Channel::Discord, &format!("Other {number}?"), Script::new()).await?.1);
    }
    let (asked, card) = asked_and_shown(&world, Channel::Discord, "Which plan?", Script::new()).await?;
    gateway.wait_at_rest(SOON).await?;
    let before = world.discord.counts();
    for (status, code, text) in
        [(401, 50_027, "Invalid Webhook Token"), (401, 0, "401: Unauthorized"), (404, 10_015, "Unknown Webhook")]
    {
        world.discord.fault(Where::route(Route::Callback), 1, Fault::error(status, code, text));
    }
    // The winner's acknowledgement and two losers' sentences.
    screen.tap(&card, "Team")?;
    screen.settled(&card, &["Answered: Team"]).await?;
    for _ in 0..2 {
        let shown = screen.messages().len();
        screen.press(&card, &card.tokens[1])?;
        // What the interaction cannot say any more is said by the bot itself.
        screen.see("the sentence", |now| now.text.contains("Team") && now.id != card.id).await?;
        let more =
            |state: &sim::discord::State| (state.messages_to(Id::new(DISCORD_PERSON)).count() > shown).then_some(());
        world.discord.wait_for("an ordinary message", SOON, more).await?;
    }
    for other in &others {
        screen.answer(other, "Starter").await?;
        screen.settled(other, &["Answered: Starter"]).await?;
    }
    gateway.wait_status("/readyz", 200, AT_ONCE).await?;
    let after = world.discord.counts();
    assert_eq!(
        (after.gateway_connections, after.identifies),
        (before.gateway_connections, before.identifies),
        "no new connection"
    );
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));

    // The bot's own token is another matter: the channel stops, and says so, once.
    world.discord.set_token("another-token");
    world.discord.close_gateway(4004);
    gateway
        .wait_answer("/readyz", SOON, |status, body| status == 503 && body.contains("\"discord\":{\"is\":\"bad\""))
        .await?;
    gateway.wait_status("/healthz", 200, AT_ONCE).await?;
    let told = gateway.log().lines().filter(|line| line.contains("discord does not work")).count();
    assert_eq!(told, 1, "told once\n{}", gateway.log());
    Ok(())
}

/// What is not modified is right already: no new message, no deleted one, no endless edits.
#[tokio::test(flavor = "multi_thread")]
async fn c14_not_modified_is_taken_for_done() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::telegram()).await?;
    let (asked, card) = asked_and_shown(&world, Channel::Telegram, "Which plan?", Script::new().say("")).await?;
    gateway.wait_at_rest(SOON).await?;
    let text = "Bad Request: message is not modified: specified new message content and reply markup are exactly the \
                same as a current content and reply markup of the message";
    world.telegram.order(telegram::Fault::on("editMessageText").always().after(Fate::refusal(400, text)));
    let sends = world.telegram.count_of("sendMessage");
    let screen = world.screen(Channel::Telegram);
    let (one, two) = (screen.tap(&card, "Team")?, screen.tap(&card, "Team")?);
    for tap in [one, two] {
        screen.told(&tap, AT_ONCE).await?;
    }
    screen.settled(&card, &["Answered: Team"]).await?;
    gateway.wait_at_rest(SOON).await?;
    let edits = world.telegram.count_of("editMessageText");
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(edits <= 3 && world.telegram.count_of("editMessageText") == edits, "{edits} edits and then more");
    assert_eq!((world.telegram.count_of("sendMessage"), world.telegram.count_of("deleteMessage")), (sends, 0));
    assert_eq!(effective(&world, &asked), 1);
    Ok(())
}

/// The app sends an unanswered press again, as another update; and after an unclean end the platform serves the same one again.
#[tokio::test(flavor = "multi_thread")]
async fn c15_c22_a_press_that_comes_again_posts_nothing() -> anyhow::Result<()> {
    let world = World::start().await?;
    let setup = Setup::telegram();
    let gateway = world.gateway(&setup).await?;
    let (asked, card) = asked_and_shown(&world, Channel::Telegram, "Which plan?", Script::new()).await?;
    gateway.wait_at_rest(SOON).await?;
    gateway.kill().await?;
    let screen = world.screen(Channel::Telegram);
    screen.tap(&card, "Starter")?;
    let waiting = world.telegram.waiting_updates();
    let update = waiting.last().and_then(|update| update["update_id"].as_i64()).unwrap_or_default();

    let gateway = world.gateway(&setup).await?;
    screen.settled(&card, &["Answered: Starter"]).await?;
    // The same press under another id.
    let again = screen.press(&card, &card.tokens[1])?;
    assert!(screen.told(&again, AT_ONCE).await?.contains("Answered: Starter"), "told how it ended");
    gateway.kill().await?;

    // The same press under its own id, to a process that does not remember it.
    let gateway = world.gateway(&setup).await?;
    assert!(world.telegram.push_again(update), "the update is remembered");
    let gone = |telegram: &telegram::Telegram| telegram.waiting_updates().is_empty().then_some(());
    world.telegram.wait_for("the update is confirmed", SOON, gone).await?;
    gateway.wait_at_rest(SOON).await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    assert_eq!(screen.count("Which plan?"), 1);
    Ok(())
}

/// Two processes with one bot: the other's acknowledgement is no error of ours, and a person is told where to look.
#[tokio::test(flavor = "multi_thread")]
async fn c17_what_was_acknowledged_before_counts_once() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::discord()).await?;
    let screen = world.screen(Channel::Discord);
    let already = "Interaction has already been acknowledged.";
    world.discord.fault(Where::route(Route::Callback), 5, Fault::error(400, 40_060, already));
    for number in 0..5 {
        let prompt = format!("Which plan, number {number}?");
        let (asked, card) = asked_and_shown(&world, Channel::Discord, &prompt, Script::new().say("")).await?;
        screen.tap(&card, "Team")?;
        screen.settled(&card, &["Answered: Team"]).await?;
        assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    }
    assert_eq!(screen.count("Answered: Team"), 5, "each outcome is told once");
    let log = gateway.log();
    let hints = log.lines().filter(|line| line.contains("second process")).count();
    assert!(hints == 1 && !log.contains(" ERROR "), "{log}");
    world.assert_well_behaved()
}

/// A button belongs to one ask for ever, also where the next ask of the conversation has buttons with the same ids.
#[tokio::test(flavor = "multi_thread")]
async fn c44_an_old_button_never_answers_a_newer_ask() -> anyhow::Result<()> {
    for channel in Channel::ALL {
        let world = World::start().await?;
        // No poll tells in between that the first ask is over.
        let setup = Setup {
            source: "poll_active = \"60s\"\npoll_idle = \"60s\"".to_owned(),
            server: "admin_token = \"operator\"".to_owned(),
            ..only(channel)
        };
        let spec = AskSpec::new("confirm", confirm("Delete the drafts?"));
        let script = Script::new().ask("confirm", confirm("Delete everything?"));
        let first = world.terreno.ask_then(EMAIL, spec, script)?;
        let gateway = world.gateway(&setup).await?;
        let screen = world.screen(channel);
        let old = screen.card("Delete the drafts?").await?;
        gateway.wait_at_rest(SOON).await?;

        world.terreno.press(&first.history_id, "deny").await?;
        let second = world.terreno.pending(EMAIL).into_iter().next().map(|ask| ask.tool_call_id).unwrap_or_default();
        assert_ne!(second, first.tool_call_id);
        screen.answer(&old, "Delete").await?;
        let settled = screen.settled(&old, &["Delete the drafts?", "elsewhere", "Keep"]).await?;
        assert!(!settled.text.to_lowercase().contains("error"), "{settled:?}");
        let lost: Vec<_> =
            world.terreno.turns().into_iter().filter(|turn| turn.outcome == TurnOutcome::NotPending).collect();
        let named: Vec<_> = lost.iter().map(|turn| turn.tool_call_id.as_deref()).collect();
        assert_eq!(named, [Some(first.tool_call_id.as_str())], "the tap names its own ask");
        assert_eq!(world.terreno.pending(EMAIL).len(), 1, "the newer ask waits on");

        gateway.nudge("app", "me").await?;
        let new = screen.card("Delete everything?").await?;
        assert!(old.tokens.iter().all(|token| !new.tokens.contains(token)), "no token is bound again");
        screen.answer(&new, "Keep").await?;
        screen.settled(&new, &["Delete everything?", "Answered: Keep"]).await?;
        assert_eq!(world.terreno.read(|state| state.effective(&first.history_id, &second)), 1);
        world.assert_well_behaved()?;
    }
    Ok(())
}

/// A turn may wait for a tap on another card, and any number of turns may hang: nobody who listens waits for a turn.
#[tokio::test(flavor = "multi_thread")]
async fn c07_c49_c50_hanging_turns_hold_no_press_back() -> anyhow::Result<()> {
    const HANGING: usize = 70;
    let world = World::start().await?;
    let gateway = world.gateway(&two_rooms(&world)).await?;
    let (direct, room) = (world.screen(Channel::Discord), world.screen(Channel::Discord).in_chat(i64::try_from(ROOM)?));
    let person = room.as_user(DISCORD_PERSON);

    // The first turn ends only after the other ask of the same chat is answered.
    let needs = Script::new().slow(Duration::from_secs(6)).say("Both are done.");
    let (_, first) = asked_and_shown(&world, Channel::Discord, "The outer one?", needs).await?;
    direct.answer(&first, "Team").await?;
    let (inner, second) = asked_and_shown(&world, Channel::Discord, "The inner one?", Script::new()).await?;
    direct.answer(&second, "Team").await?;
    world.terreno.wait_for_answer(&inner, Duration::from_secs(3)).await?;
    assert_eq!(effective(&world, &inner), 1);
    assert!(direct.messages().iter().all(|card| card.text != "Both are done."), "the outer turn runs still");
    direct.see("what the outer one waited for", |card| card.text == "Both are done.").await?;

    let mut hanging = Vec::new();
    for number in 0..HANGING {
        let script = Script::new().slow(Duration::from_mins(5));
        hanging.push(world.terreno.ask_then(
            EMAIL,
            AskSpec::new("choice", choice(&format!("Hang {number:02}?"))),
            script,
        )?);
    }
    for number in 0..HANGING {
        let text = format!("Hang {number:02}?");
        let card = direct.see_within(&text, Duration::from_mins(1), |card| card.text.contains(&text) && card.is_live());
        direct.answer(&card.await?, "Team").await?;
    }
    world.terreno.wait_for("every turn runs", SOON, |state| (state.running() >= HANGING).then_some(())).await?;

    let asked = world.terreno.ask(EMAIL, "choice", choice("One more?"))?;
    let card = room.card("One more?").await?;
    let tap = person.tap(&card, "Starter")?;
    assert_eq!(person.told(&tap, AT_ONCE).await?, "");
    room.settled(&card, &["One more?", "Starter"]).await?;
    assert_eq!(effective(&world, &asked), 1);

    // The watchdog sees how long the oldest answer is on its way.
    let age = |body: &str| {
        let line = body.lines().find_map(|line| line.strip_prefix("askgate_oldest_claim_seconds "));
        line.and_then(|age| age.parse::<u64>().ok()).unwrap_or_default()
    };
    gateway.wait_answer("/metrics", SOON, |_, body| age(body) >= 2).await?;
    world.discord.read(|state| {
        let late = state.interactions().filter(|interaction| interaction.too_late > 0).count();
        let first: Vec<_> = state.interactions().filter_map(|one| one.callback.as_ref()).collect();
        assert_eq!((late, first.len()), (0, HANGING + 3));
        assert!(first.iter().all(|callback| callback.kind == CallbackKind::DeferredUpdate && callback.after < AT_ONCE));
    });
    world.assert_well_behaved()
}
