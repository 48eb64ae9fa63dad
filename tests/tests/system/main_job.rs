//! The main job: an ask becomes buttons, a tap answers it, everybody sees how it ended.

use std::time::Duration;

use serde_json::json;
use sim::terreno::{AskSpec, Script};
use tests::{DISCORD_PERSON, EMAIL, Setup, TELEGRAM_PERSON, World};

const SOON: Duration = Duration::from_secs(8);

#[tokio::test(flavor = "multi_thread")]
async fn a_tap_in_telegram_answers_and_settles_every_copy() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::default()).await?;
    let plan = json!({"prompt": "Which plan?", "title": "Plan", "select": "one",
        "options": [{"id": "team", "label": "Team"}, {"id": "starter", "label": "Starter"}], "default": ["team"]});
    let asked = world.terreno.ask_then(EMAIL, AskSpec::new("choice", plan), Script::new().say("You get {label}."))?;

    let card =
        world.telegram.wait_for_message(TELEGRAM_PERSON, SOON, |message| message.text.contains("Which plan?")).await?;
    let labels: Vec<&str> = card.buttons().map(|button| button.text.as_str()).collect();
    assert_eq!(labels, ["Team", "Starter", "Skip"]);
    let copy = world
        .discord
        .wait_for_message_to(DISCORD_PERSON, SOON, |message| message.text().contains("Which plan?"))
        .await?;

    let callback = world.telegram.tap(TELEGRAM_PERSON, TELEGRAM_PERSON, card.id, "Starter")?;
    world.telegram.wait_for_answer(&callback, Duration::from_secs(1)).await?;
    world.terreno.wait_for_answer(&asked, SOON).await?;

    let settled = world
        .telegram
        .wait_for_message(TELEGRAM_PERSON, SOON, |message| message.id == card.id && message.text.contains("Answered"))
        .await?;
    assert!(
        settled.text.contains("Which plan?") && settled.text.contains("Starter") && !settled.is_live(),
        "{settled:?}"
    );
    world.telegram.wait_for_message(TELEGRAM_PERSON, SOON, |message| message.text == "You get Starter.").await?;
    world
        .discord
        .wait_for_message_to(DISCORD_PERSON, SOON, |message| {
            message.id == copy.id && message.text().contains("Starter") && message.live_buttons().is_empty()
        })
        .await?;
    assert_eq!(world.terreno.read(|state| state.effective(&asked.history_id, &asked.tool_call_id)), 1);
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}
