//! Examples to begin with: the shared vectors and captures where they are, and some of the project's own.

use serde_json::{Value, json};

use crate::cards::{examples, fixtures, vectors};
use crate::specs::shared;

type Seeds = anyhow::Result<Vec<Vec<u8>>>;

fn bytes(values: impl IntoIterator<Item = Value>) -> Vec<Vec<u8>> {
    values.into_iter().map(|value| value.to_string().into_bytes()).collect()
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// Asks, answers, files and buttons, as `askgate validate` takes them.
pub(super) fn lines() -> Seeds {
    let mut found = Vec::new();
    for name in ["derive", "input", "response", "button", "bytes"] {
        found.extend(vectors(name)?);
    }
    found.extend(fixtures("invalid")?);
    found.extend(
        examples()?.into_iter().map(|ask| json!({"kind": ask.kind, "input": ask.input, "toolCallId": "call_1"})),
    );
    Ok(bytes(found))
}

/// Cards.
pub(super) fn cards() -> Seeds {
    Ok(bytes(examples()?.into_iter().map(|ask| ask.card)))
}

/// Forms as they come back from a page: `{"kind", "input", "posted": [[name, text]]}`.
pub(super) fn forms() -> Seeds {
    let posted = json!([
        ["selected", "a"],
        ["confirmed", "true"],
        ["markdown", "# T"],
        ["other", "x"],
        ["f1", "2026-02-30"],
        ["action", "accept"]
    ]);
    Ok(bytes(examples()?.into_iter().map(|ask| json!({"kind": ask.kind, "input": ask.input, "posted": posted}))))
}

/// Texts with what makes showing them hard.
pub(super) fn shown() -> Seeds {
    Ok(texts(&[
        "Approve the draft?",
        "a\u{202e}b\u{200b}c\u{e0061}\u{e0062}",
        "👩\u{200d}👩\u{200d}👧 🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} ❤\u{fe0f} 1\u{fe0f}\u{20e3}",
        "می\u{200c}خواهم क\u{94d}\u{200d}ष\r\n\r\n\t\t\t\t\t\t\t\t\t\t\u{3164}x\u{61c}\u{200d}ب",
    ]))
}

/// Places, people and ids.
pub(super) fn places() -> Seeds {
    Ok(texts(&[
        "telegram:5",
        "telegram:-1001234567890/77",
        "discord:user:18446744073709551615",
        "discord:channel:7",
        "ntfy:a-topic_1",
        "discord:7",
    ]))
}

/// Updates of the Bot API.
pub(super) fn updates() -> Seeds {
    let from = json!({"id": 7, "is_bot": false, "first_name": "A", "username": "a", "language_code": "de"});
    let chat = json!({"id": -1_001_234_567_890_i64, "type": "supergroup", "is_forum": true});
    let private = json!({"id": 7, "type": "private"});
    Ok(bytes([
        json!({"update_id": 1, "callback_query": {"id": "q1", "from": from, "chat_instance": "1", "data": "AAAAAAAAAAAAAAAAAAAAAA",
            "message": {"message_id": 9, "date": 1, "chat": chat, "message_thread_id": 77, "is_topic_message": true, "text": "?"}}}),
        json!({"update_id": 2, "callback_query": {"id": "q2", "from": from, "data": "x", "message": {"chat": private, "message_id": 1, "date": 0}}}),
        json!({"update_id": 3, "callback_query": {"id": "q3", "from": from, "inline_message_id": "i", "game_short_name": "g"}}),
        json!({"update_id": 4, "message": {"message_id": 2, "date": 1, "from": from, "chat": private, "text": "/start abc"}}),
        json!({"update_id": 5, "message": {"message_id": 3, "date": 1, "from": from, "chat": chat, "migrate_to_chat_id": -100}}),
        json!({"update_id": 6, "my_chat_member": {"chat": chat, "from": from, "date": 1, "old_chat_member": {"status": "member"},
            "new_chat_member": {"status": "restricted", "is_member": true, "can_send_messages": false}}}),
    ]))
}

/// Answers of the Bot API.
pub(super) fn telegram_answers() -> Seeds {
    Ok(texts(&[
        "429\n{\"ok\":false,\"error_code\":429,\"description\":\"Too Many Requests: retry after 56\",\"parameters\":{\"retry_after\":56}}",
        "400\n{\"ok\":false,\"error_code\":400,\"description\":\"Bad Request: group chat was upgraded to a supergroup chat\",\"parameters\":{\"migrate_to_chat_id\":-1004503599627370495}}",
        "403\n{\"ok\":false,\"error_code\":403,\"description\":\"Forbidden: bot was blocked by the user\"}",
        "500\n{\"ok\":false,\"error_code\":500,\"description\":\"Internal Server Error: chat not found 1234567:a-secret-of-the-bot\"}",
        "502 \n<html><head><title>502 Bad Gateway</title></head></html>",
        "200\n{\"ok\":true,\"result\":{\"message_id\":5,\"chat\":{\"id\":7},\"message_thread_id\":3,\"reply_markup\":{\"inline_keyboard\":[]}}}",
    ]))
}

/// Frames of Discord's gateway.
pub(super) fn frames() -> Seeds {
    Ok(bytes([
        json!({"op": 10, "d": {"heartbeat_interval": 41_250, "_trace": ["[\"gateway\"]"]}, "s": null, "t": null}),
        json!({"op": 0, "s": 4004, "t": "READY", "d": {"v": 10, "session_id": "abc", "resume_gateway_url": "wss://gateway-us-east1-b.discord.gg"}}),
        json!({"op": 0, "s": 2, "t": "READY", "d": {"session_id": "abc", "resume_gateway_url": "ws://127.0.0.1:4001"}}),
        json!({"op": 0, "s": 3, "t": "INTERACTION_CREATE", "d": interaction()}),
        json!({"op": 9, "d": true, "s": null, "t": null}),
        json!({"op": 11, "d": null}),
        json!({"op": 7, "d": null}),
    ]))
}

/// Interactions.
pub(super) fn interactions() -> Seeds {
    let mut command = interaction();
    if let Some(map) = command.as_object_mut() {
        map.insert("type".to_owned(), json!(2));
        map.insert(
            "data".to_owned(),
            json!({"id": "5", "name": "link", "options": [{"name": "a", "options": [{"name": "b", "value": "x"}]}]}),
        );
    }
    Ok(bytes([interaction(), command]))
}

fn interaction() -> Value {
    json!({"id": "1100000000000000001", "application_id": "1100000000000000002", "type": 3, "token": "a-token-of-an-interaction",
        "version": 1, "context": 1, "locale": "de", "channel_id": "1100000000000000003", "channel": {"id": "1100000000000000003", "type": 1},
        "member": {"user": {"id": "1100000000000000004", "username": "a", "global_name": null}},
        "user": {"id": "1100000000000000004", "username": "a"},
        "message": {"id": "1100000000000000005", "components": [{"type": 99}]},
        "data": {"component_type": 2, "custom_id": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}})
}

/// Answers of Discord's API.
pub(super) fn discord_answers() -> Seeds {
    Ok(texts(&[
        "429 retry-after: 65|x-ratelimit-scope: global|x-ratelimit-limit: 5|x-ratelimit-remaining: 0|x-ratelimit-reset-after: 1.25\n{\"message\":\"You are being rate limited.\",\"retry_after\":64.57,\"global\":true}",
        "400 \n{\"code\":50035,\"message\":\"Invalid Form Body\",\"errors\":{\"components\":{\"0\":{\"components\":{\"0\":{\"label\":{\"_errors\":[{\"code\":\"BASE_TYPE_BAD_LENGTH\",\"message\":\"Must be between 1 and 80 in length.\"}]}}}}}}}",
        "404 \n{\"message\":\"Unknown Message\",\"code\":10008}",
        "403 \n{\"message\":\"Missing Access\",\"code\":50001}",
        "401 \n{\"message\":\"401: Unauthorized\",\"code\":0}",
        "400 \n{\"message\":\"Interaction has already been acknowledged.\",\"code\":40060}",
        "503 retry-after: 1e9\n<!DOCTYPE html><title>Access denied | discord.com used Cloudflare</title>",
    ]))
}

/// Replies of a Terreno host, each with its status.
pub(super) fn terreno() -> Seeds {
    let mut found = texts(&[
        "200 \n{\"data\":[{\"historyId\":\"h1\",\"toolCallId\":\"c1\",\"kind\":\"confirm\",\"createdAt\":\"2026-01-01T00:00:00.000Z\",\"simple\":{\"toolCallId\":\"c1\",\"kind\":\"confirm\",\"text\":\"Go?\",\"buttons\":[],\"handoff\":true}},{\"simple\":7}]}",
        "200 \n{\"data\":{\"historyId\":\"h1\",\"response\":\"Done.\",\"error\":null}}",
        "404 \n{\"status\":404,\"title\":\"Document not found\",\"code\":\"document-not-found\"}",
        "403 \n{\"status\":403,\"title\":\"Not allowed\"}",
        "400 \n{\"status\":400,\"title\":\"Invalid response\",\"meta\":{\"fields\":{\"selected\":\"pick one\"}}}",
        "401 \n{\"message\":\"jwt expired\"}",
        "429 ratelimit: limit=8, remaining=0, reset=60|retry-after: 900\nToo many requests",
        "502 \n<html>{\"status\":502,\"title\":\"x\"}",
        "500 \n{\"status\":500,\"title\":\"Document not found\",\"code\":\"document-not-found\"}",
    ]);
    if let Some(path) = shared("terreno/captures.md") {
        found.extend(captured(&std::fs::read_to_string(path)?));
    }
    Ok(found)
}

/// The captured replies, each with the status that stands before it.
fn captured(text: &str) -> Vec<Vec<u8>> {
    let mut status = "200";
    let mut found = Vec::new();
    let mut block: Option<String> = None;
    for line in text.lines() {
        match &mut block {
            Some(body) if line.starts_with("```") => {
                found.push(format!("{status} \n{body}").into_bytes());
                block = None;
            }
            Some(body) => body.push_str(line),
            None if line.starts_with("```json") => block = Some(String::new()),
            None => {
                let named = line
                    .split("**")
                    .find_map(|part| part.get(..3).filter(|code| code.bytes().all(|b| b.is_ascii_digit())));
                status = named.unwrap_or(status);
            }
        }
    }
    found
}

/// Headers about the pace.
pub(super) fn headers() -> Seeds {
    Ok(texts(&[
        "200 ratelimit: limit=8, remaining=3, reset=60",
        "200 ratelimit: \"default\";r=0;t=60|ratelimit-policy: \"default\";q=600;w=900",
        "200 ratelimit-limit: 600|ratelimit-remaining: 20|ratelimit-reset: 900",
        "429 retry-after: 30|x-retry-after: 5",
        "503 retry-after: 1e308",
        "429 retry-after: Wed, 21 Oct 2026 07:28:00 GMT",
    ]))
}

/// Claims and tokens.
pub(super) fn tokens() -> Seeds {
    let mut found = bytes([
        json!({"id": "6b0deba9c6f0faf093657bd5", "iat": 1_790_000_000, "exp": 1_790_000_900, "iss": "app"}),
        json!({"sub": "u", "iat": -1e308, "exp": 1e308}),
    ]);
    found.extend(texts(&[
        "eyJhbGciOiJIUzI1NiJ9.eyJpZCI6InUiLCJpYXQiOjEsImV4cCI6OTAxfQ.c2ln",
        "an-opaque-token",
        "a.b.c",
    ]));
    Ok(found)
}

/// Configurations; what follows a line `%%` is the environment.
pub(super) fn configurations() -> Seeds {
    let example = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../askgate.example.toml"))?;
    let mut found = texts(&[
        "[telegram]\ntoken = \"123:abc\"\n\n[discord]\ntoken = \"abc\"\n\n[[sources]]\nname = \"app\"\nkind = \"terreno\"\nurl = \"http://127.0.0.1:4000\"\n\n[[accounts]]\nname = \"me\"\nsource = \"app\"\ntoken = \"t\"\ndeliver = [\"telegram:7\"]\nquiet_hours = \"22:00-07:00 Europe/Berlin\"\n\n[[groups]]\nplace = \"telegram:-1001/7\"\naccounts = [\"me\"]\napprovers = [\"telegram:7\"]\n%%\nASKGATE_SERVER__PUBLIC_URL=https://ask.example.com/a\nASKGATE_TELEGRAM__TOKEN=1:b\nASKGATE_LOG__FORMAT=json",
        "[server]\ntrusted_proxies = [\"10.0.0.0/8\", \"::1\"]\nshutdown_grace = \"15s\"\n[store]\nretention = \"30d\"\n[secrets]\nkey = \"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"\n",
    ]);
    found.push(example);
    Ok(found)
}

/// Records of the store.
pub(super) fn records() -> Seeds {
    Ok(bytes(all_records()?.into_iter().map(|(_, record)| record)))
}

/// Exports of a store.
pub(super) fn exports() -> Seeds {
    let mut lines = vec![
        json!({"kind": "askgate", "format": 1}),
        json!({"kind": "token_key", "key": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}),
        json!({"kind": "counters", "counters": {"commit": 5, "seq": 3, "delivery": 2, "notice": 2, "audit": 2}}),
    ];
    for (kind, record) in all_records()? {
        lines.push(match kind {
            "token" => json!({"kind": kind, "hash": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "record": record}),
            _ => json!({"kind": kind, "record": record}),
        });
    }
    lines.push(json!({"kind": "value", "name": "telegram.heard", "value": "1"}));
    let all: Vec<String> = lines.iter().map(Value::to_string).collect();
    Ok(vec![
        all.join("\n").into_bytes(),
        all.iter().take(3).map(String::as_str).collect::<Vec<_>>().join("\n").into_bytes(),
    ])
}

fn all_records() -> anyhow::Result<Vec<(&'static str, Value)>> {
    let key = json!({"source": "app", "conversation": "h1", "ask": "call_fixture"});
    let account = json!({"source": "app", "name": "me"});
    let mut found = Vec::new();
    for example in examples()?.into_iter().take(8) {
        found.push((
            "ask",
            json!({"key": key, "account": account, "card": example.card, "first_seen": 1, "life": {"state": "live"}, "seq": 2, "moved_at": 3}),
        ));
    }
    found.push(("delivery", json!({"id": 1, "ask": key, "place": "telegram:7", "state": {"state": "planned"}})));
    found.push((
        "delivery",
        json!({"id": 2, "ask": key, "place": "discord:user:7", "state": {"state": "shown", "message": {"chat": "1", "id": "2"}, "rendered": 9}}),
    ));
    found.push(("token", json!({"ask": key, "delivery": 1, "button": "approve"})));
    Ok(found)
}
