//! Listens at Discord's gateway.
//!
//! Why not serenity's `Shard`: only its own runner can receive from it (the socket inside `WsClient` and `recv_json` are
//! private), and that runner beats at HELLO's 41 s, so a dead connection stays unnoticed for over a minute, and decodes an
//! interaction with all that is in it or not at all. So the loop here owns its socket and reads every frame as plain JSON:
//! decodable or not, an interaction goes one way. The opcodes, close codes, intents and versions are serenity's.
//!
//! A connection ends in [`End`], which says what the next one is to do. Discord never delivers a tap twice, but its app
//! tells the person at once that a press failed, so nothing is reported as lost after a gap.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use asks::place::ChannelKind;
use serde_json::Value;
use serenity::constants::Opcode;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use url::Url;

use super::acks::Acks;
use super::begun::Begun;
use super::failure::{Trouble, failure};
use super::interaction;
use super::jitter::Jitter;
use super::limits::CALL;
use super::rest::{Call, Rest};
use super::route::Route;
use super::session::{
    Beat, Closed, Frame, Pulse, Session, address, closed, heartbeat, identify, resume, resume_address,
};
use super::socket::{Came, Socket};
use crate::channel::{Desk, Failure, Hearing};
use crate::clock::SharedClock;

/// How long the gateway may take to say HELLO.
const HELLO: Duration = Duration::from_secs(5);
/// How long a resumed session may take to answer.
const RESUME: Duration = Duration::from_secs(5);
/// How long a new session may take to be ready.
const IDENTIFY: Duration = Duration::from_secs(10);
/// A connection that lasted this long starts the back-off anew.
const STEADY: Duration = Duration::from_secs(5);
/// How long a refused token waits for its second try, which decides.
const SECOND_TRY: Duration = Duration::from_secs(6);
/// How long presses that came before the end may take to be answered.
const LAST_ANSWERS: Duration = Duration::from_secs(10);
/// A wait on purpose that is long enough to be told as one.
const LONG_WAIT: Duration = Duration::from_secs(20);
/// Closes a connection without ending its session (1000 and 1001 would).
const CLOSE_FOR_NOW: u16 = 4000;

/// What outlives a listener.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// `INTERACTION_CREATE` events.
    pub(super) seen: AtomicU64,
    /// Those that reached the desk.
    pub(super) handled: AtomicU64,
    /// Sessions.
    begun: Mutex<Begun>,
}

impl Counts {
    fn begun(&self) -> MutexGuard<'_, Begun> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What listening needs.
pub(super) struct Listener {
    pub(super) rest: Arc<dyn Rest>,
    pub(super) acks: Arc<Acks>,
    pub(super) desk: Arc<dyn Desk>,
    pub(super) clock: SharedClock,
    pub(super) jitter: Jitter,
    pub(super) token: String,
    pub(super) application: Option<u64>,
    pub(super) counts: Arc<Counts>,
    pub(super) tasks: TaskTracker,
    pub(super) stop: CancellationToken,
}

/// What outlives a connection.
#[derive(Default)]
struct State {
    session: Session,
    /// The gateway's address as the API gave it last.
    gateway: Option<String>,
    /// Connections that failed in a row.
    failures: u32,
}

/// How a connection ended.
enum End {
    Stopped,
    Fatal(Failure),
    Lost {
        why: String,
        /// What to wait at least before the next.
        wait: Duration,
    },
}

/// One connection's own state.
struct Line {
    socket: Socket,
    pulse: Option<Pulse>,
    /// By when the next step of the handshake must be there; `None` once the session is ready.
    due: Option<Instant>,
    resuming: bool,
    ready_since: Option<Instant>,
}

impl Listener {
    /// Listens until stopped.
    ///
    /// # Errors
    /// What no new connection can mend.
    pub(super) async fn run(&self) -> Result<(), Failure> {
        let mut state = State::default();
        let result = loop {
            let end = match self.stop.run_until_cancelled(self.open(&mut state)).await {
                None => End::Stopped,
                Some(Err(end)) => end,
                Some(Ok(line)) => self.serve(line, &mut state).await,
            };
            let (why, wait) = match end {
                End::Stopped => break Ok(()),
                End::Fatal(failure) => break Err(failure),
                End::Lost { why, wait } => (why, wait),
            };
            let backoff = match state.failures {
                0 => self.jitter.between(Duration::ZERO, Duration::from_millis(300)),
                failures => self.jitter.backoff(failures - 1),
            };
            let pause = backoff.max(wait);
            state.failures = state.failures.saturating_add(1);
            tracing::info!(why, ?pause, failures = state.failures, "the connection to Discord's gateway is lost");
            self.tell(if wait >= LONG_WAIT {
                Hearing::Paused { after: pause, why }
            } else {
                Hearing::Deaf { why: format!("{why}; connecting again") }
            });
            if self.stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                break Ok(());
            }
        };
        if let Err(failure) = &result {
            self.tell(Hearing::Deaf { why: failure.to_string() });
        }
        self.tasks.close();
        if tokio::time::timeout(LAST_ANSWERS, self.tasks.wait()).await.is_err() {
            tracing::warn!("some presses were not answered before the end; those that were recorded count");
        }
        result
    }

    async fn open(&self, state: &mut State) -> Result<Line, End> {
        let url = self.address(state).await?;
        if state.session.id.is_none() {
            let wait = self.counts.begun().wait(self.clock.instant());
            if wait >= LONG_WAIT {
                let why = "new sessions do not hold, and Discord allows only so many a day; look for another process that \
                           uses the bot's token";
                tracing::warn!(?wait, why);
                self.tell(Hearing::Paused { after: wait, why: why.to_owned() });
            }
            tokio::time::sleep(wait).await;
        }
        let socket = match Socket::connect(&url).await {
            Ok(socket) => socket,
            Err(why) => {
                // The session's own address is not tried a second time.
                state.session.resume_url = None;
                return Err(lost(format!("Discord's gateway cannot be reached: {why}")));
            }
        };
        let due = Some(self.clock.instant() + HELLO);
        Ok(Line { socket, pulse: None, due, resuming: false, ready_since: None })
    }

    /// The address to connect to: the session's own if there is one to resume, else what the API says now.
    async fn address(&self, state: &mut State) -> Result<Url, End> {
        if let (Some(_), Some(gateway)) = (&state.session.id, &state.gateway)
            && let Some(url) = resume_address(&state.session, gateway).or_else(|| address(gateway))
        {
            return Ok(url);
        }
        let gateway = match self.ask(Route::GatewayBot).await {
            Ok(said) => {
                sessions_left(&said)?;
                said
            }
            Err(Trouble::Unauthorised) => {
                self.tell(Hearing::Deaf { why: Failure::Unauthorised.to_string() });
                tokio::time::sleep(SECOND_TRY).await;
                match self.ask(Route::GatewayBot).await {
                    Err(Trouble::Unauthorised) => return Err(End::Fatal(Failure::Unauthorised)),
                    said => said.unwrap_or_default(),
                }
            }
            Err(Trouble::Held { after, why }) => {
                return Err(End::Lost { why, wait: after.min(Duration::from_mins(1)) });
            }
            // The address alone needs no rights, and was given before.
            Err(Trouble::Refused(_)) => self.ask(Route::Gateway).await.unwrap_or_default(),
            Err(trouble) if state.gateway.is_none() => {
                return Err(End::Lost { why: failure(trouble).to_string(), wait: Duration::ZERO });
            }
            Err(_) => Value::Null,
        };
        if let Some(url) = gateway.get("url").and_then(Value::as_str) {
            state.gateway = Some(url.to_owned());
        }
        let url = state.gateway.as_deref().and_then(address);
        url.ok_or_else(|| End::Lost { why: "Discord gives no gateway address".to_owned(), wait: Duration::ZERO })
    }

    async fn ask(&self, route: Route) -> Result<Value, Trouble> {
        self.rest.call(Call { route, body: None, deadline: self.clock.instant() + CALL }).await
    }

    async fn serve(&self, mut line: Line, state: &mut State) -> End {
        let end = self.talk(&mut line, state).await;
        let lasted = line.ready_since.map(|since| self.clock.instant().saturating_duration_since(since));
        if lasted.is_some_and(|lasted| lasted >= STEADY) {
            state.failures = 0;
        }
        if line.pulse.is_none() {
            // Not even a HELLO: the session's own address is not tried a second time.
            state.session.resume_url = None;
        }
        if line.resuming && line.ready_since.is_none() {
            // A session that could not be resumed once is not tried again.
            state.session = Session::default();
        }
        let code = if matches!(end, End::Stopped) { 1000 } else { CLOSE_FOR_NOW };
        line.socket.close(code).await;
        end
    }

    async fn talk(&self, line: &mut Line, state: &mut State) -> End {
        loop {
            let now = self.clock.instant();
            let wake = match self.timers(line, state, now).await {
                Ok(wake) => wake,
                Err(end) => return end,
            };
            let came = tokio::select! {
                biased;
                () = self.stop.cancelled() => return End::Stopped,
                came = line.socket.next() => came,
                () = tokio::time::sleep(wake.saturating_duration_since(now)) => continue,
            };
            let text = match came {
                Came::Text(text) => text,
                Came::Nothing => continue,
                Came::Closed(code) => return ended(code, state),
                Came::Broken(why) => return broken(why),
            };
            let Some(frame) = Frame::read(&text) else {
                tracing::warn!(bytes = text.len(), "a gateway frame that is not understood");
                continue;
            };
            if let Err(end) = self.frame(frame, line, state).await {
                return end;
            }
        }
    }

    /// Sends what is due and says when to look again.
    async fn timers(&self, line: &mut Line, state: &mut State, now: Instant) -> Result<Instant, End> {
        if line.due.is_some_and(|due| due <= now) {
            return Err(lost("the gateway does not answer the handshake".to_owned()));
        }
        let beat = match &line.pulse {
            None => Beat::At(now + HELLO),
            Some(pulse) => pulse.beat(now),
        };
        let wake = match beat {
            Beat::Dead => return Err(lost("the gateway does not answer heartbeats".to_owned())),
            Beat::Send => {
                self.beat(line, state).await?;
                now
            }
            Beat::At(at) => at,
        };
        Ok(line.due.map_or(wake, |due| due.min(wake)))
    }

    async fn beat(&self, line: &mut Line, state: &State) -> Result<(), End> {
        line.socket.send(heartbeat(state.session.seq)).await.map_err(broken)?;
        if let Some(pulse) = &mut line.pulse {
            pulse.sent(self.clock.instant());
        }
        Ok(())
    }

    async fn frame(&self, frame: Frame, line: &mut Line, state: &mut State) -> Result<(), End> {
        match frame.op {
            Opcode::Hello => {
                let millis = frame.data.get("heartbeat_interval").and_then(Value::as_u64).unwrap_or(41_250);
                let now = self.clock.instant();
                let part = self.jitter.between(Duration::ZERO, Duration::from_secs(1)).as_secs_f64();
                line.pulse = Some(Pulse::start(Duration::from_millis(millis), part, now));
                if line.ready_since.is_none() {
                    self.begin(line, state, now).await?;
                }
            }
            Opcode::HeartbeatAck => {
                if let Some(pulse) = &mut line.pulse {
                    pulse.answered();
                }
                if line.ready_since.is_some() {
                    self.tell(self.hearing());
                }
            }
            Opcode::Heartbeat => self.beat(line, state).await?,
            Opcode::Reconnect => return Err(lost("Discord asks to connect again".to_owned())),
            Opcode::InvalidSession => {
                if frame.data.as_bool() != Some(true) {
                    state.session = Session::default();
                }
                line.resuming = false;
                let wait = self.jitter.between(Duration::from_secs(1), Duration::from_millis(2_500));
                return Err(End::Lost { why: "Discord does not know the session any more".to_owned(), wait });
            }
            Opcode::Dispatch => {
                if let Some(seq) = frame.seq {
                    state.session.seq = Some(seq);
                }
                self.event(frame.name.as_deref().unwrap_or_default(), &frame.data, line, state);
            }
            _ => {}
        }
        Ok(())
    }

    async fn begin(&self, line: &mut Line, state: &mut State, now: Instant) -> Result<(), End> {
        let (text, patience) = match resume(&state.session, &self.token) {
            Some(text) => (text, RESUME),
            None => (identify(&self.token), IDENTIFY),
        };
        line.resuming = state.session.id.is_some();
        if !line.resuming {
            self.counts.begun().note(now);
        }
        line.due = Some(now + patience);
        line.socket.send(text).await.map_err(broken)
    }

    fn event(&self, name: &str, data: &Value, line: &mut Line, state: &mut State) {
        match name {
            "READY" => {
                let text = |key: &str| data.get(key).and_then(Value::as_str).map(str::to_owned);
                state.session.id = text("session_id");
                state.session.resume_url = text("resume_gateway_url");
                self.check_application(data);
                self.ready(line, "connected to Discord's gateway");
            }
            "RESUMED" => self.ready(line, "resumed at Discord's gateway"),
            "INTERACTION_CREATE" => self.interaction(data),
            _ => {}
        }
    }

    fn ready(&self, line: &mut Line, how: &str) {
        line.due = None;
        line.ready_since = Some(self.clock.instant());
        tracing::info!("{how}");
        self.tell(self.hearing());
    }

    fn interaction(&self, data: &Value) {
        let seen = self.counts.seen.fetch_add(1, Ordering::Relaxed) + 1;
        match interaction::read(data) {
            Ok(interaction) => {
                self.counts.handled.fetch_add(1, Ordering::Relaxed);
                let (acks, desk) = (self.acks.clone(), self.desk.clone());
                // A task of its own: the socket is read on, whatever the desk takes.
                self.tasks.spawn(async move { acks.handle(desk.as_ref(), interaction).await });
            }
            Err(why) => {
                let handled = self.counts.handled.load(Ordering::Relaxed);
                tracing::warn!(why, seen, handled, "an interaction was not handled");
            }
        }
    }

    fn check_application(&self, ready: &Value) {
        let told = ready.pointer("/application/id").and_then(Value::as_str).and_then(|id| id.parse::<u64>().ok());
        if let (Some(told), Some(configured)) = (told, self.application)
            && told != configured
        {
            tracing::warn!(told, configured, "the token belongs to another application than `discord.application_id`");
        }
    }

    /// A bot that may not send is as good as deaf: it could not acknowledge what it hears.
    fn hearing(&self) -> Hearing {
        match self.rest.hold() {
            Some(hold) => Hearing::Deaf { why: hold.why.to_owned() },
            None => Hearing::Listening,
        }
    }

    fn tell(&self, hearing: Hearing) {
        self.desk.hearing(ChannelKind::Discord, hearing);
    }
}

/// The connection was closed, with this code.
fn ended(code: Option<u16>, state: &mut State) -> End {
    let why = match code {
        Some(code) => format!("Discord closed the gateway's connection (code {code})"),
        None => "the gateway's connection ended".to_owned(),
    };
    match closed(code) {
        Closed::Fatal(failure) => {
            tracing::error!(?code, %failure, "Discord refuses the gateway's connection");
            End::Fatal(failure)
        }
        Closed::Renew => {
            state.session = Session::default();
            lost(why)
        }
        Closed::Resume => lost(why),
    }
}

fn lost(why: String) -> End {
    End::Lost { why, wait: Duration::ZERO }
}

fn broken(why: &'static str) -> End {
    lost(format!("the gateway's connection broke: {why}"))
}

/// Whether Discord allows another session today.
fn sessions_left(said: &Value) -> Result<(), End> {
    let number = |at: &str| said.pointer(at).and_then(Value::as_u64);
    if number("/session_start_limit/remaining") == Some(0) {
        let wait = Duration::from_millis(number("/session_start_limit/reset_after").unwrap_or(60_000));
        return Err(End::Lost {
            why: "Discord allows the bot no new session for now; look for another process that uses its token"
                .to_owned(),
            wait: wait.min(Duration::from_mins(5)),
        });
    }
    Ok(())
}
