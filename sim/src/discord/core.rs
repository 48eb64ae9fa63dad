//! The shared heart of one simulated Discord: the world behind its lock, the clock, and the bell that rings on every change.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{
    wire::{Reach, Wires},
    world::World,
};
use crate::clock::Clock;

/// What the server's tasks and its control handles share.
pub(super) struct Core {
    // A plain mutex: nothing awaits while it is held.
    world: Mutex<World>,
    clock: Arc<dyn Clock>,
    pub(super) changes: watch::Sender<u64>,
    pub(super) reach: watch::Sender<Reach>,
    pub(super) wires: Arc<Wires>,
    pub(super) stop: CancellationToken,
}

impl Core {
    pub(super) fn new(world: World, clock: Arc<dyn Clock>) -> Self {
        Self {
            world: Mutex::new(world),
            clock,
            changes: watch::Sender::new(0),
            reach: watch::Sender::new(Reach::Open),
            wires: Arc::default(),
            stop: CancellationToken::new(),
        }
    }

    pub(super) fn now(&self) -> Duration {
        self.clock.now()
    }

    pub(super) fn read<T>(&self, look: impl FnOnce(&World) -> T) -> T {
        look(&self.world.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the world and wakes everyone who waits for a change.
    pub(super) fn change<T>(&self, act: impl FnOnce(&mut World) -> T) -> T {
        let outcome = act(&mut self.world.lock().unwrap_or_else(PoisonError::into_inner));
        self.changes.send_modify(|count| *count += 1);
        outcome
    }
}
