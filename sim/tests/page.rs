//! The demo's page over real sockets: what it shows, what it lets its visitor do, and what it refuses.

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use serde_json::{Value, json};
    use sim::clock::SystemClock;
    use sim::discord::{self, Discord};
    use sim::page::{self, PageOptions};
    use sim::telegram::{Settings, Telegram};
    use sim::terreno::{self, Terreno};
    use tokio::net::TcpListener;
    use tokio_util::sync::CancellationToken;

    const EMAIL: &str = "you@example.com";
    const TELEGRAM_USER: i64 = 4201;
    const DISCORD_USER: u64 = 910_000_000_000_000_001;
    const WITHIN: Duration = Duration::from_secs(10);

    struct Site {
        http: reqwest::Client,
        url: String,
        telegram: Telegram,
        telegram_url: String,
        discord: Discord,
        terreno: Terreno,
        stop: CancellationToken,
    }

    impl Drop for Site {
        fn drop(&mut self) {
            self.stop.cancel();
        }
    }

    impl Site {
        async fn start() -> Self {
            let (clock, stop) = (Arc::new(SystemClock), CancellationToken::new());
            let bind = || TcpListener::bind("127.0.0.1:0");
            let terreno = Terreno::start(bind().await.unwrap(), terreno::Options::default(), clock.clone()).unwrap();
            terreno.add_user(EMAIL, "secret");
            let telegram = Telegram::new(Settings::default(), clock.clone());
            telegram.private_chat(TELEGRAM_USER);
            let listener = bind().await.unwrap();
            let telegram_url = format!("http://{}/bot{}", listener.local_addr().unwrap(), telegram.token());
            let (served, ends) = (telegram.clone(), stop.clone());
            tokio::spawn(async move { served.serve(listener, ends).await });
            let options = discord::Options::new("token", 77_u64);
            let discord = Discord::start(bind().await.unwrap(), options, clock).unwrap();
            discord.add_user(DISCORD_USER, "You");
            let listener = bind().await.unwrap();
            let url = format!("http://{}", listener.local_addr().unwrap());
            let options = PageOptions {
                telegram: telegram.clone(),
                telegram_user: TELEGRAM_USER,
                telegram_chat: TELEGRAM_USER,
                discord: discord.clone(),
                discord_user: DISCORD_USER.into(),
                terreno: terreno.clone(),
                user: EMAIL.to_owned(),
            };
            tokio::spawn(page::serve(listener, options, stop.clone()));
            #[expect(clippy::disallowed_methods, reason = "a test's own client")]
            let http = reqwest::Client::new();
            Self { http, url, telegram, telegram_url, discord, terreno, stop }
        }

        async fn state(&self) -> Value {
            self.http.get(format!("{}/state", self.url)).send().await.unwrap().json().await.unwrap()
        }

        async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
            let reply = self.http.post(format!("{}{path}", self.url)).json(body).send().await.unwrap();
            let status = reply.status().as_u16();
            (status, reply.json().await.unwrap_or_default())
        }
    }

    #[tokio::test]
    async fn an_ask_is_refused_beside_its_field_and_then_answered() {
        let site = Site::start().await;
        let (status, reply) = site.post("/app/prompt", &json!({"text": "Book a room"})).await;
        assert_eq!((status, &reply["status"]), (200, &json!(200)));
        let conversation = &site.state().await["app"]["conversations"][0];
        let (history, ask) = (&reply["history"], &conversation["pendingAsk"]);
        assert_eq!((&conversation["historyId"], &ask["kind"]), (history, &json!("form")));

        let answer = |values: Value| {
            let response = json!({"action": "accept", "content": {"values": values}});
            json!({"history": history, "toolCallId": ask["toolCallId"], "response": response})
        };
        let (_, refused) = site.post("/app/answer", &answer(json!({"people": 99, "start": "14:00"}))).await;
        assert_eq!(refused["status"], 400);
        assert_eq!(refused.pointer("/body/meta/fields/0/path"), Some(&json!("content.values.people")));
        let (_, taken) = site.post("/app/answer", &answer(json!({"people": 4, "start": "14:00"}))).await;
        assert_eq!(taken["status"], 200);
        let conversation = &site.state().await["app"]["conversations"][0];
        assert_eq!(conversation["pendingAsk"], Value::Null);
        let (_, late) = site.post("/app/answer", &answer(json!({"people": 5, "start": "14:00"}))).await;
        assert_eq!(late["status"], 409);
    }

    #[tokio::test]
    async fn a_new_conversation_comes_first() {
        let site = Site::start().await;
        site.post("/app/prompt", &json!({"text": "Plan a trip"})).await;
        let (status, opened) = site.post("/app/new", &json!({})).await;
        assert_eq!(status, 200);
        let conversations = site.state().await["app"]["conversations"].clone();
        assert_eq!(conversations.as_array().unwrap().len(), 2);
        let (_, reply) = site.post("/app/prompt", &json!({"text": "Order dinner"})).await;
        assert_eq!(reply["history"], opened["history"], "a prompt without a conversation goes to the newest");
        let (status, _) = site.post("/app/prompt", &json!({"text": "hello", "history": "no such"})).await;
        assert_eq!(status, 404);
    }

    #[tokio::test]
    async fn a_telegram_tap_reaches_the_bot_and_its_data_stays_off_the_page() {
        let site = Site::start().await;
        let keyboard = json!([[{"text": "Yes", "callback_data": "token-in-telegram", "style": "primary"}],
            [{"text": "Open", "url": "https://example.com/"}]]);
        let body = json!({"chat_id": TELEGRAM_USER, "text": "Go?", "reply_markup": {"inline_keyboard": keyboard}});
        site.http.post(format!("{}/sendMessage", site.telegram_url)).json(&body).send().await.unwrap();
        let state = site.state().await;
        let message = &state["telegram"]["messages"][0];
        assert_eq!(message["keyboard"][0][0], json!({"text": "Yes", "style": "primary", "url": null}));
        assert!(!state.to_string().contains("token-in-telegram"));

        let tap = |button: Value| json!({"message_id": message["id"], "button": button});
        let (status, tapped) = site.post("/telegram/tap", &tap(json!("Yes"))).await;
        assert_eq!(status, 200);
        let waiting = site.telegram.waiting_updates();
        let query = waiting.iter().find_map(|update| update.get("callback_query")).unwrap();
        assert_eq!((&query["data"], &query["id"]), (&json!("token-in-telegram"), &tapped["callback"]));
        assert_eq!(site.state().await["taps"][0]["label"], "Yes");
        assert_eq!(site.post("/telegram/tap", &tap(json!(1))).await.0, 409, "a link is no tap");
        assert_eq!(site.post("/telegram/tap", &tap(json!("No"))).await.0, 409);

        assert_eq!(site.post("/telegram/send", &json!({"text": "hello"})).await.0, 200);
        assert_eq!(site.state().await["telegram"]["messages"][1]["mine"], true);
    }

    #[tokio::test]
    async fn a_discord_tap_makes_an_interaction_and_its_id_stays_off_the_page() {
        let site = Site::start().await;
        let rest = async |path: &str, body: &Value| -> Value {
            let url = format!("{}/api/v10{path}", site.discord.url());
            let request = site.http.post(url).header("authorization", "Bot token").json(body);
            request.send().await.unwrap().json().await.unwrap()
        };
        let channel = rest("/users/@me/channels", &json!({"recipient_id": DISCORD_USER.to_string()})).await;
        let channel = channel["id"].as_str().unwrap();
        let button = json!({"type": 2, "style": 1, "label": "Yes", "custom_id": "token-in-discord"});
        let body = json!({"content": "Go?", "components": [{"type": 1, "components": [button]}]});
        let posted = rest(&format!("/channels/{channel}/messages"), &body).await;
        let state = site.state().await;
        assert_eq!(state["discord"]["messages"][0]["buttons"][0]["label"], "Yes");
        assert!(!state.to_string().contains("token-in-discord"));

        let mut tap = json!({"channel": channel, "message": posted["id"], "button": "Yes"});
        let (status, tapped) = site.post("/discord/tap", &tap).await;
        assert_eq!(status, 200);
        let id = tapped["interaction"].as_str().unwrap().parse().unwrap();
        let cause = site.discord.interaction(id).unwrap().cause;
        assert!(matches!(cause, discord::Cause::Component { custom_id, .. } if custom_id == "token-in-discord"));
        assert_eq!(site.state().await["discord"]["messages"][0]["waiting"], true);
        tap["channel"] = json!("5");
        assert_eq!(site.post("/discord/tap", &tap).await.0, 409);
    }

    #[tokio::test]
    async fn nobody_else_changes_anything_and_every_answer_carries_the_policy() {
        let site = Site::start().await;
        let page = site.http.get(&site.url).send().await.unwrap();
        let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
        assert!(policy.starts_with("default-src 'none'; script-src 'self';") && !policy.contains("unsafe"), "{policy}");
        assert!(page.text().await.unwrap().contains("<html lang=\"en\">"));

        let send = |kind: &'static str, origin: Option<&'static str>| {
            let body = json!({"text": "Plan a trip"}).to_string();
            let request = site.http.post(format!("{}/app/prompt", site.url)).header("content-type", kind).body(body);
            origin.map_or_else(
                || request.try_clone().unwrap(),
                |origin| request.try_clone().unwrap().header("origin", origin),
            )
        };
        for (kind, origin, status) in [
            ("text/plain", None, 415),
            ("application/json", Some("http://elsewhere.example"), 403),
            ("application/json", Some("null"), 403),
        ] {
            let reply = send(kind, origin).send().await.unwrap();
            assert_eq!(reply.status().as_u16(), status, "{kind} from {origin:?}");
            assert!(reply.headers().contains_key("content-security-policy"));
        }
        assert!(site.terreno.conversations(EMAIL).is_empty());
    }

    #[tokio::test]
    async fn every_change_is_told_at_once_and_a_shutdown_ends_the_stream() {
        let site = Site::start().await;
        let mut events = site.http.get(format!("{}/events", site.url)).send().await.unwrap();
        let mut heard = String::new();
        let mut until = async |what: &str| {
            while !heard.contains(what) {
                let chunk = events.chunk().await.unwrap().expect("the stream goes on");
                heard.push_str(&String::from_utf8_lossy(&chunk));
            }
        };
        tokio::time::timeout(WITHIN, until("event: state")).await.expect("the first picture");
        site.telegram.say(TELEGRAM_USER, TELEGRAM_USER, "something new");
        tokio::time::timeout(WITHIN, until("something new")).await.expect("the picture after a change");
        site.stop.cancel();
        let ended = async { while let Ok(Some(_)) = events.chunk().await {} };
        tokio::time::timeout(WITHIN, ended).await.expect("the stream ends with the page");
    }
}
