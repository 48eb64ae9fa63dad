//! People who linked themselves while the service runs: who they are, where they are, and their credentials, sealed.
//!
//! Each is one named value of the ledger, `account/SOURCE/NAME`. The ledger is written first and memory follows, so whatever was
//! told is there after a crash. A place may also be added to an account of the configuration file: such a record holds no
//! credential, because the file does.

pub mod record;
mod renewals;
mod show;
mod tell;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};

use adapters::source::{Keeper, Secret, Signed};
use asks::ids::{AccountKey, AccountName, SourceName};
use asks::life::{UnixMillis, Why};
use asks::place::Place;
use config::SecretsConfig;
use rand::RngCore as _;
use store::ledger::LedgerError;

pub use record::{LinkedAccount, Parked};
pub use renewals::keep_renewals;

use crate::board::Health;
use crate::hub::{Hub, SourceEntry};
use crate::link::seal::{NONCE_BYTES, SealError, Sealer};
use crate::moves::{self, Change};
use crate::poll;
use crate::show::one_line;
use crate::words::Language;
use renewals::Renewals;
use show::{show_waiting_soon, touch_place};
use tell::tell;

/// The most of what a person is called that is kept, in characters.
const LONGEST_DISPLAY: usize = 100;
/// The part of the board that tells of credentials that do not open.
const PART: &str = "accounts";

/// The linked accounts.
#[derive(Debug)]
pub struct Accounts {
    sealer: Option<Sealer>,
    renewals: Arc<Renewals>,
    linked: RwLock<BTreeMap<AccountKey, LinkedAccount>>,
    /// Those whose credential does not open; they keep their places and wait for their key.
    locked: RwLock<BTreeSet<AccountKey>>,
    /// Held by whoever changes an account, so that no two changes meet.
    turn: tokio::sync::Mutex<()>,
}

/// Why somebody cannot be linked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// There is no key to seal credentials under.
    #[error(
        "nobody can be linked without a key to seal credentials under: set secrets.key, make one with `openssl rand -base64 32`"
    )]
    NoKey,
    /// The source is not configured.
    #[error("there is no source {0}; name one of the [[sources]]")]
    UnknownSource(SourceName),
    /// Nowhere to show anything.
    #[error("name at least one place, such as telegram:ID or discord:user:ID")]
    NoPlace,
    /// Several people read there.
    #[error("{0} is a shared place; accounts are linked to a person's own, shared ones belong to [[groups]]")]
    Shared(Place),
    /// The place's platform is not configured.
    #[error("{0} cannot be reached, because its channel is not in the configuration")]
    NoChannel(Place),
    /// The credential cannot be sealed.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The source does not read what it made itself.
    #[error(transparent)]
    Source(#[from] adapters::source::Failure),
    /// It was not saved.
    #[error(transparent)]
    NotSaved(#[from] LedgerError),
}

/// Why somebody cannot be unlinked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnlinkError {
    /// There is no such link.
    #[error("there is no such linked account, or it is not linked to that place")]
    NotLinked,
    /// The operator wrote it into the file.
    #[error("it is in the configuration file; remove it there and start the service again")]
    InFile,
    /// It was not saved.
    #[error(transparent)]
    NotSaved(#[from] LedgerError),
}

impl Accounts {
    /// No accounts yet, and the keys that theirs are sealed under.
    #[must_use]
    pub fn new(secrets: &SecretsConfig) -> Self {
        let sealer = secrets.key.as_ref().map(|key| Sealer::new(key, secrets.previous_key.as_ref()));
        Self {
            sealer,
            renewals: Arc::default(),
            linked: RwLock::default(),
            locked: RwLock::default(),
            turn: tokio::sync::Mutex::default(),
        }
    }

    /// Who keeps what the sources renew.
    #[must_use]
    pub fn keeper(&self) -> Arc<dyn Keeper> {
        Arc::<Renewals>::clone(&self.renewals)
    }

    /// Whether people can link themselves: whether there is a key to seal their credentials under.
    #[must_use]
    pub const fn can_link(&self) -> bool {
        self.sealer.is_some()
    }

    /// The record of an account that was linked, or whose places were added to.
    #[must_use]
    pub fn get(&self, account: &AccountKey) -> Option<LinkedAccount> {
        self.linked.read().unwrap_or_else(PoisonError::into_inner).get(account).cloned()
    }

    /// Every such record, by account.
    #[must_use]
    pub fn list(&self) -> Vec<LinkedAccount> {
        self.linked.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Whether the account waits for its person to sign in again.
    #[must_use]
    pub fn is_parked(&self, account: &AccountKey) -> bool {
        let linked = self.linked.read().unwrap_or_else(PoisonError::into_inner);
        linked.get(account).is_some_and(|record| record.parked.is_some())
    }

    /// Whether the account's credential does not open, so that there is nothing to poll with.
    #[must_use]
    pub fn is_locked(&self, account: &AccountKey) -> bool {
        self.locked.read().unwrap_or_else(PoisonError::into_inner).contains(account)
    }

    fn set_locked(&self, account: &AccountKey, locked: bool) {
        let mut accounts = self.locked.write().unwrap_or_else(PoisonError::into_inner);
        if locked {
            accounts.insert(account.clone());
        } else {
            accounts.remove(account);
        }
    }

    fn sealer(&self) -> Result<&Sealer, LinkError> {
        self.sealer.as_ref().ok_or(LinkError::NoKey)
    }
}

/// Takes up every account that was linked before.
///
/// # Errors
/// If the ledger cannot be read.
pub async fn load(hub: &Arc<Hub>) -> Result<(), LedgerError> {
    let mut trouble = BTreeMap::<String, usize>::new();
    for (name, text) in hub.ledger.recall_all(record::PREFIX).await? {
        let Some(mut record) = LinkedAccount::read(&text) else {
            *trouble.entry(format!("the record {name} cannot be read; link the account again")).or_default() += 1;
            continue;
        };
        if let Err(why) = take_up(hub, &mut record).await {
            tracing::error!(account = %record.key, "{} cannot be used: {why}", record.key);
            *trouble.entry(why).or_default() += 1;
        }
    }
    if !trouble.is_empty() {
        let each: Vec<String> = trouble.iter().map(|(why, count)| format!("{count}: {why}")).collect();
        let why = format!("some linked accounts cannot be used ({})", each.join("; "));
        hub.board.report(PART, Health::Down { why });
    }
    Ok(())
}

/// Takes up one record.
///
/// # Errors
/// Why it cannot be used, in a sentence that says what to do.
async fn take_up(hub: &Arc<Hub>, record: &mut LinkedAccount) -> Result<(), String> {
    let key = record.key.clone();
    let source = source(hub, &key.source).map_err(|error| error.to_string())?;
    let is_in_file = hub.links.knows(&key);
    match &record.sealed {
        None if !is_in_file => return Err("it is not in the configuration file any more".to_owned()),
        Some(_) if is_in_file => {
            return Err("the configuration file has an account of the same name; give that one another".to_owned());
        }
        None => {}
        Some(_) => hub.links.add(&key, record.display.as_deref(), record.language()),
    }
    for place in &record.places {
        hub.links.add_place(&key, place);
    }
    remember(hub, record);
    let Some(sealed) = record.sealed.clone() else { return Ok(()) };
    let unsealed = match hub.accounts.sealer() {
        Ok(keys) => keys.open(&key, &sealed).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    let opened = unsealed.inspect_err(|_| hub.accounts.set_locked(&key, true))?;
    let credential = Secret::new(opened.text.as_str());
    if let Err(failure) = source.port.add_account(&key, &credential) {
        hub.accounts.set_locked(&key, true);
        return Err(failure.to_string());
    }
    if opened.is_old {
        match reseal(hub, record, &credential).await {
            Ok(()) => tracing::info!(account = %key, "the credential of {key} is sealed under the new key now"),
            Err(error) => tracing::warn!(account = %key, "the credential of {key} is not sealed anew yet: {error}"),
        }
    }
    if record.parked.as_ref().is_some_and(|parked| !parked.told) {
        tell(hub, &key);
    }
    Ok(())
}

/// Links a person who has just signed in: their asks are shown at the places from now on, and answered as them.
///
/// The same person at the same source keeps their account and gets the places added, also one of the configuration file.
///
/// # Errors
/// See [`LinkError`]; nothing is linked then.
pub async fn link(
    hub: &Arc<Hub>,
    source_name: &SourceName,
    signed: &Signed,
    places: &[Place],
    language: Language,
) -> Result<AccountKey, LinkError> {
    may_link(hub, source_name, places)?;
    let source = source(hub, source_name)?;
    let sealer = hub.accounts.sealer()?;
    let _turn = hub.accounts.turn.lock().await;
    let mut record = if let Some(record) = owned(hub, source_name, signed).await? {
        record
    } else {
        let taken = |name: &AccountKey| hub.links.knows(name) || hub.accounts.get(name).is_some();
        LinkedAccount::new(record::new_key(source_name, &signed.subject, taken), signed.subject.clone())
    };
    let is_in_file = record.sealed.is_none() && hub.links.knows(&record.key);
    let fresh = record.add_places(places, &hub.links.direct_places(&record.key));
    record.linked_at = hub.now();
    record.parked = None;
    if !is_in_file {
        record.sealed = Some(sealer.seal(&record.key, signed.credential.expose(), nonce(hub))?);
        record.display = signed.display.as_deref().map(|name| one_line(name).chars().take(LONGEST_DISPLAY).collect());
        language.code().clone_into(&mut record.language);
    }
    let key = record.key.clone();
    let is_new = hub.accounts.get(&key).is_none();
    if !is_in_file {
        // Whatever can fail comes before the record is written: with it the person is linked, also after a restart.
        poll::introduce(hub, &key, &signed.subject).await?;
        source.port.add_account(&key, &signed.credential)?;
        hub.accounts.renewals.void(&key);
    }
    if let Err(error) = save(hub, &record).await {
        if is_new && !is_in_file {
            source.port.remove_account(&key);
        }
        return Err(error.into());
    }
    if !is_in_file {
        hub.accounts.set_locked(&key, false);
        hub.links.add(&key, record.display.as_deref(), language);
    }
    for place in places {
        hub.links.add_place(&key, place);
    }
    tracing::info!(account = %key, places = fresh.len(), "{key} is linked");
    hub.board.count("askgate_accounts_linked_total");
    hub.calendar.add(&key, hub.clock.instant());
    show_waiting_soon(hub, &key, places);
    Ok(key)
}

/// Whether anybody could be linked there, before a sign-in is spent on it.
///
/// # Errors
/// See [`LinkError`].
pub fn may_link(hub: &Hub, source_name: &SourceName, places: &[Place]) -> Result<(), LinkError> {
    check_places(hub, places)?;
    source(hub, source_name)?;
    hub.accounts.sealer().map(drop)
}

/// The account of that name: names are unique across sources.
#[must_use]
pub fn find(hub: &Hub, name: &AccountName) -> Option<AccountKey> {
    let linked = hub.accounts.list().into_iter().map(|record| record.key);
    linked.chain(hub.links.accounts()).find(|account| account.name == *name)
}

/// Ends the link between an account and one place. With its last place a linked account is forgotten as a whole.
///
/// # Errors
/// See [`UnlinkError`].
pub async fn unlink(hub: &Arc<Hub>, account: &AccountKey, place: &Place) -> Result<(), UnlinkError> {
    {
        let _turn = hub.accounts.turn.lock().await;
        let Some(mut record) = hub.accounts.get(account).filter(|record| record.places.contains(place)) else {
            return Err(if hub.links.shows(account, place) { UnlinkError::InFile } else { UnlinkError::NotLinked });
        };
        record.places.retain(|other| other != place);
        if !record.places.is_empty() {
            save(hub, &record).await?;
            hub.links.remove_place(account, place);
            tracing::info!(%account, %place, "{account} is not linked to {place} any more");
            touch_place(hub, place).await?;
            return Ok(());
        }
    }
    remove(hub, account).await
}

/// Forgets an account that was linked, with its credential and all of its places. Its waiting asks end here; answers that are on
/// their way are given up.
///
/// # Errors
/// See [`UnlinkError`].
pub async fn remove(hub: &Arc<Hub>, account: &AccountKey) -> Result<(), UnlinkError> {
    let _turn = hub.accounts.turn.lock().await;
    let Some(record) = hub.accounts.get(account) else {
        return Err(if hub.links.knows(account) { UnlinkError::InFile } else { UnlinkError::NotLinked });
    };
    hub.ledger.remember(&record::name(account), None).await?;
    hub.accounts.linked.write().unwrap_or_else(PoisonError::into_inner).remove(account);
    if record.sealed.is_some() {
        poll::forget(hub, account).await?;
        if let Some(source) = hub.sources.get(&account.source) {
            source.port.remove_account(account);
        }
        hub.accounts.renewals.void(account);
        hub.calendar.remove(account);
        hub.links.remove(account);
        hub.accounts.set_locked(account, false);
        hub.board.clear(&poll::account_part(account));
    } else {
        for place in &record.places {
            hub.links.remove_place(account, place);
        }
    }
    tracing::info!(%account, "{account} is not linked any more");
    if record.sealed.is_some() {
        for ask in hub.ledger.open_asks(Some(account)).await? {
            if let Ok(life) = ask.life.clone().withdrawn(Why::Cancelled) {
                let change = Change::to(life).audited("withdrawn", "its account is not linked any more");
                moves::make(hub, &ask, change).await?;
            }
        }
    }
    for place in &record.places {
        touch_place(hub, place).await?;
    }
    Ok(())
}

/// A source refused an account's credential, in a request that was begun at that time. One that was linked is parked, and its
/// person told once. Returns whether it is parked.
pub async fn refused(hub: &Arc<Hub>, account: &AccountKey, why: &str, began: UnixMillis) -> bool {
    let parked = async {
        let _turn = hub.accounts.turn.lock().await;
        let Some(mut record) = hub.accounts.get(account).filter(|record| record.sealed.is_some()) else {
            return Ok(false);
        };
        // Linked again meanwhile: the refusal was about the credential before.
        if record.parked.is_some() || record.linked_at >= began {
            return Ok(record.parked.is_some());
        }
        record.parked = Some(Parked { why: why.to_owned(), since: hub.now(), told: false });
        save(hub, &record).await?;
        tracing::warn!(%account, "{account} has to sign in again: {why}");
        hub.board.count("askgate_accounts_parked_total");
        tell(hub, account);
        Ok::<bool, LedgerError>(true)
    };
    parked.await.unwrap_or_else(|error| {
        tracing::warn!(%account, "that {account} has to sign in again is not saved yet: {error}");
        false
    })
}

/// An account's credential works. One that was parked is so no more.
pub async fn accepted(hub: &Arc<Hub>, account: &AccountKey) {
    if !hub.accounts.is_parked(account) {
        return;
    }
    let _turn = hub.accounts.turn.lock().await;
    let Some(mut record) = hub.accounts.get(account) else { return };
    record.parked = None;
    if let Err(error) = save(hub, &record).await {
        tracing::warn!(%account, "that {account} works again is not saved yet: {error}");
    }
}

/// The record of this very person, or a new one of an account of the file that is theirs.
async fn owned(hub: &Hub, source: &SourceName, signed: &Signed) -> Result<Option<LinkedAccount>, LedgerError> {
    let is_theirs = |record: &LinkedAccount| record.key.source == *source && record.subject == signed.subject;
    if let Some(record) = hub.accounts.list().into_iter().find(is_theirs) {
        return Ok(Some(record));
    }
    for account in hub.links.accounts().into_iter().filter(|account| account.source == *source) {
        if poll::subject_of(hub, &account).await?.as_ref() == Some(&signed.subject) {
            return Ok(Some(LinkedAccount::new(account, signed.subject.clone())));
        }
    }
    Ok(None)
}

fn check_places(hub: &Hub, places: &[Place]) -> Result<(), LinkError> {
    if places.is_empty() {
        return Err(LinkError::NoPlace);
    }
    for place in places {
        if !place.is_direct() {
            return Err(LinkError::Shared(place.clone()));
        }
        if !hub.channels.contains_key(&place.channel()) {
            return Err(LinkError::NoChannel(place.clone()));
        }
    }
    Ok(())
}

fn source<'a>(hub: &'a Hub, name: &SourceName) -> Result<&'a SourceEntry, LinkError> {
    hub.sources.get(name).ok_or_else(|| LinkError::UnknownSource(name.clone()))
}

/// Seals a credential anew and keeps it.
async fn reseal(hub: &Hub, record: &mut LinkedAccount, credential: &Secret) -> Result<(), LinkError> {
    record.sealed = Some(hub.accounts.sealer()?.seal(&record.key, credential.expose(), nonce(hub))?);
    Ok(save(hub, record).await?)
}

/// Writes a record down, then into memory.
async fn save(hub: &Hub, record: &LinkedAccount) -> Result<(), LedgerError> {
    let text = record.write().map_err(|why| LedgerError::NotSaved { why })?;
    hub.ledger.remember(&record::name(&record.key), Some(text)).await?;
    remember(hub, record);
    Ok(())
}

fn remember(hub: &Hub, record: &LinkedAccount) {
    let mut linked = hub.accounts.linked.write().unwrap_or_else(PoisonError::into_inner);
    linked.insert(record.key.clone(), record.clone());
}

fn nonce(hub: &Hub) -> [u8; NONCE_BYTES] {
    let mut nonce = [0; NONCE_BYTES];
    hub.random.lock().unwrap_or_else(PoisonError::into_inner).fill_bytes(&mut nonce);
    nonce
}
