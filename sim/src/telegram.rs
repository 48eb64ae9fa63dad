//! A Telegram Bot API server with one bot, as strict as the real one and without a network behind it.
//!
//! The bot under test talks to it over HTTP ([`Telegram::serve`]); tests and the demo page act as people, script faults and read
//! the state through the same cloneable handle. Everything the platform would refuse is refused with its own words; what the
//! platform lets pass and its documentation does not allow is kept in [`Telegram::violations`].
//!
//! ```text
//! server    the wire: paths, bodies, connections that can be cut      deliver   posts updates to a webhook
//! methods/  what each method does                                     people    what persons do: write, tap, block
//! text/     markup and entities      keyboard, urls   buttons         script    faults on order
//! queue     updates and offsets      pace             429             watch     reading and waiting
//! tables    the documented parameters                 strict          deviations from them
//! ```
//!
//! State lives behind one mutex that is never held across an await, so it outlives a server that was stopped: serving again on
//! the same port is an outage that ended.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::clock::Clock;

mod deliver;
mod json;
mod keyboard;
mod methods;
mod model;
mod pace;
mod params;
mod people;
mod queue;
mod refusal;
mod script;
mod server;
mod strict;
pub mod tables;
mod text;
mod urls;
mod watching;
mod world;

pub use model::{
    Access, Action, Button, CallbackAnswer, Chat, ChatKind, Entity, Message, Request, Sender, Standing, Topic, User,
    View, Violation, Webhook,
};
pub use people::{Pick, Shape, TapError};
pub use script::{Fate, Fault};
pub use watching::TimedOut;

use world::World;

/// How the server and its bot are set up.
#[derive(Clone)]
pub struct Settings {
    /// The bot's token; the number before the colon is the bot's id.
    pub token: String,
    /// The bot's name in chats.
    pub name: String,
    /// The bot's name without `@`.
    pub username: String,
    /// The id of the first update; the real ones begin anywhere.
    pub first_update_id: i64,
    /// Whether about one message per second and chat, and 20 per minute and group, are all that passes. Off by default.
    pub real_limits: bool,
    /// Whether the bot reads everything in groups. If not, only commands and answers to its own messages reach it.
    pub reads_all_group_messages: bool,
    /// How long a press can be answered; 150 s by default.
    pub answer_window: Duration,
    /// How long the loser of two `getUpdates` waits for its 409; the real server takes 3 s, the default is none.
    pub conflict_delay: Duration,
    /// How many requests the log keeps.
    pub log_capacity: usize,
}

impl Settings {
    /// The bot's id, from the token.
    #[must_use]
    pub fn bot_id(&self) -> i64 {
        self.token.split(':').next().and_then(|id| id.parse().ok()).unwrap_or(1)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            token: "7000000001:simulated-token-for-one-bot-only00".to_owned(),
            name: "askgate".to_owned(),
            username: "askgate_sim_bot".to_owned(),
            first_update_id: 738_204_517,
            real_limits: false,
            reads_all_group_messages: true,
            answer_window: queue::CALLBACK_LIFE,
            conflict_delay: Duration::ZERO,
            log_capacity: 100_000,
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("token", &"[redacted]")
            .field("username", &self.username)
            .field("first_update_id", &self.first_update_id)
            .field("real_limits", &self.real_limits)
            .finish_non_exhaustive()
    }
}

/// The platform and the handle to it; clones are the same platform.
#[derive(Clone)]
pub struct Telegram {
    shared: Arc<Shared>,
}

impl fmt::Debug for Telegram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telegram").finish_non_exhaustive()
    }
}

struct Shared {
    world: Mutex<World>,
    clock: Arc<dyn Clock>,
    /// Moves with every change.
    activity: watch::Sender<u64>,
    /// Moves with every change that somebody who looks at the chats would notice.
    visible: watch::Sender<u64>,
}

impl Telegram {
    /// A platform with one bot and nobody else.
    #[must_use]
    pub fn new(settings: Settings, clock: Arc<dyn Clock>) -> Self {
        let shared = Shared {
            world: Mutex::new(World::new(settings)),
            clock,
            activity: watch::Sender::new(0),
            visible: watch::Sender::new(0),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The bot's token.
    #[must_use]
    pub fn token(&self) -> String {
        self.read(|world| world.settings.token.clone())
    }

    /// Changes the state and tells everybody who waits.
    fn change<R>(&self, change: impl FnOnce(&mut World, Duration) -> R) -> R {
        let now = self.shared.clock.now();
        let mut world = self.lock();
        let result = change(&mut world, now);
        let visible = world.visible;
        drop(world);
        self.shared.activity.send_modify(|count| *count = count.wrapping_add(1));
        self.shared.visible.send_if_modified(|seen| std::mem::replace(seen, visible) != visible);
        result
    }

    /// Looks at the state.
    fn read<R>(&self, look: impl FnOnce(&World) -> R) -> R {
        look(&self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, World> {
        // A test that panicked while it held the lock left nothing half done that matters to the others.
        self.shared.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
