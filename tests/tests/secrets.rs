//! Nothing secret is printed or served, whatever goes wrong, at the most talkative level.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;
use sim::discord::{self, Canned, Where};
use sim::telegram::{self, Fate};
use sim::terreno::{AskSpec, Fault, Route, Script};
use tests::{Channel, EMAIL, Gateway, PASSWORD, SOON, Setup, World};

const ADMIN: &str = "an-admin-token-of-the-tests";
const DISCORD_TOKEN: &str = "discord.token-of-the-tests";
/// Every failure costs a pause.
const PATIENCE: Duration = Duration::from_secs(40);
const HEADER: &str = "a-secret-key-of-the-host";

fn loud(more: &Setup) -> Setup {
    Setup {
        server: format!("admin_token = \"{ADMIN}\""),
        source: format!("headers = {{ x-ai-api-key = \"{HEADER}\" }}"),
        env: vec![("RUST_LOG".to_owned(), "trace,hyper=trace,reqwest=trace,serenity=trace,teloxide=trace".to_owned())],
        ..more.clone()
    }
}

/// Everything that must not be seen outside: what the configuration holds, and what the platforms know so far.
fn secrets(world: &World, live: &BTreeSet<String>) -> BTreeSet<String> {
    let token = world.telegram.token();
    let mut secrets: BTreeSet<String> =
        [&token, DISCORD_TOKEN, PASSWORD, ADMIN, HEADER].into_iter().map(str::to_owned).collect();
    if let Some((_, secret)) = token.split_once(':') {
        secrets.insert(secret.to_owned());
    }
    world.discord.read(|state| secrets.extend(state.interactions().map(|interaction| interaction.token.clone())));
    secrets.extend(live.iter().cloned());
    secrets
}

/// The data of every button there is now.
fn buttons(world: &World) -> BTreeSet<String> {
    Channel::ALL.iter().flat_map(|channel| world.screen(*channel).messages()).flat_map(|card| card.tokens).collect()
}

async fn served(gateway: &Gateway) -> anyhow::Result<String> {
    let client = adapters::http::client()?;
    let mut all = String::new();
    for (path, bearer) in [("/metrics", ""), ("/readyz", ""), ("/v1/asks?all=true", ADMIN), ("/v1/accounts", ADMIN)] {
        let request = client.get(gateway.url(path)).bearer_auth(bearer).timeout(Duration::from_secs(5));
        all.push_str(&request.send().await?.text().await?);
    }
    Ok(all)
}

async fn assert_silent(world: &World, gateway: &Gateway, live: &BTreeSet<String>) -> anyhow::Result<()> {
    let log = gateway.log();
    assert!(log.lines().count() > 5, "the log is really on: {log}");
    let served = served(gateway).await?;
    for secret in secrets(world, live) {
        assert!(!secret.is_empty());
        for text in [&log, &served] {
            let leak = text.lines().find(|line| line.contains(&secret));
            assert!(leak.is_none(), "{secret} is in: {leak:?}");
        }
    }
    // The shape of a JSON web token, whatever it is.
    for text in [&log, &served] {
        assert!(!text.contains("eyJ"), "a session token is in: {:?}", text.lines().find(|line| line.contains("eyJ")));
    }
    Ok(())
}

/// An error page as proxies write it: with the address that was asked for.
fn page(token: &str) -> String {
    format!(
        "<html><h1>502</h1>The requested URL /bot{token}/sendMessage was not found. Authorization: Bot {DISCORD_TOKEN}</html>"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_of_every_kind_print_no_secret() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&loud(&Setup::default())).await?;
    let token = world.telegram.token();
    let mut live = BTreeSet::new();

    // Telegram in trouble, in every way it has.
    let page = page(&token);
    for (method, fate) in [
        ("getUpdates", Fate::Reply { status: 502, body: page.clone() }),
        ("getUpdates", Fate::Reply { status: 200, body: page.clone() }),
        ("getUpdates", Fate::refusal(409, &format!("Conflict: another bot {token}"))),
        ("sendMessage", Fate::TooManyRequests(1)),
        ("sendMessage", Fate::Reply { status: 502, body: page.clone() }),
        ("editMessageText", Fate::Reply { status: 200, body: page.clone() }),
        ("editMessageText", Fate::refusal(500, &format!("Internal Server Error: nothing like {token}"))),
        ("editMessageText", Fate::Cut),
        ("answerCallbackQuery", Fate::Reply { status: 502, body: page.clone() }),
        ("sendChatAction", Fate::refusal(400, &format!("Bad Request: nothing like {token}"))),
    ] {
        world.telegram.order(telegram::Fault::on(method).before(fate));
    }
    // Discord in trouble.
    for route in [discord::Route::CreateMessage, discord::Route::EditMessage, discord::Route::OpenDm] {
        for fault in [
            discord::Fault::error(500, 0, "Internal Server Error"),
            discord::Fault::Answer(Canned::html(502, &page)),
            discord::Fault::rate_limited(Duration::from_millis(300), "user"),
            discord::Fault::DropBefore,
        ] {
            world.discord.fault(Where::route(route), 1, fault);
        }
    }
    // The host in trouble, and one that repeats what it was sent.
    let echo = json!({"status": 500, "title": format!("no user {EMAIL} with {PASSWORD} and {HEADER}")}).to_string();
    for fault in [
        Fault::html(Route::PendingAsks, 502),
        Fault::reply(Route::PendingAsks, 500, echo.clone()),
        Fault::truncate(Route::PendingAsks),
        Fault::drop(Route::PendingAsks),
        Fault::reply(Route::PendingAsks, 429, "{}").header("Retry-After", "1"),
        Fault::html(Route::Turn, 502),
        Fault::reply(Route::Turn, 500, echo),
        Fault::cut(Route::Turn),
    ] {
        world.terreno.inject(fault);
    }

    for (channel, text) in Channel::ALL.into_iter().zip(["First?", "Second?"]) {
        let spec = AskSpec::new("confirm", json!({ "prompt": text }));
        world.terreno.ask_then(EMAIL, spec, Script::new().say("Done."))?;
        for other in Channel::ALL {
            let seen = world.screen(other).see_within(text, PATIENCE, |card| card.text.contains(text)).await;
            seen.with_context(|| gateway.log())?;
        }
        live.extend(buttons(&world));
        let screen = world.screen(channel);
        let card = screen.card(text).await?;
        let tap = screen.tap(&card, &card.labels[0])?;
        screen.told(&tap, PATIENCE).await.with_context(|| gateway.log())?;
        screen
            .see_within("settled", PATIENCE, |seen| seen.id == card.id && seen.is_settled())
            .await
            .with_context(|| gateway.log())?;
        let late = screen.press(&card, &card.tokens[1])?;
        screen.told(&late, PATIENCE).await?;
    }
    world.discord.cut_gateway();
    world.terreno.expire_access_tokens(EMAIL);
    world.terreno.ask(EMAIL, "confirm", json!({"prompt": "Third?"}))?;
    world.screen(Channel::Telegram).card("Third?").await?;
    live.extend(buttons(&world));
    assert!(live.len() > 6, "{live:?}");
    assert_silent(&world, &gateway, &live).await?;

    // A token that was good and is not any more, on each side.
    world.telegram.order(telegram::Fault::on_all().times(50).before(Fate::refusal(401, "Unauthorized")));
    world.discord.set_token("another-token");
    world.discord.cut_gateway();
    world.terreno.revoke_tokens(EMAIL);
    world.terreno.add_user(EMAIL, "another-password");
    gateway.wait_status("/readyz", 503, SOON).await?;
    assert_silent(&world, &gateway, &live).await
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_credentials_from_the_start_are_not_repeated() -> anyhow::Result<()> {
    let world = World::start().await?;
    world.telegram.order(telegram::Fault::on_all().always().before(Fate::refusal(401, "Unauthorized")));
    world.discord.set_token("another-token");
    world.terreno.add_user(EMAIL, "another-password");
    let gateway = world.gateway_unready(&loud(&Setup::default()))?;
    gateway.wait_status("/readyz", 503, SOON).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_silent(&world, &gateway, &BTreeSet::new()).await
}
