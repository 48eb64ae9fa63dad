//! What many of these tests ask, and how they look at the host.

use serde_json::{Value, json};
use sim::terreno::{AskSpec, Asked, Script};
use tests::{Card, Channel, EMAIL, Setup, World};

/// A choice between Team and Starter, which can also be skipped.
pub(crate) fn choice(prompt: &str) -> Value {
    json!({"prompt": prompt, "title": "Plan", "select": "one",
        "options": [{"id": "team", "label": "Team"}, {"id": "starter", "label": "Starter"}], "default": ["team"]})
}

/// A confirmation with Delete and Keep.
pub(crate) fn confirm(prompt: &str) -> Value {
    json!({"prompt": prompt, "confirmLabel": "Delete", "denyLabel": "Keep", "destructive": true})
}

/// A gateway with this channel only.
pub(crate) fn only(channel: Channel) -> Setup {
    match channel {
        Channel::Telegram => Setup::telegram(),
        Channel::Discord => Setup::discord(),
    }
}

/// How many answers to an ask took effect and stayed.
pub(crate) fn effective(world: &World, asked: &Asked) -> usize {
    world.terreno.read(|state| state.effective(&asked.history_id, &asked.tool_call_id))
}

/// How many turns named an ask, whatever became of them.
pub(crate) fn turns(world: &World, asked: &Asked) -> usize {
    world.terreno.read(|state| state.answers(&asked.history_id, &asked.tool_call_id).len())
}

/// Asks a choice and waits for its card.
pub(crate) async fn asked_and_shown(
    world: &World,
    channel: Channel,
    prompt: &str,
    script: Script,
) -> anyhow::Result<(Asked, Card)> {
    let asked = world.terreno.ask_then(EMAIL, AskSpec::new("choice", choice(prompt)), script)?;
    let card = world.screen(channel).card(prompt).await?;
    Ok((asked, card))
}
