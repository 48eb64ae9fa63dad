//! The open store on its disk: sled's tree, a handle for our own sync, and the mark.
//!
//! sled's `flush` does not sync: on Linux it calls `sync_file_range`, which writes neither the file's size nor the disk's
//! cache. So every group is applied, flushed and then synced through a handle of our own, and only then is anything told.
//!
//! The mark file holds the number of the last group that is known to be durable. It is written after the sync and never
//! synced itself, so it can lag but never lead. A store whose own number is smaller has lost its end (a truncated or
//! emptied file opens without complaint), which nothing inside the store could tell.

use std::fmt::Debug;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use sled::{Batch, Config, Db, Mode};

use super::engine::{Trouble, calm};
use super::key;
use super::txn::{Changes, Counters, encode};
use super::view::{Order, Unread, View};
use crate::token::TokenKey;

/// Makes written bytes durable. The real one is [`FileSync`]; tests stall it, fail it and count it.
pub trait DiskSync: Debug + Send + Sync {
    /// Returns when all that was written to the file is on the disk.
    ///
    /// # Errors
    /// What the disk said.
    fn sync(&self, file: &File) -> io::Result<()>;

    /// The same for the note of a group in doubt, which is written where the store itself could not be.
    ///
    /// # Errors
    /// What the disk said.
    fn sync_doubt(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }
}

/// Syncs data and metadata with the operating system's `fsync`.
#[derive(Debug, Clone, Copy, Default)]
pub struct FileSync;

impl DiskSync for FileSync {
    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }
}

/// How to open a store; kept for opening it again.
#[derive(Debug, Clone)]
pub(super) struct Recipe {
    pub(super) path: PathBuf,
    pub(super) cache_bytes: u64,
    pub(super) sync: Arc<dyn DiskSync>,
    pub(super) syncs: Arc<AtomicU64>,
}

/// The mark's name in the store's directory.
pub(super) const MARK: &str = "askgate.mark";
const MARK_MAGIC: &[u8; 8] = b"askgate1";
/// A store up to this size is read whole when it is opened, so that damage shows then and not at a tap.
const READ_WHOLE_BYTES: u64 = 64 * 1024 * 1024;
/// sled lets go of its file a moment after its last handle is dropped; this is how often that is waited for.
const LOCK_TRIES: u32 = 40;
const LOCK_PAUSE: Duration = Duration::from_millis(25);
/// What must fit on the disk before the blame for a failed opening goes to the data.
const ROOM_BYTES: usize = 1024 * 1024;

/// An open store. Not `Debug`: sled's handle would print what the store holds.
pub(super) struct Disk {
    db: Db,
    file: File,
    mark: File,
    recipe: Recipe,
}

/// What an open store says about itself; `None` if it is new.
pub(super) type Found = Option<(Counters, TokenKey)>;

impl Disk {
    /// Opens sled's files and reads as much of them as shows whether they are whole.
    pub(super) fn open(recipe: &Recipe) -> Result<(Self, Found), Trouble> {
        let blocked = |error: io::Error| Trouble::Blocked(error.to_string());
        let mark = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(recipe.path.join(MARK))
            .map_err(blocked)?;
        // Seen before sled opens the file, because sled would fill it.
        if noted(&mark).is_some_and(|commit| commit > 0) && size(&recipe.path.join("db")) == 0 {
            return Err(Trouble::Damaged("its file is empty or missing".to_owned()));
        }
        let db = match open_engine(recipe) {
            // A full disk makes sled fail in every way, also in those that look like damage.
            Err(Trouble::Damaged(why)) => return Err(no_room(&recipe.path).unwrap_or(Trouble::Damaged(why))),
            other => other?,
        };
        let file = File::options().read(true).write(true).open(recipe.path.join("db")).map_err(blocked)?;
        let disk = Self { db, file, mark, recipe: recipe.clone() };
        match disk.inspect() {
            Ok(found) => Ok((disk, found)),
            Err(trouble) => {
                disk.discard();
                Err(trouble)
            }
        }
    }

    /// Drops every handle; sled may panic in that, too.
    pub(super) fn discard(self) {
        if calm(|| {
            drop(self);
            Ok(())
        })
        .is_err()
        {
            tracing::warn!("the store's engine failed while it was closed");
        }
    }

    pub(super) const fn db(&self) -> &Db {
        &self.db
    }

    /// Applies the changes in one atomic batch and returns when they are on the disk.
    pub(super) fn write(&self, changes: &Changes) -> Result<(), Trouble> {
        let mut batch = Batch::default();
        for (key, value) in changes {
            match value {
                Some(value) => batch.insert(key.as_slice(), value.as_slice()),
                None => batch.remove(key.as_slice()),
            }
        }
        calm(|| self.db.apply_batch(batch))?;
        faults::point("store.batch-applied");
        self.sync()
    }

    /// Returns when all that was applied is on the disk.
    pub(super) fn sync(&self) -> Result<(), Trouble> {
        calm(|| self.db.flush())?;
        faults::point("store.flushed");
        self.recipe.sync.sync(&self.file).map_err(|error| Trouble::Blocked(error.to_string()))?;
        faults::point("store.synced");
        self.recipe.syncs.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// Notes the number of a durable group. A note that fails only makes a later check weaker.
    pub(super) fn note(&mut self, commit: u64) {
        let bytes = mark_bytes(commit);
        let noted = self.mark.seek(SeekFrom::Start(0)).and_then(|_| self.mark.write_all(&bytes));
        if let Err(error) = noted {
            tracing::warn!(%error, "the store's mark was not written; damage to the store may go unnoticed at the next start");
        }
    }

    /// Reads what the store says about itself, compares it with the mark, and looks for damage.
    fn inspect(&self) -> Result<Found, Trouble> {
        let counters: Option<Counters> = self.db.load(&key::counters()).map_err(trouble)?;
        let secret: Option<[u8; 32]> = self.db.load(&key::token_key()).map_err(trouble)?;
        let noted = noted(&self.mark).unwrap_or(0);
        let found = match (counters, secret) {
            (Some(counters), Some(secret)) => Some((counters, TokenKey::new(secret))),
            (None, None) if View::keys(&self.db, &[], Order::Up, 1).map_err(trouble)?.is_empty() => None,
            _ => return Err(Trouble::Damaged("its own numbers are missing".to_owned())),
        };
        let reached = found.as_ref().map_or(0, |(counters, _)| counters.commit);
        if reached < noted {
            return Err(Trouble::Damaged(format!("its last writes are missing: it ends at {reached}, not at {noted}")));
        }
        let kinds: &[&[u8]] = if size(&self.recipe.path.join("db")) <= READ_WHOLE_BYTES {
            &[&[]]
        } else {
            &[&[key::OPEN], &[key::DELIVERY_AT], &[key::NOTICE_OPEN]]
        };
        for prefix in kinds {
            calm(|| self.db.scan_prefix(prefix).try_for_each(|pair| pair.map(|_| ())))?;
        }
        self.db.open_asks(None).map_err(trouble)?;
        Ok(found)
    }
}

/// The number a mark holds, if it holds one.
fn noted(mut mark: &File) -> Option<u64> {
    let mut bytes = [0_u8; 20];
    mark.seek(SeekFrom::Start(0)).ok()?;
    mark.read_exact(&mut bytes).ok()?;
    let commit = u64::from_le_bytes(*bytes.get(8..16)?.first_chunk()?);
    (mark_bytes(commit) == bytes).then_some(commit)
}

fn size(path: &Path) -> u64 {
    path.metadata().map_or(0, |data| data.len())
}

fn mark_bytes(commit: u64) -> [u8; 20] {
    let mut bytes = [0_u8; 20];
    let number = commit.to_le_bytes();
    let sum = crc32fast::hash(&number).to_le_bytes();
    for (place, byte) in bytes.iter_mut().zip(MARK_MAGIC.iter().chain(&number).chain(&sum)) {
        *place = *byte;
    }
    bytes
}

fn trouble(unread: Unread) -> Trouble {
    match unread {
        Unread::Damaged(key) => Trouble::Damaged(format!("the record {} is not what was written", key::shown(&key))),
        Unread::Store(trouble) => trouble,
    }
}

fn open_engine(recipe: &Recipe) -> Result<Db, Trouble> {
    let mut tries = 0;
    loop {
        let config = Config::new()
            .path(&recipe.path)
            .cache_capacity(recipe.cache_bytes)
            .mode(Mode::LowSpace)
            // Durability is ours to make; a second syncing thread would only compete with it.
            .flush_every_ms(None);
        match calm(|| config.open()) {
            Err(Trouble::Locked) if tries < LOCK_TRIES => {
                tries += 1;
                thread::sleep(LOCK_PAUSE);
            }
            other => return other,
        }
    }
}

/// The trouble, if the disk does not take even a scratch file.
pub(super) fn no_room(path: &Path) -> Option<Trouble> {
    let scratch = path.join("askgate.room");
    let written = fs::write(&scratch, vec![0x5a; ROOM_BYTES]).and_then(|()| File::open(&scratch)?.sync_all());
    // Only there to be written.
    let _ = fs::remove_file(&scratch);
    written.err().map(|error| Trouble::Blocked(error.to_string()))
}

/// Bytes of all files of a directory; of what cannot be looked at, nothing is counted.
pub(super) fn bytes_below(path: &Path) -> u64 {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let bytes = |entry: fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => bytes_below(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    };
    entries.map(bytes).sum()
}

/// Syncs a directory, so that names made in it survive a power cut.
pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Syncs what a new store's directory holds, and the names: sled leaves its settings (`conf`) to chance, and a store whose
/// settings are torn does not open.
pub(super) fn sync_new_store(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            File::open(entry.path())?.sync_all()?;
        }
    }
    sync_directory(path)
}

/// The changes that write the ledger's own numbers.
pub(super) fn numbers(counters: &Counters) -> Changes {
    let head = encode(counters).ok().and_then(|values| values.into_iter().next());
    std::iter::once((key::counters(), head)).collect()
}

/// The first changes of a new store.
pub(super) fn first_changes(secret: &TokenKey, counters: &Counters) -> Changes {
    let mut changes = numbers(counters);
    let head = encode(secret.expose()).ok().and_then(|values| values.into_iter().next());
    changes.insert(key::token_key(), head);
    changes
}
