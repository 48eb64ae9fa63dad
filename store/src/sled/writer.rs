//! The one thread that writes: group commit, and what follows a write that failed.
//!
//! It takes the operations that wait (`queue.rs`), runs each on what the ones before it wrote, applies them in one
//! batch, syncs once, and only then answers. So a compare-and-swap needs no lock, and many taps share one sync.
//!
//! After a failed write sled refuses every other one, and nobody knows what reached the disk. So the store is opened again
//! and looked at: a group that is there is written once more and synced, and then counts; one that is not, or not whole, is
//! undone, and its callers are told that nothing was saved. While the store cannot be opened, everything is answered at
//! once with what the disk said, and opening is tried again, less and less often.
//!
//! A group in doubt is answered before the store is open again only once its doubt is noted (`doubt.rs`): then whichever
//! process opens the store first undoes it. Where even that note cannot be written, nobody is told anything: the group's
//! callers wait until the store is open and the truth is known, and if the process ends first, they were told nothing false.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use sled::Db;

use super::disk::{Disk, Recipe, numbers};
use super::doubt::{Doubt, DoubtFile};
use super::engine::Trouble;
use super::key;
use super::place::Home;
use super::queue::{Job, Order, Waiting};
use super::txn::{Changes, Counters, Group, Txn};
use super::view::View;
use crate::ledger::LedgerError;
use crate::token::TokenKey;

/// The first pause between two attempts to open the store again, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// What readers find in the store's place.
pub(super) enum Slot {
    Open(Db),
    Broken(String),
    Closed,
}

/// The place that readers look into. Empty while the store is opened again, because sled must not be open twice.
pub(super) type Shared = Arc<RwLock<Slot>>;

/// The writer's state.
pub(super) struct Writer {
    /// `None` while the store is broken.
    pub(super) disk: Option<Disk>,
    pub(super) recipe: Recipe,
    pub(super) home: Home,
    pub(super) shared: Shared,
    pub(super) counters: Counters,
    pub(super) sequence: Arc<AtomicU64>,
    pub(super) secret: TokenKey,
    /// `None` where it could not be made: then a group in doubt waits.
    pub(super) doubt_file: Option<DoubtFile>,
    /// Dropped with the writer, which ends the watchdog.
    pub(super) _watch: Sender<()>,
    pub(super) repair: Repair,
}

/// What a broken store still needs.
pub(super) struct Repair {
    /// What callers are told meanwhile.
    why: String,
    /// The group nobody knows the fate of.
    doubts: Vec<Doubt>,
    /// Its callers, unless they were told that it was not saved.
    undecided: Vec<Box<dyn Job>>,
    pause: Duration,
    last: Option<Instant>,
}

impl Repair {
    pub(super) const fn none() -> Self {
        Self { why: String::new(), doubts: Vec::new(), undecided: Vec::new(), pause: FIRST_PAUSE, last: None }
    }
}

impl Writer {
    /// Serves until it is told to close or nobody is left who could ask.
    pub(super) fn run(mut self, orders: &Receiver<Order>) {
        let mut waiting = Waiting::default();
        let closing = loop {
            if waiting.is_empty() {
                if waiting.close.is_some() {
                    break waiting.close.take();
                }
                match self.next(orders) {
                    Ok(order) => waiting.add(order),
                    Err(RecvTimeoutError::Timeout) => {
                        self.reopen_if_due();
                        continue;
                    }
                    Err(RecvTimeoutError::Disconnected) => break None,
                }
            }
            // What was asked before closing is done before closing; nobody asks for anything after it.
            while waiting.close.is_none()
                && let Ok(order) = orders.try_recv()
            {
                waiting.add(order);
            }
            let group = waiting.group();
            if !group.is_empty() {
                self.serve(group);
            }
        };
        self.close();
        if let Some(done) = closing {
            // Whoever asked may be gone.
            let _ = done.send(());
        }
    }

    fn next(&self, orders: &Receiver<Order>) -> Result<Order, RecvTimeoutError> {
        if self.disk.is_some() {
            orders.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            orders.recv_timeout(self.repair.pause)
        }
    }

    fn serve(&mut self, mut jobs: Vec<Box<dyn Job>>) {
        self.reopen_if_due();
        let Some(disk) = &self.disk else {
            let verdict = Err(LedgerError::NotSaved { why: self.repair.why.clone() });
            answer_all(jobs, &verdict);
            return;
        };
        let mut group = Group::after(self.counters);
        for job in &mut jobs {
            let mut txn = Txn::new(disk.db(), &mut group, &self.secret);
            if job.run(&mut txn) {
                txn.keep();
            }
        }
        if group.changes.is_empty() && !group.touched {
            return answer_all(jobs, &Ok(()));
        }
        if let Some(verdict) = self.commit(group) {
            answer_all(jobs, &verdict);
            faults::point("store.answered");
        } else {
            self.repair.undecided = jobs;
        }
    }

    /// Writes a group. `None` while nobody can say whether it counts.
    fn commit(&mut self, group: Group) -> Option<Result<(), LedgerError>> {
        let Group { changes: mut all, mut counters, .. } = group;
        counters.commit += 1;
        all.extend(numbers(&counters));
        let outcome = match (&self.disk, self.doubts(&all)) {
            (Some(disk), Ok(doubts)) => disk.write(&all).map_err(|trouble| (trouble, Some(doubts))),
            (_, Err(trouble)) => Err((trouble, None)),
            (None, _) => Err((Trouble::Blocked(self.repair.why.clone()), None)),
        };
        // Numbers that were given out are never given out again, also when their group failed: somebody may have read them.
        self.counters = counters;
        match outcome {
            Ok(()) => {
                self.durable();
                Some(Ok(()))
            }
            Err((trouble, doubts)) => self.failed(&trouble, doubts),
        }
    }

    /// What stands at the group's keys now.
    fn doubts(&self, changes: &Changes) -> Result<Vec<Doubt>, Trouble> {
        let Some(disk) = &self.disk else { return Ok(Vec::new()) };
        let own = key::counters();
        let mut doubts = Vec::with_capacity(changes.len());
        for (key, after) in changes.iter().filter(|(key, _)| **key != own) {
            let before =
                View::get(disk.db(), key).map_err(|unread| Trouble::Blocked(LedgerError::from(unread).to_string()))?;
            doubts.push(Doubt { key: key.clone(), before, after: after.clone() });
        }
        Ok(doubts)
    }

    fn durable(&mut self) {
        self.sequence.store(self.counters.seq, Ordering::SeqCst);
        if let Some(disk) = &mut self.disk {
            disk.note(self.counters.commit);
        }
    }

    /// A group failed: the store is opened again, and what is found there decides. Without doubts nothing was written.
    fn failed(&mut self, trouble: &Trouble, doubts: Option<Vec<Doubt>>) -> Option<Result<(), LedgerError>> {
        tracing::error!(%trouble, "the store could not write; it is opened again");
        self.repair = Repair { why: trouble.to_string(), ..Repair::none() };
        self.abandon();
        let begun = doubts.is_some();
        self.repair.doubts = doubts.unwrap_or_default();
        let verdict = self.reopen(begun);
        let known = self.disk.is_some() || !begun || self.note_doubts();
        known.then_some(verdict)
    }

    /// Keeps the doubts for the next process. Whether they are on the disk.
    fn note_doubts(&self) -> bool {
        let noted = match &self.doubt_file {
            Some(file) => file.write(self.counters, &self.repair.doubts, &*self.recipe.sync),
            None => Err(std::io::Error::other("its file could not be made when the store was opened")),
        };
        if let Err(error) = &noted {
            tracing::error!(%error, "a write that failed cannot be noted either; its callers wait until the store is open again");
        }
        faults::point("store.doubt-noted");
        noted.is_ok()
    }

    /// Lets go of the store, so that it can be opened again.
    fn abandon(&mut self) {
        self.put(Slot::Broken(self.repair.why.clone()));
        if let Some(disk) = self.disk.take() {
            disk.discard();
        }
    }

    fn reopen_if_due(&mut self) {
        if self.disk.is_some() {
            return;
        }
        if self.repair.last.is_none_or(|last| last.elapsed() >= self.repair.pause) {
            self.repair.pause = (self.repair.pause * 2).min(LONGEST_PAUSE);
            let undecided = std::mem::take(&mut self.repair.undecided);
            let verdict = self.reopen(!undecided.is_empty());
            if self.disk.is_some() {
                answer_all(undecided, &verdict);
            } else {
                self.repair.undecided = undecided;
            }
        }
    }

    /// Opens the store again and settles the group in doubt. `Ok` if that group counts after all: only while its callers
    /// still wait (`waiting`).
    fn reopen(&mut self, waiting: bool) -> Result<(), LedgerError> {
        let not_saved = |why: &str| Err(LedgerError::NotSaved { why: why.to_owned() });
        self.repair.last = Some(now());
        Home::drop_leftovers(&self.home.path);
        let why = match Disk::open(&self.recipe) {
            Ok((disk, Some((found, _)))) => {
                self.disk = Some(disk);
                self.counters = self.counters.ahead_of_both(found);
                match self.settle(waiting) {
                    Ok(counts) => {
                        self.repair.doubts.clear();
                        self.durable();
                        if let Some(file) = &self.doubt_file {
                            file.clear();
                        }
                        faults::point("store.reopened");
                        if let Some(disk) = &self.disk {
                            self.put(Slot::Open(disk.db().clone()));
                        }
                        tracing::info!("the store is open again");
                        return if counts { Ok(()) } else { not_saved(&self.repair.why) };
                    }
                    Err(trouble) => trouble.to_string(),
                }
            }
            Ok((disk, None)) => {
                disk.discard();
                "the store is empty although it was written".to_owned()
            }
            Err(trouble) => trouble.to_string(),
        };
        self.repair.why.clone_from(&why);
        self.abandon();
        not_saved(&why)
    }

    /// Writes the group in doubt once more if it is there and somebody still waits for it, and undoes it otherwise. Returns
    /// whether it counts. Either way a write has succeeded when this does.
    fn settle(&mut self, waiting: bool) -> Result<bool, Trouble> {
        let Some(disk) = &self.disk else { return Err(Trouble::Blocked(self.repair.why.clone())) };
        let mut there = waiting;
        for doubt in &self.repair.doubts {
            let now = View::get(disk.db(), &doubt.key)
                .map_err(|unread| Trouble::Blocked(LedgerError::from(unread).to_string()))?;
            there &= now == doubt.after;
        }
        self.counters.commit += 1;
        let mut changes = numbers(&self.counters);
        for doubt in &self.repair.doubts {
            changes.insert(doubt.key.clone(), if there { doubt.after.clone() } else { doubt.before.clone() });
        }
        // Written again even if it is there: after a failed sync the system counts pages as clean that never reached the disk.
        disk.write(&changes)?;
        Ok(there)
    }

    fn put(&self, slot: Slot) {
        let old = {
            let mut place = self.shared.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *place, slot)
        };
        // Dropped outside the lock, where sled's own panics end in `discard`: the writer still holds a handle.
        drop(old);
    }

    fn close(mut self) {
        self.put(Slot::Closed);
        // Dropped, they would be told that the ledger is closed, which means "not saved"; and that is not known.
        self.repair.undecided.drain(..).for_each(std::mem::forget);
        if let Some(disk) = self.disk.take() {
            // Nothing is left to sync: every answer was given after its own.
            disk.discard();
        }
    }
}

fn answer_all(jobs: Vec<Box<dyn Job>>, verdict: &Result<(), LedgerError>) {
    for job in jobs {
        job.answer(verdict.clone());
    }
}

#[expect(clippy::disallowed_methods, reason = "only the pause between two attempts to open a broken store")]
fn now() -> Instant {
    Instant::now()
}
