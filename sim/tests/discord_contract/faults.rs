//! Ordered failures: scripted answers, lost answers, silence, bans, a server that cannot be reached.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use sim::discord::{Canned, Fault, Limits, Options, Reach, Route, Where};

use super::site::{APPLICATION, SOON, Site, TOKEN, says};

#[tokio::test]
async fn a_create_that_is_answered_with_502_still_creates_and_the_nonce_finds_it() {
    let site = Site::open().await;
    let lost = Fault::AnswerAfter(Canned::html(502, "<html>Bad Gateway</html>"));
    site.discord.fault(Where::route(Route::CreateMessage).in_channel(site.dm), 2, lost);
    let mut body = says("once");
    body["nonce"] = json!("one-delivery");
    body["enforce_nonce"] = json!(true);
    for expected in [502, 502, 200] {
        assert_eq!(site.create(&body).await.status, expected);
    }
    assert_eq!(site.discord.messages_in(site.dm).len(), 1);
}

#[tokio::test]
async fn a_cut_connection_may_or_may_not_have_had_its_effect() {
    let site = Site::open().await;
    let path = format!("/channels/{}/messages", site.dm);
    for (fault, messages) in [(Fault::DropBefore, 0), (Fault::DropAfter, 1)] {
        site.discord.fault(Where::route(Route::CreateMessage), 1, fault);
        let outcome = site.send(Method::POST, &path, Some(&says("x"))).await;
        assert!(outcome.is_err_and(|error| !error.is_timeout()), "the connection is cut");
        assert_eq!(site.discord.messages_in(site.dm).len(), messages);
    }
    assert_eq!(site.create(&says("x")).await.status, 200);
    let unanswered = site.discord.requests().into_iter().filter(|request| request.status.is_none()).count();
    assert_eq!(unanswered, 2);
}

#[tokio::test]
async fn a_hanging_request_is_seen_and_never_answered() {
    let site = Site::open().await;
    site.discord.fault(Where::route(Route::Me), 1, Fault::Hang);
    let hanging = site.get("/users/@me");
    tokio::select! {
        answer = hanging => panic!("{answer:?}"),
        seen = site.discord.wait_for("the request", SOON, |state| {
            state.requests().find(|request| request.route == Route::Me).map(|request| request.status)
        }) => assert_eq!(seen, Ok(None)),
    }
    assert_eq!(site.get("/users/@me").await.status, 200);
}

#[tokio::test]
async fn rate_limits_and_the_ban_page_can_be_ordered() {
    let site = Site::open().await;
    site.discord.fault(Where::anywhere(), 1, Fault::rate_limited(Duration::from_millis(1500), "shared"));
    let limited = site.create(&says("x")).await;
    assert_eq!((limited.status, limited.json()["retry_after"].as_f64()), (429, Some(1.5)));
    assert_eq!(
        (&limited.headers["retry-after"], &limited.headers["x-ratelimit-scope"]),
        (&"2".parse().unwrap(), &"shared".parse().unwrap())
    );
    assert_eq!(site.discord.counts().invalid_requests, 0, "shared ones do not count towards the ban");

    site.discord.fault(Where::anywhere(), 1, Fault::cloudflare());
    let banned = site.create(&says("x")).await;
    assert_eq!(banned.status, 429);
    assert!(banned.text.contains("1015") && banned.headers["content-type"].as_bytes().starts_with(b"text/html"));
    assert!(!banned.headers.contains_key("retry-after"));
    site.discord.fault(Where::anywhere(), 5, Fault::cloudflare());
    site.discord.clear_faults();
    assert_eq!(site.create(&says("x")).await.status, 200);
}

#[tokio::test]
async fn too_many_invalid_requests_ban_the_address() {
    let mut options = Options::new(TOKEN, APPLICATION);
    options.limits = Limits { invalid_before_ban: 3, ..Limits::platform() };
    let site = Site::with(options).await;
    site.discord.set_token("another");
    for _ in 0..3 {
        assert_eq!(site.get("/users/@me").await.status, 401);
    }
    assert!(site.get("/gateway").await.text.contains("1015"));
    site.clock.advance(Duration::from_mins(10));
    assert_eq!(site.get("/gateway").await.status, 200);
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_comes_back_at_the_same_address() {
    let site = Site::open().await;
    for reach in [Reach::Refused, Reach::Dropped] {
        site.discord.set_reach(reach);
        let refused = site.send(Method::GET, "/gateway", None).await;
        assert!(refused.is_err(), "{reach:?}");
        // The first may have died with a kept connection; this one needs a new one.
        let refused = site.send(Method::GET, "/gateway", None).await;
        assert!(refused.is_err(), "{reach:?}");
        site.discord.set_reach(Reach::Open);
        let mut tries = 0;
        // The port is bound again by the server's own task, which nothing announces.
        while site.send(Method::GET, "/gateway", None).await.is_err() {
            tries += 1;
            assert!(tries < 200, "{reach:?}: not back");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    assert!(site.discord.connections().1 > 0, "dropped connections are counted");

    site.discord.set_reach(Reach::Silent);
    let silent = tokio::time::timeout(Duration::from_millis(200), site.send(Method::GET, "/gateway", None)).await;
    assert!(silent.is_err(), "neither an answer nor an error");
    site.discord.set_reach(Reach::Open);
}

#[tokio::test]
async fn a_wait_that_ends_in_vain_says_what_it_waited_for() {
    let site = Site::open().await;
    let vain = site.discord.wait_for_message_to(site.person, Duration::from_millis(20), |_| true).await;
    assert!(vain.is_err_and(|timed_out| timed_out.what == "a message to 987654321"));
}
