//! Places that refuse, move or vanish, and texts that try to do more than be read.

use std::time::Duration;

use serde_json::{Value, json};
use sim::discord::{self, Canned, Id, Route, Where};
use sim::telegram::{self, Access, Fate};
use sim::terreno::{AskSpec, Script};
use tests::{Card, Channel, DISCORD_PERSON, EMAIL, SOON, Setup, TELEGRAM_PERSON, World};

use crate::common::{asked_and_shown, choice, effective, turns};

const GROUP: i64 = -1_001_234_567_890;

/// A place of a group in which the person may answer.
fn group(place: &str) -> String {
    format!(
        "[[groups]]\nplace = \"{place}\"\naccounts = [\"me\"]\napprovers = [\"telegram:{TELEGRAM_PERSON}\"]\nprivacy = \"full\"\n"
    )
}

/// One card that the platform does not take holds back none of the others of its poll.
#[tokio::test(flavor = "multi_thread")]
async fn c02_one_bad_card_of_five_is_reported_alone() -> anyhow::Result<()> {
    let world = World::start().await?;
    let mut asked = Vec::new();
    for number in 0..5 {
        asked.push(world.terreno.ask(EMAIL, "choice", choice(&format!("Question {number}?")))?);
    }
    let refused = Fate::refusal(400, "Bad Request: nobody has heard of this");
    world.telegram.order(telegram::Fault::on("sendMessage").skip(2).before(refused));
    let gateway = world.gateway(&Setup::telegram()).await?;
    let screen = world.screen(Channel::Telegram);
    for number in [0, 1, 3, 4] {
        screen.card(&format!("Question {number}?")).await?;
    }
    let told = gateway.wait_answer("/readyz", SOON, |_, body| body.contains("nobody has heard of this")).await?;
    let named: Vec<bool> = asked.iter().map(|ask| told.contains(&ask.tool_call_id)).collect();
    assert_eq!(named, [false, false, true, false, false], "{told}");
    assert_eq!(screen.count("Question 2?"), 0);
    Ok(())
}

/// A create that worked and was answered with an error is found again by its nonce, which no other message has.
#[tokio::test(flavor = "multi_thread")]
async fn c26_a_message_that_was_made_and_denied_is_there_once() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::discord()).await?;
    let denied = discord::Fault::AnswerAfter(Canned::html(502, "<html><h1>502 Bad Gateway</h1></html>"));
    world.discord.fault(Where::route(Route::CreateMessage), 2, denied);
    asked_and_shown(&world, Channel::Discord, "Which plan?", Script::new()).await?;
    asked_and_shown(&world, Channel::Discord, "Which size?", Script::new()).await?;
    gateway.wait_at_rest(SOON).await?;
    let screen = world.screen(Channel::Discord);
    assert_eq!((screen.count("Which plan?"), screen.count("Which size?")), (1, 1), "{:#?}", screen.messages());
    let mut nonces: Vec<(bool, String)> = Vec::new();
    for request in world.discord.requests().iter().filter(|request| request.route == Route::CreateMessage) {
        let body: Value = serde_json::from_str(&request.body)?;
        assert_eq!(body["enforce_nonce"], json!(true), "{body}");
        let nonce = body["nonce"].as_str().unwrap_or_default().to_owned();
        assert!((1..=25).contains(&nonce.len()), "{nonce:?}");
        nonces.push((request.body.contains("plan"), nonce));
    }
    assert!(nonces.iter().filter(|(plan, _)| *plan).count() >= 3, "each try is seen: {nonces:?}");
    nonces.sort();
    nonces.dedup();
    assert_eq!(nonces.len(), 2, "one nonce for each message: {nonces:?}");
    world.assert_well_behaved()
}

/// The page that Cloudflare shows to a banned address is no JSON and no answer: the channel is silent for a minute, and only it.
#[tokio::test(flavor = "multi_thread")]
async fn c28_a_ban_page_silences_one_channel_and_not_the_process() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::default()).await?;
    gateway.wait_at_rest(SOON).await?;
    world.discord.fault(Where::route(Route::CreateMessage), u32::MAX, discord::Fault::cloudflare());
    let (asked, card) = asked_and_shown(&world, Channel::Telegram, "Which plan?", Script::new()).await?;
    let banned = |state: &discord::State| {
        state.requests().any(|request| request.status == Some(429)).then(|| state.requests().count())
    };
    let so_far = world.discord.wait_for("the page", SOON, banned).await?;
    gateway.wait_answer("/readyz", SOON, |_, body| body.contains("answers with a page instead of data")).await?;
    gateway.wait_status("/healthz", 200, SOON).await?;
    world.screen(Channel::Telegram).answer(&card, "Team").await?;
    world.screen(Channel::Telegram).settled(&card, &["Answered: Team"]).await?;
    world.terreno.ask(EMAIL, "choice", choice("Which size?"))?;
    world.screen(Channel::Telegram).card("Which size?").await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(world.discord.requests().len(), so_far, "not one more request to the banned address");
    assert_eq!(effective(&world, &asked), 1);
    Ok(())
}

/// A bot that was thrown out of a group says nothing there, hears its last presses without an error, and comes back by itself.
#[tokio::test(flavor = "multi_thread")]
async fn c31_kicked_from_a_group_it_falls_silent_there_only() -> anyhow::Result<()> {
    let world = World::start().await?;
    world.telegram.supergroup(GROUP, "Team", &[TELEGRAM_PERSON]);
    let setup = Setup { more: group(&format!("telegram:{GROUP}")), ..Setup::telegram() };
    let gateway = world.gateway(&setup).await?;
    let (direct, shared) = (world.screen(Channel::Telegram), world.screen(Channel::Telegram).in_chat(GROUP));
    let (asked, own) = asked_and_shown(&world, Channel::Telegram, "Which plan?", Script::new()).await?;
    let card = shared.card("Which plan?").await?;
    gateway.wait_at_rest(SOON).await?;

    world.telegram.kick(GROUP, TELEGRAM_PERSON);
    let tap = shared.as_user(TELEGRAM_PERSON.unsigned_abs()).tap(&card, "Team")?;
    shared.told(&tap, SOON).await?;
    direct.settled(&own, &["Answered: Team"]).await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    world.terreno.ask(EMAIL, "choice", choice("Which size?"))?;
    direct.card("Which size?").await?;
    gateway
        .wait_answer("/readyz", SOON, |status, body| status == 200 && body.contains(&format!("telegram:{GROUP}")))
        .await?;
    gateway.wait_at_rest(SOON).await?;
    let about = |world: &World| world.telegram.requests().iter().filter(|request| request.chat == Some(GROUP)).count();
    let so_far = about(&world);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(about(&world), so_far, "nobody knocks again and again");

    world.telegram.set_access(GROUP, Access::Open);
    let back = json!({"chat": {"id": GROUP, "type": "supergroup", "title": "Team"}, "date": 1,
        "from": {"id": TELEGRAM_PERSON, "is_bot": false, "first_name": "P"},
        "old_chat_member": {"status": "left", "user": {"id": 1234, "is_bot": true, "first_name": "B"}},
        "new_chat_member": {"status": "member", "user": {"id": 1234, "is_bot": true, "first_name": "B"}}});
    world.telegram.push_update("my_chat_member", &back);
    shared.card("Which size?").await?;
    world.assert_well_behaved()
}

/// A topic that is gone is never replaced by the group's general topic or by somebody's private chat.
#[tokio::test(flavor = "multi_thread")]
async fn c32_a_missing_topic_is_reported_and_replaced_by_nothing() -> anyhow::Result<()> {
    const TOPIC: i64 = 77;
    let world = World::start().await?;
    world.telegram.supergroup(GROUP, "Team", &[TELEGRAM_PERSON]);
    world.telegram.topic(GROUP, TOPIC, "Asks");
    let more = format!("{}{}", group(&format!("telegram:{GROUP}/{TOPIC}")), group(&format!("telegram:{GROUP}/1")));
    let gateway = world.gateway(&Setup { deliver: Some(Vec::new()), more, ..Setup::telegram() }).await?;
    let shared = world.screen(Channel::Telegram).in_chat(GROUP);
    world.terreno.ask(EMAIL, "choice", choice("Which plan?"))?;
    shared.see("the card in its topic", |card| card.text.contains("Which plan?") && card.topic == Some(TOPIC)).await?;
    shared.see("and in the general one", |card| card.text.contains("Which plan?") && card.topic != Some(TOPIC)).await?;
    gateway.wait_at_rest(SOON).await?;

    world.telegram.delete_topic(GROUP, TOPIC);
    world.terreno.ask(EMAIL, "choice", choice("Which size?"))?;
    gateway.wait_answer("/readyz", SOON, |_, body| body.contains(&format!("telegram:{GROUP}/{TOPIC}"))).await?;
    shared.card("Which size?").await?;
    gateway.wait_at_rest(SOON).await?;
    assert_eq!(shared.count("Which size?"), 1, "once, in the general topic, where it belongs too");
    assert_eq!(world.screen(Channel::Telegram).messages(), [], "and not in private");
    let sent = world.telegram.requests_of("sendMessage");
    assert!(sent.iter().all(|request| request.params.get("message_thread_id") != Some(&json!(1))), "{sent:#?}");
    Ok(())
}

/// A card that somebody deletes while its answer is on its way has nothing left to say and does not come back.
#[tokio::test(flavor = "multi_thread")]
async fn c34_a_deleted_card_of_an_answered_ask_is_not_replaced() -> anyhow::Result<()> {
    for channel in Channel::ALL {
        let world = World::start().await?;
        let gateway = world.gateway(&crate::common::only(channel)).await?;
        let script = Script::new().slow(Duration::from_secs(2)).say("You get {label}.");
        let (asked, card) = asked_and_shown(&world, channel, "Which plan?", script).await?;
        gateway.wait_at_rest(SOON).await?;
        let screen = world.screen(channel);
        screen.answer(&card, "Team").await?;
        screen.see("that it is on its way", |now| now.id == card.id && now.text.contains("Sending")).await?;
        match channel {
            Channel::Telegram => drop(world.telegram.delete_message(TELEGRAM_PERSON, i64::try_from(card.id)?)),
            Channel::Discord => world.discord.delete_message(Id::new(card.id)),
        }
        screen.see("the agent's words", |now| now.text == "You get Team.").await?;
        gateway.wait_at_rest(SOON).await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(screen.messages().iter().all(|card| !card.is_live()), "{:#?}", screen.messages());
        assert_eq!(screen.count("Which plan?"), 0, "no replacement: {:#?}", screen.messages());
        assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
        assert!(!gateway.log().contains(" ERROR "), "{}", gateway.log());
    }
    Ok(())
}

/// Markup of every dialect is text, nothing in a text calls anybody, and no link in it is fetched.
#[tokio::test(flavor = "multi_thread")]
async fn c38_c39_c41_a_text_is_shown_as_written_and_does_nothing() -> anyhow::Result<()> {
    const CALLS: &str = "@everyone @here <@&123> <@456>";
    let prompt = "Delete `a_b`? (v1.2) - <b>now</b> & [x](http://e.example) *!* # | {}";
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::default()).await?;
    let button = |id: &str, label: &str| {
        json!({"id": format!("option:{id}"), "label": label, "style": "default",
            "response": {"action": "accept", "content": {"selected": [id]}}})
    };
    let card = json!({"kind": "choice", "title": CALLS, "text": format!("{prompt} {CALLS}"),
        "buttons": [button("a", "@everyone"), button("b", "<@&123>")], "handoff": true});
    let script = Script::new().fail_after_output(format!("Said {CALLS}."), format!("Broke {CALLS}."));
    world.terreno.ask_then(EMAIL, AskSpec::raw(card, Value::Null), script)?;
    for channel in Channel::ALL {
        let card = world.screen(channel).card("Delete").await?;
        assert!(card.text.contains(&format!("{prompt} {CALLS}")), "{channel:?}: {}", card.text);
        assert_eq!(card.labels, ["@everyone", "<@&123>"]);
        assert!(!card.links.is_empty());
    }
    let screen = world.screen(Channel::Discord);
    let card = screen.card("Delete").await?;
    screen.answer(&card, "@everyone").await?;
    let over = |now: &Card| now.is_settled() && now.text.contains("Broke @everyone");
    for channel in Channel::ALL {
        world.screen(channel).see("the outcome", over).await?;
    }
    screen.see("the agent's words", |now| now.text.contains("Said @everyone")).await?;
    let late = screen.press(&card, &card.tokens[1])?;
    assert!(screen.told(&late, SOON).await?.contains("@everyone"));

    let mut bodies = 0;
    for request in world.discord.requests() {
        let Ok(body) = serde_json::from_str::<Value>(&request.body) else { continue };
        let message = match request.route {
            Route::CreateMessage | Route::EditMessage | Route::FollowUp | Route::EditResponse => &body,
            // A deferred update carries no message.
            Route::Callback if body.get("data").is_some() => &body["data"],
            _ => continue,
        };
        assert_eq!(message["allowed_mentions"]["parse"], json!([]), "{:?}: {body}", request.route);
        bodies += 1;
    }
    assert!(bodies >= 4, "card, edit, words and a late press were looked at: {bodies}");
    world.discord.read(|state| {
        assert!(!state.messages_to(Id::new(DISCORD_PERSON)).any(|message| message.pinged_everyone));
    });
    for method in ["sendMessage", "editMessageText"] {
        for request in world.telegram.requests_of(method) {
            assert_eq!(request.params["link_preview_options"], json!({"is_disabled": true}), "{request:#?}");
            assert_eq!(request.params.get("parse_mode"), None, "{request:#?}");
        }
    }
    drop(gateway);
    world.assert_well_behaved()
}
