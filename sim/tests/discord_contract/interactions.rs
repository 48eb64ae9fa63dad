//! Interactions: three seconds for the first response, once only, fifteen minutes for the rest.

use std::time::Duration;

use serde_json::{Value, json};
use sim::discord::{CallbackKind, CannotTap, Pick, Where};

use super::site::{APPLICATION, Site, says};

const UNKNOWN: (u16, Option<u64>) = (404, Some(10062));

fn data(kind: u64, data: &Value) -> Value {
    json!({ "type": kind, "data": data })
}

#[tokio::test]
async fn the_first_response_counts_and_the_second_is_refused() {
    let site = Site::open().await;
    let card = site.card().await;
    let tap = site.discord.tap(site.person, card, "tap-team").expect("a press");
    site.clock.advance(Duration::from_millis(800));
    assert_eq!(site.respond(tap, &json!({ "type": 6 })).await.status, 204);
    let again = site.respond(tap, &json!({ "type": 6 })).await;
    assert_eq!(again.status, 400);
    assert_eq!(again.json(), json!({ "message": "Interaction has already been acknowledged.", "code": 40060 }));
    let seen = site.discord.interaction(tap).expect("the press");
    let callback = seen.callback.expect("the first response");
    assert_eq!((callback.kind, callback.after), (CallbackKind::DeferredUpdate, Duration::from_millis(800)));
    assert_eq!((seen.repeated, seen.too_late), (1, 0));
}

#[tokio::test]
async fn after_three_seconds_the_interaction_is_unknown() {
    let site = Site::open().await;
    let card = site.card().await;
    let in_time = site.discord.tap(site.person, card, 0).expect("a press");
    let late = site.discord.tap(site.person, card, 1).expect("a press");
    site.clock.advance(Duration::from_secs(3));
    assert_eq!(site.respond(in_time, &json!({ "type": 6 })).await.status, 204, "three seconds are in time");
    site.clock.advance(Duration::from_millis(1));
    let answer = site.respond(late, &json!({ "type": 6 })).await;
    assert_eq!(answer.json(), json!({ "message": "Unknown interaction", "code": 10062 }));
    let seen = site.discord.interaction(late).expect("the press");
    assert!(seen.failed(site.discord.now()) && seen.too_late == 1);

    let forged = site.post(&format!("/interactions/{in_time}/forged/callback"), &json!({ "type": 6 })).await;
    assert_eq!((forged.status, forged.code()), UNKNOWN);
    let unknown = site.post("/interactions/77/forged/callback", &json!({ "type": 6 })).await;
    assert_eq!((unknown.status, unknown.code()), UNKNOWN);
}

#[tokio::test]
async fn each_kind_of_response_does_its_own() {
    let site = Site::open().await;
    let card = site.card().await;
    let tap = || site.discord.tap(site.person, card, 0).expect("a press");

    let private = tap();
    let mut notice = says("Not yours");
    notice["flags"] = json!(64);
    assert_eq!(site.respond(private, &data(4, &notice)).await.status, 204);
    assert_eq!(site.discord.read(|state| state.shown_privately(private)), ["Not yours"]);
    let shown = site.discord.interaction(private).and_then(|tap| tap.callback?.message).expect("its message");
    let by_bot_route = site.get(&format!("/channels/{}/messages/{shown}", site.dm)).await;
    assert_eq!(by_bot_route.code(), Some(10008), "the bot route does not know private messages");

    let deferred = tap();
    assert_eq!(site.respond(deferred, &data(5, &json!({ "flags": 64 }))).await.status, 204);
    assert!(site.discord.read(|state| state.shown_privately(deferred)).is_empty(), "it only shows that it thinks");
    let original = format!("{}/messages/@original", site.webhook(deferred));
    assert_eq!(site.patch(&original, &says("Recorded")).await.status, 200);
    assert_eq!(site.discord.read(|state| state.shown_privately(deferred)), ["Recorded"]);

    let updated = tap();
    let update = json!({ "content": "You chose Team", "components": [], "allowed_mentions": { "parse": [] } });
    assert_eq!(site.respond(updated, &data(7, &update)).await.status, 204);
    let shown = site.discord.message(card).expect("the card");
    assert_eq!((shown.content.as_str(), shown.buttons().len()), ("You chose Team", 0));
    assert_eq!(site.careless(), Vec::<String>::new());
}

#[tokio::test]
async fn responses_are_judged_like_messages() {
    let site = Site::open().await;
    let card = site.card().await;
    let tap = site.discord.tap(site.person, card, 0).expect("a press");
    for (body, path) in [
        (data(4, &says(&"x".repeat(2001))), "/errors/data/content/_errors/0/message"),
        (json!({ "type": 8 }), "/errors/type/_errors/0/message"),
        (json!({}), "/errors/type/_errors/0/message"),
        (json!({ "type": 9, "data": { "title": "t".repeat(46) } }), "/errors/data/title/_errors/0/message"),
    ] {
        let answer = site.respond(tap, &body).await;
        assert_eq!(answer.code(), Some(50035), "{body}: {answer:?}");
        assert!(answer.json().pointer(path).is_some(), "{body}: {answer:?}");
    }
    assert_eq!(site.respond(tap, &data(4, &json!({}))).await.code(), Some(50006));
    let before = site.careless().len();
    assert_eq!(
        site.respond(tap, &data(4, &json!({ "content": "x" }))).await.status,
        204,
        "a refused one does not count"
    );
    assert_eq!(site.careless().split_off(before), ["`data.allowed_mentions` is missing: text could ping people"]);
    let second = site.discord.tap(site.person, card, 0).expect("a press");
    assert_eq!(site.respond(second, &data(7, &json!({ "content": "x" }))).await.status, 204);
    assert_eq!(site.careless().len(), before + 2);
    let hook = site.webhook(second);
    assert_eq!(site.post(&hook, &json!({ "content": "x" })).await.status, 200);
    assert_eq!(site.patch(&format!("{hook}/messages/@original"), &json!({ "content": "y" })).await.status, 200);
    assert_eq!(site.careless().len(), before + 4);
}

#[tokio::test]
async fn the_webhook_opens_with_the_first_response_and_closes_after_fifteen_minutes() {
    let site = Site::open().await;
    let card = site.card().await;
    let tap = site.discord.tap(site.person, card, 0).expect("a press");
    let hook = site.webhook(tap);
    assert_eq!(site.post(&hook, &says("early")).await.code(), Some(10015));
    assert_eq!(site.respond(tap, &json!({ "type": 6 })).await.status, 204);

    let mut private = says("Only you");
    private["flags"] = json!(64);
    let followed = site.post(&hook, &private).await;
    assert_eq!(followed.status, 200);
    assert_eq!(site.discord.read(|state| state.shown_privately(tap)), ["Only you"]);
    let path = format!("{hook}/messages/{}", followed.id());
    assert_eq!(site.patch(&path, &says("Only you, edited")).await.status, 200);
    assert_eq!(site.delete(&path).await.status, 204);
    assert_eq!(site.patch(&path, &says("again")).await.code(), Some(10008));
    assert_eq!(site.patch(&format!("{hook}/messages/@original"), &says("card, edited")).await.id(), card);

    site.clock.advance(Duration::from_secs(15 * 60 + 1));
    let expired = site.post(&hook, &says("late")).await;
    assert_eq!((expired.status, expired.json()), (401, json!({ "message": "Invalid Webhook Token", "code": 50027 })));
    let forged = site.post(&format!("/webhooks/{APPLICATION}/forged"), &says("x")).await;
    assert_eq!((forged.status, forged.code()), (401, Some(50027)));
}

#[tokio::test]
async fn a_form_opens_and_is_sent_off() {
    let site = Site::open().await;
    let card = site.card().await;
    let tap = site.discord.tap(site.person, card, 0).expect("a press");
    assert_eq!(site.discord.submit_form(tap, &[]), Err(CannotTap::NoForm));
    let form = json!({
        "custom_id": "form-1",
        "title": "Your answer",
        "components": [{ "type": 18, "label": "Answer", "component": { "type": 4, "custom_id": "answer", "style": 2 } }],
    });
    assert_eq!(site.respond(tap, &data(9, &form)).await.status, 204);
    let sent = site.discord.submit_form(tap, &[("answer", "forty-two")]).expect("a form");
    assert_eq!(site.respond(sent, &json!({ "type": 9 })).await.code(), Some(50035), "no form after a form");
    assert_eq!(site.respond(sent, &json!({ "type": 6 })).await.status, 204);
}

#[tokio::test]
async fn people_cannot_press_what_the_app_would_not_send() {
    let site = Site::open().await;
    let card = site.card().await;
    let discord = &site.discord;
    let stranger = discord.add_user(5_u64, "person-2");
    assert_eq!(discord.tap(site.person, card, 2), Err(CannotTap::Link));
    assert_eq!(discord.tap(site.person, card, 3), Err(CannotTap::NoButton));
    assert_eq!(discord.tap(site.person, card, Pick::Label("Other".into())), Err(CannotTap::NoButton));
    assert_eq!(discord.tap(stranger, card, 0), Err(CannotTap::NoMessage), "another person's direct message");
    let channel = discord.add_channel(701_u64, "team");
    let thread = discord.add_thread(702_u64, channel, "asks");
    let in_thread = site.card_in(thread).await;
    assert!(discord.tap(stranger, in_thread, 0).is_ok());
    discord.set_archived(thread, true, false);
    assert_eq!(discord.tap(stranger, in_thread, 0), Err(CannotTap::Archived));
    discord.delete_message(card);
    assert_eq!(discord.tap(site.person, card, 0), Err(CannotTap::NoMessage));
    assert!(discord.tap_stale(site.person, card, "tap-team").is_some(), "an old client still can");
}

#[tokio::test]
async fn an_interaction_can_travel_over_http() {
    let site = Site::open().await;
    let card = site.card().await;
    let (tap, body) = site.discord.tap_over_http(site.person, card, 0).expect("a press");
    assert_eq!((body["type"].as_u64(), body["data"]["custom_id"].as_str()), (Some(3), Some("tap-team")));
    assert_eq!(site.discord.answered_over_http(tap, &json!({ "type": 6 })), Ok(()));
    let again = site.discord.answered_over_http(tap, &json!({ "type": 6 })).expect_err("only once");
    assert_eq!(again["code"], 40060);
}

#[tokio::test]
async fn a_fault_can_be_for_one_interaction_only() {
    let site = Site::open().await;
    let card = site.card().await;
    let (first, second) = (site.discord.tap(site.person, card, 0), site.discord.tap(site.person, card, 1));
    let (first, second) = (first.expect("a press"), second.expect("a press"));
    let fault = sim::discord::Fault::error(404, 10062, "Unknown interaction");
    site.discord.fault(Where::anywhere().of_interaction(first), 1, fault);
    assert_eq!(site.respond(second, &json!({ "type": 6 })).await.status, 204);
    assert_eq!(site.respond(first, &json!({ "type": 6 })).await.code(), Some(10062));
    assert_eq!(site.respond(first, &json!({ "type": 6 })).await.status, 204);
}
