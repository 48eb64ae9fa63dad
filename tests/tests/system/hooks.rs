//! Platforms that call the gateway: the same as when it asks them, and nothing for anybody else who finds the addresses.

use std::time::Duration;

use serde_json::{Value, json};
use sim::terreno::{AskSpec, Script};
use tests::{AT_ONCE, Channel, DISCORD_PERSON, EMAIL, Gateway, SOON, Setup, TELEGRAM_PERSON, World};

use crate::common::{asked_and_shown, choice, effective, only, turns};

on_both_channels!(
    a_hanging_turn_delays_no_other_tap,
    a_stranger_is_told_nothing,
    a_tap_after_a_restart_answers_the_old_card,
    a_tap_answers_and_settles,
    a_thousand_forgeries_change_nothing
);

const SECRET: &str = "hook_secret-of-the-tests";
const STRANGER: u64 = 5002;

fn called(channel: Channel) -> Setup {
    Setup { hooks: true, ..only(channel) }
}

fn path(channel: Channel) -> &'static str {
    match channel {
        Channel::Telegram => "/telegram/webhook",
        Channel::Discord => "/discord/interactions",
    }
}

/// Posts to a hook and gives the status and the body.
async fn post(
    gateway: &Gateway,
    channel: Channel,
    headers: &[(&'static str, String)],
    body: impl Into<Vec<u8>>,
) -> anyhow::Result<(u16, String)> {
    post_with(&adapters::http::client()?, gateway, channel, headers, body).await
}

async fn post_with(
    client: &reqwest::Client,
    gateway: &Gateway,
    channel: Channel,
    headers: &[(&'static str, String)],
    body: impl Into<Vec<u8>>,
) -> anyhow::Result<(u16, String)> {
    let mut request = client.post(gateway.url(path(channel))).timeout(Duration::from_secs(10));
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    let answer = request.header("content-type", "application/json").body(body.into()).send().await?;
    Ok((answer.status().as_u16(), answer.text().await?))
}

/// The headers that prove a body.
fn proof(world: &World, channel: Channel, body: &str) -> Vec<(&'static str, String)> {
    match channel {
        Channel::Telegram => vec![("x-telegram-bot-api-secret-token", SECRET.to_owned())],
        Channel::Discord => world.discord.proof(body).to_vec(),
    }
}

async fn a_tap_answers_and_settles(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    // Both are there, so that the copy on the other channel shows the end as well.
    let gateway = world.gateway(&Setup { hooks: true, ..Setup::default() }).await?;
    let (asked, card) = asked_and_shown(&world, channel, "Which plan?", Script::new()).await?;
    let other = if channel == Channel::Telegram { Channel::Discord } else { Channel::Telegram };
    let copy = world.screen(other).card("Which plan?").await?;
    world.screen(channel).answer(&card, "Starter").await?;
    world.screen(channel).settled(&card, &["Which plan?", "Answered: Starter"]).await?;
    world.screen(other).settled(&copy, &["Answered: Starter"]).await?;
    let late = world.screen(other).press(&copy, copy.tokens.first().map_or("", String::as_str))?;
    assert!(world.screen(other).told(&late, AT_ONCE).await?.contains("Starter"));
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    assert_eq!(world.discord.counts().ready, 0, "no socket to Discord's gateway");
    assert!(world.telegram.requests().iter().all(|request| request.method != "getUpdates"), "no poll");
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn a_stranger_is_told_nothing(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    world.telegram.private_chat(i64::try_from(STRANGER)?);
    world.discord.add_user(STRANGER, "stranger");
    let gateway = world.gateway(&called(channel)).await?;
    let (asked, card) = asked_and_shown(&world, channel, "Which plan?", Script::new()).await?;
    let stranger = world.screen(channel).as_user(STRANGER);
    for token in card.tokens.iter().map(String::as_str).chain(["made-up"]) {
        let told = stranger.told(&stranger.press(&card, token)?, AT_ONCE).await?;
        assert!(!told.trim().is_empty() && !told.contains("plan"), "{told:?}");
    }
    assert_eq!(turns(&world, &asked), 0);
    world.screen(channel).answer(&card, "Team").await?;
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn a_tap_after_a_restart_answers_the_old_card(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let setup = called(channel);
    let gateway = world.gateway(&setup).await?;
    let (asked, card) = asked_and_shown(&world, channel, "Which plan?", Script::new()).await?;
    gateway.wait_at_rest(SOON).await?;
    gateway.kill().await?;
    let gateway = world.gateway(&setup).await?;
    world.screen(channel).answer(&card, "Starter").await?;
    world.screen(channel).settled(&card, &["Answered: Starter"]).await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn a_hanging_turn_delays_no_other_tap(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&called(channel)).await?;
    let slow = Script::new().slow(Duration::from_mins(1));
    let (_, first) = asked_and_shown(&world, channel, "Which plan?", slow).await?;
    let (asked, second) = asked_and_shown(&world, channel, "Which size?", Script::new()).await?;
    let screen = world.screen(channel);
    screen.answer(&first, "Starter").await?;
    screen.answer(&second, "Team").await?;
    screen.settled(&second, &["Which size?", "Answered: Team"]).await?;
    assert_eq!(effective(&world, &asked), 1);
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn a_thousand_forgeries_change_nothing(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&called(channel)).await?;
    let (asked, card) = asked_and_shown(&world, channel, "Which plan?", Script::new()).await?;
    gateway.wait_at_rest(SOON).await?;
    let token = card.tokens.first().map_or("", String::as_str);
    let body = match channel {
        Channel::Telegram => json!({"update_id": 1, "callback_query": {"id": "1", "data": token,
            "from": {"id": TELEGRAM_PERSON, "is_bot": false, "first_name": "A"},
            "message": {"message_id": card.id, "chat": {"id": TELEGRAM_PERSON}}}}),
        Channel::Discord => json!({"id": "1", "type": 3, "token": "t", "application_id": "3001",
            "user": {"id": DISCORD_PERSON.to_string()}, "data": {"custom_id": token, "component_type": 2}}),
    }
    .to_string();
    let now = world.discord.now();
    let right = world.discord.proof(&body);
    let before = resident(&gateway)?;
    let client = adapters::http::client()?;
    for number in 0..1_000_usize {
        let headers: Vec<(&'static str, String)> = match (channel, number % 5) {
            (_, 0) => Vec::new(),
            (Channel::Telegram, 1) => vec![("x-telegram-bot-api-secret-token", SECRET.to_uppercase())],
            (Channel::Telegram, 2) => vec![("x-telegram-bot-api-secret-token", format!("{SECRET}{number}"))],
            (Channel::Telegram, 3) => vec![("x-telegram-bot-api-secret-token", String::new())],
            (Channel::Telegram, _) => vec![("authorization", format!("Bearer {SECRET}"))],
            (Channel::Discord, 1) => world.discord.proof_at(&body, now.saturating_sub(Duration::from_mins(6))).to_vec(),
            (Channel::Discord, 2) => world.discord.proof(&format!("{body} ")).to_vec(),
            (Channel::Discord, 3) => vec![right[0].clone(), (right[1].0, (now.as_secs() + 1).to_string())],
            (Channel::Discord, _) => vec![("x-signature-ed25519", "ab".repeat(64)), right[1].clone()],
        };
        // A few are large, and none of that is kept.
        let body = if number % 100 == 0 { " ".repeat(1 << 20) } else { body.clone() };
        assert_eq!(post_with(&client, &gateway, channel, &headers, body).await?.0, 401, "number {number}");
    }
    let grown = resident(&gateway)?.saturating_sub(before);
    assert!(grown < 16 << 10, "the process grew by {grown} KiB");
    assert_eq!(turns(&world, &asked), 0);
    assert_eq!(world.screen(channel).messages(), std::slice::from_ref(&card));
    world.screen(channel).answer(&card, "Team").await?;
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

/// How much memory the process has, in KiB.
fn resident(gateway: &Gateway) -> anyhow::Result<u64> {
    let Some(id) = gateway.id() else { anyhow::bail!("the gateway has ended") };
    let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_proven_and_of_no_use_is_answered_and_harmless() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup { hooks: true, ..Setup::default() }).await?;
    let megabyte = " ".repeat(1_000_000);
    for (channel, body, status) in [
        (Channel::Telegram, "", 200),
        (Channel::Telegram, "not json", 200),
        (Channel::Telegram, "[]", 200),
        (Channel::Telegram, "{\"update_id\":1,\"poll\":{}}", 200),
        (Channel::Telegram, "{\"update_id\":2,\"of_a_later_version\":{}}", 200),
        (Channel::Telegram, "{\"update_id\":3,\"callback_query\":{\"id\":5}}", 200),
        (Channel::Telegram, megabyte.as_str(), 413),
        (Channel::Discord, "", 400),
        (Channel::Discord, "not json", 400),
        (Channel::Discord, "{\"type\":1}", 200),
        (Channel::Discord, "{\"type\":77,\"id\":\"1\"}", 400),
        (Channel::Discord, megabyte.as_str(), 413),
    ] {
        let (told, answer) = post(&gateway, channel, &proof(&world, channel, body), body).await?;
        assert_eq!(told, status, "{channel:?} {body:.60}: {answer}");
        if body.contains("\"type\":1}") {
            assert_eq!(serde_json::from_str::<Value>(&answer)?, json!({"type": 1}));
        }
        assert_eq!(post(&gateway, channel, &[], body).await?.0, 401, "the same from somebody else");
    }
    for channel in Channel::ALL {
        let got = adapters::http::client()?.get(gateway.url(path(channel))).send().await?.status().as_u16();
        assert_eq!(got, 405, "only what is posted is taken");
    }
    gateway.wait_ready(SOON).await?;
    world.assert_well_behaved()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_that_comes_again_or_late_takes_effect_once() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&called(Channel::Telegram)).await?;
    let (asked, card) = asked_and_shown(&world, Channel::Telegram, "Which plan?", Script::new()).await?;
    let token = |at: usize| card.tokens.get(at).cloned().unwrap_or_default();
    let press = |update: i64, token: String| {
        json!({"update_id": update, "callback_query": {"id": update.to_string(), "data": token,
            "from": {"id": TELEGRAM_PERSON, "is_bot": false, "first_name": "A"},
            "message": {"message_id": card.id, "date": 1, "chat": {"id": TELEGRAM_PERSON, "type": "private"}}}})
        .to_string()
    };
    let headers = proof(&world, Channel::Telegram, "");
    for (update, at) in [(900, 1), (900, 1), (7, 0), (900, 1)] {
        assert_eq!(post(&gateway, Channel::Telegram, &headers, press(update, token(at))).await?.0, 200);
    }
    world.screen(Channel::Telegram).settled(&card, &["Answered: Starter"]).await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn going_back_to_polling_takes_our_webhook_away_and_says_so() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&called(Channel::Telegram)).await?;
    assert!(world.telegram.webhook().is_some_and(|hook| hook.url.ends_with("/telegram/webhook")));
    gateway.kill().await?;
    let gateway = world.gateway(&Setup { hooks: false, ..Setup::telegram() }).await?;
    assert!(world.telegram.webhook().is_none());
    assert!(gateway.log().contains("the webhook that askgate had set was removed"), "{}", gateway.log());
    for channel in Channel::ALL {
        assert_eq!(
            post(&gateway, channel, &proof(&world, channel, "{}"), "{}").await?.0,
            404,
            "no route while polling"
        );
    }
    let (_, card) = asked_and_shown(&world, Channel::Telegram, "Which plan?", Script::new()).await?;
    world.screen(Channel::Telegram).answer(&card, "Team").await?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_of_somebody_else_is_reported_and_stays() -> anyhow::Result<()> {
    let world = World::start().await?;
    let foreign = "http://127.0.0.1:9/somebody-elses";
    let api = format!("{}/bot{}/setWebhook", world.telegram_url, world.telegram.token());
    adapters::http::client()?.post(api).json(&json!({"url": foreign})).send().await?.error_for_status()?;
    for hooks in [true, false] {
        let gateway = world.gateway_unready(&Setup { hooks, ..Setup::telegram() })?;
        gateway.wait_answer("/readyz", SOON, |status, body| status == 503 && body.contains("webhook")).await?;
        assert_eq!(world.telegram.webhook().map(|hook| hook.url).as_deref(), Some(foreign), "hooks: {hooks}");
        gateway.kill().await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_are_offered_once_and_answered_to_their_person_only() -> anyhow::Result<()> {
    let world = World::start().await?;
    for hooks in [false, true] {
        let gateway = world.gateway(&Setup { hooks, ..Setup::default() }).await?;
        let registered = |state: &sim::discord::State| (state.commands().len() == 5).then(|| state.commands().to_vec());
        let commands = world.discord.wait_for("the commands", SOON, registered).await?;
        for command in &commands {
            assert_eq!(
                (command.get("contexts"), command.get("integration_types")),
                (Some(&json!([0, 1])), Some(&json!([0, 1])))
            );
            assert!(command.pointer("/description_localizations/de").is_some(), "{command}");
        }
        for language in ["", "de"] {
            let set = |telegram: &sim::telegram::Telegram| (telegram.commands(language).len() == 5).then_some(());
            world.telegram.wait_for("the commands", SOON, set).await?;
        }
        world.terreno.ask_then(EMAIL, AskSpec::new("choice", choice("Which plan?")), Script::new())?;
        world.screen(Channel::Discord).card("Which plan?").await?;
        let channel = world.discord.read(|state| state.messages_to(DISCORD_PERSON.into()).next().map(|m| m.channel));
        let Some(channel) = channel else { anyhow::bail!("no direct messages") };
        for name in ["start", "accounts"] {
            let used = world.discord.use_command(DISCORD_PERSON, channel, name, &json!([]));
            let callback = world.discord.wait_for_response(used, AT_ONCE * 2).await?;
            assert!(callback.ephemeral, "{callback:?}");
        }
        gateway.kill().await?;
    }
    let writes =
        world.discord.requests().iter().filter(|request| request.route == sim::discord::Route::PutCommands).count();
    assert_eq!(writes, 1, "the second start finds them there");
    let writes = world.telegram.requests().iter().filter(|request| request.method == "setMyCommands").count();
    assert_eq!(writes, 2, "one for each language, once");
    world.assert_well_behaved()
}
