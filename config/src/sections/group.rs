//! `[[groups]]`: asks shown in a shared place, and who may answer there.

use asks::ids::AccountName;
use asks::place::{Actor, ChannelKind, Place};

use super::Outline;
use super::account::{AccountConfig, reference};
use crate::problem::Reported;
use crate::reader::{Item, Section};
use crate::values;

/// More votes than this are a mistake.
const MOST_VOTES: u64 = 1_000;

/// How much of an ask a shared place shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privacy {
    /// All of its card, and what the agent says then.
    Full,
    /// Its title and buttons; the rest goes to the person's direct place only.
    Summary,
}

/// One shared place.
#[derive(Debug, Clone)]
pub struct GroupConfig {
    /// A group, a topic or a guild channel.
    pub place: Place,
    /// Whose asks are shown there: at least one account of the file.
    pub accounts: Vec<AccountName>,
    /// Who may answer there: at least one person of the place's channel. People of other channels do no harm.
    pub approvers: Vec<Actor>,
    /// How much is shown there.
    pub privacy: Privacy,
    /// How many different approvers have to choose the same button: from 1 to the number of approvers.
    pub votes: usize,
    /// The same for a destructive button: never fewer than `votes`.
    pub destructive_votes: usize,
    /// Whether the person whose agent asks may answer there, if an approver.
    pub requester_may_answer: bool,
    /// Whether a destructive button asks once more.
    pub confirm_destructive: bool,
}

impl GroupConfig {
    pub(crate) fn validate(section: &Section<'_>, outline: &Outline) -> Result<Self, Reported> {
        let place = section.required("place", "place = \"telegram:-100.../77\" or \"discord:channel:ID\"", |item| {
            shared_place(item, outline)
        });
        let accounts = section.required("accounts", "accounts = [\"me\"], names of the [[accounts]]", |item| {
            let each = |item: &Item<'_>| reference(item, &outline.accounts, "[[accounts]]").map(AccountName::new);
            not_empty(item, item.each(each)?, "name at least one of the [[accounts]]")
        });
        let approvers = section.required("approvers", "approvers = [\"telegram:ID\"]: no list, no start", |item| {
            not_empty(item, item.each(values::actor)?, "name at least one person who may answer: no list, no start")
        });
        let privacy = section.or("privacy", Privacy::Summary, |item| {
            values::one_of(item, &[("summary", Privacy::Summary), ("full", Privacy::Full)], &[])
        });
        let votes = section.or("votes", 1, number_of_votes);
        let destructive_votes = section.optional("destructive_votes", number_of_votes);
        let requester_may_answer = section.or("requester_may_answer", true, values::flag);
        let confirm_destructive = section.or("confirm_destructive", true, values::flag);
        let mut possible = Ok(());
        if let (Ok(place), Ok(approvers)) = (&place, &approvers) {
            possible = enough(section, place, approvers, votes.ok(), destructive_votes.ok().flatten());
        }
        possible?;
        let votes = votes?;
        Ok(Self {
            place: place?,
            accounts: accounts?,
            approvers: approvers?,
            privacy: privacy?,
            votes,
            destructive_votes: destructive_votes?.unwrap_or(votes),
            requester_may_answer: requester_may_answer?,
            confirm_destructive: confirm_destructive?,
        })
    }
}

/// Refuses a group whose approvers could never decide.
fn enough(
    section: &Section<'_>,
    place: &Place,
    approvers: &[Actor],
    votes: Option<usize>,
    destructive_votes: Option<usize>,
) -> Result<(), Reported> {
    let channel = place.channel();
    let here = approvers.iter().filter(|approver| channel_of(**approver) == channel).count();
    let mut result = Ok(());
    if here == 0 {
        let what = format!("name nobody on {channel}, so nobody could answer in {place}");
        result = Err(section.report("approvers", what, format!("add \"{channel}:ID\" of a person")));
    }
    for (name, needed) in [("votes", votes), ("destructive_votes", destructive_votes)] {
        let Some(needed) = needed else { continue };
        if needed > approvers.len() {
            let what = format!("is {needed}, and there are {} approvers, so nothing could be decided", approvers.len());
            result = Err(section.report(name, what, "name more approvers, or lower it"));
        } else if needed > here && here > 0 {
            let what = format!("is {needed}, and {here} of the approvers are on {channel}, where {place} is");
            let fix = "name more of them there, or show the same asks to the others in another of the [[groups]]";
            section.warn(name, what, fix);
        }
    }
    if let (Some(votes), Some(destructive)) = (votes, destructive_votes)
        && destructive < votes
    {
        let what = format!("is {destructive}, fewer than the {votes} of votes");
        let fix = "write at least as many for what cannot be undone, or remove it";
        result = Err(section.report("destructive_votes", what, fix));
    }
    result
}

/// Refuses a group that leaves too few to answer where the person whose agent asks may not.
pub(crate) fn answerable(
    root: &Section<'_>,
    groups: &[GroupConfig],
    accounts: &[AccountConfig],
) -> Result<(), Reported> {
    let mut result = Ok(());
    for (i, group) in groups.iter().enumerate().filter(|(_, group)| !group.requester_may_answer) {
        let needed = group.votes.max(group.destructive_votes);
        for account in accounts.iter().filter(|account| group.accounts.contains(&account.key.name)) {
            let is_requester = |actor: &Actor| account.deliver.iter().any(|place| place.owner() == Some(*actor));
            let others: Vec<_> = group.approvers.iter().filter(|actor| !is_requester(actor)).collect();
            let here = others.iter().filter(|actor| channel_of(***actor) == group.place.channel()).count();
            if others.len() < needed || here == 0 {
                let what = format!(
                    "is false, and without the person of `{}` {} of the approvers can answer, {here} of them in {}: \
                     not enough for {needed} of them to agree",
                    account.key.name,
                    others.len(),
                    group.place,
                );
                let key = format!("groups[{i}].requester_may_answer");
                result = Err(root.report(&key, what, "name more approvers, lower the votes, or remove it"));
            }
        }
    }
    result
}

/// Refuses a second group that shows the same account at the same place: whose approvers would count there?
pub(crate) fn unique(root: &Section<'_>, groups: Vec<GroupConfig>) -> Result<Vec<GroupConfig>, Reported> {
    let mut result = Ok(());
    for (i, group) in groups.iter().enumerate() {
        let twice = groups.iter().take(i).enumerate().find_map(|(j, earlier)| {
            let shared = group.accounts.iter().find(|account| earlier.accounts.contains(account))?;
            (earlier.place == group.place).then_some((j, shared))
        });
        if let Some((j, account)) = twice {
            let what = format!("is {}, where groups[{j}] shows account `{account}` already", group.place);
            result = Err(root.report(&format!("groups[{i}].place"), what, "put the approvers of both into one"));
        }
    }
    result.map(|()| groups)
}

fn number_of_votes(item: &Item<'_>) -> Result<usize, Reported> {
    Ok(usize::try_from(values::whole(item, 1..=MOST_VOTES)?).unwrap_or(usize::MAX))
}

fn shared_place(item: &Item<'_>, outline: &Outline) -> Result<Place, Reported> {
    if let Ok(topic @ Place::Ntfy(_)) = item.text()?.parse() {
        let fix = "put it into that account's deliver";
        return Err(item.report(format!("{topic} is a topic, which belongs to one person and not to a group"), fix));
    }
    let place = values::place(item, outline)?;
    if place.is_direct() {
        let fix = "put it into the account's deliver; a group's id starts with -, a channel's with discord:channel:";
        return Err(item.report(format!("{place} is a person's own place, not a shared one"), fix));
    }
    Ok(place)
}

/// The list without repetitions, unless there is nothing in it.
fn not_empty<T: PartialEq>(item: &Item<'_>, list: Vec<T>, fix: &str) -> Result<Vec<T>, Reported> {
    let mut once: Vec<T> = Vec::with_capacity(list.len());
    for entry in list {
        if !once.contains(&entry) {
            once.push(entry);
        }
    }
    if once.is_empty() { Err(item.report("is empty", fix)) } else { Ok(once) }
}

const fn channel_of(actor: Actor) -> ChannelKind {
    match actor {
        Actor::Telegram(_) => ChannelKind::Telegram,
        Actor::Discord(_) => ChannelKind::Discord,
        Actor::Owner => ChannelKind::Web,
    }
}
