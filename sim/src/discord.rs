//! A simulated Discord: REST and gateway on real sockets, as strict as the platform, and a handle to look into and to disturb it.
//!
//! [`Discord::start`] serves on a given listener. `Discord` itself is the handle, cheap to clone: it sets up people and places,
//! presses buttons for them ([`Discord::tap`]), reads everything as plain data ([`Discord::read`]), waits without polling
//! ([`Discord::wait_for`]), orders failures ([`Discord::fault`]) and disturbs connections. What the platform refuses is refused
//! with its literal codes and texts; what it lets pass but a careful client does not send is kept in
//! [`State::violations`]. Deadlines and rate-limit windows follow the [`Clock`] passed in.
//!
//! Facts: <https://discord.com/developers/docs>, API v10.

mod core;
mod endpoint;
mod fault;
mod gateway;
mod id;
mod interactions;
mod json;
mod limits;
mod messages;
mod options;
mod people;
mod refusal;
mod rest;
mod route;
mod rules;
mod state;
mod view;
mod wire;
mod world;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{Router, routing::get};
use tokio::{net::TcpListener, sync::watch};

use self::{
    core::Core,
    gateway::Out,
    wire::{Door, Wire},
    world::World,
};
pub use self::{
    endpoint::NotVerified,
    fault::{Canned, Fault, Where},
    gateway::{GatewayRules, Greeting},
    id::Id,
    json::Shape,
    options::{Allowance, Limits, Options},
    people::{CannotTap, Pick},
    route::Route,
    state::{
        Access, Button, Callback, CallbackKind, Cause, Channel, ChannelKind, Counts, Dms, Interaction, Message,
        Request, State, User, Violation,
    },
    view::{ChannelView, MessageView, View},
    wire::Reach,
};
use crate::clock::Clock;

/// One simulated Discord; clones are handles to the same.
#[derive(Clone)]
pub struct Discord {
    core: Arc<Core>,
    address: SocketAddr,
}

/// Something that was waited for did not happen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("waited {within:?} for {what}, and it did not happen; look at the request log and the violations")]
pub struct TimedOut {
    /// What was waited for.
    pub what: String,
    /// How long.
    pub within: Duration,
}

impl Discord {
    /// Starts serving on the listener, on the runtime this is called in, until [`Discord::shutdown`].
    ///
    /// # Errors
    ///
    /// The listener's address cannot be read.
    pub fn start(listener: TcpListener, options: Options, clock: Arc<dyn Clock>) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let world = World::new(options, format!("ws://{address}/gateway"), clock.now());
        let core = Arc::new(Core::new(world, clock));
        let door = Door::new(listener, core.reach.subscribe(), Arc::clone(&core.wires))?;
        let app = Router::new()
            .route("/gateway", get(gateway::serve))
            .route("/gateway/", get(gateway::serve))
            .fallback(rest::serve)
            .with_state(Arc::clone(&core));
        tokio::spawn(endpoint::post_all(Arc::clone(&core)));
        let serving = axum::serve(door, app.into_make_service_with_connect_info::<Wire>()).into_future();
        let stop = core.stop.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                _ = serving => {}
            }
        });
        Ok(Self { core, address })
    }

    /// The address to configure as Discord's `api_url`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Tells clients from now on that the gateway is at another address, such as that of a proxy in front of this server.
    pub fn set_gateway_url(&self, url: impl Into<String>) {
        let url = url.into();
        self.core.change(|world| world.gateway_url = url);
    }

    /// The address it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops serving; every connection is cut.
    pub fn shutdown(&self) {
        self.core.stop.cancel();
        self.core.wires.cut_all();
    }

    /// The time on the server's clock, since the Unix epoch.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.core.now()
    }

    /// Looks at the state; nothing changes meanwhile.
    pub fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        self.core.read(|world| look(&world.state))
    }

    /// Counts up with every change; for pages and tests that follow along.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.core.changes.subscribe()
    }

    /// What a page shows now.
    #[must_use]
    pub fn view(&self) -> View {
        let now = self.now();
        self.read(|state| state.view(now))
    }

    /// A message, deleted or not.
    #[must_use]
    pub fn message(&self, id: Id) -> Option<Message> {
        self.read(|state| state.message(id).cloned())
    }

    /// The messages everybody in a channel sees, oldest first.
    #[must_use]
    pub fn messages_in(&self, channel: Id) -> Vec<Message> {
        self.read(|state| state.messages_in(channel).cloned().collect())
    }

    /// The bot's messages in its direct-message channel with a person, oldest first.
    #[must_use]
    pub fn messages_to(&self, user: impl Into<Id>) -> Vec<Message> {
        let user = user.into();
        self.read(|state| state.messages_to(user).cloned().collect())
    }

    /// An interaction and what became of it.
    #[must_use]
    pub fn interaction(&self, id: Id) -> Option<Interaction> {
        self.read(|state| state.interaction(id).cloned())
    }

    /// The request log, oldest first.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.read(|state| state.requests().cloned().collect())
    }

    /// What a careful client would not have done.
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        self.read(|state| state.violations().to_vec())
    }

    /// The counters.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.read(State::counts)
    }

    /// TCP connections that were served, and those that were accepted while the server was not to be reached.
    #[must_use]
    pub fn connections(&self) -> (u64, u64) {
        (self.core.wires.accepted(), self.core.wires.turned_away())
    }

    /// Waits until `look` finds something; it is asked again after every change, never by a timer.
    ///
    /// Deadlines that only the clock brings about (a failed interaction) are no change: turn the clock, then read.
    ///
    /// # Errors
    ///
    /// [`TimedOut`] after `within`, in real time.
    pub async fn wait_for<T>(
        &self,
        what: &str,
        within: Duration,
        mut look: impl FnMut(&State) -> Option<T>,
    ) -> Result<T, TimedOut> {
        let mut changes = self.changes();
        let search = async {
            loop {
                changes.borrow_and_update();
                if let Some(found) = self.read(&mut look) {
                    return found;
                }
                if changes.changed().await.is_err() {
                    return std::future::pending().await;
                }
            }
        };
        tokio::time::timeout(within, search).await.map_err(|_| TimedOut { what: what.to_owned(), within })
    }

    /// Waits for a message of the bot's to a person that looks like this.
    ///
    /// # Errors
    ///
    /// [`TimedOut`] after `within`.
    pub async fn wait_for_message_to(
        &self,
        user: impl Into<Id>,
        within: Duration,
        mut looks: impl FnMut(&Message) -> bool,
    ) -> Result<Message, TimedOut> {
        let user = user.into();
        let what = format!("a message to {user}");
        self.wait_for(&what, within, |state| state.messages_to(user).find(|message| looks(message)).cloned()).await
    }

    /// Waits for the first response to an interaction.
    ///
    /// # Errors
    ///
    /// [`TimedOut`] after `within`.
    pub async fn wait_for_response(&self, interaction: Id, within: Duration) -> Result<Callback, TimedOut> {
        let what = format!("a response to interaction {interaction}");
        self.wait_for(&what, within, |state| state.interaction(interaction)?.callback.clone()).await
    }

    /// Waits until so many gateway sessions are connected and READY.
    ///
    /// # Errors
    ///
    /// [`TimedOut`] after `within`.
    pub async fn wait_until_ready(&self, sessions: usize, within: Duration) -> Result<(), TimedOut> {
        self.wait_for("READY", within, |state| (state.counts().ready >= sessions).then_some(())).await
    }

    /// Orders a fault for the next `times` requests that match.
    pub fn fault(&self, at: Where, times: u32, fault: Fault) {
        self.core.change(|world| world.faults.add(at, times, fault));
    }

    /// Takes back every fault that still waits.
    pub fn clear_faults(&self) {
        self.core.change(|world| world.faults.clear());
    }

    /// Changes the rate limits and starts their windows anew.
    pub fn set_limits(&self, limits: Limits) {
        self.core.change(|world| {
            world.options.limits = limits;
            world.buckets = limits::Buckets::default();
        });
    }

    /// Changes the bot token: the old one is refused from now on (REST 401, IDENTIFY 4004).
    pub fn set_token(&self, token: impl Into<String>) {
        let token = token.into();
        self.core.change(|world| world.options.token = token);
    }

    /// Makes the whole server reachable or not.
    pub fn set_reach(&self, reach: Reach) {
        self.core.reach.send_replace(reach);
        match reach {
            Reach::Open => self.core.wires.thaw_all(),
            Reach::Refused | Reach::Dropped => self.core.wires.cut_all(),
            Reach::Silent => self.core.wires.freeze_all(),
        }
        self.core.change(|_| ());
    }

    /// Changes how the gateway treats clients.
    pub fn gateway_rules(&self, change: impl FnOnce(&mut GatewayRules)) {
        self.core.change(|world| change(&mut world.gateway.rules));
    }

    /// Orders what the next IDENTIFY or RESUME meets.
    pub fn greet_next(&self, greeting: Greeting) {
        self.core.change(|world| world.gateway.greetings.push_back(greeting));
    }

    /// Cuts every gateway connection without a close frame; sessions stay resumable.
    pub fn cut_gateway(&self) {
        self.core.change(|world| world.gateway.cut());
    }

    /// Lets every present gateway connection fall silent: nothing is sent, read, or closed any more.
    pub fn freeze_gateway(&self) {
        self.core.change(|world| world.gateway.freeze());
    }

    /// Closes every gateway connection with this code, such as 4004 or 4009.
    ///
    /// After 4007 and 4009 no session can be resumed.
    pub fn close_gateway(&self, code: u16) {
        self.core.change(|world| {
            if matches!(code, 4007 | 4009) {
                world.gateway.forget_sessions();
            }
            world.gateway.tell_all(&Out::Close(code, "Scripted."));
        });
    }

    /// Asks every client to reconnect and resume (op 7).
    pub fn ask_to_reconnect(&self) {
        self.core.change(|world| world.gateway.tell_all(&gateway::reconnect()));
    }

    /// Tells every client that its session is invalid (op 9); not resumable sessions are forgotten.
    pub fn invalidate_sessions(&self, resumable: bool) {
        self.core.change(|world| {
            if !resumable {
                world.gateway.forget_sessions();
            }
            world.gateway.tell_all(&gateway::invalid_session(resumable));
            world.state.counts.ready = world.gateway.ready();
        });
    }

    /// Forgets every session silently: the next RESUME is answered with op 9.
    pub fn forget_sessions(&self) {
        self.core.change(|world| {
            world.gateway.forget_sessions();
            world.state.counts.ready = world.gateway.ready();
        });
    }
}

impl std::fmt::Debug for Discord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Discord").field("address", &self.address).finish_non_exhaustive()
    }
}
