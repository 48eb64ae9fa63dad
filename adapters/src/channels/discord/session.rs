//! The gateway's protocol without its socket: frames, heartbeats, close codes. Pure.
//!
//! Source: <https://discord.com/developers/docs/events/gateway>.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use serenity::all::GatewayIntents;
use serenity::constants::{GATEWAY_VERSION, LARGE_THRESHOLD, Opcode, close_codes};
use url::Url;

use crate::channel::Failure;

/// The longest time between two heartbeats, whatever HELLO allows: with [`ANSWER`] it bounds how long a dead connection
/// goes unnoticed, to under 12 s.
const BEAT: Duration = Duration::from_secs(7);
/// How long the answer to a heartbeat may take.
const ANSWER: Duration = Duration::from_secs(4);

/// What of a session outlives its connection.
#[derive(Clone, Default)]
pub(super) struct Session {
    /// Its id; a secret. `None` if there is nothing to resume.
    pub(super) id: Option<String>,
    /// Where to resume it.
    pub(super) resume_url: Option<String>,
    /// The last event that was seen.
    pub(super) seq: Option<u64>,
}

/// One frame, of whatever shape its data is.
#[derive(Debug)]
pub(super) struct Frame {
    /// Its kind.
    pub(super) op: Opcode,
    /// Its data.
    pub(super) data: Value,
    /// An event's number.
    pub(super) seq: Option<u64>,
    /// An event's name.
    pub(super) name: Option<String>,
}

/// What a closed connection means for the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Closed {
    /// The session goes on.
    Resume,
    /// The session is over; a new one may begin.
    Renew,
    /// No new connection can mend it.
    Fatal(Failure),
}

/// When to send heartbeats, and when to give up.
#[derive(Debug)]
pub(super) struct Pulse {
    interval: Duration,
    answer: Duration,
    next: Instant,
    waiting_since: Option<Instant>,
}

/// What the pulse asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Beat {
    /// A heartbeat is due.
    Send,
    /// The connection is dead.
    Dead,
    /// Nothing until then.
    At(Instant),
}

impl Frame {
    /// Reads a frame.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut whole: Value = serde_json::from_str(text).ok()?;
        let op = whole.get("op")?.as_u64().and_then(|op| u8::try_from(op).ok())?;
        Some(Self {
            op: Opcode::from(op),
            seq: whole.get("s").and_then(Value::as_u64),
            name: whole.get("t").and_then(Value::as_str).map(str::to_owned),
            data: whole.get_mut("d").map(Value::take).unwrap_or_default(),
        })
    }
}

impl Pulse {
    /// Starts with the interval of a HELLO; the first heartbeat comes after a part of it, from 0 to 1.
    pub(super) fn start(hello: Duration, part: f64, now: Instant) -> Self {
        let interval = hello.clamp(Duration::from_millis(50), BEAT);
        // A server that wants a heartbeat every few milliseconds gets no less time to answer than a slow one.
        Self { interval, answer: ANSWER, next: now + interval.mul_f64(part.clamp(0.0, 1.0)), waiting_since: None }
    }

    /// What to do now.
    pub(super) fn beat(&self, now: Instant) -> Beat {
        match self.waiting_since.map(|since| since + self.answer) {
            Some(dead) if dead <= now => Beat::Dead,
            Some(dead) if self.next > now => Beat::At(dead.min(self.next)),
            // The next is due while the last waits: the last one decides.
            Some(dead) => Beat::At(dead),
            None if self.next <= now => Beat::Send,
            None => Beat::At(self.next),
        }
    }

    /// A heartbeat was sent.
    pub(super) fn sent(&mut self, now: Instant) {
        self.next = now + self.interval;
        self.waiting_since.get_or_insert(now);
    }

    /// A heartbeat was answered.
    pub(super) fn answered(&mut self) {
        self.waiting_since = None;
    }
}

/// What a close code means.
pub(super) fn closed(code: Option<u16>) -> Closed {
    let refused = |why: &str| Closed::Fatal(Failure::Refused { why: why.to_owned() });
    match code {
        Some(close_codes::AUTHENTICATION_FAILED) => Closed::Fatal(Failure::Unauthorised),
        Some(close_codes::INVALID_SHARD | close_codes::SHARDING_REQUIRED) => refused(
            "the bot is in more servers than one gateway connection serves (2,500); remove it from servers where it is \
             not used, or use mode = \"interactions\"",
        ),
        Some(4012) => refused("Discord no longer speaks this version of its gateway; update askgate"),
        Some(close_codes::INVALID_GATEWAY_INTENTS) => {
            refused("Discord does not know the intents this version asks for; update askgate")
        }
        Some(close_codes::DISALLOWED_GATEWAY_INTENTS) => refused(
            "Discord does not allow the bot its intents, though it asks for no privileged one; look at the bot's page \
             in the developer portal",
        ),
        Some(close_codes::NOT_AUTHENTICATED | 4006 | close_codes::INVALID_SEQUENCE | close_codes::SESSION_TIMEOUT) => {
            Closed::Renew
        }
        _ => Closed::Resume,
    }
}

/// The address to connect to.
pub(super) fn address(base: &str) -> Option<Url> {
    let mut url = Url::parse(base).ok().filter(|url| matches!(url.scheme(), "ws" | "wss") && url.has_host())?;
    url.set_query(Some(&format!("v={GATEWAY_VERSION}&encoding=json")));
    Some(url)
}

/// Where to resume: the session's own address, if it belongs to the one the API gave. A simulated or proxied API must never
/// be left for the real Discord, nor the other way round.
pub(super) fn resume_address(session: &Session, gateway: &str) -> Option<Url> {
    let (own, given) = (address(session.resume_url.as_deref()?)?, address(gateway)?);
    let discords = |url: &Url| url.domain().is_some_and(|name| name == "discord.gg" || name.ends_with(".discord.gg"));
    (own.host() == given.host() || (discords(&own) && discords(&given))).then_some(own)
}

/// The frame that begins a session. No intents: interactions come without.
pub(super) fn identify(token: &str) -> String {
    let properties = json!({ "os": std::env::consts::OS, "browser": "askgate", "device": "askgate" });
    frame(
        Opcode::Identify,
        &json!({
            "token": token,
            "intents": GatewayIntents::empty(),
            "properties": properties,
            "compress": false,
            "large_threshold": LARGE_THRESHOLD,
            "shard": [0, 1],
        }),
    )
}

/// The frame that takes a session up again, if there is one.
pub(super) fn resume(session: &Session, token: &str) -> Option<String> {
    let id = session.id.as_ref()?;
    let data = json!({ "token": token, "session_id": id, "seq": session.seq.unwrap_or_default() });
    Some(frame(Opcode::Resume, &data))
}

/// A heartbeat.
pub(super) fn heartbeat(seq: Option<u64>) -> String {
    frame(Opcode::Heartbeat, &json!(seq))
}

fn frame(op: Opcode, data: &Value) -> String {
    json!({ "op": u8::from(op), "d": data }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock, SystemClock};

    #[test]
    fn a_dead_heartbeat_is_noticed_within_twelve_seconds() {
        let start = SystemClock.instant();
        for part in [0.0, 0.5, 1.0] {
            let mut pulse = Pulse::start(Duration::from_millis(41_250), part, start);
            let (mut now, mut sent) = (start, Vec::new());
            // The first is answered at once; then the server falls silent.
            while pulse.beat(now) != Beat::Dead {
                match pulse.beat(now) {
                    Beat::Send => {
                        pulse.sent(now);
                        sent.push(now);
                        if sent.len() == 1 {
                            pulse.answered();
                        }
                    }
                    Beat::At(at) => {
                        assert!(at > now);
                        now = at;
                    }
                    Beat::Dead => {}
                }
            }
            assert_eq!(sent.len(), 2);
            assert!(now.duration_since(sent[0]) < Duration::from_secs(12));
        }
    }

    #[test]
    fn a_short_interval_is_kept_and_an_answer_may_still_take_its_time() {
        let start = SystemClock.instant();
        let mut pulse = Pulse::start(Duration::from_millis(500), 1.0, start);
        assert_eq!(pulse.beat(start), Beat::At(start + Duration::from_millis(500)));
        let now = start + Duration::from_millis(500);
        assert_eq!(pulse.beat(now), Beat::Send);
        pulse.sent(now);
        assert_eq!(pulse.beat(now), Beat::At(now + Duration::from_millis(500)));
        assert_eq!(pulse.beat(now + Duration::from_secs(1)), Beat::At(now + ANSWER));
        pulse.answered();
        assert_eq!(pulse.beat(now + Duration::from_secs(1)), Beat::Send);
    }

    #[test]
    fn close_codes_decide_what_comes_next() {
        for code in [None, Some(1000), Some(1001), Some(1006), Some(4000), Some(4001), Some(4008), Some(4999)] {
            assert_eq!(closed(code), Closed::Resume, "{code:?}");
        }
        for code in [4003, 4006, 4007, 4009] {
            assert_eq!(closed(Some(code)), Closed::Renew, "{code}");
        }
        assert_eq!(closed(Some(4004)), Closed::Fatal(Failure::Unauthorised));
        for code in [4010, 4011, 4012, 4013, 4014] {
            assert!(matches!(closed(Some(code)), Closed::Fatal(Failure::Refused { .. })), "{code}");
        }
    }

    #[test]
    fn frames_are_read_whatever_their_data_is() {
        let frame = Frame::read(r#"{"op":0,"s":7,"t":"NEW_EVENT","d":[1,{"x":null}],"extra":true}"#).expect("a frame");
        assert_eq!((frame.op, frame.seq, frame.name.as_deref()), (Opcode::Dispatch, Some(7), Some("NEW_EVENT")));
        assert!(Frame::read(r#"{"op":"zero"}"#).is_none() && Frame::read("<html>").is_none());
        assert_eq!(Frame::read(r#"{"op":99}"#).map(|frame| frame.op), Some(Opcode::Unknown(99)));
    }

    #[test]
    fn a_session_is_resumed_only_where_it_belongs() {
        let session = |url: &str| Session { resume_url: Some(url.to_owned()), ..Session::default() };
        let at = |own: &str, gateway| resume_address(&session(own), gateway).map(|url| url.to_string());
        assert_eq!(
            at("wss://gateway-us-east1-b.discord.gg", "wss://gateway.discord.gg/"),
            Some("wss://gateway-us-east1-b.discord.gg/?v=10&encoding=json".to_owned())
        );
        assert_eq!(
            at("ws://127.0.0.1:4/gw", "ws://127.0.0.1:5"),
            Some("ws://127.0.0.1:4/gw?v=10&encoding=json".to_owned())
        );
        assert_eq!(at("wss://gateway.discord.gg", "ws://127.0.0.1:5"), None);
        assert_eq!(at("wss://evil-discord.gg", "wss://gateway.discord.gg"), None);
        assert_eq!(at("http://127.0.0.1:5", "ws://127.0.0.1:5"), None);
    }

    #[test]
    fn handshakes_say_what_discord_expects() {
        let said: Value = serde_json::from_str(&identify("secret")).expect("JSON");
        assert_eq!(said.pointer("/op"), Some(&json!(2)));
        assert_eq!(said.pointer("/d/intents"), Some(&json!(0)));
        assert_eq!(said.pointer("/d/token"), Some(&json!("secret")));
        assert_eq!(heartbeat(None), r#"{"op":1,"d":null}"#);
        let session = Session { id: Some("s".to_owned()), resume_url: None, seq: Some(9) };
        assert_eq!(
            resume(&session, "secret").as_deref(),
            Some(r#"{"op":6,"d":{"token":"secret","session_id":"s","seq":9}}"#)
        );
        assert_eq!(resume(&Session::default(), "secret"), None);
    }
}
