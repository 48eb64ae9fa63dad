//! Who is where: which places show an account's asks, and who may answer there.
//!
//! The decisions are pure, and they fail closed: a place that is not linked any more lets nobody press, a shared place lets
//! only its named approvers press, and a direct place only the person it belongs to.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use asks::ids::AccountKey;
use asks::place::{Actor, Place};
use config::{Config, Privacy};

use crate::words::Language;

/// One account's own places.
#[derive(Debug, Clone)]
struct Person {
    language: Language,
    direct: Vec<Place>,
}

/// One shared place.
#[derive(Debug, Clone)]
struct Group {
    place: Place,
    accounts: Vec<AccountKey>,
    approvers: Vec<Actor>,
    summary: bool,
}

/// All links there are.
#[derive(Debug, Default)]
pub struct Links {
    people: BTreeMap<AccountKey, Person>,
    /// Whose asks each direct place shows; every rendering asks for it.
    residents: BTreeMap<Place, Vec<AccountKey>>,
    groups: Vec<Group>,
    /// Places that have another address now than the configuration says (a group that became a supergroup).
    moved: RwLock<BTreeMap<Place, Place>>,
}

/// Whether somebody may press a button.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// Yes.
    Allowed,
    /// No: another person's question.
    Stranger,
    /// No: the account is not here, or not at this place, any more.
    NotLinked,
}

impl Links {
    /// Takes the links out of a configuration.
    #[must_use]
    pub fn from_config(config: &Config) -> Self {
        let people: BTreeMap<AccountKey, Person> = config
            .accounts
            .iter()
            .map(|account| {
                let language = Language::from_code(account.language.as_str()).unwrap_or_default();
                (account.key.clone(), Person { language, direct: account.deliver.clone() })
            })
            .collect();
        let groups = config
            .groups
            .iter()
            .map(|group| Group {
                place: group.place.clone(),
                accounts: people.keys().filter(|key| group.accounts.contains(&key.name)).cloned().collect(),
                approvers: group.approvers.clone(),
                summary: group.privacy == Privacy::Summary,
            })
            .collect();
        Self { residents: residents(&people), people, groups, moved: RwLock::default() }
    }

    /// From now on, `from` is found at `to`. A Telegram chat takes all of its topics along.
    pub fn moved(&self, from: &Place, to: &Place) {
        self.moved.write().unwrap_or_else(PoisonError::into_inner).insert(whole(from).0, whole(to).0);
    }

    /// Where a configured place is now.
    fn now_at(&self, place: &Place) -> Place {
        let (chat, topic) = whole(place);
        match self.moved.read().unwrap_or_else(PoisonError::into_inner).get(&chat) {
            Some(Place::Telegram { chat, .. }) => Place::Telegram { chat: *chat, topic },
            Some(other) => other.clone(),
            None => place.clone(),
        }
    }

    /// The accounts there are.
    pub fn accounts(&self) -> impl Iterator<Item = &AccountKey> {
        self.people.keys()
    }

    /// Every place an account's asks are shown at, the direct ones first.
    #[must_use]
    pub fn places(&self, account: &AccountKey) -> Vec<Place> {
        let shared = self.groups.iter().filter(|group| group.accounts.contains(account));
        let shared = shared.map(|group| self.now_at(&group.place));
        let mut places = self.direct_places(account);
        for place in shared {
            if !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }

    /// An account's direct places.
    #[must_use]
    pub fn direct_places(&self, account: &AccountKey) -> Vec<Place> {
        self.people.get(account).map(|person| person.direct.clone()).unwrap_or_default()
    }

    /// The accounts whose asks a place shows.
    #[must_use]
    pub fn served_at(&self, place: &Place) -> Vec<AccountKey> {
        let mut accounts = self.residents.get(place).cloned().unwrap_or_default();
        for group in self.groups.iter().filter(|group| self.now_at(&group.place) == *place) {
            for account in &group.accounts {
                if !accounts.contains(account) {
                    accounts.push(account.clone());
                }
            }
        }
        accounts
    }

    /// Every linked place in a Telegram chat, its topics included.
    #[must_use]
    pub fn in_chat(&self, chat: i64) -> Vec<Place> {
        let chat_itself = Place::Telegram { chat, topic: None };
        let last_topic = Place::Telegram { chat, topic: Some(i64::MAX) };
        let direct = self.residents.range(chat_itself..=last_topic).map(|(place, _)| place.clone());
        let shared = self.groups.iter().map(|group| self.now_at(&group.place));
        let shared = shared.filter(|place| matches!(place, Place::Telegram { chat: other, .. } if *other == chat));
        direct.chain(shared).collect()
    }

    /// Whether a place shows only title and buttons.
    #[must_use]
    pub fn is_summary(&self, place: &Place) -> bool {
        self.groups.iter().any(|group| group.summary && self.now_at(&group.place) == *place)
    }

    /// Whether several people read at a place.
    #[must_use]
    pub fn is_shared(&self, place: &Place) -> bool {
        !place.is_direct()
    }

    /// The language an account's cards are in.
    #[must_use]
    pub fn language(&self, account: &AccountKey) -> Language {
        self.people.get(account).map(|person| person.language).unwrap_or_default()
    }

    /// Whether `actor` may answer an ask of `account` at `place`.
    #[must_use]
    pub fn may_press(&self, account: &AccountKey, place: &Place, actor: Actor) -> Permission {
        let Some(person) = self.people.get(account) else { return Permission::NotLinked };
        if place.is_direct() {
            if !person.direct.contains(place) {
                return Permission::NotLinked;
            }
            return match place.owner() {
                Some(owner) if owner == actor => Permission::Allowed,
                _ => Permission::Stranger,
            };
        }
        let groups =
            self.groups.iter().filter(|group| group.accounts.contains(account) && self.now_at(&group.place) == *place);
        let mut linked = false;
        for group in groups {
            linked = true;
            if group.approvers.contains(&actor) {
                return Permission::Allowed;
            }
        }
        if linked { Permission::Stranger } else { Permission::NotLinked }
    }
}

fn residents(people: &BTreeMap<AccountKey, Person>) -> BTreeMap<Place, Vec<AccountKey>> {
    let mut residents: BTreeMap<Place, Vec<AccountKey>> = BTreeMap::new();
    for (account, person) in people {
        for place in &person.direct {
            residents.entry(place.clone()).or_default().push(account.clone());
        }
    }
    residents
}

/// The chat that a topic is in, and the topic.
fn whole(place: &Place) -> (Place, Option<i64>) {
    match place {
        Place::Telegram { chat, topic } => (Place::Telegram { chat: *chat, topic: None }, *topic),
        other => (other.clone(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(name: &str) -> AccountKey {
        AccountKey { source: "app".into(), name: name.into() }
    }

    fn links() -> Links {
        let group: Place = "telegram:-100/77".parse().expect("a place");
        let mine: Place = "telegram:7".parse().expect("a place");
        let people = BTreeMap::from([
            (
                account("me"),
                Person { language: Language::En, direct: vec![mine, "discord:user:9".parse().expect("a place")] },
            ),
            (account("other"), Person { language: Language::De, direct: vec![] }),
        ]);
        Links {
            residents: residents(&people),
            people,
            groups: vec![Group {
                place: group,
                accounts: vec![account("me")],
                approvers: vec![Actor::Telegram(8)],
                summary: true,
            }],
            ..Links::default()
        }
    }

    #[test]
    fn only_the_linked_person_or_a_named_approver_may_press() {
        let links = links();
        let table = [
            ("me", "telegram:7", Actor::Telegram(7), Permission::Allowed),
            ("me", "telegram:7", Actor::Telegram(8), Permission::Stranger),
            ("me", "telegram:7", Actor::Discord(7), Permission::Stranger),
            ("me", "discord:user:9", Actor::Discord(9), Permission::Allowed),
            ("me", "telegram:-100/77", Actor::Telegram(8), Permission::Allowed),
            ("me", "telegram:-100/77", Actor::Telegram(7), Permission::Stranger),
            ("me", "telegram:-100/78", Actor::Telegram(8), Permission::NotLinked),
            ("me", "telegram:8", Actor::Telegram(8), Permission::NotLinked),
            ("other", "telegram:-100/77", Actor::Telegram(8), Permission::NotLinked),
            ("nobody", "telegram:7", Actor::Telegram(7), Permission::NotLinked),
        ];
        for (name, place, actor, expected) in table {
            let place: Place = place.parse().expect("a place");
            assert_eq!(links.may_press(&account(name), &place, actor), expected, "{name} {place} {actor}");
        }
    }

    #[test]
    fn a_group_that_moved_keeps_its_approvers() {
        let links = links();
        links.moved(&"telegram:-100".parse().expect("a place"), &"telegram:-200".parse().expect("a place"));
        let now: Place = "telegram:-200/77".parse().expect("a place");
        assert_eq!(links.may_press(&account("me"), &now, Actor::Telegram(8)), Permission::Allowed);
        assert!(links.is_summary(&now) && links.places(&account("me")).contains(&now));
    }

    #[test]
    fn places_are_direct_ones_and_groups() {
        let links = links();
        let places: Vec<String> = links.places(&account("me")).iter().map(Place::address).collect();
        assert_eq!(places, ["telegram:7", "discord:user:9", "telegram:-100/77"]);
        assert_eq!(links.served_at(&"telegram:7".parse().expect("a place")), [account("me")]);
        assert_eq!(links.served_at(&"telegram:-100/77".parse().expect("a place")), [account("me")]);
        assert_eq!(links.served_at(&"telegram:8".parse().expect("a place")), []);
        assert!(links.is_summary(&"telegram:-100/77".parse().expect("a place")));
        assert_eq!(links.in_chat(-100), ["telegram:-100/77".parse().expect("a place")]);
        assert_eq!(links.in_chat(7), ["telegram:7".parse().expect("a place")]);
    }
}
