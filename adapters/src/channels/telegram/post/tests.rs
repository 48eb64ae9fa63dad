//! What is sent, and what is made of the servers' odd answers.

use asks::card::Style;
use serde_json::json;
use tokio::io::AsyncReadExt;
use url::Url;

use super::super::double::{Answer, Call, Double, TOKEN, channel_at, message, no, ok, slow_down, unpaced};
use super::*;
use crate::channel::{Channel, ViewButton};

fn view() -> CardView {
    CardView {
        title: Some("Plan".into()),
        text: "Which?".into(),
        buttons: vec![ViewButton { label: "Team".into(), style: Style::Primary, token: "tok".into() }],
        link: Some(("Open".into(), "https://app.example.com/a".into())),
        ..CardView::default()
    }
}

fn key() -> SendKey {
    SendKey("k".into())
}

fn place(text: &str) -> Place {
    text.parse().unwrap()
}

fn at(id: &str) -> MessageRef {
    MessageRef { chat: "5".into(), id: id.into() }
}

/// A server that answers at once.
async fn server(script: impl Fn(&Call, usize) -> Answer + Send + Sync + 'static) -> std::sync::Arc<Double> {
    Double::start(move |call, before| {
        let answer = script(&call, before);
        Box::pin(async move { answer })
    })
    .await
}

#[tokio::test]
async fn a_card_goes_out_whole() {
    let double = server(|call, _| ok(&message(&call.body, 9))).await;
    let channel = double.channel();
    let sent = channel.present(&place("telegram:-1001/77"), &view(), &key()).await;
    assert_eq!(sent, Ok(MessageRef { chat: "-1001".into(), id: "9".into() }));
    let expected = json!({
        "chat_id": -1001,
        "message_thread_id": 77,
        "text": "Plan\nWhich?",
        "entities": [{"type": "bold", "offset": 0, "length": 4}],
        "link_preview_options": {"is_disabled": true},
        "reply_markup": {"inline_keyboard": [
            [{"text": "Team", "style": "primary", "callback_data": "tok"}],
            [{"text": "Open", "url": "https://app.example.com/a"}],
        ]},
    });
    assert_eq!(double.calls("SendMessage"), [expected]);
    channel.present(&place("telegram:-1001/1"), &view(), &key()).await.unwrap();
    assert_eq!(double.calls("SendMessage")[1].get("message_thread_id"), None, "the general topic");

    let settled = CardView { buttons: Vec::new(), link: None, status: Some("You chose: Team".into()), ..view() };
    channel.revise(&place("telegram:-1001/77"), &sent.unwrap(), &settled).await.unwrap();
    let expected = json!({
        "chat_id": -1001,
        "message_id": 9,
        "text": "Plan\nWhich?\n\nYou chose: Team",
        "entities": [{"type": "bold", "offset": 0, "length": 4}],
        "link_preview_options": {"is_disabled": true},
    });
    assert_eq!(double.calls("EditMessageText"), [expected], "without a keyboard, which takes the old one away");
}

#[tokio::test]
async fn a_refused_link_does_not_cost_the_card() {
    let double = server(|call, _| {
        if call.body.to_string().contains("\"url\"") {
            no(400, "Bad Request: BUTTON_URL_INVALID")
        } else {
            ok(&message(&call.body, 9))
        }
    })
    .await;
    let channel = double.channel();
    let sent = channel.present(&place("telegram:5"), &view(), &key()).await.unwrap();
    channel.revise(&place("telegram:5"), &sent, &view()).await.unwrap();
    for method in ["SendMessage", "EditMessageText"] {
        let calls = double.calls(method);
        assert_eq!(calls.len(), 2);
        assert_eq!(calls[1]["text"], "Plan\nWhich?\n\nOpen: https://app.example.com/a");
        assert_eq!(calls[1]["reply_markup"]["inline_keyboard"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_card_outside_its_topic_is_deleted() {
    let double = server(|call, before| match call.method.as_str() {
        "DeleteMessage" if before == 0 => no(500, "Internal Server Error"),
        "DeleteMessage" => ok(&json!(true)),
        _ => {
            let mut stray = message(&call.body, 9);
            stray.as_object_mut().unwrap().remove("message_thread_id");
            ok(&stray)
        }
    })
    .await;
    let result = double.channel().present(&place("telegram:-1001/77"), &view(), &key()).await;
    assert!(matches!(&result, Err(Failure::PlaceGone { why }) if why.contains("topic 77")), "{result:?}");
    assert_eq!(double.methods(), ["SendMessage", "DeleteMessage", "DeleteMessage"]);
    assert_eq!(double.calls("DeleteMessage")[0], json!({"chat_id": -1001, "message_id": 9}));
}

#[tokio::test]
async fn a_missing_topic_is_never_replaced_by_another_place() {
    let double = server(|_, _| no(400, "Bad Request: message thread not found")).await;
    let result = double.channel().present(&place("telegram:-1001/77"), &view(), &key()).await;
    assert!(matches!(result, Err(Failure::PlaceGone { .. })));
    assert_eq!(double.methods(), ["SendMessage"]);
}

#[tokio::test]
async fn a_lost_keyboard_is_put_back() {
    let double = server(|call, _| {
        let mut bare = message(&call.body, 9);
        if call.method == "SendMessage" {
            bare.as_object_mut().unwrap().remove("reply_markup");
        }
        ok(&bare)
    })
    .await;
    double.channel().present(&place("telegram:5"), &view(), &key()).await.unwrap();
    assert_eq!(double.methods(), ["SendMessage", "EditMessageText"]);
    assert_eq!(double.calls("EditMessageText")[0]["reply_markup"], double.calls("SendMessage")[0]["reply_markup"]);
}

#[tokio::test]
async fn a_429_holds_sends_and_edits_of_its_chat_only() {
    let double =
        server(|call, _| if call.body["chat_id"] == 5 { slow_down(56) } else { ok(&message(&call.body, 9)) }).await;
    let channel = double.channel();
    for _ in 0..3 {
        let result = channel.present(&place("telegram:5"), &view(), &key()).await;
        assert!(matches!(result, Err(Failure::Retry { after, .. }) if after.as_secs() >= 55), "{result:?}");
        let result = channel.revise(&place("telegram:5"), &at("9"), &view()).await;
        assert!(matches!(result, Err(Failure::Retry { after, .. }) if after.as_secs() >= 55), "{result:?}");
        channel.working(&place("telegram:5")).await;
    }
    assert_eq!(double.methods(), ["SendMessage"], "nothing else reaches the chat");
    channel.present(&place("telegram:6"), &view(), &key()).await.unwrap();
}

#[tokio::test]
async fn a_short_429_is_waited_for() {
    let double = server(|call, before| match (call.method.as_str(), before) {
        ("SendMessage", 0) => slow_down(1),
        _ => ok(&message(&call.body, 9)),
    })
    .await;
    let channel = double.channel();
    let (place, view, key) = (place("telegram:5"), view(), key());
    let presented = channel.present(&place, &view, &key);
    let ((sent, took), revised) = tokio::join!(
        async {
            let start = channel.clock.instant();
            (presented.await, channel.clock.instant() - start)
        },
        async {
            double.until("held", |double| double.methods().len() == 1).await;
            channel.revise(&place, &at("8"), &view).await
        }
    );
    sent.unwrap();
    assert!(took >= Duration::from_secs(1), "{took:?}");
    revised.unwrap();
    assert_eq!(double.calls("SendMessage").len(), 2);
}

#[tokio::test]
async fn odd_answers_are_told_apart() {
    let page = "<html>Bad Gateway</html>".to_owned();
    for (answer, send, edit) in [
        ((502, page.clone()), "ambiguous", "retry"),
        ((200, page.clone()), "ambiguous", "retry"),
        ((403, page), "retry", "retry"),
        (no(500, "Internal Server Error"), "ambiguous", "retry"),
        (no(400, "Bad Request: message is not modified: x"), "unchanged", "unchanged"),
        (no(400, "Bad Request: MESSAGE_ID_INVALID"), "message gone", "message gone"),
        (no(403, "Forbidden: bot was blocked by the user"), "place gone", "place gone"),
        (no(401, "Unauthorized"), "unauthorised", "unauthorised"),
        (slow_down(u64::MAX / 2), "retry", "retry"),
        ((200, json!({"ok": true, "result": {"odd": 1}}).to_string()), "ambiguous", "fine"),
        ((200, json!({"ok": true}).to_string()), "ambiguous", "fine"),
    ] {
        let double = server({
            let answer = answer.clone();
            move |_, _| answer.clone()
        })
        .await;
        let channel = double.channel();
        let sent = channel.present(&place("telegram:5"), &view(), &key()).await.map(|_| ());
        assert_eq!(word(&sent), send, "{answer:?} to a send");
        let edited = channel.revise(&place("telegram:5"), &at("9"), &view()).await;
        assert_eq!(word(&edited), edit, "{answer:?} to an edit");
        let held = answer.0 == 429;
        assert_eq!(double.methods().len(), if held { 1 } else { 2 }, "no call is repeated by itself");
    }
}

fn word(result: &Result<(), Failure>) -> &'static str {
    match result {
        Ok(()) => "fine",
        Err(Failure::Retry { .. }) => "retry",
        Err(Failure::Moved { .. }) => "moved",
        Err(Failure::MessageGone) => "message gone",
        Err(Failure::PlaceGone { .. }) => "place gone",
        Err(Failure::Unchanged) => "unchanged",
        Err(Failure::Ambiguous { .. }) => "ambiguous",
        Err(Failure::Refused { .. }) => "refused",
        Err(Failure::Unauthorised) => "unauthorised",
    }
}

#[tokio::test]
async fn a_connection_that_never_was_is_no_ambiguity_and_nothing_prints_the_token() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let channel = channel_at(url, unpaced());
    let taking = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 1024]).await;
    });
    let cut_off = channel.present(&place("telegram:5"), &view(), &key()).await.unwrap_err();
    assert!(matches!(cut_off, Failure::Ambiguous { .. }), "{cut_off:?}");
    taking.await.unwrap();
    let refused = channel.present(&place("telegram:5"), &view(), &key()).await.unwrap_err();
    assert!(matches!(refused, Failure::Retry { .. }), "{refused:?}");
    let all = format!("{cut_off:?} {cut_off} {refused:?} {refused} {channel:?}");
    assert!(!all.contains("very-secret") && !all.contains(TOKEN), "{all}");
}

#[tokio::test]
async fn a_long_text_is_taken_up_where_it_stopped() {
    let double = server(|call, before| match (call.method.as_str(), before) {
        ("SendMessage", 2) => (403, "<html>not now</html>".to_owned()),
        _ => ok(&message(&call.body, 100 + i64::try_from(before).unwrap())),
    })
    .await;
    let channel = double.channel();
    let text = "word ".repeat(4_000);
    let first = channel.notify(&place("telegram:5"), &text, Some(&at("9")), &key()).await;
    assert!(matches!(first, Err(Failure::Retry { .. })), "{first:?}");
    channel.notify(&place("telegram:5"), &text, Some(&at("9")), &key()).await.unwrap();
    let calls = double.calls("SendMessage");
    assert_eq!(calls.len(), 6, "five messages, the third of them twice");
    let reply = json!({"message_id": 9, "allow_sending_without_reply": true});
    assert_eq!(calls[0]["reply_parameters"], reply);
    assert!(calls[1..].iter().all(|call| call.get("reply_parameters").is_none()));
    let shown: String =
        calls.iter().enumerate().filter(|(n, _)| *n != 2).map(|(_, call)| call["text"].as_str().unwrap()).collect();
    assert_eq!(shown, text);
    channel.notify(&place("telegram:5"), " ", None, &key()).await.unwrap();
    assert_eq!(double.calls("SendMessage").len(), 6, "a blank text is not sent");
}

#[tokio::test]
async fn who_the_bot_is_and_whether_a_webhook_is_in_the_way() {
    for hook in ["", "https://other.example/secret-path"] {
        let double = server(move |call, _| match call.method.as_str() {
            "GetMe" => ok(&json!({"id": 1, "is_bot": true, "username": "ask_bot"})),
            _ => ok(&json!({"url": hook, "pending_update_count": 0})),
        })
        .await;
        let examined = double.channel().examine().await;
        assert_eq!(double.calls("GetMe"), [json!({})]);
        match examined {
            Ok(name) => assert_eq!((name.as_str(), hook), ("@ask_bot", "")),
            Err(Failure::Refused { why }) => {
                assert!(why.contains("other.example") && why.contains("deleteWebhook") && !why.contains("secret-path"));
            }
            Err(other) => panic!("{other}"),
        }
    }
}
