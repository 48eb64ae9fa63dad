//! The gateway's sessions: who is connected, what they have missed, and how a test can disturb them.
//!
//! <https://discord.com/developers/docs/events/gateway>

mod protocol;
mod socket;

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use serde_json::Value;
use tokio::sync::mpsc;

use super::{id::Id, wire::Wire};

pub(super) use protocol::{invalid_session, reconnect};
pub(super) use socket::serve;

/// Events of direct messages.
const DIRECT_MESSAGES: u64 = 1 << 12;
/// Events of messages in guilds.
const GUILD_MESSAGES: u64 = 1 << 9;

/// Events kept for a session that may resume.
const REPLAY_MAX: usize = 4096;
/// How long a lost session can be resumed.
const RESUMABLE: Duration = Duration::from_mins(3);

/// How the gateway treats clients; a test changes it at any time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayRules {
    /// Whether heartbeats are acknowledged.
    pub ack_heartbeats: bool,
    /// Whether new connections are turned away (503 instead of the upgrade).
    pub refuse_connections: bool,
    /// How long IDENTIFY waits for READY; `None` waits for ever.
    pub ready_after: Option<Duration>,
}

/// What the next IDENTIFY or RESUME meets instead of its normal answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// The connection is closed with this code.
    Close(u16),
    /// Op 9 with this `d`.
    InvalidSession(bool),
}

/// All sessions and connections.
#[derive(Debug, Default)]
pub(super) struct Gateway {
    sessions: HashMap<String, Session>,
    lines: HashMap<u64, Line>,
    opened: u64,
    started: u64,
    last_identify: Option<Duration>,
    pub(super) rules: GatewayRules,
    pub(super) greetings: VecDeque<Greeting>,
}

#[derive(Debug)]
struct Session {
    seq: u64,
    events: VecDeque<(u64, Arc<str>)>,
    line: Option<u64>,
    lost: Option<Duration>,
    intents: u64,
    shard: (u64, u64),
}

#[derive(Debug)]
struct Line {
    out: mpsc::UnboundedSender<Out>,
    wire: Wire,
    session: Option<String>,
    /// When the client spoke, for the limit of 120 sends per minute.
    spoke: VecDeque<Duration>,
}

/// What a connection's task has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Out {
    Frame(Arc<str>),
    Close(u16, &'static str),
}

/// Which sessions an event is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    guild: Option<Id>,
    intent: u64,
}

impl Default for GatewayRules {
    fn default() -> Self {
        Self { ack_heartbeats: true, refuse_connections: false, ready_after: Some(Duration::ZERO) }
    }
}

impl Wanted {
    /// For every session that has the place on its shard.
    pub(super) fn always(guild: Option<Id>) -> Self {
        Self { guild, intent: 0 }
    }

    /// For sessions that asked for messages.
    pub(super) fn messages(guild: Option<Id>) -> Self {
        Self { guild, intent: if guild.is_some() { GUILD_MESSAGES } else { DIRECT_MESSAGES } }
    }

    fn by(self, session: &Session) -> bool {
        let (id, count) = session.shard;
        let shard = self.guild.map_or(0, |guild| (guild.number() >> 22) % count.max(1));
        shard == id && session.intents & self.intent == self.intent
    }
}

impl Gateway {
    /// Registers a connection and returns its number.
    pub(super) fn open(&mut self, out: mpsc::UnboundedSender<Out>, wire: Wire) -> u64 {
        self.opened += 1;
        self.lines.insert(self.opened, Line { out, wire, session: None, spoke: VecDeque::new() });
        self.opened
    }

    /// Forgets a connection; its session stays resumable for a while unless the client said goodbye.
    pub(super) fn closed(&mut self, line: u64, goodbye: bool, now: Duration) {
        let Some(Line { session: Some(id), .. }) = self.lines.remove(&line) else { return };
        let Some(session) = self.sessions.get_mut(&id).filter(|session| session.line == Some(line)) else { return };
        session.line = None;
        session.lost = Some(now);
        if goodbye {
            self.sessions.remove(&id);
        }
        self.sessions.retain(|_, session| session.lost.is_none_or(|lost| now.saturating_sub(lost) <= RESUMABLE));
    }

    pub(super) fn anyone_wants(&self, wanted: Wanted) -> bool {
        self.sessions.values().any(|session| wanted.by(session))
    }

    /// Sends an event to every session that wants it, and returns to how many connected ones.
    pub(super) fn dispatch(&mut self, event: &str, data: &Value, wanted: Wanted) -> usize {
        let data = data.to_string();
        let mut reached = 0;
        for session in self.sessions.values_mut().filter(|session| wanted.by(session)) {
            let frame = session.next_frame(event, &data);
            if let Some(line) = session.line.and_then(|line| self.lines.get(&line)) {
                reached += usize::from(line.out.send(Out::Frame(frame)).is_ok());
            }
        }
        reached
    }

    /// Connections with a session.
    pub(super) fn ready(&self) -> usize {
        self.sessions.values().filter(|session| session.line.is_some()).count()
    }

    /// Cuts every gateway connection, without a close frame.
    pub(super) fn cut(&self) {
        self.lines.values().for_each(|line| line.wire.cut());
    }

    /// Lets every present gateway connection fall silent, as when a network path dies without a reset.
    pub(super) fn freeze(&self) {
        self.lines.values().for_each(|line| line.wire.freeze());
    }

    /// Sends every present connection something.
    pub(super) fn tell_all(&self, out: &Out) {
        for line in self.lines.values() {
            let _ = line.out.send(out.clone());
        }
    }

    /// Forgets every session, so that no RESUME succeeds.
    pub(super) fn forget_sessions(&mut self) {
        self.sessions.clear();
    }
}

impl Session {
    fn next_frame(&mut self, event: &str, data: &str) -> Arc<str> {
        self.seq += 1;
        let frame: Arc<str> = format!(r#"{{"t":"{event}","s":{},"op":0,"d":{data}}}"#, self.seq).into();
        self.events.push_back((self.seq, Arc::clone(&frame)));
        if self.events.len() > REPLAY_MAX {
            self.events.pop_front();
        }
        frame
    }
}
