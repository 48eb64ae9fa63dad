//! `kill -9` (cases C21 and C55): what was acknowledged is there.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use store::ledger::{Claimed, Ledger, LedgerError};
use store::sled::{Options, SledLedger};

use crate::support::{claim, is_claimed, new_ask, open, options, set_aside_beside};

/// Kills in an ordinary run; `ASKGATE_STORE_KILLS=200` makes more.
const ROUNDS: u64 = 12;
const DIRECTORY: &str = "ASKGATE_TEST_DIRECTORY";
const ROUND: &str = "ASKGATE_TEST_ROUND";

#[expect(clippy::disallowed_methods, reason = "tells the child of this test what it is, and asks for a longer run")]
fn told(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The child: claims without end and prints every ask whose claim was acknowledged.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the child of `a_kill_loses_nothing_acknowledged`"]
async fn the_child_claims_until_it_is_killed() {
    let (Some(directory), Some(round)) = (told(DIRECTORY), told(ROUND)) else { return };
    let ledger = Arc::new(open(Path::new(&directory)).ledger);
    let mut tasks = Vec::new();
    for task in 0..8 {
        let (ledger, round) = (Arc::clone(&ledger), round.clone());
        tasks.push(tokio::spawn(async move {
            for number in 0_u32.. {
                let name = format!("r{round}t{task}n{number}");
                ledger.record(new_ask(&name)).await.expect("recorded");
                assert!(matches!(claim(&*ledger, &name, "deny", 7).await, Ok(Claimed::Won(_))));
                let mut out = std::io::stdout().lock();
                writeln!(out, "acknowledged {name}").expect("the parent reads");
                out.flush().expect("the parent reads");
            }
        }));
    }
    for task in tasks {
        task.await.expect("no panic");
    }
}

pub(crate) fn child(directory: &Path, round: u64) -> Child {
    Command::new(std::env::current_exe().expect("this test"))
        .args(["crash::the_child_claims_until_it_is_killed", "--exact", "--ignored", "--nocapture"])
        .env(DIRECTORY, directory)
        .env(ROUND, round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts")
}

#[tokio::test]
async fn a_kill_loses_nothing_acknowledged() {
    let root = tempfile::tempdir().expect("a directory");
    let path = root.path().join("data");
    let rounds = told("ASKGATE_STORE_KILLS").and_then(|kills| kills.parse().ok()).unwrap_or(ROUNDS);
    let mut acknowledged = Vec::new();
    for round in 0..rounds {
        let mut child = child(&path, round);
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
        let named = |line: &str| line.split_once("acknowledged ").map(|(_, name)| name.to_owned());
        acknowledged.push(lines.by_ref().find_map(|line| named(&line)).expect("the child works"));
        if round == 0 {
            let refused = SledLedger::open(&path, Options { lock_wait: Duration::ZERO, ..options() });
            assert!(matches!(refused, Err(LedgerError::InUse { .. })), "another process has it");
        }
        // Different points of different rounds; the exact ones do not matter.
        std::thread::sleep(Duration::from_millis(round * 37 % 250));
        child.kill().expect("killed");
        acknowledged.extend(lines.filter_map(|line| named(&line)));
        child.wait().expect("gone");

        let opened = open(&path);
        assert!(opened.set_aside.is_none() && !opened.fresh, "round {round}");
        for name in &acknowledged {
            assert!(is_claimed(&opened.ledger, name).await, "{name} was acknowledged and is lost (round {round})");
        }
        opened.ledger.close().await;
    }
    assert!(set_aside_beside(&path).is_empty());
    assert!(store::sled::offline::verify(&path).expect("readable").is_whole());
    println!("{} acknowledged claims survived {rounds} kills", acknowledged.len());
}
