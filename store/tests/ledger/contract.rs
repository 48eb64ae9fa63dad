//! The one suite that every ledger passes.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use store::contract::{Fixture, run};
use store::ledger::{Ledger, LedgerError};
use store::sled::SledLedger;
use tempfile::TempDir;

use crate::support::options;

struct SledStores {
    root: TempDir,
    count: AtomicU32,
    last: Mutex<PathBuf>,
}

#[async_trait]
impl Fixture for SledStores {
    async fn fresh(&self) -> Result<Arc<dyn Ledger>, LedgerError> {
        let path = self.root.path().join(self.count.fetch_add(1, Ordering::SeqCst).to_string());
        self.last.lock().expect("no panic").clone_from(&path);
        Ok(Arc::new(SledLedger::open(&path, options())?.ledger))
    }

    async fn reopened(&self, closed: Arc<dyn Ledger>) -> Result<Arc<dyn Ledger>, LedgerError> {
        drop(closed);
        let path = self.last.lock().expect("no panic").clone();
        Ok(Arc::new(SledLedger::open(&path, options())?.ledger))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sled_keeps_the_contract() {
    let root = tempfile::tempdir().expect("a directory");
    let stores = SledStores { root, count: AtomicU32::new(0), last: Mutex::default() };
    if let Err(broken) = run(&stores).await {
        panic!("{broken}");
    }
}
