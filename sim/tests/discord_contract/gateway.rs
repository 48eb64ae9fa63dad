//! The gateway: hello, identify, heartbeats, events, resume, and what goes wrong.

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use sim::discord::{Fault, Greeting, Options, Route, Shape, Where};
use tokio::net::TcpStream;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async, tungstenite::Message};

use super::site::{APPLICATION, SOON, Site, TOKEN};

struct Client {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    seq: u64,
}

/// How a connection ended, or what it said.
#[derive(Debug, PartialEq)]
enum Heard {
    Frame(Value),
    Closed(u16),
    Lost,
}

impl Client {
    async fn connect(site: &Site) -> Self {
        Self::connect_with(site, "?v=10&encoding=json").await
    }

    async fn connect_with(site: &Site, query: &str) -> Self {
        let url = site.get("/gateway").await.json()["url"].as_str().map(str::to_owned).expect("an address");
        let (socket, _) = connect_async(format!("{url}{query}")).await.expect("a connection");
        Self { socket, seq: 0 }
    }

    /// Connects, identifies, and takes READY.
    async fn ready(site: &Site) -> (Self, Value) {
        let mut client = Self::connect(site).await;
        client.frame(10).await;
        client.say(&identify(TOKEN, 0)).await;
        let ready = client.event("READY").await;
        (client, ready)
    }

    async fn say(&mut self, message: &Value) {
        self.socket.send(Message::Text(message.to_string().into())).await.expect("sent");
    }

    async fn hear(&mut self) -> Heard {
        match tokio::time::timeout(SOON, self.socket.next()).await.expect("something in time") {
            Some(Ok(Message::Text(text))) => {
                let frame: Value = serde_json::from_str(&text).expect("JSON");
                self.seq = frame["s"].as_u64().unwrap_or(self.seq);
                Heard::Frame(frame)
            }
            Some(Ok(Message::Close(frame))) => Heard::Closed(frame.map_or(1005, |frame| frame.code.into())),
            _ => Heard::Lost,
        }
    }

    async fn frame(&mut self, op: u64) -> Value {
        match self.hear().await {
            Heard::Frame(frame) if frame["op"] == op => frame,
            other => panic!("expected op {op}, got {other:?}"),
        }
    }

    async fn event(&mut self, name: &str) -> Value {
        let frame = self.frame(0).await;
        assert_eq!(frame["t"], name, "{frame}");
        frame["d"].clone()
    }

    async fn resume(site: &Site, session: &Value, seq: u64) -> Self {
        let mut client = Self::connect(site).await;
        client.frame(10).await;
        client.say(&json!({ "op": 6, "d": { "token": TOKEN, "session_id": session, "seq": seq } })).await;
        client
    }
}

fn identify(token: &str, intents: u64) -> Value {
    let properties = json!({ "os": "linux", "browser": "askgate", "device": "askgate" });
    json!({ "op": 2, "d": { "token": token, "intents": intents, "properties": properties, "compress": true } })
}

#[tokio::test]
async fn hello_identify_ready_heartbeat() {
    let site = Site::open().await;
    let mut client = Client::connect(&site).await;
    assert_eq!(client.frame(10).await["d"]["heartbeat_interval"], 41_250);
    client.say(&identify(TOKEN, 0)).await;
    let ready = client.event("READY").await;
    assert_eq!((ready["v"].as_u64(), ready["user"]["bot"].as_bool()), (Some(10), Some(true)));
    assert_eq!(ready["application"]["id"], APPLICATION.to_string());
    let resume_at = ready["resume_gateway_url"].as_str().expect("an address");
    assert!(resume_at.starts_with("ws://127.0.0.1:"), "{resume_at}");
    client.say(&json!({ "op": 1, "d": 1 })).await;
    client.frame(11).await;
    let counts = site.discord.counts();
    assert_eq!((counts.identifies, counts.heartbeats, counts.ready), (1, 1, 1));
    let bot = site.get("/gateway/bot").await.json();
    assert_eq!(bot["session_start_limit"]["remaining"], 999);
}

#[tokio::test]
async fn bad_clients_are_closed_with_the_right_code() {
    let site = Site::open().await;
    for (said, code) in [
        (identify("wrong", 0), 4004),
        (identify(TOKEN, 1 << 15), 4014),
        (identify(TOKEN, 1 << 40), 4013),
        (json!({ "op": 6, "d": { "token": "wrong", "session_id": "x", "seq": 1 } }), 4004),
        (json!({ "op": 77, "d": null }), 4001),
        (json!({ "op": 3, "d": {} }), 4003),
        (json!([1]), 4002),
        (json!({ "op": 1, "d": "x".repeat(5000) }), 4002),
        (json!({ "op": 2, "d": { "token": TOKEN, "intents": 0, "properties": {}, "shard": [1, 1] } }), 4010),
    ] {
        let mut client = Client::connect(&site).await;
        client.frame(10).await;
        client.say(&said).await;
        assert_eq!(client.hear().await, Heard::Closed(code), "{said}");
    }
    let mut twice = Client::ready(&site).await.0;
    twice.say(&identify(TOKEN, 0)).await;
    assert_eq!(twice.hear().await, Heard::Closed(4005));
    let mut old = Client::connect_with(&site, "?v=9").await;
    assert_eq!(old.hear().await, Heard::Closed(4012));
    let mut chatty = Client::ready(&site).await.0;
    for _ in 0..120 {
        chatty.say(&json!({ "op": 3, "d": {} })).await;
    }
    assert_eq!(chatty.hear().await, Heard::Closed(4008));
}

#[tokio::test]
async fn a_press_arrives_as_the_platform_writes_it() {
    let site = Site::open().await;
    let mut client = Client::ready(&site).await.0;
    let card = site.card().await;
    let tap = site.discord.tap(site.person, card, "tap-starter").expect("a press");
    let event = client.event("INTERACTION_CREATE").await;
    assert_eq!((event["id"].as_str(), event["type"].as_u64()), (Some(tap.to_string().as_str()), Some(3)));
    assert_eq!(event["data"], json!({ "component_type": 2, "custom_id": "tap-starter", "id": 2 }));
    assert_eq!((event["user"]["id"].as_str(), event.get("member")), (Some("987654321"), None));
    assert_eq!((event["context"].as_u64(), event["version"].as_u64()), (Some(1), Some(1)));
    assert_eq!(event["message"]["id"], card.to_string());
    assert_eq!(event["message"]["components"][0]["components"][1]["custom_id"], "tap-starter");
    assert_eq!(event["token"], site.token_of(tap));
    assert_eq!(event["authorizing_integration_owners"], json!({ "0": "0" }));

    let channel = site.discord.add_channel(801_u64, "team");
    let thread = site.discord.add_thread(802_u64, channel, "asks");
    for (place, kind) in [(channel, 0), (thread, 11)] {
        let card = site.card_in(place).await;
        site.discord.tap(site.person, card, 0).expect("a press");
        let event = client.event("INTERACTION_CREATE").await;
        assert_eq!((event["member"]["user"]["id"].as_str(), event.get("user")), (Some("987654321"), None));
        assert_eq!((event["channel"]["type"].as_u64(), event["context"].as_u64()), (Some(kind), Some(0)));
        assert_eq!(event["channel_id"], place.to_string());
        assert!(event["guild_id"].is_string());
    }
    assert_eq!(site.discord.interaction(tap).expect("the press").delivered, 1);
}

#[tokio::test]
async fn events_come_in_strange_shapes_when_asked() {
    let site = Site::open().await;
    let mut client = Client::ready(&site).await.0;
    let card = site.card().await;
    let mut tap = async |shape| {
        site.discord.tap_shaped(site.person, card, 0, shape).expect("a press");
        client.event("INTERACTION_CREATE").await
    };
    let fields = tap(Shape::UnknownFields).await;
    assert!(fields["field_of_next_year"].is_object() && fields["user"]["field_of_next_year"].is_string());
    assert_eq!(fields["authorizing_integration_owners"], json!({ "0": "0" }));
    let components = tap(Shape::UnknownComponents).await;
    assert_eq!(components["message"]["components"][0]["components"][3]["type"], 99);
    assert_eq!(components["message"]["components"][1]["type"], 17);
    let bare = tap(Shape::Bare).await;
    assert!(bare.get("entitlements").is_none() && bare["data"]["custom_id"] == "tap-team");
}

#[tokio::test]
async fn a_resumed_session_hears_what_it_missed_in_order() {
    let site = Site::open().await;
    let card = site.card().await;
    let (mut client, ready) = Client::ready(&site).await;
    let session = &ready["session_id"];
    site.discord.cut_gateway();
    assert_eq!(client.hear().await, Heard::Lost);
    site.discord.wait_for("the loss", SOON, |state| (state.counts().ready == 0).then_some(())).await.expect("noticed");
    let missed: Vec<String> =
        (0..3).map(|_| site.discord.tap(site.person, card, 0).expect("a press").to_string()).collect();

    let mut again = Client::resume(&site, session, client.seq).await;
    for id in &missed {
        assert_eq!(again.event("INTERACTION_CREATE").await["id"], *id);
    }
    again.event("RESUMED").await;
    let live = site.discord.tap(site.person, card, 0).expect("a press");
    assert_eq!(again.event("INTERACTION_CREATE").await["id"], live.to_string());
    assert_eq!((site.discord.counts().resumes, site.discord.counts().identifies), (1, 1));

    let mut strange = Client::resume(&site, &json!("no-such-session"), 1).await;
    assert_eq!(strange.frame(9).await["d"], false);
    let mut ahead = Client::resume(&site, session, 9999).await;
    assert_eq!(ahead.hear().await, Heard::Closed(4007));
    site.discord.forget_sessions();
    let mut forgotten = Client::resume(&site, session, again.seq).await;
    assert_eq!(forgotten.frame(9).await["d"], false);
}

#[tokio::test]
async fn a_client_that_says_goodbye_gives_its_session_up() {
    let site = Site::open().await;
    let (mut client, ready) = Client::ready(&site).await;
    client.socket.close(None).await.expect("closed");
    site.discord.wait_for("the end", SOON, |state| (state.counts().ready == 0).then_some(())).await.expect("noticed");
    let kept = Client::resume(&site, &ready["session_id"], 1).await.hear().await;
    // Without a code the session is kept, with 1000 it is given up.
    assert!(matches!(kept, Heard::Frame(frame) if frame["t"] == "RESUMED"));

    let (mut client, ready) = Client::ready(&site).await;
    let code = tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode::Normal;
    let frame = tokio_tungstenite::tungstenite::protocol::CloseFrame { code, reason: "".into() };
    client.socket.close(Some(frame)).await.expect("closed");
    site.discord.wait_for("the end", SOON, |state| (state.counts().ready <= 1).then_some(())).await.expect("noticed");
    while !matches!(client.hear().await, Heard::Lost) {}
    let mut again = Client::resume(&site, &ready["session_id"], 1).await;
    assert_eq!(again.frame(9).await["d"], false);
}

#[tokio::test]
async fn a_test_can_disturb_the_gateway() {
    let site = Site::open().await;
    let (mut client, _) = Client::ready(&site).await;
    site.discord.ask_to_reconnect();
    client.frame(7).await;
    site.discord.invalidate_sessions(false);
    assert_eq!(client.frame(9).await["d"], false);
    site.discord.close_gateway(4009);
    assert_eq!(client.hear().await, Heard::Closed(4009));

    site.discord.greet_next(Greeting::Close(4004));
    let mut closed = Client::connect(&site).await;
    closed.frame(10).await;
    closed.say(&identify(TOKEN, 0)).await;
    assert_eq!(closed.hear().await, Heard::Closed(4004));

    site.discord.gateway_rules(|rules| rules.ack_heartbeats = false);
    let (mut deaf, _) = Client::ready(&site).await;
    deaf.say(&json!({ "op": 1, "d": 1 })).await;
    site.discord.ask_to_reconnect();
    deaf.frame(7).await;

    site.discord.gateway_rules(|rules| rules.refuse_connections = true);
    let url = site.get("/gateway").await.json()["url"].as_str().map(str::to_owned).expect("an address");
    assert!(connect_async(format!("{url}?v=10")).await.is_err());
    site.discord.gateway_rules(|rules| rules.refuse_connections = false);
    site.discord.fault(Where::route(Route::Socket), 1, Fault::DropBefore);
    assert!(connect_async(format!("{url}?v=10")).await.is_err());
    assert_eq!(site.discord.counts().gateway_refused, 2);
}

#[tokio::test]
async fn ready_can_be_late_and_heartbeats_go_on_meanwhile() {
    let site = Site::open().await;
    site.discord.gateway_rules(|rules| rules.ready_after = Some(Duration::from_millis(150)));
    let mut client = Client::connect(&site).await;
    client.frame(10).await;
    client.say(&identify(TOKEN, 0)).await;
    client.say(&json!({ "op": 1, "d": null })).await;
    client.frame(11).await;
    assert_eq!(site.discord.counts().ready, 0);
    client.event("READY").await;
    site.discord.wait_until_ready(1, SOON).await.expect("ready");
}

#[tokio::test]
async fn a_frozen_connection_is_silent_and_its_session_can_be_resumed_elsewhere() {
    let site = Site::open().await;
    let card = site.card().await;
    let (mut client, ready) = Client::ready(&site).await;
    site.discord.freeze_gateway();
    client.say(&json!({ "op": 1, "d": 1 })).await;
    let tap = site.discord.tap(site.person, card, 0).expect("a press");
    let silent = tokio::time::timeout(Duration::from_millis(100), client.socket.next()).await;
    assert!(silent.is_err(), "a dead socket says nothing");
    let mut again = Client::resume(&site, &ready["session_id"], client.seq).await;
    assert_eq!(again.event("INTERACTION_CREATE").await["id"], tap.to_string());
    again.event("RESUMED").await;
    assert_eq!(client.hear().await, Heard::Lost, "the old connection is cut");
}

#[tokio::test]
async fn a_session_on_a_dead_path_is_given_up_and_stays_resumable() {
    let mut options = Options::new(TOKEN, APPLICATION);
    options.heartbeat_interval = Duration::from_millis(50);
    let site = Site::with(options).await;
    let card = site.card().await;
    let (mut client, ready) = Client::ready(&site).await;
    site.discord.freeze_gateway();
    let tap = site.discord.tap(site.person, card, 0).expect("a press");
    site.discord.wait_for("the loss", SOON, |state| (state.counts().ready == 0).then_some(())).await.expect("noticed");
    let silent = tokio::time::timeout(Duration::from_millis(100), client.socket.next()).await;
    assert!(silent.is_err(), "the client is not told");
    let mut again = Client::resume(&site, &ready["session_id"], client.seq).await;
    assert_eq!(again.event("INTERACTION_CREATE").await["id"], tap.to_string());
}

#[tokio::test]
async fn a_client_without_heartbeats_is_closed() {
    let mut options = Options::new(TOKEN, APPLICATION);
    options.heartbeat_interval = Duration::from_millis(50);
    let site = Site::with(options).await;
    let (mut client, _) = Client::ready(&site).await;
    assert_eq!(client.hear().await, Heard::Closed(4009));
}

#[tokio::test]
async fn identifying_twice_within_five_seconds_is_refused_when_watched() {
    let mut options = Options::new(TOKEN, APPLICATION);
    options.identify_spacing = Some(Duration::from_secs(5));
    let site = Site::with(options).await;
    Client::ready(&site).await;
    let mut soon = Client::connect(&site).await;
    soon.frame(10).await;
    soon.say(&identify(TOKEN, 0)).await;
    assert_eq!(soon.frame(9).await["d"], false);
    site.clock.advance(Duration::from_secs(5));
    Client::ready(&site).await;
}

#[tokio::test]
async fn messages_are_told_to_those_who_asked_for_them() {
    let site = Site::open().await;
    let mut client = Client::connect(&site).await;
    client.frame(10).await;
    client.say(&identify(TOKEN, 1 << 12)).await;
    client.event("READY").await;
    let (mut quiet, _) = Client::ready(&site).await;
    let said = site.discord.say_to_bot(site.person, "forty-two").expect("a channel");
    let heard = client.event("MESSAGE_CREATE").await;
    assert_eq!((heard["id"].as_str(), heard["content"].as_str()), (Some(said.to_string().as_str()), Some("forty-two")));
    assert_eq!(heard["author"]["id"], "987654321");
    site.discord.ask_to_reconnect();
    quiet.frame(7).await;
}
