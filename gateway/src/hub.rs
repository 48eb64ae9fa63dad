//! What every task shares: the ledger, the outside world behind its ports, the links, the clock, and the way to stop.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use adapters::channel::Channel;
use adapters::clock::SharedClock;
use adapters::source::Source;
use asks::ids::{AccountKey, AskKey, SourceName};
use asks::life::UnixMillis;
use asks::place::{ChannelKind, Place};
use config::SourceConfig;
use rand::Rng as _;
use rand::rngs::StdRng;
use store::ledger::Ledger;
use store::record::{AskRecord, AuditLine};
use store::token::TokenKey;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::accounts::Accounts;
use crate::announce::Queues;
use crate::answer::once_more::OnceMore;
use crate::board::Board;
use crate::link::Linking;
use crate::links::Links;
use crate::poll::{Calendar, Subjects};
use crate::words::Words;

/// A source and how it is configured.
#[derive(Debug)]
pub struct SourceEntry {
    /// The port.
    pub port: Arc<dyn Source>,
    /// Its section of the configuration.
    pub config: SourceConfig,
    /// Its name on the board; every poll reports under it.
    pub part: String,
    /// Held by each look at how an answer ended that nobody confirmed, so that after an outage they come one after the other.
    pub look_ups: Semaphore,
}

/// How the service stops: first softly (no new work, what is claimed is finished), then for good.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    /// Set by the first signal.
    pub soft: CancellationToken,
    /// Set when the grace is over, or by a second signal.
    pub hard: CancellationToken,
}

/// What every task shares.
#[derive(Debug)]
pub struct Hub {
    /// What survives a crash.
    pub ledger: Arc<dyn Ledger>,
    /// The secret that tap tokens are made under.
    pub keys: TokenKey,
    /// Where asks come from.
    pub sources: BTreeMap<SourceName, SourceEntry>,
    /// Where people are.
    pub channels: BTreeMap<ChannelKind, Arc<dyn Channel>>,
    /// Who is where.
    pub links: Links,
    /// Who linked themselves.
    pub accounts: Accounts,
    /// Who is about to.
    pub linking: Linking,
    /// How every part is doing.
    pub board: Board,
    /// Where people reach our own pages, if they do.
    pub public_url: Option<url::Url>,
    /// Time.
    pub clock: SharedClock,
    /// What waits to be shown.
    pub queues: Queues,
    /// When each account is polled next.
    pub calendar: Calendar,
    /// Asks whose turn is in the hands of a task of this process, and since when.
    pub in_flight: Mutex<HashMap<AskKey, Instant>>,
    /// Accounts of which suddenly many asks were not listed: withdrawn only when the next poll says the same.
    pub vanishing: Mutex<HashSet<AccountKey>>,
    /// Who is being asked once more, before something that cannot be undone.
    pub once_more: OnceMore,
    /// Held while a vote is counted: what counts beside it must not change meanwhile.
    pub voting: tokio::sync::Mutex<()>,
    /// Keeps things apart that would else happen at one moment.
    pub random: Mutex<StdRng>,
    /// Whose credential each account has been known to hold, and accounts that suddenly hold somebody else's.
    pub subjects: Subjects,
    /// Every task that must end before the process does.
    pub tasks: TaskTracker,
    /// Told when a turn or an edit ended, for whoever waits for quiet.
    pub progress: Notify,
    /// How to stop.
    pub stop: Stop,
}

impl Hub {
    /// Runs a task that shutdown waits for.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }

    /// The address of one of our own pages, such as `a/TOKEN`, if people reach them.
    #[must_use]
    pub fn page(&self, path: &str) -> Option<String> {
        let base = self.public_url.as_ref()?.as_str().trim_end_matches('/');
        Some(format!("{base}/{path}"))
    }

    /// Wall time.
    #[must_use]
    pub fn now(&self) -> UnixMillis {
        self.clock.unix_millis()
    }

    /// The words an account's cards are written in.
    #[must_use]
    pub fn words(&self, account: &AccountKey) -> &'static dyn Words {
        self.links.language(account).words()
    }

    /// The source of an ask; `None` when it is not configured any more.
    #[must_use]
    pub fn source(&self, key: &AskKey) -> Option<&SourceEntry> {
        self.sources.get(&key.source)
    }

    /// Waits, unless the service is stopped for good first. Returns whether to go on.
    pub async fn wait(&self, time: Duration) -> bool {
        tokio::select! {
            () = self.stop.hard.cancelled() => false,
            () = tokio::time::sleep(time) => true,
        }
    }

    /// Waits, unless the service begins to stop first. Returns whether to go on.
    pub async fn wait_softly(&self, time: Duration) -> bool {
        tokio::select! {
            () = self.stop.soft.cancelled() => false,
            () = tokio::time::sleep(time) => true,
        }
    }

    /// A pause changed by up to a quarter, so that what failed together does not come back together.
    #[must_use]
    pub fn jitter(&self, pause: Duration) -> Duration {
        let factor = self.random.lock().unwrap_or_else(PoisonError::into_inner).random_range(0.75..1.25);
        pause.mul_f64(factor)
    }

    /// Why a place cannot be reached, if it cannot.
    #[must_use]
    pub fn parked(&self, place: &Place) -> Option<String> {
        self.board.parked(place)
    }

    /// Stops sending to a place until it shows a sign of life, or the service starts again.
    pub fn park(&self, place: &Place, why: &str) {
        self.board.park(place, why);
    }

    /// Sends to a place again.
    pub fn unpark(&self, place: &Place) {
        self.board.unpark(place);
    }

    /// An audit line about an ask, for an event that no person caused.
    #[must_use]
    pub fn line(&self, record: &AskRecord, event: &str, detail: impl Into<String>) -> AuditLine {
        let claim = record.life.claim();
        AuditLine {
            at: self.now(),
            ask: record.key.clone(),
            account: record.account.clone(),
            actor: claim.map(|claim| claim.actor.to_string()).unwrap_or_default(),
            place: claim.map(|claim| claim.place.to_string()).unwrap_or_default(),
            message: None,
            button: claim.map(|claim| claim.button.to_string()).unwrap_or_default(),
            event: event.to_owned(),
            detail: detail.into(),
        }
    }
}
