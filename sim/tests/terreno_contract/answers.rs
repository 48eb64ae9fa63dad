//! Answering: races, disconnects, undone and kept answers, chains, cancellations, approvals, the compact surface.

use std::time::Duration;

use serde_json::{Value, json};
use sim::terreno::{AskSpec, Asked, Options, Script, Step, Surface, TurnOutcome};

use crate::harness::{Bench, OWNER, SOON, confirm_card, data, not_pending};

const LIST: &str = "/gpt/histories/pendingAsks";
const TURN: &str = "/gpt/histories/<history>/turn";
const READ: &str = "/gpt/histories/<history>";

/// A bench whose conversation waits on a confirm and goes on with a script.
async fn waiting(script: Script) -> (Bench, Asked) {
    let mut bench = Bench::new(Options::default()).await;
    let spec = AskSpec::new("confirm", json!({"prompt": "Go?"}));
    let asked = bench.host.ask_then(OWNER, spec, script.title("Fake title")).expect("an ask");
    bench.name("history", &asked.history_id);
    bench.name("ask", &asked.tool_call_id);
    (bench, asked)
}

fn press(button: &str) -> Value {
    json!({"toolCallId": "<ask>", "buttonId": button})
}

fn says(text: &str) -> Value {
    data(json!({"historyId": "<history>", "text": text, "title": "Fake title"}))
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_identical_answers_one_wins() {
    for slow in [Duration::ZERO, Duration::from_millis(30)] {
        let (bench, asked) = waiting(Script::new().slow(slow).say("done")).await;
        let path = format!("/gpt/histories/{}/turn", asked.history_id);
        let body = json!({"toolCallId": asked.tool_call_id, "buttonId": "approve"});
        let racing = (0..8).map(|_| bench.send(OWNER, "POST", &path, &body));
        let mut statuses: Vec<u16> = futures::future::join_all(racing).await.iter().map(|got| got.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409, 409, 409, 409, 409, 409, 409]);
        let (effective, lost) = bench.host.read(|state| {
            (state.effective(&asked.history_id, &asked.tool_call_id), state.count_turns(TurnOutcome::NotPending))
        });
        assert_eq!((effective, lost), (1, 7));
    }
}

#[tokio::test]
async fn a_disconnect_does_not_stop_the_turn() {
    let (mut bench, asked) = waiting(Script::new().slow(Duration::from_millis(400)).say("done-after-disconnect")).await;
    let url = format!("{}/gpt/histories/{}/turn", bench.host.url(), asked.history_id);
    let body = json!({"toolCallId": asked.tool_call_id, "buttonId": "approve"});
    let request = bench.http.post(url).bearer_auth(bench.bearer(OWNER)).json(&body);
    let gone = tokio::spawn(request.timeout(Duration::from_millis(100)).send());
    let running = |state: &sim::terreno::State| (state.running() == 1).then_some(());
    bench.host.wait_for("the turn", SOON, running).await.expect("a running turn");
    bench
        .replay(vec![
            ("37", OWNER, "GET", LIST, Value::Null, 200, data(json!([]))),
            ("38", OWNER, "POST", TURN, press("approve"), 409, not_pending("<ask>")),
        ])
        .await;
    assert!(gone.await.expect("a task").is_err_and(|error| error.is_timeout()));
    let turn = bench.host.wait_for_answer(&asked, SOON).await.expect("the turn's end");
    assert_eq!(turn.outcome, TurnOutcome::Effective);
    let rows = bench.send(OWNER, "GET", &format!("/gpt/histories/{}", asked.history_id), &Value::Null).await.body;
    let texts: Vec<_> =
        rows["data"]["prompts"].as_array().expect("rows").iter().map(|row| row["text"].clone()).collect();
    assert_eq!(texts, ["Go ahead.", "Tool call: ask_confirm", "Tool result: ask_confirm", "done-after-disconnect"]);
}

#[tokio::test]
async fn a_prompt_while_an_answer_runs_goes_its_own_way() {
    let slow = Duration::from_millis(200);
    let (bench, asked) = waiting(Script::new().slow(slow).say("late").end().say("hello")).await;
    let path = format!("/gpt/histories/{}/turn", asked.history_id);
    let answer = json!({"toolCallId": asked.tool_call_id, "buttonId": "approve"});
    let prompt = async {
        let running = |state: &sim::terreno::State| (state.running() == 1).then_some(());
        bench.host.wait_for("the answer", SOON, running).await.expect("a running turn");
        bench.send(OWNER, "POST", &path, &json!({"prompt": "hi"})).await
    };
    let (answered, prompted) = tokio::join!(bench.send(OWNER, "POST", &path, &answer), prompt);
    assert_eq!((answered.status, &answered.body["data"]["text"]), (200, &json!("late")), "41");
    assert_eq!((prompted.status, &prompted.body["data"]["text"]), (200, &json!("hello")), "40");
    let view = bench.host.read(|state| state.conversation(&asked.history_id)).expect("a conversation");
    let texts: Vec<&str> = view.rows.iter().filter_map(|row| row["text"].as_str()).collect();
    assert_eq!(
        texts,
        ["Go ahead.", "Tool call: ask_confirm", "Tool result: ask_confirm", "hi", "hello", "late"],
        "both keep their rows"
    );
}

#[tokio::test]
async fn an_answer_is_undone_when_nothing_came_of_it() {
    let script = Script::new().fail_before_output("model failed").fail_before_output("model failed").say("ok {label}");
    let (mut bench, asked) = waiting(script).await;
    let created = bench.send(OWNER, "GET", LIST, &Value::Null).await.body["data"][0]["created"].clone();
    bench.clock.advance(Duration::from_secs(3));
    let undone = data(json!({
        "error": "model failed", "historyId": "<history>", "text": "",
        "pendingAsk": {"kind": "confirm", "simple": confirm_card("Go?", "<ask>"), "toolCallId": "<ask>"},
    }));
    let listed = json!([{
        "created": created, "historyId": "<history>", "kind": "confirm", "simple": confirm_card("Go?", "<ask>"),
        "toolCallId": "<ask>",
    }]);
    bench
        .replay(vec![
            ("42", OWNER, "POST", TURN, press("approve"), 200, undone.clone()),
            ("43", OWNER, "POST", TURN, press("deny"), 200, undone),
            ("44", OWNER, "GET", LIST, Value::Null, 200, data(listed)),
        ])
        .await;
    let (status, row) = bench.host.read(|state| {
        let row = state.answer_row(&asked.history_id, &asked.tool_call_id).cloned();
        (state.ask_status(&asked.history_id, &asked.tool_call_id), row)
    });
    assert_eq!((status.as_deref(), row), (Some("pending"), None));
    bench.replay(vec![("again", OWNER, "POST", TURN, press("approve"), 200, says("ok Confirm"))]).await;
    assert_eq!(bench.host.read(|state| state.count_turns(TurnOutcome::Undone)), 2);
    assert_eq!(bench.host.read(|state| state.effective(&asked.history_id, &asked.tool_call_id)), 1);
}

#[tokio::test]
async fn an_answer_is_kept_once_something_came_of_it() {
    let script = Script::new().fail_after_output("Partial reply.", "model failed late");
    let (mut bench, asked) = waiting(script.fail_before_output("model failed")).await;
    let kept = data(json!({
        "error": "model failed late", "historyId": "<history>", "text": "Partial reply.", "title": "Fake title",
    }));
    let failed = data(json!({"error": "model failed", "historyId": "<history>", "text": "", "title": "Fake title"}));
    bench
        .replay(vec![
            ("45", OWNER, "POST", TURN, press("approve"), 200, kept),
            ("46", OWNER, "POST", TURN, press("approve"), 409, not_pending("<ask>")),
            ("47", OWNER, "POST", TURN, json!({"prompt": "go on"}), 200, failed),
        ])
        .await;
    let view = bench.host.read(|state| state.conversation(&asked.history_id)).expect("a conversation");
    assert_eq!(
        view.rows.last(),
        Some(&json!({"text": "go on", "type": "user", "content": []})),
        "the message is stored"
    );
}

#[tokio::test]
async fn an_undo_is_skipped_when_the_conversation_went_on() {
    let script = Script::new().slow(Duration::from_millis(200)).fail_before_output("model failed").say("hello");
    let (bench, asked) = waiting(script).await;
    let path = format!("/gpt/histories/{}/turn", asked.history_id);
    let answer = json!({"toolCallId": asked.tool_call_id, "buttonId": "approve"});
    let prompt = async {
        let running = |state: &sim::terreno::State| (state.running() == 1).then_some(());
        bench.host.wait_for("the answer", SOON, running).await.expect("a running turn");
        bench.send(OWNER, "POST", &path, &json!({"prompt": "hi"})).await
    };
    let (answered, _) = tokio::join!(bench.send(OWNER, "POST", &path, &answer), prompt);
    assert_eq!(answered.body["data"]["error"], "model failed");
    assert!(answered.body["data"].get("pendingAsk").is_none(), "{}", answered.body);
    assert_eq!(bench.host.pending(OWNER).len(), 0);
}

#[tokio::test]
async fn chains_and_cancellation_as_captured() {
    let two = json!({
        "prompt": "Two?", "select": "many", "default": ["a", "b"],
        "options": [{"id": "a", "label": "A"}, {"id": "b", "label": "B"}],
    });
    let script = Script::new().say("This text is dropped.").ask("choice", two.clone()).say("never mind");
    let (mut bench, _) = waiting(script).await;
    let card = json!({
        "buttons": [
            {"id": "use-default", "label": "Use suggested", "style": "primary",
             "response": {"action": "accept", "content": {"selected": ["a", "b"]}}},
            {"id": "skip", "label": "Skip", "style": "cancel", "response": {"action": "decline"}},
        ],
        "handoff": true, "kind": "choice", "text": "Two?", "toolCallId": "<second>",
    });
    let next = json!({"kind": "choice", "simple": card, "toolCallId": "<second>"});
    let row = |id: &str, kind: &str, args: Value, status: &str| {
        let name = format!("ask_{kind}");
        json!({
            "args": args, "ask": {"kind": kind, "status": status}, "text": format!("Tool call: {name}"),
            "toolCallId": id, "toolName": name, "type": "tool-call", "content": [],
        })
    };
    let result = |id: &str, kind: &str, result: Value| {
        let name = format!("ask_{kind}");
        json!({
            "result": result, "text": format!("Tool result: {name}"), "toolCallId": id, "toolName": name,
            "type": "tool-result", "content": [],
        })
    };
    let rows = json!([
        {"text": "Go ahead.", "type": "user", "content": []},
        row("<ask>", "confirm", json!({"prompt": "Go?"}), "answered"),
        result("<ask>", "confirm", json!({"action": "accept", "content": {"confirmed": true}})),
        row("<second>", "choice", two, "cancelled"),
        result("<second>", "choice", json!({"action": "cancel", "reason": "user_sent_message"})),
        {"text": "say never mind", "type": "user", "content": []},
        {"model": "<any>", "text": "never mind", "type": "assistant", "content": []},
    ]);
    let history = json!({
        "userId": "<user>", "_id": "<history>", "deleted": false, "prompts": rows, "created": "<any>",
        "updated": "<any>", "__v": 0, "title": "Fake title", "ownerId": "<user>", "id": "<history>",
    });
    bench
        .replay(vec![
            (
                "49",
                OWNER,
                "POST",
                TURN,
                press("approve"),
                200,
                data(json!({"historyId": "<history>", "pendingAsk": next, "text": ""})),
            ),
            ("50", OWNER, "POST", TURN, json!({"prompt": "say never mind"}), 200, says("never mind")),
            ("51", OWNER, "GET", READ, Value::Null, 200, data(history)),
        ])
        .await;
}

#[tokio::test]
async fn a_conversation_waits_on_one_ask_at_a_time() {
    let bench = Bench::new(Options::default()).await;
    let ask = |prompt: &str| AskSpec::new("confirm", json!({"prompt": prompt})).with_id(prompt);
    let script = Script::new().then(Step::Ask(ask("One?"))).then(Step::Also(ask("Two?")));
    let reply = bench.host.begin(OWNER, script).await.expect("a turn");
    assert_eq!(reply.pending(), Some("One?"), "52");
    let status = |history: &str, id: &str| bench.host.read(|state| state.ask_status(history, id));
    assert_eq!(status(reply.history_id(), "Two?").as_deref(), Some("cancelled"));
    let cancel = json!({"action": "cancel", "reason": "one_ask_at_a_time"});
    assert_eq!(bench.host.read(|state| state.answer_row(reply.history_id(), "Two?").cloned()), Some(cancel.clone()));

    // Two turns that both end in an ask: the first to save wins.
    let slow = Step::Slow(Duration::from_millis(100));
    let script = Script::new().then(slow).then(Step::Ask(ask("Late?"))).then(Step::Ask(ask("Early?")));
    let history = bench.host.open(OWNER, script).expect("a conversation");
    let prompt = || bench.host.prompt(&history, "go", Surface::Full);
    let (late, early) = tokio::join!(prompt(), prompt());
    let (late, early) = (late.expect("a turn"), early.expect("a turn"));
    assert_eq!((early.pending(), late.status, late.pending(), late.text()), (Some("Early?"), 200, None, ""));
    assert_eq!(bench.host.read(|state| state.answer_row(&history, "Late?").cloned()), Some(cancel));
}

#[tokio::test]
async fn approvals_as_captured() {
    let input = json!({
        "confirmLabel": "Delete", "denyLabel": "Keep them", "destructive": true,
        "prompt": "Delete all of your completed todos? You can't undo this.",
    });
    let mut bench = Bench::new(Options::default()).await;
    let script = || Script::new().approval("deleteTodos", input.clone()).fail_before_output("model failed");
    let denied = bench.host.open(OWNER, script()).expect("a conversation");
    bench.name("history", &denied);
    let card = json!({
        "buttons": [
            {"id": "approve", "label": "Delete", "style": "destructive",
             "response": {"action": "accept", "content": {"confirmed": true}}},
            {"id": "deny", "label": "Keep them", "style": "cancel",
             "response": {"action": "accept", "content": {"confirmed": false}}},
        ],
        "handoff": false, "kind": "confirm", "text": "Delete all of your completed todos? You can't undo this.",
        "toolCallId": "<ask>",
    });
    let rows = json!([
        {"text": "tool", "type": "user", "content": []},
        {"text": "Tool call: deleteTodos", "toolCallId": "<call>", "toolName": "deleteTodos", "type": "tool-call",
         "content": []},
        {"args": input, "ask": {"kind": "confirm", "origin": "approval", "status": "pending"},
         "text": "Tool call: deleteTodos", "toolCallId": "<ask>", "toolName": "deleteTodos", "type": "tool-call",
         "content": []},
    ]);
    let history = json!({
        "userId": "<user>", "_id": "<history>", "deleted": false, "prompts": rows, "created": "<any>",
        "updated": "<any>", "__v": 0, "ownerId": "<user>", "id": "<history>",
        "pendingAsk": {
            "created": "<any>", "input": input, "kind": "confirm", "simple": card, "toolCallId": "<ask>",
            "approvalId": "<ask>", "origin": "approval", "toolName": "deleteTodos",
        },
    });
    let ask = json!({"kind": "confirm", "simple": card, "toolCallId": "<ask>"});
    bench
        .replay(vec![
            (
                "53",
                OWNER,
                "POST",
                TURN,
                json!({"prompt": "tool"}),
                200,
                data(json!({"historyId": "<history>", "pendingAsk": ask, "text": ""})),
            ),
            ("54", OWNER, "GET", READ, Value::Null, 200, data(history)),
            (
                "the tool's result is output, so a failure undoes nothing",
                OWNER,
                "POST",
                TURN,
                press("deny"),
                200,
                data(json!({"historyId": "<history>", "error": "model failed", "text": ""})),
            ),
        ])
        .await;
    assert!(bench.named("ask").starts_with("aitxt-") && bench.named("call").starts_with("call_"));
    assert_eq!(bench.host.read(|state| state.tool_runs(&denied)), 0);
    let approved = bench.host.begin(OWNER, script()).await.expect("a turn").history_id().to_owned();
    bench.host.press(&approved, "approve").await.expect("an answer");
    assert_eq!(bench.host.read(|state| state.tool_runs(&approved)), 1, "approved tools run once");
}

#[tokio::test]
async fn the_compact_surface_lets_only_short_questions_through() {
    let bench = Bench::new(Options::default()).await;
    let long = json!([{"id": "a", "label": "A label over twenty units"}, {"id": "b", "label": "B"}]);
    for (kind, input, expected) in [
        ("form", json!({"prompt": "x", "fields": []}), "Model tried to call unavailable tool 'ask_form'."),
        ("choice", json!({"prompt": "x", "select": "one", "options": long}), "Invalid input for tool ask_choice"),
    ] {
        let history = bench.host.open(OWNER, Script::new().ask(kind, input)).expect("a conversation");
        let path = format!("/gpt/histories/{history}/turn");
        let got = bench.send(OWNER, "POST", &path, &json!({"prompt": "go", "surface": "compact"})).await;
        let text = got.body["data"]["text"].as_str().expect("text");
        assert!(text.starts_with("Answer: {\"type\":\"error-text\"") && text.contains(expected), "56: {text}");
        assert_eq!(bench.host.pending(OWNER).len(), 0);
        let view = bench.host.read(|state| state.conversation(&history)).expect("a conversation");
        assert!(view.rows[1].get("ask").is_none() && view.rows[1]["type"] == "tool-call", "60");
    }
}

#[tokio::test]
async fn every_ask_may_be_cancelled_and_a_required_field_is_required() {
    let mut bench = Bench::new(Options::default()).await;
    let fields = json!([{"id": "n", "type": "text", "label": "Name", "required": true}]);
    let asked = bench.host.ask(OWNER, "form", json!({"prompt": "Fill", "fields": fields})).expect("an ask");
    bench.name("history", &asked.history_id);
    bench.name("ask", &asked.tool_call_id);
    let answer = |answer: Value| json!({"askResponse": answer});
    let refused = json!({
        "status": 400, "title": "Invalid askResponse", "detail": "The answer does not match the ask. See fields.",
        "meta": {"fields": [{"code": "REQUIRED_FIELD", "path": "content.values.n", "fix": "<any>", "message": "<any>"}]},
        "requestId": "<any>",
    });
    let empty = answer(json!({"toolCallId": "<ask>", "action": "accept", "content": {"values": {}}}));
    let cancel = answer(json!({"toolCallId": "<ask>", "action": "cancel", "reason": "expired"}));
    let noted = data(json!({"historyId": "<history>", "text": "Noted: Cancel.", "title": "Go ahead."}));
    bench
        .replay(vec![("58", OWNER, "POST", TURN, empty, 400, refused), ("59", OWNER, "POST", TURN, cancel, 200, noted)])
        .await;
    let status = bench.host.read(|state| state.ask_status(&asked.history_id, &asked.tool_call_id));
    assert_eq!(status.as_deref(), Some("cancelled"));
    let strict = bench.host.ask(OWNER, "confirm", json!({"prompt": "Go?"})).expect("an ask");
    let declined = bench.host.answer(&strict.history_id, json!({"action": "decline"})).await.expect("a turn");
    assert_eq!((declined.status, &declined.body["meta"]["fields"][0]["code"]), (400, &json!("DECLINE_NOT_ALLOWED")));
}

#[tokio::test]
async fn files_are_checked_and_stored_without_their_bytes() {
    let bench = Bench::new(Options::default()).await;
    let input = json!({"prompt": "Send the note.", "accept": ["text"]});
    let asked = bench.host.ask(OWNER, "files", input).expect("an ask");
    let file = |file: Value| json!({"action": "accept", "content": {"files": [file]}});
    let uploaded =
        json!({"fileId": "6b2000000000000000000c0d", "filename": "a.txt", "mimeType": "text/plain", "size": 3});
    let got = bench.host.answer(&asked.history_id, file(uploaded)).await.expect("a turn");
    assert_eq!((got.status, &got.body["meta"]["fields"][0]["code"]), (400, &json!("FILE_NOT_OWNED")));
    let sent = json!({"url": "data:text/plain;base64,aGk=", "filename": "a.txt", "mimeType": "text/plain", "size": 99});
    let got = bench.host.answer(&asked.history_id, file(sent)).await.expect("a turn");
    assert_eq!((got.status, got.text()), (200, "Noted: a.txt."));
    let row = bench.host.read(|state| state.answer_row(&asked.history_id, &asked.tool_call_id).cloned());
    let kept = json!({"filename": "a.txt", "mimeType": "text/plain", "size": 2});
    assert_eq!(row.expect("a row")["content"]["files"][0], kept);
}

#[tokio::test]
async fn cards_that_are_broken_are_shown_as_they_are() {
    let bench = Bench::new(Options::default()).await;
    let card = json!({
        "toolCallId": "call_fixture", "kind": "riddle", "text": "", "surplus": [1], "handoff": "maybe",
        "buttons": [{"id": "x", "label": "A label of more than twenty units"}, {"id": "x"}, 7],
    });
    let asked = bench.host.ask_card(OWNER, card.clone(), Value::Null).expect("an ask");
    assert_eq!(asked.tool_call_id, "call_fixture");
    let listed = bench.send(OWNER, "GET", LIST, &Value::Null).await.body;
    assert_eq!((&listed["data"][0]["simple"], &listed["data"][0]["kind"]), (&card, &json!("riddle")));
    let view = bench.host.read(|state| state.conversation(&asked.history_id)).expect("a conversation");
    assert!(view.pending_ask.expect("an ask").get("input").is_none());
    let reply = bench.host.press(&asked.history_id, "y").await.expect("a turn");
    assert_eq!((reply.status, &reply.body["code"]), (400, &json!("UNKNOWN_BUTTON")));
    let reply = bench.host.press(&asked.history_id, "x").await.expect("a turn");
    assert_eq!(reply.text(), "Noted: A label of more than twenty units.");
}

#[tokio::test]
async fn the_built_in_agent_chains_its_questions() {
    let bench = Bench::new(Options::default()).await;
    let got = bench.send(OWNER, "POST", "/gpt/histories", &json!({})).await;
    let history = got.body["data"]["_id"].as_str().expect("an id").to_owned();
    let mut changes = bench.host.subscribe();
    changes.mark_unchanged();
    let reply = bench.host.prompt(&history, "Plan a trip", Surface::Full).await.expect("a turn");
    assert!(reply.pending().is_some() && changes.has_changed().expect("a host"));
    for (button, text) in [("option:lisbon", ""), ("option:may", ""), ("approve", "Booked: Lisbon in May.")] {
        let reply = bench.host.press(&history, button).await.expect("a turn");
        assert!(reply.text().starts_with(text), "{button}: {:?}", reply.body);
        assert_eq!(reply.pending().is_some(), text.is_empty(), "{button}");
    }
    let reply = bench.host.prompt(&history, "try the flaky thing", Surface::Compact).await.expect("a turn");
    let first = bench.host.press(&history, "approve").await.expect("a turn");
    assert_eq!((first.error(), first.pending()), (Some("The service did not respond."), reply.pending()));
    assert_eq!(bench.host.press(&history, "approve").await.expect("a turn").text(), "It worked this time.");
    let view = serde_json::to_value(bench.host.view()).expect("JSON");
    assert_eq!(view["conversations"][0]["title"], "Plan a trip");
}
