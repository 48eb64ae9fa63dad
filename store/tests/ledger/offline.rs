//! Checking, exporting and importing.

use std::fs;
use std::io::BufRead;
use std::sync::Arc;

use store::ledger::{Ledger, LedgerError};
use store::record::{Delivery, DeliveryState};
use store::sled::offline::{OfflineError, Report, export, import, verify};

use crate::support::{claim_all, is_claimed, key, line, new_ask, open};

#[tokio::test(flavor = "multi_thread")]
async fn an_export_makes_the_same_store_again() {
    let root = tempfile::tempdir().expect("a directory");
    let (first, second) = (root.path().join("first"), root.path().join("second"));
    let ledger = Arc::new(open(&first).ledger);
    let names: Vec<String> = (0..150).map(|number| format!("ask {number}")).collect();
    claim_all(&ledger, &names).await;
    ledger.set_content(&key("ask 1"), "draft ".repeat(5_000)).await.expect("kept");
    ledger.remember("dm:1", Some("2".to_owned())).await.expect("kept");
    assert!(matches!(verify(&first), Err(LedgerError::InUse { .. })), "not while it is used");
    let (secret, sequence) = (ledger.token_key(), ledger.sequence());
    ledger.close().await;

    let report = verify(&first).expect("readable");
    assert!(report.is_whole(), "{report:?}");
    assert_eq!((report.asks, report.unfinished, report.deliveries), (150, 150, 150));
    assert_eq!((report.tokens, report.values, report.audit), (600, 1, 150));

    let mut lines = Vec::new();
    let count = export(&first, &mut lines).expect("exported");
    assert_eq!(count, lines.lines().count());
    assert_eq!(import(&second, lines.as_slice()).expect("imported"), count);
    assert_eq!(verify(&second).expect("readable"), report);
    let mut again = Vec::new();
    export(&second, &mut again).expect("exported");
    let without_commit = |lines: &[u8]| -> Vec<String> {
        let text = String::from_utf8(lines.to_vec()).expect("text");
        text.lines().filter(|line| !line.contains("\"kind\":\"counters\"")).map(str::to_owned).collect()
    };
    assert!(without_commit(&lines) == without_commit(&again), "the same lines");

    let opened = open(&second);
    assert!(!opened.fresh && opened.set_aside.is_none());
    assert_eq!(opened.ledger.token_key().expose(), secret.expose(), "old buttons keep working");
    assert_eq!(opened.ledger.sequence(), sequence);
    assert!(is_claimed(&opened.ledger, "ask 149").await);
    opened.ledger.record(new_ask("next")).await.expect("recorded");
    opened.ledger.close().await;
    assert!(verify(&second).expect("readable").is_whole());
}

#[tokio::test]
async fn an_import_is_whole_or_refused() {
    let root = tempfile::tempdir().expect("a directory");
    let path = root.path().join("data");
    let ledger = open(&path).ledger;
    ledger.record(new_ask("one")).await.expect("recorded");
    ledger.close().await;
    let mut lines = Vec::new();
    export(&path, &mut lines).expect("exported");
    assert!(matches!(import(&path, lines.as_slice()), Err(OfflineError::NotEmpty)));
    let text = String::from_utf8(lines).expect("text");
    let first = text.lines().next().expect("a line");
    for (name, bad, expected) in [
        ("rubbish", "rubbish\n".to_owned(), "line 1"),
        ("cut", format!("{text}{{\"kind\":\"ask\",\"rec"), "no line of an export"),
        ("headless", text.replacen(first, "", 1).trim_start().to_owned(), "names the format"),
        ("keyless", format!("{first}\n"), "token key"),
        ("newer", format!("{}\n", first.replace('1', "2")), "format 2"),
    ] {
        let target = root.path().join(name);
        let refused = import(&target, bad.as_bytes()).expect_err(name).to_string();
        assert!(refused.contains(expected), "{name}: {refused}");
        let opened = open(&target);
        assert!(opened.fresh, "{name}: half an import is no store");
    }
}

#[test]
fn there_must_be_a_store() {
    let root = tempfile::tempdir().expect("a directory");
    let path = root.path().join("none");
    assert!(matches!(verify(&path), Err(LedgerError::Unreadable { .. })));
    assert!(export(&path, Vec::new()).is_err());
    assert!(!path.exists(), "looking makes nothing");
    fs::create_dir(&path).expect("made");
    assert!(verify(&path).is_err());
}

#[tokio::test]
async fn what_was_put_aside_is_whole_and_goes_without_a_trace() {
    let root = tempfile::tempdir().expect("a directory");
    let ledger = open(root.path()).ledger;
    ledger.record(new_ask("one")).await.expect("recorded");
    let old = ledger.ask(&key("one")).await.expect("readable").expect("there");
    let aside = ledger.put_aside(&old.key, old.seq, 5, line(&old.key)).await.expect("saved").expect("put aside");
    ledger.close().await;
    drop(ledger);
    let report = verify(root.path()).expect("readable");
    assert!(report.is_whole() && report.tokens == 4, "{report}");
    let ledger = open(root.path()).ledger;
    for delivery in ledger.deliveries(&aside.key).await.expect("readable") {
        ledger.save_delivery(Delivery { state: DeliveryState::Dropped, ..delivery }).await.expect("saved");
    }
    assert!(ledger.finish(&aside.key).await.expect("saved"));
    assert_eq!(ledger.prune(10).await.expect("pruned"), 1);
    ledger.close().await;
    drop(ledger);
    assert_eq!(verify(root.path()).expect("readable"), Report::default(), "its tokens go with it");
}
