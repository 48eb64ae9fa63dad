//! One simulated Discord on its own port, a client for it, and a person to write to.

use std::{sync::Arc, time::Duration};

use reqwest::{Client, Method};
use serde_json::{Value, json};
use sim::{
    clock::ManualClock,
    discord::{Discord, Id, Limits, Options},
};
use tokio::net::TcpListener;

pub(super) const TOKEN: &str = "bot-token-of-the-tests";
pub(super) const APPLICATION: u64 = 4_200_000_000_000_000_001;
pub(super) const PERSON: u64 = 987_654_321;
/// How long a test waits for what must happen at once.
pub(super) const SOON: Duration = Duration::from_secs(10);

pub(super) struct Site {
    pub(super) discord: Discord,
    pub(super) clock: ManualClock,
    pub(super) client: Client,
    /// The direct-message channel with the person.
    pub(super) dm: Id,
    pub(super) person: Id,
}

/// The answer to one request.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: reqwest::header::HeaderMap,
    pub(super) text: String,
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or(Value::Null)
    }

    pub(super) fn code(&self) -> Option<u64> {
        self.json().get("code")?.as_u64()
    }

    pub(super) fn id(&self) -> Id {
        self.json()["id"].as_str().and_then(|id| id.parse().ok()).unwrap_or_else(|| panic!("no id in {self:?}"))
    }
}

impl Site {
    /// A server without rate limits.
    pub(super) async fn open() -> Self {
        let mut options = Options::new(TOKEN, APPLICATION);
        options.limits = Limits::off();
        Self::with(options).await
    }

    pub(super) async fn with(options: Options) -> Self {
        let clock = ManualClock::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let discord = Discord::start(listener, options, Arc::new(clock.clone())).expect("a listening address");
        let person = discord.add_user(PERSON, "person-1");
        #[expect(clippy::disallowed_methods, reason = "the test's own client")]
        let client = Client::builder()
            .user_agent("DiscordBot (https://example.com/askgate, 0.1.0)")
            .timeout(Duration::from_secs(20))
            .build()
            .expect("a client");
        let mut site = Self { discord, clock, client, dm: person, person };
        let opened = site.post("/users/@me/channels", &json!({ "recipient_id": person })).await;
        site.dm = opened.id();
        site
    }

    pub(super) async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> reqwest::Result<Answer> {
        let url = format!("{}/api/v10{path}", self.discord.url());
        let mut request = self.client.request(method, url).header("authorization", format!("Bot {TOKEN}"));
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Ok(Answer { status, headers, text: response.text().await? })
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, Some(body)).await.expect("an answer")
    }

    pub(super) async fn patch(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::PATCH, path, Some(body)).await.expect("an answer")
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, None).await.expect("an answer")
    }

    pub(super) async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, None).await.expect("an answer")
    }

    /// Posts into the person's channel.
    pub(super) async fn create(&self, body: &Value) -> Answer {
        self.post(&format!("/channels/{}/messages", self.dm), body).await
    }

    /// Posts a card with two buttons and a link into a channel.
    pub(super) async fn card_in(&self, channel: Id) -> Id {
        let answer = self.post(&format!("/channels/{channel}/messages"), &card()).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.id()
    }

    /// Posts that card to the person.
    pub(super) async fn card(&self) -> Id {
        self.card_in(self.dm).await
    }

    /// Sends the first response to an interaction.
    pub(super) async fn respond(&self, interaction: Id, body: &Value) -> Answer {
        let token = self.token_of(interaction);
        self.post(&format!("/interactions/{interaction}/{token}/callback"), body).await
    }

    pub(super) fn token_of(&self, interaction: Id) -> String {
        self.discord.interaction(interaction).expect("a known interaction").token
    }

    pub(super) fn webhook(&self, interaction: Id) -> String {
        format!("/webhooks/{APPLICATION}/{}", self.token_of(interaction))
    }

    /// What was recorded as careless since the start.
    pub(super) fn careless(&self) -> Vec<String> {
        self.discord.violations().into_iter().map(|violation| violation.what).collect()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.discord.shutdown();
    }
}

pub(super) fn card() -> Value {
    json!({
        "content": "Which plan?",
        "allowed_mentions": { "parse": [] },
        "components": [{ "type": 1, "components": [
            { "type": 2, "style": 1, "label": "Team", "custom_id": "tap-team" },
            { "type": 2, "style": 2, "label": "Starter", "custom_id": "tap-starter" },
            { "type": 2, "style": 5, "label": "Open", "url": "https://app.example.com/ask" },
        ] }],
    })
}

pub(super) fn says(text: &str) -> Value {
    json!({ "content": text, "allowed_mentions": { "parse": [] } })
}
