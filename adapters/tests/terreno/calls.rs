//! What is sent, and what a reply becomes.

use std::time::Duration;

use adapters::source::{Answer, Failure, Repost, Source as _, Verdict};
use adapters::sources::terreno::{Secret, TerrenoSource};
use asks::ids::{AccountKey, ConversationId, SourceName};
use serde_json::json;

use crate::double::{Hand, Host, Says, ask, empty_list, jwt, me, options, press, says, source, token};

const LIST: &str = "GET /gpt/histories/pendingAsks";

fn entry(id: &str) -> String {
    format!(
        r#"{{"created":"2026-12-01T08:15:30.120Z","historyId":"h1","kind":"confirm","toolCallId":"{id}","title":"Talk",
        "simple":{{"kind":"confirm","toolCallId":"{id}","text":"Go?","handoff":false,"buttons":[]}}}}"#
    )
}

#[tokio::test]
async fn every_request_carries_the_credential_the_headers_and_the_surface() {
    let host = Host::start(|seen, _| match seen.line.as_str() {
        LIST => empty_list(),
        _ => says(200, r#"{"data":{"historyId":"h1","text":"Done."}}"#),
    })
    .await;
    let source = source(&host.url, &Hand::new(), token("t0"));
    source.pending(&me()).await.unwrap();
    let verdict = press(&source).await;
    assert_eq!(verdict, Verdict::Accepted { text: "Done.".to_owned(), next: None });
    let envelope = json!({"action": "accept", "content": {"confirmed": true}});
    source.answer(&me(), &ask("h1"), &Answer::Response(envelope)).await;

    let seen = host.seen();
    assert_eq!(host.lines(), [LIST, "POST /gpt/histories/h1/turn", "POST /gpt/histories/h1/turn"]);
    for one in &seen {
        assert_eq!((one.bearer.as_str(), one.headers["x-ai-api-key"].to_str().unwrap()), ("t0", "key-1"));
    }
    assert_eq!(seen[1].body, json!({"toolCallId": "call_1", "buttonId": "approve", "surface": "compact"}));
    let response = json!({"toolCallId": "call_1", "action": "accept", "content": {"confirmed": true}});
    assert_eq!(seen[2].body, json!({"askResponse": response, "surface": "compact"}));
    assert_eq!(seen[2].headers["content-type"], "application/json");
    assert_eq!(source.repost(), Repost::Safe);
}

#[tokio::test]
async fn an_answer_that_is_none_is_not_sent() {
    let host = Host::start(|_, _| empty_list()).await;
    let source = source(&host.url, &Hand::new(), token("t0"));
    let verdict = source.answer(&me(), &ask("h1"), &Answer::Response(json!({"confirmed": true}))).await;
    assert!(matches!(verdict, Verdict::Invalid { .. }), "{verdict:?}");
    let verdict = source.answer(&me(), &ask(".."), &Answer::Button("approve".into())).await;
    assert_eq!(verdict, Verdict::Gone);
    assert_eq!(host.lines(), Vec::<String>::new());
}

#[tokio::test]
async fn a_list_keeps_what_it_cannot_read_and_says_whose_it_is() {
    let host = Host::start(|_, _| {
        let body = format!(r#"{{"data":[{},{{"historyId":"h2","toolCallId":"c2","simple":7}},7]}}"#, entry("c1"));
        says(200, body)
    })
    .await;
    let source = source(&host.url, &Hand::new(), token(&jwt("u1", 0)));
    let snapshot = source.pending(&me()).await.unwrap();
    assert!(!snapshot.complete);
    assert_eq!(snapshot.unreadable, [("h2".into(), "c2".into())]);
    assert_eq!(snapshot.subject, Some("u1".into()));
    let [listed] = snapshot.asks.as_slice() else { panic!("{snapshot:?}") };
    assert_eq!(
        (
            listed.conversation.as_str(),
            listed.ask.as_str(),
            listed.conversation_title.as_deref(),
            listed.card.text.as_str()
        ),
        ("h1", "c1", Some("Talk"), "Go?")
    );
    assert_eq!(listed.created, "2026-12-01T08:15:30.120Z");
}

#[tokio::test]
async fn a_conversation_is_read_with_its_answers() {
    let host = Host::start(|_, _| {
        says(
            200,
            r#"{"data":{"_id":"h1","title":"Talk","prompts":[
            {"type":"tool-call","toolCallId":"call_1","toolName":"ask_confirm","ask":{"kind":"confirm","status":"answered"}},
            {"type":"tool-result","toolCallId":"call_1","result":{"action":"accept","content":{"confirmed":true}}},
            {"type":"assistant","text":"Done."}],
            "pendingAsk":{"toolCallId":"call_2","kind":"confirm","input":{"prompt":"Again?"},
            "simple":{"kind":"confirm","toolCallId":"call_2","text":"Again?","handoff":false,"buttons":[]}}}}"#,
        )
    })
    .await;
    let source = source(&host.url, &Hand::new(), token("t0"));
    let read = source.read(&me(), &ConversationId::from("h1")).await.unwrap();
    assert_eq!(host.lines(), ["GET /gpt/histories/h1"]);
    assert_eq!(read.pending, Some(("call_2".into(), json!({"prompt": "Again?"}))));
    assert_eq!(read.answers[0].response, json!({"action": "accept", "content": {"confirmed": true}}));
    assert_eq!((read.answers[0].said_after.as_str(), read.complete), ("Done.", true));
}

#[tokio::test]
async fn a_429_holds_polls_and_answers_until_it_is_over() {
    let host = Host::start(|_, earlier| match earlier {
        0 => Says { headers: vec![("retry-after", "30".into())], ..says(429, r#"{"status":429}"#) },
        _ => empty_list(),
    })
    .await;
    let clock = Hand::new();
    let source = source(&host.url, &clock, token("t0"));
    let wait = Duration::from_secs(30);
    assert_eq!(source.pending(&me()).await.unwrap_err(), Failure::RateLimited { after: wait });
    clock.forward(10);
    let left = Duration::from_secs(20);
    assert_eq!(source.pace(&me()).wait, Some(left));
    assert_eq!(source.pending(&me()).await.unwrap_err(), Failure::RateLimited { after: left });
    assert_eq!(press(&source).await, Verdict::RateLimited { after: left });
    assert_eq!(host.lines(), [LIST]);
    clock.forward(20);
    assert_eq!(source.pace(&me()).wait, None);
    source.pending(&me()).await.unwrap();
}

#[tokio::test]
async fn what_is_left_of_a_window_is_spread_over_it() {
    let host = Host::start(|seen, _| {
        let said =
            vec![("ratelimit", "limit=8, remaining=4, reset=60".to_owned()), ("ratelimit-policy", "8;w=60".to_owned())];
        match seen.line.as_str() {
            LIST => Says { headers: said, ..empty_list() },
            _ => says(409, "{}"),
        }
    })
    .await;
    let source = source(&host.url, &Hand::new(), token("t0"));
    source.pending(&me()).await.unwrap();
    assert_eq!(source.pace(&me()).wait, Some(Duration::from_secs(30)));
    assert_eq!(press(&source).await, Verdict::NotPending, "an answer need not wait");
}

#[tokio::test]
async fn examine_says_what_waits() {
    let cases = [
        (r#"{"data":[]}"#.to_owned(), "signed in, nothing waits"),
        (format!(r#"{{"data":[{}]}}"#, entry("c1")), "signed in, 1 ask waits"),
        (format!(r#"{{"data":[{},{}]}}"#, entry("c1"), entry("c2")), "signed in, 2 asks wait"),
    ];
    for (body, sentence) in cases {
        let host = Host::start(move |_, _| says(200, body.clone())).await;
        assert_eq!(source(&host.url, &Hand::new(), token("t0")).examine(&me()).await.unwrap(), sentence);
    }
}

#[tokio::test]
async fn an_account_without_a_credential_is_refused_until_it_is_added() {
    let host = Host::start(|_, _| empty_list()).await;
    let source = source(&host.url, &Hand::new(), token("t0"));
    let other = AccountKey { source: SourceName::from("app"), name: "other".into() };
    assert!(matches!(source.pending(&other).await, Err(Failure::Unauthorised { .. })));
    source.add(other.clone(), token("t1"));
    source.pending(&other).await.unwrap();
    source.remove(&other);
    assert!(source.pending(&other).await.is_err());
    assert_eq!(host.seen().len(), 1);
}

#[test]
fn what_cannot_be_sent_is_refused_at_the_start() {
    let url = "http://127.0.0.1:9".parse().unwrap();
    let mut options = options(&url, &Hand::new(), token("t0"));
    options.headers = vec![("x-key".to_owned(), Secret::new("hunter2\r\n"))];
    let said = TerrenoSource::new(options).unwrap_err().to_string();
    assert!(said.contains("x-key") && !said.contains("hunter2"), "{said}");
}
