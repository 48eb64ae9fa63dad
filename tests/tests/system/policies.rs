//! Votes, and answers that are asked for twice.

use std::time::Duration;

use sim::terreno::{AskSpec, Asked, Script};
use tests::{AT_ONCE, Card, Channel, DISCORD_PERSON, EMAIL, SOON, Screen, Setup, TELEGRAM_PERSON, World};

use crate::common::{choice, confirm, effective, only, turns};

on_both_channels!(
    an_undone_answer_is_voted_on_anew,
    asking_once_more_ends_with_a_restart,
    of_many_last_votes_one_is_posted,
    votes_survive_a_crash_and_may_change
);

const GROUP: i64 = -1_001_234_567_890;
const GUILD_CHANNEL: u64 = 4001;
const APPROVERS: [u64; 4] = [5001, 5002, 5003, 5004];

fn shared(channel: Channel) -> (String, i64) {
    match channel {
        Channel::Telegram => (format!("telegram:{GROUP}"), GROUP),
        Channel::Discord => {
            (format!("discord:channel:{GUILD_CHANNEL}"), i64::try_from(GUILD_CHANNEL).unwrap_or_default())
        }
    }
}

fn people(world: &World) {
    let members: Vec<i64> =
        APPROVERS.into_iter().filter_map(|id| i64::try_from(id).ok()).chain([TELEGRAM_PERSON]).collect();
    world.telegram.supergroup(GROUP, "Team", &members);
    world.discord.add_channel(GUILD_CHANNEL, "asks");
    for id in APPROVERS {
        world.discord.add_user(id, &format!("user{id}"));
    }
}

/// A group with that policy, which shows whole cards.
fn group(channel: Channel, policy: &str) -> String {
    group_of(channel, &approvers(channel), policy)
}

fn approvers(channel: Channel) -> Vec<String> {
    let kind = if channel == Channel::Telegram { "telegram" } else { "discord" };
    let person = if channel == Channel::Telegram { TELEGRAM_PERSON.unsigned_abs() } else { DISCORD_PERSON };
    APPROVERS.into_iter().chain([person]).map(|id| format!("{kind}:{id}")).collect()
}

fn group_of(channel: Channel, approvers: &[String], policy: &str) -> String {
    let place = shared(channel).0;
    format!(
        "[[groups]]\nplace = \"{place}\"\naccounts = [\"me\"]\napprovers = {approvers:?}\nprivacy = \"full\"\n{policy}\n\n"
    )
}

async fn ask(world: &World, screen: Screen<'_>, spec: AskSpec, script: Script) -> anyhow::Result<(Asked, Card)> {
    let asked = world.terreno.ask_then(EMAIL, spec, script)?;
    let card = screen.see("the card", Card::is_live).await?;
    Ok((asked, card))
}

async fn told(screen: Screen<'_>, who: u64, card: &Card, label: &str) -> anyhow::Result<String> {
    let screen = screen.as_user(who);
    screen.told(&screen.tap(card, label)?, AT_ONCE).await
}

async fn votes_survive_a_crash_and_may_change(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    people(&world);
    let setup = Setup { more: group(channel, "votes = 2"), ..only(channel) };
    let screen = world.screen(channel).in_chat(shared(channel).1);
    let gateway = world.gateway(&setup).await?;
    let (asked, card) = ask(&world, screen, AskSpec::new("choice", choice("Which plan?")), Script::new()).await?;
    gateway.wait_at_rest(SOON).await?;
    assert_eq!(told(screen, APPROVERS[0], &card, "Team").await?, "Your vote is counted: 1 of 2 for Team.");
    // Whoever was told so can rely on it, whatever happens then.
    gateway.kill().await?;

    let gateway = world.gateway(&setup).await?;
    screen.see("the vote", |card| card.text.contains("Team: 1 of 2, by ")).await?;
    assert_eq!(told(screen, APPROVERS[1], &card, "Starter").await?, "Your vote is counted: 1 of 2 for Starter.");
    screen
        .see("both votes", |card| card.text.contains("Team: 1 of 2") && card.text.contains("Starter: 1 of 2"))
        .await?;
    assert_eq!(told(screen, APPROVERS[1], &card, "Starter").await?, "Your vote for Starter counts already: 1 of 2.");
    gateway.kill().await?;

    let gateway = world.gateway(&setup).await?;
    assert_eq!(turns(&world, &asked), 0);
    assert_eq!(
        told(screen, APPROVERS[0], &card, "Starter").await?,
        "",
        "a changed mind is the last vote that is needed"
    );
    let settled = screen.settled(&card, &["Starter", "Votes: "]).await?;
    assert!(!settled.text.contains("of 2"), "{}", settled.text);
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn of_many_last_votes_one_is_posted(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    people(&world);
    let setup = Setup { more: group(channel, "votes = 2"), ..only(channel) };
    let screen = world.screen(channel).in_chat(shared(channel).1);
    let gateway = world.gateway(&setup).await?;
    let (asked, card) = ask(&world, screen, AskSpec::new("choice", choice("Which plan?")), Script::new()).await?;
    for (who, label) in [(APPROVERS[0], "Team"), (APPROVERS[1], "Starter")] {
        assert!(told(screen, who, &card, label).await?.contains("1 of 2"));
    }
    // Two last votes for either, all at one moment.
    let last = [(APPROVERS[2], "Team"), (APPROVERS[3], "Starter"), (APPROVERS[2], "Starter"), (APPROVERS[3], "Team")];
    let taps = last.map(|(who, label)| screen.as_user(who).tap(&card, label));
    let mut won = 0;
    for tap in taps {
        won += usize::from(screen.told(&tap?, AT_ONCE).await?.is_empty());
    }
    assert_eq!(won, 1);
    world.terreno.wait_for_answer(&asked, SOON).await?;
    screen.settled(&card, &["Answered", "Votes: "]).await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn an_undone_answer_is_voted_on_anew(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    people(&world);
    let setup = Setup { more: group(channel, "votes = 2"), ..only(channel) };
    let screen = world.screen(channel).in_chat(shared(channel).1);
    let gateway = world.gateway(&setup).await?;
    let script = Script::new().fail_before_output("the model is away");
    let (asked, card) = ask(&world, screen, AskSpec::new("choice", choice("Which plan?")), script).await?;
    for who in [APPROVERS[0], APPROVERS[1]] {
        told(screen, who, &card, "Team").await?;
    }
    let open =
        screen.see("that it did not count", |card| card.is_live() && card.text.contains("did not count")).await?;
    assert!(!open.text.contains("of 2"), "{}", open.text);
    assert!(told(screen, APPROVERS[0], &open, "Team").await?.contains("counted: 1 of 2"), "old votes are gone");
    assert_eq!(effective(&world, &asked), 0);
    drop(gateway);
    Ok(())
}

async fn asking_once_more_ends_with_a_restart(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    people(&world);
    let setup = Setup { more: group(channel, "destructive_votes = 2"), ..only(channel) };
    let screen = world.screen(channel).in_chat(shared(channel).1);
    let gateway = world.gateway(&setup).await?;
    let (asked, card) =
        ask(&world, screen, AskSpec::new("confirm", confirm("Delete 14 todos?")), Script::new()).await?;
    let own = world.screen(channel).card("Delete 14 todos?").await?;
    gateway.wait_at_rest(SOON).await?;
    assert_eq!(told(screen, APPROVERS[0], &card, "Delete").await?, "");
    let asks = |card: &Card| card.labels == ["Yes, Delete", "Back"];
    let question = screen.see("the question", asks).await?;
    assert_eq!(world.screen(channel).messages(), [own], "at that delivery only");
    gateway.kill().await?;

    let gateway = world.gateway(&setup).await?;
    let back = screen.see("the card as before", |card| card.labels == ["Delete", "Keep"]).await?;
    assert_eq!(back.text, card.text);
    let old = screen.as_user(APPROVERS[0]).press(&card, question.tokens.first().map_or("", String::as_str))?;
    assert!(screen.told(&old, AT_ONCE).await?.starts_with("The time to confirm is over"));
    assert_eq!(turns(&world, &asked), 0);

    // With votes, a confirmed tap is a vote.
    for (who, then) in [(APPROVERS[0], "counted: 1 of 2"), (APPROVERS[1], "")] {
        let card = screen.see("the card", |card| card.labels == ["Delete", "Keep"]).await?;
        assert_eq!(told(screen, who, &card, "Delete").await?, "");
        let question = screen.see("the question", asks).await?;
        assert_eq!(turns(&world, &asked), 0);
        let told = told(screen, who, &question, "Yes, Delete").await?;
        assert!(told.contains(then) && told.is_empty() == then.is_empty(), "{told:?}");
    }
    screen.settled(&card, &["Delete", "Votes: "]).await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

/// The whole half minute, once.
#[tokio::test(flavor = "multi_thread")]
async fn asking_once_more_ends_after_half_a_minute() -> anyhow::Result<()> {
    let world = World::start().await?;
    let account = "confirm_destructive = true".to_owned();
    let gateway = world.gateway(&Setup { account, ..Setup::telegram() }).await?;
    let screen = world.screen(Channel::Telegram);
    let (asked, card) =
        ask(&world, screen, AskSpec::new("confirm", confirm("Delete 14 todos?")), Script::new()).await?;
    screen.answer(&card, "Delete").await?;
    let question = screen.see("the question", |card| card.labels == ["Yes, Delete", "Back"]).await?;
    let back = |card: &Card| card.labels == ["Delete", "Keep"];
    let back = screen.see_within("the card as before", Duration::from_secs(40), back).await?;
    assert_eq!(back.text, card.text);
    let late = screen.press(&card, question.tokens.first().map_or("", String::as_str))?;
    assert!(screen.told(&late, AT_ONCE).await?.starts_with("The time to confirm is over"));
    assert_eq!(turns(&world, &asked), 0);
    // What can be undone is not asked twice.
    screen.answer(&back, "Keep").await?;
    screen.settled(&card, &["Answered: Keep"]).await?;
    drop(gateway);
    Ok(())
}

/// Somebody with an account on each platform has one vote.
#[tokio::test(flavor = "multi_thread")]
async fn one_person_has_one_vote_on_all_platforms() -> anyhow::Result<()> {
    let world = World::start().await?;
    people(&world);
    // Each place names the people of both platforms, who vote where they are.
    let everybody = Channel::ALL.map(approvers).concat();
    let more = Channel::ALL.map(|channel| group_of(channel, &everybody, "votes = 2")).concat();
    let gateway = world.gateway(&Setup { more, ..Setup::default() }).await?;
    let [telegram, discord] = Channel::ALL.map(|channel| world.screen(channel).in_chat(shared(channel).1));
    let asked = world.terreno.ask(EMAIL, "choice", choice("Which plan?"))?;
    let (there, here) = (discord.card("Which plan?").await?, telegram.card("Which plan?").await?);
    assert!(told(telegram, TELEGRAM_PERSON.unsigned_abs(), &here, "Team").await?.contains("counted: 1 of 2"));
    discord.see("the vote from the other platform", |card| card.text.contains("Team: 1 of 2, by ")).await?;
    assert!(told(discord, DISCORD_PERSON, &there, "Team").await?.contains("counted: 1 of 2"));
    assert_eq!(turns(&world, &asked), 0);
    assert_eq!(told(discord, APPROVERS[0], &there, "Team").await?, "");
    telegram.settled(&here, &["Team", "Votes: "]).await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    drop(gateway);
    Ok(())
}

/// A place counts the votes of those who decide there, wherever they gave them, and nobody else's.
#[tokio::test(flavor = "multi_thread")]
async fn a_vote_counts_only_where_its_voter_is_on_the_list() -> anyhow::Result<()> {
    let world = World::start().await?;
    people(&world);
    let more = Channel::ALL.map(|channel| group(channel, "votes = 2")).concat();
    let gateway = world.gateway(&Setup { more, ..Setup::default() }).await?;
    let [telegram, discord] = Channel::ALL.map(|channel| world.screen(channel).in_chat(shared(channel).1));
    let asked = world.terreno.ask(EMAIL, "choice", choice("Which plan?"))?;
    let (there, here) = (discord.card("Which plan?").await?, telegram.card("Which plan?").await?);
    assert!(told(discord, APPROVERS[0], &there, "Team").await?.contains("counted: 1 of 2"));
    discord.see("the vote", |card| card.text.contains("Team: 1 of 2, by ")).await?;
    assert!(told(telegram, APPROVERS[1], &here, "Team").await?.contains("counted: 1 of 2"), "a list of its own");
    gateway.wait_at_rest(SOON).await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (0, 0));
    assert_eq!(told(telegram, TELEGRAM_PERSON.unsigned_abs(), &here, "Team").await?, "");
    discord.settled(&there, &["Team"]).await?;
    assert_eq!((turns(&world, &asked), effective(&world, &asked)), (1, 1));
    drop(gateway);
    Ok(())
}
