//! The demo's page without askgate: the three systems, and a stand-in that carries cards and taps in the shortest way.
//!
//! For work on the page: `cargo run -p sim --example page -- 8788`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sim::clock::SystemClock;
use sim::discord::{self, Discord};
use sim::page::{self, PageOptions};
use sim::telegram::{Settings, Telegram, User};
use sim::terreno::{self, PendingView, Terreno};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

const EMAIL: &str = "you@example.com";
const TELEGRAM_USER: i64 = 42_000_001;
const DISCORD_USER: u64 = 910_000_000_000_000_001;

type Failure = Box<dyn std::error::Error>;

/// One card in both chats.
struct Shown {
    ask: PendingView,
    telegram: i64,
    discord: String,
    channel: String,
}

struct StandIn {
    http: reqwest::Client,
    telegram: Telegram,
    telegram_url: String,
    discord: Discord,
    terreno: Terreno,
    handoff: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok()).unwrap_or(0);
    let clock = Arc::new(SystemClock);
    let stop = CancellationToken::new();

    let options = terreno::Options { pace: Duration::from_millis(900), ..terreno::Options::default() };
    let terreno = Terreno::start(TcpListener::bind("127.0.0.1:0").await?, options, clock.clone())?;
    terreno.add_user(EMAIL, "secret");

    let telegram = Telegram::new(Settings::default(), clock.clone());
    let you = User {
        id: TELEGRAM_USER,
        is_bot: false,
        first_name: "You".to_owned(),
        username: None,
        language_code: Some("en".to_owned()),
    };
    telegram.add_user(you);
    telegram.private_chat(TELEGRAM_USER);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let telegram_url = format!("http://{}/bot{}", listener.local_addr()?, telegram.token());
    let (served, ends) = (telegram.clone(), stop.clone());
    tokio::spawn(async move { served.serve(listener, ends).await });

    let options = discord::Options { limits: discord::Limits::off(), ..discord::Options::new("token", 77_u64) };
    let discord = Discord::start(TcpListener::bind("127.0.0.1:0").await?, options, clock)?;
    discord.add_user(DISCORD_USER, "You");

    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let address = listener.local_addr()?;
    #[expect(clippy::print_stdout, reason = "says where the page is")]
    {
        println!("demo: http://{address}/");
    }
    #[expect(clippy::disallowed_methods, reason = "the edge of a small tool")]
    let http = reqwest::Client::new();
    let stand_in = StandIn {
        http,
        telegram: telegram.clone(),
        telegram_url,
        discord: discord.clone(),
        terreno: terreno.clone(),
        handoff: format!("http://{address}/#ask="),
    };
    let options = PageOptions {
        telegram,
        telegram_user: TELEGRAM_USER,
        telegram_chat: TELEGRAM_USER,
        discord,
        discord_user: DISCORD_USER.into(),
        terreno,
        user: EMAIL.to_owned(),
    };
    tokio::select! {
        served = page::serve(listener, options, stop) => Ok(served?),
        carried = stand_in.carry() => carried,
    }
}

impl StandIn {
    async fn carry(&self) -> Result<(), Failure> {
        let channel =
            self.rest("POST", "/users/@me/channels", &json!({"recipient_id": DISCORD_USER.to_string()})).await?;
        let channel = channel["id"].as_str().unwrap_or_default().to_owned();
        let mut shown: HashMap<String, Shown> = HashMap::new();
        let mut said: HashMap<String, usize> = HashMap::new();
        let mut offset = 0;
        loop {
            tokio::time::sleep(Duration::from_millis(150)).await;
            let pending = self.terreno.pending(EMAIL);
            for ask in &pending {
                if !shown.contains_key(&ask.tool_call_id) {
                    tokio::time::sleep(Duration::from_millis(500)).await;
                    shown.insert(ask.tool_call_id.clone(), self.announce(ask.clone(), &channel).await?);
                }
            }
            let gone = shown.keys().find(|id| !pending.iter().any(|ask| ask.tool_call_id == **id)).cloned();
            if let Some(card) = gone.and_then(|id| shown.remove(&id)) {
                self.revise(&card, "☑️ Answered elsewhere").await?;
            }
            for conversation in self.terreno.conversations(EMAIL) {
                let texts = conversation.rows.iter().filter(|row| row["type"] == "assistant");
                let texts: Vec<_> = texts.filter_map(|row| row["text"].as_str()).collect();
                let known = said.entry(conversation.history_id).or_default();
                for text in texts.iter().skip(*known) {
                    self.bot("sendMessage", &json!({"chat_id": TELEGRAM_USER, "text": text})).await?;
                    let path = format!("/channels/{channel}/messages");
                    self.rest("POST", &path, &json!({"content": text, "allowed_mentions": {"parse": []}})).await?;
                }
                *known = texts.len();
            }
            let updates = self.bot("getUpdates", &json!({"offset": offset, "timeout": 0})).await?;
            for update in updates.as_array().into_iter().flatten() {
                offset = update["update_id"].as_i64().unwrap_or_default() + 1;
                let query = &update["callback_query"];
                if let Some(data) = query["data"].as_str() {
                    self.bot("answerCallbackQuery", &json!({"callback_query_id": query["id"], "text": "Recorded."}))
                        .await?;
                    self.press(&mut shown, data).await?;
                }
            }
            let press = self.discord.read(|state| {
                let open = state.interactions().find(|press| press.callback.is_none());
                open.map(|press| (press.id, press.token.clone(), press.cause.clone()))
            });
            if let Some((id, token, discord::Cause::Component { custom_id, .. })) = press {
                self.rest("POST", &format!("/interactions/{id}/{token}/callback"), &json!({"type": 6})).await?;
                self.press(&mut shown, &custom_id).await?;
            }
        }
    }

    async fn press(&self, shown: &mut HashMap<String, Shown>, data: &str) -> Result<(), Failure> {
        let (id, button) = data.split_once(' ').unwrap_or_default();
        let Some(card) = shown.remove(id) else { return Ok(()) };
        let buttons = card.ask.card["buttons"].as_array().cloned().unwrap_or_default();
        let label = buttons.iter().find(|one| one["id"] == button).and_then(|one| one["label"].as_str()).unwrap_or("?");
        self.revise(&card, &format!("⏳ Sending: {label}")).await?;
        self.bot("sendChatAction", &json!({"chat_id": TELEGRAM_USER, "action": "typing"})).await?;
        let (access, _) = self.terreno.tokens(EMAIL).unwrap_or_default();
        let url = format!("{}/gpt/histories/{}/turn", self.terreno.url(), card.ask.history_id);
        let turn = json!({"toolCallId": id, "buttonId": button, "surface": "compact"});
        let reply: Value = self.http.post(url).bearer_auth(access).json(&turn).send().await?.json().await?;
        if reply["data"]["pendingAsk"]["toolCallId"] == id {
            self.revise(&card, "⚠️ The agent failed. Please answer again.").await?;
        } else {
            self.revise(&card, &format!("✅ Answered: {label}")).await?;
        }
        Ok(())
    }

    async fn announce(&self, ask: PendingView, channel: &str) -> Result<Shown, Failure> {
        let (text, entities) = written(&ask, "");
        let mut rows = Vec::new();
        let mut parts = Vec::new();
        for button in ask.card["buttons"].as_array().into_iter().flatten() {
            let data = format!("{} {}", ask.tool_call_id, button["id"].as_str().unwrap_or_default());
            let mut key = json!({"text": button["label"], "callback_data": data});
            let style = match button["style"].as_str() {
                Some("primary") => (Some("primary"), 1),
                Some("destructive") => (Some("danger"), 4),
                _ => (None, 2),
            };
            if let Some(name) = style.0 {
                key["style"] = json!(name);
            }
            rows.push(json!([key]));
            parts.push(json!({"type": 2, "style": style.1, "label": button["label"], "custom_id": data}));
        }
        if ask.card["handoff"] == true {
            let url = format!("{}{}", self.handoff, ask.tool_call_id);
            rows.push(json!([{"text": "Open in the app", "url": url}]));
            parts.push(json!({"type": 2, "style": 5, "label": "Open in the app", "url": url}));
        }
        let body = json!({"chat_id": TELEGRAM_USER, "text": text, "entities": entities, "reply_markup": {"inline_keyboard": rows}});
        let sent = self.bot("sendMessage", &body).await?;
        let content = marked(&ask, "");
        let body = json!({"content": content, "components": [{"type": 1, "components": parts}], "allowed_mentions": {"parse": []}});
        let posted = self.rest("POST", &format!("/channels/{channel}/messages"), &body).await?;
        let discord = posted["id"].as_str().unwrap_or_default().to_owned();
        let telegram = sent["message_id"].as_i64().unwrap_or_default();
        Ok(Shown { ask, telegram, discord, channel: channel.to_owned() })
    }

    async fn revise(&self, card: &Shown, status: &str) -> Result<(), Failure> {
        let (text, entities) = written(&card.ask, status);
        let mut body =
            json!({"chat_id": TELEGRAM_USER, "message_id": card.telegram, "text": text, "entities": entities});
        body["reply_markup"] = json!({"inline_keyboard": []});
        self.bot("editMessageText", &body).await?;
        let path = format!("/channels/{}/messages/{}", card.channel, card.discord);
        let content = marked(&card.ask, status);
        let body = json!({"content": content, "components": [], "allowed_mentions": {"parse": []}});
        self.rest("PATCH", &path, &body).await?;
        Ok(())
    }

    async fn bot(&self, method: &str, body: &Value) -> Result<Value, Failure> {
        let reply = self.http.post(format!("{}/{method}", self.telegram_url)).json(body).send().await?;
        let mut reply: Value = reply.json().await?;
        if reply["ok"] != true {
            return Err(format!("{method}: {reply}; {:?}", self.telegram.violations()).into());
        }
        Ok(reply["result"].take())
    }

    async fn rest(&self, method: &str, path: &str, body: &Value) -> Result<Value, Failure> {
        let url = format!("{}/api/v10{path}", self.discord.url());
        let request = self.http.request(method.parse()?, url).header("authorization", "Bot token").json(body);
        let reply = request.send().await?;
        let status = reply.status();
        let text = reply.text().await?;
        if !status.is_success() {
            return Err(format!("{method} {path}: {status} {text}").into());
        }
        Ok(serde_json::from_str(&text).unwrap_or_default())
    }
}

fn written(ask: &PendingView, status: &str) -> (String, Value) {
    let (title, text) = (ask.card["title"].as_str().unwrap_or_default(), ask.card["text"].as_str().unwrap_or_default());
    let mut entities = json!([]);
    let mut whole = text.to_owned();
    if !title.is_empty() {
        whole = format!("{title}\n{text}");
        entities = json!([{"type": "bold", "offset": 0, "length": title.encode_utf16().count()}]);
    }
    if !status.is_empty() {
        whole = format!("{whole}\n\n{status}");
    }
    (whole, entities)
}

fn marked(ask: &PendingView, status: &str) -> String {
    let (title, text) = (ask.card["title"].as_str().unwrap_or_default(), ask.card["text"].as_str().unwrap_or_default());
    let heading = if title.is_empty() { String::new() } else { format!("**{title}**\n") };
    let status = if status.is_empty() { String::new() } else { format!("\n\n{}", status.replace(':', "\\:")) };
    format!("{heading}{}{status}", text.replace(':', "\\:"))
}
