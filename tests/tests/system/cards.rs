//! Cards of every shape: what the buttons send is shown, and a card that breaks its own limits is still delivered.

use std::time::Duration;

use serde_json::{Value, json};
use sim::terreno::{AskSpec, Asked, Fault, Route, Script};
use tests::{Card, Channel, EMAIL, SOON, Setup, World};

use crate::common::{choice, effective, only};

on_both_channels!(
    broken_cards_are_delivered,
    draft_is_shown_with_its_button,
    hanging_reads_hold_nobody_back,
    hidden_characters_are_shown,
    lone_surrogates,
    unread_draft_hands_off_first
);

fn draft(text: &str) -> Value {
    json!({"title": "Reply", "prompt": "Here is a draft.", "initial": text, "minLength": 1, "maxLength": 2000})
}

fn button(id: &str, label: &str) -> Value {
    json!({"id": id, "label": label, "response": {"action": "accept", "content": {"selected": [id.trim_start_matches("option:")]}}})
}

async fn draft_is_shown_with_its_button(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&only(channel)).await?;
    let screen = world.screen(channel);
    let suggested = json!({"prompt": "Which regions?", "select": "many", "default": ["north", "west"], "options": [
        {"id": "north", "label": "North"}, {"id": "south", "label": "South"}, {"id": "west", "label": "West"}]});
    let defaults = json!({"title": "Room", "prompt": "Check the details.", "fields": [
        {"id": "people", "type": "number", "label": "People", "required": true, "default": 4},
        {"id": "layout", "type": "select", "label": "Layout", "default": "circle",
            "options": [{"id": "rows", "label": "Rows"}, {"id": "circle", "label": "Circle"}]}]});
    let asks = [
        (
            "markdown",
            draft("Dear supplier,\nTuesday works."),
            "Here is a draft.",
            vec!["Dear supplier,", "Tuesday works."],
        ),
        ("choice", suggested, "Which regions?", vec!["North", "West"]),
        ("form", defaults, "Check the details.", vec!["People: 4", "Layout: Circle"]),
    ];
    for (kind, input, prompt, shown) in asks {
        let asked = world.terreno.ask(EMAIL, kind, input)?;
        let card = screen.card(prompt).await?;
        for part in shown {
            assert!(card.text.contains(part), "{part} is shown before it can be sent: {card:#?}");
        }
        assert_eq!(card.links.len(), 1, "it can be changed in the app: {card:#?}");
        let label = card.labels.first().cloned().unwrap_or_default();
        screen.answer(&card, &label).await?;
        world.terreno.wait_for_answer(&asked, SOON).await?;
        screen.settled(&card, &[prompt, &label]).await?;
        assert_eq!(effective(&world, &asked), 1);
    }
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn unread_draft_hands_off_first(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&only(channel)).await?;
    world.terreno.inject(Fault::html(Route::ReadHistory, 503).for_ever());
    let asked = world.terreno.ask(EMAIL, "markdown", draft("Tuesday works."))?;
    let screen = world.screen(channel);
    let card = screen.card("Here is a draft.").await?;
    assert!(!card.labels.iter().any(|label| label.contains("Approve")), "nobody approves what is not shown: {card:#?}");
    assert_eq!(card.links.len(), 1);
    world.terreno.clear_faults();
    let shown = screen
        .see("the draft and its button", |now| {
            now.id == card.id
                && now.text.contains("Tuesday works.")
                && now.labels.iter().any(|label| label.contains("Approve"))
        })
        .await?;
    let label = shown.labels.first().cloned().unwrap_or_default();
    screen.answer(&shown, &label).await?;
    screen.settled(&card, &["Here is a draft.", &label]).await?;
    assert_eq!(effective(&world, &asked), 1);
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn hanging_reads_hold_nobody_back(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    world.terreno.inject(Fault::hang(Route::ReadHistory).for_ever());
    for number in 0..6 {
        world.terreno.ask(EMAIL, "markdown", draft(&format!("Draft number {number}.")))?;
    }
    let asked = world.terreno.ask(EMAIL, "choice", choice("Which plan?"))?;
    let gateway = world.gateway(&only(channel)).await?;
    let screen = world.screen(channel);
    let card = screen.see_within("the card", Duration::from_secs(16), |card| card.text.contains("Which plan?")).await?;
    screen.answer(&card, "Team").await?;
    screen.settled(&card, &["Answered: Team"]).await?;
    for _ in 0..200 {
        if screen.count("Here is a draft.") == 6 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(screen.count("Here is a draft."), 6);
    assert_eq!(effective(&world, &asked), 1);
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

/// A card that breaks a rule, and the button that is then tapped, by its position.
fn broken() -> Vec<(&'static str, Value, Option<usize>)> {
    let long_id = format!("option:{}", "i".repeat(64));
    let alike = "A very long label that begins like its sibling and goes on and on and on until nobody sees its end ";
    let card =
        |text: &str, buttons: Value| json!({"kind": "choice", "text": text, "buttons": buttons, "handoff": false});
    vec![
        ("No buttons", card("No buttons", json!([])), None),
        ("Long ids", card("Long ids", json!([button(&long_id, "Long"), button("option:b", "Short")])), Some(0)),
        (
            "Empty labels",
            card("Empty labels", json!([button("option:a", " \u{200b}"), button("option:b", "")])),
            Some(1),
        ),
        ("Alike", card("Alike", json!([button("option:a", "Yes"), button("option:b", "Yes")])), Some(1)),
        (
            "Cut alike",
            card(
                "Cut alike",
                json!([button("option:a", &format!("{alike}one")), button("option:b", &format!("{alike}two"))]),
            ),
            Some(1),
        ),
        (
            "The end of it",
            card(&format!("{}The end of it", "word ".repeat(4_000)), json!([button("option:a", "Yes")])),
            Some(0),
        ),
        (
            "Stranger kind",
            json!({"kind": "hologram", "text": "Stranger kind", "buttons": [button("option:a", "Yes")], "handoff": true, "new": 1}),
            None,
        ),
        (
            "Many buttons",
            card("Many buttons", (0..5).map(|n| button(&format!("option:{n}"), &format!("Button {n}"))).collect()),
            Some(4),
        ),
    ]
}

async fn broken_cards_are_delivered(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    world.terreno.ask_card(EMAIL, json!({"kind": "choice", "text": 7, "buttons": "none"}), Value::Null)?;
    world.terreno.ask_card(EMAIL, json!("no card"), Value::Null)?;
    let mut asked: Vec<(&str, Asked, Option<usize>)> = Vec::new();
    for (text, card, tapped) in broken() {
        asked.push((text, world.terreno.ask_card(EMAIL, card, Value::Null)?, tapped));
    }
    let sane = world.terreno.ask(EMAIL, "choice", choice("A sane sibling?"))?;
    let gateway = world.gateway(&only(channel)).await?;
    let screen = world.screen(channel);
    for (text, asked, tapped) in &asked {
        let card = screen.card(text).await?;
        let Some(position) = tapped else {
            assert_eq!(card.links.len(), 1, "it hands off: {card:#?}");
            continue;
        };
        let mut labels: Vec<String> = card.labels.iter().map(|label| label.to_lowercase()).collect();
        labels.sort_unstable();
        labels.dedup();
        assert_eq!(labels.len(), card.labels.len(), "no two buttons look alike: {card:#?}");
        let label = card.labels.get(*position).cloned().unwrap_or_default();
        assert!(!label.trim().is_empty(), "{card:#?}");
        screen.answer(&card, &label).await?;
        let turn = world.terreno.wait_for_answer(asked, SOON).await?;
        let sent = world.terreno.read(|state| state.answers(&asked.history_id, &asked.tool_call_id).len());
        let expected = broken().into_iter().find(|(other, ..)| other == text).and_then(|(_, card, _)| {
            card.pointer(&format!("/buttons/{position}/id")).and_then(Value::as_str).map(str::to_owned)
        });
        assert_eq!((turn.button_id, sent), (expected, 1), "{text}");
        screen.see("the card settled", |now| now.id == card.id && now.is_settled()).await?;
    }
    let card = screen.card("A sane sibling?").await?;
    screen.answer(&card, "Team").await?;
    screen.settled(&card, &["Answered: Team"]).await?;
    assert_eq!(effective(&world, &sane), 1);
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn hidden_characters_are_shown(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&only(channel)).await?;
    let card = json!({"kind": "choice", "title": "Ti\u{202e}tle\u{0}", "text": "Run \u{202e}gnp.exe\u{2066}? \u{200b}@everyone **now**",
        "buttons": [button("option:a", "Ke\u{200b}ep"), button("option:b", "Keep")], "handoff": false});
    let script = Script::new().say("Done: \u{202e}evil\u{2069} @everyone");
    let asked = world.terreno.ask_then(EMAIL, AskSpec::raw(card, Value::Null), script)?;
    let screen = world.screen(channel);
    let card = screen.card("gnp.exe").await?;
    let clean = |card: &Card| {
        let all = format!("{}{}", card.text, card.labels.concat());
        !all.contains(['\u{202e}', '\u{2066}', '\u{2069}', '\u{200b}', '\0'])
    };
    assert!(clean(&card), "{card:?}");
    assert!(card.text.contains("**now**"), "shown as it was written: {card:?}");
    assert_eq!(card.labels.len(), 2);
    assert_ne!(card.labels.first(), card.labels.last());
    let label = card.labels.last().cloned().unwrap_or_default();
    screen.answer(&card, &label).await?;
    let turn = world.terreno.wait_for_answer(&asked, SOON).await?;
    assert_eq!(turn.button_id.as_deref(), Some("option:b"));
    let words = screen.see("the agent's words", |card| card.text.contains("Done:")).await?;
    assert!(clean(&words), "{words:?}");
    let settled = screen.see("the card settled", |now| now.id == card.id && now.is_settled()).await?;
    assert!(clean(&settled), "{settled:?}");
    world.discord.read(|state| {
        assert!(!state.messages_to(tests::DISCORD_PERSON.into()).any(|message| message.pinged_everyone));
    });
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

async fn lone_surrogates(channel: Channel) -> anyhow::Result<()> {
    let world = World::start().await?;
    // Rust cannot hold a lone surrogate, so the list is written by hand, as a host in JavaScript would.
    let card = json!({"kind": "choice", "text": "Half a SURROGATE", "buttons": [button("option:a", "Yes SURROGATE")], "handoff": false});
    let asked = world.terreno.ask_card(EMAIL, card, Value::Null)?;
    let sane = world.terreno.ask(EMAIL, "choice", choice("A sane sibling?"))?;
    let entries: Vec<Value> = world
        .terreno
        .pending(EMAIL)
        .into_iter()
        .map(|ask| {
            json!({"created": "2026-01-01T00:00:00.000Z", "historyId": ask.history_id, "kind": ask.kind,
                "simple": ask.card, "toolCallId": ask.tool_call_id})
        })
        .collect();
    let body = json!({"data": entries}).to_string().replace("SURROGATE", "\\ud83d");
    world.terreno.inject(Fault::reply(Route::PendingAsks, 200, body).for_ever());
    let gateway = world.gateway(&only(channel)).await?;
    let screen = world.screen(channel);
    let card = screen.card("Half a").await?;
    let other = screen.card("A sane sibling?").await?;
    let label = card.labels.first().cloned().unwrap_or_default();
    assert!(label.starts_with("Yes"), "{card:?}");
    screen.answer(&card, &label).await?;
    screen.answer(&other, "Team").await?;
    world.terreno.wait_for_answer(&asked, SOON).await?;
    world.terreno.wait_for_answer(&sane, SOON).await?;
    assert_eq!((effective(&world, &asked), effective(&world, &sane)), (1, 1));
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_reply_arrives_whole() -> anyhow::Result<()> {
    let world = World::start().await?;
    let gateway = world.gateway(&Setup::default()).await?;
    let words: Vec<String> = (0..1_500).map(|number| format!("word{number:04}")).collect();
    let script = Script::new().say(words.join(" "));
    world.terreno.ask_then(EMAIL, AskSpec::new("choice", choice("Which plan?")), script.clone())?;
    world.terreno.ask_then(EMAIL, AskSpec::new("choice", choice("Which size?")), script)?;
    for (channel, prompt) in [(Channel::Telegram, "Which plan?"), (Channel::Discord, "Which size?")] {
        let screen = world.screen(channel);
        let card = screen.card(prompt).await?;
        screen.answer(&card, "Team").await?;
        screen.see("the end of the reply", |card| card.text.contains("word1499")).await?;
        let said = screen.messages().iter().map(|card| card.text.clone()).collect::<Vec<_>>().join(" ");
        let found: Vec<&str> = said.split_whitespace().filter(|word| word.starts_with("word")).collect();
        assert_eq!(found, words, "{channel:?}: every word once, in order");
    }
    world.assert_well_behaved()?;
    drop(gateway);
    Ok(())
}
