//! A simulated ntfy server and the phones that subscribe to it.
//!
//! It takes messages by JSON as the real server does (`POST /`), with its limits and its error numbers, and keeps what a
//! phone's notification shade would show: a message with a sequence id replaces the one before, on servers that know sequence
//! ids. A pressed action is sent by the phone itself, to whatever address the action names: [`Ntfy::action`] gives it to the test.
//!
//! Sources: the publishing and action pages of the ntfy documentation, and its server's table of errors, as far as the
//! reference of this project restates them.

mod message;
mod refusal;
mod serve;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use message::{Action, Message};

/// How a server is set up.
#[derive(Debug, Clone)]
pub struct Options {
    /// The access token that publishing needs; `None` lets everybody publish.
    pub token: Option<String>,
    /// Whether the server knows sequence ids (2.16 and later). An older one shows a second notification.
    pub replaces: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { token: None, replaces: true }
    }
}

/// What the server does wrong, for the next so many messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// 429 with `Retry-After`, in seconds.
    TooMany(u64),
    /// 500 with an HTML page.
    Broken,
    /// The message is taken and the connection closed before the answer.
    TakenThenCut,
    /// The connection is closed before anything was read.
    Cut,
    /// 403: the topic is somebody's.
    Forbidden,
}

/// A running server and the handle that controls it; clones control the same server.
#[derive(Clone)]
pub struct Ntfy {
    shared: Arc<Inner>,
}

struct Inner {
    state: Mutex<State>,
    options: Options,
    address: SocketAddr,
    changes: watch::Sender<u64>,
    stop: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    /// Every message that was taken, by topic, oldest first.
    topics: BTreeMap<String, Vec<Message>>,
    faults: Vec<Fault>,
    requests: u64,
    next: u64,
}

impl Ntfy {
    /// Starts a server on a listening socket, within a tokio runtime.
    ///
    /// # Errors
    /// When the socket has no address.
    pub fn start(listener: TcpListener, options: Options) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        let inner =
            Inner { state: Mutex::default(), options, address, changes: watch::Sender::new(0), stop: stop.clone() };
        let server = Self { shared: Arc::new(inner) };
        tokio::spawn(serve::serve(server.clone(), listener, stop));
        Ok(server)
    }

    /// Its base address, such as `http://127.0.0.1:40123`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.shared.address)
    }

    /// Stops serving for good.
    pub fn stop(&self) {
        self.shared.stop.cancel();
    }

    /// Breaks the next `count` requests that publish.
    pub fn fail(&self, fault: Fault, count: usize) {
        self.state().faults.extend(std::iter::repeat_n(fault, count));
    }

    /// How many requests tried to publish.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.state().requests
    }

    /// Every message that a topic took, oldest first, replaced ones included.
    #[must_use]
    pub fn published(&self, topic: &str) -> Vec<Message> {
        self.state().topics.get(topic).cloned().unwrap_or_default()
    }

    /// What a phone that subscribes to a topic shows now, oldest first.
    #[must_use]
    pub fn shade(&self, topic: &str) -> Vec<Message> {
        let mut shade: Vec<Message> = Vec::new();
        for message in self.published(topic) {
            let same = |shown: &Message| shown.sequence == message.sequence;
            match shade.iter_mut().find(|shown| self.shared.options.replaces && same(shown)) {
                Some(shown) => *shown = message,
                None => shade.push(message),
            }
        }
        shade
    }

    /// Waits until what a phone shows fits.
    ///
    /// # Errors
    /// What it shows instead, when it does not fit in time.
    pub async fn wait_for(
        &self,
        topic: &str,
        within: Duration,
        fits: impl Fn(&[Message]) -> bool,
    ) -> Result<Vec<Message>, String> {
        let mut changes = self.shared.changes.subscribe();
        let looking = async {
            loop {
                changes.borrow_and_update();
                let shade = self.shade(topic);
                if fits(&shade) {
                    return shade;
                }
                // The sender lives as long as `self`.
                let _ = changes.changed().await;
            }
        };
        tokio::time::timeout(within, looking).await.map_err(|_| format!("the phone shows {:#?}", self.shade(topic)))
    }

    /// The action of a shown notification by its label, if it has one.
    #[must_use]
    pub fn action(&self, topic: &str, label: &str) -> Option<Action> {
        self.shade(topic).into_iter().rev().flat_map(|message| message.actions).find(|action| action.label == label)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) {
        self.shared.changes.send_modify(|count| *count += 1);
    }
}

impl fmt::Debug for Ntfy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ntfy").field("address", &self.shared.address).finish_non_exhaustive()
    }
}
