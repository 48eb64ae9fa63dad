//! The asks that every part is shown: the vectors and the fixtures of the ask contract, or a few of our own.

use serde_json::{Value, json};

use crate::specs::shared;

/// An ask and the card that belongs to it.
#[derive(Debug, Clone)]
pub struct Example {
    /// The kind.
    pub kind: String,
    /// The input.
    pub input: Value,
    /// The card, with the tool call id `call_fixture`.
    pub card: Value,
}

/// Every card of the vectors and of the valid fixtures; a few of our own, said loudly, where those are not beside the project.
///
/// # Errors
/// If a file is there and cannot be read.
pub fn examples() -> anyhow::Result<Vec<Example>> {
    let mut found = Vec::new();
    let example = |value: &Value, card: &str| Example {
        kind: value.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned(),
        input: value.get("input").cloned().unwrap_or_default(),
        card: value.get(card).cloned().unwrap_or_default(),
    };
    found.extend(vectors("derive")?.iter().map(|line| example(line, "card")));
    found.extend(fixtures("valid")?.iter().map(|file| example(file, "simple")));
    if found.is_empty() {
        found = own();
    }
    Ok(found)
}

/// The lines of a vector file; none, said loudly, where it is not beside the project.
///
/// # Errors
/// If it is there and cannot be read.
pub fn vectors(name: &str) -> anyhow::Result<Vec<Value>> {
    let Some(path) = shared(&format!("terreno/vectors/{name}.jsonl")) else {
        absent(&format!("the vectors {name}.jsonl"));
        return Ok(Vec::new());
    };
    let text = std::fs::read_to_string(path)?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// The fixtures of a folder, `valid` or `invalid`; none, said loudly, where it is not beside the project.
///
/// # Errors
/// If one is there and cannot be read.
pub fn fixtures(folder: &str) -> anyhow::Result<Vec<Value>> {
    let Some(path) = shared(&format!("terreno/fixtures/{folder}")) else {
        absent(&format!("the {folder} fixtures"));
        return Ok(Vec::new());
    };
    let mut paths: Vec<_> = std::fs::read_dir(path)?.collect::<Result<Vec<_>, _>>()?;
    paths.sort_by_key(std::fs::DirEntry::file_name);
    let json =
        paths.iter().map(std::fs::DirEntry::path).filter(|path| path.extension().is_some_and(|end| end == "json"));
    json.map(|path| Ok(serde_json::from_slice(&std::fs::read(path)?)?)).collect()
}

#[expect(clippy::print_stderr, reason = "what a test run leaves out must be seen")]
fn absent(what: &str) {
    eprintln!("NOT CHECKED: {what}, which are not beside the project");
}

fn own() -> Vec<Example> {
    let skip = json!({"id": "skip", "label": "Skip", "style": "cancel", "response": {"action": "decline"}});
    let option = |id: &str, label: &str| {
        json!({"id": format!("option:{id}"), "label": label, "style": "default",
            "response": {"action": "accept", "content": {"selected": [id]}}})
    };
    let confirm = |id: &str, label: &str, style: &str, yes: bool| json!({"id": id, "label": label, "style": style, "response": {"action": "accept", "content": {"confirmed": yes}}});
    let card = |kind: &str, text: &str, buttons: Value, handoff: bool| json!({"toolCallId": "call_fixture", "kind": kind, "text": text, "buttons": buttons, "handoff": handoff});
    vec![
        Example {
            kind: "choice".into(),
            input: json!({"prompt": "Which way?", "select": "one",
                "options": [{"id": "l", "label": "Left"}, {"id": "r", "label": "Right"}]}),
            card: card("choice", "Which way?", json!([option("l", "Left"), option("r", "Right"), skip]), false),
        },
        Example {
            kind: "confirm".into(),
            input: json!({"prompt": "Delete it?", "confirmLabel": "Delete", "denyLabel": "Keep", "destructive": true}),
            card: card(
                "confirm",
                "Delete it?",
                json!([confirm("approve", "Delete", "destructive", true), confirm("deny", "Keep", "cancel", false)]),
                false,
            ),
        },
    ]
}
