//! The slash commands that Discord's app offers.
//!
//! One bulk overwrite, which is idempotent, and only where what is there differs: every write makes people's apps load the
//! list again.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::failure::Trouble;
use super::limits::CALL;
use super::rest::{Call, Rest};
use super::route::Route;
use super::snowflake;
use crate::channel::Offer;
use crate::clock::SharedClock;

/// How often it is tried, and the pause between two tries. The next start tries again.
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_secs(5);

/// Makes the app offer these commands. Nothing else depends on whether it succeeds.
pub(super) async fn register(rest: Arc<dyn Rest>, clock: SharedClock, application: Option<u64>, offers: &[Offer]) {
    if offers.is_empty() {
        return;
    }
    for tried in 1..=TRIES {
        match attempt(rest.as_ref(), &clock, application, offers).await {
            Ok(()) => return,
            Err(trouble) => tracing::debug!(?trouble, tried, "the commands could not be registered"),
        }
        tokio::time::sleep(PAUSE).await;
    }
    tracing::warn!("the slash commands could not be registered; cards and buttons work without them");
}

async fn attempt(
    rest: &dyn Rest,
    clock: &SharedClock,
    application: Option<u64>,
    offers: &[Offer],
) -> Result<(), Trouble> {
    let call = |route, body| rest.call(Call { route, body, deadline: clock.instant() + CALL });
    let application = if let Some(application) = application {
        application
    } else {
        let told = call(Route::Application, None).await?;
        let id = snowflake(told.get("id"));
        id.ok_or_else(|| Trouble::Unanswered { why: "the answer names no application".to_owned() })?
    };
    let wanted: Vec<Value> = offers.iter().map(command).collect();
    let there = call(Route::Commands { application }, None).await?;
    if is_same(&there, &wanted) {
        return Ok(());
    }
    call(Route::SetCommands { application }, Some(Value::Array(wanted))).await?;
    tracing::info!("the slash commands are registered");
    Ok(())
}

/// A command as it is registered: in servers, in direct messages with the bot, and for those who installed the app.
fn command(offer: &Offer) -> Value {
    let translations: serde_json::Map<String, Value> =
        offer.translations.iter().map(|(code, text)| (code.clone(), json!(text))).collect();
    // Only where there is something to write: what Discord tells of a command without options has no such key.
    let options =
        offer.argument.iter().map(|text| json!({"type": 3, "name": "code", "description": text, "required": false}));
    let options: Vec<Value> = options.collect();
    let mut command = json!({
        "name": offer.name,
        "type": 1,
        "description": offer.description,
        "description_localizations": translations,
        "contexts": [0, 1],
        "integration_types": [0, 1],
    });
    if let (false, Some(fields)) = (options.is_empty(), command.as_object_mut()) {
        fields.insert("options".to_owned(), Value::Array(options));
    }
    command
}

/// Whether what is registered is what is wanted; Discord adds fields of its own and keeps no order.
fn is_same(there: &Value, wanted: &[Value]) -> bool {
    let Some(there) = there.as_array() else { return false };
    let same = |known: &Value, wanted: &Value| {
        wanted.as_object().is_some_and(|fields| {
            fields.iter().all(|(name, value)| {
                let told = known.get(name).unwrap_or(&Value::Null);
                told == value
                    || (told.is_null() && value.as_object().is_some_and(serde_json::Map::is_empty))
                    || (name == "options" && has_the_options(told, value))
            })
        })
    };
    there.len() == wanted.len() && wanted.iter().all(|wanted| there.iter().any(|known| same(known, wanted)))
}

/// Whether the options have the wanted names, types and descriptions; what is not required is not always told.
fn has_the_options(told: &Value, wanted: &Value) -> bool {
    let of = |options: &Value| -> Vec<Vec<Value>> {
        let options = options.as_array().cloned().unwrap_or_default();
        let fields = |option: &Value| {
            ["type", "name", "description"].map(|name| option.get(name).cloned().unwrap_or_default()).to_vec()
        };
        options.iter().map(fields).collect()
    };
    of(told) == of(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(name: &str, german: Option<&str>) -> Offer {
        let translations = german.map(|text| ("de".to_owned(), text.to_owned())).into_iter().collect();
        Offer { name: name.to_owned(), description: "Does it".to_owned(), translations, argument: None }
    }

    #[test]
    fn only_a_difference_that_we_make_is_one() {
        let wanted = vec![command(&offer("link", Some("Tut es"))), command(&offer("start", None))];
        let mut there = vec![wanted[1].clone(), wanted[0].clone()];
        there[0]["id"] = json!("7");
        there[0]["description_localizations"] = Value::Null;
        there[1]["nsfw"] = json!(false);
        assert!(is_same(&json!(there), &wanted));
        for (field, value) in
            [("description", json!("Other")), ("contexts", json!([0])), ("integration_types", json!(null))]
        {
            let mut changed = there.clone();
            changed[1][field] = value;
            assert!(!is_same(&json!(changed), &wanted), "{field}");
        }
        let mut more = there.clone();
        more.push(command(&offer("old", None)));
        assert!(!is_same(&json!(more), &wanted) && !is_same(&json!([]), &wanted) && !is_same(&Value::Null, &wanted));
    }
}
