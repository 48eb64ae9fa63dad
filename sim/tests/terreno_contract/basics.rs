//! Conversations, refused requests, reading, listing and transport.

use std::time::Duration;

use serde_json::{Value, json};
use sim::terreno::{Model, Options, Script, Surface, TurnOutcome};

use crate::harness::{ADMIN, Bench, OTHER, OWNER, confirm_card, data, invalid_body, not_pending};

const LIST: &str = "/gpt/histories/pendingAsks";
const TURN: &str = "/gpt/histories/<history>/turn";
const READ: &str = "/gpt/histories/<history>";

fn plan() -> Value {
    json!({
        "prompt": "Which plan?", "title": "Choose", "select": "one", "default": ["b"],
        "options": [{"id": "a", "label": "Alpha"}, {"id": "b", "label": "Beta"}],
    })
}

fn plan_card() -> Value {
    json!({
        "buttons": [
            {"id": "option:b", "label": "Beta", "style": "primary",
             "response": {"action": "accept", "content": {"selected": ["b"]}}},
            {"id": "option:a", "label": "Alpha", "style": "default",
             "response": {"action": "accept", "content": {"selected": ["a"]}}},
            {"id": "skip", "label": "Skip", "style": "cancel", "response": {"action": "decline"}},
        ],
        "handoff": false, "kind": "choice", "text": "Which plan?", "title": "Choose", "toolCallId": "<ask>",
    })
}

#[expect(clippy::needless_pass_by_value, reason = "expectations are written in place, without borrows")]
fn stored(prompts: Value, pending: Option<Value>, title: Option<&str>) -> Value {
    let mut history = json!({
        "userId": "<user>", "_id": "<history>", "deleted": false, "prompts": prompts, "created": "<any>",
        "updated": "<any>", "__v": 0, "ownerId": "<user>", "id": "<history>",
    });
    if let Some(pending) = pending {
        history["pendingAsk"] = pending;
    }
    if let Some(title) = title {
        history["title"] = json!(title);
    }
    history
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one conversation, from its question to its end")]
async fn a_choice_from_question_to_answer_as_captured() {
    let mut bench = Bench::new(Options::default()).await;
    let script = Script::new().ask("choice", plan()).say("Answer:").title("Fake title");
    let history = bench.host.open(OWNER, script).expect("a conversation");
    bench.name("history", &history);
    let ask = json!({"kind": "choice", "simple": plan_card(), "toolCallId": "<ask>"});
    let pending = json!({
        "created": "<created>", "input": plan(), "kind": "choice", "simple": plan_card(), "toolCallId": "<ask>",
    });
    let user_row = json!({"text": "plan please", "type": "user", "content": []});
    let ask_row = |status: &str| {
        json!({
            "args": plan(), "ask": {"kind": "choice", "status": status}, "text": "Tool call: ask_choice",
            "toolCallId": "<ask>", "toolName": "ask_choice", "type": "tool-call", "content": [],
        })
    };
    let answer_row = json!({
        "result": {"action": "accept", "content": {"selected": ["a"]}}, "text": "Tool result: ask_choice",
        "toolCallId": "<ask>", "toolName": "ask_choice", "type": "tool-result", "content": [],
    });
    let reply_row = json!({"model": "<any>", "text": "Answer:", "type": "assistant", "content": []});
    let waiting = stored(json!([user_row, ask_row("pending")]), Some(pending), None);
    let answered = stored(json!([user_row, ask_row("answered"), answer_row, reply_row]), None, Some("Fake title"));
    let listed = json!([{
        "created": "<created>", "historyId": "<history>", "kind": "choice", "simple": plan_card(), "toolCallId": "<ask>",
    }]);
    let unknown_button = json!({
        "status": 400, "title": "Unknown buttonId", "code": "UNKNOWN_BUTTON", "requestId": "<any>",
        "detail": "The button is not on the pending ask's simple card. See fields.",
        "meta": {"fields": [{
            "code": "UNKNOWN_BUTTON", "path": "buttonId",
            "fix": "Send the id of one of the card's buttons: \"option:b\", \"option:a\", \"skip\".",
            "message": "Button \"nope\" is not on the pending ask's simple card.",
        }]},
    });
    let invalid_answer = json!({
        "status": 400, "title": "Invalid askResponse", "detail": "The answer does not match the ask. See fields.",
        "meta": {"fields": [{"code": "OPTION_NOT_OFFERED", "path": "content.selected[0]", "fix": "<any>", "message": "<any>"}]},
        "requestId": "<any>",
    });
    let gold = json!({"toolCallId": "<ask>", "action": "accept", "content": {"selected": ["gold"]}});
    let press = json!({"toolCallId": "<ask>", "buttonId": "option:a", "surface": "compact"});
    let text = data(json!({"historyId": "<history>", "text": "Answer:", "title": "Fake title"}));
    bench
        .replay(vec![
            (
                "13",
                OWNER,
                "POST",
                TURN,
                json!({"prompt": "plan please"}),
                200,
                data(json!({"historyId": "<history>", "pendingAsk": ask, "text": ""})),
            ),
            ("14", OWNER, "GET", LIST, Value::Null, 200, data(listed.clone())),
            ("15", OWNER, "GET", READ, Value::Null, 200, data(waiting.clone())),
            ("16", OWNER, "POST", TURN, json!({"toolCallId": "<ask>", "buttonId": "nope"}), 400, unknown_button),
            (
                "17",
                OWNER,
                "POST",
                TURN,
                json!({"toolCallId": "call_x", "buttonId": "option:a"}),
                409,
                not_pending("call_x"),
            ),
            ("26", OWNER, "POST", TURN, json!({"askResponse": gold}), 400, invalid_answer),
            (
                "27",
                OTHER,
                "POST",
                TURN,
                json!({"prompt": "hi"}),
                403,
                json!({
                    "status": 403, "title": "Access denied", "code": "action-access-denied", "requestId": "<any>",
                    "detail": "<any>", "meta": {"action": "UPDATE", "model": "GptHistory"},
                }),
            ),
            (
                "a bad body is a 403 first",
                OTHER,
                "POST",
                TURN,
                json!({}),
                403,
                json!({
                    "status": 403, "title": "Access denied", "code": "action-access-denied", "requestId": "<any>",
                    "detail": "<any>", "meta": {"action": "UPDATE", "model": "GptHistory"},
                }),
            ),
            (
                "28",
                ADMIN,
                "POST",
                TURN,
                json!({"prompt": "hi"}),
                403,
                json!({"status": 403, "title": "Not authorized to access this history", "requestId": "<any>"}),
            ),
            ("29", ADMIN, "GET", READ, Value::Null, 200, data(waiting)),
            ("an admin lists only his own", ADMIN, "GET", LIST, Value::Null, 200, data(json!([]))),
            ("all of that left it pending", OWNER, "GET", LIST, Value::Null, 200, data(listed)),
            ("32", OWNER, "POST", TURN, press.clone(), 200, text),
            ("33", OWNER, "POST", TURN, press, 409, not_pending("<ask>")),
            ("34", OWNER, "GET", READ, Value::Null, 200, data(answered)),
            ("nothing is pending", OWNER, "GET", LIST, Value::Null, 200, data(json!([]))),
        ])
        .await;
    let (history, ask) = (bench.named("history"), bench.named("ask"));
    let answers = bench.host.read(|state| state.answers(&history, &ask).into_iter().cloned().collect::<Vec<_>>());
    let outcomes: Vec<TurnOutcome> = answers.iter().map(|turn| turn.outcome).collect();
    let refused = TurnOutcome::Refused(400);
    assert_eq!(outcomes, [refused, refused, TurnOutcome::Effective, TurnOutcome::NotPending]);
    assert_eq!(answers[2].surface, Surface::Compact);
    assert_eq!(bench.host.read(|state| state.effective(&history, &ask)), 1);
}

#[tokio::test]
async fn bodies_that_are_refused_as_captured() {
    let mut bench = Bench::new(Options::default()).await;
    let history = bench.host.open(OWNER, Script::new()).expect("a conversation");
    bench.name("history", &history);
    let one_of = "Send one of prompt, askResponse, or toolCallId with buttonId.";
    let only = "Send only one of prompt, askResponse, or toolCallId with buttonId.";
    let action = "Invalid discriminator value. Expected 'accept' | 'decline' | 'cancel'";
    let surface = "Invalid option: expected one of \"full\"|\"compact\"";
    let both = json!({"prompt": "x", "buttonId": "a", "toolCallId": "c"});
    let maybe = json!({"askResponse": {"toolCallId": "c", "action": "maybe"}});
    let reason = json!({"askResponse": {"toolCallId": "c", "action": "decline", "reason": "no"}});
    let missing = |id: &str| {
        json!({
            "status": 404, "title": "Document not found", "code": "document-not-found", "requestId": "<any>",
            "detail": format!("Document {id} not found for model GptHistory"),
        })
    };
    let unknown = "6710c2a1f1e2d3c4b5a69701";
    let internal = json!({"status": 500, "title": "Internal server error"});
    bench
        .replay(vec![
            ("18", OWNER, "POST", TURN, json!({}), 400, invalid_body(json!({"prompt": one_of}))),
            (
                "19",
                OWNER,
                "POST",
                TURN,
                both,
                400,
                invalid_body(json!({"prompt": only, "buttonId": only, "toolCallId": only})),
            ),
            (
                "20",
                OWNER,
                "POST",
                TURN,
                json!({"buttonId": "a"}),
                400,
                invalid_body(json!({"toolCallId": "Send toolCallId with buttonId."})),
            ),
            ("21", OWNER, "POST", TURN, json!({"prompt": "x", "foo": 1}), 400, invalid_body(json!({}))),
            (
                "22",
                OWNER,
                "POST",
                TURN,
                json!({"prompt": "x", "surface": "watch"}),
                400,
                invalid_body(json!({"surface": surface})),
            ),
            ("23", OWNER, "POST", TURN, maybe, 400, invalid_body(json!({"askResponse": action}))),
            (
                "24",
                OWNER,
                "POST",
                TURN,
                json!({"prompt": null}),
                400,
                invalid_body(json!({"prompt": "Invalid input: expected string, received null"})),
            ),
            ("a reason on a decline", OWNER, "POST", TURN, reason, 400, invalid_body(json!({"askResponse": "<any>"}))),
            ("25", OWNER, "POST", TURN, json!("{\"prompt\":"), 500, internal),
            (
                "30",
                OWNER,
                "POST",
                &format!("/gpt/histories/{unknown}/turn"),
                json!({"prompt": "x"}),
                404,
                missing(unknown),
            ),
            ("31", OWNER, "POST", "/gpt/histories/not-an-id/turn", json!({"prompt": "x"}), 404, missing("not-an-id")),
        ])
        .await;
    assert_eq!(bench.host.turns().len(), 0, "nothing reached the conversation");
}

#[tokio::test]
async fn conversations_are_made_listed_renamed_and_deleted() {
    let mut bench = Bench::new(Options::default()).await;
    bench.name("user", &bench.host.user_id(OWNER).expect("a user"));
    let fresh = stored(json!([]), None, None);
    let denied = |method: &str| {
        let title = format!("Access to {method} on GptHistory:<history> denied for <other>");
        json!({"status": 403, "title": title, "requestId": "<any>"})
    };
    bench.name("other", &bench.host.user_id(OTHER).expect("a user"));
    let renamed = stored(json!([]), None, Some("New"));
    let gone = json!({
        "status": 404, "title": "Document not found", "code": "document-not-found", "meta": {"deleted": "true"},
        "detail": "Document <history> not found for model GptHistory", "disableExternalErrorTracking": true,
        "requestId": "<any>",
    });
    let create_error = json!({"status": 400, "title": "Create error", "code": "create-error", "requestId": "<any>"});
    bench
        .replay(vec![
            ("12", OWNER, "POST", "/gpt/histories", json!({}), 201, data(fresh)),
            ("an unknown field", OWNER, "POST", "/gpt/histories", json!({"foo": 1}), 400, create_error),
            ("a stranger reads", OTHER, "GET", READ, Value::Null, 403, denied("GET")),
            ("a stranger deletes", OTHER, "DELETE", READ, Value::Null, 403, denied("DELETE")),
            (
                "rename",
                OWNER,
                "PATCH",
                READ,
                json!({"title": "New", "pendingAsk": {"kind": "confirm"}}),
                200,
                data(renamed),
            ),
            ("64", OWNER, "DELETE", READ, Value::Null, 204, json!("")),
            ("65", OWNER, "POST", TURN, json!({"prompt": "x"}), 404, gone),
        ])
        .await;

    for number in 0..3 {
        bench.clock.advance(Duration::from_secs(1));
        let history = bench.host.open(OWNER, Script::new()).expect("a conversation");
        bench.host.set_title(&history, &number.to_string()).expect("a title");
    }
    let titles = |got: &Value| -> Vec<String> {
        let rows = got["data"].as_array().expect("rows").iter();
        rows.map(|row| row["title"].as_str().expect("a title").to_owned()).collect()
    };
    let got = bench.send(OWNER, "GET", "/gpt/histories?limit=2&page=1", &Value::Null).await.body;
    assert_eq!(titles(&got), ["2", "1"]);
    assert_eq!(
        (&got["limit"], &got["more"], &got["page"], &got["total"]),
        (&json!(2), &json!(true), &json!("1"), &json!(3))
    );
    let got = bench.send(OWNER, "GET", "/gpt/histories?limit=2&page=2&sort=created", &Value::Null).await.body;
    assert_eq!((titles(&got), &got["more"]), (vec!["2".to_owned()], &json!(false)));
    let got = bench.send(OWNER, "GET", "/gpt/histories", &Value::Null).await.body;
    assert!(got.get("page").is_none(), "a page that was not sent does not come back");
    for (query, code) in [("page=0", "invalid-page"), ("page=x", "invalid-page"), ("foo=1", "query-param-not-allowed")]
    {
        let got = bench.send(OWNER, "GET", &format!("/gpt/histories?{query}"), &Value::Null).await;
        assert_eq!((got.status, &got.body["code"]), (400, &json!(code)), "{query}");
    }
}

#[tokio::test]
async fn the_list_is_newest_first_and_leaves_deleted_out() {
    let mut bench = Bench::new(Options::default()).await;
    let one = bench.host.ask(OWNER, "confirm", json!({"prompt": "One?"})).expect("an ask");
    bench.clock.advance(Duration::from_millis(5));
    let two = bench.host.ask(OWNER, "confirm", json!({"prompt": "Two?"})).expect("an ask");
    bench.host.set_title(&two.history_id, "Second").expect("a title");
    for (name, value) in
        [("h1", &one.history_id), ("a1", &one.tool_call_id), ("h2", &two.history_id), ("a2", &two.tool_call_id)]
    {
        bench.name(name, value);
    }
    let first = json!({
        "created": "<any>", "historyId": "<h1>", "kind": "confirm", "simple": confirm_card("One?", "<a1>"),
        "toolCallId": "<a1>",
    });
    let second = json!({
        "created": "<any>", "historyId": "<h2>", "kind": "confirm", "simple": confirm_card("Two?", "<a2>"),
        "title": "Second", "toolCallId": "<a2>",
    });
    bench.replay(vec![("61", OWNER, "GET", LIST, Value::Null, 200, data(json!([second, first])))]).await;
    bench.host.set_deleted(&two.history_id, true).expect("a conversation");
    bench.replay(vec![("deleted", OWNER, "GET", LIST, Value::Null, 200, data(json!([first])))]).await;
}

#[tokio::test]
async fn transport_as_captured() {
    let bench = Bench::new(Options::default()).await;
    let url = format!("{}{LIST}", bench.host.url());
    let got =
        bench.http.get(&url).bearer_auth(bench.bearer(OWNER)).header("x-request-id", "abc").send().await.expect("61");
    assert_eq!(got.headers()["x-request-id"], "abc");
    assert!(got.headers().contains_key("x-session-id"));
    assert_eq!(got.json::<Value>().await.expect("JSON")["requestId"], "abc");

    let got = bench.send("", "OPTIONS", LIST, &Value::Null).await;
    assert_eq!((got.status, &got.body), (204, &json!("")));
    assert_eq!(got.headers["access-control-allow-methods"], "GET,HEAD,PUT,PATCH,POST,DELETE");
    let got = bench.send(OWNER, "HEAD", LIST, &Value::Null).await;
    assert_eq!((got.status, &got.body), (200, &json!("")));
    let got = bench.send(OWNER, "GET", "/nothing/here", &Value::Null).await;
    assert_eq!(got.status, 404);
    assert!(got.body.as_str().is_some_and(|page| page.contains("Cannot GET /nothing/here")), "{}", got.body);
    let cookie = format!("jwt={}", bench.bearer(OWNER));
    assert_eq!(bench.http.get(&url).header("cookie", cookie).send().await.expect("a reply").status(), 200);
}

#[tokio::test]
async fn asks_switched_off_and_on_again() {
    let mut bench = Bench::new(Options::default()).await;
    let asked = bench.host.ask(OWNER, "confirm", json!({"prompt": "Go?"})).expect("an ask");
    bench.name("history", &asked.history_id);
    bench.host.configure(|options| options.asks = false);
    let off = json!({
        "status": 404, "title": "Document not found", "code": "document-not-found", "requestId": "<any>",
        "detail": "Document pendingAsks not found for model GptHistory",
    });
    let malformed = json!({
        "status": 400, "title": "Malformed array operation body", "code": "malformed-array-operation-body",
        "requestId": "<any>",
    });
    bench
        .replay(vec![
            ("list", OWNER, "GET", LIST, Value::Null, 404, off),
            ("turn", OWNER, "POST", TURN, json!({"prompt": "x"}), 400, malformed),
        ])
        .await;
    bench.host.configure(|options| options.asks = true);
    assert_eq!(bench.send(OWNER, "GET", LIST, &Value::Null).await.body["data"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_host_without_a_model_touches_nothing() {
    let mut bench = Bench::new(Options { model: Model::PerRequestKey, ..Options::default() }).await;
    let asked = bench.host.ask(OWNER, "confirm", json!({"prompt": "Go?"})).expect("an ask");
    bench.name("history", &asked.history_id);
    bench.name("ask", &asked.tool_call_id);
    let demo = "This is demo mode. To use AI features, paste your Gemini API key in Settings.";
    let says = data(json!({"historyId": "<history>", "text": demo}));
    let press = json!({"toolCallId": "<ask>", "buttonId": "approve"});
    let stale = json!({"askResponse": {"toolCallId": "call_x", "action": "decline"}});
    let before = bench.host.read(|state| state.conversation(&asked.history_id).map(|view| view.rows));
    bench
        .replay(vec![
            ("prompt", OWNER, "POST", TURN, json!({"prompt": "x"}), 200, says.clone()),
            ("button", OWNER, "POST", TURN, press.clone(), 200, says.clone()),
            ("a stale answer", OWNER, "POST", TURN, stale, 200, says),
            (
                "a stale button",
                OWNER,
                "POST",
                TURN,
                json!({"toolCallId": "call_x", "buttonId": "deny"}),
                409,
                not_pending("call_x"),
            ),
        ])
        .await;
    assert_eq!(bench.host.read(|state| state.conversation(&asked.history_id).map(|view| view.rows)), before);
    assert_eq!(bench.host.pending(OWNER).len(), 1);
    let url = format!("{}/gpt/histories/{}/turn", bench.host.url(), asked.history_id);
    let body = json!({"toolCallId": asked.tool_call_id, "buttonId": "approve"});
    let keyed = bench.http.post(url).bearer_auth(bench.bearer(OWNER)).header("x-ai-api-key", "k").json(&body);
    assert_eq!(
        keyed.send().await.expect("a reply").json::<Value>().await.expect("JSON")["data"]["text"],
        "Noted: Confirm."
    );
    assert_eq!(bench.host.pending(OWNER).len(), 0);
}
