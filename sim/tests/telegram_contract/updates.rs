//! How taps and messages reach the bot: offsets, conflicts, expiry, webhooks.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use sim::telegram::{Pick, Settings, Shape, TapError, Telegram};
use tokio::net::TcpListener;

use crate::bench::{Bench, GROUP, PERSON, SOON};

#[tokio::test]
async fn a_press_is_answered_once_and_in_time() {
    let bench = Bench::start().await;
    let too_old = (400, "Bad Request: query is too old and response timeout expired or query ID is invalid".to_owned());
    let card = bench.card(PERSON).await;
    let press = bench.telegram.tap(PERSON, PERSON, card, "Team").unwrap();
    let answer = json!({"callback_query_id": press, "text": "Recorded", "show_alert": true});
    bench.ok("answerCallbackQuery", answer.clone()).await;
    let kept = bench.telegram.answer_to(&press).unwrap();
    assert_eq!((kept.text.as_str(), kept.alert, kept.user, kept.message), ("Recorded", true, PERSON, card));
    assert_eq!(bench.refused("answerCallbackQuery", answer).await, too_old);
    assert_eq!(bench.refused("answerCallbackQuery", json!({"callback_query_id": "5"})).await, too_old);
    let late = bench.telegram.tap(PERSON, PERSON, card, 0).unwrap();
    assert_eq!(
        bench.refused("answerCallbackQuery", json!({"callback_query_id": late, "text": "x".repeat(201)})).await,
        (400, "Bad Request: MESSAGE_TOO_LONG".to_owned())
    );
    bench.clock.advance(Duration::from_secs(150));
    assert_eq!(bench.refused("answerCallbackQuery", json!({"callback_query_id": late})).await, too_old);
}

#[tokio::test]
async fn a_tap_carries_what_a_real_one_carries() {
    let bench = Bench::start().await;
    let card = bench.card(GROUP).await;
    bench.telegram.tap(PERSON, GROUP, card, "Team").unwrap();
    bench.telegram.tap_as(PERSON, GROUP, card, 0, Shape::Stub).unwrap();
    bench.telegram.tap_as(PERSON, GROUP, card, Pick::Data("forged".into()), Shape::Absent).unwrap();
    bench.telegram.delete_message(GROUP, card);
    bench.telegram.tap(PERSON, GROUP, card, "Team").unwrap();
    let updates = bench.updates(json!({})).await;
    let queries: Vec<&Value> = updates.iter().map(|update| &update["callback_query"]).collect();
    assert_eq!(queries[0]["from"]["id"], PERSON);
    assert_eq!(queries[0]["message"]["message_id"], card);
    assert_eq!(queries[0]["message"]["reply_markup"]["inline_keyboard"][0][0]["callback_data"], "t-1");
    assert_eq!(queries[0]["data"], "t-1");
    assert!(queries.iter().all(|query| query["chat_instance"] == queries[0]["chat_instance"]));
    let stub = json!({"chat": {"id": GROUP, "title": "Group", "type": "group"}, "message_id": card, "date": 0});
    assert_eq!(queries[1]["message"], stub);
    assert!(queries[2].get("message").is_none());
    assert_eq!(queries[2]["data"], "forged");
    assert_eq!(queries[3]["message"], stub, "a deleted message is a stub");

    let other = bench.card(GROUP).await;
    assert_eq!(bench.telegram.tap(PERSON, GROUP, other, "Open"), Err(TapError::NoCallback));
    assert!(matches!(bench.telegram.tap(PERSON, GROUP, other, "Gone"), Err(TapError::NoButton { .. })));
    assert!(matches!(bench.telegram.tap(PERSON, GROUP, 999, 0), Err(TapError::NoMessage { .. })));
}

#[tokio::test]
async fn updates_are_confirmed_by_offset_only() {
    let bench = Bench::start_with(Settings { first_update_id: 500, ..Settings::default() }).await;
    for text in ["/start", "b", "c"] {
        bench.telegram.say(PERSON, PERSON, text).unwrap();
    }
    let ids =
        |updates: Vec<Value>| updates.iter().map(|update| update["update_id"].as_i64().unwrap()).collect::<Vec<_>>();
    let first = bench.updates(json!({})).await;
    assert_eq!(first[0]["message"]["entities"], json!([{"type": "bot_command", "offset": 0, "length": 6}]));
    assert_eq!(ids(first), [500, 501, 502]);
    assert_eq!(ids(bench.updates(json!({"limit": 1})).await), [500]);
    assert_eq!(ids(bench.updates(json!({"offset": 501})).await), [501, 502]);
    assert_eq!(ids(bench.updates(json!({"offset": -1})).await), [502]);
    assert_eq!(ids(bench.updates(json!({"offset": 503})).await), [0; 0]);
    assert!(bench.telegram.push_again(501));
    bench.telegram.restart_update_ids(7);
    bench.telegram.say(PERSON, PERSON, "d").unwrap();
    assert_eq!(ids(bench.updates(json!({})).await), [501, 7], "after a quiet week ids begin anywhere");
}

#[tokio::test]
async fn allowed_updates_are_remembered() {
    let bench = Bench::start().await;
    bench.updates(json!({"allowed_updates": ["callback_query"]})).await;
    bench.telegram.say(PERSON, PERSON, "unheard").unwrap();
    assert!(bench.updates(json!({})).await.is_empty());
    bench.updates(json!({"allowed_updates": []})).await;
    bench.telegram.say(PERSON, PERSON, "heard").unwrap();
    assert_eq!(bench.updates(json!({})).await.len(), 1);
}

#[tokio::test]
async fn a_long_poll_ends_with_the_first_update() {
    let bench = Bench::start().await;
    let poll = bench.updates(json!({"timeout": 9}));
    let say = async {
        bench.telegram.wait_for_calls("getUpdates", 1, SOON).await.unwrap();
        bench.telegram.say(PERSON, PERSON, "now").unwrap();
    };
    let (updates, ()) = tokio::join!(poll, say);
    assert_eq!(updates[0]["message"]["text"], "now");
}

#[tokio::test]
async fn the_older_of_two_polls_ends_in_conflict() {
    let bench = Bench::start().await;
    let older = bench.refused("getUpdates", json!({"timeout": 9}));
    let newer = async {
        bench.telegram.wait_for_calls("getUpdates", 1, SOON).await.unwrap();
        bench.updates(json!({})).await
    };
    let (refused, _) = tokio::join!(older, newer);
    let words = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running";
    assert_eq!(refused, (409, words.to_owned()));
}

#[tokio::test]
async fn unconfirmed_presses_vanish_after_150_seconds() {
    let bench = Bench::start().await;
    let card = bench.card(PERSON).await;
    bench.telegram.tap(PERSON, PERSON, card, 0).unwrap();
    bench.telegram.say(PERSON, PERSON, "still there").unwrap();
    bench.clock.advance(Duration::from_secs(149));
    assert_eq!(bench.updates(json!({})).await.len(), 2);
    bench.clock.advance(Duration::from_secs(1));
    assert_eq!(bench.updates(json!({})).await.len(), 1);
}

#[tokio::test]
async fn a_webhook_excludes_polling_and_gets_the_updates() {
    let bench = Bench::start().await;
    let bad = |words: &str| (400, format!("Bad Request: {words}"));
    for (params, refusal) in [
        (json!({"url": "http://example.com/h"}), bad("bad webhook: An HTTPS URL must be provided for webhook")),
        (
            json!({"url": "https://example.com:9999/h"}),
            bad("bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443"),
        ),
        (
            json!({"url": "https://example.com/h", "secret_token": "a b"}),
            bad("secret token contains unallowed characters"),
        ),
        (json!({"url": "https://example.com/h", "secret_token": "a".repeat(257)}), bad("secret token is too long")),
    ] {
        assert_eq!(bench.refused("setWebhook", params).await, refusal);
    }
    let hook = Hook::start(&["500 Oops", "200 OK", "200 OK"]).await;
    let url = format!("http://{}/telegram/webhook?a=1", hook.address);
    let (_, set) = bench.call("setWebhook", json!({"url": url, "secret_token": "s3cret_-"})).await;
    assert_eq!(set["description"], "Webhook was set");
    let words =
        "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first";
    assert_eq!(bench.refused("getUpdates", json!({})).await, (409, words.to_owned()));
    bench.telegram.say(PERSON, PERSON, "one").unwrap();
    bench.telegram.say(PERSON, PERSON, "two").unwrap();
    let posts = hook.posts.await.unwrap();
    assert!(posts[0].starts_with("POST /telegram/webhook?a=1 HTTP/1.1\r\n"), "{}", posts[0]);
    assert!(posts[0].contains("X-Telegram-Bot-Api-Secret-Token: s3cret_-\r\n"));
    assert!(
        posts[0].contains("\"one\"") && posts[1].contains("\"one\""),
        "a refused update is repeated before the next"
    );
    assert!(posts[2].contains("\"two\""));
    let empty = |telegram: &Telegram| telegram.waiting_updates().is_empty().then_some(());
    bench.telegram.wait_for("an empty queue", SOON, empty).await.unwrap();
    let info = bench.ok("getWebhookInfo", json!({})).await;
    assert_eq!((&info["url"], &info["pending_update_count"]), (&json!(url), &json!(0)));
    assert_eq!(info["last_error_message"], "Wrong response from the webhook: 500 Oops");
    bench.ok("deleteWebhook", json!({})).await;
    assert!(bench.updates(json!({})).await.is_empty());
}

/// A webhook that answers each connection with the next status and keeps what came.
struct Hook {
    address: SocketAddr,
    posts: tokio::task::JoinHandle<Vec<String>>,
}

impl Hook {
    async fn start(statuses: &'static [&'static str]) -> Self {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let posts = tokio::spawn(async move {
            let mut posts = Vec::new();
            for status in statuses {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut post = String::new();
                while !post.ends_with("}}") {
                    let mut bytes = [0; 4096];
                    let count = stream.read(&mut bytes).await.unwrap();
                    post.push_str(std::str::from_utf8(&bytes[..count]).unwrap());
                }
                stream.write_all(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").as_bytes()).await.unwrap();
                posts.push(post);
            }
            posts
        });
        Self { address, posts }
    }
}

#[tokio::test]
async fn blocking_and_starting_are_told_to_the_bot() {
    let bench = Bench::start().await;
    bench.telegram.block(PERSON);
    assert_eq!(
        bench.refused("sendMessage", json!({"chat_id": PERSON, "text": "x"})).await,
        (403, "Forbidden: bot was blocked by the user".to_owned())
    );
    bench.telegram.say(PERSON, PERSON, "/start").unwrap();
    bench.ok("sendMessage", json!({"chat_id": PERSON, "text": "x"})).await;
    let updates = bench.updates(json!({})).await;
    assert_eq!(updates[0]["my_chat_member"]["new_chat_member"]["status"], "kicked");
    assert_eq!(updates[1]["my_chat_member"]["new_chat_member"]["status"], "member");
    assert_eq!(updates[2]["message"]["text"], "/start");
}
