//! What the gateway answers to each thing a client says.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use serde_json::{Value, json};

use super::{Greeting, Line, Out, Session};
use crate::discord::{json, world::World};

/// Sends per minute and connection.
const SENDS_PER_MINUTE: usize = 120;
/// Bytes of one message of the client.
const PAYLOAD_MAX: usize = 4096;
/// Server members, presences, message content: need Discord's approval.
const PRIVILEGED: u64 = (1 << 1) | (1 << 8) | (1 << 15);
/// All bits that mean something.
const INTENTS: u64 = ((1 << 17) - 1) | (1 << 20) | (1 << 21) | (1 << 24) | (1 << 25);

const UNKNOWN_OPCODE: Out = Out::Close(4001, "Unknown opcode.");
const DECODE_ERROR: Out = Out::Close(4002, "Error while decoding payload.");
const NOT_AUTHENTICATED: Out = Out::Close(4003, "Not authenticated.");
const AUTHENTICATION_FAILED: Out = Out::Close(4004, "Authentication failed.");
const ALREADY_AUTHENTICATED: Out = Out::Close(4005, "Already authenticated.");
const INVALID_SEQ: Out = Out::Close(4007, "Invalid seq.");
const RATE_LIMITED: Out = Out::Close(4008, "Rate limited.");
const INVALID_SHARD: Out = Out::Close(4010, "Invalid shard.");
const INVALID_INTENTS: Out = Out::Close(4013, "Invalid intent(s).");
const DISALLOWED_INTENTS: Out = Out::Close(4014, "Disallowed intent(s).");

/// What follows from one message of the client.
#[derive(Debug)]
pub(super) enum Next {
    /// These go out.
    Send(Vec<Out>),
    /// READY is due for this session, when the rules let it.
    Ready(String),
}

impl World {
    /// The first thing a client hears.
    pub(super) fn hello(&self) -> Out {
        let interval = u64::try_from(self.options.heartbeat_interval.as_millis()).unwrap_or(u64::MAX);
        op(10, &json!({ "heartbeat_interval": interval }))
    }

    /// Decides what one message of a client leads to.
    pub(super) fn heard(&mut self, line: u64, text: &str, now: Duration) -> Next {
        self.current = 0;
        let Some(spoken) = self.gateway.lines.get_mut(&line) else { return Next::Send(Vec::new()) };
        if !spoken.may_speak(now) {
            return one(RATE_LIMITED);
        }
        let Ok(Value::Object(message)) = serde_json::from_str::<Value>(text) else { return one(DECODE_ERROR) };
        let Some(code) = message.get("op").and_then(Value::as_u64).filter(|_| text.len() <= PAYLOAD_MAX) else {
            return one(DECODE_ERROR);
        };
        let data = message.get("d").unwrap_or(&Value::Null);
        let known = spoken.session.is_some();
        match code {
            1 => {
                self.state.counts.heartbeats += 1;
                Next::Send(if self.gateway.rules.ack_heartbeats { vec![bare(11)] } else { Vec::new() })
            }
            2 | 6 if known => one(ALREADY_AUTHENTICATED),
            2 => self.identify(line, data, now),
            6 => self.resume(line, data),
            3 | 4 | 8 | 31 if known => Next::Send(Vec::new()),
            3 | 4 | 8 | 31 => one(NOT_AUTHENTICATED),
            _ => one(UNKNOWN_OPCODE),
        }
    }

    /// Sends READY to a connection whose session waits for it.
    pub(super) fn make_ready(&mut self, line: u64, session: &str) {
        let Some(started) = self.gateway.sessions.get(session) else { return };
        let ready = json!({
            "v": 10,
            "user": json::me(&self.state),
            "guilds": [{ "id": self.state.guild, "unavailable": true }],
            "session_id": session,
            "session_type": "normal",
            "resume_gateway_url": self.gateway_url,
            "shard": [started.shard.0, started.shard.1],
            "application": { "id": self.state.bot, "flags": 0 },
            "private_channels": [],
            "relationships": [],
            "user_settings": {},
            "_trace": ["[\"sim\"]"],
        });
        let Some(connection) = self.gateway.lines.get(&line) else { return };
        let Some(started) = self.gateway.sessions.get_mut(session) else { return };
        started.line = Some(line);
        started.lost = None;
        let frame = started.next_frame("READY", &ready.to_string());
        let _ = connection.out.send(Out::Frame(frame));
    }

    fn identify(&mut self, line: u64, data: &Value, now: Duration) -> Next {
        if !self.is_token(data) {
            return one(AUTHENTICATION_FAILED);
        }
        let Some(intents) = data.get("intents").and_then(Value::as_u64) else { return one(DECODE_ERROR) };
        if data.get("properties").is_none_or(|properties| !properties.is_object()) {
            return one(DECODE_ERROR);
        }
        if intents & !INTENTS != 0 {
            return one(INVALID_INTENTS);
        }
        if intents & PRIVILEGED != 0 {
            return one(DISALLOWED_INTENTS);
        }
        let shard = match data.get("shard") {
            None | Some(Value::Null) => (0, 1),
            Some(shard) => match (shard.get(0).and_then(Value::as_u64), shard.get(1).and_then(Value::as_u64)) {
                (Some(id), Some(count)) if id < count => (id, count),
                _ => return one(INVALID_SHARD),
            },
        };
        self.state.counts.identifies += 1;
        if let Some(greeting) = self.gateway.greetings.pop_front() {
            return one(greeting.out());
        }
        let too_soon = |spacing, last| now.checked_sub(last).is_some_and(|passed| passed < spacing);
        let last = self.gateway.last_identify.replace(now);
        if let (Some(spacing), Some(last)) = (self.options.identify_spacing, last)
            && too_soon(spacing, last)
        {
            return one(op(9, &false.into()));
        }
        self.gateway.started += 1;
        let id = format!("{:032x}", u128::from(self.gateway.started) << 64 | u128::from(self.mint.next(now).number()));
        // READY comes first in every session, so nothing is queued for it before.
        let session = Session { seq: 0, events: VecDeque::new(), line: None, lost: Some(now), intents, shard };
        self.gateway.sessions.insert(id.clone(), session);
        if let Some(connection) = self.gateway.lines.get_mut(&line) {
            connection.session = Some(id.clone());
        }
        Next::Ready(id)
    }

    fn resume(&mut self, line: u64, data: &Value) -> Next {
        self.state.counts.resumes += 1;
        if !self.is_token(data) {
            return one(AUTHENTICATION_FAILED);
        }
        if let Some(greeting) = self.gateway.greetings.pop_front() {
            return one(greeting.out());
        }
        let id = data.get("session_id").and_then(Value::as_str).unwrap_or_default();
        let seq = data.get("seq").and_then(Value::as_u64);
        let Some(session) = self.gateway.sessions.get_mut(id) else { return one(op(9, &false.into())) };
        let oldest = session.events.front().map_or(session.seq, |(first, _)| first.saturating_sub(1));
        let Some(seq) = seq.filter(|seq| *seq <= session.seq) else { return one(INVALID_SEQ) };
        if seq < oldest {
            self.gateway.sessions.remove(id);
            return one(op(9, &false.into()));
        }
        let mut missed: Vec<Out> =
            session.events.iter().filter(|(at, _)| *at > seq).map(|(_, frame)| Out::Frame(Arc::clone(frame))).collect();
        let resumed = session.next_frame("RESUMED", r#"{"_trace":["[\"sim\"]"]}"#);
        missed.push(Out::Frame(resumed));
        session.lost = None;
        let before = session.line.replace(line);
        if let Some(connection) = self.gateway.lines.get_mut(&line) {
            connection.session = Some(id.to_owned());
        }
        if let Some(old) = before.filter(|old| *old != line).and_then(|old| self.gateway.lines.get(&old)) {
            old.wire.cut();
        }
        // Through the queue, and still under the lock: events dispatched from now on come after these.
        if let Some(connection) = self.gateway.lines.get(&line) {
            for out in missed {
                let _ = connection.out.send(out);
            }
        }
        Next::Send(Vec::new())
    }

    fn is_token(&self, data: &Value) -> bool {
        let token = data.get("token").and_then(Value::as_str).unwrap_or_default();
        token.strip_prefix("Bot ").unwrap_or(token) == self.options.token
    }
}

impl Line {
    fn may_speak(&mut self, now: Duration) -> bool {
        while self.spoke.front().is_some_and(|at| now.saturating_sub(*at) >= Duration::from_mins(1)) {
            self.spoke.pop_front();
        }
        self.spoke.push_back(now);
        self.spoke.len() <= SENDS_PER_MINUTE
    }
}

impl Greeting {
    fn out(self) -> Out {
        match self {
            Self::Close(code) => Out::Close(code, "Scripted."),
            Self::InvalidSession(resumable) => op(9, &resumable.into()),
        }
    }
}

/// Op 7: please reconnect and resume.
pub(in crate::discord) fn reconnect() -> Out {
    bare(7)
}

/// Op 9: this session is over.
pub(in crate::discord) fn invalid_session(resumable: bool) -> Out {
    op(9, &resumable.into())
}

fn one(out: Out) -> Next {
    Next::Send(vec![out])
}

fn bare(code: u8) -> Out {
    op(code, &Value::Null)
}

fn op(code: u8, data: &Value) -> Out {
    Out::Frame(json!({ "t": null, "s": null, "op": code, "d": data }).to_string().into())
}
