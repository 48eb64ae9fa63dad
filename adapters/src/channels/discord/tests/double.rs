//! A tiny Discord that answers what a test tells it to. Its strict sister, with all of Discord's rules, lives in `sim`.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::channel::{Desk, Hearing, Press, Reply, Said};
use crate::channels::discord::{DiscordChannel, DiscordOptions};
use crate::clock::SystemClock;
use asks::place::{ChannelKind, Place};
use async_trait::async_trait;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use axum::{Router, serve};
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{broadcast, watch};

pub(super) const TOKEN: &str = "the-bots-own-secret";

/// One request as it came.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
}

/// One answer to give in place of the usual one.
#[derive(Debug, Clone)]
pub(super) struct Canned {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: String,
    /// Never answers at all.
    pub(super) hang: bool,
}

/// How the gateway behaves on one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mood {
    Well,
    /// Never answers a heartbeat.
    Deaf,
    /// Answers IDENTIFY and RESUME by closing with this code.
    Close(u16),
    /// Answers RESUME with "no such session".
    Forgetful,
}

#[derive(Debug)]
pub(super) struct Double {
    pub(super) url: String,
    pub(super) requests: Mutex<Vec<Request>>,
    canned: Mutex<HashMap<String, VecDeque<Canned>>>,
    moods: Mutex<VecDeque<Mood>>,
    /// IDENTIFY and RESUME frames, in order.
    pub(super) handshakes: Mutex<Vec<Value>>,
    events: broadcast::Sender<Option<Value>>,
    created: Mutex<HashMap<String, u64>>,
}

impl Canned {
    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self { status, headers: Vec::new(), body: body.to_string(), hang: false }
    }

    pub(super) fn error(status: u16, code: u64) -> Self {
        Self::json(status, &json!({ "message": "no", "code": code }))
    }

    pub(super) fn page(status: u16) -> Self {
        let body = "<html><body>error code: 1015</body></html>".to_owned();
        Self { status, headers: Vec::new(), body, hang: false }
    }
}

impl Double {
    pub(super) async fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let double = Arc::new(Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            requests: Mutex::default(),
            canned: Mutex::default(),
            moods: Mutex::default(),
            handshakes: Mutex::default(),
            events: broadcast::channel(64).0,
            created: Mutex::default(),
        });
        let app = Router::new().route("/gateway", any(gateway)).fallback(rest).with_state(double.clone());
        tokio::spawn(async move { serve(listener, app).await.unwrap() });
        double
    }

    pub(super) fn channel(&self) -> Arc<DiscordChannel> {
        channel_at(&self.url)
    }

    /// Answers the next request to this path with this.
    pub(super) fn next(&self, path: &str, canned: Canned) {
        self.canned.lock().unwrap().entry(path.to_owned()).or_default().push_back(canned);
    }

    /// The mood of the next connection that has none yet; later ones are well.
    pub(super) fn mood(&self, mood: Mood) {
        self.moods.lock().unwrap().push_back(mood);
    }

    /// Sends an event to all connections.
    pub(super) fn event(&self, name: &str, data: &Value) {
        let sent = self.events.send(Some(json!({ "op": 0, "s": 5, "t": name, "d": data })));
        assert!(sent.is_ok(), "nobody is connected");
    }

    /// Breaks all connections.
    pub(super) fn drop_connections(&self) {
        assert!(self.events.send(None).is_ok(), "nobody is connected");
    }

    pub(super) fn requests_to(&self, end: &str) -> Vec<Request> {
        self.requests.lock().unwrap().iter().filter(|request| request.path.ends_with(end)).cloned().collect()
    }

    fn usual(&self, request: &Request) -> Value {
        let path = request.path.as_str();
        if path.ends_with("/gateway/bot") || path.ends_with("/gateway") {
            return json!({ "url": format!("{}/gateway", self.url.replace("http", "ws")), "shards": 1 });
        }
        if path.ends_with("/users/@me/channels") {
            return json!({ "id": "500", "type": 1 });
        }
        if path.ends_with("/messages") {
            let nonce = request.body.get("nonce").and_then(Value::as_str).unwrap_or_default().to_owned();
            let mut created = self.created.lock().unwrap();
            let next = 9000 + created.len() as u64;
            return json!({ "id": created.entry(nonce).or_insert(next).to_string() });
        }
        json!({ "id": "42", "username": "asker" })
    }
}

pub(super) fn channel_at(url: &str) -> Arc<DiscordChannel> {
    Arc::new(DiscordChannel::new(DiscordOptions {
        token: TOKEN.to_owned(),
        application_id: Some(42),
        api_url: url.parse().unwrap(),
        http: crate::http::client().unwrap(),
        clock: Arc::new(SystemClock),
        rng: StdRng::seed_from_u64(1),
        commands: Vec::new(),
        interactions: None,
    }))
}

async fn rest(
    State(double): State<Arc<Double>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let body = serde_json::from_slice(&body).unwrap_or_default();
    let request = Request { method, path: uri.path().to_owned(), headers, body };
    double.requests.lock().unwrap().push(request.clone());
    // What is created is created, whatever the answer says.
    let usual = double.usual(&request);
    let canned = double.canned.lock().unwrap().get_mut(&request.path).and_then(VecDeque::pop_front);
    match canned {
        None => axum::Json(usual).into_response(),
        Some(Canned { hang: true, .. }) => std::future::pending().await,
        Some(Canned { status, headers, body, .. }) => {
            let mut response = (StatusCode::from_u16(status).unwrap(), body).into_response();
            for (name, value) in headers {
                response.headers_mut().insert(name, value.parse().unwrap());
            }
            response
        }
    }
}

async fn gateway(State(double): State<Arc<Double>>, upgrade: WebSocketUpgrade) -> Response {
    let mood = double.moods.lock().unwrap().pop_front().unwrap_or(Mood::Well);
    upgrade.on_upgrade(move |socket| connection(double, socket, mood))
}

async fn connection(double: Arc<Double>, mut socket: WebSocket, mood: Mood) {
    let mut events = double.events.subscribe();
    say(&mut socket, &json!({ "op": 10, "d": { "heartbeat_interval": 200 } })).await;
    loop {
        tokio::select! {
            event = events.recv() => match event {
                Ok(Some(event)) => say(&mut socket, &event).await,
                _ => return,
            },
            message = socket.recv() => match message {
                Some(Ok(Message::Text(text))) => {
                    let frame: Value = serde_json::from_str(&text).unwrap();
                    if answer(&double, &mut socket, mood, &frame).await.is_none() {
                        return;
                    }
                }
                Some(Ok(_)) => {}
                _ => return,
            },
        }
    }
}

async fn answer(double: &Double, socket: &mut WebSocket, mood: Mood, frame: &Value) -> Option<()> {
    let op = frame.get("op").and_then(Value::as_u64).unwrap();
    match op {
        1 if mood != Mood::Deaf => say(socket, &json!({ "op": 11 })).await,
        2 | 6 => {
            double.handshakes.lock().unwrap().push(frame.clone());
            let reply = match mood {
                Mood::Close(code) => {
                    let frame = CloseFrame { code, reason: "no".into() };
                    let _ = socket.send(Message::Close(Some(frame))).await;
                    return None;
                }
                Mood::Forgetful if op == 6 => json!({ "op": 9, "d": false }),
                _ if op == 6 => json!({ "op": 0, "s": 3, "t": "RESUMED", "d": {} }),
                _ => json!({ "op": 0, "s": 1, "t": "READY", "d": {
                    "session_id": "session-1", "resume_gateway_url": "wss://gateway.discord.gg",
                    "application": { "id": "42" } } }),
            };
            say(socket, &reply).await;
        }
        _ => {}
    }
    Some(())
}

async fn say(socket: &mut WebSocket, frame: &Value) {
    let _ = socket.send(Message::Text(frame.to_string().into())).await;
}

/// A desk that decides as it is told and writes everything down.
#[derive(Debug)]
pub(super) struct Clerk {
    pub(super) reply: Reply,
    /// How long a press takes.
    pub(super) takes: Duration,
    pub(super) presses: Mutex<Vec<Press>>,
    pub(super) said: Mutex<Vec<Said>>,
    pub(super) memory: Mutex<HashMap<String, String>>,
    hearing: watch::Sender<Option<Hearing>>,
}

impl Clerk {
    pub(super) fn new(reply: Reply, takes: Duration) -> Arc<Self> {
        let (presses, said, memory) = (Mutex::default(), Mutex::default(), Mutex::default());
        Arc::new(Self { reply, takes, presses, said, memory, hearing: watch::channel(None).0 })
    }

    pub(super) fn quick(reply: Reply) -> Arc<Self> {
        Self::new(reply, Duration::ZERO)
    }

    pub(super) async fn hears(&self, expected: impl FnMut(&Option<Hearing>) -> bool) -> Hearing {
        let mut hearing = self.hearing.subscribe();
        let waiting = hearing.wait_for(expected);
        let found = tokio::time::timeout(Duration::from_secs(20), waiting).await;
        found.expect("the listener says nothing of that kind").unwrap().clone().unwrap()
    }

    pub(super) async fn listens(&self) {
        self.hears(|hearing| *hearing == Some(Hearing::Listening)).await;
    }

    pub(super) async fn is_deaf(&self) -> Hearing {
        self.hears(|hearing| matches!(hearing, Some(Hearing::Deaf { .. }))).await
    }
}

#[async_trait]
impl Desk for Clerk {
    fn still_saving(&self, _language: Option<&str>) -> String {
        "Still saving.".to_owned()
    }

    fn recorded(&self, _language: Option<&str>) -> String {
        "It is recorded now.".to_owned()
    }

    async fn press(&self, press: Press) -> Reply {
        self.presses.lock().unwrap().push(press);
        tokio::time::sleep(self.takes).await;
        self.reply.clone()
    }

    async fn said(&self, said: Said) -> Option<String> {
        self.said.lock().unwrap().push(said);
        Some("Nothing to say.".to_owned())
    }

    async fn place_changed(&self, _place: Place, _state: Result<(), String>) {}

    fn hearing(&self, channel: ChannelKind, hearing: Hearing) {
        assert_eq!(channel, ChannelKind::Discord);
        self.hearing.send_replace(Some(hearing));
    }

    async fn taps_may_be_lost(&self, _channel: ChannelKind) {}

    async fn remember(&self, name: &str, value: Option<String>) {
        let mut memory = self.memory.lock().unwrap();
        match value {
            Some(value) => memory.insert(name.to_owned(), value),
            None => memory.remove(name),
        };
    }

    async fn recall(&self, name: &str) -> Option<String> {
        self.memory.lock().unwrap().get(name).cloned()
    }
}

/// Waits until something holds, looking often.
pub(super) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..1500 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}
