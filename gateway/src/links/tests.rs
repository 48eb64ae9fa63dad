//! Who may press where, and what each place shows.

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
            Person {
                language: Language::En,
                direct: vec![mine, "discord:user:9".parse().expect("a place")],
                called: None,
                confirm_destructive: true,
                phone: Phone::default(),
            },
        ),
        (
            account("other"),
            Person {
                language: Language::De,
                direct: vec![],
                called: None,
                confirm_destructive: false,
                phone: Phone::default(),
            },
        ),
    ]);
    let state = State {
        residents: residents(&people),
        people,
        groups: vec![Group {
            place: group,
            accounts: vec![account("me")],
            approvers: vec![Actor::Telegram(8)],
            summary: true,
            rules: Rules { votes: 2, destructive_votes: 3, requester_may_answer: false, confirm_destructive: true },
        }],
        moved: BTreeMap::new(),
    };
    Links { state: RwLock::new(state) }
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
fn a_place_says_what_it_asks_of_an_answer_and_who_is_one_person() {
    let links = links();
    let rules = |name, at: &str| links.rules(&account(name), &at.parse().expect("a place"));
    let group = rules("me", "telegram:-100/77").expect("linked");
    assert_eq!((group.votes, group.destructive_votes, group.requester_may_answer), (2, 3, false));
    let direct = rules("me", "telegram:7").expect("linked");
    assert_eq!((direct.votes, direct.destructive_votes, direct.confirm_destructive), (1, 1, true));
    for (name, at) in
        [("other", "telegram:-100/77"), ("me", "telegram:-100"), ("me", "telegram:8"), ("no", "telegram:7")]
    {
        assert_eq!(rules(name, at), None, "{name} {at}");
    }
    assert!(links.is_person_of(&account("me"), Actor::Discord(9)));
    assert!(
        !links.is_person_of(&account("me"), Actor::Telegram(9))
            && !links.is_person_of(&account("other"), Actor::Telegram(7))
    );
    assert!(links.is_one_person(Actor::Telegram(7), Actor::Discord(9)));
    assert!(!links.is_one_person(Actor::Telegram(7), Actor::Telegram(8)));
}

#[test]
fn links_come_and_go_while_the_service_runs() {
    let links = links();
    let place = |text: &str| -> Place { text.parse().expect("a place") };
    let (mine, new) = (place("telegram:7"), account("new"));
    assert!(!links.add_place(&new, &mine), "nobody is linked by their place alone");
    links.add(&new, Some("new@example.com"), Language::De);
    assert!(links.add_place(&new, &mine) && !links.add_place(&new, &mine));
    assert_eq!(links.served_at(&mine), [account("me"), new.clone()], "both are shown there");
    assert_eq!((links.called(&new).as_str(), links.language(&new)), ("new@example.com", Language::De));
    assert_eq!(links.called(&account("me")), "me");

    let table = [
        ("new", "telegram:7", Actor::Telegram(7), Permission::Allowed),
        ("new", "telegram:7", Actor::Owner, Permission::Allowed),
        ("new", "telegram:7", Actor::Telegram(8), Permission::Stranger),
        ("new", "discord:user:9", Actor::Discord(9), Permission::NotLinked),
        ("new", "discord:user:9", Actor::Owner, Permission::NotLinked),
        ("new", "telegram:-100/77", Actor::Telegram(8), Permission::NotLinked),
        ("me", "telegram:-100/77", Actor::Owner, Permission::Stranger),
    ];
    for (name, at, actor, expected) in table {
        assert_eq!(links.may_press(&account(name), &place(at), actor), expected, "{name} {at} {actor}");
    }

    links.remove_place(&new, &mine);
    assert_eq!(links.may_press(&new, &mine, Actor::Telegram(7)), Permission::NotLinked);
    assert!(!links.shows(&new, &mine) && links.shows(&account("me"), &mine) && links.knows(&new));
    links.add_place(&new, &place("telegram:9"));
    links.remove(&new);
    assert!(!links.knows(&new) && links.places(&new).is_empty() && links.in_chat(9).is_empty());
    assert_eq!(links.served_at(&mine), [account("me")]);
    links.remove(&account("me"));
    assert!(!links.shows(&account("me"), &place("telegram:-100/77")));
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
