//! The ledger off-line: checking it, writing it out as JSON lines, reading it back.
//!
//! An export holds everything, the key that tap tokens are made under and every ntfy topic included: **it is as secret as
//! the store itself.** Tokens are in it as hashes only. It is the way to another store or another version.

use std::io::{self, BufRead, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::disk::{Disk, FileSync, Found, Recipe, first_changes, sync_new_store};
use super::engine::Trouble;
use super::key::{self, AskId, Key};
use super::place::Home;
use super::txn::{Counters, Group, Txn};
use super::view::{Named, Order, Unread, View};
use super::{ops, refused, undo_doubts};
use crate::ledger::LedgerError;
use crate::record::{AskRecord, AuditLine, Delivery, Notice, TokenRecord};
use crate::token::{TokenHash, TokenKey};

pub use self::verify::{Report, verify};

mod verify;

/// Lines that are written to a new store in one batch.
const BATCH_LINES: usize = 200;
const FORMAT: u32 = 1;

/// Why an export or an import did not work.
#[derive(Debug, thiserror::Error)]
pub enum OfflineError {
    /// The store cannot be opened, read or written.
    #[error(transparent)]
    Store(#[from] LedgerError),
    /// The export could not be written, or the file with it not be read.
    #[error("the export cannot be written or read: {0}")]
    File(#[from] io::Error),
    /// A line that is no line of an export.
    #[error("line {number} is no line of an export of this version ({why}); nothing after it was imported")]
    Line {
        /// Its number, from 1 on.
        number: usize,
        /// What is wrong, without the line's content.
        why: String,
    },
    /// The store has records already.
    #[error("the store is not empty; import into a store.path where nothing is yet")]
    NotEmpty,
}

/// One line of an export.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
enum Line {
    Askgate { format: u32 },
    TokenKey { key: String },
    Counters { counters: Counters },
    Ask { record: Box<AskRecord> },
    Delivery { record: Delivery },
    Notice { record: Notice },
    Token { hash: String, record: TokenRecord },
    Value { name: String, value: String },
    Audit { number: u64, record: AuditLine },
}

/// Writes every record as a line of JSON and returns how many there were. Damaged records are left out and logged.
///
/// The store must not be in use. What is written is secret; see the module's text.
///
/// # Errors
/// If the store is in use or damaged, or the lines cannot be written.
pub fn export(path: &Path, mut out: impl Write) -> Result<usize, OfflineError> {
    let (_home, disk, found) = open_existing(path)?;
    let outcome = found
        .ok_or_else(|| OfflineError::Store(LedgerError::Unreadable { why: "the store is empty".to_owned() }))
        .and_then(|(counters, secret)| export_from(&disk, counters, &secret, &mut out));
    disk.discard();
    outcome
}

fn export_from(
    disk: &Disk,
    counters: Counters,
    secret: &TokenKey,
    out: &mut impl Write,
) -> Result<usize, OfflineError> {
    let mut count = 0;
    let mut put = |line: &Line| -> Result<(), OfflineError> {
        serde_json::to_writer(&mut *out, line).map_err(io::Error::from)?;
        out.write_all(b"\n")?;
        count += 1;
        Ok(())
    };
    put(&Line::Askgate { format: FORMAT })?;
    put(&Line::TokenKey { key: STANDARD.encode(secret.expose()) })?;
    put(&Line::Counters { counters })?;
    let db = disk.db();
    // Asks first: what follows is placed by them when it is read back.
    for kind in [key::ASK, key::DELIVERY, key::NOTICE, key::TOKEN, key::VALUE, key::AUDIT] {
        for entry in whole_keys(db, kind).map_err(LedgerError::from)? {
            if let Some(line) = line_of(db, kind, &entry).map_err(LedgerError::from)? {
                put(&line)?;
            }
        }
    }
    out.flush()?;
    Ok(count)
}

fn line_of(view: &impl View, kind: u8, entry: &[u8]) -> Result<Option<Line>, Unread> {
    Ok(match kind {
        key::ASK => view.load_or_skip(entry)?.map(|record| Line::Ask { record: Box::new(record) }),
        key::DELIVERY => view.load_or_skip(entry)?.map(|record| Line::Delivery { record }),
        key::NOTICE => view.load_or_skip(entry)?.map(|record| Line::Notice { record }),
        key::TOKEN => {
            let hash = STANDARD.encode(entry.split_first().map_or(&[][..], |(_, hash)| hash));
            view.load_or_skip(entry)?.map(|record| Line::Token { hash, record })
        }
        key::VALUE => view.load_or_skip(entry)?.map(|Named { name, value }| Line::Value { name, value }),
        key::AUDIT => {
            let number = key::last_number(entry).unwrap_or_default();
            view.load_or_skip(entry)?.map(|record| Line::Audit { number, record })
        }
        _ => None,
    })
}

/// Reads an export into a store that is empty or missing, and returns how many lines there were.
///
/// The store's own numbers are written last. So an import that was interrupted leaves a store that is set aside at the next
/// start, and never half of one.
///
/// # Errors
/// If the store has records, a line is not understood, or something cannot be read or written.
pub fn import(path: &Path, input: impl BufRead) -> Result<usize, OfflineError> {
    let home = Home::take(path, Duration::ZERO)?;
    let (mut disk, found) = Disk::open(&recipe(path)).map_err(|trouble| refused(path, trouble))?;
    let outcome = if found.is_some() { Err(OfflineError::NotEmpty) } else { import_into(&mut disk, path, input) };
    disk.discard();
    drop(home);
    outcome
}

fn import_into(disk: &mut Disk, path: &Path, input: impl BufRead) -> Result<usize, OfflineError> {
    let failed = |trouble: Trouble| OfflineError::Store(refused(path, trouble));
    let mut secret = None;
    let mut counters = Counters { commit: 1, ..Counters::default() };
    let mut group = Group::after(counters);
    let mut number = 0;
    // The transaction needs a key although no line of an export makes it derive a token.
    let no_secret = TokenKey::new([0; 32]);
    for line in input.lines() {
        number += 1;
        let bad = |why: String| OfflineError::Line { number, why };
        let line: Line = serde_json::from_str(&line?).map_err(|error| bad(format!("column {}", error.column())))?;
        if (number == 1) != matches!(line, Line::Askgate { .. }) {
            return Err(bad("the first line, and only that, names the format".to_owned()));
        }
        match line {
            Line::Askgate { format: FORMAT } => {}
            Line::Askgate { format } => return Err(bad(format!("format {format}, not {FORMAT}"))),
            Line::TokenKey { key } => {
                let bytes = STANDARD.decode(key).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
                secret = Some(TokenKey::new(bytes.ok_or_else(|| bad("no key of 32 bytes".to_owned()))?));
            }
            Line::Counters { counters: given } => counters = counters.ahead_of_both(given),
            record => {
                let mut txn = Txn::new(disk.db(), &mut group, &no_secret);
                counters = counters.ahead_of_both(take_in(&mut txn, record).map_err(OfflineError::Store)?);
                txn.keep();
            }
        }
        if number % BATCH_LINES == 0 {
            disk.write(&group.changes).map_err(failed)?;
            group = Group::after(counters);
        }
    }
    let Some(secret) = secret else {
        return Err(OfflineError::Line { number, why: "the end, and no line had the token key".to_owned() });
    };
    disk.write(&group.changes).map_err(failed)?;
    disk.write(&first_changes(&secret, &counters)).map_err(failed)?;
    disk.note(counters.commit);
    sync_new_store(path)?;
    Ok(number)
}

/// Writes one record of an export; the numbers it shows as given out.
fn take_in(txn: &mut Txn<'_>, line: Line) -> Result<Counters, LedgerError> {
    let mut seen = Counters::default();
    match line {
        Line::Ask { record } => {
            seen.seq = record.seq.0;
            ops::put_ask(txn, None, &record)?;
        }
        Line::Delivery { record } => {
            seen.delivery = record.id.0;
            let finished = txn.ask(AskId::of(&record.ask))?.is_none_or(|ask| ask.finished);
            ops::put_delivery(txn, &record, finished)?;
        }
        Line::Notice { record } => {
            seen.notice = record.id.0;
            ops::put_notice(txn, &record)?;
        }
        Line::Token { hash, record } => {
            let bytes = STANDARD.decode(hash).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
            let hash =
                bytes.ok_or_else(|| LedgerError::Unreadable { why: "a token's hash has 32 bytes".to_owned() })?;
            txn.save(&key::token(&TokenHash(hash)), &record)?;
        }
        Line::Value { name, value } => txn.save(&key::value(&name), &Named { name: name.clone(), value })?,
        Line::Audit { number, record } => {
            seen.audit = number;
            txn.save(&key::audit(number), &record)?;
        }
        Line::Askgate { .. } | Line::TokenKey { .. } | Line::Counters { .. } => {}
    }
    Ok(seen)
}

fn recipe(path: &Path) -> Recipe {
    Recipe { path: path.to_owned(), cache_bytes: 16 * 1024 * 1024, sync: Arc::new(FileSync), syncs: Arc::default() }
}

/// Opens a store that is there, for reading. Nothing damaged is set aside: that is left to the service's next start.
fn open_existing(path: &Path) -> Result<(Home, Disk, Found), LedgerError> {
    if !path.join("db").is_file() {
        return Err(LedgerError::Unreadable { why: format!("{}: there is no store", path.display()) });
    }
    let home = Home::take(path, Duration::ZERO)?;
    // The directory's own time serves for the name: it changed when the half-written file was made.
    let changed = path.metadata().and_then(|data| data.modified()).ok();
    let since = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    home.set_leftovers_aside(i64::try_from(since.as_millis()).unwrap_or_default())?;
    let (mut disk, found) = Disk::open(&recipe(path)).map_err(|trouble| refused(path, trouble))?;
    let found = match found {
        Some(found) => Some(undo_doubts(&mut disk, path, found).map_err(|trouble| refused(path, trouble))?.1),
        None => None,
    };
    Ok((home, disk, found))
}

fn whole_keys(view: &impl View, kind: u8) -> Result<Vec<Key>, Unread> {
    let mut keys = view.keys(&[kind], Order::Up, usize::MAX)?;
    keys.retain(|key| key::is_whole(key));
    Ok(keys)
}
