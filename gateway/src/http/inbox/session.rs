//! Who is signed in to the inbox: links from the chat, and the sessions they begin.
//!
//! Both are random texts of 256 bits of which the ledger keeps only the hash, as named values. Both belong to one direct place:
//! whoever reads there is the person, and a place that is not linked any more lets its sessions see nothing.

use std::collections::BTreeSet;
use std::sync::PoisonError;

use asks::ids::AccountKey;
use asks::life::UnixMillis;
use asks::place::Place;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::RngCore as _;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use store::ledger::LedgerError;

use crate::http::guard;
use crate::hub::Hub;

/// How long a link from the chat works, in milliseconds.
pub(super) const CODE_LIFE: UnixMillis = 10 * 60 * 1_000;
/// How long a session lasts, in milliseconds.
pub(super) const SESSION_LIFE: UnixMillis = 30 * 24 * 60 * 60 * 1_000;
/// How long a link that does not work any more is still told from one that never was, in milliseconds.
const CODE_MEMORY: UnixMillis = 24 * 60 * 60 * 1_000;
/// The most links that one place has at a time; the oldest goes first.
const MOST_CODES: usize = 5;
/// The most browsers that one person is signed in with; the oldest goes first.
const MOST_SESSIONS: usize = 10;

const CODE: &str = "inbox:code:";
const SESSION: &str = "inbox:session:";

/// What the ledger keeps of a link.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Code {
    place: Place,
    made: UnixMillis,
    #[serde(default)]
    spent: bool,
}

/// What the ledger keeps of a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Kept {
    place: Place,
    made: UnixMillis,
    /// The browser, as [`browser`] puts it.
    #[serde(default)]
    browser: String,
}

/// Somebody who is signed in.
#[derive(Debug, Clone)]
pub(super) struct Session {
    /// The hash of its secret, by which the ledger and the page know it; it signs nobody in.
    pub id: String,
    /// The place whose person it is.
    pub place: Place,
    /// The accounts whose asks it may see and answer, at least one.
    pub accounts: Vec<AccountKey>,
    /// When it began.
    pub made: UnixMillis,
    /// The browser's name.
    pub browser: String,
    /// What each form of this session carries: see [`guard::proof`].
    pub proof: String,
}

/// What a link from the chat is good for.
#[derive(Debug)]
pub(super) enum Link {
    /// It signs in the person of these accounts.
    Good(Place, Vec<AccountKey>),
    /// It did, or could have.
    Spent,
    /// It was never made.
    Unknown,
}

/// Makes a link's code for a direct place; `None` where no account is shown.
///
/// # Errors
/// If it was not saved.
pub(super) async fn new_code(hub: &Hub, place: &Place) -> Result<Option<String>, LedgerError> {
    if accounts_of(hub, place).is_empty() {
        return Ok(None);
    }
    let now = hub.now();
    let mut mine = Vec::new();
    for (name, code) in all::<Code>(hub, CODE).await? {
        if code.made + CODE_MEMORY < now {
            hub.ledger.remember(&name, None).await?;
        } else if code.place == *place && !code.spent {
            mine.push((code.made, name));
        }
    }
    mine.sort();
    for (_, name) in mine.iter().take((mine.len() + 1).saturating_sub(MOST_CODES)) {
        hub.ledger.remember(name, None).await?;
    }
    let secret = secret(hub);
    keep(hub, CODE, &hash(&secret), &Code { place: place.clone(), made: now, spent: false }).await?;
    Ok(Some(secret))
}

/// Looks at a link, which changes nothing.
///
/// # Errors
/// If the ledger cannot be read.
pub(super) async fn look(hub: &Hub, code: &str) -> Result<Link, LedgerError> {
    let Some(code) = read::<Code>(hub, CODE, &hash(code)).await? else { return Ok(Link::Unknown) };
    let accounts = accounts_of(hub, &code.place);
    if code.spent || code.made + CODE_LIFE < hub.now() || accounts.is_empty() {
        return Ok(Link::Spent);
    }
    Ok(Link::Good(code.place, accounts))
}

/// Spends a link and begins a session, whose secret it returns. The caller lets in one at a time.
///
/// # Errors
/// If it was not saved; the link may be spent then.
pub(super) async fn sign_in(hub: &Hub, code: &str, browser: String) -> Result<Result<String, Link>, LedgerError> {
    let link = look(hub, code).await?;
    let Link::Good(place, accounts) = link else { return Ok(Err(link)) };
    let now = hub.now();
    keep(hub, CODE, &hash(code), &Code { place: place.clone(), made: now, spent: true }).await?;
    let mut mine = Vec::new();
    for session in sessions(hub, &place, &accounts).await? {
        mine.push((session.made, session.id));
    }
    mine.sort();
    for (_, id) in mine.iter().take((mine.len() + 1).saturating_sub(MOST_SESSIONS)) {
        end(hub, id).await?;
    }
    let secret = secret(hub);
    keep(hub, SESSION, &hash(&secret), &Kept { place, made: now, browser }).await?;
    Ok(Ok(secret))
}

/// The session of a secret, if it still lasts and its place still shows somebody's asks.
///
/// # Errors
/// If the ledger cannot be read.
pub(super) async fn find(hub: &Hub, secret: &str) -> Result<Option<Session>, LedgerError> {
    let proof = guard::proof(secret, "inbox");
    Ok(by_id(hub, &hash(secret)).await?.map(|session| Session { proof, ..session }))
}

/// The session of that id.
///
/// # Errors
/// If the ledger cannot be read.
pub(super) async fn by_id(hub: &Hub, id: &str) -> Result<Option<Session>, LedgerError> {
    Ok(read::<Kept>(hub, SESSION, id).await?.and_then(|kept| living(hub, id, kept)))
}

/// Every session of one person, oldest first: those of the same place, and those of other places with the very same accounts. Who
/// merely shares one of the accounts is somebody else.
///
/// # Errors
/// If the ledger cannot be read.
pub(super) async fn sessions(hub: &Hub, place: &Place, accounts: &[AccountKey]) -> Result<Vec<Session>, LedgerError> {
    let mut found = Vec::new();
    for (name, kept) in all::<Kept>(hub, SESSION).await? {
        let id = name.strip_prefix(SESSION).unwrap_or_default().to_owned();
        if let Some(session) = living(hub, &id, kept)
            && (session.place == *place || session.accounts == accounts)
        {
            found.push(session);
        }
    }
    found.sort_by_key(|session| session.made);
    Ok(found)
}

/// Ends a session.
///
/// # Errors
/// If it was not saved.
pub(super) async fn end(hub: &Hub, id: &str) -> Result<(), LedgerError> {
    hub.ledger.remember(&format!("{SESSION}{id}"), None).await
}

/// Forgets sessions that are over.
///
/// # Errors
/// If the ledger cannot be read or written.
pub(super) async fn sweep(hub: &Hub) -> Result<(), LedgerError> {
    for (name, kept) in all::<Kept>(hub, SESSION).await? {
        if kept.made + SESSION_LIFE < hub.now() {
            hub.ledger.remember(&name, None).await?;
        }
    }
    Ok(())
}

/// What a browser is called, of what it says of itself: two well-known words, and nothing that it could make up.
#[must_use]
pub(super) fn browser(agent: &str) -> String {
    let first =
        |words: &[(&str, &'static str)]| words.iter().find(|(sign, _)| agent.contains(sign)).map(|(_, name)| *name);
    let program =
        first(&[("Firefox", "Firefox"), ("Edg", "Edge"), ("OPR", "Opera"), ("Chrome", "Chrome"), ("Safari", "Safari")]);
    let system = first(&[
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Windows", "Windows"),
        ("Mac OS", "macOS"),
        ("Linux", "Linux"),
    ]);
    [program, system].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

fn living(hub: &Hub, id: &str, kept: Kept) -> Option<Session> {
    let accounts = accounts_of(hub, &kept.place);
    let lasts = kept.made + SESSION_LIFE >= hub.now() && !accounts.is_empty();
    lasts.then(|| Session {
        id: id.to_owned(),
        place: kept.place,
        accounts,
        made: kept.made,
        browser: kept.browser,
        proof: String::new(),
    })
}

/// The accounts of the person whose direct place it is.
fn accounts_of(hub: &Hub, place: &Place) -> Vec<AccountKey> {
    if !place.is_direct() {
        return Vec::new();
    }
    // One who has linked a second place of theirs sees the same there; each account counts once.
    let accounts: BTreeSet<AccountKey> = hub.links.served_at(place).into_iter().collect();
    accounts.into_iter().filter(|account| hub.links.direct_places(account).contains(place)).collect()
}

fn secret(hub: &Hub) -> String {
    let mut bytes = [0; 32];
    hub.random.lock().unwrap_or_else(PoisonError::into_inner).fill_bytes(&mut bytes);
    URL_SAFE_NO_PAD.encode(bytes)
}

fn hash(secret: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(secret.as_bytes()))
}

async fn keep<T: Serialize + Sync>(hub: &Hub, kind: &str, id: &str, value: &T) -> Result<(), LedgerError> {
    let text = serde_json::to_string(value).unwrap_or_default();
    hub.ledger.remember(&format!("{kind}{id}"), Some(text)).await
}

async fn read<T: for<'a> Deserialize<'a>>(hub: &Hub, kind: &str, id: &str) -> Result<Option<T>, LedgerError> {
    let text = hub.ledger.recall(&format!("{kind}{id}")).await?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

async fn all<T: for<'a> Deserialize<'a>>(hub: &Hub, kind: &str) -> Result<Vec<(String, T)>, LedgerError> {
    let values = hub.ledger.recall_all(kind).await?;
    Ok(values.into_iter().filter_map(|(name, text)| Some((name, serde_json::from_str(&text).ok()?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_called_by_known_words_only() {
        let android = "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/126.0 Mobile Safari/537.36";
        assert_eq!(browser(android), "Chrome · Android");
        assert_eq!(browser("<script>Mozilla"), "");
    }
}
