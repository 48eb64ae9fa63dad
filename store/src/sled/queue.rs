//! What waits for the writer, and who waits for it.

use std::collections::VecDeque;

use tokio::sync::oneshot;

use super::txn::Txn;
use crate::ledger::LedgerError;

/// Operations that share one sync at most.
const GROUP: usize = 64;
/// How many of them are kept for what is not a tap.
const SHARE: usize = 8;

/// What the writer is asked for.
pub(super) enum Order {
    /// A person waits to hear that their tap is recorded.
    Soon(Box<dyn Job>),
    Do(Box<dyn Job>),
    Close(oneshot::Sender<()>),
}

/// An operation and the caller who waits for it.
pub(super) trait Job: Send {
    /// Runs the operation; whether what it wrote is to be kept.
    fn run(&mut self, txn: &mut Txn<'_>) -> bool;
    /// Tells the caller, now that it is known whether the group reached the disk.
    fn answer(self: Box<Self>, verdict: Result<(), LedgerError>);
}

/// A [`Job`] made of a closure and a channel.
pub(super) struct Call<F, T> {
    op: Option<F>,
    outcome: Option<Result<T, LedgerError>>,
    reply: oneshot::Sender<Result<T, LedgerError>>,
}

impl<F, T> Call<F, T>
where
    F: FnOnce(&mut Txn<'_>) -> Result<T, LedgerError> + Send,
    T: Send,
{
    pub(super) const fn new(op: F, reply: oneshot::Sender<Result<T, LedgerError>>) -> Self {
        Self { op: Some(op), outcome: None, reply }
    }
}

impl<F, T> Job for Call<F, T>
where
    F: FnOnce(&mut Txn<'_>) -> Result<T, LedgerError> + Send,
    T: Send,
{
    fn run(&mut self, txn: &mut Txn<'_>) -> bool {
        let Some(op) = self.op.take() else { return false };
        let outcome = op(txn);
        let keep = outcome.is_ok();
        self.outcome = Some(outcome);
        keep
    }

    fn answer(self: Box<Self>, verdict: Result<(), LedgerError>) {
        let answer = match verdict {
            Ok(()) => self.outcome.unwrap_or(Err(LedgerError::Closed)),
            Err(error) => Err(error),
        };
        // A caller who stopped waiting has stopped asking.
        let _ = self.reply.send(answer);
    }
}

/// What waits to be written: people first, and always a share of the rest, so that neither waits for ever.
#[derive(Default)]
pub(super) struct Waiting {
    soon: VecDeque<Box<dyn Job>>,
    rest: VecDeque<Box<dyn Job>>,
    pub(super) close: Option<oneshot::Sender<()>>,
}

impl Waiting {
    pub(super) fn add(&mut self, order: Order) {
        match order {
            Order::Soon(job) => self.soon.push_back(job),
            Order::Do(job) => self.rest.push_back(job),
            Order::Close(done) => self.close = Some(done),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.soon.is_empty() && self.rest.is_empty()
    }

    /// The next group, in which the order of each kind is kept.
    pub(super) fn group(&mut self) -> Vec<Box<dyn Job>> {
        let share = self.rest.len().min(SHARE);
        let soon = self.soon.len().min(GROUP - share);
        let rest = self.rest.len().min(GROUP - soon);
        self.soon.drain(..soon).chain(self.rest.drain(..rest)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;

    impl Job for Nothing {
        fn run(&mut self, _txn: &mut Txn<'_>) -> bool {
            false
        }
        fn answer(self: Box<Self>, _verdict: Result<(), LedgerError>) {}
    }

    #[test]
    fn taps_go_first_and_the_rest_keeps_its_share() {
        let mut waiting = Waiting::default();
        for _ in 0..100 {
            waiting.add(Order::Do(Box::new(Nothing)));
            waiting.add(Order::Soon(Box::new(Nothing)));
        }
        assert_eq!(waiting.group().len(), GROUP);
        assert_eq!((waiting.soon.len(), waiting.rest.len()), (100 - (GROUP - SHARE), 100 - SHARE));
        let mut served = GROUP;
        while !waiting.is_empty() {
            let group = waiting.group().len();
            assert!(group > 0 && group <= GROUP);
            served += group;
        }
        assert_eq!(served, 200, "nothing is left behind and nothing comes twice");
    }
}
