//! The listener against a scripted Bot API: what is confirmed when, and how trouble is told.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use asks::place::{Actor, Place};
use async_trait::async_trait;
use serde_json::json;
use tokio::sync::Notify;

use super::super::client::Refusal;
use super::super::double::{Answer, Call, Double, no, ok};
use super::*;
use crate::channel::{Channel, Press, Reply, Said};
use crate::clock::{Clock, SystemClock};

#[derive(Debug, Default)]
struct Office {
    presses: Mutex<Vec<Press>>,
    said: Mutex<Vec<Said>>,
    changes: Mutex<Vec<(Place, bool)>>,
    hearing: Mutex<Vec<Hearing>>,
    lost: AtomicBool,
    memory: Mutex<HashMap<String, String>>,
    /// When set, each press waits for one permit.
    gate: Option<Notify>,
}

#[async_trait]
impl Desk for Office {
    fn still_saving(&self, _language: Option<&str>) -> String {
        "Still saving.".to_owned()
    }

    fn recorded(&self, _language: Option<&str>) -> String {
        "It is recorded now.".to_owned()
    }

    async fn press(&self, press: Press) -> Reply {
        let token = press.token.clone();
        self.presses.lock().unwrap().push(press);
        if let Some(gate) = &self.gate {
            gate.notified().await;
        }
        if token == "mine" { Reply::Defer } else { Reply::Notice("x".repeat(300)) }
    }

    async fn said(&self, said: Said) -> Option<String> {
        self.said.lock().unwrap().push(said);
        Some("welcome".to_owned())
    }

    async fn place_changed(&self, place: Place, state: Result<(), String>) {
        self.changes.lock().unwrap().push((place, state.is_ok()));
    }

    fn hearing(&self, _: ChannelKind, hearing: Hearing) {
        let mut all = self.hearing.lock().unwrap();
        if all.last() != Some(&hearing) {
            all.push(hearing);
        }
    }

    async fn taps_may_be_lost(&self, _: ChannelKind) {
        self.lost.store(true, Ordering::SeqCst);
    }

    async fn remember(&self, name: &str, value: Option<String>) {
        self.memory.lock().unwrap().insert(name.to_owned(), value.unwrap_or_default());
    }

    async fn recall(&self, name: &str) -> Option<String> {
        self.memory.lock().unwrap().get(name).cloned()
    }
}

impl Office {
    fn deaf(&self) -> Vec<String> {
        let hearing = self.hearing.lock().unwrap();
        hearing
            .iter()
            .filter_map(|hearing| if let Hearing::Deaf { why } = hearing { Some(why.clone()) } else { None })
            .collect()
    }
}

fn tap(id: i64, token: &str) -> Value {
    json!({"update_id": id, "callback_query": {"id": format!("q{id}"), "from": {"id": 5}, "data": token}})
}

/// A queue as the servers keep it: an offset forgets what is before it.
async fn serve(queue: Vec<Value>) -> Arc<Double> {
    let queue = Arc::new(Mutex::new(queue));
    Double::start(move |call, _| {
        let queue = Arc::clone(&queue);
        Box::pin(async move {
            match call.method.as_str() {
                "GetUpdates" => updates(&queue, &call).await,
                "SendMessage" => ok(&super::super::double::message(&call.body, 1)),
                _ => ok(&json!(true)),
            }
        })
    })
    .await
}

async fn updates(queue: &Mutex<Vec<Value>>, call: &Call) -> Answer {
    let batch = {
        let mut queue = queue.lock().unwrap();
        if let Some(offset) = call.body.get("offset").and_then(Value::as_i64) {
            queue.retain(|update| update["update_id"].as_i64().is_none_or(|id| id >= offset));
        }
        queue.clone()
    };
    if batch.is_empty() && call.body["timeout"] != 0 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    ok(&Value::Array(batch))
}

type Running = tokio::task::JoinHandle<Result<(), Failure>>;

fn listen(double: &Double, office: &Arc<Office>) -> (Running, CancellationToken) {
    let stop = CancellationToken::new();
    let desk: Arc<dyn Desk> = Arc::<Office>::clone(office);
    (tokio::spawn(double.channel().listen(desk, stop.clone())), stop)
}

fn confirmed(double: &Double) -> Vec<i64> {
    double.calls("GetUpdates").iter().filter_map(|call| call["offset"].as_i64()).collect()
}

#[tokio::test]
async fn a_batch_is_confirmed_only_after_every_press_of_it() {
    let office = Arc::new(Office { gate: Some(Notify::new()), ..Office::default() });
    let double = serve(vec![tap(10, "mine"), tap(11, "not mine")]).await;
    let (running, stop) = listen(&double, &office);
    double.until("both presses, side by side", |_| office.presses.lock().unwrap().len() == 2).await;
    let gate = office.gate.as_ref().unwrap();
    gate.notify_one();
    double.until("the first is acknowledged at once", |double| double.calls("AnswerCallbackQuery").len() == 1).await;
    assert_eq!(double.calls("GetUpdates").len(), 1, "nothing is confirmed while a press is not durable");
    gate.notify_one();
    double.until("confirmed", |double| confirmed(double).contains(&12)).await;
    double.until("acknowledged", |double| double.calls("AnswerCallbackQuery").len() == 2).await;
    let mut answers = double.calls("AnswerCallbackQuery");
    answers.sort_by_key(ToString::to_string);
    let silent = answers.iter().find(|answer| answer["callback_query_id"] == "q10").unwrap();
    assert_eq!(*silent, json!({"callback_query_id": "q10"}));
    let told = answers.iter().find(|answer| answer["callback_query_id"] == "q11").unwrap();
    assert_eq!((told["text"].as_str().unwrap().chars().count(), &told["show_alert"]), (200, &json!(true)));
    stop.cancel();
    running.await.unwrap().unwrap();
    for call in double.calls("GetUpdates") {
        assert_eq!(call["allowed_updates"], json!(["message", "callback_query", "my_chat_member"]));
    }
    assert_eq!(double.calls("GetUpdates")[0].get("offset"), None, "no offset at start");
}

#[tokio::test]
async fn a_press_that_takes_long_to_record_is_promised_nothing_and_stays_unconfirmed() {
    let office = Arc::new(Office { gate: Some(Notify::new()), ..Office::default() });
    let double = serve(vec![tap(10, "mine")]).await;
    let (running, stop) = listen(&double, &office);
    double.until("its person is asked to wait", |double| !double.calls("AnswerCallbackQuery").is_empty()).await;
    assert_eq!(double.calls("AnswerCallbackQuery")[0]["text"], "Still saving.");
    assert_eq!(confirmed(&double), [0_i64; 0], "it comes again, should we end before it is durable");
    office.gate.as_ref().unwrap().notify_one();
    double.until("confirmed once it is durable", |double| confirmed(double).contains(&11)).await;
    assert_eq!(double.calls("AnswerCallbackQuery").len(), 1, "a query is answered once");
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_press_outlives_its_listener() {
    let office = Arc::new(Office { gate: Some(Notify::new()), ..Office::default() });
    let double = serve(vec![tap(10, "mine")]).await;
    let (running, _stop) = listen(&double, &office);
    double.until("pressed", |_| office.presses.lock().unwrap().len() == 1).await;
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    office.gate.as_ref().unwrap().notify_one();
    double.until("acknowledged all the same", |double| double.calls("AnswerCallbackQuery").len() == 1).await;
    assert_eq!(confirmed(&double), [0_i64; 0], "and it comes again to the next listener");
}

#[tokio::test]
async fn stopping_finishes_the_batch_and_confirms_it() {
    let office = Arc::new(Office { gate: Some(Notify::new()), ..Office::default() });
    let double = serve(vec![tap(10, "mine")]).await;
    let (running, stop) = listen(&double, &office);
    double.until("pressed", |_| office.presses.lock().unwrap().len() == 1).await;
    stop.cancel();
    office.gate.as_ref().unwrap().notify_one();
    running.await.unwrap().unwrap();
    let calls = double.calls("GetUpdates");
    assert_eq!(calls.len(), 2);
    assert_eq!((&calls[1]["offset"], &calls[1]["timeout"], &calls[1]["limit"]), (&json!(11), &json!(0), &json!(1)));
    assert_eq!(double.calls("AnswerCallbackQuery").len(), 1);
    assert!(office.memory.lock().unwrap().contains_key(HEARD));
}

#[tokio::test]
async fn a_hanging_acknowledgement_holds_nothing_up() {
    let office = Arc::new(Office::default());
    let queue = Arc::new(Mutex::new(vec![tap(10, "mine")]));
    let double = Double::start(move |call, _| {
        let queue = Arc::clone(&queue);
        Box::pin(async move {
            if call.method == "GetUpdates" {
                return updates(&queue, &call).await;
            }
            std::future::pending().await
        })
    })
    .await;
    let (running, stop) = listen(&double, &office);
    double.until("the acknowledgement left", |double| double.calls("AnswerCallbackQuery").len() == 1).await;
    double.until("polling went on", |double| confirmed(double).len() >= 2).await;
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn what_cannot_be_read_is_confirmed_and_costs_nothing_else() {
    let office = Arc::new(Office::default());
    let stub = json!({"update_id": 12, "callback_query": {"id": "s", "from": {"id": 6}, "data": "mine",
        "message": {"message_id": 4, "date": 0, "chat": {"id": 6, "type": "private"}}}});
    let odd = json!({"update_id": 11, "callback_query": {"id": 7, "data": ["x"]}});
    let later = json!({"update_id": 13, "of_a_later_version": {}});
    let double = serve(vec![json!({"no": "id"}), tap(10, "mine"), odd, stub, later]).await;
    let (running, stop) = listen(&double, &office);
    double.until("confirmed", |double| confirmed(double).contains(&14)).await;
    stop.cancel();
    running.await.unwrap().unwrap();
    let presses = office.presses.lock().unwrap();
    let actors: Vec<_> = presses.iter().map(|press| press.actor).collect();
    assert_eq!(actors[..2], [Actor::Telegram(5), Actor::Telegram(6)]);
    assert_eq!((presses[0].chat.as_deref(), presses[1].chat.as_deref()), (None, Some("6")));
    assert_eq!(double.calls("AnswerCallbackQuery").len(), presses.len());
}

#[tokio::test]
async fn texts_take_effect_once_also_across_a_restart() {
    let office = Arc::new(Office::default());
    let start =
        json!({"update_id": 20, "message": {"message_id": 1, "from": {"id": 5}, "chat": {"id": 5}, "text": "/start"}});
    let gone =
        json!({"update_id": 21, "my_chat_member": {"chat": {"id": -7}, "new_chat_member": {"status": "kicked"}}});
    for _ in 0..2 {
        let double = serve(vec![start.clone(), gone.clone()]).await;
        let (running, stop) = listen(&double, &office);
        double.until("confirmed", |double| confirmed(double).contains(&22)).await;
        stop.cancel();
        running.await.unwrap().unwrap();
    }
    assert_eq!(office.said.lock().unwrap().len(), 1);
    let changes = office.changes.lock().unwrap().clone();
    assert_eq!(changes, [("telegram:5".parse().unwrap(), true), ("telegram:-7".parse().unwrap(), false)]);
}

#[tokio::test]
async fn an_answer_to_a_text_goes_where_it_was_said() {
    let office = Arc::new(Office::default());
    let text = json!({"update_id": 20, "message": {"message_id": 1, "from": {"id": 5}, "chat": {"id": -7}, "text": "/start",
        "message_thread_id": 77, "is_topic_message": true}});
    let double = serve(vec![text]).await;
    let (running, stop) = listen(&double, &office);
    double.until("answered", |double| double.calls("SendMessage").len() == 1).await;
    stop.cancel();
    running.await.unwrap().unwrap();
    let sent = &double.calls("SendMessage")[0];
    assert_eq!((&sent["chat_id"], &sent["message_thread_id"]), (&json!(-7), &json!(77)));
}

#[tokio::test]
async fn a_conflict_is_told_and_ends_by_itself() {
    let office = Arc::new(Office::default());
    let conflict = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running";
    let double = Double::start(move |_, before| {
        Box::pin(async move {
            if before < 4 {
                return no(409, conflict);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            ok(&json!([]))
        })
    })
    .await;
    let (running, stop) = listen(&double, &office);
    double.until("hearing again", |_| office.hearing.lock().unwrap().last() == Some(&Hearing::Listening)).await;
    assert!(office.deaf().iter().all(|why| why.contains("conflict") && why.contains("another program")));
    assert_eq!(office.deaf().len(), 1);
    let probes: Vec<_> = double.calls("GetUpdates").iter().map(|call| call["timeout"].clone()).collect();
    assert_eq!(probes[..5], [json!(0), json!(2), json!(2), json!(2), json!(2)], "long enough to see another program");
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_webhook_is_reported_and_left_alone() {
    let office = Arc::new(Office::default());
    let double = Double::start(|_, _| {
        Box::pin(async { no(409, "Conflict: can't use getUpdates method while webhook is active") })
    })
    .await;
    let (running, stop) = listen(&double, &office);
    double.until("told", |double| double.methods().len() >= 3 && !office.deaf().is_empty()).await;
    assert!(office.deaf()[0].contains("webhook"));
    stop.cancel();
    running.await.unwrap().unwrap();
    assert!(double.methods().iter().all(|method| method == "GetUpdates"));
}

#[tokio::test]
async fn a_refused_token_ends_it() {
    for (code, text) in [(401, "Unauthorized"), (404, "Not Found")] {
        let office = Arc::new(Office::default());
        let double = Double::start(move |_, _| Box::pin(async move { no(code, text) })).await;
        let (running, _stop) = listen(&double, &office);
        assert_eq!(running.await.unwrap(), Err(Failure::Unauthorised));
        assert_eq!(double.methods(), ["GetUpdates"]);
        assert!(office.deaf()[0].contains("token"));
    }
}

#[tokio::test]
async fn a_long_absence_is_told_once_the_platform_is_back() {
    for (seconds, expected) in [(200, true), (100, false), (-500, false)] {
        let office = Arc::new(Office::default());
        let last = SystemClock.unix_millis() - seconds * 1000;
        office.memory.lock().unwrap().insert(HEARD.to_owned(), last.to_string());
        let double = serve(Vec::new()).await;
        let (running, stop) = listen(&double, &office);
        double.until("listening", |_| !office.hearing.lock().unwrap().is_empty()).await;
        stop.cancel();
        running.await.unwrap().unwrap();
        assert_eq!(office.lost.load(Ordering::SeqCst), expected, "{seconds}");
    }
}

#[test]
fn two_programs_that_take_turns_are_told_of() {
    let timing = limits::Timing::default();
    let conflict = Trouble::Refused(Refusal {
        code: 409,
        description: "Conflict: terminated by other getUpdates request".to_owned(),
        ..Refusal::default()
    });
    let mut failures = Failures::default();
    let mut told = |lasted: bool| {
        let Then::Wait { told, .. } = failures.after(&conflict, &timing) else { panic!("it waits") };
        failures.over(lasted);
        told.is_some()
    };
    assert!(!told(false), "the first may be the end of a program that was there before");
    assert!(told(false) && told(true), "a short poll that succeeds between two conflicts proves nothing");
    assert!(!told(false), "one that lasted does");
}

#[test]
fn waits_grow_to_a_cap_and_the_servers_word_counts() {
    let timing = limits::Timing::default();
    let refused =
        |code, text: &str| Trouble::Refused(Refusal { code, description: text.to_owned(), ..Refusal::default() });
    let waits = |trouble: &Trouble, count: usize| {
        let mut failures = Failures::default();
        (0..count)
            .map(|_| match failures.after(trouble, &timing) {
                Then::Wait { pause, told } | Then::WaitExactly { pause, told } => (pause.as_millis(), told.is_some()),
                Then::Stop => (0, false),
            })
            .collect::<Vec<_>>()
    };
    let network = Trouble::NotSent { why: "refused".to_owned() };
    assert_eq!(
        waits(&network, 6),
        [(1000, false), (2000, true), (4000, true), (8000, true), (8000, true), (8000, true)]
    );
    assert_eq!(waits(&network, 200).last(), Some(&(8000, true)), "no overflow");
    let conflict = refused(409, "Conflict: terminated by other getUpdates request");
    assert_eq!(waits(&conflict, 4), [(1000, false), (2000, true), (4000, true), (4500, true)]);
    let slow =
        Trouble::Refused(Refusal { code: 429, retry_after: Some(Duration::from_secs(56)), ..Refusal::default() });
    assert_eq!(waits(&slow, 1), [(56_000, true)]);
    assert_eq!(waits(&refused(502, "Bad Gateway"), 2), [(1000, false), (2000, true)]);
}
