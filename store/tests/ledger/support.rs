//! Ledgers, asks and taps for the tests.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use asks::card::{Button, Card, Kind, Style};
use asks::ids::{AccountKey, AskKey, ButtonId};
use asks::life::{Claim, Life};
use asks::place::{Actor, Place};
use store::ledger::{Claimed, Ledger, LedgerError, NewAsk};
use store::record::{AskRecord, AuditLine, Seq};
use store::sled::{Opened, Options, SledLedger};

pub(crate) const BUTTONS: [&str; 3] = ["approve", "deny", "later"];

pub(crate) fn options() -> Options {
    Options { lock_wait: Duration::from_secs(5), ..Options::new([7; 32], 1_700_000_000_123) }
}

pub(crate) fn open(path: &Path) -> Opened {
    SledLedger::open(path, options()).expect("the store opens")
}

pub(crate) fn key(ask: &str) -> AskKey {
    AskKey { source: "app".into(), conversation: "talk".into(), ask: ask.into() }
}

pub(crate) fn place() -> Place {
    Place::Telegram { chat: 7, topic: None }
}

pub(crate) fn new_ask(ask: &str) -> NewAsk {
    let button = |id: &&str| Button {
        id: ButtonId::new(*id),
        label: (*id).to_owned(),
        style: Style::Default,
        response: serde_json::json!({ "choice": id }),
    };
    let record = AskRecord {
        key: key(ask),
        account: AccountKey { source: "app".into(), name: "me".into() },
        card: Card {
            tool_call_id: ask.into(),
            kind: Kind::Confirm,
            title: Some("Clean up".to_owned()),
            text: "Delete 14 todos?".to_owned(),
            buttons: BUTTONS.iter().map(button).collect(),
            handoff: false,
        },
        content: None,
        conversation_title: None,
        first_seen: 1,
        created: String::new(),
        life: Life::Announcing,
        dead_buttons: Vec::new(),
        unused: 0,
        votes: Vec::new(),
        seq: Seq(0),
        moved_at: 1,
        finished: false,
    };
    NewAsk { record, places: vec![place()] }
}

pub(crate) fn tap(button: &str, actor: i64) -> Claim {
    Claim {
        button: ButtonId::new(button),
        label: button.to_owned(),
        actor: Actor::Telegram(actor),
        actor_name: None,
        place: place(),
        at: 5,
        response: None,
    }
}

pub(crate) fn line(key: &AskKey) -> AuditLine {
    AuditLine {
        at: 5,
        ask: key.clone(),
        account: AccountKey { source: "app".into(), name: "me".into() },
        actor: "telegram:7".to_owned(),
        place: "telegram:7".to_owned(),
        message: None,
        button: "approve".to_owned(),
        event: "claimed".to_owned(),
        detail: String::new(),
    }
}

pub(crate) async fn claim(ledger: &dyn Ledger, ask: &str, button: &str, actor: i64) -> Result<Claimed, LedgerError> {
    let key = key(ask);
    ledger.claim(&key, tap(button, actor), line(&key)).await
}

/// Records and claims asks of these names.
pub(crate) async fn claim_all(ledger: &Arc<SledLedger>, names: &[String]) {
    let mut tasks = Vec::new();
    for name in names {
        let (ledger, name) = (Arc::clone(ledger), name.clone());
        tasks.push(tokio::spawn(async move {
            ledger.record(new_ask(&name)).await.expect("recorded");
            let claimed = claim(&*ledger, &name, "approve", 7).await.expect("claimed");
            assert!(matches!(claimed, Claimed::Won(_)), "{name}");
        }));
    }
    for task in tasks {
        task.await.expect("no panic");
    }
}

pub(crate) async fn is_claimed(ledger: &dyn Ledger, ask: &str) -> bool {
    let record = ledger.ask(&key(ask)).await.expect("readable");
    record.is_some_and(|record| matches!(record.life, Life::Claimed { .. }))
}

/// What was set aside beside a store.
pub(crate) fn set_aside_beside(path: &Path) -> Vec<String> {
    let parent = path.parent().expect("a parent");
    let names = parent.read_dir().expect("readable").map(|entry| entry.expect("an entry").file_name());
    names.map(|name| name.to_string_lossy().into_owned()).filter(|name| name.contains(".corrupt-")).collect()
}
