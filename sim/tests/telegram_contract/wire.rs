//! The wire: tokens, bodies, limits, faults on order, outages, and what a page sees.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use sim::telegram::{Fate, Fault};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::bench::{Bench, FORUM, GROUP, PERSON, SOON, keyboard, with_button};

#[tokio::test]
async fn real_limits_and_a_closed_chat_answer_429_with_seconds_and_header() {
    let bench = Bench::start().await;
    bench.telegram.flood(PERSON, Duration::from_secs(56));
    let send = |chat: i64| json!({"chat_id": chat, "text": "x"});
    let response = bench.client.post(bench.url("sendMessage")).json(&send(PERSON)).send().await.unwrap();
    assert_eq!(response.status(), 429);
    assert_eq!(response.headers()["retry-after"], "56");
    let body: Value = response.json().await.unwrap();
    assert_eq!(
        body,
        json!({"ok": false, "error_code": 429, "description": "Too Many Requests: retry after 56", "parameters": {"retry_after": 56}})
    );
    bench.ok("sendMessage", send(GROUP)).await;
    bench.clock.advance(Duration::from_secs(56));
    for _ in 0..10 {
        bench.ok("sendMessage", send(PERSON)).await;
    }
    bench.telegram.set_real_limits(true);
    let mut last = 200;
    for _ in 0..10 {
        last = bench.call("sendMessage", send(PERSON)).await.0;
    }
    assert_eq!(last, 429);
}

#[tokio::test]
async fn faults_happen_as_ordered_and_to_nobody_else() {
    let bench = Bench::start().await;
    let send = |chat: i64| json!({"chat_id": chat, "text": "x"});
    bench.telegram.order(
        Fault::on("SENDMESSAGE").in_chat(PERSON).skip(1).times(2).before(Fate::refusal(500, "Internal Server Error")),
    );
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(bench.call("sendMessage", send(PERSON)).await.0);
        assert_eq!(bench.call("sendMessage", send(GROUP)).await.0, 200);
    }
    assert_eq!(statuses, [200, 500, 500, 200]);
    assert_eq!(bench.telegram.faults_left(), 0);
    assert_eq!(bench.telegram.messages(PERSON).len(), 2);

    for (fault, messages) in
        [(Fault::on("sendMessage").before(Fate::Cut), 2), (Fault::on("sendMessage").after(Fate::Cut), 3)]
    {
        bench.telegram.order(fault);
        assert!(bench.try_call("sendMessage", send(PERSON)).await.is_err(), "the connection is cut");
        assert_eq!(bench.telegram.messages(PERSON).len(), messages);
    }
    assert_eq!(bench.telegram.requests_of("sendMessage").last().unwrap().status, None);

    bench.telegram.order(Fault::on("sendMessage").before(Fate::TooManyRequests(7)));
    assert_eq!(bench.call("sendMessage", send(PERSON)).await.1["parameters"]["retry_after"], 7);
    bench
        .telegram
        .order(Fault::on("sendMessage").before(Fate::Reply { status: 429, body: "<html>1015</html>".into() }));
    let raw = bench.client.post(bench.url("sendMessage")).json(&send(PERSON)).send().await.unwrap();
    assert_eq!((raw.status().as_u16(), raw.text().await.unwrap()), (429, "<html>1015</html>".to_owned()));

    bench.telegram.order(Fault::on("sendMessage").misplace());
    let misplaced = bench.ok("sendMessage", json!({"chat_id": FORUM, "text": "x", "message_thread_id": 77})).await;
    assert!(misplaced.get("message_thread_id").is_none());
    bench.telegram.order(Fault::on("sendMessage").lose_keyboard());
    let bare = bench.ok("sendMessage", with_button(&json!({"text": "a", "callback_data": "b"}))).await;
    assert!(bare.get("reply_markup").is_none());

    bench.telegram.order(Fault::on("sendMessage").always().before(Fate::Silence));
    let silent = tokio::time::timeout(Duration::from_millis(200), bench.try_call("sendMessage", send(PERSON))).await;
    assert!(silent.is_err(), "nothing is ever answered");
    bench.telegram.clear_faults();
    bench.ok("sendMessage", send(PERSON)).await;
}

#[tokio::test]
async fn a_press_meets_the_faults_of_its_chat() {
    let bench = Bench::start().await;
    let card = bench.card(GROUP).await;
    let press = bench.telegram.tap(PERSON, GROUP, card, 0).unwrap();
    bench.telegram.order(Fault::on("answerCallbackQuery").in_chat(GROUP).before(Fate::refusal(400, "Bad Request: x")));
    assert_eq!(bench.refused("answerCallbackQuery", json!({"callback_query_id": press})).await.1, "Bad Request: x");
}

#[tokio::test]
async fn a_stopped_server_cuts_everybody_and_comes_back_with_its_state() {
    let bench = Bench::start().await;
    let card = bench.card(PERSON).await;
    let poll = bench.try_call("getUpdates", json!({"timeout": 9}));
    let stop = async {
        bench.telegram.wait_for_calls("getUpdates", 1, SOON).await.unwrap();
        bench.shutdown.cancel();
    };
    let (cut, ()) = tokio::join!(poll, stop);
    assert!(cut.is_err());
    let listener = bind_again(bench.address).await;
    let shutdown = CancellationToken::new();
    let _stop = shutdown.clone().drop_guard();
    let telegram = bench.telegram.clone();
    tokio::spawn(async move { telegram.serve(listener, shutdown).await });
    bench.telegram.tap(PERSON, PERSON, card, 0).unwrap();
    assert_eq!(bench.updates(json!({})).await.len(), 1);
}

/// The old listener goes with its task, which may take a moment.
async fn bind_again(address: SocketAddr) -> TcpListener {
    let bind = async {
        loop {
            match TcpListener::bind(address).await {
                Ok(listener) => return listener,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    };
    tokio::time::timeout(SOON, bind).await.unwrap()
}

#[tokio::test]
async fn names_and_tokens_are_judged_as_the_real_server_does() {
    let bench = Bench::start().await;
    assert_eq!(bench.ok("GetMe", json!({})).await["id"], 7_000_000_001_i64);
    assert_eq!(
        bench.call("sendCarrierPigeon", json!({})).await,
        (404, json!({"ok": false, "error_code": 404, "description": "Not Found"}))
    );
    let wrong = format!("http://{}/bot123:wrong/getMe", bench.address);
    let response = bench.client.get(wrong).send().await.unwrap();
    assert_eq!(response.status(), 401);
    let body: Value = response.json().await.unwrap();
    assert_eq!(body, json!({"ok": false, "error_code": 401, "description": "Unauthorized"}));
}

#[tokio::test]
async fn parameters_come_as_json_form_or_query() {
    let bench = Bench::start().await;
    let person = PERSON.to_string();
    let markup = keyboard(&json!([{"text": "a", "callback_data": "b"}])).to_string();
    let form =
        [("chat_id", person.as_str()), ("text", "form"), ("reply_markup", &markup), ("disable_notification", "true")];
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    let post = bench.client.post(bench.url("sendMessage")).header("content-type", "application/x-www-form-urlencoded");
    assert_eq!(post.body(body).send().await.unwrap().status(), 200);
    let kept = bench.telegram.last_message(PERSON).unwrap();
    assert!(kept.is_live() && kept.silent && kept.text == "form");
    let get = bench.client.get(format!("{}?chat_id={PERSON}&text=query", bench.url("sendMessage")));
    assert_eq!(get.send().await.unwrap().status(), 200);
    assert_eq!(bench.telegram.last_message(PERSON).unwrap().text, "query");
    assert_eq!(bench.telegram.violations(), []);
}

#[tokio::test]
async fn what_the_documentation_does_not_allow_is_noted() {
    let bench = Bench::start().await;
    bench.ok("sendMessage", json!({"chat_id": PERSON, "text": "x", "replyMarkup": {}})).await;
    bench.ok("sendMessage", json!({"chat_id": PERSON, "text": "x", "disable_notification": "true"})).await;
    let violations = bench.telegram.violations();
    let paths: Vec<&str> = violations.iter().map(|violation| violation.path.as_str()).collect();
    assert_eq!(paths, ["replyMarkup", "disable_notification"]);
    assert_eq!(bench.telegram.requests()[1].params["disable_notification"], "true");
    assert_eq!(violations[1].request, bench.telegram.requests()[1].number);
}

#[tokio::test]
async fn a_page_can_follow_what_is_seen() {
    let bench = Bench::start().await;
    let mut seen = bench.telegram.subscribe();
    seen.mark_unchanged();
    bench.updates(json!({})).await;
    assert!(!seen.has_changed().unwrap(), "polling is nothing to see");
    let card = bench.card(PERSON).await;
    assert!(seen.has_changed().unwrap());
    let view = serde_json::to_value(bench.telegram.view()).unwrap();
    let chat = view["chats"].as_array().unwrap().iter().find(|chat| chat["id"] == PERSON).unwrap();
    let message = &chat["messages"][card.to_string()];
    assert_eq!(message["keyboard"][0][0], json!({"text": "Team", "callback_data": "t-1"}));
    assert_eq!(message["from"], "bot");
}
