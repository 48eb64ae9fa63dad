//! The store's directory: our lock, files left over, and setting a damaged store aside.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use asks::life::UnixMillis;

use super::disk::{MARK, sync_directory};
use crate::ledger::LedgerError;

/// Our lock's name in the store's directory. It stays there when the rest is set aside, so the lock is never let go.
const LOCK: &str = "askgate.lock";
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// The store's directory, locked for this process until it is dropped.
#[derive(Debug)]
pub(super) struct Home {
    pub(super) path: PathBuf,
    _lock: File,
}

impl Home {
    /// Makes the directory if it is missing and takes its lock, waiting for another process at most so long.
    pub(super) fn take(path: &Path, wait: Duration) -> Result<Self, LedgerError> {
        let failed = |error: io::Error| LedgerError::Unreadable { why: format!("{}: {error}", path.display()) };
        if !path.is_dir() {
            fs::create_dir_all(path).map_err(failed)?;
            sync_parent(path).map_err(failed)?;
        }
        let lock = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path.join(LOCK))
            .map_err(failed)?;
        let mut left = wait;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Self { path: path.to_owned(), _lock: lock }),
                Err(TryLockError::WouldBlock) if left > Duration::ZERO => {
                    let pause = LOCK_PAUSE.min(left);
                    thread::sleep(pause);
                    left = left.saturating_sub(pause);
                }
                Err(TryLockError::WouldBlock) => return Err(LedgerError::InUse { path: path.display().to_string() }),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
    }

    /// Moves everything but our lock out of the directory, byte for byte, and tells where to.
    pub(super) fn set_aside(&self, now: UnixMillis) -> Result<PathBuf, LedgerError> {
        let mut names = self.names()?;
        // The mark goes last: while it is there, a start after a crash in the middle still sees that something is missing.
        names.sort_by_key(|name| name == MARK);
        self.move_out(&names, now)
    }

    /// Moves a snapshot that sled was still writing when it ended out of the way. sled would take it for the newest one and
    /// refuse to open; without it nothing is missing, because the one before is removed only after it has its final name.
    pub(super) fn set_leftovers_aside(&self, now: UnixMillis) -> Result<Option<PathBuf>, LedgerError> {
        let leftovers: Vec<OsString> = self.names()?.into_iter().filter(is_leftover).collect();
        if leftovers.is_empty() { Ok(None) } else { self.move_out(&leftovers, now).map(Some) }
    }

    /// Deletes what sled was still writing when this process itself gave it up.
    pub(super) fn drop_leftovers(path: &Path) {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            if is_leftover(&entry.file_name()) {
                // If it stays, opening fails and is tried again.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn names(&self) -> Result<Vec<OsString>, LedgerError> {
        let read = || -> io::Result<Vec<OsString>> {
            fs::read_dir(&self.path)?.map(|entry| entry.map(|entry| entry.file_name())).collect()
        };
        let mut names = read().map_err(|error| self.failed(&error))?;
        names.retain(|name| name != LOCK && !name.to_string_lossy().starts_with("corrupt-"));
        Ok(names)
    }

    fn move_out(&self, names: &[OsString], now: UnixMillis) -> Result<PathBuf, LedgerError> {
        let seconds = now.div_euclid(1000);
        if let Some(name) = self.path.file_name() {
            let mut base = name.to_owned();
            base.push(format!(".corrupt-{seconds}"));
            let target = fresh_name(&self.path.with_file_name(base));
            // Not possible where the directory is a mount point or its parent is read-only.
            if self.move_all(names, &target).is_ok() {
                return Ok(target);
            }
        }
        let target = fresh_name(&self.path.join(format!("corrupt-{seconds}")));
        self.move_all(names, &target).map_err(|error| self.failed(&error))?;
        Ok(target)
    }

    fn move_all(&self, names: &[OsString], target: &Path) -> io::Result<()> {
        fs::create_dir(target)?;
        for name in names {
            if let Err(error) = fs::rename(self.path.join(name), target.join(name)) {
                // Leaves no empty directory behind; one with files in it stays.
                let _ = fs::remove_dir(target);
                return Err(error);
            }
        }
        // The directory they came from needs no sync of its own: what comes back is set aside again.
        sync_directory(target)?;
        sync_parent(target)
    }

    fn failed(&self, error: &io::Error) -> LedgerError {
        LedgerError::Unreadable { why: format!("{}: it cannot be set aside: {error}", self.path.display()) }
    }
}

fn is_leftover(name: &OsString) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("snap.") && name.ends_with(".generating")
}

fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync_directory(parent),
        _ => sync_directory(Path::new(".")),
    }
}

/// The path itself, or with the first number behind it that is free.
fn fresh_name(path: &Path) -> PathBuf {
    let mut candidate = path.to_owned();
    let mut number = 2_u32;
    while candidate.exists() {
        let mut name = path.as_os_str().to_owned();
        name.push(format!("-{number}"));
        candidate = PathBuf::from(name);
        number = number.saturating_add(1);
    }
    candidate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_aside_keeps_its_bytes_and_never_overwrites() {
        let root = tempfile::tempdir().expect("a directory");
        let path = root.path().join("data");
        let home = Home::take(&path, Duration::ZERO).expect("free");
        for round in ["first", "second"] {
            fs::write(path.join("db"), round).expect("written");
            let aside = home.set_aside(5_999).expect("moved");
            assert!(aside.to_string_lossy().contains("data.corrupt-5"));
            assert_eq!(fs::read_to_string(aside.join("db")).expect("there"), round);
        }
        assert_eq!(fs::read_to_string(root.path().join("data.corrupt-5/db")).expect("there"), "first");
        assert!(path.join(LOCK).exists(), "the lock is not let go");
    }

    #[test]
    fn a_lock_is_held_against_everybody_else() {
        let root = tempfile::tempdir().expect("a directory");
        let home = Home::take(root.path(), Duration::ZERO).expect("free");
        let refused = Home::take(root.path(), Duration::from_millis(60)).expect_err("held");
        assert!(matches!(refused, LedgerError::InUse { .. }));
        drop(home);
        Home::take(root.path(), Duration::ZERO).expect("free again");
    }
}
