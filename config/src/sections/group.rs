//! `[[groups]]`: asks shown in a shared place, and who may answer there.

use asks::ids::AccountName;
use asks::place::{Actor, ChannelKind, Place};

use super::Outline;
use super::account::reference;
use crate::problem::Reported;
use crate::reader::{Item, Section};
use crate::values;

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
        if let (Ok(place), Ok(approvers)) = (&place, &approvers) {
            let channel = place.channel();
            if !approvers.iter().any(|approver| channel_of(*approver) == channel) {
                let what = format!("name nobody on {channel}, so nobody could answer in {place}");
                return Err(section.report("approvers", what, format!("add \"{channel}:ID\" of a person")));
            }
        }
        Ok(Self { place: place?, accounts: accounts?, approvers: approvers?, privacy: privacy? })
    }
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

fn shared_place(item: &Item<'_>, outline: &Outline) -> Result<Place, Reported> {
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
    }
}
