//! What our rules accept, the published specification accepts, too.

use std::path::Path;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::site::{APPLICATION, Site, card, says};

/// The validators for the bodies a card makes, or `None` with a loud note.
fn validators() -> Option<[Validator; 3]> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/reference/specs/discord-openapi.json"));
    let Ok(text) = std::fs::read_to_string(path) else {
        println!("NOT CHECKED: the published Discord specification is not here, only our own rules were applied");
        return None;
    };
    let document: Value = serde_json::from_str(&text).expect("the specification is JSON");
    let validator = |name: &str| {
        let schema = json!({ "$ref": format!("#/components/schemas/{name}"), "components": document["components"] });
        jsonschema::draft202012::new(&schema).expect("a schema")
    };
    Some(
        ["MessageCreateRequest", "MessageEditRequestPartial", "UpdateMessageInteractionCallbackRequest"].map(validator),
    )
}

fn bodies() -> Vec<Value> {
    let button =
        |style: u64, label: &str, id: &str| json!({ "type": 2, "style": style, "label": label, "custom_id": id });
    let rows = |buttons: Vec<Value>| {
        let rows: Vec<Value> = buttons.chunks(5).map(|row| json!({ "type": 1, "components": row })).collect();
        json!({ "content": "x", "allowed_mentions": { "parse": [] }, "components": rows })
    };
    vec![
        card(),
        says(&"x".repeat(2000)),
        rows((1..=4).map(|style| button(style, "L", &format!("id-{style}"))).collect()),
        rows((0..25).map(|place| button(2, &"l".repeat(80), &format!("{place:0>100}"))).collect()),
        rows(vec![json!({ "type": 2, "style": 1, "emoji": { "name": "🎻" }, "custom_id": "a", "disabled": true })]),
        rows(vec![
            json!({ "type": 2, "style": 5, "label": "L", "url": format!("https://a.example/{}", "p".repeat(490)) }),
        ]),
        json!({ "embeds": [{ "title": "t".repeat(256), "description": "d".repeat(4096), "color": 0xFF_FF_FF }],
            "allowed_mentions": { "parse": [], "users": [], "roles": [] } }),
        json!({ "embeds": [{ "fields": [{ "name": "n", "value": "v", "inline": true }], "footer": { "text": "f" } }],
            "allowed_mentions": { "parse": [], "replied_user": false }, "flags": 4 }),
        json!({ "content": "x", "allowed_mentions": { "parse": [] }, "components": [{ "type": 1, "components": [{
            "type": 3, "custom_id": "select", "placeholder": "Choose", "min_values": 1, "max_values": 2,
            "options": [{ "label": "One", "value": "1", "description": "first" }, { "label": "Two", "value": "2" }],
        }] }] }),
        json!({ "content": "x", "embeds": [], "components": [], "allowed_mentions": { "parse": [] } }),
    ]
}

#[tokio::test]
async fn bodies_that_are_accepted_fit_the_published_schemas() {
    let site = Site::open().await;
    let validators = validators();
    let fits = |place: usize, body: &Value| {
        if let Some(validators) = &validators {
            let wrong: Vec<String> = validators[place].iter_errors(body).map(|error| error.to_string()).collect();
            assert!(wrong.is_empty(), "{body}\n{wrong:#?}");
        }
    };
    let target = site.card().await;
    for body in bodies() {
        let mut create = body.clone();
        create["nonce"] = json!("n".repeat(25));
        assert_eq!(site.create(&create).await.status, 200, "{create}");
        fits(0, &create);
        let card = site.card().await;
        let edit = site.patch(&format!("/channels/{}/messages/{card}", site.dm), &body).await;
        assert_eq!(edit.status, 200, "{body}: {edit:?}");
        fits(1, &body);
        let tap = site.discord.tap_stale(site.person, target, "tap-team").expect("a press");
        let callback = json!({ "type": 7, "data": body });
        assert_eq!(site.respond(tap, &callback).await.status, 204, "{callback}");
        fits(2, &callback);
    }
    let tap = site.discord.tap_stale(site.person, target, "tap-team").expect("a press");
    assert_eq!(site.respond(tap, &json!({ "type": 6 })).await.status, 204);
    fits(2, &json!({ "type": 6 }));
    assert_eq!(site.careless(), Vec::<String>::new());
}

#[tokio::test]
async fn what_the_schemas_refuse_our_rules_refuse() {
    let site = Site::open().await;
    let Some([create, ..]) = validators() else { return };
    let long = |key: &str, value: Value| {
        let mut body = card();
        body["components"][0]["components"][0][key] = value;
        body
    };
    for body in [
        long("custom_id", json!("i".repeat(101))),
        long("label", json!("l".repeat(81))),
        long("style", json!(9)),
        long("type", json!(99)),
        json!({ "content": 7 }),
        json!({ "embeds": [{ "title": "t".repeat(257) }] }),
        json!({ "content": "x", "nonce": "n".repeat(26) }),
    ] {
        assert!(!create.is_valid(&body), "the specification accepts {body}");
        assert_eq!(site.create(&body).await.code(), Some(50035), "{body}");
    }
}

#[tokio::test]
async fn what_we_answer_fits_the_published_schemas() {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/reference/specs/discord-openapi.json"));
    let Ok(text) = std::fs::read_to_string(path) else {
        println!("NOT CHECKED: the published Discord specification is not here, our answers were not compared to it");
        return;
    };
    let document: Value = serde_json::from_str(&text).expect("the specification is JSON");
    let site = Site::open().await;
    let card = site.card().await;
    let tap = site.discord.tap(site.person, card, 0).expect("a press");
    let callback = format!("/interactions/{tap}/{}/callback?with_response=true", site.token_of(tap));
    for (name, answer) in [
        ("MessageResponse", site.get(&format!("/channels/{}/messages/{card}", site.dm)).await),
        ("UserPIIResponse", site.get("/users/@me").await),
        ("PrivateChannelResponse", site.get(&format!("/channels/{}", site.dm)).await),
        ("GatewayBotResponse", site.get("/gateway/bot").await),
        ("InteractionCallbackResponse", site.post(&callback, &json!({ "type": 4, "data": says("hello") })).await),
    ] {
        assert_eq!(answer.status, 200, "{name}: {answer:?}");
        let schema = json!({ "$ref": format!("#/components/schemas/{name}"), "components": document["components"] });
        let validator = jsonschema::draft202012::new(&schema).expect("a schema");
        let wrong: Vec<String> =
            validator.iter_errors(&answer.json()).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(wrong.is_empty(), "{name}: {}\n{wrong:#?}", answer.text);
    }
    assert_eq!(site.get(&format!("/applications/{APPLICATION}/commands")).await.json(), json!([]));
}
