//! A tiny Bot API for the odd cases of this folder's tests: answers as a test scripts it and records every call.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::future::BoxFuture;
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use tokio::sync::Notify;
use url::Url;

use super::{BotToken, Pace, Rate, TelegramChannel, TelegramOptions, Timing};
use crate::clock::SystemClock;

pub(super) const TOKEN: &str = "12345:very-secret";

/// One recorded call.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) method: String,
    pub(super) body: Value,
}

/// A status and a body.
pub(super) type Answer = (u16, String);

type Script = dyn Fn(Call, usize) -> BoxFuture<'static, Answer> + Send + Sync;

pub(super) struct Double {
    calls: Mutex<Vec<Call>>,
    changed: Notify,
    script: Box<Script>,
    pub(super) url: Url,
}

impl fmt::Debug for Double {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Double").field("calls", &self.calls).finish_non_exhaustive()
    }
}

impl Double {
    /// Starts a server whose script sees each call and how many calls of that method came before.
    pub(super) async fn start<F>(script: F) -> Arc<Self>
    where
        F: Fn(Call, usize) -> BoxFuture<'static, Answer> + Send + Sync + 'static,
    {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        let double = Arc::new(Self { calls: Mutex::default(), changed: Notify::new(), script: Box::new(script), url });
        let app = Router::new().route("/{bot}/{method}", axum::routing::post(take)).with_state(Arc::clone(&double));
        tokio::spawn(async move { axum::serve(listener, app).await });
        double
    }

    /// A channel that talks to this server, unpaced unless said otherwise.
    pub(super) fn channel(&self) -> Arc<TelegramChannel> {
        channel_at(self.url.clone(), unpaced())
    }

    /// The calls of a method so far.
    pub(super) fn calls(&self, method: &str) -> Vec<Value> {
        let calls = self.calls.lock().unwrap();
        calls.iter().filter(|call| call.method == method).map(|call| call.body.clone()).collect()
    }

    /// The methods called so far, in order.
    pub(super) fn methods(&self) -> Vec<String> {
        self.calls.lock().unwrap().iter().map(|call| call.method.clone()).collect()
    }

    /// Waits until a condition on the server's records holds.
    pub(super) async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let waiting = async {
            loop {
                let changed = self.changed.notified();
                if holds(self) {
                    return;
                }
                // Not every condition is about calls alone, so look again now and then.
                let _ = tokio::time::timeout(Duration::from_millis(20), changed).await;
            }
        };
        assert!(tokio::time::timeout(Duration::from_secs(10), waiting).await.is_ok(), "{what}: {:?}", self.methods());
    }
}

pub(super) fn channel_at(api_url: Url, pace: Pace) -> Arc<TelegramChannel> {
    Arc::new(TelegramChannel::new(TelegramOptions {
        token: BotToken::new(TOKEN),
        api_url,
        http: crate::http::client().unwrap(),
        clock: Arc::new(SystemClock),
        jitter: StdRng::seed_from_u64(7),
        pace,
        timing: Timing {
            poll: Duration::from_secs(1),
            grace: Duration::from_secs(2),
            first_wait: Duration::from_millis(10),
            longest_wait: Duration::from_millis(40),
            longest_conflict_wait: Duration::from_millis(40),
            note_every: Duration::from_mins(1),
        },
        commands: Vec::new(),
        webhook: None,
    }))
}

pub(super) fn unpaced() -> Pace {
    let free = Rate { burst: 1, every: Duration::ZERO };
    Pace { sends: free, edits: free, group: free, bot: free, chats: 100 }
}

pub(super) fn ok(result: &Value) -> Answer {
    (200, json!({"ok": true, "result": result}).to_string())
}

pub(super) fn no(code: u16, description: &str) -> Answer {
    (code, json!({"ok": false, "error_code": code, "description": description}).to_string())
}

pub(super) fn slow_down(seconds: u64) -> Answer {
    let description = format!("Too Many Requests: retry after {seconds}");
    let body =
        json!({"ok": false, "error_code": 429, "description": description, "parameters": {"retry_after": seconds}});
    (429, body.to_string())
}

/// What the server makes of a message: the asked thread, keyboard and text.
pub(super) fn message(body: &Value, id: i64) -> Value {
    let mut message = json!({"message_id": id, "date": 1, "chat": {"id": body["chat_id"]}, "text": body["text"]});
    for name in ["message_thread_id", "reply_markup"] {
        if let Some(value) = body.get(name) {
            message[name] = value.clone();
        }
    }
    message
}

async fn take(State(double): State<Arc<Double>>, Path((bot, method)): Path<(String, String)>, body: Bytes) -> Response {
    assert_eq!(bot, format!("bot{TOKEN}"));
    let call = Call { method: method.clone(), body: serde_json::from_slice(&body).unwrap() };
    let before = double.calls(&method).len();
    double.calls.lock().unwrap().push(call.clone());
    double.changed.notify_waiters();
    let (status, body) = (double.script)(call, before).await;
    let kind = if body.starts_with('{') { "application/json" } else { "text/html" };
    (StatusCode::from_u16(status).unwrap(), [(header::CONTENT_TYPE, kind)], body).into_response()
}
