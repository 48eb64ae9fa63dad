//! The note of a group in doubt: what stood at its keys before, kept beside the store.
//!
//! When a write failed and the store cannot be opened again, its callers are told that nothing was saved while nobody knows
//! what reached the disk. Should the process end before that is known, this note tells the next start what to undo. It is
//! synced before anybody is told. Its room is taken in advance, so that a full disk does not stand in its way.
//!
//! It holds the ledger's numbers as of the doubt. A store whose own number of groups is greater has settled it: the write
//! that settles a doubt always has a greater one. So a note that was left behind does no harm.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::{Deserialize, Serialize};

use super::disk::{Disk, DiskSync, numbers};
use super::engine::Trouble;
use super::key::Key;
use super::txn::Counters;
use crate::token::TokenKey;

/// The note's name in the store's directory.
const NAME: &str = "askgate.doubt";
const MAGIC: &[u8; 8] = b"askgate?";
/// Magic, length of the text, checksum of the text.
const HEAD_BYTES: usize = 16;
/// Room taken in advance. A group of 64 taps needs a fifth of it; what does not fit needs free space.
const ROOM_BYTES: usize = 512 * 1024;

/// One key of a group that failed: what stood there before, and what the group wrote.
pub(super) struct Doubt {
    pub(super) key: Key,
    pub(super) before: Option<Vec<u8>>,
    pub(super) after: Option<Vec<u8>>,
}

/// The file that the note is written into.
pub(super) struct DoubtFile(File);

#[derive(Serialize, Deserialize)]
struct Note {
    counters: Counters,
    /// Keys and the values before, in base64.
    before: Vec<(String, Option<String>)>,
}

impl DoubtFile {
    /// Opens the file and takes its room. Whether it is new, so that it and its name have to be synced before it is relied on.
    pub(super) fn open(directory: &Path) -> io::Result<(Self, bool)> {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(directory.join(NAME))?;
        let there = file.metadata()?.len();
        if there < ROOM_BYTES as u64 {
            // Written, not only reserved: what is overwritten in place later needs no new block.
            let missing = usize::try_from(there).map_or(0, |there| ROOM_BYTES.saturating_sub(there));
            file.write_all_at(&vec![0; missing], there)?;
        }
        Ok((Self(file), there < ROOM_BYTES as u64))
    }

    /// Whether the file is there with its room, so that it may hold a note.
    pub(super) fn is_there(directory: &Path) -> bool {
        directory.join(NAME).metadata().is_ok_and(|data| data.len() >= ROOM_BYTES as u64)
    }

    /// Writes the note and returns when it is on the disk.
    pub(super) fn write(&self, counters: Counters, doubts: &[Doubt], sync: &dyn DiskSync) -> io::Result<()> {
        let before = doubts.iter().map(|doubt| {
            (STANDARD_NO_PAD.encode(&doubt.key), doubt.before.as_ref().map(|value| STANDARD_NO_PAD.encode(value)))
        });
        let text = serde_json::to_vec(&Note { counters, before: before.collect() }).map_err(io::Error::from)?;
        let length = u32::try_from(text.len()).map_err(io::Error::other)?;
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&crc32fast::hash(&text).to_le_bytes());
        bytes.extend_from_slice(&text);
        self.0.write_all_at(&bytes, 0)?;
        sync.sync_doubt(&self.0)
    }

    /// Forgets the note. One that stays is recognised as settled.
    pub(super) fn clear(&self) {
        if let Err(error) = self.0.write_all_at(&[0; HEAD_BYTES], 0) {
            tracing::debug!(%error, "the note of a settled doubt stays");
        }
    }

    /// Undoes the group that a note names, unless the store has settled it; returns what the store says about itself then.
    pub(super) fn undo(
        &self,
        disk: &mut Disk,
        (counters, secret): (Counters, TokenKey),
    ) -> Result<(Counters, TokenKey), Trouble> {
        let note = self.read().map_err(|error| Trouble::Blocked(format!("the note of a doubt: {error}")))?;
        let Some(note) = note.filter(|note| note.counters.commit >= counters.commit) else {
            return Ok((counters, secret));
        };
        let mut counters = counters.ahead_of_both(note.counters);
        counters.commit += 1;
        let mut changes = numbers(&counters);
        for (key, before) in note.before {
            changes.insert(decoded(&key)?, before.as_deref().map(decoded).transpose()?);
        }
        disk.write(&changes)?;
        disk.note(counters.commit);
        faults::point("store.doubt-undone");
        self.clear();
        tracing::warn!("a write that had been refused before the store was opened is undone");
        Ok((counters, secret))
    }

    /// The note, if there is a whole one. One that is not whole was never synced, so nobody was told anything.
    fn read(&self) -> io::Result<Option<Note>> {
        let mut head = [0; HEAD_BYTES];
        self.0.read_exact_at(&mut head, 0)?;
        let [m0, m1, m2, m3, m4, m5, m6, m7, l0, l1, l2, l3, s0, s1, s2, s3] = head;
        if [m0, m1, m2, m3, m4, m5, m6, m7] != *MAGIC {
            return Ok(None);
        }
        let length = u64::from(u32::from_le_bytes([l0, l1, l2, l3]));
        if length + HEAD_BYTES as u64 > self.0.metadata()?.len() {
            return Ok(None);
        }
        let mut text = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        self.0.read_exact_at(&mut text, HEAD_BYTES as u64)?;
        let whole = crc32fast::hash(&text) == u32::from_le_bytes([s0, s1, s2, s3]);
        Ok(whole.then(|| serde_json::from_slice(&text).ok()).flatten())
    }
}

fn decoded(text: &str) -> Result<Vec<u8>, Trouble> {
    STANDARD_NO_PAD.decode(text).map_err(|_| Trouble::Damaged("the note of a doubt".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::super::disk::FileSync;
    use super::*;

    fn doubt(before: Option<&[u8]>) -> Doubt {
        Doubt { key: vec![b'a', 0xff], before: before.map(<[u8]>::to_vec), after: None }
    }

    #[test]
    fn a_note_is_read_as_it_was_written_and_forgotten() {
        let root = tempfile::tempdir().expect("a directory");
        let (file, new) = DoubtFile::open(root.path()).expect("opens");
        assert!(new);
        assert!(file.read().expect("readable").is_none());
        let counters = Counters { commit: 7, ..Counters::default() };
        file.write(counters, &[doubt(Some(&[0, 1])), doubt(None)], &FileSync).expect("written");
        assert_eq!(file.0.metadata().expect("there").len(), ROOM_BYTES as u64, "it needs no more room");
        let (again, new) = DoubtFile::open(root.path()).expect("opens");
        assert!(!new);
        let note = again.read().expect("readable").expect("a note");
        assert_eq!(note.counters, counters);
        assert_eq!(decoded(&note.before[0].0), Ok(vec![b'a', 0xff]));
        assert_eq!(note.before[0].1.as_deref().map(decoded), Some(Ok(vec![0, 1])));
        assert_eq!(note.before[1].1, None);
        file.clear();
        assert!(file.read().expect("readable").is_none());
    }

    #[test]
    fn half_a_note_is_none() {
        let root = tempfile::tempdir().expect("a directory");
        let (file, new) = DoubtFile::open(root.path()).expect("opens");
        assert!(new);
        file.write(Counters::default(), &[doubt(Some(&[3; 400]))], &FileSync).expect("written");
        file.0.write_all_at(&[0; 8], 100).expect("written");
        assert!(file.read().expect("readable").is_none());
        file.0.write_all_at(&u32::MAX.to_le_bytes(), 8).expect("written");
        assert!(file.read().expect("readable").is_none());
    }
}
