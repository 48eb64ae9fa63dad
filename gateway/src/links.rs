//! Who is where: which places show an account's asks, and who may answer there.
//!
//! The decisions are pure, and they fail closed: a place that is not linked any more lets nobody press, a shared place lets
//! only its named approvers press, and a direct place only the person it belongs to.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use asks::ids::AccountKey;
use asks::place::{Actor, Place};
use config::{Config, DailyTime, LockScreen, Privacy, QuietHours};

use crate::words::Language;

/// One account's own places.
#[derive(Debug, Clone)]
struct Person {
    language: Language,
    direct: Vec<Place>,
    /// What people call it, where its name is none of their own.
    called: Option<String>,
    /// Whether what cannot be undone is asked once more in the direct places.
    confirm_destructive: bool,
    /// When and how phones are disturbed.
    phone: Phone,
}

/// When and how somebody's phone is disturbed.
#[derive(Debug, Clone, Default)]
pub struct Phone {
    /// When nothing makes a sound.
    pub quiet_hours: Option<QuietHours>,
    /// How much a notification tells to whoever looks at the screen.
    pub lock_screen: LockScreen,
    /// After how long, and again after as long, an ask that waits is called to mind.
    pub remind_after: Option<Duration>,
    /// How often at most.
    pub remind_most: u32,
    /// When one message tells of all that waits.
    pub digest: Option<DailyTime>,
}

/// One shared place.
#[derive(Debug, Clone)]
struct Group {
    place: Place,
    accounts: Vec<AccountKey>,
    approvers: Vec<Actor>,
    summary: bool,
    rules: Rules,
}

/// What a place asks of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// How many different people have to choose the same button.
    pub votes: usize,
    /// The same for a button that cannot be undone.
    pub destructive_votes: usize,
    /// Whether the person whose agent asks may answer, where several may.
    pub requester_may_answer: bool,
    /// Whether what cannot be undone is asked once more.
    pub confirm_destructive: bool,
}

#[derive(Debug, Default)]
struct State {
    people: BTreeMap<AccountKey, Person>,
    /// Whose asks each direct place shows; every rendering asks for it.
    residents: BTreeMap<Place, Vec<AccountKey>>,
    groups: Vec<Group>,
    /// Places that have another address now than the configuration says (a group that became a supergroup).
    moved: BTreeMap<Place, Place>,
}

/// All links there are. They change while the service runs; every look at them is short.
#[derive(Debug, Default)]
pub struct Links {
    state: RwLock<State>,
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
                let person = Person {
                    language,
                    direct: account.deliver.clone(),
                    called: None,
                    confirm_destructive: account.confirm_destructive,
                    phone: Phone {
                        quiet_hours: account.quiet_hours.clone(),
                        lock_screen: account.lock_screen,
                        remind_after: account.remind_after,
                        remind_most: account.remind_most,
                        digest: account.digest.clone(),
                    },
                };
                (account.key.clone(), person)
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
                rules: Rules {
                    votes: group.votes,
                    destructive_votes: group.destructive_votes,
                    requester_may_answer: group.requester_may_answer,
                    confirm_destructive: group.confirm_destructive,
                },
            })
            .collect();
        let state = State { residents: residents(&people), people, groups, moved: BTreeMap::new() };
        Self { state: RwLock::new(state) }
    }

    /// From now on, `from` is found at `to`. A Telegram chat takes all of its topics along.
    pub fn moved(&self, from: &Place, to: &Place) {
        self.change().moved.insert(whole(from).0, whole(to).0);
    }

    /// Adds somebody who linked themselves, with no place yet. One who is known keeps their places.
    pub fn add(&self, account: &AccountKey, called: Option<&str>, language: Language) {
        let mut state = self.change();
        let person = state.people.entry(account.clone()).or_insert_with(|| Person {
            language,
            direct: Vec::new(),
            called: None,
            confirm_destructive: false,
            phone: Phone::default(),
        });
        person.language = language;
        person.called = called.map(str::to_owned);
    }

    /// Shows an account's asks at one more of its person's places. Returns whether that is new.
    pub fn add_place(&self, account: &AccountKey, place: &Place) -> bool {
        let mut state = self.change();
        let Some(person) = state.people.get_mut(account) else { return false };
        if person.direct.contains(place) {
            return false;
        }
        person.direct.push(place.clone());
        state.residents.entry(place.clone()).or_default().push(account.clone());
        true
    }

    /// Shows an account's asks at a place no more, and lets nobody answer them there.
    pub fn remove_place(&self, account: &AccountKey, place: &Place) {
        let mut state = self.change();
        if let Some(person) = state.people.get_mut(account) {
            person.direct.retain(|other| other != place);
        }
        state.leave(account, place);
    }

    /// Forgets an account, with all of its places.
    pub fn remove(&self, account: &AccountKey) {
        let mut state = self.change();
        for place in state.people.remove(account).map(|person| person.direct).unwrap_or_default() {
            state.leave(account, &place);
        }
        for group in &mut state.groups {
            group.accounts.retain(|other| other != account);
        }
    }

    /// When and how an account's phone is disturbed.
    #[must_use]
    pub fn phone(&self, account: &AccountKey) -> Phone {
        self.look().people.get(account).map(|person| person.phone.clone()).unwrap_or_default()
    }

    /// Whether there is such an account.
    #[must_use]
    pub fn knows(&self, account: &AccountKey) -> bool {
        self.look().people.contains_key(account)
    }

    /// What people call an account: the e-mail address of one who linked themselves, else its name.
    #[must_use]
    pub fn called(&self, account: &AccountKey) -> String {
        let called = self.look().people.get(account).and_then(|person| person.called.clone());
        called.unwrap_or_else(|| account.name.as_str().to_owned())
    }

    /// The accounts there are.
    #[must_use]
    pub fn accounts(&self) -> Vec<AccountKey> {
        self.look().people.keys().cloned().collect()
    }

    /// Every place an account's asks are shown at, the direct ones first.
    #[must_use]
    pub fn places(&self, account: &AccountKey) -> Vec<Place> {
        let state = self.look();
        let shared = state.groups.iter().filter(|group| group.accounts.contains(account));
        let mut places = state.people.get(account).map(|person| person.direct.clone()).unwrap_or_default();
        for place in shared.map(|group| state.now_at(&group.place)) {
            if !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }

    /// Whether an account's asks are shown at a place.
    #[must_use]
    pub fn shows(&self, account: &AccountKey, place: &Place) -> bool {
        let state = self.look();
        if place.is_direct() {
            return state.people.get(account).is_some_and(|person| person.direct.contains(place));
        }
        state.groups.iter().any(|group| group.accounts.contains(account) && state.now_at(&group.place) == *place)
    }

    /// An account's direct places.
    #[must_use]
    pub fn direct_places(&self, account: &AccountKey) -> Vec<Place> {
        self.look().people.get(account).map(|person| person.direct.clone()).unwrap_or_default()
    }

    /// The accounts whose asks a place shows.
    #[must_use]
    pub fn served_at(&self, place: &Place) -> Vec<AccountKey> {
        let state = self.look();
        let mut accounts = state.residents.get(place).cloned().unwrap_or_default();
        for group in state.groups.iter().filter(|group| state.now_at(&group.place) == *place) {
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
        let state = self.look();
        let chat_itself = Place::Telegram { chat, topic: None };
        let last_topic = Place::Telegram { chat, topic: Some(i64::MAX) };
        let direct = state.residents.range(chat_itself..=last_topic).map(|(place, _)| place.clone());
        let shared = state.groups.iter().map(|group| state.now_at(&group.place));
        let shared = shared.filter(|place| matches!(place, Place::Telegram { chat: other, .. } if *other == chat));
        direct.chain(shared).collect()
    }

    /// Whether a place shows only title and buttons.
    #[must_use]
    pub fn is_summary(&self, place: &Place) -> bool {
        let state = self.look();
        state.groups.iter().any(|group| group.summary && state.now_at(&group.place) == *place)
    }

    /// Whether several people read at a place.
    #[must_use]
    pub fn is_shared(&self, place: &Place) -> bool {
        !place.is_direct()
    }

    /// The language an account's cards are in.
    #[must_use]
    pub fn language(&self, account: &AccountKey) -> Language {
        self.look().people.get(account).map(|person| person.language).unwrap_or_default()
    }

    /// Whether `actor` may answer an ask of `account` at `place`.
    #[must_use]
    pub fn may_press(&self, account: &AccountKey, place: &Place, actor: Actor) -> Permission {
        let state = self.look();
        let Some(person) = state.people.get(account) else { return Permission::NotLinked };
        if place.is_direct() {
            if !person.direct.contains(place) {
                return Permission::NotLinked;
            }
            // Whoever holds a capability of the account is its person at every place of that person's own.
            return match place.owner() {
                Some(owner) if owner == actor || actor == Actor::Owner => Permission::Allowed,
                _ => Permission::Stranger,
            };
        }
        let groups = state
            .groups
            .iter()
            .filter(|group| group.accounts.contains(account) && state.now_at(&group.place) == *place);
        let mut linked = false;
        for group in groups {
            linked = true;
            if group.approvers.contains(&actor) {
                return Permission::Allowed;
            }
        }
        if linked { Permission::Stranger } else { Permission::NotLinked }
    }

    /// What a place asks of an answer to an ask of `account`; `None` where the two are not linked. Of several groups at one place
    /// everything that one of them asks for is asked for.
    #[must_use]
    pub fn rules(&self, account: &AccountKey, place: &Place) -> Option<Rules> {
        let state = self.look();
        let person = state.people.get(account)?;
        if place.is_direct() {
            let rules = Rules {
                votes: 1,
                destructive_votes: 1,
                requester_may_answer: true,
                confirm_destructive: person.confirm_destructive,
            };
            return person.direct.contains(place).then_some(rules);
        }
        let here = |group: &&Group| group.accounts.contains(account) && state.now_at(&group.place) == *place;
        state.groups.iter().filter(here).map(|group| group.rules).reduce(|a, b| Rules {
            votes: a.votes.max(b.votes),
            destructive_votes: a.destructive_votes.max(b.destructive_votes),
            requester_may_answer: a.requester_may_answer && b.requester_may_answer,
            confirm_destructive: a.confirm_destructive || b.confirm_destructive,
        })
    }

    /// Whether `actor` is the person of an account, known by that person's own places.
    #[must_use]
    pub fn is_person_of(&self, account: &AccountKey, actor: Actor) -> bool {
        let state = self.look();
        let owns = |place: &Place| place.owner() == Some(actor);
        actor == Actor::Owner || state.people.get(account).is_some_and(|person| person.direct.iter().any(owns))
    }

    /// Whether two are one person, who has linked both to one account.
    #[must_use]
    pub fn is_one_person(&self, a: Actor, b: Actor) -> bool {
        let state = self.look();
        let owns = |person: &Person, actor| person.direct.iter().any(|place| place.owner() == Some(actor));
        a == b || state.people.values().any(|person| owns(person, a) && owns(person, b))
    }

    fn look(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Where a configured place is now.
    fn now_at(&self, place: &Place) -> Place {
        let (chat, topic) = whole(place);
        match self.moved.get(&chat) {
            Some(Place::Telegram { chat, .. }) => Place::Telegram { chat: *chat, topic },
            Some(other) => other.clone(),
            None => place.clone(),
        }
    }

    fn leave(&mut self, account: &AccountKey, place: &Place) {
        if let Some(residents) = self.residents.get_mut(place) {
            residents.retain(|other| other != account);
            if residents.is_empty() {
                self.residents.remove(place);
            }
        }
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
mod tests;
