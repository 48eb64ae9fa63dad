//! Damaged directories and held locks (cases C54 and C18).

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use store::ledger::{Ledger, LedgerError};
use store::sled::{Options, SledLedger};
use tempfile::TempDir;

use crate::support::{claim, claim_all, is_claimed, key, open, options, set_aside_beside};

type Damage = fn(&Path);

const ASKS: usize = 60;

fn names() -> Vec<String> {
    (0..ASKS).map(|number| format!("ask {number}")).collect()
}

/// A closed store with claims, and the directory it is in. It was opened twice, so it has a snapshot.
async fn a_store() -> (TempDir, PathBuf) {
    let root = tempfile::tempdir().expect("a directory");
    let path = root.path().join("data");
    let ledger = Arc::new(open(&path).ledger);
    claim_all(&ledger, &names()[..ASKS / 2]).await;
    ledger.close().await;
    let ledger = Arc::new(open(&path).ledger);
    claim_all(&ledger, &names()[ASKS / 2..]).await;
    ledger.close().await;
    (root, path)
}

fn copied(from: &Path, root: &TempDir, name: &str) -> PathBuf {
    let to = root.path().join(name);
    fs::create_dir_all(to.join("blobs")).expect("made");
    for entry in from.read_dir().expect("readable") {
        let entry = entry.expect("an entry");
        if entry.file_type().expect("a type").is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).expect("copied");
        }
    }
    to
}

fn snapshot(path: &Path) -> PathBuf {
    let names = path.read_dir().expect("readable").map(|entry| entry.expect("an entry").path());
    names.into_iter().find(|path| path.to_string_lossy().contains("snap.")).expect("a snapshot")
}

/// All claims are there, or the store was set aside and begins empty: nothing in between. Says which.
async fn whole_or_set_aside(path: &Path, what: &str) -> bool {
    let opened = SledLedger::open(path, options()).unwrap_or_else(|error| panic!("{what}: {error}"));
    let ledger = opened.ledger;
    let mut there = 0;
    for name in names() {
        there += usize::from(is_claimed(&ledger, &name).await);
    }
    assert_eq!(opened.fresh, there == 0, "{what}");
    assert!(there == ASKS || there == 0, "{what}: {there} of {ASKS} are there");
    assert_eq!(opened.set_aside.is_some(), opened.fresh, "{what}");
    assert_eq!(set_aside_beside(path).iter().any(|name| name.starts_with(&file_name(path))), opened.fresh, "{what}");
    ledger.probe().await.unwrap_or_else(|error| panic!("{what}: it does not work: {error}"));
    ledger.close().await;
    assert!(SledLedger::open(path, options()).expect("opens again").set_aside.is_none(), "{what}: only once");
    opened.fresh
}

fn file_name(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_store_is_set_aside_and_a_new_one_works() {
    let (root, store) = a_store().await;
    let variants: [(&str, Damage); 8] = [
        ("zero-length-db", |path| drop(File::create(path.join("db")).expect("emptied"))),
        ("no-db", |path| fs::remove_file(path.join("db")).expect("removed")),
        ("half-a-db", |path| {
            let file = File::options().write(true).open(path.join("db")).expect("opens");
            file.set_len(file.metadata().expect("there").len() / 2).expect("cut");
        }),
        ("rubbish-db", |path| fs::write(path.join("db"), vec![0x41; 600_000]).expect("written")),
        ("no-db-no-snapshot", |path| {
            fs::remove_file(path.join("db")).expect("removed");
            fs::remove_file(snapshot(path)).expect("removed");
        }),
        ("half-a-snapshot", |path| {
            let file = File::options().write(true).open(snapshot(path)).expect("opens");
            file.set_len(file.metadata().expect("there").len() / 2).expect("cut");
        }),
        ("empty-snapshot", |path| drop(File::create(snapshot(path)).expect("emptied"))),
        ("rubbish-conf", |path| fs::write(path.join("conf"), "x".repeat(100)).expect("written")),
    ];
    for (name, damage) in variants {
        let path = copied(&store, &root, name);
        damage(&path);
        assert!(whole_or_set_aside(&path, name).await, "{name} is damage");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bytes_of_a_damaged_store_are_kept() {
    let (_root, path) = a_store().await;
    let file = File::options().write(true).open(snapshot(&path)).expect("opens");
    file.set_len(40).expect("cut");
    let before = fs::read(path.join("db")).expect("readable");
    let aside = open(&path).set_aside.expect("set aside");
    assert!(file_name(&aside).starts_with("data.corrupt-1700000000"), "{}", aside.display());
    assert!(fs::read(aside.join("db")).expect("kept") == before);
    assert_eq!(fs::read(snapshot(&aside)).expect("kept").len(), 40);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_half_written_snapshot_costs_nothing() {
    let (_root, path) = a_store().await;
    let stray = path.join("snap.FFFFFFFFFFFFFFFF.generating");
    fs::write(&stray, "half").expect("written");
    let opened = open(&path);
    assert!(!opened.fresh);
    let aside = opened.set_aside.expect("the file is set aside");
    assert_eq!(fs::read_to_string(aside.join("snap.FFFFFFFFFFFFFFFF.generating")).expect("kept"), "half");
    for name in names() {
        assert!(is_claimed(&opened.ledger, &name).await, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_byte_is_harmless_or_noticed() {
    let (root, store) = a_store().await;
    let size = fs::metadata(store.join("db")).expect("there").len();
    let written =
        fs::read(store.join("db")).expect("readable").iter().rposition(|&byte| byte != 0).expect("data") as u64;
    let control = copied(&store, &root, "control");
    assert!(!whole_or_set_aside(&control, "an undamaged copy").await);
    let mut noticed = 0;
    for number in 0..24 {
        let at = (number * 7_919 + 13) * written / (24 * 7_919) % size;
        let name = format!("flip-{at}");
        let path = copied(&store, &root, &name);
        let mut bytes = fs::read(path.join("db")).expect("readable");
        bytes[usize::try_from(at).expect("small")] ^= 0x55;
        fs::write(path.join("db"), bytes).expect("written");
        noticed += u32::from(whole_or_set_aside(&path, &name).await);
        fs::remove_dir_all(&path).expect("removed");
    }
    println!("{noticed} of 24 flipped bytes hit live data");
}

#[tokio::test]
async fn a_held_lock_is_waited_for_and_nothing_is_set_aside() {
    let (_root, path) = a_store().await;
    let short = Options { lock_wait: Duration::from_millis(120), ..options() };
    let first = open(&path);
    let refused = SledLedger::open(&path, short.clone()).expect_err("in use");
    assert!(matches!(refused, LedgerError::InUse { .. }), "{refused}");
    // A process that goes while the next one waits: a redeploy.
    let waiting = path.clone();
    let next = tokio::task::spawn_blocking(move || SledLedger::open(&waiting, options()));
    first.ledger.close().await;
    let next = next.await.expect("no panic").expect("its turn");
    assert!(!next.fresh && next.set_aside.is_none());
    next.ledger.close().await;
    // Somebody who knows nothing of our lock, but has sled's.
    let file = File::open(path.join("db")).expect("opens");
    file.lock().expect("locked");
    let refused = SledLedger::open(&path, short).expect_err("in use");
    assert!(matches!(refused, LedgerError::InUse { .. }), "{refused}");
    drop(file);
    assert!(set_aside_beside(&path).is_empty());
    assert!(is_claimed(&open(&path).ledger, "ask 1").await);
}

#[tokio::test]
async fn what_is_no_damage_is_not_set_aside() {
    let root = tempfile::tempdir().expect("a directory");
    let path = root.path().join("file");
    fs::write(&path, "not a directory").expect("written");
    assert!(matches!(SledLedger::open(&path, options()), Err(LedgerError::Unreadable { .. })));
    assert_eq!(fs::read_to_string(&path).expect("kept"), "not a directory");
    // An empty directory, such as a volume that was just made, is a new store.
    let volume = root.path().join("volume");
    fs::create_dir(&volume).expect("made");
    let opened = open(&volume);
    assert!(opened.fresh && opened.set_aside.is_none());
    assert!(set_aside_beside(&volume).is_empty());
}

/// Changes a byte within one record of a kind, behind the engine's back.
fn spoil(path: &Path, kind: &[u8]) {
    // sled lets go of its file a moment after it was closed.
    let mut tries = 0;
    let db = loop {
        match sled::open(path) {
            Ok(db) => break db,
            Err(error) => assert!(tries < 200, "{error}"),
        }
        tries += 1;
        std::thread::sleep(Duration::from_millis(10));
    };
    let mut entries = db.scan_prefix(kind).map(|pair| pair.expect("readable"));
    let (key, value) = entries.find(|(_, value)| value.len() > 20).expect("a record");
    let mut value = value.to_vec();
    let middle = value.len() / 2;
    value[middle] ^= 1;
    db.insert(key, value).expect("written");
    db.flush().expect("written");
}

#[tokio::test]
async fn one_damaged_record_is_left_out_and_reported() {
    let (_root, path) = a_store().await;
    // An ask's own key is a letter and a digest.
    spoil(&path, b"a");
    let opened = open(&path);
    assert!(!opened.fresh && opened.set_aside.is_none(), "one record is not the store");
    assert_eq!(opened.ledger.open_asks(None).await.expect("readable").len(), ASKS - 1);
    assert_eq!(opened.ledger.recent_asks(1_000).await.expect("readable").len(), ASKS - 1);
    let mut unreadable = 0;
    for name in names() {
        match opened.ledger.ask(&key(&name)).await {
            Err(LedgerError::Unreadable { why }) => {
                assert!(!why.contains("todos"), "the content is not told");
                let tap = claim(&opened.ledger, &name, "approve", 7).await;
                assert!(matches!(tap, Err(LedgerError::Unreadable { .. })), "{tap:?}");
                unreadable += 1;
            }
            read => assert!(read.expect("readable").is_some()),
        }
    }
    assert_eq!(unreadable, 1);
    opened.ledger.probe().await.expect("the others go on");
    opened.ledger.close().await;
    let problems = store::sled::offline::verify(&path).expect("readable").problems;
    assert!(problems.iter().any(|problem| problem.contains("is damaged")), "{problems:?}");
}

#[tokio::test]
async fn nothing_secret_is_printed() {
    let (_root, path) = a_store().await;
    let opened = open(&path);
    opened.ledger.remember("ntfy", Some("my-secret-topic".to_owned())).await.expect("kept");
    let printed = format!("{opened:?} {:?} {:?}", options(), opened.ledger.token_key());
    assert!(!printed.contains("secret") && !printed.contains("7, 7"), "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn linked_accounts_come_back_from_an_export() {
    let (root, path) = a_store().await;
    let ledger = open(&path).ledger;
    for number in 0..20 {
        let link = format!("{{\"place\":\"telegram:{number}\"}}");
        ledger.remember(&format!("linked:{number}"), Some(link)).await.expect("kept");
    }
    let links = ledger.recall_all("linked:").await.expect("readable");
    ledger.close().await;
    drop(ledger);
    let mut exported = Vec::new();
    store::sled::offline::export(&path, &mut exported).expect("exported");

    // The store dies, and a new one begins beside it; the operator reads the export into an empty one.
    fs::write(path.join("db"), vec![0x41; 600_000]).expect("written");
    let opened = open(&path);
    assert!(opened.fresh && opened.set_aside.is_some());
    assert!(opened.ledger.recall_all("linked:").await.expect("readable").is_empty());
    opened.ledger.close().await;
    let rescued = root.path().join("rescued");
    store::sled::offline::import(&rescued, exported.as_slice()).expect("imported");
    let opened = open(&rescued);
    assert!(!opened.fresh && opened.set_aside.is_none());
    assert_eq!(opened.ledger.recall_all("linked:").await.expect("readable"), links);
    assert!(is_claimed(&opened.ledger, "ask 1").await, "with all that was exported");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_record_does_not_keep_the_others_from_an_export() {
    let (_root, path) = a_store().await;
    let ledger = open(&path).ledger;
    for number in 0..20 {
        ledger.remember(&format!("linked:{number}"), Some("x".to_owned())).await.expect("kept");
    }
    ledger.close().await;
    drop(ledger);
    spoil(&path, b"v");
    let mut lines = Vec::new();
    store::sled::offline::export(&path, &mut lines).expect("exported");
    let text = String::from_utf8(lines).expect("text");
    assert_eq!(text.lines().filter(|line| line.contains("linked:")).count(), 19);
    assert_eq!(text.lines().filter(|line| line.contains("\"kind\":\"ask\"")).count(), ASKS);
}
