//! The store does not grow with what is over (case C56), and large values stay out of files of their own.

use std::path::Path;
use std::sync::Arc;

use asks::life::{Life, Outcome};
use store::ledger::{Claimed, Ledger, Move, Moved};
use store::record::{Delivery, DeliveryState};
use store::sled::SledLedger;

use crate::support::{claim, key, new_ask, open, tap};

fn size(path: &Path) -> u64 {
    let entries = path.read_dir().expect("readable").map(|entry| entry.expect("an entry"));
    entries
        .map(|entry| {
            let data = entry.metadata().expect("there");
            if data.is_dir() { size(&entry.path()) } else { data.len() }
        })
        .sum()
}

/// One ask from its record to its end.
async fn whole_life(ledger: &SledLedger, name: &str) {
    ledger.record(new_ask(name)).await.expect("recorded");
    let Claimed::Won(won) = claim(ledger, name, "approve", 7).await.expect("claimed") else { panic!("{name}") };
    let step = Move {
        key: won.key.clone(),
        expect: won.seq,
        life: Life::Settled { outcome: Outcome::Ours { claim: tap("approve", 7), error: None } },
        kill_buttons: Vec::new(),
        unused: false,
        notices: Vec::new(),
        at: 6,
        audit: None,
    };
    assert!(matches!(ledger.advance(step).await, Ok(Moved::Done(..))));
    for delivery in ledger.deliveries(&won.key).await.expect("readable") {
        ledger.save_delivery(Delivery { state: DeliveryState::Dropped, ..delivery }).await.expect("saved");
    }
    assert!(ledger.finish(&won.key).await.expect("saved"), "{name}");
}

/// Lives that the test runs, and how many asks are alive at a time.
const LIVES: usize = 2_000;
const ALIVE: usize = 50;
/// What the store may take on the disk, and the process in memory beyond what it had after the first lives.
const DISK_BYTES: u64 = 16 << 20;
const MEMORY_KIB: usize = 32 * 1_024;

#[expect(clippy::disallowed_methods, reason = "a longer run is asked for by hand")]
fn lives() -> usize {
    std::env::var("ASKGATE_LIVES").ok().and_then(|lives| lives.parse().ok()).unwrap_or(LIVES)
}

/// Pages that the process has in memory, for Linux.
fn resident_kib() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4
}

/// `ASKGATE_LIVES=200000 cargo test -p store --test ledger -- --nocapture many_lives` prints disk and memory as it goes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_lives_leave_a_small_store() {
    let root = tempfile::tempdir().expect("a directory");
    let ledger = Arc::new(open(root.path()).ledger);
    let lives = lives();
    let (mut after_first, mut most_disk, mut most_memory) = (0, 0, 0);
    for round in 0..lives / ALIVE {
        let tasks: Vec<_> = (0..ALIVE)
            .map(|number| {
                let ledger = Arc::clone(&ledger);
                tokio::spawn(async move { whole_life(&ledger, &format!("r{round}n{number}")).await })
            })
            .collect();
        for task in tasks {
            task.await.expect("no panic");
        }
        assert_eq!(ledger.prune(10).await.expect("pruned"), ALIVE);
        let (disk, memory) = (size(root.path()), resident_kib());
        if round == 9 {
            after_first = memory;
        }
        (most_disk, most_memory) = (disk.max(most_disk), memory.max(most_memory));
        assert!(disk < DISK_BYTES, "{disk} bytes on the disk after {} lives", round * ALIVE);
        assert!(
            round < 10 || memory < after_first + MEMORY_KIB,
            "{memory} KiB in memory after {} lives, {after_first} after the first",
            round * ALIVE
        );
        if round % 400 == 399 {
            println!("{} lives: {} KiB on disk, {memory} KiB in memory", (round + 1) * ALIVE, disk / 1_024);
        }
    }
    println!("{lives} lives: at most {} KiB on disk and {most_memory} KiB in memory", most_disk / 1_024);
    assert_eq!(ledger.disk_bytes(), Some(size(root.path())), "what the metric says");
    assert!(ledger.recent_asks(10).await.expect("readable").is_empty());
    assert!(ledger.audit_trail(10).await.expect("readable").is_empty());
    ledger.close().await;
    assert_eq!(store::sled::offline::verify(root.path()).expect("readable"), store::sled::offline::Report::default());
}

#[tokio::test]
async fn a_large_draft_stays_in_the_log() {
    let root = tempfile::tempdir().expect("a directory");
    let ledger = open(root.path()).ledger;
    ledger.record(new_ask("one")).await.expect("recorded");
    let draft: String = ('a'..='z').cycle().step_by(7).take(200_000).collect();
    ledger.set_content(&key("one"), draft.clone()).await.expect("kept");
    assert_eq!(ledger.ask(&key("one")).await.expect("readable").expect("there").content, Some(draft));
    ledger.remember("name", Some("x".repeat(10_000))).await.expect("kept");
    ledger.remember("name", Some("x".to_owned())).await.expect("kept");
    ledger.close().await;
    let report = store::sled::offline::verify(root.path()).expect("readable");
    assert!(report.is_whole(), "a shorter value leaves no parts of a longer one: {report:?}");
    assert_eq!(root.path().join("blobs").read_dir().expect("readable").count(), 0, "blobs are not synced with the log");
}
