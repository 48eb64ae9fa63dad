//! People who link themselves while the service runs.

use std::path::Path;
use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sim::terreno::Route;
use tests::command::{askgate, with_file};
use tests::{AT_ONCE, Channel, EMAIL, Gateway, SOON, Screen, Setup, TELEGRAM_PERSON, World};

use crate::common::{choice, effective};

/// A second person at the host.
const OTHER: &str = "other@example.com";
/// That person's Telegram id.
const OTHER_ID: i64 = 1002;
/// The first key and the second one.
const KEYS: [&str; 2] =
    ["AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="];

struct Answer {
    status: StatusCode,
    body: Value,
}

fn setup(secrets: &str) -> Setup {
    Setup { server: "admin_token = \"operator\"".into(), more: format!("[secrets]\n{secrets}"), ..Setup::telegram() }
}

fn keyed() -> Setup {
    setup(&format!("key = \"{}\"", KEYS[0]))
}

async fn world() -> anyhow::Result<World> {
    let world = World::start().await?;
    world.terreno.add_user(OTHER, "another-password");
    world.telegram.private_chat(OTHER_ID);
    Ok(world)
}

fn other_screen(world: &World) -> Screen<'_> {
    world.screen_of(Channel::Telegram, OTHER_ID.unsigned_abs())
}

async fn call(gateway: &Gateway, method: Method, path: &str, body: Option<&Value>) -> anyhow::Result<Answer> {
    let request = adapters::http::client()?.request(method, gateway.url(path)).bearer_auth("operator");
    let request = request.timeout(Duration::from_secs(10));
    let request = match body {
        Some(body) => request.header("content-type", "application/json").body(body.to_string()),
        None => request,
    };
    let response = request.send().await?;
    let status = response.status();
    let text = response.text().await?;
    let body = if text.is_empty() { Value::Null } else { serde_json::from_str(&text)? };
    Ok(Answer { status, body })
}

async fn link(gateway: &Gateway, body: &Value) -> anyhow::Result<String> {
    let linked = call(gateway, Method::POST, "/v1/accounts", Some(body)).await?;
    anyhow::ensure!(linked.status == StatusCode::CREATED, "{} {}", linked.status, linked.body);
    Ok(linked.body.get("id").and_then(Value::as_str).unwrap_or_default().to_owned())
}

fn body(tokens: &(String, String), places: &[&str]) -> Value {
    json!({"source": "app", "token": tokens.0, "refresh_token": tokens.1, "places": places})
}

/// Whether any file of the store holds these bytes.
fn stored(store: &Path, text: &str) -> anyhow::Result<bool> {
    for entry in std::fs::read_dir(store)? {
        let path = entry?.path();
        let found = if path.is_dir() {
            stored(&path, text)?
        } else {
            std::fs::read(&path)?.windows(text.len()).any(|window| window == text.as_bytes())
        };
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_linked_person_answers_as_themselves_until_they_are_removed() -> anyhow::Result<()> {
    let world = world().await?;
    let gateway = world.gateway(&keyed()).await?;
    let waiting = world.terreno.ask(OTHER, "choice", choice("Which plan?"))?;
    let tokens = world.terreno.tokens(OTHER).unwrap_or_default();
    let id = link(&gateway, &body(&tokens, &["telegram:1002"])).await?;
    let screen = other_screen(&world);

    // What waited before the link is shown, and answered as that person.
    let card = screen.card("Which plan?").await?;
    screen.answer(&card, "Team").await?;
    screen.settled(&card, &["Answered: Team"]).await?;
    assert_eq!(effective(&world, &waiting), 1);
    assert_eq!(world.screen(Channel::Telegram).count("Which plan?"), 0, "nobody else sees it");

    // The token is renewed, and what it was renewed to is there after a crash.
    world.terreno.expire_access_tokens(OTHER);
    world.terreno.ask(OTHER, "choice", choice("After the renewal?"))?;
    let second = screen.card("After the renewal?").await?;
    gateway.wait_at_rest(SOON).await?;
    let kept = format!("a renewed credential of {id}@app is kept");
    let log = async {
        while !gateway.log().contains(&kept) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(SOON, log).await?;
    let listed = call(&gateway, Method::GET, "/v1/accounts", None).await?.body.to_string();
    assert!(listed.contains(&id) && listed.contains(OTHER) && listed.contains("telegram:1002"), "{listed}");
    let log = gateway.kill().await?;
    for secret in [&tokens.0, &tokens.1, &"eyJ".to_owned()] {
        assert!(!stored(&world.store(), secret)?, "a token is in the store as it is");
        assert!(!listed.contains(secret.as_str()) && !log.contains(secret.as_str()), "a token is shown");
    }
    assert!(stored(&world.store(), &id)?, "the store is looked through");

    let refreshed = world.terreno.read(|state| state.count(Route::Refresh));
    let gateway = world.gateway(&keyed()).await?;
    screen.answer(&second, "Starter").await?;
    screen.settled(&second, &["Answered: Starter"]).await?;
    let now = world.terreno.read(|state| state.count(Route::Refresh));
    assert_eq!(now, refreshed, "the renewed token is the one that was kept");

    // Removed: the live card loses its buttons and says why, and an old button does nothing.
    let last = world.terreno.ask(OTHER, "choice", choice("Too late?"))?;
    let card = screen.card("Too late?").await?;
    gateway.wait_at_rest(SOON).await?;
    let removed = call(&gateway, Method::DELETE, &format!("/v1/accounts/{id}"), None).await?;
    assert_eq!(removed.status, StatusCode::NO_CONTENT, "{}", removed.body);
    let ended = screen.settled(&card, &["not linked"]).await?;
    assert!(ended.text.contains("Too late?"), "{ended:?}");
    let tap = screen.press(&card, card.tokens.first().map_or("", String::as_str))?;
    assert!(screen.told(&tap, AT_ONCE).await?.contains("not linked"));
    assert_eq!(effective(&world, &last), 0);
    let again = call(&gateway, Method::DELETE, &format!("/v1/accounts/{id}"), None).await?;
    assert_eq!(again.status, StatusCode::NOT_FOUND);
    let listed = call(&gateway, Method::GET, "/v1/accounts", None).await?.body;
    assert_eq!(listed["accounts"].as_array().map(Vec::len), Some(1), "{listed}");

    // Linked again: the same account, and the card is live again.
    let tokens = world.terreno.tokens(OTHER).unwrap_or_default();
    assert_eq!(link(&gateway, &body(&tokens, &["telegram:1002"])).await?, id);
    let back = screen.see("the card again", |shown| shown.id == card.id && shown.is_live()).await?;
    screen.answer(&back, "Team").await?;
    screen.settled(&back, &["Answered: Team"]).await?;
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn one_person_is_one_account_and_one_chat_can_have_two() -> anyhow::Result<()> {
    let world = world().await?;
    let gateway = world.gateway(&keyed()).await?;
    world.terreno.ask(EMAIL, "choice", choice("Mine?"))?;
    let card = world.screen(Channel::Telegram).card("Mine?").await?;

    // The file's own person links another chat: the same account, without a second poll.
    let tokens = world.terreno.tokens(EMAIL).unwrap_or_default();
    assert_eq!(link(&gateway, &body(&tokens, &["telegram:1002"])).await?, "me");
    let there = other_screen(&world).card("Mine?").await?;
    other_screen(&world).answer(&there, "Team").await?;
    world.screen(Channel::Telegram).settled(&card, &["Answered: Team"]).await?;

    // Another account in the first chat: each card there says whose it is.
    let tokens = world.terreno.tokens(OTHER).unwrap_or_default();
    let place = format!("telegram:{TELEGRAM_PERSON}");
    link(&gateway, &body(&tokens, &[&place])).await?;
    world.terreno.ask(OTHER, "choice", choice("Theirs?"))?;
    let theirs = world.screen(Channel::Telegram).card("Theirs?").await?;
    assert!(theirs.text.contains(OTHER), "{theirs:?}");

    // What the file says stays; what was added can be taken away.
    gateway.wait_at_rest(SOON).await?;
    let removed = call(&gateway, Method::DELETE, "/v1/accounts/me", None).await?;
    assert_eq!(removed.status, StatusCode::NO_CONTENT, "{}", removed.body);
    let removed = call(&gateway, Method::DELETE, "/v1/accounts/me", None).await?;
    assert_eq!(removed.status, StatusCode::CONFLICT, "{}", removed.body);
    world.terreno.ask(EMAIL, "choice", choice("Still mine?"))?;
    let card = world.screen(Channel::Telegram).card("Still mine?").await?;
    world.screen(Channel::Telegram).answer(&card, "Team").await?;
    world.screen(Channel::Telegram).settled(&card, &["Answered: Team"]).await?;
    assert_eq!(other_screen(&world).count("Still mine?"), 0);
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_replaced_and_a_wrong_one_is_named() -> anyhow::Result<()> {
    let world = world().await?;
    let gateway = world.gateway(&keyed()).await?;
    let tokens = world.terreno.tokens(OTHER).unwrap_or_default();
    link(&gateway, &body(&tokens, &["telegram:1002"])).await?;
    gateway.kill().await?;

    // Another key alone, or none: said by name, and everybody else goes on.
    for (secrets, named) in [(format!("key = \"{}\"", KEYS[1]), "secrets.previous_key"), (String::new(), "secrets.key")]
    {
        let gateway = world.gateway(&setup(&secrets)).await?;
        gateway.wait_answer("/readyz", SOON, |status, body| status == 200 && body.contains(named)).await?;
        let prompt = format!("Without {named}?");
        world.terreno.ask(EMAIL, "choice", choice(&prompt))?;
        world.screen(Channel::Telegram).card(&prompt).await?;
        gateway.kill().await?;
    }
    // With the old key beside it, it opens and is sealed anew; then the old one is not needed.
    let both = format!("key = \"{}\"\nprevious_key = \"{}\"", KEYS[1], KEYS[0]);
    for (secrets, prompt) in [(both, "With both?"), (format!("key = \"{}\"", KEYS[1]), "With the new one?")] {
        let gateway = world.gateway(&setup(&secrets)).await?;
        world.terreno.ask(OTHER, "choice", choice(prompt))?;
        other_screen(&world).card(prompt).await?;
        gateway.kill().await?;
    }
    assert_eq!(other_screen(&world).count("sign-in"), 0, "nobody is asked to sign in over an operator's key");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_credential_is_told_once_and_what_waits_is_kept() -> anyhow::Result<()> {
    let world = world().await?;
    let gateway = world.gateway(&keyed()).await?;
    let tokens = world.terreno.tokens(OTHER).unwrap_or_default();
    let id = link(&gateway, &body(&tokens, &["telegram:1002"])).await?;
    let asked = world.terreno.ask(OTHER, "choice", choice("Which plan?"))?;
    let screen = other_screen(&world);
    let card = screen.card("Which plan?").await?;

    world.terreno.revoke_tokens(OTHER);
    let told = screen.see("that a sign-in is needed", |card| card.text.contains("does not accept the sign-in")).await?;
    assert!(told.text.contains(OTHER) && told.text.contains("app"), "{told:?}");
    screen.answer(&card, "Team").await?;
    screen.see("that it waits", |shown| shown.id == card.id && shown.text.contains("Recorded: Team")).await?;
    let listed = call(&gateway, Method::GET, "/v1/accounts", None).await?.body;
    assert!(listed["accounts"].to_string().contains("no longer valid"), "{listed}");
    gateway.kill().await?;

    // Still dead after a start, and not told again.
    let gateway = world.gateway(&keyed()).await?;
    world.terreno.ask(EMAIL, "choice", choice("A poll later?"))?;
    world.screen(Channel::Telegram).card("A poll later?").await?;
    assert_eq!(screen.count("does not accept the sign-in"), 1);
    assert_eq!(effective(&world, &asked), 0);

    let tokens = world.terreno.tokens(OTHER).unwrap_or_default();
    assert_eq!(link(&gateway, &body(&tokens, &["telegram:1002"])).await?, id);
    screen.settled(&card, &["Answered: Team"]).await?;
    assert_eq!(effective(&world, &asked), 1);
    let listed = call(&gateway, Method::GET, "/v1/accounts", None).await?.body;
    assert!(!listed.to_string().contains("no longer valid"), "{listed}");
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_refusal_says_what_to_do() -> anyhow::Result<()> {
    let world = world().await?;
    let gateway = world.gateway(&keyed()).await?;
    let tokens = world.terreno.tokens(OTHER).unwrap_or_default();
    let with = |key: &str, value: Value| {
        let mut body = body(&tokens, &["telegram:1002"]);
        body[key] = value;
        body
    };
    let refused = json!({"source": "app", "token": "not-a-token-of-anybody", "places": ["telegram:1002"]});
    let table = [
        (json!({"source": "app"}), 400, "places"),
        (with("password", json!("secret-password")), 400, "places"),
        (with("source", json!("ap")), 400, "no source ap"),
        (with("places", json!([])), 400, "at least one place"),
        (with("places", json!(["telegram:-1001"])), 400, "shared place"),
        (with("places", json!(["discord:user:7"])), 400, "channel is not in the configuration"),
        (with("places", json!(["nowhere"])), 400, "is no place"),
        (with("language", json!("tlh")), 400, "en or de"),
        (refused, 422, "does not accept"),
    ];
    for (body, status, says) in table {
        let answer = call(&gateway, Method::POST, "/v1/accounts", Some(&body)).await?;
        let error = answer.body["error"].as_str().unwrap_or_default();
        assert_eq!(answer.status.as_u16(), status, "{body}: {error}");
        assert!(error.contains(says) && !error.contains("secret-password") && !error.contains(&tokens.0), "{error}");
    }
    let listed = call(&gateway, Method::GET, "/v1/accounts", None).await?.body;
    assert_eq!(listed["accounts"].as_array().map(Vec::len), Some(1), "{listed}");
    gateway.kill().await?;

    let gateway = world.gateway(&setup("")).await?;
    let answer = call(&gateway, Method::POST, "/v1/accounts", Some(&body(&tokens, &["telegram:1002"]))).await?;
    assert_eq!(answer.status, StatusCode::CONFLICT);
    assert!(answer.body.to_string().contains("openssl rand -base64 32"), "{}", answer.body);
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_links_with_and_without_the_service() -> anyhow::Result<()> {
    let world = world().await?;
    std::fs::write(world.file(), world.configuration(&keyed()))?;
    let (token, refresh) = world.terreno.tokens(OTHER).unwrap_or_default();
    let file = world.file();
    let file = file.to_str().unwrap_or_default();
    let add = ["accounts", "add", "--source", "app", "--place", "telegram:1002", "-c", file];
    let ran = tokio::task::block_in_place(|| askgate(&add, &format!("{token}\n{refresh}\n")))?;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains(OTHER) && !ran.out.contains(&token), "{ran:?}");
    let ran = tokio::task::block_in_place(|| with_file(&["accounts", "list", "--json"], &world.file()))?;
    let row = ran.lines()?.into_iter().find(|row| row["linked"] == true).unwrap_or_default();
    assert_eq!(row["places"], json!(["telegram:1002"]), "{ran:?}");
    let id = row["id"].as_str().unwrap_or_default().to_owned();

    let gateway = world.gateway(&keyed()).await?;
    world.terreno.ask(OTHER, "choice", choice("Which plan?"))?;
    let card = other_screen(&world).card("Which plan?").await?;
    let ran = tokio::task::block_in_place(|| with_file(&["accounts"], &world.file()))?;
    assert!(ran.out.contains(&id) && ran.out.contains("me@app"), "{ran:?}");
    let ran = tokio::task::block_in_place(|| with_file(&["accounts", "remove", &id], &world.file()))?;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    other_screen(&world).settled(&card, &["not linked"]).await?;
    let ran = tokio::task::block_in_place(|| askgate(&add, &token))?;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = tokio::task::block_in_place(|| with_file(&["accounts", "remove", "nobody"], &world.file()))?;
    assert!(ran.code == Some(1) && ran.err.contains("no such account"), "{ran:?}");
    gateway.kill().await?;

    let ran = tokio::task::block_in_place(|| with_file(&["accounts", "remove", &id], &world.file()))?;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = tokio::task::block_in_place(|| with_file(&["accounts", "remove", "me"], &world.file()))?;
    assert!(ran.code == Some(1) && ran.err.contains("configuration file"), "{ran:?}");
    Ok(())
}
