//! A simulated Terreno host with a scripted agent: the source's side of every conversation.
//!
//! It speaks the wire contract to the letter (statuses, bodies, headers, races, undone answers), because a fake that is
//! kinder than production proves nothing. [`Terreno`] is its control handle, in the same process: it makes users, puts
//! questions, answers them as another client would, and breaks what has to break.

mod agent;
mod auth;
mod body;
mod control;
mod faults;
mod gate;
mod histories;
mod ids;
mod limits;
mod options;
mod records;
mod reply;
mod rules;
mod script;
mod serve;
mod state;
mod turn;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use asks::ask::Surface;

pub use control::{Asked, Refused, TurnReply, WaitedInVain};
pub use faults::{Fault, Route};
pub use limits::Limit;
pub use options::{AuthMode, Model, Options};
pub use records::{ConversationView, HostView, PendingView, RequestRecord, TurnOutcome, TurnRecord, UserView, Via};
pub use script::{AskSpec, Script, Step};
pub use state::State;

use crate::clock::Clock;
use gate::Gate;
use reply::Reply;
use turn::Begun;

/// A running host and the handle that controls it; clones control the same host.
#[derive(Clone)]
pub struct Terreno {
    shared: Arc<Inner>,
}

struct Inner {
    state: Mutex<State>,
    clock: Arc<dyn Clock>,
    gate: Arc<Gate>,
    address: SocketAddr,
    /// Counts changes of what a page shows.
    changes: watch::Sender<u64>,
    /// Counts changes and requests.
    activity: watch::Sender<u64>,
    stop: CancellationToken,
}

impl Terreno {
    /// Starts a host on a listening socket, within a tokio runtime.
    ///
    /// # Errors
    ///
    /// When the socket has no address.
    pub fn start(listener: TcpListener, options: Options, clock: Arc<dyn Clock>) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let gate = Arc::new(Gate::default());
        let stop = CancellationToken::new();
        let host = Self {
            shared: Arc::new(Inner {
                state: Mutex::new(State::new(options)),
                clock,
                gate: Arc::clone(&gate),
                address,
                changes: watch::Sender::new(0),
                activity: watch::Sender::new(0),
                stop: stop.clone(),
            }),
        };
        tokio::spawn(serve::serve(host.clone(), listener, gate, stop));
        Ok(host)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.shared.address
    }

    /// Its base URL, such as `http://127.0.0.1:40123`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.shared.address)
    }

    /// Stops serving for good and closes every connection. Turns that run are finished.
    pub fn stop(&self) {
        self.shared.stop.cancel();
        self.shared.gate.set_down(true);
    }

    fn now(&self) -> Duration {
        self.shared.clock.now()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works on the state without telling anybody.
    fn silently<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.state())
    }

    /// Changes the state and tells those who watch.
    fn change<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        let done = self.silently(work);
        self.shared.changes.send_modify(|count| *count = count.wrapping_add(1));
        self.tick();
        done
    }

    /// Tells those who wait for something that something happened.
    fn tick(&self) {
        self.shared.activity.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Runs a turn to its end, whether or not anybody still waits for its reply.
    async fn run(&self, mut begun: Begun) -> Reply {
        if !begun.is_slow() {
            let ran = begun.run_now();
            let now = self.now();
            return self.change(|state| state.finish(begun, ran, now));
        }
        let host = self.clone();
        let turn = tokio::spawn(async move {
            let ran = begun.run().await;
            let now = host.now();
            host.change(|state| state.finish(begun, ran, now))
        });
        turn.await.unwrap_or_else(|_| Reply::internal())
    }
}

impl fmt::Debug for Terreno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terreno").field("address", &self.shared.address).finish_non_exhaustive()
    }
}
