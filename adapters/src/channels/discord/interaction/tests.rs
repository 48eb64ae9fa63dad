use serde_json::json;

use super::*;

/// A press in a server, with fields and components that no version knows.
fn in_guild() -> Value {
    json!({
        "id": "1000000000000000001", "application_id": "42", "type": 3, "token": "aW50ZXJhY3Rpb24", "version": 1,
        "guild_id": "77", "guild": { "id": "77", "features": ["NEW"], "locale": "en-US" },
        "channel_id": "88", "channel": { "id": "88", "type": 0, "new_field": [1, 2] }, "context": 0,
        "member": { "user": { "id": "9007199254740993", "username": "ada", "global_name": "Ada", "new": {} },
            "roles": [], "nick": null, "flags": "text now" },
        "locale": "de", "guild_locale": "en-US", "entitlements": [{ "odd": true }],
        "authorizing_integration_owners": { "0": "77" }, "attachment_size_limit": "10485760",
        "message": { "id": "99", "channel_id": "88", "type": 4711, "timestamp": 5,
            "components": [{ "type": 250, "surprise": { "deep": [] } },
                { "type": 1, "components": [{ "type": 2, "custom_id": "tap-secret", "style": 77, "label": 3 }] }] },
        "data": { "custom_id": "tap-secret", "component_type": 2, "id": 3, "resolved": "?" }
    })
}

fn press(message: Option<u64>) -> What {
    What::Press { custom_id: "tap-secret".to_owned(), message }
}

#[test]
fn a_press_in_a_server() {
    let interaction = read(&in_guild()).unwrap();
    assert_eq!(interaction.user, 9_007_199_254_740_993);
    assert_eq!(interaction.user_name.as_deref(), Some("Ada"));
    assert_eq!(interaction.locale.as_deref(), Some("de"));
    assert_eq!(interaction.channel, Some(88));
    assert_eq!(interaction.what, press(Some(99)));
    assert_eq!(interaction.ticket.application, Some(42));
    assert_eq!(interaction.ticket.dm, None);
}

#[test]
fn a_press_in_direct_messages() {
    let interaction = read(&json!({
        "id": "5", "application_id": "42", "type": 3, "token": "t", "channel_id": "300",
        "channel": { "id": "300", "type": 1, "recipients": 0 }, "context": 1,
        "user": { "id": "7", "username": "ada", "discriminator": "0" },
        "message": { "id": "301", "components": [{ "type": 99 }] }, "data": { "custom_id": "tap-secret" }
    }))
    .unwrap();
    assert_eq!((interaction.user, interaction.channel, interaction.ticket.dm), (7, Some(300), Some(300)));
    assert_eq!(interaction.what, press(Some(301)));
}

#[test]
fn a_press_in_a_thread() {
    let mut raw = in_guild();
    raw["channel_id"] = json!("555");
    raw["channel"] = json!({ "id": "555", "type": 11, "parent_id": "88", "thread_metadata": { "archived": "?" } });
    let interaction = read(&raw).unwrap();
    assert_eq!(interaction.channel, Some(555));
    assert_eq!(interaction.what, press(Some(99)));
}

#[test]
fn a_press_in_a_group_of_direct_messages() {
    let mut raw = in_guild();
    let object = raw.as_object_mut().unwrap();
    object.retain(|key, _| key != "member" && key != "guild_id" && key != "guild");
    object.insert("user".to_owned(), json!({ "id": "12", "username": "ada" }));
    object.insert("channel".to_owned(), json!({ "id": "88", "type": 3 }));
    object.insert("context".to_owned(), json!(2));
    let interaction = read(&raw).unwrap();
    assert_eq!((interaction.user, interaction.ticket.dm), (12, None));
}

#[test]
fn ids_are_numbers_however_they_are_written() {
    let mut raw = in_guild();
    raw["id"] = json!(1);
    raw["channel_id"] = json!("0088");
    raw["member"]["user"]["id"] = json!("007");
    let interaction = read(&raw).unwrap();
    assert_eq!((interaction.ticket.id, interaction.channel, interaction.user), (1, Some(88), 7));
}

#[test]
fn what_may_be_missing_is_missing_and_the_rest_is_named() {
    let mut raw = in_guild();
    for part in ["message", "locale", "application_id", "channel_id", "channel"] {
        raw.as_object_mut().unwrap().remove(part);
    }
    let interaction = read(&raw).unwrap();
    assert_eq!((interaction.channel, interaction.what), (None, press(None)));
    for part in ["id", "token", "type", "member", "data"] {
        let mut raw = in_guild();
        raw.as_object_mut().unwrap().remove(part);
        assert!(read(&raw).is_err(), "{part}");
    }
    for odd in [json!(null), json!([]), json!("x"), json!({ "member": [], "user": 5 })] {
        assert!(read(&odd).is_err());
    }
}

#[test]
fn a_command_reads_as_it_was_typed() {
    let mut raw = in_guild();
    raw["type"] = json!(2);
    raw["data"] =
        json!({ "name": "link", "options": [{ "name": "to", "options": [{ "value": "app" }, { "value": 3 }] }] });
    assert_eq!(read(&raw).unwrap().what, What::Command("/link to app 3".to_owned()));
    raw["type"] = json!(5);
    assert!(read(&raw).is_err());
}

#[test]
fn nothing_secret_is_printed() {
    let printed = format!("{:?}", read(&in_guild()).unwrap());
    assert!(!printed.contains("tap-secret") && !printed.contains("aW50"), "{printed}");
}
