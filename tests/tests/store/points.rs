//! A kill at every named point of the store, also of those on the way out of trouble.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use store::ledger::{Claimed, Ledger};
use store::sled::{DiskSync, FileSync, Options, SledLedger};

use support::{claim, is_claimed, new_ask, open, options};

#[path = "../../../store/tests/ledger/support.rs"]
#[expect(dead_code, reason = "shared with the tests of the store, which use all of it")]
mod support;

const DIRECTORY: &str = "ASKGATE_TEST_DIRECTORY";
/// The points, and how often each is passed at least in the child's life.
const POINTS: [(&str, u32); 6] = [
    ("store.batch-applied", 8),
    ("store.flushed", 8),
    ("store.synced", 6),
    ("store.answered", 5),
    ("store.doubt-noted", 1),
    ("store.reopened", 1),
];

#[expect(clippy::disallowed_methods, reason = "tells the child of this test what it is")]
fn told(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A disk that can be told to fail.
#[derive(Debug, Default)]
struct Faulty(AtomicBool);

impl DiskSync for Faulty {
    fn sync(&self, file: &File) -> io::Result<()> {
        if self.0.load(Ordering::SeqCst) { Err(io::Error::other("Input/output error")) } else { FileSync.sync(file) }
    }
}

/// The child: one claim that is saved, one that is refused, and one after the disk works again.
#[tokio::test]
#[ignore = "the child of the tests of this file"]
async fn the_child_passes_every_point() {
    let Some(directory) = told(DIRECTORY) else { return };
    let sync = Arc::new(Faulty::default());
    let options = Options { sync: Arc::<Faulty>::clone(&sync), ..options() };
    let ledger = SledLedger::open(Path::new(&directory), options).expect("opens").ledger;
    for name in ["one", "two", "three"] {
        ledger.record(new_ask(name)).await.expect("recorded");
    }
    let say = |name: &str, tap: Result<Claimed, _>| match tap {
        Ok(Claimed::Won(_)) => println!("\nacknowledged {name}"),
        Err(error) => println!("\nrefused {name} ({error})"),
        Ok(other) => panic!("{other:?}"),
    };
    say("one", claim(&ledger, "one", "approve", 7).await);
    sync.0.store(true, Ordering::SeqCst);
    say("two", claim(&ledger, "two", "approve", 7).await);
    sync.0.store(false, Ordering::SeqCst);
    while ledger.probe().await.is_err() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    say("three", claim(&ledger, "three", "approve", 7).await);
    ledger.close().await;
    println!("\nended");
}

fn child(path: &Path, point: &str) -> Output {
    Command::new(std::env::current_exe().expect("this test"))
        .args(["points::the_child_passes_every_point", "--exact", "--ignored", "--nocapture"])
        .env(DIRECTORY, path)
        .env("ASKGATE_CRASH_AT", point)
        .output()
        .expect("runs")
}

async fn check(path: &Path, child: &Output, point: &str) {
    let said = String::from_utf8_lossy(&child.stdout);
    let opened = open(path);
    assert!(opened.set_aside.is_none(), "{point}: {opened:?}");
    for name in ["one", "two", "three"] {
        let claimed = is_claimed(&opened.ledger, name).await;
        if said.contains(&format!("acknowledged {name}")) {
            assert!(claimed, "{point}: {name} was acknowledged and is lost");
        }
        if said.contains(&format!("refused {name}")) {
            assert!(!claimed, "{point}: {name} was refused and is claimed");
        }
    }
    opened.ledger.probe().await.expect("works");
    opened.ledger.close().await;
    drop(opened);
    assert!(store::sled::offline::verify(path).expect("readable").is_whole(), "{point}");
}

#[tokio::test]
async fn a_kill_at_every_point_keeps_what_was_said() {
    let root = tempfile::tempdir().expect("a directory");
    for (name, times) in POINTS {
        for time in 1..=times {
            let point = format!("{name}:{time}");
            let path: PathBuf = root.path().join(&point);
            let child = child(&path, &point);
            let last = String::from_utf8_lossy(&child.stderr).into_owned();
            assert!(last.contains(&format!("crashing at {name}")), "{point} is not passed: {last}");
            check(&path, &child, &point).await;
        }
    }
}

#[tokio::test]
async fn a_kill_while_a_doubt_is_undone_undoes_it() {
    let root = tempfile::tempdir().expect("a directory");
    let path = root.path().join("data");
    // Noted, and the process ends before anybody is told; so the next one may have it either way, but only whole.
    let first = child(&path, "store.doubt-noted");
    let second = child(&path, "store.doubt-undone");
    assert!(String::from_utf8_lossy(&second.stderr).contains("crashing at store.doubt-undone"));
    check(&path, &first, "store.doubt-undone").await;
    assert!(!is_claimed(&open(&path).ledger, "two").await, "what was noted is undone");
}
