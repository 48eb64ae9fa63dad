//! What one person's inbox shows.

use asks::card::Button;
use asks::ids::{AskKey, ButtonId};
use asks::life::{Life, Outcome, UnixMillis, Why};
use asks::place::{Actor, ChannelKind};
use store::ledger::LedgerError;
use store::record::AskRecord;

use super::session::Session;
use crate::hub::Hub;
use crate::pages::inbox::{Aged, Entry, EntryButton};
use crate::show::{one_line, view, visible};
use crate::words::{self, Words};

/// How long something settled is shown, in milliseconds.
const SETTLED_FOR: UnixMillis = 24 * 60 * 60 * 1_000;
/// The most settled asks that are shown.
const MOST_SETTLED: usize = 20;
/// How many of the ledger's last asks are looked through for them.
const LOOKED_THROUGH: usize = 500;
/// The most asks that wait on one page.
const MOST_WAITING: usize = 200;

/// An ask of which the person is asked once more whether a button is meant.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sure<'a> {
    /// The entry's id.
    pub ask: &'a str,
    /// The button.
    pub button: &'a ButtonId,
}

/// The two lists of an inbox.
#[derive(Debug, Default)]
pub(super) struct List {
    /// What waits or is on its way, oldest first.
    pub waiting: Vec<Aged>,
    /// What was settled lately, newest first.
    pub settled: Vec<Aged>,
}

/// What a page calls an ask: nobody can guess it, and it is the same for every browser.
#[must_use]
pub(super) fn id(hub: &Hub, key: &AskKey) -> String {
    hub.keys.name(&format!("inbox ask {}\n{}\n{}", key.source, key.conversation, key.ask))
}

/// Everything of a session's accounts.
///
/// # Errors
/// If the ledger cannot be read.
pub(super) async fn load(hub: &Hub, session: &Session, sure: Option<Sure<'_>>) -> Result<List, LedgerError> {
    let now = hub.now();
    let mut open = open(hub, session).await?;
    open.sort_by(|a, b| (a.first_seen, &a.created).cmp(&(b.first_seen, &b.created)));
    let several = session.accounts.len() > 1;
    let entry = |record: &AskRecord| entry(hub, record, several, sure);
    let waiting = open.iter().take(MOST_WAITING).map(|record| (entry(record), minutes(now, record.first_seen)));
    let settled = recent(hub, session).await?;
    let settled = settled
        .iter()
        .filter(|record| record.life.is_over() && record.moved_at + SETTLED_FOR > now)
        // What was asked anew in its place is in the list itself.
        .filter(|record| !matches!(record.life, Life::Withdrawn { why: Why::Replaced }))
        .take(MOST_SETTLED)
        .map(|record| (entry(record), minutes(now, record.moved_at)));
    Ok(List { waiting: waiting.collect(), settled: settled.collect() })
}

/// The ask that a page calls so, if it is one of the session's person.
///
/// # Errors
/// If the ledger cannot be read.
pub(super) async fn find(hub: &Hub, session: &Session, wanted: &str) -> Result<Option<AskRecord>, LedgerError> {
    let is_it = |record: &AskRecord| id(hub, &record.key) == wanted;
    if let Some(record) = open(hub, session).await?.into_iter().find(is_it) {
        return Ok(Some(record));
    }
    Ok(recent(hub, session).await?.into_iter().find(is_it))
}

/// The buttons that an entry shows. One that sends what the question does not show is offered only where that is known.
pub(super) fn offered(record: &AskRecord) -> Vec<&Button> {
    view::offered(record, false)
}

/// What a button says.
pub(super) fn label(button: &Button, words: &dyn Words) -> String {
    let label = one_line(&button.label);
    if label.is_empty() { words.no_label() } else { label }
}

/// How many whole minutes ago something was.
pub(super) const fn minutes(now: UnixMillis, then: UnixMillis) -> u64 {
    now.saturating_sub(then).unsigned_abs() / 60_000
}

async fn open(hub: &Hub, session: &Session) -> Result<Vec<AskRecord>, LedgerError> {
    let mut open = Vec::new();
    for account in &session.accounts {
        open.extend(hub.ledger.open_asks(Some(account)).await?);
    }
    open.retain(|record| !record.life.is_over());
    Ok(open)
}

async fn recent(hub: &Hub, session: &Session) -> Result<Vec<AskRecord>, LedgerError> {
    let mut recent = hub.ledger.recent_asks(LOOKED_THROUGH).await?;
    recent.retain(|record| session.accounts.contains(&record.account));
    Ok(recent)
}

fn entry(hub: &Hub, record: &AskRecord, several: bool, sure: Option<Sure<'_>>) -> Entry {
    let words = hub.words(&record.account);
    let id = id(hub, &record.key);
    let open = record.life.is_open();
    let label_of =
        |button: &Button| EntryButton { id: button.id.clone(), label: label(button, words), style: button.style };
    let buttons: Vec<_> = if open { offered(record).into_iter().map(label_of).collect() } else { Vec::new() };
    let origin = several.then(|| {
        let source = hub.source(&record.key).map(|source| one_line(&source.config.label)).unwrap_or_default();
        words.origin(&one_line(&hub.links.called(&record.account)), &source)
    });
    Entry {
        title: record.card.title.as_deref().map(one_line).filter(|title| !title.is_empty()),
        text: visible(&record.card.text),
        origin,
        content: record.content.as_deref().filter(|_| open && !buttons.is_empty()).map(visible),
        status: words::status(words, &record.life, true),
        on: on(&record.life, words),
        open,
        sure: sure.filter(|sure| sure.ask == id).map(|sure| sure.button.clone()),
        buttons,
        id,
    }
}

fn on(life: &Life, words: &dyn Words) -> Option<String> {
    let Life::Settled { outcome: Outcome::Ours { claim, .. } } = life else { return None };
    let channel = claim.place.channel();
    // The person of a chat who did not press there did it here.
    let here = claim.actor == Actor::Owner && !matches!(channel, ChannelKind::Ntfy | ChannelKind::Web);
    Some(words.answered_on((!here).then_some(channel)))
}
