//! Disks that take no more: told, never half-done, and working again when there is room.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use store::ledger::{Claimed, Ledger, LedgerError};
use store::sled::SledLedger;

use crate::support::{claim, is_claimed, key, new_ask, open, options, set_aside_beside};

const DIRECTORY: &str = "ASKGATE_TEST_DIRECTORY";
const HOW: &str = "ASKGATE_TEST_FULL";

#[expect(clippy::disallowed_methods, reason = "tells the child of this test what it is")]
fn told(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[expect(clippy::disallowed_methods, reason = "measures how long a caller waits")]
fn now() -> Instant {
    Instant::now()
}

/// Leaves no byte free on the file system of the directory.
fn fill(ballast: &Path) {
    let mut size = 1 << 20;
    let mut bytes = Vec::new();
    while size > 0 {
        bytes.resize(bytes.len() + size, 0xaa);
        if fs::write(ballast, &bytes).is_err() {
            bytes.truncate(bytes.len() - size);
            size /= 2;
        }
    }
    // The last attempt that failed has left what fitted.
}

/// The child: claims until nothing can be saved, makes room, and goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the child of the tests of this file"]
async fn the_child_meets_a_full_disk() {
    let (Some(directory), Some(how)) = (told(DIRECTORY), told(HOW)) else { return };
    let path = PathBuf::from(directory).join("data");
    let ballast = path.with_file_name("ballast");
    let ledger = open(&path).ledger;
    ledger.record(new_ask("waits")).await.expect("recorded while there is room");
    if how == "full" {
        fill(&ballast);
    }
    let mut saved = Vec::new();
    let mut refused = Vec::new();
    for number in 0..20_000 {
        let name = format!("ask {number}");
        let begun = now();
        match ledger.record(new_ask(&name)).await {
            Ok(_) => saved.push(name),
            Err(LedgerError::NotSaved { why }) => {
                assert!(begun.elapsed() < Duration::from_secs(3), "told in time");
                println!("not saved: {why}");
                refused.push(name);
            }
            Err(other) => panic!("{other}"),
        }
        if refused.len() == 5 {
            break;
        }
    }
    assert_eq!(refused.len(), 5, "the disk gets full");
    let begun = now();
    let tap = claim(&ledger, "waits", "approve", 7).await;
    assert!(matches!(tap, Err(LedgerError::NotSaved { .. })), "{tap:?}");
    assert!(ledger.probe().await.is_err());
    assert!(begun.elapsed() < Duration::from_secs(3), "told in time");

    if how == "full" {
        fs::remove_file(&ballast).expect("removed");
    } else {
        let pid = std::process::id().to_string();
        let raised = Command::new("prlimit").args(["--pid", &pid, "--fsize=unlimited"]).status();
        assert!(raised.expect("prlimit runs").success());
    }
    let mut tries = 0;
    while ledger.probe().await.is_err() {
        tries += 1;
        assert!(tries < 500, "it goes on by itself");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(!is_claimed(&ledger, "waits").await, "what was called not saved is not there");
    assert!(matches!(claim(&ledger, "waits", "deny", 8).await, Ok(Claimed::Won(_))));
    ledger.close().await;

    if how == "full" {
        // A start on a full disk: it may be refused, and is no damage.
        fill(&ballast);
        if let Ok(opened) = SledLedger::open(&path, options()) {
            assert!(!opened.fresh);
            opened.ledger.close().await;
        }
        assert!(set_aside_beside(&path).is_empty(), "a full disk is no damage");
        fs::remove_file(&ballast).expect("removed");
    }
    let opened = open(&path);
    assert!(opened.set_aside.is_none() && !opened.fresh, "a full disk is no damage");
    for name in &saved {
        assert!(opened.ledger.ask(&key(name)).await.expect("readable").is_some(), "{name} was saved and is lost");
    }
    for name in &refused {
        assert!(opened.ledger.ask(&key(name)).await.expect("readable").is_none(), "{name} was refused and is there");
    }
    let record = opened.ledger.ask(&key("waits")).await.expect("readable").expect("there");
    assert_eq!(record.life.claim().expect("claimed").button.as_str(), "deny");
    opened.ledger.close().await;
    assert!(set_aside_beside(&path).is_empty());
    assert!(store::sled::offline::verify(&path).expect("readable").is_whole());
    println!("{} saved before the disk was full", saved.len());
}

fn run(shell: &str, directory: &Path, how: &str) -> Option<Output> {
    Command::new("bash")
        .args(["-c", shell, "bash"])
        .arg(std::env::current_exe().expect("this test"))
        .args(["trouble::the_child_meets_a_full_disk", "--exact", "--ignored", "--nocapture"])
        .env(DIRECTORY, directory)
        .env(HOW, how)
        .output()
        .ok()
}

fn check(output: &Output) {
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}");
    assert!(text.contains("saved before the disk was full"), "{text}");
    println!("{text}");
}

#[test]
fn a_limit_on_the_size_of_files_is_told_and_survived() {
    let root = tempfile::tempdir().expect("a directory");
    let able = Command::new("bash").args(["-c", "command -v prlimit"]).output();
    if !able.is_ok_and(|output| output.status.success()) {
        println!("NOT CHECKED: a limit on the size of files (bash or prlimit is missing)");
        return;
    }
    for blocks in [1_100, 1_500, 1_900] {
        let directory = root.path().join(blocks.to_string());
        fs::create_dir(&directory).expect("made");
        let shell = format!("trap '' XFSZ; ulimit -S -f {blocks}; exec \"$@\"");
        check(&run(&shell, &directory, "limit").expect("bash runs"));
    }
}

#[test]
fn a_full_disk_is_told_and_survived() {
    let root = tempfile::tempdir().expect("a directory");
    let directory = root.path().display();
    let mount = format!("mount -t tmpfs -o size=4m tmpfs '{directory}'");
    let able = Command::new("unshare").args(["-m", "bash", "-c", &mount]).output();
    if !able.is_ok_and(|output| output.status.success()) {
        println!("NOT CHECKED: a full disk (a small file system can be mounted by root only)");
        return;
    }
    let shell = format!("exec unshare -m bash -c \"{mount} && exec \\\"\\$@\\\"\" bash \"$@\"");
    check(&run(&shell, root.path(), "full").expect("bash runs"));
}
