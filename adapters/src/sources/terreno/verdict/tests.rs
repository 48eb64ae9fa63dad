//! Literal replies of Terreno hosts, and of what stands between.

use std::path::Path;

use proptest::prelude::*;

use super::*;

const HISTORY: &str = "6b0debaec6f0faf093657bd9";
const ASK: &str = "call_mx3sc0ba_1";

fn reply(status: u16, body: &str) -> Reply {
    Reply { status, body: body.as_bytes().to_vec(), ..Reply::default() }
}

fn answered(status: u16, body: &str) -> Verdict {
    turn(&reply(status, body), &ConversationId::from(HISTORY), &ToolCallId::from(ASK))
}

/// A verdict in one word, and the field or sentence that matters.
fn words(verdict: &Verdict) -> String {
    let next = |next: &Option<crate::source::Listed>| {
        next.as_ref().map_or(String::new(), |next| format!(" next {}", next.ask))
    };
    match verdict {
        Verdict::Accepted { text, next: asked } => format!("accepted {text:?}{}", next(asked)),
        Verdict::AcceptedWithError { text, error, next: asked } => format!("kept {text:?} {error:?}{}", next(asked)),
        Verdict::Reopened { error } => format!("reopened {error:?}"),
        Verdict::NotPending => "not pending".to_owned(),
        Verdict::UnknownButton => "unknown button".to_owned(),
        Verdict::Invalid { fields } => {
            format!("invalid {}", fields.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>().join(","))
        }
        Verdict::Forbidden => "forbidden".to_owned(),
        Verdict::Unauthorised => "unauthorised".to_owned(),
        Verdict::Gone => "gone".to_owned(),
        Verdict::RateLimited { after } => format!("rate limited {after:?}"),
        Verdict::Unavailable { .. } => "unavailable".to_owned(),
        Verdict::Unclear { .. } => "unclear".to_owned(),
    }
}

fn listed(status: u16, body: &str) -> String {
    match pending(&reply(status, body)) {
        Ok(pending) => format!("{} asks", pending.asks.len()),
        Err(failure) => short_name(&failure),
    }
}

fn conversed(status: u16, body: &str) -> String {
    match history(&reply(status, body), &ConversationId::from(HISTORY)) {
        Ok(read) => format!("{} rows", read.history.rows.len()),
        Err(failure) => short_name(&failure),
    }
}

fn signed_in(status: u16, body: &str) -> String {
    match tokens(&reply(status, body)) {
        Ok(tokens) => format!("{} {:?} {:?}", tokens.token, tokens.refresh, tokens.subject),
        Err(Denied::Refused { why }) => why,
        Err(denied) => format!("{denied:?}").split(' ').next().unwrap_or_default().to_owned(),
    }
}

fn short_name(failure: &Failure) -> String {
    format!("{failure:?}").split(' ').next().unwrap_or_default().to_owned()
}

const DEMO: &str = r#"{"data":{"historyId":"6b0debaec6f0faf093657bd9","text":"This is demo mode. To use AI features, paste your Gemini API key in Settings."}}"#;
const CARD: &str = r#""simple":{"kind":"confirm","toolCallId":"T","text":"Go?","handoff":false,"buttons":[]}"#;
const NOT_FOUND: &str = r#"{"status":404,"title":"Document not found","code":"document-not-found","detail":"Document 6710c2a1f1e2d3c4b5a69701 not found for model GptHistory","requestId":"r"}"#;
const ASKS_OFF: &str = r#"{"status":404,"title":"Document not found","code":"document-not-found","detail":"Document pendingAsks not found for model GptHistory","requestId":"r"}"#;
const DENIED: &str = r#"{"status":403,"title":"Access denied","code":"action-access-denied","detail":"Access to UPDATE on GptHistory:6b0debaec6f0faf093657bd9 denied for 6b0deba9c6f0faf093657bd6","meta":{"action":"UPDATE","model":"GptHistory"},"requestId":"r"}"#;
const PROXY_PAGE: &str = "<html><head><title>Not here</title></head><body>nginx</body></html>";

#[test]
fn every_reply_to_a_turn_has_its_verdict() {
    let next = |error: &str, id: &str, card: &str| {
        format!(
            r#"{{"data":{{"historyId":"{HISTORY}","text":"","pendingAsk":{{"kind":"confirm","toolCallId":"{id}",{card}}}{error}}}}}"#
        )
    };
    let error = r#","error":"model failed""#;
    let cases: Vec<(u16, String, &str)> = vec![
        // Taken.
        (200, DEMO.to_owned(), r#"accepted "This is demo mode. To use AI features, paste your Gemini API key in Settings.""#),
        (200, next("", "call_2", CARD), r#"accepted "" next call_2"#),
        (200, next("", ASK, CARD), r#"accepted """#),
        (200, next("", "call_2", r#""simple":7"#), r#"accepted """#),
        (200, next(error, ASK, CARD), r#"reopened "model failed""#),
        (200, next(error, ASK, r#""simple":7"#), r#"reopened "model failed""#),
        (200, next(error, "call_2", CARD), r#"kept "" "model failed" next call_2"#),
        (200, next(error, "", CARD), "unclear"),
        (200, next(r#","error":{"message":"x"}"#, ASK, CARD), r#"reopened "{\"message\":\"x\"}""#),
        // No reply of this endpoint.
        (200, DEMO.replace(HISTORY, "another"), "unclear"),
        (200, DEMO.replace("historyId", "history"), "unclear"),
        (200, DEMO.chars().take(60).collect(), "unclear"),
        (200, String::new(), "unclear"),
        (200, "null".to_owned(), "unclear"),
        (200, r#"{"data":[]}"#.to_owned(), "unclear"),
        (200, PROXY_PAGE.to_owned(), "unclear"),
        (201, DEMO.to_owned(), "unclear"),
        (202, DEMO.to_owned(), "unclear"),
        (204, String::new(), "unclear"),
        (302, PROXY_PAGE.to_owned(), "unclear"),
        // The three shapes of a 401, and a disabled user.
        (401, r#"{"status":401,"title":"Unauthorized","requestId":"r"}"#.to_owned(), "unauthorised"),
        (401, r#"{"message":"jwt expired","details":"[jwt] Error decoding token: TokenExpiredError"}"#.to_owned(), "unauthorised"),
        (401, r#"{"message":"Password or username is incorrect"}"#.to_owned(), "unauthorised"),
        (401, r#"{"status":401,"title":"User is disabled","requestId":"r"}"#.to_owned(), "unauthorised"),
        (401, PROXY_PAGE.to_owned(), "unauthorised"),
        // Not this person's, and what only looks so.
        (403, DENIED.to_owned(), "forbidden"),
        (403, r#"{"status":403,"title":"Not authorized to access this history","requestId":"r"}"#.to_owned(), "forbidden"),
        (405, r#"{"status":405,"title":"Access denied","code":"action-access-denied"}"#.to_owned(), "forbidden"),
        (403, r#"{"message":"Forbidden"}"#.to_owned(), "unavailable"),
        (403, PROXY_PAGE.to_owned(), "unavailable"),
        (405, PROXY_PAGE.to_owned(), "unavailable"),
        // Gone, and what only looks so.
        (404, NOT_FOUND.to_owned(), "gone"),
        (404, NOT_FOUND.replace(r#","requestId""#, r#","meta":{"deleted":"true"},"requestId""#), "gone"),
        (404, PROXY_PAGE.to_owned(), "unavailable"),
        (404, "<pre>Cannot POST /gpt/histories/1/turn</pre>".to_owned(), "unavailable"),
        (404, r#"{"error":"no such app"}"#.to_owned(), "unavailable"),
        (404, NOT_FOUND.replace("404", "200"), "unavailable"),
        // Refused answers.
        (400, r#"{"status":400,"title":"Unknown buttonId","code":"UNKNOWN_BUTTON","detail":"The button is not on the pending ask's simple card. See fields.","meta":{"fields":[{"code":"UNKNOWN_BUTTON","fix":"f","message":"m","path":"buttonId"}]}}"#.to_owned(), "unknown button"),
        (400, r#"{"status":400,"title":"Invalid askResponse","detail":"The answer does not match the ask. See fields.","meta":{"fields":[{"code":"OPTION_NOT_OFFERED","fix":"f","message":"m","path":"content.selected[0]"}]}}"#.to_owned(), "invalid content.selected[0]"),
        (400, r#"{"status":400,"title":"Validation failed","code":"action-body-validation-failed","meta":{"fields":{"prompt":"a","buttonId":"b"}}}"#.to_owned(), "invalid prompt,buttonId"),
        (400, r#"{"status":400,"title":"Validation failed","code":"action-body-validation-failed","meta":{"fields":{}}}"#.to_owned(), "invalid "),
        (400, r#"{"status":400,"title":"Malformed array operation body","code":"malformed-array-operation-body"}"#.to_owned(), "unavailable"),
        (400, "<html>400 The plain HTTP request was sent to HTTPS port</html>".to_owned(), "unavailable"),
        (413, PROXY_PAGE.to_owned(), "invalid "),
        // Not pending, too fast.
        (409, r#"{"status":409,"title":"This ask is no longer pending","detail":"Tool call call_x is not the ask this conversation is waiting on.","requestId":"r"}"#.to_owned(), "not pending"),
        (409, String::new(), "not pending"),
        (429, r#"{"status":429,"title":"Too many requests","code":"rate-limit-exceeded"}"#.to_owned(), "rate limited 10s"),
        (429, PROXY_PAGE.to_owned(), "rate limited 10s"),
        // Nobody knows.
        (500, r#"{"status":500,"title":"Internal server error"}"#.to_owned(), "unclear"),
        (500, r#"{"status":500,"title":"GET error","code":"get-error"}"#.to_owned(), "unclear"),
        (502, PROXY_PAGE.to_owned(), "unclear"),
        (504, String::new(), "unclear"),
        (408, String::new(), "unclear"),
        (499, String::new(), "unclear"),
    ];
    for (status, body, expected) in cases {
        assert_eq!(words(&answered(status, &body)), expected, "{status} {body}");
    }
}

#[test]
fn only_a_list_is_a_list() {
    let cases = [
        (200, r#"{"data":[],"requestId":"r"}"#, "0 asks"),
        (200, r#"{"data":[]"#, "Unavailable"),
        (200, r#"{"requestId":"r"}"#, "Unavailable"),
        (200, "[]", "Unavailable"),
        (200, "", "Unavailable"),
        (200, PROXY_PAGE, "Unavailable"),
        (204, "", "Unavailable"),
        (304, "", "Unavailable"),
        (404, ASKS_OFF, "AsksOff"),
        (404, r#"{"status":404,"title":"Route not found"}"#, "AsksOff"),
        (404, "<pre>Cannot GET /gpt/histories/pendingAsks</pre>", "Unavailable"),
        (401, r#"{"status":401,"title":"Unauthorized"}"#, "Unauthorised"),
        (403, DENIED, "Forbidden"),
        (403, PROXY_PAGE, "Unavailable"),
        (429, "", "RateLimited"),
        (500, r#"{"status":500,"title":"Internal server error"}"#, "Unavailable"),
        (503, PROXY_PAGE, "Unavailable"),
    ];
    for (status, body, expected) in cases {
        assert_eq!(listed(status, body), expected, "{status} {body}");
    }
}

#[test]
fn only_the_conversation_is_the_conversation() {
    let own = r#"{"data":{"_id":"6b0debaec6f0faf093657bd9","prompts":[{"type":"user","text":"go"}]}}"#;
    let cases = [
        (200, own, "1 rows"),
        (200, r#"{"data":{"_id":"another","prompts":[]}}"#, "Unavailable"),
        (200, r#"{"data":[]}"#, "Unavailable"),
        (200, PROXY_PAGE, "Unavailable"),
        (
            403,
            r#"{"status":403,"title":"Access to GET on GptHistory:6b0d denied for 6b0e","requestId":"r"}"#,
            "Forbidden",
        ),
        (403, PROXY_PAGE, "Unavailable"),
        (404, NOT_FOUND, "Gone"),
        (404, PROXY_PAGE, "Unavailable"),
        (500, "", "Unavailable"),
    ];
    for (status, body, expected) in cases {
        assert_eq!(conversed(status, body), expected, "{status} {body}");
    }
}

#[test]
fn a_sign_in_brings_tokens_or_a_sentence() {
    let cases = [
        (200, r#"{"data":{"refreshToken":"r","token":"t","userId":"u"}}"#, r#"t Some("r") Some("u")"#),
        (200, r#"{"data":{"refreshToken":"r","token":"t"}}"#, r#"t Some("r") None"#),
        (200, r#"{"redirect":false,"token":"t","user":{"id":"u","email":"e"}}"#, r#"t None Some("u")"#),
        (200, r#"{"data":{"token":""}}"#, "Unavailable"),
        (200, PROXY_PAGE, "Unavailable"),
        (404, "<pre>Cannot POST /auth/login</pre>", "NoRoute"),
        (401, r#"{"message":"Password or username is incorrect"}"#, "the e-mail address or the password is wrong"),
        (401, r#"{"message":"Missing credentials"}"#, "the e-mail address or the password is empty"),
        (401, r#"{"message":"jwt malformed"}"#, "the token is no Terreno token"),
        (401, r#"{"message":"jwt expired"}"#, "the token has expired"),
        (
            401,
            r#"{"message":"No refresh token provided, must provide refreshToken in body"}"#,
            "the refresh token is empty",
        ),
        (
            401,
            r#"{"message":"Invalid email or password","code":"INVALID_EMAIL_OR_PASSWORD"}"#,
            "the e-mail address or the password is wrong",
        ),
        (400, r#"{"message":"Invalid email","code":"INVALID_EMAIL"}"#, "the e-mail address is no e-mail address"),
        (
            403,
            r#"{"status":403,"title":"No","code":"email-not-verified"}"#,
            "the e-mail address is not verified yet; open the link in the host's mail",
        ),
        (401, r#"{"message":"hunter2 is wrong"}"#, "it answered status 401"),
        (403, PROXY_PAGE, "Unavailable"),
        (429, "", "RateLimited"),
        (500, "", "Unavailable"),
    ];
    for (status, body, expected) in cases {
        assert_eq!(signed_in(status, body), expected, "{status} {body}");
    }
    let signed = Reply { auth_token: Some("t.s".into()), ..reply(200, r#"{"user":{"id":"u"}}"#) };
    assert_eq!(tokens(&signed).ok().map(|found| found.token).as_deref(), Some("t.s"));
}

#[test]
fn what_brought_no_reply_is_told_apart() {
    let why = || "no connection (connection refused)".to_owned();
    assert_eq!(turn_trouble(Trouble::NotSent { why: why() }), Verdict::Unavailable { why: why() });
    assert_eq!(turn_trouble(Trouble::Lost { why: why() }), Verdict::Unclear { why: why() });
    assert_eq!(turn_trouble(Trouble::NoSuchPath), Verdict::Gone);
    assert_eq!(call_trouble(Trouble::Lost { why: why() }), Failure::Unavailable { why: why() });
}

/// The captured samples, as their number, what was requested, their status and their body.
fn samples(text: &str) -> Vec<(u16, String, u16, String)> {
    let mut found = Vec::new();
    for section in text.split("\n### ").skip(1) {
        let number = section.split('.').next().unwrap().parse().unwrap();
        let Some((request, rest)) = section.split_once("-> **") else { continue };
        let status = rest.get(..3).unwrap().parse().unwrap();
        let body = rest.split("```json\n").nth(1).and_then(|body| body.split("\n```").next()).unwrap_or_default();
        found.push((number, request.to_owned(), status, body.to_owned()));
    }
    found
}

#[test]
fn every_captured_reply_is_understood() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/reference/terreno/captures.md");
    if !Path::new(file).exists() {
        println!("NOT CHECKED: {file} is not here; the table above holds the literal bodies that matter");
        return;
    }
    let text = std::fs::read_to_string(file).unwrap();
    let mut seen = 0;
    for (number, request, status, body) in samples(&text) {
        let data: Value = serde_json::from_str(&body).unwrap_or_default();
        let about = data.pointer("/data/historyId").and_then(Value::as_str).unwrap_or(HISTORY);
        let found = if request.contains("/turn`") {
            let ask = if matches!(number, 42 | 43) { "call_mx3sc5hb_10" } else { ASK };
            words(&turn(&reply(status, &body), &ConversationId::from(about), &ToolCallId::from(ask)))
        } else if request.contains("GET /gpt/histories/pendingAsks") {
            listed(status, &body)
        } else if request.contains("POST /auth/") {
            signed_in(status, &body).split_inclusive(' ').take(3).collect()
        } else if request.contains("GET /gpt/histories/{id}") && !body.is_empty() {
            let id = data.pointer("/data/_id").and_then(Value::as_str).unwrap();
            history(&reply(status, &body), &ConversationId::from(id))
                .map(|read| {
                    assert!(read.unreadable.is_empty(), "sample {number}");
                    format!("{} rows", read.history.rows.len())
                })
                .unwrap()
        } else {
            continue;
        };
        seen += 1;
        let expected = match number {
            1 | 4 => "<jwt> Some(\"<jwt>\") ",
            2 | 3 => "the e-mail address ",
            5 => "the token is ",
            6 => "the refresh token ",
            7..=9 => "Unauthorised",
            11 | 37 => "0 asks",
            14 | 44 => "1 asks",
            61 => "2 asks",
            15 | 54 => "2 rows|3 rows",
            34 | 39 => "4 rows",
            51 => "7 rows",
            13 => r#"accepted """#,
            16 => "unknown button",
            17 | 33 | 35 | 38 | 46 => "not pending",
            18..=24 | 26 | 58 => "invalid ",
            25 => "unclear",
            27 | 28 => "forbidden",
            30 | 31 | 65 => "gone",
            32 | 59 => r#"accepted "Answer:""#,
            42 | 43 => r#"reopened "model failed""#,
            45 => r#"kept "Partial reply." "model failed late""#,
            47 => r#"kept "" "model failed""#,
            48 => r#"accepted "" next call_mx3sc6d5_13"#,
            49 => r#"accepted "" next call_mx3sc6hb_14"#,
            _ => "accepted",
        };
        let hit = expected.split('|').any(|expected| found.starts_with(expected));
        assert!(hit, "sample {number}: {found:?}, not {expected:?}");
    }
    assert!(seen > 50, "only {seen} samples were found; has the file's form changed?");
}

fn bodies() -> impl Strategy<Value = String> {
    let known =
        prop::sample::select(vec![DEMO, NOT_FOUND, ASKS_OFF, DENIED, PROXY_PAGE, "{}", "null", r#"{"data":{}}"#]);
    let cut = (known, any::<prop::sample::Index>())
        .prop_map(|(body, at)| body.chars().take(at.index(body.len() + 1)).collect::<String>());
    prop_oneof![".{0,60}", cut, r#"\{"data":\{"historyId":"(x|6b0debaec6f0faf093657bd9)","text":("a"|7|null)\}\}"#]
}

proptest! {
    #[test]
    fn nothing_panics_and_only_a_whole_200_is_taken(status in 100u16..1000, body in bodies()) {
        let verdict = answered(status, &body);
        if matches!(verdict, Verdict::Accepted { .. } | Verdict::AcceptedWithError { .. } | Verdict::Reopened { .. }) {
            prop_assert_eq!(status, 200);
            let value: Value = serde_json::from_str(&body).unwrap();
            prop_assert_eq!(value.pointer("/data/historyId").and_then(Value::as_str), Some(HISTORY));
        }
        if matches!(verdict, Verdict::Gone | Verdict::Forbidden) {
            prop_assert!(body.contains("title"), "{body}");
        }
        if pending(&reply(status, &body)).is_ok() || history(&reply(status, &body), &ConversationId::from(HISTORY)).is_ok() {
            prop_assert_eq!(status, 200);
        }
        if tokens(&reply(status, &body)).is_ok() {
            prop_assert_eq!(status, 200);
        }
    }
}
