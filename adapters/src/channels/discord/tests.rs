//! The Discord channel over real sockets, against a double that answers oddly.

mod double;

use std::sync::Arc;
use std::time::Duration;

use crate::channel::{CardView, Channel, Failure, Hearing, Reply, SendKey, ViewButton};
use crate::channels::discord::DiscordChannel;
use asks::card::Style;
use asks::place::{Actor, MessageRef, Place};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use double::{Canned, Clerk, Double, Mood, TOKEN, channel_at, until};

const PERSON: Place = Place::DiscordUser(7);
const ROOM: Place = Place::DiscordChannel(88);
const MESSAGES: &str = "/api/v10/channels/88/messages";

fn key(text: &str) -> SendKey {
    SendKey(text.to_owned())
}

fn view(text: &str) -> CardView {
    let button = ViewButton { label: "Yes".to_owned(), style: Style::Primary, token: "tap".to_owned() };
    CardView { text: text.to_owned(), buttons: vec![button], ..CardView::default() }
}

fn press(id: &str) -> Value {
    json!({
        "id": id, "application_id": "42", "type": 3, "token": "interaction-secret", "channel_id": "88",
        "member": { "user": { "id": "7", "username": "ada" } }, "locale": "de",
        "message": { "id": "99", "components": [{ "type": 250, "unknown": true }] },
        "data": { "custom_id": "tap", "component_type": 2 }
    })
}

struct Listening {
    stop: CancellationToken,
    task: JoinHandle<Result<(), Failure>>,
}

fn listen(channel: &Arc<DiscordChannel>, clerk: &Arc<Clerk>) -> Listening {
    let stop = CancellationToken::new();
    let task = tokio::spawn(channel.clone().listen(clerk.clone(), stop.clone()));
    Listening { stop, task }
}

impl Listening {
    async fn ends(self) -> Result<(), Failure> {
        tokio::time::timeout(Duration::from_secs(15), self.task).await.expect("it goes on").unwrap()
    }
}

#[tokio::test]
async fn a_persons_channel_is_opened_once_and_remembered() {
    let (double, clerk) = (Double::start().await, Clerk::quick(Reply::Defer));
    let channel = double.channel();
    let listening = listen(&channel, &clerk);
    clerk.listens().await;
    for send in ["a", "b"] {
        let message = channel.present(&PERSON, &view("Go?"), &key(send)).await.unwrap();
        assert_eq!(message.chat, "500");
    }
    assert_eq!(double.requests_to("/users/@me/channels").len(), 1);
    assert_eq!(clerk.memory.lock().unwrap().get("discord.dm.7").map(String::as_str), Some("500"));
    let created = double.requests_to("/channels/500/messages");
    assert_eq!(created[0].headers["authorization"], format!("Bot {TOKEN}"));
    assert!(created[0].headers["user-agent"].to_str().unwrap().starts_with("DiscordBot ("));
    assert_ne!(created[0].body["nonce"], created[1].body["nonce"]);
    listening.stop.cancel();
    assert_eq!(listening.ends().await, Ok(()));
}

#[tokio::test]
async fn a_channel_that_is_gone_is_opened_anew() {
    let (double, clerk) = (Double::start().await, Clerk::quick(Reply::Defer));
    clerk.memory.lock().unwrap().insert("discord.dm.7".to_owned(), "400".to_owned());
    double.next("/api/v10/channels/400/messages", Canned::error(404, 10003));
    let channel = double.channel();
    let _listening = listen(&channel, &clerk);
    clerk.listens().await;
    assert_eq!(channel.present(&PERSON, &view("Go?"), &key("a")).await.unwrap().chat, "500");
    assert_eq!(clerk.memory.lock().unwrap().get("discord.dm.7").map(String::as_str), Some("500"));
}

#[tokio::test]
async fn a_message_that_was_created_and_denied_shows_once() {
    let double = Double::start().await;
    double.next(MESSAGES, Canned::page(502));
    double.next(MESSAGES, Canned::error(500, 0));
    let message = double.channel().present(&ROOM, &view("Go?"), &key("a")).await.unwrap();
    let tries = double.requests_to(MESSAGES);
    assert_eq!((message.id.as_str(), tries.len()), ("9000", 3));
    assert!(tries.iter().all(|request| request.body == tries[0].body && request.body["enforce_nonce"] == json!(true)));
}

#[tokio::test]
async fn a_black_hole_ends_within_ten_seconds_and_may_be_tried_again() {
    let double = Double::start().await;
    for _ in 0..3 {
        double.next(MESSAGES, Canned { hang: true, ..Canned::page(200) });
    }
    let channel = double.channel();
    let call = tokio::time::timeout(Duration::from_secs(10), channel.present(&ROOM, &view("Go?"), &key("a"))).await;
    assert!(matches!(call, Ok(Err(Failure::Retry { .. }))), "{call:?}");
    let nonces: Vec<Value> =
        double.requests_to(MESSAGES).into_iter().map(|request| request.body["nonce"].clone()).collect();
    assert!(nonces.len() >= 2 && nonces.iter().all(|nonce| *nonce == nonces[0]), "{nonces:?}");
}

#[tokio::test]
async fn a_429_is_waited_for() {
    let double = Double::start().await;
    let body = json!({ "message": "slow", "retry_after": 0.4, "global": false });
    double
        .next(MESSAGES, Canned { headers: vec![("x-ratelimit-scope", "user".to_owned())], ..Canned::json(429, &body) });
    let channel = double.channel();
    let early = tokio::time::timeout(Duration::from_millis(350), channel.present(&ROOM, &view("Go?"), &key("a"))).await;
    assert!(early.is_err(), "{early:?}");
    assert_eq!(double.requests_to(MESSAGES).len(), 1);
    channel.present(&ROOM, &view("Go?"), &key("a")).await.unwrap();
    assert_eq!(double.requests_to(MESSAGES).len(), 2);
}

#[tokio::test]
async fn a_long_429_is_passed_on_and_kept() {
    let double = Double::start().await;
    double.next(MESSAGES, Canned::json(429, &json!({ "message": "slow", "retry_after": 56.0, "global": false })));
    let channel = double.channel();
    for _ in 0..3 {
        let failure = channel.present(&ROOM, &view("Go?"), &key("a")).await.unwrap_err();
        assert!(matches!(failure, Failure::Retry { after, .. } if after > Duration::from_secs(50)), "{failure:?}");
    }
    assert_eq!(double.requests_to(MESSAGES).len(), 1);
    channel.present(&Place::DiscordChannel(89), &view("Go?"), &key("b")).await.unwrap();
}

#[tokio::test]
async fn a_ban_page_silences_everything_for_a_minute() {
    let double = Double::start().await;
    double.next(MESSAGES, Canned::page(429));
    let channel = double.channel();
    for place in [ROOM, Place::DiscordChannel(89), PERSON] {
        let failure = channel.present(&place, &view("Go?"), &key("a")).await.unwrap_err();
        assert!(matches!(failure, Failure::Retry { after, .. } if after > Duration::from_secs(55)), "{failure:?}");
    }
    assert_eq!(double.requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_closed_door_is_knocked_at_once() {
    let double = Double::start().await;
    for (status, code) in [(403, 50007), (403, 50278), (403, 50001), (404, 10003)] {
        double.next(MESSAGES, Canned::error(status, code));
        let failure = double.channel().present(&ROOM, &view("Go?"), &key("a")).await.unwrap_err();
        assert!(matches!(failure, Failure::PlaceGone { .. }), "{failure:?}");
    }
    assert_eq!(double.requests_to(MESSAGES).len(), 4);
    double.next(MESSAGES, Canned::error(401, 0));
    let channel = double.channel();
    for _ in 0..2 {
        assert_eq!(channel.present(&ROOM, &view("Go?"), &key("a")).await, Err(Failure::Unauthorised));
    }
    assert_eq!(double.requests_to(MESSAGES).len(), 5);
}

#[tokio::test]
async fn an_edit_replaces_the_message_and_tells_of_its_loss() {
    let double = Double::start().await;
    let channel = double.channel();
    let message = MessageRef { chat: "88".to_owned(), id: "99".to_owned() };
    let mut settled = view("Go?");
    settled.buttons.clear();
    channel.revise(&ROOM, &message, &settled).await.unwrap();
    let edit = &double.requests_to("/channels/88/messages/99")[0];
    assert_eq!((edit.method.as_str(), &edit.body["components"]), ("PATCH", &json!([])));
    double.next("/api/v10/channels/88/messages/99", Canned::error(404, 10008));
    assert_eq!(channel.revise(&ROOM, &message, &settled).await, Err(Failure::MessageGone));
    let odd = MessageRef { chat: "88/../1".to_owned(), id: "x".to_owned() };
    assert!(matches!(channel.revise(&ROOM, &odd, &settled).await, Err(Failure::Refused { .. })));
}

#[tokio::test]
async fn an_archived_thread_is_opened() {
    let double = Double::start().await;
    double.next(MESSAGES, Canned::error(400, 50083));
    double.channel().present(&ROOM, &view("Go?"), &key("a")).await.unwrap();
    assert_eq!(double.requests_to("/channels/88")[0].body, json!({ "archived": false }));
}

#[tokio::test]
async fn a_long_reply_goes_on_where_it_stopped() {
    let double = Double::start().await;
    let channel = double.channel();
    let about = MessageRef { chat: "88".to_owned(), id: "99".to_owned() };
    let text = "word ".repeat(1000);
    double.next(MESSAGES, Canned::json(200, &json!({ "id": "1" })));
    for _ in 0..3 {
        double.next(MESSAGES, Canned::error(500, 0));
    }
    let failure = channel.notify(&ROOM, &text, Some(&about), &key("a")).await.unwrap_err();
    assert!(matches!(failure, Failure::Retry { .. }), "{failure:?}");
    channel.notify(&ROOM, &text, Some(&about), &key("a")).await.unwrap();
    let sent = double.requests_to(MESSAGES);
    let nonces: Vec<&str> = sent.iter().map(|request| request.body["nonce"].as_str().unwrap()).collect();
    assert_eq!(nonces.len(), 6);
    assert!(nonces[1..5].iter().all(|nonce| *nonce == nonces[1]) && nonces[0] != nonces[1] && nonces[4] != nonces[5]);
    assert_eq!(sent[0].body["message_reference"]["message_id"], json!("99"));
    assert_eq!(sent[0].body["message_reference"]["fail_if_not_exists"], json!(false));
    assert_eq!(sent[1].body.get("message_reference"), None);
    let elsewhere = MessageRef { chat: "77".to_owned(), id: "99".to_owned() };
    channel.notify(&ROOM, "short", Some(&elsewhere), &key("b")).await.unwrap();
    assert_eq!(double.requests_to(MESSAGES)[6].body.get("message_reference"), None);
}

#[tokio::test]
async fn a_press_is_taken_to_the_desk_and_acknowledged() {
    let (double, clerk) = (Double::start().await, Clerk::quick(Reply::Defer));
    let channel = double.channel();
    let listening = listen(&channel, &clerk);
    clerk.listens().await;
    double.event("INTERACTION_CREATE", &press("1"));
    until("the acknowledgement", || !double.requests_to("/callback").is_empty()).await;
    let callback = &double.requests_to("/callback")[0];
    assert_eq!(callback.path, "/api/v10/interactions/1/interaction-secret/callback");
    assert_eq!(callback.body, json!({ "type": 6 }));
    assert!(!callback.headers.contains_key("authorization"));
    let press = clerk.presses.lock().unwrap()[0].clone();
    assert_eq!((press.token.as_str(), press.actor, press.language.as_deref()), ("tap", Actor::Discord(7), Some("de")));
    assert_eq!(press.message, Some(MessageRef { chat: "88".to_owned(), id: "99".to_owned() }));
    double.event("INTERACTION_CREATE", &json!({ "id": "2", "type": 3, "token": "t" }));
    until("the count", || channel.interactions() == (2, 1)).await;
    listening.stop.cancel();
    assert_eq!(listening.ends().await, Ok(()));
}

#[tokio::test]
async fn a_notice_is_private_and_an_expired_one_says_nothing_about_the_bot() {
    let notice = Reply::Notice("Not yours.".to_owned());
    let (double, clerk) = (Double::start().await, Clerk::quick(notice));
    double.next("/api/v10/interactions/1/interaction-secret/callback", Canned::error(401, 50027));
    let channel = double.channel();
    let _listening = listen(&channel, &clerk);
    clerk.listens().await;
    double.event("INTERACTION_CREATE", &press("1"));
    double.event("INTERACTION_CREATE", &press("2"));
    until("both", || double.requests_to("/callback").len() == 2).await;
    let body = &double.requests_to("/2/interaction-secret/callback")[0].body;
    assert_eq!((&body["type"], &body["data"]["flags"]), (&json!(4), &json!(64)));
    assert_eq!(body["data"]["content"], json!("Not yours."));
    channel.present(&ROOM, &view("Go?"), &key("a")).await.unwrap();
    assert_eq!(double.handshakes.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn in_direct_messages_an_expired_notice_becomes_a_message() {
    let (double, clerk) = (Double::start().await, Clerk::quick(Reply::Notice("Not *yours*.".to_owned())));
    double.next("/api/v10/interactions/1/interaction-secret/callback", Canned::error(404, 10062));
    let _listening = listen(&double.channel(), &clerk);
    clerk.listens().await;
    let mut press = press("1");
    press["context"] = json!(1);
    double.event("INTERACTION_CREATE", &press);
    until("the message", || !double.requests_to(MESSAGES).is_empty()).await;
    assert_eq!(double.requests_to(MESSAGES)[0].body["content"], json!("Not \\*yours\\*."));
}

#[tokio::test]
async fn a_slow_desk_gets_a_reply_that_promises_nothing_and_is_filled_in() {
    let (double, clerk) = (Double::start().await, Clerk::new(Reply::Defer, Duration::from_millis(1_800)));
    let _listening = listen(&double.channel(), &clerk);
    clerk.listens().await;
    double.event("INTERACTION_CREATE", &press("1"));
    until("the end", || !double.requests_to("/@original").is_empty()).await;
    let callbacks = double.requests_to("/callback");
    assert_eq!(callbacks.len(), 1);
    assert_eq!((&callbacks[0].body["type"], &callbacks[0].body["data"]["flags"]), (&json!(5), &json!(64)));
    assert_eq!(callbacks[0].body["data"].get("content"), None);
    let end = &double.requests_to("/@original")[0];
    assert_eq!(end.path, "/api/v10/webhooks/42/interaction-secret/messages/@original");
    assert_eq!(end.body["content"], json!("It is recorded now."));
}

#[tokio::test]
async fn a_command_is_answered_privately() {
    let (double, clerk) = (Double::start().await, Clerk::quick(Reply::Defer));
    let _listening = listen(&double.channel(), &clerk);
    clerk.listens().await;
    let mut command = press("1");
    command["type"] = json!(2);
    command["data"] = json!({ "name": "asks" });
    double.event("INTERACTION_CREATE", &command);
    until("the answer", || !double.requests_to("/callback").is_empty()).await;
    let body = &double.requests_to("/callback")[0].body;
    assert_eq!((&body["type"], &body["data"]["flags"]), (&json!(4), &json!(64)));
    let said = clerk.said.lock().unwrap()[0].clone();
    assert_eq!((said.text.as_str(), said.place), ("/asks", PERSON));
}

#[tokio::test]
async fn a_dropped_connection_is_resumed() {
    let (double, clerk) = (Double::start().await, Clerk::quick(Reply::Defer));
    let _listening = listen(&double.channel(), &clerk);
    clerk.listens().await;
    double.drop_connections();
    clerk.is_deaf().await;
    clerk.listens().await;
    let handshakes = double.handshakes.lock().unwrap().clone();
    assert_eq!((handshakes.len(), &handshakes[0]["op"]), (2, &json!(2)));
    assert_eq!(handshakes[0]["d"]["intents"], json!(0));
    assert_eq!(handshakes[1], json!({ "op": 6, "d": { "token": TOKEN, "session_id": "session-1", "seq": 1 } }));
}

#[tokio::test]
async fn a_forgotten_session_is_begun_anew_but_not_too_soon() {
    let (double, clerk) = (Double::start().await, Clerk::quick(Reply::Defer));
    double.mood(Mood::Well);
    double.mood(Mood::Forgetful);
    let _listening = listen(&double.channel(), &clerk);
    clerk.listens().await;
    let start = tokio::time::timeout(Duration::from_secs(8), async {
        double.drop_connections();
        clerk.is_deaf().await;
        clerk.listens().await;
    });
    start.await.expect("a new session within eight seconds");
    let ops: Vec<Value> = double.handshakes.lock().unwrap().iter().map(|frame| frame["op"].clone()).collect();
    assert_eq!(ops, [json!(2), json!(6), json!(2)]);
}

#[tokio::test]
async fn a_dead_heartbeat_ends_the_connection() {
    let (double, clerk) = (Double::start().await, Clerk::quick(Reply::Defer));
    double.mood(Mood::Deaf);
    let _listening = listen(&double.channel(), &clerk);
    clerk.listens().await;
    let Hearing::Deaf { why } = clerk.is_deaf().await else { panic!("it is deaf") };
    assert!(why.contains("heartbeats"), "{why}");
    clerk.listens().await;
    assert_eq!(double.handshakes.lock().unwrap()[1]["op"], json!(6));
}

#[tokio::test]
async fn what_no_connection_can_mend_ends_the_listener() {
    for (code, token_refused) in [(4004, true), (4014, false)] {
        let (double, clerk) = (Double::start().await, Clerk::quick(Reply::Defer));
        double.mood(Mood::Close(code));
        let failure = listen(&double.channel(), &clerk).ends().await.unwrap_err();
        assert_eq!(failure == Failure::Unauthorised, token_refused, "{failure}");
        assert_eq!(clerk.is_deaf().await, Hearing::Deaf { why: failure.to_string() });
    }
}

#[tokio::test]
async fn a_refused_token_is_tried_twice() {
    let (double, clerk) = (Double::start().await, Clerk::quick(Reply::Defer));
    double.next("/api/v10/gateway/bot", Canned::error(401, 0));
    double.next("/api/v10/gateway/bot", Canned::error(401, 0));
    assert_eq!(listen(&double.channel(), &clerk).ends().await, Err(Failure::Unauthorised));
    assert_eq!(double.requests.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_gateway_address_needs_no_rights() {
    let (double, clerk) = (Double::start().await, Clerk::quick(Reply::Defer));
    double.next("/api/v10/gateway/bot", Canned::error(404, 0));
    let _listening = listen(&double.channel(), &clerk);
    clerk.listens().await;
}

#[tokio::test]
async fn the_bot_is_examined() {
    let double = Double::start().await;
    assert_eq!(double.channel().examine().await, Ok("\"asker\" (id 42)".to_owned()));
    double.next("/api/v10/applications/@me", Canned::json(200, &json!({ "id": "43" })));
    let failure = double.channel().examine().await.unwrap_err();
    assert!(failure.to_string().contains("application 43"), "{failure}");
}

#[tokio::test]
async fn no_error_names_a_secret() {
    // Nothing listens on a port that was just given back.
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let channel = channel_at(&format!("http://{gone}/{TOKEN}"));
    let failure = channel.present(&ROOM, &view("Go?"), &key("a")).await.unwrap_err();
    assert!(matches!(failure, Failure::Retry { .. }), "{failure:?}");
    assert!(!failure.to_string().contains(TOKEN), "{failure}");
    assert!(!format!("{:?}", channel_at("http://127.0.0.1:1")).contains(TOKEN));
}
