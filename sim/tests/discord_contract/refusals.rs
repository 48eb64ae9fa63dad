//! The table of refusals, with literal codes and texts.

use reqwest::Method;
use serde_json::{Value, json};
use sim::discord::{Access, Dms};

use super::site::{Site, TOKEN, says};

fn button(style: u64, more: &Value) -> Value {
    let mut button = json!({ "type": 2, "style": style });
    for (key, value) in more.as_object().into_iter().flatten() {
        button[key] = value.clone();
    }
    button
}

fn row(buttons: &[Value]) -> Value {
    json!({ "content": "x", "allowed_mentions": { "parse": [] }, "components": [{ "type": 1, "components": buttons }] })
}

fn plain(place: usize) -> Value {
    button(2, &json!({ "label": "L", "custom_id": format!("id-{place}") }))
}

fn embeds(list: &Value) -> Value {
    json!({ "embeds": list, "allowed_mentions": { "parse": [] } })
}

const LABEL: &str = "/components/0/components/0/label";
const CUSTOM_ID: &str = "/components/0/components/0/custom_id";
const URL: &str = "/components/0/components/0/url";
const STYLE: &str = "/components/0/components/0/style";
const TYPE: &str = "/components/0/components/0/type";

/// A body, where it is wrong, Discord's code for that, and Discord's text.
type Wrong = (Value, &'static str, &'static str, &'static str);

fn wrong_buttons() -> Vec<Wrong> {
    let label = |text: &str| row(&[button(1, &json!({ "label": text, "custom_id": "a" }))]);
    let id = |text: &str| row(&[button(1, &json!({ "label": "L", "custom_id": text }))]);
    let link = |url: &str| row(&[button(5, &json!({ "label": "L", "url": url }))]);
    vec![
        (
            row(&[plain(1), plain(1)]),
            "/components/0/components/1/custom_id",
            "COMPONENT_CUSTOM_ID_DUPLICATED",
            "Component custom id cannot be duplicated",
        ),
        (label(""), LABEL, "BASE_TYPE_REQUIRED", "This field is required"),
        (label("  "), LABEL, "BASE_TYPE_REQUIRED", "This field is required"),
        (label(&"l".repeat(81)), LABEL, "BASE_TYPE_MAX_LENGTH", "Must be 80 or fewer in length."),
        (id(""), CUSTOM_ID, "BUTTON_COMPONENT_CUSTOM_ID_REQUIRED", "A custom id is required"),
        (id(&"i".repeat(101)), CUSTOM_ID, "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length."),
        (
            row(&[button(7, &json!({ "label": "L", "custom_id": "a" }))]),
            STYLE,
            "BASE_TYPE_CHOICES",
            "Value must be one of {1, 2, 3, 4, 5, 6}.",
        ),
        (
            row(&[json!({ "type": 2, "label": "L", "custom_id": "a" })]),
            STYLE,
            "BASE_TYPE_REQUIRED",
            "This field is required",
        ),
        (
            row(&[button(5, &json!({ "label": "L", "url": "https://a.example", "custom_id": "a" }))]),
            CUSTOM_ID,
            "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE",
            "A custom id and url cannot both be specified",
        ),
        (row(&[button(5, &json!({ "label": "L" }))]), URL, "BASE_TYPE_REQUIRED", "This field is required"),
        (link("https://host/a b"), URL, "URL_TYPE_INVALID_URL", "Not a well formed URL."),
        (link("not an address"), URL, "URL_TYPE_INVALID_URL", "Not a well formed URL."),
        (
            link("app://x"),
            URL,
            "URL_TYPE_INVALID_SCHEME",
            "Scheme \"app\" is not supported. Scheme must be one of ('http', 'https', 'discord').",
        ),
        (
            link(&format!("https://a.example/{}", "p".repeat(500))),
            URL,
            "BASE_TYPE_MAX_LENGTH",
            "Must be 512 or fewer in length.",
        ),
        (
            row(&[json!({ "type": 99 })]),
            TYPE,
            "UNION_TYPE_CHOICES",
            "Value of field \"type\" must be one of (2, 3, 5, 6, 7, 8).",
        ),
    ]
}

fn wrong_rows() -> Vec<Wrong> {
    vec![
        (
            row(&(0..6).map(plain).collect::<Vec<_>>()),
            "/components/0/components",
            "BASE_TYPE_BAD_LENGTH",
            "Must be between 1 and 5 in length.",
        ),
        (row(&[]), "/components/0/components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length."),
        (
            json!({ "components": (0..6).map(|place| json!({ "type": 1, "components": [plain(place)] })).collect::<Vec<_>>() }),
            "/components",
            "BASE_TYPE_MAX_LENGTH",
            "Must be 5 or fewer in length.",
        ),
        (
            json!({ "components": [plain(0)] }),
            "/components/0/type",
            "UNION_TYPE_CHOICES",
            "Value of field \"type\" must be one of (1,).",
        ),
    ]
}

fn wrong_texts() -> Vec<Wrong> {
    let long = "x".repeat(2001);
    vec![
        (says(&long), "/content", "BASE_TYPE_MAX_LENGTH", "Must be 2000 or fewer in length."),
        (json!({ "content": 7 }), "/content", "STRING_TYPE_CONVERT", "Could not interpret \"7\" as string."),
        (
            row(&[json!(null)]),
            "/components/0/components/0",
            "MODEL_TYPE_CONVERT",
            "Only dictionaries may be used in a ModelType",
        ),
        (embeds(&json!([{}])), "/embeds/0/description", "BASE_TYPE_REQUIRED", "This field is required"),
        (
            embeds(&json!([{ "title": "t".repeat(257) }])),
            "/embeds/0/title",
            "BASE_TYPE_MAX_LENGTH",
            "Must be 256 or fewer in length.",
        ),
        (
            embeds(&json!([{ "description": "d".repeat(4097) }])),
            "/embeds/0/description",
            "BASE_TYPE_MAX_LENGTH",
            "Must be 4096 or fewer in length.",
        ),
        (
            embeds(&json!([{ "description": "d".repeat(4096) }, { "description": "d".repeat(1905) }])),
            "/embeds/1",
            "MAX_EMBED_SIZE_EXCEEDED",
            "Embed size exceeds maximum size of 6000",
        ),
        (
            embeds(&Value::Array((0..11).map(|_| json!({ "title": "t" })).collect())),
            "/embeds",
            "BASE_TYPE_MAX_LENGTH",
            "Must be 10 or fewer in length.",
        ),
        (
            json!({ "content": "x", "nonce": "n".repeat(26) }),
            "/nonce",
            "NONCE_TYPE_TOO_LONG",
            "Must be 25 or fewer characters long.",
        ),
        (
            json!({ "content": "x", "nonce": true }),
            "/nonce",
            "NONCE_TYPE_INVALID_TYPE",
            "This field must be a string or integer.",
        ),
        (
            json!({ "content": "x", "message_reference": { "message_id": "77" } }),
            "/message_reference",
            "REPLIES_UNKNOWN_MESSAGE",
            "Unknown message",
        ),
        (
            json!({ "content": "x", "allowed_mentions": { "parse": ["users"], "users": ["5"] } }),
            "/allowed_mentions",
            "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE",
            "parse:[\"users\"] and users: [ids...] are mutually exclusive.",
        ),
        (json!({ "content": "x", "flags": "4" }), "/flags", "NUMBER_TYPE_COERCE", "Value \"4\" is not int."),
    ]
}

#[tokio::test]
async fn forms_are_refused_with_the_path_the_code_and_the_text() {
    let site = Site::open().await;
    for (body, path, code, text) in [wrong_buttons(), wrong_rows(), wrong_texts()].concat() {
        let answer = site.create(&body).await;
        assert_eq!((answer.status, answer.code()), (400, Some(50035)), "{body}: {answer:?}");
        assert_eq!(answer.json()["message"], "Invalid Form Body");
        let found = answer.json().pointer(&format!("/errors{path}/_errors")).cloned().unwrap_or_default();
        assert_eq!(found, json!([{ "code": code, "message": text }]), "{body}: {answer:?}");
    }
    assert!(site.discord.messages_in(site.dm).is_empty(), "a refused message is not shown");
}

#[tokio::test]
async fn what_just_fits_is_accepted() {
    let site = Site::open().await;
    let emoji = "🎻".repeat(2000);
    for body in [
        says(&emoji),
        says(&format!("  {}  ", "x".repeat(2000))),
        row(&[button(1, &json!({ "label": "l".repeat(80), "custom_id": "i".repeat(100) }))]),
        row(&(0..5).map(plain).collect::<Vec<_>>()),
        row(&[button(5, &json!({ "label": "L", "url": "http://127.0.0.1:8080/ask" }))]),
        row(&[button(5, &json!({ "label": "L", "url": "discord://-/channels/1/2" }))]),
        row(&[button(4, &json!({ "emoji": { "name": "🎻" }, "custom_id": "a" }))]),
        embeds(&json!([{ "description": "d".repeat(4096) }, { "description": "d".repeat(1904) }])),
        json!({ "content": "x", "nonce": "n".repeat(25), "enforce_nonce": true, "allowed_mentions": { "parse": [] } }),
        json!({ "content": "x", "flags": 4, "allowed_mentions": { "parse": [], "users": [], "roles": [] } }),
        json!({ "content": null, "embeds": [{ "title": "t" }], "allowed_mentions": { "parse": [] } }),
    ] {
        let answer = site.create(&body).await;
        assert_eq!(answer.status, 200, "{body}: {answer:?}");
    }
    assert_eq!(site.careless(), Vec::<String>::new());
}

#[tokio::test]
async fn a_message_without_anything_is_refused() {
    let site = Site::open().await;
    for body in [json!({}), says(""), says(" \n "), json!({ "content": null, "embeds": [], "components": [] })] {
        let answer = site.create(&body).await;
        assert_eq!(answer.status, 400);
        assert_eq!(answer.json(), json!({ "message": "Cannot send an empty message", "code": 50006 }), "{body}");
    }
    let card = site.card().await;
    let emptied = json!({ "content": "", "components": [], "allowed_mentions": { "parse": [] } });
    let answer = site.patch(&format!("/channels/{}/messages/{card}", site.dm), &emptied).await;
    assert_eq!(answer.code(), Some(50006));
    assert_eq!(site.discord.message(card).expect("the card").content, "Which plan?");
}

#[tokio::test]
async fn places_are_refused_by_number() {
    let site = Site::open().await;
    let hidden = site.discord.add_channel(501_u64, "hidden");
    site.discord.set_access(hidden, Access::None);
    let quiet = site.discord.add_channel(502_u64, "quiet");
    site.discord.set_access(quiet, Access::ReadOnly);
    let thread = site.discord.add_thread(503_u64, quiet, "old");
    let archived_card = site.card_in(thread).await;
    site.discord.set_archived(thread, true, true);
    let foreign = site.discord.say(site.person, site.dm, "hello");
    let mut unreachable = Vec::new();
    for (user, dms) in [(71_u64, Dms::Closed), (72, Dms::NoMutualGuild)] {
        site.discord.add_user(user, "person-2");
        site.discord.set_dms(user, dms);
        unreachable.push(site.post("/users/@me/channels", &json!({ "recipient_id": user.to_string() })).await.id());
    }
    let dm = site.dm;
    let post = |channel: String| (Method::POST, format!("/channels/{channel}/messages"));
    let edit = |channel: String, message: String| (Method::PATCH, format!("/channels/{channel}/messages/{message}"));
    for ((method, path), status, code, text) in [
        (post("999".into()), 404, 10003, "Unknown Channel"),
        (edit(dm.to_string(), "999".into()), 404, 10008, "Unknown Message"),
        (post(hidden.to_string()), 403, 50001, "Missing Access"),
        (post(quiet.to_string()), 403, 50013, "Missing Permissions"),
        (post(thread.to_string()), 403, 160_005, "Thread is locked"),
        (edit(thread.to_string(), archived_card.to_string()), 400, 50083, "Thread is archived"),
        (post(unreachable[0].to_string()), 403, 50007, "Cannot send messages to this user"),
        (
            post(unreachable[1].to_string()),
            403,
            50278,
            "Cannot send messages to this user due to having no mutual guilds",
        ),
        (edit(dm.to_string(), foreign.to_string()), 403, 50005, "Cannot edit a message authored by another user"),
        ((Method::PUT, "/channels/7/messages".into()), 405, 0, "405: Method Not Allowed"),
        ((Method::POST, "/nowhere".into()), 404, 0, "404: Not Found"),
        ((Method::PUT, "/applications/5/commands".into()), 404, 10002, "Unknown Application"),
    ] {
        let answer = site.send(method.clone(), &path, Some(&says("hello"))).await.expect("an answer");
        assert_eq!(
            (answer.status, answer.json()),
            (status, json!({ "message": text, "code": code })),
            "{method} {path}"
        );
    }
    let recipient = site.post("/users/@me/channels", &json!({ "recipient_id": "31337" })).await;
    assert_eq!((recipient.status, recipient.code()), (400, Some(50033)));
    let path = site.post("/channels/abc/messages", &says("x")).await;
    assert_eq!(path.json()["errors"]["channel_id"]["_errors"][0]["message"], "Value \"abc\" is not snowflake.");
}

#[tokio::test]
async fn a_wrong_token_is_refused_everywhere_but_where_none_is_needed() {
    let site = Site::open().await;
    site.discord.set_token("another");
    for path in ["/users/@me", "/gateway/bot", "/applications/@me", "/oauth2/applications/@me", "/channels/7"] {
        let answer = site.get(path).await;
        assert_eq!(
            (answer.status, answer.json()),
            (401, json!({ "message": "401: Unauthorized", "code": 0 })),
            "{path}"
        );
    }
    assert_eq!(site.create(&says("x")).await.status, 401);
    assert_eq!(site.get("/gateway").await.status, 200);
    assert!(
        site.discord.requests().iter().all(|request| request.headers.iter().all(|(_, value)| !value.contains(TOKEN)))
    );
}

#[tokio::test]
async fn bodies_that_are_no_json_are_refused() {
    let site = Site::open().await;
    let url = format!("{}/api/v10/channels/{}/messages", site.discord.url(), site.dm);
    for (kind, body, code) in [
        ("application/json", "{", 50109),
        ("application/json", r#"{"content":"\ud83d"}"#, 50109),
        ("text/plain", "{}", 50035),
    ] {
        let request =
            site.client.post(&url).header("authorization", format!("Bot {TOKEN}")).header("content-type", kind);
        let answer: Value = request.body(body).send().await.expect("an answer").json().await.expect("JSON");
        assert_eq!(answer["code"], code, "{kind} {body}");
    }
}
