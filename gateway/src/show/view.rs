//! One card for one place.

use adapters::channel::{CardView, Urgency, ViewButton};
use asks::card::{Button, Style};
use asks::ids::ButtonId;
use asks::life::{Life, Note, Outcome};
use store::record::{AskRecord, DeliveryId, Purpose};
use store::token::TokenKey;

use super::{content, labels, one_line, visible};
use crate::answer::policy::Tally;
use crate::words::{self, Words};

/// The most buttons that are shown; a card has at most three by its specification.
const MAX_BUTTONS: usize = 5;

/// What a place adds to a record.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the place")]
pub struct Setting<'a> {
    /// The delivery that shows the card, whose tap tokens the buttons carry.
    pub delivery: DeliveryId,
    /// Whether several people read there.
    pub shared: bool,
    /// Whether the place shows only the title and the buttons.
    pub summary: bool,
    /// Whether a locked screen shows nothing but that somebody waits.
    pub hidden: bool,
    /// Whether the place has no room for what a button would send.
    pub short: bool,
    /// Whether the person has quiet hours now.
    pub quiet: bool,
    /// Account and source, where the place serves several.
    pub origin: Option<(&'a str, &'a str)>,
    /// The web address the card hands off to.
    pub handoff: Option<String>,
    /// Our own page that answers it, where its source has no address to hand off to.
    pub answer_page: Option<String>,
    /// The longest label, in UTF-16 units.
    pub label_limit: usize,
    /// The button that somebody there is asked about once more.
    pub asked: Option<ButtonId>,
    /// How far votes there are.
    pub tallies: Vec<Tally>,
    /// Who voted for the answer, where several had to.
    pub voters: Vec<String>,
}

/// What the card shows there, now.
#[must_use]
pub fn view(record: &AskRecord, setting: &Setting<'_>, keys: &TokenKey, words: &dyn Words) -> CardView {
    let card = &record.card;
    let offered = if setting.hidden { Vec::new() } else { offered(record, setting.summary || setting.short) };
    let withheld = offered.len() < card.buttons.len();
    let open = record.life.is_open();
    let asked = setting.asked.as_ref().filter(|_| open);
    let asked = asked.and_then(|asked| offered.iter().copied().find(|button| button.id == *asked));
    let fitted = labels::fit(&offered, setting.label_limit, words);

    let buttons: Vec<ViewButton> = if let Some(button) = asked {
        yes_or_back(record, setting, keys, words, button)
    } else if open {
        offered
            .iter()
            .zip(fitted.labels)
            .map(|(button, label)| ViewButton {
                label,
                style: button.style,
                token: keys.token(&record.key, setting.delivery, &button.id).expose().to_owned(),
            })
            .collect()
    } else {
        Vec::new()
    };
    let needs_app = card.handoff || withheld || buttons.is_empty();
    let app = setting.handoff.clone().map(|url| (words.open_in_app(), url));
    let page = setting.answer_page.clone().map(|url| (words.answer_here(), url));
    let link = if open && needs_app { app.or(page) } else { None };

    let life = if setting.summary { without_the_agents_words(&record.life, words) } else { record.life.clone() };
    let mut status: Vec<String> = words::status(words, &life, setting.shared).into_iter().collect();
    if open && needs_app && link.is_none() && !only_declines_missing(record) {
        status.push(words.only_in_app());
    }
    status.extend(votes(record, setting, words));
    status.extend(asked.map(|button| words.really(&label(button, words))));
    let title = card.title.as_deref().map(one_line).filter(|title| !title.is_empty() && !setting.hidden);
    let (title, text) = if setting.summary {
        (None, title.unwrap_or_else(|| words.agent_waits()))
    } else {
        (title, visible(&card.text))
    };
    CardView {
        origin: setting.origin.map(|(account, source)| words.origin(&one_line(account), &one_line(source))),
        title,
        // A question of nothing but white space still needs something to stand above its buttons.
        text: if text.trim().is_empty() { words.agent_waits() } else { text },
        content: shown_content(record, setting, words),
        legend: if open && asked.is_none() { fitted.legend } else { Vec::new() },
        status: if status.is_empty() { None } else { Some(status.join("\n")) },
        buttons,
        link,
        urgency: urgency(&record.life, setting.quiet),
    }
}

/// The two buttons of a card that asks once more.
fn yes_or_back(
    record: &AskRecord,
    setting: &Setting<'_>,
    keys: &TokenKey,
    words: &dyn Words,
    button: &Button,
) -> Vec<ViewButton> {
    let called = |label: String, style: Style| Button { label, style, ..button.clone() };
    let yes = called(words.yes(&label(button, words)), Style::Destructive);
    let back = called(words.back(), Style::Cancel);
    let fitted = labels::fit(&[&yes, &back], setting.label_limit, words);
    let purposes = [(Purpose::Sure, yes.style), (Purpose::Back, back.style)];
    let token = |purpose| keys.token_for(purpose, &record.key, setting.delivery, &button.id).expose().to_owned();
    let both = fitted.labels.into_iter().zip(purposes);
    both.map(|(label, (purpose, style))| ViewButton { label, style, token: token(purpose) }).collect()
}

/// How votes stand on a card that waits, and who gave them on one that was answered by votes.
fn votes(record: &AskRecord, setting: &Setting<'_>, words: &dyn Words) -> Vec<String> {
    if !record.life.is_open() {
        return if setting.voters.len() > 1 { vec![words.votes_of(&setting.voters)] } else { Vec::new() };
    }
    let line = |tally: &Tally| {
        let button = record.card.button(&tally.button)?;
        Some(words.votes_so_far(&label(button, words), tally.by.len(), tally.needed, &tally.by))
    };
    setting.tallies.iter().filter_map(line).collect()
}

fn label(button: &Button, words: &dyn Words) -> String {
    let label = one_line(&button.label);
    if label.is_empty() { words.no_label() } else { label }
}

const fn urgency(life: &Life, quiet: bool) -> Urgency {
    match life {
        Life::Announcing | Life::Live { .. } if quiet => Urgency::Quiet,
        Life::Announcing | Life::Live { .. } => Urgency::Waiting,
        Life::Claimed { .. } | Life::Unclear { .. } => Urgency::Passing,
        Life::Settled { .. } | Life::Withdrawn { .. } => Urgency::Over,
    }
}

/// The card's buttons that may be pressed: alive, unambiguous, and sending nothing that is not shown.
pub(crate) fn offered(record: &AskRecord, without_content: bool) -> Vec<&Button> {
    let card = &record.card;
    let content_shown = record.content.is_some() && !without_content;
    card.buttons
        .iter()
        .filter(|button| !record.dead_buttons.contains(&button.id))
        .filter(|button| !button.id.as_str().is_empty())
        // The source answers an id that occurs twice with whichever comes first, so neither can be offered.
        .filter(|button| card.buttons.iter().filter(|other| other.id == button.id).count() == 1)
        .filter(|button| content_shown || content::speaks_for_itself(card, button))
        .take(MAX_BUTTONS)
        .collect()
}

/// An agent's error may repeat the question; a place that does not show the one shows that there was an error, and not which.
fn without_the_agents_words(life: &Life, words: &dyn Words) -> Life {
    let mut life = life.clone();
    match &mut life {
        Life::Settled { outcome: Outcome::Ours { error: Some(error), .. } }
        | Life::Live { note: Some(Note::Undone { error, .. }) } => *error = words.error_kept_private(),
        _ => {}
    }
    life
}

/// A card that waits only for its app needs no sentence about it while it still offers all of its buttons.
fn only_declines_missing(record: &AskRecord) -> bool {
    !record.card.handoff
        && !record.card.buttons.is_empty()
        && record.dead_buttons.is_empty()
        && !content::is_needed(&record.card)
}

fn shown_content(record: &AskRecord, setting: &Setting<'_>, words: &dyn Words) -> Option<(String, String)> {
    if setting.summary || setting.short || !matches!(record.life, Life::Announcing | Life::Live { .. }) {
        return None;
    }
    let text = record.content.clone()?;
    let button = record.card.buttons.iter().find(|button| !content::speaks_for_itself(&record.card, button))?;
    Some((words.would_send(&one_line(&button.label)), text))
}

#[cfg(test)]
mod tests {
    use asks::ids::{AccountKey, AskKey};
    use asks::life::Claim;
    use asks::place::{Actor, Place};
    use serde_json::{Value, json};
    use store::record::Seq;

    use super::*;
    use crate::words::Language;

    fn record(card: Value) -> AskRecord {
        AskRecord {
            key: AskKey { source: "app".into(), conversation: "h".into(), ask: "c".into() },
            account: AccountKey { source: "app".into(), name: "me".into() },
            card: serde_json::from_value(card).expect("a card"),
            content: None,
            conversation_title: None,
            first_seen: 0,
            created: String::new(),
            life: Life::Live { note: None },
            dead_buttons: Vec::new(),
            unused: 0,
            votes: Vec::new(),
            seq: Seq(1),
            moved_at: 0,
            finished: false,
        }
    }

    fn setting() -> Setting<'static> {
        Setting {
            delivery: DeliveryId(1),
            shared: false,
            summary: false,
            hidden: false,
            short: false,
            quiet: false,
            origin: None,
            handoff: None,
            answer_page: None,
            label_limit: 64,
            asked: None,
            tallies: Vec::new(),
            voters: Vec::new(),
        }
    }

    fn shown(record: &AskRecord, setting: &Setting<'_>) -> CardView {
        view(record, setting, &TokenKey::new([1; 32]), Language::En.words())
    }

    fn confirm() -> Value {
        json!({"toolCallId": "c", "kind": "confirm", "title": "Todos", "text": "Delete 14 todos?", "handoff": false, "buttons": [
            {"id": "approve", "label": "Delete", "style": "destructive", "response": {"action": "accept", "content": {"confirmed": true}}},
            {"id": "deny", "label": "Keep", "style": "cancel", "response": {"action": "accept", "content": {"confirmed": false}}}]})
    }

    fn draft() -> Value {
        json!({"toolCallId": "c", "kind": "markdown", "text": "Edit this", "handoff": true, "buttons": [
            {"id": "approve", "label": "Approve draft", "style": "primary", "response": {"action": "accept", "content": {"changed": false, "markdown": "Hi"}}},
            {"id": "cancel", "label": "Cancel", "style": "cancel", "response": {"action": "decline"}}]})
    }

    fn names(view: &CardView) -> Vec<&str> {
        view.buttons.iter().map(|button| button.label.as_str()).collect()
    }

    #[test]
    fn a_live_card_has_its_buttons_in_order_and_a_settled_one_keeps_its_question() {
        let mut record = record(confirm());
        let live = shown(&record, &setting());
        assert_eq!(
            (live.title.as_deref(), live.text.as_str(), names(&live)),
            (Some("Todos"), "Delete 14 todos?", vec!["Delete", "Keep"])
        );
        assert_eq!(live.status, None);

        let claim = Claim {
            button: "deny".into(),
            label: "Keep".into(),
            actor: Actor::Telegram(7),
            actor_name: None,
            place: Place::Telegram { chat: 7, topic: None },
            at: 0,
            response: None,
        };
        record.life = Life::Settled { outcome: Outcome::Ours { claim, error: None } };
        let settled = shown(&record, &setting());
        assert_eq!(settled.text, "Delete 14 todos?");
        assert!(settled.buttons.is_empty() && settled.link.is_none());
        assert_eq!(settled.status.as_deref(), Some("✅ Answered: Keep"));
    }

    #[test]
    fn a_button_that_sends_what_is_not_shown_appears_only_beside_it() {
        let mut record = record(draft());
        let handoff = Setting { handoff: Some("https://app.example.com/ai".into()), ..setting() };
        let unread = shown(&record, &handoff);
        assert_eq!(names(&unread), ["Cancel"]);
        assert!(unread.content.is_none() && unread.link.is_some());

        record.content = Some("Hi".into());
        let read = shown(&record, &handoff);
        assert_eq!(names(&read), ["Approve draft", "Cancel"]);
        assert_eq!(read.content, Some(("Approve draft sends:".into(), "Hi".into())));

        let summary = shown(&record, &Setting { summary: true, shared: true, ..handoff });
        assert_eq!(names(&summary), ["Cancel"], "a summary shows no content, so it offers no button that sends it");
        assert!(!format!("{summary:?}").contains("Hi"));
    }

    #[test]
    fn a_summary_shows_the_title_or_a_sentence_and_never_the_text() {
        let mut titled = record(confirm());
        let summary = Setting { summary: true, shared: true, ..setting() };
        assert_eq!(shown(&titled, &summary).text, "Todos");
        titled.card.title = None;
        assert_eq!(shown(&titled, &summary).text, "An agent is waiting for an answer");
        titled.life = Life::Live { note: Some(Note::Undone { label: "Keep".into(), error: "14 todos".into() }) };
        let undone = shown(&titled, &summary).status.expect("a status");
        assert!(undone.contains("error") && !undone.contains("14 todos"), "{undone}");
    }

    #[test]
    fn a_card_that_asks_once_more_has_two_buttons_and_comes_back_as_it_was() {
        let mut record = record(confirm());
        let before = shown(&record, &setting());
        let asking = Setting { asked: Some("approve".into()), ..setting() };
        let asked = shown(&record, &asking);
        assert_eq!(names(&asked), ["Yes, Delete", "Back"]);
        assert_eq!((asked.text.as_str(), asked.title.as_deref()), ("Delete 14 todos?", Some("Todos")));
        assert!(asked.status.is_some_and(|status| status.contains("Delete")));
        let tokens = |view: &CardView| view.buttons.iter().map(|button| button.token.clone()).collect::<Vec<_>>();
        assert!(tokens(&asking_again(&record)).iter().all(|token| !tokens(&before).contains(token)));
        assert_eq!(shown(&record, &setting()), before);
        record.dead_buttons.push("approve".into());
        assert_eq!(names(&shown(&record, &asking)), ["Keep"], "what is not offered is not asked about");
    }

    fn asking_again(record: &AskRecord) -> CardView {
        shown(record, &Setting { asked: Some("approve".into()), ..setting() })
    }

    #[test]
    fn votes_are_counted_on_the_card_and_named_when_it_is_settled() {
        let mut record = record(confirm());
        let tally = Tally { button: "approve".into(), needed: 2, by: vec!["Kim".into()] };
        let group = Setting { shared: true, tallies: vec![tally], ..setting() };
        assert_eq!(shown(&record, &group).status.as_deref(), Some("🗳️ Delete: 1 of 2, by Kim"));
        let claim = Claim {
            button: "approve".into(),
            label: "Delete".into(),
            actor: Actor::Telegram(7),
            actor_name: Some("Lee".into()),
            place: Place::Telegram { chat: -7, topic: None },
            at: 0,
            response: None,
        };
        record.life = Life::Settled { outcome: Outcome::Ours { claim, error: None } };
        let voted = Setting { voters: vec!["Kim".into(), "Lee".into()], ..group };
        let settled = shown(&record, &voted).status.expect("a status");
        assert_eq!(settled, "✅ Answered by Lee: Delete\n🗳️ Votes: Kim and Lee");
    }

    #[test]
    fn a_broken_card_is_still_readable_and_answerable_or_handed_off() {
        let no_buttons =
            record(json!({"toolCallId": "c", "kind": "files", "text": "Send it", "buttons": [], "handoff": true}));
        assert_eq!(shown(&no_buttons, &setting()).status.as_deref(), Some("Please answer this one in the app."));
        let twice = record(json!({"toolCallId": "c", "kind": "poll", "text": "", "buttons": [
            {"id": "a", "label": "A"}, {"id": "a", "label": "B"}, {"id": "b", "label": "C"}]}));
        let view = shown(&twice, &setting());
        assert_eq!(names(&view), ["C"], "an id that occurs twice is offered by neither button");
        assert!(!view.text.trim().is_empty());
        let mut refused = record(confirm());
        refused.dead_buttons.push("approve".into());
        assert_eq!(names(&shown(&refused, &setting())), ["Keep"]);
        assert!(shown(&refused, &setting()).status.is_some());
    }
}
