//! Taps that race (case C16).

use std::sync::Arc;
use std::time::Instant;

use asks::life::Life;
use store::ledger::{Claimed, Ledger};

use crate::support::{BUTTONS, claim, key, new_ask, open};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_64_concurrent_taps_exactly_one_wins() {
    let root = tempfile::tempdir().expect("a directory");
    let ledger = Arc::new(open(root.path()).ledger);
    for round in 0..200 {
        let ask = format!("ask {round}");
        ledger.record(new_ask(&ask)).await.expect("recorded");
        let taps: Vec<_> = (1..=64)
            .zip(BUTTONS.iter().cycle())
            .map(|(number, button)| {
                let (ledger, ask) = (Arc::clone(&ledger), ask.clone());
                tokio::spawn(async move { claim(&*ledger, &ask, button, number % 3 + 1).await.expect("answered") })
            })
            .collect();
        let (mut won, mut stands) = (Vec::new(), Vec::new());
        for tap in taps {
            match tap.await.expect("no panic") {
                Claimed::Won(record) => won.push(record.life),
                Claimed::Lost(record) => stands.push(record.life),
                Claimed::Unknown => panic!("the ask is known"),
            }
        }
        assert_eq!(won.len(), 1, "round {round}");
        assert_eq!(stands.len(), 63, "round {round}");
        assert!(stands.iter().all(|life| *life == won[0]), "every loser is told the claim that stands");
        let record = ledger.ask(&key(&ask)).await.expect("readable").expect("there");
        assert!(matches!(record.life, Life::Claimed { .. }));
        assert_eq!(record.life, won[0]);
    }
    assert_eq!(ledger.audit_trail(1_000).await.expect("readable").len(), 200, "one line per claim");
}

#[expect(clippy::disallowed_methods, reason = "measures")]
fn now() -> Instant {
    Instant::now()
}

/// `cargo test -p store --test ledger -- --ignored --nocapture how_many`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement: claims per second with 64 callers"]
async fn how_many_durable_claims_per_second() {
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let ledger = Arc::new(open(root.path()).ledger);
    let each = 200;
    let names: Vec<Vec<String>> =
        (0..64).map(|task| (0..each).map(|number| format!("t{task}n{number}")).collect()).collect();
    for name in names.iter().flatten().collect::<Vec<_>>().chunks(256) {
        let tasks: Vec<_> = name
            .iter()
            .map(|name| {
                let (ledger, ask) = (Arc::clone(&ledger), new_ask(name));
                tokio::spawn(async move { ledger.record(ask).await.expect("recorded") })
            })
            .collect();
        for task in tasks {
            task.await.expect("no panic");
        }
    }
    let (syncs, begun) = (ledger.syncs(), now());
    let tasks: Vec<_> = names
        .into_iter()
        .map(|names| {
            let ledger = Arc::clone(&ledger);
            tokio::spawn(async move {
                for name in names {
                    assert!(matches!(claim(&*ledger, &name, "approve", 7).await, Ok(Claimed::Won(_))));
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic");
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!("{:.0} claims/s with {} syncs", f64::from(64 * each) / seconds, ledger.syncs() - syncs);
}
