//! Messages that are accepted: what is stored, what comes back, nonces, and what is recorded as careless.

use std::time::Duration;

use serde_json::json;
use sim::discord::{Limits, Options, Route};

use super::site::{APPLICATION, Site, TOKEN, card, says};

#[tokio::test]
async fn a_card_is_posted_edited_and_deleted() {
    let site = Site::open().await;
    let card = site.card().await;
    let path = format!("/channels/{}/messages/{card}", site.dm);
    let shown = site.discord.message(card).expect("the card");
    assert_eq!((shown.text().as_str(), shown.edits), ("Which plan?", 0));
    let labels: Vec<String> = shown.buttons().into_iter().map(|button| button.label).collect();
    assert_eq!(labels, ["Team", "Starter", "Open"]);
    assert_eq!(shown.live_buttons().len(), 2, "a link cannot be pressed");

    let edited = site.patch(&path, &json!({ "components": [], "allowed_mentions": { "parse": [] } })).await;
    assert_eq!(
        (edited.status, edited.json()["content"].as_str()),
        (200, Some("Which plan?")),
        "absent stays as it was"
    );
    let shown = site.discord.message(card).expect("the card");
    assert_eq!((shown.edits, shown.buttons().len()), (1, 0));
    assert_eq!(site.get(&path).await.json()["edited_timestamp"], "2026-12-01T00:00:00.000000+00:00");

    assert_eq!(site.delete(&path).await.status, 204);
    assert!(site.discord.message(card).expect("still known").deleted);
    assert_eq!(site.delete(&path).await.code(), Some(10008));
    assert_eq!(site.careless(), Vec::<String>::new());
}

#[tokio::test]
async fn a_message_deleted_by_its_reader_is_gone() {
    let site = Site::open().await;
    let card = site.card().await;
    site.discord.delete_message(card);
    let path = format!("/channels/{}/messages/{card}", site.dm);
    assert_eq!(site.patch(&path, &says("late")).await.code(), Some(10008));
    assert!(site.discord.message(card).is_some_and(|message| message.deleted && message.edits == 0));
}

#[tokio::test]
async fn a_dm_channel_is_always_the_same() {
    let site = Site::open().await;
    let again = site.post("/users/@me/channels", &json!({ "recipient_id": site.person })).await;
    assert_eq!((again.id(), again.json()["type"].as_u64()), (site.dm, Some(1)));
    assert_eq!(site.get(&format!("/channels/{}", site.dm)).await.json()["recipients"][0]["id"], "987654321");
}

#[tokio::test]
async fn an_enforced_nonce_gives_back_the_first_message_for_three_minutes() {
    let site = Site::open().await;
    let with = |nonce: &str, enforce: bool| {
        let mut body = says("once");
        body["nonce"] = json!(nonce);
        body["enforce_nonce"] = json!(enforce);
        body
    };
    let first = site.create(&with("n-1", true)).await;
    assert_eq!(first.json()["nonce"], "n-1");
    assert_eq!(site.create(&with("n-1", true)).await.id(), first.id());
    assert_ne!(site.create(&with("n-2", true)).await.id(), first.id(), "another nonce is another message");
    let unforced = site.create(&with("n-1", false)).await.id();
    assert_ne!(unforced, first.id(), "a nonce that is not enforced does nothing");
    site.clock.advance(Duration::from_secs(181));
    let later = site.create(&with("n-1", true)).await.id();
    assert!(later != first.id() && later != unforced);
    assert_eq!(site.discord.messages_in(site.dm).len(), 4);
}

#[tokio::test]
async fn carelessness_is_recorded_and_does_not_change_the_answer() {
    let site = Site::open().await;
    let create = format!("/channels/{}/messages", site.dm);
    let careless = |body| {
        let (site, create) = (&site, &create);
        async move {
            let before = site.careless().len();
            assert_eq!(site.post(create, &body).await.status, 200);
            site.careless().split_off(before).join("; ")
        }
    };
    let missing = careless(json!({ "content": "@everyone look" })).await;
    assert!(missing.contains("`allowed_mentions` is missing"), "{missing}");
    let last = site.discord.messages_in(site.dm).pop().expect("the message");
    assert!(last.pinged_everyone, "what is not suppressed pings");
    let parsed = careless(json!({ "content": "x", "allowed_mentions": { "parse": ["users"] } })).await;
    assert!(parsed.contains("parse` is not []"), "{parsed}");
    let absent = careless(json!({ "content": "x", "allowed_mentions": { "users": [] } })).await;
    assert!(absent.contains("parse` is not []"), "{absent}");
    let named = careless(json!({ "content": "x", "allowed_mentions": { "parse": [], "users": ["5"] } })).await;
    assert!(named.contains("names somebody to ping"), "{named}");
    let mut unknown = card();
    unknown["components"][0]["components"][0]["colour"] = json!("red");
    let unknown = careless(unknown).await;
    assert_eq!(unknown, "unknown key `components.0.components.0.colour`");
    let mut reply = says("x");
    reply["message_reference"] = json!({ "message_id": last.id.number() });
    let reply = careless(reply).await;
    assert_eq!(reply, "`message_reference.message_id` is a number: ids are strings");

    let url = format!("{}/api/v10/users/@me", site.discord.url());
    let request = site.client.get(url).header("user-agent", "reqwest").header("authorization", format!("Bot {TOKEN}"));
    assert_eq!(request.send().await.expect("an answer").status(), 200);
    assert!(site.careless().pop().is_some_and(|what| what.contains("user agent")));
}

#[tokio::test]
async fn suppressed_mentions_ping_nobody() {
    let site = Site::open().await;
    let id = site.create(&says("@everyone <@&123> @here")).await.id();
    assert!(!site.discord.message(id).expect("the message").pinged_everyone);
    assert_eq!(site.careless(), Vec::<String>::new());
}

#[tokio::test]
async fn buckets_show_their_headers_and_stop_the_sixth() {
    let mut options = Options::new(TOKEN, APPLICATION);
    options.limits = Limits::platform();
    let site = Site::with(options).await;
    for left in (0..5).rev() {
        let answer = site.create(&says("x")).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.headers["x-ratelimit-limit"], "5");
        assert_eq!(answer.headers["x-ratelimit-remaining"], left.to_string());
        assert_eq!(answer.headers["x-ratelimit-reset-after"], "5.000");
        assert!(answer.headers.contains_key("x-ratelimit-bucket") && answer.headers.contains_key("x-ratelimit-reset"));
    }
    let stopped = site.create(&says("x")).await;
    assert_eq!(stopped.status, 429);
    assert_eq!(stopped.headers["retry-after"], "5");
    assert_eq!(stopped.headers["x-ratelimit-scope"], "user");
    let body = stopped.json();
    assert_eq!(body["message"], "You are being rate limited.");
    assert_eq!((body["retry_after"].as_f64(), body["global"].as_bool()), (Some(5.0), Some(false)));
    let other = site.discord.add_channel(601_u64, "other");
    site.card_in(other).await;
    site.clock.advance(Duration::from_secs(5));
    assert_eq!(site.create(&says("x")).await.status, 200);
    assert_eq!(site.discord.counts().invalid_requests, 1);
}

#[tokio::test]
async fn the_log_keeps_what_was_asked_and_answered() {
    let site = Site::open().await;
    site.card().await;
    let requests = site.discord.requests();
    let last = requests.last().expect("the card");
    assert_eq!((last.route, last.template), (Route::CreateMessage, "/channels/{channel_id}/messages"));
    assert_eq!((last.method.as_str(), last.status, last.channel), ("POST", Some(200), Some(site.dm)));
    assert_eq!(last.json(), Some(card()));
    assert_eq!(last.header("authorization"), Some("***"));
    assert!(last.answer.as_ref().is_some_and(|answer| answer.contains("Which plan?")));
}

#[tokio::test]
async fn commands_are_replaced_as_a_whole() {
    let site = Site::open().await;
    let path = format!("/applications/{APPLICATION}/commands");
    let put = |body: serde_json::Value| {
        let (site, path) = (&site, &path);
        async move { site.send(reqwest::Method::PUT, path, Some(&body)).await.expect("an answer") }
    };
    let link = json!({ "name": "link", "description": "Link this account", "type": 1, "contexts": [0, 1] });
    let first = put(json!([link])).await;
    assert_eq!((first.status, first.json()[0]["name"].as_str()), (200, Some("link")));
    let refused = put(json!([{ "name": "Two Words", "description": "x" }])).await;
    assert_eq!(refused.code(), Some(50035));
    assert_eq!(site.get(&path).await.json().as_array().map(Vec::len), Some(1));
    assert_eq!(put(json!([])).await.json(), json!([]));
}
