//! Every request of a busy service against the platforms' published specifications.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};
use sim::discord::{Id, Route as Endpoint};
use sim::telegram::Standing;
use sim::terreno::{AskSpec, Asked, Fault, Route, Script};
use tests::cards::{Example, examples};
use tests::specs::Specs;
use tests::{AT_ONCE, Card, Channel, DISCORD_PERSON, EMAIL, SOON, Screen, Setup, TELEGRAM_PERSON, World};

/// So many people share the cards, because one chat takes a message in a second.
const PEOPLE: usize = 20;
const GROUP: i64 = -1_001_234_567_890;
const TOPIC: i64 = 77;
const ROOM: u64 = 990_000_000_000_000_001;
const STRANGER: u64 = 4001;
/// How long the backlog of cards may take.
const BACKLOG: Duration = Duration::from_secs(40);

fn telegram_id(person: usize) -> u64 {
    1100 + person as u64
}

fn discord_id(person: usize) -> u64 {
    2100 + person as u64
}

/// Half of the people use each channel.
fn channel_of(person: usize) -> Channel {
    if person.is_multiple_of(2) { Channel::Telegram } else { Channel::Discord }
}

fn first(labels: &[String]) -> anyhow::Result<&str> {
    labels.first().map(String::as_str).context("a label")
}

fn email(person: usize) -> String {
    format!("person{person}@example.com")
}

fn people() -> String {
    let mut toml = String::new();
    for person in 0..PEOPLE {
        let _ = writeln!(
            toml,
            "[[accounts]]\nname = \"p{person}\"\nsource = \"app\"\nemail = \"{}\"\npassword = \"a-password\"\n\
             deliver = [\"telegram:{}\", \"discord:user:{}\"]\n",
            email(person),
            telegram_id(person),
            discord_id(person)
        );
    }
    let _ = writeln!(
        toml,
        "[[groups]]\nplace = \"telegram:{GROUP}/{TOPIC}\"\naccounts = [\"me\"]\napprovers = [\"telegram:{TELEGRAM_PERSON}\"]\n\
         privacy = \"full\"\n\n\
         [[groups]]\nplace = \"discord:channel:{ROOM}\"\naccounts = [\"me\"]\napprovers = [\"discord:{DISCORD_PERSON}\"]\n"
    );
    toml
}

fn screen(world: &World, channel: Channel, person: usize) -> Screen<'_> {
    let user = match channel {
        Channel::Telegram => telegram_id(person),
        Channel::Discord => discord_id(person),
    };
    world.screen_of(channel, user)
}

/// A card that waits, and how its messages show it.
struct Waiting {
    asked: Asked,
    example: Example,
}

fn labels(card: &Value) -> Vec<String> {
    let buttons = card.get("buttons").and_then(Value::as_array).into_iter().flatten();
    buttons.filter_map(|button| button.get("label")?.as_str()).map(str::to_owned).collect()
}

/// The card's labels as they are shown: nothing hidden in them, and numbered where a person could take two for the same.
fn shown_labels(card: &Value) -> Vec<String> {
    let labels: Vec<String> =
        labels(card).iter().map(|label| label.replace('\u{200b}', "\\u{200b}").replace('\u{85}', " ")).collect();
    let lower: Vec<String> = labels.iter().map(|label| label.to_lowercase()).collect();
    let alike = lower.iter().enumerate().any(|(at, label)| lower.iter().skip(at + 1).any(|other| other == label));
    let number = |(at, label): (usize, &String)| if alike { format!("{}. {label}", at + 1) } else { label.clone() };
    labels.iter().enumerate().map(number).collect()
}

/// A label with what the vectors hide in some made visible.
fn honest(label: &str) -> String {
    label.replace('\u{200b}', "\\u{200b}").replace('\u{85}', " ")
}

fn counted(all: impl Iterator<Item = Vec<String>>) -> BTreeMap<Vec<String>, usize> {
    let mut counts = BTreeMap::new();
    for labels in all {
        *counts.entry(labels).or_insert(0) += 1;
    }
    counts
}

/// The messages that can be answered, in the app or here.
fn answerable(screen: &Screen<'_>) -> Vec<Card> {
    screen.messages().into_iter().filter(|card| card.is_live() || !card.links.is_empty()).collect()
}

/// Waits until both channels of a person show each of the cards, with exactly its labels.
async fn see_all(world: &World, person: usize, waiting: &[Waiting]) -> anyhow::Result<()> {
    let expected = counted(waiting.iter().map(|ask| shown_labels(&ask.example.card)));
    for channel in Channel::ALL {
        let screen = screen(world, channel, person);
        let shown = || counted(answerable(&screen).into_iter().map(|card| card.labels));
        let waiting = async {
            while shown() != expected {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        let in_time = tokio::time::timeout(BACKLOG, waiting).await;
        assert!(in_time.is_ok(), "{channel:?} of person {person} shows {:#?}, not {expected:#?}", shown());
    }
    Ok(())
}

/// The message that shows a card.
fn find(screen: &Screen<'_>, example: &Example) -> anyhow::Result<Card> {
    let text = example.card.get("text").and_then(Value::as_str).unwrap_or_default();
    // As far as it is written the same on both channels.
    let text: String = text.chars().take_while(|c| c.is_alphanumeric() || *c == ' ').collect();
    let fits = |card: &Card| card.labels == shown_labels(&example.card) && card.text.contains(&text);
    answerable(screen).into_iter().find(fits).with_context(|| format!("no message shows {example:?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_request_of_a_busy_service_is_valid() -> anyhow::Result<()> {
    let specs = Specs::load()?;
    let world = World::start().await?;
    for person in 0..PEOPLE {
        world.terreno.add_user(&email(person), "a-password");
        world.telegram.private_chat(i64::try_from(telegram_id(person))?);
        world.discord.add_user(discord_id(person), "somebody");
    }
    world.telegram.stranger(i64::try_from(STRANGER)?);
    world.telegram.supergroup(GROUP, "The team", &[TELEGRAM_PERSON, i64::try_from(STRANGER)?]);
    world.telegram.topic(GROUP, TOPIC, "Asks");
    let bot = world.telegram.view().bot.id;
    world.telegram.set_standing(GROUP, bot, Standing::Administrator);
    world.discord.add_channel(ROOM, "asks");
    world.discord.add_user(STRANGER, "stranger");

    // A backlog of every card there is, each in a conversation of its own that goes on with a long reply.
    let mut waiting: Vec<Vec<Waiting>> = (0..PEOPLE).map(|_| Vec::new()).collect();
    let reply = format!("You took {{label}}. {}", "👩‍👩‍👧‍👦 *bold* @everyone <@1> _line_\n".repeat(180));
    for (at, example) in examples()?.into_iter().enumerate() {
        let person = at % PEOPLE;
        let script = if at / PEOPLE == 0 { Script::new().say(reply.clone()) } else { Script::new() };
        let spec = AskSpec::raw(example.card.clone(), example.input.clone());
        let asked = world.terreno.ask_then(&email(person), spec, script)?;
        waiting[person].push(Waiting { asked, example });
    }
    let source = "poll_active = \"1s\"\npoll_idle = \"1s\"".to_owned();
    let gateway = world.gateway(&Setup { source, more: people(), ..Setup::default() }).await?;
    assert!(
        world.telegram.requests_of("getUpdates").first().is_some_and(|first| !first.params.contains_key("offset")),
        "no stored offset is trusted at a start"
    );
    for (person, waiting) in waiting.iter().enumerate() {
        see_all(&world, person, waiting).await?;
    }

    answer_here(&world, &waiting).await?;
    answer_elsewhere(&world, &waiting).await?;
    groups(&world).await?;
    trouble(&world).await?;

    world.assert_well_behaved()?;
    let (telegram, discord) = (world.telegram.requests(), world.discord.requests());
    let problems = [specs.telegram(&telegram), specs.discord(&discord)].concat();
    let few: Vec<&String> = problems.iter().take(20).collect();
    assert!(problems.is_empty(), "{} problems, of which: {few:#?}", problems.len());
    for method in ["sendMessage", "editMessageText", "answerCallbackQuery", "sendChatAction", "getUpdates"] {
        assert!(telegram.iter().any(|request| request.method == method), "{method} was never called");
    }
    for route in [Endpoint::Callback, Endpoint::CreateMessage, Endpoint::EditMessage, Endpoint::OpenDm] {
        assert!(discord.iter().any(|request| request.route == route), "{route:?} was never used");
    }
    drop(gateway);
    Ok(())
}

/// Everybody answers the first card that has buttons, half of them on each channel, and reads a long reply.
async fn answer_here(world: &World, waiting: &[Vec<Waiting>]) -> anyhow::Result<()> {
    let mut taken = Vec::new();
    for (person, waiting) in waiting.iter().enumerate() {
        let Some(ask) = waiting.iter().find(|ask| !labels(&ask.example.card).is_empty()) else { continue };
        let screen = screen(world, channel_of(person), person);
        let card = find(&screen, &ask.example)?;
        screen
            .answer(&card, first(&card.labels)?)
            .await
            .with_context(|| format!("person {person}, {:?}", ask.example))?;
        taken.push((person, ask, card));
    }
    for (person, ask, card) in taken {
        world.terreno.wait_for_answer(&ask.asked, SOON).await?;
        let label = honest(first(&labels(&ask.example.card))?);
        screen(world, channel_of(person), person).settled(&card, &[&label]).await?;
        screen(world, channel_of(person), person).see("the reply", |card| card.text.contains("👩‍👩‍👧‍👦")).await?;
    }
    Ok(())
}

/// Some second cards are answered in the app.
async fn answer_elsewhere(world: &World, waiting: &[Vec<Waiting>]) -> anyhow::Result<()> {
    for (person, waiting) in waiting.iter().enumerate().step_by(4) {
        let with_buttons = waiting.iter().filter(|ask| !labels(&ask.example.card).is_empty());
        let Some(ask) = with_buttons.skip(1).last() else { continue };
        let cards = Channel::ALL.map(|channel| find(&screen(world, channel, person), &ask.example));
        let button = ask.example.card.pointer("/buttons/0/id").and_then(Value::as_str).context("a button's id")?;
        world.terreno.press(&ask.asked.history_id, button).await?;
        for (channel, card) in Channel::ALL.into_iter().zip(cards) {
            screen(world, channel, person).settled(&card?, &[]).await?;
        }
    }
    Ok(())
}

/// An ask that is shown to groups as well: a stranger taps, an approver taps, and somebody is late.
async fn groups(world: &World) -> anyhow::Result<()> {
    let input = json!({"title": "Deploy", "prompt": "Deploy `main` to *production*?", "destructive": true,
        "confirmLabel": "Deploy", "denyLabel": "Wait"});
    world.terreno.ask_then(EMAIL, AskSpec::new("confirm", input), Script::new().say("Deployed."))?;
    let topic = world.screen(Channel::Telegram).in_chat(GROUP);
    let room = world.screen(Channel::Discord).in_chat(i64::try_from(ROOM)?);
    let (in_topic, in_room) = (topic.card("Deploy").await?, room.card("Deploy").await?);
    for (screen, card) in [(topic, &in_topic), (room, &in_room)] {
        let stranger = screen.as_user(STRANGER);
        let told = stranger.told(&stranger.tap(card, "Deploy")?, AT_ONCE).await?;
        assert!(!told.is_empty(), "a stranger is told something");
    }
    topic.answer(&in_topic, "Deploy").await?;
    let really =
        topic.see("the question", |card| card.id == in_topic.id && card.labels == ["Yes, Deploy", "Back"]).await?;
    topic.answer(&really, "Yes, Deploy").await?;
    room.settled(&in_room, &["Deploy"]).await?;
    let late = room.press(&in_room, in_room.tokens.last().context("a button")?)?;
    assert!(room.told(&late, AT_ONCE).await?.contains("Deploy"), "who is late is told what was decided");
    Ok(())
}

/// Failures, an undone answer, and an error of the agent.
async fn trouble(world: &World) -> anyhow::Result<()> {
    let ask = |text: &str| AskSpec::new("confirm", json!({ "prompt": text }));
    for channel in Channel::ALL {
        let screen = world.screen(channel);
        for (text, script) in [
            ("Undo?", Script::new().fail_before_output("the model is busy")),
            ("Error?", Script::new().fail_after_output("Half of it", "the model broke")),
            ("Slow?", Script::new().slow(Duration::from_secs(1)).say("Done.")),
            ("Proxy?", Script::new().say("Done after all.")),
        ] {
            if text == "Proxy?" {
                world.terreno.inject(Fault::html(Route::Turn, 502));
            }
            let text = format!("{text} {channel:?}");
            world.terreno.ask_then(EMAIL, ask(&text), script)?;
            let card = screen.card(&text).await?;
            let label = card.labels.first().context("a button")?;
            screen.answer(&card, label).await?;
            if text.starts_with("Undo?") {
                let again =
                    screen.see("reopened", |seen| seen.id == card.id && seen.edits > 0 && seen.is_live()).await?;
                screen.answer(&again, label).await?;
            }
            screen.settled(&card, &[label]).await?;
        }
    }
    Ok(())
}

fn telegram_call(method: &str, params: &Value) -> sim::telegram::Request {
    sim::telegram::Request {
        number: 1,
        at: Duration::ZERO,
        method: method.to_owned(),
        params: params.as_object().cloned().unwrap_or_default(),
        json: true,
        chat: None,
        status: None,
        refused: None,
    }
}

fn discord_request(body: &Value) -> sim::discord::Request {
    let route = Endpoint::CreateMessage;
    sim::discord::Request {
        number: 1,
        at: Duration::ZERO,
        route,
        template: route.template(),
        channel: Some(Id::new(1)),
        method: "POST".to_owned(),
        path: "/api/v10/channels/1/messages".to_owned(),
        query: None,
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: body.to_string(),
        status: None,
        answer: None,
    }
}

#[test]
fn the_checks_notice_what_they_are_for() -> anyhow::Result<()> {
    let specs = Specs::load()?;
    let keyboard = |button: Value| json!({"chat_id": 1, "text": "?", "reply_markup": {"inline_keyboard": [[button]]}});
    let button = |extra: Value| {
        let mut button = json!({"text": "Yes"});
        for (key, value) in extra.as_object().into_iter().flatten() {
            button[key] = value.clone();
        }
        keyboard(button)
    };
    let good = button(json!({"callback_data": "x", "style": "danger"}));
    assert_eq!(specs.telegram(&[telegram_call("sendMessage", &good)]), [""; 0]);
    let calls = [
        ("sendMessage", json!({"chat_id": 1, "text": "x".repeat(4097)}), "text: 4097 units", false),
        ("sendMessage", button(json!({"callback_data": "x".repeat(65)})), "65 bytes", false),
        ("sendMessage", button(json!({"callback_data": "x", "url": "https://a.example"})), "not exactly one", false),
        ("sendMessage", button(json!({"callback_data": "x", "style": "green"})), "the style \"green\"", false),
        ("sendMessage", button(json!({"url": "http://localhost/"})), "servers refuse", false),
        (
            "sendMessage",
            json!({"chat_id": 1, "text": "👍", "entities": [{"type": "bold", "offset": 1, "length": 1}]}),
            "cuts a character",
            false,
        ),
        ("answerCallbackQuery", json!({"callback_query_id": "1", "text": "x".repeat(201)}), "201 characters", false),
        ("sendMessage", json!({"chat_id": 1, "text": "?", "colour": "red"}), "no such key", true),
        ("sendMessage", json!({"chat_id": 1, "text": 5}), "5 is no String", true),
        ("sendMessage", json!({"text": "?"}), "chat_id: is required", true),
        ("sendMessage", button(json!({"callback_data": "x", "colour": 1})), "colour: there is no such key", true),
        ("sendMesage", json!({}), "no such method", true),
        ("getUpdates", json!({"allowed_updates": ["callback"]}), "no update of kind", true),
    ];
    for (method, params, expected, needs_file) in calls {
        let found = specs.telegram(&[telegram_call(method, &params)]);
        let noticed = found.iter().any(|problem| problem.contains(expected));
        assert!(noticed || (needs_file && !specs.are_whole()), "{method} {params}: {found:?}");
    }

    let message = |change: &dyn Fn(&mut Value)| {
        let mut body = json!({"content": "?", "allowed_mentions": {"parse": []}, "nonce": "n", "enforce_nonce": true,
            "components": [{"type": 1, "components": [{"type": 2, "style": 1, "label": "Yes", "custom_id": "x"}]}]});
        change(&mut body);
        body
    };
    assert_eq!(specs.discord(&[discord_request(&message(&|_| {}))]), [""; 0]);
    let bodies = [
        (message(&|body| body["content"] = json!("x".repeat(2001))), "2001 characters", false),
        (message(&|body| body["allowed_mentions"] = json!({})), "no empty parse", false),
        (message(&|body| body["enforce_nonce"] = json!(false)), "not enforced", false),
        (
            message(&|body| {
                let button = body["components"][0]["components"][0].clone();
                body["components"][0]["components"] = json!([button.clone(), button]);
            }),
            "same custom_id",
            false,
        ),
        (
            message(&|body| body["components"][0]["components"][0]["url"] = json!("https://a.example")),
            "neither a link",
            false,
        ),
        (message(&|body| body["colour"] = json!(1)), "/colour: there is no such key", true),
        (
            message(&|body| body["components"][0]["components"][0]["data"] = json!(1)),
            "/data: there is no such key",
            true,
        ),
        (
            message(&|body| body["components"][0]["components"][0]["custom_id"] = json!("x".repeat(101))),
            "/components",
            true,
        ),
        (message(&|body| body["components"][0]["components"][0]["style"] = json!(9)), "/components", true),
    ];
    for (body, expected, needs_file) in bodies {
        let found = specs.discord(&[discord_request(&body)]);
        let noticed = found.iter().any(|problem| problem.contains(expected));
        assert!(noticed || (needs_file && !specs.are_whole()), "{body}: {found:?}");
    }
    let twice =
        [message(&|_| {}), message(&|body| body["content"] = json!("another"))].map(|body| discord_request(&body));
    assert!(specs.discord(&twice).iter().any(|problem| problem.contains("another body")));
    Ok(())
}
