//! What a press needs to count: who may, how many have to agree, and whether it is asked once more.
//!
//! Pure, and fail-closed: what is not said to be allowed is refused. A direct place is its person's alone, whatever a group asks
//! for: the conversation is theirs.

use std::collections::BTreeSet;

use asks::card::Style;
use asks::ids::{AccountKey, ButtonId};
use asks::place::{Actor, ChannelKind, Place};
use store::record::{AskRecord, Vote};

use crate::links::{Links, Permission, Rules};

/// What a press that is allowed needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ruling {
    /// How many different people have to choose the button, at least 1.
    pub votes: usize,
    /// Whether it is asked once more before it counts.
    pub once_more: bool,
}

/// Why a press is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Another person's question.
    Stranger,
    /// The account is not here, or not at this place, any more.
    NotLinked,
    /// The person whose agent asks, where others have to answer.
    Requester,
}

/// How far the votes for one button are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// The button.
    pub button: ButtonId,
    /// How many votes it needs.
    pub needed: usize,
    /// What the people are called who gave theirs, in that order.
    pub by: Vec<String>,
}

/// Rules on a press of a button in that style.
///
/// # Errors
/// Why it is refused.
pub fn ruling(
    links: &Links,
    account: &AccountKey,
    place: &Place,
    actor: Actor,
    style: Style,
) -> Result<Ruling, Refusal> {
    let permission = links.may_press(account, place, actor);
    let is_requester = links.is_person_of(account, actor);
    rule(place, actor, permission, links.rules(account, place), is_requester, style)
}

/// Rules on an answer that the account's own person gives on one of our pages, which they reached from `place`.
///
/// # Errors
/// Why it is refused.
pub fn ruling_for_owner(links: &Links, account: &AccountKey, place: &Place, style: Style) -> Result<Ruling, Refusal> {
    match (links.may_press(account, place, Actor::Owner), links.rules(account, place)) {
        (Permission::Allowed, Some(rules)) if place.is_direct() => {
            Ok(Ruling { votes: 1, once_more: style == Style::Destructive && rules.confirm_destructive })
        }
        (Permission::NotLinked, _) | (_, None) => Err(Refusal::NotLinked),
        _ => Err(Refusal::Stranger),
    }
}

fn rule(
    place: &Place,
    actor: Actor,
    permission: Permission,
    rules: Option<Rules>,
    is_requester: bool,
    style: Style,
) -> Result<Ruling, Refusal> {
    match permission {
        Permission::Allowed => {}
        Permission::Stranger => return Err(Refusal::Stranger),
        Permission::NotLinked => return Err(Refusal::NotLinked),
    }
    // A notification's capability presses the notification's own buttons, and a chat's button is pressed by who is in the chat.
    if (actor == Actor::Owner) != matches!(place.channel(), ChannelKind::Ntfy | ChannelKind::Web) {
        return Err(Refusal::Stranger);
    }
    let Some(rules) = rules else { return Err(Refusal::NotLinked) };
    let destructive = style == Style::Destructive;
    let once_more = destructive && rules.confirm_destructive;
    if place.is_direct() {
        return Ok(Ruling { votes: 1, once_more });
    }
    if is_requester && !rules.requester_may_answer {
        return Err(Refusal::Requester);
    }
    let votes = if destructive { rules.destructive_votes.max(rules.votes) } else { rules.votes };
    Ok(Ruling { votes: votes.max(1), once_more })
}

/// The votes for a button that count at a place now: those of people who may press it there still, one for each person, however
/// many accounts on platforms that person has.
#[must_use]
pub fn counted<'a>(links: &Links, record: &'a AskRecord, place: &Place, button: &ButtonId) -> Vec<&'a Vote> {
    let Some(style) = record.card.button(button).map(|button| button.style) else { return Vec::new() };
    let mut counted: Vec<&Vote> = Vec::new();
    for vote in record.votes.iter().filter(|vote| vote.button == *button) {
        let may = may_vote(links, record, place, vote, style);
        if may && !counted.iter().any(|other| links.is_one_person(other.actor, vote.actor)) {
            counted.push(vote);
        }
    }
    counted
}

/// A vote from elsewhere counts here only if its voter is one of those who decide here: a place's list may name people of another
/// platform, who vote where they are.
fn may_vote(links: &Links, record: &AskRecord, place: &Place, vote: &Vote, style: Style) -> bool {
    !vote.place.is_direct() && !place.is_direct() && ruling(links, &record.account, place, vote.actor, style).is_ok()
}

/// How many votes the ledger, which counts each actor's, has to see for `needed` that count, with the one of `actor`; and how many
/// count then.
#[must_use]
pub fn needed_of_ledger(
    links: &Links,
    record: &AskRecord,
    place: &Place,
    button: &ButtonId,
    (actor, needed): (Actor, usize),
) -> (usize, usize) {
    let mut others = counted(links, record, place, button);
    others.retain(|vote| !links.is_one_person(vote.actor, actor));
    let recorded = record.votes.iter().filter(|vote| vote.button == *button && vote.actor != actor).count();
    (needed + recorded.saturating_sub(others.len()), others.len() + 1)
}

/// How far the votes at a shared place are, for every button that has some and needs more than one.
#[must_use]
pub fn tallies(links: &Links, record: &AskRecord, place: &Place) -> Vec<Tally> {
    if place.is_direct() || record.votes.is_empty() {
        return Vec::new();
    }
    let Some(rules) = links.rules(&record.account, place) else { return Vec::new() };
    let mut seen = BTreeSet::new();
    let buttons = record.card.buttons.iter().filter(|button| seen.insert(button.id.clone()));
    let tally = buttons.filter_map(|button| {
        let destructive = button.style == Style::Destructive;
        let needed = if destructive { rules.destructive_votes.max(rules.votes) } else { rules.votes };
        let by: Vec<_> = counted(links, record, place, &button.id).into_iter().map(name).collect();
        (needed > 1 && !by.is_empty()).then(|| Tally { button: button.id.clone(), needed, by })
    });
    tally.collect()
}

/// What a voter is called, in characters that can be seen.
#[must_use]
pub fn name(vote: &Vote) -> String {
    let name = vote.actor_name.as_deref().map(crate::show::one_line).filter(|name| !name.is_empty());
    name.unwrap_or_else(|| vote.actor.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(votes: usize, destructive_votes: usize, requester_may_answer: bool, confirm_destructive: bool) -> Rules {
        Rules { votes, destructive_votes, requester_may_answer, confirm_destructive }
    }

    #[test]
    fn what_a_press_needs_by_place_person_rules_and_style() {
        use Permission::{Allowed, NotLinked, Stranger};
        let strict = rules(2, 3, false, true);
        let lax = rules(1, 1, true, false);
        let ok = |votes, once_more| Ok(Ruling { votes, once_more });
        let (dm, group, forum, guild, ntfy) =
            ("telegram:7", "telegram:-5", "telegram:-1007/9", "discord:channel:4", "ntfy:abc");
        let (telegram, discord, owner) = (Actor::Telegram(7), Actor::Discord(7), Actor::Owner);
        let table = [
            // The person's own place decides alone, whatever the rules ask of groups.
            (dm, telegram, Allowed, Some(strict), true, Style::Default, ok(1, false)),
            (dm, telegram, Allowed, Some(strict), true, Style::Destructive, ok(1, true)),
            (dm, telegram, Allowed, Some(lax), true, Style::Destructive, ok(1, false)),
            (dm, telegram, Stranger, Some(lax), false, Style::Default, Err(Refusal::Stranger)),
            // A capability presses what it was made for, and nothing else.
            (dm, owner, Allowed, Some(lax), false, Style::Default, Err(Refusal::Stranger)),
            (group, owner, Allowed, Some(lax), false, Style::Default, Err(Refusal::Stranger)),
            (ntfy, owner, Allowed, Some(lax), false, Style::Default, ok(1, false)),
            (ntfy, telegram, Allowed, Some(lax), true, Style::Default, Err(Refusal::Stranger)),
            (group, telegram, Allowed, Some(lax), false, Style::Default, ok(1, false)),
            (group, telegram, Allowed, Some(strict), false, Style::Default, ok(2, false)),
            (forum, telegram, Allowed, Some(strict), false, Style::Primary, ok(2, false)),
            (forum, telegram, Allowed, Some(strict), false, Style::Destructive, ok(3, true)),
            (guild, discord, Allowed, Some(rules(1, 2, true, false)), true, Style::Destructive, ok(2, false)),
            (guild, discord, Allowed, Some(rules(1, 2, true, false)), true, Style::Cancel, ok(1, false)),
            // Never fewer for what cannot be undone, and never none.
            (guild, discord, Allowed, Some(rules(3, 1, true, false)), false, Style::Destructive, ok(3, false)),
            (guild, discord, Allowed, Some(rules(0, 0, true, false)), false, Style::Default, ok(1, false)),
            (guild, discord, Allowed, Some(strict), true, Style::Default, Err(Refusal::Requester)),
            (guild, discord, Stranger, Some(strict), true, Style::Default, Err(Refusal::Stranger)),
            (guild, discord, NotLinked, Some(lax), true, Style::Default, Err(Refusal::NotLinked)),
            (guild, discord, Allowed, None, false, Style::Default, Err(Refusal::NotLinked)),
        ];
        for (at, actor, permission, rules, is_requester, style, expected) in table {
            let place: Place = at.parse().expect("a place");
            let got = rule(&place, actor, permission, rules, is_requester, style);
            assert_eq!(got, expected, "{at} {actor} {permission:?} {rules:?} requester={is_requester} {style:?}");
        }
    }

    #[test]
    fn nothing_is_allowed_that_the_links_do_not_allow() {
        for permission in [Permission::Stranger, Permission::NotLinked] {
            for at in ["telegram:7", "telegram:-5", "discord:user:7", "discord:channel:4", "ntfy:abc", "web:abc"] {
                for actor in [Actor::Telegram(7), Actor::Discord(7), Actor::Owner] {
                    for style in [Style::Default, Style::Primary, Style::Destructive, Style::Cancel] {
                        let place: Place = at.parse().expect("a place");
                        let got = rule(&place, actor, permission, Some(rules(1, 1, true, false)), false, style);
                        assert!(got.is_err(), "{at} {actor} {style:?}");
                    }
                }
            }
        }
    }
}
