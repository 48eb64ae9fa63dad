//! Notifications on the phone: the question with its own buttons, and one tap that answers.

use std::time::Duration;

use anyhow::Context as _;
use sim::ntfy::{Action, Fault, Message};
use sim::terreno::{AskSpec, Asked, Script};
use tests::{Channel, EMAIL, Gateway, SOON, Setup, World};

use crate::common::{choice, confirm, effective, turns};

const TOPIC: &str = "a-long-and-secret-topic";

/// A person with a phone, and with Telegram if wanted.
fn setup(world: &World, telegram: bool) -> Setup {
    let mut deliver = vec![format!("ntfy:{TOPIC}")];
    if telegram {
        deliver.push(format!("telegram:{}", tests::TELEGRAM_PERSON));
    }
    Setup {
        telegram,
        discord: false,
        deliver: Some(deliver),
        server: format!("public_url = \"http://127.0.0.1:{}\"", world.port),
        more: format!("[ntfy]\nurl = \"{}\"\n", world.ntfy.url()),
        ..Setup::default()
    }
}

/// What the phone gets back for an action.
struct Answered {
    status: u16,
    text: String,
    cors: bool,
}

/// Sends an action as the phone does, or with another method.
async fn send(action: &Action, method: &str) -> anyhow::Result<Answered> {
    let mut request = adapters::http::client()?.request(method.parse()?, &action.url);
    for (name, value) in &action.headers {
        request = request.header(name, value);
    }
    if method == "POST" {
        request = request.body(action.body.clone());
    }
    let response = request.timeout(Duration::from_secs(5)).send().await?;
    let cors = response.headers().get("access-control-allow-origin").is_some_and(|origin| origin == "*");
    Ok(Answered { status: response.status().as_u16(), cors, text: response.text().await? })
}

async fn notified(world: &World, text: &str) -> anyhow::Result<Message> {
    let shows = |shade: &[Message]| shade.iter().any(|message| message.message.contains(text));
    let shade = world.ntfy.wait_for(TOPIC, SOON, shows).await.map_err(anyhow::Error::msg)?;
    shade.into_iter().rev().find(|message| message.message.contains(text)).context("it was there a moment ago")
}

fn action(message: &Message, label: &str) -> anyhow::Result<Action> {
    let found = message.actions.iter().find(|action| action.label == label).cloned();
    found.with_context(|| format!("no {label} on {message:#?}"))
}

async fn asked(world: &World, prompt: &str) -> anyhow::Result<(Asked, Message)> {
    let script = Script::new().say("You get {label}.");
    let asked = world.terreno.ask_then(EMAIL, AskSpec::new("choice", choice(prompt)), script)?;
    Ok((asked, notified(world, prompt).await?))
}

async fn start(telegram: bool) -> anyhow::Result<(World, Gateway)> {
    let world = World::start().await?;
    let gateway = world.gateway(&setup(&world, telegram)).await?;
    Ok((world, gateway))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_answers_and_every_copy_settles() -> anyhow::Result<()> {
    let (world, gateway) = start(true).await?;
    let (ask, message) = asked(&world, "Which plan?").await?;
    assert_eq!((message.title.as_str(), message.priority), ("Plan", 4));
    let labels: Vec<&str> = message.actions.iter().map(|action| action.label.as_str()).collect();
    assert_eq!(labels, ["Team", "Starter", "Skip"]);
    let card = world.screen(Channel::Telegram).card("Which plan?").await?;

    let told = send(&action(&message, "Starter")?, "POST").await?;
    assert!(told.status == 200 && told.cors && !told.text.is_empty(), "{} {}", told.status, told.text);
    world.terreno.wait_for_answer(&ask, SOON).await?;
    world.screen(Channel::Telegram).settled(&card, &["Answered: Starter"]).await?;
    let over = |shade: &[Message]| {
        shade.iter().any(|shown| {
            shown.sequence == message.sequence
                && shown.actions.is_empty()
                && shown.message.contains("Answered: Starter")
        })
    };
    world.ntfy.wait_for(TOPIC, SOON, over).await.map_err(anyhow::Error::msg)?;
    notified(&world, "You get Starter.").await?;
    assert_eq!((turns(&world, &ask), effective(&world, &ask)), (1, 1));

    // Twice, late, and the other button.
    let again = send(&action(&message, "Starter")?, "POST").await?;
    assert_eq!((again.status, again.text.as_str()), (200, "✅ Answered: Starter"));
    let other = send(&action(&message, "Team")?, "POST").await?;
    assert!(other.status == 409 && other.text.contains("Starter"), "{} {}", other.status, other.text);
    assert_eq!(turns(&world, &ask), 1);
    assert!(!gateway.log().contains(TOPIC), "a topic is a secret");
    let token = message.actions.first().context("an action")?.url.rsplit('/').next().unwrap_or_default().to_owned();
    assert!(!gateway.log().contains(&token), "so is a tap token");
    world.assert_well_behaved()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_but_a_post_of_its_own_token_changes_anything() -> anyhow::Result<()> {
    let (world, gateway) = start(true).await?;
    let (ask, message) = asked(&world, "Which plan?").await?;
    let team = action(&message, "Team")?;
    for method in ["GET", "HEAD", "PUT", "DELETE"] {
        let told = send(&team, method).await?;
        assert!([200, 404, 405].contains(&told.status), "{method}: {}", told.status);
    }
    let preflight = send(&team, "OPTIONS").await?;
    assert!(preflight.status == 204 && preflight.cors);
    // A token of a chat is none here, and a made-up one is none anywhere.
    let card = world.screen(Channel::Telegram).card("Which plan?").await?;
    for token in [card.tokens.first().context("a token")?.as_str(), "AAAAAAAAAAAAAAAAAAAAAA", "x", "%00", "..%2f"] {
        let forged = Action { url: gateway.url(&format!("/n/{token}")), ..team.clone() };
        assert_eq!(send(&forged, "POST").await?.status, 404, "{token}");
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(turns(&world, &ask), 0);

    // Answered in the app: the notification says so, and its buttons only report it.
    world.terreno.press(&ask.history_id, "option:team").await?;
    let over =
        |shade: &[Message]| shade.iter().any(|shown| shown.sequence == message.sequence && shown.actions.is_empty());
    world.ntfy.wait_for(TOPIC, SOON, over).await.map_err(anyhow::Error::msg)?;
    let late = send(&action(&message, "Starter")?, "POST").await?;
    assert!(late.status == 410 && late.text.contains("elsewhere"), "{} {}", late.status, late.text);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_undone_is_never_the_first_button() -> anyhow::Result<()> {
    let (world, _gateway) = start(false).await?;
    world.terreno.ask(EMAIL, "confirm", confirm("Delete 14 todos?"))?;
    let message = notified(&world, "Delete 14 todos?").await?;
    let labels: Vec<&str> = message.actions.iter().map(|action| action.label.as_str()).collect();
    assert_eq!(labels, ["Keep", "Delete"]);
    assert_eq!(message.priority, 5);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_fails_gets_it_later_and_at_most_twice() -> anyhow::Result<()> {
    let (world, gateway) = start(false).await?;
    world.ntfy.fail(Fault::TooMany(1), 1);
    let (_, first) = asked(&world, "After a 429?").await?;
    world.ntfy.fail(Fault::TakenThenCut, 1);
    let (_, second) = asked(&world, "Taken and cut?").await?;
    assert_ne!(first.sequence, second.sequence);
    gateway.wait_at_rest(SOON).await?;
    let copies: Vec<Message> =
        world.ntfy.published(TOPIC).into_iter().filter(|message| message.message.contains("Taken and cut?")).collect();
    assert!(
        (1..=2).contains(&copies.len()) && copies.iter().all(|copy| copy.sequence == second.sequence),
        "{copies:#?}"
    );
    world.ntfy.fail(Fault::Forbidden, 1);
    world.terreno.ask(EMAIL, "choice", choice("Not let in?"))?;
    gateway.wait_answer("/readyz", SOON, |_, body| body.contains("does not let us publish")).await?;
    Ok(())
}

/// Who still has the name of a topic that was taken out of the configuration hears nothing, not even how it ended.
#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_is_not_linked_any_more_hears_nothing() -> anyhow::Result<()> {
    let (world, gateway) = start(true).await?;
    let (ask, message) = asked(&world, "Which plan?").await?;
    gateway.wait_at_rest(SOON).await?;
    gateway.kill().await?;
    let telegram = vec![format!("telegram:{}", tests::TELEGRAM_PERSON)];
    let gateway = world.gateway(&Setup { deliver: Some(telegram), ..setup(&world, true) }).await?;
    let team = action(&message, "Team")?;
    let early = send(&team, "POST").await?;
    assert_eq!((early.status, turns(&world, &ask)), (404, 0), "{}", early.text);
    let screen = world.screen(Channel::Telegram);
    let card = screen.card("Which plan?").await?;
    screen.answer(&card, "Starter").await?;
    screen.settled(&card, &["Answered: Starter"]).await?;
    for pressed in [team, action(&message, "Starter")?] {
        let late = send(&pressed, "POST").await?;
        assert!(late.status == 404 && !late.text.contains("Starter"), "{} {}", late.status, late.text);
    }
    assert_eq!(turns(&world, &ask), 1);
    drop(gateway);
    Ok(())
}
