//! A running platform and a client for it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sim::clock::ManualClock;
use sim::telegram::{Settings, Telegram};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub(crate) const PERSON: i64 = 4_503_599_627_370_001;
pub(crate) const GROUP: i64 = -4_001;
pub(crate) const FORUM: i64 = -1_001_234_567_890;
pub(crate) const SOON: Duration = Duration::from_secs(10);

/// A running platform with a private chat, a group and a forum with topic 77, and a client for it.
pub(crate) struct Bench {
    pub(crate) telegram: Telegram,
    pub(crate) clock: ManualClock,
    pub(crate) address: SocketAddr,
    pub(crate) client: reqwest::Client,
    pub(crate) shutdown: CancellationToken,
}

impl Bench {
    pub(crate) async fn start() -> Self {
        Self::start_with(Settings::default()).await
    }

    pub(crate) async fn start_with(settings: Settings) -> Self {
        let clock = ManualClock::default();
        let telegram = Telegram::new(settings, Arc::new(clock.clone()));
        telegram.private_chat(PERSON);
        telegram.group(GROUP, "Group", &[PERSON]);
        telegram.supergroup(FORUM, "Forum", &[PERSON]);
        telegram.topic(FORUM, 77, "Asks");
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = CancellationToken::new();
        tokio::spawn({
            let (telegram, shutdown) = (telegram.clone(), shutdown.clone());
            async move { telegram.serve(listener, shutdown).await }
        });
        #[expect(clippy::disallowed_methods, reason = "a client of the test's own, for this machine only")]
        let client = reqwest::Client::builder().timeout(SOON).build().unwrap();
        Self { telegram, clock, address, client, shutdown }
    }

    pub(crate) fn url(&self, method: &str) -> String {
        format!("http://{}/bot{}/{method}", self.address, self.telegram.token())
    }

    pub(crate) async fn try_call(&self, method: &str, params: Value) -> Result<(u16, Value), reqwest::Error> {
        let response = self.client.post(self.url(method)).json(&params).send().await?;
        let status = response.status().as_u16();
        Ok((status, response.json().await?))
    }

    pub(crate) async fn call(&self, method: &str, params: Value) -> (u16, Value) {
        self.try_call(method, params).await.unwrap()
    }

    pub(crate) async fn ok(&self, method: &str, params: Value) -> Value {
        let (status, body) = self.call(method, params).await;
        assert_eq!((status, &body["ok"]), (200, &json!(true)), "{method}: {body}");
        body["result"].clone()
    }

    /// The status and description of a refusal, whose body must agree with its status.
    pub(crate) async fn refused(&self, method: &str, params: Value) -> (u16, String) {
        let (status, body) = self.call(method, params.clone()).await;
        assert_eq!(body["ok"], json!(false), "{method} {params} was taken: {body}");
        assert_eq!(body["error_code"], json!(status));
        (status, body["description"].as_str().unwrap().to_owned())
    }

    pub(crate) async fn card(&self, chat: i64) -> i64 {
        let params = json!({"chat_id": chat, "text": "Which plan?", "reply_markup": keyboard(&json!([
            {"text": "Team", "callback_data": "t-1"}, {"text": "Open", "url": "https://app.example.com/ai"},
        ]))});
        self.ok("sendMessage", params).await["message_id"].as_i64().unwrap()
    }

    pub(crate) async fn updates(&self, params: Value) -> Vec<Value> {
        self.ok("getUpdates", params).await.as_array().unwrap().clone()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}

pub(crate) fn keyboard(row: &Value) -> Value {
    json!({"inline_keyboard": [row]})
}

pub(crate) fn with_button(button: &Value) -> Value {
    json!({"chat_id": PERSON, "text": "x", "reply_markup": keyboard(&json!([button]))})
}
