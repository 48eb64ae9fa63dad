//! When an answer may be given: never before the disk has been synced.

use std::fs::File;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use store::ledger::{Claimed, Ledger};
use store::record::DeliveryState;
use store::sled::{DiskSync, FileSync, Opened, Options, SledLedger};

use crate::support::{claim, is_claimed, key, new_ask, open, options};

/// Tells when a sync begins, and waits for leave.
#[derive(Debug)]
struct Gate {
    begun: Sender<()>,
    leave: Mutex<Receiver<()>>,
}

impl DiskSync for Gate {
    fn sync(&self, file: &File) -> io::Result<()> {
        self.begun.send(()).expect("the test listens");
        self.leave.lock().expect("no panic").recv().expect("the test gives leave");
        FileSync.sync(file)
    }
}

struct Gated {
    ledger: Arc<SledLedger>,
    begun: Receiver<()>,
    leave: Sender<()>,
}

/// A ledger with one recorded ask, whose further syncs wait for leave.
async fn gated(path: &std::path::Path) -> Gated {
    let ledger = open(path).ledger;
    ledger.record(new_ask("one")).await.expect("recorded");
    ledger.close().await;
    let (begun, heard) = channel();
    let (leave, given) = channel();
    let sync = Arc::new(Gate { begun, leave: Mutex::new(given) });
    let Opened { ledger, .. } = SledLedger::open(path, Options { sync, ..options() }).expect("opens");
    Gated { ledger: Arc::new(ledger), begun: heard, leave }
}

fn wait(begun: &Receiver<()>) {
    begun.recv_timeout(Duration::from_secs(10)).expect("a write is synced before it is answered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_answered_before_its_sync() {
    let root = tempfile::tempdir().expect("a directory");
    let gated = gated(root.path()).await;
    let before = gated.ledger.sequence();
    let ledger = Arc::clone(&gated.ledger);
    let tap = tokio::spawn(async move { claim(&*ledger, "one", "deny", 7).await });
    wait(&gated.begun);
    assert!(!tap.is_finished(), "the tap waits for the disk");
    assert_eq!(gated.ledger.sequence(), before, "the position is not durable yet");
    let ledger = Arc::clone(&gated.ledger);
    let loser = tokio::spawn(async move { claim(&*ledger, "one", "approve", 8).await });
    gated.leave.send(()).expect("the gate waits");
    assert!(matches!(tap.await.expect("no panic"), Ok(Claimed::Won(_))));
    assert!(gated.ledger.sequence() > before);
    assert!(matches!(loser.await.expect("no panic"), Ok(Claimed::Lost(_))), "a tap that writes nothing needs no sync");
    drop(gated.leave);
}

#[tokio::test]
async fn concurrent_writes_share_a_sync() {
    let root = tempfile::tempdir().expect("a directory");
    let gated = gated(root.path()).await;
    let spawn = |name: String| {
        let ledger = Arc::clone(&gated.ledger);
        tokio::spawn(async move { ledger.record(new_ask(&name)).await })
    };
    let mut tasks = vec![spawn("first".to_owned())];
    tokio::task::yield_now().await;
    wait(&gated.begun);
    tasks.extend((0..64).map(|number| spawn(format!("ask {number}"))));
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
    gated.leave.send(()).expect("the gate waits");
    wait(&gated.begun);
    assert_eq!(gated.ledger.syncs(), 1, "the first one went alone");
    gated.leave.send(()).expect("the gate waits");
    for task in tasks {
        task.await.expect("no panic").expect("recorded");
    }
    assert_eq!(gated.ledger.syncs(), 2, "64 that waited went together");
}

#[tokio::test]
async fn every_kind_of_write_is_synced_and_an_unchanged_one_is_not() {
    let root = tempfile::tempdir().expect("a directory");
    let ledger = open(root.path()).ledger;
    let mut seen = ledger.syncs();
    let mut synced = |what: &str, expected: bool| {
        let now = ledger.syncs();
        assert_eq!(now > seen, expected, "{what}");
        seen = now;
    };
    ledger.record(new_ask("one")).await.expect("recorded");
    synced("record", true);
    ledger.record(new_ask("one")).await.expect("known");
    synced("record again", false);
    claim(&ledger, "one", "approve", 7).await.expect("claimed");
    synced("claim", true);
    claim(&ledger, "one", "deny", 8).await.expect("lost");
    synced("a lost claim", false);
    ledger.probe().await.expect("writable");
    synced("probe", true);
    let mut delivery = ledger.deliveries(&key("one")).await.expect("readable").remove(0);
    ledger.save_delivery(delivery.clone()).await.expect("saved");
    synced("an unchanged delivery", false);
    delivery.state = DeliveryState::Sending { attempt: 1 };
    ledger.save_delivery(delivery).await.expect("saved");
    synced("a changed delivery", true);
    ledger.remember("name", Some("value".to_owned())).await.expect("kept");
    synced("remember", true);
    ledger.remember("name", Some("value".to_owned())).await.expect("kept");
    synced("remember the same", false);
}

/// Fails as often as it is told to.
#[derive(Debug, Default)]
struct Flaky(Mutex<u32>);

impl DiskSync for Flaky {
    fn sync(&self, file: &File) -> io::Result<()> {
        let mut left = self.0.lock().expect("no panic");
        if *left > 0 {
            *left -= 1;
            return Err(io::Error::other("Input/output error"));
        }
        FileSync.sync(file)
    }
}

async fn flaky(path: &std::path::Path) -> (SledLedger, Arc<Flaky>) {
    let sync = Arc::new(Flaky::default());
    let options = Options { sync: Arc::<Flaky>::clone(&sync), ..options() };
    let ledger = SledLedger::open(path, options).expect("opens").ledger;
    ledger.record(new_ask("one")).await.expect("recorded");
    (ledger, sync)
}

#[tokio::test]
async fn a_write_that_is_there_after_all_counts() {
    let root = tempfile::tempdir().expect("a directory");
    let (ledger, sync) = flaky(root.path()).await;
    // What an attempt to open on a full disk leaves behind must not keep the next one from working.
    std::fs::write(root.path().join("snap.FFFFFFFFFFFFFFFF.generating"), "half").expect("written");
    *sync.0.lock().expect("no panic") = 1;
    assert!(matches!(claim(&ledger, "one", "approve", 7).await, Ok(Claimed::Won(_))));
    assert!(is_claimed(&ledger, "one").await);
    drop(ledger);
    assert!(is_claimed(&open(root.path()).ledger, "one").await);
}

#[tokio::test]
async fn what_was_called_not_saved_never_surfaces() {
    let root = tempfile::tempdir().expect("a directory");
    let (ledger, sync) = flaky(root.path()).await;
    let sequence = ledger.sequence();
    *sync.0.lock().expect("no panic") = 3;
    let refused = claim(&ledger, "one", "approve", 7).await.expect_err("the disk fails");
    assert!(refused.to_string().contains("not saved: Input/output error"), "{refused}");
    assert_eq!(ledger.sequence(), sequence, "nothing became durable");
    let mut tries = 0;
    while ledger.probe().await.is_err() {
        tries += 1;
        assert!(tries < 2_000, "it goes on by itself");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!is_claimed(&ledger, "one").await, "undone");
    assert!(ledger.audit_trail(10).await.expect("readable").is_empty(), "with all that belonged to it");
    assert!(matches!(claim(&ledger, "one", "deny", 8).await, Ok(Claimed::Won(_))), "another tap may win now");
    drop(ledger);
    let ledger = open(root.path()).ledger;
    let record = ledger.ask(&key("one")).await.expect("readable").expect("there");
    assert_eq!(record.life.claim().expect("claimed").button.as_str(), "deny");
    assert!(record.seq > sequence);
}
