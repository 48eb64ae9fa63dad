//! Who may answer, and who may not.

use serde_json::json;
use sim::discord::Id;
use sim::terreno::{AskSpec, Script};
use tests::{AT_ONCE, Channel, DISCORD_PERSON, EMAIL, SOON, Setup, TELEGRAM_PERSON, World};

use crate::common::{asked_and_shown, choice, effective, only, turns};

on_both_channels!(
    approver_answers_in_a_group,
    full_privacy,
    stranger_cannot_answer,
    summary_keeps_secrets,
    typing_answers_nothing
);

const FORUM: i64 = -1_001_234_567_890;
const TOPIC: i64 = 77;
const GUILD_CHANNEL: u64 = 4001;
const APPROVER: u64 = 5001;
const STRANGER: u64 = 5002;

/// A group of that channel with the approver and a stranger in it, in front of which nobody in particular stands.
fn group(world: &World, channel: Channel, privacy: &str) -> (Setup, i64) {
    let (place, chat, approver) = match channel {
        Channel::Telegram => {
            let member = |id: u64| i64::try_from(id).unwrap_or_default();
            world.telegram.supergroup(FORUM, "Team", &[TELEGRAM_PERSON, member(APPROVER), member(STRANGER)]);
            world.telegram.topic(FORUM, TOPIC, "Asks");
            (format!("telegram:{FORUM}/{TOPIC}"), FORUM, format!("telegram:{APPROVER}"))
        }
        Channel::Discord => {
            world.discord.add_channel(GUILD_CHANNEL, "asks");
            world.discord.add_user(APPROVER, "approver");
            world.discord.add_user(STRANGER, "stranger");
            (
                format!("discord:channel:{GUILD_CHANNEL}"),
                i64::try_from(GUILD_CHANNEL).unwrap_or_default(),
                format!("discord:{APPROVER}"),
            )
        }
    };
    let more = format!("[[groups]]\nplace = \"{place}\"\naccounts = [\"me\"]\napprovers = [\"{approver}\"]\n{privacy}");
    (Setup { more, ..only(channel) }, chat)
}

async fn stranger_cannot_answer(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    world.telegram.private_chat(i64::try_from(STRANGER)?);
    world.discord.add_user(STRANGER, "stranger");
    let gateway = world.gateway(&only(channel)).await?;
    let (asked, card) = asked_and_shown(&world, channel, "Which plan?", Script::new()).await?;
    let screen = world.screen(channel);
    let stranger = screen.as_user(STRANGER);
    for token in card.tokens.iter().map(String::as_str).chain(["made-up", "a:b:c"]) {
        let tap = stranger.press(&card, token)?;
        let told = stranger.told(&tap, AT_ONCE).await?;
        assert!(!told.trim().is_empty(), "a stranger is told something");
        assert!(!told.contains("Team") && !told.contains("plan"), "and nothing about the question: {told:?}");
    }
    assert_eq!(screen.messages(), std::slice::from_ref(&card), "the card does not change");
    assert_eq!(turns(&world, &asked), 0);
    screen.answer(&card, "Team").await?;
    screen.settled(&card, &["Answered: Team"]).await?;
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn approver_answers_in_a_group(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let (setup, chat) = group(&world, channel, "");
    let gateway = world.gateway(&setup).await?;
    let script = Script::new().say("The secret plan is {label}.");
    let asked = world.terreno.ask_then(EMAIL, AskSpec::new("choice", choice("Which of the secret plans?")), script)?;
    let (own, shared) = (world.screen(channel), world.screen(channel).in_chat(chat));
    let own_card = own.card("Which of the secret plans?").await?;
    let card = shared.card("Plan").await?;
    if channel == Channel::Telegram {
        assert_eq!(card.topic, Some(TOPIC));
    }
    assert_eq!(card.labels, ["Team", "Starter", "Skip"]);

    // Neither a member nor the account's own person, who is no approver here, may press in the group.
    let person = if channel == Channel::Telegram { TELEGRAM_PERSON.unsigned_abs() } else { DISCORD_PERSON };
    for not_named in [STRANGER, person] {
        let tap = shared.as_user(not_named).tap(&card, "Team")?;
        let told = shared.told(&tap, AT_ONCE).await?;
        assert!(!told.trim().is_empty());
    }
    assert_eq!(shared.messages(), std::slice::from_ref(&card));
    assert_eq!(turns(&world, &asked), 0);

    shared.as_user(APPROVER).answer(&card, "Starter").await?;
    shared.settled(&card, &["Plan", "Starter"]).await?;
    own.settled(&own_card, &["Which of the secret plans?", "Starter"]).await?;
    own.see("the agent's words", |card| card.text == "The secret plan is Starter.").await?;
    let loser = shared.as_user(STRANGER).press(&card, card.tokens.first().map_or("", String::as_str))?;
    assert!(!shared.told(&loser, AT_ONCE).await?.is_empty());
    assert!(!format!("{:?}", shared.messages()).contains("secret"), "{:#?}", shared.messages());
    assert_eq!(effective(&world, &asked), 1);
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn summary_keeps_secrets(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let (setup, chat) = group(&world, channel, "privacy = \"summary\"");
    let gateway = world.gateway(&setup).await?;
    let shared = world.screen(channel).in_chat(chat);
    // No title, and a failing agent: neither the question nor the error may leak.
    let input = json!({"prompt": "Sell the secret stock?", "confirmLabel": "Sell", "denyLabel": "Hold"});
    let script = Script::new().fail_after_output("The secret half.", "secret upstream broke");
    let asked = world.terreno.ask_then(EMAIL, AskSpec::new("confirm", input), script)?;
    let card = shared.card("An agent is waiting for an answer").await?;
    assert_eq!(card.labels, ["Sell", "Hold"]);
    shared.as_user(APPROVER).answer(&card, "Hold").await?;
    shared.settled(&card, &["Hold"]).await?;
    world.screen(channel).see("the agent's words", |card| card.text.contains("The secret half.")).await?;
    assert!(!format!("{:?}", shared.messages()).contains("secret"), "{:#?}", shared.messages());
    assert_eq!(effective(&world, &asked), 1);
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn full_privacy(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let (setup, chat) = group(&world, channel, "privacy = \"full\"");
    let gateway = world.gateway(&setup).await?;
    let shared = world.screen(channel).in_chat(chat);
    let script = Script::new().say("You get {label}.");
    world.terreno.ask_then(EMAIL, AskSpec::new("choice", choice("Which plan?")), script)?;
    let card = shared.card("Which plan?").await?;
    shared.as_user(APPROVER).answer(&card, "Team").await?;
    shared.settled(&card, &["Which plan?", "Team"]).await?;
    let words = shared.see("the agent's words", |card| card.text == "You get Team.").await?;
    if channel == Channel::Telegram {
        assert_eq!(words.topic, Some(TOPIC), "what the agent says stays in the topic");
    }
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn typing_answers_nothing(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let (mut setup, chat) = group(&world, channel, "privacy = \"full\"");
    "poll_active = \"400ms\"\npoll_idle = \"400ms\"".clone_into(&mut setup.source);
    let gateway = world.gateway(&setup).await?;
    let (asked, card) = asked_and_shown(&world, channel, "Which plan?", Script::new()).await?;
    let shared = world.screen(channel).in_chat(chat).card("Which plan?").await?;
    for text in ["ok", "Team", "/approve", "1", "yes \u{202e}"] {
        match channel {
            Channel::Telegram => {
                world.telegram.say(TELEGRAM_PERSON, TELEGRAM_PERSON, text);
                let stranger = i64::try_from(STRANGER)?;
                world.telegram.say_in(stranger, FORUM, text, Some(TOPIC), Some(i64::try_from(shared.id)?));
                let reaction = json!({"chat": {"id": FORUM, "type": "supergroup", "title": "Team"},
                    "message_id": shared.id, "user": {"id": stranger, "is_bot": false, "first_name": "S"}, "date": 1,
                    "old_reaction": [], "new_reaction": [{"type": "emoji", "emoji": "👍"}]});
                world.telegram.push_update("message_reaction", &reaction);
            }
            Channel::Discord => {
                world.discord.say_to_bot(DISCORD_PERSON, text);
                world.discord.say(STRANGER, Id::new(GUILD_CHANNEL), text);
            }
        }
    }
    // A second ask proves that all of it was read before it is looked at what it did.
    let second = world.terreno.ask(EMAIL, "choice", choice("Another plan?"))?;
    let next = world.screen(channel).card("Another plan?").await?;
    world.screen(channel).answer(&next, "Team").await?;
    world.terreno.wait_for_answer(&second, SOON).await?;
    assert_eq!(turns(&world, &asked), 0);
    let now = world.screen(channel).messages();
    assert!(now.contains(&card), "the card is as it was: {now:#?}");
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

/// A credential that suddenly belongs to somebody else shows nobody's asks to the wrong person, also after a restart.
#[tokio::test(flavor = "multi_thread")]
async fn an_account_never_becomes_somebody_else() -> anyhow::Result<()> {
    let world = World::start().await?;
    world.terreno.add_user("other@example.com", "another-password");
    let gateway = world.gateway(&Setup::telegram()).await?;
    let (asked, card) = asked_and_shown(&world, Channel::Telegram, "Which plan?", Script::new()).await?;
    gateway.wait_at_rest(SOON).await?;
    gateway.kill().await?;

    let (token, refresh) = world.terreno.tokens("other@example.com").unwrap_or_default();
    world.terreno.ask("other@example.com", "choice", choice("Whose secret is this?"))?;
    let account = format!("token = \"{token}\"\nrefresh_token = \"{refresh}\"");
    let gateway = world.gateway(&Setup { account, ..Setup::telegram() }).await?;
    gateway.wait_answer("/readyz", SOON, |_, body| body.contains("another person")).await?;
    let screen = world.screen(Channel::Telegram);
    assert_eq!(screen.messages(), std::slice::from_ref(&card), "nothing of the other's is shown, nothing is withdrawn");

    // A tap is recorded and waits; it is not answered as somebody else.
    screen.answer(&card, "Team").await?;
    screen.see("that it waits", |card| card.text.contains("Recorded: Team")).await?;
    assert_eq!(turns(&world, &asked), 0);
    gateway.kill().await?;

    let gateway = world.gateway(&Setup::telegram()).await?;
    screen.settled(&card, &["Answered: Team"]).await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    drop(gateway);
    Ok(())
}
