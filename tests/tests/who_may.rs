//! Who may answer where: every kind of place, every kind of person, every policy, as one table for each channel.

use serde_json::json;
use sim::discord::Id;
use sim::terreno::{AskSpec, Asked, Script};
use tests::{AT_ONCE, Card, Channel, SOON, Screen, Setup, World};

/// A kind of place, and its id on the platform; a direct place has none of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Direct,
    Group(i64),
    Supergroup(i64),
    ForumTopic(i64),
    GuildChannel(i64),
    Thread(i64),
}

/// What a group asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Policy {
    AnyOne,
    TwoOfThree,
    RequesterMayNot,
    DestructiveNeedsTwo,
    AskOnceMore,
}

/// What somebody is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    NotYours,
    NotYourOwn,
    /// Nothing: the card says how it goes on.
    Acknowledged,
    Counted,
    CountedBefore,
}

const TOPIC: i64 = 77;
const PARENT: u64 = 4001;
const TELEGRAM: [At; 4] =
    [At::Direct, At::Group(-4001), At::Supergroup(-1_001_000_000_001), At::ForumTopic(-1_001_000_000_002)];
const DISCORD: [At; 3] = [At::Direct, At::GuildChannel(4001), At::Thread(4002)];
const POLICIES: [Policy; 5] =
    [Policy::AnyOne, Policy::TwoOfThree, Policy::RequesterMayNot, Policy::DestructiveNeedsTwo, Policy::AskOnceMore];

const APPROVERS: [u64; 3] = [5001, 5002, 5003];
/// Sits in every shared place, and is linked to an account of their own.
const MEMBER: u64 = 5010;
/// Is linked to nothing.
const STRANGER: u64 = 5011;
const FIRST_OWNER: u64 = 6000;

/// One account with its own person, and one place with one policy.
#[derive(Debug)]
struct Row {
    at: At,
    policy: Policy,
    owner: u64,
    name: String,
    email: String,
}

impl Row {
    fn all(places: &[At]) -> Vec<Self> {
        let pairs = places.iter().flat_map(|at| POLICIES.map(|policy| (*at, policy)));
        let row = |(at, policy), owner: u64| Self {
            at,
            policy,
            owner,
            name: format!("p{owner}"),
            email: format!("p{owner}@example.com"),
        };
        pairs.zip(FIRST_OWNER..).map(|(pair, owner)| row(pair, owner)).collect()
    }

    /// Who presses Delete, in this order, and what each is told.
    fn presses(&self) -> Vec<(u64, Told)> {
        let [first, second, _] = APPROVERS;
        if self.at == At::Direct {
            // The conversation is its person's, whatever a group asks for.
            return vec![
                (first, Told::NotYours),
                (MEMBER, Told::NotYours),
                (STRANGER, Told::NotYours),
                (self.owner, Told::Acknowledged),
            ];
        }
        let owner = if self.policy == Policy::RequesterMayNot { Told::NotYourOwn } else { Told::NotYours };
        let mut presses = vec![(self.owner, owner), (MEMBER, Told::NotYours), (STRANGER, Told::NotYours)];
        presses.extend(match self.policy {
            Policy::AnyOne | Policy::RequesterMayNot | Policy::AskOnceMore => vec![(first, Told::Acknowledged)],
            Policy::TwoOfThree | Policy::DestructiveNeedsTwo => {
                vec![(first, Told::Counted), (first, Told::CountedBefore), (second, Told::Acknowledged)]
            }
        });
        presses
    }

    /// The account and its group.
    fn configuration(&self, world: &World, channel: Channel, fallback: At) -> String {
        let (kind, user) = match channel {
            Channel::Telegram => ("telegram", "telegram"),
            Channel::Discord => ("discord", "discord:user"),
        };
        let place = match if self.at == At::Direct { fallback } else { self.at } {
            At::Direct => unreachable!("a fallback is shared"),
            At::Group(chat) | At::Supergroup(chat) => format!("telegram:{chat}"),
            At::ForumTopic(chat) => format!("telegram:{chat}/{TOPIC}"),
            At::GuildChannel(id) | At::Thread(id) => format!("discord:channel:{id}"),
        };
        let mut approvers: Vec<String> = APPROVERS.iter().map(|id| format!("{kind}:{id}")).collect();
        let policy = match self.policy {
            Policy::AnyOne => "confirm_destructive = false",
            Policy::TwoOfThree => "votes = 2\nconfirm_destructive = false",
            Policy::RequesterMayNot => {
                approvers.push(format!("{kind}:{}", self.owner));
                "requester_may_answer = false\nconfirm_destructive = false"
            }
            Policy::DestructiveNeedsTwo => "destructive_votes = 2\nconfirm_destructive = false",
            Policy::AskOnceMore => "",
        };
        let (token, refresh) = world.terreno.tokens(&self.email).unwrap_or_default();
        let (name, owner) = (&self.name, self.owner);
        format!(
            "[[accounts]]\nname = \"{name}\"\nsource = \"app\"\ntoken = \"{token}\"\nrefresh_token = \"{refresh}\"\n\
             deliver = [\"{user}:{owner}\"]\n\n[[groups]]\nplace = \"{place}\"\naccounts = [\"{name}\"]\n\
             approvers = {approvers:?}\nprivacy = \"full\"\n{policy}\n\n"
        )
    }

    fn screen<'w>(&self, world: &'w World, channel: Channel) -> Screen<'w> {
        let own = world.screen_of(channel, self.owner);
        match self.at {
            At::Direct => own,
            At::Group(id) | At::Supergroup(id) | At::ForumTopic(id) | At::GuildChannel(id) | At::Thread(id) => {
                own.in_chat(id)
            }
        }
    }
}

fn turns(world: &World, asked: &Asked) -> usize {
    world.terreno.read(|state| state.answers(&asked.history_id, &asked.tool_call_id).len())
}

fn people(world: &World, channel: Channel, rows: &[Row]) -> anyhow::Result<()> {
    let everybody: Vec<u64> =
        APPROVERS.into_iter().chain([MEMBER, STRANGER]).chain(rows.iter().map(|row| row.owner)).collect();
    for row in rows {
        world.terreno.add_user(&row.email, "a-password-of-a-test");
    }
    match channel {
        Channel::Telegram => {
            let members: Vec<i64> = everybody.iter().map(|id| i64::try_from(*id)).collect::<Result<_, _>>()?;
            for id in &members {
                world.telegram.private_chat(*id);
            }
            for at in TELEGRAM {
                match at {
                    At::Group(chat) => world.telegram.group(chat, "Group", &members),
                    At::Supergroup(chat) => world.telegram.supergroup(chat, "Supergroup", &members),
                    At::ForumTopic(chat) => {
                        world.telegram.supergroup(chat, "Forum", &members);
                        world.telegram.topic(chat, TOPIC, "Asks");
                    }
                    _ => {}
                }
            }
        }
        Channel::Discord => {
            for id in everybody {
                world.discord.add_user(id, &format!("user{id}"));
            }
            world.discord.add_channel(PARENT, "asks");
            world.discord.add_thread(4002_u64, Id::new(PARENT), "a thread");
        }
    }
    Ok(())
}

async fn matrix(channel: Channel, places: &[At]) -> anyhow::Result<()> {
    let world = World::start().await?;
    let rows = Row::all(places);
    people(&world, channel, &rows)?;
    world.terreno.add_user("member@example.com", "a-password-of-a-test");
    let fallback = *places.last().unwrap_or(&At::Direct);
    let more: String = rows.iter().map(|row| row.configuration(&world, channel, fallback)).collect();
    let base = if channel == Channel::Telegram { Setup::telegram() } else { Setup::discord() };
    let member =
        if channel == Channel::Telegram { format!("telegram:{MEMBER}") } else { format!("discord:user:{MEMBER}") };
    let gateway = world.gateway(&Setup { more, deliver: Some(vec![member]), ..base }).await?;

    let ask = |row: &Row| {
        let prompt = format!("Delete the todos of {}?", row.name);
        let input = json!({"prompt": prompt, "confirmLabel": "Delete", "denyLabel": "Keep", "destructive": true});
        world.terreno.ask_then(&row.email, AskSpec::new("confirm", input), Script::new())
    };
    let asked: Vec<Asked> = rows.iter().map(ask).collect::<Result<_, _>>()?;
    for (row, asked) in rows.iter().zip(&asked) {
        let case = format!("{:?}, {:?}", row.at, row.policy);
        let screen = row.screen(&world, channel);
        let card = screen.card(&row.name).await?;
        assert_eq!(card.labels, ["Delete", "Keep"], "{case}");
        let presses = row.presses();
        for (at, (who, expected)) in presses.iter().enumerate() {
            let tap = screen.as_user(*who).tap(&card, "Delete")?;
            let told = screen.told(&tap, AT_ONCE).await?;
            let begins = match expected {
                Told::NotYours => "This question is not yours to answer.",
                Told::NotYourOwn => "Your own agent asks this",
                Told::Acknowledged => "",
                Told::Counted => "Your vote is counted: 1 of 2",
                Told::CountedBefore => "Your vote for Delete counts already: 1 of 2",
            };
            assert!(told.starts_with(begins) && (begins.is_empty() == told.is_empty()), "{case}, {who}: {told:?}");
            if at + 1 < presses.len() {
                assert_eq!(turns(&world, asked), 0, "{case}: {who} was told {told:?}");
            }
            if matches!(expected, Told::NotYours | Told::NotYourOwn) {
                let now = screen.messages().into_iter().find(|other| other.id == card.id);
                assert_eq!(now.as_ref(), Some(&card), "{case}: the tap of {who} changes nothing");
            }
            if *expected == Told::Counted {
                screen.see("the votes", |now| now.id == card.id && now.text.contains("Delete: 1 of 2, by ")).await?;
            }
        }
        if row.at != At::Direct && row.policy == Policy::AskOnceMore {
            once_more(&world, screen, &card, asked).await?;
        }
        world.terreno.wait_for_answer(asked, SOON).await?;
        let settled = screen.settled(&card, &["Answered", "Delete"]).await?;
        let by_votes = matches!(row.policy, Policy::TwoOfThree | Policy::DestructiveNeedsTwo) && row.at != At::Direct;
        assert_eq!(settled.text.contains("Votes: "), by_votes, "{case}: {}", settled.text);
        let late = screen.as_user(APPROVERS[2]).press(&card, card.tokens.first().map_or("", String::as_str))?;
        assert!(!screen.told(&late, AT_ONCE).await?.is_empty(), "{case}: too late is said");
        assert_eq!(turns(&world, asked), 1, "{case}");
    }
    // Every stranger's tap is written down: three for each place and policy, but for the requesters, who are told why; the late
    // tap of an approver in each direct place; and the stranger's confirmation in each shared one.
    let shared = places.len() - 1;
    let refused = 3 * rows.len() - shared + POLICIES.len() + shared;
    assert_eq!(gateway.log().matches("was refused: not the linked person").count(), refused);
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

/// The first tap of the first approver was made: nothing counts before that person's second one.
async fn once_more(world: &World, screen: Screen<'_>, card: &Card, asked: &Asked) -> anyhow::Result<()> {
    let [first, second, _] = APPROVERS;
    let asks = |now: &Card| now.id == card.id && now.labels == ["Yes, Delete", "Back"];
    let question = screen.see("the question", asks).await?;
    for (who, begins) in [(second, "Only the person who tapped first"), (STRANGER, "This question is not yours")] {
        let tap = screen.as_user(who).tap(&question, "Yes, Delete")?;
        let told = screen.told(&tap, AT_ONCE).await?;
        assert!(told.starts_with(begins), "{who}: {told:?}");
    }
    screen.as_user(first).answer(&question, "Back").await?;
    let back = screen.see("the card", |now| now.id == card.id && now.labels == ["Delete", "Keep"]).await?;
    assert_eq!((&back.text, &back.tokens), (&card.text, &card.tokens), "it is as it was");
    // What was asked before the way back was taken is not confirmed by an old screen.
    let tap = screen.as_user(first).press(card, question.tokens.first().map_or("", String::as_str))?;
    assert!(screen.told(&tap, AT_ONCE).await?.starts_with("The time to confirm is over"));
    screen.as_user(first).answer(&back, "Delete").await?;
    let again = screen.see("the question", asks).await?;
    assert_eq!(turns(world, asked), 0, "nothing is claimed before it is confirmed");
    screen.as_user(first).answer(&again, "Yes, Delete").await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_place_person_and_policy_on_telegram() -> anyhow::Result<()> {
    matrix(Channel::Telegram, &TELEGRAM).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_place_person_and_policy_on_discord() -> anyhow::Result<()> {
    matrix(Channel::Discord, &DISCORD).await
}
