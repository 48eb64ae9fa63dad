//! What is made to go wrong goes wrong exactly so, and exactly so often.

use std::time::Duration;

use serde_json::{Value, json};
use sim::terreno::{Fault, Options, Route};

use crate::harness::{Bench, OTHER, OWNER, SOON};

const LIST: &str = "/gpt/histories/pendingAsks";

#[tokio::test]
async fn replies_are_replaced_and_counted() {
    let bench = Bench::new(Options::default()).await;
    bench.host.inject(Fault::reply(Route::PendingAsks, 503, "{\"oops\":1}").times(2).header("Retry-After", "7"));
    bench.host.inject(Fault::html(Route::PendingAsks, 502));
    let mut statuses = Vec::new();
    for _ in 0..4 {
        let got = bench.send(OWNER, "GET", LIST, &Value::Null).await;
        if got.status == 503 {
            assert_eq!((got.headers["retry-after"].as_bytes(), &got.body), (&b"7"[..], &json!({"oops": 1})));
        }
        if got.status == 502 {
            assert!(got.headers["content-type"].to_str().expect("text").starts_with("text/html"));
        }
        statuses.push(got.status);
    }
    assert_eq!(statuses, [503, 503, 502, 200]);
    bench.host.inject(Fault::reply(Route::PendingAsks, 500, "").only_for(OTHER).everywhere().for_ever());
    assert_eq!(bench.send(OWNER, "GET", LIST, &Value::Null).await.status, 200);
    assert_eq!(bench.send(OTHER, "GET", "/auth/me", &Value::Null).await.status, 500);
    bench.host.clear_faults();
    assert_eq!(bench.send(OTHER, "GET", "/auth/me", &Value::Null).await.status, 200);
    assert_eq!(bench.host.read(|state| state.count(Route::PendingAsks)), 5);
}

#[tokio::test]
async fn an_effect_is_had_or_not_as_the_fault_says() {
    let faults: [(Fault, bool); 8] = [
        (Fault::drop(Route::Turn), false),
        (Fault::drop(Route::Turn).after(), true),
        (Fault::reply(Route::Turn, 502, "bad gateway"), false),
        (Fault::reply(Route::Turn, 502, "bad gateway").after(), true),
        (Fault::hang(Route::Turn), false),
        (Fault::hang(Route::Turn).after(), true),
        (Fault::truncate(Route::Turn), true),
        (Fault::cut(Route::Turn), true),
    ];
    for (fault, effective) in faults {
        let bench = Bench::new(Options::default()).await;
        let asked = bench.host.ask(OWNER, "confirm", json!({"prompt": "Go?"})).expect("an ask");
        bench.host.inject(fault.clone());
        let url = format!("{}/gpt/histories/{}/turn", bench.host.url(), asked.history_id);
        let body = json!({"toolCallId": asked.tool_call_id, "buttonId": "approve"});
        let request = bench.http.post(url).bearer_auth(bench.bearer(OWNER)).json(&body);
        let sent = request.timeout(Duration::from_millis(400)).send().await;
        let reply = match sent {
            Ok(response) if response.status() == 200 => {
                response.json::<Value>().await.map_err(|error| error.to_string())
            }
            Ok(response) => Err(response.status().to_string()),
            Err(error) => Err(error.to_string()),
        };
        assert!(reply.is_err(), "{fault:?} lets the reply through: {reply:?}");
        let answers = bench.host.read(|state| state.effective(&asked.history_id, &asked.tool_call_id));
        assert_eq!(answers, usize::from(effective), "{fault:?}");
        assert_eq!(bench.host.pending(OWNER).len(), usize::from(!effective), "{fault:?}");
        assert_eq!(bench.send(OWNER, "GET", LIST, &Value::Null).await.status, 200, "{fault:?} strikes once");
    }
}

#[tokio::test]
async fn a_truncated_list_is_no_json() {
    let bench = Bench::new(Options::default()).await;
    bench.host.ask(OWNER, "confirm", json!({"prompt": "Go?"})).expect("an ask");
    bench.host.inject(Fault::truncate(Route::PendingAsks));
    let got = bench.send(OWNER, "GET", LIST, &Value::Null).await;
    assert!(got.status == 200 && got.body.is_string(), "{}", got.body);
    bench.host.inject(Fault::delay(Route::PendingAsks, Duration::from_millis(30)));
    assert!(bench.send(OWNER, "GET", LIST, &Value::Null).await.body.is_object());
}

#[tokio::test]
async fn a_host_that_is_down_closes_every_connection() {
    let bench = Bench::new(Options::default()).await;
    assert_eq!(bench.send(OWNER, "GET", LIST, &Value::Null).await.status, 200);
    bench.host.inject(Fault::hang(Route::PendingAsks));
    let hanging = bench.try_send(OWNER, "GET", LIST, &Value::Null);
    let down = async {
        let arrived = |state: &sim::terreno::State| (state.count(Route::PendingAsks) == 2).then_some(());
        bench.host.wait_for("the second request", SOON, arrived).await.expect("a request");
        bench.host.set_down(true);
    };
    let (cut, ()) = tokio::join!(hanging, down);
    assert!(cut.is_err_and(|error| !error.is_timeout()), "the open connection is cut");
    assert!(bench.try_send(OWNER, "GET", LIST, &Value::Null).await.is_err_and(|error| !error.is_timeout()));
    bench.host.set_down(false);
    assert_eq!(bench.send(OWNER, "GET", LIST, &Value::Null).await.status, 200);
    bench.host.stop();
    assert!(bench.try_send(OWNER, "GET", LIST, &Value::Null).await.is_err());
}

#[tokio::test]
async fn waiting_in_vain_says_what_was_seen() {
    let bench = Bench::new(Options::default()).await;
    let error = bench.host.wait_for_pending(OWNER, 1, Duration::from_millis(20)).await.expect_err("nothing waits");
    assert!(error.to_string().contains("1 waiting asks of owner@example.com did not happen"), "{error}");
    let ask = async {
        bench.host.ask(OWNER, "confirm", json!({"prompt": "Go?"})).expect("an ask");
    };
    let (found, ()) = tokio::join!(bench.host.wait_for_pending(OWNER, 1, SOON), ask);
    assert_eq!(found.expect("an ask").len(), 1);
}

#[tokio::test]
async fn the_log_keeps_headers_and_bodies_but_no_credentials() {
    let bench = Bench::new(Options::default()).await;
    let token = bench.bearer(OWNER);
    let url = format!("{}{LIST}", bench.host.url());
    bench.http.get(url).bearer_auth(&token).header("x-ai-api-key", "k").send().await.expect("a reply");
    bench.send("", "POST", "/auth/login", &json!({"email": OWNER, "password": crate::harness::PASSWORD})).await;
    let log: Vec<_> = bench.host.read(|state| state.requests().cloned().collect());
    assert_eq!((log.len(), log[0].status, log[0].route), (2, Some(200), Route::PendingAsks));
    assert!(log[0].headers.contains(&("x-ai-api-key".to_owned(), "k".to_owned())));
    assert!(log[0].user_id.is_some());
    let whole = format!("{log:?}");
    assert!(!whole.contains(&token) && !whole.contains(crate::harness::PASSWORD), "{whole}");
}
