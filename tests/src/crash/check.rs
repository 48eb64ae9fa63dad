//! What must hold when all is quiet, decided from records alone.

use std::collections::BTreeMap;
use std::time::Duration;

use sim::terreno::{TurnOutcome, Via};

use super::crowd::{Copy, Told};
use crate::screen::Channel;

/// How long after a message came a kill may have kept the gateway from writing down that it came.
const DOUBT: Duration = Duration::from_secs(2);

/// Everything there is to know about one ask.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// What names it in every text.
    pub mark: String,
    /// Whether it waits at the host.
    pub pending: bool,
    /// Its buttons: label by id.
    pub labels: BTreeMap<String, String>,
    /// The answers that reached the host, in order.
    pub answers: Vec<Answer>,
    /// The presses.
    pub taps: Vec<TapSeen>,
    /// Its messages by channel, oldest first.
    pub copies: BTreeMap<&'static str, Vec<Copy>>,
    /// Where the ledger says that it stands; `None` before it was read.
    pub state: Option<String>,
    /// The texts that bring what the agent said after an answer.
    pub words: usize,
    /// Whether the agent says something after an answer.
    pub speaks: bool,
}

/// One answer that reached the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fate {
    /// Who sent it.
    pub via: Via,
    /// What became of it.
    pub outcome: TurnOutcome,
}

/// An answer with its button.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// How it came and ended.
    pub fate: Fate,
    /// The button's id; an answer in the app may have none.
    pub button: Option<String>,
}

/// One press.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TapSeen {
    /// The pressed button's id.
    pub button: String,
    /// What the person was told.
    pub told: Told,
}

impl Answer {
    fn stands(&self) -> bool {
        self.fate.outcome.is_effective()
    }

    fn took_effect(&self) -> bool {
        self.stands() || self.fate.outcome == TurnOutcome::Undone
    }
}

impl Evidence {
    /// Messages of an answered ask that can still be pressed although another copy beside them is settled: left by a send
    /// whose fate was lost in a crash. Pressing one brings it up to date.
    #[must_use]
    pub fn orphans(&self) -> Vec<(Channel, Copy)> {
        if self.pending {
            return Vec::new();
        }
        let of = |channel: Channel| {
            let copies = self.at(channel);
            let beside = copies.iter().any(|copy| !copy.is_live());
            copies.iter().filter(move |copy| beside && copy.is_live()).map(move |copy| (channel, copy.clone()))
        };
        Channel::ALL.into_iter().flat_map(of).collect()
    }

    fn at(&self, channel: Channel) -> &[Copy] {
        self.copies.get(name(channel)).map(Vec::as_slice).unwrap_or_default()
    }

    /// What does not hold, in sentences; `kills` are the times of the kills, `forgive_orphans` leaves orphans out.
    #[must_use]
    pub fn violations(&self, kills: &[Duration], forgive_orphans: bool) -> Vec<String> {
        let mut found = Vec::new();
        self.answers_hold(&mut found);
        for channel in Channel::ALL {
            self.cards_hold(channel, kills, forgive_orphans, &mut found);
        }
        if let Some(state) = self.state.as_deref() {
            // What was answered in the app between two polls never came to be known here.
            let never_seen = state == "unknown" && self.copies.values().all(Vec::is_empty) && self.taps.is_empty();
            let fits =
                if self.pending { state == "live" } else { never_seen || matches!(state, "settled" | "withdrawn") };
            if !fits {
                found.push(format!("the ledger says {state}, the host says pending: {}", self.pending));
            }
        }
        found.iter().map(|what| format!("{}: {what}", self.mark)).collect()
    }

    fn answers_hold(&self, found: &mut Vec<String>) {
        let ours = || self.answers.iter().filter(|answer| answer.fate.via == Via::Http);
        let in_app = self.answers.iter().filter(|answer| answer.fate.via == Via::App && answer.took_effect()).count();
        let recorded = || self.taps.iter().filter(|tap| tap.told == Told::Recorded);
        for tap in recorded() {
            let carried = ours().any(|answer| answer.took_effect() && answer.button.as_deref() == Some(&tap.button));
            if !carried && in_app == 0 {
                found.push(format!("a recorded tap on {} never took effect: {:?}", tap.button, self.answers));
            }
        }
        let effects = ours().filter(|answer| answer.took_effect()).count();
        if recorded().count() > effects + in_app {
            found.push(format!("{} taps recorded, {effects} effects, {in_app} answers in the app", recorded().count()));
        }
        if self.answers.iter().filter(|answer| answer.stands()).count() > 1 {
            found.push(format!("answered twice: {:?}", self.answers));
        }
        for answer in ours() {
            if !self.taps.iter().any(|tap| answer.button.as_ref() == Some(&tap.button)) {
                found.push(format!("nobody pressed what was answered: {answer:?}"));
            }
        }
        if let Some(answer) = ours().find(|answer| answer.stands() && answer.fate.outcome == TurnOutcome::Effective)
            && self.speaks
            && !(1..=2).contains(&self.words)
        {
            found.push(format!("what the agent said after {answer:?} was shown {} times", self.words));
        }
    }

    fn cards_hold(&self, channel: Channel, kills: &[Duration], forgive_orphans: bool, found: &mut Vec<String>) {
        let (copies, place) = (self.at(channel), name(channel));
        if let Some(copy) = copies.iter().find(|copy| copy.is_busy()) {
            found.push(format!("{place} says for ever: {:?}", copy.text));
        }
        if copies.len() > if channel == Channel::Discord { 1 } else { 2 } {
            found.push(format!("{place} has {} copies", copies.len()));
        }
        if let [first, _, ..] = copies
            // What was on its way when the process ended arrives a little after its end.
            && !kills.iter().any(|kill| *kill + DOUBT >= first.sent && *kill <= first.sent + DOUBT)
        {
            found.push(format!("{place} has a second copy, and no kill explains it"));
        }
        if self.pending {
            let open = copies.iter().filter(|copy| copy.is_live() || copy.has_link).count();
            let expected_buttons = !self.labels.is_empty();
            let live = copies.iter().filter(|copy| copy.is_live()).count();
            if open == 0 || (expected_buttons && live == 0) {
                found.push(format!("it waits, and {place} has no card that works: {copies:?}"));
            }
            return;
        }
        let orphans = self.orphans();
        let is_orphan = |copy: &Copy| forgive_orphans && orphans.contains(&(channel, copy.clone()));
        if let Some(copy) = copies.iter().find(|copy| (copy.is_live() || copy.has_link) && !is_orphan(copy)) {
            found.push(format!("it is answered, and {place} has a card with live buttons: {copy:?}"));
        }
        let Some(answer) = self.answers.iter().find(|answer| answer.stands()) else { return };
        let says = |text: &str| copies.iter().any(|copy| copy.text.contains(text));
        if answer.fate.via == Via::Http && says("elsewhere") {
            found.push(format!("{place} calls our own answer one from elsewhere"));
        }
        let label_of = |answer: &Answer| answer.button.as_ref().and_then(|button| self.labels.get(button));
        // Answered in the app, taken back, and answered in the app anew: between two polls nobody can see that it changed.
        let in_app = |answer: &&Answer| answer.fate.via == Via::App && answer.took_effect();
        let mut seen = self.answers.iter().filter(in_app).filter_map(label_of);
        let is_unseen = answer.fate.via == Via::App && seen.any(|label| says(&format!(": {label}")));
        if let Some(label) = label_of(answer)
            && !copies.is_empty()
            && !says(&format!(": {label}"))
            && !is_unseen
        {
            found.push(format!("{place} does not say {label}: {copies:?}"));
        }
    }
}

/// The name of a channel in tables.
#[must_use]
pub const fn name(channel: Channel) -> &'static str {
    match channel {
        Channel::Telegram => "telegram",
        Channel::Discord => "discord",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENT: Duration = Duration::from_secs(1000);

    fn copy(text: &str, live: bool) -> Copy {
        let buttons = if live { vec![("Go".to_owned(), "token".to_owned())] } else { Vec::new() };
        Copy { id: 1, text: text.into(), buttons, has_link: false, sent: SENT, edited: None }
    }

    fn everywhere(copies: &[Copy]) -> BTreeMap<&'static str, Vec<Copy>> {
        Channel::ALL.into_iter().map(|channel| (name(channel), copies.to_vec())).collect()
    }

    fn waiting() -> Evidence {
        Evidence {
            mark: "q1q".into(),
            pending: true,
            labels: BTreeMap::from([("approve".into(), "Go".into())]),
            copies: everywhere(&[copy("Ask q1q?", true)]),
            state: Some("live".into()),
            ..Evidence::default()
        }
    }

    fn answered() -> Evidence {
        let fate = Fate { via: Via::Http, outcome: TurnOutcome::Effective };
        Evidence {
            pending: false,
            answers: vec![Answer { fate, button: Some("approve".into()) }],
            taps: vec![TapSeen { button: "approve".into(), told: Told::Recorded }],
            copies: everywhere(&[copy("Ask q1q?\nAnswered: Go", false)]),
            state: Some("settled".into()),
            ..waiting()
        }
    }

    #[test]
    fn what_is_right_passes() {
        assert_eq!(waiting().violations(&[], false), Vec::<String>::new());
        assert_eq!(answered().violations(&[], false), Vec::<String>::new());
    }

    #[test]
    fn an_answer_in_the_app_may_be_one_that_was_taken_back_between_two_polls() {
        let app = |outcome, button: &str| Answer { fate: Fate { via: Via::App, outcome }, button: Some(button.into()) };
        let labels = BTreeMap::from([("approve".into(), "Go".into()), ("deny".into(), "Stop".into())]);
        let copies = everywhere(&[copy("Ask q1q?\nAnswered elsewhere: Stop", false)]);
        let twice = vec![app(TurnOutcome::Undone, "deny"), app(TurnOutcome::Effective, "approve")];
        let unseen = Evidence { answers: twice, labels, copies, taps: Vec::new(), ..answered() };
        assert_eq!(unseen.violations(&[], false), Vec::<String>::new());
        let once = vec![app(TurnOutcome::Effective, "approve")];
        assert!(!Evidence { answers: once, ..unseen }.violations(&[], false).is_empty(), "nobody ever said Stop");
    }

    #[test]
    fn whatever_is_wrong_is_found() {
        let undone = Fate { via: Via::Http, outcome: TurnOutcome::NotPending };
        let wrong: Vec<(&str, Evidence)> = vec![
            ("lost", Evidence { answers: Vec::new(), ..answered() }),
            (
                "refused only",
                Evidence { answers: vec![Answer { fate: undone, button: Some("approve".into()) }], ..answered() },
            ),
            ("twice", Evidence { answers: [answered().answers, answered().answers].concat(), ..answered() }),
            ("invented", Evidence { taps: Vec::new(), ..answered() }),
            (
                "another button",
                Evidence { taps: vec![TapSeen { button: "deny".into(), told: Told::Nothing }], ..answered() },
            ),
            ("two recorded", Evidence { taps: [answered().taps, answered().taps].concat(), ..answered() }),
            ("dead card", Evidence { copies: everywhere(&[copy("Ask q1q?: Go", true)]), ..answered() }),
            ("busy", Evidence { copies: everywhere(&[copy("⏳ Sending: Go", false)]), ..answered() }),
            ("elsewhere", Evidence { copies: everywhere(&[copy("Answered elsewhere: Go", false)]), ..answered() }),
            ("no label", Evidence { copies: everywhere(&[copy("Ask q1q?", false)]), ..answered() }),
            ("no words", Evidence { speaks: true, ..answered() }),
            ("claimed", Evidence { state: Some("claimed".into()), ..answered() }),
            ("gone", Evidence { copies: BTreeMap::new(), ..waiting() }),
            ("dead", Evidence { copies: everywhere(&[copy("Ask q1q?", false)]), ..waiting() }),
            ("withdrawn", Evidence { state: Some("withdrawn".into()), ..waiting() }),
        ];
        for (name, evidence) in wrong {
            assert!(!evidence.violations(&[], true).is_empty(), "{name} was not found");
        }
    }

    #[test]
    fn a_second_copy_needs_a_kill_and_is_forgiven_only_beside_a_settled_one() {
        let mut twice = waiting();
        twice.copies.insert("telegram", vec![copy("Ask q1q?", true), copy("Ask q1q?", true)]);
        assert!(!twice.violations(&[SENT + DOUBT * 2], false).is_empty());
        assert!(twice.violations(&[SENT + DOUBT / 2], false).is_empty());

        let mut orphaned = answered();
        orphaned.copies.insert("telegram", vec![copy("Ask q1q?", true), copy("Answered: Go", false)]);
        assert_eq!(orphaned.orphans().len(), 1);
        assert!(orphaned.violations(&[SENT], true).is_empty());
        assert!(!orphaned.violations(&[SENT], false).is_empty());
    }
}
