//! The ledger in an embedded sled store.
//!
//! One tree, one writer thread with group commit, one sync of our own per group, values small enough to stay in the log.
//! sled alone is not durable and may panic, on opening too; `disk`, `engine` and `writer` say what is done about it.
//!
//! The directory holds sled's files, our lock (`askgate.lock`), taken before sled opens, the mark (`askgate.mark`), and the
//! note of a write that failed (`askgate.doubt`).

mod codec;
mod disk;
mod doubt;
mod engine;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod key;
pub mod offline;
mod ops;
mod place;
mod queue;
mod txn;
mod upkeep;
mod view;
mod watch;
mod writer;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;
use std::time::Duration;

use asks::ids::{AccountKey, AskKey};
use asks::life::{Claim, UnixMillis};
use asks::place::{MessageRef, Place};
use async_trait::async_trait;
use sled::Db;
use tokio::sync::oneshot;

use self::disk::{Disk, Recipe, first_changes, no_room, sync_new_store};
pub use self::disk::{DiskSync, FileSync};
use self::doubt::DoubtFile;
use self::engine::Trouble;
use self::key::AskId;
use self::place::Home;
use self::queue::{Call, Job, Order};
use self::txn::{Counters, Txn};
use self::view::{Unread, View};
use self::writer::{Repair, Shared, Slot, Writer};
use crate::ledger::{Claimed, Ledger, LedgerError, Move, Moved, NewAsk, Recorded, Voted};
use crate::record::{AskRecord, AuditLine, Delivery, DeliveryId, Notice, NoticeId, Seq, TokenRecord};
use crate::token::{TokenHash, TokenKey};

/// How to open a store.
#[derive(Clone)]
pub struct Options {
    /// Memory for pages that are kept at hand, in bytes.
    pub cache_bytes: u64,
    /// How long a lock that another process holds is waited for; a rolling redeploy takes that long.
    pub lock_wait: Duration,
    /// Random bytes that become the token key if the store is new.
    pub random: [u8; 32],
    /// The time now, for the name of a damaged store that is set aside.
    pub now: UnixMillis,
    /// What makes written bytes durable.
    pub sync: Arc<dyn DiskSync>,
}

impl Options {
    /// The usual options: 8 MiB of cache, 30 s for the lock, the operating system's sync.
    #[must_use]
    pub fn new(random: [u8; 32], now: UnixMillis) -> Self {
        Self { cache_bytes: 8 * 1024 * 1024, lock_wait: Duration::from_secs(30), random, now, sync: Arc::new(FileSync) }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("cache_bytes", &self.cache_bytes)
            .field("lock_wait", &self.lock_wait)
            .finish_non_exhaustive()
    }
}

/// An opened store, and what had to be done for it.
#[derive(Debug)]
pub struct Opened {
    /// The ledger.
    pub ledger: SledLedger,
    /// Where damaged files were moved to, if there were any. They are never deleted.
    pub set_aside: Option<PathBuf>,
    /// Whether the ledger begins empty: it is new, or a damaged one was set aside.
    pub fresh: bool,
}

/// The ledger in an embedded sled store.
pub struct SledLedger {
    path: PathBuf,
    shared: Shared,
    orders: Sender<Order>,
    sequence: Arc<AtomicU64>,
    syncs: Arc<AtomicU64>,
    secret: TokenKey,
}

impl fmt::Debug for SledLedger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SledLedger").field("path", &self.path).finish_non_exhaustive()
    }
}

impl SledLedger {
    /// Opens the store in a directory, which is made if it is missing. Blocks, at most for the lock's wait and the reading.
    ///
    /// A damaged store is moved to `<path>.corrupt-<unix seconds>` (where the directory is a mount point, to
    /// `corrupt-<unix seconds>` within it) and a new one is opened. A file that sled left half-written is moved there
    /// alone, and the store keeps its data.
    ///
    /// # Errors
    /// `InUse` while another process holds the store: nothing is set aside for that. `Unreadable` if the directory cannot
    /// be used or the disk is full: nothing is set aside for that either.
    pub fn open(path: &Path, options: Options) -> Result<Opened, LedgerError> {
        let home = Home::take(path, options.lock_wait)?;
        let Options { cache_bytes, random, now, sync, .. } = options;
        let recipe = Recipe { path: path.to_owned(), cache_bytes, sync, syncs: Arc::default() };
        let mut set_aside = home.set_leftovers_aside(now)?;
        let (disk, found) = match Disk::open(&recipe) {
            Ok(opened) => opened,
            Err(Trouble::Damaged(why)) => {
                let aside = home.set_aside(now)?;
                tracing::error!(%why, moved_to = %aside.display(), "the store was damaged and is set aside; a new one begins empty");
                set_aside = Some(aside);
                Disk::open(&recipe).map_err(|trouble| refused(path, trouble))?
            }
            Err(trouble) => {
                // What was there before was moved, so this is only what a full disk made this attempt leave.
                Home::drop_leftovers(path);
                return Err(refused(path, trouble));
            }
        };
        if let Some(aside) = set_aside.as_ref().filter(|_| found.is_some()) {
            tracing::error!(moved_to = %aside.display(), "a half-written file of the store is set aside; no data is missing");
        }
        let fresh = found.is_none();
        let mut disk = disk;
        let (doubt_file, found) = match found {
            Some(found) => undo_doubts(&mut disk, path, found).map_err(|trouble| refused(path, trouble))?,
            None => begin(&disk, path, random)?,
        };
        let ledger = Self::start(disk, home, recipe, found, doubt_file)?;
        Ok(Opened { ledger, set_aside, fresh })
    }

    fn start(
        disk: Disk,
        home: Home,
        recipe: Recipe,
        (counters, secret): (Counters, TokenKey),
        doubt_file: Option<DoubtFile>,
    ) -> Result<Self, LedgerError> {
        let path = home.path.clone();
        let shared: Shared = Arc::new(RwLock::new(Slot::Open(disk.db().clone())));
        let sequence = Arc::new(AtomicU64::new(counters.seq));
        let syncs = Arc::clone(&recipe.syncs);
        let (orders, inbox) = mpsc::channel();
        let (watch, watch_end) = mpsc::channel();
        let writer = Writer {
            disk: Some(disk),
            recipe,
            home,
            shared: Arc::clone(&shared),
            counters,
            sequence: Arc::clone(&sequence),
            secret: secret.clone(),
            doubt_file,
            _watch: watch,
            repair: Repair::none(),
        };
        let watched = Arc::clone(&shared);
        let unstarted = |error: std::io::Error| LedgerError::Unreadable { why: format!("no thread for it: {error}") };
        thread::Builder::new()
            .name("askgate-ledger".to_owned())
            .spawn(move || writer.run(&inbox))
            .map_err(unstarted)?;
        thread::Builder::new()
            .name("askgate-ledger-watch".to_owned())
            .spawn(move || watch::run(&watch_end, &watched))
            .map_err(unstarted)?;
        Ok(Self { path, shared, orders, sequence, syncs, secret })
    }

    /// How often the disk was synced since the store was opened: once per group of writes.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::SeqCst)
    }

    async fn write<T: Send + 'static>(
        &self,
        op: impl FnOnce(&mut Txn<'_>) -> Result<T, LedgerError> + Send + 'static,
    ) -> Result<T, LedgerError> {
        self.order(Order::Do, op).await
    }

    async fn order<T: Send + 'static>(
        &self,
        order: fn(Box<dyn Job>) -> Order,
        op: impl FnOnce(&mut Txn<'_>) -> Result<T, LedgerError> + Send + 'static,
    ) -> Result<T, LedgerError> {
        let (reply, answer) = oneshot::channel();
        self.orders.send(order(Box::new(Call::new(op, reply)))).map_err(|_| LedgerError::Closed)?;
        answer.await.unwrap_or(Err(LedgerError::Closed))
    }

    fn read<T>(&self, read: impl FnOnce(&Db) -> Result<T, Unread>) -> Result<T, LedgerError> {
        match &*self.shared.read().unwrap_or_else(PoisonError::into_inner) {
            Slot::Open(db) => Ok(read(db)?),
            Slot::Broken(why) => Err(LedgerError::Unreadable { why: why.clone() }),
            Slot::Closed => Err(LedgerError::Closed),
        }
    }
}

fn refused(path: &Path, trouble: Trouble) -> LedgerError {
    match trouble {
        Trouble::Locked => LedgerError::InUse { path: path.display().to_string() },
        other => LedgerError::Unreadable { why: format!("{}: {other}", path.display()) },
    }
}

/// Undoes what an earlier process refused and could not look after.
fn undo_doubts(
    disk: &mut Disk,
    path: &Path,
    found: (Counters, TokenKey),
) -> Result<(Option<DoubtFile>, (Counters, TokenKey)), Trouble> {
    match DoubtFile::open(path) {
        Ok((file, new)) => {
            if new {
                sync_new_store(path).map_err(|error| Trouble::Blocked(error.to_string()))?;
            }
            file.undo(disk, found).map(|found| (Some(file), found))
        }
        Err(error) if DoubtFile::is_there(path) => Err(Trouble::Blocked(format!("the note of a doubt: {error}"))),
        // Without room for it, the callers of a write that fails wait instead.
        Err(error) => {
            tracing::warn!(%error, "no room could be taken for noting a write that fails");
            Ok((None, found))
        }
    }
}

/// Writes a new store's first records.
fn begin(disk: &Disk, path: &Path, random: [u8; 32]) -> Result<(Option<DoubtFile>, (Counters, TokenKey)), LedgerError> {
    let doubt_file = DoubtFile::open(path).ok().map(|(file, _)| file);
    // Where the store was taken away by hand, its note may have been left.
    doubt_file.iter().for_each(DoubtFile::clear);
    let secret = TokenKey::new(random);
    let counters = Counters::default();
    let written = disk
        .write(&first_changes(&secret, &counters))
        .and_then(|()| sync_new_store(path).map_err(|error| Trouble::Blocked(error.to_string())));
    match written {
        Ok(()) => Ok((doubt_file, (counters, secret))),
        Err(trouble) => Err(refused(path, no_room(path).unwrap_or(trouble))),
    }
}

#[async_trait]
impl Ledger for SledLedger {
    fn sequence(&self) -> Seq {
        Seq(self.sequence.load(Ordering::SeqCst))
    }

    fn token_key(&self) -> TokenKey {
        self.secret.clone()
    }

    fn disk_bytes(&self) -> Option<u64> {
        Some(disk::bytes_below(&self.path))
    }

    async fn probe(&self) -> Result<(), LedgerError> {
        self.write(|txn| {
            txn.touch();
            Ok(())
        })
        .await
    }

    async fn record(&self, ask: NewAsk) -> Result<Recorded, LedgerError> {
        self.write(|txn| ops::record(txn, ask)).await
    }

    async fn claim(&self, key: &AskKey, claim: Claim, audit: AuditLine) -> Result<Claimed, LedgerError> {
        let key = key.clone();
        self.order(Order::Soon, move |txn| ops::claim(txn, &key, claim, &audit)).await
    }

    async fn vote(&self, key: &AskKey, claim: Claim, needed: usize, audit: AuditLine) -> Result<Voted, LedgerError> {
        let key = key.clone();
        self.write(move |txn| ops::vote(txn, &key, claim, needed, &audit)).await
    }

    async fn advance(&self, step: Move) -> Result<Moved, LedgerError> {
        self.write(|txn| ops::advance(txn, step)).await
    }

    async fn audit(&self, line: AuditLine) -> Result<(), LedgerError> {
        self.write(move |txn| ops::audit(txn, &line)).await
    }

    async fn set_content(&self, key: &AskKey, content: String) -> Result<(), LedgerError> {
        let key = key.clone();
        self.write(move |txn| ops::set_content(txn, &key, content)).await
    }

    async fn add_delivery(&self, key: &AskKey, place: Place) -> Result<Option<Delivery>, LedgerError> {
        let key = key.clone();
        self.write(move |txn| ops::add_delivery(txn, &key, place)).await
    }

    async fn put_aside(
        &self,
        key: &AskKey,
        expect: Seq,
        at: UnixMillis,
        audit: AuditLine,
    ) -> Result<Option<AskRecord>, LedgerError> {
        let key = key.clone();
        self.write(move |txn| ops::put_aside(txn, &key, expect, at, &audit)).await
    }

    async fn save_delivery(&self, delivery: Delivery) -> Result<(), LedgerError> {
        self.write(|txn| ops::save_delivery(txn, delivery)).await
    }

    async fn save_notice(&self, notice: Notice) -> Result<(), LedgerError> {
        self.write(|txn| ops::save_notice(txn, notice)).await
    }

    async fn finish(&self, key: &AskKey) -> Result<bool, LedgerError> {
        let key = key.clone();
        self.write(move |txn| ops::finish(txn, &key)).await
    }

    async fn rename_place(&self, from: &Place, to: &Place) -> Result<(), LedgerError> {
        let (from, to) = (from.clone(), to.clone());
        self.write(move |txn| upkeep::rename_place(txn, &from, &to)).await
    }

    async fn ask(&self, key: &AskKey) -> Result<Option<AskRecord>, LedgerError> {
        self.read(|db| db.ask(AskId::of(key)))
    }

    async fn open_asks(&self, account: Option<&AccountKey>) -> Result<Vec<AskRecord>, LedgerError> {
        self.read(|db| db.open_asks(account))
    }

    async fn recent_asks(&self, limit: usize) -> Result<Vec<AskRecord>, LedgerError> {
        self.read(|db| db.recent_asks(limit))
    }

    async fn deliveries(&self, key: &AskKey) -> Result<Vec<Delivery>, LedgerError> {
        self.read(|db| db.deliveries(AskId::of(key)))
    }

    async fn delivery(&self, id: DeliveryId) -> Result<Option<Delivery>, LedgerError> {
        self.read(|db| db.delivery(id))
    }

    async fn delivery_of_message(&self, message: &MessageRef) -> Result<Option<Delivery>, LedgerError> {
        self.read(|db| db.delivery_of_message(message))
    }

    async fn deliveries_at(&self, place: &Place) -> Result<Vec<Delivery>, LedgerError> {
        self.read(|db| db.deliveries_at(place))
    }

    async fn notice(&self, id: NoticeId) -> Result<Option<Notice>, LedgerError> {
        self.read(|db| db.notice(id))
    }

    async fn open_notices(&self) -> Result<Vec<Notice>, LedgerError> {
        self.read(View::open_notices)
    }

    async fn token(&self, hash: &TokenHash) -> Result<Option<TokenRecord>, LedgerError> {
        self.read(|db| db.load(&key::token(hash)))
    }

    async fn audit_trail(&self, limit: usize) -> Result<Vec<AuditLine>, LedgerError> {
        self.read(|db| db.audit_trail(limit))
    }

    async fn remember(&self, name: &str, value: Option<String>) -> Result<(), LedgerError> {
        let name = name.to_owned();
        self.write(move |txn| ops::remember(txn, &name, value)).await
    }

    async fn recall(&self, name: &str) -> Result<Option<String>, LedgerError> {
        self.read(|db| db.recall(name))
    }

    async fn recall_all(&self, prefix: &str) -> Result<Vec<(String, String)>, LedgerError> {
        self.read(|db| db.recall_all(prefix))
    }

    async fn prune(&self, before: UnixMillis) -> Result<usize, LedgerError> {
        self.write(move |txn| upkeep::prune(txn, before)).await
    }

    async fn close(&self) {
        let (done, closed) = oneshot::channel();
        if self.orders.send(Order::Close(done)).is_ok() {
            // An error means that the writer is gone, which is what was asked for.
            let _ = closed.await;
        }
    }
}
