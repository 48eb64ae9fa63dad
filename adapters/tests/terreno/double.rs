//! A host that answers by script and records what it was sent, and a clock that is moved by hand.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use adapters::clock::{Clock, SystemClock};
use adapters::source::{Answer, Source as _, Verdict};
use adapters::sources::terreno::{Address, Auth, Credential, Secret, TerrenoOptions, TerrenoSource};
use asks::ask::Surface;
use asks::ids::{AccountKey, AskKey, ButtonId, ConversationId, SourceName, ToolCallId};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, Response, Uri};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use url::Url;

/// One request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) line: String,
    pub(crate) bearer: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

/// What the host says: status, headers, body, after a delay.
#[derive(Debug, Clone, Default)]
pub(crate) struct Says {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
    pub(crate) delay: Duration,
}

/// The host.
pub(crate) struct Host {
    pub(crate) url: Url,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub(crate) struct Hand {
    start: Instant,
    moved: AtomicU64,
}

pub(crate) fn says(status: u16, body: impl Into<String>) -> Says {
    Says { status, body: body.into(), ..Says::default() }
}

pub(crate) fn empty_list() -> Says {
    says(200, r#"{"data":[],"requestId":"r"}"#)
}

pub(crate) fn unauthorised() -> Says {
    says(401, r#"{"status":401,"title":"Unauthorized","requestId":"r"}"#)
}

pub(crate) fn expired() -> Says {
    says(401, r#"{"message":"jwt expired","details":"[jwt] Error decoding token: TokenExpiredError: jwt expired"}"#)
}

/// A session of Terreno: a JWT of 15 minutes whose `n` tells it from others, and its refresh token.
pub(crate) fn session(user: &str, n: u32) -> Says {
    says(200, format!(r#"{{"data":{{"token":"{}","refreshToken":"refresh-{n}","userId":"{user}"}}}}"#, jwt(user, n)))
}

pub(crate) fn jwt(user: &str, n: u32) -> String {
    let claims = format!(r#"{{"id":"{user}","iat":1000,"exp":1900,"n":{n}}}"#);
    format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims))
}

impl Host {
    pub(crate) async fn start(script: impl Fn(&Seen, usize) -> Says + Send + Sync + 'static) -> Self {
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let (log, script) = (Arc::clone(&seen), Arc::new(script));
        let answer = move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| {
            let bearer = headers.get("authorization").and_then(|v| v.to_str().ok()).unwrap_or_default();
            let bearer = bearer.strip_prefix("Bearer ").unwrap_or(bearer).to_owned();
            let body = serde_json::from_slice(&body).unwrap_or_default();
            let one = Seen { line: format!("{method} {}", uri.path()), bearer, headers, body };
            let earlier = {
                let mut log = log.lock().unwrap();
                log.push(one.clone());
                log.iter().filter(|other| other.line == one.line).count() - 1
            };
            let said = script(&one, earlier);
            async move {
                tokio::time::sleep(said.delay).await;
                let mut response = Response::builder().status(said.status);
                for (name, value) in said.headers {
                    response = response.header(name, value);
                }
                response.body(Body::from(said.body)).unwrap()
            }
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
        Self { url, seen }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.line).collect()
    }

    pub(crate) fn count(&self, line: &str) -> usize {
        self.lines().iter().filter(|seen| *seen == line).count()
    }
}

impl Hand {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { start: SystemClock.instant(), moved: AtomicU64::new(0) })
    }

    pub(crate) fn forward(&self, seconds: u64) {
        self.moved.fetch_add(seconds, Ordering::SeqCst);
    }
}

impl Clock for Hand {
    fn unix_millis(&self) -> i64 {
        0
    }

    fn instant(&self) -> Instant {
        self.start + Duration::from_secs(self.moved.load(Ordering::SeqCst))
    }
}

pub(crate) fn me() -> AccountKey {
    AccountKey { source: SourceName::from("app"), name: "me".into() }
}

pub(crate) fn password() -> Credential {
    Credential::Password { email: "me@example.com".to_owned(), password: Secret::new("hunter2") }
}

pub(crate) fn token(token: &str) -> Credential {
    Credential::Token { token: Secret::new(token), refresh_token: None }
}

pub(crate) fn options(url: &Url, clock: &Arc<Hand>, credential: Credential) -> TerrenoOptions {
    TerrenoOptions {
        url: url.clone(),
        auth: Auth::Auto,
        surface: Surface::Compact,
        headers: vec![("x-ai-api-key".to_owned(), Secret::new("key-1"))],
        turn_timeout: Duration::from_secs(2),
        http: adapters::http::client().unwrap(),
        clock: Arc::<Hand>::clone(clock),
        address: Arc::new(Address::default()),
        keeper: None,
        accounts: vec![(me(), credential)],
    }
}

pub(crate) fn source(url: &Url, clock: &Arc<Hand>, credential: Credential) -> TerrenoSource {
    TerrenoSource::new(options(url, clock, credential)).unwrap()
}

pub(crate) fn ask(conversation: &str) -> AskKey {
    AskKey {
        source: SourceName::from("app"),
        conversation: ConversationId::from(conversation),
        ask: ToolCallId::from("call_1"),
    }
}

pub(crate) async fn press(source: &TerrenoSource) -> Verdict {
    source.answer(&me(), &ask("h1"), &Answer::Button(ButtonId::from("approve"))).await
}
